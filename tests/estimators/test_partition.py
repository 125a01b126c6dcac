"""Fits by parts of the rows: in memory and in blocks, by one or several workers."""

import pickle
import warnings
from concurrent.futures import BrokenExecutor, Executor, Future, ThreadPoolExecutor
from functools import cache

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from partitions import sinc_problem, three_clouds
from problems import read_only
from sklearn.base import clone
from sklearn.exceptions import ConvergenceWarning

from relvec import (
    RVC,
    RVR,
    BottomUp,
    FitWarning,
    Incremental,
    SplitMerge,
    Status,
    TopDown,
    WorkingSet,
    parallel,
)
from relvec.data import noisy_sinc, scan, two_mixtures
from relvec.kernels import Gaussian
from relvec.partition import as_partition
from relvec.partition import sources as source_module

N_ROWS, SIZE = 240, 30
X, Y = read_only(*noisy_sinc(N_ROWS, seed=0))
POINTS, LABELS = read_only(*two_mixtures(N_ROWS, seed=0))
CLOUDS, CLASSES = read_only(*three_clouds(150, 0))
TRUTH = np.sinc(X[:, 0] / np.pi)
NAMES = ["split-merge", "incremental", "working-set", "sample"]
ALGORITHMS = NAMES[:3]
SETTINGS = {
    "split-merge": SplitMerge,
    "incremental": Incremental,
    "working-set": WorkingSet,
}


def regression(partition, **parameters):
    parameters = {"gamma": 1 / 3**2, "partition_size": SIZE, **parameters}
    return RVR(partition=partition, **parameters)


def classification(partition, **parameters):
    parameters = {"gamma": 1 / 0.5**2, "partition_size": SIZE, **parameters}
    return RVC(partition=partition, **parameters)


def in_blocks(rows, targets, at=(60, 110, 190), weight=None):
    """Blocks of uneven sizes."""
    arrays = [rows, targets] if weight is None else [rows, targets, weight]
    return scan(list(zip(*(np.split(one, at) for one in arrays), strict=True)))


# each a model, rows and targets
TASKS = {
    "RVR": (regression, X, Y),
    "RVC": (classification, POINTS, LABELS),
}


# Each task in one place or the other, where that is enough.
PLACES = [("RVR", "memory"), ("RVC", "blocks")]


def fitted(task, partition, place="memory", **parameters):
    model_of, rows, targets = TASKS[task]
    model = model_of(partition, **parameters)
    if place == "memory":
        return model.fit(rows, targets)
    return model.fit(in_blocks(rows, targets))


found = cache(fitted)  # for tests that only look at what comes out


@cache
def plain(task):
    """The model of all rows at once."""
    model_of, rows, targets = TASKS[task]
    return model_of(None, partition_size="auto").fit(rows, targets)


def assert_same_bits(model, expected):
    assert_array_equal(model.relevance_, expected.relevance_)
    assert_array_equal(model.dual_coef_, expected.dual_coef_)
    assert_array_equal(model.prior_precision_, expected.prior_precision_)
    assert model.log_evidence_ == expected.log_evidence_
    assert model.status_ is expected.status_
    for name, values in expected.partition_history_.items():
        assert_array_equal(model.partition_history_[name], values)


def assert_same_model(model, expected, rows):
    """To rounding."""
    assert_allclose(model.log_evidence_, expected.log_evidence_, rtol=1e-9)
    latent, wanted = (one.model_.latent(rows)[0] for one in (model, expected))
    assert_allclose(latent, wanted, rtol=1e-6, atol=1e-6 * np.abs(wanted).max())


# what comes out


@pytest.mark.parametrize("place", ["memory", "blocks"])
@pytest.mark.parametrize("partition", NAMES)
def test_the_function_is_found(partition, place):
    """As well as by all rows at once, to a fraction of the noise."""
    model = found("RVR", partition, place)

    assert model.status_ is Status.CONVERGED
    assert np.sqrt(np.mean((model.predict(X) - TRUTH) ** 2)) < 0.04
    assert 0.085 < np.sqrt(model.noise_variance_) < 0.115
    assert 3 < len(model.relevance_) < 15
    assert_allclose(X[model.relevance_], model.relevance_vectors_)


