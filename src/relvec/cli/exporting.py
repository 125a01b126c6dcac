"""``relvec export`` and ``relvec verify``: models for elsewhere, and their tests."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import relvec
from relvec.cli.encoded import is_encoded, write_encoded
from relvec.cli.exits import Problem
from relvec.cli.models import loaded
from relvec.cli.places import check_no_table, check_readable, check_writable
from relvec.export import to_c, to_onnx, to_python
from relvec.model_file import FORMAT

_WRITERS: dict[str, Callable[..., None]] = {
    "onnx": to_onnx,
    "c": to_c,
    "python": to_python,
}
_MODEL = f'{{"format":"{FORMAT}"'.encode()


def exported(
    model: Path, path: Path, language: str, compute: str, **given: Any
) -> dict[str, Any]:
    """Write a model in a language, and say what came of it."""
    check_writable(path, model)
    check_no_table(path)
    settings = {name: value for name, value in given.items() if value is not None}
    takes = {"onnx": {"precision"}, "c": {"precision", "name"}}.get(language, set())
    for name in settings.keys() - takes:
        raise Problem(f"--{name} is not for --to {language}: leave it out")
    found = loaded(model)
    if is_encoded(found):
        write_encoded(found, path, language=language, output=compute, **settings)
    else:
        _WRITERS[language](found.whole, path, output=compute, **settings)
    return {"written": str(path), "language": language, "bytes": path.stat().st_size}


def verified(file: Path, tolerance: float) -> dict[str, Any]:
    """What came of replaying the rows of a file."""
    check_readable(file)
    document: dict[str, Any] = {"file": str(file)}
    try:
        error = relvec.verify(file)
    except relvec.ModelFileError as refusal:
        if not _is_model(file):
            raise
        return document | {"passed": False, "error": None, "reason": str(refusal)}
    passed = error <= tolerance
    return document | {"passed": passed, "error": error, "tolerance": tolerance}


def _is_model(file: Path) -> bool:
    """Whether it was one, and is damaged or of another version perhaps."""
    with file.open("rb") as opened:
        return opened.read(len(_MODEL)) == _MODEL
