"""Work on parts of the rows, in parallel, with results in order."""

import os
import warnings
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import BrokenExecutor, Executor, Future, ThreadPoolExecutor
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass, field
from numbers import Integral
from typing import Any, Protocol, TypeVar

Item = TypeVar("Item")
Result = TypeVar("Result")

# Parts sent ahead for every worker: one to begin with
# when another ends. Each is in memory twice, here and there.
_AHEAD = 2
_RENEWALS = 3  # of dead processes, before this process does the work


class OutOfTimeError(Exception):
    """The time limit of the current work has passed."""


_OVER: ContextVar[Callable[[], bool] | None] = ContextVar("relvec time", default=None)


@contextmanager
def stopped_when(over: Callable[[], bool]) -> Iterator[None]:
    """Make long work raise OutOfTimeError once ``over`` returns true."""
    token = _OVER.set(over)
    try:
        yield
    finally:
        _OVER.reset(token)


def check_time() -> None:
    """Raise OutOfTimeError if the time limit of the current work has passed.

    Every loop that can be long calls it. It does nothing where no time is set.
    """
    over = _OVER.get()
    if over is not None and over():
        raise OutOfTimeError


def in_order(
    work: Callable[[Item], Result], items: Iterable[Item], n_threads: int
) -> Iterator[Result]:
    """``map`` on threads that never runs more than a few items ahead.

    Results come in the order of the items, so that sums do not depend on the number
    of threads; only a few items and results are held at any time.
    """
    if n_threads <= 1:
        for item in items:
            check_time()
            yield work(item)
        return
    with ThreadPoolExecutor(n_threads) as executor:
        for result in Pool(executor, n_threads).map(work, items):
            check_time()
            yield result


class Engine(Protocol):
    """Where work on parts of the rows is done."""

    def map(
        self, work: Callable[[Item], Result], items: Iterable[Item]
    ) -> Iterator[Result]:
        """Apply the work to the items and yield results in their order."""


class CallingProcess:
    """Work in the calling process, one item after another."""

    def map(
        self, work: Callable[[Item], Result], items: Iterable[Item]
    ) -> Iterator[Result]:
        return map(work, items)


@dataclass
class Pool:
    """The workers of an executor.

    Work is a function of its item alone: what a worker that died had not finished is
    done again, by others or here, with the same result.
    """

    executor: Executor
    ahead: int
    renewed: Callable[[], Executor] | None = None  # replaces a broken executor
    renewals: int = field(default=0, init=False)
    told: bool = field(default=False, init=False)  # whether the user was warned

    def map(
        self, work: Callable[[Item], Result], items: Iterable[Item]
    ) -> Iterator[Result]:
        waiting: deque[tuple[Item, Future[Result] | None]] = deque()
        try:
            for item in items:
                waiting.append((item, self._submitted(work, item)))
                if len(waiting) > self.ahead:
                    yield self._result(work, *waiting.popleft())
            while waiting:
                yield self._result(work, *waiting.popleft())
        finally:
            for _, future in waiting:
                if future is not None:
                    future.cancel()

    def _submitted(
        self, work: Callable[[Item], Result], item: Item
    ) -> Future[Result] | None:
        """Submit work; None if no worker is left."""
        try:
            return self.executor.submit(work, item)
        except BrokenExecutor:
            return None
        except RuntimeError as error:
            if "shutdown" not in str(error):
                raise
            raise ValueError(
                f"the executor given to relvec.parallel takes no work ({error}): use "
                "it before it is shut down"
            ) from error

    def _result(
        self,
        work: Callable[[Item], Result],
        item: Item,
        future: Future[Result] | None,
    ) -> Result:
        if future is not None:
            try:
                return future.result()
            except BrokenExecutor:
                pass
        return self._again(work, item)

    def _again(self, work: Callable[[Item], Result], item: Item) -> Result:
        while self.renewed is not None:
            try:
                return self.executor.submit(work, item).result()
            except BrokenExecutor:
                if self.renewals == _RENEWALS:
                    self.renewed = None
                else:
                    self.executor = self.renewed()
                    self.renewals += 1
        if not self.told:
            self.told = True
            warnings.warn(
                "a worker process ended abruptly, so the rest is computed here; if it "
                "ran out of memory, use fewer workers or smaller blocks",
                RuntimeWarning,
                stacklevel=2,
            )
        return work(item)


