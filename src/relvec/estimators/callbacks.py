"""scikit-learn's callbacks, where the installed version has them.

A fit is a task, every accepted step of the search a task below it; a callback that
answers a step with True stops the fit.
"""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

from relvec.evidence import Callback, EvidenceFit, Snapshot

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


__all__ = ["WRAPPED", "CallbackSupportMixin", "Task", "with_callbacks"]


class Task:
    """A fit in the eyes of the estimator's callbacks; without any, nothing happens.

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
        """What tells callbacks of the end of one step and the beginning of the next."""
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
        """The estimator is fitted."""
        if self._context is not None:
            self._context.call_on_fit_task_end(
                reconstruction_attributes={}, **self._told
            )

    def _begun(self) -> Any:
        assert self._context is not None
        step = self._context.subcontext(task_name="step")
        step.call_on_fit_task_begin(**self._told)
        return step
