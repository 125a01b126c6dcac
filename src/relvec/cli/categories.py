"""Columns of categories, of which an Arrow file has one dictionary for all rows."""

from collections.abc import Callable

import pyarrow as pa
from pyarrow import compute

from relvec.cli.blocks import Rows, TableFile


def of_one_dictionary(
    table: TableFile, tell: Callable[[float], None]
) -> Callable[[Rows], pa.Table]:
    """Rows whose columns of categories share those of the whole file.

    Parts of a file may have dictionaries of their own; they are read for that, and it
    is told which share has been.
    """
    known = _categories(table, tell)

    def made(rows: Rows) -> pa.Table:
        kept = rows.kept
        for name, values in known.items():
            place = kept.schema.get_field_index(name)
            kept = kept.set_column(place, name, _encoded(kept[name], values))
        return kept

    return made if known else lambda rows: rows.kept


def _categories(table: TableFile, tell: Callable[[float], None]) -> dict[str, pa.Array]:
    """In the order of their dictionaries, those of later parts at the end."""
    found: dict[str, pa.Array] = {}
    for rows in table.rows():
        for name in rows.kept.column_names:
            column = rows.kept[name]
            if not pa.types.is_dictionary(column.type):
                continue
            parts = [chunk.dictionary for chunk in column.chunks]
            earlier = [found[name]] if name in found else []
            found[name] = pa.concat_arrays([*earlier, *parts]).unique()
        if not found:
            break  # all rows are of the same kinds
        tell(rows.done)
    return found


def _encoded(column: pa.ChunkedArray, values: pa.Array) -> pa.Array:
    plain = column.cast(column.type.value_type).combine_chunks()
    places = compute.index_in(plain, values)
    nothing = pa.scalar(None, places.type)
    places = compute.if_else(plain.is_null(), nothing, places)
    return pa.DictionaryArray.from_arrays(places, values, ordered=column.type.ordered)
