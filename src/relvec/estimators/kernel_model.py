"""What all estimators with kernels share: the frame of a fit, kernels, attributes.

A fit changes nothing of an estimator until it has ended. scikit-learn's callbacks are
called where the installed version has them: a fit is a task, and every accepted step of
the search is a task below it. A callback that returns True stops the fit. Methods that
predict return lazy arrays for Dask collections.
"""

import warnings
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial, wraps
from typing import Any, Literal, Self, TypeVar, overload

import numpy as np
from sklearn.base import BaseEstimator, RegressorMixin
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils.validation import check_is_fitted

from relvec.data import dask_blocks, is_dask, is_row_blocks, lazily
from relvec.estimators.kernels import KernelChoice
from relvec.estimators.validation import (
    as_objects,
    as_seed,
    check_columns,
    check_kind,
    check_nothing_beside,
    check_same_features,
    features_kept,
    note_features,
    validated,
)
from relvec.evidence import Callback, EvidenceFit, Snapshot, Status
from relvec.model_file import Savable
from relvec.modelling import (
    Monitor,
    TrainingRows,
    in_arrays,
    in_blocks,
    log_to_stderr,
    logged,
)
from relvec.notebook import fitted_html
from relvec.parameters import (
    as_bytes,
    as_weights,
    check_choice,
    check_flag,
    check_level,
)
from relvec.typing import AnyArray, Array

try:
    from sklearn.callback import CallbackSupportMixin, with_callbacks

    WRAPPED = 1  # calls between a method and the user
except ImportError:  # scikit-learn before 1.9
    WRAPPED = 0

    class CallbackSupportMixin:  # type: ignore[no-redef]
        """Nothing to support."""

    def with_callbacks(method: Any) -> Any:
        """The method itself."""
        return method


__all__ = [
    "FitWarning",
    "KernelModel",
    "KernelRegressor",
    "as_blocks",
    "fitted_attributes",
    "lazy_on_collections",
    "tell",
    "with_callbacks",
]


class Task:
    """Tells scikit-learn's callbacks about a fit, if the estimator has any.

    ``attributes`` makes fitted attributes of a model.
    """

    def __init__(
        self,
        estimator: Any,
        X: Any,
        y: Any,
        attributes: Callable[[Any], dict[str, Any]],
    ) -> None:
        self._told = {"estimator": estimator, "X": X, "y": y}
        self._attributes = attributes
        self._context = None
        if getattr(estimator, "_skl_callbacks", None):
            self._context = estimator._init_callback_context(max_subtasks=None)
            self._context.call_on_fit_task_begin(**self._told)

    @contextmanager
    def search(
        self, model_of: Callable[[EvidenceFit], Any]
    ) -> Iterator[Callback | None]:
        """Open the search; yields a callback that ends one step and begins the next."""
        if self._context is None:
            yield None
            return
        step = self._begun()

        def after(news: Snapshot) -> bool:
            nonlocal step
            assert news.fit is not None
            fit = news.fit
            stop = step.call_on_fit_task_end(
                reconstruction_attributes=lambda: self._attributes(model_of(fit())),
                **self._told,
            )
            step = self._begun()
            return bool(stop)

        try:
            yield after
        finally:
            # The step that was begun last will not be taken.
            step.call_on_fit_task_end(estimator=self._told["estimator"])

    def finish(self) -> None:
        """End the task: the estimator is fitted."""
        if self._context is not None:
            self._context.call_on_fit_task_end(
                reconstruction_attributes={}, **self._told
            )

    def _begun(self) -> Any:
        assert self._context is not None
        step = self._context.subcontext(task_name="step")
        step.call_on_fit_task_begin(**self._told)
        return step


class FitWarning(UserWarning):
    """A fit that ended in a special case; the message says what to do."""


def tell(model: Any, stacklevel: int) -> None:
    """Warn if a fit did not converge, and issue the model's remarks."""
    if model.status not in {Status.CONVERGED, Status.STOPPED}:
        category = FitWarning if model.status.success else ConvergenceWarning
        warnings.warn(model.outcome, category, stacklevel=stacklevel)
    # A fit that was stopped has its own warning.
    calibration = model.calibration if model.status.success else None
    if calibration is not None and calibration.warning is not None:
        warnings.warn(calibration.warning, FitWarning, stacklevel=stacklevel)
    for remark in model.remarks:
        warnings.warn(remark, FitWarning, stacklevel=stacklevel)


