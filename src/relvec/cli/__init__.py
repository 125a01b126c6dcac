"""The command line: a table in a file to a model in a file, and what follows.

It needs the extra ``cli``, and imports it only when it is called.
"""

import sys
from importlib import import_module

from relvec.parameters import optional_module

_NEEDED = "rich_click", "pandas", "pyarrow"
_WRONG_USE, _INTERRUPTED = 2, 130  # of exits.py, which needs them

__all__ = ["main"]


def main() -> None:
    """Run the command ``relvec``."""
    try:
        for name in _NEEDED:
            optional_module(name, f"the command line needs {name}", "cli")
        command = import_module("relvec.cli.commands").relvec
    except ImportError as error:
        sys.stderr.write(f"relvec: {error}\n")
        sys.exit(_WRONG_USE)
    except KeyboardInterrupt:
        sys.exit(_INTERRUPTED)
    command()
