"""What relevance vector regression and classification share."""

from abc import ABC, abstractmethod
from functools import partial
from numbers import Integral
from typing import Any, Self

import numpy as np
from sklearn.base import BaseEstimator
from sklearn.utils import check_random_state
from sklearn.utils.validation import check_is_fitted

from relvec.data import is_row_blocks
from relvec.design import DESIGNS, Budget
from relvec.estimators.attributes import OPTIONAL, fitted_attributes
from relvec.estimators.callbacks import (
    WRAPPED,
    CallbackSupportMixin,
    Task,
    with_callbacks,
)
from relvec.estimators.kernels import KernelChoice
from relvec.estimators.outcomes import tell
from relvec.estimators.validation import (
    as_centres,
    as_objects,
    check_candidates,
    check_columns,
    check_kind,
    check_nothing_beside,
    check_same_features,
    features_kept,
    is_centres,
    n_drawn,
    note_features,
    validated,
)
from relvec.evidence import Deadline, Limits, Solver, as_solver
from relvec.kernel_search import (
    Learning,
    LengthScales,
    as_learning,
    learn,
    n_kernels,
)
from relvec.modelling import (
    AtRows,
    Centres,
    Family,
    Fit,
    FittedModel,
    Given,
    InColumns,
    Monitor,
    Specification,
    TrainingRows,
    fit,
    heard,
    in_arrays,
    in_blocks,
    logged,
)
from relvec.parameters import (
    as_bytes,
    as_weights,
    check_choice,
    check_count,
    check_flag,
    check_level,
    check_positive,
)
from relvec.typing import AnyArray

_COPIED = 0.1  # of the memory budget, for rows in an order of their own


