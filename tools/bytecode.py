"""Wheels with bytecode in the place of sources; runs where they are to be used."""

import marshal
from importlib.util import MAGIC_NUMBER
from zipfile import ZIP_DEFLATED, ZipFile

# PEP 552: by the digest of a source, which is not looked for; then eight bytes of it.
_UNCHECKED = (0b01).to_bytes(4, "little") + bytes(8)


def compiled(source: str, target: str) -> None:
    """Write the wheel with bytecode; what does not compile stays as it is."""
    with ZipFile(source) as old, ZipFile(target, "w", ZIP_DEFLATED) as new:
        for item in old.infolist():
            content, name = old.read(item), item.filename
            if name.endswith(".py"):
                try:
                    code = compile(content, name, "exec", dont_inherit=True)
                except SyntaxError:  # templates, and files for another Python
                    pass
                else:
                    content = MAGIC_NUMBER + _UNCHECKED + marshal.dumps(code)
                    item.filename += "c"
            new.writestr(item, content, ZIP_DEFLATED)
