"""Files that were damaged or made up are refused, by one class of error."""

import itertools
import json
import os
import re

import pytest

import relvec
from model_file.damage import accidents, intrigues
from model_file.instances import fitted
from relvec import ModelFileError
from relvec.model_file import packed, unpacked
from relvec.model_file.codec import number_array, read_numbers
from relvec.model_file.document import VERSION
from relvec.persistence.files import as_file, of_file

BEGINNING = b'{"format":"relvec-model","version":1,"sha256":"'


def sealed(body):
    """Any text with a right digest."""
    import hashlib

    blank = BEGINNING + b"0" * 64 + b'",' + body
    digest = hashlib.sha256(blank).hexdigest().encode()
    return BEGINNING + digest + b'",' + body


@pytest.mark.parametrize("name", ["rvr", "rvc ovo", "pipeline columns"])
def test_every_accident_is_refused(name):
    text = as_file(fitted(name))
    for spoilt in itertools.islice(accidents(text), 1500):
        with pytest.raises(ModelFileError):
            of_file(spoilt)


def test_every_single_bit_counts():
    text = as_file(fitted("rvc two"))
    for place in range(0, len(text), 7):
        for bit in range(8):
            spoilt = bytearray(text)
            spoilt[place] ^= 1 << bit
            with pytest.raises(ModelFileError):
                of_file(bytes(spoilt))


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize(
    "name",
    [
        "rvr adaptive-ard",
        "rvr weights",
        "rvr mackay",
        "rvc full",
        "rvc ovo",
        "lssvr",
        "lssvr nystrom",
        "lssvc words",
        "pipeline columns",
    ],
)
def test_contents_that_were_changed_are_refused_or_models(name):
    text, n_refused = as_file(fitted(name)), 0
    for spoilt in itertools.islice(intrigues(text, seed=len(name)), 80):
        try:
            of_file(spoilt)
        except ModelFileError:
            n_refused += 1
    assert n_refused > 40


@pytest.mark.parametrize(
    ("body", "reason"),
    [
        (b'"a":NaN}', "NaN"),
        (b'"a":-Infinity}', "Infinity"),
        (b'"a":1e999}', "out of range"),
        (b'"a":' + b"9" * 5000 + b"}", "out of range"),
        (b'"a":1,"a":2}', "twice"),
        (b'"format":1}', "twice"),
        (b'"a":' + b"[" * 100_000 + b"]" * 100_000 + b"}", "deep"),
        (b'"a":' + b'{"b":' * 5000 + b"1" + b"}" * 5001, "deep"),
        (b'"a":"' + b'\\"' * 50_000, "Unterminated"),
        (b'"a":"\xff"}', "not JSON"),
        (b'"a":"\x01"}', "not JSON"),
        (b'"a":1} {}', "not JSON"),
        (b'"a":[' + b"1," * 2_000_001 + b"1]}", "values"),
        (b'"a":1}', "sections"),
        (b"}", "not JSON"),
        (b"", "not JSON"),
    ],
    ids=itertools.count(),
)
def test_loose_json_is_refused(body, reason):
    with pytest.raises(ModelFileError, match=reason):
        of_file(sealed(body))


def put(text, path, value):
    content = unpacked(text)
    holder = content
    for step in path[:-1]:
        holder = holder[step]
    holder[path[-1]] = value
    return packed(content)


def words(length):
    return {"type": "words", "length": length, "shape": [1], "items": ["a"]}


BASIS = ("estimator", "model", "basis")
CENTRES = (*BASIS, "groups", "items", 0, "centres")
POSTERIOR = ("estimator", "model", "fit", "posterior")


