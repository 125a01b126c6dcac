"""Self-tests of model files, ONNX files and C files."""

import json
import os
import shutil
import subprocess
import tempfile
from os import PathLike
from pathlib import Path
from typing import Any

import numpy as np

from relvec.export.expressions import ExportError
from relvec.export.onnx_graph import SELF_TEST, unpacked
from relvec.parameters import optional_module
from relvec.persistence import self_test_error
from relvec.typing import AnyArray

_COMPILERS = ("cc", "gcc", "clang")
_SECONDS = 60  # limit of a compiler, and of the test
_NEEDED = "verify needs onnxruntime to run an ONNX file", "onnx"


def verify(path: str | PathLike[str]) -> float:
    """Return the largest error of a file on the rows stored in it.

    Files of models and exports hold a few rows, and what the model said of them when it
    was written. They are predicted again, by whatever runs such a file here.

    Parameters
    ----------
    path : path-like
        An ONNX file (``.onnx``), a C file (``.c`` or ``.h``), or else a model file. C
        is compiled, by ``$CC`` or the compiler that is found, and run: do so with files
        you trust. A Python file tests itself if it is run.

    Returns
    -------
    float
        The largest difference, relative to the largest value of an output; below 1e-5
        for single precision and 1e-10 for double, or something is wrong.

    Raises
    ------
    ModelFileError
        If a model file is refused.
    ExportError
        If a file has no such rows, or cannot be run.

    Examples
    --------
    >>> import os, tempfile
    >>> from relvec import RVR, verify
    >>> from relvec.data import noisy_sinc
    >>> model = RVR().fit(*noisy_sinc(100, seed=0))
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = os.path.join(folder, "sinc.json")
    ...     model.save(path)
    ...     verify(path) < 1e-10
    True
    """
    file = Path(path)
    if not file.exists():
        raise FileNotFoundError(f"there is no file {path}")
    suffix = file.suffix.lower()
    if suffix == ".py":
        raise ExportError(f"{path} is Python, which tests itself: python {path}")
    return _KINDS.get(suffix, self_test_error)(file)


def _of_onnx(path: Path) -> float:
    runtime = optional_module("onnxruntime", *_NEEDED)
    try:
        session = runtime.InferenceSession(path, providers=["CPUExecutionProvider"])
    except Exception as error:
        raise ExportError(f"{path} cannot be run: {error}") from error
    written = session.get_modelmeta().custom_metadata_map.get(SELF_TEST)
    if written is None:
        raise ExportError(
            f"{path} has no rows to test it with: relvec did not write it"
        )
    try:
        test = json.loads(written)
        rows, expected = _by_column(test) if "columns" in test else _at_once(test)
        found = session.run(list(expected), rows)
    except Exception as error:
        raise ExportError(f"the self-test of {path} fails: {error}") from error
    pairs = zip(found, expected.values(), strict=True)
    return max(_error(one, known) for one, known in pairs)


Arrays = dict[str, AnyArray]


def _at_once(test: dict[str, Any]) -> tuple[Arrays, Arrays]:
    """Read test rows of numbers, and the expected outputs."""
    expected = {name: unpacked(one) for name, one in test["expected"].items()}
    return {"X": unpacked(test["rows"])}, expected


def _by_column(test: dict[str, Any]) -> tuple[Arrays, Arrays]:
    """Read test rows of a table of numbers and text."""
    rows = {}
    for name, cells in test["columns"].items():
        kind = object if isinstance(cells[0], str) else np.dtype(test["precision"])
        rows[name] = np.array(cells, dtype=kind)[:, None]
    return rows, {name: np.array(one) for name, one in test["expected"].items()}


def _error(found: AnyArray, expected: AnyArray) -> float:
    if np.shape(found) != expected.shape:
        raise ExportError(f"outputs of shape {np.shape(found)}, not {expected.shape}")
    size = max(float(np.abs(expected).max(initial=0.0)), np.finfo(float).tiny)
    error = np.abs(np.asarray(found, dtype=np.float64) - expected) / size
    return float(error.max(initial=0.0)) if np.isfinite(error).all() else np.inf


def _of_c(path: Path) -> float:
    if "RELVEC_SELF_TEST" not in path.read_text(encoding="utf-8", errors="replace"):
        raise ExportError(
            f"{path} has no rows to test it with: relvec did not write it"
        )
    with tempfile.TemporaryDirectory() as folder:
        program = Path(folder) / "self_test.exe"
        flags = ["-std=c99", "-O1", "-DRELVEC_SELF_TEST", "-x", "c"]
        source = str(path.resolve())  # an absolute path is never read as an option
        _run([*_compiler(), *flags, source, "-o", str(program), "-lm"], "compile")
        printed = _run([str(program)], "run", (0, 1))
    try:
        return float(printed)
    except ValueError:
        raise ExportError(f"the self-test of {path} printed {printed!r}") from None


_KINDS = {".onnx": _of_onnx, ".c": _of_c, ".h": _of_c}


def _compiler() -> list[str]:
    """Find the command of the compiler."""
    chosen = os.environ.get("CC", "").split()
    named = next((name for name in _COMPILERS if shutil.which(name)), None)
    if not chosen and named is None:
        raise ExportError(
            "verify needs a C compiler to run a C file, and found none: install gcc or "
            "clang, or name one by the environment variable CC"
        )
    return chosen or [str(named)]


def _run(command: list[str], what: str, fine: tuple[int, ...] = (0,)) -> str:
    try:
        done = subprocess.run(
            command, capture_output=True, text=True, timeout=_SECONDS, check=False
        )
    except (OSError, subprocess.TimeoutExpired) as error:
        raise ExportError(f"cannot {what} the self-test: {error}") from error
    if done.returncode not in fine:
        raise ExportError(f"cannot {what} the self-test: {done.stderr.strip()}")
    return done.stdout.strip()
