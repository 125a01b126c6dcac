"""``relvec export`` and ``relvec verify``: models for elsewhere, and their tests."""

from pathlib import Path
from typing import Any

import rich_click as click

from relvec.cli.choices import LANGUAGES
from relvec.cli.exits import FAILED
from relvec.cli.options import FILE
from relvec.cli.output import Output, with_output

_TOLERANCE = 1e-5  # what single precision is good for


@click.command(
    epilog="Example: relvec export houses.json --to onnx --output houses.onnx"
)
@click.argument("model", type=FILE)
@click.option(
    "--to",
    "language",
    type=click.Choice(LANGUAGES),
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
def export(output: Output, model: Path, path: Path, **given: Any) -> None:
    """Write a model as ONNX, C99 or Python, to run where relvec is not."""
    from relvec.cli.exporting import exported

    output.summary(exported(model, path, **given))


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
    from relvec.cli.exporting import verified

    document = verified(file, tolerance)
    output.result(document)
    if not document["passed"]:
        context.exit(FAILED)
