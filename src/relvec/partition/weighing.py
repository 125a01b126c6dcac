"""The model of some functions by all rows, of which only sums are seen."""

from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np

from relvec.evidence import Status
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

# Expansions of a likelihood that is not Gaussian, each about the mode for the last
# prior, and steps to a mode: both converge quickly from the model of a few rows.
_EXPANSIONS, _STEPS = 30, 30
_MOVED = 0.03  # of the logarithms of precisions, where an expansion changes no more
_SAME = 0.05  # nats by which evidences of two expansions in succession are alike
# Nats that a step to the mode still promises where it ends, on the way and in the end:
# Laplace's approximation is that of a mode, whose error enters by its square.
_NEAR, _PROMISED = 1e-2, 1e-5
_HALVINGS = (1.0, 0.5, 0.25, 0.125)


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
        model: FittedModel | None = None
        mode: _Mode | None = None
        status = Status.MAX_ITER
        for _ in range(_EXPANSIONS):
            sums = self._sums(self._everything, weights[None])
            found = self._searched(sums, model or start)
            before, mode = mode, self._at_mode(found, weights, _NEAR)
            settled = _settled(model, found) or _alike(before, mode)
            model, weights = found, mode.everywhere(len(self._everything))
            logger.info(
                "%d functions, log evidence %.3f", len(found.basis), mode.log_evidence
            )
            if settled:
                status = found.status
                break
            if self.spec.deadline.passed:
                status = Status.MAX_SECONDS
                break
        assert model is not None
        return self._at_mode(model, weights, _PROMISED).described(
            model, self.like, status
        )

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
        shares = np.array([*_HALVINGS, 0.0])
        tried = shares[:, None, None] * weights[:, active]
        best = int(np.argmax(self._sums(active, tried).log_densities))
        return start if best == 0 else None, shares[best] * weights

    def _sums(self, functions: Indices, tried: Array) -> Sums:
        basis = self.candidates.basis.subset(functions)
        return summed(self.parts, basis, self.like.likelihood, tried)

    def _searched(self, sums: Sums, start: KnownFunctions | None) -> FittedModel:
        bias = 0 if self.candidates.basis.bias else None
        with single_threaded():
            return fit_problem(
                self.spec,
                sums.problem(self.like.likelihood, bias),
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
        for _ in range(_STEPS):
            mode = self._stepped(active, alpha, before, after)
            before, after = mode.weights, mode.newton
            if mode.promise < promised:
                break
        return mode

    def _stepped(
        self, active: Indices, alpha: Array, before: Array, after: Array
    ) -> "_Mode":
        """As far towards the weights as the log posterior rises most."""
        tried = np.stack([before + part * (after - before) for part in _HALVINGS])
        sums = self._sums(active, tried)
        penalty = 0.5 * np.sum(alpha * tried**2, axis=(1, 2))
        best = int(np.argmax(sums.log_densities - penalty))
        if best > 0:
            tried = tried[best : best + 1]
            sums = self._sums(active, tried)
        return _Mode(active, alpha, tried[0], sums)


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


def _alike(before: _Mode | None, now: _Mode) -> bool:
    """Whether another expansion has hardly changed the evidence."""
    return before is not None and abs(now.log_evidence - before.log_evidence) < _SAME


def _settled(before: FittedModel | None, now: FittedModel) -> bool:
    """Whether another expansion has changed neither functions nor precisions."""
    if before is None:
        return False
    known = before.beginning(now.basis).precision
    if len(before.basis) != len(now.basis) or np.isnan(known).any():
        return False
    change = np.log(known) - np.log(now.posterior.prior_precision)
    return bool(np.max(np.abs(change), initial=0.0) < _MOVED)
