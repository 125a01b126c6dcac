"""Which rows describe all others: the landmarks of a low rank.

K ≈ K_NM K_MM⁻¹ K_MN, by pivots as ``relvec.design.pivots`` has them: the features
f(x) = L⁻¹k(Z, x) of landmarks Z with LLᵀ = k(Z, Z) have the inner products of K. That
is Nyström's method, (9) of the note with √(M/N) for its √(N/M), and incomplete
Cholesky if the landmarks are its pivots.
"""

import warnings
from collections.abc import Callable
from typing import Any

import numpy as np
from scipy.cluster.vq import kmeans2

from relvec.basis import as_rows
from relvec.chance import generator
from relvec.design.pivots import Pivots, choose_pivots, first_batch
from relvec.kernels import Kernel
from relvec.modelling import AtRows, TrainingRows
from relvec.precision import LEAST_TOLERANCE
from relvec.typing import AnyArray, Array, Indices

# Of the largest k(x, x): what is left of a landmark beside the others must be more, so
# that features keep ten digits.
_INDEPENDENT = LEAST_TOLERANCE
# Rows drawn for every landmark: pivots are hardly better among more, and k-means
# has that many rows to each mean.
_ROWS_PER_PIVOT, _ROWS_PER_MEAN = 4, 10
# Rows of an array that may be landmarks; of as many a fit hardly feels which.
_MOST_DRAWN = 100_000
_SWEEPS = 10  # of k-means; the kernel matrix hardly feels more
LANDMARKS = ("uniform", "pivoted", "kmeans", "relevance")


def n_drawn(rank: int, *, in_blocks: bool) -> int:
    """How many rows landmarks are chosen from: few of those that have to be kept."""
    return _ROWS_PER_MEAN * rank if in_blocks else _MOST_DRAWN


def landmark_pivots(
    kernel: Kernel,
    rows: TrainingRows,
    landmarks: Any,
    rank: int,
    relevant: Callable[[Kernel], Indices],
) -> tuple[Pivots, Indices]:
    """Pivots at landmarks, and their numbers among all rows; -1 for no row.

    ``relevant`` are those of the rows drawn that a sparse model of the kernel keeps.
    """
    if not isinstance(landmarks, str):
        pivots = _pivots(kernel, as_rows(landmarks)).truncated(rank)
        return pivots, np.full(len(pivots), -1)
    times = {"kmeans": _ROWS_PER_MEAN, "pivoted": _ROWS_PER_PIVOT, "uniform": 1}
    drawn, indices = _drawn(rows, times.get(landmarks, len(rows)) * rank)
    if landmarks == "kmeans":
        if rows.of_objects:
            raise ValueError("landmarks='kmeans' needs rows of numbers: use 'pivoted'")
        pivots = _pivots(kernel, _means(drawn, rank, rows.seed))
        return pivots, np.full(len(pivots), -1)
    if landmarks == "pivoted":
        return _greedy(kernel, drawn, indices, rank, seed=rows.seed)
    if landmarks == "relevance":
        place = {int(index): at for at, index in enumerate(indices)}
        found = [place[int(index)] for index in relevant(kernel)] or [0]
        drawn, indices = drawn[found], indices[found]
    pivots = _pivots(kernel, drawn).truncated(rank)
    return pivots, _named(pivots, drawn, indices)


def _drawn(rows: TrainingRows, count: int) -> tuple[AnyArray, Indices]:
    """At most so many of the rows that may be landmarks, no two of them equal."""
    X, indices = AtRows().of(rows)
    if len(X) > count:
        some = np.sort(generator(rows.seed, 1).permutation(len(X))[:count])
        X, indices = X[some], indices[some]
    return as_rows(X), indices


def uniform_pivots(kernel: Kernel, rows: TrainingRows, count: int) -> Pivots:
    """At so many of the rows in memory, by chance."""
    return _pivots(kernel, as_rows(rows.loaded(rows.drawn(count)).rows.whole()))


def independent_rows(kernel: Kernel, rows: TrainingRows) -> Indices:
    """Those of the rows in memory whose functions no others describe, ascending."""
    X = as_rows(rows.rows.whole())
    return np.sort(_named(_pivots(kernel, X), X, np.arange(len(X))))


def pivots_at(
    kernel: Kernel, rows: TrainingRows, chosen: Indices
) -> tuple[Pivots, Indices]:
    """At these of the rows in memory, and their numbers."""
    X = as_rows(rows.rows.whole()[chosen])
    pivots = _pivots(kernel, X)
    return pivots, _named(pivots, X, rows.indices[chosen])


def cholesky_pivots(
    kernel: Kernel,
    rows: TrainingRows,
    rank: int,
    *,
    tol: float,
    noise: float,
    most: float,
) -> tuple[Pivots, Indices]:
    """Pivots until ``tol`` of the largest k(x, x), or of the noise, is left of no row.

    The noise is 1/C, to which adds what is left. ``most`` are numbers to be held.
    """
    X, indices = _drawn(rows, max(int(most / rank), rank))
    least = tol * min(_scale(kernel, X), noise)
    return _greedy(kernel, X, indices, rank, seed=rows.seed, least=least)


def _greedy(
    kernel: Kernel,
    X: AnyArray,
    indices: Indices,
    rank: int,
    *,
    seed: int,
    least: float = 0.0,
) -> tuple[Pivots, Indices]:
    """Pivots where most is left, in batches; and the numbers of their rows."""
    least = max(least, _INDEPENDENT * _scale(kernel, X))
    first = first_batch(len(X), rank, seed)
    pivots, _ = choose_pivots(Pivots.none(kernel, X), X, least, rank, first)
    pivots = pivots.truncated(rank)
    return pivots, _named(pivots, X, indices)


def _pivots(kernel: Kernel, candidates: AnyArray) -> Pivots:
    """Those of the candidates that the others do not describe, the first the most."""
    start = Pivots.none(kernel, candidates)
    least = _INDEPENDENT * _scale(kernel, candidates)
    return start.extended(candidates, np.empty((len(candidates), 0)), least)


def _scale(kernel: Kernel, X: AnyArray) -> float:
    largest = float(np.max(kernel.diagonal(X), initial=0.0))
    return largest if largest > 0 else 1.0


def _means(X: Array, count: int, seed: int) -> Array:
    if len(X) <= count:
        return X
    first = X[np.sort(generator(seed, 2).permutation(len(X))[:count])]
    with warnings.catch_warnings():
        # An empty cluster keeps its mean, a row, which will do.
        warnings.simplefilter("ignore", UserWarning)
        means = kmeans2(X, first, iter=_SWEEPS, minit="matrix")[0]
    return np.asarray(means)


def _named(pivots: Pivots, X: AnyArray, indices: Indices) -> Indices:
    """Numbers of the rows that are pivots."""

    def key(row: AnyArray) -> Any:
        return tuple(map(id, row)) if row.dtype == object else row.tobytes()

    number = {key(row): index for row, index in zip(X, indices, strict=True)}
    return np.array([number[key(row)] for row in pivots.rows], dtype=np.intp)
