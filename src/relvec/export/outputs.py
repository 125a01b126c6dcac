"""What a family of targets makes of latent values, as expressions by name."""

from functools import singledispatch
from typing import Any

import numpy as np

from relvec.export.coupled import probit_of_covariance, softmax_of_covariance
from relvec.export.errors import ExportError
from relvec.export.expressions import (
    Expression,
    concatenated,
    constant,
    exp,
    matmul,
    sqrt,
    squared,
)
from relvec.export.latent import Latent, latent
from relvec.export.links import (
    doubted,
    largest,
    log_doubted,
    log_moderated,
    moderated,
    nodes_for,
    pairs_coupled,
    probit_of_two,
    softmax_of_variances,
    votes,
)
from relvec.export.pairs import Pairs
from relvec.export.special import normalised, softmax
from relvec.export.trials import tried_rows
from relvec.lssvm import LeastSquaresModel, RealTargets, SignedClasses
from relvec.modelling import (
    FittedModel,
    IndependentModel,
    PairwiseModel,
    Regression,
    RobustRegression,
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
