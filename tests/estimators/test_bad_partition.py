"""Partitions that cannot be: each refusal names the remedy."""

import numpy as np
import pytest
from problems import read_only
from sklearn.gaussian_process.kernels import RBF

from relvec import RVC, RVR, Incremental, Mrvm1, SplitMerge, TopDown, WorkingSet
from relvec.data import noisy_sinc, scan, two_mixtures

X, Y = read_only(*noisy_sinc(120, seed=0))
POINTS, LABELS = read_only(*two_mixtures(120, seed=0))
THREE = read_only(np.arange(120) % 3)
NAMES = ["split-merge", "incremental", "working-set", "sample"]


def blocks(rows, targets, block_rows=40, **others):
    return scan(rows, target=targets, block_rows=block_rows, **others)


BAD_PARAMETERS = {
    "no such name": ({"partition": "halves"}, r"'split-merge'.*'sample'.*got 'halves'"),
    "a number": ({"partition": 4}, r"an object with settings, or None; got 4"),
    "a class": ({"partition": SplitMerge}, r"an object with settings"),
    "size without partition": (
        {"partition": None, "partition_size": 30},
        r"partition_size=30 has no use without partition: give both",
    ),
    "no rows": ({"partition_size": 0}, r"partition_size must be a whole number"),
    "a share": ({"partition_size": 0.1}, r"partition_size must be a whole number"),
    "a word": ({"partition_size": "half"}, r"'auto' or a number of rows; got 'half'"),
    "too many rows": (
        {"partition_size": 121},
        r"partition_size=121 is more than the 120 rows.*leave it at 'auto'",
    ),
    "kernel values": ({"kernel": "precomputed"}, r"leave out partition, or give a k"),
    "features": ({"kernel": None}, r"leave out partition, or give a kernel of two"),
    "centres": ({"candidates": X[:9]}, r"leave out partition.*no centres"),
    "a width of each": (
        {"kernel_learning": "adaptive"},
        r"kernel_learning.*choose 'width', 'ard' or 'auto'",
    ),
    "widths of each": (
        {"kernel_learning": "adaptive-ard"},
        r"kernel_learning.*or leave out partition",
    ),
}


@pytest.mark.parametrize("name", BAD_PARAMETERS)
@pytest.mark.parametrize("place", ["memory", "blocks"])
def test_parameters_that_are_refused(name, place):
    """Wherever the rows are, and before anything is fitted."""
    parameters, message = BAD_PARAMETERS[name]
    model = RVR(**{"partition": "split-merge", **parameters})
    rows = X if name != "kernel values" else np.eye(120)
    with pytest.raises(ValueError, match=message):
        model.fit(*((rows, Y) if place == "memory" else (blocks(rows, Y),)))

    assert not hasattr(model, "model_")


BAD_SETTINGS = {
    "rows": (SplitMerge, {"rows": "some"}),
    "noise word": (SplitMerge, {"noise_from": "none"}),
    "noise share": (SplitMerge, {"noise_from": 1.5}),
    "noise number": (Incremental, {"noise_from": 0}),
    "noise nothing": (Incremental, {"noise_from": None}),
    "early": (WorkingSet, {"early_stop": "soon"}),
    "polish": (WorkingSet, {"polish": "yes"}),
    "merge": (SplitMerge, {"merge": "all"}),
    "sets": (WorkingSet, {"max_sets": 0}),
    "half a set": (WorkingSet, {"max_sets": 2.5}),
}


@pytest.mark.parametrize("name", BAD_SETTINGS)
def test_settings_that_are_refused(name):
    """When an object is made, and when it is changed."""
    kind, settings = BAD_SETTINGS[name]
    (wrong,) = settings
    with pytest.raises(ValueError, match=f"{wrong} must be"):
        kind(**settings)
    model = RVR(partition=kind())
    with pytest.raises(ValueError, match=f"{wrong} must be"):
        model.set_params(**{f"partition__{wrong}": settings[wrong]})

    assert model.partition == kind()


@pytest.mark.parametrize("noise", ["partition", 30, 0.5])
def test_all_rows_have_the_noise_of_all(noise):
    with pytest.raises(ValueError, match=r"rows='all'.*leave out one of the two"):
        SplitMerge(rows="all", noise_from=noise)
    settings = Incremental(rows="all")
    with pytest.raises(ValueError, match=r"rows='all'.*leave out one of the two"):
        settings.set_params(noise_from=noise)


@pytest.mark.parametrize("place", ["memory", "blocks"])
@pytest.mark.parametrize("partition", NAMES)
def test_fewer_rows_than_classes(partition, place):
    model = RVC(gamma=4.0, partition=partition, partition_size=2)
    with pytest.raises(ValueError, match=r"=2 is less than the 3 classes.*give more"):
        model.fit(*((POINTS, THREE) if place == "memory" else (blocks(POINTS, THREE),)))


@pytest.mark.parametrize("partition", NAMES)
def test_more_rows_than_count(partition):
    """Those of weight zero are none, in blocks."""
    weight = np.repeat([1.0, 0.0], 60)
    model = RVR(gamma=0.1, partition=partition, partition_size=80)
    with pytest.raises(ValueError, match=r"=80 is more than the 60 rows"):
        model.fit(blocks(X, Y, weight=weight))


@pytest.mark.filterwarnings("ignore:no relevance vector and no prediction")
@pytest.mark.parametrize("partition", ["split-merge", "incremental"])
def test_partitions_of_one_class_only(partition):
    """Where a class has fewer rows than there are partitions."""
    rare = (np.arange(120) < 4).astype(int)
    model = RVC(gamma=4.0, partition=partition, partition_size=20)
    with pytest.raises(ValueError, match=r"of 6 partitions.*set partition_size to mo"):
        model.fit(POINTS, rare)
    model.set_params(partition_size=30).fit(POINTS, rare)
    assert model.n_partitions_ == 4


