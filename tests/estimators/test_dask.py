"""Rows on a real cluster of two worker processes."""

import os
import pickle
import signal
from functools import partial

import numpy as np
import pandas as pd
import pytest
from sklearn.base import clone

import relvec
from relvec import LSSVR, RVC, RVR
from relvec.data import noisy_sinc, scan, two_mixtures

dask = pytest.importorskip("dask")
distributed = pytest.importorskip("distributed")
da = pytest.importorskip("dask.array")
dd = pytest.importorskip("dask.dataframe")

ROWS, CHUNK = 1200, 300


@pytest.fixture(scope="module")
def client():
    options = {"n_workers": 2, "threads_per_worker": 1, "dashboard_address": ":0"}
    with (
        dask.config.set({"distributed.scheduler.allowed-failures": 5}),
        distributed.LocalCluster(**options, processes=True) as cluster,
        distributed.Client(cluster) as client,
    ):
        yield client


def rows(n_rows=ROWS, seed=0):
    return noisy_sinc(n_rows, seed=seed)


def collections(X, y, chunk=CHUNK):
    return da.from_array(X, chunks=(chunk, X.shape[1])), da.from_array(y, chunks=chunk)


def in_blocks(X, y, chunk=CHUNK):
    return scan(X, target=y, block_rows=chunk)


@pytest.mark.parametrize("partition", [None, "split-merge", "incremental"])
def test_same_bits_as_blocks_in_this_process(client, partition):
    X, y = rows()
    model = RVR(gamma=1 / 9, partition=partition)
    if partition is not None:
        model.set_params(partition_size=60)
    there = clone(model).fit(*collections(X, y))
    here = clone(model).set_params(partition=partition or "sample")

    np.testing.assert_array_equal(
        there.predict(X), here.fit(in_blocks(X, y)).predict(X)
    )


@pytest.mark.parametrize("multi_class", ["auto", "mrvm1", "softmax"])
def test_classes_have_the_same_bits_as_blocks(client, multi_class):
    X, y = two_mixtures(600, seed=1)
    labels = np.array(["no", "yes"])[y]
    model = RVC(gamma=4.0, multi_class=multi_class, partition="sample")
    there = clone(model).fit(*collections(X, labels, 200))
    here = clone(model).fit(in_blocks(X, labels, 200))

    np.testing.assert_array_equal(there.predict_proba(X), here.predict_proba(X))
    assert there.classes_.tolist() == ["no", "yes"]
    assert there.score(X, labels) > 0.85


def test_blocks_of_a_file_are_fitted_by_a_client(client, tmp_path):
    X, y = rows()
    model = RVR(gamma=1 / 9, partition="sample")
    here = clone(model).fit(in_blocks(X, y))
    with relvec.parallel(client):
        there = clone(model).fit(in_blocks(X, y))

    np.testing.assert_array_equal(there.predict(X), here.predict(X))


def killing(block, marker):
    """Ends the worker that first comes here, which is nobody's but the cluster's."""
    try:
        marker.touch(exist_ok=False)
    except FileExistsError:
        return block
    os.kill(os.getpid(), signal.SIGKILL)
    return block


@pytest.mark.parametrize("partition", [None, "split-merge"])
def test_a_killed_worker_changes_nothing(client, tmp_path, partition):
    """Killed in every pass over the rows anew, as far as there are workers."""
    X, y = rows()
    dX, dy = collections(X, y)
    model = RVR(gamma=1 / 9, partition=partition)
    if partition is not None:
        model.set_params(partition_size=150)
    whole = clone(model).fit(dX, dy)
    marker = tmp_path / "killed"
    kill = partial(killing, marker=marker)
    mortal = dX.map_blocks(kill, meta=np.empty((0, 1)))

    found = clone(model).fit(mortal, dy)

    assert marker.exists()
    np.testing.assert_array_equal(found.predict(X), whole.predict(X))


def waiting(block, number, gate):
    """A worker is late: its block is there only after another has been asked for."""
    variable = distributed.Event(gate)
    if number == 1:
        assert variable.wait(timeout=60)
    elif number == 2:
        variable.set()
    return block


def test_a_slow_worker_changes_nothing(client):
    X, y = rows()
    blocks = [
        (X[start : start + CHUNK], y[start : start + CHUNK])
        for start in range(0, ROWS, CHUNK)
    ]
    workers = list(client.nthreads())
    late = []
    for number, block in enumerate(blocks):
        with dask.annotate(workers=workers[number == 1]):
            late.append(dask.delayed(waiting)(block, number, "late"))
    there = RVR(gamma=1 / 9).fit(late)
    here = RVR(gamma=1 / 9, partition="sample").fit(scan(blocks))

    np.testing.assert_array_equal(there.predict(X), here.predict(X))


