"""Length scales of each vector's own."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace

import numpy as np
from numpy.linalg import LinAlgError

from relvec.basis import Basis
from relvec.evidence import Status
from relvec.kernel_learning import (
    CRITERIA,
    FixedBasisModel,
    Judged,
    Observations,
    OwnScales,
    Range,
    ScalableBasis,
    ScalePrior,
    WeightBound,
)
from relvec.kernel_search.elimination import EliminationPath, EliminationStep
from relvec.kernel_search.learnable import as_varying, radial
from relvec.kernel_search.scalable import observations, scalable
from relvec.kernel_search.shared import Stages, begin, described, reference_of
from relvec.kernel_search.starts import Distances, given_shape
from relvec.kernel_search.trials import STOPPED, Trial, Trials
from relvec.kernels import Kernel
from relvec.likelihoods import at_ceiling
from relvec.modelling import (
    Candidates,
    FittedModel,
    TrainingSet,
    equal_pairs,
    fit_candidates,
    judged,
    logger,
)
from relvec.posterior import Posterior
from relvec.typing import Array, Indices

N_SCALES = 5  # of the dictionary to begin with; with six sin(40/x) was no better
# That backward elimination sees, of functions N_SCALES times as many: for time's sake.
MOST_ROWS = 3000
_STEPS = 8  # of all scales, between two functions that leave; 25 were no better
# Nats per observation by which narrower scales must be better, and how many in a row
# may fail: chosen with abalone and six other problems in view.
_SLACK, _MOST_FAILURES = 0.02, 2
# Generalised cross-validation does not tell dictionaries apart that are reduced by it.
JUDGES_OF_SEVERAL = {**CRITERIA, "auto": CRITERIA["loo"]}
# The prior standard deviation of a narrow function's weight, in those of the targets,
# and how wide narrow is, in median distances between rows: chosen with sin(40/x) at
# random places in view.
_MAX_PRIOR_STD, _WIDE = 4.0, 0.25
# Precision of log ℓ by feature about what all vectors share: a factor of e is common.
_PRIOR_PRECISION = 1.0


def learn_adaptive(everything: Trials) -> FittedModel:
    """Reduce dictionaries of several length scales, and fit the best to all rows.

    From wide scales to narrow ones, until two of them in a row are no better.
    """
    data, settings = everything.data, everything.judge
    stages = Stages.of(everything, most=MOST_ROWS)
    trials = stages.most
    shape = given_shape(trials.template)
    by_feature = settings.mode == "adaptive-ard"
    if by_feature:
        scales = _scales_by_feature(stages)
        shape = scales / np.exp(np.mean(np.log(scales)))
    given = _given(trials)
    reduced: list[ReducedDictionary] = []
    distances = Distances.of(trials.seen_rows, shape, data.rows.seed)
    bound = _bound(trials.data, distances)
    for widths in distances.several(N_SCALES)[-settings.n_restarts :]:
        if trials.out_of_time():
            break
        kernels = trials.with_scales(*widths[:, None] * shape)
        fitted = trials.fitted(trials.data, kernels)
        dictionary = AdaptiveModel(trials, fitted, kernels, bound)
        reduced.append(dictionary.reduced(given, with_prior=by_feature))
        if len(reduced) - reduced.index(_best(reduced)) > _MOST_FAILURES:
            break
    if reduced:
        best = _best(reduced)
        last = best.model.refitted(best.basis, data)
    else:
        last = given.model.ended_as(Status.MAX_SECONDS)
    model = described(last, trials, [*stages.done, *reduced])
    return model.ended_as(given.status) if given.status in STOPPED else model


def _scales_by_feature(stages: Stages) -> Array:
    by_feature = replace(stages.few.judge, mode="ard")
    reference = reference_of(replace(stages.few, settings=by_feature))
    if reference is not None:
        return reference.scales
    return begin(stages, by_feature=True).on_more.scales


def _bound(data: TrainingSet, distances: Distances) -> WeightBound | None:
    """None where functions are not of the targets' own size, as those of classes."""
    deviation = float(np.max(data.root_mean_squares))
    if not (data.likelihood.conjugate and deviation):
        return None
    wide = _WIDE * distances.median * distances.shape
    return WeightBound(_MAX_PRIOR_STD * deviation, wide)


def _given(trials: Trials) -> Trial:
    """The model of the kernel as it was given, judged as reduced dictionaries are."""
    trial = trials.unjudged(np.atleast_1d(trials.template.scale))
    judge = JUDGES_OF_SEVERAL[trials.judge.criterion]
    return replace(trial, loss=judge(judged(trial.model, trials.data)))


@dataclass(frozen=True, eq=False)
class ReducedDictionary:
    """What backward elimination leaves of a dictionary."""

    model: "AdaptiveModel"
    basis: ScalableBasis
    scales: Array  # (1 or d,) the middle of the dictionary's
    loss: float  # by the criterion
    log_evidence: float
    n_vectors: int
    n_rows: int
    status: Status  # of the fit of the dictionary


def _best(reduced: list[ReducedDictionary]) -> ReducedDictionary:
    """The first of all but those that are hardly better than it."""
    best = reduced[0]
    for each in reduced[1:]:
        if each.loss < best.loss - _SLACK:
            best = each
    return best


