"""Validation of rows and classes: scikit-learn's checks, also for blocks of rows."""

import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from typing import Any

import numpy as np
from sklearn.utils import check_random_state
from sklearn.utils.class_weight import compute_class_weight
from sklearn.utils.validation import validate_data

from relvec.data import RowBlocks
from relvec.modelling import (
    ONE_AGAINST,
    SINGLE_MODELS,
    OneAgainstOne,
    Scheme,
    TrainingRows,
    is_one_against,
)
from relvec.parameters import (
    as_floats,
    as_weights,
    check_choice,
    check_count,
    check_unmasked,
)
from relvec.typing import AnyArray

# Rows drawn as centres by candidates="auto"; all of them up to here.
MOST_CANDIDATES = 10_000
_NOTED = ("n_features_in_", "feature_names_in_")
# Single precision stays as it is: blocks of rows are converted on their way.
_FLOATS = (np.float64, np.float32)


@contextmanager
def features_kept(estimator: Any) -> Iterator[None]:
    """Restore the noted features if a fit does not end.

    So an estimator is as it was after an error or an interrupt.
    """
    before = {name: vars(estimator).get(name) for name in _NOTED}
    try:
        yield
    except BaseException:
        for name, value in before.items():
            if value is not None:
                setattr(estimator, name, value)
            elif hasattr(estimator, name):
                delattr(estimator, name)
        raise


def validated(estimator: Any, X: Any, *y: Any, **checks: Any) -> Any:
    """scikit-learn's validation, with a remedy where a column holds text.

    Of arrays that are as they should be scikit-learn would say just that, in a fifth of
    the time that a fit of 50 rows takes outside its search.
    """
    fits = len(y) == 1 and checks.get("reset", True)
    if fits and _is_plain(X, 2) and _is_plain(y[0], 1) and len(X) == len(y[0]):
        note_features(estimator, X.shape[1], None)
        return X, *y
    for name, given in zip("Xy", (X, *y), strict=False):
        _check_computed(name, given)
        check_unmasked(name, given)
    _check_times(X)
    y = tuple(_without_missing_type(one) for one in y)
    try:
        return validate_data(estimator, X, *y, dtype=_FLOATS, **checks)
    except ValueError as error:
        remedy = _remedy(estimator, str(error))
        if remedy is None:
            raise
        raise ValueError(remedy) from error


def _check_computed(name: str, given: Any) -> None:
    """Refuse a lazy data frame of polars."""
    lazy = hasattr(given, "collect") and hasattr(given, "lazy")
    if lazy and not hasattr(given, "__array__"):
        raise TypeError(
            f"{name} is a {type(given).__name__}, whose rows are not computed yet: "
            f"give {name}.collect()"
        )


def _check_times(X: Any) -> None:
    """Refuse columns of dates, times and durations."""
    if hasattr(X, "columns") and hasattr(X, "dtypes"):
        columns = zip(X.columns, X.dtypes, strict=True)
        found = [(f"column {name!r} of X", kind) for name, kind in columns]
    else:
        found = [("X", getattr(X, "dtype", None))]
    for name, kind in found:
        # pandas and numpy have letters for kinds, polars has a method.
        temporal = getattr(kind, "is_temporal", None)
        if getattr(kind, "kind", "") in {"m", "M"} or (temporal and temporal()):
            raise ValueError(
                f"{name} holds dates or times ({kind}): turn them into numbers first, "
                "for example the days since a fixed date, or leave the column out"
            )


def _without_missing_type(y: Any) -> Any:
    """Labels of pandas' nullable types as whole numbers or booleans of numpy.

    scikit-learn would turn them into floating-point numbers.
    """
    kind = getattr(getattr(y, "dtype", None), "numpy_dtype", None)
    if kind is None or kind.kind not in "biu" or y.isna().any():
        return y
    return y.to_numpy(dtype=kind)


def _is_plain(array: Any, ndim: int) -> bool:
    """Whether it is an array of finite floating-point numbers, and not empty."""
    return (
        type(array) is np.ndarray
        and array.dtype in _FLOATS
        and array.ndim == ndim
        and array.size > 0
        and bool(np.isfinite(array).all())
    )


