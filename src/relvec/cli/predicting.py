"""``relvec predict``: a model and a table to a table with predictions."""

from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import rich_click as click

from relvec.cli.exits import Problem
from relvec.cli.models import Model, loaded
from relvec.cli.options import FILE
from relvec.cli.output import Output, with_output
from relvec.cli.scoring import predicted
from relvec.cli.tables import check_writable, ending, listed, read_table, write_table

_AT_ONCE = 10_000  # rows


@click.command(
    epilog="Example: relvec predict houses.json new.csv --output predicted.csv"
)
@click.argument("model", type=FILE)
@click.argument("data", type=FILE)
@click.option(
    "-o", "--output", "path", type=FILE, required=True, help="Where the table goes."
)
@click.option(
    "--only", is_flag=True, help="Write predictions alone, without the columns of DATA."
)
@click.option(
    "--prefix", default="", help="What the names of columns of predictions begin with."
)
@with_output
def predict(
    *, output: Output, model: Path, data: Path, path: Path, only: bool, prefix: str
) -> None:
    """Add predictions to a table: mean and std, or the class and probabilities.

    Columns are found by name, in any order; those that the model does not know are
    kept as they are.
    """
    check_writable(path, model, data)
    ending(path)
    output.summary(predict_to_file(output, path, model, data, only=only, prefix=prefix))


def predict_to_file(
    output: Output,
    path: Path,
    model: Path,
    data: Path,
    *,
    only: bool = False,
    prefix: str = "",
) -> dict[str, Any]:
    """Write predictions, and say what came of it."""
    found = loaded(model)
    frame = read_table(data)
    X = found.rows_of(frame)
    added = _predictions(found, X, output).add_prefix(prefix)
    taken = [name for name in added.columns if name in frame.columns and not only]
    if taken:
        raise Problem(
            f"{data} has a column {listed(map(repr, taken))} already: give the new "
            "ones other names with --prefix, or leave the old ones out with --only"
        )
    write_table(added if only else pd.concat([frame, added], axis=1), path)
    return {
        "predictions": str(path),
        "rows": len(frame),
        "added": list(added.columns),
        "remarks": found.unknown_texts(X),
    }


def _predictions(model: Model, X: Any, output: Output) -> pd.DataFrame:
    """Columns of predictions, some rows at a time."""
    parts = []
    with output.steps(len(X)) as tell:
        for start in range(0, len(X), _AT_ONCE):
            rows = X[start : start + _AT_ONCE]
            parts.append(_columns(model, rows))
            tell("Predicting", start + len(rows))
    return pd.concat(parts, ignore_index=True)


def _columns(model: Model, rows: Any) -> pd.DataFrame:
    found = predicted(model.whole, rows, classes=model.classes)
    probabilities = found.pop("proba", np.empty((len(rows), 0)))
    each = dict(zip(model.labels, probabilities.T, strict=False))
    return pd.DataFrame(
        {**found, **{f"probability_{label}": p for label, p in each.items()}}
    )
