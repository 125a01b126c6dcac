"""Every problem that is measured on: functions with noise, and data sets.

Data sets are not part of the repository: they are read from the folder that the
environment variable RELVEC_DATA names.
"""

import gzip
import os
from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import cache, cached_property, partial
from pathlib import Path
from typing import Any

import numpy as np
from scipy.special import expit
from sklearn.datasets import make_circles, make_friedman1, make_moons
from sklearn.model_selection import train_test_split
from sklearn.preprocessing import StandardScaler

from benchmarks.harness import rmse
from relvec.data import two_mixtures

TEST_SEED = 1_000_000
NOISE = 0.1


# Splits


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
        """The same with only the first rows to fit."""
        return replace(self, X=self.X[:rows], y=self.y[:rows])

    def rmse(self, model):
        """Error of a fitted model on the rows to test."""
        return rmse(model.predict(self.X_test), self.y_test)


def standardised(X, y, train, test, classes=False):
    """A split, its features and numbers to predict by those of the rows to fit."""
    # Unlike Split.standardised it leaves columns alone that are constant.
    scaler = StandardScaler().fit(X[train])
    y = y.astype(int) if classes else (y - y[train].mean()) / y[train].std()
    return Split(
        scaler.transform(X[train]), y[train], scaler.transform(X[test]), y[test]
    )


# Functions with noise


def noisy(rng, values):
    return values + NOISE * rng.standard_normal(len(values))


def yuan_waves(seed, spaced):
    """sin(40/x) on [1, 10], equally spaced or uniform: Yuan et al., section 5.2."""
    rng = np.random.default_rng(seed)
    X = np.linspace(1, 10, 150) if spaced else rng.uniform(1, 10, 150)
    X_test = np.linspace(1, 10, 1000)
    y = noisy(rng, np.sin(40 / X))
    return Split(X[:, None], y, X_test[:, None], np.sin(40 / X_test))


def yuan_plane(seed, side):
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


def friedman_split(seed, rows):
    """Friedman's first function (1991) with noise 1: five of ten features matter."""
    X, y = make_friedman1(rows, noise=1.0, random_state=seed)
    X_test, y_test = make_friedman1(2000, noise=0.0, random_state=TEST_SEED + seed)
    return Split(X, y, X_test, y_test)


@dataclass(frozen=True)
class Problem:
    """Rows from a seed, a kernel width, and how a prediction is judged."""

    name: str
    gamma: float
    measure: str
    draw: Callable[[int, int], tuple[Any, Any]]
    draw_test: Callable[[], tuple[Any, Any]]
    judge: Callable[[Any, Any], float]

    def error(self, model):
        X, y = self.draw_test()
        return float(self.judge(model.predict(X), y))


def sinc(X):
    """sin(r) / r of the distance r from the origin."""
    return np.sinc(np.linalg.norm(X, axis=1) / np.pi)


def noisy_sinc(n_samples, seed, noise=0.1):
    rng = np.random.default_rng(seed)
    X = rng.uniform(-10, 10, (n_samples, 2))
    return X, sinc(X) + noise * rng.standard_normal(n_samples)


REGRESSION = Problem(
    name="regression",
    gamma=1 / 2.5**2,
    measure="RMSE",
    draw=noisy_sinc,
    draw_test=lambda: noisy_sinc(2000, TEST_SEED, noise=0),
    judge=lambda predicted, truth: np.sqrt(np.mean((predicted - truth) ** 2)),
)

CLASSIFICATION = Problem(
    name="classification",
    gamma=1.0,
    measure="error rate",
    draw=lambda n_samples, seed: two_mixtures(n_samples, seed=seed),
    draw_test=lambda: two_mixtures(10_000, seed=TEST_SEED),
    judge=lambda predicted, truth: np.mean(predicted != truth),
)

PROBLEMS = {problem.name: problem for problem in (REGRESSION, CLASSIFICATION)}


# Data sets


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


# The large ones

FEWEST_ROWS = 1000
MOST_CLASSES = 100
SHARE = 0.75  # of the rows, to fit


