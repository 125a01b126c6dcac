"""The command line: a table in a file to a model in a file, and what follows.

It needs the extra ``cli``, and imports it only when it is called.
"""

import sys
from importlib import import_module
from importlib.util import find_spec

_NEEDED = "rich_click", "pandas", "pyarrow"
_WRONG_USE, _INTERRUPTED = 2, 130  # of exits.py, which needs them

__all__ = ["main"]


def main() -> None:
    """Run the command ``relvec``."""
    try:
        _check_needed()
        command = import_module("relvec.cli.commands").relvec
    except ImportError as error:
        sys.stderr.write(f"relvec: {error}\n")
        sys.exit(_WRONG_USE)
    except KeyboardInterrupt:
        sys.exit(_INTERRUPTED)
    command()


def _check_needed() -> None:
    """Look for packages without importing them: help needs none but the first."""
    for name in _NEEDED:
        if find_spec(name) is None:
            parameters = import_module("relvec.parameters")
            use = f"the command line needs {name}"
            parameters.optional_module(name, use, "cli")
