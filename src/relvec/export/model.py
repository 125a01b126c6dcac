"""A fitted model as expressions: latent mean and variance, and the model's outputs."""

from dataclasses import dataclass
from functools import singledispatch
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
from relvec.modelling.coupling import Pairs, Rest, VotingPairs
from relvec.modelling.families import (
    ClassWiseProbit,
    Counts,
    Logit,
    PluggedIn,
    Probit,
    TwoClasses,
)
from relvec.modelling.surroundings import Surroundings
from relvec.posterior import CoupledPosterior
from relvec.typing import AnyArray, Array, Indices

# A prior variance below this counts as zero.
_TINY = 1e-30


@dataclass(frozen=True, eq=False)
class AugmentedMoments:
    """Mean and variance augmented by what the data do not determine."""

    found: Surroundings
    squares: Expression  # (m,) of z
    prior: Expression  # (1,) k(x, x)

    @classmethod
    def of(
        cls, found: Surroundings, functions: FunctionValues, pairs: KernelInputs
    ) -> "AugmentedMoments":
        """Build from the model's own functions and additional pivots."""
        pivots = FunctionValues.of(Basis((found.pivots,), bias=False), pairs)
        turned = pivots.times(found.by_pivots.T)
        shared = found.by_functions.T
        if len(shared):
            without = np.zeros((int(functions.bias), shared.shape[1]))
            turned = turned + functions.times(np.vstack([without, shared]))
        prior = values(found.pivots.kernel, pairs.with_row())
        return cls(found, square(turned), prior)

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
    unknown: AugmentedMoments | None = None  # far from the data

    @property
    def variance(self) -> Expression:
        """(K,), or (1,) if all outputs share it."""
        return _variance(self.model, self)

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
        turned = [self.functions.times(whitener[:, k].T) for k in range(n_outputs)]
        found = [[(one * two).sum() for two in turned] for one in turned]
        if self.unknown is None:
            return found
        own = concatenate([found[k][k].expand_dims(0) for k in range(n_outputs)])
        wider = self.unknown.variance(own)
        for k in range(n_outputs):
            found[k][k] = wider.take([k]).sum()
        return found


@singledispatch
def latent(model: Any, pairs: KernelInputs) -> Latent:
    """Latent values of a model at a row."""
    raise ExportError(f"{type(model).__name__} cannot be exported")


@latent.register
def _(model: FittedModel, pairs: KernelInputs) -> Latent:
    functions = FunctionValues.of(model.basis, pairs)
    mean = functions.times(model.posterior.mean.T) + model.offset
    if model.surroundings is None:
        return Latent(mean, functions, pairs, model)
    unknown = AugmentedMoments.of(model.surroundings, functions, pairs)
    return Latent(unknown.mean(mean), functions, pairs, model, unknown)


@latent.register
def _(model: LeastSquaresModel, pairs: KernelInputs) -> Latent:
    functions = FunctionValues.of(model.basis, pairs)
    mean = functions.times(model.coefficients) + model.bias
    return Latent(mean, functions, pairs, model)


@singledispatch
def _variance(model: Any, of: Latent) -> Expression:
    raise ExportError(f"{type(model).__name__} has no error bars to export")


@_variance.register
def _(model: FittedModel, of: Latent) -> Expression:
    posterior = model.posterior
    if of.coupled:
        covariance = of.covariance
        return concatenate(
            [covariance[k][k].expand_dims(0) for k in range(len(covariance))]
        )
    own = posterior.whitener[: len(posterior.factor)]
    known = concatenate([of.functions.squares(one.T).expand_dims(0) for one in own])
    if len(own) < len(posterior.whitener):
        known = known * posterior.proportions
    return known if of.unknown is None else of.unknown.variance(known)


@_variance.register
def _(model: LeastSquaresModel, of: Latent) -> Expression:
    if model.spread is None:
        raise ExportError(
            "the model has no error bars, as its kernel matrix is not positive "
            "definite: export its mean"
        )
    return _spread(model.spread, of) * model.scale


@singledispatch
def _spread(spread: Any, of: Latent) -> Expression:
    raise ExportError(f"{type(spread).__name__} cannot be exported")


