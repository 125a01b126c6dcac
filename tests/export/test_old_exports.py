"""Exports of earlier versions say what they did, and so do today's of the same models.

The files are never written again: those who have them run them as they are.
"""

import numpy as np
import pytest
from numpy.testing import assert_allclose
from recorded.files import VERSIONS, export, folder, outputs_of, read_expected

import relvec
from export.runners import by_c_file, loaded, missing, ran

EXPECTED = {version: read_expected(version) for version in VERSIONS}
OLD = [
    (version, path.stem)
    for version in VERSIONS
    for path in sorted(folder("exports", version).glob("*.c"))
]
every_export = pytest.mark.parametrize(("version", "name"), OLD)


@pytest.fixture(params=["old", "new"])
def written(request, tmp_path):
    """A folder with the old exports of a model, or with today's of the old model."""

    def where(version, name):
        if request.param == "old":
            return folder("exports", version)
        model = relvec.load(folder("files", version) / f"{name}.json")
        export(model, name, tmp_path)
        return tmp_path

    return where


def rows_and_outputs(version, name):
    known = EXPECTED[version][name]
    return np.array(known["rows"]), outputs_of(known)


@every_export
def test_python(version, name, written):
    X, wanted = rows_and_outputs(version, name)
    path = written(version, name) / f"{name}.py.txt"
    text = path.read_text(encoding="utf-8")
    found = loaded(text)["predict"](X)
    found = found if isinstance(found, tuple) else (found,)

    for one, value in zip(found, wanted.values(), strict=True):
        assert_allclose(one, value, rtol=1e-9, atol=1e-10)


@every_export
def test_c(version, name, written):
    compiler = next((one for one in ("gcc", "clang") if not missing(one)), None)
    if compiler is None:
        pytest.skip("there is no C compiler here")
    X, wanted = rows_and_outputs(version, name)
    found = by_c_file(written(version, name) / f"{name}.c", X, compiler)

    assert_allclose(
        found, np.column_stack(list(wanted.values())), rtol=1e-9, atol=1e-10
    )


@every_export
def test_onnx(version, name, written):
    X, wanted = rows_and_outputs(version, name)
    found = ran(written(version, name) / f"{name}.onnx", X)

    for output, value in wanted.items():
        assert_allclose(
            found[output], value, rtol=1e-5, atol=1e-5 * np.abs(value).max()
        )


@pytest.mark.parametrize("version", VERSIONS)
def test_every_export_is_there_in_every_language(version):
    names = {name for of, name in OLD if of == version}
    wanted = {f"{name}{kind}" for name in names for kind in (".c", ".onnx", ".py.txt")}

    assert names
    assert {path.name for path in folder("exports", version).iterdir()} == wanted
