"""The one place where kernels, a design, a likelihood and a solver become a model."""

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from relvec.basis import blocks
from relvec.design import DesignMatrix
from relvec.design.compressed import Inner, compressed
from relvec.evidence import (
    EvidenceFit,
    Problem,
    SolverContext,
    WarmStart,
    largest_predictor,
    solved,
)
from relvec.likelihoods import gaussian_noise
from relvec.likelihoods.gaussian import STARTING_NOISE
from relvec.linalg import single_threaded
from relvec.modelling.calibration import calibrated, noise_has_prior
from relvec.modelling.families import Regression
from relvec.modelling.families.base import freedom_left
from relvec.modelling.fitted import Beginning, FittedModel, KnownFunctions, Learned
from relvec.modelling.latent import Pruned
from relvec.modelling.monitor import Monitor, silent
from relvec.modelling.specification import Candidates, Specification, held
from relvec.modelling.training_rows import Features, TrainingSet
from relvec.typing import AnyArray, Array, Indices


@dataclass(frozen=True)
class Accumulated:
    """A fixed dictionary and what all rows so far say about it."""

    candidates: Candidates
    features: Features
    inner: Inner
    ones: Array  # ΦᵀW1
    total: float  # Σvt
    origin: float  # targets t are y less this, so that their squares keep digits

    @classmethod
    def empty(
        cls, candidates: Candidates, features: Features, origin: float
    ) -> "Accumulated":
        """Before the first row."""
        size = len(candidates.basis)
        none = Inner(np.zeros((size, size)), np.zeros(size), 0.0, 0.0)
        return cls(candidates, features, none, np.zeros(size), 0.0, origin)

    def joined(self, X: AnyArray, y: Array, sample_weight: Array) -> "Accumulated":
        """With further rows."""
        inner, ones, basis = self.inner, self.ones, self.candidates.basis
        targets = y - self.origin
        for part in blocks(len(X), len(basis)):
            functions, weight = basis(X[part]), sample_weight[part]
            inner = inner + Inner.of(functions, targets[part], weight)
            ones = ones + weight @ functions
        total = self.total + float(sample_weight @ targets)
        return replace(self, inner=inner, ones=ones, total=total)

    def problem(self, family: Regression) -> tuple[Problem, float]:
        """The regression problem and the offset its targets were taken from."""
        bias = self.candidates.basis.bias
        shift = self.total / self.inner.weight if bias else 0.0
        inner = self.inner.shifted(shift, self.ones, self.total)
        design, y, weights = compressed(inner)
        offset, initial = self.origin + shift, family.initial_noise_variance
        if initial is None:
            # The rows that stand for all have other variances about their mean.
            mean = self.total / self.inner.weight - shift
            variance = float(inner.target_squares) / self.inner.weight - mean**2
            initial = STARTING_NOISE * max(variance, 0.0)
        noise = gaussian_noise(y, weights, family.noise_variance, offset, initial)
        return Problem(design, y, noise, weights, 0 if bias else None), offset


def fit(
    spec: Specification,
    data: TrainingSet,
    *,
    start: FittedModel | None = None,
    monitor: Monitor = silent,
) -> FittedModel:
    """The model with these kernels, from the functions of another if there is one."""
    model = maximised(spec, data, start=start, monitor=monitor)
    return calibrated(model, spec, data)


def fit_with_learned(
    fit_one: Callable[..., FittedModel],
    spec: Specification,
    data: TrainingSet,
    **others: Any,
) -> FittedModel:
    """The same with a kernel that was learned before, which the model tells of."""
    model = fit_one(spec, data, **others)
    return replace(model, learned=Learned(kernel=spec.kernels[0]))


def maximised(
    spec: Specification,
    data: TrainingSet,
    *,
    start: KnownFunctions | None = None,
    monitor: Monitor = silent,
) -> FittedModel:
    """The model of most evidence, its predictions as they follow from it."""
    rows = data.rows
    wanted = Candidates.of(spec.kernels, spec.centres, rows, bias=spec.intercept)
    with single_threaded():
        candidates, design = _held(spec, data, wanted)
        problem = _problem(spec, data, candidates, design)
        problem = _begun(spec, problem, candidates, start)
        named = _Named(candidates, rows.features, data.offset)
        return _searched(spec, problem, named, monitor)


def fit_candidates(
    spec: Specification,
    data: TrainingSet,
    candidates: Candidates,
    *,
    precision: Array | None = None,
    max_prior_std: Array | None = None,
    monitor: Monitor = silent,
) -> FittedModel:
    """The model of these functions, from these prior precisions.

    ``max_prior_std`` are the prior standard deviations that weights may have.
    """
    with single_threaded():
        fitting, design = _held(spec, data, candidates)
        problem = _problem(spec, data, fitting, design)
        if fitting is candidates:
            start = WarmStart(precision)
            problem = replace(problem, start=start, max_prior_std=max_prior_std)
        named = _Named(fitting, data.rows.features, data.offset)
        return _searched(spec, problem, named, monitor)


def fit_accumulated(spec: Specification, accumulated: Accumulated) -> FittedModel:
    """The model of rows of which only inner products are left."""
    assert isinstance(spec.family, Regression)
    if spec.solver.looks_at_rows is not None:
        raise ValueError(
            f"{spec.solver.looks_at_rows} tells rows apart, and of rows that come in "
            "parts only inner products are kept: leave it out, or use fit"
        )
    problem, offset = accumulated.problem(spec.family)
    spec = replace(spec, intercept=accumulated.candidates.basis.bias)
    named = accumulated.candidates, accumulated.features, offset
    return fit_problem(spec, problem, *named)


