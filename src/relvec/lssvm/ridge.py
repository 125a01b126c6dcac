"""An LS-SVM of low rank: ridge regression on the features of a few landmarks.

Solves   min ½‖w‖² + ½C Σᵢ vᵢ(yᵢ − wᵀf(xᵢ) − b)², which is (8) of the note with its
         missing bias: b is the mean that centred features leave
Given    features f(x) = L⁻¹k(Z, x) of landmarks Z with LLᵀ = k(Z, Z), whose inner
         products approximate K: Nyström's method, (9) of the note with √(M/N) for its
         √(N/M), or incomplete Cholesky if the landmarks are its pivots
By       S = Σᵢ vᵢ(f − f̄)(f − f̄)ᵀ = QsQᵀ once, O(r²N); then each C costs O(r²), and
         O(rN) with the errors of rows left out

With z = Qᵀ(f − f̄) the leverage of a row is h = 1/n + Σⱼ zⱼ²/(sⱼ + 1/C).
"""

import warnings
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field, replace
from typing import Any, TypeVar

import numpy as np
from scipy.cluster.vq import kmeans2
from scipy.linalg import eigh, qr, svd

from relvec.basis import as_rows
from relvec.blockwise import in_order
from relvec.chance import generator
from relvec.kernels import Kernel
from relvec.linalg import available_threads, rotated, threads_for
from relvec.lssvm.model import Evidence, LeaveOneOut
from relvec.modelling import AtRows, TrainingRows
from relvec.pivots import Pivots, choose_pivots, first_batch
from relvec.precision import FACTOR_LIMIT, LEAST_TOLERANCE
from relvec.typing import AnyArray, Array, Indices

# Least residual of a landmark given the others, relative to the largest k(x, x), so
# that features keep ten digits.
_INDEPENDENT = LEAST_TOLERANCE
# Rows drawn per landmark: pivots hardly improve with more; the second is for k-means.
_ROWS_PER_PIVOT, _ROWS_PER_MEAN = 4, 10
# Most rows that may become landmarks; drawing from more hardly changes a fit.
_MOST_DRAWN = 100_000
_SWEEPS = 10  # of k-means; more hardly change the kernel matrix
LANDMARKS = ("uniform", "pivoted", "kmeans", "relevance")


def n_drawn(rank: int, *, in_blocks: bool) -> int:
    """Number of rows that landmarks are chosen from."""
    return _ROWS_PER_MEAN * rank if in_blocks else _MOST_DRAWN


def landmark_pivots(
    kernel: Kernel,
    rows: TrainingRows,
    landmarks: Any,
    rank: int,
    relevant: Callable[[Kernel], Indices],
) -> tuple[Pivots, Indices]:
    """Choose landmarks; also return their row numbers, -1 for none.

    ``relevant`` selects the rows that a sparse model with this kernel keeps.
    """
    if not isinstance(landmarks, str):
        pivots = _pivots(kernel, as_rows(landmarks)).truncated(rank)
        return pivots, np.full(len(pivots), -1)
    times = {"kmeans": _ROWS_PER_MEAN, "pivoted": _ROWS_PER_PIVOT, "uniform": 1}
    drawn, indices = _draw_candidates(rows, times.get(landmarks, len(rows)) * rank)
    if landmarks == "kmeans":
        if rows.of_objects:
            raise ValueError("landmarks='kmeans' needs rows of numbers: use 'pivoted'")
        pivots = _pivots(kernel, _means(drawn, rank, rows.seed))
        return pivots, np.full(len(pivots), -1)
    if landmarks == "pivoted":
        return _greedy_pivots(kernel, drawn, indices, rank, seed=rows.seed)
    if landmarks == "relevance":
        place = {int(index): at for at, index in enumerate(indices)}
        found = [place[int(index)] for index in relevant(kernel)] or [0]
        drawn, indices = drawn[found], indices[found]
    pivots = _pivots(kernel, drawn).truncated(rank)
    return pivots, _row_numbers(pivots, drawn, indices)


