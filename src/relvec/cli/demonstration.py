"""``relvec demo``: all of it on a table that comes with scikit-learn."""

from pathlib import Path
from typing import Any

import rich_click as click
from sklearn.datasets import load_diabetes, load_wine

from relvec.cli.fitting import fit_to_file
from relvec.cli.options import FILE, Source
from relvec.cli.output import Output, with_output
from relvec.cli.predicting import predict_to_file
from relvec.cli.reporting import Files, Wanted, check_place, report_to_file
from relvec.cli.tables import write_table
from relvec.cli.training import Choices

_TABLES: dict[str, Any] = {"diabetes": load_diabetes, "wine": load_wine}


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
    type=click.Choice(tuple(_TABLES)),
    default="diabetes",
    show_default=True,
    help="A number to predict, or classes.",
)
@with_output
def demo(output: Output, folder: Path, data: str) -> None:
    """Fit a small table, predict it, report on it, and say where the files are."""
    folder.mkdir(parents=True, exist_ok=True)
    table, model, predictions, page = (
        folder / f"{data}{end}" for end in (".csv", ".json", "_predicted.csv", ".html")
    )
    check_place(page, force=True)
    write_table(_TABLES[data](as_frame=True).frame, table)
    source = Source(table, "target", Choices(verbose=int(output.lively)))
    with output.working(f"Fitting {table.name}"):
        fitted = fit_to_file(model, source)
    written = predict_to_file(output, predictions, model, table)
    reported = report_to_file(output, Files(model, table, page), Wanted("target"))
    output.summary(
        {
            "data": str(table),
            **fitted,
            "predictions": written["predictions"],
            "report": reported["report"],
        }
    )
