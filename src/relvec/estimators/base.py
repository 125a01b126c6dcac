"""What relevance vector regression and classification share."""

import warnings
from functools import partial
from numbers import Integral
from typing import Any, Self

import numpy as np
from sklearn.utils.validation import check_is_fitted

from relvec.chance import generator
from relvec.data import RowBlocks, is_dask, is_distributed, is_row_blocks
from relvec.design import DEPRECATED_DESIGNS, DESIGNS, Budget
from relvec.estimators.kernel_model import KernelModel, fitted_attributes
from relvec.estimators.kernels import KernelChoice
from relvec.estimators.validation import (
    MOST_CANDIDATES,
    as_centres,
    as_seed,
    check_candidates,
    check_nothing_beside,
    is_centres,
    n_drawn,
    note_features,
)
from relvec.evidence import Deadline, Limits, Solver, as_solver
from relvec.kernel_search import (
    Adaptive,
    KernelFamily,
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
)
from relvec.parameters import (
    as_bytes,
    check_choice,
    check_count,
    check_flag,
    check_positive,
)
from relvec.partition import (
    DatasetSummary,
    DistributedRows,
    as_partition,
    check_partition,
    check_size,
    divide_and_conquer,
    fit_partitioned,
)
from relvec.typing import AnyArray, Array

_FUNCTIONS = 11  # what is drawn of a posterior, by the seed


