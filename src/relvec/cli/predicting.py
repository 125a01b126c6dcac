"""What ``relvec predict`` does: a model and a table to a table with predictions."""

from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa

from relvec.cli.errors import CliError, listed
from relvec.cli.models import Model, loaded
from relvec.cli.output import Output
from relvec.cli.paths import ARROW, CSV, CSV_GZ, FEATHER, check_writable, ending
from relvec.cli.tables import (
    Rows,
    TableFile,
    escape_formula,
    no_rows_error,
    open_table,
    typed,
    unify_categories,
    writing,
)
from relvec.report.scores import predicted

_AT_ONCE = 10_000  # rows, of which products with all vectors are held
_MOST_TEXTS = 1000  # of a column that are remembered as unknown


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
    check_writable(path, model, data)
    ending(path)
    found, table = loaded(model), open_table(data)
    columns = found.columns_of(table.names)
    added = _added(found, prefix)
    marked = _marked(found.labels) if ending(path) in {CSV, CSV_GZ} else []
    if not only:
        _check_free(table, added)
    with output.share() as tell:
        look = partial(tell, f"Looking at columns of {data.name}")
        keep = _keeping(table, path, look, only=only)
    frame_of = table.frames(columns.numbers)
    unknown = UnknownTexts()
    count = 0
    with output.share() as tell, writing(path) as write:
        for rows in table.rows():
            X = found.rows_of(frame_of(rows))
            unknown.add(found.unknown_texts(X))
            count += len(rows.kept)
            new = _predictions(found, X)
            if marked:
                new[0] = new[0].map(escape_formula)  # the classes
            write(_joined(keep(rows), new, added))
            tell(f"Predicting  {count:,} rows", rows.done)
        if not count:
            raise no_rows_error(data)
    return {
        "predictions": str(path),
        "rows": count,
        "added": added,
        "remarks": [*unknown.remarks(), *marked],
    }


def _marked(labels: list[Any]) -> list[str]:
    """A remark, if labels are written otherwise than they are."""
    marked = [label for label in labels if escape_formula(label) != label]
    if not marked:
        return []
    return [
        f"spreadsheets take the class {listed(map(repr, marked))} for a formula: the "
        "CSV file has an apostrophe before it; Parquet and Arrow files have none"
    ]


def _added(model: Model, prefix: str) -> list[str]:
    """Names of columns."""
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
) -> Callable[[Rows], pa.Table | None]:
    """What is kept of rows, of the same kinds in all of a file."""
    if only:
        return lambda rows: None
    kind = ending(path)
    if table.is_text and kind not in {CSV, CSV_GZ}:
        kinds = table.kinds(look)
        return lambda rows: typed(rows.kept, kinds)
    if kind in {ARROW, FEATHER}:
        return unify_categories(table, look)
    return lambda rows: rows.kept


def _predictions(model: Model, X: Any) -> pd.DataFrame:
    """Columns of predictions, some rows at a time."""
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
    """Texts that a model never saw, by column; not all if there are very many."""

    def __init__(self) -> None:
        self._texts: dict[str, set[str]] = {}

    def add(self, found: dict[str, set[str]]) -> None:
        """Those of some rows."""
        for name, texts in found.items():
            known = self._texts.setdefault(name, set())
            if len(known) < _MOST_TEXTS:
                known |= texts

    def remarks(self) -> list[str]:
        """One for each column that has any."""
        return [
            f"column {name!r} has texts that the model never saw "
            f"({listed(map(repr, sorted(texts)))}): it takes them for none of its own"
            for name, texts in self._texts.items()
            if texts
        ]
