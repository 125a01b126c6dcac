"""What a kernel is: a function of two sets of rows."""

from typing import Protocol

from relvec.typing import AnyArray, Array


class Kernel(Protocol):
    """k(x, z) for every row x of X and z of Z; no Mercer condition is asked."""

    def __call__(self, X: AnyArray, Z: AnyArray, /) -> Array:
        """The matrix (n_rows of X, n_rows of Z)."""
        ...

    @property
    def positive_definite(self) -> bool:
        """Whether every matrix k(X, X) is known to be positive semi-definite."""
        ...

    def diagonal(self, X: AnyArray, /) -> Array:
        """k(x, x) for every row x of X."""
        ...
