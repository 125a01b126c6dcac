"""Noise of real targets: known for each row, heavy-tailed or varying; several targets.

**Known noise.** Gaussian noise of variance sₙ² is noise of one variance c with the
precision of row n multiplied by c/sₙ². Sample weights vₙ multiply precisions too, so
rows of weight vₙc/sₙ² say the same of the function, and with c = Σv / Σ(v/s²) these
weights add up to the number of observations. Read as repetitions they have the log
density ½Σ(vₙc/sₙ²) log(1/c), where ½Σvₙ log(1/sₙ²) belongs: ½Σvₙ log(c/sₙ²) more.

**Heavy tails.** Given the expected squared errors E[r²] under the posterior, the
likelihood has a Gaussian lower bound with a precision for each row
(``relvec.likelihoods.student_t``). So these two steps alternate:

1. fit the model of most evidence for these precisions, with all that a Gaussian model
   has: its width learned, its functions chosen, its noise estimated;
2. iterate precisions, noise and weights until they agree, with the functions and their
   α held, which is cheap (``relvec.evidence.solvers``).

Neither step lowers the bound of the evidence for the functions that there are. The
first precisions are those for a model of nothing but the median.

**Varying noise.**

Solves   y = f(x) + ε, ε ~ N(0, e^−η(x)), with f and η sparse models of their own
By       rounds that start from a model of constant noise:
         η   fitted to the squared errors of rows left out, as far as these are noise
         f   fitted with known noise: a row of variance s² has the weight c/s² beside
             noise of variance c
Until    a round gains less than a nat, or there were four. If none has gained what its
         functions cost, the noise stays constant.

Gains are those of log densities of rows that both models predict without them.
"""

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

import numpy as np

from relvec.data import is_row_blocks
from relvec.evidence import Solver, Status, check_noise_settings, settled
from relvec.likelihoods import Gaussian, HeldObservations, StudentT, at_ceiling
from relvec.likelihoods.student_t import ScaleMixture
from relvec.linalg import single_threaded
from relvec.modelling.calibration import (
    calibrated,
    checked_by_folds,
    checked_fit,
    described,
    rows_left_out,
)
from relvec.modelling.families import (
    NoiseLevels,
    Regression,
    SeveralOutputs,
    check_noise,
    regression_family,
)
from relvec.modelling.families.base import within
from relvec.modelling.fit import problem_of
from relvec.modelling.fitted import Fit, FittedModel, leave_one_out
from relvec.modelling.monitor import Monitor, logger, silent
from relvec.modelling.predictive import Calibration, Residuals, TargetDistribution
from relvec.modelling.several_models import IndependentModel, fit_independent
from relvec.modelling.specification import Specification
from relvec.modelling.training_rows import TrainingRows, TrainingSet
from relvec.parameters import as_floats, as_weights, check_noise_variances
from relvec.typing import AnyArray, Array

# Largest ratio of two standard deviations; the squares of weights keep their digits.
_MOST_APART = 1e6


