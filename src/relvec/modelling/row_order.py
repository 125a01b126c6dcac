"""An order of rows that is theirs, whatever order they are given in.

Searches look at functions by their number and draw rows by theirs, and sums are
rounded in the order of their terms. So that the same rows in another order give the
same model, they are brought into this order before anything else.
"""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from numbers import Real

import numpy as np

from relvec.typing import AnyArray, Array, Indices

_COLUMNS = 8  # compared at a time, beyond the first, which mostly tells rows apart
# Of the largest value of a kernel matrix: what differs by less is rounding, which may
# be another in another order.
_RESOLUTION = 2.0**-30


@dataclass(frozen=True)
class RowOrder:
    """Rows one after the other, and which of them differ from the one before."""

    indices: Indices
    fresh: AnyArray

    @classmethod
    def given(cls, n_rows: int) -> "RowOrder":
        """As they come, before anything is known of them."""
        indices = np.arange(n_rows)
        return cls(indices, indices == 0)

    def then_by(self, keys: Iterable[list[AnyArray]]) -> "RowOrder":
        """Rows that do not differ by these keys, the first of which counts most.

        Keys come some at a time, and only as long as rows have all others in common.
        """
        indices, fresh = self.indices.copy(), self.fresh.copy()
        for some in keys:
            alike = ~fresh
            alike[:-1] |= alike[1:]
            tied = np.flatnonzero(alike)
            if len(tied) == 0:
                break
            own = [key[indices[tied]] for key in some]
            order = np.lexsort((*own[::-1], np.cumsum(fresh)[tied]))
            indices[tied] = indices[tied][order]
            for key in own:
                values = key[order]
                fresh[tied[1:]] |= values[1:] != values[:-1]
        return RowOrder(indices, fresh)


def by_values(X: AnyArray, y: AnyArray | None = None) -> RowOrder:
    """By the features from the first to the last, then by the target.

    Only ranks count, so that units do not matter.
    """
    return RowOrder.given(len(X)).then_by(_keys(X, y))


def by_likeness(K: AnyArray, y: AnyArray) -> RowOrder:
    """Of a kernel's values between all rows: by those that each has, in any order."""
    return RowOrder.given(len(K)).then_by(_keys_of_square(K, y))


def _keys(X: AnyArray, y: AnyArray | None) -> Iterator[list[AnyArray]]:
    columns = _ranked(X) if X.dtype == object else X
    yield list(columns[:, :1].T)
    for first in range(1, columns.shape[1], _COLUMNS):
        yield list(columns[:, first : first + _COLUMNS].T)
    if y is not None:
        targets = y.reshape(len(y), -1).T
        yield [np.unique(one, return_inverse=True)[1].ravel() for one in targets]


def _keys_of_square(K: AnyArray, y: AnyArray) -> Iterator[list[AnyArray]]:
    unit = _RESOLUTION * float(np.max(np.abs(K), initial=0.0)) or 1.0
    yield [np.rint(np.diagonal(K) / unit), np.rint(np.min(K, axis=1) / unit)]
    yield from _keys(np.sort(np.rint(K / unit), axis=1), y)


def _ranked(objects: AnyArray) -> Array:
    """Ranks in columns of text or of numbers; all the same where there is no order."""
    ranks = np.zeros(objects.shape)
    for rank, column in zip(ranks.T, objects.T, strict=True):
        if any(all(isinstance(item, kind) for item in column) for kind in (str, Real)):
            rank[:] = np.unique(column, return_inverse=True)[1].ravel()
    return ranks
