"""From a table to a model: what is found, encoded, held out and said."""

import json

import numpy as np
import pandas as pd
import pytest

import relvec
from cli.sessions import N_ROWS, document, mixed, numbers, run, with_gaps
from relvec.cli import fitting
from relvec.cli.output import Output
from relvec.cli.paths import column_names
from relvec.cli.tables import read_table, write_table


def test_a_number_is_predicted_with_its_noise(folder):
    found = document("fit numbers.csv --target price --output m.json")

    assert (found["task"], found["rows_fitted"]) == ("regression", 64)
    assert found["hold_out"]["rows"] == 16
    assert found["hold_out"]["rmse"] < 0.2
    assert found["without_features"]["rmse"] > 0.5
    assert 0.05 < found["noise_std"] < 0.2


def test_scores_are_those_of_the_rows_held_out(folder):
    """What the file's model says of the rows that the split leaves."""
    found = document("fit numbers.csv --target price --output m.json --seed 3")
    table = numbers()
    out = np.sort(np.random.default_rng(3).permutation(N_ROWS)[:16])
    model, held = relvec.load("m.json"), table.iloc[out]

    mean, std = model.predict(held[["width", "depth", "z"]], return_std=True)
    error = mean - held["price"]

    scores = found["hold_out"]
    assert scores["rmse"] == pytest.approx(np.sqrt(np.mean(error**2)), rel=1e-9)
    assert scores["mae"] == pytest.approx(np.mean(np.abs(error)), rel=1e-9)
    assert scores["within_95"] == np.mean(np.abs(error) <= 1.96 * std)
    density = np.exp(-(error**2) / (2 * std**2)) / np.sqrt(2 * np.pi * std**2)
    assert scores["nlpd"] == pytest.approx(-np.mean(np.log(density)), rel=1e-9)


DRAWN = np.random.default_rng(7)
PLACES = DRAWN.random(800)
# Noise of which more or fewer values are within two deviations than of Gaussian noise.
NOISES = {
    "too narrow: ": 10.0 * (DRAWN.random(800) < 0.1),
    "too wide: ": np.where(DRAWN.random(800) < 0.5, -1.0, 1.0),
    "neither too narrow nor too wide: ": DRAWN.standard_normal(800),
}


@pytest.mark.parametrize("words", NOISES)
def test_error_bars_are_judged_by_rows_held_out(folder, words):
    table = pd.DataFrame({"x": PLACES, "y": NOISES[words]})
    table.to_csv("t.csv", index=False)
    fit = "fit t.csv --target y --task regression --output m.json --holdout 0.5"

    assert document(fit)["error_bars"].startswith(words)
    assert words in run(fit).stdout
    assert document("report m.json t.csv --holdout 0.5")["held_out"]
    assert f"the error bars are {words}" in (folder / "m.html").read_text()


def test_classes_are_held_out_in_their_shares(folder):
    found = document("fit mixed.csv --target kind --output m.json --holdout 0.25")
    shares = mixed()["kind"].value_counts()

    assert found["task"] == "classification"
    assert found["hold_out"]["rows"] == sum(round(0.25 * count) for count in shares)
    assert found["hold_out"]["error"] < found["without_features"]["error"] / 2


def test_a_search_ends_in_time_with_a_model_and_a_note(folder):
    fit = "fit numbers.csv --target price --output m.json"
    found = document(f"{fit} --max-seconds 1e-6")

    assert found["status"] != document(fit)["status"]
    assert "max_seconds" in " ".join(found["remarks"])
    assert relvec.load("m.json")[-1].max_seconds is None


def test_refit_is_a_fit_to_all_rows(folder):
    document("fit numbers.csv --target price --output all.json --holdout 0")
    found = document("fit numbers.csv --target price --output m.json --refit")

    assert found["rows_fitted"] == N_ROWS
    assert found["hold_out"]["rows"] == 16
    X = numbers()[["width", "depth", "z"]]
    models = relvec.load("m.json"), relvec.load("all.json")
    assert np.array_equal(*(model.predict(X) for model in models))


@pytest.mark.parametrize(
    ("values", "task"),
    [
        (["yes", "no"] * 40, "classification"),
        ([True, False] * 40, "classification"),
        ([0, 1] * 40, "classification"),
        ([1.0, 2.0, 3.0, 1.0] * 20, "classification"),
        ([0.5, 1.5] * 40, "regression"),
        (list(range(80)), "regression"),
    ],
)
def test_the_task_is_found_from_the_target(folder, values, task):
    pd.DataFrame({"x": np.arange(80.0), "y": values}).to_csv("t.csv", index=False)

    assert document("fit t.csv --target y --output m.json")["task"] == task


