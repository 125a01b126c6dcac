"""Attributes that transformers from a file get only after they were tried.

Rows of a self-test have no names. Transformers that know of names would warn of that,
or refuse; and to silence warnings changes what other threads are told.
"""

from typing import Any

from sklearn.compose import ColumnTransformer
from sklearn.pipeline import Pipeline

_LATER = "_relvec_later"


def set_later(transformer: Any, **attributes: Any) -> None:
    """Note what it gets when it was tried."""
    vars(transformer).setdefault(_LATER, {}).update(attributes)


def finished(model: Any) -> Any:
    """The same with all its attributes, and so are its parts."""
    for part in _parts(model):
        finished(part)
    if not isinstance(model, str):
        for name, value in vars(model).pop(_LATER, {}).items():
            setattr(model, name, value)
    return model


def _parts(model: Any) -> list[Any]:
    if isinstance(model, Pipeline):
        return [step for _, step in model.steps if step is not None]
    if isinstance(model, ColumnTransformer):
        return [*(one for _, one, _ in model.transformers), model.remainder]
    return []
