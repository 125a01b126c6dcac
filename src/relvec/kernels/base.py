"""What a kernel is: a function of two sets of rows, with checked parameters.

Compact kernels return sparse matrices of the pairs of rows closer than 1. Nothing of
the size of all pairs is allocated: one feature is sorted, a few are searched with a
tree, and many are compared in blocks.
"""

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from numbers import Real
from typing import Any, Protocol, TypeAlias

import numpy as np
from scipy.sparse import coo_array, csc_array, csr_array, vstack
from scipy.spatial import cKDTree
from scipy.spatial.distance import cdist

from relvec import kernels
from relvec.linalg import SQUARABLE
from relvec.parametric import Parametric
from relvec.typing import AnyArray, Array, Indices

# One number, or one for every feature.
Scale: TypeAlias = float | Sequence[float] | AnyArray


def check_scale(name: str, value: Any) -> None:
    """Require a positive number, or one for every feature."""
    try:
        scales = np.asarray(value)
    except ValueError:
        scales = np.empty((0, 0))
    numbers = scales.dtype.kind in "fiu" and scales.ndim <= 1 and scales.size > 0
    if not numbers or not np.all((scales > 0) & np.isfinite(scales)):
        raise ValueError(f"{name} must be positive and finite; got {value!r}")


def feature_scales(name: str, value: Any, n_features: int) -> Array:
    """The scale, or one for each feature that the kernel uses."""
    scales = np.asarray(value, dtype=np.float64)
    if scales.ndim and len(scales) != n_features:
        raise ValueError(
            f"{name} has {len(scales)} entries and the kernel sees {n_features} "
            "features: give one number, or one for every feature"
        )
    return scales


def check_columns(columns: Any) -> None:
    """Require a slice, or a list of indices or booleans; None is all features."""
    if columns is None or isinstance(columns, slice):
        return
    try:
        chosen = np.asarray(columns)
    except ValueError:
        chosen = np.empty(0)
    if chosen.ndim != 1 or chosen.dtype.kind not in "iub" or len(chosen) == 0:
        raise ValueError(
            "columns must be None, a slice, or a list of feature numbers or of flags, "
            f"such as [0, 2]; got {columns!r}"
        )


def chosen_columns(columns: Any, n_features: int) -> Indices:
    """Indices of the features that the kernel uses."""
    index = columns if isinstance(columns, slice) else np.asarray(columns)
    try:
        chosen = np.arange(n_features)[index]
    except IndexError:
        msg = f"columns is {columns!r}, which does not fit {n_features} features"
        raise ValueError(msg) from None
    if len(chosen) == 0 or len(np.unique(chosen)) < len(chosen):
        raise ValueError(
            f"columns is {columns!r}, which of {n_features} features must choose at "
            "least one, and none twice"
        )
    return chosen


def checked_rows(name: str, rows: Any) -> Array:
    """Convert rows to double precision, without a check for finite values."""
    array = np.asarray(rows)
    if array.ndim != 2 or array.dtype.kind not in "fiub":
        raise ValueError(
            f"{name} must be a dense array of rows, (n_rows, n_features), of real "
            f"numbers; got shape {array.shape} of type {array.dtype}"
        )
    return array.astype(np.float64, copy=False)


# With more features, cells have too many neighbours for a tree to pay.
_FEW_FEATURES = 6
_BLOCK_ENTRIES = 2_000_000  # 16 MB at a time, as in ``basis``
# Distances of exactly 1 do not count.
_BELOW_ONE = float(np.nextafter(1, 0))


def close_distances(X: Array, Z: Array) -> Any:
    """‖x − z‖ for all pairs below 1, zeros included, in canonical form."""
    if X.shape[1] == 1:
        return _from_windows(X[:, 0], Z[:, 0])
    if _suits_tree(X, Z):
        return _from_tree(X, Z)
    return _from_blocks(X, Z)


def count_close(X: Array, Z: Array) -> int:
    """Number of distances that ``close_distances`` returns."""
    if X.shape[1] == 1:
        first, last = _windows(np.sort(X[:, 0]), Z[:, 0])
        return int(np.sum(last - first))
    if _suits_tree(X, Z):
        return int(cKDTree(X).count_neighbors(cKDTree(Z), _BELOW_ONE))
    return sum(int(np.sum(block < 1)) for block in _blocks(X, Z))


def _suits_tree(X: Array, Z: Array) -> bool:
    """Whether there are few features, and cells whose size can be squared."""
    largest = max(np.max(np.abs(points), initial=0.0) for points in (X, Z))
    return X.shape[1] <= _FEW_FEATURES and bool(largest < SQUARABLE[1])


def as_dense(matrix: Any) -> Array:
    """Convert a sparse matrix to an array."""
    return matrix if isinstance(matrix, np.ndarray) else matrix.toarray()


