"""Work on blocks of rows, several at a time, its results in order."""

from collections import deque
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from typing import TypeVar

Item = TypeVar("Item")
Result = TypeVar("Result")


def in_order(
    work: Callable[[Item], Result], items: Iterable[Item], n_threads: int
) -> Iterator[Result]:
    """``map`` on threads that never runs more than a few items ahead.

    Results come in the order of the items, so that sums do not depend on the number
    of threads; only a few items and results are held at any time.
    """
    if n_threads <= 1:
        yield from map(work, items)
        return
    waiting: deque[Future[Result]] = deque()
    with ThreadPoolExecutor(n_threads) as executor:
        try:
            for item in items:
                waiting.append(executor.submit(work, item))
                if len(waiting) > n_threads:
                    yield waiting.popleft().result()
            while waiting:
                yield waiting.popleft().result()
        finally:
            for future in waiting:
                future.cancel()
