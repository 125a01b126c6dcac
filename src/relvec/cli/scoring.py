"""How well a model predicts rows that it has not seen."""

from typing import Any

import numpy as np

from relvec.cli.targets import Target
from relvec.report.scores import (
    class_scores,
    guess_scores,
    number_scores,
    predicted,
)


def scores(model: Any, X: Any, target: Target) -> dict[str, float | None]:
    """Errors, and what the bars or probabilities are worth."""
    found = predicted(model, X, classes=target.classes)
    if target.classes:
        known = found["class"], found.get("proba"), np.asarray(model.classes_)
        return class_scores(target.values, *known)
    return number_scores(target.values, found["mean"], found.get("std"))


def baseline(known: Target, held: Target) -> dict[str, float]:
    """What there is to beat."""
    return guess_scores(known.values, held.values, classes=known.classes)
