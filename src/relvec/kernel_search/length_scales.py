"""Length scales of kernels: which kernels have them, their range, what they say."""

from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.spatial.distance import pdist, squareform

from relvec.basis import Basis, Functions
from relvec.chance import generator
from relvec.kernel_learning import Observations, Range, ScalableBasis, WeightBound
from relvec.kernels import Checked, Columns, Kernel
from relvec.kernels.per_centre_scale import PerCentreScale
from relvec.kernels.stationary import Radial
from relvec.modelling import FittedModel, TrainingSet
from relvec.typing import AnyArray, Array


@dataclass(frozen=True)
class DistanceSettings:
    """Constants of the length scales to begin with; only ``starts`` was not varied."""

    most_rows: int = 500  # with 125 000 pairs, enough for quantiles of 2 %
    near: float = 0.02  # quantiles of the distances of pairs: all but the outermost
    far: float = 0.98
    narrowest: float = 0.6  # near distances: narrower functions explain single rows
    centre: float = 1 / 1.5  # median distances
    starts: tuple[float, ...] = (1.0, 0.3, 3.0)  # centres
    at_bound: float = 0.3  # in log ℓ: within a factor of 1.35
    plane: float = 10.0  # below the upper bound: scales so wide describe a plane
    wider: float = 100.0  # than the median distance, and narrower: the allowed range
    narrower: float = 20.0
    relevance_rows: int = 1000  # whose mean has an error of about 3 %


SETTINGS = DistanceSettings()


@dataclass(frozen=True)
class Distances:
    """Between rows whose features are divided by a shape."""

    shape: Array  # (1 or d,) relative scales of the features that the kernel sees
    near: float
    median: float
    far: float
    nearest: float  # the median distance of a row to the one nearest to it
    n_features: int

    @classmethod
    def of(cls, rows: Array, shape: Array, seed: int) -> "Distances":
        """Of some of the rows (N, features that the kernel sees), equal ones once."""
        rows = np.unique(rows, axis=0)
        if len(rows) > SETTINGS.most_rows:
            drawing = generator(seed)
            rows = rows[drawing.choice(len(rows), SETTINGS.most_rows, replace=False)]
        distances = pdist(rows / shape)
        if len(distances) == 0:
            return cls(shape, 1.0, 1.0, 1.0, 1.0, rows.shape[1])
        quantiles = [SETTINGS.near, 0.5, SETTINGS.far]
        near, median, far = map(float, np.quantile(distances, quantiles))
        square = squareform(distances)
        np.fill_diagonal(square, np.inf)
        nearest = float(np.median(square.min(axis=0)))
        return cls(shape, near, median, far, nearest, rows.shape[1])

    def widths(self, number: int) -> Array:
        """So many from narrow to wide, in geometric progression."""
        if number == 1:
            return np.array([self.centre])
        return np.geomspace(SETTINGS.narrowest * self.near, self.far, number)

    def several(self, number: int) -> list[Array]:
        """So many for one dictionary; dictionaries from wide ones to narrow ones."""
        median, near = self.median, self.near
        ends = [
            (median, 10 * median),
            (median / 3, 3 * median),
            (1.5 * near, 2 * median),
            # Narrower than distances between rows, functions explain single ones.
            (0.7 * near, median),
        ]
        return [np.geomspace(min(pair), max(pair), number) for pair in ends]

    def starts(self, number: int) -> list[Array]:
        """At most so many scales to begin with, of which a few steps tell the best."""
        return [part * self.centre * self.shape for part in SETTINGS.starts[:number]]

    @property
    def centre(self) -> float:
        """A width that is rarely far from the best."""
        return SETTINGS.centre * self.median

    @property
    def allowed(self) -> Range:
        """The range in which scales may move."""
        narrowest = self.median / SETTINGS.narrower
        narrowest = min(narrowest, SETTINGS.narrowest * self.near / 2)
        widest = SETTINGS.wider * self.median
        shape = np.log(self.shape)
        return Range(shape + np.log(narrowest), shape + np.log(widest))

    @property
    def shared_by_rows(self) -> Range:
        """The range in which functions of one width reach other rows than their own.

        Narrower, a row explains itself, and noise cannot be told from a signal.
        """
        return self._at_least(np.log(self.nearest))

    @property
    def resolved_by_rows(self) -> Range:
        """The same for scales of each feature, whose distances are shares of those.

        Twice as much, since others are wider then and rows nearer.
        """
        return self._at_least(
            np.log(2 * self.nearest) - 0.5 * np.log(max(1, self.n_features))
        )

    def _at_least(self, log_scale: float) -> Range:
        allowed, least = self.allowed, np.log(self.shape) + log_scale
        return Range(np.maximum(allowed.low, least), allowed.high)

    def remark(self, scales: Array) -> str | None:
        """What there is to say of scales that ran as far as they may."""
        logs, allowed = np.log(scales), self.allowed
        narrow = np.flatnonzero(logs < allowed.low + SETTINGS.at_bound)
        if len(narrow):
            which = f" of feature {narrow[0]}" if len(scales) > 1 else ""
            return (
                f"the length scale{which} ran to its lower bound, far below the "
                "distances between rows: the model follows single rows; more rows, or "
                "a kernel of your own, may help"
            )
        wide = np.all(logs > allowed.high - np.log(SETTINGS.plane))
        if wide and np.any(logs > allowed.high - SETTINGS.at_bound):
            return (
                f"length scales ran to their upper bound, {SETTINGS.wider:g} times the "
                "median distance between rows: the data look like a plane; try "
                "kernel='linear' or a list with it"
            )
        return None


