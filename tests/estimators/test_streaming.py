"""Fitting and predicting from blocks of rows, wherever they come from."""

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.csv
import pyarrow.parquet as pq
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from problems import read_only, ripples

from relvec import RVC, RVR
from relvec.data import Block, scan, two_mixtures
from relvec.modelling import in_blocks

X, Y = ripples(700, seed=8)
WEIGHT = read_only(np.random.default_rng(9).integers(0, 3, 700).astype(float))
POINTS, LABELS = read_only(*two_mixtures(500, seed=1))
FRAME = pd.DataFrame({"east": X[:, 0], "north": X[:, 1], "height": Y, "count": WEIGHT})
TABLE = pa.Table.from_pandas(FRAME)
NAMES = {"target": "height", "weight": "count"}


# A process about a model knows all rows of an array, and of blocks those drawn.
STREAMED = {"design": "streamed", "uncertainty": "plain"}


def regression(candidates=150, **parameters):
    parameters = {"gamma": 1 / 4**2, **STREAMED, **parameters}
    return RVR(candidates=candidates, **parameters)


def classification(candidates=100, **parameters):
    parameters = {"gamma": 1 / 0.5**2, **STREAMED, **parameters}
    return RVC(candidates=candidates, **parameters)


def centres(blocks, number, seed=0):
    """Rows that a fit to blocks draws as candidates."""
    return in_blocks(blocks, number, seed)[0].sample.rows


def assert_same_model(found, expected, rows=X):
    """To rounding: the same functions, found in the same order of steps."""
    vectors = (np.unique(one.relevance_vectors_, axis=0) for one in (found, expected))
    assert_allclose(*vectors)
    assert_allclose(found.log_evidence_, expected.log_evidence_, rtol=1e-7)
    table = np.asarray(rows)
    latent, wanted = found.model_.latent(table), expected.model_.latent(table)
    assert_allclose(latent, wanted, rtol=1e-4, atol=1e-5)


@pytest.fixture(scope="module")
def in_memory():
    drawn = centres(scan(X, target=Y, weight=WEIGHT), 150)
    return regression(drawn).fit(X, Y, sample_weight=WEIGHT)


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    folder = tmp_path_factory.mktemp("rows")
    pq.write_table(TABLE, folder / "rows.parquet", row_group_size=90)
    with pa.ipc.new_file(folder / "rows.arrow", TABLE.schema) as writer:
        writer.write_table(TABLE, max_chunksize=110)
    pyarrow.csv.write_csv(TABLE, folder / "rows.csv")
    np.save(folder / "rows.npy", FRAME.to_numpy())
    return folder


def cut(*arrays, at=(60, 61, 400)):
    """Blocks of uneven sizes, one of a single row."""
    return list(zip(*(np.split(array, at) for array in arrays), strict=True))


SOURCES = {
    "parquet": lambda folder: scan(folder / "rows.parquet", block_rows=64, **NAMES),
    "arrow file": lambda folder: scan(folder / "rows.arrow", block_rows=64, **NAMES),
    "csv": lambda folder: scan(folder / "rows.csv", block_rows=64, **NAMES),
    "npy": lambda folder: scan(
        folder / "rows.npy", target=2, weight=3, block_rows=64, features=[0, 1]
    ),
    "pandas": lambda folder: scan(FRAME, block_rows=64, **NAMES),
    "polars": lambda folder: scan(pl.from_pandas(FRAME), block_rows=64, **NAMES),
    "arrow table": lambda folder: scan(TABLE, block_rows=64, **NAMES),
    "array": lambda folder: scan(X, target=Y, weight=WEIGHT, block_rows=64),
    "list of blocks": lambda folder: scan(cut(X, Y, WEIGHT)),
    "Block": lambda folder: scan([Block(*part) for part in cut(X, Y, WEIGHT)]),
    "function": lambda folder: scan(lambda: iter(cut(X, Y, WEIGHT))),
    "default block size": lambda folder: scan(folder / "rows.parquet", **NAMES),
}