def test_chunks_of_different_sizes_and_an_empty_one(client):
    X, y = rows()
    cuts = [(0, 100), (100, 100), (100, 700), (700, 1200)]
    delayed = [dask.delayed((X[a:b], y[a:b])) for a, b in cuts]
    several = da.concatenate(
        [da.from_array(X[a:b], chunks=(max(b - a, 1), 1)) for a, b in cuts if b > a]
    )
    model = RVR(gamma=1 / 9).fit(delayed)
    other = RVR(gamma=1 / 9).fit(several, da.from_array(y, chunks=77))

    np.testing.assert_allclose(model.predict(X), other.predict(X), atol=1e-10)
    np.testing.assert_array_equal(model.relevance_, other.relevance_)


def test_data_frames(client):
    X, y = rows()
    frame = pd.DataFrame({"place": X[:, 0], "weight": 1.0, "level": y})
    there = dd.from_pandas(frame, npartitions=4)
    model = RVR(gamma=1 / 9).fit(there[["place"]], there["level"], there["weight"])
    predicted, std = model.predict(there[["place"]], return_std=True)

    assert model.feature_names_in_.tolist() == ["place"]
    np.testing.assert_allclose(
        predicted.compute(), model.predict(frame[["place"]]), rtol=1e-12
    )
    assert np.all(std.compute() > 0)


def test_rows_of_weight_zero_are_as_if_absent(client):
    X, y = rows()
    weight = np.ones(ROWS)
    weight[::3] = 0
    spoilt = np.where(weight > 0, y, 1e3)
    left = weight > 0
    dX, dy = collections(X, spoilt)
    model = RVR(gamma=1 / 9).fit(dX, dy, da.from_array(weight, chunks=CHUNK))
    other = RVR(gamma=1 / 9).fit(X[left], y[left])

    np.testing.assert_allclose(model.predict(X), other.predict(X), atol=0.02)
    assert np.all(left[model.relevance_])


def test_predictions_are_lazy_and_the_same(client):
    X, y = two_mixtures(600, seed=1)
    dX = da.from_array(X, chunks=(250, 1))  # cut by columns, too
    model = RVC(gamma=4.0).fit(X, y)
    for name in ("predict", "predict_proba", "decision_function"):
        lazy = getattr(model, name)(dX)
        now = getattr(model, name)(X)

        assert isinstance(lazy, da.Array)
        assert lazy.shape == now.shape
        assert lazy.dtype == now.dtype
        np.testing.assert_allclose(lazy.compute(), now, rtol=1e-12)


def test_intervals_are_lazy(client):
    X, y = rows(300)
    model, there = RVR(gamma=1 / 9).fit(X, y), collections(X, y)[0]
    lower, upper = model.predict_interval(there)
    assert np.all((lower < upper).compute())

    _, wide = model.predict_interval(there, coverage=0.95, calibration="loo")
    _, expected = model.predict_interval(X, coverage=0.95, calibration="loo")
    np.testing.assert_allclose(wide.compute(), expected, rtol=1e-12)


def test_what_needs_all_rows_here_says_so(client):
    X, y = two_mixtures(300, seed=1)
    there = da.from_array(X, chunks=(100, 2)), da.from_array(y, chunks=100)
    with pytest.raises(ValueError, match=r"class_weight='balanced' needs all rows"):
        RVC(gamma=4.0, class_weight="balanced").fit(*there)
    model = RVC(gamma=4.0).fit(X, y)
    with pytest.raises(ValueError, match="at all rows together"):
        model.sample_posterior(there[0])


def test_a_model_is_an_ordinary_estimator(client):
    X, y = rows()
    model = RVR(gamma=1 / 9).fit(*collections(X, y))
    again = pickle.loads(pickle.dumps(model))

    np.testing.assert_array_equal(again.predict(X), model.predict(X))
    clone(model)


def test_numbers_of_rows_are_those_of_the_collection(client):
    X, y = rows()
    model = RVR(gamma=1 / 9).fit(*collections(X, y))

    np.testing.assert_array_equal(X[model.relevance_], model.relevance_vectors_)


def test_least_squares_read_the_blocks(client):
    X, y = rows()
    there = LSSVR(gamma=1 / 9, method="nystrom", rank=30).fit(*collections(X, y))

    np.testing.assert_allclose(there.predict(X), np.sinc(X[:, 0] / np.pi), atol=0.2)


def test_without_a_cluster_dask_computes_here():
    X, y = rows()
    found = RVR(gamma=1 / 9).fit(*collections(X, y))
    here = RVR(gamma=1 / 9, partition="sample").fit(in_blocks(X, y))

    np.testing.assert_array_equal(found.predict(X), here.predict(X))


