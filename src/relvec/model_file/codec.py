"""Values as JSON and back: a closed list of types, each with its own name.

A ``Kind`` describes how the objects of one class are saved. Numeric arrays are base64
text with a shape and a type; arrays of strings are lists. ``Decoder`` reads one file
and limits the time and memory that the file may take.
"""

import base64
import math
from collections.abc import Callable, Iterable, Mapping
from dataclasses import MISSING, dataclass, fields
from enum import Enum
from numbers import Integral, Real
from typing import Any, Literal

import numpy as np

from relvec.model_file.document import ModelFileError
from relvec.typing import AnyArray


@dataclass(frozen=True)
class Kind:
    """How the objects of a class are saved: by named fields, and how they are made."""

    name: str  # in the file, whatever the class is called
    cls: type
    fields: tuple[str, ...]
    take: Callable[[Any], Mapping[str, Any]]
    make: Callable[..., Any]
    optional: frozenset[str] = frozenset()  # fields that older files may lack
    costly: bool = False  # slow to construct
    kernel: bool = False  # may contain other kernels

    @classmethod
    def of_attributes(
        cls, name: str, owner: Any, fields: Iterable[str], **settings: Any
    ) -> "Kind":
        """Save attributes and pass them to the constructor, unless told otherwise."""
        names = tuple(fields)

        def take(value: Any) -> Mapping[str, Any]:
            return {each: getattr(value, each) for each in names}

        return cls(name, owner, names, **{"take": take, "make": owner, **settings})


def of_dataclass(name: str, cls: Any, *, kernel: bool = False) -> Kind:
    """Save the fields of a dataclass and pass them to its constructor."""
    own = [each for each in fields(cls) if each.init]
    optional = frozenset(
        each.name
        for each in own
        if each.default is not MISSING or each.default_factory is not MISSING
    )
    names = [each.name for each in own]
    return Kind.of_attributes(name, cls, names, optional=optional, kernel=kernel)


def of_enumeration(name: str, cls: type[Enum]) -> Kind:
    """Save the name of a member."""
    return Kind(
        name,
        cls,
        ("member",),
        take=lambda value: {"member": value.name},
        make=lambda member: cls[member],
    )


_NUMBERS = "biuf"  # kinds of types: flags, whole numbers, and others
_DTYPES = {
    np.dtype(kind + str(size)).newbyteorder("<").str
    for kind, sizes in (("i", (1, 2, 4, 8)), ("u", (1, 2, 4, 8)), ("f", (2, 4, 8)))
    for size in sizes
} | {"|b1"}
_MOST_AXES = 4
_LONGEST = 2**20  # largest axis of an empty array, which takes no bytes in the file
# Bytes in memory of all string arrays in a file.
MOST_TEXT = 2**25


def number_array(array: AnyArray) -> dict[str, Any]:
    """Encode an array, column-major if it is so in memory."""
    little = array.astype(array.dtype.newbyteorder("<"), copy=False)
    # The order in memory may affect the rounding of products.
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
    """Whether files can hold the type of an array."""
    return array.dtype.newbyteorder("<").str in _DTYPES


def read_numbers(dtype: Any, shape: Any, order: Any, data: Any) -> AnyArray:
    """Decode an array if its bytes match its shape and type."""
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
        raise ModelFileError("an array's data are not base64") from None
    if len(content) != n_bytes:
        raise ModelFileError("an array's data end too early")
    if kind.kind == "b" and content.translate(None, b"\x00\x01"):
        raise ModelFileError("an array of flags has others than 0 and 1")
    flat = np.frombuffer(content, dtype=kind).astype(kind.newbyteorder("="))
    return flat.reshape(axes, order=order)


def checked_shape(shape: Any) -> tuple[int, ...]:
    """Check a list of sizes."""
    whole = isinstance(shape, list) and all(
        type(size) is int and size >= 0 for size in shape
    )
    if not whole or len(shape) > _MOST_AXES:
        raise ModelFileError(f"an array has the shape {shape}")
    if math.prod(shape) == 0 and max(shape) > _LONGEST:
        raise ModelFileError(f"an array without entries has the shape {shape}")
    return tuple(shape)


def word_array(array: AnyArray) -> dict[str, Any]:
    """Encode an array of strings of limited length."""
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
    """Decode an array of strings and count its bytes, unless they exceed the limit."""
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
    """Make an array of decoded objects."""
    axes = checked_shape(shape)
    if not isinstance(items, list) or len(items) != math.prod(axes):
        raise ModelFileError(f"an array of shape {axes} has other than so many items")
    found = np.empty(len(items), dtype=object)
    for place, item in enumerate(items):
        found[place] = item
    return found.reshape(axes)


