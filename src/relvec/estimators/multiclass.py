"""What ``multi_class`` may be, and whether it makes probabilities."""

from typing import Any

from relvec.modelling import ONE_AGAINST, SINGLE_MODELS, OneAgainstOne, Scheme
from relvec.parameters import check_choice
from relvec.typing import AnyArray

MULTI_CLASS = ("auto", *SINGLE_MODELS, *ONE_AGAINST)


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


def has_probabilities(model: Any) -> bool:
    """Refuse them, in words, where classes are voted for."""
    if model.multi_class == OneAgainstOne("votes"):
        raise AttributeError(
            "votes are no probabilities: for predict_proba set multi_class to 'ovo', "
            "or its decision to 'coupled'"
        )
    return True