def given_shape(kernel: Radial) -> Array:
    """Relative scales of the features, as far as the kernel has any: (1 or d,)."""
    given = np.atleast_1d(kernel.scale)
    return given / np.exp(np.mean(np.log(given)))


def natural_shape(kernel: Radial, rows: AnyArray, sample_weight: Array) -> Array:
    """One for each feature: the kernel's own, or else standard deviations (d,)."""
    given = given_shape(kernel)
    if len(given) > 1:
        return given
    deviation = np.sqrt(variances(rows, sample_weight))
    return np.where(deviation > 0, deviation, 1.0)


def variances(rows: AnyArray, sample_weight: Array) -> Array:
    """Variance of every feature; zero where only rounding is left of it."""
    mean = np.average(rows, axis=0, weights=sample_weight)
    found = np.average((rows - mean) ** 2, axis=0, weights=sample_weight)
    # The rounding of a mean grows with the number of rows.
    digits = (8 + len(rows)) * np.finfo(float).eps
    rounding = digits * np.max(np.abs(rows), axis=0, initial=0.0)
    return np.where(found > rounding**2, found, 0.0)


def radial(kernel: Kernel) -> Radial | None:
    """The kernel itself, if it has length scales that can be learned."""
    inner = kernel.function if isinstance(kernel, Checked) else kernel
    return inner if isinstance(inner, Radial) and not inner.compact else None


def radial_index(kernels: tuple[Kernel, ...], learning: str) -> int:
    """The index of the one kernel with length scales to be learned; or refuse."""
    found = [index for index, one in enumerate(kernels) if radial(one) is not None]
    if len(found) == 1:
        return found[0]
    shown = ", ".join(map(_as_given, kernels))
    if not found:
        msg = (
            f"kernel_learning={learning} needs a kernel with a length scale and "
            "derivatives by it, such as 'rbf' or relvec.kernels.Matern(), without "
            f"finite support; got {shown}"
        )
    else:
        msg = (
            f"kernel_learning={learning} learns the length scales of one kernel, and "
            f"the list has {len(found)} that have them: {shown}; leave one, beside "
            "others that have none"
        )
    raise ValueError(msg)


def _as_given(kernel: Any) -> str:
    """What a user has given, without what is around it here."""
    while inner := getattr(kernel, "function", None) or getattr(kernel, "kernel", None):
        kernel = inner
    return "the columns of X" if isinstance(kernel, Columns) else repr(kernel)


def as_varying(group: Functions) -> PerCentreScale | None:
    """Functions that could each have a length scale of its own."""
    if isinstance(group, PerCentreScale):
        return group
    kernel = radial(group.kernel)
    if kernel is None:
        return None
    return PerCentreScale(kernel, group.centres, np.tile(kernel.scale, (len(group), 1)))


