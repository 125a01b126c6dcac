"""What relevance vector regression and classification share."""

import logging
import sys
import warnings
from abc import ABC, abstractmethod
from collections.abc import Iterator
from contextlib import contextmanager
from copy import copy
from typing import Any, Self

import numpy as np
from sklearn.base import BaseEstimator
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils import check_random_state
from sklearn.utils.validation import check_is_fitted, validate_data

from relvec.design import DenseDesign
from relvec.estimators.candidates import Candidates, KernelChoice
from relvec.evidence import (
    Callback,
    EvidenceFit,
    Limits,
    Problem,
    Sequential,
    Snapshot,
    Status,
    maximise,
)
from relvec.likelihoods import Likelihood
from relvec.model import SparseModel
from relvec.parameters import (
    check_choice,
    check_flag,
    check_level,
    check_search,
)
from relvec.typing import AnyArray, Array

logger = logging.getLogger("relvec")
logger.addHandler(logging.NullHandler())


class FitWarning(UserWarning):
    """A fit that ended in a special case; the message says what to do."""


class SparseKernelModel(BaseEstimator, ABC):
    """A sparse model over kernel functions centred on the training rows."""

    kernel: Any
    gamma: Any
    degree: Any
    coef0: Any
    fit_intercept: Any
    solver: Any
    design: Any
    selection: Any
    init: Any
    tol: Any
    max_iter: Any
    max_seconds: Any
    random_state: Any
    verbose: Any

    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> Self:
        """Fit the model.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Training rows; for ``kernel="precomputed"`` the matrix of kernel values
            between them, of shape (n_samples, n_samples).
        y : array-like of shape (n_samples,)
            Targets.
        sample_weight : array-like of shape (n_samples,), optional
            How often each row counts. Rows of weight zero are as if absent.

        Returns
        -------
        object
            The estimator itself.
        """
        # The work is done on a copy, so that an interrupted or failed fit leaves
        # the estimator as it was.
        trial = copy(self)
        trial._check_parameters()
        trial._fit(X, y, sample_weight)
        self.__dict__ = trial.__dict__
        _warn_about(self.status_)
        return self

    @abstractmethod
    def _fit(self, X: Any, y: Any, sample_weight: Any) -> None:
        """Validate the data, maximise the evidence and keep what was found."""

    def _check_parameters(self) -> None:
        self._kernel_choice.check()
        check_choice("solver", self.solver, ("sequential",))
        check_choice("design", self.design, ("auto", "dense"))
        check_search(
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
        return KernelChoice(self.kernel, self.gamma, self.degree, self.coef0)

    def _maximise(
        self,
        X: Array,
        targets: Array,
        sample_weight: Array,
        likelihood: Likelihood,
        offset: float = 0.0,
    ) -> EvidenceFit:
        """Fit the dictionary to targets (n_samples,) and keep what was found."""
        bias = bool(self.fit_intercept)
        candidates = Candidates.from_rows(
            self._kernel_choice, X, sample_weight, bias=bias
        )
        present = sample_weight > 0
        weights = sample_weight[present]
        functions = candidates.basis(X[present])
        problem = Problem(
            design=DenseDesign.weighted(functions, weights),
            y=targets[present, None],
            likelihood=likelihood,
            sample_weight=weights,
            bias=0 if bias else None,
        )
        seconds = np.inf if self.max_seconds is None else self.max_seconds
        with _progress(int(self.verbose)) as callback:
            fit = maximise(
                problem, self._maximiser(), Limits(self.max_iter, seconds), callback
            )
        self._keep(candidates, fit, offset)
        return fit

    def _maximiser(self) -> Sequential:
        return Sequential(
            selection=self.selection,
            start=0 if self.init == "bias" else None,
            tol=self.tol,
            seed=int(check_random_state(self.random_state).randint(2**31 - 1)),
        )

    def _keep(self, candidates: Candidates, fit: EvidenceFit, offset: float) -> None:
        """Fitted attributes, from a fit whose functions are in ascending order."""
        posterior = fit.posterior
        basis = candidates.basis.subset(posterior.active)
        functions = posterior.active[basis.bias :] - candidates.basis.bias
        weights, precision = posterior.mean[0], posterior.prior_precision
        self.model_ = SparseModel(basis, posterior, offset)
        self.relevance_ = candidates.numbers[functions]
        self.relevance_vectors_ = (
            np.empty((0, 0)) if self._kernel_choice.selects_columns else basis.centres
        )
        self.dual_coef_ = weights[basis.bias :].copy()
        self.prior_precision_ = precision[basis.bias :].copy()
        self.intercept_ = offset + (float(weights[0]) if basis.bias else 0.0)
        self.intercept_precision_ = float(precision[0]) if basis.bias else np.inf
        self.log_evidence_ = fit.log_evidence
        self.n_iter_ = fit.n_iter
        self.history_ = fit.history
        self.status_ = fit.status

    def _validated(self, X: Any, *y: Any, **checks: Any) -> Any:
        """scikit-learn's validation, with a remedy where a column holds text."""
        try:
            return validate_data(self, X, *y, dtype=np.float64, **checks)
        except ValueError as error:
            if "could not convert string" not in str(error):
                raise
            msg = (
                f"X or y holds text ({error}): encode it as numbers first, for "
                "instance with sklearn.preprocessing.OneHotEncoder"
            )
            raise ValueError(msg) from error

    def _latent(self, X: Any) -> tuple[Array, Array]:
        """Mean and variance of the latent function (n_rows,) each."""
        check_is_fitted(self)
        rows = self._validated(X, reset=False)
        mean, variance = self.model_.latent(rows)
        return mean[:, 0], variance[:, 0]

    @property
    def coef_(self) -> AnyArray:
        """Weights of the features, for ``kernel="linear"`` and ``kernel=None``."""
        check_is_fitted(self)
        if self.kernel is None:
            weights = np.zeros(self.n_features_in_)
            weights[self.relevance_] = self.dual_coef_
            return weights
        if isinstance(self.kernel, str) and self.kernel == "linear":
            return self.dual_coef_ @ self.relevance_vectors_
        msg = "coef_ exists only for kernel='linear' and kernel=None"
        raise AttributeError(msg)

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.pairwise = self._kernel_choice.precomputed
        return tags


def _warn_about(status: Status) -> None:
    if status in {Status.CONVERGED, Status.STOPPED}:
        return
    category = FitWarning if status.success else ConvergenceWarning
    warnings.warn(status.value, category, stacklevel=3)


@contextmanager
def _progress(verbose: int) -> Iterator[Callback | None]:
    """A callback that logs a line now and then, on stderr unless logging is set up."""
    if not verbose:
        yield None
        return
    interval = max(1, 100 // verbose)

    def log(news: Snapshot) -> None:
        if news.iteration % interval == 0 or news.iteration == 1:
            line = "%5d> L = %.3f  Gamma = %.2f (nz = %d)  s = %.3f"
            values = (news.log_evidence, news.gamma, news.n_vectors, news.noise_std)
            logger.info(line, news.iteration, *values)

    handler = logging.StreamHandler(sys.stderr)
    level, unheard = logger.level, not logging.getLogger().handlers
    try:
        logger.setLevel(logging.INFO)
        if unheard:
            logger.addHandler(handler)
        yield log
    finally:
        logger.setLevel(level)
        logger.removeHandler(handler)