@_spread.register
def _(spread: DualVariance, of: Latent) -> Expression:
    """As ``DualVariance.variance`` has it."""
    t, system = spread.scales[0], spread.system
    half = spread.factor.half_solved(np.asfortranarray(np.diag(system.root)))
    functions, order = _functions_of(of, system.functions)
    itself = values(system.functions.kernel, of.pairs.with_row())
    found = itself - functions.squares(half.T[order]).expand_dims(0) * t
    if system.intercept:
        weights = (t * spread.g * system.root)[order, None]
        found = found + square(1.0 - functions.times(weights)) * (1 / (t * spread.q))
    return maximum(found, 0.0)


@_spread.register
def _(spread: RidgeVariance, of: Latent) -> Expression:
    """As ``RidgeVariance.variance`` has it."""
    pivots = spread.pivots
    if len(pivots) == 0:
        return constant(np.array([spread.constant / spread.C]))
    group = Basis.of(pivots.kernel, pivots.rows, bias=False).groups[0]
    functions, order = _functions_of(of, group)
    features = functions.times(pivots.whitener.T[order])
    itself = values(pivots.kernel, of.pairs.with_row())
    left = maximum(itself - square(features).sum().expand_dims(0), 0.0)
    turned = functions.times((pivots.whitener.T @ spread.half)[order])
    leverage = square(turned - spread.mean @ spread.half).sum().expand_dims(0)
    return left + (leverage + spread.constant) * (1 / spread.C)


def _functions_of(of: Latent, group: Any) -> tuple[FunctionValues, Indices]:
    """Values of a group's functions, shared with the model if these are the same.

    And their order, by which the rows of a matrix are brought into that of the former.
    """
    own = of.model.basis.groups[0].centres
    if own.shape != group.centres.shape:
        basis = Basis((group,), bias=False)
        return FunctionValues.of(basis, of.pairs), np.arange(len(group))
    order = np.empty(len(own), dtype=np.intp)
    order[_lexicographic(own)] = _lexicographic(group.centres)
    if not np.array_equal(own, group.centres[order]):
        basis = Basis((group,), bias=False)
        return FunctionValues.of(basis, of.pairs), np.arange(len(group))
    return of.functions, order


def _lexicographic(centres: AnyArray) -> Indices:
    columns: Array = centres if centres.ndim == 1 else centres.T[::-1]
    return np.lexsort(np.atleast_2d(columns))


# Distance of a row from zero, in units of the largest value of a feature, so that no
# rounding makes it negative.
_LEAST = 1e-3


