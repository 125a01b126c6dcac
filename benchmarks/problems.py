"""The two problems that every contender is given."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from relvec.data import two_mixtures

TEST_SEED = 1_000_000


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
