"""Problems of classes as users have them, each drawn from a seed."""

import numpy as np
from plausible_regression import normal, wave
from scipy.special import expit
from sklearn.datasets import make_circles, make_moons

from relvec.data import two_mixtures


def seed_of(rng):
    return int(rng.integers(2**31))


def drawn(rng, log_odds):
    return (rng.uniform(size=len(log_odds)) < expit(log_odds)).astype(int)


def noise_only(rng, rows, features, share=0.5):
    X = normal(rng, rows, features)
    return X, (rng.uniform(size=rows) < share).astype(int)


def words(rng, rows):
    """Counts of 500 words, most of them zero, of which ten tell."""
    rate = rng.gamma(0.3, 0.5, 500)
    X = rng.poisson(rate, (rows, 500)).astype(float)
    frequent = np.argsort(rate)[-30:-10:2]
    weights = rng.standard_normal(len(frequent))
    f = (X[:, frequent] - rate[frequent]) / np.sqrt(rate[frequent]) @ weights
    return X, drawn(rng, f)


def plane(rng, rows, features, relevant):
    X = normal(rng, rows, features)
    weights = np.zeros(features)
    weights[:relevant] = rng.standard_normal(relevant)
    return X, drawn(rng, 4 * X @ weights / np.linalg.norm(weights))


def quadrants(rng, rows, features):
    X = normal(rng, rows, features)
    return X, drawn(rng, 6 * np.sign(X[:, 0] * X[:, 1]) * 0.4)


def rare(rng, rows):
    """Five in a hundred rows are of the second class."""
    X = normal(rng, rows, 5)
    return X, drawn(rng, 2 * X[:, 0] - X[:, 1] ** 2 - 3)


def waves(rng, rows):
    X, f = wave(rng, rows, 4, noise=0)
    return X, drawn(rng, 3 * f)


def groups(rng, rows, classes, features, distance):
    centres = distance * normal(rng, classes, features)
    y = rng.integers(classes, size=rows)
    return centres[y] + normal(rng, rows, features), y


DRAWN = (
    ("pure noise, 8 features", 300, lambda rng, n: noise_only(rng, n, 8)),
    ("pure noise, one in five", 500, lambda rng, n: noise_only(rng, n, 3, 0.2)),
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
    ("plane, 20 features", 1000, lambda rng, n: plane(rng, n, 20, 20)),
    ("plane, 200 features", 300, lambda rng, n: plane(rng, n, 200, 5)),
    ("quadrants", 500, lambda rng, n: quadrants(rng, n, 4)),
    ("rare class", 1000, rare),
    ("waves", 2000, waves),
    ("20 rows", 20, lambda rng, n: plane(rng, n, 2, 2)),
    ("40 rows, 10 features", 40, lambda rng, n: plane(rng, n, 10, 3)),
    ("5 groups", 500, lambda rng, n: groups(rng, n, 5, 4, 1.0)),
    ("12 groups, 30 features", 600, lambda rng, n: groups(rng, n, 12, 30, 0.5)),
)

TABLES = (
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
