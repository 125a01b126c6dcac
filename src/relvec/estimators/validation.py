"""scikit-learn's validation of arrays, and the same for blocks of rows."""

from typing import Any

import numpy as np
from sklearn.utils.validation import validate_data

from relvec.data import RowBlocks

# Single precision stays as it is: blocks of rows are converted on their way.
_FLOATS = (np.float64, np.float32)


def validated(estimator: Any, X: Any, *y: Any, **checks: Any) -> Any:
    """scikit-learn's validation, with a remedy where a column holds text."""
    try:
        return validate_data(estimator, X, *y, dtype=_FLOATS, **checks)
    except ValueError as error:
        if "could not convert string" not in str(error):
            raise
        msg = (
            f"X or y holds text ({error}): encode it as numbers first, for "
            "instance with sklearn.preprocessing.OneHotEncoder"
        )
        raise ValueError(msg) from error


def check_nothing_beside(y: Any, sample_weight: Any) -> None:
    """Refuse what blocks have themselves."""
    if y is not None or sample_weight is not None:
        msg = (
            "blocks of rows bring their targets and weights along: name their columns "
            "in relvec.data.scan and leave out y and sample_weight"
        )
        raise ValueError(msg)


def note_features(estimator: Any, blocks: RowBlocks) -> None:
    """What validation notes of an array, for blocks."""
    estimator.n_features_in_ = blocks.n_features
    if blocks.feature_names is not None:
        estimator.feature_names_in_ = np.array(blocks.feature_names, dtype=object)
    elif hasattr(estimator, "feature_names_in_"):
        del estimator.feature_names_in_


def check_same_features(estimator: Any, blocks: RowBlocks) -> None:
    """Refuse blocks with other features than those of the fit."""
    if blocks.n_features != estimator.n_features_in_:
        msg = (
            f"the blocks have {blocks.n_features} features and the model was fitted "
            f"with {estimator.n_features_in_}: name the same ones in scan(features=...)"
        )
        raise ValueError(msg)
    names, fitted = blocks.feature_names, getattr(estimator, "feature_names_in_", None)
    if names is not None and fitted is not None and list(fitted) != list(names):
        msg = (
            f"the blocks have features {names} and the model was fitted with "
            f"{list(fitted)}: give them in that order, scan(features=[...])"
        )
        raise ValueError(msg)