def observations(
    model: FittedModel, data: TrainingSet, eta: Array, bound: WeightBound | None
) -> Observations:
    """The data as a model with these latent values sees them."""
    likelihood, weight = model.fit.likelihood, data.weight
    ceiling = likelihood.parameter_ceiling
    if data.likelihood.unit is not None:
        # Outputs that share α in units of their noise do so while that is held.
        likelihood = data.likelihood.with_parameters(likelihood.log_parameters)
        ceiling = None
    seen = likelihood.pseudo_observations(data.targets, eta, weight)
    return Observations(seen, float(weight.sum()), ceiling, bound)


def scalable(
    model: FittedModel, data: TrainingSet, bound: WeightBound | None = None
) -> tuple[ScalableBasis, Observations]:
    """A model's functions, those of the learned kernels to be moved; and the data."""
    basis, X = model.basis, data.table
    seen = observations(model, data, model.latent(X)[0] - data.offset, bound)
    others, moving = [np.arange(int(basis.bias))], []
    groups: list[PerCentreScale] = []
    for group, part in zip(basis.groups, basis.parts, strict=True):
        varying = as_varying(group)
        indices = np.arange(part.start, part.stop)
        if varying is None:
            others.append(indices)
        else:
            moving.append(indices)
            groups.append(varying)
    fixed = np.concatenate(others)
    indices = np.concatenate([fixed, *moving])
    # Where every class has its own: what they have in common.
    precision = 1 / np.mean(1 / np.atleast_2d(model.fit.prior_precision), axis=0)
    start = ScalableBasis(
        X=X,
        fixed=basis.subset(fixed)(X),
        varying=PerCentreScale(
            groups[0].kernel,
            np.concatenate([group.centres for group in groups]),
            np.concatenate([group.scales for group in groups]),
        ),
        prior_precision=precision[indices],
        noise_precision=seen.seen.noise_precision,
        indices=indices,
    )
    return start, seen


def length_scales(basis: Basis) -> Array:
    """Scales of every function (n,), or of each and each feature (n, d); nan: none."""
    groups = [_scales(group) for group in basis.groups]
    width = max(scales.shape[1] for scales in groups)
    wide = [np.broadcast_to(scales, (len(scales), width)) for scales in groups]
    found = np.concatenate(wide)
    return found[:, 0] if width == 1 else found


def _scales(group: Functions) -> Array:
    varying = as_varying(group)
    return np.full((len(group), 1), np.nan) if varying is None else varying.scales


def feature_relevance(model: FittedModel, X: AnyArray, sample_weight: Array) -> Array:
    """Var(xⱼ)·E[(∂η/∂xⱼ)²], summed over outputs and scaled to sum to one.

    Outputs that have noise are measured by it.

    The mean is over some rows; all zero if the model is constant.
    """
    some = slice(None, None, max(1, len(X) // SETTINGS.relevance_rows))
    rows, weight = np.asarray(X[some], dtype=np.float64), sample_weight[some]
    variance = variances(rows, weight)
    basis, mean = model.basis, model.posterior.mean
    if len(mean) > 1 and model.family.units is not None:
        mean = mean / model.family.units[:, None]
    total = np.zeros(X.shape[1])
    for weights in mean:
        gradient = np.zeros(rows.shape)
        for group, part in zip(basis.groups, basis.parts, strict=True):
            gradient += _gradient(group, rows, weights[part])
        total += np.average(gradient**2, axis=0, weights=weight) * variance
    return np.asarray(total / total.sum()) if total.sum() > 0 else total


def _gradient(group: Functions, X: AnyArray, weights: Array) -> Array:
    """∂/∂x of the weighted sum of some functions, (n_rows, n_features)."""
    gradient = np.zeros(X.shape)
    if len(group) == 0:
        return gradient
    varying = as_varying(group)
    if varying is not None:
        seen = varying.kernel.seen(X)[2]
        chosen = slice(None) if seen is None else seen
        gradient[:, chosen] = varying.input_gradient(X, weights)
        return gradient
    kernel: Any = getattr(group.kernel, "function", group.kernel)
    if hasattr(kernel, "centre_gradient"):
        for centre, weight in zip(group.centres, weights, strict=True):
            # Kernels are symmetric: here the rows are in the centre's place.
            gradient += weight * kernel.centre_gradient(centre[None], X)[0]
    return gradient
