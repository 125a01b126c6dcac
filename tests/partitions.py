"""Rows in parts of any sizes, and fits that only note which sets they were given."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from relvec.data import noisy_sinc, two_mixtures
from relvec.evidence import Deadline
from relvec.kernels import Gaussian
from relvec.modelling import Regression, Specification, class_family, in_arrays
from relvec.partition.parts import dealt
from relvec.partition.thesis import Begun, SetFits, SetModel

MANY = 10_000


def training_set(X, y, family, weight=None, seed=0):
    """Rows in memory with their targets, all of them candidates; classes as indices."""
    weight = np.ones(len(X)) if weight is None else weight
    rows, y = in_arrays(X, y, weight, MANY, seed)
    return family.encoded(rows, y)


def sinc_problem(n_rows=120, seed=0, *, width=3.0, noise=0.1, **choices):
    """A specification, and rows with targets in an order by chance."""
    X, y = noisy_sinc(n_rows, noise=noise, seed=seed)
    family = Regression()
    spec = Specification((Gaussian(width),), family, **choices)
    return spec, dealt(training_set(X, y, family, seed=seed), by_class=False)


def class_problem(n_rows=120, seed=0, *, width=0.5, **choices):
    """The same of two classes that overlap."""
    X, y = two_mixtures(n_rows, seed=seed)
    family = class_family("auto", np.array([0, 1]))
    spec = Specification((Gaussian(width),), family, **choices)
    return spec, dealt(training_set(X, y, family, seed=seed), by_class=True)


def three_clouds(n_rows, seed, shares=(0.5, 0.3, 0.2)):
    """Three classes that overlap, of uneven sizes."""
    rng = np.random.default_rng(seed)
    classes = rng.choice(len(shares), n_rows, p=shares)
    places = np.array([[0.0, 0.0], [1.5, 0.5], [0.3, 1.6]])
    return places[classes] + 0.6 * rng.standard_normal((n_rows, 2)), classes


@dataclass(frozen=True)
class Cut:
    """Parts that begin at these rows; some may be empty."""

    data: Any
    at: Sequence[int] = ()

    def each(self, work):
        return map(work, self._parts())

    def fold(self, work, state, stop):
        for part in self._parts():
            if stop():
                break
            state = work(state, part)
        return state

    def _parts(self):
        for rows in np.split(np.arange(len(self.data)), self.at):
            yield self.data.subset(rows)


def numbers(data):
    """Which rows a set has, as they were given."""
    return frozenset(int(index) for index in data.rows.indices)


@dataclass(frozen=True)
class Noted:
    """A set that was fitted: its rows, what it began with and what is left of it."""

    rows: frozenset
    start: Any
    noise: float
    around: Any
    left: SetModel


@dataclass(frozen=True)
class Known:
    """In the place of a model."""

    number: int  # of the set

    def predictor(self, X):
        """A function that depends on the set, so that every set errs elsewhere."""
        return np.sin((self.number + 1) * X[:, :1])


@dataclass(frozen=True)
class Noting(SetFits):
    """Keeps so many rows of every set as its vectors, in the place of a fit."""

    kept: int = 3
    noted: list = field(default_factory=list)

    def fitted(self, rows, around, log_parameters, *, start=None):
        number = len(self.noted)
        order = np.argsort(rows.rows.indices)[: self.kept_of(number)]
        vectors = rows.subset(np.sort(order))
        left = SetModel(Known(number), vectors, log_parameters + 1.0, len(rows))
        noise = float(log_parameters[0]) if len(log_parameters) else np.nan
        self.noted.append(Noted(numbers(rows), start, noise, around, left))
        return left

    def kept_of(self, number):
        return self.kept

    @property
    def sets(self):
        """The rows of every set, in the order in which they were fitted."""
        return [one.rows for one in self.noted]


def noting(spec, size, kind=Noting, **settings):
    return kind(spec, size, "partition", "partition", "never", **settings)


def begun(until=None, noise=0.0):
    """What sets begin with: nothing but a noise."""
    return Begun(np.array([noise]), None, until or Deadline(), around=None)