def _draw_candidates(rows: TrainingRows, count: int) -> tuple[AnyArray, Indices]:
    """Draw distinct rows that may become landmarks."""
    X, indices = AtRows().of(rows)
    if len(X) > count:
        some = np.sort(generator(rows.seed, 1).permutation(len(X))[:count])
        X, indices = X[some], indices[some]
    return as_rows(X), indices


def uniform_pivots(kernel: Kernel, rows: TrainingRows, count: int) -> Pivots:
    """Pivots at random rows in memory."""
    return _pivots(kernel, as_rows(rows.loaded(rows.drawn(count)).rows.whole()))


def independent_rows(kernel: Kernel, rows: TrainingRows) -> Indices:
    """Rows in memory whose functions are linearly independent, ascending."""
    X = as_rows(rows.rows.whole())
    return np.sort(_row_numbers(_pivots(kernel, X), X, np.arange(len(X))))


def pivots_at(
    kernel: Kernel, rows: TrainingRows, chosen: Indices
) -> tuple[Pivots, Indices]:
    """Pivots at given rows in memory, and their row numbers."""
    X = as_rows(rows.rows.whole()[chosen])
    pivots = _pivots(kernel, X)
    return pivots, _row_numbers(pivots, X, rows.indices[chosen])


def cholesky_pivots(
    kernel: Kernel,
    rows: TrainingRows,
    rank: int,
    *,
    tol: float,
    noise: float,
    most: float,
) -> tuple[Pivots, Indices]:
    """Add pivots until the residual of every row is small.

    It is small below ``tol`` of the largest k(x, x) and of the noise 1/C, to which it
    adds. ``most`` limits the numbers in memory.
    """
    X, indices = _draw_candidates(rows, max(int(most / rank), rank))
    least = tol * min(_scale(kernel, X), noise)
    return _greedy_pivots(kernel, X, indices, rank, seed=rows.seed, least=least)


def _greedy_pivots(
    kernel: Kernel,
    X: AnyArray,
    indices: Indices,
    rank: int,
    *,
    seed: int,
    least: float = 0.0,
) -> tuple[Pivots, Indices]:
    """Add pivots with the largest residuals, in batches; return their row numbers."""
    least = max(least, _INDEPENDENT * _scale(kernel, X))
    first = first_batch(len(X), rank, seed)
    pivots, _ = choose_pivots(Pivots.none(kernel, X), X, least, rank, first)
    pivots = pivots.truncated(rank)
    return pivots, _row_numbers(pivots, X, indices)


def _pivots(kernel: Kernel, candidates: AnyArray) -> Pivots:
    """Linearly independent candidates, those with the largest residuals first."""
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
        # The mean of an empty cluster stays a row, which is fine.
        warnings.simplefilter("ignore", UserWarning)
        means = kmeans2(X, first, iter=_SWEEPS, minit="matrix")[0]
    return np.asarray(means)


def _row_numbers(pivots: Pivots, X: AnyArray, indices: Indices) -> Indices:
    """Row numbers of pivots."""

    def key(row: AnyArray) -> Any:
        return tuple(map(id, row)) if row.dtype == object else row.tobytes()

    number = {key(row): index for row, index in zip(X, indices, strict=True)}
    return np.array([number[key(row)] for row in pivots.rows], dtype=np.intp)


Result = TypeVar("Result")
_Part = tuple[slice, Array, Array]  # rows, their features and residuals


