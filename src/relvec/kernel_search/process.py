"""Length scales by a Gaussian process, and what a sparse model should reach.

The process with the same kernel has no functions to choose, so its evidence is not
optimistic about widths, and its leave-one-out errors are what a sparse model should
reach (Goutis and Robert, 1998). Classes are regressed on: their indicators have a best
width as well, which is close to that of their log odds.
"""

from dataclasses import dataclass, replace

import numpy as np

from relvec.evidence import Status
from relvec.kernel_learning import GaussianProcess, Proposal, ScalePrior
from relvec.kernel_search.length_scales import Distances, given_shape, natural_shape
from relvec.kernel_search.settings import KernelFamily
from relvec.kernel_search.trials import Trial, Trials, smoothness
from relvec.kernels import Gaussian as GaussianKernel
from relvec.kernels import Matern
from relvec.kernels.stationary import Radial
from relvec.likelihoods import Gaussian, SharedGaussian
from relvec.modelling import FittedModel, TrainingSet
from relvec.typing import Array


@dataclass(frozen=True)
class ProcessSettings:
    """Constants, chosen on draws 20 to 29 of the benchmark out_of_the_box."""

    # Of the errors' variance; 0.3, 0.03 and more were as good, and of classes, where
    # functions have to say several things at once, less takes long.
    within: tuple[float, ...] = (0.1, 0.01)
    within_of_classes: tuple[float, ...] = (1.0, 0.3)
    # Rows for each feature that scales of their own are learned from; of classes, which
    # tell less: with 8 those of wdbc grew narrow.
    rows_per_scale: int = 8
    labels_per_scale: int = 20
    # Nats that a signal has to be worth, Akaike's price; with so few rows that none is,
    # there is a signal all the same.
    price: float = 1.0
    too_few: int = 20
    # In log n, which a scale more has to be worth: one and a half times Schwarz's.
    price_per_scale: float = 0.75
    # Times the width that is best for all: where scales of features begin.
    beginnings: tuple[float, ...] = (1.0, 0.3)
    # Of log ℓ about the centre of distances, for classes: a factor of two is common.
    precision: float = 2.0
    # Slope of the latent value per unit of probability at p = ½: 4 for the logistic
    # link, 2.5 for the probit.
    steeper: float = 3.0
    # Leave-one-out errors: a model with larger residuals has missed something.
    falls_short: float = 1.1
    # Of pseudo-observations about the process's own mean, after one about each row's.
    expansions: int = 2
    parts_of_time: int = 3  # of which families may take one
    very_few: int = 60  # rows, of which one search is not enough
    least_error: float = 1e-12  # of the targets' mean square, as the noise has it
    same_shape: float = 1.1  # in log ℓ, a factor of three between features


SETTINGS = ProcessSettings()
FAMILIES: tuple[Radial, ...] = (GaussianKernel(), Matern(nu=2.5), Matern(nu=1.5))


