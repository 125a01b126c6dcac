"""A Gaussian process as a reference: for length scales, and for sparse models.

The process with the same kernel has no functions to choose, so its evidence is not
optimistic about widths, and its leave-one-out errors are what a sparse model should
reach (Goutis and Robert, 1998). Classes are regressed on: their indicators have a best
width as well, which is close to that of their log odds.
"""

from dataclasses import dataclass, replace

import numpy as np

from relvec.kernel_learning import GaussianProcess, Proposal, ScalePrior
from relvec.kernel_search.starts import Distances, given_shape, natural_shape
from relvec.kernel_search.trials import Trial, Trials
from relvec.likelihoods import Gaussian, SharedGaussian
from relvec.modelling import TrainingSet
from relvec.typing import Array

# Chosen on draws 20 to 29 of the problems of benchmarks/out_of_the_box.py.
# Of the errors' variance; 0.3, 0.03 and more were as good, and of classes, where
# functions have to say several things at once, less takes long.
_WITHIN, _WITHIN_OF_CLASSES = (0.1, 0.01), (1.0, 0.3)
# Rows for each feature that scales of their own are learned from; of classes, which
# tell less: with 8 those of wdbc grew narrow.
_ROWS_PER_SCALE, _LABELS_PER_SCALE = 8, 20
# Nats that a signal has to be worth, Akaike's price; of so few rows that none is, there
# is a signal all the same.
_PRICE, _TOO_FEW = 1.0, 20
# In log n, which a scale more has to be worth: one and a half times Schwarz's.
_PRICE_PER_SCALE = 0.75
# Scales of features begin with the width that is best for all, and with a narrower one.
_BEGINNINGS = (1.0, 0.3)
# Of log ℓ about the centre of distances, for classes: a factor of two is common.
_PRECISION = 2.0
# Than probabilities latent values are, about where both classes are as probable: 4 for
# the logistic link, 2.5 for the probit.
_STEEPER = 3.0
# Of the leave-one-out errors: a sparse model with larger residuals has not found what
# there is to be found.
_FALLS_SHORT = 1.1
# Of pseudo-observations about the process's own mean, after a first about each row's.
_EXPANSIONS = 2
_VERY_FEW = 60  # rows, of which one search is not enough, and several take no time
_LEAST_ERROR = 1e-12  # of the targets' mean square, as the noise has it
_SAME_SHAPE = 1.1  # in log ℓ, a factor of three between features


@dataclass(frozen=True)
class Reference:
    """A process on the rows of some trials: its length scales and its errors."""

    trials: Trials
    seen: TrainingSet  # its data as the process sees them
    scales: Array  # (1 or d,)
    mean: Array  # (N, K) of the process at the rows
    errors: Array  # (K,) mean squares of its leave-one-out errors
    found: bool  # whether there is anything that it explains
    n_rows: int  # that differ

    @classmethod
    def of(cls, trials: Trials) -> "Reference":
        """With one length scale or one of each feature, as the settings have it.

        Where targets are seen about latent values, these are the process's own in the
        end, as far as a few rounds go.
        """
        data, family = trials.data, trials.spec.family
        found = cls._on(trials, family.regressed(data, None))
        for _ in range(0 if found.seen is data else _EXPANSIONS):
            found = cls._on(trials, family.regressed(data, found.mean))
        return found

    @classmethod
    def _on(cls, trials: Trials, data: TrainingSet) -> "Reference":
        rows = data.table
        centre = np.average(data.targets, axis=0, weights=data.weight)
        if data.likelihood.conjugate:
            centre = np.zeros_like(centre)
        values = data.targets - centre
        unit = np.sqrt(np.average(values**2, axis=0, weights=data.weight))
        if not unit.any():
            return cls._of_nothing(trials, data)
        unit = np.where(unit > 0, unit, 1.0)
        own, known = data.likelihood.unit, data.likelihood.parameter_ceiling is None
        if own is not None and known:
            unit = own
        process = GaussianProcess.of(
            trials.template, rows, values / unit, data.weight, tied=True
        )
        process = replace(
            process,
            known_noise=_known_noise(data, unit),
            relative=own is not None and not known,
        )
        proposal, found = _proposed(replace(trials, data=data), process)
        mean = process.mean(proposal, rows) * unit + centre
        # What differs among equal rows, which are one to the process, is an error, too.
        within = 1 - np.average(process.target**2, axis=0, weights=process.weight)
        errors = process.leave_one_out(proposal) + np.maximum(within, 0.0)
        errors = np.maximum(errors, _LEAST_ERROR) * unit**2
        count = len(process.weight)
        return cls(trials, data, proposal.scales, mean, errors, found, count)

    @classmethod
    def _of_nothing(cls, trials: Trials, data: TrainingSet) -> "Reference":
        """Where targets do not vary."""
        seed, rows = trials.data.rows.seed, trials.seen_rows
        distances = Distances.of(rows, given_shape(trials.template), seed)
        targets = data.targets
        scales, errors = distances.centre * distances.shape, np.ones(targets.shape[1])
        return cls(trials, data, scales, targets, errors, False, len(targets))

    @property
    def by_feature(self) -> bool:
        """Whether features have scales of their own."""
        return len(self.scales) > 1

    def surpasses(self, trial: Trial) -> bool:
        """Whether residuals are larger than errors need be, or rows very few."""
        if not self.found:
            return False
        residuals = self._mean_square(self.seen.targets - self._expected(trial))
        return self.n_rows <= _VERY_FEW or residuals > _FALLS_SHORT

    def distance(self, trial: Trial) -> float:
        """Mean square of the difference of a model and the process, over rows."""
        return self._mean_square(self._expected(trial) - self.mean)

    def _expected(self, trial: Trial) -> Array:
        data, model = self.trials.data, trial.model
        if self.seen.likelihood.conjugate:
            return model.predictor(data.table)
        mean, variance = model.latent(data.table)
        return model.family.expected(mean - data.offset, variance)

    def _mean_square(self, differences: Array) -> float:
        """In those of the errors of the process."""
        weight, errors = self.seen.weight, self.errors
        squares = np.average(differences**2, axis=0, weights=weight)
        if self.trials.data.likelihood.unit is not None:
            return float(np.mean(squares / errors))  # outputs have units of their own
        return float(squares.sum() / max(errors.sum(), np.finfo(float).tiny))

    def beginnings(self) -> list[Trial]:
        """Models that say what the process says, to within a part of its errors."""
        if self.trials.spec.solver.begins_with_all is not None:
            return []
        conjugate = self.seen.likelihood.conjugate
        parts = _WITHIN if conjugate else _WITHIN_OF_CLASSES
        return [self._projected(part) for part in parts if not self.trials.ended]

    def _projected(self, part: float) -> Trial:
        data = self.trials.data
        kind = Gaussian if data.likelihood.unit is None else SharedGaussian
        likelihood = kind(1 / (part * self.errors), estimated=False)
        projected = replace(self.seen, targets=self.mean, likelihood=likelihood)
        trial = self.trials.unjudged(self.scales, projected)
        fit = trial.model.fit
        noise = data.likelihood.with_parameters(-np.log(self.errors))
        alpha = fit.posterior.prior_precision
        if not self.seen.likelihood.conjugate:
            alpha = alpha / _STEEPER**2
        posterior = replace(fit.posterior, prior_precision=alpha)
        fit = replace(fit, likelihood=noise, posterior=posterior)
        return replace(trial, model=replace(trial.model, fit=fit))