PLAIN = (str, bool, int, float, type(None))
_INFINITE = {"inf": float("inf"), "-inf": float("-inf"), "nan": float("nan")}
# Number of transformers in a file, each of which takes scikit-learn a millisecond, and
# their nesting, since each transformer is tried by all that contain it.
_MOST_COSTLY, _DEEPEST_COSTLY = 500, 8
# Categories of all encoders; each takes scikit-learn some microseconds.
_MOST_CATEGORIES = 250_000
_MOST_NESTED = 10_000  # kernels in one kernel: the parts of a sum, for instance


class Decoder:
    """Decode one file, counting the resources of all its parts."""

    def __init__(self, kinds: Mapping[str, Kind]) -> None:
        self._kinds = kinds
        self._room, self._n_costly, self._depth = MOST_TEXT, 0, 0
        self._n_categories, self._n_kernels, self._kernel_depth = 0, 0, 0
        self._readers: dict[str, Callable[..., Any]] = {
            "array": read_numbers,
            "words": self._words,
            "objects": self._objects,
            "number": _special_number,
            "tuple": self._tuple,
            "slice": self._slice,
            "dict": self._dict,
            "map": self._map,
        }

    def decoded(self, tree: Any) -> Any:
        """Return the value of a tree; only known kinds are looked up."""
        if isinstance(tree, list):
            return [self.decoded(each) for each in tree]
        if isinstance(tree, str):
            return as_unicode(tree)
        if not isinstance(tree, dict):
            return tree
        name = tree.get("type")
        given = {key: each for key, each in tree.items() if key != "type"}
        if not isinstance(name, str):
            raise ModelFileError("an object has no type")
        if name in self._readers:
            return _called(name, self._readers[name], given)
        kind = self._kinds.get(name)
        if kind is None:
            raise ModelFileError(f"it has an object of an unknown type, {name!r}")
        unknown = [key for key in given if key not in kind.fields]
        lacking = [
            key for key in kind.fields if key not in given and key not in kind.optional
        ]
        if unknown or lacking:
            raise ModelFileError(
                f"{name} has the fields {list(given)}, not those it should"
            )
        self._enter(kind)
        values = {key: self.decoded(each) for key, each in given.items()}
        self._depth -= kind.costly
        self._kernel_depth -= kind.kernel
        self._count_categories(values.get("categories"))
        return _called(name, kind.make, values)

    def _enter(self, kind: Kind) -> None:
        self._n_costly += kind.costly
        self._depth += kind.costly
        if self._depth > _DEEPEST_COSTLY:
            raise ModelFileError(f"transformers are nested over {_DEEPEST_COSTLY} deep")
        if self._n_costly > _MOST_COSTLY:
            raise ModelFileError(f"it has more than {_MOST_COSTLY} transformers")
        if kind.kernel:
            self._n_kernels = self._n_kernels + 1 if self._kernel_depth else 0
            self._kernel_depth += 1
        if self._n_kernels > _MOST_NESTED:
            raise ModelFileError(
                f"a kernel has more than {_MOST_NESTED:,} others in it"
            )

    def _count_categories(self, found: Any) -> None:
        """Count the categories of an encoder, one array per feature."""
        if isinstance(found, list):
            self._n_categories += sum(np.size(each) for each in found)
        if self._n_categories > _MOST_CATEGORIES:
            raise ModelFileError(
                f"its encoders have more than {_MOST_CATEGORIES:,} categories: keep "
                "the model by joblib.dump"
            )

    def _words(self, length: Any, shape: Any, items: Any) -> AnyArray:
        found, n_bytes = read_words(length, shape, items, self._room)
        self._room -= n_bytes
        for item in items:
            as_unicode(item)
        return found

    def _objects(self, shape: Any, items: Any) -> AnyArray:
        found = self.decoded(_as_list(items))
        if not all(isinstance(item, PLAIN) for item in found):
            raise ModelFileError(
                "an array of objects has others than words and numbers"
            )
        return read_objects(shape, found)

    def _tuple(self, items: Any) -> tuple[Any, ...]:
        return tuple(self.decoded(_as_list(items)))

    def _slice(self, items: Any) -> slice:
        start, stop, step = self.decoded(_as_list(items))
        return slice(start, stop, step)

    def _map(self, items: Any) -> dict[str, Any]:
        if not isinstance(items, dict):
            raise ModelFileError("what should be a map is none")
        return {as_unicode(key): self.decoded(each) for key, each in items.items()}

    def _dict(self, items: Any) -> dict[Any, Any]:
        pairs = [self.decoded(_as_list(pair)) for pair in _as_list(items)]
        found = dict(pairs)
        if len(found) < len(pairs):
            raise ModelFileError("a dict has the same key twice")
        return found


