"""scikit-learn's callbacks, where the installed version has them.

A fit is a task, every accepted step of the search a task below it; a callback that
answers a step with True stops the fit.
"""

from collections.abc import Callable
from typing import Any

from relvec.evidence import EvidenceFit, Snapshot

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


__all__ = ["WRAPPED", "CallbackSupportMixin", "Steps", "Task", "with_callbacks"]


class Task:
    """A fit in the eyes of the estimator's callbacks; without any, nothing happens."""

    def __init__(self, estimator: Any, X: Any, y: Any) -> None:
        self._data = {"X": X, "y": y}
        self.remarks: list[str] = []  # to be told when the fit is over
        self._context = None
        self._estimator = estimator
        if getattr(estimator, "_skl_callbacks", None):
            self._context = estimator._init_callback_context(max_subtasks=None)
            self._context.call_on_fit_task_begin(estimator=estimator, **self._data)

    def steps(self, fitted: Callable[[EvidenceFit], dict[str, Any]]) -> "Steps | None":
        """What is to be told of every step; ``fitted`` makes attributes of a fit."""
        if self._context is None:
            return None
        return Steps(self._context, self._estimator, self._data, fitted)

    def finish(self) -> None:
        """The estimator is fitted."""
        if self._context is not None:
            self._context.call_on_fit_task_end(
                estimator=self._estimator, reconstruction_attributes={}, **self._data
            )


class Steps:
    """Tells callbacks of the end of one step and the beginning of the next."""

    def __init__(
        self,
        context: Any,
        estimator: Any,
        data: dict[str, Any],
        fitted: Callable[[EvidenceFit], dict[str, Any]],
    ) -> None:
        self._context = context
        self._told = {"estimator": estimator, **data}
        self._fitted = fitted
        self._step = self._begun()

    def __call__(self, news: Snapshot) -> bool:
        """Whether a callback wants to stop."""
        assert news.fit is not None
        fit = news.fit
        stop = self._step.call_on_fit_task_end(
            reconstruction_attributes=lambda: self._fitted(fit()), **self._told
        )
        self._step = self._begun()
        return bool(stop)

    def close(self) -> None:
        """The step that was begun last will not be taken."""
        self._step.call_on_fit_task_end(estimator=self._told["estimator"])

    def _begun(self) -> Any:
        step = self._context.subcontext(task_name="step")
        step.call_on_fit_task_begin(**self._told)
        return step