def _remedy(estimator: Any, error: str) -> str | None:
    """scikit-learn's message, with a remedy."""
    if "could not convert string" in error:
        return (
            f"X or y holds text ({error}): encode it as numbers first, for "
            "instance with sklearn.preprocessing.OneHotEncoder, or give a kernel that "
            "is a function of such rows"
        )
    if str(estimator.kernel) == "precomputed" and "is expecting" in error:
        return (
            f"{error.rstrip('.')}: with kernel='precomputed' give the kernel values "
            "between every row and all columns of the matrix fitted on, relevant or not"
        )
    return None


def as_seed(random_state: Any) -> int:
    """The same every time unless asked otherwise."""
    if random_state is None:
        return 0
    return int(check_random_state(random_state).randint(2**31 - 1))


def check_columns(X: AnyArray, announced: int | None) -> None:
    """A precomputed matrix is square, or has as many columns as were announced."""
    n_columns = X.shape[1]
    if announced is not None:
        if n_columns != announced:
            raise ValueError(
                f"the kernel matrix has {n_columns} columns and candidates is "
                f"{announced}: for kernel='precomputed' it is the number of columns"
            )
    elif n_columns != len(X):
        raise ValueError(
            "kernel='precomputed' needs a square matrix to fit on, the kernel "
            f"between all training rows; got X of shape {X.shape}. If its columns are "
            f"other centres, RVR and RVC take it with candidates={n_columns}"
        )


def check_candidates(value: Any) -> None:
    """Check ``candidates``: a word, a number, or an array of centres."""
    if is_centres(value) or (isinstance(value, str) and value in {"auto", "all"}):
        return
    if isinstance(value, str):
        raise ValueError(
            "candidates must be 'auto', 'all', a number of rows or an array of "
            f"centres; got {value!r}"
        )
    check_count("candidates", value)


def is_centres(candidates: Any) -> bool:
    """Whether centres were given rather than a rule."""
    return not isinstance(candidates, str) and hasattr(candidates, "__len__")


