"""Text that was meant as numbers or dates, and what to do about it."""

import re
from collections.abc import Iterable

_ENOUGH = 0.5  # share of cells that look so
_SEEN, _LONGEST = 1000, 10_000  # cells that are looked at, and letters of each
# What cells look like, and the remedy.
_LOOKS = (
    (r"[+-]?\d[\d.]*(,\d+)+", "write numbers without commas and with decimal points"),
    (r"[+-]?[$€£¥]\s?[\d.,]+|[\d.,]+\s?[$€£¥]", "write numbers without signs of money"),
    (r"[+-]?[\d.,]+\s?%", "write numbers without %"),
    (
        r"\d{4}[-/.]\d\d?[-/.]\d\d?([ T].*)?|\d\d?[-/.]\d\d?[-/.]\d{4}([ T].*)?",
        "make numbers of dates, as days since the first",
    ),
    (r"[^;]+(;[^;]*)+", "write commas instead of semicolons between cells"),
)


def remedy_of(cells: Iterable[object]) -> str | None:
    """What would make numbers of most of the cells; None if they are plain text."""
    seen = zip(cells, range(_SEEN), strict=False)
    texts = [str(cell).strip()[:_LONGEST] for cell, _ in seen]
    for look, remedy in _LOOKS:
        alike = sum(re.fullmatch(look, text) is not None for text in texts)
        if texts and alike > _ENOUGH * len(texts):
            return remedy
    return None
