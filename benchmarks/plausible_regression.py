"""Regression problems as users have them, each drawn from a seed."""

import numpy as np
from scipy.special import expit


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
DRAWN = (
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
TABLES = (
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
