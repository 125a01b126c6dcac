"""Length scales of each vector's own: backward elimination, and Yuan et al. (2009).

Elimination begins with a dictionary of several length scales, from wide ones to narrow
ones. Functions are deleted one by one while the scales of the others move, and the
sparsest model is kept that is within a standard error of the best.

Algorithm 1 of Yuan et al. begins with one length scale. H re-estimations of α and the
noise by MacKay's rule, which prune, are followed by S quasi-Newton steps on log ℓ,
until the evidence stops rising.
"""

from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np
from numpy.linalg import LinAlgError

from relvec.basis import Basis
from relvec.evidence import Status, TopDown, WarmStart
from relvec.kernel_learning import (
    CRITERIA,
    FixedBasisModel,
    LeaveOneOut,
    Observations,
    OwnScales,
    Range,
    ScalableBasis,
    ScalePrior,
    WeightBound,
    sparsest,
)
from relvec.kernel_search.length_scales import (
    Distances,
    as_varying,
    given_shape,
    observations,
    radial,
    scalable,
)
from relvec.kernel_search.process import ProcessFit
from relvec.kernel_search.settings import Adaptive
from relvec.kernel_search.shared import SETTINGS as SHARED
from relvec.kernel_search.shared import best_of_grid, proposes
from relvec.kernel_search.trials import Trials, described
from relvec.kernels import Kernel
from relvec.likelihoods import at_ceiling
from relvec.modelling import (
    Candidates,
    FittedModel,
    TrainingSet,
    equal_pairs,
    fit_candidates,
    logger,
)
from relvec.posterior import Posterior
from relvec.typing import Array, Indices


@dataclass(frozen=True)
class AdaptiveSettings:
    """Constants of both algorithms."""

    n_scales: int = 5  # of a dictionary; with six sin(40/x) was no better
    most_rows: int = 3000  # functions are n_scales times as many: for time's sake
    steps: int = 8  # of all scales, between two functions that leave; 25: no better
    # Nats per row by which narrower scales must be better, and how many in a row may
    # fail: chosen with abalone and six other problems in view.
    slack: float = 0.02
    most_failures: int = 2
    much_worse: float = 0.15  # nats per row of GCV, at which elimination ends
    # The prior standard deviation of a narrow function's weight, in those of the
    # targets, and how wide narrow is, in median distances between rows: chosen with
    # sin(40/x) at random places in view.
    max_prior_std: float = 4.0
    wide: float = 0.25
    # Of log ℓ by feature about what all vectors share: a factor of e is common.
    prior_precision: float = 1.0
    most_turns: int = 30  # of algorithm 1, each of a fit and some steps
    least_gain: float = 1e-3  # nats, which is no evidence for anything


SETTINGS = AdaptiveSettings()
_FINAL = (Status.MAX_SECONDS, Status.STOPPED, Status.INTERPOLATION, Status.PERFECT_FIT)


def learn_adaptive(everything: Trials) -> FittedModel:
    """Reduce dictionaries of several length scales, and fit the best to all rows.

    From wide scales to narrow ones, until two of them in a row are no better.
    """
    settings, trials = everything.judge, everything.on(SETTINGS.most_rows)
    shape = given_shape(trials.template)
    by_feature = settings.mode == "adaptive-ard"
    if by_feature:
        scales = _scales_by_feature(everything.on(SHARED.few))
        shape = scales / np.exp(np.mean(np.log(scales)))
    reduced: list[ReducedDictionary] = []
    distances = Distances.of(trials.seen_rows, shape, everything.data.rows.seed)
    bound = _bound(trials.data, distances)
    for widths in distances.several(SETTINGS.n_scales)[-settings.n_restarts :]:
        kernels = trials.with_scales(*widths[:, None] * shape)
        fitted = trials.fitted(trials.data, kernels)
        dictionary = AdaptiveModel(trials, fitted, kernels, bound)
        reduced.append(dictionary.reduced(with_prior=by_feature))
        failures = len(reduced) - 1 - reduced.index(_best(reduced))
        if failures == SETTINGS.most_failures or trials.out_of_time():
            break
    best, late = _best(reduced), trials.out_of_time()
    last = best.model.refitted(best.basis, everything.data)
    last = last.ended_as(Status.MAX_SECONDS) if late else last
    return described(last, trials, [*everything.done, *reduced])


def _scales_by_feature(few: Trials) -> Array:
    trials = replace(few, settings=replace(few.judge, mode="ard"))
    if proposes(trials):
        return ProcessFit.of(trials).scales
    return best_of_grid(trials).scales


def _bound(data: TrainingSet, distances: Distances) -> WeightBound | None:
    """None where functions are not of the targets' own size, as those of classes."""
    deviation = float(np.max(data.root_mean_squares))
    if not (data.likelihood.conjugate and deviation):
        return None
    wide = SETTINGS.wide * distances.median * distances.shape
    return WeightBound(SETTINGS.max_prior_std * deviation, wide)


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
        if each.loss < best.loss - SETTINGS.slack:
            best = each
    return best


