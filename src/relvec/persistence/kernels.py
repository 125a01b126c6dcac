"""Kernels that are scikit-learn's, as a model file has them."""

from collections.abc import Mapping
from typing import Any

import numpy as np
from sklearn.gaussian_process import kernels as processes

from relvec.estimators.kernels import Pairwise
from relvec.model_file import Kind, ModelFileError, of_dataclass

_LEAVES: tuple[Any, ...] = (
    processes.RBF,
    processes.Matern,
    processes.RationalQuadratic,
    processes.ExpSineSquared,
    processes.DotProduct,
    processes.ConstantKernel,
    processes.WhiteKernel,
)
_NODES: tuple[Any, ...] = (
    processes.Sum,
    processes.Product,
    processes.Exponentiation,
)


def _of_process(cls: Any) -> Kind:
    """By its parameters."""
    names = tuple(cls().get_params()) if cls in _LEAVES else _parts_of(cls)

    def take(kernel: Any) -> Mapping[str, Any]:
        return {name: getattr(kernel, name) for name in names}

    def make(**given: Any) -> Any:
        for name, value in given.items():
            _check(name, value)
        return cls(**given)

    name = f"sklearn.{cls.__name__}"
    return Kind(name, cls, names, frozenset(), take, make, kernel=True)


def _parts_of(cls: Any) -> tuple[str, ...]:
    power = cls is processes.Exponentiation
    return ("kernel", "exponent") if power else ("k1", "k2")


def _check(name: str, value: Any) -> None:
    """A kernel, bounds, or one or more positive numbers."""
    if name in {"kernel", "k1", "k2"}:
        fits = type(value) in (*_LEAVES, *_NODES)
    elif name.endswith("_bounds"):
        fits = (
            value == "fixed" if isinstance(value, str) else np.shape(value)[-1:] == (2,)
        )
    else:
        numbers = np.asarray(value)
        fits = numbers.dtype.kind in "fi" and numbers.ndim <= 1
        # Only a linear kernel may do without its constant.
        fits = fits and bool(np.all(numbers >= 0)) and numbers.size > 0
    if not fits:
        raise ModelFileError(f"{name} of a kernel is not as it should be")


def _pairwise(name: Any, gamma: Any) -> Pairwise:
    if name not in ("chi2", "additive_chi2", "cosine") or not gamma > 0:
        raise ModelFileError("a pairwise kernel is not as it should be")
    return Pairwise(name, float(gamma))


def kernel_kinds() -> list[Kind]:
    """Of all that are known."""
    plain = of_dataclass("kernel.Pairwise", Pairwise)
    pairwise = Kind(
        plain.name, Pairwise, plain.fields, frozenset(), plain.take, _pairwise
    )
    return [pairwise, *(_of_process(cls) for cls in (*_LEAVES, *_NODES))]
