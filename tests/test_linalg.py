"""Stacks of triangular solves, rotations, safe norms, threads."""

import threading
from threading import Barrier, Event, Thread

import numpy as np
import pytest
from numpy.testing import assert_allclose
from oracles import exact_posterior
from threadpoolctl import threadpool_info, threadpool_limits

from relvec.linalg import (
    Reflections,
    column_norms,
    rotated,
    single_threaded,
    solve_lower,
    solve_upper,
    threads_for,
    triangle_beside_prior,
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


@pytest.mark.parametrize("shape", [(0, 4), (3, 4), (8, 4), (9, 4), (500, 7), (50, 1)])
def test_rotated_rows_have_the_same_inner_products(shape, rng):
    rows = rng.standard_normal(shape)
    found = rotated(rows)

    assert len(found) <= max(2 * shape[1], 1)
    assert_allclose(found.T @ found, rows.T @ rows, rtol=1e-12, atol=1e-12)
    if shape[0] > 2 * shape[1]:
        assert np.array_equal(found, np.triu(found))
        assert found.shape == (shape[1], shape[1])


def test_rotated_rows_keep_what_inner_products_lose(rng):
    """A direction of 1e-10: its square is below the rounding of the others'."""
    Q, _ = np.linalg.qr(rng.standard_normal((200, 3)))
    other, _ = np.linalg.qr(rng.standard_normal((3, 3)))
    rows = Q * [1.0, 1e-5, 1e-10] @ other
    left = rows.copy()
    for _ in range(30):  # merged again and again with a few more
        left = rotated(np.vstack([left, np.zeros((7, 3))]))
    sizes = np.linalg.svd(left, compute_uv=False)

    assert_allclose(sizes, [1.0, 1e-5, 1e-10], rtol=1e-4)


@pytest.mark.parametrize("shape", [(0, 3), (2, 5), (40, 5), (6, 1)])
def test_the_triangle_beside_a_prior(shape, rng):
    rows = 10 ** rng.uniform(-2, 2, shape[1]) * rng.standard_normal(shape)
    L = triangle_beside_prior(rows)
    expected = np.eye(shape[1]) + rows.T @ rows

    assert np.array_equal(L, np.tril(L))
    assert np.all(L.diagonal() > 0)
    assert_allclose(L, np.linalg.cholesky(expected), rtol=1e-9, atol=1e-12)


def nearly_equal_columns(seed):
    """1e12 times columns that differ by 1e-9: I + rowsᵀrows has no digits left."""
    rng = np.random.default_rng(seed)
    rows = rng.standard_normal((8, 1)) + 1e-9 * rng.standard_normal((8, 3))
    return 1e12 * rows, rng.standard_normal((8, 2))


def test_the_triangle_of_rows_whose_inner_products_have_no_digits():
    rows, _ = nearly_equal_columns(0)
    L = triangle_beside_prior(rows)
    _, _, evidence = exact_posterior(rows, np.zeros(8), 1.0, range(3), np.ones(3))
    log_determinant = -2 * evidence - 8 * np.log(2 * np.pi)

    assert np.linalg.cond(np.eye(3) + rows.T @ rows) > 1e16
    assert_allclose(2 * np.log(L.diagonal()).sum(), log_determinant, rtol=1e-6)


@pytest.mark.parametrize("n_columns", [0, 1, 6])
@pytest.mark.parametrize("size", [0, 1, 4])
def test_what_is_beyond_the_span(size, n_columns, rng):
    """By the projection that defines it."""
    top = rng.standard_normal((9, size))
    stacked = np.vstack([top, np.eye(size)])
    columns = rng.standard_normal((9, n_columns))
    found = Reflections.of(stacked).beyond(columns)
    padded = np.vstack([columns, np.zeros((size, n_columns))])
    left = padded - stacked @ np.linalg.pinv(stacked) @ padded

    assert found.shape == columns.shape
    assert_allclose(found.T @ found, left.T @ left, atol=1e-12)


@pytest.mark.parametrize("seed", range(3))
def test_what_is_beyond_the_span_needs_no_condition(seed):
    rows, columns = nearly_equal_columns(seed)
    left = Reflections.of(np.vstack([rows, np.eye(3)])).beyond(columns)
    both = np.column_stack([rows, columns])
    S, Q, _ = exact_posterior(both, columns[:, 0], 1.0, range(3), np.ones(3))

    assert_allclose(np.sum(left**2, axis=0), S[3:], rtol=1e-5)
    assert_allclose(left.T @ left[:, 0], Q[3:], rtol=1e-5)


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
