"""Fitting a file of numbers that is read a block at a time."""

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from sklearn.pipeline import Pipeline
from sklearn.preprocessing import StandardScaler

from relvec.cli.choices import Choices
from relvec.cli.columns import left
from relvec.cli.exits import Problem
from relvec.cli.headers import column_names
from relvec.cli.targets import Target, as_target, whole
from relvec.cli.training import LEAST, UNWATCHED, Trained, estimator, remarks
from relvec.data import Block, RowBlocks, scan
from relvec.typing import AnyArray

_LARGE = 1e9  # bytes of a file
_KEPT = 100_000  # targets that are looked at to tell numbers from classes
_MOST_HELD = 100_000  # rows that a hold-out keeps


def is_large(path: Path) -> bool:
    """Whether a file had better not be read at once."""
    return path.is_file() and path.stat().st_size > _LARGE


@dataclass(frozen=True, eq=False)
class Streamed:
    """What came of a file: a model, and rows that were held out."""

    trained: Trained
    n_rows: int
    known: Target  # of the first rows of those that were fitted
    X: pd.DataFrame
    held: Target


@dataclass(frozen=True)
class _Source:
    """The rows of a file in two parts, the same at each reading."""

    blocks: RowBlocks
    holdout: float
    seed: int

    def fitted(self) -> Iterator[Block]:
        """Those to fit."""
        return self._part(held=False)

    def held(self) -> Iterator[Block]:
        """Those held out."""
        return self._part(held=True)

    def _part(self, *, held: bool) -> Iterator[Block]:
        rng = np.random.default_rng(self.seed)
        for block in self.blocks:
            assert block.y is not None
            chosen = (rng.random(len(block.X)) < self.holdout) == held
            if chosen.any():
                yield Block(block.X[chosen], block.y[chosen])


def trained_on_stream(path: Path, target: str, choices: Choices) -> Streamed:
    """A model of all rows of a file, never more than some of them in memory."""
    if choices.impute:
        raise Problem("--impute needs the table in memory: leave out --stream")
    blocks = _opened(path, target, choices.drop)
    source = _Source(blocks, choices.holdout, choices.seed)
    scaler, known, n_rows = _surveyed(source, target, choices.task)
    last = estimator(choices, classes=known.classes)
    with remarks() as said:
        last.fit(scan(lambda: _scaled(source.fitted(), scaler, known)))
    last.set_params(**UNWATCHED)
    model = Pipeline([("prepare", scaler), ("model", last)])
    X, held = _gathered(source, known)
    return Streamed(Trained(model, said), n_rows, known, X, held)


def _opened(path: Path, target: str, drop: tuple[str, ...]) -> RowBlocks:
    names = left(column_names(path), target, drop)
    try:
        blocks = scan(path, target=target, features=names)
        next(iter(blocks))
    except ValueError as error:
        raise Problem(f"{error} (with --drop; a stream is numbers alone)") from error
    return blocks


def _surveyed(source: _Source, name: str, task: str | None) -> tuple[Any, Target, int]:
    """Means and deviations of features, some targets and the number of rows."""
    scaler, some, n_rows = StandardScaler(), [], 0
    names = source.blocks.feature_names
    for block in source.fitted():
        assert block.y is not None
        scaler.partial_fit(pd.DataFrame(block.X, columns=names))
        if n_rows < _KEPT:
            some.append(block.y)
        n_rows += len(block.X)
    if n_rows < LEAST:
        raise Problem(f"the file has {n_rows} rows to fit: add rows, or --holdout 0")
    return scaler, as_target(name, np.concatenate(some), task), n_rows


def _scaled(blocks: Iterator[Block], scaler: Any, known: Target) -> Iterator[Block]:
    names = scaler.feature_names_in_
    for block in blocks:
        rows = scaler.transform(pd.DataFrame(block.X, columns=names))
        yield Block(rows, _as_known(block.y, known))


def _as_known(values: AnyArray | None, known: Target) -> AnyArray:
    assert values is not None
    if not known.classes:
        return values.astype(np.float64)
    return whole(values) if known.values.dtype.kind == "i" else values


def _gathered(source: _Source, known: Target) -> tuple[pd.DataFrame, Target]:
    """The first of the rows that were held out."""
    rows: list[AnyArray] = []
    values: list[AnyArray] = []
    for block in source.held():
        rows.append(block.X)
        values.append(_as_known(block.y, known))
        if sum(map(len, values)) >= _MOST_HELD:
            break
    if not rows:
        return pd.DataFrame(), Target(known.name, known.values[:0], known.classes)
    X = pd.DataFrame(np.concatenate(rows), columns=source.blocks.feature_names)
    return X, Target(known.name, np.concatenate(values), known.classes)