@pytest.mark.parametrize("place", ["memory", "blocks"])
@pytest.mark.parametrize("partition", NAMES)
def test_the_classes_are_told_apart(partition, place):
    model, expected = found("RVC", partition, place), plain("RVC")

    assert model.status_ is Status.CONVERGED
    assert model.score(POINTS, LABELS) > expected.score(POINTS, LABELS) - 0.02
    loss, best = (
        -np.mean(np.log(one.predict_proba(POINTS)[np.arange(N_ROWS), LABELS]))
        for one in (model, expected)
    )
    assert loss < best + 0.02


@pytest.mark.parametrize("partition", NAMES)
@pytest.mark.parametrize("task", TASKS)
def test_polished_it_is_the_model_of_all_rows(task, partition):
    """In memory: the search goes on with all rows and candidates."""
    model = found(task, partition, "memory")

    assert model.log_evidence_ > plain(task).log_evidence_ - 3.0


@pytest.mark.parametrize(
    ("scheme", "place"), [("auto", "memory"), ("auto", "blocks"), ("softmax", "blocks")]
)
@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
def test_three_classes(scheme, place):
    model = RVC(gamma=1.0, multi_class=scheme, partition="split-merge")
    model.set_params(partition_size=40)
    if place == "memory":
        model.fit(CLOUDS, CLASSES)
    else:
        model.fit(in_blocks(CLOUDS, CLASSES, at=(70,)))
    expected = RVC(gamma=1.0, multi_class=scheme).fit(CLOUDS, CLASSES)

    assert_array_equal(model.classes_, [0, 1, 2])
    assert model.score(CLOUDS, CLASSES) > expected.score(CLOUDS, CLASSES) - 0.03


@pytest.mark.parametrize("scheme", ["ovr", "ovo"])
@pytest.mark.parametrize("gamma", [1.0, "learn"])
def test_a_model_for_every_class_or_pair(scheme, gamma):
    """Each of them by parts of its rows."""
    model = RVC(gamma=gamma, multi_class=scheme, partition="split-merge")
    model.set_params(partition_size=30).fit(CLOUDS, CLASSES)
    expected = RVC(gamma=gamma, multi_class=scheme).fit(CLOUDS, CLASSES)

    assert model.score(CLOUDS, CLASSES) > expected.score(CLOUDS, CLASSES) - 0.03
    assert not hasattr(model, "partition_history_")
    assert [one.partition_size_ for one in model.estimators_] == [30] * 3
    for one in model.estimators_:
        assert len(one.partition_history_["n_rows"]) == 2 * one.n_partitions_ - 1


def test_labels_may_be_words():
    words = np.array(["no", "yes"])[LABELS]
    model = classification("incremental").fit(in_blocks(POINTS, words))

    assert_array_equal(model.classes_, ["no", "yes"])
    assert model.score(POINTS, words) > 0.85


@pytest.mark.parametrize("place", ["memory", "blocks"])
def test_the_kernel_is_learned_from_some_rows(place):
    model = RVR(partition="split-merge", partition_size=80)
    model.fit(*((X, Y) if place == "memory" else (in_blocks(X, Y),)))

    assert 1 < model.kernel_.length_scale < 9
    assert np.sqrt(np.mean((model.predict(X) - TRUTH) ** 2)) < 0.04


# what is told of it


N_SETS = [
    (SplitMerge(polish=False), 15),
    (SplitMerge(merge="union", polish=False), 9),
    (Incremental(polish=False), 8),
    (WorkingSet(polish=False), 8),
    (WorkingSet(max_sets=3, polish=False), 3),
]


@pytest.mark.parametrize(("partition", "n_sets"), N_SETS, ids=str)
def test_the_history_of_the_sets(partition, n_sets):
    """Eight partitions; what a set is left with is part of the next."""
    model = fitted("RVR", partition)
    rows, vectors = (model.partition_history_[name] for name in ("n_rows", "n_vectors"))

    assert len(rows) == len(vectors) == n_sets
    assert np.all(vectors <= rows)
    assert model.partition_size_ == SIZE
    assert model.n_partitions_ == 8
    assert np.isnan(model.sparseness_ratio_)
    assert vectors[-1] == len(model.relevance_)
    if isinstance(partition, SplitMerge):
        first, merged = vectors[:8], rows[8:]
        assert_array_equal(rows[:8], np.full(8, SIZE))
        if partition.merge == "union":
            assert merged == first.sum()
        elif np.all(first):
            assert_array_equal(merged[:4], first[::2] + first[1::2])
    else:
        assert rows[0] == SIZE
        assert_array_equal(rows[1:], vectors[:-1] + SIZE)