@dataclass(frozen=True)
class KnownNoise:
    """Noise of known standard deviations, and the row weights that express it."""

    weight: Array  # (N,)
    noise_variance: float  # c, of a row of relative precision one
    mean_square: float  # of the standard deviations
    density_shift: float  # nats of each observation
    variance: Array  # (N,) of each row's noise, rows as they were given

    @classmethod
    def of(cls, y_std: Any, sample_weight: Any) -> "KnownNoise":
        """Check and convert ``y_std``; rows of weight zero stay absent."""
        std = as_floats("y_std", y_std, 1)
        if not np.all(std > 0):
            raise ValueError(
                f"y_std must be positive; got {std.min()}: leave out rows whose noise "
                "is not known, or give it as exactly as it is"
            )
        repeated = as_weights(sample_weight, len(std))
        if std.max() > _MOST_APART * std.min():
            raise ValueError(
                f"y_std goes from {std.min():.1e} to {std.max():.1e}, which floating "
                f"point cannot hold beside each other: raise the smallest to "
                f"{std.max() / _MOST_APART:.1e}"
            )
        count = repeated.sum()
        # In units of the smallest: squares stay in range.
        relative = (std / std.min()) ** 2
        common = count / np.sum(repeated / relative)
        shift = 0.5 * float(repeated @ np.log(common / relative)) / count
        unit = float(std.min()) ** 2
        return cls(
            weight=repeated * common / relative,
            noise_variance=float(common) * unit,
            mean_square=float(repeated @ relative / count) * unit,
            density_shift=float(shift),
            variance=relative * unit,
        )

    def fitted(self, fit: Fit, spec: Specification, data: TrainingSet) -> FittedModel:
        """Fit the model of rows that have these weights.

        The noise of new rows is the average over the training rows.
        """
        data = replace(data, density_shift=self.density_shift)
        model = self._described(fit(spec, data), spec, data)
        noise = self.variance[data.rows.indices]
        model = checked_by_folds(model, fit, spec, data, noise)
        assert isinstance(model.family, Regression)
        family = replace(model.family, noise_variance=self.mean_square)
        return replace(model, family=family)

    def _described(
        self, model: FittedModel, spec: Specification, data: TrainingSet
    ) -> FittedModel:
        """Add the calibration by rows left out.

        A row is one observation of its own noise, not c/s² of them.
        """
        noise = self.variance[data.rows.indices]
        weight = data.weight * noise / self.noise_variance
        rows = replace(data, rows=replace(data.rows, weight=weight))
        seen = leave_one_out(model, rows, columns_are_rows=spec.centres.are_rows)
        held = HeldObservations(1 / noise[:, None])
        left_out = rows_left_out(model, replace(seen, likelihood=held), rows)
        return described(model, replace(left_out, noise=noise))


_MOST_TURNS = 8  # usually three or four suffice
# Nats per observation: the loop ends when a turn gains less. Further turns would only
# jump between equally good sets of functions.
_LEAST_GAIN_OF_A_TURN = 0.01
_ENDED = (Status.MAX_SECONDS, Status.STOPPED)


def fit_reweighted(
    fit: Fit,
    spec: Specification,
    data: TrainingSet,
    *,
    start: FittedModel | None = None,
    monitor: Monitor = silent,
) -> FittedModel:
    """Fit targets with Student-t noise by repeated fits with Gaussian noise."""
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
        if gain < _LEAST_GAIN_OF_A_TURN * data.weight.sum() or model.status in _ENDED:
            break
    assert best is not None
    found = best.ended_as(model.status) if model.status in _ENDED else best
    return calibrated(found, spec, data)


def _as_it_is(model: FittedModel, spec: Specification, noise: StudentT) -> FittedModel:
    """Replace the Gaussian bound of a model by the Student-t noise itself."""
    fit = replace(model.fit, likelihood=noise)
    return replace(model, fit=fit, family=spec.family.fitted(noise, np.inf))


def _weighted(data: TrainingSet, bound: ScaleMixture) -> TrainingSet:
    """Training set with Gaussian noise in which outlying rows have small weights."""
    noise = bound.bounded
    relative, mean = bound.relative_scales(data.weight)
    weight = np.asarray(data.weight * relative[:, 0])  # adds up to the observations
    shift = bound.log_normaliser(data.weight) / float(data.weight.sum())
    return replace(
        data,
        rows=replace(data.rows, weight=weight),
        likelihood=Gaussian(mean * noise.noise_precision, ceiling=noise.ceiling),
        density_shift=shift,
    )


def _agreed(
    model: FittedModel, spec: Specification, data: TrainingSet, bound: ScaleMixture
) -> ScaleMixture:
    """Iterate precisions, noise and weights for the functions of a model."""
    noise = bound.bounded.with_parameters(model.fit.likelihood.log_parameters)
    with single_threaded():
        problem = problem_of(model, spec, data)
        return settled(problem, ScaleMixture(noise, bound.squares))


_MOST_ROUNDS = 4
_LEAST_GAIN_OF_A_ROUND = 1.0  # nats of all rows: less is no evidence for anything
# Nats that a function of the noise model has to gain: without this penalty, up to 17
# functions on 200 rows of constant noise cost 0.16 nats per new row.
_PRICE = 3.0
_LEAST_SHARE = 1e-6  # of the mean variance, that the noise of a row has
_MOST_STEPS, _SAME = 100, 1e-9  # of a factor that is one in the end


