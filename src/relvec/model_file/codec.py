"""Values as JSON and back: a closed list of types, each with a name of its own."""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import MISSING, dataclass, fields
from enum import Enum
from numbers import Integral, Real
from typing import Any

import numpy as np

from relvec.model_file.arrays import (
    is_number_array,
    number_array,
    read_numbers,
    read_objects,
    read_words,
    word_array,
)
from relvec.model_file.errors import ModelFileError
from relvec.typing import AnyArray

_INFINITE = {"inf": float("inf"), "-inf": float("-inf"), "nan": float("nan")}
_PLAIN = (str, bool, int, float, type(None))
_OTHERWISE = (
    "or keep the model by joblib.dump or skops.io.dump, which hold any Python object"
)


@dataclass(frozen=True)
class Kind:
    """How objects of a class are kept: by fields, from which it is made again."""

    name: str  # in the file, whatever the class is called
    cls: type
    fields: tuple[str, ...]
    optional: frozenset[str]  # of these, what an older file need not have
    take: Callable[[Any], Mapping[str, Any]]
    make: Callable[..., Any]


def of_dataclass(name: str, cls: Any) -> Kind:
    """Its fields, given to its constructor."""
    own = [each for each in fields(cls) if each.init]
    names = tuple(each.name for each in own)
    optional = frozenset(
        each.name
        for each in own
        if each.default is not MISSING or each.default_factory is not MISSING
    )

    def take(value: Any) -> Mapping[str, Any]:
        return {each: getattr(value, each) for each in names}

    return Kind(name, cls, names, optional, take, cls)


def of_enumeration(name: str, cls: type[Enum]) -> Kind:
    """By the name of its member."""

    def make(member: Any) -> Any:
        return cls[member]

    return Kind(
        name, cls, ("member",), frozenset(), lambda value: {"member": value.name}, make
    )


class Codec:
    """From values to trees of JSON and back, for some kinds of objects."""

    def __init__(self, kinds: Iterable[Kind]) -> None:
        every = list(kinds)
        self.by_name = {kind.name: kind for kind in every}
        self._by_class = {kind.cls: kind for kind in every}
        self._readers: dict[str, Callable[..., Any]] = {
            "array": read_numbers,
            "words": read_words,
            "objects": self._objects,
            "number": _special_number,
            "tuple": self._tuple,
            "slice": self._slice,
            "dict": self._dict,
            "map": self._map,
        }

    def joined(self, kinds: Iterable[Kind]) -> "Codec":
        """With further kinds."""
        return Codec([*self.by_name.values(), *kinds])

    def encoded(self, value: Any) -> Any:
        """As JSON; what has no place in a file is refused with the remedy."""
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
            isinstance(item, _PLAIN) for item in array.ravel().tolist()
        ):
            items = [_scalar(item) for item in array.ravel().tolist()]
            return {"type": "objects", "shape": list(array.shape), "items": items}
        raise ModelFileError(
            f"an array of type {array.dtype} has no place in a model file: use "
            f"numbers or strings, {_OTHERWISE}"
        )

    def decoded(self, tree: Any) -> Any:
        """The value; or refuse. Nothing is looked up but the kinds that are known."""
        if isinstance(tree, list):
            return [self.decoded(each) for each in tree]
        if isinstance(tree, str):
            return _text(tree)
        if not isinstance(tree, dict):
            return tree
        name = tree.get("type")
        given = {key: each for key, each in tree.items() if key != "type"}
        if not isinstance(name, str):
            raise ModelFileError("an object has no type")
        if name in self._readers:
            return _called(name, self._readers[name], given)
        kind = self.by_name.get(name)
        if kind is None:
            raise ModelFileError(f"it has an object of an unknown type, {name[:80]!r}")
        unknown = [key for key in given if key not in kind.fields]
        lacking = [
            key for key in kind.fields if key not in given and key not in kind.optional
        ]
        if unknown or lacking:
            raise ModelFileError(
                f"{name} has the fields {str(list(given))[:200]}, not those it should"
            )
        values = {key: self.decoded(each) for key, each in given.items()}
        return _called(name, kind.make, values)

    def _objects(self, shape: Any, items: Any) -> AnyArray:
        found = self.decoded(_as_list(items))
        if not all(isinstance(item, _PLAIN) for item in found):
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
        return {_text(key): self.decoded(each) for key, each in items.items()}

    def _dict(self, items: Any) -> dict[Any, Any]:
        pairs = [self.decoded(_as_list(pair)) for pair in _as_list(items)]
        found = dict(pairs)
        if len(found) < len(pairs):
            raise ModelFileError("a dict has the same key twice")
        return found


def _called(name: str, make: Callable[..., Any], given: dict[str, Any]) -> Any:
    """What a constructor makes of its fields, or why it does not."""
    try:
        return make(**given)
    except ModelFileError:
        raise
    except Exception as error:
        raise ModelFileError(f"{name} is not as it should be: {error}") from error


def _scalar(value: Any) -> Any:
    """A number, a word, a flag or nothing."""
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
    return f"a {name} has no place in a model file: leave it out, {_OTHERWISE}"


def _special_number(value: Any) -> float:
    if not isinstance(value, str) or value not in _INFINITE:
        raise ModelFileError(f"a number is {str(value)[:20]!r}")
    return _INFINITE[value]


def _as_list(items: Any) -> list[Any]:
    if not isinstance(items, list):
        raise ModelFileError("what should be a list is none")
    return items


def _text(text: str) -> str:
    try:
        text.encode("utf-8")
    except UnicodeEncodeError:
        raise ModelFileError("a string has half a character, a surrogate") from None
    return text