def on_pattern(
    function: Callable[[Array, Array], Array], pattern: Any, X: Array, Z: Array
) -> Array:
    """Evaluate a function of pairs of rows at the entries of a sparse matrix."""
    values = np.empty(pattern.nnz)
    rows = np.repeat(np.arange(len(X)), np.diff(pattern.indptr))
    step = max(1, _BLOCK_ENTRIES // max(1, X.shape[1]))
    for start in range(0, pattern.nnz, step):
        part = slice(start, start + step)
        values[part] = function(X[rows[part]], Z[pattern.indices[part]])
    return values


def _windows(ordered: Array, centres: Array) -> tuple[Indices, Indices]:
    """For each centre, the range of sorted values within 1."""
    first = np.searchsorted(ordered, centres - 1, side="right")
    last = np.searchsorted(ordered, centres + 1, side="left")
    # Points equal to a centre are close, even if adding 1 to it is lost to rounding.
    first = np.minimum(first, np.searchsorted(ordered, centres, side="left"))
    return first, np.maximum(last, np.searchsorted(ordered, centres, side="right"))


def _from_windows(x: Array, z: Array) -> Any:
    """Build columns: rows within 1 of a centre form a window of the sorted rows."""
    order = np.argsort(x, kind="stable")
    ordered = x[order]
    first, last = _windows(ordered, z)
    counts = last - first
    ends = _ends(counts)
    positions = np.arange(ends[-1]) + np.repeat(first - ends[:-1], counts)
    distances = ordered[positions]
    distances -= np.repeat(z, counts)
    np.abs(distances, out=distances)
    rows = order.astype(ends.dtype)[positions]
    return _by_rows(csc_array((distances, rows, ends), shape=(len(x), len(z))))


def _from_tree(X: Array, Z: Array) -> Any:
    """Find pairs by a tree, in any order."""
    if len(X) == 0 or len(Z) == 0:
        return csr_array((len(X), len(Z)))
    pairs = cKDTree(X).sparse_distance_matrix(
        cKDTree(Z), _BELOW_ONE, output_type="ndarray"
    )
    kind = _index_type(len(pairs))
    indices = pairs["i"].astype(kind), pairs["j"].astype(kind)
    listed = coo_array((pairs["v"], indices), shape=(len(X), len(Z)))
    # Declared free of duplicates, since scipy would sort to find them.
    listed.has_canonical_format = True
    return _by_rows(listed.tocsc())


def _from_blocks(X: Array, Z: Array) -> Any:
    """Find pairs block by block."""
    blocks = [_below_one(block) for block in _blocks(X, Z)]
    # Older versions of scipy stack arrays to a matrix.
    return csr_array(vstack(blocks)) if blocks else csr_array((0, len(Z)))


def _blocks(X: Array, Z: Array) -> Iterator[Array]:
    """All distances, some rows of X at a time."""
    step = max(1, _BLOCK_ENTRIES // max(1, len(Z)))
    for start in range(0, len(X), step):
        yield cdist(X[start : start + step], Z)


def _below_one(distances: Array) -> Any:
    """The distances below one, zeros included."""
    close = distances < 1
    ends = _ends(close.sum(axis=1))
    columns = np.nonzero(close)[1].astype(ends.dtype)
    return csr_array((distances[close], columns, ends), shape=distances.shape)


def _by_rows(columns: Any) -> Any:
    """Convert columns to rows with sorted indices."""
    matrix = columns.tocsr()
    matrix.has_canonical_format = True
    return matrix


def _ends(counts: Indices) -> AnyArray:
    """End of each row or column among the entries, beginning with 0."""
    ends = np.concatenate([[0], np.cumsum(counts)])
    return ends.astype(_index_type(ends[-1]))


def _index_type(count: int) -> type[np.signedinteger[Any]]:
    return np.int32 if count <= np.iinfo(np.int32).max else np.int64


class Kernel(Protocol):
    """k(x, z) for every row x of X and z of Z; Mercer's condition is not required."""

    def __call__(self, X: AnyArray, Z: AnyArray, /) -> Array:
        """The matrix (n_rows of X, n_rows of Z); sparse if ``compact``."""

    @property
    def positive_definite(self) -> bool:
        """Whether every matrix k(X, X) is known to be positive semi-definite."""

    @property
    def compact(self) -> bool:
        """Whether matrices are sparse, the kernel vanishing beyond some distance."""

    def diagonal(self, X: AnyArray, /) -> Array:
        """k(x, x) for every row x of X."""


@dataclass(frozen=True, eq=False, repr=False)
class KernelFunction(Parametric, ABC):
    """Base class of relvec's kernels: parameters, checks of rows, columns and algebra.

    Your own kernel derives from this class, is a dataclass with
    ``@dataclass(frozen=True, eq=False, repr=False)``, and defines ``_matrix`` and
    ``_paired``, and perhaps derivatives. Kernels can be added and multiplied, with each
    other and with positive numbers.

    Parameters
    ----------
    columns : sequence of int or bool, slice, optional
        The features that the kernel uses; all by default.
    """

    columns: Any = field(default=None, kw_only=True)

    # numpy leaves ``number * kernel`` to the kernel.
    __array_ufunc__ = None

    def __post_init__(self) -> None:
        check_columns(self.columns)

    def __call__(self, X: AnyArray, Z: AnyArray | None = None) -> Array:
        """k(x, z) for every row x of X and z of Z.

        Parameters
        ----------
        X : array of shape (n, n_features)
        Z : array of shape (m, n_features), optional
            X itself by default.

        Returns
        -------
        array of shape (n, m)
            A ``scipy.sparse.csr_array`` if ``compact``.
        """
        return self._matrix(*self.seen(X, Z)[:2])

    @property
    @abstractmethod
    def positive_definite(self) -> bool:
        """Whether every matrix k(X, X) is known to be positive semi-definite."""

    @property
    def compact(self) -> bool:
        """Whether matrices are sparse, the kernel vanishing beyond some distance."""
        return False

    @property
    def requires_vector_input(self) -> bool:
        """Whether rows must be numeric, as in scikit-learn's kernels."""
        return True

    def diagonal(self, X: AnyArray) -> Array:
        """k(x, x) for every row x of X, an array of shape (n,)."""
        return self._diagonal(self.seen(X)[0])

    def paired(self, X: AnyArray, Z: AnyArray) -> Array:
        """k(x, z) for each row x of X and the same row z of Z, of shape (n,)."""
        return self._paired(*self.seen(X, Z)[:2])

    def gradients(self, X: AnyArray, Z: AnyArray | None = None) -> dict[str, Array]:
        """∂k(x, z)/∂θ for every continuous parameter θ, by name.

        X and Z are as in a call.

        Returns
        -------
        dict of str to array
            Names as in :meth:`get_params`, nested ones included. Of shape (n, m), and
            (n, m, d) for a parameter that has one entry for each of d features. Never
            sparse.
        """
        return self._gradients(*self.seen(X, Z)[:2])

    def centre_gradient(self, X: AnyArray, Z: AnyArray | None = None) -> Array:
        """∂k(x, z)/∂z by the features of the centre z; never sparse.

        It is 0 for features that the kernel does not use and, by convention, at x = z
        if the kernel has a kink there. X and Z are as in a call.

        Returns
        -------
        array of shape (n, m, n_features)
        """
        rows, centres, chosen = self.seen(X, Z)
        gradient = self._centre_gradient(rows, centres)
        if chosen is None:
            return gradient
        wide = np.zeros((*gradient.shape[:2], np.shape(X)[1]))
        wide[..., chosen] = gradient
        return wide

    def seen(
        self, X: AnyArray, Z: AnyArray | None = None
    ) -> tuple[Array, Array, Indices | None]:
        """The columns of X and Z (X by default) that the kernel uses; their indices."""
        if self.columns is None and not self.requires_vector_input:
            objects = np.asarray(X)
            return objects, objects if Z is None else np.asarray(Z), None
        rows = checked_rows("X", X)
        centres = rows if Z is None or Z is X else checked_rows("Z", Z)
        if centres.shape[1] != rows.shape[1]:
            msg = f"X has {rows.shape[1]} features and Z has {centres.shape[1]}"
            raise ValueError(msg)
        if self.columns is None:
            return rows, centres, None
        chosen = chosen_columns(self.columns, rows.shape[1])
        narrow = rows[:, chosen]
        return narrow, narrow if centres is rows else centres[:, chosen], chosen

    @abstractmethod
    def _matrix(self, X: Array, Z: Array) -> Array:
        """k(x, z) for all pairs, as a new array."""

    @abstractmethod
    def _paired(self, X: Array, Z: Array) -> Array:
        """k(x, z) for pairs of rows, as a new array (n,)."""

    def _diagonal(self, X: Array) -> Array:
        return self._paired(X, X)

    def _of_distances(self, distances: Array) -> Array | None:
        """k as a function of ‖x − z‖, as a new array; None if it is not one."""
        return None

    def _sparse_times(self, other: "KernelFunction", X: Array, Z: Array) -> Any:
        """Multiply the matrix of a compact kernel by another kernel's values."""
        matrix: Any = self(X, Z)
        matrix.data *= on_pattern(other.paired, matrix, X, Z)
        return matrix

    def _gradients(self, X: Array, Z: Array) -> dict[str, Array]:
        raise TypeError(f"{type(self).__name__} has no derivatives by its parameters")

    def _centre_gradient(self, X: Array, Z: Array) -> Array:
        raise TypeError(f"{type(self).__name__} has no derivative by its centres")

    def __add__(self, other: Any) -> "KernelFunction":
        if isinstance(other, Real):
            return kernels.Sum(self, kernels.Constant(float(other)))
        return kernels.Sum(self, other)

    def __radd__(self, other: Any) -> "KernelFunction":
        # The builtin sum begins with 0.
        if isinstance(other, Real):
            return self if other == 0 else kernels.Constant(float(other)) + self
        return kernels.Sum(other, self)

    def __mul__(self, other: Any) -> "KernelFunction":
        if isinstance(other, Real):
            return kernels.Scaled(self, float(other))
        return kernels.Product(self, other)

    def __rmul__(self, other: Any) -> "KernelFunction":
        if isinstance(other, Real):
            return self * other
        return kernels.Product(other, self)
