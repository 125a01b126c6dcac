"""Rows that a model is tried on where the ones it was fitted to are not at hand."""

from typing import Any

import numpy as np

from relvec.chance import generator
from relvec.typing import AnyArray, Array

# How far from one centre towards another, and a little beyond it.
_FURTHEST = 1.25


def known_places(model: Any) -> AnyArray:
    """Centres of a model, or of the constant alone the pivots about it."""
    surroundings = getattr(model, "surroundings", None)
    if len(model.centres) or surroundings is None:
        return model.centres
    return surroundings.pivots.centres


def trial_rows(model: Any, count: int = 8, *, seed: int = 0) -> Array:
    """So many rows (count, features) between the centres of a model and about them.

    They are the same every time. A model of columns, or of the constant alone, has no
    centres: then rows are those of unit normal features.
    """
    chance, number = generator(seed), model.features.number
    centres = known_places(model)
    noise = chance.standard_normal((count, number))
    if centres.ndim != 2 or centres.shape[1] != number or len(centres) == 0:
        return noise
    centres = np.asarray(centres, dtype=np.float64)
    first, second = centres[chance.integers(len(centres), size=(2, count))]
    rows = first + _FURTHEST * chance.random((count, 1)) * (second - first)
    width = np.std(centres, axis=0)
    size = np.max(np.abs(centres), axis=0)
    return rows + 0.1 * np.where(width > 0, width, np.maximum(size, 1.0)) * noise
