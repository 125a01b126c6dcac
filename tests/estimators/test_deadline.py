"""A fit ends in time, with a model that can be used."""

from time import perf_counter

import numpy as np
import pytest
from problems import ripples
from sklearn.exceptions import ConvergenceWarning

from relvec import RVC, RVR, Adaptive, Status, TopDown
from relvec.kernels import Gaussian

N_ROWS = 30_000
X, Y = ripples(N_ROWS, seed=5)


class Counting:
    """A kernel that counts the entries it was asked for."""

    positive_definite = True

    def __init__(self):
        self.kernel, self.entries = Gaussian(2.0), 0

    def __call__(self, A, B):
        self.entries += len(A) * len(B)
        return self.kernel(A, B)

    def diagonal(self, A):
        return self.kernel.diagonal(A)


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize(
    ("asked", "target"),
    [(RVR(), Y), (RVC(), (Y > 0.1).astype(int)), (RVC(), np.digitize(Y, [0.0, 0.3]))],
    ids=["numbers", "two classes", "three classes"],
)
def test_without_time_few_rows_are_looked_at(asked, target):
    """A pass over all rows would be 400 entries of each."""
    kernel = Counting()
    model = asked.set_params(kernel=kernel, candidates=400, max_seconds=1e-9)
    model.fit(X, target)

    assert model.status_ is Status.MAX_SECONDS
    assert kernel.entries < 100 * N_ROWS
    assert np.all(np.isfinite(model.model_.latent(X[:100])))


def classes(n_rows, seed=0):
    rng = np.random.default_rng(seed)
    rows = rng.standard_normal((n_rows, 10))
    latent = np.sin(2 * rows[:, :5]) + 0.3 * rng.standard_normal((n_rows, 5))
    return rows, latent.argmax(axis=1)


def numbers(n_rows, seed=0):
    rng = np.random.default_rng(seed)
    rows = rng.uniform(size=(n_rows, 10))
    return rows, np.sin(5 * rows[:, 0]) + rows[:, 1] + rng.standard_normal(n_rows)


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore:max_seconds left no time to check")
@pytest.mark.parametrize(
    ("model", "made", "n_rows"),
    [
        (RVC(multi_class="mrvm2"), classes, 1500),
        (RVC(multi_class="softmax"), classes, 8000),
        (RVR(solver=TopDown()), numbers, 3000),
        (RVR(kernel_learning=Adaptive()), numbers, 2000),
        (RVR(kernel_learning="adaptive"), numbers, 20_000),
        (RVR(partition="split-merge"), numbers, 20_000),
    ],
    ids=["mrvm2", "softmax", "top down", "Adaptive", "adaptive", "split-merge"],
)
def test_half_a_second(model, made, n_rows):
    """They would take a minute without a limit. The bound is for slow machines."""
    data = made(n_rows)
    begun = perf_counter()
    with pytest.warns(ConvergenceWarning, match="max_seconds"):
        model.set_params(max_seconds=0.5).fit(*data)

    assert perf_counter() - begun < 10
    assert model.status_ is Status.MAX_SECONDS
    assert len(model.predict(data[0])) == len(data[0])
