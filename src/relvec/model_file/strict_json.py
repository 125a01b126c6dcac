"""JSON without its loose ends: no NaN, no key twice, nothing deep, nothing huge.

All limits are checked before anything of the size they limit is made.
"""

import json
import re
from typing import Any

import numpy as np

from relvec.model_file.errors import ModelFileError

# A gigabyte of text is an exact LS-SVM of 30 000 rows and 1000 features.
MOST_BYTES = 2**30
# The deepest of our own are sums of kernels in a pipeline; Python's parser and our
# functions recurse, and a thousand levels would be too many for them.
_DEEPEST = 100
# Numbers are in arrays, as text: what is left are names, categories and settings.
_MOST_VALUES = 2_000_000
# Bytes of a text, or of a string in it, with characters that may need four bytes each.
_MOST_WIDE, _LONGEST_WIDE = 2**28, 2**24

# A string from its first quote to behind its last, or to the end of the text, so that
# none is looked at twice. Possessive: a string of a gigabyte leaves nothing behind to
# come back to.
_STRING = re.compile(rb'"[^"\\]*+(?:\\.[^"\\]*+)*+(?:"|\\?\Z)', re.DOTALL)
_OTHERS = bytes(set(range(256)) - set(b"[]{}"))
_LARGEST = 2**63


def as_text(tree: Any) -> bytes:
    """The tree as JSON, the same every time."""
    # In ASCII: one character beyond it would take four bytes for each of the others.
    text = json.dumps(tree, allow_nan=False, ensure_ascii=True, separators=(",", ":"))
    return text.encode("ascii")


def as_tree(text: bytes) -> dict[str, Any]:
    """What the text says; or refuse."""
    if len(text) > MOST_BYTES:
        raise ModelFileError(f"it has more than {MOST_BYTES:,} bytes")
    if text.count(b",") > _MOST_VALUES or text.count(b"[") > _MOST_VALUES:
        raise ModelFileError(f"it has more than {_MOST_VALUES:,} values")
    if len(text) > _MOST_WIDE and not text.isascii():
        raise ModelFileError(f"it has more than {_MOST_WIDE:,} bytes, and not in ASCII")
    _check_long(text)
    _check_depth(text)
    try:
        tree = json.loads(
            text.decode("utf-8"),
            object_pairs_hook=_each_key_once,
            parse_constant=_no_constant,
            parse_float=_finite,
            parse_int=_whole,
        )
    except ModelFileError:
        raise
    except (ValueError, RecursionError) as error:
        raise ModelFileError(f"it is no JSON: {error}") from None
    if not isinstance(tree, dict):
        raise ModelFileError("it is JSON, but no object")
    return tree


def _check_depth(text: bytes) -> None:
    """Count brackets outside strings."""
    brackets = np.frombuffer(_STRING.sub(b"", text).translate(None, _OTHERS), np.uint8)
    opening = (brackets == ord("[")) | (brackets == ord("{"))
    depth = np.cumsum(np.where(opening, 1, -1), dtype=np.int64)
    if len(depth) and depth.max() > _DEEPEST:
        raise ModelFileError(f"it is nested more than {_DEEPEST} deep")


def _check_long(text: bytes) -> None:
    """Data are in base64, without any characters that are written in another way."""
    if len(text) <= _LONGEST_WIDE or b"\\" not in text:
        return
    for found in _STRING.finditer(text):
        long = found.end() - found.start() > _LONGEST_WIDE
        if long and text.find(b"\\", found.start(), found.end()) >= 0:
            raise ModelFileError("a long string has escapes, which no data have")


def _each_key_once(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(pairs)
    if len(found) < len(pairs):
        raise ModelFileError("an object has the same key twice")
    return found


def _no_constant(word: str) -> Any:
    raise ModelFileError(f"it has {word}, which is no JSON")


def _finite(digits: str) -> float:
    value = float(digits)
    if abs(value) == float("inf"):
        raise ModelFileError(f"it has {digits}, a number out of range")
    return value


def _whole(digits: str) -> int:
    # Longer ones take a time that grows with their square.
    if len(digits) > 20 or not -_LARGEST <= int(digits) < 2 * _LARGEST:
        raise ModelFileError(f"it has {digits}, a whole number out of range")
    return int(digits)
