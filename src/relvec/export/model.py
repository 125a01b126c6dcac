"""A fitted model as expressions: latent mean and variance, and the model's outputs."""

from dataclasses import dataclass
from functools import singledispatch
from typing import Any

import numpy as np

from relvec.basis import Basis
from relvec.export.expressions import (
    ExportError,
    Expression,
    at_least,
    concatenated,
    constant,
    exp,
    matmul,
    power,
    sqrt,
    squared,
)
from relvec.export.kernels import FunctionValues, Pairs, values
from relvec.export.probabilities import (
    doubted,
    largest,
    log_doubted,
    log_moderated,
    moderated,
    nodes_for,
    normalised,
    pairs_coupled,
    probit_of_covariance,
    probit_of_two,
    softmax,
    softmax_of_covariance,
    softmax_of_variances,
    votes,
)
from relvec.lssvm import LeastSquaresModel, RealTargets, SignedClasses
from relvec.lssvm.dual import DualSpread
from relvec.lssvm.ridge import RidgeSpread
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
from relvec.modelling.coupling import Pairs as PairsOfClasses
from relvec.modelling.coupling import Rest, VotingPairs
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

# Beside which a prior variance counts as zero.
_TINY = 1e-30


@dataclass(frozen=True, eq=False)
class Unknown:
    """As ``Surroundings`` has it, at a row."""

    found: Surroundings
    squares: Expression  # (m,) of z
    prior: Expression  # (1,) k(x, x)

    @classmethod
    def of(
        cls, found: Surroundings, functions: FunctionValues, pairs: Pairs
    ) -> "Unknown":
        """By functions of the model that are known, and others."""
        pivots = FunctionValues.of(Basis((found.pivots,), bias=False), pairs)
        turned = pivots.times(found.by_pivots.T)
        shared = found.by_functions.T
        if len(shared):
            without = np.zeros((int(functions.bias), shared.shape[1]))
            turned = turned + functions.times(np.vstack([without, shared]))
        prior = values(found.pivots.kernel, pairs.itself())
        return cls(found, squared(turned), prior)

    def mean(self, known: Expression) -> Expression:
        """With what latent values gain where nothing is known."""
        if self.found.mean is None:
            return known
        explained = matmul(self.squares, 1 / self.found.determined[:, None])
        share = self._left(explained, self.found.mean_power)
        return known + share * self.found.mean

    def variance(self, known: Expression) -> Expression:
        """The model's, or more."""
        share = self._left(self.squares.sum().wider(0), self.found.power)
        return at_least(known, share * self.prior * self.found.amplitude)

    def _left(self, explained: Expression, exponent: float) -> Expression:
        share = at_least(1.0 - explained / at_least(self.prior, _TINY), 0.0)
        return power(share, exponent)


@dataclass(frozen=True, eq=False)
class Latent:
    """Mean (K,) of η, and what is known of its spread."""

    mean: Expression
    functions: FunctionValues
    pairs: Pairs
    model: Any
    unknown: Unknown | None = None  # far from the data

    @property
    def variance(self) -> Expression:
        """(K,), or (1,) where all outputs share it."""
        return _variance(self.model, self)

    @property
    def coupled(self) -> bool:
        """Whether outputs have a covariance; without functions they have none."""
        return isinstance(self.model.posterior, CoupledPosterior)

    @property
    def covariance(self) -> list[list[Expression]]:
        """(K, K) of coupled outputs, each entry by itself."""
        posterior = self.model.posterior
        n_outputs, size = posterior.mean.shape
        whitener = posterior.whitener[0].reshape(n_outputs * size, n_outputs, size)
        turned = [self.functions.times(whitener[:, k].T) for k in range(n_outputs)]
        found = [[(one * two).sum() for two in turned] for one in turned]
        if self.unknown is None:
            return found
        own = concatenated([found[k][k].wider(0) for k in range(n_outputs)])
        wider = self.unknown.variance(own)
        for k in range(n_outputs):
            found[k][k] = wider.take([k]).sum()
        return found


@singledispatch
def latent(model: Any, pairs: Pairs) -> Latent:
    """Of a model, at a row."""
    raise ExportError(f"{type(model).__name__} cannot be exported")


@latent.register
def _(model: FittedModel, pairs: Pairs) -> Latent:
    functions = FunctionValues.of(model.basis, pairs)
    mean = functions.times(model.posterior.mean.T) + model.offset
    if model.surroundings is None:
        return Latent(mean, functions, pairs, model)
    unknown = Unknown.of(model.surroundings, functions, pairs)
    return Latent(unknown.mean(mean), functions, pairs, model, unknown)


