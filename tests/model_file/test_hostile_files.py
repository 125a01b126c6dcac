"""Files with a right digest that were made up to run, to hang or to fill the memory."""

import copy
import subprocess
import sys
import time
import traceback

import numpy as np
import pytest
from sklearn.preprocessing import OneHotEncoder, StandardScaler

from model_file.instances import classes, fitted
from relvec import RVC, ModelFileError, Mrvm1
from relvec.model_file import checks, document, packed, unpacked
from relvec.persistence.files import _CODEC, as_file, of_file
from relvec.persistence.transformers import kept_params


def content(name):
    return copy.deepcopy(unpacked(as_file(fitted(name))))


def refused(changed, reason):
    start = time.perf_counter()
    with pytest.raises(ModelFileError, match=reason):
        of_file(packed(changed))
    assert time.perf_counter() - start < 5  # on a busy machine


def first_step(changed):
    return changed["estimator"]["steps"][0][1]


def params(part):
    return part["params"]["items"]


WORKERS = """
import os, sys
import relvec
load = relvec.load
started = []
names = ("subprocess", "os.fork", "os.posix_spawn", "os.exec", "os.system")
sys.addaudithook(
    lambda event, _: started.append(event) if event.startswith(names) else None
)
try:
    load(sys.argv[1])
except relvec.ModelFileError as error:
    print(error)
print("started", started)
try:
    os.waitpid(-1, os.WNOHANG)
except ChildProcessError:
    print("no children")
"""


def test_no_file_starts_workers(tmp_path):
    changed = content("pipeline columns")
    params(first_step(changed))["n_jobs"] = 4
    path = tmp_path / "model"
    path.write_bytes(packed(changed))
    command = [sys.executable, "-c", WORKERS, str(path)]
    found = subprocess.run(command, capture_output=True, text=True, check=True)

    assert "n_jobs" in found.stdout
    assert found.stdout.endswith("started []\nno children\n")


@pytest.mark.parametrize("place", ["estimator", "transformer", "self-test", "model"])
def test_nothing_may_be_added(place):
    changed = content("pipeline standard")
    last = changed["estimator"]["steps"][-1][1]
    holder = {
        "estimator": params(last),
        "transformer": params(first_step(changed)),
        "self-test": changed["self_test"],
        "model": last["model"],
    }[place]
    holder["more"] = 1
    refused(changed, "other|fields")


@pytest.mark.parametrize("name", ["with_mean", "copy"])
def test_nothing_may_be_left_out(name):
    changed = content("pipeline standard")
    del params(first_step(changed))[name]
    refused(changed, name)


def test_long_words_are_counted_for_the_whole_file():
    changed = content("rvr")
    word = {"type": "words", "length": 2**20, "shape": [1], "items": [""]}
    params(changed["estimator"])["candidates"] = [word] * 60
    refused(changed, "words take more than")


def test_words_keep_their_length():
    array = np.array(["a", "bc"], dtype="<U9")
    assert _CODEC.decoded(_CODEC.encoded(array)).dtype == array.dtype


def test_categories_are_in_no_table():
    changed = content("pipeline columns")
    encoder = first_step(changed)["parts"][2][1]
    assert encoder["type"] == "sklearn.OrdinalEncoder"
    one, many = np.zeros(1), np.arange(200_000.0)
    encoder["n_features"] = 2000
    encoder["categories"] = [_CODEC.encoded(each) for each in [many] + 1999 * [one]]
    refused(changed, "2000 features")  # a table of all would take 3 GB


def test_categories_are_few():
    changed = content("pipeline columns")
    encoders = [first_step(changed)["parts"][place][1] for place in (1, 2)]
    for encoder in encoders:  # counted for the whole file
        encoder["categories"] = [_CODEC.encoded(np.arange(130_000, dtype=np.int32))]
    refused(changed, "250,000 categories")