def fit_varying_noise(
    fit: Fit,
    spec: Specification,
    data: TrainingSet,
    *,
    start: FittedModel | None = None,
    monitor: Monitor = silent,
) -> FittedModel:
    """Fit the mean with a model of its noise, or with constant noise.

    Each is fitted by ``fit``, which may learn their kernels.
    """
    constant = fit(spec, data, start=start, monitor=monitor)
    if at_ceiling(constant.fit.likelihood) or not data.targets.any():
        return constant
    rounds = _Rounds(fit, spec, data, constant, monitor)
    first = best = last = rounds.begun()
    for _ in range(_MOST_ROUNDS):
        if spec.deadline.passed:
            break
        last = rounds.after(last)
        logger.info("noise that varies: %.3f nats", last.worth - first.worth)
        varies = last.noise is not None and len(last.noise.indices) > 0
        if not varies or last.worth < best.worth + _LEAST_GAIN_OF_A_ROUND:
            break
        best = last
    return constant if best is first else rounds.described(best)


@dataclass(frozen=True, eq=False)
class _Round:
    """Models of mean and noise, and their predictions of rows left out."""

    mean: FittedModel
    noise: FittedModel | None
    variance: Array  # (N,) s², the noise that the mean was fitted with
    error: Array  # (N,) of rows left out
    spread: Array  # (N,) variance of the function there
    worth: float  # log density of all rows left out, less the penalty of functions


@dataclass(frozen=True, eq=False)
class _Rounds:
    """Data and settings that all rounds share."""

    fit: Fit
    spec: Specification
    data: TrainingSet
    constant: FittedModel
    monitor: Monitor

    def begun(self) -> _Round:
        """The round before the first: constant noise."""
        family = self.constant.family
        assert isinstance(family, Regression)
        variance = np.full(len(self.data), float(family.noise_variance))
        error, spread = self._left_out(self.constant, variance)
        worth = self._log_density(error, spread + variance)
        return _Round(self.constant, None, variance, error, spread, worth)

    def after(self, last: _Round) -> _Round:
        """Fit the noise, then the mean, once more."""
        noise, levels = self._noise(last)
        variance = noise.values(self.data.table)[:, 0]
        variance = np.maximum(variance, _LEAST_SHARE * self._average(variance))
        mean = self._mean(variance)
        error, spread = self._left_out(mean, variance)
        factor = self._factor(error, spread, levels)
        noise = replace(noise, family=NoiseLevels(factor))
        worth = self._log_density(error, spread + factor * levels)
        worth -= _PRICE * len(noise.indices)
        return _Round(mean, noise, factor * variance, error, spread, worth)

    def described(self, found: _Round) -> FittedModel:
        """The model of the mean with the noise model attached."""
        assert found.noise is not None
        noise = found.noise.values(self.data.table)[:, 0]
        freedom = self.constant.family.degrees_of_freedom  # type: ignore[attr-defined]
        family = found.mean.family
        assert isinstance(family, Regression)
        # Of rows that count c/s² times the density has c in the place of s².
        change = np.log(self._common(found.variance) / found.variance)
        nothing = np.zeros(len(noise))
        promised = TargetDistribution(nothing, found.spread, noise, freedom)
        covered, weight = within(promised, found.error), self.data.weight
        evidence = found.mean.log_evidence + 0.5 * float(self.data.weight @ change)
        return replace(
            found.mean,
            family=family.with_noise(self._average(noise), freedom),
            fit=replace(found.mean.fit, log_evidence=evidence),
            noise_model=found.noise,
            residuals=Residuals.of(found.error, promised.std, weight),
            calibration=Calibration.of_intervals("leave-one-out", covered, weight),
        )

    def _noise(self, last: _Round) -> tuple[FittedModel, Array]:
        """Fit the noise, and predict its variance for rows left out."""
        # E[ε²] of an error that is noise and function: the E step of EM.
        share = last.variance / (last.variance + last.spread)
        squares = share**2 * last.error**2 + share * last.spread
        family = NoiseLevels()
        data = family.encoded(self.data.rows, squares)
        spec = replace(self.spec, family=family, augmented=False)
        model = self.fit(spec, data, monitor=self.monitor)
        seen = leave_one_out(model, data, columns_are_rows=self.spec.centres.are_rows)
        return model, family.response(seen.without_rows[0] + data.offset)[:, 0]

    def _mean(self, variance: Array) -> FittedModel:
        """The round of a mean that was fitted with this noise."""
        common, rows = self._common(variance), self.data.rows
        known = Gaussian.known(common)
        rows = replace(rows, weight=rows.weight * common / variance)
        data = replace(self.data, rows=rows, likelihood=known)
        centred = self.spec.family.centred  # type: ignore[attr-defined]
        spec = replace(self.spec, family=Regression(common, centred))
        return self.fit(spec, data, monitor=self.monitor)

    def _common(self, variance: Array) -> float:
        """The variance c with which weights add up to the number of rows."""
        return 1 / self._average(1 / variance)

    def _left_out(self, model: FittedModel, variance: Array) -> tuple[Array, Array]:
        """Errors of rows left out, and variances of the function there.

        A row is one observation of its own noise, not c/s² of them.
        """
        seen = leave_one_out(
            model, self.data, columns_are_rows=self.spec.centres.are_rows
        )
        held = HeldObservations(1 / variance[:, None])
        mean, spread = replace(seen, likelihood=held).without_rows
        return (self.data.targets - mean)[:, 0], spread[:, 0]

    def _factor(self, error: Array, spread: Array, levels: Array) -> float:
        """The factor of noise levels that makes squared errors as large as promised."""
        factor = 1.0
        for _ in range(_MOST_STEPS):
            ratio = self._average(error**2 / (spread + factor * levels))
            factor *= ratio
            if abs(ratio - 1) < _SAME:
                break
        return factor

    def _log_density(self, error: Array, variance: Array) -> float:
        terms = np.log(2 * np.pi * variance) + error**2 / variance
        return -0.5 * float(self.data.weight @ terms)

    def _average(self, values: Array) -> float:
        return float(np.average(values, weights=self.data.weight))