@dataclass(frozen=True)
class Table:
    """A data set without its features: their number, and of each row the rest."""

    name: str
    features: int
    targets: Any
    parts: Any  # "train" or "test" of each row, or None

    @cached_property
    def classes(self):
        """Whether the targets are the labels 0 to K - 1 and no numbers to predict.

        The rings of abalone, which begin with 1, are no labels.
        """
        found = np.unique(self.targets)
        return len(found) <= MOST_CLASSES and np.array_equal(
            found, np.arange(len(found))
        )

    @property
    def rows(self):
        """Number of rows to fit."""
        if self.parts is None:
            return int(SHARE * len(self.targets))
        return int(np.sum(self.parts == "train"))

    def seeds(self, splits):
        """Seeds of the splits; one where the source of the data made the split."""
        return range(splits if self.parts is None else 1)

    def cut(self, seed):
        """Rows to fit and to test on, standardised by those to fit."""
        X, y = load(self.name)
        if self.parts is None:
            rows = np.arange(len(y))
            train, test = train_test_split(rows, train_size=SHARE, random_state=seed)
        else:
            train, test = (self.parts == part for part in ("train", "test"))
        return standardised(X, y, train, test, self.classes)


def table_of(path):
    """What a file holds beside its features, which are not read."""
    read = gzip.open if path.suffix == ".gz" else open
    with read(path, "rt") as lines:
        heading = next(lines).strip().split(",")
        ends = np.array([line.strip().rsplit(",", 2)[1:] for line in lines])
    given = "split" in heading
    return Table(
        name=path.name.split(".")[0],
        features=len(heading) - 1 - given,
        targets=ends[:, 1].astype(float),
        parts=ends[:, 0] if given else None,
    )


def large_tables():
    """All data sets with enough rows, by name."""
    paths = sorted([*data_folder().glob("*.csv"), *data_folder().glob("*.csv.gz")])
    tables = [table_of(path) for path in paths]
    found = {one.name: one for one in tables if len(one.targets) >= FEWEST_ROWS}
    if not found:
        raise SystemExit("The data sets are not here: set RELVEC_DATA.")
    return found


# Tables with published splits


@dataclass(frozen=True)
class UciTable:
    """A table with published splits: of each, the numbers of its rows to test on."""

    name: str
    title: str
    tests: tuple[Any, ...]

    def cut(self, split):
        """Rows to fit and to test on, all standardised by those to fit; the scale."""
        X, y = load(f"uci/{self.name}")
        train = np.setdiff1d(np.arange(len(y)), self.tests[split])
        scale = float(y[train].std())
        return standardised(X, y, train, self.tests[split]), scale


# File, and the name that papers print.
UCI_TABLES = {
    "boston": "Boston housing",
    "concrete": "concrete strength",
    "energy": "energy efficiency",
    "kin8nm": "kin8nm",
    "naval": "naval propulsion",
    "power": "power plant",
    "protein": "protein structure",
    "wine_red": "wine quality red",
    "yacht": "yacht hydrodynamics",
}


def uci_table(name):
    """A table of Hernández-Lobato and Adams (2015) with its splits."""
    path = data_folder() / "uci" / f"{name}_test_rows.txt.gz"
    if not path.exists():
        raise SystemExit(f"The table {name!r} is not in RELVEC_DATA/uci.")
    with gzip.open(path, "rt") as lines:
        tests = tuple(np.array(line.split(), dtype=int) for line in lines)
    return UciTable(name, UCI_TABLES[name], tests)


# Plausible regression


def normal(rng, rows, features):
    return rng.standard_normal((rows, features))


def linear(rng, rows, features, *, relevant=None, noise=0.2):
    """A plane of which some features are relevant; noise in deviations of it."""
    X = normal(rng, rows, features)
    weights = rng.standard_normal(features)
    weights[relevant or features :] = 0
    f = X @ weights
    return X, f + noise * f.std() * rng.standard_normal(rows)


def one_hot(rng, rows):
    """Two columns of categories, 40 and 10 of them, and two numbers."""
    many, few = rng.integers(40, size=rows), rng.integers(10, size=rows)
    numbers = normal(rng, rows, 2)
    effects = rng.standard_normal(40), rng.standard_normal(10)
    f = effects[0][many] + effects[1][few] + numbers[:, 0] + np.sin(2 * numbers[:, 1])
    X = np.hstack([np.eye(40)[many], np.eye(10)[few], numbers])
    return X, f + 0.4 * rng.standard_normal(rows)


