"""Plausible problems: how they are cut, and what there is to say of a model of them."""

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
import plausible_classes
import plausible_regression
from learning_problems import data_folder, load
from sklearn.metrics import log_loss
from tables_data import standardised

TEST_ROWS = 2000
COVERAGE = 0.9


@dataclass(frozen=True)
class Plausible:
    """A problem of which a seed draws rows to fit and rows to test on."""

    name: str
    classes: bool
    rows: int  # to fit
    draw: Callable[[int], tuple[Any, Any, int]]  # all rows, and how many are to fit

    @property
    def key(self):
        """The name, which numbers and classes have in common."""
        return f"classes: {self.name}" if self.classes else self.name

    def cut(self, seed):
        """A split, features and numbers to predict standardised by rows to fit."""
        X, y, rows = self.draw(seed)
        train, test = np.arange(rows), np.arange(rows, len(X))[: max(rows, TEST_ROWS)]
        return standardised(X, y, train, test, self.classes)


def drawn(make, rows, seed):
    rng = np.random.default_rng(seed)
    X, y = make(rng, rows + TEST_ROWS)
    return X, y, rows


def cut_table(name, rows, seed):
    X, y = load(name)
    order = np.random.default_rng(seed).permutation(len(y))
    return X[order], y[order], rows


def plausible_problems():
    """All of them; tables only where they are."""
    found = []
    known = {path.name.split(".")[0] for path in data_folder().glob("*.csv*")}
    for module, classes in ((plausible_regression, False), (plausible_classes, True)):
        for name, rows, make in module.DRAWN:
            found.append(Plausible(name, classes, rows, partial(drawn, make, rows)))
        for name, rows in module.TABLES:
            if name in known:
                count = rows or len(load(name)[1]) // 2
                draw = partial(cut_table, name, count)
                found.append(Plausible(name, classes, count, draw))
    return found


def judged(model, split, classes):
    """Error and log loss; of regression with error bars their coverage, too."""
    return judged_classes(model, split) if classes else judged_targets(model, split)


def judged_targets(model, split):
    y = split.y_test
    if not hasattr(model, "predict_interval"):
        try:
            mean, std = model.predict(split.X_test, return_std=True)
        except TypeError:
            return {"error": split.rmse(model) / y.std()}
        half = 1.6449 * std
        lower, upper = mean - half, mean + half
    else:
        mean, std = model.predict(split.X_test, return_std=True)
        lower, upper = model.predict_interval(split.X_test, COVERAGE)
    loss = 0.5 * np.mean(np.log(2 * np.pi * std**2) + ((y - mean) / std) ** 2)
    return {
        "error": float(np.sqrt(np.mean((y - mean) ** 2)) / y.std()),
        "log_loss": float(loss),
        "coverage": float(np.mean((lower <= y) & (y <= upper))),
    }


def judged_classes(model, split):
    found = {"error": float(np.mean(model.predict(split.X_test) != split.y_test))}
    if hasattr(model, "predict_proba"):
        p = np.clip(model.predict_proba(split.X_test), 1e-15, 1)
        known = np.isin(split.y_test, model.classes_)
        labels = model.classes_
        loss = log_loss(split.y_test[known], p[known], labels=labels)
        found["log_loss"] = float(loss)
    return found


class Nothing:
    """The mean and the deviation of targets, or the frequencies of classes."""

    def fit(self, X, y):
        self.mean, self.std = y.mean(), y.std()
        self.classes_, counts = np.unique(y, return_counts=True)
        self.frequencies = counts / counts.sum()
        self.classes = y.dtype.kind == "i"
        return self

    def predict(self, X, return_std=False):
        if self.classes:
            return np.full(len(X), self.classes_[np.argmax(self.frequencies)])
        mean, std = np.full(len(X), self.mean), np.full(len(X), self.std)
        return (mean, std) if return_std else mean

    def predict_proba(self, X):
        return np.tile(self.frequencies, (len(X), 1))
