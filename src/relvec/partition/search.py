"""The search of rows that are only summed up.

Solves   max over α (and the noise) of the log evidence (7) of all rows
Given    rows in parts, a first model, and centres of candidates
By       searching the functions found and fresh candidates again and again, as in
         memory (``evidence.subsampling``), but with sums over rows in place of the
         rows. One pass finds the candidates that gain beside the model. Another makes
         the triangle of these, which is searched. For classes it stands for the
         expansion at the mode of the model, and passes on the functions found lead to
         the next mode
Until    fresh candidates bring next to nothing; then those at hand are searched to the
         end, for classes until expansions change the model no more
"""

from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np

from relvec.basis import Basis
from relvec.blockwise import OutOfTimeError, stopped_when
from relvec.evidence import Status, largest_predictor
from relvec.evidence.products import gains_beside
from relvec.evidence.search import SearchSettings
from relvec.evidence.subsampling import SubsamplingSettings
from relvec.linalg import single_threaded
from relvec.modelling import (
    AT_ROWS,
    Candidates,
    FittedModel,
    KnownFunctions,
    Monitor,
    Sample,
    Specification,
    TrainingSet,
    fit_problem,
    logger,
    silent,
)
from relvec.partition.parts import Parts
from relvec.partition.sums import Triangles, inner_products, triangles
from relvec.posterior import Posterior
from relvec.precision import DIFFERENCE_LIMIT
from relvec.typing import Array


@dataclass(frozen=True)
class SumsSettings:
    """The constants of a search on sums that a search in memory does without."""

    # Steps to a mode, at most: from the mode before it takes one or two.
    steps: int = 30
    # Of a step, what is tried in one pass; the last is not to take it.
    shares: tuple[float, ...] = (1.0, 0.25, 0.06, 0.0)
    # Nats that a step still promises where it ends, on the way and in the end: the
    # error of a mode enters Laplace's approximation by its square.
    near: float = 1e-2
    nearest: float = 1e-5
    # Change of log α in which two expansions agree; nats by which the evidence of an
    # expansion has to be higher; expansions in succession that may fail to be so.
    moved: float = 0.03
    higher: float = 0.05
    patience: int = 3


_TUNED = SumsSettings()


@dataclass(frozen=True)
class FreshCandidates:
    """Functions of a model, and others that were not looked at before."""

    rows: TrainingSet  # that functions may be centred on, in an order by chance
    spec: Specification
    number: int  # of rows that come as fresh ones: the first so many

    def beside(self, model: FittedModel, taken: int, count: int) -> Candidates:
        """Those of the model, and on so many rows after those taken."""
        inside = np.isin(self.rows.rows.indices, model.indices)
        inside[taken : min(taken + count, self.number)] = True
        chosen = self.rows.subset(np.flatnonzero(inside))
        every = Sample.of(chosen.table, len(chosen), chosen.rows.seed)
        centres = replace(chosen.rows, sample=every)
        kernels, bias = self.spec.kernels, self.spec.intercept
        return Candidates.of(kernels, AT_ROWS, centres, bias=bias)

    def room(self, model: FittedModel, *, inner_products_do: bool) -> int:
        """Rows that are fresh at a time, as many as in a search in memory."""
        tuned, n_known = SubsamplingSettings(), len(model.basis)
        wanted = tuned.fresh_of_many
        if self.rows.likelihood.conjugate:
            each = tuned.fresh_each * n_known if inner_products_do else 0
            wanted = max(tuned.fresh, each)
        most = self.spec.budget.most_functions - n_known
        return max(tuned.fewest, min(wanted, most)) // len(self.spec.kernels)


