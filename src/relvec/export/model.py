"""A fitted model as expressions: latent mean and variance, and the model's outputs."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from relvec.basis import Basis
from relvec.export.expressions import (
    ExportError,
    Expression,
    concatenate,
    constant,
    exp,
    matmul,
    maximum,
    power,
    sqrt,
    square,
)
from relvec.export.kernels import FunctionValues, KernelInputs, values
from relvec.export.probabilities import (
    averaged_sigmoid,
    couple_pairs,
    grid_size,
    log_averaged_sigmoid,
    log_mixed_with_priors,
    mixed_with_priors,
    normalised,
    probability_of_largest,
    probit_of_two,
    probit_with_covariance,
    softmax,
    softmax_with_covariance,
    softmax_with_variances,
    votes,
)
from relvec.lssvm import LeastSquaresModel, RealTargets, SignedClasses
from relvec.lssvm.dual import DualVariance
from relvec.lssvm.ridge import RidgeVariance
from relvec.modelling import (
    FittedModel,
    IndependentModel,
    PairwiseModel,
    Regression,
    RobustRegression,
    known_places,
    trial_rows,
    variance_factor,
)
from relvec.modelling.families import (
    ClassWiseProbit,
    Counts,
    Logit,
    PlugInProbit,
    Probit,
    TwoClasses,
)
from relvec.modelling.latent import AugmentedVariance
from relvec.modelling.several_models import Pairs, Rest, VotingPairs
from relvec.posterior import CoupledPosterior
from relvec.typing import AnyArray, Array, Indices

# A prior variance below this counts as zero.
_TINY = 1e-30


@dataclass(frozen=True, eq=False)
class AugmentedMoments:
    """Mean and variance augmented by what the data do not determine."""

    found: AugmentedVariance
    squares: Expression  # (m,) of z
    prior: Expression  # (1,) k(x, x)

    @classmethod
    def of(
        cls, found: AugmentedVariance, functions: FunctionValues, pairs: KernelInputs
    ) -> "AugmentedMoments":
        """Build from the model's own functions and additional pivots."""
        pivots = FunctionValues.of(Basis((found.pivots,), bias=False), pairs)
        projected = pivots.times(found.by_pivots.T)
        shared = found.by_functions.T
        if len(shared):
            without = np.zeros((int(functions.bias), shared.shape[1]))
            projected = projected + functions.times(np.vstack([without, shared]))
        prior = values(found.pivots.kernel, pairs.with_row())
        return cls(found, square(projected), prior)

    def mean(self, known: Expression) -> Expression:
        """Add the prior mean where the data say nothing."""
        if self.found.mean is None:
            return known
        explained = matmul(self.squares, 1 / self.found.determined[:, None])
        share = self._left(explained, self.found.mean_power)
        return known + share * self.found.mean

    def variance(self, known: Expression) -> Expression:
        """The larger of the model's variance and the undetermined prior variance."""
        share = self._left(self.squares.sum().expand_dims(0), self.found.power)
        return maximum(known, share * self.prior * self.found.amplitude)

    def _left(self, explained: Expression, exponent: float) -> Expression:
        share = maximum(1.0 - explained / maximum(self.prior, _TINY), 0.0)
        return power(share, exponent)


@dataclass(frozen=True, eq=False)
class Latent:
    """Mean (K,) of η, and how to compute its variance."""

    mean: Expression
    functions: FunctionValues
    pairs: KernelInputs
    model: Any
    augmented: AugmentedMoments | None = None

    @property
    def variance(self) -> Expression:
        """(K,), or (1,) if all outputs share it."""
        if isinstance(self.model, LeastSquaresModel):
            return _least_squares_variance(self.model, self)
        if self.coupled:
            covariance = self.covariance
            diagonal = [covariance[k][k] for k in range(len(covariance))]
            return concatenate([one.expand_dims(0) for one in diagonal])
        posterior = self.model.posterior
        own = posterior.whitener[: len(posterior.factor)]
        each = [self.functions.squares(one.T).expand_dims(0) for one in own]
        known = concatenate(each)
        if len(own) < len(posterior.whitener):
            known = known * posterior.proportions
        return known if self.augmented is None else self.augmented.variance(known)

    @property
    def coupled(self) -> bool:
        """Whether outputs are correlated."""
        return isinstance(self.model.posterior, CoupledPosterior)

    @property
    def covariance(self) -> list[list[Expression]]:
        """(K, K) of correlated outputs, as single entries."""
        posterior = self.model.posterior
        n_outputs, size = posterior.mean.shape
        whitener = posterior.whitener[0].reshape(n_outputs * size, n_outputs, size)
        each = [self.functions.times(whitener[:, k].T) for k in range(n_outputs)]
        found = [[(one * two).sum() for two in each] for one in each]
        if self.augmented is None:
            return found
        own = concatenate([found[k][k].expand_dims(0) for k in range(n_outputs)])
        variance = self.augmented.variance(own)
        for k in range(n_outputs):
            found[k][k] = variance.take([k]).sum()
        return found


