"""Pairs of rows closer than 1, as sparse matrices, and functions of them.

Nothing the size of all pairs is held. One feature is sorted; a few are searched in a
tree of cells; with many, distances are computed in blocks.
"""

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
from scipy.sparse import coo_array, csc_array, csr_array, vstack
from scipy.spatial import cKDTree
from scipy.spatial.distance import cdist

from relvec.linalg import SQUARABLE
from relvec.typing import AnyArray, Array, Indices

# Beyond, cells have too many neighbours to be worth a tree.
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
    """How many distances ``close_distances`` has."""
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
    """The array itself, or that of a sparse matrix."""
    return matrix if isinstance(matrix, np.ndarray) else matrix.toarray()


def on_pattern(
    function: Callable[[Array, Array], Array], pattern: Any, X: Array, Z: Array
) -> Array:
    """Values of a function of rows beside each other, in the order of the data."""
    values = np.empty(pattern.nnz)
    rows = np.repeat(np.arange(len(X)), np.diff(pattern.indptr))
    step = max(1, _BLOCK_ENTRIES // max(1, X.shape[1]))
    for start in range(0, pattern.nnz, step):
        part = slice(start, start + step)
        values[part] = function(X[rows[part]], Z[pattern.indices[part]])
    return values


def _windows(ordered: Array, centres: Array) -> tuple[Indices, Indices]:
    """First and one after the last of the sorted values within 1 of each centre."""
    first = np.searchsorted(ordered, centres - 1, side="right")
    last = np.searchsorted(ordered, centres + 1, side="left")
    # What equals a centre is close, even if the centre is so large that 1 is nothing.
    first = np.minimum(first, np.searchsorted(ordered, centres, side="left"))
    return first, np.maximum(last, np.searchsorted(ordered, centres, side="right"))


def _from_windows(x: Array, z: Array) -> Any:
    """Column by column: what is within 1 of a centre is a window of sorted rows."""
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
    """In whatever order the cells come."""
    if len(X) == 0 or len(Z) == 0:
        return csr_array((len(X), len(Z)))
    pairs = cKDTree(X).sparse_distance_matrix(
        cKDTree(Z), _BELOW_ONE, output_type="ndarray"
    )
    kind = _index_type(len(pairs))
    indices = pairs["i"].astype(kind), pairs["j"].astype(kind)
    listed = coo_array((pairs["v"], indices), shape=(len(X), len(Z)))
    # Said to be free of duplicates, which would be looked for by sorting.
    listed.has_canonical_format = True
    return _by_rows(listed.tocsc())


def _from_blocks(X: Array, Z: Array) -> Any:
    """Row by row."""
    blocks = [_below_one(block) for block in _blocks(X, Z)]
    # Older versions of scipy stack arrays to a matrix.
    return csr_array(vstack(blocks)) if blocks else csr_array((0, len(Z)))


def _blocks(X: Array, Z: Array) -> Iterator[Array]:
    """All distances, some rows of X at a time."""
    step = max(1, _BLOCK_ENTRIES // max(1, len(Z)))
    for start in range(0, len(X), step):
        yield cdist(X[start : start + step], Z)


def _below_one(distances: Array) -> Any:
    """The distances that count, zeros included."""
    close = distances < 1
    ends = _ends(close.sum(axis=1))
    columns = np.nonzero(close)[1].astype(ends.dtype)
    return csr_array((distances[close], columns, ends), shape=distances.shape)


def _by_rows(columns: Any) -> Any:
    """Rows made from columns, one after the other, have their indices sorted."""
    matrix = columns.tocsr()
    matrix.has_canonical_format = True
    return matrix


def _ends(counts: Indices) -> AnyArray:
    """Where the entries of each row or column end, beginning with 0."""
    ends = np.concatenate([[0], np.cumsum(counts)])
    return ends.astype(_index_type(ends[-1]))


def _index_type(count: int) -> type[np.signedinteger[Any]]:
    return np.int32 if count <= np.iinfo(np.int32).max else np.int64