@pytest.mark.parametrize("partition", ["split-merge", "incremental"])
def test_blocks_of_one_class_only(partition):
    """Rows that come class by class."""
    order = np.argsort(LABELS, kind="stable")
    model = RVC(gamma=4.0, partition=partition, partition_size=20)
    with pytest.raises(ValueError, match=r"block 1 of 3 has one class only.*shuffle"):
        model.fit(blocks(POINTS[order], LABELS[order]))


@pytest.mark.parametrize("partition", ["split-merge", "incremental"])
def test_blocks_with_too_few_rows_of_a_class(partition):
    """Forty rows are four sets, and one class has three of them."""
    rare = np.tile(np.arange(40) < 3, 3).astype(int)
    model = RVC(gamma=4.0, partition=partition, partition_size=10)
    with pytest.raises(ValueError, match=r"block 1 of 3.*larger partition_size"):
        model.fit(blocks(POINTS, rare))


@pytest.mark.parametrize("partition", ["working-set", "sample"])
def test_where_all_rows_are_looked_at_blocks_may_have_one_class(partition):
    """The remedy that is named for the others."""
    order = np.argsort(LABELS, kind="stable")
    model = RVC(gamma=4.0, partition=partition, partition_size=40)
    model.fit(blocks(POINTS[order], LABELS[order]))

    assert model.score(POINTS, LABELS) > 0.8


@pytest.mark.parametrize("place", ["memory", "blocks"])
@pytest.mark.parametrize("partition", NAMES)
def test_a_single_class(partition, place):
    model = RVC(gamma=4.0, partition=partition, partition_size=20)
    same = np.zeros(120, dtype=int)
    with pytest.raises(ValueError, match="class"):
        model.fit(*((POINTS, same) if place == "memory" else (blocks(POINTS, same),)))


@pytest.mark.parametrize("model", [RVR, RVC])
@pytest.mark.parametrize("partition", NAMES)
def test_blocks_that_can_be_read_only_once(partition, model):
    parts = ((POINTS[k : k + 40], LABELS[k : k + 40]) for k in (0, 40, 80))
    with pytest.raises(ValueError, match=r"only once: scan a file, a list of blocks"):
        model(gamma=4.0, partition=partition).fit(scan(parts))


@pytest.mark.parametrize("partition", NAMES)
def test_fractions_are_no_classes(partition):
    targets = LABELS + np.where(np.arange(120) > 90, 0.5, 0.0)
    with pytest.raises(ValueError, match=r"block 3: .*fractions.*use RVR"):
        RVC(gamma=4.0, partition=partition).fit(blocks(POINTS, targets))


@pytest.mark.parametrize(
    ("scheme", "message"),
    [
        ("ovr", r"multi_class='ovr' needs all rows in memory: 'auto'.*'softmax'"),
        ("ovo", r"multi_class='ovo' needs all rows in memory"),
        ("mrvm2", r"multi_class='mrvm2' needs all rows in memory"),
        (Mrvm1(posterior="moments"), r"other than 'mode'.*leave it out"),
        (Mrvm1(posterior="full"), r"other than 'mode'.*leave it out"),
    ],
    ids=str,
)
def test_schemes_that_need_all_rows_in_memory(scheme, message):
    model = RVC(gamma=4.0, multi_class=scheme, partition="split-merge")
    with pytest.raises(ValueError, match=message):
        model.set_params(partition_size=20).fit(blocks(POINTS, THREE))


@pytest.mark.parametrize("wanted", ["active", 20, 0.5])
def test_solvers_that_tell_rows_apart(wanted):
    """Where only sums over rows are left of them."""
    solver = TopDown(noise_from=wanted)
    model = RVR(gamma=0.1, solver=solver, partition="sample", partition_size=20)
    with pytest.raises(ValueError, match=r"noise_from=.*(leave it out|to 'all')"):
        model.fit(blocks(X, Y))


def test_targets_belong_to_the_blocks():
    model = RVR(gamma=0.1, partition="incremental", partition_size=20)
    with pytest.raises(ValueError, match=r"bring their targets"):
        model.fit(blocks(X, Y), Y)
    with pytest.raises(ValueError, match=r"no target: name its column"):
        model.fit(scan(X, block_rows=40))


def test_no_row_counts():
    model = RVR(gamma=0.1, partition="incremental", partition_size=20)
    with pytest.raises(ValueError, match="no rows of positive weight"):
        model.fit(blocks(X, Y, weight=np.zeros(120)))


def test_words_are_no_targets_of_a_regression():
    words = np.where(LABELS, "yes", "no")
    with pytest.raises(ValueError, match="y must be a dense array of real numbers"):
        RVR(gamma=0.1, partition="incremental").fit(blocks(POINTS, words))


def test_a_fit_that_is_refused_leaves_the_estimator_as_it_was():
    model = RVR(gamma=0.1, partition="incremental", partition_size=40).fit(X, Y)
    before = model.model_
    with pytest.raises(ValueError, match="is more than"):
        model.set_params(partition_size=500).fit(X, Y)

    assert model.model_ is before
    assert model.n_features_in_ == 1


def test_kernels_of_others_are_fine():
    model = RVR(RBF(3.0), partition="incremental", partition_size=40).fit(X, Y)

    assert model.score(X, Y) > 0.85
