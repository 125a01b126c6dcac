"""Algorithm 1 of Yuan et al. (2009): precisions and length scales in turn.

All functions begin with the same length scale. H re-estimations of α and the noise by
MacKay's rule, which prune, are followed by S quasi-Newton steps on log ℓ, until the
evidence stops rising.
"""

from dataclasses import replace

import numpy as np
from numpy.linalg import LinAlgError

from relvec.basis import Basis
from relvec.evidence import Status, TopDown, WarmStart
from relvec.kernel_learning import OwnScales
from relvec.kernel_search.adaptive import MOST_ROWS, AdaptiveModel
from relvec.kernel_search.learnable import as_varying
from relvec.kernel_search.settings import Adaptive
from relvec.kernel_search.shared import described
from relvec.kernel_search.starts import Distances, given_shape
from relvec.kernel_search.trials import Trials
from relvec.likelihoods import at_ceiling
from relvec.modelling import Candidates, FittedModel, TrainingSet, fit_candidates

_MOST_TURNS = 30  # of both kinds, each of a fit and some steps
_LEAST_GAIN = 1e-3  # nats, which is no evidence for anything
_FINAL = (Status.MAX_SECONDS, Status.STOPPED, Status.INTERPOLATION, Status.PERFECT_FIT)


def learn_alternating(settings: Adaptive, everything: Trials) -> FittedModel:
    """The model by these settings, fitted once more by the solver asked for."""
    data = everything.data
    trials = replace(everything, data=data.drawn(MOST_ROWS))
    shape = given_shape(trials.template)
    allowed = Distances.of(trials.seen_rows, shape, data.rows.seed).allowed
    late = trials.out_of_time
    own = OwnScales(allowed, steps=settings.steps, joint=False, ended=late)
    last = _alternated(settings, trials, data, own)
    model = last.model
    if trials.out_of_time():
        model = model.ended_as(Status.MAX_SECONDS)
    elif len(model.indices):
        model = last.refitted(last.scalable()[0], data)
    return described(model, trials, [])


def _alternated(
    settings: Adaptive, trials: Trials, data: TrainingSet, own: OwnScales
) -> AdaptiveModel:
    """Turns of both kinds until the evidence stops rising."""
    limits = replace(trials.spec.limits, max_iter=settings.cycles)
    start = settings.initial_precision
    solver = TopDown("mackay", polish=False, initial_precision=start)
    mackay = replace(trials.spec, solver=solver, limits=limits)
    candidates = _candidates(settings, trials, data)
    precision = solver.warm_start(len(candidates.basis), WarmStart()).precision
    before = -np.inf
    for _ in range(_MOST_TURNS):
        model = fit_candidates(
            mackay, data, candidates, precision=precision, monitor=trials.monitor
        )
        adaptive = AdaptiveModel(trials, model, trials.spec.kernels)
        ended = model.status in _FINAL or at_ceiling(model.fit.likelihood)
        gain, before = model.log_evidence - before, model.log_evidence
        if len(model.indices) == 0 or ended or gain < _LEAST_GAIN:
            break
        try:
            moved = own.better(*adaptive.scalable())
        except LinAlgError:
            break
        candidates, precision, _ = adaptive.candidates(moved)
    return adaptive


def _candidates(settings: Adaptive, trials: Trials, data: TrainingSet) -> Candidates:
    """All functions, those of one kernel ready to have scales of their own."""
    spec = trials.spec
    given = Candidates.of(spec.kernels, spec.centres, data.rows, bias=spec.intercept)
    groups = list(given.basis.groups)
    varying = as_varying(groups.pop(trials.index))
    assert varying is not None
    if settings.by_feature:
        shape = (len(varying), trials.seen_rows.shape[1])
        scales = np.broadcast_to(varying.scales, shape)
        varying = replace(varying, scales=scales)
    groups.insert(trials.index, varying)
    return replace(given, basis=Basis(tuple(groups), spec.intercept))