@pytest.mark.parametrize("task", TASKS)
def test_blocks_are_added_to_what_earlier_ones_have_taught(task):
    """Vectors of other blocks are in the next set, and stay if they are needed."""
    model_of, rows, targets = TASKS[task]
    order = np.random.default_rng(5).permutation(N_ROWS)
    model = model_of(Incremental(polish=False))
    model.fit(in_blocks(rows[order], targets[order], at=(60, 120, 180)))
    sizes, left = (model.partition_history_[name] for name in ("n_rows", "n_vectors"))

    assert len(sizes) == 8
    assert np.all(left > 1)
    assert_array_equal(sizes[1:], left[:-1] + SIZE)
    assert len(set(np.searchsorted([60, 120, 180], model.relevance_))) > 1


@pytest.mark.parametrize("task", TASKS)
def test_merged_sets_of_blocks_keep_their_functions(task):
    """Wherever these are centred, and whichever rows a set is fitted to."""
    model = fitted(task, SplitMerge(polish=False), "blocks")

    assert np.all(model.partition_history_["n_vectors"] > 0)


@pytest.mark.parametrize("place", ["memory", "blocks"])
def test_a_size_that_is_found(place):
    """⌈√(N·d)⌉ = 16 rows for a first look, of which a part are vectors."""
    model = fitted("RVR", "incremental", place, partition_size="auto")

    assert 0 < model.sparseness_ratio_ <= 0.75
    wanted = 0.2 if model.sparseness_ratio_ <= 0.25 else 0.6
    assert model.partition_size_ == max(10, round(wanted * 16))
    assert model.n_partitions_ == np.ceil(N_ROWS / model.partition_size_)
    assert model.sparseness_ratio_ * 16 == round(model.sparseness_ratio_ * 16)


@pytest.mark.filterwarnings("ignore:the 90 % intervals cover:relvec.FitWarning")
def test_advice_where_partitions_gain_nothing(rng):
    """A kernel so narrow that every row needs a function of its own."""
    rows = rng.uniform(-1, 1, (150, 2))
    model = RVR(gamma=1e4, noise_variance=1e-3, partition="incremental")
    with pytest.warns(FitWarning, match=r"100% of the rows.*widen it or let it be"):
        model.fit(rows, rng.standard_normal(150))

    assert model.sparseness_ratio_ > 0.9
    assert model.partition_size_ == 18


def test_nothing_is_told_of_partitions_without_any():
    model = fitted("RVR", "incremental")
    model.set_params(partition=None, partition_size="auto").fit(X, Y)

    for name in ("partition_history_", "partition_size_", "sparseness_ratio_"):
        assert not hasattr(model, name)
    assert not hasattr(model, "n_partitions_")


@pytest.mark.parametrize("name", ALGORITHMS)
def test_the_last_set_has_converged(name):
    """Where all others end at half of a partition."""
    solver = TopDown("mackay", prune=1e4)
    model = regression(SETTINGS[name](polish=False), solver=solver)
    model.fit(X, Y)
    vectors = model.partition_history_["n_vectors"]

    assert model.status_ is Status.CONVERGED
    assert np.all(vectors[:-1] <= SIZE / 2)
    assert vectors[0] > SIZE / 4
    assert vectors[-1] < SIZE / 4


# who works


def worked(task, partition, place, executor, monkeypatch):
    """A fit by parts of two partitions, by these workers or by none."""
    monkeypatch.setattr(source_module, "MOST_AROUND", 2 * SIZE)
    monkeypatch.setattr(source_module, "_PART_ROWS", 2 * SIZE)
    monkeypatch.setattr(source_module, "_PART_SETS", 2)
    if executor is None:
        return fitted(task, partition, place)
    with parallel(executor):
        return fitted(task, partition, place)


@pytest.mark.parametrize(
    ("task", "partition", "place"),
    [
        ("RVR", "split-merge", "memory"),
        ("RVR", "incremental", "blocks"),
        ("RVC", "split-merge", "blocks"),
        ("RVC", "working-set", "memory"),
        ("RVC", "sample", "blocks"),
    ],
)
def test_threads_find_the_same_bits(task, partition, place, monkeypatch):
    alone = worked(task, partition, place, None, monkeypatch)
    with ThreadPoolExecutor(3) as executor:
        model = worked(task, partition, place, executor, monkeypatch)

    assert_same_bits(model, alone)