def n_drawn(candidates: Any, n_kernels: int, *, every: bool = False) -> int:
    """How many rows are to be drawn as centres; "auto" is all where that will do."""
    if is_centres(candidates):
        return 0
    if isinstance(candidates, str):
        most = max(1, MOST_CANDIDATES // n_kernels)
        return sys.maxsize if candidates == "all" or every else most
    return int(candidates)


def as_centres(given: Any, rows: TrainingRows, *, name: str = "candidates") -> AnyArray:
    """A checked array of centres, beside the rows."""
    centres = as_objects(given) if rows.of_objects else as_floats(name, given, 2)
    if centres is None or len(centres) == 0 or centres.shape[1] != rows.n_features:
        shape = np.shape(given if centres is None else centres)
        raise ValueError(
            f"{name} has shape {shape}: give at least one centre, each "
            f"with the {rows.n_features} features of X"
        )
    return centres


def as_objects(X: Any) -> AnyArray | None:
    """Rows that are no numbers, one row per object; None for a table of numbers.

    Text, graphs, sequences of any length, or a table of such.
    """
    X = X.to_numpy() if hasattr(X, "to_numpy") else X  # a series or frame
    if isinstance(X, np.ndarray) and X.ndim == 2:
        return X.astype(object) if _is_text(X) else None
    is_list = isinstance(X, list | tuple) or (isinstance(X, np.ndarray) and X.ndim == 1)
    if not is_list or len(X) == 0 or not _is_object(X[0]):
        return None
    rows = np.empty((len(X), 1), dtype=object)
    for number, item in enumerate(X):
        rows[number, 0] = item
    return rows


def check_kind(objects: bool, vectors: AnyArray) -> None:
    """Refuse numbers where a model has seen objects, and objects where numbers."""
    fitted = vectors.dtype == object
    if objects != fitted:
        seen, given = ("objects", "numbers") if fitted else ("numbers", "objects")
        msg = f"the model was fitted on {seen} and X holds {given}: give such rows"
        raise ValueError(msg)


def _is_text(table: AnyArray) -> bool:
    if table.dtype.kind not in "OUS":
        return False
    try:
        table.astype(np.float64)
    except (TypeError, ValueError):
        return True
    return False


def _is_object(item: Any) -> bool:
    """Whether it is neither a number nor a row of numbers."""
    if isinstance(item, str | bytes):
        return True
    try:
        return np.asarray(item).dtype.kind not in "biuf"
    except ValueError:  # a ragged sequence
        return True


def check_nothing_beside(y: Any, sample_weight: Any) -> None:
    """Reject targets and weights beside blocks that bring their own."""
    if y is not None or sample_weight is not None:
        raise ValueError(
            "blocks of rows bring their targets and weights along: name their columns "
            "in relvec.data.scan and leave out y and sample_weight"
        )


def note_features(estimator: Any, number: int, names: Sequence[str] | None) -> None:
    """What scikit-learn's validation notes of an array."""
    estimator.n_features_in_ = number
    if names is not None:
        estimator.feature_names_in_ = np.array(names, dtype=object)
    elif hasattr(estimator, "feature_names_in_"):
        del estimator.feature_names_in_


def check_same_features(estimator: Any, blocks: RowBlocks) -> None:
    """Refuse blocks with other features than those of the fit."""
    if blocks.n_features != estimator.n_features_in_:
        raise ValueError(
            f"the blocks have {blocks.n_features} features and the model was fitted "
            f"with {estimator.n_features_in_}: name the same ones in scan(features=...)"
        )
    names, fitted = blocks.feature_names, getattr(estimator, "feature_names_in_", None)
    if names is not None and fitted is not None and list(fitted) != list(names):
        raise ValueError(
            f"the blocks have features {names} and the model was fitted with "
            f"{list(fitted)}: give them in that order, scan(features=[...])"
        )


MULTI_CLASS = ("auto", *SINGLE_MODELS, *ONE_AGAINST)
# For one model of all classes: each step takes numbers of rows × classes × nodes of an
# integral, and a hundred classes already take minutes.
MOST_CLASSES = 500


def check_multi_class(multi_class: Any) -> None:
    """Check ``multi_class``: a name, or an object with settings."""
    if not isinstance(multi_class, Scheme | OneAgainstOne):
        check_choice("multi_class", multi_class, MULTI_CLASS)


def check_several(classes: AnyArray, model: Any) -> None:
    """Reject a single class."""
    if len(classes) < 2:
        raise ValueError(
            f"y holds one class only, {classes.tolist()}: {type(model).__name__} "
            "needs rows of at least two classes with positive sample_weight"
        )


def check_one_model(classes: AnyArray, multi_class: Any) -> None:
    """Refuse more classes than one model of all of them can be fitted for."""
    if len(classes) > MOST_CLASSES and not is_one_against(multi_class):
        raise ValueError(
            f"y holds {len(classes)} classes, and one model of more than "
            f"{MOST_CLASSES} takes too long: set multi_class='ovr', which has a model "
            "for each class, or use LSSVC"
        )


def has_probabilities(model: Any) -> bool:
    """Whether a classifier has probabilities; raise an error for votes."""
    if model.multi_class == OneAgainstOne("votes"):
        raise AttributeError(
            "votes are no probabilities: for predict_proba set multi_class to 'ovo', "
            "or its decision to 'coupled'"
        )
    return True


def check_class_weight(value: Any) -> None:
    """Check ``class_weight``: "balanced", weights by label, or None."""
    named = isinstance(value, str) and value == "balanced"
    if not (value is None or named or isinstance(value, dict)):
        raise ValueError(
            "class_weight must be a dict of weights by class, 'balanced' or None; got "
            f"{value!r}"
        )


def weighted_by_class(
    class_weight: Any, rows: TrainingRows, y: AnyArray, *, at_most_one: bool = False
) -> tuple[TrainingRows, AnyArray]:
    """Multiply weights by those of the classes; rows of weight zero are dropped.

    At most by one, if that is asked for: then by weights beside the largest of them.
    """
    if class_weight is None:
        return rows, y
    labels, classes = np.unique(y, return_inverse=True)
    if isinstance(class_weight, str):
        # Rows count as often as their weight says, which not every scikit-learn knows.
        count = np.bincount(classes, rows.weight)
        of_class = count.sum() / (len(labels) * count)
    else:
        of_class = compute_class_weight(class_weight, classes=labels, y=labels)
        of_class = as_weights(of_class, len(labels), name="class_weight")
    if at_most_one:
        of_class = of_class / of_class.max()
    weight = rows.weight * of_class[classes]
    counted = np.flatnonzero(weight)
    weighted = replace(rows, weight=weight, spread=None)
    return weighted.subset(counted), y[counted]
