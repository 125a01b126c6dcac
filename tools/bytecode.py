"""Wheels for the browser, with bytecode in the place of sources.

Runs where they are to be used: bytecode belongs to a version of Python.
"""

import marshal
from importlib.util import MAGIC_NUMBER
from pathlib import PurePosixPath
from zipfile import ZIP_DEFLATED, ZipFile

# PEP 552: by the digest of a source, which is not looked for; then eight bytes of it.
_UNCHECKED = (0b01).to_bytes(4, "little") + bytes(8)
# For compilers and type checkers, of which there are none.
_OF_NO_USE = {".a", ".c", ".cpp", ".h", ".pxd", ".pxi", ".pyi", ".pyx", ".tp"}


def compiled(source: str, target: str) -> None:
    """Write the wheel with bytecode; what does not compile stays as it is."""
    with ZipFile(source) as old, ZipFile(target, "w", ZIP_DEFLATED) as new:
        for item in old.infolist():
            path = PurePosixPath(item.filename)
            if path.suffix in _OF_NO_USE or "tests" in path.parts:
                continue
            content = old.read(item)
            if path.suffix == ".py":
                try:
                    code = compile(content, item.filename, "exec", dont_inherit=True)
                except SyntaxError:  # templates, and files for another Python
                    pass
                else:
                    content = MAGIC_NUMBER + _UNCHECKED + marshal.dumps(code)
                    item.filename += "c"
            new.writestr(item, content, ZIP_DEFLATED)