@dataclass(frozen=True, eq=False)
class FeatureRows:
    """Features (N, r) of all rows, computed in blocks and perhaps kept."""

    pivots: Pivots
    rows: TrainingRows
    kept: bool
    _store: list[_Part] = field(default_factory=list, repr=False)

    def map_blocks(
        self, work: Callable[[slice, Array, Array], Result]
    ) -> Iterator[Result]:
        """Apply ``work`` to the rows, features and residuals d of each block."""
        if self._store:
            yield from in_order(
                lambda item: work(*item), self._store, available_threads()
            )
            return
        fresh: list[_Part] = []

        def done(item: tuple[slice, AnyArray]) -> Result:
            features = self.pivots.features(item[1])
            residual = np.maximum(self.pivots.residual(item[1], features), 0.0)
            if self.kept:
                fresh.append((item[0], features, residual))
            return work(item[0], features, residual)

        width = len(self.pivots) + self.rows.n_features
        yield from in_order(done, self.rows.rows.blocks(width), available_threads())
        self._store.extend(sorted(fresh, key=lambda part: part[0].start))

    def matrix(self) -> Array:
        """All features at once."""
        return np.concatenate(list(self.map_blocks(lambda part, F, d: F)))


@dataclass(frozen=True, eq=False)
class Ridge:
    """Sums over all rows, in the basis where they are diagonal."""

    features: FeatureRows
    targets: Array  # (N, K)
    weight: Array  # (N,)
    intercept: bool
    count: float  # Σv
    mean: Array  # f̄ (r,)
    target_mean: Array  # (K,)
    values: Array  # s (r,)
    vectors: Array  # Q (r, r)
    projected: Array  # QᵀFᵀVy, centred (r, K)
    squares: Array  # yᵀVy, centred (K,)
    left: float  # Σ v d, what the features do not describe

    @classmethod
    def of(cls, features: FeatureRows, targets: Array, *, intercept: bool) -> "Ridge":
        """Compute the sums in one pass over the rows."""
        size, found = len(features.pivots), _products(features, targets, intercept)
        inner = found.centred
        with threads_for(10.0 * size**3):
            values, vectors = eigh(
                inner[:size, :size], check_finite=False, driver="evd"
            )
        return cls(
            features=features,
            targets=targets,
            weight=features.rows.weight,
            intercept=intercept,
            count=found.count,
            mean=found.mean[:size],
            target_mean=found.mean[size:],
            values=np.maximum(values, 0.0),
            vectors=vectors,
            projected=vectors.T @ inner[:size, size:],
            squares=np.maximum(np.diagonal(inner)[size:], 0.0),
            left=found.left,
        )

    def with_digits(self, C: float) -> "Ridge":
        """Use a QR of the rows if inner products lack digits for this C."""
        if C * self.values.max(initial=0.0) < FACTOR_LIMIT:
            return self
        size, root = len(self.mean), np.sqrt(self.weight)[:, None]
        shift = np.concatenate([self.mean, self.target_mean])

        def turned(part: slice, F: Array, d: Array) -> Array:
            own = np.hstack([F, self.targets[part]]) - shift
            return rotated(own * root[part])

        rows = np.empty((0, len(shift)))
        for block in self.features.map_blocks(turned):
            rows = rotated(np.vstack([rows, block]))
        left, values, right = svd(rows[:, :size], full_matrices=False)
        rest = size - len(values)  # directions orthogonal to all rows
        projected = values[:, None] * (left.T @ rows[:, size:])
        return replace(
            self,
            values=np.pad(values**2, (0, rest)),
            vectors=_completed(right.T),
            projected=np.pad(projected, ((0, rest), (0, 0))),
        )

    def shrunk(self, C: float) -> Array:
        """w in the basis of Q (r, K)."""
        return self.projected / (self.values + 1 / C)[:, None]

    def coefficients(self, C: float) -> tuple[Array, Array]:
        """Coefficients of the functions at the landmarks (r, K), and b (K,)."""
        w = self.vectors @ self.shrunk(C)
        return self.features.pivots.whitener.T @ w, self.target_mean - self.mean @ w

    def evidence(self, C: float) -> Evidence:
        """Lower bound of the evidence of K (Titsias 2009).

        It is exact if the features describe K exactly.
        """
        volume = float(np.sum(np.log1p(C * self.values))) + C * self.left
        if self.intercept:
            volume += np.log(self.count)
        explained = np.sum(self.projected * self.shrunk(C), axis=0)
        energy = np.maximum(self.squares - explained, 0.0)
        return Evidence(
            freedom=self.count - self.intercept,
            C=C,
            volume=volume,
            energy=C * energy,
            squares=self.squares / self.count,
        )

    def press(self, path: Array) -> Array:
        """Mean squared leave-one-out errors for each C of a path."""

        def squares(part: slice, F: Array, d: Array) -> Array:
            weight = self.weight[part]
            found = self._left_out(part, F, d, path)
            return np.array([weight.sum() * each.mean_square for each in found])

        return np.asarray(sum(self.features.map_blocks(squares)) / self.count)

    def left_out(self, C: float) -> LeaveOneOut:
        """Leave-one-out errors with the same features."""

        def one(part: slice, F: Array, d: Array) -> LeaveOneOut:
            return self._left_out(part, F, d, np.array([C]))[0]

        parts = list(self.features.map_blocks(one))
        return LeaveOneOut(
            np.concatenate([part.residual for part in parts]),
            np.concatenate([part.remaining for part in parts]),
            self.weight,
            np.concatenate([np.atleast_1d(part.missing) for part in parts]),
        )

    def _left_out(
        self, part: slice, F: Array, d: Array, path: Array
    ) -> list[LeaveOneOut]:
        weight, targets = self.weight[part], self.targets[part] - self.target_mean
        z = (F - self.mean) @ self.vectors
        fitted = z @ np.hstack([self.shrunk(C) for C in path])
        leverage = z**2 @ (1 / (self.values[:, None] + 1 / path))
        leverage += 1 / self.count if self.intercept else 0.0
        columns = np.split(fitted, len(path), axis=1)
        return [
            LeaveOneOut(targets - own, 1 - weight * h, weight, C * d)
            for own, h, C in zip(columns, leverage.T, path, strict=True)
        ]

    def spread(self, C: float) -> "RidgeVariance":
        """The variance of values."""
        return RidgeVariance(
            pivots=self.features.pivots,
            mean=self.mean,
            half=self.vectors / np.sqrt(self.values + 1 / C),
            constant=1 / self.count if self.intercept else 0.0,
            C=C,
        )


