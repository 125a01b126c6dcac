"""How large exports are, and what a C file says of itself."""

import re
import subprocess
import sys
from itertools import cycle

import numpy as np
import pytest

from export.instances import fit, fitted
from export.runners import compiled, missing
from relvec import LSSVR
from relvec.export import to_c, to_onnx, to_python
from relvec.verification import verify

NEEDS_GCC = pytest.mark.skipif(missing("gcc") is not None, reason=str(missing("gcc")))
NAMES = [
    "rvr Gaussian(length_scale=1.3) at 1000",
    "rvr Gaussian(columns=[2,0],length_scale=0.8) at 1000",
    "rvr Matern(length_scale=0.9,nu=0.3) at 1000",
    "lssvr nystrom at 0",
    "rvc 3 mrvm1 Gaussian at 0",
    "rvc 3 softmax full CompactMatern at 1000",
    "rvc 4 votes Polynomial at 1000",
    "rvr constant",
    "pipeline two",
]


@pytest.fixture(scope="module")
def large():
    """75 vectors of 5 features."""
    chance = np.random.default_rng(0)
    X = chance.standard_normal((75, 5))
    case = fit(LSSVR(gamma=0.2, C=10.0), X, np.sin(X[:, 0]) + X[:, 1] * X[:, 2])
    assert len(case.model.support_) == 75
    return case.model


def test_75_vectors_of_5_features_are_below_4_kilobytes_of_onnx(large, tmp_path):
    to_onnx(large, tmp_path / "large.onnx", output="mean")

    assert (tmp_path / "large.onnx").stat().st_size < 4096


@NEEDS_GCC
def test_75_vectors_of_5_features_are_below_3_kilobytes_of_object_code(large, tmp_path):
    to_c(large, tmp_path / "large.c", output="mean")
    command = ["gcc", "-std=c99", "-Os", "-c", "large.c", "-o", "large.o"]
    subprocess.run(command, cwd=tmp_path, check=True)

    assert sum(sections(tmp_path / "large.o").values()) < 3072
    assert "float" in (tmp_path / "large.c").read_text()
    assert "double" not in body(tmp_path / "large.c")


def sections(path):
    """Bytes of code and constants."""
    listed = subprocess.run(
        ["size", "-A", str(path)], capture_output=True, text=True, check=True
    ).stdout
    found = re.findall(r"^\.(text|rodata)(\S*)\s+(\d+)", listed, re.MULTILINE)
    return {f"{kind}{rest}": int(size) for kind, rest, size in found}


def body(path):
    """A file without its comment and its test."""
    text = path.read_text(encoding="utf-8")
    return text[text.index("*/") : text.index("#ifdef RELVEC_SELF_TEST")]


@pytest.mark.parametrize("precision", ["float32", "float64"])
@pytest.mark.parametrize("name", NAMES)
def test_the_comment_knows_how_much_memory_is_needed(name, precision, tmp_path):
    path = tmp_path / "model.c"
    to_c(fitted(name).model, path, precision=precision)
    text = path.read_text(encoding="utf-8")
    sizes = {"float": 4, "double": 8, "int": 4}
    tables = re.findall(r"static const (\w+) \w+\[(\d+)\] = {([^}]*)}", body(path))
    buffers = re.findall(r"^ +(float|double) \w+\[(\d+)\];", body(path), re.MULTILINE)

    assert all(entries.count(",") == int(count) for _, count, entries in tables)
    flash = sum(sizes[kind] * int(count) for kind, count, _ in tables)
    ram = sum(sizes[kind] * int(count) for kind, count in buffers)
    assert f"Constants: {flash} bytes of flash. RAM: {ram} bytes of stack," in text


@pytest.mark.parametrize("name", NAMES)
def test_c_allocates_nothing_and_asks_for_nothing_but_mathematics(name, tmp_path):
    to_c(fitted(name).model, tmp_path / "model.c")
    text = body(tmp_path / "model.c")

    assert re.findall(r"#include.*", text) == ["#include <math.h>"]
    assert not re.search(r"malloc|alloca|free|static (?!const)", text)


@NEEDS_GCC
@pytest.mark.parametrize(
    ("name", "precision"), zip(NAMES, cycle(["float32", "float64"]), strict=False)
)
def test_the_self_test_of_a_c_file_passes(name, precision, tmp_path):
    to_c(fitted(name).model, tmp_path / "model.c", precision=precision)
    done = self_tested(tmp_path / "model.c")

    assert done.returncode == 0
    assert 0 <= float(done.stdout) < (1e-5 if precision == "float32" else 1e-10)


@NEEDS_GCC
@pytest.mark.parametrize("damaged", ["7.5", "NAN"])
@pytest.mark.parametrize("precision", ["float32", "float64"])
def test_a_changed_constant_fails_the_self_test(damaged, precision, tmp_path):
    path = tmp_path / "model.c"
    name = "rvr Gaussian(length_scale=1.3) at 1000"
    to_c(fitted(name).model, path, precision=precision)
    text = path.read_text(encoding="utf-8")
    path.write_text(re.sub(r"(\] = {\s+)[^,]+,", rf"\g<1>{damaged},", text, count=1))
    done = self_tested(path)

    assert done.returncode == 1
    assert float(done.stdout) > 1e-3


@NEEDS_GCC
def test_one_row_that_is_no_number_is_remembered(tmp_path):
    path = tmp_path / "model.c"
    to_c(fitted("rvr Gaussian(length_scale=1.3) at 1000").model, path)
    text = path.read_text(encoding="utf-8")
    path.write_text(text.replace("_rows[24] = {\n   ", "_rows[24] = {\n    NAN +", 1))
    done = self_tested(path)

    assert path.read_text(encoding="utf-8") != text
    assert (done.returncode, done.stdout.strip()) == (1, "inf")
    assert verify(path) == np.inf


def self_tested(path):
    compiled(path, path.with_suffix(".exe"), flags=("-O1", "-DRELVEC_SELF_TEST"))
    program = path.with_suffix(".exe")
    return subprocess.run([program], capture_output=True, text=True, check=False)


def ran(path):
    command = [sys.executable, "-W", "error", path]
    return subprocess.run(command, capture_output=True, text=True, check=False)


@pytest.mark.parametrize("name", [NAMES[0], NAMES[4], "rvr constant"])
def test_a_python_file_tests_itself_without_a_warning(name, tmp_path):
    to_python(fitted(name).model, tmp_path / "model.py")
    done = ran(tmp_path / "model.py")

    assert (done.returncode, done.stderr) == (0, "")
    assert re.fullmatch(r"largest error: \d.*e[-+]\d\d\n", done.stdout)


def test_a_changed_python_file_fails_its_test(tmp_path):
    path = tmp_path / "model.py"
    to_python(fitted("rvr constant").model, path)
    text = path.read_text(encoding="utf-8")
    path.write_text(re.sub(r"broadcast_to\([^,]+,", "broadcast_to(17.0,", text))

    assert ran(path).returncode == 1


def test_a_model_that_is_zero_everywhere_passes_its_test(tmp_path):
    X = np.random.default_rng(0).standard_normal((20, 2))
    model = fit(LSSVR(gamma=1.0, C=1.0), X, np.zeros(20)).model
    to_python(model, tmp_path / "zero.py")

    assert ran(tmp_path / "zero.py").returncode == 0
