"""What an export should say, and how much rounding may make of it."""

import warnings
from dataclasses import dataclass
from functools import cache, singledispatch
from typing import Any

import numpy as np
from numpy.testing import assert_array_equal

from export.instances import fitted
from relvec.basis import Basis, evaluated
from relvec.export.plan import Plan
from relvec.lssvm import LeastSquaresModel
from relvec.lssvm.dual import DualVariance
from relvec.modelling import FittedModel, PairwiseModel
from relvec.modelling.families import Counts

# Relative to sums of absolute values; and to the spread of the targets.
DOUBLE, SINGLE = 1e-12, 1e-5
_BARS = {"float64": DOUBLE, "float32": SINGLE}
# Classes or votes nearer to each other than this are tied, by the digits of a number.
_TIED = {"float64": 1e-9, "float32": 1e-3}
_COUNT = 16


def rows_about(X, count=_COUNT, seed=0):
    """About the rows of a fit, at some of them, and far away: the last quarter."""
    chance = np.random.default_rng(seed)
    quarter = max(count // 4, 1)
    middle, width = X.mean(axis=0), X.std(axis=0)
    normal = chance.standard_normal((count - 2 * quarter, X.shape[1]))
    far = 30 * width * chance.standard_normal((quarter, X.shape[1]))
    at = X[np.arange(quarter) % len(X)]
    rows = np.vstack([middle + 1.5 * width * normal, at, middle + far])
    return np.abs(rows) if X.min() >= 0 else rows


def far_rows(rows):
    """Whether a row is one of those far away."""
    return np.arange(len(rows)) >= len(rows) - max(len(rows) // 4, 1)


@dataclass(frozen=True)
class Said:
    """What a model says of rows, and in which size its terms are added up."""

    rows: Any
    outputs: dict[str, Any]
    scales: dict[str, Any]  # of the same names
    labels: Any = None
    surest: Any = None  # log odds of the least certain vote

    @property
    def wanted(self):
        """The word for all of it."""
        return "mean+std" if "std" in self.outputs else "auto"

    def errors(self, found, precision):
        """Largest error of every output, relative to what it should be below."""
        return {
            name: float(np.max(self._error(name, found[name], precision), initial=0.0))
            for name in self.outputs
        }

    def _error(self, name, found, precision):
        known, scale = self.outputs[name], self.scales[name]
        assert found.shape == known.shape
        assert np.isfinite(found).all()
        error = np.abs(np.asarray(found, dtype=np.float64) - known)
        if precision == "float32":
            near = known[~far_rows(known)]
            spread = 1.0 if name == "probabilities" else np.ptp(near)
            # What double precision does not know cannot be asked of single precision;
            # nor can it be where a regression far away is a small difference.
            share = np.where(far_rows(known) & (known.ndim == 1), 1.0, DOUBLE / SINGLE)
            least = share.reshape(-1, *(1,) * (known.ndim - 1)) * scale
            scale = np.maximum(np.maximum(np.abs(known), spread), least)
        relative = error / np.maximum(scale, np.finfo(np.float64).tiny)
        if self.surest is not None:
            relative = relative[self.surest > _TIED[precision]]
        return relative

    def check(self, found, precision):
        """That all is as it should be."""
        for name, error in self.errors(found, precision).items():
            assert error <= _BARS[precision], f"{name}: {error:.1e}"
        if "probabilities" in found:
            total = np.sum(found["probabilities"], axis=1, dtype=np.float64)
            assert np.abs(total - 1).max() <= (
                1e-12 if precision == "float64" else 1e-5
            )

    def check_labels(self, labels, precision):
        """That classes are the same where none is as probable as another."""
        (scores,) = self.outputs.values()
        ordered = np.sort(scores, axis=1)
        clear = ordered[:, -1] - ordered[:, -2] > _TIED[precision]
        if self.surest is not None:
            clear &= self.surest > _TIED[precision]
        assert_array_equal(np.asarray(labels)[clear], self.labels[clear])


def said(model, X):
    """By the estimator's own methods."""
    estimator, seen = _scaled(model, X)
    own = estimator.model_
    with warnings.catch_warnings():
        # Whoever predicts far away may be told so; here it is meant.
        warnings.simplefilter("ignore", RuntimeWarning)
        if not hasattr(estimator, "classes_"):
            outputs = {"mean": model.predict(X)}
            scales = {"mean": sizes(own, seen)}
            if getattr(own, "spread", True) is not None:
                outputs["std"] = model.predict(X, return_std=True)[1]
                scales["std"] = spreads(own, seen, outputs["std"])
            return Said(X, outputs, scales)
        scale, labels = np.maximum(sizes(own, seen), 1.0)[:, None], model.predict(X)
        if hasattr(estimator, "predict_proba"):
            outputs = {"probabilities": model.predict_proba(X)}
            return Said(X, outputs, {"probabilities": scale}, labels)
        outputs = {"votes": model.decision_function(X)}
        return Said(X, outputs, {"votes": scale}, labels, _least_odds(own, seen))


def _scaled(model, X):
    """The estimator, and what it sees."""
    for _, step in getattr(model, "steps", [])[:-1]:
        X = X if step == "passthrough" else step.transform(X)
    return (model[-1] if hasattr(model, "steps") else model), X


def _least_odds(model, X):
    odds = [one.predictive(X).decision for one in model.models]
    return np.min(np.abs(odds), axis=0)


@singledispatch
def sizes(model, rows):
    """Σ|wφ| of every row, the largest of all outputs."""
    raise TypeError(type(model))


@sizes.register
def _(model: FittedModel, rows):
    terms = np.abs(model.basis(rows)) @ np.abs(model.posterior.mean.T)
    own = terms.max(axis=1) + abs(model.offset) + gained(model, rows)
    return own * slopes(model, rows)


def slopes(model, rows):
    """Of targets by latent values: of counts e^η, else one."""
    counts = isinstance(model.family, Counts)
    return model.values(rows)[:, 0] if counts else np.ones(len(rows))


@sizes.register
def _(model: LeastSquaresModel, rows):
    terms = np.abs(model.basis(rows)) @ np.abs(model.coefficients) + np.abs(model.bias)
    return terms.max(axis=1) * max(1.0, 2 / getattr(model.family, "link_variance", 2.0))


@sizes.register
def _(model: PairwiseModel, rows):
    return np.max([sizes(one, rows) for one in model.models], axis=0)


@singledispatch
def spreads(model, rows, std):
    """What a standard deviation is rounded relative to."""
    raise TypeError(type(model))


@spreads.register
def _(model: FittedModel, rows, std):
    terms = np.abs(model.basis(rows)) @ np.abs(model.posterior.whitener[0].T)
    variance = np.sum(terms**2, axis=1)
    if isinstance(model.family, Counts):
        own = variance + unknown(model, rows)
        return std + sizes(model, rows) + slopes(model, rows) ** 2 * own / std
    noise = model.family.noise_variance
    if model.noise_model is not None:
        levels = model.noise_model.values(rows)[:, 0]
        noise = levels * (1 + sizes(model.noise_model, rows))
    own = np.sqrt(variance + noise)
    return own + unknown(model, rows) / std


def unknown(model, rows):
    """Of a process far from the data, in which a prior's variance is cancelled."""
    found = model.surroundings
    if found is None:
        return 0.0
    explained = np.sum(_turned(model, rows) ** 2, axis=1)
    prior = found.pivots.kernel.diagonal(rows)
    return found.power * found.amplitude.max() * (prior + explained)


def gained(model, rows):
    """Of means far from the data, whose share is such a difference as well."""
    found = model.surroundings
    if found is None or found.mean is None:
        return 0.0
    explained = _turned(model, rows) ** 2 @ (1 / found.determined)
    return found.mean_power * np.abs(found.mean).max() * (1 + explained)


def _turned(model, rows):
    """Sums of absolute values."""
    found, pivots = model.surroundings, model.surroundings.pivots
    own = np.abs(evaluated(pivots.kernel, rows, pivots.centres))
    own = own @ np.abs(found.by_pivots.T)
    shared = found.by_functions.shape[1]
    functions = np.abs(model.basis(rows))[:, len(model.basis) - shared :]
    return own + functions @ np.abs(found.by_functions.T)


@spreads.register
def _(model: LeastSquaresModel, rows, std):
    """Of variances, in which a prior's is cancelled: d std = d variance / 2 std."""
    if isinstance(model.spread, DualVariance):
        system, scale = model.spread.system, model.spread.scales[0]
        half = model.spread.factor.half_solved(np.asfortranarray(np.diag(system.root)))
        kernel = system.functions.kernel
        functions = np.abs(Basis((system.functions,), bias=False)(rows))
        known = scale * np.sum((functions @ np.abs(half.T)) ** 2, axis=1)
    else:
        pivots = model.spread.pivots
        kernel = pivots.kernel
        functions = np.abs(Basis.of(kernel, pivots.rows, bias=False)(rows))
        known = np.sum((functions @ np.abs(pivots.whitener.T)) ** 2, axis=1)
    prior = np.abs(kernel.diagonal(rows)) if len(functions.T) else 0.0
    return std + model.scale * (prior + known) / std


@cache
def known(name, precision="float64"):
    """What an instance says of rows that a number type can hold."""
    case = fitted(name)
    return said(case.model, rows_about(case.X).astype(precision).astype(np.float64))


@cache
def plan(name, precision="float64"):
    """Of all that an instance says."""
    return Plan.of(fitted(name).model, known(name, precision).wanted, precision)
