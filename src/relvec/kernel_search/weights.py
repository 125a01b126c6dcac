"""One kernel mixed of several, its weights learned in turn with the model."""

from dataclasses import replace

import numpy as np

from relvec.evidence import Status
from relvec.kernel_learning import Mixed, better_weights
from relvec.kernel_search.trials import STOPPED
from relvec.kernels import Kernel
from relvec.kernels.mixture import Mixture
from relvec.kernels.sparse import as_dense
from relvec.modelling import (
    FittedModel,
    Learned,
    Monitor,
    Specification,
    TrainingSet,
    maximised,
)
from relvec.typing import Array

_MOST_ROUNDS = 20  # each of one fit or more
_LEAST_GAIN = 1e-2  # nats, which is no evidence for anything
_FRACTIONS = (1.0, 0.5, 0.25)  # of the way to better weights: backtracking
_DEGENERATE = (Status.INTERPOLATION, Status.PERFECT_FIT)
# From which better weights are guessed, by all kernels at once, for the sake of memory;
# the evidence is of all.
_MOST_ROWS = 5000


def learn_weights(
    spec: Specification, data: TrainingSet, start: FittedModel | None, monitor: Monitor
) -> FittedModel:
    """Fit with the weights of the kernels as they are, then move them, in turn.

    The evidence does not fall: weights that are no better when the search has gone on
    with them are given up.
    """
    if not data.rows.in_memory:
        msg = "kernel_learning='weights' needs its rows in memory, not in blocks"
        raise ValueError(msg)
    weights = np.full(len(spec.kernels), 1 / len(spec.kernels))
    known = None if start is None else start.learned.weights
    if known is not None and len(known) == len(weights):
        weights = known
    model = _mixed(spec, data, weights, start, monitor)
    for _ in range(_MOST_ROUNDS):
        # Nothing to learn from, or kernels so narrow that they explain every row.
        if model.status in (*_DEGENERATE, *STOPPED) or len(model.indices) == 0:
            return model
        better = _better(spec, data, model, monitor)
        if better is None:
            return model
        model = better
    return model


def _mixed(
    spec: Specification,
    data: TrainingSet,
    weights: Array,
    start: FittedModel | None,
    monitor: Monitor,
) -> FittedModel:
    """The model of one kernel, mixed with these weights."""
    mixture: Kernel = Mixture(spec.kernels, weights)
    mixed = replace(spec, kernels=(mixture,))
    model = maximised(mixed, data, start=start, monitor=monitor)
    return replace(model, learned=Learned(weights=weights))


def _better(
    spec: Specification, data: TrainingSet, model: FittedModel, monitor: Monitor
) -> FittedModel | None:
    """As far towards other weights as the evidence rises."""
    before = model.learned.weights
    assert before is not None
    goal = better_weights(_functions(model, data), before)
    for fraction in _FRACTIONS:
        weights = before + fraction * (goal - before)
        trial = _mixed(spec, data, weights, model, monitor)
        gain = trial.log_evidence - model.log_evidence
        if gain > _LEAST_GAIN and trial.status not in _DEGENERATE:
            return trial
        if trial.status in STOPPED:
            return model.ended_as(trial.status)
    return None


def _functions(model: FittedModel, data: TrainingSet) -> Mixed:
    """The model's functions by every kernel, on some of the rows."""
    rows = slice(None, None, max(1, len(data) // _MOST_ROWS))
    X, y, weight = data.table[rows], data.targets[rows], data.weight[rows]
    (group,) = model.basis.groups
    mixture = group.kernel
    assert isinstance(mixture, Mixture)
    parts = np.stack([as_dense(part) for part in mixture.parts(X, group.centres)])
    eta = model.latent(X)[0] - data.offset
    return Mixed(
        parts=parts,
        constant=np.ones((len(X), int(model.basis.bias))),
        prior_precision=model.posterior.prior_precision,
        seen=model.fit.likelihood.pseudo_observations(y, eta, weight),
        count=float(weight.sum()),
    )
