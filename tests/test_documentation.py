"""What the pages show is what comes out."""

import doctest
import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
PAGES = [
    ROOT / "README.md",
    *sorted((ROOT / "docs").glob("*/*.md")),
    ROOT / "docs/index.md",
]
FENCE = re.compile(r"^```python\n(.*?)^```$", re.DOTALL | re.MULTILINE)
OPTIONS = doctest.ELLIPSIS | doctest.NORMALIZE_WHITESPACE


def session(page):
    """All Python sessions of a page, one after the other."""
    text = page.read_text(encoding="utf-8")
    return "\n".join(match[1] for match in FENCE.finditer(text))


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_every_session_runs(page):
    code = doctest.DocTestParser().get_doctest(session(page), {}, page.name, None, 0)
    outcome = doctest.DocTestRunner(optionflags=OPTIONS).run(code)

    assert outcome.failed == 0


def test_there_are_sessions_to_run():
    assert sum(">>> " in session(page) for page in PAGES) >= 6


def test_the_readmes_example_is_short():
    lines = [line for line in session(PAGES[0]).splitlines() if line.startswith(">>>")]

    assert len(lines) <= 12
