"""Values as JSON and back: a closed list of types, each with a name of its own."""

from collections.abc import Iterable
from numbers import Integral, Real
from typing import Any

import numpy as np

from relvec.model_file.arrays import is_number_array, number_array, word_array
from relvec.model_file.decoder import PLAIN, Decoder
from relvec.model_file.errors import ModelFileError
from relvec.model_file.kind import Kind
from relvec.typing import AnyArray

_OTHERWISE = (
    "or keep the model by joblib.dump or skops.io.dump, which hold any Python object"
)


class Codec:
    """From values to trees of JSON and back, for some kinds of objects."""

    def __init__(self, kinds: Iterable[Kind]) -> None:
        every = list(kinds)
        self.by_name = {kind.name: kind for kind in every}
        self._by_class = {kind.cls: kind for kind in every}

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
            isinstance(item, PLAIN) for item in array.ravel().tolist()
        ):
            items = [_scalar(item) for item in array.ravel().tolist()]
            return {"type": "objects", "shape": list(array.shape), "items": items}
        raise ModelFileError(
            f"an array of type {array.dtype} has no place in a model file: use "
            f"numbers or strings, {_OTHERWISE}"
        )

    def decoded(self, tree: Any) -> Any:
        """The value; or refuse. Nothing is looked up but the kinds that are known."""
        return Decoder(self.by_name).decoded(tree)


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