@latent.register
def _(model: LeastSquaresModel, pairs: Pairs) -> Latent:
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
        return concatenated([covariance[k][k].wider(0) for k in range(len(covariance))])
    own = posterior.whitener[: len(posterior.factor)]
    known = concatenated([of.functions.squares(one.T).wider(0) for one in own])
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
def _(spread: DualSpread, of: Latent) -> Expression:
    """As ``DualSpread.variance`` has it."""
    t, system = spread.scales[0], spread.system
    half = spread.factor.half_solved(np.asfortranarray(np.diag(system.root)))
    functions, order = _among(of, system.functions)
    itself = values(system.functions.kernel, of.pairs.itself())
    found = itself - functions.squares(half.T[order]).wider(0) * t
    if system.intercept:
        weights = (t * spread.g * system.root)[order, None]
        found = found + squared(1.0 - functions.times(weights)) * (1 / (t * spread.q))
    return at_least(found, 0.0)


@_spread.register
def _(spread: RidgeSpread, of: Latent) -> Expression:
    """As ``RidgeSpread.variance`` has it."""
    pivots = spread.pivots
    if len(pivots) == 0:
        return constant(np.array([spread.constant / spread.C]))
    group = Basis.of(pivots.kernel, pivots.rows, bias=False).groups[0]
    functions, order = _among(of, group)
    features = functions.times(pivots.whitener.T[order])
    itself = values(pivots.kernel, of.pairs.itself())
    left = at_least(itself - squared(features).sum().wider(0), 0.0)
    turned = functions.times((pivots.whitener.T @ spread.half)[order])
    leverage = squared(turned - spread.mean @ spread.half).sum().wider(0)
    return left + (leverage + spread.constant) * (1 / spread.C)


def _among(of: Latent, group: Any) -> tuple[FunctionValues, Indices]:
    """Functions of a group, the model's own if they are the same in another order.

    And their order, by which the rows of a matrix are brought into that of the former.
    """
    own = of.model.basis.groups[0].centres
    if own.shape != group.centres.shape:
        basis = Basis((group,), bias=False)
        return FunctionValues.of(basis, of.pairs), np.arange(len(group))
    order = np.empty(len(own), dtype=np.intp)
    order[_sorted(own)] = _sorted(group.centres)
    if not np.array_equal(own, group.centres[order]):
        basis = Basis((group,), bias=False)
        return FunctionValues.of(basis, of.pairs), np.arange(len(group))
    return of.functions, order


def _sorted(centres: AnyArray) -> Indices:
    columns: Array = centres if centres.ndim == 1 else centres.T[::-1]
    return np.lexsort(np.atleast_2d(columns))


# Of the largest of a feature: so far from zero no rounding makes a row negative.
_LEAST = 1e-3


def tried_rows(model: Any, count: int, further: float = 1.0) -> Array:
    """About the centres of a model, and positive if no centre is negative.

    Kernels of counts know no others. They may be so many times further out.
    """
    rows, centres = trial_rows(model, count), known_places(model)
    if further != 1 and rows.dtype != object:
        middle = rows.mean(axis=0)
        rows = middle + further * (rows - middle)
    if centres.dtype == object or centres.size == 0 or np.min(centres) < 0:
        return rows
    return np.maximum(np.abs(rows), _LEAST * np.max(centres, axis=0))


# Rows that tell how uncertain a model may be, and what may be beyond them.
_TRIED, _MARGIN = 500, 1.5
_FURTHER = (1.0, 10.0, 1000.0)
Outputs = dict[str, Expression]


@singledispatch
def outputs(model: Any, pairs: Pairs, *, std: bool) -> Outputs:
    """Of a row, by name."""
    raise ExportError(f"{type(model).__name__} cannot be exported")


@outputs.register(FittedModel)
@outputs.register(LeastSquaresModel)
def _(model: Any, pairs: Pairs, *, std: bool) -> Outputs:
    return _of_family(model.family, latent(model, pairs), std=std)


@outputs.register
def _(model: PairwiseModel, pairs: Pairs, *, std: bool) -> Outputs:
    each = [latent(one, pairs) for one in model.models]
    return _of_coupling(model.coupling, model.models, each)


@outputs.register
def _(model: IndependentModel, pairs: Pairs, *, std: bool) -> Outputs:
    each = [outputs(one, pairs, std=std) for one in model.models]
    return {name: concatenated([one[name] for one in each]) for name in each[0]}


@singledispatch
def _of_family(family: Any, of: Latent, *, std: bool) -> Outputs:
    raise ExportError(f"targets of type {type(family).__name__} cannot be exported")


@_of_family.register(Regression)
@_of_family.register(RobustRegression)
def _(family: Any, of: Latent, *, std: bool) -> Outputs:
    if not std:
        return {"mean": of.mean}
    return {"mean": of.mean, "std": sqrt(of.variance + _noise(of))}


def _noise(of: Latent) -> Any:
    """Its variance, of every row or of all."""
    found = of.model.noise_model
    if found is None:
        return of.model.family.noise_variance
    return exp(-latent(found, of.pairs).mean) * found.family.factor


