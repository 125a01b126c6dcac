"""How well a model predicts rows that it has not seen."""

from typing import Any

import numpy as np

from relvec.cli.targets import Target
from relvec.report.scores import class_scores, number_scores
from relvec.typing import AnyArray


def predicted(model: Any, X: Any, *, classes: bool) -> dict[str, AnyArray]:
    """What a model says of rows, by name; deviations and probabilities if it can."""
    if not classes:
        try:
            mean, std = model.predict(X, return_std=True)
        except TypeError:  # of others than ours
            return {"mean": np.asarray(model.predict(X))}
        return {"mean": mean, "std": std}
    if not hasattr(model, "predict_proba"):
        return {"class": np.asarray(model.predict(X))}
    probabilities = np.asarray(model.predict_proba(X))
    labels = np.asarray(model.classes_)
    return {"class": labels[probabilities.argmax(axis=1)], "proba": probabilities}


def scores(model: Any, X: Any, target: Target) -> dict[str, float | None]:
    """Errors, and what the bars or probabilities are worth."""
    found = predicted(model, X, classes=target.classes)
    if target.classes:
        known = found["class"], found.get("proba"), np.asarray(model.classes_)
        return class_scores(target.values, *known)
    return number_scores(target.values, found["mean"], found.get("std"))


def baseline(known: Target, held: Target) -> dict[str, float]:
    """The error of whoever says the mean, or the most frequent class, of every row."""
    if not known.classes:
        error = held.values - known.values.mean()
        return {"rmse": float(np.sqrt(np.mean(error**2)))}
    labels, counts = np.unique(known.values, return_counts=True)
    return {"error": float(np.mean(held.values != labels[counts.argmax()]))}
