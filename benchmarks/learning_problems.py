"""Problems to learn kernels on: synthetic ones, and tables cut at random."""

import os
from dataclasses import dataclass, replace
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
from problems import TEST_SEED, sinc
from sklearn.datasets import make_friedman1
from sklearn.model_selection import train_test_split

NOISE = 0.1


@dataclass(frozen=True)
class Split:
    """Rows to fit and rows to test on, the latter without noise if it is known."""

    X: Any
    y: Any
    X_test: Any
    y_test: Any

    def standardised(self, target=False):
        """Features, and perhaps the target, by mean and deviation of the rows to fit.

        Targets stay as they are by default, as errors are in their units.
        """

        def like_rows(values, rows):
            return (values - rows.mean(axis=0)) / rows.std(axis=0)

        X, X_test = (like_rows(one, self.X) for one in (self.X, self.X_test))
        y, y_test = self.y, self.y_test
        if target:
            y, y_test = (like_rows(one, self.y) for one in (y, y_test))
        return Split(X, y, X_test, y_test)

    def first(self, rows):
        """The same with so many of the rows to fit."""
        return replace(self, X=self.X[:rows], y=self.y[:rows])

    def rmse(self, model):
        """Of a fitted model on the rows to test."""
        squares = (model.predict(self.X_test) - self.y_test) ** 2
        return float(np.sqrt(np.mean(squares)))


def noisy(rng, values):
    return values + NOISE * rng.standard_normal(len(values))


def multiscale(seed, spaced):
    """sin(40/x) on [1, 10], equally spaced or uniform: Yuan et al., section 5.2."""
    rng = np.random.default_rng(seed)
    X = np.linspace(1, 10, 150) if spaced else rng.uniform(1, 10, 150)
    X_test = np.linspace(1, 10, 1000)
    y = noisy(rng, np.sin(40 / X))
    return Split(X[:, None], y, X_test[:, None], np.sin(40 / X_test))


def plane(seed, side):
    """sin(x₁)/x₁ + x₂/10 at ``side``² points of [-10, 10]²: section 5.3."""

    def truth(X):
        return np.sinc(X[:, 0] / np.pi) + 0.1 * X[:, 1]

    rng, test = np.random.default_rng(seed), np.random.default_rng(TEST_SEED + seed)
    X, X_test = rng.uniform(-10, 10, (side**2, 2)), test.uniform(-10, 10, (1000, 2))
    return Split(X, noisy(rng, truth(X)), X_test, truth(X_test))


def round_sinc(seed, rows, features):
    """sin(r)/r of the distance r from the origin, on [-10, 10] to some power."""
    rng, test = np.random.default_rng(seed), np.random.default_rng(TEST_SEED + seed)
    X = rng.uniform(-10, 10, (rows, features))
    X_test = test.uniform(-10, 10, (2000, features))
    return Split(X, noisy(rng, sinc(X)), X_test, sinc(X_test))


def friedman(seed, rows):
    """Friedman's first function (1991) with noise 1: five of ten features matter."""
    X, y = make_friedman1(rows, noise=1.0, random_state=seed)
    X_test, y_test = make_friedman1(2000, noise=0.0, random_state=TEST_SEED + seed)
    return Split(X, y, X_test, y_test)


def data_folder():
    """Where the data sets are: RELVEC_DATA, or beside the checkout."""
    beside = Path(__file__).resolve().parents[2] / "shared" / "data"
    return Path(os.environ.get("RELVEC_DATA", beside))


@cache
def load(name):
    """Features and targets of a file of the data folder."""
    found = sorted(data_folder().glob(f"{name}.csv*"))
    if not found:
        msg = f"The data set {name!r} is not here: set RELVEC_DATA."
        raise SystemExit(msg)
    names = np.genfromtxt(found[0], delimiter=",", max_rows=1, dtype=str)
    # The part that a row was given by its source; these cuts are made by chance.
    columns = [place for place, name in enumerate(names) if name != "split"]
    values = np.loadtxt(found[0], delimiter=",", skiprows=1, usecols=columns)
    return values[:, :-1], values[:, -1]


def cut(name, seed, rows, n_test=2000, target=False):
    """So many rows of a file to fit and others to test on, features standardised."""
    X, y = load(name)
    order = np.random.default_rng(seed).permutation(len(X))
    train, test = order[:rows], order[rows : rows + n_test]
    return Split(X[train], y[train], X[test], y[test]).standardised(target)


def cut_classes(name, seed, rows):
    """The same with as much of each class in both parts, and all other rows to test."""
    X, y = load(name)
    parts = train_test_split(X, y, train_size=rows, stratify=y, random_state=seed)
    X, X_test, y, y_test = parts
    return Split(X, y, X_test, y_test).standardised()