@_of_family.register
def _(family: Counts, of: Latent, *, std: bool) -> Outputs:
    rate = exp(of.mean)
    if not std:
        return {"mean": rate}
    total = rate + (of.variance + family.dispersion) * squared(rate)
    return {"mean": rate, "std": sqrt(total)}


@_of_family.register
def _(family: RealTargets, of: Latent, *, std: bool) -> Outputs:
    if not std:
        return {"mean": of.mean}
    wider = variance_factor(family.degrees_of_freedom)
    total = (of.variance + float(family.noise_variance)) * wider
    return {"mean": of.mean, "std": sqrt(total)}


@_of_family.register
def _(family: SignedClasses, of: Latent, *, std: bool) -> Outputs:
    values = of.mean
    if values.shape == (1,):
        values = matmul(values, np.array([[0.0, 1.0]]))
    return {"probabilities": softmax(values * (2 / family.link_variance))}


@_of_family.register
def _(family: TwoClasses, of: Latent, *, std: bool) -> Outputs:
    return {"probabilities": moderated(of.mean, of.variance, family.doubt)}


@_of_family.register
def _(family: Probit, of: Latent, *, std: bool) -> Outputs:
    coding = family.likelihood.coding
    if of.coupled:
        p = probit_of_covariance(of.mean, of.covariance, coding)
    else:
        # Contrasts have one variance in common; so have differences of classes.
        shared = of.variance.sum().wider(0) * (1 / of.variance.shape[0])
        p = _probit(matmul(of.mean, coding.T), shared, nodes_for(1.0))
    return {"probabilities": normalised(doubted(p, family.doubt))}


@_of_family.register
def _(family: ClassWiseProbit, of: Latent, *, std: bool) -> Outputs:
    p = _probit(of.mean, of.variance, nodes_for(_largest_ratio(of.model)))
    return {"probabilities": normalised(doubted(p, family.doubt))}


@_of_family.register
def _(family: PluggedIn, of: Latent, *, std: bool) -> Outputs:
    p = _probit(of.mean, constant(np.zeros(1)), nodes_for(1.0))
    return {"probabilities": normalised(doubted(p, family.doubt))}


def _probit(mean: Expression, variance: Expression, n_nodes: int) -> Expression:
    """P (K,) of classes with independent latent values."""
    if mean.shape == (2,):
        return probit_of_two(mean, variance)
    return largest(mean, sqrt(variance + 1.0), n_nodes)


def _largest_ratio(model: FittedModel) -> float:
    """Of deviations of latent values with unit noise, about the centres and far out."""
    rows, ratio = tried_rows(model, _TRIED), 1.0
    for further in _FURTHER:
        _, variance = model.latent(further * rows)
        std = np.sqrt(1 + variance)
        ratio = max(ratio, float(np.max(std.max(axis=1) / std.min(axis=1))))
    return _MARGIN * ratio


@_of_family.register
def _(family: Logit, of: Latent, *, std: bool) -> Outputs:
    if of.coupled:
        p = softmax_of_covariance(of.mean, of.covariance)
    else:
        p = softmax_of_variances(of.mean, of.variance)
    return {"probabilities": normalised(doubted(p, family.doubt))}


@singledispatch
def _of_coupling(coupling: Any, models: Any, each: list[Latent]) -> Outputs:
    raise ExportError(f"{type(coupling).__name__} cannot be exported")


@_of_coupling.register
def _(coupling: Rest, models: Any, each: list[Latent]) -> Outputs:
    return {"probabilities": softmax(_log_second(models, each))}


@_of_coupling.register
def _(coupling: PairsOfClasses, models: Any, each: list[Latent]) -> Outputs:
    p = [
        moderated(of.mean, of.variance, one.family.doubt)
        for one, of in zip(models, each, strict=True)
    ]
    return {"probabilities": pairs_coupled(p, len(coupling.labels))}


@_of_coupling.register
def _(coupling: VotingPairs, models: Any, each: list[Latent]) -> Outputs:
    odds = _log_second(models, each) - _log_first(models, each)
    return {"votes": votes(odds, len(coupling.labels))}


def _log_second(models: Any, each: list[Latent]) -> Expression:
    """log P (M,) of the second of two classes of every model."""
    mean, variance = _side_by_side(each)
    return log_doubted(log_moderated(mean, variance), _doubts(models), 1)


def _log_first(models: Any, each: list[Latent]) -> Expression:
    mean, variance = _side_by_side(each)
    return log_doubted(log_moderated(-mean, variance), _doubts(models), 0)


def _side_by_side(each: list[Latent]) -> tuple[Expression, Expression]:
    """Means and variances (M,)."""
    return (
        concatenated([of.mean for of in each]),
        concatenated([of.variance for of in each]),
    )


def _doubts(models: Any) -> list[Any]:
    return [getattr(one.family, "doubt", None) for one in models]
