"""What relevance vector regression and classification share."""

import warnings
from abc import ABC, abstractmethod
from copy import copy
from dataclasses import replace
from functools import partial
from numbers import Integral
from typing import Any, Self

import numpy as np
from sklearn.base import BaseEstimator
from sklearn.utils import check_random_state
from sklearn.utils.validation import check_is_fitted

from relvec.basis import Basis
from relvec.data import RowBlocks
from relvec.design import DESIGNS
from relvec.estimators.callbacks import (
    WRAPPED,
    CallbackSupportMixin,
    Steps,
    Task,
    with_callbacks,
)
from relvec.estimators.candidates import Candidates, check_candidates, n_drawn
from relvec.estimators.dictionaries import held_dictionary
from relvec.estimators.kernel_choice import KernelChoice
from relvec.estimators.learning import (
    Targets,
    check_learning,
    forget,
    learner,
    n_kernels,
)
from relvec.estimators.outcomes import FitWarning, warn_about
from relvec.estimators.progress import progress
from relvec.estimators.training import Training
from relvec.estimators.validation import (
    as_objects,
    check_columns,
    check_kind,
    check_nothing_beside,
    check_same_features,
    note_features,
    validated,
)
from relvec.estimators.warm_start import known_precisions
from relvec.evidence import (
    EvidenceFit,
    EvidenceMaximiser,
    Limits,
    Problem,
    Solver,
    as_hyperprior,
    as_top_down,
    maximise,
    starting_precision,
)
from relvec.likelihoods import Likelihood
from relvec.linalg import single_threaded
from relvec.model import SparseModel
from relvec.parameters import (
    as_bytes,
    as_min_vectors,
    as_weights,
    check_choice,
    check_flag,
    check_level,
    check_search,
)
from relvec.typing import AnyArray, Array