@dataclass(frozen=True)
class ProcessFit:
    """A process on the rows of some trials: its length scales and its errors."""

    trials: Trials  # with its kernel as the one that learns
    targets: TrainingSet  # its data as the process sees them
    scales: Array  # (1 or d,)
    mean: Array  # (N, K) of the process at the rows
    errors: Array  # (K,) mean squares of its leave-one-out errors
    found: bool  # whether there is anything that it explains
    # Nats beyond that of a constant and noise, less what scales of features cost.
    log_evidence: float
    process: GaussianProcess | None  # None where targets do not vary

    status = Status.CONVERGED
    n_vectors = 0  # since a process selects nothing

    @classmethod
    def of(cls, trials: Trials) -> "ProcessFit":
        """With one length scale or one of each feature, as the settings have it.

        And of the family of most evidence, if they ask for that. Targets that are seen
        about latent values end up about the process's own.
        """
        data, family = trials.data, trials.spec.family
        targets = family.gaussian_targets(data, None)
        if isinstance(trials.settings, KernelFamily):
            found = cls._best_family(trials, targets)
        else:
            found = cls._on(trials, targets)
        for _ in range(0 if targets is data else SETTINGS.expansions):
            found = cls._on(found.trials, family.gaussian_targets(data, found.mean))
        return found

    @classmethod
    def _best_family(cls, trials: Trials, targets: TrainingSet) -> "ProcessFit":
        """In a part of the time; the rest is for the model."""
        deadline = trials.spec.deadline.share(SETTINGS.parts_of_time)
        in_time = replace(trials, spec=trials.spec.until(deadline))
        families: list[ProcessFit] = []
        for kernel in FAMILIES:
            if families and in_time.out_of_time():
                break
            families.append(cls._on(in_time.with_kernel(kernel), targets))
        trials.done.extend(families)
        best = max(families, key=lambda each: each.log_evidence)
        return replace(best, trials=trials.with_kernel(best.trials.template))

    @classmethod
    def _on(cls, trials: Trials, data: TrainingSet) -> "ProcessFit":
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
        process = replace(
            GaussianProcess.of(
                trials.template, rows, values / unit, data.weight, tied=True
            ),
            known_noise=_known_noise(data, unit),
            relative=own is not None and not known,
        )
        proposal, found, worth = _proposed(replace(trials, data=data), process)
        mean = process.mean(proposal, rows) * unit + centre
        # What differs among equal rows, which are one to the process, is an error, too.
        within = 1 - np.average(process.target**2, axis=0, weights=process.weight)
        errors = process.leave_one_out(proposal) + np.maximum(within, 0.0)
        errors = np.maximum(errors, SETTINGS.least_error) * unit**2
        return cls(trials, data, proposal.scales, mean, errors, found, worth, process)

    @classmethod
    def _of_nothing(cls, trials: Trials, data: TrainingSet) -> "ProcessFit":
        """Where targets do not vary."""
        seed, rows = trials.data.rows.seed, trials.seen_rows
        distances = Distances.of(rows, given_shape(trials.template), seed)
        scales, targets = distances.centre * distances.shape, data.targets
        errors = np.ones(targets.shape[1])
        return cls(trials, data, scales, targets, errors, False, 0.0, None)

    @property
    def n_rows(self) -> int:
        """The number of its rows."""
        return len(self.targets)

    @property
    def loss(self) -> float:
        """Minus its evidence in nats per row."""
        return -self.log_evidence / self.n_rows

    @property
    def nu(self) -> float:
        """How smooth its kernel is."""
        return smoothness(self.trials.template)

    def surpasses(self, trial: Trial) -> bool:
        """Whether residuals are larger than errors need be, or rows very few."""
        if not self.found:
            return False
        residuals = self._mean_square(self.targets.targets - self._expected(trial))
        return self.n_different <= SETTINGS.very_few or residuals > SETTINGS.falls_short

    @property
    def n_different(self) -> int:
        """The number of its rows that differ."""
        return 0 if self.process is None else len(self.process.weight)

    def of_planes(self, *, more_rows: bool) -> bool:
        """Whether families are compared, and planes have more evidence than all.

        By the cost of a scale where there are more rows, which tell curves from planes.
        """
        if self.process is None or not isinstance(self.trials.settings, KernelFamily):
            return False
        price = (
            SETTINGS.price_per_scale * np.log(self.n_different) if more_rows else 0.0
        )
        gain = self.process.linear_gain() - price
        return gain > max(self.log_evidence, SETTINGS.price)

    def distance(self, trial: Trial) -> float:
        """Mean square of the difference of a model and the process, over rows."""
        return self._mean_square(self._expected(trial) - self.mean)

    def _expected(self, trial: Trial) -> Array:
        data, model = self.trials.data, trial.model
        if self.targets.likelihood.conjugate:
            return model.predictor(data.table)
        mean, variance = model.latent(data.table)
        return model.family.expected(mean - data.offset, variance)

    def _mean_square(self, differences: Array) -> float:
        """In units of the errors of the process."""
        weight, errors = self.targets.weight, self.errors
        squares = np.average(differences**2, axis=0, weights=weight)
        if self.trials.data.likelihood.unit is not None:
            return float(np.mean(squares / errors))  # outputs have units of their own
        return float(squares.sum() / max(errors.sum(), np.finfo(float).tiny))

    def beginnings(self) -> list[FittedModel]:
        """Models that say what the process says, to within a part of its errors."""
        if self.trials.spec.solver.begins_with_all is not None:
            return []
        conjugate = self.targets.likelihood.conjugate
        parts = SETTINGS.within if conjugate else SETTINGS.within_of_classes
        return [self._projected(part) for part in parts if not self.trials.ended]

    def _projected(self, part: float) -> FittedModel:
        trials, data = self.trials, self.trials.data
        kind = Gaussian if data.likelihood.unit is None else SharedGaussian
        likelihood = kind(1 / (part * self.errors), estimated=False)
        projected = replace(self.targets, targets=self.mean, likelihood=likelihood)
        model = trials.fitted(projected, trials.with_scales(self.scales))
        posterior = model.fit.posterior
        noise = data.likelihood.with_parameters(-np.log(self.errors))
        if not self.targets.likelihood.conjugate:
            alpha = posterior.prior_precision / SETTINGS.steeper**2
            posterior = replace(posterior, prior_precision=alpha)
        fit = replace(model.fit, likelihood=noise, posterior=posterior)
        return replace(model, fit=fit)


def _known_noise(data: TrainingSet, unit: Array) -> float | None:
    likelihood = data.likelihood
    if not likelihood.conjugate or likelihood.parameter_ceiling is not None:
        return None
    return float(np.mean((likelihood.scale / unit) ** 2))


def _proposed(trials: Trials, process: GaussianProcess) -> tuple[Proposal, bool, float]:
    """The scales of most evidence, whether they pay, and the evidence less the cost."""
    tied, gain, distances = max(
        (_tied(trials, process, shape) for shape in _shapes(trials)),
        key=lambda found: found[1],
    )
    found = gain > SETTINGS.price or len(process.weight) <= SETTINGS.too_few
    if not found:
        # What explains nothing may as well be wide.
        tied, gain = replace(tied, scales=distances.far * distances.shape), 0.0
    own = _by_feature(trials, process, tied, distances)
    if own is None:
        return tied, found, gain
    price = SETTINGS.price_per_scale * np.log(len(process.weight))
    worth = replace(process, tied=False).gain(own) - price * (len(own.scales) - 1)
    if worth > gain or trials.judge.mode == "ard":
        return own, True, worth
    return tied, found, gain


def _by_feature(
    trials: Trials, process: GaussianProcess, tied: Proposal, distances: Distances
) -> Proposal | None:
    """With a scale for each feature; None where they are not asked for or too many."""
    mode, n_features = trials.judge.mode, trials.seen_rows.shape[1]
    conjugate = trials.data.likelihood.conjugate
    least = SETTINGS.rows_per_scale if conjugate else SETTINGS.labels_per_scale
    enough = len(process.weight) >= least * n_features or mode == "ard"
    if mode == "width" or n_features == 1 or not enough:
        return None
    starts = [part * tied.scales * np.ones(n_features) for part in SETTINGS.beginnings]
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
        process = replace(process, prior=ScalePrior(centre, SETTINGS.precision))
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
    alike = np.ptp(np.log(natural / given)) < SETTINGS.same_shape
    return [given] if alike else [given, natural]
