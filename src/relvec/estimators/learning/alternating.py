"""Algorithm 1 of Yuan et al. (2009): precisions and length scales in turn.

All functions begin with the same length scale. H re-estimations of α and the noise by
MacKay's rule, which prune, are followed by S quasi-Newton steps on log ℓ, until the
evidence stops rising.
"""

from copy import copy
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.linalg import LinAlgError

from relvec.basis import Basis
from relvec.estimators.candidates import Candidates
from relvec.estimators.learning.adaptive import MOST_ROWS, Moving
from relvec.estimators.learning.checks import Adaptive, as_varying
from relvec.estimators.learning.shared import Stages, described
from relvec.estimators.learning.starts import Distances, given_shape
from relvec.estimators.learning.targets import Targets
from relvec.estimators.learning.trials import Trials
from relvec.evidence import Status
from relvec.kernel_learning import OwnScales
from relvec.likelihoods import at_ceiling
from relvec.typing import Array

_MOST_TURNS = 30
_LEAST_GAIN = 1e-3  # nats
_FINAL = (Status.MAX_SECONDS, Status.STOPPED, Status.INTERPOLATION, Status.PERFECT_FIT)


def learn_alternating(model: Any, targets: Targets) -> None:
    """Fit ``model`` by settings of the algorithm, then once more by its solver."""
    settings: Adaptive = model.kernel_learning
    trials = Stages.of(model, targets, most=MOST_ROWS).most
    shape = given_shape(trials.template)
    allowed = Distances.of(trials.seen_rows, shape, trials.seed).allowed
    own = OwnScales(allowed, steps=settings.steps, joint=False)
    turning = copy(model)
    turning.learned_kernels_ = tuple(trials.kernels)
    vars(turning).update(solver="mackay", polish=False, max_iter=settings.cycles)
    moving = _turned(turning, trials, targets, own)
    given = {name: getattr(model, name) for name in ("solver", "polish", "max_iter")}
    vars(turning).update(given)
    last = turning
    if len(turning.relevance_):
        last = moving.refitted(moving.placed()[0], targets)
    described(model, last, trials, [])


def _turned(model: Any, trials: Trials, targets: Targets, own: OwnScales) -> Moving:
    """Turns of both kinds until the evidence stops rising."""
    candidates = _candidates(model, trials, targets)
    precision: Array | None = None
    before = -np.inf
    for _ in range(_MOST_TURNS):
        model.max_seconds = trials.seconds_left
        fit = model._fit_candidates(candidates, targets, precision)
        model.max_seconds = trials.model.max_seconds
        moving = Moving(trials, model, fit)
        ended = fit.status in _FINAL or at_ceiling(fit.likelihood)
        gain, before = fit.log_evidence - before, fit.log_evidence
        if len(model.relevance_) == 0 or ended or gain < _LEAST_GAIN:
            break
        try:
            moved = own.better(*moving.placed())
        except LinAlgError:
            break
        candidates, precision, _ = moving.candidates(moved)
    return moving


def _candidates(model: Any, trials: Trials, targets: Targets) -> Candidates:
    """All functions, those of one kernel ready to have scales of their own."""
    bias = bool(model.fit_intercept)
    given = Candidates.of(
        model._kernel_choice, model.candidates, targets.training, bias=bias
    )
    groups = list(given.basis.groups)
    varying = as_varying(groups.pop(trials.place))
    assert varying is not None
    if model.kernel_learning.by_feature:
        shape = (len(varying), trials.seen_rows.shape[1])
        scales = np.broadcast_to(varying.scales, shape)
        varying = replace(varying, scales=scales)
    groups.insert(trials.place, varying)
    return replace(given, basis=Basis(tuple(groups), bias))
