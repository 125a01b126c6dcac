"""Kernels tried one after another on the same rows, and judged."""

from copy import copy
from dataclasses import dataclass, field, replace
from time import perf_counter
from typing import Any, Protocol

import numpy as np

from relvec.estimators.learning.checks import as_varying, radial, radial_place
from relvec.estimators.learning.targets import Targets
from relvec.estimators.progress import logger
from relvec.evidence import EvidenceFit, Status
from relvec.kernel_learning import CRITERIA, Judged, Observed, Placed
from relvec.kernels import Kernel
from relvec.kernels.radial import Radial
from relvec.kernels.varying import Varying
from relvec.typing import AnyArray, Array, Indices

_FOLDS = 3
_MOST_STEPS = 100  # of a trial; the one that is chosen goes on
_LEAST_SECONDS = 1e-3
STOPPED = (Status.MAX_SECONDS, Status.STOPPED)


class Tried(Protocol):
    """What is told of everything that was tried."""

    @property
    def n_rows(self) -> int: ...
    @property
    def scales(self) -> Array: ...
    @property
    def loss(self) -> float: ...
    @property
    def log_evidence(self) -> float: ...
    @property
    def n_vectors(self) -> int: ...
    @property
    def status(self) -> Status: ...


@dataclass(frozen=True)
class Trial:
    """A model with one kernel."""

    model: Any
    fit: EvidenceFit
    scales: Array  # (1 or d,) of the kernel that learns
    loss: float  # by the criterion
    n_rows: int

    @property
    def status(self) -> Status:
        """How its fit ended."""
        return self.fit.status

    @property
    def log_evidence(self) -> float:
        """Of its fit."""
        return self.fit.log_evidence

    @property
    def n_vectors(self) -> int:
        """Relevance vectors."""
        return len(self.model.relevance_)


@dataclass
class Trials:
    """What all trials have in common, and what came of them."""

    model: Any  # unfitted
    targets: Targets
    kernels: list[Kernel]
    started: float
    done: list[Trial] = field(default_factory=list)

    @property
    def place(self) -> int:
        """Of the kernel that learns, in the list of kernels."""
        return radial_place(self.kernels, self.model.kernel_learning)

    @property
    def template(self) -> Radial:
        """That kernel, as it was given."""
        found = radial(self.kernels[self.place])
        assert found is not None
        return found

    @property
    def rows(self) -> AnyArray:
        """The rows."""
        return self.targets.training.rows.whole()

    @property
    def seen_rows(self) -> Array:
        """What the kernel that learns sees of them."""
        return self.template._seen(self.rows, None)[0]

    @property
    def weight(self) -> Array:
        """Of the rows."""
        return self.targets.training.weight

    @property
    def seed(self) -> int:
        """For everything that is drawn."""
        return self.targets.training.seed

    def with_scales(self, *scales: Array) -> tuple[Kernel, ...]:
        """The kernels, one with each of these length scales for that which learns."""
        kernels: list[Kernel] = list(self.kernels)
        learned = [scaled(self.template, each) for each in scales]
        kernels[self.place : self.place + 1] = learned
        return tuple(kernels)

    def fitted(
        self,
        targets: Targets,
        kernels: tuple[Kernel, ...],
        before: Trial | None = None,
        steps: int | None = None,
    ) -> tuple[Any, EvidenceFit]:
        """A model of its own, which begins with the functions of another; its fit."""
        trial = copy(self.model)
        trial.learned_kernels_ = kernels
        trial.max_seconds = self.seconds_left
        if steps is not None:
            trial.max_iter = min(steps, self.model.max_iter)
        if before is not None:
            trial.warm_start, trial.model_ = True, before.model.model_
            noise = before.fit.likelihood.log_parameters
            likelihood = targets.likelihood.with_parameters(noise)
            targets = replace(targets, likelihood=likelihood)
        fit = trial._fit_kernel(targets)
        trial.max_seconds = self.model.max_seconds
        trial.warm_start = self.model.warm_start
        trial.max_iter = self.model.max_iter
        return trial, fit

    def completed(self, trial: Trial) -> Any:
        """Its model, after as many steps as it needs."""
        if trial.fit.status is not Status.MAX_ITER or self.ended:
            return trial.model
        return self.fitted(self.targets, trial.model.learned_kernels_, trial)[0]

    @property
    def ended(self) -> bool:
        """Whether there is no time for another, or somebody wants no more."""
        return bool(self.done) and self.done[-1].fit.status in STOPPED

    @property
    def seconds_left(self) -> float | None:
        """Of the time that all may take."""
        if self.model.max_seconds is None:
            return None
        left = self.model.max_seconds - (perf_counter() - self.started)
        return max(float(left), _LEAST_SECONDS)

    def out_of_time(self) -> bool:
        """Whether none is left."""
        return self.seconds_left is not None and self.seconds_left <= _LEAST_SECONDS

    def of(self, scales: Array, before: Trial | None = None) -> Trial:
        """The model with these length scales, judged."""
        kernels = self.with_scales(scales)
        model, fit = self.fitted(self.targets, kernels, before, _MOST_STEPS)
        criterion = self.model.criterion
        if criterion == "cv":
            loss = self._cross_validated(scales)
        else:
            loss = CRITERIA[criterion](judged(model, fit, self.targets))
        trial = Trial(model, fit, scales, loss, self.targets.n_rows)
        self.done.append(trial)
        words = np.array2string(scales, precision=3, separator=", ")
        logger.info("length scale %s: %s %.4f", words, criterion, loss)
        return trial

    def unjudged(self, scales: Array, targets: Targets | None = None) -> Trial:
        """A model with these length scales, perhaps of other targets."""
        kernels, targets = self.with_scales(scales), targets or self.targets
        model, fit = self.fitted(targets, kernels, steps=_MOST_STEPS)
        return Trial(model, fit, scales, np.inf, self.targets.n_rows)

    def _cross_validated(self, scales: Array) -> float:
        """Log loss of rows that the model has not seen."""
        total = 0.0
        for fitted, left in self.targets.folds(_FOLDS):
            kernels = self.with_scales(scales)
            model, fit = self.fitted(fitted, kernels, steps=_MOST_STEPS)
            mean, variance = model.model_.latent(left.training.rows.whole())
            terms = fit.likelihood.log_predictive(
                left.values, mean - left.offset, variance
            )
            total -= float(left.training.weight @ terms)
        return total / float(self.targets.training.weight.sum())


