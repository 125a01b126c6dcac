"""Length scales of each vector's own."""

from collections.abc import Iterator
from copy import copy
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.linalg import LinAlgError

from relvec.basis import Basis
from relvec.estimators.candidates import Candidates
from relvec.estimators.learning.checks import as_varying, radial
from relvec.estimators.learning.path import Left, Path
from relvec.estimators.learning.shared import Stages, begin, described
from relvec.estimators.learning.starts import Distances, given_shape
from relvec.estimators.learning.targets import Targets
from relvec.estimators.learning.trials import (
    STOPPED,
    Trial,
    Trials,
    equal_pairs,
    judged,
    observed,
    placed,
)
from relvec.estimators.progress import logger
from relvec.evidence import EvidenceFit, Status
from relvec.kernel_learning import (
    CRITERIA,
    Held,
    Judged,
    Observed,
    OwnScales,
    Placed,
    Range,
    ScalePrior,
    WeightBound,
)
from relvec.likelihoods import at_ceiling
from relvec.posterior import Posterior
from relvec.typing import Array, Indices

N_SCALES = 5  # of the dictionary to begin with
MOST_ROWS = 3000  # by which it is thinned out
_STEPS = 8  # of all scales, between two functions that leave
_SLACK = 0.02  # nats per observation by which narrower scales must be better
_MOST_FAILURES = 2
# Charges alone do not tell dictionaries apart that are thinned out by them.
JUDGES_OF_SEVERAL = {**CRITERIA, "auto": CRITERIA["loo"]}
# The prior standard deviation of a narrow function's weight, in those of the targets,
# and how wide narrow is, in median distances between rows.
_BROADEST, _WIDE = 4.0, 0.25
_TAMED = 1.0  # precision of log ℓ by feature about what all vectors share


def learn_adaptive(model: Any, targets: Targets) -> None:
    """Thin out dictionaries of several length scales, and fit the best to all rows.

    From wide scales to narrow ones, until two of them in a row are no better.
    """
    stages = Stages.of(model, targets, most=MOST_ROWS)
    trials = stages.most
    shape = given_shape(trials.template)
    by_feature = model.kernel_learning == "adaptive-ard"
    if by_feature:
        scales = begin(stages, by_feature=True).on_more.scales
        shape = scales / np.exp(np.mean(np.log(scales)))
    given = _given(trials)
    thinned: list[Thinned] = []
    distances = Distances.of(trials.seen_rows, shape, trials.seed)
    bound = _bound(trials.targets, distances)
    for widths in distances.several(N_SCALES)[-model.n_restarts :]:
        if thinned and trials.out_of_time():
            break
        moving = Moving.fitted(trials, widths[:, None] * shape, bound)
        thinned.append(moving.thinned(given, tamed=by_feature))
        if len(thinned) - thinned.index(_best(thinned)) > _MOST_FAILURES:
            break
    best = _best(thinned)
    described(model, best.refitted(targets), trials, [*stages.done, *thinned])
    if given.status in STOPPED:
        model.status_ = given.status


def _bound(targets: Targets, distances: Distances) -> WeightBound | None:
    """None where functions are not of the targets' own size, as those of classes."""
    spread = float(np.max(targets.spread))
    if not (targets.likelihood.conjugate and spread):
        return None
    wide = _WIDE * distances.median * distances.shape
    return WeightBound(_BROADEST * spread, wide)


def _given(trials: Trials) -> Trial:
    """The model of the kernel as it was given, judged as those thinned out are."""
    trial = trials.unjudged(np.atleast_1d(trials.template.scale))
    judge = JUDGES_OF_SEVERAL[trials.model.criterion]
    return replace(trial, loss=judge(judged(trial.model, trial.fit, trials.targets)))


@dataclass(frozen=True, eq=False)
class Thinned:
    """What is left of a dictionary."""

    moving: "Moving"
    functions: Placed
    log_evidence: float
    loss: float  # by the criterion

    @property
    def n_rows(self) -> int:
        """By which it was thinned out."""
        return self.moving.trials.targets.n_rows

    @property
    def scales(self) -> Array:
        """The middle of the dictionary's."""
        return np.asarray(np.exp(np.mean(self.moving.ends, axis=0)))

    @property
    def n_vectors(self) -> int:
        """Functions left, but for the constant."""
        return self.moving.n_vectors(self.functions)

    @property
    def status(self) -> Status:
        """How the fit of the dictionary ended."""
        return self.moving.fit.status

    def refitted(self, targets: Targets) -> Any:
        """The model of these functions and all rows."""
        if len(self.functions.numbers) == 0:
            kernels = self.moving.model.learned_kernels_
            return self.moving.trials.fitted(targets, kernels)[0]
        return self.moving.refitted(self.functions, targets)


def _best(thinned: list[Thinned]) -> Thinned:
    """The first of all but those that are hardly better than it."""
    best = thinned[0]
    for each in thinned[1:]:
        if each.loss < best.loss - _SLACK:
            best = each
    return best


