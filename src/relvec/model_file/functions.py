"""Whether functions and labels from a file are as they should be."""

from typing import Any

import numpy as np

from relvec.basis import Basis, Group
from relvec.kernels import Checked, Columns
from relvec.kernels.checks import chosen_columns
from relvec.kernels.mixture import Mixture
from relvec.kernels.radial import Radial
from relvec.kernels.varying import Varying
from relvec.model_file import expected
from relvec.modelling import Features
from relvec.modelling.residuals import Calibration, Residuals
from relvec.modelling.surroundings import Surroundings

# Contrasts and pairs of K classes are K² numbers, which are in no file.
_MOST_CLASSES = 2048


def check_features(features: Any) -> int:
    """Their number."""
    expected.is_a("features", features, Features)
    count = expected.whole("the number of features", features.number, 1, 2**31)
    if features.names is not None:
        expected.words("feature names", features.names)
        if len(features.names) != count:
            raise expected.refuse("feature names", f"{count}")
    return count


def check_basis(basis: Any, n_features: int) -> None:
    """Functions of so many features."""
    expected.is_a("basis", basis, Basis)
    expected.flag("bias", basis.bias)
    if type(basis.groups) is not tuple or not basis.groups:
        raise expected.refuse("groups", "at least one")
    for group in basis.groups:
        expected.is_a("group", group, Group, Varying)
        if isinstance(group, Varying):
            _check_varying(group, n_features)
        else:
            _check_group(group, n_features)


def _check_group(group: Group, n_features: int) -> None:
    check_kernel(group.kernel)
    if isinstance(group.kernel, Columns):
        size = len(group.centres) if np.ndim(group.centres) == 1 else 0
        expected.indices("centres", group.centres, size, 0, n_features - 1)
    else:
        expected.reals("centres", group.centres, (None, n_features))


def _check_varying(group: Varying, n_features: int) -> None:
    kernel = group.kernel
    if not isinstance(kernel, Radial):
        raise expected.refuse("a kernel of many widths", "one of distances")
    expected.reals("centres", group.centres, (None, n_features))
    expected.reals("scales", group.scales, (len(group.centres), None))
    seen = n_features
    if kernel.columns is not None:
        seen = len(chosen_columns(kernel.columns, n_features))
    if group.scales.shape[1] not in (1, seen) or not np.all(group.scales > 0):
        raise expected.refuse("scales", "positive, one for all or each feature")


def check_surroundings(found: Any, n_outputs: int, size: int, n_features: int) -> None:
    """What a model of so many kernel functions does not know."""
    expected.is_a("surroundings", found, Surroundings)
    _check_group(expected.is_a("pivots", found.pivots, Group), n_features)
    pivots = len(found.pivots)
    expected.reals("by_pivots", found.by_pivots, (None, pivots))
    shared = size if np.size(found.by_functions) else 0
    expected.reals("by_functions", found.by_functions, (len(found.by_pivots), shared))
    expected.reals("amplitude", found.amplitude, (n_outputs,))
    expected.reals("determined", found.determined, (len(found.by_pivots),))
    expected.positive("power", found.power)
    expected.positive("mean_power", found.mean_power)
    if found.mean is not None:
        expected.reals("mean", found.mean, (n_outputs,))
    signs = np.all(found.amplitude >= 0) and np.all(found.determined > 0)
    if not signs or isinstance(found.pivots.kernel, Columns):
        raise expected.refuse("surroundings", "a process with a variance")


def check_residuals(found: Any) -> None:
    """Quantiles, which rise."""
    expected.is_a("residuals", found, Residuals)
    several = found.quantiles.ndim > 1 if hasattr(found.quantiles, "ndim") else False
    expected.reals("quantiles", found.quantiles, (None,) * (1 + several))
    expected.positive("count of residuals", found.count)
    rising = np.all(np.diff(found.quantiles, axis=0, prepend=0.0) >= 0)
    if not len(found.quantiles) or not rising:
        raise expected.refuse("quantiles", "rising from zero on")


def check_calibration(found: Any) -> None:
    """Figures of rows left out: shares between 0 and 1, or losses."""
    expected.is_a("calibration", found, Calibration)
    if found.method not in {"leave-one-out", "folds"}:
        raise expected.refuse("method of calibration", "leave-one-out or folds")
    expected.positive("n_rows of calibration", found.n_rows)
    several = type(found.coverage) is tuple
    for share in found.coverage if several else [found.coverage]:
        if share is not None or several:
            expected.number("coverage", share, 0.0)
            if share > 1:
                raise expected.refuse("coverage", "from 0 to 1")
    for name in ("log_loss", "baseline_log_loss"):
        if getattr(found, name) is not None:
            expected.number(name, getattr(found, name), 0.0)


def check_kernel(kernel: Any) -> None:
    """Something that can be evaluated."""
    if isinstance(kernel, Checked):
        check_kernel(kernel.function)
    elif isinstance(kernel, Mixture):
        check_kernels("a mixture", kernel.kernels)
        expected.reals("weights of kernels", kernel.weights, (len(kernel.kernels),))
        if not kernel.kernels:
            raise expected.refuse("a mixture", "of at least one kernel")
    elif not callable(kernel) or isinstance(kernel, type):
        raise expected.refuse("a kernel", "a kernel")


def check_kernels(name: str, found: Any) -> None:
    """Several of them."""
    if type(found) is not tuple:
        raise expected.refuse(name, "a tuple of kernels")
    for kernel in found:
        check_kernel(kernel)


def check_labels(labels: Any) -> int:
    """Classes, each once and in order; how many there are."""
    known = isinstance(labels, np.ndarray) and labels.ndim == 1
    if not known or not 2 <= len(labels) <= _MOST_CLASSES:
        raise expected.refuse("labels", f"an array of 2 to {_MOST_CLASSES}")
    if not np.all(labels[1:] > labels[:-1]):
        raise expected.refuse("labels", "in order, each once")
    return len(labels)
