"""Values from trees of JSON: of one file, with what it may take of time and memory."""

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

from relvec.model_file.arrays import MOST_TEXT, read_numbers, read_objects, read_words
from relvec.model_file.errors import ModelFileError
from relvec.model_file.kind import Kind
from relvec.typing import AnyArray

PLAIN = (str, bool, int, float, type(None))
_INFINITE = {"inf": float("inf"), "-inf": float("-inf"), "nan": float("nan")}
# Transformers in a file, each of which takes scikit-learn a millisecond to make; and
# how many are in one another, since each is tried by all that it is in.
_MOST_COSTLY, _DEEPEST_COSTLY = 500, 8
# Categories of all encoders, of which each takes scikit-learn some microseconds.
_MOST_CATEGORIES = 250_000
_MOST_NESTED = 10_000  # kernels in one kernel: the parts of a sum, for instance


class Decoder:
    """Of one file: what its parts take is counted for all of them."""

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
        """The value; or refuse. Nothing is looked up but the kinds that are known."""
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
        """Those of an encoder, which has an array of them for each feature."""
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
    """What a constructor makes of its fields, or why it does not."""
    try:
        return make(**given)
    except ModelFileError:
        raise
    except Exception as error:
        # Not from the error, whose text may be as long as the file.
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
    """The same, if it can be written."""
    try:
        text.encode("utf-8")
    except UnicodeEncodeError:
        msg = "a name or label has half a character (a lone surrogate): rename it"
        raise ModelFileError(msg) from None
    return text