class Cluster:
    """The workers of a Dask client, which repeats the tasks of a dead worker."""

    def __init__(self, client: Any) -> None:
        if client.status != "running":
            raise ValueError(
                f"the Dask client is {client.status}: connect one that is running"
            )
        if client.asynchronous:
            msg = "an asynchronous Dask client cannot be waited for: give another"
            raise ValueError(msg)
        self.client = client

    def map(
        self, work: Callable[[Item], Result], items: Iterable[Item]
    ) -> Iterator[Result]:
        return self.results(self.client.submit(work, one, pure=False) for one in items)

    def results(self, futures: Iterable[Any]) -> Iterator[Any]:
        """Yield results of futures that are created a few ahead."""
        n_threads = sum(self.client.nthreads().values())
        if n_threads == 0:
            raise ValueError(
                "the Dask cluster has no workers: start some, and wait for them with "
                "client.wait_for_workers(1)"
            )
        waiting: deque[Any] = deque()
        try:
            for future in futures:
                waiting.append(future)
                if len(waiting) > _AHEAD * n_threads:
                    yield waiting.popleft().result()
            while waiting:
                yield waiting.popleft().result()
        finally:
            for future in waiting:
                future.cancel()


_ENGINE: ContextVar[Engine | None] = ContextVar("relvec engine", default=None)


def engine() -> Engine:
    """Return the engine of this context."""
    return _ENGINE.get() or CallingProcess()


@contextmanager
def parallel(workers: Any) -> Iterator[None]:
    """Do the work on partitions and blocks of rows by several workers.

    It is a matter of where a fit runs, not of what is fitted: results have the same
    bits whoever computes them, and no estimator keeps it.

    Parameters
    ----------
    workers : int, concurrent.futures.Executor or dask.distributed.Client
        A number of processes, which end with the context, -1 for one per core; any
        executor of threads or processes; or the client of a Dask cluster.

    Notes
    -----
    It serves fits with ``partition``, whose parts are independent of each other. A
    worker that dies is replaced and its work done again; where that is not possible,
    the rest is computed in this process. Rows of a Dask collection are worked on where
    they are, whatever is given here.

    Examples
    --------
    >>> from concurrent.futures import ThreadPoolExecutor
    >>> import relvec
    >>> from relvec.data import noisy_sinc
    >>> X, y = noisy_sinc(400, seed=0)
    >>> model = relvec.RVR(gamma=1 / 9, partition="split-merge", partition_size=100)
    >>> with ThreadPoolExecutor(2) as executor, relvec.parallel(executor):
    ...     model = model.fit(X, y)
    >>> len(model.relevance_) < 12
    True
    """
    with _made(workers) as chosen:
        token = _ENGINE.set(chosen)
        try:
            yield
        finally:
            _ENGINE.reset(token)


@contextmanager
def _made(workers: Any) -> Iterator[Engine]:
    if isinstance(workers, Integral) and not isinstance(workers, bool):
        count = _count(int(workers))
        if count == 1:
            yield CallingProcess()
            return
        pool = Pool(_processes(count), _AHEAD * count, lambda: _processes(count))
        try:
            yield pool
        finally:
            pool.executor.shutdown(wait=True)
    elif isinstance(workers, Executor):
        number = getattr(workers, "_max_workers", None) or os.cpu_count() or 1
        yield Pool(workers, _AHEAD * number)
    elif hasattr(workers, "submit") and hasattr(workers, "scheduler_info"):
        yield Cluster(workers)
    else:
        raise TypeError(
            "parallel takes a number of processes, an executor of concurrent.futures "
            f"or a Dask client; got {type(workers).__name__}"
        )


def _count(workers: int) -> int:
    if workers == -1:
        return os.cpu_count() or 1
    if workers < 1:
        msg = f"give at least one worker, or -1 for one per core; got {workers}"
        raise ValueError(msg)
    return workers


def _processes(count: int) -> Executor:
    """Make processes that receive the definitions of a script without running it."""
    # Only needed for processes.
    from joblib.externals.loky import ProcessPoolExecutor  # noqa: PLC0415

    return ProcessPoolExecutor(count)
