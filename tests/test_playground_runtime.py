"""How Python for the playground is put together, without the network."""

import hashlib
import importlib.util
import json
import sys
import zipfile
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
CONTENT = b"what Pyodide has published"
DIGEST = hashlib.sha256(CONTENT).hexdigest()


def module(name):
    path = ROOT / f"tools/{name}.py"
    specification = importlib.util.spec_from_file_location(f"tool_{name}", path)
    loaded = importlib.util.module_from_spec(specification)
    specification.loader.exec_module(loaded)
    return loaded


@pytest.fixture(scope="module")
def tool():
    return module("playground")


def source(content, asked):
    """One that has this content for every name, or nothing."""

    def fetch(name, target):
        asked.append(name)
        if content is not None:
            target.write_bytes(content)
        return content is not None

    return fetch


def test_the_first_source_that_has_the_file_is_taken(tool, tmp_path):
    asked = [], [], []
    contents = None, CONTENT, CONTENT
    sources = [source(*pair) for pair in zip(contents, asked, strict=True)]

    found = tool.fetched("a.whl", DIGEST, tmp_path, sources)

    assert found.read_bytes() == CONTENT
    assert asked == (["a.whl"], ["a.whl"], [])


def test_another_file_of_the_same_name_is_not_taken(tool, tmp_path):
    sources = [source(b"something else", []), source(CONTENT, [])]

    assert tool.fetched("a.whl", DIGEST, tmp_path, sources).read_bytes() == CONTENT


def test_what_is_there_is_not_fetched_again(tool, tmp_path):
    (tmp_path / "a.whl").write_bytes(CONTENT)
    asked = []

    tool.fetched("a.whl", DIGEST, tmp_path, [source(None, asked)])

    assert asked == []


def test_what_cannot_be_had_is_named_with_a_remedy(tool, tmp_path):
    with pytest.raises(tool.MissingError, match=r"a\.whl .*--files"):
        tool.fetched("a.whl", DIGEST, tmp_path, [source(b"something else", [])])

    assert list(tmp_path.iterdir()) == []


def test_a_failure_is_one_line_and_an_exit_code(tool, tmp_path, monkeypatch, capsys):
    for name in ("from_npm", "from_carrier"):
        monkeypatch.setattr(tool, name, lambda _: source(None, []))
    monkeypatch.setattr(tool, "from_servers", lambda: source(None, []))
    monkeypatch.setattr(sys, "argv", ["playground.py", str(tmp_path / "runtime")])

    assert tool.main() == 1
    said = capsys.readouterr().err
    assert said.startswith(
        "The playground was not put together: pyodide.mjs of Pyodide"
    )
    assert said.count("\n") == 1
    assert not (tmp_path / "runtime").exists()


def test_the_carrier_is_opened_for_the_file_alone(tool, tmp_path):
    with zipfile.ZipFile(tmp_path / "open_webui-0.whl", "w") as carrier:
        carrier.writestr(tool.CARRIED + "a.whl", CONTENT)
        carrier.writestr("open_webui/main.py", "of no use here")
    fetch = tool.from_carrier(tmp_path)

    assert fetch("a.whl", tmp_path / "a.whl")
    assert not fetch("b.whl", tmp_path / "b.whl")
    assert sorted(path.name for path in tmp_path.iterdir()) == [
        "a.whl",
        "open_webui-0.whl",
    ]


def test_the_lock_has_what_relvec_needs_and_the_digests_of_what_is_there(
    tool, tmp_path
):
    names = [*tool.PACKAGES, "relvec"]
    wheels = [tmp_path / f"{name}-1.0-py3-none-any.whl" for name in names]
    for wheel in wheels:
        wheel.write_bytes(wheel.name.encode())
    known = {name: {"version": "1.0", "sha256": "of the source"} for name in names}
    whole = {"info": {"python": "3.14"}, "packages": {**known, "pandas": {}}}

    lock = tool.lock_of(whole, wheels)

    assert sorted(lock["packages"]) == sorted(names)
    assert set(lock["packages"]["relvec"]["depends"]) == set(tool.PACKAGES)
    for wheel, package in zip(wheels, lock["packages"].values(), strict=True):
        assert package["sha256"] == tool.sha256(wheel)
    assert json.dumps(lock)


def test_the_folder_has_nothing_of_an_earlier_one(tool, tmp_path):
    folder = tmp_path / "runtime"
    folder.mkdir()
    (folder / "relvec-0.0.1-py3-none-any.whl").write_bytes(CONTENT)
    wheel = tmp_path / "relvec-1.0-py3-none-any.whl"
    wheel.write_bytes(CONTENT)

    lock = {"info": {}, "packages": {"relvec": {"version": "1.0"}}}
    told = tool._filled(folder, [wheel], lock)

    assert told["bytes"][wheel.name] == len(CONTENT)
    assert sorted(path.name for path in folder.iterdir()) == [
        "manifest.json",
        "pyodide-lock.json",
        "relvec-1.0-py3-none-any.whl",
    ]


def test_relvec_needs_no_more_than_is_loaded(tool):
    """Whatever is added to the dependencies has to be loaded by the page, too."""
    text = (ROOT / "pyproject.toml").read_text(encoding="utf-8")
    needed = importlib.import_module("tomllib").loads(text)["project"]["dependencies"]

    assert {name.partition(">")[0] for name in needed} == set(tool.PACKAGES)


def test_without_node_the_wheels_stay_as_they_are(tool, tmp_path, monkeypatch, capsys):
    monkeypatch.setattr(tool.shutil, "which", lambda _: None)
    wheel = tmp_path / "relvec-1.0-py3-none-any.whl"
    wheel.write_bytes(CONTENT)

    assert tool.with_bytecode([wheel], tmp_path) == [wheel]
    assert "more slowly" in capsys.readouterr().out


def test_compiled_wheels_run_without_their_sources(tmp_path, monkeypatch):
    source, target = tmp_path / "source.whl", tmp_path / "target.whl"
    with zipfile.ZipFile(source, "w") as wheel:
        wheel.writestr("compiled_example/__init__.py", "ANSWER = 42\n")
        wheel.writestr("compiled_example/template.py", "{% not Python %}")
        wheel.writestr("compiled_example/data.txt", "data")
        wheel.writestr("compiled_example/tests/data.txt", "of no use in a browser")
        wheel.writestr("compiled_example/fast.pyx", "of no use in a browser")

    module("bytecode").compiled(str(source), str(target))

    with zipfile.ZipFile(target) as wheel:
        assert sorted(wheel.namelist()) == [
            "compiled_example/__init__.pyc",
            "compiled_example/data.txt",
            "compiled_example/template.py",
        ]
        wheel.extractall(tmp_path)
    monkeypatch.syspath_prepend(str(tmp_path))
    assert importlib.import_module("compiled_example").ANSWER == 42