@dataclass(frozen=True)
class Moving:
    """A model whose functions get scales of their own."""

    trials: Trials
    model: Any
    fit: EvidenceFit
    bound: WeightBound | None = None

    @classmethod
    def fitted(
        cls, trials: Trials, scales: Array, bound: WeightBound | None
    ) -> "Moving":
        """With a dictionary of these scales (number, 1 or d), ascending."""
        model, fit = trials.fitted(trials.targets, trials.with_scales(*scales))
        return cls(trials, model, fit, bound)

    def thinned(self, given: Trial, *, tamed: bool) -> Thinned:
        """The functions that are left, with scales of their own."""
        start, data = self.placed()
        ends = self.ends
        prior = ScalePrior(np.mean(ends, axis=0)[None], _TAMED) if tamed else None
        own = OwnScales(Range(*ends), steps=_STEPS, prior=prior)
        left = start
        # Without noise there is nothing that scales could be learned by.
        if not at_ceiling(self.fit.likelihood):
            path = self._path(own.thinner(start, data, self._observed), given)
            if path.models:
                chosen = path.chosen()
                left, data = chosen.functions, chosen.observed
        held = left.held(data)
        try:
            evidence = held.log_evidence
            loss = JUDGES_OF_SEVERAL[self.model.criterion](self._judged(left, held))
        except LinAlgError:
            # Gram matrices are out of digits: the last resort if all dictionaries are.
            evidence, loss = self.fit.log_evidence, np.inf
        logger.info("length scales %s: %.4f", np.exp(ends).round(3).tolist(), loss)
        return Thinned(self, left, evidence, loss)

    def _path(self, models: Iterator[tuple[Placed, Held]], given: Trial) -> Path:
        """Models of ever fewer functions, until they are much worse or time is out."""
        path = Path(
            sample_weight=self._part.training.weight,
            by_rows=JUDGES_OF_SEVERAL[self.model.criterion] is CRITERIA["loo"],
            given=None if given.status in STOPPED else given,
        )
        for model, held in models:
            judged = self._judged(model, held)
            try:
                rows, charged = judged.left_out_rows, judged.charged
            except LinAlgError:
                break
            size = self.n_vectors(model)
            left = Left(model, held.observed, size, charged, rows)
            if path.ends_with(left) or self.trials.out_of_time():
                break
        return path

    def n_vectors(self, functions: Placed) -> int:
        """Of these functions all but the constant."""
        return int(np.count_nonzero(functions.numbers >= self.model.model_.basis.bias))

    @property
    def ends(self) -> tuple[Array, Array]:
        """Logarithms of the narrowest and the widest scales of the dictionary."""
        known = map(radial, self.model.learned_kernels_)
        scales = [np.atleast_1d(kernel.scale) for kernel in known if kernel is not None]
        return np.log(scales[0]), np.log(scales[-1])

    def placed(self) -> tuple[Placed, Observed]:
        """The functions as they are, and what the data are to them."""
        rows = self.trials.rows
        data = self._observed(self.model.model_.latent(rows)[0] - self._part.offset)
        return placed(self.model, self.fit, data, rows), data

    @property
    def _part(self) -> Targets:
        return self.trials.targets

    def _observed(self, eta: Array) -> Observed:
        return replace(observed(self.fit, self._part, eta), bound=self.bound)

    def _judged(self, model: Placed, held: Held) -> Judged:
        part, solution = self._part, held.solution
        alpha, likelihood = held.prior_precision, self.fit.likelihood
        if likelihood.parameter_ceiling is not None:
            likelihood = likelihood.with_parameters(np.log(held.noise_precision))
        rows, functions = equal_pairs(self.trials.rows, model.varying.centres)
        numbers = np.arange(len(alpha))
        return Judged(
            y=part.values,
            sample_weight=part.training.weight,
            likelihood=likelihood,
            functions=held.functions,
            posterior=Posterior(numbers, alpha, solution.mean, solution.factor),
            own=(rows, functions + model.fixed.shape[1]),
            log_evidence=held.log_evidence,
        )

    def refitted(self, left: Placed, targets: Targets) -> Any:
        """These functions as a dictionary of their own."""
        candidates, *weights = self.candidates(left)
        model = copy(self.model)
        model.max_seconds = self.trials.seconds_left
        likelihood = targets.likelihood
        if likelihood.parameter_ceiling is not None:
            likelihood = likelihood.with_parameters(np.log(left.noise_precision))
        targets = replace(targets, likelihood=likelihood)
        model._fit_candidates(candidates, targets, *weights)
        model.max_seconds = self.model.max_seconds
        # To find that nothing is to be gained is a step as well.
        model.n_iter_ = max(model.n_iter_, 1)
        return model

    def candidates(self, left: Placed) -> tuple[Candidates, Array, Array | None]:
        """The functions left, their prior precisions, and how broad priors may be."""
        basis = self.model.model_.basis
        n_fixed = left.fixed.shape[1]
        others, moved = left.numbers[:n_fixed], left.numbers[n_fixed:]
        fixed = basis.subset(others)
        groups = [group for group in fixed.groups if as_varying(group) is None]
        bias = int(fixed.bias)
        names = np.concatenate([moved, others[bias:]]) - basis.bias
        order = np.r_[:bias, n_fixed : len(left.numbers), bias:n_fixed]
        broadest = left.broadest(self.bound)
        return (
            Candidates(
                Basis((left.varying, *groups), fixed.bias),
                self.model.relevance_[names],
                self._kernels(self.model.relevance_kernel_[names]),
            ),
            left.prior_precision[order],
            broadest if broadest is None else broadest[order],
        )

    def _kernels(self, numbers: Indices) -> Indices:
        """Of the list that was given, where one kernel stands for all its scales."""
        more = len(self.model.learned_kernels_) - len(self.trials.kernels)
        first = self.trials.place
        return np.where(numbers > first + more, numbers - more, numbers.clip(max=first))
