"""Run the Python sessions of Markdown files and compare what they print.

Usage: python docs/check_code.py README.md docs/index.md docs/guide/*.md
The sessions of one file are one doctest; ``...`` in an output matches anything.
"""

import doctest
import re
import sys
from pathlib import Path

OPTIONS = doctest.ELLIPSIS | doctest.NORMALIZE_WHITESPACE
FENCE = re.compile(r"^```python\n(.*?)^```$", re.DOTALL | re.MULTILINE)


def failures(path):
    """How many examples of one file fail; what is wrong is printed."""
    text = path.read_text(encoding="utf-8")
    session = "\n".join(match[1] for match in FENCE.finditer(text))
    test = doctest.DocTestParser().get_doctest(session, {}, str(path), str(path), 0)
    outcome = doctest.DocTestRunner(optionflags=OPTIONS).run(test)
    print(f"{path}: {outcome.attempted} lines, {outcome.failed} differ")
    return outcome.failed


if __name__ == "__main__":
    sys.exit(bool(sum(failures(Path(name)) for name in sys.argv[1:])))