@dataclass(frozen=True, eq=False)
class _Products:
    """Weighted inner products of features and targets."""

    count: float
    mean: Array  # of both
    centred: Array  # inner products
    left: float


def _products(features: FeatureRows, targets: Array, intercept: bool) -> _Products:
    weight, size = features.rows.weight, len(features.pivots)

    def sums(part: slice, F: Array, d: Array) -> tuple[Array, float]:
        root = np.sqrt(weight[part])[:, None]
        own = np.hstack([F, targets[part], np.ones((len(F), 1))]) * root
        return own.T @ own, float(weight[part] @ d)

    width = size + targets.shape[1] + 1
    inner, left = np.zeros((width, width)), 0.0
    for products, unexplained in features.map_blocks(sums):
        inner += products
        left += unexplained
    count = float(inner[-1, -1])
    mean = inner[-1, :-1] / count * intercept
    return _Products(count, mean, inner[:-1, :-1] - count * np.outer(mean, mean), left)


def _completed(columns: Array) -> Array:
    """Complete orthonormal columns (r, n) to a basis."""
    n_rows, n_columns = columns.shape
    if n_rows == n_columns:
        return columns
    basis = qr(columns, mode="full")[0]
    return np.hstack([columns, basis[:, n_columns:]])


@dataclass(frozen=True, eq=False)
class RidgeVariance:
    """Variances of the values of a model of low rank, in units of 1/μ."""

    pivots: Pivots
    mean: Array
    half: Array  # Q(s + 1/C)^(-½)
    constant: float
    C: float

    def variance(self, rows: AnyArray) -> Array:
        """h(x)/C, plus the part of k(x, x) that the features miss."""
        features = self.pivots.features(rows)
        left = np.maximum(self.pivots.residual(rows, features), 0.0)
        turned = (features - self.mean) @ self.half
        leverage = self.constant + np.einsum("ij,ij->i", turned, turned)
        return np.asarray(left + leverage / self.C)