class SparseKernelModel(CallbackSupportMixin, BaseEstimator, ABC):
    """A sparse model over kernel functions centred on the training rows."""

    kernel: Any
    gamma: Any
    degree: Any
    coef0: Any
    fit_intercept: Any
    kernel_learning: Any
    criterion: Any
    n_restarts: Any
    solver: Any
    polish: Any
    hyperprior: Any
    schedule: Any
    design: Any
    candidates: Any
    memory_budget: Any
    selection: Any
    init: Any
    tol: Any
    max_iter: Any
    max_seconds: Any
    min_vectors: Any
    warm_start: Any
    random_state: Any
    verbose: Any

    @with_callbacks  # type: ignore[untyped-decorator]
    def fit(self, X: Any, y: Any = None, sample_weight: Any = None) -> Self:
        """Fit the model.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features) or RowBlocks
            Training rows; objects of any kind if the kernel is a function of such.
            For ``kernel="precomputed"`` the matrix of kernel values between them, of
            shape (n_samples, n_samples), or with centres of its own, of shape
            (n_samples, candidates). Blocks of rows from :func:`relvec.data.scan` bring
            their targets and weights along.
        y : array-like of shape (n_samples,)
            Targets; left out for blocks.
        sample_weight : array-like of shape (n_samples,), optional
            How often each row counts. Rows of weight zero are as if absent.

        Returns
        -------
        object
            The estimator itself.
        """
        self._check_parameters()
        task = Task(self, X, y)
        # The work is done on a copy, so that an interrupted or failed fit leaves
        # the estimator as it was.
        trial = copy(self)
        trial._fit(X, y, sample_weight, task)
        self.__dict__ = trial.__dict__
        task.finish()
        warn_about(self.status_, stacklevel=3 + WRAPPED, words=self._outcome)
        for remark in task.remarks:
            warnings.warn(remark, FitWarning, stacklevel=2 + WRAPPED)
        return self

    @property
    def _outcome(self) -> str:
        """How the fit ended, in words."""
        return self.status_.value

    @abstractmethod
    def _fit(self, X: Any, y: Any, sample_weight: Any, task: Task) -> None:
        """Validate the data, maximise the evidence and keep what was found."""

    def _check_parameters(self) -> None:
        self._kernel_choice.check()
        check_learning(
            self.kernel_learning, self.kernel, self.criterion, self.n_restarts
        )
        as_hyperprior(self.hyperprior, as_top_down(self.solver))
        check_flag("polish", self.polish)
        check_flag("warm_start", self.warm_start)
        as_min_vectors(self.min_vectors, 1)
        check_choice("design", self.design, DESIGNS)
        check_candidates(self.candidates)
        as_bytes("memory_budget", self.memory_budget)
        check_search(
            schedule=self.schedule,
            selection=self.selection,
            init=self.init,
            tol=self.tol,
            max_iter=self.max_iter,
            max_seconds=self.max_seconds,
        )
        check_flag("fit_intercept", self.fit_intercept)
        check_level("verbose", self.verbose)
        if self.init == "bias" and not self.fit_intercept:
            msg = (
                "init='bias' starts from the constant, which fit_intercept=False "
                "leaves out: set fit_intercept=True or init='projection'"
            )
            raise ValueError(msg)

    @property
    def _kernel_choice(self) -> KernelChoice:
        learns = self.kernel_learning is not None
        learned = getattr(self, "learned_kernels_", None) if learns else None
        given = (self.gamma, self.degree, self.coef0)
        return KernelChoice(self._kernels, *given, learned=learned)

    @property
    def _kernels(self) -> Any:
        """The kernel or list of kernels."""
        return self.kernel

    def _training(self, X: Any, y: Any, sample_weight: Any, **checks: Any) -> Training:
        """Validated rows with their targets and weights."""
        choice = self._kernel_choice
        count = n_drawn(self.candidates, n_kernels(self.kernel_learning, choice.number))
        rule = (0 if choice.selects_columns else count, self._seed())
        if isinstance(X, RowBlocks):
            check_nothing_beside(y, sample_weight)
            if choice.precomputed:
                msg = "kernel='precomputed' needs its matrix in memory, not in blocks"
                raise ValueError(msg)
            note_features(self, X)
            return Training.in_blocks(X, *rule)
        X, y = self._rows(X, y, **checks)
        if choice.precomputed:
            check_columns(X, self.candidates)
        return Training.in_arrays(X, y, as_weights(sample_weight, len(X)), *rule)

    def _rows(self, X: Any, *y: Any, **checks: Any) -> Any:
        """Validated rows, and targets: a table of numbers, or of objects."""
        objects = as_objects(X) if self._kernel_choice.takes_objects else None
        if not checks.get("reset", True):
            check_kind(objects is not None, self.relevance_vectors_)
        if objects is None:
            return validated(self, X, *y, **checks)
        # The targets' checks are scikit-learn's all the same.
        places = np.zeros(objects.shape)
        found = validated(self, places, *y, **checks)
        return (objects, found[1]) if y else objects

    def _seed(self) -> int:
        """For everything that is drawn; the same every time unless asked otherwise."""
        if self.random_state is None:
            return 0
        return int(check_random_state(self.random_state).randint(2**31 - 1))

    def _maximise(
        self,
        training: Training,
        targets: Array,
        likelihood: Likelihood,
        task: Task,
        offset: float = 0.0,
    ) -> None:
        """Fit the dictionary to targets (rows, outputs); keep what was found."""
        forget(self)
        everything = Targets(training, targets, likelihood, task, offset)
        if self.kernel_learning is None:
            self._fit_kernel(everything)
        else:
            with progress(int(self.verbose)), single_threaded():
                learner(self.kernel_learning)(self, everything)

    def _fit_kernel(self, targets: Targets) -> EvidenceFit:
        """With kernels as they are."""
        candidates = Candidates.of(
            self._kernel_choice,
            self.candidates,
            targets.training,
            bias=bool(self.fit_intercept),
        )
        return self._fit_candidates(candidates, targets, self._start(candidates))

    def _fit_candidates(
        self,
        candidates: Candidates,
        targets: Targets,
        start: Array | None,
        broadest: Array | None = None,
    ) -> EvidenceFit:
        """With these functions, from these precisions if they are known.

        ``broadest`` are the prior standard deviations that weights may have.
        """
        training, offset = targets.training, targets.offset
        with progress(int(self.verbose)), single_threaded():
            fitting, design = held_dictionary(self, candidates, training)
            if fitting is not candidates:
                candidates, start = fitting, self._start(fitting)
            problem = Problem(
                design=design,
                y=targets.values,
                likelihood=targets.likelihood,
                sample_weight=training.weight,
                bias=0 if candidates.basis.bias else None,
                start=start,
                max_prior_std=broadest,
            )
            attributes = partial(self._fitted_attributes, candidates, offset)
            steps = targets.task.steps(attributes)
            fit = self._searched(problem, training.seed, steps)
        self._keep(candidates, fit, offset)
        return fit

    def _start(self, candidates: Candidates) -> Array | None:
        """Prior precisions to begin with, from an earlier fit or from settings."""
        known = None
        if self.warm_start and hasattr(self, "model_"):
            known = known_precisions(self.model_, candidates.basis)
        top_down = as_top_down(self.solver)
        return starting_precision(top_down, len(candidates.basis), known)

    def _searched(
        self, problem: Problem, seed: int, steps: Steps | None = None
    ) -> EvidenceFit:
        """The maximum of the evidence, within the limits set."""
        solver = self._solver(seed)
        problem = replace(problem, hyperprior=solver.hyperprior)
        seconds = np.inf if self.max_seconds is None else self.max_seconds
        fewest = as_min_vectors(self.min_vectors, problem.design.shape[1])
        limits = Limits(self.max_iter, seconds, fewest if self._from_the_top else 0)
        with progress(int(self.verbose), steps) as callback:
            maximiser = self._maximiser(problem, solver)
            return maximise(problem, maximiser, limits, callback)

    def _maximiser(self, problem: Problem, solver: Solver) -> EvidenceMaximiser[Any]:
        return solver.maximiser

    @property
    def _from_the_top(self) -> str | None:
        """What makes a search begin with all functions, if it does."""
        top_down = as_top_down(self.solver)
        return f"solver={top_down.update!r}" if top_down else None

    def _fitted_attributes(
        self, candidates: Candidates, offset: float, fit: EvidenceFit
    ) -> dict[str, Any]:
        """Of a model that is still being searched for."""
        shadow = copy(self)
        shadow._keep(candidates, fit, offset)
        return shadow.__dict__

    def _solver(self, seed: int) -> Solver:
        top_down = as_top_down(self.solver)
        return Solver(
            top_down=top_down,
            hyperprior=as_hyperprior(self.hyperprior, top_down),
            schedule=self.schedule,
            selection=self.selection,
            start=0 if self.init == "bias" else None,
            tol=self.tol,
            polish=self.polish,
            seed=seed,
        )

    def _keep(self, candidates: Candidates, fit: EvidenceFit, offset: float) -> None:
        """Fitted attributes, from a fit whose functions are in ascending order."""
        posterior = fit.posterior
        basis = candidates.basis.subset(posterior.active)
        functions = posterior.active[basis.bias :] - candidates.basis.bias
        weights, precision = self._weights(posterior.mean), posterior.prior_precision
        self.model_ = SparseModel(basis, posterior, offset)
        self.relevance_ = candidates.numbers[functions]
        self.relevance_kernel_ = candidates.kernels[functions]
        self.relevance_vectors_ = self._vectors(basis)
        self.dual_coef_ = weights[..., basis.bias :].copy()
        self.prior_precision_ = precision[..., basis.bias :].copy()
        held = precision[..., 0] if basis.bias else np.inf
        self.intercept_precision_ = held if np.ndim(held) else float(held)
        constant = weights[..., 0] if basis.bias else np.zeros(weights.shape[:-1])
        self.intercept_ = offset + (constant if constant.ndim else float(constant))
        self.log_evidence_ = fit.log_evidence
        self.n_iter_ = fit.n_iter
        self.history_ = fit.history
        self.status_ = fit.status

    def _weights(self, mean: Array) -> Array:
        """Weights of the outputs (K, n) as users know them, functions last."""
        return mean[0]

    def _vectors(self, basis: Basis) -> AnyArray:
        """The centres of all functions, as rows were given."""
        if self._kernel_choice.selects_columns:
            return np.empty((0, 0))
        vectors = np.concatenate([group.centres for group in basis.groups])
        single = vectors.dtype == object and vectors.shape[1] == 1
        return vectors[:, 0] if single else vectors

    def _latent(self, X: Any) -> tuple[Array, Array]:
        """Mean and variance of the latent functions (n_rows, outputs) each."""
        check_is_fitted(self)
        if not isinstance(X, RowBlocks):
            return self.model_.latent(self._rows(X, reset=False))
        check_same_features(self, X)
        parts = [self.model_.latent(block.X) for block in X]
        means, variances = zip(*parts, strict=True)
        return np.concatenate(means), np.concatenate(variances)

    @property
    def coef_(self) -> AnyArray:
        """Weights of the features, for ``kernel="linear"`` and ``kernel=None``."""
        check_is_fitted(self)
        if self.kernel is None:
            weights = np.zeros((*self.dual_coef_.shape[:-1], self.n_features_in_))
            weights[..., self.relevance_] = self.dual_coef_
            return weights
        if isinstance(self.kernel, str) and self.kernel == "linear":
            return self.dual_coef_ @ self.relevance_vectors_
        msg = "coef_ exists only for kernel='linear' and kernel=None"
        raise AttributeError(msg)

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        # A matrix with centres of its own is cut by rows alone, like features.
        own = isinstance(self.candidates, Integral)
        tags.input_tags.pairwise = self._kernel_choice.precomputed and not own
        return tags
