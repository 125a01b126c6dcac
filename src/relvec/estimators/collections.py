"""Dask collections in the place of arrays."""

from collections.abc import Callable
from functools import partial, wraps
from typing import Any, TypeVar

from sklearn.utils.validation import check_is_fitted

from relvec.data import dask_blocks, is_dask, lazily

Method = TypeVar("Method", bound=Callable[..., Any])


def as_blocks(X: Any, y: Any, sample_weight: Any) -> tuple[Any, Any, Any]:
    """Rows of a Dask collection as blocks, which bring their targets and weights."""
    if not is_dask(X):
        return X, y, sample_weight
    return dask_blocks(X, y, sample_weight), None, None


def lazy_on_collections(method: Method) -> Method:
    """A method of X that makes lazy arrays of the rows of a Dask collection."""

    @wraps(method)
    def called(self: Any, X: Any, *others: Any, **named: Any) -> Any:
        if not is_dask(X):
            return method(self, X, *others, **named)
        check_is_fitted(self)
        return lazily(partial(_of_rows, method, self, others, named), X)

    return called  # type: ignore[return-value]


def _of_rows(
    method: Callable[..., Any],
    model: Any,
    others: tuple[Any, ...],
    named: dict[str, Any],
    X: Any,
) -> Any:
    return method(model, X, *others, **named)
