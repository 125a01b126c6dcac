"""Kernels of scikit-learn's Gaussian processes, recognised by what they can do."""

from dataclasses import dataclass
from typing import Any

import numpy as np

from relvec.kernels.adapters import checked_dense, diagonals
from relvec.kernels.base import KernelFunction
from relvec.typing import Array


@dataclass(frozen=True, eq=False, repr=False)
class GaussianProcessKernel(KernelFunction):
    """A kernel of ``sklearn.gaussian_process.kernels``, or one with the same methods.

    Parameters
    ----------
    kernel : object
        It has ``diag``, ``theta`` and ``hyperparameters``. Its parameters are reached
        as ``kernel__length_scale``.
    columns : sequence of int or bool, slice, optional
        The features that the kernel sees; all by default.

    Notes
    -----
    A dictionary holds values between rows and centres, which scikit-learn keeps apart
    even if they are equal: a ``WhiteKernel`` is 0 among them and contributes nothing,
    neither to matrices nor to ``diagonal``. Noise is estimated by the model instead.
    Kernels are believed to be positive definite.

    Examples
    --------
    >>> import numpy as np
    >>> from sklearn.gaussian_process.kernels import DotProduct
    >>> from relvec.kernels import GaussianProcessKernel
    >>> kernel = GaussianProcessKernel(DotProduct(sigma_0=2.0))
    >>> kernel(np.array([[2.0]]), np.array([[3.0]]))
    array([[10.]])
    """

    kernel: Any

    positive_definite = True

    def __post_init__(self) -> None:
        super().__post_init__()
        wanted = ("diag", "theta", "hyperparameters")
        fitting = callable(self.kernel) and not isinstance(self.kernel, type)
        if not fitting or not all(hasattr(self.kernel, name) for name in wanted):
            raise ValueError(
                "kernel must be a kernel of sklearn.gaussian_process.kernels, made "
                f"with its parameters; got {self.kernel!r}"
            )

    @property
    def requires_vector_input(self) -> bool:
        return bool(getattr(self.kernel, "requires_vector_input", True))

    def _matrix(self, X: Array, Z: Array) -> Array:
        with np.errstate(over="ignore", invalid="ignore"):
            values = self.kernel(X, Z)
        return self._checked(values, (len(X), len(Z)))

    def _checked(self, values: Any, expected: tuple[int, int]) -> Array:
        array = checked_dense(values, repr(self.kernel), expected)
        return array.astype(np.float64, copy=False)

    def _paired(self, X: Array, Z: Array) -> Array:
        return diagonals(self._matrix, X, Z)

    def _diagonal(self, X: Array) -> Array:
        if self._has_noise:
            return self._paired(X, X)
        values = np.asarray(self.kernel.diag(X))
        return self._checked(values[:, None], (len(X), 1))[:, 0]

    @property
    def _has_noise(self) -> bool:
        """Whether ``diag`` has what matrices between rows and centres have not."""
        parts = [self.kernel, *self.kernel.get_params(deep=True).values()]
        return any(hasattr(part, "noise_level") for part in parts)

    def _gradients(self, X: Array, Z: Array) -> dict[str, Array]:
        _, by_logarithm = self.kernel(np.concatenate([X, Z]), eval_gradient=True)
        block = by_logarithm[: len(X), len(X) :]
        values = np.exp(self.kernel.theta)
        gradients, start = {}, 0
        for parameter in self.kernel.hyperparameters:
            if parameter.fixed:
                continue
            part = slice(start, start + parameter.n_elements)
            gradient = block[..., part] / values[part]
            single = np.ndim(self.kernel.get_params()[parameter.name]) == 0
            gradients[f"kernel__{parameter.name}"] = (
                gradient[..., 0] if single else gradient
            )
            start = part.stop
        return gradients