Method = TypeVar("Method", bound=Callable[..., Any])


def as_blocks(X: Any, y: Any, sample_weight: Any) -> tuple[Any, Any, Any]:
    """Convert a Dask collection to blocks with their targets and weights."""
    if not is_dask(X):
        return X, y, sample_weight
    return dask_blocks(X, y, sample_weight), None, None


def lazy_on_collections(method: Method) -> Method:
    """Make a method of X return lazy arrays for Dask collections."""

    @wraps(method)
    def called(self: Any, X: Any, *others: Any, **named: Any) -> Any:
        if not is_dask(X):
            return method(self, X, *others, **named)
        check_is_fitted(self)
        return lazily(partial(_of_rows, method, self, others, named), X)

    return called  # type: ignore[return-value]


def _of_rows(
    method: Callable[..., Any],
    model: Any,
    others: tuple[Any, ...],
    named: dict[str, Any],
    X: Any,
) -> Any:
    return method(model, X, *others, **named)


# Attributes that only some fits set; the next fit removes them.
OPTIONAL = (
    "accumulated_",
    "calibration_",
    "degrees_of_freedom_",
    "dispersion_",
    "estimators_",
    "kernel_",
    "kernel_weights_",
    "kernel_history_",
    "length_scales_",
    "feature_relevance_",
    "leave_one_out_error_",
    "n_partitions_",
    "noise_variance_",
    "partition_history_",
    "partition_size_",
    "sparseness_ratio_",
    "tuning_history_",
)


def fitted_attributes(model: Any) -> dict[str, Any]:
    """Fitted attributes by name, of one model or several."""
    model = model.in_order()
    learned = {
        "kernel_": model.learned.kernel,
        "kernel_weights_": model.learned.weights,
        "kernel_history_": model.learned.history,
        "length_scales_": model.learned.length_scales,
        "feature_relevance_": model.learned.feature_relevance,
        "calibration_": model.calibration,
    }
    parts = model.partition
    if parts is not None:
        learned |= {
            "partition_size_": parts.size,
            "n_partitions_": parts.number,
            "sparseness_ratio_": parts.sparseness_ratio,
            "partition_history_": parts.history,
        }
    return {
        "model_": model,
        "relevance_": model.indices,
        "relevance_kernel_": model.kernel_indices,
        "relevance_vectors_": model.centres,
        "dual_coef_": model.weights,
        "prior_precision_": model.prior_precision,
        "intercept_": model.intercept,
        "intercept_precision_": model.intercept_precision,
        "log_evidence_": model.log_evidence,
        "n_iter_": model.n_iter,
        "history_": model.history,
        "status_": model.status,
        **{name: value for name, value in learned.items() if value is not None},
    }


_COPIED = 0.1  # of the memory budget, for rows in an order of their own


