"""``relvec export`` and ``relvec verify``: models for elsewhere, and their tests."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import rich_click as click

import relvec
from relvec.cli.exits import FAILED, Problem
from relvec.cli.models import loaded
from relvec.cli.options import FILE
from relvec.cli.output import Output, with_output
from relvec.cli.tables import check_readable, check_writable
from relvec.export import to_c, to_onnx, to_python
from relvec.model_file import FORMAT

_WRITERS: dict[str, Callable[..., None]] = {
    "onnx": to_onnx,
    "c": to_c,
    "python": to_python,
}
_TOLERANCE = 1e-5  # what single precision is good for
_MODEL = f'{{"format":"{FORMAT}"'.encode()


@click.command(
    epilog="Example: relvec export houses.json --to onnx --output houses.onnx"
)
@click.argument("model", type=FILE)
@click.option(
    "--to",
    "language",
    type=click.Choice(tuple(_WRITERS)),
    required=True,
    help="What to write.",
)
@click.option("-o", "--output", "path", type=FILE, required=True, help="Where it goes.")
@click.option(
    "--compute",
    type=click.Choice(["auto", "mean", "mean+std", "proba"]),
    default="auto",
    show_default=True,
    help="What the file computes.",
)
@click.option(
    "--precision",
    type=click.Choice(["float32", "float64"]),
    help="Of numbers in and out; float32 by default, Python has float64.",
)
@click.option("--name", help="What names in a C file begin with.")
@with_output
def export(
    output: Output, model: Path, language: str, path: Path, compute: str, **given: Any
) -> None:
    """Write a model as ONNX, C99 or Python, to run where relvec is not."""
    check_writable(path, model)
    settings = {name: value for name, value in given.items() if value is not None}
    takes = {"onnx": {"precision"}, "c": {"precision", "name"}}.get(language, set())
    for name in settings.keys() - takes:
        raise Problem(f"--{name} is not for --to {language}: leave it out")
    _WRITERS[language](loaded(model).whole, path, output=compute, **settings)
    output.summary(
        {"written": str(path), "language": language, "bytes": path.stat().st_size}
    )


@click.command(epilog="Example: relvec verify houses.onnx")
@click.argument("file", type=FILE)
@click.option(
    "--tolerance",
    type=click.FloatRange(0, min_open=True),
    default=_TOLERANCE,
    show_default=True,
    help="Largest error, relative to the largest value of an output.",
)
@with_output
@click.pass_context
def verify(
    context: click.Context, output: Output, file: Path, tolerance: float
) -> None:
    """Replay the rows that a model file, an ONNX file or a C file brings with it.

    The exit code is 1 if it says something else of them than it should. A C file is
    compiled and run: do so with files that you trust.
    """
    check_readable(file)
    document: dict[str, Any] = {"file": str(file)}
    try:
        error = relvec.verify(file)
        passed = error <= tolerance
        document |= {"passed": passed, "error": error, "tolerance": tolerance}
    except relvec.ModelFileError as refusal:
        if not _is_model(file):
            raise
        passed = False
        document |= {"passed": False, "error": None, "reason": str(refusal)}
    output.result(document)
    if not passed:
        context.exit(FAILED)


def _is_model(file: Path) -> bool:
    """Whether it was one, and is damaged or of another version perhaps."""
    with file.open("rb") as opened:
        return opened.read(len(_MODEL)) == _MODEL
