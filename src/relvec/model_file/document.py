"""The frame of a model file: what it is, which version, and a digest of every bit.

The digest is that of the file with zeros in the place of its own 64 digits. The frame
is at the very beginning and always written in the same way, so that a digest can be
checked before anything is parsed.
"""

import hashlib
import re
from typing import Any

from relvec.model_file.errors import ModelFileError
from relvec.model_file.strict_json import MOST_BYTES, as_text, as_tree

FORMAT, VERSION = "relvec-model", 1
_READ = (1,)  # versions that this module understands
_BLANK = b"0" * 64
_BEGINNING = f'{{"format":"{FORMAT}","version":'.encode()
_FRAME = re.compile(
    re.escape(_BEGINNING) + rb'([1-9][0-9]{0,5}),"sha256":"([0-9a-f]{64})",'
)


def packed(content: dict[str, Any]) -> bytes:
    """The file that holds this."""
    head = _BEGINNING + f'{VERSION},"sha256":"'.encode()
    text = head + _BLANK + b'",' + as_text(content)[1:] + b"\n"
    if len(text) > MOST_BYTES:
        raise ModelFileError(
            f"the model takes {len(text):,} bytes and a model file may have "
            f"{MOST_BYTES:,}: keep it by joblib.dump"
        )
    digest = hashlib.sha256(text).hexdigest().encode()
    return head + digest + text[len(head) + len(_BLANK) :]


def unpacked(text: bytes) -> dict[str, Any]:
    """What a file holds, of which every bit is as it was written; or refuse."""
    if not text.startswith(_BEGINNING):
        raise ModelFileError(
            f"it does not begin as a model file does, with {_BEGINNING.decode()}"
        )
    frame = _FRAME.match(text)
    if frame is None:
        raise ModelFileError("its version or its digest is not written as it should be")
    version = int(frame[1])
    if version not in _READ:
        raise ModelFileError(
            f"it is of version {version} of the format, and this relvec reads "
            f"{', '.join(map(str, _READ))}: install a newer one"
        )
    if _digest(text, *frame.span(2)) != frame[2]:
        raise ModelFileError("it is damaged: its SHA-256 is not the one written in it")
    content = as_tree(text)
    return {name: content[name] for name in list(content)[3:]}


def _digest(text: bytes, start: int, stop: int) -> bytes:
    whole = memoryview(text)
    found = hashlib.sha256(whole[:start])
    found.update(_BLANK)
    found.update(whole[stop:])
    return found.hexdigest().encode()
