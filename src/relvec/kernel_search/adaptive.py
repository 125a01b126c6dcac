"""Length scales of each vector's own."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace

import numpy as np
from numpy.linalg import LinAlgError

from relvec.basis import Basis
from relvec.evidence import Status
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
from relvec.kernel_search.elimination import EliminationPath, Left
from relvec.kernel_search.learnable import as_varying, radial
from relvec.kernel_search.settings import LengthScales
from relvec.kernel_search.shared import Stages, begin, described
from relvec.kernel_search.starts import Distances, given_shape
from relvec.kernel_search.trials import (
    STOPPED,
    Trial,
    Trials,
    equal_pairs,
    judged,
    observed,
    placed,
)
from relvec.kernels import Kernel
from relvec.modelling import (
    Candidates,
    FittedModel,
    Monitor,
    Specification,
    TrainingSet,
    fit_candidates,
    logger,
)
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


def learn_adaptive(
    settings: LengthScales,
    spec: Specification,
    data: TrainingSet,
    start: FittedModel | None,
    monitor: Monitor,
) -> FittedModel:
    """Thin out dictionaries of several length scales, and fit the best to all rows.

    From wide scales to narrow ones, until two of them in a row are no better.
    """
    everything = Trials(spec, settings, data, start, monitor)
    stages = Stages.of(everything, most=MOST_ROWS)
    trials = stages.most
    shape = given_shape(trials.template)
    by_feature = settings.mode == "adaptive-ard"
    if by_feature:
        scales = begin(stages, by_feature=True).on_more.scales
        shape = scales / np.exp(np.mean(np.log(scales)))
    given = _given(trials)
    thinned: list[Thinned] = []
    distances = Distances.of(trials.seen_rows, shape, data.rows.seed)
    bound = _bound(trials.data, distances)
    for widths in distances.several(N_SCALES)[-settings.n_restarts :]:
        if thinned and trials.out_of_time():
            break
        moving = Moving.fitted(trials, widths[:, None] * shape, bound)
        thinned.append(moving.thinned(given, tamed=by_feature))
        if len(thinned) - thinned.index(_best(thinned)) > _MOST_FAILURES:
            break
    last = _best(thinned).refitted(data)
    model = described(last, trials, [*stages.done, *thinned])
    return model.ended_as(given.status) if given.status in STOPPED else model


def _bound(data: TrainingSet, distances: Distances) -> WeightBound | None:
    """None where functions are not of the targets' own size, as those of classes."""
    spread = float(np.max(data.root_mean_squares))
    if not (data.likelihood.conjugate and spread):
        return None
    wide = _WIDE * distances.median * distances.shape
    return WeightBound(_BROADEST * spread, wide)


