"""Distances between rows, and functions of them made in place."""

from collections.abc import Callable

import numpy as np
from scipy.spatial.distance import cdist

from relvec.typing import Array

# Up to the first, sums feature by feature are fastest, and exact for points far from
# each other or the origin; so they are of one row, for which a product has to go over
# all centres several times. Beyond the second, a product is several times faster;
# in between it is used where squares are so small that little is lost of their
# differences (250 · eps is 6e-14), and nowhere if they overflow.
_FEW_FEATURES, _MANY_FEATURES = 4, 12
_SMALL_SQUARE, _LARGEST_SQUARE = 250.0, 1e300
# A quarter of a megabyte, which stays in the processor's cache from one operation to
# the next.
_CACHED_ENTRIES = 32_768


def squared_distances(X: Array, Z: Array, *, exact: bool = False) -> Array:
    """‖x − z‖² for all pairs of rows; ``exact`` also for those nearly the same."""
    return of_squares(lambda squares: None, X, Z, exact=exact)


def of_squares(
    function: Callable[[Array], None], X: Array, Z: Array, *, exact: bool = False
) -> Array:
    """f(‖x − z‖²) for all pairs of rows, by a function that works in place."""
    n_features = X.shape[1]
    if exact or n_features <= _FEW_FEATURES or min(len(X), len(Z)) <= 1:
        return apply(function, cdist(X, Z, "sqeuclidean"))
    centre = Z.mean(axis=0)
    rows, centres = X - centre, Z - centre
    squares = [np.einsum("ij,ij->i", points, points) for points in (rows, centres)]
    limit = _SMALL_SQUARE if n_features <= _MANY_FEATURES else _LARGEST_SQUARE
    if max(map(np.max, squares)) > limit:
        return apply(function, cdist(X, Z, "sqeuclidean"))
    return _of_expanded_squares(function, rows, centres, *squares)


def _of_expanded_squares(
    function: Callable[[Array], None],
    X: Array,
    Z: Array,
    row_squares: Array,
    centre_squares: Array,
) -> Array:
    """The same from ‖x‖² − 2xᵀz + ‖z‖², what follows the product in blocks of rows.

    The product is one of all: of a few rows at a time, with many features, most of its
    time goes into rearranging Z.
    """
    values = np.matmul(X, Z.T)
    step = max(1, _CACHED_ENTRIES // len(Z))
    for start in range(0, len(X), step):
        part = slice(start, start + step)
        squares = values[part]
        squares *= -2
        squares += row_squares[part, None]
        squares += centre_squares
        function(np.maximum(squares, 0, out=squares))
    return values


def apply(function: Callable[[Array], None], values: Array) -> Array:
    """The same array, after a function that works in place saw all of it in pieces."""
    flat = values.reshape(-1)
    for start in range(0, flat.size, _CACHED_ENTRIES):
        function(flat[start : start + _CACHED_ENTRIES])
    return values


def gaussian(squares: Array) -> None:
    """exp(−s/2), in place of s."""
    squares *= -0.5
    np.exp(squares, out=squares)


def differences(X: Array, Z: Array) -> Array:
    """x − z for all pairs of rows, (n, m, n_features)."""
    return np.subtract(X[:, None, :], Z)


def multiplied(gradient: Array, values: Array) -> Array:
    """A gradient (n, m) or (n, m, d), times values (n, m)."""
    return gradient * (values if gradient.ndim == 2 else values[..., None])
