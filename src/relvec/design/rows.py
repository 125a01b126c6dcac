"""Rows of X in blocks, as often as they are asked for."""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace

import numpy as np

from relvec.basis import BLOCK_ENTRIES, as_rows, blocks
from relvec.data import Block
from relvec.typing import AnyArray, Indices


@dataclass(frozen=True)
class Rows:
    """The rows that count, from memory or from a source that is read again."""

    source: Iterable[Block]
    n_rows: int  # that count
    present: AnyArray | None = None  # (all rows,) which of them count; None: all
    entries: int = BLOCK_ENTRIES  # numbers in a block

    @classmethod
    def of(cls, X: AnyArray) -> "Rows":
        """Rows in memory, all of them."""
        return cls((Block(X),), len(X))

    def are(self, X: AnyArray) -> bool:
        """Whether these are the rows of that very array."""
        if self.present is not None or not isinstance(self.source, tuple):
            return False
        return len(self.source) == 1 and self.source[0].X is X

    def whole(self) -> AnyArray:
        """All rows at once, those in memory as they are."""
        parts = [block.X for block in self.source]
        X = parts[0] if len(parts) == 1 else np.concatenate(parts)
        return X if self.present is None else X[self.present]

    def subset(self, chosen: Indices) -> "Rows":
        """Some of the rows that count (ascending), by themselves."""
        counted = self.present
        if counted is None:
            counted = np.ones(self.n_rows, dtype=bool)
        present = np.zeros_like(counted)
        present[np.flatnonzero(counted)[chosen]] = True
        return replace(self, n_rows=len(chosen), present=present)

    def at(self, chosen: Indices) -> AnyArray:
        """Some of the rows that count (ascending), by one pass over all."""
        found = []
        for part, rows in self.blocks(1):
            mine = slice(*np.searchsorted(chosen, (part.start, part.stop)))
            found.append(rows[chosen[mine] - part.start])
        return np.concatenate(found)

    def blocks(self, width: int) -> Iterator[tuple[slice, AnyArray]]:
        """Row numbers and rows, few enough for ``width`` numbers a row."""
        expected = self.n_rows if self.present is None else len(self.present)
        read = number = 0
        for block in self.source:
            X = block.X
            read += len(X)
            if read > expected:
                break
            for part in blocks(len(X), max(width, X.shape[1]), self.entries):
                rows = as_rows(X[part])
                if self.present is not None:
                    first = read - len(X) + part.start
                    rows = rows[self.present[first : first + len(rows)]]
                if len(rows) == 0:
                    continue
                yield slice(number, number + len(rows)), rows
                number += len(rows)
        if read != expected:
            more = "more" if read > expected else f"only {read}"
            raise ValueError(
                f"the source gave {expected} rows at first and {more} when read again: "
                "it must give the same rows, in the same order, each time"
            )