def test_processes_find_the_same_bits(monkeypatch):
    """For all fits within, whatever their parts are."""
    cases = [("RVR", "split-merge", "memory"), ("RVC", "sample", "blocks")]
    alone = [worked(*case, None, monkeypatch) for case in cases]
    with parallel(2):
        models = [fitted(*case) for case in cases]

    for model, expected in zip(models, alone, strict=True):
        assert_same_bits(model, expected)


def test_rows_in_memory_are_more_than_one_part(monkeypatch):
    """Where they are many; so the tests above have something to share out."""
    worked("RVR", "sample", "memory", None, monkeypatch)
    spec, data = sinc_problem(N_ROWS)
    parts = source_module.RowsInMemory.of(data, spec).parts(SIZE)

    assert list(parts.each(len)) == [2 * SIZE] * 4


class Dying(Executor):
    """Workers that take some work and die of it."""

    def __init__(self, survived):
        self.left = survived

    def submit(self, work, /, *given, **named):
        future = Future()
        if self.left > 0:
            self.left -= 1
            future.set_result(work(*given, **named))
        elif self.left == 0:
            self.left = -1
            future.set_exception(BrokenExecutor("a worker was killed"))
        else:
            raise BrokenExecutor("no worker is left")
        return future


@pytest.mark.parametrize("survived", [0, 3])
def test_workers_that_died_change_nothing_but_a_warning(survived, monkeypatch):
    alone = worked("RVR", "split-merge", "memory", None, monkeypatch)
    with pytest.warns(RuntimeWarning, match="the rest is computed here") as told:
        model = worked("RVR", "split-merge", "memory", Dying(survived), monkeypatch)

    assert len(told) == 1
    assert_same_bits(model, alone)


def test_workers_that_were_sent_home(monkeypatch):
    executor = ThreadPoolExecutor(1)
    executor.shutdown()
    with pytest.raises(ValueError, match="use it before it is shut down"):
        worked("RVR", "split-merge", "memory", executor, monkeypatch)


def test_an_error_in_the_work_is_the_error_of_the_fit():
    def broken(A, B):
        raise ArithmeticError("no value")

    model = RVR(broken, partition="split-merge", partition_size=SIZE)
    with (
        ThreadPoolExecutor(2) as executor,
        parallel(executor),
        pytest.raises(ArithmeticError, match="no value"),
    ):
        model.fit(X, Y)
    assert not hasattr(model, "model_")


@pytest.mark.parametrize("place", ["memory", "blocks"])
def test_no_estimator_keeps_its_workers(place):
    """They cannot be pickled, and it can; also without being fitted."""
    with ThreadPoolExecutor(2) as executor, parallel(executor):
        model = fitted("RVR", "split-merge", place)
        with pytest.raises(TypeError):
            pickle.dumps(executor)
        again = pickle.loads(pickle.dumps(model))
        other = pickle.loads(pickle.dumps(clone(model)))

    assert_same_bits(again, model)
    assert_array_equal(again.predict(X), model.predict(X))
    assert other.get_params() == model.get_params()


# settings


def test_settings_are_parameters():
    model = RVR(partition=SplitMerge(noise_from=0.5))
    deep = model.get_params()
    assert deep["partition__noise_from"] == 0.5
    assert deep["partition__merge"] == "pairwise"
    assert deep["partition_size"] == "auto"
    model.set_params(partition__polish=False, partition_size=30)
    copied = clone(model)

    assert copied.partition == SplitMerge(noise_from=0.5, polish=False)
    assert copied.partition is not model.partition
    assert copied.partition_size == 30
    copied.set_params(partition__polish=True)
    assert model.partition.polish is False
    assert repr(model.partition) == "SplitMerge(noise_from=0.5, polish=False)"


def test_a_name_has_no_settings():
    model = RVR(partition="split-merge")
    with pytest.raises(ValueError, match="is a name, which has no settings"):
        model.set_params(partition__polish=False)
    model.set_params(partition=Incremental(), partition__polish=False)

    assert model.partition == Incremental(polish=False)


@pytest.mark.parametrize("name", ALGORITHMS)
def test_a_name_is_an_object_with_its_defaults(name):
    assert as_partition(name) == SETTINGS[name]()


