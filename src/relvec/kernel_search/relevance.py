"""What a model with a learned kernel tells of its vectors and features."""

from typing import Any

import numpy as np

from relvec.basis import Basis, Functions
from relvec.kernel_search.learnable import as_varying
from relvec.kernel_search.starts import variances
from relvec.modelling import FittedModel
from relvec.typing import AnyArray, Array

_MOST_ROWS = 1000  # whose mean has an error of about 3 %


def length_scales(basis: Basis) -> Array:
    """Of every function (n,), or of each and each feature (n, d); nan for none."""
    groups = [_scales(group) for group in basis.groups]
    width = max(scales.shape[1] for scales in groups)
    wide = [np.broadcast_to(scales, (len(scales), width)) for scales in groups]
    found = np.concatenate(wide)
    return found[:, 0] if width == 1 else found


def _scales(group: Functions) -> Array:
    varying = as_varying(group)
    return np.full((len(group), 1), np.nan) if varying is None else varying.scales


def feature_relevance(model: FittedModel, X: AnyArray, sample_weight: Array) -> Array:
    """Var(xⱼ)·E[(∂η/∂xⱼ)²], summed over outputs and scaled to sum to one.

    Outputs that have noise are measured by it.

    The mean is over some rows; all zero if the model is constant.
    """
    some = slice(None, None, max(1, len(X) // _MOST_ROWS))
    rows, weight = np.asarray(X[some], dtype=np.float64), sample_weight[some]
    variance = variances(rows, weight)
    basis, mean = model.basis, model.posterior.mean
    if len(mean) > 1 and model.family.units is not None:
        mean = mean / model.family.units[:, None]
    total = np.zeros(X.shape[1])
    for weights in mean:
        gradient = np.zeros(rows.shape)
        for group, part in zip(basis.groups, basis.parts, strict=True):
            gradient += _gradient(group, rows, weights[part])
        total += np.average(gradient**2, axis=0, weights=weight) * variance
    return np.asarray(total / total.sum()) if total.sum() > 0 else total


def _gradient(group: Functions, X: AnyArray, weights: Array) -> Array:
    """∂/∂x of the weighted sum of some functions, (n_rows, n_features)."""
    gradient = np.zeros(X.shape)
    if len(group) == 0:
        return gradient
    varying = as_varying(group)
    if varying is not None:
        seen = varying.kernel.seen(X)[2]
        chosen = slice(None) if seen is None else seen
        gradient[:, chosen] = varying.input_gradient(X, weights)
        return gradient
    kernel: Any = getattr(group.kernel, "function", group.kernel)
    if hasattr(kernel, "centre_gradient"):
        for centre, weight in zip(group.centres, weights, strict=True):
            # Kernels are symmetric: here the rows are in the centre's place.
            gradient += weight * kernel.centre_gradient(centre[None], X)[0]
    return gradient
