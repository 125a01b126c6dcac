"""What a kernel is: a function of two sets of rows."""

from typing import Protocol

from relvec.typing import AnyArray, Array


class Kernel(Protocol):
    """k(x, z) for every row x of X and z of Z; no Mercer condition is asked."""

    def __call__(self, X: AnyArray, Z: AnyArray, /) -> Array:
        """The matrix (n_rows of X, n_rows of Z)."""
        ...
