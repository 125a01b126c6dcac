"""Fitting rows that come in parts and need not be kept."""

from copy import copy
from typing import Any, Self

import numpy as np
from sklearn.utils.metaestimators import available_if

from relvec.data import RowBlocks
from relvec.design import Budget
from relvec.estimators.accumulation import Accumulated
from relvec.estimators.base import SparseKernelModel
from relvec.estimators.candidates import MOST_FIXED_CANDIDATES, Candidates, n_drawn
from relvec.estimators.outcomes import warn_about
from relvec.estimators.training import Training, targets_of
from relvec.estimators.validation import (
    check_nothing_beside,
    check_same_features,
    note_features,
)
from relvec.parameters import as_bytes, as_floats, as_weights
from relvec.typing import Array


def _has_rows(model: "IncrementalModel") -> bool:
    """Whether rows can be evaluated against functions that were fixed before."""
    if model._kernel_choice.precomputed:
        msg = "partial_fit needs the rows themselves: kernel='precomputed' has none"
        raise AttributeError(msg)
    if model.kernel_learning is not None:
        msg = "partial_fit keeps its dictionary: leave kernel_learning at None"
        raise AttributeError(msg)
    return True


class IncrementalModel(SparseKernelModel):
    """With Gaussian noise, whose sums over rows are all that is needed of them."""

    noise_variance: Any
    accumulated_: Accumulated

    @available_if(_has_rows)  # type: ignore[untyped-decorator]
    def partial_fit(self, X: Any, y: Any = None, sample_weight: Any = None) -> Self:
        """Fit to all rows of this and earlier calls, which need not be kept.

        The first call fixes the dictionary: ``candidates`` drawn from its rows (of
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
        trial = copy(self)
        trial._check_parameters()
        first = not hasattr(trial, "accumulated_")
        if isinstance(X, RowBlocks):
            check_nothing_beside(y, sample_weight)
            (note_features if first else check_same_features)(trial, X)
            trial._accumulate_blocks(X)
        else:
            X, y = trial._rows(X, y, y_numeric=True, reset=first)
            trial._accumulate(X, y, sample_weight)
        trial._fit_accumulated()
        self.__dict__ = trial.__dict__
        warn_about(self.status_)
        return self

    def _accumulate_blocks(self, blocks: RowBlocks) -> None:
        for block in blocks:
            values = targets_of(block)
            if block.weight is None or block.weight.any():
                self._accumulate(block.X, values, block.weight)
        if not hasattr(self, "accumulated_"):
            msg = "the blocks' weights are all zero: at least one must be positive"
            raise ValueError(msg)

    def _accumulate(self, X: Any, y: Any, sample_weight: Any) -> None:
        values, weights = as_floats("y", y, 1), as_weights(sample_weight, len(X))
        if not hasattr(self, "accumulated_"):
            candidates = self._fixed_candidates(X, values, weights)
            origin = np.average(values, weights=weights) if self.fit_intercept else 0.0
            self.accumulated_ = Accumulated.empty(candidates, float(origin))
        self.accumulated_ = self.accumulated_.joined(X, values, weights)

    def _fixed_candidates(self, X: Any, y: Any, weights: Array) -> Candidates:
        choice = self._kernel_choice
        most = MOST_FIXED_CANDIDATES // choice.number
        count = min(n_drawn(self.candidates, choice.number), most)
        training = Training.in_arrays(X, y, weights, count, self._seed())
        bias = bool(self.fit_intercept)
        found = Candidates.of(choice, self.candidates, training, bias=bias)
        budget = Budget(as_bytes("memory_budget", self.memory_budget))
        if len(found.basis) > budget.most_functions:
            msg = (
                f"partial_fit keeps the inner products of all {len(found.basis):,} "
                f"functions, and a memory_budget of {budget.words} holds those of "
                f"{budget.most_functions:,}: raise it, or set candidates to fewer"
            )
            raise ValueError(msg)
        return found

    def _fit_accumulated(self) -> None:
        problem, offset = self.accumulated_.problem(
            centred=bool(self.fit_intercept), noise_variance=self.noise_variance
        )
        fit = self._searched(problem, self._seed())
        self._keep(self.accumulated_.candidates, fit, offset)
