"""Files replayed: what they bring with them tells whether they still say the same."""

import re

import numpy as np
import onnx
import pytest

from export.instances import fitted
from export.runners import missing
from relvec.export import ExportError, to_c, to_onnx
from relvec.export.onnx_graph import SELF_TEST
from relvec.verification import verify

NAMES = ["rvr several at 1000", "rvc 3 mrvm1 Gaussian at 0", "lssvr nystrom at 0"]
BARS = {"float32": 1e-5, "float64": 1e-10}
WRITERS = {".onnx": to_onnx, ".c": to_c}
COMPILERS = ("cc", "gcc", "clang")


@pytest.fixture(params=[".onnx", ".c"])
def suffix(request):
    if request.param == ".c" and all(map(missing, COMPILERS)):
        pytest.skip("there is no C compiler here")
    return request.param


@pytest.mark.parametrize("precision", BARS)
@pytest.mark.parametrize("name", NAMES)
def test_what_was_written_passes(name, precision, suffix, tmp_path):
    path = tmp_path / f"model{suffix}"
    WRITERS[suffix](fitted(name).model, path, precision=precision)

    assert 0 <= verify(path) < BARS[precision]
    assert verify(str(path)) == verify(path)


def test_a_header_is_a_c_file(tmp_path):
    if all(map(missing, COMPILERS)):
        pytest.skip("there is no C compiler here")
    to_c(fitted(NAMES[0]).model, tmp_path / "model.H")

    assert verify(tmp_path / "model.H") < 1e-5


def damage_onnx(path):
    model = onnx.load(path)
    largest = max(model.graph.initializer, key=lambda one: len(one.raw_data))
    values = onnx.numpy_helper.to_array(largest).copy()
    values.flat[0] += 1.0
    largest.CopyFrom(onnx.numpy_helper.from_array(values, largest.name))
    onnx.save(model, path)


def damage_c(path):
    text = path.read_text(encoding="utf-8")
    path.write_text(re.sub(r"(\] = {\s+)[^,]+,", r"\g<1>7.5,", text, count=1))


def test_a_damaged_constant_shows(suffix, tmp_path):
    path = tmp_path / f"model{suffix}"
    WRITERS[suffix](fitted(NAMES[0]).model, path)
    {".onnx": damage_onnx, ".c": damage_c}[suffix](path)

    assert verify(path) > 1e-3


def test_a_damaged_file_is_refused(suffix, tmp_path):
    path = tmp_path / f"model{suffix}"
    WRITERS[suffix](fitted(NAMES[0]).model, path)
    written = path.read_bytes()
    path.write_bytes(written[: len(written) // 2] + b"RELVEC_SELF_TEST \0 }")

    with pytest.raises(ExportError, match="cannot"):
        verify(path)


@pytest.mark.parametrize(
    "test", ["", "[]", "{}", '{"rows": ["<f4", [2, 3], ""], "expected": {}}']
)
def test_a_damaged_self_test_is_refused(test, tmp_path):
    path = tmp_path / "model.onnx"
    to_onnx(fitted(NAMES[0]).model, path)
    model = onnx.load(path)
    onnx.helper.set_model_props(model, {SELF_TEST: test})
    onnx.save(model, path)

    with pytest.raises(ExportError, match="self-test"):
        verify(path)


def test_a_file_of_somebody_else_is_refused(suffix, tmp_path):
    path = tmp_path / f"other{suffix}"
    if suffix == ".c":
        path.write_text("int main(void) { return 0; }\n")
    else:
        to_onnx(fitted(NAMES[0]).model, path)
        model = onnx.load(path)
        del model.metadata_props[:]
        onnx.save(model, path)

    with pytest.raises(ExportError, match="relvec did not write it"):
        verify(path)


@pytest.mark.parametrize("suffix", [".onnx", ".c", ".h", ".json"])
def test_a_file_that_is_not_there_is_said_to_be_so(suffix, tmp_path):
    with pytest.raises(FileNotFoundError, match="model"):
        verify(tmp_path / f"model{suffix}")


def test_without_a_compiler_the_remedy_is_named(tmp_path, monkeypatch):
    to_c(fitted(NAMES[0]).model, tmp_path / "model.c")
    monkeypatch.setenv("PATH", str(tmp_path))
    monkeypatch.delenv("CC", raising=False)

    with pytest.raises(
        ExportError, match=r"install gcc or clang, or name one by .* CC"
    ):
        verify(tmp_path / "model.c")


def test_a_compiler_that_is_none_is_told(tmp_path, monkeypatch):
    to_c(fitted(NAMES[0]).model, tmp_path / "model.c")
    monkeypatch.setenv("CC", "no-such-compiler --fast")

    with pytest.raises(ExportError, match=r"cannot compile the self-test.*no-such"):
        verify(tmp_path / "model.c")


def test_a_program_that_fails_is_told(tmp_path):
    if all(map(missing, COMPILERS)):
        pytest.skip("there is no C compiler here")
    path = tmp_path / "model.c"
    path.write_text("int main(void) { return 3; } /* RELVEC_SELF_TEST */\n")
    with pytest.raises(ExportError, match="cannot run the self-test"):
        verify(path)

    path.write_text("int main(void) { return 0; } /* RELVEC_SELF_TEST */\n")
    with pytest.raises(ExportError, match="printed ''"):
        verify(path)


def test_outputs_that_are_no_numbers_are_the_largest_error(tmp_path):
    path = tmp_path / "model.onnx"
    to_onnx(fitted("rvr Gaussian(length_scale=1.3) at 1000").model, path)
    model = onnx.load(path)
    for one in model.graph.initializer:
        values = onnx.numpy_helper.to_array(one)
        if values.dtype == np.float32:
            gone = np.full_like(values, np.nan)
            one.CopyFrom(onnx.numpy_helper.from_array(gone, one.name))
    onnx.save(model, path)

    assert verify(path) == np.inf