@pytest.mark.parametrize(
    ("path", "value", "reason"),
    [
        ((*CENTRES, "shape"), [10**12, 2], "characters"),
        ((*CENTRES, "shape"), [-1, 2], "shape"),
        ((*CENTRES, "shape"), [0, 10**12], "without entries"),
        ((*CENTRES, "shape"), [10**6] * 5, "shape"),
        ((*CENTRES, "shape"), [True, 2], "shape"),
        ((*CENTRES, "dtype"), "|O", "type"),
        ((*CENTRES, "dtype"), "<M8[s]", "type"),
        ((*CENTRES, "dtype"), ["<f8"], "type"),
        ((*CENTRES, "data"), "!" * 4, "characters"),
        ((*CENTRES, "order"), "K", "order"),
        ((*POSTERIOR, "mean"), None, "mean"),
        ((*BASIS, "bias"), 1, "bias"),
        ((*BASIS, "groups", "items"), [], "groups"),
        (("estimator", "type"), "builtins.eval", "unknown type"),
        (("estimator", "type"), "os.system", "unknown type"),
        (("estimator", "type"), "estimator.RVC", "multi_class|noise_variance|targets"),
        (("estimator", "type"), "estimator.LSSVR", "LSSVR"),
        (("estimator", "params", "items", "kernel"), "no such", "kernel"),
        (("estimator", "params", "items", "unknown"), 1, "unknown"),
        (("estimator", "model", "extra"), 1, "fields"),
        (("estimator", "model", "features", "number"), 3, "shape"),
        (("self_test", "rows"), None, "rows"),
        (("self_test", "rows"), words(10**8), "words"),
        (("self_test", "rows"), words(0), "words"),
        (("self_test", "expected", "items", "mean"), None, "self-test"),
    ],
)
def test_what_does_not_belong_together_is_refused(path, value, reason):
    text = as_file(fitted("rvr"))
    with pytest.raises(ModelFileError, match=reason):
        of_file(put(text, path, value))


def test_a_model_that_says_something_else_is_refused():
    text = as_file(fitted("rvr"))
    offset = unpacked(text)["estimator"]["model"]["offset"]
    spoilt = put(text, ("estimator", "model", "offset"), offset + 1e-3)

    with pytest.raises(ModelFileError, match=r"self-test differs .* of the"):
        of_file(spoilt)


@pytest.mark.parametrize(("off", "refused"), [(1e-3, False), (0.1, True)])
def test_a_later_version_may_integrate_otherwise(off, refused):
    """Probabilities of correlated classes are averages over points."""
    text = as_file(fitted("rvc full"))
    path = ("self_test", "expected", "items", "probabilities")
    content = unpacked(text)
    for step in path:
        content = content[step]
    changed = number_array(read_numbers(*list(content.values())[1:]) + off)

    if not refused:
        of_file(put(text, path, changed))
        return
    with pytest.raises(ModelFileError, match="probabilities"):
        of_file(put(text, path, changed))


def test_a_newer_version_is_named():
    text = as_file(fitted("rvr")).replace(b'"version":1', b'"version":2', 1)
    with pytest.raises(ModelFileError, match=r"version 2 .* newer"):
        of_file(text)
    assert VERSION == 1


@pytest.mark.parametrize("text", [b"", b"{}", b"null", b"\x80\x04", b"PK\x03\x04"])
def test_other_files_are_no_models(text, tmp_path):
    path = tmp_path / "other"
    path.write_bytes(text)
    with pytest.raises(ModelFileError, match=re.escape(str(path))):
        relvec.load(path)


def test_what_is_no_ordinary_file_is_refused(tmp_path):
    os.mkfifo(tmp_path / "pipe")
    with pytest.raises(ModelFileError, match="ordinary"):
        relvec.load(tmp_path / "pipe")
    n_open = len(os.listdir("/proc/self/fd")) if os.path.exists("/proc/self/fd") else 0
    with pytest.raises(ModelFileError, match=re.escape(str(tmp_path))):
        relvec.load(tmp_path)
    if n_open:
        assert len(os.listdir("/proc/self/fd")) == n_open
    with pytest.raises(FileNotFoundError):
        relvec.load(tmp_path / "none")


def test_a_file_that_is_too_long_is_not_read(tmp_path):
    path = tmp_path / "long"
    with open(path, "wb") as file:
        file.truncate(2**31)  # takes no room on the disk
    with pytest.raises(ModelFileError, match="bytes"):
        relvec.load(path)


def test_reformatted_json_is_refused():
    """Every byte counts, even white space."""
    text = json.dumps(json.loads(as_file(fitted("rvr"))), indent=1).encode()
    with pytest.raises(ModelFileError):
        of_file(text)
