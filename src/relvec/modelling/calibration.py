"""Error bars and probabilities that hold for rows that are left out.

The evidence is maximised over which functions are in the model. What these explain of
single rows is missing from the estimate of the noise, so error bars are too narrow.
Rows that are predicted without themselves tell by how much. They are left out

in closed form    at no cost beside the fit, without the row and without the function
                  that is centred on it; the other functions stay as they are
by folds          each fifth of the rows by a model whose functions were selected
                  without it

Closed forms are blind to what the selection has seen. With candidates centred on the
rows that hardly matters, since the function that a row has brought leaves with it.
Where m functions are chosen among p columns, the selection explains about
2m·log(p/m) observations of pure noise, whichever row is left out. Folds are fitted
where that is more than a twentieth of the rows.
"""

from dataclasses import replace

import numpy as np

from relvec.basis import as_rows
from relvec.chance import generator
from relvec.evidence import Solver, Status
from relvec.kernel_learning import LeaveOneOut
from relvec.likelihoods import SharedGaussian
from relvec.linalg import single_threaded
from relvec.modelling.augmentation import surroundings
from relvec.modelling.families import LeftOut, NoiseLevels, Regression
from relvec.modelling.families.base import noise_factor
from relvec.modelling.fitted import Fit, FittedModel, leave_one_out
from relvec.modelling.latent import AugmentedVariance
from relvec.modelling.monitor import Monitor, logger, silent
from relvec.modelling.specification import Specification
from relvec.modelling.training_rows import TrainingSet
from relvec.typing import AnyArray, Array, Indices

# That are left out, for the sake of time: their mean square is known to 2 %.
_MOST_ROWS = 5000
_ARRAYS = 8  # of rows and functions at a time
# Rows N are left out of a model of n functions in about so many seconds for each of
# N·n², with 2n rows more for what all have in common. Fewer rows than some tell
# nothing.
_SECONDS_EACH, _FEW_ROWS = 2e-9, 50
_NO_TIME = (
    "max_seconds left no time to check error bars and probabilities on rows left out, "
    "so they may be too certain: raise max_seconds"
)
_FOLDS = 5
# Rows that folds have to judge: a coverage of 90 % is then known to 1.3 %, and one or
# two folds of many rows are enough.
_ENOUGH_ROWS = 500
_LEAST_SHARE = 0.05  # of the rows, that a selection may explain of pure noise
# The same of rough functions centred on the rows, the dearer check of a smaller fault:
# on splits 15 and 16 of five UCI tables 90 % intervals that covered 85 % cover 90 %.
_LEAST_SHARE_OF_ROUGH = 0.25
_FEWEST_ROWS = 10  # that differ, two in each fold
_DRAW = 12  # of the random numbers by which rows are put into folds


def calibrated(
    model: FittedModel, spec: Specification, data: TrainingSet
) -> FittedModel:
    """Correct the predictions of a model by rows left out in closed form.

    It also gets the uncertainty far from these rows, if that is asked for, and says how
    far rows are off that are predicted without themselves.
    """
    rows = data.rows
    known = rows.in_memory or len(rows.sample.indices) > 0
    if not known:
        return model
    count = _rows_afforded(model, spec, data)
    if count == 0:
        return model.remarked(_NO_TIME)
    part = data.drawn(count)
    seen = leave_one_out(model, part, columns_are_rows=spec.centres.are_rows)
    left_out = rows_left_out(model, seen, part)
    model = _corrected(model, spec, left_out)
    if spec.augmented:
        with single_threaded():
            found = _surroundings(model, part, seen, left_out)
        model = replace(model, surroundings=found)
    return described(model, _widened(model, part, seen, left_out))