def added(count):
    """A sum of so many kernels, as flat as can be."""
    if count == 1:
        return {"type": "kernel.Linear", "columns": None}
    parts = {"left": added(count // 2), "right": added(count - count // 2)}
    return {"type": "kernel.Sum", **parts, "columns": None}


@pytest.mark.parametrize("place", ["parameter", "model"])
def test_kernels_in_a_kernel_are_few(place):
    changed = content("rvr")
    estimator, kernel = changed["estimator"], added(6_000)
    if place == "parameter":
        params(estimator)["kernel"] = kernel
    else:
        group = estimator["model"]["basis"]["groups"]["items"][0]
        group["kernel"] = {"type": "kernel.Checked", "function": kernel}
    refused(changed, "10,000 others in it")


def test_pruned_functions_are_few():
    changed = content("rvr")
    pruned = changed["estimator"]["model"]["pruned"]
    pruned["groups"] = _CODEC.encoded(np.zeros(1_000_001, dtype=np.int64))
    pruned["keys"] = _CODEC.encoded(np.arange(1_000_001, dtype="<u8"))
    refused(changed, "pruned functions")


LONG = "x" * 100_000


@pytest.mark.parametrize(
    "value",
    [
        {"type": "array", "dtype": LONG, "shape": [0], "order": "C", "data": ""},
        {"type": "array", "dtype": "<f8", "shape": [0] * 10_000, "order": "C"},
        LONG,
    ],
    ids=["type", "shape", "word"],
)
def test_errors_are_short(value):
    changed = content("rvr")
    params(changed["estimator"])["kernel"] = value
    with pytest.raises(ModelFileError) as refusal:
        of_file(packed(changed))

    told = "".join(traceback.format_exception(refusal.value))
    assert len(str(refusal.value)) < 1_000
    assert len(told) < 20_000


def test_a_self_test_has_few_rows():
    changed = content("rvc full")
    changed["self_test"]["rows"] = _CODEC.encoded(np.zeros((9, 2)))
    refused(changed, "8 rows")


def test_coupled_classes_are_few(monkeypatch, tmp_path):
    text = as_file(fitted("rvc full"))
    monkeypatch.setattr(checks, "_MOST_COUPLED", 2)
    with pytest.raises(ModelFileError, match="3 classes"):
        of_file(text)
    model = RVC(gamma=0.5, multi_class=Mrvm1(posterior="full")).fit(*classes(3))
    with pytest.raises(ModelFileError, match=r"posterior .* joblib"):
        model.save(tmp_path / "model")


def test_pairs_are_not_made_of_many_labels():
    changed = content("rvc ovo")
    labels = _CODEC.encoded(np.arange(2048))
    changed["estimator"]["model"]["coupling"]["labels"] = labels
    refused(changed, "one for each")


def test_error_bars_of_many_rows_are_not_asked_for():
    """Their factor is a matrix of rows × rows, and in no file."""
    changed, count = content("lssvc two"), 30_000
    spread = content("lssvr")["estimator"]["model"]["spread"]
    assert spread["type"] == "part.DualSpread"
    for name, shape in {"rows": (count, 2), "weight": count, "g": count}.items():
        spread[name] = _CODEC.encoded(np.ones(shape))
    changed["estimator"]["model"]["spread"] = spread
    refused(changed, "other outputs")


def test_transformers_are_few():
    changed = content("pipeline standard")
    step = first_step(changed)
    changed["estimator"]["steps"][:1] = [[str(each), step] for each in range(500)]
    refused(changed, "500 transformers")
    changed["estimator"]["steps"][:1] = [[str(each), None] for each in range(20_000)]
    refused(changed, "500 parts")


def test_transformers_are_not_deep():
    changed = content("pipeline standard")
    for number in range(8):
        inner = {
            "type": "sklearn.Pipeline",
            "steps": [[str(number), first_step(changed)]],
        }
        changed["estimator"]["steps"][0][1] = inner
    refused(changed, "8 deep")


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("mean_", 1.0),
        ("mean_", None),
        ("var_", "abc"),
        ("var_", None),
        ("scale_", [2.0]),
        ("scale_", _CODEC.encoded(np.ones(3))),
        ("scale_", _CODEC.encoded(np.array(["a", "b"]))),
        ("n_samples_seen_", "x"),
        ("n_samples_seen_", -1),
        ("n_samples_seen_", True),
    ],
)
def test_fitted_attributes_are_looked_at(name, value):
    changed = content("pipeline standard")
    first_step(changed)["fitted"]["items"][name] = value
    refused(changed, name)


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("random_state", "abc"),
        ("random_state", -1),
        ("random_state", 2**32),
        ("random_state", 1.0),
        ("random_state", {"type": "number", "value": "nan"}),
        ("random_state", {"type": "map", "items": {}}),
        ("candidates", {"type": "map", "items": {}}),
        ("candidates", {"type": "tuple", "items": []}),
        ("candidates", []),
        ("candidates", [[0.0, 1.0]]),
        ("candidates", _CODEC.encoded(np.zeros((3, 3)))),
        ("candidates", _CODEC.encoded(np.zeros((0, 2)))),
        ("candidates", _CODEC.encoded(np.full((1, 2), np.nan))),
        ("candidates", _CODEC.encoded(np.array([["a", "b"]]))),
        ("candidates", "no such"),
        ("kernel", None),
        ("kernel", "precomputed"),
    ],
)
def test_parameters_are_looked_at(name, value):
    changed = content("rvr")
    params(changed["estimator"])[name] = value
    refused(changed, name)