class SparseKernelModel(CallbackSupportMixin, BaseEstimator, ABC):
    """A sparse model over kernel functions centred on the training rows."""

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
        task = Task(self, X, y, self._attributes)
        verbose = int(self.verbose)
        with features_kept(self), heard(verbose):
            model = self._fitted(X, y, sample_weight, logged(verbose, task.search))
            self._keep(self._attributes(model))
        task.finish()
        tell(model, stacklevel=3 + WRAPPED)
        return self

    @abstractmethod
    def _fitted(self, X: Any, y: Any, sample_weight: Any, monitor: Monitor) -> Any:
        """The model of these data; of the estimator only its features are noted."""

    def _keep(self, attributes: dict[str, Any]) -> None:
        """Become the estimator that was fitted; what could fail is done by now."""
        for name in OPTIONAL:
            if name in vars(self):
                delattr(self, name)
        for name, value in attributes.items():
            setattr(self, name, value)

    def _attributes(self, model: Any) -> dict[str, Any]:
        """Fitted attributes by name."""
        return fitted_attributes(model)

    def _check_parameters(self) -> None:
        choice = self._kernel_choice
        choice.check()
        as_learning(self.kernel_learning, self.kernel)
        check_flag("warm_start", self.warm_start)
        check_choice("design", self.design, DESIGNS)
        check_candidates(self.candidates)
        as_bytes("memory_budget", self.memory_budget)
        check_positive("tol", self.tol)
        check_count("max_iter", self.max_iter)
        if self.max_seconds is not None:
            check_positive("max_seconds", self.max_seconds)
        check_flag("fit_intercept", self.fit_intercept)
        check_level("verbose", self.verbose)
        if as_solver(self.solver).begins_with_constant and not self.fit_intercept:
            raise ValueError(
                f"solver={self.solver!r} starts from the constant, which fit_intercept="
                "False leaves out: set fit_intercept=True or its init to 'projection'"
            )
        self._check_candidates_count(choice)

    def _check_candidates_count(self, choice: KernelChoice) -> None:
        """Refuse candidates that the columns of X would make no use of."""
        by_rule = isinstance(self.candidates, str)
        counted = choice.precomputed and isinstance(self.candidates, Integral)
        if choice.selects_columns and not (by_rule or counted):
            given = repr(self.candidates)
            if is_centres(self.candidates):
                given = f"{type(self.candidates).__name__} of centres"
            raise ValueError(
                f"candidates={given} has no use with kernel={self.kernel!r}, whose "
                "candidates are the columns of X: leave it at 'auto'"
            )

    @property
    def _kernel_choice(self) -> KernelChoice:
        return KernelChoice(self._kernels, self.gamma, self.degree, self.coef0)

    @property
    def _kernels(self) -> Any:
        """The kernel or list of kernels."""
        return self.kernel

    @property
    def _n_kernels(self) -> int:
        return self._kernel_choice.number  # of one model

    @property
    def _learning(self) -> Learning | None:
        """What is learned of the kernel; its width where nothing else is asked for."""
        asked = as_learning(self.kernel_learning, self.kernel)
        return LengthScales() if asked is None and self._learns_width else asked

    @property
    def _learns_width(self) -> bool:
        return self.kernel_learning is None and self._kernel_choice.learns

    @property
    def _fit_function(self) -> Fit:
        """What fits one model, with its kernels as they are or learned."""
        learning = self._learning
        return fit if learning is None else partial(learn, learning)

    def _solver(self) -> Solver:
        return as_solver(self.solver)

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

    def _specification(
        self, rows: TrainingRows, family: Family, deadline: Deadline
    ) -> Specification:
        """Of a model of these rows."""
        return Specification(
            kernels=self._kernel_choice.resolve(rows),
            family=family,
            centres=self._centres(rows),
            intercept=bool(self.fit_intercept),
            design=self.design,
            budget=Budget(as_bytes("memory_budget", self.memory_budget)),
            solver=self._solver(),
            tol=self.tol,
            limits=Limits(self.max_iter, deadline),
            seed=rows.seed,
        )

    def _centres(self, rows: TrainingRows) -> Centres:
        choice, wanted = self._kernel_choice, self.candidates
        if choice.selects_columns:
            square = choice.precomputed and not isinstance(wanted, Integral)
            return InColumns(square)
        if is_centres(wanted):
            return Given(as_centres(wanted, rows))
        return AtRows(adjustable=isinstance(wanted, str) and wanted == "auto")

    def _start(self, key: Any = None) -> FittedModel | None:
        """The earlier model that a fit begins with, or the one of some classes."""
        # In a dictionary of several scales no kernel has the place that it had before.
        several = n_kernels(self._learning, 1) > 1
        if several or not (self.warm_start and hasattr(self, "model_")):
            return None
        return self.model_.start_for(key)

    def _training_rows(
        self, X: Any, y: Any, sample_weight: Any, **checks: Any
    ) -> tuple[TrainingRows, AnyArray]:
        """Validated rows that count, and their targets as given."""
        choice = self._kernel_choice
        number = n_kernels(self._learning, self._n_kernels)
        # A search that looks at some functions at a time may have them all.
        every = self._solver().selective and number == self._n_kernels
        count = n_drawn(self.candidates, number, every=every and not is_row_blocks(X))
        rule = (0 if choice.selects_columns else count, self._seed())
        if is_row_blocks(X):
            check_nothing_beside(y, sample_weight)
            if choice.precomputed:
                msg = "kernel='precomputed' needs its matrix in memory, not in blocks"
                raise ValueError(msg)
            note_features(self, X.n_features, X.feature_names)
            kept = 0.0 if self.design == "streamed" else self._room
            return in_blocks(X, *rule, room=kept)
        X, y = self._rows(X, y, **checks)
        if choice.precomputed:
            check_columns(X, self.candidates)
        weight = as_weights(sample_weight, len(X))
        return in_arrays(
            X,
            y,
            weight,
            *rule,
            names=self._feature_names,
            square=choice.precomputed and not isinstance(self.candidates, Integral),
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

    def _predictive(self, X: Any) -> Any:
        """The distribution of the targets of some rows."""
        check_is_fitted(self)
        if is_row_blocks(X):
            check_same_features(self, X)
            return self.model_.predictive(X)
        return self.model_.predictive(self._rows(X, reset=False))

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
        raise AttributeError("coef_ exists only for kernel='linear' and kernel=None")

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        # A matrix with centres of its own is cut by rows alone, like features.
        own = isinstance(self.candidates, Integral)
        tags.input_tags.pairwise = self._kernel_choice.precomputed and not own
        return tags