def _called(name: str, make: Callable[..., Any], given: dict[str, Any]) -> Any:
    """Call a constructor and report its errors as ours."""
    try:
        return make(**given)
    except ModelFileError:
        raise
    except Exception as error:
        # Drop the cause, whose text may be as long as the file.
        raise ModelFileError(f"{name} is not as it should be: {error}") from None


def _special_number(value: Any) -> float:
    if not isinstance(value, str) or value not in _INFINITE:
        raise ModelFileError(f"a number is {value!r}")
    return _INFINITE[value]


def _as_list(items: Any) -> list[Any]:
    if not isinstance(items, list):
        raise ModelFileError("what should be a list is none")
    return items


def as_unicode(text: str) -> str:
    """Return the text if it can be written."""
    try:
        text.encode("utf-8")
    except UnicodeEncodeError:
        msg = "a name or label has half a character (a lone surrogate): rename it"
        raise ModelFileError(msg) from None
    return text


_OTHERWISE = (
    "or keep the model by joblib.dump or skops.io.dump, which hold any Python object"
)


class Codec:
    """Convert values to JSON trees and back, for some kinds of objects."""

    def __init__(self, kinds: Iterable[Kind]) -> None:
        every = list(kinds)
        self.by_name = {kind.name: kind for kind in every}
        self._by_class = {kind.cls: kind for kind in every}

    def joined(self, kinds: Iterable[Kind]) -> "Codec":
        """Add further kinds."""
        return Codec([*self.by_name.values(), *kinds])

    def encoded(self, value: Any) -> Any:
        """Return a value as JSON, or explain why it cannot be saved."""
        kind = self._by_class.get(type(value))
        if kind is not None:
            taken = kind.take(value)
            named = {name: self.encoded(each) for name, each in taken.items()}
            return {"type": kind.name, **named}
        if isinstance(value, np.ndarray):
            return self._array(value)
        if isinstance(value, dict):
            return self._named(value)
        if isinstance(value, list):
            return [self.encoded(each) for each in value]
        if isinstance(value, tuple | slice):
            return self._several(value)
        return _scalar(value)

    def _named(self, values: dict[Any, Any]) -> dict[str, Any]:
        if all(type(key) is str for key in values):
            named = {key: self.encoded(each) for key, each in values.items()}
            return {"type": "map", "items": named}
        pairs = [[self.encoded(k), self.encoded(v)] for k, v in values.items()]
        return {"type": "dict", "items": pairs}

    def _several(self, values: tuple[Any, ...] | slice) -> dict[str, Any]:
        if isinstance(values, slice):
            ends = (values.start, values.stop, values.step)
            return {"type": "slice", "items": [self.encoded(each) for each in ends]}
        return {"type": "tuple", "items": [self.encoded(each) for each in values]}

    def _array(self, array: AnyArray) -> dict[str, Any]:
        if is_number_array(array):
            return number_array(array)
        if array.dtype.kind == "U":
            return word_array(array)
        if array.dtype.kind == "O" and all(
            isinstance(item, PLAIN) for item in array.ravel().tolist()
        ):
            items = [_scalar(item) for item in array.ravel().tolist()]
            return {"type": "objects", "shape": list(array.shape), "items": items}
        raise ModelFileError(
            f"an array of type {array.dtype} cannot be saved in a model file: use "
            f"numbers or strings, {_OTHERWISE}"
        )

    def decoded(self, tree: Any) -> Any:
        """Return the value of a tree; only known kinds are looked up."""
        return Decoder(self.by_name).decoded(tree)


def _scalar(value: Any) -> Any:
    """Encode a number, a string, a boolean or None."""
    if value is None or isinstance(value, str | bool):
        return str(value) if isinstance(value, str) else value
    if isinstance(value, np.bool_):
        return bool(value)
    if isinstance(value, Integral):
        if not -(2**63) <= int(value) < 2**64:
            raise ModelFileError(f"{value} is too large for a model file")
        return int(value)
    if isinstance(value, Real):
        number = float(value)
        if np.isfinite(number):
            return number
        return {"type": "number", "value": str(number)}
    raise ModelFileError(_refused(value))


def _refused(value: Any) -> str:
    name = getattr(value, "__name__", type(value).__name__)
    if callable(value):
        return (
            f"{name} is a function or class of yours, which no model file can hold: "
            f"use a kernel of relvec.kernels, {_OTHERWISE}"
        )
    return f"a {name} cannot be saved in a model file: leave it out, {_OTHERWISE}"