def rows_to_try(model: Any, count: int, further: float = 1.0) -> Array:
    """Rows near the centres of a model, non-negative if all centres are.

    Kernels of counts know no others. They may be so many times further out.
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


@singledispatch
def outputs(model: Any, pairs: KernelInputs, *, std: bool) -> Outputs:
    """Outputs of a model at a row, by name."""
    raise ExportError(f"{type(model).__name__} cannot be exported")


@outputs.register(FittedModel)
@outputs.register(LeastSquaresModel)
def _(model: Any, pairs: KernelInputs, *, std: bool) -> Outputs:
    return _family_outputs(model.family, latent(model, pairs), std=std)


@outputs.register
def _(model: PairwiseModel, pairs: KernelInputs, *, std: bool) -> Outputs:
    each = [latent(one, pairs) for one in model.models]
    return _coupled_outputs(model.coupling, model.models, each)


@outputs.register
def _(model: IndependentModel, pairs: KernelInputs, *, std: bool) -> Outputs:
    each = [outputs(one, pairs, std=std) for one in model.models]
    return {name: concatenate([one[name] for one in each]) for name in each[0]}


@singledispatch
def _family_outputs(family: Any, of: Latent, *, std: bool) -> Outputs:
    raise ExportError(f"targets of type {type(family).__name__} cannot be exported")


@_family_outputs.register(Regression)
@_family_outputs.register(RobustRegression)
def _(family: Any, of: Latent, *, std: bool) -> Outputs:
    if not std:
        return {"mean": of.mean}
    return {"mean": of.mean, "std": sqrt(of.variance + _noise(of))}


def _noise(of: Latent) -> Any:
    """The noise variance, constant or a function of the row."""
    found = of.model.noise_model
    if found is None:
        return of.model.family.noise_variance
    return exp(-latent(found, of.pairs).mean) * found.family.factor


@_family_outputs.register
def _(family: Counts, of: Latent, *, std: bool) -> Outputs:
    rate = exp(of.mean)
    if not std:
        return {"mean": rate}
    total = rate + (of.variance + family.dispersion) * square(rate)
    return {"mean": rate, "std": sqrt(total)}


@_family_outputs.register
def _(family: RealTargets, of: Latent, *, std: bool) -> Outputs:
    if not std:
        return {"mean": of.mean}
    wider = variance_factor(family.degrees_of_freedom)
    total = (of.variance + float(family.noise_variance)) * wider
    return {"mean": of.mean, "std": sqrt(total)}


@_family_outputs.register
def _(family: SignedClasses, of: Latent, *, std: bool) -> Outputs:
    values = of.mean
    if values.shape == (1,):
        values = matmul(values, np.array([[0.0, 1.0]]))
    return {"probabilities": softmax(values * (2 / family.link_variance))}


@_family_outputs.register
def _(family: TwoClasses, of: Latent, *, std: bool) -> Outputs:
    return {"probabilities": averaged_sigmoid(of.mean, of.variance, family.doubt)}


@_family_outputs.register
def _(family: Probit, of: Latent, *, std: bool) -> Outputs:
    coding = family.likelihood.coding
    if of.coupled:
        p = probit_with_covariance(of.mean, of.covariance, coding)
    else:
        # All contrasts have the same variance, and so do differences of classes.
        shared = of.variance.sum().expand_dims(0) * (1 / of.variance.shape[0])
        p = _probit(matmul(of.mean, coding.T), shared, grid_size(1.0))
    return {"probabilities": normalised(mixed_with_priors(p, family.doubt))}


@_family_outputs.register
def _(family: ClassWiseProbit, of: Latent, *, std: bool) -> Outputs:
    p = _probit(of.mean, of.variance, grid_size(_largest_ratio(of.model)))
    return {"probabilities": normalised(mixed_with_priors(p, family.doubt))}


@_family_outputs.register
def _(family: PluggedIn, of: Latent, *, std: bool) -> Outputs:
    p = _probit(of.mean, constant(np.zeros(1)), grid_size(1.0))
    return {"probabilities": normalised(mixed_with_priors(p, family.doubt))}


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


@_family_outputs.register
def _(family: Logit, of: Latent, *, std: bool) -> Outputs:
    if of.coupled:
        p = softmax_with_covariance(of.mean, of.covariance)
    else:
        p = softmax_with_variances(of.mean, of.variance)
    return {"probabilities": normalised(mixed_with_priors(p, family.doubt))}


@singledispatch
def _coupled_outputs(coupling: Any, models: Any, each: list[Latent]) -> Outputs:
    raise ExportError(f"{type(coupling).__name__} cannot be exported")


@_coupled_outputs.register
def _(coupling: Rest, models: Any, each: list[Latent]) -> Outputs:
    return {"probabilities": softmax(_log_second(models, each))}


@_coupled_outputs.register
def _(coupling: Pairs, models: Any, each: list[Latent]) -> Outputs:
    p = [
        averaged_sigmoid(of.mean, of.variance, one.family.doubt)
        for one, of in zip(models, each, strict=True)
    ]
    return {"probabilities": couple_pairs(p, len(coupling.labels))}


@_coupled_outputs.register
def _(coupling: VotingPairs, models: Any, each: list[Latent]) -> Outputs:
    odds = _log_second(models, each) - _log_first(models, each)
    return {"votes": votes(odds, len(coupling.labels))}


def _log_second(models: Any, each: list[Latent]) -> Expression:
    """log P (M,) of the second class of every binary model."""
    mean, variance = _stacked_moments(each)
    return log_mixed_with_priors(
        log_averaged_sigmoid(mean, variance), _prior_mixtures(models), 1
    )


def _log_first(models: Any, each: list[Latent]) -> Expression:
    mean, variance = _stacked_moments(each)
    return log_mixed_with_priors(
        log_averaged_sigmoid(-mean, variance), _prior_mixtures(models), 0
    )


def _stacked_moments(each: list[Latent]) -> tuple[Expression, Expression]:
    """Means and variances (M,) of several models."""
    return (
        concatenate([of.mean for of in each]),
        concatenate([of.variance for of in each]),
    )


def _prior_mixtures(models: Any) -> list[Any]:
    return [getattr(one.family, "doubt", None) for one in models]