@pytest.mark.filterwarnings("ignore:the 90 % intervals cover:relvec.FitWarning")
@pytest.mark.filterwarnings("ignore:the model spends nearly all:relvec.FitWarning")
def test_the_noise_is_that_of_all_rows():
    """(4.2.3.1), by hand: not that of the few rows of the last set."""
    partition = SplitMerge(rows="partition", noise_from="all", polish=False)
    model = fitted("RVR", partition, partition_size=120)
    errors, posterior = Y - model.predict(X), model.model_.posterior
    gamma = np.sum(1 - posterior.prior_precision * posterior.covariance[0].diagonal())
    expected = np.sum(errors**2) / (N_ROWS - gamma)

    assert_allclose(model.history_["noise_std"][-1] ** 2, expected, rtol=0.02)
    own = fitted("RVR", SplitMerge(noise_from="partition", polish=False))
    assert abs(own.history_["noise_std"][-1] ** 2 / expected - 1) > 0.02


@pytest.mark.parametrize(
    ("noise", "place"),
    [("partition", "memory"), (90, "memory"), (0.3, "blocks"), (40, "blocks")],
)
def test_the_noise_may_be_that_of_some_rows(noise, place):
    model = fitted("RVR", SplitMerge(noise_from=noise), place)

    assert model.status_ is Status.CONVERGED
    assert 0.085 < np.sqrt(model.noise_variance_) < 0.115


@pytest.mark.parametrize("place", ["memory", "blocks"])
@pytest.mark.filterwarnings("ignore::relvec.FitWarning")
def test_a_share_of_rows_is_at_least_one(place):
    """However little that tells of the noise."""
    model = fitted("RVR", SplitMerge(noise_from=0.001), place)

    assert np.all(np.isfinite(model.predict(X, return_std=True)))


# rows and targets at the edge


@pytest.mark.parametrize(
    ("task", "partition"),
    [("RVR", "split-merge"), *(("RVC", name) for name in NAMES)],
)
def test_rows_of_weight_zero_are_as_if_absent(task, partition):
    model_of, rows, targets = TASKS[task]
    weight = np.random.default_rng(1).integers(0, 3, N_ROWS).astype(float)
    model = model_of(partition).fit(rows, targets, sample_weight=weight)
    there = weight > 0
    expected = model_of(partition)
    expected.fit(rows[there], targets[there], sample_weight=weight[there])

    assert_same_model(model, expected, rows)
    assert_array_equal(model.relevance_, np.flatnonzero(there)[expected.relevance_])


@pytest.mark.parametrize(
    ("task", "partition"),
    [*(("RVR", name) for name in NAMES), ("RVC", "working-set")],
)
def test_rows_of_weight_zero_in_blocks(task, partition):
    """Also where a block has no others."""
    model_of, rows, targets = TASKS[task]
    weight = np.random.default_rng(1).integers(0, 3, N_ROWS).astype(float)
    weight[60:110] = 0.0
    model = model_of(partition).fit(in_blocks(rows, targets, weight=weight))
    there = weight > 0
    at = [int(there[:place].sum()) for place in (60, 190)]
    given = rows[there], targets[there], at, weight[there]
    expected = model_of(partition).fit(in_blocks(*given))

    assert_same_model(model, expected, rows)
    assert_array_equal(model.relevance_, np.flatnonzero(there)[expected.relevance_])


@pytest.mark.filterwarnings("ignore:the 90 % intervals cover:relvec.FitWarning")
@pytest.mark.parametrize("partition", NAMES)
def test_blocks_of_which_few_rows_count(partition):
    """A dozen of them."""
    chosen = np.random.default_rng(2).permutation(N_ROWS)[:12]
    weight = np.zeros(N_ROWS)
    weight[chosen] = 1.0
    model = regression(partition, partition_size=6, noise_variance=0.01)
    model.fit(in_blocks(X, Y, weight=weight))

    assert set(model.relevance_) <= set(chosen)
    assert len(model.relevance_) > 0


@pytest.mark.parametrize(
    ("task", "partition"),
    [("RVR", "split-merge"), *(("RVC", name) for name in NAMES)],
)
def test_the_order_of_rows_does_not_matter(task, partition, rng):
    """In memory: nothing that is drawn depends on it."""
    model_of, rows, targets = TASKS[task]
    order = rng.permutation(N_ROWS)
    model = model_of(partition).fit(rows[order], targets[order])
    expected = found(task, partition, "memory")

    assert_same_model(model, expected, rows)
    assert_array_equal(np.sort(order[model.relevance_]), expected.relevance_)


