"""Fits of noise with heavy tails, by fits of Gaussian noise that bound it.

Given how far rows are off, E[r²] under the posterior, the likelihood has a lower bound
that is Gaussian, with a precision for each row (``relvec.likelihoods.student_t``). So
in turn

    the model of most evidence for these precisions, with all that a Gaussian model has:
    its width learned, its functions chosen, its noise estimated
    the precisions, the noise and the weights until they agree, its functions and their
    α held, which takes no time beside it (``relvec.evidence.solvers``)

and neither step lowers the bound of the evidence for the functions that there are. Rows
begin with the precisions that they have to a model of nothing but the median.
"""

from dataclasses import replace

import numpy as np

from relvec.evidence import Status, settled
from relvec.likelihoods import Gaussian, StudentT
from relvec.likelihoods.student_t import ScaleMixture
from relvec.linalg import single_threaded
from relvec.modelling.calibration import calibrated
from relvec.modelling.families import Regression
from relvec.modelling.fit import problem_of
from relvec.modelling.fitted import FittedModel
from relvec.modelling.monitor import Monitor, silent
from relvec.modelling.pairwise import Fit
from relvec.modelling.specification import Specification
from relvec.modelling.training_set import TrainingSet
from relvec.typing import Array

_MOST_TURNS = 8  # of which it takes three or four
# Nats for each observation: a turn that gains less was the last. More are between
# models that are as good as each other, since which functions there are can jump.
_LEAST_GAIN = 0.01
_ENDED = (Status.MAX_SECONDS, Status.STOPPED)


def fit_reweighted(
    fit: Fit,
    spec: Specification,
    data: TrainingSet,
    *,
    start: FittedModel | None = None,
    monitor: Monitor = silent,
) -> FittedModel:
    """The model of targets with Student's noise, by what fits one of Gaussian noise."""
    assert isinstance(data.likelihood, StudentT)
    nothing = np.zeros_like(data.targets)
    bound = data.likelihood.lower_bound(data.targets, nothing, nothing)
    gaussian = replace(spec, family=Regression(centred=False), augmented=False)
    best: FittedModel | None = None
    for _ in range(_MOST_TURNS):
        model = fit(gaussian, _weighted(data, bound), start=start, monitor=monitor)
        bound = _agreed(model, spec, data, bound)
        gain = np.inf if best is None else model.log_evidence - best.log_evidence
        if best is None or gain > 0:
            best = _as_it_is(model, spec, bound.bounded)
        if gain < _LEAST_GAIN * data.weight.sum() or model.status in _ENDED:
            break
    assert best is not None
    found = best.ended_as(model.status) if model.status in _ENDED else best
    return calibrated(found, spec, data)


def _as_it_is(model: FittedModel, spec: Specification, noise: StudentT) -> FittedModel:
    """A model of Gaussian noise as one of the noise that this has bounded."""
    fit = replace(model.fit, likelihood=noise)
    return replace(model, fit=fit, family=spec.family.fitted(noise, np.inf))


def _weighted(data: TrainingSet, bound: ScaleMixture) -> TrainingSet:
    """Rows of which those that are far off count for little, with Gaussian noise."""
    noise = bound.bounded
    _, mean = bound.relative_scales(data.weight)
    shift = bound.log_normaliser(data.weight) / float(data.weight.sum())
    return replace(
        data,
        rows=replace(data.rows, weight=_weights(data, bound)),
        likelihood=Gaussian(mean * noise.noise_precision, ceiling=noise.ceiling),
        density_shift=shift,
    )


def _weights(data: TrainingSet, bound: ScaleMixture) -> Array:
    """Of the rows, as many as observations in all."""
    relative, _ = bound.relative_scales(data.weight)
    return np.asarray(data.weight * relative[:, 0])


def _agreed(
    model: FittedModel, spec: Specification, data: TrainingSet, bound: ScaleMixture
) -> ScaleMixture:
    """The bound that the functions of a model ask for."""
    noise = bound.bounded.with_parameters(model.fit.likelihood.log_parameters)
    with single_threaded():
        problem = problem_of(model, spec, data)
        return settled(problem, ScaleMixture(noise, bound.squares))
