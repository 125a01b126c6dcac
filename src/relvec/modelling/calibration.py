"""Error bars and probabilities as wide as rows that are left out ask for.

The evidence is maximised over which functions are in the model, and what these explain
of single rows is missing from the estimate of the noise. Rows that are predicted
without themselves, and without the function centred on them, tell how much.
"""

from dataclasses import replace

import numpy as np

from relvec.basis import as_rows
from relvec.evidence import Solver
from relvec.kernel_learning import Judged
from relvec.likelihoods import SharedGaussian
from relvec.linalg import single_threaded
from relvec.modelling.augmentation import surroundings
from relvec.modelling.families import LeftOut
from relvec.modelling.fitted import FittedModel
from relvec.modelling.leave_one_out import judged
from relvec.modelling.specification import Specification
from relvec.modelling.surroundings import Surroundings
from relvec.modelling.training_set import TrainingSet

# That are left out, for the sake of time: their mean square is known to 2 %.
_MOST_ROWS = 5000
_ARRAYS = 8  # of rows and functions at a time


def calibrated(
    model: FittedModel, spec: Specification, data: TrainingSet
) -> FittedModel:
    """The model with the predictions of its family corrected.

    And with what it does not know far from these rows, if that is asked for, and how
    far they are off without themselves.
    """
    rows = data.rows
    known = rows.in_memory or len(rows.sample.indices) > 0
    if not known:
        return model
    size = 8 * _ARRAYS * (len(model.basis) + rows.n_features + 1)
    part = data.drawn(min(_MOST_ROWS, max(1, int(spec.budget.bytes // size))))
    seen = judged(model, part, columns_are_rows=spec.centres.are_rows)
    mean, variance = seen.without_rows
    left_out = LeftOut(
        targets=part.targets,
        mean=mean,
        variance=variance,
        fitted=seen.with_rows,
        weight=part.weight,
        n_parameters=float(np.mean(model.posterior.effective_parameters)),
        n_functions=seen.functions.shape[1],
        n_observations=model.fit.n_observations,
        offset=model.offset,
    )
    estimated = model.fit.likelihood.parameter_ceiling is not None
    if not (estimated and noise_has_prior(spec.solver)):
        model = replace(model, family=model.family.calibrated(left_out))
    if spec.augmented:
        with single_threaded():
            found = _surroundings(model, part, seen, left_out)
        model = replace(model, surroundings=found)
    promised = _widened(model, part, seen, left_out)
    return replace(model, residuals=model.family.residuals(promised))


def _widened(
    model: FittedModel, part: TrainingSet, seen: Judged, left_out: LeftOut
) -> LeftOut:
    """Rows left out with what the process about the model, which has them, adds."""
    if model.surroundings is None:
        return left_out
    X, moments = as_rows(part.table), (left_out.mean, left_out.variance)
    mean, variance = model.surroundings.joined(X, seen.functions, *moments)
    return replace(left_out, mean=mean, variance=variance)


def _surroundings(
    model: FittedModel, data: TrainingSet, seen: Judged, left_out: LeftOut
) -> Surroundings | None:
    """What is not known far from these rows, with outputs in units of their own."""
    unit = model.family.units
    if unit is None:
        return surroundings(model, data, seen, left_out)
    measured = replace(
        seen,
        y=seen.y / unit,
        likelihood=SharedGaussian(np.ones(len(unit)), estimated=False),
        posterior=seen.posterior.rescaled(1 / unit[:, None]),
    )
    alike = replace(model, family=model.family.in_units)
    found = surroundings(alike, data, measured, left_out)
    return found and replace(found, amplitude=found.amplitude * unit**2)


def noise_has_prior(solver: Solver) -> bool:
    """Whether a solver has been told of the noise, or integrates it out."""
    return bool(solver.prior.c or solver.prior.d) or solver.integrates_noise