@pytest.mark.parametrize("place", ["memory", "blocks"])
@pytest.mark.parametrize("partition", NAMES)
@pytest.mark.parametrize("task", TASKS)
def test_hardly_any_time(task, partition, place):
    """A model that can be used, and is said to be unfinished."""
    with pytest.warns(ConvergenceWarning, match="stopped at max_seconds"):
        model = fitted(task, partition, place, max_seconds=1e-6)
    _, rows, _ = TASKS[task]

    assert model.status_ is Status.MAX_SECONDS
    assert np.all(np.isfinite(model.model_.latent(rows)))
    assert len(model.predict(rows)) == N_ROWS
    assert len(model.partition_history_["n_rows"]) >= 1


@pytest.mark.parametrize(
    ("partition", "place"),
    [("split-merge", "memory"), *((name, "blocks") for name in NAMES)],
)
def test_constant_targets(partition, place):
    """Of whose mean there is no more than rounding left."""
    model, y = regression(partition), np.full(N_ROWS, 0.1)
    with pytest.warns(FitWarning, match="the target does not vary"):
        model.fit(*((X, y) if place == "memory" else (in_blocks(X, y),)))

    assert model.status_ is Status.CONSTANT_TARGET
    assert_allclose(model.predict(X), 0.1, rtol=1e-12)


@pytest.mark.parametrize("place", ["memory", "blocks"])
@pytest.mark.parametrize("partition", NAMES)
def test_targets_that_are_noise_alone(partition, place):
    y = np.random.default_rng(2).standard_normal(N_ROWS)
    model = regression(partition)
    with pytest.warns(FitWarning, match="no basis function explains the target"):
        model.fit(*((X, y) if place == "memory" else (in_blocks(X, y),)))

    assert model.status_ is Status.EMPTY
    assert_allclose(model.predict(X), y.mean(), atol=1e-6)
    assert_allclose(model.noise_variance_, y.var(), rtol=0.02)


@pytest.mark.parametrize("partition", ["split-merge", "working-set"])
@pytest.mark.parametrize(("task", "place"), PLACES)
def test_a_fit_may_go_on_from_another(task, partition, place):
    """Or begin with the model of all rows, or of others."""
    model_of, rows, targets = TASKS[task]
    model = model_of(partition, warm_start=True)
    data = (rows, targets) if place == "memory" else (in_blocks(rows, targets),)
    first = model.fit(*data).log_evidence_
    again = model.fit(*data).log_evidence_
    model.set_params(partition=None, partition_size="auto").fit(rows, targets)

    assert again > first - 3.0
    assert model.log_evidence_ > again - 1.0
    assert model.status_ is Status.CONVERGED


@pytest.mark.parametrize("schedule", ["batch", "greedy"])
def test_a_partition_as_large_as_all_rows_is_a_fit_of_them(schedule):
    solver = BottomUp(schedule=schedule)
    model = regression(SplitMerge(polish=False), partition_size=N_ROWS, solver=solver)
    model.fit(X, Y)
    expected = RVR(gamma=1 / 9, solver=solver).fit(X, Y)

    assert model.n_partitions_ == 1
    assert_array_equal(model.partition_history_["n_rows"], [N_ROWS])
    assert_allclose(model.log_evidence_, expected.log_evidence_, atol=3.0)


@pytest.mark.parametrize("partition", ALGORITHMS)
def test_a_last_partition_of_one_row(partition):
    """Which has one class only, and is a set all the same."""
    some = np.random.default_rng(6).permutation(N_ROWS)[: 5 * SIZE + 1]
    model = classification(partition).fit(POINTS[some], LABELS[some])

    assert model.status_ is Status.CONVERGED
    assert model.n_partitions_ == 6
    assert model.score(POINTS, LABELS) > plain("RVC").score(POINTS, LABELS) - 0.05


@pytest.mark.parametrize("partition", ["incremental", "working-set"])
def test_blocks_may_be_empty(partition):
    model = regression(partition).fit(in_blocks(X, Y, at=(0, 90, 90, N_ROWS)))

    assert np.sqrt(np.mean((model.predict(X) - TRUTH) ** 2)) < 0.04