# Noise that differs between rows; such models take several fits.
_OF_ROWS: dict[str, Callable[..., FittedModel]] = {
    "heteroscedastic": fit_varying_noise,
    "student-t": fit_reweighted,
}


@dataclass(frozen=True)
class NoiseModel:
    """A kind of noise and its variance, and the settings they must agree with."""

    kind: Any
    variance: Any
    solver: Solver
    partition: Any = None

    @property
    def name(self) -> str:
        """Name of the kind of noise."""
        return self.kind if isinstance(self.kind, str) else "student-t"

    @property
    def gaussian(self) -> bool:
        """Whether the noise is Gaussian with one variance."""
        return self.name == "gaussian"

    def check(self) -> None:
        """Reject unknown kinds of noise, and settings that exclude each other."""
        check_noise(self.kind)
        check_noise_variances(self.variance)
        known = f"noise_variance={self.variance!r} is known"
        if self._known:
            check_noise_settings(self.solver, known)
        if self.gaussian:
            return
        if self._known:
            raise ValueError(
                f"{known}, which is that of Gaussian noise, and noise is "
                f"{self.kind!r}: leave noise_variance at 'estimate' or noise at "
                "'gaussian'"
            )
        varies = self.name in _OF_ROWS
        if self.solver.noise_settings or (varies and self.solver.integrates_noise):
            raise ValueError(
                f"solver={self.solver!r} has its own idea of Gaussian noise, and noise "
                f"is {self.kind!r}: use 'sequential', 'mackay' or 'em' as they are, or "
                "noise='gaussian'"
            )
        if self.partition is not None and varies:
            raise self._at_once(f"noise={self.kind!r}")

    @property
    def _known(self) -> bool:
        return not isinstance(self.variance, str)

    def check_rows(self, *, held: bool) -> None:
        """Reject streamed rows if this noise model needs several passes."""
        if not held and self.name in _OF_ROWS:
            raise self._at_once(f"noise={self.kind!r}")

    def known(self, y_std: Any, X: Any, y: Any, sample_weight: Any) -> KnownNoise:
        """The known noise of each row, or an error if it contradicts other settings."""
        check_noise_settings(self.solver, "y_std is known")
        if self._known:
            raise ValueError(
                f"noise_variance={self.variance!r} and y_std both say what the noise "
                "is: leave noise_variance at 'estimate', or leave out y_std"
            )
        if not self.gaussian:
            raise ValueError(
                f"y_std are deviations of Gaussian noise, and noise is {self.kind!r}: "
                "set noise='gaussian', or leave out y_std"
            )
        if is_row_blocks(X) or self.partition is not None:
            raise self._at_once("y_std")
        if np.asarray(y).ndim > 1:
            raise ValueError(
                f"y_std is the noise of one target for each row, and y has the shape "
                f"{np.asarray(y).shape}: fit its columns one by one, or leave out y_std"
            )
        known = KnownNoise.of(y_std, sample_weight)
        if hasattr(y, "__len__") and len(y) != len(known.weight):
            raise ValueError(
                f"y_std must hold one number per row, {len(y)} in all; got "
                f"{len(known.weight)}"
            )
        return known

    def family(self, variance: Any, start: FittedModel | None, *, centred: bool) -> Any:
        """The family of targets with this noise, starting from an earlier model's."""
        initial = self.solver.initial_noise_variance
        if start is not None:
            initial = float(start.fit.likelihood.scale[0] ** 2)
        return regression_family(self.kind, variance, centred, initial)

    def alike(self, start: FittedModel | None) -> FittedModel | None:
        """The earlier model if it has this kind of noise; otherwise None."""
        wanted = type(regression_family(self.kind, "estimate", True))
        return start if start is not None and type(start.family) is wanted else None

    def fitting(self, fit: Fit) -> Fit:
        """A fit function for this noise, from a fit function for Gaussian noise."""
        wrapped = _OF_ROWS.get(self.name)
        return fit if wrapped is None else partial(wrapped, fit)

    @staticmethod
    def _at_once(what: str) -> ValueError:
        return ValueError(
            f"{what} is for rows in memory, all at once: give X and y as arrays, of "
            "fewer rows if these are too many, and leave out partition"
        )


