"""Work on several blocks at a time: order, look-ahead, errors."""

import threading

import numpy as np
import pytest

from relvec.blockwise import in_order

THREADS = [1, 2, 4]


@pytest.mark.parametrize("n_threads", THREADS)
def test_results_come_in_the_order_of_the_items(n_threads):
    """Also where later items are done first."""
    later = threading.Event()

    def work(item):
        if item == 0 and n_threads > 1:
            assert later.wait(timeout=60)
        if item == 1:
            later.set()
        return item * item

    assert list(in_order(work, range(50), n_threads)) == [i * i for i in range(50)]


@pytest.mark.parametrize("n_threads", THREADS)
def test_items_are_taken_only_a_little_ahead(n_threads):
    taken = []

    def items():
        for i in range(100):
            taken.append(i)
            yield i

    for number, _ in enumerate(in_order(str, items(), n_threads)):
        assert len(taken) - number <= n_threads + 1


def test_items_may_never_end():
    results = in_order(lambda i: -i, iter(int, 1), 3)

    assert [next(results) for _ in range(5)] == [0] * 5
    results.close()


@pytest.mark.parametrize("n_threads", THREADS)
def test_no_items(n_threads):
    assert list(in_order(str, (), n_threads)) == []


@pytest.mark.parametrize("n_threads", THREADS)
def test_an_error_in_the_work_is_raised_where_its_result_would_be(n_threads):
    def work(item):
        if item == 7:
            msg = "seven"
            raise ArithmeticError(msg)
        return item

    found = []
    with pytest.raises(ArithmeticError, match="seven"):
        found.extend(in_order(work, range(100), n_threads))
    results = in_order(work, range(100), n_threads)

    assert [next(results) for _ in range(7)] == list(range(7))


@pytest.mark.parametrize("error", [OSError, KeyboardInterrupt])
@pytest.mark.parametrize("n_threads", THREADS)
def test_an_error_in_the_items_ends_all_work(n_threads, error):
    """No thread is left behind, and what was waiting is not begun."""
    before = threading.active_count()

    def items():
        yield from range(10)
        raise error

    with pytest.raises(error):
        list(in_order(str, items(), n_threads))

    assert threading.active_count() == before


def test_threads_end_with_a_reader_who_stops_early():
    before = threading.active_count()
    results = in_order(str, iter(int, 1), 4)
    next(results)
    assert threading.active_count() > before
    results.close()

    assert threading.active_count() == before


def test_sums_do_not_depend_on_the_number_of_threads():
    parts = np.random.default_rng(0).standard_normal((40, 1000))
    totals = {sum(in_order(np.sum, parts, n)) for n in THREADS}

    assert len(totals) == 1