@dataclass(frozen=True)
class AdaptiveModel:
    """A model whose functions get scales of their own."""

    trials: Trials
    model: FittedModel
    kernels: tuple[Kernel, ...]  # of its dictionary, length scales ascending
    bound: WeightBound | None = None

    def reduced(self, *, with_prior: bool) -> ReducedDictionary:
        """The functions that are left, with scales of their own."""
        ends = self.ends
        middle = np.mean(ends, axis=0)
        prior = ScalePrior(middle[None], SETTINGS.prior_precision)
        own = OwnScales(
            Range(*ends),
            steps=SETTINGS.steps,
            prior=prior if with_prior else None,
            ended=self.trials.out_of_time,
        )
        basis, fixed = self._eliminated(own)
        try:
            evidence = fixed.log_evidence
            loss = self._criterion(self._judged(basis, fixed))
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
            n_vectors=int(np.count_nonzero(basis.indices >= self.model.basis.bias)),
            n_rows=len(self.trials.data),
            status=self.model.status,
        )

    def _eliminated(self, own: OwnScales) -> tuple[ScalableBasis, FixedBasisModel]:
        """The model to keep among ever fewer functions, until they are much worse.

        By leave-one-out that is the sparsest within a standard error of the best; other
        criteria have no standard error, and it is the least by GCV.
        """
        data = self.trials.data
        basis, seen = scalable(self.model, data, self.bound)
        path: list[tuple[ScalableBasis, FixedBasisModel]] = []
        losses: list[float] = []
        rows: list[Array] = []
        # Without noise there is nothing that scales could be learned by.
        hopeless = at_ceiling(self.model.fit.likelihood)
        models = own.backward_elimination(basis, seen, self._observations)
        for model in () if hopeless else models:
            found = self._judged(*model)
            try:
                loss, by_rows = found.gcv, found.loo_rows
            except LinAlgError:
                break
            path.append(model)
            losses.append(loss)
            rows.append(by_rows)
            much_worse = loss > min(losses) + SETTINGS.much_worse
            if much_worse or self.trials.out_of_time():
                break
        if not path:
            return basis, basis.model(seen)
        if self._criterion is CRITERIA["loo"]:
            return path[sparsest(rows, data.weight)]
        return path[-1 - int(np.argmin(losses[::-1]))]

    def _observations(self, eta: Array) -> Observations:
        return observations(self.model, self.trials.data, eta, self.bound)

    @property
    def _criterion(self) -> Callable[[LeaveOneOut], float]:
        """GCV does not tell apart dictionaries that are reduced by it: loo, mostly."""
        criterion = self.trials.judge.criterion
        return CRITERIA["loo" if criterion == "auto" else criterion]

    @property
    def ends(self) -> tuple[Array, Array]:
        """Logarithms of the narrowest and the widest scales of the dictionary."""
        known = map(radial, self.kernels)
        scales = [np.atleast_1d(kernel.scale) for kernel in known if kernel is not None]
        return np.log(scales[0]), np.log(scales[-1])

    def _judged(self, basis: ScalableBasis, fixed: FixedBasisModel) -> LeaveOneOut:
        data, solution, alpha = self.trials.data, fixed.solution, fixed.prior_precision
        noise = np.log(fixed.noise_precision)
        indices, n_others = np.arange(len(alpha)), basis.fixed.shape[1]
        return LeaveOneOut(
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


def learn_alternating(settings: Adaptive, everything: Trials) -> FittedModel:
    """The model by algorithm 1, fitted once more by the solver asked for."""
    trials = everything.on(SETTINGS.most_rows)
    shape, seed = given_shape(trials.template), trials.data.rows.seed
    allowed = Distances.of(trials.seen_rows, shape, seed).allowed
    late = trials.out_of_time
    own = OwnScales(allowed, steps=settings.steps, joint=False, ended=late)
    last = _alternated(settings, trials, own)
    model = last.model
    if trials.out_of_time():
        model = model.ended_as(Status.MAX_SECONDS)
    elif len(model.indices):
        left = scalable(model, trials.data)[0]
        model = last.refitted(left, everything.data)
    return described(model, trials, [])


def _alternated(settings: Adaptive, trials: Trials, own: OwnScales) -> AdaptiveModel:
    """Turns of both kinds until the evidence stops rising."""
    limits = replace(trials.spec.limits, max_iter=settings.cycles)
    start = settings.initial_precision
    solver = TopDown("mackay", polish=False, initial_precision=start)
    mackay = replace(trials.spec, solver=solver, limits=limits)
    candidates = _own_scales(settings, trials)
    precision = solver.warm_start(len(candidates.basis), WarmStart()).precision
    before = -np.inf
    for _ in range(SETTINGS.most_turns):
        model = fit_candidates(
            mackay, trials.data, candidates, precision=precision, monitor=trials.monitor
        )
        adaptive = AdaptiveModel(trials, model, trials.spec.kernels)
        ended = model.status in _FINAL or at_ceiling(model.fit.likelihood)
        gain, before = model.log_evidence - before, model.log_evidence
        if len(model.indices) == 0 or ended or gain < SETTINGS.least_gain:
            break
        try:
            moved = own.better(*scalable(model, trials.data))
        except LinAlgError:
            break
        candidates, precision, _ = adaptive.candidates(moved)
    return adaptive


def _own_scales(settings: Adaptive, trials: Trials) -> Candidates:
    """All functions, those of one kernel ready to have scales of their own."""
    spec, rows = trials.spec, trials.data.rows
    given = Candidates.of(spec.kernels, spec.centres, rows, bias=spec.intercept)
    groups = list(given.basis.groups)
    varying = as_varying(groups[trials.index])
    assert varying is not None
    if settings.by_feature:
        shape = (len(varying), trials.seen_rows.shape[1])
        scales = np.broadcast_to(varying.scales, shape)
        varying = replace(varying, scales=scales)
    groups[trials.index] = varying
    return replace(given, basis=Basis(tuple(groups), spec.intercept))
