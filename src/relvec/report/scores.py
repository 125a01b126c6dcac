"""What models predict, and how good it is, in the figures of the field."""

from typing import Any

import numpy as np
from scipy.stats import binom
from sklearn.metrics import log_loss

from relvec.typing import AnyArray, Array

_WITHIN, _NOMINAL = 1.96, 0.95  # deviations, and the share that is within them
_CHANCE = 0.99  # how often bars that are right are not called wrong


def predicted(model: Any, X: Any, *, classes: bool) -> dict[str, AnyArray]:
    """What a model says of rows, by name; deviations and probabilities if it can."""
    if not classes:
        try:
            mean, std = model.predict(X, return_std=True)
        except TypeError:  # of others than ours
            return {"mean": np.asarray(model.predict(X))}
        return {"mean": mean, "std": std}
    found = {"class": np.asarray(model.predict(X))}
    if hasattr(model, "predict_proba"):
        found["proba"] = np.asarray(model.predict_proba(X))
    return found


def guess_scores(known: AnyArray, y: AnyArray, *, classes: bool) -> dict[str, float]:
    """The error of whoever says the mean, or the most frequent class, of every row."""
    if not classes:
        return {"rmse": float(np.sqrt(np.mean((y - known.mean()) ** 2)))}
    labels, counts = np.unique(known, return_counts=True)
    return {"error": float(np.mean(y != labels[counts.argmax()]))}


def number_scores(y: Array, mean: Array, std: Array | None) -> dict[str, float | None]:
    """Errors, and what the error bars are worth."""
    error = mean - y
    spread = float(np.var(y))
    return {
        "rmse": float(np.sqrt(np.mean(error**2))),
        "mae": float(np.mean(np.abs(error))),
        "r2": 1 - float(np.mean(error**2)) / spread if spread > 0 else None,
        "nlpd": None if std is None else _nlpd(error, std),
        "within_95": None
        if std is None
        else float(np.mean(np.abs(error) <= _WITHIN * std)),
    }


def bars_in_words(within: float, number: int) -> str:
    """Whether error bars are too narrow or too wide, beyond what chance explains.

    ``within`` is the share of so many rows that are within 1.96 deviations.
    """
    least, most = binom.interval(_CHANCE, number, _NOMINAL)
    word = "neither too narrow nor too wide"
    if round(within * number) < least:
        word = "too narrow"
    elif round(within * number) > most:
        word = "too wide"
    chance = f"{least / number:.3g} to {most / number:.3g} by chance"
    return f"{word}: {within:.3g} of rows within, {chance}"


def class_scores(
    y: AnyArray, predicted: AnyArray, probabilities: Array | None, labels: AnyArray
) -> dict[str, float | None]:
    """The share of wrong classes, and what probabilities are worth."""
    return {
        "error": float(np.mean(predicted != y)),
        "log_loss": None
        if probabilities is None
        else float(log_loss(y, probabilities, labels=labels)),
    }


def _nlpd(error: Array, std: Array) -> float:
    """Mean of minus the log density of a normal distribution."""
    return float(np.mean(0.5 * np.log(2 * np.pi * std**2) + 0.5 * (error / std) ** 2))