def _rows_afforded(model: FittedModel, spec: Specification, data: TrainingSet) -> int:
    """The number of rows to leave out, by memory and time; 0 if too few."""
    size = 8 * _ARRAYS * (len(model.basis) + data.rows.n_features + 1)
    most = min(_MOST_ROWS, max(1, int(spec.budget.bytes // size)))
    if not spec.deadline.limited:
        return most
    seconds, n = spec.deadline.end.left, max(len(model.basis), 1)
    affordable = int(seconds / (_SECONDS_EACH * n**2)) - 2 * n
    return min(most, affordable) if affordable >= min(_FEW_ROWS, len(data)) else 0


def checked_fit(fit: Fit) -> Fit:
    """A fit function that ends with ``checked_by_folds``."""

    def checked(
        spec: Specification,
        data: TrainingSet,
        *,
        start: FittedModel | None = None,
        monitor: Monitor = silent,
    ) -> FittedModel:
        model = fit(spec, data, start=start, monitor=monitor)
        return checked_by_folds(model, fit, spec, data)

    return checked


def checked_by_folds(
    model: FittedModel,
    fit: Fit,
    spec: Specification,
    data: TrainingSet,
    noise: Array | None = None,
    *,
    rough: bool = False,
) -> FittedModel:
    """Correct a model by rows that refitted models have never seen.

    It stays as it is where closed forms tell the truth, and where the time is over.
    ``noise`` is the variance of each row's noise, where it is known; ``rough`` says
    that functions may be so narrow that leaving one out does not tell.
    """
    if not _selection_matters(model, spec, data, rough=rough):
        return model
    left_out = _left_out_by_folds(model, fit, spec, data, noise)
    if left_out is None:
        return model
    if model.noise_model is not None:
        model, left_out = _with_more_noise(model, left_out)
    else:
        model = _corrected(model, spec, left_out)
    return described(model, left_out)


def rows_left_out(model: FittedModel, seen: LeaveOneOut, part: TrainingSet) -> LeftOut:
    """Predictions of rows left out, in closed form."""
    mean, variance = seen.without_rows
    return LeftOut(
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


def described(model: FittedModel, left_out: LeftOut) -> FittedModel:
    """Attach residuals and calibration by rows left out to a model."""
    return replace(
        model,
        residuals=model.family.residuals(left_out),
        calibration=model.family.calibration(left_out),
    )


def noise_has_prior(solver: Solver) -> bool:
    """Whether a solver has a hyperprior on the noise, or integrates it out."""
    return bool(solver.prior.c or solver.prior.d) or solver.integrates_noise


def _corrected(
    model: FittedModel, spec: Specification, left_out: LeftOut
) -> FittedModel:
    """The model with the noise, or mixing, that rows left out ask for."""
    estimated = model.fit.likelihood.parameter_ceiling is not None
    if estimated and noise_has_prior(spec.solver):
        return model
    return replace(model, family=model.family.calibrated(left_out))


def _widened(
    model: FittedModel, part: TrainingSet, seen: LeaveOneOut, left_out: LeftOut
) -> LeftOut:
    """Add the augmented variance to the predictions of rows left out."""
    if model.surroundings is None:
        return left_out
    X, moments = as_rows(part.table), (left_out.mean, left_out.variance)
    mean, variance = model.surroundings.joined(X, seen.functions, *moments)
    return replace(left_out, mean=mean, variance=variance)


def _surroundings(
    model: FittedModel, data: TrainingSet, seen: LeaveOneOut, left_out: LeftOut
) -> AugmentedVariance | None:
    """The augmented variance, with outputs in units of their noise."""
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


def _selection_matters(
    model: FittedModel, spec: Specification, data: TrainingSet, *, rough: bool
) -> bool:
    """Whether selection may have fitted noise that closed forms do not see."""
    rows, groups = data.rows, len(model.basis.groups)
    ended = model.status in {Status.MAX_SECONDS, Status.STOPPED}
    if ended or not rows.in_memory:
        return False
    own = spec.centres.at_rows and groups == 1
    if own and not rough:
        return False
    if _numbers_of_rows(data.table)[-1] + 1 < _FEWEST_ROWS:
        return False
    n_candidates = groups * len(spec.centres.of(rows)[1])
    chosen = len(model.indices)
    if chosen == 0:
        return False
    explained = 2 * chosen * np.log(max(n_candidates / chosen, 1.0))
    least = _LEAST_SHARE_OF_ROUGH if own else _LEAST_SHARE
    return bool(explained > least * rows.weight.sum())


def _left_out_by_folds(
    model: FittedModel,
    fit: Fit,
    spec: Specification,
    data: TrainingSet,
    noise: Array | None,
) -> LeftOut | None:
    """Predictions of rows by models fitted without them; None if time is over."""
    fold, family = _folds(data), spec.family
    places: list[Indices] = []
    moments: list[tuple[Array, Array]] = []
    levels: list[Array] = []
    for number in range(_FOLDS):
        place = np.flatnonzero(fold == number)
        others = np.flatnonzero(fold != number)
        if not len(place) or len(others) < 2:
            continue
        part = data.subset(others)
        encoded = family.encoded(part.rows, family.given(part.targets, part.offset))
        encoded = replace(encoded, density_shift=data.density_shift)
        logger.info("fold %d of %d: selecting again", number + 1, _FOLDS)
        one = fit(spec, encoded, monitor=silent)
        if one.status is Status.MAX_SECONDS:
            return None
        X = data.table[place]
        places.append(place)
        moments.append(one.latent(X))
        if one.noise_model is not None:
            levels.append(one.noise_model.values(X)[:, 0])
        elif model.noise_model is not None:
            levels.append(np.full(len(X), one.family.parameters["noise_variance_"]))
        if data.weight[np.concatenate(places)].sum() >= _ENOUGH_ROWS:
            break
    if not places:
        return None
    judged_rows = np.concatenate(places)
    mean, variance = (np.concatenate(each) for each in zip(*moments, strict=True))
    mean = mean - data.offset
    weight = data.weight[judged_rows]
    if noise is not None:
        # Weights are relative precisions c/s² of rows; each row counts for itself.
        levels = [noise[judged_rows]]
        weight = weight * levels[0] / family.noise_variance  # type: ignore[attr-defined]
    return LeftOut(
        targets=data.targets[judged_rows],
        mean=mean,
        variance=variance,
        fitted=(mean, variance),
        weight=weight,
        n_parameters=float(np.mean(model.posterior.effective_parameters)),
        n_functions=len(model.basis),
        n_observations=model.fit.n_observations,
        offset=data.offset,
        repeated=True,
        noise=np.concatenate(levels) if levels else None,
    )


def _folds(data: TrainingSet) -> Indices:
    """The number of each row's fold; equal rows, which are neighbours, share one."""
    number = _numbers_of_rows(data.table)
    drawing = generator(data.rows.seed, _DRAW)
    return np.asarray(drawing.permutation(int(number[-1]) + 1) % _FOLDS)[number]


def _numbers_of_rows(X: AnyArray) -> Indices:
    """Numbers of rows from zero; equal rows, which are neighbours, share one."""
    number = np.arange(len(X))
    if X.dtype != object:
        number[1:] = np.cumsum(np.any(X[1:] != X[:-1], axis=1))
    return number


def _with_more_noise(
    model: FittedModel, left_out: LeftOut
) -> tuple[FittedModel, LeftOut]:
    """Raise noise that varies by one factor for all rows."""
    noise, family = model.noise_model, model.family
    assert noise is not None
    assert left_out.noise is not None
    assert isinstance(family, Regression)
    assert isinstance(noise.family, NoiseLevels)
    levels_now = left_out.noise
    factor = noise_factor(
        lambda times: family.calibration(
            replace(left_out, noise=times * levels_now)
        ).shares[0],
        float(left_out.weight.sum()),
    )
    levels = replace(noise.family, factor=factor * noise.family.factor)
    variance = factor * float(family.noise_variance)
    raised = replace(
        model,
        noise_model=replace(noise, family=levels),
        family=replace(family, noise_variance=variance),
    )
    return raised, replace(left_out, noise=factor * levels_now)
