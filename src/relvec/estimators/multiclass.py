"""Parameters about classes: how they are told apart, and what they weigh."""

from dataclasses import replace
from typing import Any

import numpy as np
from sklearn.utils.class_weight import compute_class_weight

from relvec.modelling import (
    ONE_AGAINST,
    SINGLE_MODELS,
    OneAgainstOne,
    Scheme,
    TrainingRows,
    is_one_against,
)
from relvec.parameters import as_weights, check_choice
from relvec.typing import AnyArray

MULTI_CLASS = ("auto", *SINGLE_MODELS, *ONE_AGAINST)

# Of one model for all of them: each step takes numbers of rows × classes × nodes of an
# integral, and a hundred classes already take minutes.
MOST_CLASSES = 500


def check_multi_class(multi_class: Any) -> None:
    """A name, or one with settings."""
    if not isinstance(multi_class, Scheme | OneAgainstOne):
        check_choice("multi_class", multi_class, MULTI_CLASS)


def check_several(classes: AnyArray, model: Any) -> None:
    """At least two."""
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
    """Refuse them, in words, where classes are voted for."""
    if model.multi_class == OneAgainstOne("votes"):
        raise AttributeError(
            "votes are no probabilities: for predict_proba set multi_class to 'ovo', "
            "or its decision to 'coupled'"
        )
    return True


def check_class_weight(value: Any) -> None:
    """A word, weights by label, or nothing."""
    named = isinstance(value, str) and value == "balanced"
    if not (value is None or named or isinstance(value, dict)):
        raise ValueError(
            "class_weight must be a dict of weights by class, 'balanced' or None; got "
            f"{value!r}"
        )


def weighted_by_class(
    class_weight: Any, rows: TrainingRows, y: AnyArray, *, at_most_one: bool = False
) -> tuple[TrainingRows, AnyArray]:
    """Rows of weights multiplied by that of their class; those of zero leave.

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
