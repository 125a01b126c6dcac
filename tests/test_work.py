"""Work is counted: it grows with the rows about as their number does."""

from functools import cache

import numpy as np
import pytest
from sklearn.datasets import load_iris, make_friedman1

from relvec import RVC, RVR
from relvec.work import Work, counted

KINDS = ("rows", "multiplied", "kernel_values")
MOST_GROWTH = 1.2  # the power of the number of rows


def plane(n_rows, seed):
    rng = np.random.default_rng(seed)
    X = rng.uniform(-10, 10, (n_rows, 2))
    distance = np.linalg.norm(X, axis=1)
    y = np.sin(distance) / distance + 0.1 * rng.standard_normal(n_rows)
    return RVR(gamma=0.16), X, y


def mixtures(n_rows, seed):
    """Two classes of two Gaussians each, which overlap."""
    rng = np.random.default_rng(seed)
    y, part = rng.integers(0, 2, (2, n_rows))
    means = np.array([[[-0.7, 0.3], [0.3, 0.3]], [[-0.3, 0.7], [0.4, 0.7]]])
    X = means[y, part] + np.sqrt(0.03) * rng.standard_normal((n_rows, 2))
    return RVC(gamma=1.0), X, y


def friedman(n_rows, seed):
    X, y = make_friedman1(n_rows, 8, noise=1.0, random_state=seed)
    return RVR(gamma=0.05), X, y


@cache
def work_of(problem, n_rows, draws=3):
    """What fits of several draws take together."""
    total = Work()
    for seed in range(draws):
        model, X, y = problem(n_rows, seed)
        with counted() as work:
            model.fit(X, y)
        for kind in (*KINDS, "factorisations"):
            setattr(total, kind, getattr(total, kind) + getattr(work, kind))
    return total


def growth(problem, before, after):
    """The power of the number of rows that each kind of work grows by."""
    small, large = work_of(problem, before), work_of(problem, after)
    times = [getattr(large, kind) / getattr(small, kind) for kind in KINDS]
    return np.log(times) / np.log(after / before)


def test_work_grows_like_the_number_of_rows():
    assert np.all(growth(plane, 4_000, 16_000) < MOST_GROWTH)


@pytest.mark.slow
def test_work_of_classes_grows_like_the_number_of_rows():
    """A little faster: models of more rows have more functions, and take more modes."""
    assert np.all(growth(mixtures, 4_000, 64_000) < MOST_GROWTH + 0.1)


@pytest.mark.slow
@pytest.mark.parametrize("problem", [plane, friedman])
def test_work_of_many_rows_grows_like_their_number(problem):
    assert np.all(growth(problem, 4_000, 64_000) < MOST_GROWTH)


@pytest.mark.parametrize("problem", [plane, mixtures, friedman])
def test_more_rows_take_hardly_more_factorisations(problem):
    few, many = work_of(problem, 4_000), work_of(problem, 16_000)

    assert many.factorisations < 2 * few.factorisations


@pytest.mark.parametrize("problem", [plane, mixtures])
def test_a_small_fit_evaluates_its_kernel_once(problem):
    """And multiplies less than it takes to solve for all functions ten times."""
    work = work_of(problem, 100, draws=1)

    assert work.kernel_values == 100 * 101
    assert work.multiplied < 10 * 100**3


def test_softmax_takes_few_passes_over_its_rows():
    X, y = load_iris(return_X_y=True)
    n_rows = len(X)
    with counted() as work:
        RVC(gamma=0.25, multi_class="softmax").fit(X, y)

    assert work.kernel_values <= n_rows * (n_rows + 1)
    assert work.rows < 3_000 * n_rows
    assert work.multiplied < 50 * n_rows**3


def test_nothing_is_counted_unless_asked_for():
    model, X, y = plane(60, 0)
    with counted() as outer:
        pass
    model.fit(X, y)

    assert outer == Work()