@pytest.mark.parametrize("place", ["memory", "blocks"])
def test_single_precision_stays(place):
    rows = X.astype(np.float32)
    model = regression("incremental")
    model.fit(*((rows, Y) if place == "memory" else (in_blocks(rows, Y),)))

    assert model.relevance_vectors_.dtype == np.float32
    assert_allclose(model.predict(rows), model.predict(X), atol=1e-4)


def test_rows_may_be_words(rng):
    """By a kernel of one's own, on the rows of each partition."""
    words = ["a" * int(count) for count in rng.integers(0, 12, 150)]
    y = np.array([np.sin(len(word) / 2) for word in words])

    def by_length(A, B):
        lengths = [np.array([len(word) for word in group]) for group in (A, B)]
        return np.exp(-np.abs(lengths[0][:, None] - lengths[1]) / 3)

    model = RVR(by_length, partition="split-merge", partition_size=30)
    model.fit(words, y + 0.1 * rng.standard_normal(150))

    assert np.sqrt(np.mean((model.predict(words) - y) ** 2)) < 0.07


# what a review found


def test_the_number_of_candidates_is_that_of_functions_weighed():
    X, y = noisy_sinc(400, seed=3)
    model = RVR(gamma=1.0, candidates=4, partition="sample", partition_size=100)
    model.fit(scan(X, target=y, block_rows=100))

    assert len(model.relevance_) <= 4


@pytest.mark.parametrize("solver", ["variational", TopDown("em", min_vectors=20)])
def test_a_polish_does_not_change_what_a_solver_maximises(solver):
    X, y = noisy_sinc(120, seed=3)
    settings = {"gamma": 1 / 9, "solver": solver}
    model = RVR(**settings, partition="split-merge", partition_size=40)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        model.fit(X, y)
        plain = RVR(**settings).fit(X, y)

    assert np.isfinite(model.degrees_of_freedom_) == np.isfinite(
        plain.degrees_of_freedom_
    )


def test_constant_targets_in_blocks_have_the_noise_of_an_array():
    X = np.random.default_rng(0).uniform(-1, 1, (90, 1))
    y = np.full(90, 0.1)
    model = RVR(gamma=1.0, partition="sample")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        there = clone(model).fit(scan(X, target=y, block_rows=40))
        here = clone(model).fit(X, y)

    assert there.status_ is here.status_
    np.testing.assert_allclose(there.noise_variance_, here.noise_variance_, rtol=1e-6)


def test_no_time_and_an_empty_first_block():
    X, y = noisy_sinc(120, seed=3)
    weight = np.repeat([0.0, 1.0], [40, 80])
    blocks = scan(X, target=y, weight=weight, block_rows=40)
    model = RVR(gamma=1 / 9, partition="split-merge", partition_size=20)
    with pytest.warns(ConvergenceWarning, match="max_seconds"):
        model.set_params(max_seconds=1e-9).fit(blocks)

    assert model.predict(X).shape == (120,)


def test_labels_keep_their_type_and_must_be_of_one_kind():
    X, y = two_mixtures(120, seed=3)
    model = RVC(gamma=4.0, partition="sample")
    model.fit(scan(X, target=y.astype(np.int8), block_rows=40))

    assert model.classes_.dtype == np.int8

    mixed = [(X[:60], y[:60]), (X[60:], np.array(["a", "b"])[y[60:]])]
    with pytest.raises(ValueError, match="block 2: the target is text here"):
        RVC(gamma=4.0, partition="sample").fit(scan(mixed))


def test_weights_of_kernels_are_told():
    X, y = noisy_sinc(120, seed=3)
    kernels = [Gaussian(1.0), Gaussian(3.0)]
    model = RVR(kernels, kernel_learning="weights", partition="sample").fit(X, y)

    np.testing.assert_allclose(model.kernel_weights_.sum(), 1.0)


def test_a_small_budget_is_kept():
    X, y = noisy_sinc(200, seed=3)
    model = RVR(gamma=1 / 9, memory_budget="100kB", partition="sample")

    assert len(model.fit(scan(X, target=y, block_rows=50)).relevance_) < 15


def test_a_handful_of_rows_of_many_features():
    """A plane that no function explains alone: the learned kernel's model is kept."""
    rng = np.random.default_rng(41)
    rows = rng.normal(size=(65, 8))
    y = rows[:, 0] + 0.1 * rng.standard_normal(65)
    model = RVR(partition="sample").fit(scan(rows[:15], target=y[:15], block_rows=4))

    assert model.score(rows[15:], y[15:]) > 0.7
