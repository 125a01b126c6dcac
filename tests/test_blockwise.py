"""Work on several blocks at a time: order, look-ahead, errors, workers that die."""

import os
import signal
import threading
import warnings
from concurrent.futures import BrokenExecutor, Executor, Future, ThreadPoolExecutor

import numpy as np
import pytest

from relvec.blockwise import (
    CallingProcess,
    OutOfTimeError,
    Pool,
    check_time,
    engine,
    in_order,
    parallel,
    stopped_when,
)

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

    # Threads of others may end meanwhile.
    assert threading.active_count() <= before


def test_threads_end_with_a_reader_who_stops_early():
    before = threading.active_count()
    results = in_order(str, iter(int, 1), 4)
    next(results)
    assert threading.active_count() > before
    results.close()

    # Threads of others may end meanwhile.
    assert threading.active_count() <= before


def test_sums_do_not_depend_on_the_number_of_threads():
    parts = np.random.default_rng(0).standard_normal((40, 1000))
    totals = {sum(in_order(np.sum, parts, n)) for n in THREADS}

    assert len(totals) == 1


# engines


def squares(count=20):
    return [number * number for number in range(count)]


def test_without_a_context_the_work_is_done_here():
    assert isinstance(engine(), CallingProcess)
    assert list(engine().map(lambda i: i * i, range(20))) == squares()


def test_a_context_ends_as_it_began():
    """Also within another, and where it is left by an error."""

    def fails(inner):
        with parallel(inner):
            assert engine().executor is inner
            raise ArithmeticError

    with ThreadPoolExecutor(2) as outer, ThreadPoolExecutor(3) as inner:
        with parallel(outer):
            assert engine().executor is outer
            with pytest.raises(ArithmeticError):
                fails(inner)
            assert engine().executor is outer
        assert isinstance(engine(), CallingProcess)
        # What was given is its user's, who may go on with it.
        assert outer.submit(abs, -1).result() == 1


def test_a_context_is_that_of_its_thread():
    """Work that asks for workers itself gets none, so that nobody waits for ever."""
    with ThreadPoolExecutor(1) as executor, parallel(executor):
        kinds = list(engine().map(lambda _: type(engine()), range(3)))

    assert kinds == [CallingProcess] * 3


def test_one_worker_is_the_process_itself():
    with parallel(1):
        assert isinstance(engine(), CallingProcess)
    with parallel(np.int64(1)):
        assert isinstance(engine(), CallingProcess)


@pytest.mark.parametrize("workers", [0, -2, -100])
def test_no_workers(workers):
    with (
        pytest.raises(ValueError, match="at least one worker, or -1"),
        parallel(workers),
    ):
        pass


@pytest.mark.parametrize("workers", ["x", None, 2.0, True, [2], ThreadPoolExecutor])
def test_what_are_no_workers(workers):
    message = "a number of processes, an executor"
    with pytest.raises(TypeError, match=message), parallel(workers):
        pass


def test_an_executor_is_sent_only_a_little_ahead():
    """Two items for each of its workers, however many there are."""
    taken = []

    def items():
        for i in range(100):
            taken.append(i)
            yield i

    with ThreadPoolExecutor(2) as executor, parallel(executor):
        for number, result in enumerate(engine().map(str, items())):
            assert result == str(number)
            assert len(taken) - number <= 5


def test_what_is_not_begun_is_not_done_for_a_reader_who_stops():
    gate, begun = threading.Event(), []

    def work(item):
        begun.append(item)
        assert item == 0 or gate.wait(timeout=60)

    with ThreadPoolExecutor(1) as executor:
        results = Pool(executor, 8).map(work, range(100))
        next(results)
        results.close()
        gate.set()

    assert len(begun) <= 2


def test_errors_of_the_work_are_not_taken_for_those_of_workers():
    def work(item):
        raise RuntimeError("of its own")

    with (
        ThreadPoolExecutor(2) as executor,
        parallel(executor),
        pytest.raises(RuntimeError, match="of its own"),
    ):
        list(engine().map(work, range(3)))


# workers that die


class Dying(Executor):
    """Does some work, breaks at the next and takes no more."""

    def __init__(self, survived):
        self.left, self.closed = survived, 0

    def submit(self, work, /, *given, **named):
        if self.left < 0:
            raise BrokenExecutor("nobody is left")
        self.left -= 1
        future = Future()
        if self.left < 0:
            future.set_exception(BrokenExecutor("a worker was killed"))
        else:
            future.set_result(work(*given, **named))
        return future

    def shutdown(self, wait=True, *, cancel_futures=False):
        self.closed += 1


@pytest.mark.parametrize("survived", [0, 1, 7, 19])
@pytest.mark.parametrize("ahead", [0, 1, 6])
def test_what_dead_workers_had_to_do_is_done_here(survived, ahead):
    """With one warning, and nothing twice or out of order."""
    done = []

    def work(item):
        done.append(item)
        return item * item

    pool = Pool(Dying(survived), ahead)
    with pytest.warns(RuntimeWarning, match="fewer workers or smaller blocks") as told:
        found = [list(pool.map(work, range(20))) for _ in range(2)]

    assert found == [squares()] * 2
    assert len(told) == 1
    assert sorted(done) == sorted([*range(20), *range(20)])


@pytest.mark.parametrize("lives", [1, 2, 3])
def test_workers_are_replaced(lives):
    """Three times, and nobody has to know."""
    made = []

    def renewed():
        made.append(1)
        return Dying(3 if len(made) < lives else 1000)

    pool = Pool(Dying(2), 4, renewed)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert list(pool.map(lambda i: i * i, range(20))) == squares()

    assert len(made) == lives


def test_workers_that_die_again_and_again_are_not_replaced_for_ever():
    made = []

    def renewed():
        made.append(1)
        return Dying(0)

    pool = Pool(Dying(0), 4, renewed)
    with pytest.warns(RuntimeWarning, match="the rest is computed here") as told:
        assert list(pool.map(lambda i: i * i, range(20))) == squares()

    assert len(made) == 3
    assert len(told) == 1


def test_an_executor_that_is_shut_down():
    executor = ThreadPoolExecutor(1)
    executor.shutdown()
    message = "use it before it is shut down"
    with parallel(executor), pytest.raises(ValueError, match=message):
        list(engine().map(str, range(3)))


def test_a_process_that_is_killed_is_replaced(tmp_path):
    """By its own work, when it is tried for the first time."""
    here = os.getpid()

    def work(item):
        marker = tmp_path / "killed"
        if item == 3 and not marker.exists():
            marker.touch()
            os.kill(os.getpid(), signal.SIGKILL)
        return os.getpid() != here, item * item

    with parallel(2):
        found = list(engine().map(work, range(8)))

    assert (tmp_path / "killed").exists()
    assert found == [(True, square) for square in squares(8)]


@pytest.mark.parametrize("n_threads", THREADS)
def test_work_ends_when_time_is_over(n_threads):
    looks, done = iter([False, False, False, True]), []

    def collect():
        done.extend(result for result in in_order(str, range(100), n_threads))

    with stopped_when(lambda: next(looks)), pytest.raises(OutOfTimeError):
        collect()
    with stopped_when(lambda: False):
        collect()

    assert len(done) == 103


def test_time_is_that_of_the_innermost_work():
    check_time()
    with stopped_when(lambda: True):
        with stopped_when(lambda: False):
            check_time()
        with pytest.raises(OutOfTimeError):
            check_time()
    check_time()