def wrong_inputs():
    X, y = rows(60)
    dX, dy = collections(X, y, 20)
    unknown = dX[dX[:, 0] > 0]
    frame = dd.from_pandas(pd.DataFrame(X, columns=["x"]), npartitions=2)
    series = dd.from_pandas(pd.Series(y), npartitions=3)
    text = da.from_array(np.array([["a"], ["b"]]), chunks=(1, 1))
    spoilt = X.copy()
    spoilt[33] = np.nan
    other = [dask.delayed((X, y)), dask.delayed((np.hstack([X, X]), y))]
    kinds = [dask.delayed((X, y)), dask.delayed((X.astype(str), y))]
    return {
        "chunk sizes": (unknown, dy, "compute_chunk_sizes"),
        "dimensions": (dX[:, 0], dy, "dimensions"),
        "length": (dX, dy[:50], "one value for every row"),
        "text": (text, dy[:2], "real numbers"),
        "partitions": (frame, series, "partitions"),
        "not a series": (frame, y, "Dask series"),
        "no targets": (dX, None, "no target"),
        "missing": (da.from_array(spoilt, chunks=(20, 1)), dy, "block 2, row 14"),
        "columns": (other, None, "block 2 has 2 columns"),
        "types": (kinds, None, "real numbers"),
        "targets twice": (other, y, "bring targets"),
    }


@pytest.mark.parametrize("name", list(wrong_inputs()))
def test_wrong_input_is_refused_in_words(name):
    X, y, words = wrong_inputs()[name]
    with pytest.raises(ValueError, match=words):
        RVR(gamma=1 / 9).fit(X, y)


def test_a_chunk_of_one_class_is_refused_before_it_is_fitted(client):
    X, y = two_mixtures(400, seed=1)
    order = np.argsort(y)
    model = RVC(gamma=4.0, partition="split-merge", partition_size=50)
    with pytest.raises(ValueError, match="block 1 of 4 has one class only"):
        model.fit(*collections(X[order], y[order], 100))


def a_small_cluster():
    options = {"n_workers": 1, "processes": False, "dashboard_address": ":0"}
    return distributed.Client(**options)


def test_a_closed_client_is_refused():
    with a_small_cluster() as closed:
        pass
    with pytest.raises(ValueError, match="client is closed"), relvec.parallel(closed):
        pass


def test_rows_of_a_closed_cluster_are_refused():
    X, y = rows(60)
    with a_small_cluster():
        dX, dy = (one.persist() for one in collections(X, y, 20))
    with pytest.raises(ValueError, match="cluster"):
        RVR(gamma=1 / 9).fit(dX, dy)


def test_a_cluster_without_workers_is_refused():
    options = {"n_workers": 0, "processes": False, "dashboard_address": ":0"}
    with (
        distributed.Client(**options),
        pytest.raises(ValueError, match="no workers"),
    ):
        RVR(gamma=1 / 9).fit(*collections(*rows(60), 20))


def fitted_there(X, y):
    return RVR(gamma=1 / 9).fit(*collections(X, y, 100)).predict(X)


def test_a_task_may_fit_what_other_tasks_make(client):
    """It makes room for them, even if all workers have such a task."""
    X, y = rows(300)
    tasks = [client.submit(fitted_there, X, y, pure=False) for _ in range(2)]
    here = RVR(gamma=1 / 9, partition="sample").fit(in_blocks(X, y, 100))
    for task in tasks:
        np.testing.assert_array_equal(task.result(timeout=120), here.predict(X))


def test_partial_fit_reads_the_blocks(client):
    X, y = rows()
    model = RVR(gamma=1 / 9).partial_fit(*collections(X, y))
    there = RVR(gamma=1 / 9).partial_fit(in_blocks(X, y))

    np.testing.assert_array_equal(model.predict(X), there.predict(X))


def test_a_size_without_a_partition_is_that_of_a_sample():
    X, y = rows(300)
    model = RVR(gamma=1 / 9, partition_size=100).fit(*collections(X, y, 100))

    assert model.partition_size_ == 100


def test_widths_of_each_vector_are_refused():
    X, y = collections(*rows(60), 20)
    with pytest.raises(ValueError, match="width of its own"):
        RVR(kernel_learning="adaptive").fit(X, y)


def test_predictions_of_delayed_blocks_are_refused_in_words():
    X, y = rows(60)
    model = RVR(gamma=1 / 9).fit([dask.delayed((X, y))])
    with pytest.raises(ValueError, match=r"dask.delayed\(model.predict\)"):
        model.predict([dask.delayed(X)])


def test_predictions_of_chunks_of_unknown_sizes():
    X, y = rows(300)
    dX, dy = collections(X, y, 100)
    model = RVR(gamma=1 / 9).fit(dX, dy)
    some = dX[:, 0] > 0

    np.testing.assert_array_equal(
        model.predict(dX[some]).compute(), model.predict(X[X[:, 0] > 0])
    )
