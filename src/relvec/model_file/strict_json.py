"""JSON without its loose ends: no NaN, no key twice, nothing deep, nothing huge.

All limits are checked before anything of the size they limit is made.
"""

import json
import re
from typing import Any

from relvec.model_file.errors import ModelFileError

# A gigabyte of text is an exact LS-SVM of 30 000 rows and 1000 features.
MOST_BYTES = 2**30
# The deepest of our own are sums of kernels in a pipeline; Python's parser and our
# functions recurse, and a thousand levels would be too many for them.
_DEEPEST = 100
# Numbers are in arrays, as text: what is left are names, categories and settings.
_MOST_VALUES = 2_000_000

_MARK = re.compile(rb'["\[\]{}]')
# From behind the first quote of a string to behind its last. Possessive: a string of
# a gigabyte leaves nothing behind to come back to.
_REST = re.compile(rb'[^"\\]*+(?:\\.[^"\\]*+)*+"', re.DOTALL)
_LARGEST = 2**63


def as_text(tree: Any) -> bytes:
    """The tree as JSON, the same every time."""
    try:
        text = json.dumps(
            tree, allow_nan=False, ensure_ascii=False, separators=(",", ":")
        )
        return text.encode("utf-8")
    except UnicodeEncodeError:
        msg = "a name or label holds half a character (a lone surrogate): rename it"
        raise ModelFileError(msg) from None


def as_tree(text: bytes) -> dict[str, Any]:
    """What the text says; or refuse."""
    if len(text) > MOST_BYTES:
        raise ModelFileError(f"it has more than {MOST_BYTES:,} bytes")
    if text.count(b",") > _MOST_VALUES or text.count(b"[") > _MOST_VALUES:
        raise ModelFileError(f"it has more than {_MOST_VALUES:,} values")
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
    depth, place = 0, 0
    while (mark := _MARK.search(text, place)) is not None:
        place = mark.end()
        if mark[0] == b'"':
            rest = _REST.match(text, place)
            if rest is None:
                raise ModelFileError("it is no JSON: a string does not end")
            place = rest.end()
        elif mark[0] in b"[{":
            depth += 1
            if depth > _DEEPEST:
                raise ModelFileError(f"it is nested more than {_DEEPEST} deep")
        else:
            depth -= 1


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
        raise ModelFileError(f"it has {digits[:20]}, a number out of range")
    return value


def _whole(digits: str) -> int:
    # Longer ones take a time that grows with their square.
    if len(digits) > 20 or not -_LARGEST <= int(digits) < 2 * _LARGEST:
        raise ModelFileError(f"it has {digits[:20]}, a whole number out of range")
    return int(digits)