@pytest.mark.parametrize("name", SOURCES)
def test_a_streamed_fit_is_that_of_an_array(name, folder, in_memory):
    """Whatever the source; row numbers count through all blocks."""
    model = regression().fit(SOURCES[name](folder))

    assert_same_model(model, in_memory)
    assert_allclose(X[model.relevance_], model.relevance_vectors_)
    assert model.n_features_in_ == 2


@pytest.mark.parametrize("block_rows", [1, 7, 350, 10_000])
def test_the_size_of_blocks_does_not_matter(block_rows, in_memory):
    rows = slice(None, 200) if block_rows == 1 else slice(None)
    blocks = scan(X[rows], target=Y[rows], weight=WEIGHT[rows], block_rows=block_rows)
    expected = in_memory
    if block_rows == 1:
        expected = regression(centres(blocks, 150))
        expected.fit(X[rows], Y[rows], sample_weight=WEIGHT[rows])

    assert_same_model(regression().fit(blocks), expected)


@pytest.mark.parametrize("block_rows", [33, 500])
def test_classification_streams_too(block_rows, rng):
    labels = np.array(["no", "yes"])[LABELS]
    weight = rng.integers(0, 3, 500).astype(float)
    blocks = scan(POINTS, target=labels, weight=weight, block_rows=block_rows)
    expected = classification(centres(blocks, 100))
    expected.fit(POINTS, labels, sample_weight=weight)
    model = classification().fit(blocks)

    assert_array_equal(model.classes_, ["no", "yes"])
    assert_same_model(model, expected, POINTS)
    assert_array_equal(model.predict(scan(POINTS)), expected.predict(POINTS))


def test_a_class_may_be_missing_from_a_block():
    order = np.argsort(LABELS, kind="stable")
    blocks = scan(POINTS[order], target=LABELS[order], block_rows=100)
    drawn = centres(blocks, 100)
    expected = classification(drawn).fit(POINTS[order], LABELS[order])

    assert_same_model(classification().fit(blocks), expected, POINTS)


@pytest.mark.parametrize("design", ["auto", "dense"])
def test_every_design_takes_blocks(design):
    """And keeps so few rows, as if they had come in an array."""
    model = regression(design=design)
    found = model.fit(scan(X, target=Y, block_rows=64)).predict(X)
    evidence = model.log_evidence_

    assert_allclose(found, model.fit(X, Y).predict(X), rtol=1e-12)
    assert_allclose(evidence, model.log_evidence_, rtol=1e-12)


@pytest.mark.parametrize("candidates", ["auto", "all", X[::9]], ids=str)
def test_candidates_are_the_same_as_in_memory(candidates):
    model = regression().set_params(candidates=candidates, random_state=4)
    blocks = scan(X, target=Y, weight=WEIGHT, block_rows=64)
    numbers = model.fit(X, Y, sample_weight=WEIGHT).relevance_
    vectors = model.relevance_vectors_

    assert len(numbers) > 0
    assert_array_equal(model.fit(blocks).relevance_, numbers)
    assert_allclose(model.relevance_vectors_, vectors)


def test_the_scale_of_the_features_is_the_same_as_in_memory(rng):
    """gamma="scale", features far from zero, weights among them zero."""
    rows = X * [1.0, 20.0] + [100.0, -3.0]
    target = np.tanh(rows[:, 1] / 50) + 0.1 * rng.standard_normal(700)
    model = RVR(gamma="scale", design="streamed", candidates=100)
    expected = (
        model.fit(rows, target, sample_weight=WEIGHT).model_.basis.groups[0].kernel
    )
    found = model.fit(scan(rows, target=target, weight=WEIGHT, block_rows=64)).model_
    variance = np.repeat(rows, WEIGHT.astype(int), axis=0).var()

    assert_allclose(expected.length_scale, np.sqrt(variance), rtol=1e-10)
    assert_allclose(
        found.basis.groups[0].kernel.length_scale, np.sqrt(variance), rtol=1e-10
    )