def _given(trials: Trials) -> Trial:
    """The model of the kernel as it was given, judged as those thinned out are."""
    trial = trials.unjudged(np.atleast_1d(trials.template.scale))
    judge = JUDGES_OF_SEVERAL[trials.judge.criterion]
    return replace(trial, loss=judge(judged(trial.model, trials.data)))


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
        return len(self.moving.trials.data)

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
        return self.moving.model.status

    def refitted(self, data: TrainingSet) -> FittedModel:
        """The model of these functions and all rows."""
        if len(self.functions.numbers) == 0:
            return self.moving.trials.fitted(data, self.moving.kernels)
        return self.moving.refitted(self.functions, data)


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
    model: FittedModel
    kernels: tuple[Kernel, ...]  # of its dictionary
    bound: WeightBound | None = None

    @classmethod
    def fitted(
        cls, trials: Trials, scales: Array, bound: WeightBound | None
    ) -> "Moving":
        """With a dictionary of these scales (number, 1 or d), ascending."""
        kernels = trials.with_scales(*scales)
        return cls(trials, trials.fitted(trials.data, kernels), kernels, bound)

    def thinned(self, given: Trial, *, tamed: bool) -> Thinned:
        """The functions that are left, with scales of their own."""
        start, data = self.placed()
        ends = self.ends
        prior = ScalePrior(np.mean(ends, axis=0)[None], _TAMED) if tamed else None
        own = OwnScales(Range(*ends), steps=_STEPS, prior=prior)
        left = start
        # Without noise there is nothing that scales could be learned by.
        if not self.model.fit.likelihood.noiseless:
            path = self._path(own.thinner(start, data, self._observed), given)
            if path.models:
                chosen = path.chosen()
                left, data = chosen.functions, chosen.observed
        held = left.held(data)
        try:
            evidence = held.log_evidence
            loss = self._judge(self._judged(left, held))
        except LinAlgError:
            # Gram matrices are out of digits: the last resort if all dictionaries are.
            evidence, loss = self.model.log_evidence, np.inf
        logger.info("length scales %s: %.4f", np.exp(ends).round(3).tolist(), loss)
        return Thinned(self, left, evidence, loss)

    def _path(
        self, models: Iterator[tuple[Placed, Held]], given: Trial
    ) -> EliminationPath:
        """Models of ever fewer functions, until they are much worse or time is out."""
        path = EliminationPath(
            sample_weight=self.trials.data.weight,
            by_rows=self._judge is CRITERIA["loo"],
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

    @property
    def _judge(self) -> Callable[[Judged], float]:
        return JUDGES_OF_SEVERAL[self.trials.judge.criterion]

    def n_vectors(self, functions: Placed) -> int:
        """Of these functions all but the constant."""
        return int(np.count_nonzero(functions.numbers >= self.model.basis.bias))

    @property
    def ends(self) -> tuple[Array, Array]:
        """Logarithms of the narrowest and the widest scales of the dictionary."""
        known = map(radial, self.kernels)
        scales = [np.atleast_1d(kernel.scale) for kernel in known if kernel is not None]
        return np.log(scales[0]), np.log(scales[-1])

    def placed(self) -> tuple[Placed, Observed]:
        """The functions as they are, and what the data are to them."""
        data = self.trials.data
        seen = self._observed(self.model.latent(data.table)[0] - data.offset)
        return placed(self.model, seen, data.table), seen

    def _observed(self, eta: Array) -> Observed:
        return replace(observed(self.model, self.trials.data, eta), bound=self.bound)

    def _judged(self, model: Placed, held: Held) -> Judged:
        data, solution = self.trials.data, held.solution
        alpha, likelihood = held.prior_precision, self.model.fit.likelihood
        likelihood = likelihood.with_parameters(np.log(held.noise_precision))
        rows, functions = equal_pairs(data.table, model.varying.centres)
        indices = np.arange(len(alpha))
        return Judged(
            y=data.targets,
            sample_weight=data.weight,
            likelihood=likelihood,
            functions=held.functions,
            posterior=Posterior(indices, alpha, solution.mean, solution.factor),
            own=(rows, functions + model.fixed.shape[1]),
            log_evidence=held.log_evidence,
        )

    def refitted(self, left: Placed, data: TrainingSet) -> FittedModel:
        """These functions as a dictionary of their own."""
        candidates, precision, max_prior_std = self.candidates(left)
        model = fit_candidates(
            self.trials.spec,
            data.with_parameters(np.log(left.noise_precision)),
            candidates,
            precision=precision,
            max_prior_std=max_prior_std,
            monitor=self.trials.monitor,
        )
        # To find that nothing is to be gained is a step as well.
        return replace(model, fit=replace(model.fit, n_iter=max(model.n_iter, 1)))

    def candidates(self, left: Placed) -> tuple[Candidates, Array, Array | None]:
        """The functions left, their prior precisions, and how broad priors may be."""
        basis = self.model.basis
        n_fixed = left.fixed.shape[1]
        others, moved = left.numbers[:n_fixed], left.numbers[n_fixed:]
        fixed = basis.subset(others)
        groups = [group for group in fixed.groups if as_varying(group) is None]
        bias = int(fixed.bias)
        names = np.concatenate([moved, others[bias:]]) - basis.bias
        order = np.r_[:bias, n_fixed : len(left.numbers), bias:n_fixed]
        max_prior_std = left.broadest(self.bound)
        return (
            Candidates(
                Basis((left.varying, *groups), fixed.bias),
                self.model.indices[names],
                self._kernels(self.model.kernel_indices[names]),
            ),
            left.prior_precision[order],
            max_prior_std if max_prior_std is None else max_prior_std[order],
        )

    def _kernels(self, indices: Indices) -> Indices:
        """In the list that was given, where one kernel stands for all its scales."""
        more = len(self.kernels) - len(self.trials.spec.kernels)
        first = self.trials.index
        return np.where(indices > first + more, indices - more, indices.clip(max=first))
