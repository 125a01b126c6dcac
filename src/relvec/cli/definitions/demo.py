"""``relvec demo``: all of it on a table that comes with scikit-learn."""

from pathlib import Path

import rich_click as click

from relvec.cli.choices import DEMONSTRATIONS
from relvec.cli.options import FILE
from relvec.cli.output import Output, with_output


@click.command(epilog="Example: relvec demo --output demo-output")
@click.option(
    "-o",
    "--output",
    "folder",
    type=FILE,
    default="demo-output",
    show_default=True,
    help="Folder that files go to; it is made if need be.",
)
@click.option(
    "--data",
    type=click.Choice(DEMONSTRATIONS),
    default=DEMONSTRATIONS[0],
    show_default=True,
    help="A number to predict, or classes.",
)
@with_output
def demo(output: Output, folder: Path, data: str) -> None:
    """Fit a small table, predict it, report on it, and say where the files are."""
    from relvec.cli.demonstration import demonstrated

    output.summary(demonstrated(output, folder, data))
