"""``get_params`` and ``set_params`` in the manner of scikit-learn, without it."""

import inspect
from copy import deepcopy
from dataclasses import MISSING, Field, fields, replace
from typing import Any, ClassVar, Self


class Parametric:
    """A frozen dataclass whose fields are parameters.

    Values are stored as they are given, so that what is cloned has the very same, and
    are compared and shown by what they hold: a list equals an array of its numbers.
    What is equal may change, so nothing of it is hashed.
    """

    __dataclass_fields__: ClassVar[dict[str, Field[Any]]]

    def get_params(self, deep: bool = True) -> dict[str, Any]:
        """Parameters by name.

        Parameters
        ----------
        deep : bool, default=True
            Whether to include those of nested objects, as ``left__length_scale``.

        Returns
        -------
        dict of str to object
        """
        params = self._own_params()
        if deep:
            for name, value in list(params.items()):
                if _has_params(value):
                    nested = value.get_params(deep=True)
                    params |= {f"{name}__{inner}": v for inner, v in nested.items()}
        return params

    def set_params(self, **params: Any) -> Self:
        """Change parameters in place: the only way to do so.

        Parameters
        ----------
        **params : object
            By the names of :meth:`get_params`; values are checked as when the object
            is made.

        Returns
        -------
        self
        """
        own, nested = self._sorted_by_owner(params)
        # Check all parameters together, on copies, before changing any.
        inner = {
            name: deepcopy(own.get(name, getattr(self, name))).set_params(**values)
            for name, values in nested.items()
        }
        changed = {**own, **inner}
        checked = replace(self, **changed)
        for name in changed:
            object.__setattr__(self, name, getattr(checked, name))
        return self

    def _own_params(self) -> dict[str, Any]:
        return {field.name: getattr(self, field.name) for field in fields(self)}

    def _sorted_by_owner(
        self, params: dict[str, Any]
    ) -> tuple[dict[str, Any], dict[str, dict[str, Any]]]:
        """Its own parameters, and those of each object it contains."""
        known = self._own_params()
        own = {name: value for name, value in params.items() if name in known}
        nested: dict[str, dict[str, Any]] = {}
        for name in params.keys() - own.keys():
            owner, _, inner = name.partition("__")
            if not (inner and _has_params(own.get(owner, known.get(owner)))):
                words = ", ".join(repr(valid) for valid in self.get_params())
                raise ValueError(
                    f"{type(self).__name__} has no parameter {name!r}; its "
                    f"parameters are {words}"
                )
            nested.setdefault(owner, {})[inner] = params[name]
        return own, nested

    __hash__ = None  # type: ignore[assignment]

    def __eq__(self, other: object) -> bool:
        if type(self) is not type(other):
            return NotImplemented
        assert isinstance(other, Parametric)
        return _comparable(self._own_params()) == _comparable(other._own_params())

    def __repr__(self) -> str:
        shown = [
            f"{field.name}={_plain(getattr(self, field.name))!r}"
            for field in fields(self)
            if field.default is MISSING
            or _comparable(getattr(self, field.name)) != _comparable(field.default)
        ]
        return f"{type(self).__name__}({', '.join(shown)})"


def _has_params(value: object) -> bool:
    return hasattr(value, "get_params") and not inspect.isclass(value)


def _plain(value: Any) -> Any:
    """Convert arrays and their numbers to Python's own, whose repr is exact."""
    return value.tolist() if hasattr(value, "tolist") else value


def _comparable(value: Any) -> Any:
    """Convert a value so that ``==`` gives a single answer."""
    plain = _plain(value)
    if isinstance(plain, dict):
        return {name: _comparable(entry) for name, entry in plain.items()}
    if isinstance(plain, list | tuple):
        return tuple(_comparable(entry) for entry in plain)
    if isinstance(plain, slice):
        return ("slice", plain.start, plain.stop, plain.step)
    return plain
