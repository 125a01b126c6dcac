"""From the kernel parameters of an estimator to the kernels themselves."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from sklearn.base import clone
from sklearn.metrics.pairwise import pairwise_kernels

from relvec.kernels import (
    Checked,
    Columns,
    Gaussian,
    GaussianProcessKernel,
    Kernel,
    Laplacian,
    Linear,
    Polynomial,
    Sigmoid,
)
from relvec.modelling import TrainingRows, is_one_against
from relvec.parameters import check_count, check_number, check_positive
from relvec.typing import AnyArray, Array


@dataclass(frozen=True)
class Pairwise:
    """A kernel of scikit-learn's ``metrics.pairwise`` without a relvec counterpart."""

    name: str
    gamma: float

    compact = False

    def __call__(self, X: AnyArray, Z: AnyArray, /) -> Array:
        values = pairwise_kernels(
            X, Z, metric=self.name, filter_params=True, gamma=self.gamma
        )
        return np.asarray(values)

    @property
    def positive_definite(self) -> bool:
        return self.name in {"chi2", "cosine"}

    def diagonal(self, X: AnyArray, /) -> Array:
        return np.any(X != 0, axis=1).astype(np.float64)


@dataclass(frozen=True)
class OfObjects:
    """A kernel that gets each row's one object, not rows of them."""

    kernel: Kernel

    def __call__(self, X: AnyArray, Z: AnyArray, /) -> Array:
        return self.kernel(X[:, 0], Z[:, 0])

    @property
    def positive_definite(self) -> bool:
        return self.kernel.positive_definite

    @property
    def compact(self) -> bool:
        return self.kernel.compact

    def diagonal(self, X: AnyArray, /) -> Array:
        return self.kernel.diagonal(X[:, 0])


_NAMED: dict[str, Callable[["KernelChoice", float], Any]] = {
    "rbf": lambda choice, gamma: Gaussian.from_gamma(gamma),
    "linear": lambda choice, gamma: Linear(),
    "poly": lambda choice, gamma: Polynomial(choice.degree, gamma, choice.coef0),
    "sigmoid": lambda choice, gamma: Sigmoid(gamma, choice.coef0),
    "laplacian": lambda choice, gamma: Laplacian.from_gamma(gamma),
    "chi2": lambda choice, gamma: Pairwise("chi2", gamma),
    "additive_chi2": lambda choice, gamma: Pairwise("additive_chi2", gamma),
    "cosine": lambda choice, gamma: Pairwise("cosine", gamma),
}
_NAMED["polynomial"] = _NAMED["poly"]
_NAMED["auto"] = _NAMED["rbf"]  # where the family is not learned
_WITHOUT_GAMMA = {"linear", "cosine", "additive_chi2"}
KERNEL_NAMES = (*_NAMED, "precomputed")
_RULES = ("learn", "scale", "auto")  # by which gamma follows from the data