def seasonal(rng, rows):
    """Days of four years, with a trend and a season."""
    day = np.sort(rng.uniform(0, 1460, rows))
    f = day / 730 + np.sin(2 * np.pi * day / 365) + 0.3 * np.sin(4 * np.pi * day / 365)
    return rng.permutation(np.c_[day, f + 0.15 * rng.standard_normal(rows)]).T


def surface(rng, rows):
    """A rough surface over latitude and longitude."""
    X = rng.uniform(-1, 1, (rows, 2))
    centres, heights = rng.uniform(-1, 1, (25, 2)), rng.standard_normal(25)
    squares = ((X[:, None] - centres) ** 2).sum(axis=2)
    f = np.exp(-squares / (2 * 0.15**2)) @ heights
    return X, f + 0.25 * f.std() * rng.standard_normal(rows)


def friedman(rng, rows, noise):
    """Friedman's first function, of ten features."""
    X = rng.uniform(size=(rows, 10))
    f = 10 * np.sin(np.pi * X[:, 0] * X[:, 1]) + 20 * (X[:, 2] - 0.5) ** 2
    f += 10 * X[:, 3] + 5 * X[:, 4]
    return X, f + noise * rng.standard_normal(rows)


def network(rng, rows, features, *, noise=0.3):
    """A random network of one hidden layer."""
    X = normal(rng, rows, features)
    hidden = np.tanh(X @ normal(rng, features, 8) * 1.5 / np.sqrt(features))
    f = hidden @ rng.standard_normal(8)
    return X, f + noise * f.std() * rng.standard_normal(rows)


def wave(rng, rows, features, *, noise=0.1):
    """A wave along the first feature and a plane along the second."""
    X = rng.uniform(-2, 2, (rows, features))
    f = np.sin(2 * X[:, 0]) + (0.5 * X[:, 1] if features > 1 else 0)
    return X, f + noise * rng.standard_normal(rows)


def steps(rng, rows):
    """Five steps on a line."""
    x = rng.uniform(size=rows)
    heights = rng.standard_normal(5)
    return x[:, None], heights[(5 * x).astype(int)] + 0.1 * rng.standard_normal(rows)


def heavy_tails(rng, rows):
    """Noise of Student's t with three degrees of freedom."""
    X, f = wave(rng, rows, 3, noise=0)
    return X, f + 0.3 * rng.standard_t(3, rows)


def growing_noise(rng, rows):
    """Noise that grows along a line."""
    x = rng.uniform(size=rows)
    return x[:, None], np.sin(6 * x) + (0.05 + 0.4 * x) * rng.standard_normal(rows)


def additive(rng, rows):
    """Eight features, each with a curve of its own."""
    X = normal(rng, rows, 8)
    f = np.sin(X * np.linspace(0.5, 2, 8)).sum(axis=1)
    return X, f + 0.5 * rng.standard_normal(rows)


def products(rng, rows):
    """Products of pairs of four features."""
    X = normal(rng, rows, 4)
    return X, X[:, 0] * X[:, 1] + X[:, 2] * X[:, 3] + 0.3 * rng.standard_normal(rows)


def counts(rng, rows):
    """Counts whose rate depends on five features."""
    X = normal(rng, rows, 5)
    return X, rng.poisson(np.exp(0.5 * X[:, 0] + np.sin(X[:, 1]))).astype(float)


def correlated(rng, rows):
    """Twenty features that are noisy mixtures of three."""
    latent = normal(rng, rows, 3)
    X = latent @ normal(rng, 3, 20) + 0.1 * normal(rng, rows, 20)
    f = np.sin(latent[:, 0]) + latent[:, 1] ** 2 / 2
    return X, f + 0.2 * rng.standard_normal(rows)


def skewed(rng, rows):
    """Six features with long tails."""
    logs = normal(rng, rows, 6)
    f = logs[:, 0] + 0.5 * logs[:, 1] ** 2
    return np.exp(logs), f + 0.3 * rng.standard_normal(rows)


def grid(rng, rows):
    """Three questions with five answers each, so that rows repeat."""
    X = rng.integers(1, 6, (rows, 3)).astype(float)
    f = X[:, 0] + 0.3 * (X[:, 1] - 3) ** 2
    return X, f + 0.8 * rng.standard_normal(rows)


