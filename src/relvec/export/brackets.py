"""Terms of a program's text, and whether they need brackets around them."""

import re

_ATOM = re.compile(r"\w+(\[[^][]*\])?|-?[\d.]+(e[+-]?\d+)?f?")  # name, entry, number


def bracketed(text: str) -> str:
    """A term that may be an operand of anything."""
    return text if _ATOM.fullmatch(text) or _is_call(text) else f"({text})"


def bare(text: str) -> str:
    """A term without brackets around all of it."""
    return text[1:-1] if text.startswith("(") and _closes_last(text) else text


def _is_call(text: str) -> bool:
    """Whether a term is a function and all the rest in its brackets."""
    name, _, rest = text.partition("(")
    return name.replace(".", "").isidentifier() and _closes_last(f"({rest}")


def _closes_last(text: str) -> bool:
    """Whether the bracket that a text begins with is closed at its end."""
    depth = 0
    for place, sign in enumerate(text):
        depth += (sign == "(") - (sign == ")")
        if depth == 0:
            return place == len(text) - 1
    return False
