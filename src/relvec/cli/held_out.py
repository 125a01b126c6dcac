"""Which rows of a table a model was fitted to, as far as its scaler tells."""

from dataclasses import dataclass
from typing import Any

import numpy as np
from sklearn.base import clone
from sklearn.pipeline import Pipeline

from relvec.cli.exits import Problem
from relvec.cli.training import Data, split
from relvec.typing import AnyArray

_SAME = 1e-9  # of a scaled feature: sums made in another order


@dataclass(frozen=True, eq=False)
class Known:
    """Rows to try a model on, and what is known of them."""

    held_out: AnyArray | None  # None: all rows
    text: str


def known_rows(model: Any, data: Data, holdout: float, seed: int) -> Known:
    """The rows that fit held out, if the model is one of the others; or all rows.

    Means and deviations of the features are in the model, and those of a split are its
    own: whether the model was fitted to a part of this table can be seen from them.
    """
    if not isinstance(model, Pipeline) or len(model.steps) != 2:
        return _unknown(data)
    before = model.steps[0][1]
    if not hasattr(before, "feature_names_in_"):  # none of fit's, then
        return _unknown(data)
    try:
        kept, out = split(data, holdout, seed)
    except Problem:  # too few rows
        return _unknown(data)
    every = np.arange(len(data))
    part, whole = (_fitted_to(before, data.X, rows) for rows in (kept, every))
    if part and not whole and len(out):
        return Known(
            out,
            f"Scores are of the {len(out):,} rows that relvec fit held out, which the "
            "model has not seen: its scaling is exactly that of the other rows.",
        )
    if whole and not part:
        return Known(
            None,
            f"Scores are of all {len(data):,} rows, and the model was fitted to these "
            "very rows: on new ones it will do worse.",
        )
    return _unknown(data)


def _unknown(data: Data) -> Known:
    return Known(
        None,
        f"Scores are of all {len(data):,} rows of the table. Whether the model was "
        "fitted to some of them is not known; if so, the scores flatter it.",
    )


def _fitted_to(before: Any, X: Any, rows: AnyArray) -> bool:
    """Whether it is what a fit to these rows gives."""
    again = clone(before).fit(X.iloc[rows])
    made, found = again.transform(X), before.transform(X)
    return made.shape == found.shape and np.allclose(made, found, _SAME, _SAME)
