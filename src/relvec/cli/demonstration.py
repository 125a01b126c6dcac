"""What ``relvec demo`` does: all of it on a table that comes with scikit-learn."""

from pathlib import Path
from typing import Any

from sklearn.datasets import load_diabetes, load_wine

from relvec.cli.choices import EVERY_STEP, Choices
from relvec.cli.fitting import fit_to_file
from relvec.cli.options import Source
from relvec.cli.output import Output
from relvec.cli.predicting import predict_to_file
from relvec.cli.reporting import Files, Wanted, check_place, report_to_file
from relvec.cli.writing import write_table

_TABLES: dict[str, Any] = {"diabetes": load_diabetes, "wine": load_wine}


def demonstrated(output: Output, folder: Path, data: str) -> dict[str, Any]:
    """Write a table, its model, its predictions and a report; say where they are."""
    folder.mkdir(parents=True, exist_ok=True)
    table, model, predictions, page = (
        folder / f"{data}{end}" for end in (".csv", ".json", "_predicted.csv", ".html")
    )
    check_place(page, force=True)
    write_table(_TABLES[data](as_frame=True).frame, table)
    source = Source(table, "target", Choices(verbose=EVERY_STEP * output.lively))
    with output.working(f"Fitting {table.name}"):
        fitted = fit_to_file(model, source)
    written = predict_to_file(output, predictions, model, table)
    wanted = Wanted("target", compare=True)
    reported = report_to_file(output, Files(model, table, page), wanted)
    return {
        "data": str(table),
        **fitted,
        "predictions": written["predictions"],
        "report": reported["report"],
    }
