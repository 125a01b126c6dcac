"""One kernel mixed of several, its weights learned in turn with the model."""

from copy import copy
from typing import Any

import numpy as np

from relvec.estimators.learning.targets import Targets
from relvec.evidence import EvidenceFit, Status
from relvec.kernel_learning import Mixed, better_weights
from relvec.kernels import Kernel
from relvec.kernels.mixture import Mixture
from relvec.kernels.sparse import as_dense
from relvec.typing import Array

_MOST_ROUNDS = 20
_LEAST_GAIN = 1e-2  # nats
_FRACTIONS = (1.0, 0.5, 0.25)  # of the way to better weights
_DEGENERATE = (Status.INTERPOLATION, Status.PERFECT_FIT)
_MOST_ROWS = 5000  # from which better weights are guessed; the evidence is of all


def learn_weights(model: Any, targets: Targets) -> None:
    """Fit with the weights of the kernels as they are, then move them, in turn.

    The evidence does not fall: weights that are no better when the search has gone on
    with them are given up.
    """
    if not targets.training.in_memory:
        msg = "kernel_learning='weights' needs its rows in memory, not in blocks"
        raise ValueError(msg)
    kernels = tuple(model._kernel_choice.resolve(targets.training))
    weights = np.full(len(kernels), 1 / len(kernels))
    if model.warm_start and len(getattr(model, "kernel_weights_", ())) == len(kernels):
        weights = model.kernel_weights_
    _mix(model, kernels, weights)
    fit = model._fit_kernel(targets)
    for _ in range(_MOST_ROUNDS):
        # Nothing to learn from, or kernels so narrow that they explain every row.
        if fit.status in _DEGENERATE or len(model.relevance_) == 0:
            return
        goal = better_weights(_mixed(model, fit, targets), model.kernel_weights_)
        found = _tried(model, targets, goal)
        if found is None:
            return
        better, fit = found
        model.__dict__ = better.__dict__


def _mix(model: Any, kernels: tuple[Kernel, ...], weights: Array) -> None:
    model.kernel_weights_ = weights
    model.learned_kernels_ = (Mixture(kernels, weights),)


def _tried(model: Any, targets: Targets, goal: Array) -> tuple[Any, EvidenceFit] | None:
    """As far towards other weights as the evidence rises."""
    before = model.kernel_weights_
    for fraction in _FRACTIONS:
        trial = copy(model)
        trial.warm_start = True
        (mixture,) = model.learned_kernels_
        _mix(trial, mixture.kernels, before + fraction * (goal - before))
        fit = trial._fit_kernel(targets)
        gain = fit.log_evidence - model.log_evidence_
        if gain > _LEAST_GAIN and fit.status not in _DEGENERATE:
            trial.warm_start = model.warm_start
            return trial, fit
    return None


def _mixed(model: Any, fit: EvidenceFit, targets: Targets) -> Mixed:
    """The model's functions by every kernel, on some of the rows."""
    basis, training = model.model_.basis, targets.training
    rows = slice(None, None, max(1, len(targets.values) // _MOST_ROWS))
    X, y, weight = training.rows.whole()[rows], targets.values[rows], training.weight
    (group,) = basis.groups
    mixture = group.kernel
    assert isinstance(mixture, Mixture)
    parts = np.stack([as_dense(part) for part in mixture.parts(X, group.centres)])
    eta = model.model_.latent(X)[0] - targets.offset
    return Mixed(
        parts=parts,
        constant=np.ones((len(X), int(basis.bias))),
        prior_precision=fit.posterior.prior_precision,
        seen=fit.likelihood.pseudo_observations(y, eta, weight[rows]),
        count=float(weight[rows].sum()),
    )