class KernelModel(CallbackSupportMixin, Savable, BaseEstimator, ABC):
    """A model over kernel functions centred on the training rows."""

    @with_callbacks  # type: ignore[untyped-decorator]
    def fit(self, X: Any, y: Any = None, sample_weight: Any = None) -> Self:
        """Fit the model.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features), RowBlocks or Dask collection
            Training rows; objects of any kind if the kernel is a function of such.
            For ``kernel="precomputed"`` the matrix of kernel values between them, of
            shape (n_samples, n_samples), or for RVR and RVC with centres of its own, of
            shape (n_samples, candidates). Blocks of rows from :func:`relvec.data.scan`
            bring their targets and weights along, and so do the delayed blocks of a
            list. A Dask array or data frame is worked on where it is.
        y : array-like of shape (n_samples,)
            Targets; left out for blocks. RVR takes several for each row, of shape
            (n_samples, n_outputs), and predicts as many.
        sample_weight : array-like of shape (n_samples,), optional
            How often each row counts. Rows of weight zero are as if absent.

        Returns
        -------
        object
            The estimator itself.
        """
        return self._fit(X, y, sample_weight, self._fitted)

    def _fit(
        self, X: Any, y: Any, sample_weight: Any, fitted: Callable[..., Any]
    ) -> Self:
        """Check parameters, make the model with ``fitted``, and set the attributes."""
        self._check_parameters()
        task = Task(self, X, y, self._attributes)
        X, y, sample_weight = as_blocks(X, y, sample_weight)
        verbose = int(self.verbose)
        with features_kept(self), log_to_stderr(verbose):
            model = fitted(X, y, sample_weight, logged(verbose, task.search))
            self._keep(self._attributes(model))
        task.finish()
        tell(model, stacklevel=4 + WRAPPED)
        return self

    def restored(self, model: Any) -> Self:
        """Set the fitted attributes of a model that was fitted before."""
        self._check_parameters()
        note_features(self, model.features.number, model.features.names)
        self._keep(self._attributes(model))
        return self

    @abstractmethod
    def _fitted(self, X: Any, y: Any, sample_weight: Any, monitor: Monitor) -> Any:
        """Fit a model to these data; only features are noted on the estimator."""

    @abstractmethod
    def _attributes(self, model: Any) -> dict[str, Any]:
        """Fitted attributes by name."""

    def _keep(self, attributes: dict[str, Any]) -> None:
        """Set the fitted attributes; nothing can fail from here on."""
        for name in OPTIONAL:
            if name in vars(self):
                delattr(self, name)
        for name, value in attributes.items():
            setattr(self, name, value)

    @property
    def _repr_html_(self) -> Callable[[], str]:
        # scikit-learn has none, and raises, where diagrams are switched off.
        diagram = super()._repr_html_
        return lambda: diagram() + fitted_html(self)

    def _repr_mimebundle_(self, **kwargs: Any) -> dict[str, str]:
        bundle: dict[str, str] = super()._repr_mimebundle_(**kwargs)
        if "text/html" in bundle:
            bundle["text/html"] += fitted_html(self)
        return bundle

    def _check_parameters(self) -> None:
        self._kernel_choice.check()
        as_bytes("memory_budget", self.memory_budget)
        check_flag("fit_intercept", self.fit_intercept)
        check_level("verbose", self.verbose)

    @property
    def _kernel_choice(self) -> KernelChoice:
        return KernelChoice(self._kernels, self.gamma, self.degree, self.coef0)

    @property
    def _kernels(self) -> Any:
        """The kernel or list of kernels."""
        return self.kernel

    def set_params(self, **params: Any) -> Self:
        """As scikit-learn has it; what is given by name has no settings to set."""
        for name in params:
            owner, _, setting = name.partition("__")
            given = params.get(owner, getattr(self, owner, None))
            if setting and isinstance(given, str):
                raise ValueError(
                    f"{owner}={given!r} is a name, which has no settings: to set "
                    f"{setting!r}, give {owner} as an object"
                )
        return super().set_params(**params)

    def _taken(
        self,
        X: Any,
        y: Any,
        sample_weight: Any,
        *,
        n_drawn: int,
        n_columns: int | None = None,
        streamed: bool = False,
        **checks: Any,
    ) -> tuple[TrainingRows, AnyArray]:
        """Validated rows that count, some of them drawn, and their targets as given.

        ``n_columns`` are those of a kernel matrix that need not be square.
        """
        precomputed, rule = self._kernel_choice.precomputed, (n_drawn, self._seed())
        if is_row_blocks(X):
            check_nothing_beside(y, sample_weight)
            if precomputed:
                msg = "kernel='precomputed' needs its matrix in memory, not in blocks"
                raise ValueError(msg)
            note_features(self, X.n_features, X.feature_names)
            return in_blocks(X, *rule, room=0.0 if streamed else self._room)
        X, y = self._rows(X, y, **checks)
        if precomputed:
            check_columns(X, n_columns)
        return in_arrays(
            X,
            y,
            as_weights(sample_weight, len(X)),
            *rule,
            names=self._feature_names,
            square=precomputed and n_columns is None,
            room=self._room,
        )

    @property
    def _room(self) -> float:
        """Bytes that a copy of the rows may take."""
        return _COPIED * as_bytes("memory_budget", self.memory_budget)

    @property
    def _feature_names(self) -> tuple[str, ...] | None:
        return tuple(getattr(self, "feature_names_in_", ())) or None

    def _rows(self, X: Any, *y: Any, **checks: Any) -> Any:
        """Validated rows, and targets: a table of numbers, or of objects."""
        objects = as_objects(X) if self._kernel_choice.takes_objects else None
        if not checks.get("reset", True):
            check_kind(objects is not None, self.model_.centres)
        if objects is None:
            return validated(self, X, *y, **checks)
        # The targets' checks are scikit-learn's all the same.
        places = np.zeros(objects.shape)
        found = validated(self, places, *y, **checks)
        return (objects, found[1]) if y else objects

    def _seed(self) -> int:
        """The seed of everything that is drawn in a fit."""
        return as_seed(self.random_state)

    def _checked(self, X: Any) -> Any:
        """Validated rows to predict."""
        check_is_fitted(self)
        if is_row_blocks(X):
            check_same_features(self, X)
            return X
        return self._rows(X, reset=False)

    def _predictive(self, X: Any) -> Any:
        """The distribution of the targets of some rows."""
        rows = self._checked(X)
        return self.model_.predictive(rows)


