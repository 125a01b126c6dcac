"""The model of some functions by all rows, of which only sums are seen."""

from dataclasses import dataclass, field, replace
from functools import cached_property

import numpy as np

from relvec.evidence import Status, largest_predictor
from relvec.linalg import single_threaded
from relvec.modelling import (
    Candidates,
    FittedModel,
    KnownFunctions,
    Monitor,
    Specification,
    TrainingSet,
    fit_problem,
    logger,
    silent,
)
from relvec.partition.parts import Parts
from relvec.partition.sums import Sums, summed
from relvec.posterior import Posterior
from relvec.typing import Array, Indices

_STEPS = 30  # to a mode, at most: they converge quickly from the model of a few rows
_PATIENCE = 3  # expansions that do not raise the evidence before the best one stays
_MOVED = 0.03  # of the logarithms of precisions, where an expansion changes no more
_SAME = 0.05  # nats by which an evidence has to rise to be a higher one
# Nats that a step to the mode still promises where it ends, on the way and in the end:
# Laplace's approximation is that of a mode, whose error enters by its square.
_NEAR, _PROMISED = 1e-2, 1e-5
_SHARES = (1.0, 0.5, 0.25, 0.125, 0.03, 0.0)  # of a step; the last is not to take it


def weighed(
    spec: Specification,
    parts: Parts,
    candidates: Candidates,
    like: TrainingSet,
    *,
    start: KnownFunctions | None,
    monitor: Monitor = silent,
) -> FittedModel:
    """The model whose functions are among the candidates, of the rows of all parts.

    ``like`` tells likelihood, offset and features.
    """
    weighing = _Weighing(spec, parts, candidates, like, monitor)
    if like.likelihood.conjugate:
        return weighing.by_one_pass(start)
    return weighing.by_expansions(start)


@dataclass(frozen=True)
class _Weighing:
    spec: Specification
    parts: Parts
    candidates: Candidates
    like: TrainingSet
    monitor: Monitor

    @property
    def _everything(self) -> Indices:
        return np.arange(len(self.candidates.basis))

    def by_one_pass(self, start: KnownFunctions | None) -> FittedModel:
        """With Gaussian noise: its sums do not depend on the model."""
        none = np.zeros((1, self.like.targets.shape[1], len(self._everything)))
        return self._searched(self._sums(self._everything, none), start)

    def by_expansions(self, start: KnownFunctions | None) -> FittedModel:
        """By a quadratic in the likelihood's place, about one mode after another."""
        start, weights = self._begun(start)
        best = _Best(None, -np.inf, Status.MAX_ITER)
        for _ in range(self.spec.limits.max_iter):
            sums = self._sums(self._everything, weights[None])
            found = self._searched(sums, best.model or start)
            mode = self._at_mode(found, weights, _NEAR)
            weights = mode.everywhere(len(self._everything))
            logger.info(
                "%d functions, log evidence %.3f", len(found.basis), mode.log_evidence
            )
            settled = best.model is not None and _settled(best.model, found)
            best = best.or_better(found, weights, mode.log_evidence)
            if settled or best.waited == _PATIENCE:
                best = replace(best, status=found.status)
                break
            if self.spec.deadline.passed:
                best = replace(best, status=Status.MAX_SECONDS)
                break
        assert best.model is not None
        mode = self._at_mode(best.model, best.weights, _PROMISED)
        return mode.described(best.model, self.like, best.status)

    def _begun(
        self, start: KnownFunctions | None
    ) -> tuple[KnownFunctions | None, Array]:
        """The model and its weights, or as much of these as all rows agree to.

        The model of few rows that could be told apart may be sure of what is wrong.
        """
        weights = np.zeros((self.like.targets.shape[1], len(self._everything)))
        if start is not None:
            weights = start.beginning(self.candidates.basis).weights
        active = np.flatnonzero(weights.any(axis=0))
        if not len(active):
            return None, weights
        shares = np.array(_SHARES)
        tried = shares[:, None, None] * weights[:, active]
        best = int(np.argmax(self._sums(active, tried).log_densities))
        return start if best == 0 else None, shares[best] * weights

    def _sums(self, functions: Indices, tried: Array) -> Sums:
        basis = self.candidates.basis.subset(functions)
        return summed(self.parts, basis, self.like.likelihood, tried)

    def _searched(self, sums: Sums, start: KnownFunctions | None) -> FittedModel:
        bias = 0 if self.candidates.basis.bias else None
        likelihood = self.like.likelihood
        problem = sums.problem(likelihood, bias)
        if self.spec.family.labels is not None:
            # The rows that stand for all have other sizes.
            with np.errstate(divide="ignore", over="ignore"):
                most = largest_predictor(likelihood) / sums.sizes
            problem = replace(problem, max_prior_std=most)
        with single_threaded():
            return fit_problem(
                self.spec,
                problem,
                self.candidates,
                self.like.rows.features,
                self.like.offset,
                start=start,
                monitor=self.monitor,
            )

    def _at_mode(self, found: FittedModel, weights: Array, promised: float) -> "_Mode":
        """Newton's method with the prior held, from the weights of the last mode."""
        active, alpha = found.posterior.active, found.posterior.prior_precision
        before, after = weights[:, active], found.posterior.mean
        for number in range(_STEPS):
            mode = self._stepped(active, alpha, before, after)
            # The first is towards the mode of an expansion about another place.
            stays = number > 0 and np.array_equal(mode.weights, before)
            before, after = mode.weights, mode.newton
            if mode.promise < promised or stays or self.spec.deadline.passed:
                break
        return mode

    def _stepped(
        self, active: Indices, alpha: Array, before: Array, after: Array
    ) -> "_Mode":
        """As far towards the weights as the log posterior rises most."""
        tried = np.stack([before + share * (after - before) for share in _SHARES])
        sums = self._sums(active, tried)
        penalty = 0.5 * np.sum(alpha * tried**2, axis=(1, 2))
        best = int(np.argmax(sums.log_densities - penalty))
        if best > 0:
            tried = tried[best : best + 1]
            sums = self._sums(active, tried)
        return _Mode(active, alpha, tried[0], sums)