class SparseKernelModel(KernelModel):
    """A sparse model over kernel functions centred on the training rows."""

    def _attributes(self, model: Any) -> dict[str, Any]:
        return fitted_attributes(model)

    def restored(self, model: Any) -> Self:
        """Set the fitted attributes of a model that was fitted before."""
        if self._kernel_choice.selects_columns != model.selects_columns:
            raise ValueError(
                f"kernel={self.kernel!r} does not belong to this model: None and "
                "'precomputed' are for models of columns, all others for models of "
                "kernel functions"
            )
        return super().restored(model)

    def _check_design(self) -> None:
        if self.design not in DEPRECATED_DESIGNS:
            check_choice("design", self.design, DESIGNS)
            return
        warnings.warn(
            f"design={self.design!r} is deprecated and means 'auto': large problems "
            "are searched on some rows and candidates first, then on all rows",
            FutureWarning,
            stacklevel=5,
        )

    def _check_parameters(self) -> None:
        super()._check_parameters()
        as_learning(self.kernel_learning, self.kernel)
        check_flag("warm_start", self.warm_start)
        self._check_design()
        check_choice("uncertainty", self.uncertainty, ("augmented", "plain"))
        check_candidates(self.candidates)
        self._check_partition(self.partition)
        check_positive("tol", self.tol)
        check_count("max_iter", self.max_iter)
        if self.max_seconds is not None:
            check_positive("max_seconds", self.max_seconds)
        if as_solver(self.solver).begins_with_constant and not self.fit_intercept:
            raise ValueError(
                f"solver={self.solver!r} starts from the constant, which fit_intercept="
                "False leaves out: set fit_intercept=True or its init to 'projection'"
            )
        self._check_candidates_count(self._kernel_choice)

    def _check_partition(self, partition: Any) -> None:
        own = n_kernels(self._learning, 1) > 1 or isinstance(self._learning, Adaptive)
        placed = self._kernel_choice.selects_columns or is_centres(self.candidates)
        size = self.partition_size
        check_partition(partition, size, at_rows=not placed, own_widths=own)

    def _check_candidates_count(self, choice: KernelChoice) -> None:
        """Reject ``candidates`` where the columns of X are the candidates."""
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
    def _n_kernels(self) -> int:
        return self._kernel_choice.number  # of one model

    @property
    def _learning(self) -> Learning | None:
        """What to learn about the kernel; by default its width."""
        if not self._learns_width:
            return as_learning(self.kernel_learning, self.kernel)
        return KernelFamily() if self._kernel_choice.learns_family else LengthScales()

    @property
    def _learns_width(self) -> bool:
        return self.kernel_learning is None and self._kernel_choice.learns

    def _fit_function(self, learning: Learning | None) -> Fit:
        """The function that fits one model, learning its kernel if asked to."""
        partition = as_partition(self.partition)
        if partition is not None:
            return partial(fit_partitioned, partition, self.partition_size, learning)
        if self.partition_size != "auto":
            raise ValueError(
                f"partition_size={self.partition_size!r} has no use without partition: "
                "give both, or none"
            )
        return fit if learning is None else partial(learn, learning)

    def _is_distributed(self, X: Any) -> bool:
        """Whether rows stay distributed and only sums over them are collected."""
        return is_distributed(X) or (is_row_blocks(X) and self.partition is not None)

    def _summarised(self, X: RowBlocks, *others: Any, classes: bool) -> DatasetSummary:
        """Summarise distributed rows in one pass."""
        check_nothing_beside(*others)
        self._check_partition(self.partition or "sample")
        told_apart = self._solver().looks_at_rows
        if told_apart is not None:
            raise ValueError(
                f"{told_apart} tells rows apart, and of rows that stay where they are "
                "only sums are known: leave it out"
            )
        note_features(self, X.n_features, X.feature_names)
        return DatasetSummary.of(X, classes=classes)

    def _fit_distributed(
        self,
        blocks: RowBlocks,
        summary: DatasetSummary,
        family: Family,
        deadline: Deadline,
        monitor: Monitor,
    ) -> FittedModel:
        """Fit distributed rows."""
        size, own = self.partition_size, isinstance(self.candidates, Integral)
        if not isinstance(size, str):
            check_size(size, summary.n_counted, family.labels)
        source = DistributedRows.of(
            blocks,
            summary,
            family,
            n_drawn=max(MOST_CANDIDATES, 0 if isinstance(size, str) else size),
            candidates=int(self.candidates) if own else None,
            seed=self._seed(),
        )
        spec = self._specification(source.sample.rows, family, deadline)
        partition = as_partition(self.partition or "sample")
        assert partition is not None
        given = partition, size, self._learning, spec, source
        return divide_and_conquer(*given, start=self._start(), monitor=monitor)

    def _solver(self) -> Solver:
        return as_solver(self.solver)

    def _specification(
        self, rows: TrainingRows, family: Family, deadline: Deadline
    ) -> Specification:
        """The specification of a model of these rows."""
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
            augmented=self.uncertainty == "augmented",
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
        """The earlier model to start from, or that of the classes ``key``."""
        # In a dictionary of several scales no kernel has the place that it had before.
        several = n_kernels(self._learning, 1) > 1
        if several or not (self.warm_start and hasattr(self, "model_")):
            return None
        return self.model_.start_for(key)

    def _training_rows(
        self, X: Any, y: Any, sample_weight: Any, **checks: Any
    ) -> tuple[TrainingRows, AnyArray]:
        """Validated rows that count, and their targets as given."""
        choice, own = self._kernel_choice, isinstance(self.candidates, Integral)
        number = n_kernels(self._learning, self._n_kernels)
        # A search that looks at some functions at a time may have them all.
        every = self._solver().selective and number == self._n_kernels
        count = n_drawn(self.candidates, number, every=every and not is_row_blocks(X))
        return self._taken(
            X,
            y,
            sample_weight,
            n_drawn=0 if choice.selects_columns else count,
            n_columns=int(self.candidates) if choice.precomputed and own else None,
            streamed=self.design == "streamed",
            **checks,
        )

    def _drawn(self, X: Any, n: int, random_state: Any) -> Array:
        """Latent functions of the posterior (n, n_samples, outputs)."""
        check_count("n", n)
        if is_dask(X) or is_row_blocks(X):
            raise ValueError(
                "functions are drawn at all rows together, and X comes in blocks: give "
                "an array of rows"
            )
        rows, seed = self._checked(X), as_seed(random_state)
        return self.model_.drawn(rows, int(n), generator(seed, _FUNCTIONS))

    @property
    def coef_(self) -> AnyArray:
        """Weights of the features, for ``kernel="linear"`` and ``kernel=None``."""
        check_is_fitted(self)
        # The parameter may have been set anew since the fit.
        columns = self.model_.selects_columns
        if self.kernel is None and columns:
            weights = np.zeros((*self.dual_coef_.shape[:-1], self.n_features_in_))
            weights[..., self.relevance_] = self.dual_coef_
            return weights
        if isinstance(self.kernel, str) and self.kernel == "linear" and not columns:
            return self.dual_coef_ @ self.relevance_vectors_
        raise AttributeError("coef_ exists only for kernel='linear' and kernel=None")

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        # A matrix with centres of its own is cut by rows alone, like features.
        own = isinstance(self.candidates, Integral)
        tags.input_tags.pairwise = self._kernel_choice.precomputed and not own
        return tags