def problem_of(model: FittedModel, spec: Specification, data: TrainingSet) -> Problem:
    """The problem of a model's own functions, starting with all and their α."""
    functions = Candidates(model.basis, model.indices, model.kernel_indices)
    candidates, design = _held(spec, data, functions)
    problem = _problem(spec, data, candidates, design)
    return replace(problem, start=WarmStart(model.posterior.prior_precision))


def fit_problem(
    spec: Specification,
    problem: Problem,
    candidates: Candidates,
    features: Features,
    offset: Array | float,
    *,
    start: KnownFunctions | None = None,
    monitor: Monitor = silent,
) -> FittedModel:
    """The model of a problem whose columns are these functions."""
    problem = _begun(spec, problem, candidates, start)
    return _searched(spec, problem, _Named(candidates, features, offset), monitor)


@dataclass(frozen=True)
class _Named:
    """What a model says beside its fit."""

    candidates: Candidates
    features: Features
    offset: Array | float

    def fitted(self, spec: Specification, fit: EvidenceFit) -> FittedModel:
        """From a fit whose functions are in ascending order."""
        active, candidates = fit.posterior.active, self.candidates
        basis = candidates.basis.subset(active)
        functions = active[basis.bias :] - candidates.basis.bias
        from_all = spec.solver.begins_with_all is not None
        freedom = spec.solver.noise_freedom(fit.n_observations)
        if not noise_has_prior(spec.solver):
            freedom = _freedom(fit)
        return FittedModel(
            basis=basis,
            fit=fit,
            family=spec.family.fitted(fit.likelihood, freedom),
            offset=self.offset,
            indices=candidates.indices[functions],
            kernel_indices=candidates.kernels[functions],
            features=self.features,
            pruned=Pruned.of(candidates.basis, active) if from_all else Pruned(),
        )


def _freedom(fit: EvidenceFit) -> float:
    """Degrees of freedom of a noise estimated from few observations."""
    spent = float(np.max(fit.posterior.effective_parameters, initial=0.0))
    return freedom_left(fit.n_observations - 1 - spent)


def _held(
    spec: Specification, data: TrainingSet, candidates: Candidates
) -> tuple[Candidates, DesignMatrix]:
    return held(
        candidates,
        data.rows,
        design=spec.design,
        budget=spec.budget,
        adjustable=spec.centres.adjustable,
        solver=spec.solver,
    )


def _problem(
    spec: Specification,
    data: TrainingSet,
    candidates: Candidates,
    design: DesignMatrix,
) -> Problem:
    classes = spec.family.labels is not None
    return Problem(
        design=design,
        y=data.targets,
        likelihood=data.likelihood,
        sample_weight=data.weight,
        bias=0 if candidates.basis.bias else None,
        centre_rows=_centre_rows(data, candidates) if spec.centres.are_rows else None,
        density_shift=data.density_shift,
        max_predictor_std=largest_predictor(data.likelihood) if classes else None,
    )


def _centre_rows(data: TrainingSet, candidates: Candidates) -> Indices | None:
    """Among the rows that count, of every function; None if none is at a row."""
    rows, indices = data.rows.indices, candidates.indices
    order = np.argsort(rows)
    after = np.searchsorted(rows, indices, sorter=order).clip(max=len(rows) - 1)
    places = order[after]
    found = np.where(rows[places] == indices, places, -1)
    constant = np.full(int(candidates.basis.bias), -1)
    return np.concatenate([constant, found]) if np.any(found >= 0) else None


def _begun(
    spec: Specification,
    problem: Problem,
    candidates: Candidates,
    known: KnownFunctions | None,
) -> Problem:
    """The problem with what the search begins with, from settings or a model."""
    basis, start = candidates.basis, WarmStart()
    if known is not None:
        begin = known.beginning(basis)
        if _same_outputs(begin, spec, problem):
            start = WarmStart(begin.precision, begin.weights, begin.steps)
            if isinstance(known, FittedModel):
                problem = _with_noise_of(known, problem)
        else:
            precision = np.atleast_2d(begin.precision).min(axis=0)
            start = WarmStart(precision, steps=begin.steps)
    return replace(problem, start=spec.solver.warm_start(len(basis), start))


def _with_noise_of(known: FittedModel, problem: Problem) -> Problem:
    """The problem whose noise is at first that of a known model of as many rows.

    Prior precisions fit the noise that they were found with. With more noise a search
    would take functions out at once. A model of fewer rows may have hardly any noise.
    """
    found, likelihood = known.fit.likelihood, problem.likelihood
    ceilings = found.parameter_ceiling, likelihood.parameter_ceiling
    estimated = all(ceiling is not None for ceiling in ceilings)
    alike = type(found) is type(likelihood) and likelihood.unit is None and estimated
    if not alike or known.fit.n_observations < problem.n_observations:
        return problem
    likelihood = likelihood.with_parameters(found.log_parameters)
    return replace(problem, likelihood=likelihood)


def _same_outputs(begin: Beginning, spec: Specification, problem: Problem) -> bool:
    """Whether the outputs of a problem mean what those of a model do."""
    labels, wanted = begin.labels, spec.family.labels
    alike = len(begin.weights) == problem.y.shape[1]
    if labels is None or wanted is None:
        return labels is wanted and alike
    return np.array_equal(labels, wanted) and alike


def _searched(
    spec: Specification, problem: Problem, named: _Named, monitor: Monitor
) -> FittedModel:
    constant = 0 if spec.intercept else None
    problem = replace(problem, coupled=spec.family.coupled)
    context = SolverContext(spec.tol, spec.seed, spec.family.price, constant)
    with monitor(lambda found: named.fitted(spec, found)) as callback:
        found = solved(problem, spec.solver, context, spec.limits, callback)
    return named.fitted(spec, found)