@dataclass(frozen=True)
class _Best:
    """The model of the highest evidence so far, and where it has been found."""

    model: FittedModel | None
    log_evidence: float
    status: Status
    weights: Array = field(default_factory=lambda: np.empty((0, 0)))
    waited: int = 0  # expansions since then

    def or_better(
        self, model: FittedModel, weights: Array, log_evidence: float
    ) -> "_Best":
        """That of another expansion, if it is higher."""
        if log_evidence > self.log_evidence + _SAME or self.model is None:
            return _Best(model, log_evidence, self.status, weights)
        return replace(self, waited=self.waited + 1)


@dataclass(frozen=True)
class _Mode:
    """Weights, and what rows say around them."""

    active: Indices
    alpha: Array  # (n,)
    weights: Array  # (K, n)
    sums: Sums

    @cached_property
    def posterior(self) -> Posterior:
        """Laplace's, about these weights."""
        factor = self.sums.factor(self.alpha)
        return Posterior(self.active, self.alpha, self.weights, factor)

    @cached_property
    def newton(self) -> Array:
        """(K, n) the mode of the expansion."""
        return self.posterior.solve(self.sums.target)

    @property
    def promise(self) -> float:
        """½δᵀ(A + H)δ of the step δ to it: nats to be gained."""
        step = self.newton - self.weights
        curved = self.sums.information(step) + self.alpha * step
        return float(0.5 * np.sum(step * curved))

    @property
    def log_evidence(self) -> float:
        """Laplace's approximation."""
        spent = self.posterior.penalty + self.posterior.log_determinant
        return float(self.sums.log_densities[0]) - 0.5 * spent

    def everywhere(self, n_functions: int) -> Array:
        """Weights (K, M) of all candidates."""
        every = np.zeros((len(self.weights), n_functions))
        every[:, self.active] = self.weights
        return every

    def described(
        self, model: FittedModel, like: TrainingSet, status: Status
    ) -> FittedModel:
        """The model at this mode."""
        fit = replace(
            model.fit,
            likelihood=like.likelihood,
            posterior=self.posterior,
            search_mean=self.weights,
            log_evidence=self.log_evidence,
            status=status,
        )
        return replace(model, fit=fit)


def _settled(before: FittedModel, now: FittedModel) -> bool:
    """Whether another expansion has changed neither functions nor precisions."""
    known = before.beginning(now.basis).precision
    if len(before.basis) != len(now.basis) or np.isnan(known).any():
        return False
    change = np.log(known) - np.log(now.posterior.prior_precision)
    return bool(np.max(np.abs(change), initial=0.0) < _MOVED)