def search_sums(
    spec: Specification,
    parts: Parts,
    fresh: FreshCandidates,
    model: FittedModel,
    like: TrainingSet,
    *,
    n_observations: float,
    monitor: Monitor = silent,
) -> FittedModel:
    """The model of all rows, from that of some, with candidates that come in turns.

    ``like`` tells likelihood, offset and features. Where time runs out it is the last
    model of a turn.
    """
    tuned, nats = SubsamplingSettings(), spec.tol * n_observations
    rows = _Sums(spec, parts, like, monitor)
    quick = replace(rows, spec=replace(spec, tol=tuned.quick * spec.tol))
    best, taken = None, 0
    try:
        with stopped_when(lambda: spec.deadline.passed):
            model = rows.at_mode_of_all(model)
            while True:
                ratio = n_observations / model.fit.n_observations
                digits = model.posterior.condition * ratio < DIFFERENCE_LIMIT
                count = fresh.room(model, inner_products_do=digits)
                candidates = fresh.beside(model, taken, count)
                taken += count
                if not spec.solver.selective:
                    return rows.model_of(candidates, model)
                if digits:
                    candidates = rows.gaining(candidates, model)
                sums = rows.expanded(candidates, model)
                found = quick.found(candidates, sums, model)
                before = -np.inf if best is None else best.log_evidence
                gain = found.log_evidence - before
                if gain > 0:
                    best = model = found
                if not found.status.success:
                    return model
                enough = max(tuned.enough * nats, tuned.enough_each * len(model.basis))
                if gain <= enough or taken >= fresh.number:
                    break
            if rows.conjugate:
                return rows.found(candidates, sums, model)
            return rows.model_of(candidates, model, best)
    except OutOfTimeError:
        return model.ended_as(Status.MAX_SECONDS)


def fit_to_sums(
    spec: Specification,
    parts: Parts,
    candidates: Candidates,
    like: TrainingSet,
    *,
    start: KnownFunctions | None,
    monitor: Monitor = silent,
) -> FittedModel:
    """The model of all rows whose functions are among the candidates."""
    rows = _Sums(spec, parts, like, monitor)
    if isinstance(start, FittedModel):
        start = rows.at_mode_of_all(start)
    return rows.model_of(candidates, start)