def logistic_dose(rng, rows):
    """Responses to doses, some of which repeat, between two plateaus."""
    x = rng.choice(np.linspace(-3, 3, 13), rows)
    return x[:, None], expit(2 * x) + 0.05 * rng.standard_normal(rows)


def noise_only(rng, rows, features):
    return normal(rng, rows, features), rng.standard_normal(rows)


# A name, rows to fit, and what makes so many rows.
PLAUSIBLE_NUMBERS = (
    ("linear, 5 features", 100, lambda rng, n: linear(rng, n, 5, noise=0.3)),
    ("linear, 20 features", 2000, lambda rng, n: linear(rng, n, 20)),
    ("linear, 50 features", 500, lambda rng, n: linear(rng, n, 50)),
    ("linear, 200 features", 2000, lambda rng, n: linear(rng, n, 200)),
    (
        "linear, 500 features",
        300,
        lambda rng, n: linear(rng, n, 500, relevant=20, noise=0.5),
    ),
    ("one-hot, 52 features", 1000, one_hot),
    ("seasonal", 1460, lambda rng, n: _column(seasonal(rng, n))),
    ("surface", 5000, surface),
    ("friedman", 200, lambda rng, n: friedman(rng, n, 1.0)),
    ("friedman, noiseless", 2000, lambda rng, n: friedman(rng, n, 0.0)),
    ("friedman, large", 20_000, lambda rng, n: friedman(rng, n, 1.0)),
    ("network, 30 features", 5000, lambda rng, n: network(rng, n, 30)),
    ("network, 100 features", 1000, lambda rng, n: network(rng, n, 100, noise=0.5)),
    ("plane wave", 500, lambda rng, n: wave(rng, n, 2)),
    ("plane wave, noiseless", 300, lambda rng, n: wave(rng, n, 2, noise=0)),
    ("steps", 400, steps),
    ("heavy tails", 500, heavy_tails),
    ("growing noise", 500, growing_noise),
    ("additive", 1000, additive),
    ("products", 1000, products),
    ("counts", 1000, counts),
    ("correlated", 500, correlated),
    ("skewed features", 1000, skewed),
    ("answers", 1000, grid),
    ("doses", 60, logistic_dose),
    ("pure noise, 8 features", 300, lambda rng, n: noise_only(rng, n, 8)),
    ("pure noise, 20 features", 2000, lambda rng, n: noise_only(rng, n, 20)),
    ("5 rows", 5, lambda rng, n: wave(rng, n, 1)),
    ("10 rows, 2 features", 10, lambda rng, n: wave(rng, n, 2)),
    ("15 rows, 8 features", 15, lambda rng, n: linear(rng, n, 8, relevant=2)),
    ("20 rows", 20, lambda rng, n: wave(rng, n, 1, noise=0.3)),
    ("30 rows of noise", 30, lambda rng, n: noise_only(rng, n, 3)),
    ("50 rows, 5 features", 50, lambda rng, n: wave(rng, n, 5, noise=0.2)),
)

# Data sets and rows to fit; None for half of them.
PLAUSIBLE_NUMBER_TABLES = (
    ("boston", None),
    ("abalone", None),
    ("ccpp", None),
    ("california_housing", None),
    ("kin8nm", None),
    ("pumadyn_8nm", 2000),
    ("pumadyn_32nm", 2000),
    ("pumadyn_8fh", 1000),
    ("protein", 5000),
)


def _column(pair):
    x, y = pair
    return x[:, None], y


# Plausible classes


def seed_of(rng):
    return int(rng.integers(2**31))


def drawn_classes(rng, log_odds):
    return (rng.uniform(size=len(log_odds)) < expit(log_odds)).astype(int)


def class_noise(rng, rows, features, share=0.5):
    X = normal(rng, rows, features)
    return X, (rng.uniform(size=rows) < share).astype(int)


def words(rng, rows):
    """Counts of 500 words, most of them zero, of which ten tell."""
    rate = rng.gamma(0.3, 0.5, 500)
    X = rng.poisson(rate, (rows, 500)).astype(float)
    frequent = np.argsort(rate)[-30:-10:2]
    weights = rng.standard_normal(len(frequent))
    f = (X[:, frequent] - rate[frequent]) / np.sqrt(rate[frequent]) @ weights
    return X, drawn_classes(rng, f)