def test_the_task_can_be_chosen(folder):
    table = pd.DataFrame({"x": np.arange(80.0), "y": [0, 1] * 40})
    table.to_csv("t.csv", index=False)

    found = document("fit t.csv --target y --task regression --output m.json")

    assert found["estimator"] == "RVR"


@pytest.mark.parametrize("kind", ["csv", "csv.gz", "parquet", "arrow", "feather"])
def test_files_of_all_kinds_are_the_same_table(tmp_path, kind):
    """Written and read, with numbers, text and truth values."""
    path = tmp_path / f"t.{kind}"

    write_table(mixed(), path)

    pd.testing.assert_frame_equal(read_table(path), mixed(), check_dtype=False)
    assert column_names(path) == list(mixed())


def test_missing_values_are_completed_on_request(folder):
    model = relvec.load("gaps.json")

    predicted = model.predict(with_gaps())

    assert np.mean(predicted == mixed()["kind"]) > 0.9


@pytest.mark.parametrize("kernel", ["matern52", "rbf", "linear"])
def test_kernels_by_name(folder, kernel):
    document(f"fit numbers.csv --target price --output m.json --kernel {kernel}")

    assert relvec.verify("m.json") < 1e-10


@pytest.mark.parametrize("ending", ["csv", "parquet"])
def test_a_stream_is_the_model_of_a_table(folder, ending):
    """Scaled by the same means, tried on rows of which it has seen none."""
    table = numbers()
    table.to_parquet("t.parquet")
    table.to_csv("t.csv", index=False)

    found = document(f"fit t.{ending} --target price --output m.json --stream")

    assert found["hold_out"]["rmse"] < 0.2
    assert found["rows_fitted"] + found["hold_out"]["rows"] == N_ROWS
    scaler = relvec.load("m.json").steps[0][1]
    kept = np.random.default_rng(0).random(N_ROWS) >= 0.2
    mean = table[["width", "depth", "z"]][kept].mean()
    assert np.allclose(scaler.mean_, mean, rtol=1e-12)
    done = run("predict m.json numbers.csv --output p.csv")
    assert done.exit_code == 0


def test_a_stream_of_classes(folder):
    table = numbers()
    table["price"] = np.where(table["price"] > 5, "dear", "cheap")
    table.to_csv("t.csv", index=False)

    found = document("fit t.csv --target price --output m.json --stream --drop z")

    assert found["task"] == "classification"
    assert found["features"] == 2
    assert found["hold_out"]["error"] < 0.3


def test_a_large_file_is_streamed_by_itself(folder, monkeypatch):
    """Its rows are drawn as they come, so that shares are not exact."""
    monkeypatch.setattr(fitting, "_STREAM_BYTES", 100)

    words = "fit numbers.csv --target price --output m.json --seed 1"
    found, whole = document(words), document(f"{words} --no-stream")

    drawn = np.random.default_rng(1).random(N_ROWS) >= 0.2
    assert found["rows_fitted"] == drawn.sum() != whole["rows_fitted"]


def test_progress_is_for_whoever_watches(folder, monkeypatch):
    """On stderr; and a model does not remember it."""
    monkeypatch.setattr(Output, "lively", True)

    done = run("fit numbers.csv --target price --output m.json --json")

    assert json.loads(done.stdout)["task"] == "regression"
    assert "Fitting numbers.csv" in done.stderr
    assert relvec.load("m.json").steps[-1][1].verbose == 0


def test_quiet_is_quiet(folder):
    done = run("fit numbers.csv --target price --output m.json --quiet")

    assert (done.exit_code, done.output) == (0, "")
    assert (folder / "m.json").exists()


def test_labels_of_a_stream_are_those_of_a_table(folder):
    """Whole numbers, though a CSV file may have them with a fraction."""
    table = numbers()
    table["price"] = np.where(table["width"] > 0, 2.0, 1.0)
    table.to_csv("t.csv", index=False)
    for words in ("--stream", "--no-stream"):
        document(f"fit t.csv --target price --output m.json {words}")
        assert relvec.load("m.json").classes_.tolist() == [1, 2]
        assert relvec.load("m.json").classes_.dtype.kind == "i"
