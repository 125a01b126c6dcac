"""Counts of the work that is done, so that a regression of cost can be seen untimed.

Nothing is counted unless somebody asks for it with ``counted``. Work on blocks of rows
is counted by the thread that waits for it.
"""

from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass


@dataclass
class Work:
    """What has been done so far."""

    rows: int = 0  # gone over, once for each product with columns of theirs
    multiplied: int = 0  # multiplications of those products
    kernel_values: int = 0  # that were evaluated
    factorisations: int = 0


_WORK: ContextVar[Work | None] = ContextVar("relvec work", default=None)


@contextmanager
def counted() -> Iterator[Work]:
    """Count the work of this context."""
    work = Work()
    token = _WORK.set(work)
    try:
        yield work
    finally:
        _WORK.reset(token)


def count_product(rows: int, multiplied_each: int) -> None:
    """A product with columns of so many rows, and multiplications for each of these."""
    work = _WORK.get()
    if work is not None:
        work.rows += rows
        work.multiplied += rows * multiplied_each


def count_kernel_values(number: int) -> None:
    """Values that were evaluated."""
    work = _WORK.get()
    if work is not None:
        work.kernel_values += number


def count_factorisation() -> None:
    """Cholesky's, or an orthogonal one."""
    work = _WORK.get()
    if work is not None:
        work.factorisations += 1
