"""CSV files as tables.

Arrow parses the numbers, quickly and without remembering where it is. When it meets
something it cannot read, Python's own parser goes through the file once more to name
the line.
"""

import csv
import gzip
import math
import zlib
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from typing import Any, TextIO, cast

import numpy as np

from relvec.data.arrow import ArrowRows, load, reading, regrouped
from relvec.data.checks import Place, not_a_number, not_finite, not_numeric
from relvec.data.roles import Heading, Roles
from relvec.data.rows import TableRows
from relvec.data.tables import Table, no_rows

# Bytes parsed at once; a line must fit into it.
_CHUNK = 2 << 20
_REMEDY = "correct the file, or write it again as comma-separated UTF-8 text"
_NUMBER, _BOOLEAN, _WHOLE, _TEXT = "double", "bool", "int64", "string"
_UNDECODED, _NUL = "\N{REPLACEMENT CHARACTER}", "\0"
_TRUTHS = {"0", "1", "true", "false", "True", "False", "TRUE", "FALSE"}


@dataclass(frozen=True)
class CsvTable(Table):
    """A CSV file with a header, of which only the needed columns are converted."""

    names: tuple[str, ...]
    types: tuple[str, ...]  # what the first chunk looks like

    @property
    def heading(self) -> Heading:
        return Heading(self.where, self.names, len(self.names))

    def float_type(self, roles: Roles) -> np.dtype[Any]:
        _check_header(self.where, [self.names[i] for i in roles.features])
        weight = () if roles.weight is None else (roles.weight,)
        for position in (*roles.features, *weight):
            if self._read_as(position) == _TEXT:
                explain(self.where, {position: _NUMBER})
                kind = self.types[position]
                raise not_numeric(self.where, roles.heading.label(position), kind)
        return np.dtype(np.float64)

    def stretches(self, roles: Roles, n_rows: int) -> Iterator[TableRows]:
        kinds = {position: self._read_as(position) for position in roles.columns}
        conversion = self._conversion(kinds)
        with _explained(self.where, kinds), _opened(self.where, conversion) as batches:
            for rows in regrouped(batches, self.names, n_rows):
                self._check_target(rows, roles.target)
                yield self._with_whole_target(rows, roles.target)

    def place(self, row: int) -> Place:
        return _place(self.where, row)

    def _read_as(self, position: int) -> str:
        kind = self.types[position]
        if kind == _BOOLEAN:
            return _BOOLEAN
        return _NUMBER if kind in {_NUMBER, _WHOLE, "null"} else _TEXT

    def _conversion(self, kinds: Mapping[int, str]) -> dict[str, Any]:
        pa = load()
        types = {_NUMBER: pa.float64(), _BOOLEAN: pa.bool_(), _TEXT: pa.string()}
        chosen = {self.names[i]: types[kind] for i, kind in kinds.items()}
        return {"include_columns": list(chosen), "column_types": chosen}

    def _check_target(self, rows: ArrowRows, target: int | None) -> None:
        """Refuse NUL bytes in text, which numpy would leave out of labels."""
        if target is not None and self._read_as(target) == _TEXT:
            cells = rows.table.column(self.names[target])
            compute = load("pyarrow.compute")
            if compute.any(compute.match_substring(cells, _NUL)).as_py():
                explain(self.where, {target: _TEXT})

    def _with_whole_target(self, rows: ArrowRows, target: int | None) -> ArrowRows:
        """Labels 0 and 1 as whole numbers, though a fraction may come in later rows."""
        if target is None or self.types[target] != _WHOLE:
            return rows
        pa, table, name = load(), rows.table, self.names[target]
        try:
            whole = table.column(name).cast(pa.int64())
        except pa.ArrowInvalid:
            return rows
        place = table.schema.get_field_index(name)
        return ArrowRows(table.set_column(place, name, whole), rows.names)


def csv_table(path: str) -> CsvTable:
    """A CSV file that has rows; its first chunk is parsed."""
    with _explained(path, {}), _opened(path, {}) as batches:
        names = tuple(batches.schema.names)
        types = tuple(str(kind) for kind in batches.schema.types)
        has_rows = any(batch.num_rows for batch in batches)
    if not has_rows:
        raise no_rows(path)
    return CsvTable(path, names, types)


