"""Latent values of a fitted model as expressions: their mean and spread."""

from dataclasses import dataclass
from functools import singledispatch
from typing import Any

import numpy as np

from relvec.basis import Basis
from relvec.export.errors import ExportError
from relvec.export.expressions import (
    Expression,
    at_least,
    concatenated,
    constant,
    squared,
)
from relvec.export.functions import FunctionValues
from relvec.export.kernels import values
from relvec.export.pairs import Pairs
from relvec.export.surroundings import Unknown
from relvec.lssvm import LeastSquaresModel
from relvec.lssvm.dual import DualSpread
from relvec.lssvm.ridge import RidgeSpread
from relvec.modelling import FittedModel
from relvec.posterior import CoupledPosterior
from relvec.typing import AnyArray, Array, Indices


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