class KernelRegressor(RegressorMixin, KernelModel):
    """Targets that are numbers, predicted with error bars."""

    @overload
    def predict(self, X: Any, return_std: Literal[False] = False) -> Array: ...

    @overload
    def predict(self, X: Any, return_std: Literal[True]) -> tuple[Array, Array]: ...

    @lazy_on_collections
    def predict(self, X: Any, return_std: bool = False) -> Array | tuple[Array, Array]:
        """Predict targets, with their standard deviation if asked.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features), RowBlocks or Dask collection
            Rows to predict; for ``kernel="precomputed"`` kernel values between them
            and all training rows. Blocks are read one at a time; of a Dask array or
            data frame the results are lazy Dask arrays.
        return_std : bool, default=False
            Whether to return the standard deviation of the targets, noise included.
            That of LSSVR grows to that of the prior where there are no data.

        Returns
        -------
        mean : ndarray of shape (n_samples,)
            Predicted targets.
        std : ndarray of shape (n_samples,)
            Their standard deviation; only with ``return_std=True``.
        """
        rows = self._checked(X)
        if not return_std:
            return self.model_.predicted(rows)
        found = self._with_bars(rows)
        return found.mean, found.std

    @lazy_on_collections
    def predict_interval(
        self, X: Any, coverage: float = 0.9, calibration: str | None = None
    ) -> tuple[Array, Array]:
        """Bounds between which a target lies with the given probability.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features), RowBlocks or Dask collection
            Rows to predict.
        coverage : float, default=0.9
            The probability, the same below and above.
        calibration : {None, "loo"}, default=None
            Whose quantiles: those of the distribution that the model has, or of the
            training rows, each predicted without itself: the standard deviation is
            multiplied by the ⌈(n + 1)·coverage⌉-th smallest of ``|y − mean|/std`` of n
            such rows, ``coverage`` in steps of half a per cent, upwards. That holds for
            noise of any shape; rows are then those that the fit has left out, 5000 at
            most, which LSSVR knows with ``tune="loo"``.

        Returns
        -------
        lower, upper : ndarray of shape (n_samples,)
            Quantiles of a Gaussian; of a Student-t distribution for few rows, and where
            ``degrees_of_freedom_`` of RVR are finite. With ``calibration``, those of
            residuals.

        Examples
        --------
        >>> import numpy as np
        >>> from relvec import RVR
        >>> from relvec.data import noisy_sinc
        >>> X, y = noisy_sinc(100, seed=0)
        >>> model = RVR(gamma=1 / 9).fit(X, y)
        >>> lower, upper = model.predict_interval(X, coverage=0.9)
        >>> bool(0.8 < np.mean((lower < y) & (y < upper)) < 1)
        True
        >>> lower, upper = model.predict_interval(X, 0.9, calibration="loo")
        >>> bool(0.8 < np.mean((lower < y) & (y < upper)) < 1)
        True
        """
        found = self._with_bars(self._checked(X))
        if calibration is None:
            return found.interval(coverage)
        check_choice("calibration", calibration, ("loo",))
        residuals = self.model_.residuals
        if residuals is None:
            raise ValueError(f"calibration='loo' {self._no_residuals}")
        return residuals.interval(found, coverage)

    _no_residuals = (
        "needs rows that fit has left out, of which this model has none: they are not "
        "known of rows that partial_fit was given, of blocks of which none was drawn, "
        "of counts, nor of a file that an earlier version has written; fit real "
        "targets of rows in memory, or leave out calibration"
    )

    def _with_bars(self, rows: Any) -> Any:
        """The distribution of the targets of rows that were checked."""
        return self.model_.predictive(rows)
