"""The rows of a file, some at a time: as they are kept, and as a model takes them."""

import gzip
from collections.abc import Callable, Collection, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pandas as pd
import pyarrow as pa
from pyarrow import compute, parquet

from relvec.cli.cells import TEXT, Cells, as_type, kinds_of, present
from relvec.cli.headers import column_names
from relvec.cli.places import ARROW, CSV, FEATHER, PACKED, PARQUET, ending
from relvec.cli.tables import CSV_RULES, arrow_reader, as_frame, check_text, reading

# Cells that are held at a time, and most rows, for a few ten megabytes.
_CELLS, _ROWS = 1_000_000, 30_000
_BUFFER = 1 << 20  # bytes of a column of Parquet that are read at a time


@dataclass(frozen=True, eq=False)
class Rows:
    """Some of them, from a row of the file on that is counted from 0."""

    kept: pa.Table
    first: int
    done: float  # share of the file that has been read


@dataclass(frozen=True)
class TableFile:
    """A file of rows; each look at them reads it anew."""

    path: Path
    names: list[str]

    @property
    def is_text(self) -> bool:
        """Whether cells have no kind but what they look like."""
        return ending(self.path) in {CSV, PACKED}

    def rows(self) -> Iterator[Rows]:
        """In their order."""
        first = 0
        with reading(self.path):
            parts = _READERS[ending(self.path)](self.path, self._at_once)
            for table, done in parts:
                if len(table):
                    rows = Rows(table.rename_columns(self.names), first, done)
                    if self.is_text:
                        self._check_text(rows)
                    yield rows
                    first += len(table)

    def _check_text(self, rows: Rows) -> None:
        for name in self.names:
            nuls = compute.match_substring(rows.kept[name], "\0").to_numpy()
            check_text(self.path, name, nuls, rows.first)

    def frames(self, numbers: Collection[str]) -> Callable[[Rows], pd.DataFrame]:
        """What makes values of rows, where the given columns are to be numbers."""
        if self.is_text:
            cells = Cells()
            return lambda rows: cells.frame(rows.kept, numbers, rows.first)
        return _numbered

    def kinds(self, tell: Callable[[float], None]) -> dict[str, pa.DataType]:
        """Of columns of text, which is read for that; it tells which share has been."""
        with _opened(self.path) as (file, done), reading(self.path):
            parts = pd.read_csv(
                file, chunksize=self._at_once, low_memory=False, **CSV_RULES
            )

            def frames() -> Iterator[pd.DataFrame]:
                for part in parts:
                    yield part.set_axis(self.names, axis=1)
                    tell(done())

            return kinds_of(frames())

    @property
    def _at_once(self) -> int:
        """Rows."""
        return max(1, min(_ROWS, _CELLS // len(self.names)))


def opened_table(path: Path) -> TableFile:
    """A file whose names have been looked at."""
    return TableFile(path, column_names(path))


def typed(rows: pa.Table, kinds: dict[str, pa.DataType]) -> pa.Table:
    """Text as what whole columns of it are."""
    return pa.table(
        {name: as_type(present(rows[name]), kind) for name, kind in kinds.items()}
    )


def _numbered(rows: Rows) -> pd.DataFrame:
    index = pd.RangeIndex(rows.first, rows.first + len(rows.kept))
    return as_frame(rows.kept).set_axis(index)


@contextmanager
def _opened(path: Path) -> Iterator[tuple[Any, Callable[[], float]]]:
    """The bytes of a CSV file, and how far they have been read."""
    total = max(1, path.stat().st_size)
    with path.open("rb") as raw:
        file: Any = gzip.GzipFile(fileobj=raw) if ending(path) == PACKED else raw
        yield file, lambda: raw.tell() / total


def _from_csv(path: Path, size: int) -> Iterator[tuple[pa.Table, float]]:
    """As text, of which every sign is kept."""
    with _opened(path) as (file, done):
        parts = pd.read_csv(
            file, chunksize=size, dtype=str, na_filter=False, **CSV_RULES
        )
        for part in parts:
            text = {name: pa.array(part[name], TEXT) for name in part}
            yield pa.table(text), done()


def _from_parquet(path: Path, size: int) -> Iterator[tuple[pa.Table, float]]:
    # Buffers of all that is to come would be the whole file.
    with parquet.ParquetFile(path, buffer_size=_BUFFER, pre_buffer=False) as file:
        total, count = file.metadata.num_rows, 0
        for batch in file.iter_batches(size):
            count += len(batch)
            yield pa.Table.from_batches([batch]), count / total


def _from_arrow(path: Path, size: int) -> Iterator[tuple[pa.Table, float]]:
    total = path.stat().st_size
    with pa.memory_map(str(path)) as file:
        opened = arrow_reader(file)
        count = getattr(opened, "num_record_batches", None)
        batches = opened if count is None else map(opened.get_batch, range(count))
        for number, batch in enumerate(batches, 1):
            done = number / count if count else file.tell() / total
            for start in range(0, len(batch), size):
                yield pa.Table.from_batches([batch.slice(start, size)]), done


_READERS: dict[str, Callable[[Path, int], Iterator[tuple[pa.Table, float]]]] = {
    PACKED: _from_csv,
    CSV: _from_csv,
    PARQUET: _from_parquet,
    ARROW: _from_arrow,
    FEATHER: _from_arrow,
}