@dataclass(frozen=True)
class _Sums:
    """Rows as sums over their parts."""

    spec: Specification
    parts: Parts
    like: TrainingSet
    monitor: Monitor

    @property
    def conjugate(self) -> bool:
        return self.like.likelihood.conjugate

    def at_mode_of_all(self, model: FittedModel) -> FittedModel:
        """The model of some rows, its weights those that all rows ask for.

        A model of few rows that can be told apart may be sure of what is wrong.
        """
        if self.conjugate or not len(model.basis):
            return model
        return self._at_mode(model, None, _TUNED.near)

    def gaining(self, candidates: Candidates, model: FittedModel) -> Candidates:
        """The functions of a model and those that gain beside it, with less noise."""
        tuned, basis = SearchSettings(), candidates.basis
        begin = model.beginning(basis)
        alpha = np.atleast_2d(begin.precision).min(axis=0)
        active = np.flatnonzero(np.isfinite(alpha))
        if not len(active):
            return candidates
        likelihood = model.fit.likelihood
        sums = inner_products(self.parts, basis, likelihood, begin.weights, active)
        one = self.like.targets[:1], self.like.targets[:1], np.ones(1)
        noise = likelihood.pseudo_observations(*one).noise_precision
        lengths, products = sums.with_unit_columns(active)
        alpha = alpha[active] / lengths[active] ** 2
        gain = gains_beside(active, alpha, tuned.temperatures[0] * noise, products)
        stays = gain > tuned.promise
        stays[active] = True
        stays[: basis.bias] = True
        return candidates.subset(np.flatnonzero(stays))

    def expanded(
        self, candidates: Candidates, start: KnownFunctions | None
    ) -> Triangles:
        """All candidates, expanded at the weights that are known."""
        weights = self._weights(start, candidates.basis)
        return self._triangles(candidates.basis, weights[None])

    def found(
        self, candidates: Candidates, sums: Triangles, start: KnownFunctions | None
    ) -> FittedModel:
        """The best model of an expansion, with the evidence at its own mode."""
        model = self._searched(candidates, sums, start)
        return model if self.conjugate else self._at_mode(model, start, _TUNED.near)

    def model_of(
        self,
        candidates: Candidates,
        known: KnownFunctions | None,
        best: FittedModel | None = None,
    ) -> FittedModel:
        """The best model of these candidates, from what is known.

        With Gaussian noise that of the only expansion there is. For other likelihoods
        one expansion follows another, and ``best`` is the best model so far.
        """
        if self.conjugate:
            return self.found(candidates, self.expanded(candidates, known), known)
        waited, status = 0, Status.MAX_ITER
        for _ in range(self.spec.limits.max_iter):
            found = self.found(candidates, self.expanded(candidates, known), known)
            logger.info(
                "%d functions, log evidence %.3f", len(found.basis), found.log_evidence
            )
            agree = best is not None and _agree(best, found)
            if best is None or found.log_evidence > best.log_evidence + _TUNED.higher:
                best, waited = found, 0
            else:
                waited += 1
            if agree or waited > _TUNED.patience:
                status = found.status
                break
            if self.spec.deadline.passed:
                status = Status.MAX_SECONDS
                break
            known = found
        assert best is not None
        return self._at_mode(best, best, _TUNED.nearest).ended_as(status)

    def _triangles(self, basis: Basis, tried: Array) -> Triangles:
        return triangles(self.parts, basis, self.like.likelihood, tried)

    def _weights(self, start: KnownFunctions | None, basis: Basis) -> Array:
        """(outputs, functions), zero where no mode is known."""
        if not isinstance(start, FittedModel):
            return np.zeros((self.like.targets.shape[1], len(basis)))
        return start.beginning(basis).weights

    def _searched(
        self, candidates: Candidates, sums: Triangles, start: KnownFunctions | None
    ) -> FittedModel:
        """The model of most evidence of the rows that stand for all."""
        likelihood = self.like.likelihood
        if self.conjugate and isinstance(start, FittedModel):
            noise = start.fit.likelihood.log_parameters
            # The noise of a set may have been held.
            likelihood = likelihood.with_parameters(noise) if len(noise) else likelihood
        problem = sums.problem(likelihood, 0 if candidates.basis.bias else None)
        if self.spec.family.labels is not None:
            # The rows that stand for all have other sizes.
            with np.errstate(divide="ignore", over="ignore"):
                most = largest_predictor(likelihood) / sums.sizes
            problem = replace(problem, max_prior_std=most)
        with single_threaded():
            return fit_problem(
                self.spec,
                problem,
                candidates,
                self.like.rows.features,
                self.like.offset,
                start=start,
                monitor=self.monitor,
            )

    def _at_mode(
        self, found: FittedModel, start: KnownFunctions | None, promised: float
    ) -> FittedModel:
        """The same functions and α at their mode, from the weights that are known.

        By Newton's method, until a step promises no more than so many nats. The first
        goes to the weights that were found, which may be the mode of something else.
        """
        alpha = found.posterior.prior_precision
        before, after = self._weights(start, found.basis), found.posterior.mean
        for number in range(_TUNED.steps):
            mode = self._stepped(found.basis, alpha, before, after)
            stays = number > 0 and np.array_equal(mode.weights, before)
            before, after = mode.weights, mode.newton
            if mode.promise < promised or stays or self.spec.deadline.passed:
                break
        fit = replace(
            found.fit,
            likelihood=self.like.likelihood,
            posterior=replace(mode.posterior, active=found.posterior.active),
            search_mean=mode.weights,
            log_evidence=mode.log_evidence,
        )
        return replace(found, fit=fit)

    def _stepped(
        self, basis: Basis, alpha: Array, before: Array, after: Array
    ) -> "_Mode":
        """As far towards the weights ``after`` as the log posterior rises most."""
        shares = np.array(_TUNED.shares)[:, None, None]
        tried = before + shares * (after - before)
        sums = self._triangles(basis, tried)
        penalty = 0.5 * np.sum(alpha * tried**2, axis=(1, 2))
        best = int(np.argmax(sums.log_densities - penalty))
        if best > 0:
            tried = tried[best : best + 1]
            sums = self._triangles(basis, tried)
        return _Mode(alpha, tried[0], sums)


@dataclass(frozen=True)
class _Mode:
    """Weights, and the sums over rows about them."""

    alpha: Array  # (n,)
    weights: Array  # (K, n)
    sums: Triangles

    @cached_property
    def posterior(self) -> Posterior:
        """Laplace's, about these weights."""
        every, factor = np.arange(len(self.alpha)), self.sums.factor(self.alpha)
        return Posterior(every, self.alpha, self.weights, factor)

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


def _agree(before: FittedModel, now: FittedModel) -> bool:
    """Whether two models have the same functions and nearly the same α."""
    known = before.beginning(now.basis).precision
    if len(before.basis) != len(now.basis) or np.isnan(known).any():
        return False
    change = np.log(known) - np.log(now.posterior.prior_precision)
    return bool(np.max(np.abs(change), initial=0.0) < _TUNED.moved)