def latent(model: FittedModel | LeastSquaresModel, pairs: KernelInputs) -> Latent:
    """Latent values of a model at a row."""
    functions = FunctionValues.of(model.basis, pairs)
    if isinstance(model, LeastSquaresModel):
        mean = functions.times(model.coefficients) + model.bias
        return Latent(mean, functions, pairs, model)
    mean = functions.times(model.posterior.mean.T) + model.offset
    if model.surroundings is None:
        return Latent(mean, functions, pairs, model)
    augmented = AugmentedMoments.of(model.surroundings, functions, pairs)
    return Latent(augmented.mean(mean), functions, pairs, model, augmented)


def _least_squares_variance(model: LeastSquaresModel, of: Latent) -> Expression:
    if isinstance(model.spread, DualVariance):
        return _dual_variance(model.spread, of) * model.scale
    if isinstance(model.spread, RidgeVariance):
        return _ridge_variance(model.spread, of) * model.scale
    raise ExportError(
        "the model has no error bars, as its kernel matrix is not positive "
        "definite: export its mean"
    )


def _dual_variance(spread: DualVariance, of: Latent) -> Expression:
    """Compute what ``DualVariance.variance`` computes."""
    t, system = spread.scales[0], spread.system
    half = spread.factor.half_solved(np.asfortranarray(np.diag(system.root)))
    functions, order = _functions_of(of, system.functions)
    itself = values(system.functions.kernel, of.pairs.with_row())
    found = itself - functions.squares(half.T[order]).expand_dims(0) * t
    if system.intercept:
        weights = (t * spread.g * system.root)[order, None]
        found = found + square(1.0 - functions.times(weights)) * (1 / (t * spread.q))
    return maximum(found, 0.0)


def _ridge_variance(spread: RidgeVariance, of: Latent) -> Expression:
    """Compute what ``RidgeVariance.variance`` computes."""
    pivots = spread.pivots
    if len(pivots) == 0:
        return constant(np.array([spread.constant / spread.C]))
    group = Basis.of(pivots.kernel, pivots.rows, bias=False).groups[0]
    functions, order = _functions_of(of, group)
    features = functions.times(pivots.whitener.T[order])
    itself = values(pivots.kernel, of.pairs.with_row())
    residual = maximum(itself - square(features).sum().expand_dims(0), 0.0)
    projected = functions.times((pivots.whitener.T @ spread.half)[order])
    leverage = square(projected - spread.mean @ spread.half).sum().expand_dims(0)
    return residual + (leverage + spread.constant) * (1 / spread.C)


def _functions_of(of: Latent, group: Any) -> tuple[FunctionValues, Indices]:
    """Values of a group's functions, and the order of its matrices' rows for them.

    The model's own functions are used if they are the same in another order.
    """
    own = of.model.basis.groups[0].centres
    if own.shape == group.centres.shape:
        order = np.empty(len(own), dtype=np.intp)
        order[_lexicographic(own)] = _lexicographic(group.centres)
        if np.array_equal(own, group.centres[order]):
            return of.functions, order
    functions = FunctionValues.of(Basis((group,), bias=False), of.pairs)
    return functions, np.arange(len(group))


def _lexicographic(centres: AnyArray) -> Indices:
    columns: Array = centres if centres.ndim == 1 else centres.T[::-1]
    return np.lexsort(np.atleast_2d(columns))


# Distance of a row from zero, in units of the largest value of a feature, so that no
# rounding makes it negative.
_LEAST = 1e-3


def rows_to_try(model: Any, count: int, further: float = 1.0) -> Array:
    """Rows near the centres of a model, non-negative if all centres are.

    Kernels of counts accept no negative numbers. ``further`` multiplies the distance of
    rows from their mean.
    """
    rows, centres = trial_rows(model, count), known_places(model)
    if further != 1 and rows.dtype != object:
        middle = rows.mean(axis=0)
        rows = middle + further * (rows - middle)
    if centres.dtype == object or centres.size == 0 or np.min(centres) < 0:
        return rows
    return np.maximum(np.abs(rows), _LEAST * np.max(centres, axis=0))


# Rows that show how the variances of a model differ, and a margin beyond them.
_TRIED, _MARGIN = 500, 1.5
_FURTHER = (1.0, 10.0, 1000.0)
Outputs = dict[str, Expression]


def outputs(model: Any, pairs: KernelInputs, *, std: bool) -> Outputs:
    """Outputs of a model at a row, by name."""
    if isinstance(model, IndependentModel):
        each = [outputs(one, pairs, std=std) for one in model.models]
        return {name: concatenate([one[name] for one in each]) for name in each[0]}
    if isinstance(model, PairwiseModel):
        models = [latent(one, pairs) for one in model.models]
        return _coupled_outputs(model.coupling, models)
    for cls in type(model.family).__mro__:
        if cls in _NUMBERS:
            return _number_outputs(_NUMBERS[cls], latent(model, pairs), std)
        if cls in _CLASSES:
            return {"probabilities": _CLASSES[cls](model.family, latent(model, pairs))}
    raise ExportError(
        f"targets of type {type(model.family).__name__} cannot be exported"
    )


