"""Arrays as text: numbers in base64 with shape and type, words in a list."""

import base64
import math
from typing import Any, Literal

import numpy as np

from relvec.model_file.errors import ModelFileError
from relvec.typing import AnyArray

_NUMBERS = "biuf"  # kinds of types: flags, whole numbers, and others
_DTYPES = {
    np.dtype(kind + str(size)).newbyteorder("<").str
    for kind, sizes in (("i", (1, 2, 4, 8)), ("u", (1, 2, 4, 8)), ("f", (2, 4, 8)))
    for size in sizes
} | {"|b1"}
_MOST_AXES = 4
_LONGEST = 2**20  # axis of an array without entries, which costs no bytes in the file
# Bytes of all arrays of words in a file, each word as many as the longest of its array.
MOST_TEXT = 2**25


def number_array(array: AnyArray) -> dict[str, Any]:
    """As it is kept in a file: column-major where it is so in memory."""
    little = array.astype(array.dtype.newbyteorder("<"), copy=False)
    # The order of sums in a product, and so their rounding, may depend on it.
    columns = array.flags.f_contiguous and not array.flags.c_contiguous
    order: Literal["C", "F"] = "F" if columns else "C"
    return {
        "type": "array",
        "dtype": little.dtype.str,
        "shape": list(array.shape),
        "order": order,
        "data": base64.b64encode(little.tobytes(order)).decode("ascii"),
    }


def is_number_array(array: AnyArray) -> bool:
    """Whether its type is one that files know."""
    return array.dtype.newbyteorder("<").str in _DTYPES


def read_numbers(dtype: Any, shape: Any, order: Any, data: Any) -> AnyArray:
    """The array, if its bytes are as many as shape and type say."""
    if not isinstance(dtype, str) or dtype not in _DTYPES:
        raise ModelFileError(f"an array is of type {dtype!r}")
    if not isinstance(data, str) or order not in ("C", "F"):
        raise ModelFileError("an array has no data, or no order")
    kind, axes = np.dtype(dtype), checked_shape(shape)
    n_bytes = math.prod(axes) * kind.itemsize
    if len(data) != 4 * -(-n_bytes // 3):
        raise ModelFileError(
            f"an array of shape {axes} and type {dtype} has {n_bytes} bytes, and its "
            f"data are {len(data)} characters"
        )
    try:
        content = base64.b64decode(data, validate=True)
    except ValueError:
        raise ModelFileError("an array's data are no base64") from None
    if len(content) != n_bytes:
        raise ModelFileError("an array's data end too early")
    if kind.kind == "b" and content.translate(None, b"\x00\x01"):
        raise ModelFileError("an array of flags has others than 0 and 1")
    flat = np.frombuffer(content, dtype=kind).astype(kind.newbyteorder("="))
    return flat.reshape(axes, order=order)


def checked_shape(shape: Any) -> tuple[int, ...]:
    """A list of sizes."""
    whole = isinstance(shape, list) and all(
        type(size) is int and size >= 0 for size in shape
    )
    if not whole or len(shape) > _MOST_AXES:
        raise ModelFileError(f"an array has the shape {shape}")
    if math.prod(shape) == 0 and max(shape) > _LONGEST:
        raise ModelFileError(f"an array without entries has the shape {shape}")
    return tuple(shape)


def word_array(array: AnyArray) -> dict[str, Any]:
    """Of strings of one length at most."""
    if array.nbytes > MOST_TEXT:
        raise ModelFileError(
            f"an array of type {array.dtype} takes {array.nbytes:,} bytes: give words "
            "as objects, or shorter ones"
        )
    return {
        "type": "words",
        "length": array.dtype.itemsize // 4,
        "shape": list(array.shape),
        "items": [str(word) for word in array.ravel().tolist()],
    }


def read_words(
    length: Any, shape: Any, items: Any, room: int = MOST_TEXT
) -> tuple[AnyArray, int]:
    """The array of strings, and the bytes that it takes, if there is room for them."""
    axes, known = checked_shape(shape), isinstance(items, list)
    if not known or not all(isinstance(item, str) for item in items):
        raise ModelFileError("an array of words has others")
    if len(items) != math.prod(axes):
        raise ModelFileError(f"an array of shape {axes} has {len(items)} words")
    longest = max((len(item) for item in items), default=0)
    if type(length) is not int or longest > length:
        raise ModelFileError(f"words of at most {longest} letters have length {length}")
    n_bytes = 4 * max(length, 1) * max(len(items), 1)
    if n_bytes > room:
        raise ModelFileError(
            f"arrays of words take more than {MOST_TEXT:,} bytes: give words as "
            "objects, or shorter ones"
        )
    return np.array(items, dtype=f"<U{length}").reshape(axes), n_bytes


def read_objects(shape: Any, items: Any) -> AnyArray:
    """An array of anything that was decoded."""
    axes = checked_shape(shape)
    if not isinstance(items, list) or len(items) != math.prod(axes):
        raise ModelFileError(f"an array of shape {axes} has other than so many items")
    found = np.empty(len(items), dtype=object)
    for place, item in enumerate(items):
        found[place] = item
    return found.reshape(axes)