@pytest.mark.parametrize("name", ["rvr features", "rvr precomputed"])
def test_a_model_of_columns_has_no_kernel(name):
    changed = content(name)
    params(changed["estimator"])["kernel"] = "linear"
    refused(changed, "kernel='linear'")


@pytest.mark.parametrize(
    ("path", "name", "value"),
    [
        ((), "verbose_feature_names_out", "{feature_name.__class__}"),
        ((), "verbose_feature_names_out", 1),
        ((), "transformer_weights", {"type": "map", "items": {"words": "a"}}),
        ((), "verbose", "abc"),
        (("parts", 1, 1), "dtype", "<c16"),
        (("parts", 1, 1), "dtype", "(3000,3000)<f8"),
        (("parts", 1, 1), "sparse_output", 0),
        (("parts", 1, 1), "categories", [[], []]),
        (("parts", 1, 1), "min_frequency", 3),
        (("parts", 1, 1), "drop", [[1]]),
    ],
)
def test_parameters_of_transformers_are_looked_at(path, name, value):
    changed = content("pipeline columns")
    part = first_step(changed)
    for step in path:
        part = part[step]
    params(part)[name] = value
    refused(changed, f"{name}|encoder")


@pytest.mark.parametrize("given", [[0, 2], ["a"], 1.5, {"type": "map", "items": {}}])
def test_columns_are_those_that_were_given(given):
    changed = content("pipeline columns")
    first_step(changed)["parts"][0][2] = given
    refused(changed, "columns|ColumnTransformer")


def test_formats_of_names_are_not_saved():
    for chosen in ("{feature_name}", str.join):
        transformer = copy.copy(fitted("pipeline columns")[0])
        transformer.verbose_feature_names_out = chosen
        with pytest.raises(ModelFileError, match="joblib"):
            kept_params(transformer)


def test_parameters_that_files_do_not_have_must_be_by_default(monkeypatch):
    from relvec.persistence import transformers as kept

    monkeypatch.setitem(kept._KEPT, StandardScaler, frozenset({"copy", "with_mean"}))
    assert set(kept_params(StandardScaler())) == {"copy", "with_mean"}
    with pytest.raises(ModelFileError, match="with_std=False"):
        kept_params(StandardScaler(with_std=False))
    with pytest.raises(ModelFileError, match="min_frequency"):
        kept_params(OneHotEncoder(min_frequency=2))


def test_files_are_in_ascii_and_others_are_read():
    text = as_file(fitted("rvc words"))
    assert text.isascii()
    assert of_file(text).classes_[-1] == "yes, øvrig"


def test_one_wide_character_does_not_make_all_wide(monkeypatch):
    text = packed({"a": "é" * 30 + "x" * 100})
    monkeypatch.setattr(document, "_LONGEST_WIDE", 100)
    with pytest.raises(ModelFileError, match="escapes"):
        unpacked(text)
    monkeypatch.setattr(document, "_MOST_WIDE", 100)
    with pytest.raises(ModelFileError, match="ASCII"):
        document.as_tree(b'{"a":"' + "é".encode() * 60 + b'"}')


def test_many_brackets_take_little_time():
    changed = content("rvr")
    params(changed["estimator"])["candidates"] = [[]] * 100_000
    refused(changed, "candidates")


@pytest.mark.parametrize(
    "value",
    ["\ud800", {"type": "words", "length": 1, "shape": [1], "items": ["\ud800"]}],
)
def test_half_a_character_is_refused(value):
    changed = content("rvr")
    params(changed["estimator"])["gamma"] = value
    refused(changed, "surrogate")
