"""A folder with tables and models to run commands in."""

import os
import shutil
from contextlib import chdir

import pytest

from cli.sessions import document, mixed, numbers, with_gaps


@pytest.fixture(scope="session")
def made(tmp_path_factory):
    """Tables and the models of them."""
    folder = tmp_path_factory.mktemp("made")
    with chdir(folder):
        numbers().to_csv("numbers.csv", index=False)
        mixed().to_csv("mixed.csv", index=False)
        with_gaps().to_csv("gaps.csv", index=False)
        document("fit numbers.csv --target price --output numbers.json")
        document("fit mixed.csv --target kind --output mixed.json")
        document("fit gaps.csv --target kind --impute --output gaps.json")
    return folder


@pytest.fixture
def folder(made, tmp_path, monkeypatch):
    """The same, to do with as one likes; it is the working folder."""
    shutil.copytree(made, tmp_path, dirs_exist_ok=True)
    monkeypatch.chdir(tmp_path)
    return tmp_path


@pytest.fixture
def unchanged(folder):
    """Checks in the end that no file came, went or changed since the given moment."""

    def contents():
        paths = sorted(path for path in folder.rglob("*") if path.is_file())
        return {os.fspath(path): path.read_bytes() for path in paths}

    before = {}
    yield lambda: before.update(contents())
    assert contents() == before