def class_plane(rng, rows, features, relevant):
    X = normal(rng, rows, features)
    weights = np.zeros(features)
    weights[:relevant] = rng.standard_normal(relevant)
    return X, drawn_classes(rng, 4 * X @ weights / np.linalg.norm(weights))


def quadrants(rng, rows, features):
    X = normal(rng, rows, features)
    return X, drawn_classes(rng, 6 * np.sign(X[:, 0] * X[:, 1]) * 0.4)


def rare(rng, rows):
    """Five in a hundred rows are of the second class."""
    X = normal(rng, rows, 5)
    return X, drawn_classes(rng, 2 * X[:, 0] - X[:, 1] ** 2 - 3)


def waves(rng, rows):
    X, f = wave(rng, rows, 4, noise=0)
    return X, drawn_classes(rng, 3 * f)


def groups(rng, rows, classes, features, distance):
    centres = distance * normal(rng, classes, features)
    y = rng.integers(classes, size=rows)
    return centres[y] + normal(rng, rows, features), y


PLAUSIBLE_CLASSES = (
    ("pure noise, 8 features", 300, lambda rng, n: class_noise(rng, n, 8)),
    ("pure noise, one in five", 500, lambda rng, n: class_noise(rng, n, 3, 0.2)),
    ("words, 500 features", 400, words),
    ("mixtures", 250, lambda rng, n: two_mixtures(n, seed=seed_of(rng))),
    ("moons", 400, lambda rng, n: make_moons(n, noise=0.3, random_state=seed_of(rng))),
    (
        "circles",
        300,
        lambda rng, n: make_circles(
            n, noise=0.2, factor=0.5, random_state=seed_of(rng)
        ),
    ),
    ("plane, 20 features", 1000, lambda rng, n: class_plane(rng, n, 20, 20)),
    ("plane, 200 features", 300, lambda rng, n: class_plane(rng, n, 200, 5)),
    ("quadrants", 500, lambda rng, n: quadrants(rng, n, 4)),
    ("rare class", 1000, rare),
    ("waves", 2000, waves),
    ("20 rows", 20, lambda rng, n: class_plane(rng, n, 2, 2)),
    ("40 rows, 10 features", 40, lambda rng, n: class_plane(rng, n, 10, 3)),
    ("5 groups", 500, lambda rng, n: groups(rng, n, 5, 4, 1.0)),
    ("12 groups, 30 features", 600, lambda rng, n: groups(rng, n, 12, 30, 0.5)),
)

PLAUSIBLE_CLASS_TABLES = (
    ("pima", None),
    ("banana", 400),
    ("ionosphere", None),
    ("german", None),
    ("wdbc", None),
    ("titanic", 150),
    ("glass", None),
    ("vehicle", None),
    ("wine", None),
    ("ecoli", None),
    ("digits", None),
)


PLAUSIBLE_TEST_ROWS = 2000


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
        train, test = (
            np.arange(rows),
            np.arange(rows, len(X))[: max(rows, PLAUSIBLE_TEST_ROWS)],
        )
        return standardised(X, y, train, test, self.classes)


def drawn(make, rows, seed):
    rng = np.random.default_rng(seed)
    X, y = make(rng, rows + PLAUSIBLE_TEST_ROWS)
    return X, y, rows


def cut_table(name, rows, seed):
    X, y = load(name)
    order = np.random.default_rng(seed).permutation(len(y))
    return X[order], y[order], rows


def plausible_problems():
    """All of them; tables only where they are."""
    found = []
    known = {path.name.split(".")[0] for path in data_folder().glob("*.csv*")}
    kinds = (
        (False, PLAUSIBLE_NUMBERS, PLAUSIBLE_NUMBER_TABLES),
        (True, PLAUSIBLE_CLASSES, PLAUSIBLE_CLASS_TABLES),
    )
    for classes, functions, tables in kinds:
        for name, rows, make in functions:
            found.append(Plausible(name, classes, rows, partial(drawn, make, rows)))
        for name, rows in tables:
            if name in known:
                count = rows or len(load(name)[1]) // 2
                draw = partial(cut_table, name, count)
                found.append(Plausible(name, classes, count, draw))
    return found