OUTPUTS = ("shared", "independent")


@dataclass(frozen=True)
class Targets:
    """How one or several real targets are modelled."""

    outputs: str  # one of the above
    noise: NoiseModel  # its variance "estimate", a number, or one for each output
    centred: bool
    start: Callable[..., FittedModel | None]  # of an output, or of all together

    def regression(self, known: KnownNoise | None) -> tuple[Any, FittedModel | None]:
        """The family of one target, and the earlier model that a fit starts from."""
        start = self._alike(())
        variance = self.noise.variance if known is None else known.noise_variance
        return self.noise.family(variance, start, centred=self.centred), start

    def fitted(
        self,
        fit: Fit,
        spec: Specification,
        rows: TrainingRows,
        y: AnyArray,
        *,
        monitor: Monitor,
    ) -> FittedModel | IndependentModel:
        """The model of targets (N, K); only the family of ``spec`` is replaced."""
        size, fit = y.shape[1], checked_fit(fit)
        self._check_noise(size)
        if self.outputs == "shared":
            start = self._alike((size,))
            begun: Any = self.noise.solver.initial_noise_variance
            begun = begun if start is None else start.fit.likelihood.scale**2
            family = SeveralOutputs(self.noise.variance, self.centred, begun)
            data, spec = family.encoded(rows, y), replace(spec, family=family)
            return fit(spec, data, start=start, monitor=monitor)
        noise = np.broadcast_to(np.asarray(self.noise.variance, dtype=object), size)
        starts = [self.noise.alike(self.start(number)) for number in range(size)]
        pairs = zip(noise, starts, strict=True)
        each = [self.noise.family(*pair, centred=self.centred) for pair in pairs]
        return fit_independent(fit, spec, rows, y, each, starts=starts, monitor=monitor)

    def _alike(self, shape: tuple[int, ...]) -> FittedModel | None:
        """The earlier model, if its targets had this shape and this kind of noise."""
        start = self.start()
        known = start is not None and np.shape(start.intercept) == shape
        if shape:
            return start if known else None
        return self.noise.alike(start) if known else None

    def _check_noise(self, size: int) -> None:
        given = np.size(self.noise.variance)
        if np.ndim(self.noise.variance) and given != size:
            raise ValueError(
                f"noise_variance holds {given} numbers and y has {size} outputs: give "
                "one for each, or one for all"
            )


def has_prior(solver: Solver) -> bool:
    """Whether a solver has hyperpriors on precisions or the noise."""
    prior = solver.prior
    told = prior.a or prior.b or prior.c or prior.d
    return bool(told) or solver.integrates_noise