Moments = tuple[Expression, Callable[[], Expression]]  # the mean, and the variance


def _number_outputs(
    moments: Callable[[Any, Latent], Moments], of: Latent, std: bool
) -> Outputs:
    mean, variance = moments(of.model.family, of)
    return {"mean": mean, "std": sqrt(variance())} if std else {"mean": mean}


def _real(family: Any, of: Latent) -> Moments:
    return of.mean, lambda: of.variance + _noise(of)


def _noise(of: Latent) -> Any:
    """The noise variance, constant or a function of the row."""
    found = of.model.noise_model
    if found is None:
        return of.model.family.noise_variance
    return exp(-latent(found, of.pairs).mean) * found.family.factor


def _counts(family: Counts, of: Latent) -> Moments:
    rate = exp(of.mean)
    return rate, lambda: rate + (of.variance + family.dispersion) * square(rate)


def _least_squares_targets(family: RealTargets, of: Latent) -> Moments:
    factor = variance_factor(family.degrees_of_freedom)
    noise = float(family.noise_variance)
    return of.mean, lambda: (of.variance + noise) * factor


def _signed_classes(family: SignedClasses, of: Latent) -> Expression:
    values = of.mean
    if values.shape == (1,):
        values = matmul(values, np.array([[0.0, 1.0]]))
    return softmax(values * (2 / family.link_variance))


def _two_classes(family: TwoClasses, of: Latent) -> Expression:
    return averaged_sigmoid(of.mean, of.variance, family.doubt)


def _contrasts(family: Probit, of: Latent) -> Expression:
    coding = family.likelihood.coding
    if of.coupled:
        p = probit_with_covariance(of.mean, of.covariance, coding)
    else:
        # All contrasts have the same variance, and so do differences of classes.
        shared = of.variance.sum().expand_dims(0) * (1 / of.variance.shape[0])
        p = _probit(matmul(of.mean, coding.T), shared, grid_size(1.0))
    return normalised(mixed_with_priors(p, family.doubt))


def _class_wise(family: ClassWiseProbit, of: Latent) -> Expression:
    p = _probit(of.mean, of.variance, grid_size(_largest_ratio(of.model)))
    return normalised(mixed_with_priors(p, family.doubt))


def _plug_in(family: PlugInProbit, of: Latent) -> Expression:
    p = _probit(of.mean, constant(np.zeros(1)), grid_size(1.0))
    return normalised(mixed_with_priors(p, family.doubt))


def _logit(family: Logit, of: Latent) -> Expression:
    if of.coupled:
        p = softmax_with_covariance(of.mean, of.covariance)
    else:
        p = softmax_with_variances(of.mean, of.variance)
    return normalised(mixed_with_priors(p, family.doubt))


_NUMBERS: dict[type[Any], Callable[[Any, Latent], Moments]] = {
    RealTargets: _least_squares_targets,
    Regression: _real,
    RobustRegression: _real,
    Counts: _counts,
}
_CLASSES: dict[type[Any], Callable[[Any, Latent], Expression]] = {
    SignedClasses: _signed_classes,
    TwoClasses: _two_classes,
    Probit: _contrasts,
    ClassWiseProbit: _class_wise,
    PlugInProbit: _plug_in,
    Logit: _logit,
}


def _probit(mean: Expression, variance: Expression, n_nodes: int) -> Expression:
    """P (K,) of classes with independent latent values."""
    if mean.shape == (2,):
        return probit_of_two(mean, variance)
    return probability_of_largest(mean, sqrt(variance + 1.0), n_nodes)


def _largest_ratio(model: FittedModel) -> float:
    """Largest ratio of standard deviations with unit noise, near and far."""
    rows, ratio = rows_to_try(model, _TRIED), 1.0
    for further in _FURTHER:
        _, variance = model.latent(further * rows)
        std = np.sqrt(1 + variance)
        ratio = max(ratio, float(np.max(std.max(axis=1) / std.min(axis=1))))
    return _MARGIN * ratio


def _coupled_outputs(coupling: Any, each: list[Latent]) -> Outputs:
    """Outputs of several binary models together."""
    priors = [getattr(of.model.family, "doubt", None) for of in each]
    if type(coupling) is Pairs:
        p = [
            averaged_sigmoid(of.mean, of.variance, prior)
            for of, prior in zip(each, priors, strict=True)
        ]
        return {"probabilities": couple_pairs(p, len(coupling.labels))}
    mean = concatenate([of.mean for of in each])
    variance = concatenate([of.variance for of in each])
    second = log_mixed_with_priors(log_averaged_sigmoid(mean, variance), priors, 1)
    if isinstance(coupling, Rest):
        return {"probabilities": softmax(second)}
    if not isinstance(coupling, VotingPairs):
        raise ExportError(f"{type(coupling).__name__} cannot be exported")
    first = log_mixed_with_priors(log_averaged_sigmoid(-mean, variance), priors, 0)
    return {"votes": votes(second - first, len(coupling.labels))}
