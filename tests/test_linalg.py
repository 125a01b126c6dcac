"""Stacks of triangular solves, safe norms, threads."""

import threading
from threading import Barrier, Event, Thread

import numpy as np
import pytest
from numpy.testing import assert_allclose
from threadpoolctl import threadpool_info, threadpool_limits

from relvec.linalg import (
    column_norms,
    single_threaded,
    solve_lower,
    solve_upper,
    threads_for,
    weighted_squares,
    wide_product,
)


@pytest.mark.parametrize("shared", [True, False])
def test_triangular_solves(shared, rng):
    factors = np.tril(rng.uniform(0.5, 2, (3, 5, 5)))
    right = rng.standard_normal((1 if shared else 3, 5, 4))

    assert_allclose(factors @ solve_lower(factors, right), right + np.zeros((3, 1, 1)))
    upper = np.swapaxes(factors, 1, 2)
    assert_allclose(upper @ solve_upper(factors, right), right + np.zeros((3, 1, 1)))


def test_empty_solves():
    assert solve_lower(np.empty((2, 0, 0)), np.empty((1, 0, 3))).shape == (2, 0, 3)


@pytest.mark.parametrize("order", ["C", "F"])
@pytest.mark.parametrize("shape", [(3, 5), (700, 90), (1, 1), (40, 0)])
def test_weighted_squares(order, shape, rng):
    matrix = np.array(rng.standard_normal(shape), order=order)
    weights = rng.uniform(0, 2, shape[0])

    assert_allclose(weighted_squares(matrix, weights), weights @ matrix**2)


def test_norms_of_any_magnitude(rng):
    unit = rng.standard_normal((6, 4))
    factors = np.array([1e-300, 0.0, 1.0, 1e300])
    weights = rng.uniform(0.5, 2, 6)

    norms = column_norms(unit * factors, weights)
    expected = factors * np.sqrt(weights @ unit**2)
    assert_allclose(norms, expected, rtol=1e-12)
    assert_allclose(column_norms(np.zeros((3, 2)), np.ones(3)), 0)
    assert np.all(column_norms(np.full((3, 2), 1e-310), np.ones(3)) == 0)


def blas_threads():
    return [
        pool["num_threads"] for pool in threadpool_info() if pool["user_api"] == "blas"
    ]


def test_threads_are_given_back_after_overlapping_fits():
    """Fits that start and end in different order, in threads of one process."""
    before = blas_threads()
    started, finish = Barrier(3), Event()

    def first():
        with single_threaded():
            started.wait()
        finish.set()

    def second():
        with single_threaded():
            started.wait()
            finish.wait()

    threads = [Thread(target=first), Thread(target=second)]
    for thread in threads:
        thread.start()
    started.wait()
    for thread in threads:
        thread.join()

    assert blas_threads() == before


@pytest.fixture
def two_threads():
    """Whatever the tests were started with."""
    with threadpool_limits(2, user_api="blas"):
        yield


@pytest.mark.usefixtures("two_threads")
def test_threads_are_limited_and_given_back():
    before = blas_threads()
    assert set(before) == {2}
    with single_threaded():
        assert set(blas_threads()) == {1}
        with threads_for(1.0):
            assert set(blas_threads()) == {1}
        with threads_for(1e12):
            assert blas_threads() == before
    assert blas_threads() == before


@pytest.mark.parametrize("n_threads", [1, 2, 3])
@pytest.mark.parametrize("shape", [(4, 5), (2, 4, 5)])
def test_wide_products_on_threads(monkeypatch, n_threads, shape, rng):
    """Into a part of an array as well, whose rest stays as it was."""
    monkeypatch.setattr("relvec.linalg.available_threads", lambda: n_threads)
    monkeypatch.setattr("relvec.linalg._WIDE_PRODUCT", 1)
    monkeypatch.setattr("relvec.linalg._LEAST_COLUMNS", 2)
    left, right = rng.standard_normal(shape), rng.standard_normal((5, 7))
    room = np.zeros((*shape[:-1], 9))
    with single_threaded():
        wide_product(left, right, out=room[..., 1:8])
        product = wide_product(left, right)

    assert_allclose(product, left @ right)
    assert_allclose(room[..., 1:8], left @ right)
    assert not room[..., [0, 8]].any()


def test_wide_products_are_the_same_on_any_number_of_threads(monkeypatch, rng):
    left, right = rng.standard_normal((7, 101)), rng.standard_normal((101, 5003))
    found = []
    for n_threads in (1, 2, 3):
        monkeypatch.setattr("relvec.linalg.available_threads", lambda n=n_threads: n)
        with single_threaded():
            found.append(wide_product(left, right))

    assert all(np.array_equal(found[0], each) for each in found)


def test_threads_end_with_the_fit_they_worked_for(monkeypatch):
    monkeypatch.setattr("relvec.linalg.available_threads", lambda: 2)
    before = set(threading.enumerate())
    with single_threaded():
        wide_product(np.ones((7, 100)), np.ones((100, 5000)))
        workers = set(threading.enumerate()) - before
    for worker in workers:
        worker.join(timeout=10)

    assert workers
    assert not any(worker.is_alive() for worker in workers)