def _check_header(path: str, features: list[str]) -> None:
    """Names of features, and not a row of numbers or the numbers of the rows."""
    if all(_is_number(name) for name in features) and not "".join(features).isdigit():
        raise ValueError(
            f"{path} begins with numbers ({', '.join(features[:5])}) where the names "
            "of the columns should be; write a header as its first line"
        )
    if any(not name.strip() for name in features):
        raise ValueError(
            f"{path} has a feature without a name, perhaps the numbers of the rows; "
            "write it without them (index=False in pandas), or leave the column out by "
            "naming the others in features"
        )


def _opened(path: str, conversion: Mapping[str, Any]) -> Any:
    """A reader of record batches, in the order of the file."""
    arrow_csv = load("pyarrow.csv")
    return arrow_csv.open_csv(
        path,
        read_options=arrow_csv.ReadOptions(block_size=_CHUNK),
        parse_options=arrow_csv.ParseOptions(newlines_in_values=True),
        convert_options=arrow_csv.ConvertOptions(
            strings_can_be_null=True, quoted_strings_can_be_null=False, **conversion
        ),
    )


@contextmanager
def _explained(path: str, kinds: Mapping[int, str]) -> Iterator[None]:
    """Errors with the file's name, and with the line if it can be found."""
    try:
        with reading(path, _REMEDY):
            yield
        return
    except ValueError as error:
        failure = error
    if isinstance(failure.__cause__, load().ArrowInvalid):
        explain(path, kinds)
    raise failure


def explain(path: str, kinds: Mapping[int, str]) -> None:
    """Raise for the first line that does not fit the header or the kinds of columns."""
    spoilt = (StopIteration, EOFError, OSError, zlib.error)
    with _as_text(path) as file, suppress(*spoilt):
        lines = csv.reader(file)
        try:
            _check_lines(path, lines, kinds)
        except csv.Error as error:
            msg = f"{path}, line {lines.line_num}: {error}; {_REMEDY}"
            raise ValueError(msg) from error


def _check_lines(path: str, lines: Any, kinds: Mapping[int, str]) -> None:
    numbers, booleans, texts = (
        [position for position, kind in kinds.items() if kind == wanted]
        for wanted in (_NUMBER, _BOOLEAN, _TEXT)
    )
    names = next(lines)
    for row, cells in enumerate(cells for cells in lines if cells):
        if len(cells) != len(names):
            raise ValueError(
                f"{path}, line {lines.line_num}: {len(cells)} fields where the "
                f"header has {len(names)}; correct the line, and put fields that "
                "contain a comma in double quotes"
            )
        bad = [i for i in numbers if not _is_number(cells[i])]
        bad += [i for i in booleans if cells[i].strip() not in _TRUTHS]
        bad += [i for i in texts if _UNDECODED in cells[i] or _NUL in cells[i]]
        if bad:
            label = f"column {names[bad[0]]!r}"
            raise _bad_cell(cells[bad[0]], _place(path, row), label)


def _bad_cell(cell: str, place: Place, label: str) -> ValueError:
    if _NUL in cell:
        return ValueError(f"{place.row(0)}, {label}: it has a NUL byte; {_REMEDY}")
    if _UNDECODED in cell:
        msg = f"{place.row(0)}, {label}: {cell!r} is not UTF-8 text; {_REMEDY}"
        return ValueError(msg)
    if cell.strip() in load("pyarrow.csv").ConvertOptions().null_values:
        return not_finite(place, 0, label, np.nan)
    return not_a_number(place, 0, label, repr(cell))


def _is_number(text: str) -> bool:
    try:
        number = float(text)
    except ValueError:
        return False
    return not math.isnan(number) and "_" not in text


def _as_text(path: str) -> TextIO:
    # What is not UTF-8 must not keep the line from being found.
    how: dict[str, Any] = {"encoding": "utf-8-sig", "errors": "replace", "newline": ""}
    if path.lower().endswith(".gz"):
        return cast("TextIO", gzip.open(path, "rt", **how))
    return cast("TextIO", open(path, **how))


def _place(path: str, row: int) -> Place:
    return Place(path, row, "the header not counted")