@dataclass(frozen=True)
class KernelChoice:
    """The kernel parameters an estimator was given, as SVR has them."""

    kernel: Any
    gamma: Any
    degree: Any
    coef0: Any

    def check(self) -> None:
        """Refuse what no data could make valid."""
        if self.several and len(self.kernel) == 0:
            msg = "kernel=[] is empty: give at least one kernel, or None for features"
            raise ValueError(msg)
        for kernel in as_list(self.kernel):
            self._check_one(kernel)
        if not isinstance(self.gamma, str):
            check_positive("gamma", self.gamma)
        elif self.gamma not in _RULES:
            words = ", ".join(repr(rule) for rule in _RULES)
            msg = f"gamma must be {words} or positive; got {self.gamma!r}"
            raise ValueError(msg)
        check_count("degree", self.degree)
        check_number("coef0", self.coef0)

    def _check_one(self, kernel: Any) -> None:
        whole = kernel is None or (isinstance(kernel, str) and kernel == "precomputed")
        if self.several and whole:
            raise ValueError(
                f"kernel={kernel!r} cannot be one of several kernels: for features "
                "beside kernels use relvec.kernels.Linear(), for precomputed values "
                "put all columns side by side"
            )
        known = isinstance(kernel, str) and kernel in KERNEL_NAMES
        if isinstance(kernel, type) or not (known or whole or callable(kernel)):
            words = ", ".join(repr(name) for name in KERNEL_NAMES)
            raise ValueError(
                f"kernel must be one of {words}, a callable, a list of these or None; "
                f"got {kernel!r}"
            )

    @property
    def several(self) -> bool:
        """Whether the dictionary is that of several kernels."""
        return isinstance(self.kernel, list | tuple)

    @property
    def number(self) -> int:
        """The number of kernels of one model."""
        return len(self.kernel) if self.several else 1

    @property
    def selects_columns(self) -> bool:
        """Whether the columns of X themselves are the dictionary."""
        return self.kernel is None or self.precomputed

    @property
    def precomputed(self) -> bool:
        """Whether X is a matrix of kernel values."""
        return isinstance(self.kernel, str) and self.kernel == "precomputed"

    @property
    def takes_objects(self) -> bool:
        """Whether rows may be anything the callables understand."""
        return all(
            callable(kernel) and not getattr(kernel, "requires_vector_input", False)
            for kernel in as_list(self.kernel)
        )

    @property
    def learns(self) -> bool:
        """Whether the width of the kernel is to be learned."""
        by_name = isinstance(self.kernel, str) and self.kernel in ("rbf", "auto")
        return by_name and isinstance(self.gamma, str) and self.gamma == "learn"

    @property
    def learns_family(self) -> bool:
        """Whether the family of the kernel is to be learned with its width."""
        return self.learns and self.kernel == "auto"

    def resolve(self, rows: TrainingRows) -> tuple[Kernel, ...]:
        """The kernels themselves, with what ``gamma`` means for these data."""
        found = [self._resolved(kernel, rows) for kernel in as_list(self.kernel)]
        if rows.of_objects and rows.n_features == 1:
            return tuple(OfObjects(kernel) for kernel in found)
        return tuple(found)

    def _resolved(self, kernel: Any, rows: TrainingRows) -> Kernel:
        if self.selects_columns:
            return Columns()
        if isinstance(kernel, str):
            gamma = 1.0 if kernel in _WITHOUT_GAMMA else self.gamma_for(rows)
            found = _NAMED[kernel](self, gamma)
            # The values of a Gaussian need not be looked at.
            return found if isinstance(found, Gaussian) else Checked(found)
        if hasattr(kernel, "get_params"):
            # A model stays as it is when the kernel's parameters are set anew.
            kernel = clone(kernel)
        if hasattr(kernel, "theta") and hasattr(kernel, "diag"):
            return GaussianProcessKernel(kernel)
        return Checked(kernel)

    def gamma_for(self, rows: TrainingRows) -> float:
        """What ``gamma`` means for these data, or where learning it begins."""
        if not isinstance(self.gamma, str):
            return float(self.gamma)
        if self.gamma == "auto":
            return 1 / rows.n_features
        # As scikit-learn: the variance of all entries of X, here of weighted rows.
        variance = rows.variance
        gamma = 1 / (rows.n_features * variance) if variance > 0 else 1.0
        return float(gamma) if np.isfinite(gamma) else 1.0


def as_list(kernel: Any) -> list[Any]:
    """A list of the kernel, or of the kernels."""
    return list(kernel) if isinstance(kernel, list | tuple) else [kernel]


def listed(kernel: Any) -> Any:
    """All kernels of a dict in one list; anything else as it is."""
    if not isinstance(kernel, dict):
        return kernel
    return [one for entry in kernel.values() for one in as_list(entry)]


def check_by_class(kernel: Any, multi_class: Any) -> None:
    """Refuse a dict where there is one model only, or no kernel in it."""
    if not isinstance(kernel, dict):
        return
    if not is_one_against(multi_class):
        raise ValueError(
            "kernel is a dict, a kernel for each of several classifiers, and "
            f"multi_class={multi_class!r} makes one model of all classes: give one "
            "kernel or a list of kernels, or set multi_class to 'ovr' or 'ovo'"
        )
    if not kernel:
        raise ValueError("kernel={} is empty: give a kernel for each classifier")


def by_classifier(kernel: Any, keys: list[Any]) -> list[Any]:
    """The kernel, or list of kernels, of every classifier.

    A dict that lacks one, or has one that there is not, is refused.
    """
    if not isinstance(kernel, dict):
        return [kernel] * len(keys)
    wrong = {
        "has no kernel for": [key for key in keys if key not in kernel],
        "has the unknown": [key for key in kernel if key not in keys],
    }
    found = [f"{what} {names}" for what, names in wrong.items() if names]
    if found:
        raise ValueError(
            f"kernel, a dict, {' and '.join(found)}: its keys must be {keys}, classes "
            "for multi_class='ovr' (of two classes the second), pairs of them in the "
            "order of classes_ for 'ovo'"
        )
    return [kernel[key] for key in keys]
