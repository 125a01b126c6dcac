"""Fitting rows that come in parts and need not be kept."""

import warnings
from collections.abc import Iterator
from typing import Any, Self

import numpy as np
from sklearn.utils.metaestimators import available_if

from relvec.data import is_row_blocks
from relvec.design import Budget
from relvec.estimators.base import SparseKernelModel
from relvec.estimators.kernel_model import FitWarning, as_blocks, tell
from relvec.estimators.validation import (
    check_nothing_beside,
    check_same_features,
    features_kept,
    n_drawn,
    note_features,
)
from relvec.evidence import Deadline, Limits
from relvec.kernel_search import proposed_kernels
from relvec.kernels import Kernel
from relvec.modelling import (
    Accumulated,
    Candidates,
    NoiseModel,
    Regression,
    Specification,
    TrainingRows,
    fit_accumulated,
    in_arrays,
    log_to_stderr,
    targets_of,
)
from relvec.parameters import as_bytes, as_floats, as_weights, check_one_target
from relvec.typing import AnyArray, Array

# partial_fit keeps the Gram matrix of all candidates.
_MOST_CANDIDATES = 2000


def _has_rows(model: "IncrementalModel") -> bool:
    """Whether rows can be evaluated against functions that were fixed before."""
    if model._kernel_choice.precomputed:
        msg = "partial_fit needs the rows themselves: kernel='precomputed' has none"
        raise AttributeError(msg)
    if model.kernel_learning is not None:
        msg = "partial_fit keeps its dictionary: leave kernel_learning at None"
        raise AttributeError(msg)
    if not model._noise_model.gaussian:
        raise AttributeError(
            f"partial_fit keeps sums of rows, which noise={model.noise!r} cannot be "
            "learned from: use noise='gaussian', or fit"
        )
    return True


class IncrementalModel(SparseKernelModel):
    """A model with Gaussian noise, which needs only sums over rows."""

    @property
    def _noise_model(self) -> NoiseModel:
        return NoiseModel(
            self.noise, self.noise_variance, self._solver(), self.partition
        )

    @available_if(_has_rows)  # type: ignore[untyped-decorator]
    def partial_fit(self, X: Any, y: Any = None, sample_weight: Any = None) -> Self:
        """Fit to all rows of this and earlier calls, which need not be kept.

        The first call fixes the dictionary, its width learned from these rows if
        ``gamma="learn"``: ``candidates`` drawn from its rows (of
        blocks, those of the first one), at most 2000 of them, or the centres given.
        Later calls add to the inner products of its functions; every call maximises the
        evidence for all rows so far. A call of ``fit`` begins anew.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features) or RowBlocks
            Further rows; blocks bring their targets and weights along.
        y : array-like of shape (n_samples,)
            Their targets.
        sample_weight : array-like of shape (n_samples,), optional
            How often each row counts.

        Returns
        -------
        object
            The estimator itself.

        Examples
        --------
        >>> from relvec import RVR
        >>> from relvec.data import noisy_sinc
        >>> X, y = noisy_sinc(200, seed=0)
        >>> model = RVR(gamma=1 / 3**2, candidates=X[::4])
        >>> model = model.partial_fit(X[::2], y[::2]).partial_fit(X[1::2], y[1::2])
        >>> len(model.relevance_) < 10
        True
        """
        self._check_parameters()
        X, y, sample_weight = as_blocks(X, y, sample_weight)
        accumulated = getattr(self, "accumulated_", None)
        if accumulated is None and getattr(self, "_loaded", None) is not None:
            self._tell_of_beginning()
        with features_kept(self), log_to_stderr(int(self.verbose)):
            deadline = Deadline.after(self.max_seconds)
            parts = self._parts(X, y, sample_weight, first=accumulated is None)
            for rows, values, weights in parts:
                if accumulated is None:
                    accumulated = self._empty(rows, values, weights)
                accumulated = accumulated.joined(rows, values, weights)
            if accumulated is None:
                msg = "the blocks' weights are all zero: at least one must be positive"
                raise ValueError(msg)
            model = fit_accumulated(self._of_accumulated(deadline), accumulated)
            attributes = {**self._attributes(model), "accumulated_": accumulated}
            self._keep(attributes)
        tell(model, stacklevel=3)
        return self

    def restored(self, model: Any) -> Self:
        """Set the fitted attributes; the sums of earlier rows are not restored."""
        super().restored(model)
        self._loaded = self.model_
        return self

    def _tell_of_beginning(self) -> None:
        """Once, unless there was a fit since."""
        if self._loaded is getattr(self, "model_", None):
            msg = "a model file has no sums of earlier rows: partial_fit begins anew"
            warnings.warn(msg, FitWarning, stacklevel=3)
        self._loaded = None

    def _parts(
        self, X: Any, y: Any, sample_weight: Any, *, first: bool
    ) -> Iterator[tuple[AnyArray, Array, Array]]:
        """Validated rows with targets and weights, a block at a time."""
        if not is_row_blocks(X):
            remedy = "use fit, or a model for each output"
            check_one_target(y, "partial_fit", remedy)
            X, y = self._rows(X, y, y_numeric=True, reset=first)
            yield X, as_floats("y", y, 1), as_weights(sample_weight, len(X))
            return
        check_nothing_beside(y, sample_weight)
        if first:
            note_features(self, X.n_features, X.feature_names)
        else:
            check_same_features(self, X)
        for block in X:
            values = as_floats("y", targets_of(block), 1)
            if block.weight is None or block.weight.any():
                yield block.X, values, as_weights(block.weight, len(block.X))

    def _empty(self, X: AnyArray, y: Array, weights: Array) -> Accumulated:
        """The dictionary, fixed by the first rows."""
        choice = self._kernel_choice
        most = _MOST_CANDIDATES // choice.number
        count = min(n_drawn(self.candidates, choice.number), most)
        names = self._feature_names
        rows, values = in_arrays(X, y, weights, count, self._seed(), names=names)
        bias = bool(self.fit_intercept)
        kernels, centres = self._first_kernels(rows, values), self._centres(rows)
        found = Candidates.of(kernels, centres, rows, bias=bias)
        budget = Budget(as_bytes("memory_budget", self.memory_budget))
        if len(found.basis) > budget.most_functions:
            raise ValueError(
                f"partial_fit keeps the inner products of all {len(found.basis):,} "
                f"functions, and a memory_budget of {budget.words} holds those of "
                f"{budget.most_functions:,}: raise it, or set candidates to fewer"
            )
        origin = np.average(y, weights=weights) if self.fit_intercept else 0.0
        return Accumulated.empty(found, rows.features, float(origin))

    def _first_kernels(self, rows: TrainingRows, y: Array) -> tuple[Kernel, ...]:
        """The kernels as given, or learned from the first rows."""
        if not self._learns_width:
            return self._kernel_choice.resolve(rows)
        family = Regression(self.noise_variance, centred=bool(self.fit_intercept))
        spec = self._specification(rows, family, Deadline.after(None))
        return proposed_kernels(self._learning, spec, family.encoded(rows, y))

    def _of_accumulated(self, deadline: Deadline) -> Specification:
        return Specification(
            kernels=(),
            family=Regression(
                self.noise_variance,
                initial_noise_variance=self._solver().initial_noise_variance,
            ),
            solver=self._solver(),
            tol=self.tol,
            limits=Limits(self.max_iter, deadline),
            seed=self._seed(),
        )