def test_features_as_dictionary(rng):
    features = rng.standard_normal((600, 25))
    target = features[:, 3] - 2 * features[:, 17] + 0.1 * rng.standard_normal(600)
    expected = RVR(kernel=None, design="dense").fit(features, target)
    model = RVR(kernel=None).fit(scan(features, target=target, block_rows=100))

    assert_array_equal(model.relevance_, expected.relevance_)
    assert_allclose(model.coef_, expected.coef_, atol=1e-5)


def test_kernels_that_are_not_definite():
    def cauchy(A, B):
        return 1 / (1 + ((A[:, None] - B) ** 2).sum(axis=-1) / 9)

    blocks = scan(X, target=Y, block_rows=64)
    expected = RVR(cauchy, candidates=centres(blocks, 60)).fit(X, Y).predict(X)
    streamed = RVR(cauchy, candidates=60, design="streamed").fit(blocks)

    assert_allclose(streamed.predict(X), expected, atol=1e-5)


def test_single_precision_blocks(in_memory):
    rows = X.astype(np.float32)
    blocks = scan(rows, target=Y, weight=WEIGHT, block_rows=64)
    model = regression().fit(blocks)

    assert model.relevance_vectors_.dtype == np.float32
    assert_allclose(model.predict(blocks), in_memory.predict(X), atol=1e-4)


def test_names_of_features_are_kept_and_forgotten():
    model = regression().fit(scan(FRAME, **NAMES))
    assert_array_equal(model.feature_names_in_, ["east", "north"])
    model.predict(FRAME[["east", "north"]])
    model.fit(scan(X, target=Y))

    assert not hasattr(model, "feature_names_in_")


def test_a_fit_from_named_rows_is_that_of_their_frame():
    blocks = scan(FRAME.drop(columns="count"), target="height")
    by_frame = regression(centres(blocks, 150)).fit(FRAME[["east", "north"]], Y)
    by_blocks = regression().fit(blocks)

    assert_array_equal(by_blocks.feature_names_in_, by_frame.feature_names_in_)
    assert_same_model(by_blocks, by_frame, FRAME[["east", "north"]])


# predicting


@pytest.mark.parametrize("block_rows", [1, 64, 1000])
def test_predictions_of_blocks_are_those_of_arrays(block_rows, in_memory):
    blocks = scan(X, block_rows=block_rows)

    assert_allclose(in_memory.predict(blocks), in_memory.predict(X), atol=1e-12)
    assert_allclose(
        in_memory.predict(blocks, return_std=True),
        in_memory.predict(X, return_std=True),
        atol=1e-12,
    )


def test_probabilities_of_blocks_are_those_of_arrays():
    model = classification().fit(POINTS, LABELS)
    blocks = scan(POINTS, block_rows=64)
    for method in ("predict_proba", "decision_function", "predict"):
        assert_allclose(
            getattr(model, method)(blocks), getattr(model, method)(POINTS), atol=1e-12
        )


def test_blocks_to_predict_are_read_once(in_memory):
    """Also from an iterator that is used up, with or without targets."""
    for parts in (cut(X), cut(X, Y), cut(X, Y, WEIGHT)):
        blocks = scan(iter(parts))
        assert_allclose(in_memory.predict(blocks), in_memory.predict(X), atol=1e-12)


def test_blocks_predicted_from_files(folder, in_memory):
    features = ["east", "north"]
    for file in ("rows.parquet", "rows.csv", "rows.arrow"):
        blocks = scan(folder / file, features=features, block_rows=100)
        assert_allclose(in_memory.predict(blocks), in_memory.predict(X), atol=1e-12)


def test_reading_is_a_matter_of_few_passes():
    """A Gaussian likelihood asks for the rows a few times, however many steps."""
    passes = []

    def begin():
        passes.append(1)
        return iter(cut(X, Y))

    model = regression().fit(scan(begin))

    assert len(passes) < 15 < 10 * model.n_iter_