def scaled(kernel: Radial, scales: Array) -> Radial:
    """The same kernel with other length scales."""
    value = float(scales[0]) if len(scales) == 1 else scales.copy()
    return replace(kernel, length_scale=value, width=None)


def judged(model: Any, fit: EvidenceFit, targets: Targets) -> Judged:
    """A fit as criteria see it."""
    training, basis = targets.training, model.model_.basis
    X = training.rows.whole()
    rows, functions = equal_pairs(X, model.relevance_vectors_)
    return Judged(
        y=targets.values,
        sample_weight=training.weight,
        likelihood=fit.likelihood,
        functions=basis(X),
        posterior=model.model_.posterior,
        own=(rows, functions + basis.bias),
        log_evidence=fit.log_evidence,
    )


def equal_pairs(X: AnyArray, centres: AnyArray) -> tuple[Indices, Indices]:
    """All pairs of a row and a centre that are the same."""
    places: dict[bytes, list[int]] = {}
    for place, centre in enumerate(np.asarray(centres, dtype=X.dtype)):
        places.setdefault(centre.tobytes(), []).append(place)
    pairs = [
        (number, place)
        for number, row in enumerate(np.ascontiguousarray(X))
        for place in places.get(row.tobytes(), ())
    ]
    rows, functions = np.array(pairs, dtype=np.intp).reshape(-1, 2).T
    return rows, functions


def observed(fit: EvidenceFit, targets: Targets, eta: Array) -> Observed:
    """What the data are to a model with these latent values."""
    weight = targets.training.weight
    seen = fit.likelihood.pseudo_observations(targets.values, eta, weight)
    return Observed(seen, float(weight.sum()), fit.likelihood.parameter_ceiling)


def placed(model: Any, fit: EvidenceFit, data: Observed, X: AnyArray) -> Placed:
    """A model's functions on these rows, those of the learned kernels to be moved."""
    basis = model.model_.basis
    others, moving = [np.arange(int(basis.bias))], []
    groups: list[Varying] = []
    for group, part in zip(basis.groups, basis.parts, strict=True):
        varying = as_varying(group)
        mine = np.arange(part.start, part.stop)
        if varying is None:
            others.append(mine)
        else:
            moving.append(mine)
            groups.append(varying)
    fixed = np.concatenate(others)
    numbers = np.concatenate([fixed, *moving])
    # Where every class has its own: what they have in common.
    precision = 1 / np.mean(1 / np.atleast_2d(fit.posterior.prior_precision), axis=0)
    return Placed(
        X=X,
        fixed=basis.subset(fixed)(X),
        varying=Varying(
            groups[0].kernel,
            np.concatenate([group.centres for group in groups]),
            np.concatenate([group.scales for group in groups]),
        ),
        prior_precision=precision[numbers],
        noise_precision=data.seen.noise_precision,
        numbers=numbers,
    )
