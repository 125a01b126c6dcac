"""What ``relvec predict`` does: a model and a table to a table with predictions."""

from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa

from relvec.cli.errors import CliError, listed
from relvec.cli.models import Model, load_model
from relvec.cli.output import Output
from relvec.cli.paths import ARROW, CSV, CSV_GZ, FEATHER, check_writable, file_type
from relvec.cli.tables import (
    RowBlock,
    TableFile,
    cast_columns,
    escape_formula,
    no_rows_error,
    open_table,
    open_writer,
    unify_categories,
)
from relvec.report.case import predicted

_AT_ONCE = 10_000  # rows, of which products with all vectors are held
_MOST_TEXTS = 1000  # unknown texts kept of a column


def predict_to_file(
    output: Output,
    path: Path,
    model: Path,
    data: Path,
    *,
    only: bool = False,
    prefix: str = "",
) -> dict[str, Any]:
    """Write predictions, and return a summary."""
    check_writable(path, model, data)
    file_type(path)
    found, table = load_model(model), open_table(data)
    columns = found.columns_of(table.names)
    added = _added(found, prefix)
    marked = _marked(found.labels) if file_type(path) in {CSV, CSV_GZ} else []
    if not only:
        _check_free(table, added)
    with output.share() as update:
        look = partial(update, f"Looking at columns of {data.name}")
        keep = _keeping(table, path, look, only=only)
    frame_of = table.frames(columns.numbers)
    unknown = UnknownTexts()
    count = 0
    with output.share() as update, open_writer(path) as write:
        for rows in table.rows():
            X = found.rows_of(frame_of(rows))
            unknown.add(found.unknown_texts(X))
            count += len(rows.kept)
            new = _predictions(found, X)
            if marked:
                new[0] = new[0].map(escape_formula)  # the classes
            write(_joined(keep(rows), new, added))
            update(f"Predicting  {count:,} rows", rows.done)
        if not count:
            raise no_rows_error(data)
    return {
        "predictions": str(path),
        "rows": count,
        "added": added,
        "remarks": [*unknown.remarks(), *marked],
    }


def _marked(labels: list[Any]) -> list[str]:
    """Make a remark if labels are escaped in a CSV file."""
    marked = [label for label in labels if escape_formula(label) != label]
    if not marked:
        return []
    return [
        f"spreadsheets take the class {listed(map(repr, marked))} for a formula: the "
        "CSV file has an apostrophe before it; Parquet and Arrow files have none"
    ]


def _added(model: Model, prefix: str) -> list[str]:
    """Name the columns of predictions."""
    if not model.classes:
        ends = range(model.n_outputs)
        each = [f"_{end}" for end in ends] if model.n_outputs > 1 else [""]
        names = [f"{kind}{end}" for kind in ("mean", "std") for end in each]
    elif hasattr(model.whole, "predict_proba"):
        names = ["class", *(f"probability_{label}" for label in model.labels)]
    else:
        names = ["class"]
    return [prefix + name for name in names]


def _check_free(table: TableFile, added: list[str]) -> None:
    taken = [name for name in added if name in table.names]
    if taken:
        raise CliError(
            f"{table.path} has a column {listed(map(repr, taken))} already: give the "
            "new ones other names with --prefix, or leave the old ones out with --only"
        )


def _keeping(
    table: TableFile, path: Path, look: Callable[[float], None], *, only: bool
) -> Callable[[RowBlock], pa.Table | None]:
    """Return a function for the input columns to keep, with fixed types."""
    if only:
        return lambda rows: None
    kind = file_type(path)
    if table.is_text and kind not in {CSV, CSV_GZ}:
        kinds = table.kinds(look)
        return lambda rows: cast_columns(rows.kept, kinds)
    if kind in {ARROW, FEATHER}:
        return unify_categories(table, look)
    return lambda rows: rows.kept


def _predictions(model: Model, X: Any) -> pd.DataFrame:
    """Predict some rows at a time."""
    parts = [
        _columns(model, X[start : start + _AT_ONCE])
        for start in range(0, len(X), _AT_ONCE)
    ]
    return pd.concat(parts, ignore_index=True)


def _columns(model: Model, rows: Any) -> pd.DataFrame:
    found = predicted(model.whole, rows, classes=model.classes)
    columns = (column for each in found.values() for column in np.atleast_2d(each.T))
    return pd.DataFrame(dict(enumerate(columns)))


def _joined(kept: pa.Table | None, new: pd.DataFrame, names: list[str]) -> pa.Table:
    columns = [pa.array(new[column]) for column in new]
    if kept is None:
        return pa.table(columns, names)
    for name, column in zip(names, columns, strict=True):
        kept = kept.append_column(name, column)
    return kept


class UnknownTexts:
    """Collects texts that the model never saw, by column, up to a limit."""

    def __init__(self) -> None:
        self._texts: dict[str, set[str]] = {}

    def add(self, found: dict[str, set[str]]) -> None:
        """Add texts of some rows."""
        for name, texts in found.items():
            known = self._texts.setdefault(name, set())
            if len(known) < _MOST_TEXTS:
                known |= texts

    def remarks(self) -> list[str]:
        """Make a remark for each column with unknown texts."""
        return [
            f"column {name!r} has texts that the model never saw "
            f"({listed(map(repr, sorted(texts)))}): it treats them as unknown"
            for name, texts in self._texts.items()
            if texts
        ]
