"""Rows that an export is tried on."""

from typing import Any

import numpy as np

from relvec.modelling import known_places, trial_rows
from relvec.typing import Array

# Of the largest of a feature: so far from zero no rounding makes a row negative.
_LEAST = 1e-3


def tried_rows(model: Any, count: int, further: float = 1.0) -> Array:
    """About the centres of a model, and positive if no centre is negative.

    Kernels of counts know no others. They may be so many times further out.
    """
    rows, centres = trial_rows(model, count), known_places(model)
    if further != 1 and rows.dtype != object:
        middle = rows.mean(axis=0)
        rows = middle + further * (rows - middle)
    if centres.dtype == object or centres.size == 0 or np.min(centres) < 0:
        return rows
    return np.maximum(np.abs(rows), _LEAST * np.max(centres, axis=0))