def _known_noise(data: TrainingSet, unit: Array) -> float | None:
    likelihood = data.likelihood
    if not likelihood.conjugate or likelihood.parameter_ceiling is not None:
        return None
    return float(np.mean((likelihood.scale / unit) ** 2))


def _proposed(trials: Trials, process: GaussianProcess) -> tuple[Proposal, bool]:
    """The scales of most evidence, beside what they cost; whether they pay at all."""
    tied, gain, distances = max(
        (_tied(trials, process, shape) for shape in _shapes(trials)),
        key=lambda found: found[1],
    )
    found = gain > _PRICE or len(process.weight) <= _TOO_FEW
    if not found:
        # What explains nothing may as well be wide.
        tied, gain = replace(tied, scales=distances.far * distances.shape), 0.0
    own = _by_feature(trials, process, tied, distances)
    if own is None:
        return tied, found
    price = _PRICE_PER_SCALE * (len(own.scales) - 1) * np.log(len(process.weight))
    pays = replace(process, tied=False).gain(own) - gain > price
    return (own, True) if pays or trials.judge.mode == "ard" else (tied, found)


def _by_feature(
    trials: Trials, process: GaussianProcess, tied: Proposal, distances: Distances
) -> Proposal | None:
    """With a scale for each feature; None where they are not asked for or too many."""
    mode, n_features = trials.judge.mode, trials.seen_rows.shape[1]
    conjugate = trials.data.likelihood.conjugate
    least = (_ROWS_PER_SCALE if conjugate else _LABELS_PER_SCALE) * n_features
    enough = len(process.weight) >= least or mode == "ard"
    if mode == "width" or n_features == 1 or not enough:
        return None
    starts = [part * tied.scales * np.ones(n_features) for part in _BEGINNINGS]
    allowed = distances.allowed if conjugate else distances.resolved_by_rows
    free = replace(process, tied=False)
    return free.proposed(starts, allowed, trials.out_of_time)


def _tied(
    trials: Trials, process: GaussianProcess, shape: Array
) -> tuple[Proposal, float, Distances]:
    """The best width for features in these ratios, what it gains, and distances."""
    distances = Distances.of(trials.seen_rows, shape, trials.data.rows.seed)
    if not trials.data.likelihood.conjugate:
        centre = np.log(distances.centre * shape[:1])
        process = replace(process, prior=ScalePrior(centre, _PRECISION))
    starts = distances.starts(trials.judge.n_restarts)
    found = process.proposed(starts, distances.shared_by_rows, trials.out_of_time)
    return found, process.gain(found), distances


def _shapes(trials: Trials) -> list[Array]:
    """Ratios of features: as they are given, and by their standard deviations.

    The latter alone where each feature has its scale, and only if they differ much.
    """
    template, rows = trials.template, trials.seen_rows
    given = given_shape(template)
    if trials.judge.mode == "width" or rows.shape[1] == 1:
        return [given]
    natural = natural_shape(template, rows, trials.data.weight)
    if trials.judge.mode == "ard":
        return [natural]
    alike = np.ptp(np.log(natural / given)) < _SAME_SHAPE
    return [given] if alike else [given, natural]