@dataclass(frozen=True)
class AdaptiveModel:
    """A model whose functions get scales of their own."""

    trials: Trials
    model: FittedModel
    kernels: tuple[Kernel, ...]  # of its dictionary, length scales ascending
    bound: WeightBound | None = None

    def reduced(self, given: Trial, *, with_prior: bool) -> ReducedDictionary:
        """The functions that are left, with scales of their own."""
        basis, seen = self.scalable()
        ends = self.ends
        middle = np.mean(ends, axis=0)
        prior = ScalePrior(middle[None], _PRIOR_PRECISION) if with_prior else None
        late = self.trials.out_of_time
        own = OwnScales(Range(*ends), steps=_STEPS, prior=prior, ended=late)
        # Without noise there is nothing that scales could be learned by.
        if not at_ceiling(self.model.fit.likelihood):
            models = own.backward_elimination(basis, seen, self._observations)
            path = self._path(models, given)
            if path.models:
                chosen = path.chosen()
                basis, seen = chosen.basis, chosen.observations
        fixed = basis.model(seen)
        try:
            evidence = fixed.log_evidence
            loss = self._judge(self._judged(basis, fixed))
        except LinAlgError:
            # Gram matrices are out of digits: the last resort if all dictionaries are.
            evidence, loss = self.model.log_evidence, np.inf
        logger.info("length scales %s: %.4f", np.exp(ends).round(3).tolist(), loss)
        return ReducedDictionary(
            model=self,
            basis=basis,
            scales=np.asarray(np.exp(middle)),
            loss=loss,
            log_evidence=evidence,
            n_vectors=self._n_vectors(basis),
            n_rows=len(self.trials.data),
            status=self.model.status,
        )

    def _path(
        self, models: Iterator[tuple[ScalableBasis, FixedBasisModel]], given: Trial
    ) -> EliminationPath:
        """Models of ever fewer functions, until they are much worse or time is out."""
        path = EliminationPath(
            sample_weight=self.trials.data.weight,
            by_rows=self._judge is CRITERIA["loo"],
            given=None if given.status in STOPPED else given,
        )
        for basis, fixed in models:
            judged = self._judged(basis, fixed)
            size = self._n_vectors(basis)
            try:
                step = EliminationStep(
                    basis, fixed.observations, size, judged.gcv, judged.loo_rows
                )
            except LinAlgError:
                break
            if path.ends_with(step) or self.trials.out_of_time():
                break
        return path

    @property
    def _judge(self) -> Callable[[Judged], float]:
        return JUDGES_OF_SEVERAL[self.trials.judge.criterion]

    def _n_vectors(self, basis: ScalableBasis) -> int:
        """Functions but for the constant."""
        return int(np.count_nonzero(basis.indices >= self.model.basis.bias))

    @property
    def ends(self) -> tuple[Array, Array]:
        """Logarithms of the narrowest and the widest scales of the dictionary."""
        known = map(radial, self.kernels)
        scales = [np.atleast_1d(kernel.scale) for kernel in known if kernel is not None]
        return np.log(scales[0]), np.log(scales[-1])

    def scalable(self) -> tuple[ScalableBasis, Observations]:
        """The functions as they are, and the data."""
        return scalable(self.model, self.trials.data, self.bound)

    def _observations(self, eta: Array) -> Observations:
        return observations(self.model, self.trials.data, eta, self.bound)

    def _judged(self, basis: ScalableBasis, fixed: FixedBasisModel) -> Judged:
        data, solution, alpha = self.trials.data, fixed.solution, fixed.prior_precision
        noise = np.log(fixed.noise_precision)
        indices, n_others = np.arange(len(alpha)), basis.fixed.shape[1]
        return Judged(
            y=data.targets,
            sample_weight=data.weight,
            likelihood=self.model.fit.likelihood.with_parameters(noise),
            functions=fixed.functions,
            posterior=Posterior(indices, alpha, solution.mean, solution.factor),
            own=equal_pairs(data.table, basis.varying.centres, first=n_others),
            log_evidence=fixed.log_evidence,
        )

    def refitted(self, basis: ScalableBasis, data: TrainingSet) -> FittedModel:
        """The functions left as a dictionary of their own, fitted to all rows."""
        if len(basis.indices) == 0:
            return self.trials.fitted(data, self.kernels)
        candidates, precision, max_prior_std = self.candidates(basis)
        model = fit_candidates(
            self.trials.spec,
            data.with_parameters(np.log(basis.noise_precision)),
            candidates,
            precision=precision,
            max_prior_std=max_prior_std,
            monitor=self.trials.monitor,
        )
        # To find that nothing is to be gained is a step as well.
        return replace(model, fit=replace(model.fit, n_iter=max(model.n_iter, 1)))

    def candidates(self, left: ScalableBasis) -> tuple[Candidates, Array, Array | None]:
        """The functions left, their α, and the bounds on their prior deviations."""
        basis = self.model.basis
        n_fixed = left.fixed.shape[1]
        others, moved = left.indices[:n_fixed], left.indices[n_fixed:]
        fixed = basis.subset(others)
        groups = [group for group in fixed.groups if as_varying(group) is None]
        bias = int(fixed.bias)
        vectors = np.concatenate([moved, others[bias:]]) - basis.bias
        order = np.r_[:bias, n_fixed : len(left.indices), bias:n_fixed]
        max_prior_std = left.max_prior_std(self.bound)
        return (
            Candidates(
                Basis((left.varying, *groups), fixed.bias),
                self.model.indices[vectors],
                self._kernels(self.model.kernel_indices[vectors]),
            ),
            left.prior_precision[order],
            max_prior_std if max_prior_std is None else max_prior_std[order],
        )

    def _kernels(self, indices: Indices) -> Indices:
        """In the list that was given, where one kernel stands for all its scales."""
        more = len(self.kernels) - len(self.trials.spec.kernels)
        first = self.trials.index
        return np.where(indices > first + more, indices - more, indices.clip(max=first))
