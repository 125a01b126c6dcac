"""``relvec fit``: a table to a fitted pipeline in a file."""

import time
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from sklearn.compose import ColumnTransformer
from sklearn.impute import SimpleImputer
from sklearn.pipeline import Pipeline
from sklearn.preprocessing import OneHotEncoder, StandardScaler

import relvec
from relvec import RVC, RVR
from relvec.cli.columns import (
    Columns,
    Target,
    as_integers,
    check_not_empty,
    choose_columns,
    feature_frame,
    make_target,
    read_target,
    remaining_columns,
)
from relvec.cli.errors import CliError
from relvec.cli.models import Model
from relvec.cli.options import Choices, Source
from relvec.cli.paths import check_not_table_name, check_writable, column_names
from relvec.cli.tables import read_table
from relvec.data import Block, RowBlocks, scan
from relvec.kernels import Matern
from relvec.report.case import (
    bars_in_words,
    class_scores,
    guess_scores,
    number_scores,
    predicted,
)
from relvec.typing import AnyArray

_MATERN_NU = {"matern32": 1.5, "matern52": 2.5}
_REGRESSION_TOL = 3e-4  # nats; halves the time on large tables for errors 1 % larger
MIN_ROWS = 2  # fitted, and held out
# Parameters that are not saved with a model.
NOT_SAVED: dict[str, Any] = {"verbose": 0, "max_seconds": None}
_STREAM_BYTES = 1e9  # size above which a file is streamed
_MOST_TARGETS = 100_000  # targets used to guess the task
_MOST_HELD = 100_000  # rows kept of a hold-out


def scores(model: Any, X: Any, target: Target) -> dict[str, float | None]:
    """Score predictions, error bars and probabilities."""
    found = predicted(model, X, classes=target.classes)
    if target.classes:
        known = found["class"], found.get("proba"), np.asarray(model.classes_)
        return class_scores(target.values, *known)
    return number_scores(target.values, found["mean"], found.get("std"))


def baseline(known: Target, held: Target) -> dict[str, float]:
    """Score a constant prediction, as a baseline."""
    return guess_scores(known.values, held.values, classes=known.classes)


@dataclass(frozen=True, eq=False)
class Data:
    """Checked features and target of a table."""

    X: pd.DataFrame
    target: Target
    columns: Columns

    def __len__(self) -> int:
        return len(self.X)

    def rows(self, numbers: AnyArray) -> "Data":
        """Select rows by number."""
        values = Target(
            self.target.name, self.target.values[numbers], self.target.classes
        )
        return Data(self.X.iloc[numbers], values, self.columns)


def prepare_data(frame: pd.DataFrame, target: str, choices: Choices) -> Data:
    """Check and convert the features and the target of a table."""
    columns = choose_columns(frame, target, choices.drop, choices.most_categories)
    found = read_target(frame, target, choices.task)
    check_not_empty(frame, columns)
    return Data(feature_frame(frame, columns, missing=choices.impute), found, columns)


def split(data: Data, holdout: float, seed: int) -> tuple[AnyArray, AnyArray]:
    """Split into rows to fit and rows held out, stratified by class."""
    rng = np.random.default_rng(seed)
    groups: list[AnyArray] = [np.arange(len(data))]
    if data.target.classes:
        codes = pd.factorize(data.target.values)[0]
        groups = [np.flatnonzero(codes == code) for code in range(codes.max() + 1)]
    held = [
        rng.permutation(group)[: round(holdout * len(group) * (len(group) > 1))]
        for group in groups
    ]
    out = np.sort(np.concatenate(held))
    kept = np.setdiff1d(np.arange(len(data)), out)
    if len(kept) < MIN_ROWS or (holdout > 0 and len(out) < MIN_ROWS):
        raise CliError(
            f"{len(data)} row{'s' * (len(data) > 1)} cannot be split into {MIN_ROWS} "
            "or more to fit and as many to hold out: add rows, or --holdout 0"
        )
    return kept, out


def make_preprocessing(columns: Columns, *, impute: bool) -> Any:
    """Make the scaler of numbers and, if needed, the encoder and imputers."""
    if not columns.texts and not impute:
        return StandardScaler()  # alone, so that the model can be exported
    numbers: list[Any] = [StandardScaler()]
    texts: list[Any] = [OneHotEncoder(handle_unknown="ignore", sparse_output=False)]
    if impute:
        numbers.insert(0, SimpleImputer(strategy="median"))
        texts.insert(0, SimpleImputer(strategy="most_frequent"))
    parts = [
        (name, _as_pipeline(steps), list(names))
        for name, steps, names in (
            ("numbers", numbers, columns.numbers),
            ("texts", texts, columns.texts),
        )
        if names
    ]
    return ColumnTransformer(parts)


def _as_pipeline(steps: list[Any]) -> Any:
    names = [type(step).__name__.lower() for step in steps]
    return Pipeline(list(zip(names, steps, strict=True))) if steps[1:] else steps[0]


def make_estimator(choices: Choices, *, classes: bool) -> Any:
    """Make a relevance vector machine that learns its length scales."""
    name = choices.kernel
    if name == "auto":
        # Targets in tables are seldom as smooth as a Gaussian kernel assumes.
        name = "rbf" if classes else "matern32"
    kernel: Any = Matern(nu=_MATERN_NU[name]) if name in _MATERN_NU else name
    learning = "ard" if name in _MATERN_NU else None
    common: dict[str, Any] = {
        "max_seconds": choices.max_seconds,
        "random_state": choices.seed,
        "verbose": choices.verbose,
    }
    if classes:
        return RVC(kernel, kernel_learning=learning, **common)
    return RVR(kernel, kernel_learning=learning, tol=_REGRESSION_TOL, **common)


@dataclass(frozen=True, eq=False)
class Trained:
    """A fitted pipeline, and the warnings of the fit."""

    model: Any
    remarks: list[str] = field(default_factory=list)


def train(data: Data, choices: Choices) -> Trained:
    """Fit a pipeline of preprocessing and estimator."""
    last = make_estimator(choices, classes=data.target.classes)
    steps = [
        ("prepare", make_preprocessing(data.columns, impute=choices.impute)),
        ("model", last),
    ]
    model = Pipeline(steps)
    with remarks() as said:
        model.fit(data.X, data.target.values)
    last.set_params(**NOT_SAVED)
    return Trained(model, said)


@contextmanager
def remarks() -> Iterator[list[str]]:
    """Collect the distinct warnings of a fit; the list is complete at the end."""
    said: list[str] = []
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        yield said
    said.extend(dict.fromkeys(str(each.message) for each in caught))


def is_large(path: Path) -> bool:
    """Whether a file is too large to read at once."""
    return path.is_file() and path.stat().st_size > _STREAM_BYTES


@dataclass(frozen=True, eq=False)
class StreamFit:
    """A model of a streamed file, and the rows held out."""

    trained: Trained
    n_rows: int
    known: Target  # of the first fitted rows
    X: pd.DataFrame
    held: Target


@dataclass(frozen=True)
class _SplitBlocks:
    """The rows of a file, split into fitted and held-out ones by a seed."""

    blocks: RowBlocks
    holdout: float
    seed: int

    def fitted(self) -> Iterator[Block]:
        """Blocks of rows to fit."""
        return self._rows_of_part(held=False)

    def held(self) -> Iterator[Block]:
        """Blocks of rows held out."""
        return self._rows_of_part(held=True)

    def _rows_of_part(self, *, held: bool) -> Iterator[Block]:
        rng = np.random.default_rng(self.seed)
        for block in self.blocks:
            assert block.y is not None
            chosen = (rng.random(len(block.X)) < self.holdout) == held
            if chosen.any():
                yield Block(block.X[chosen], block.y[chosen])


def train_on_stream(path: Path, target: str, choices: Choices) -> StreamFit:
    """Fit the rows of a file that is read in blocks."""
    if choices.impute:
        raise CliError("--impute needs the table in memory: leave out --stream")
    blocks = _scan_numbers(path, target, choices.drop)
    source = _SplitBlocks(blocks, choices.holdout, choices.seed)
    scaler, known, n_rows = _scaler_and_target(source, target, choices.task)
    last = make_estimator(choices, classes=known.classes)
    with remarks() as said:
        last.fit(scan(lambda: _scaled_blocks(source.fitted(), scaler, known)))
    last.set_params(**NOT_SAVED)
    model = Pipeline([("prepare", scaler), ("model", last)])
    X, held = _held_out_rows(source, known)
    return StreamFit(Trained(model, said), n_rows, known, X, held)


def _scan_numbers(path: Path, target: str, drop: tuple[str, ...]) -> RowBlocks:
    names = remaining_columns(column_names(path), target, drop)
    try:
        blocks = scan(path, target=target, features=names)
        next(iter(blocks))
    except ValueError as error:
        raise CliError(f"{error} (with --drop; a stream is numbers alone)") from error
    return blocks


def _scaler_and_target(
    source: _SplitBlocks, name: str, task: str | None
) -> tuple[Any, Target, int]:
    """Fit the scaler, and return it with some targets and the number of rows."""
    scaler, some, n_rows = StandardScaler(), [], 0
    names = source.blocks.feature_names
    for block in source.fitted():
        assert block.y is not None
        scaler.partial_fit(pd.DataFrame(block.X, columns=names))
        if n_rows < _MOST_TARGETS:
            some.append(block.y)
        n_rows += len(block.X)
    if n_rows < MIN_ROWS:
        raise CliError(f"the file has {n_rows} rows to fit: add rows, or --holdout 0")
    return scaler, make_target(name, np.concatenate(some), task), n_rows


def _scaled_blocks(
    blocks: Iterator[Block], scaler: Any, known: Target
) -> Iterator[Block]:
    names = scaler.feature_names_in_
    for block in blocks:
        rows = scaler.transform(pd.DataFrame(block.X, columns=names))
        yield Block(rows, _with_target_type(block.y, known))


def _with_target_type(values: AnyArray | None, known: Target) -> AnyArray:
    assert values is not None
    if not known.classes:
        return values.astype(np.float64)
    return as_integers(values) if known.values.dtype.kind == "i" else values


def _held_out_rows(source: _SplitBlocks, known: Target) -> tuple[pd.DataFrame, Target]:
    """Return the first held-out rows."""
    rows: list[AnyArray] = []
    values: list[AnyArray] = []
    for block in source.held():
        rows.append(block.X)
        values.append(_with_target_type(block.y, known))
        if sum(map(len, values)) >= _MOST_HELD:
            break
    if not rows:
        return pd.DataFrame(), Target(known.name, known.values[:0], known.classes)
    X = pd.DataFrame(np.concatenate(rows), columns=source.blocks.feature_names)
    return X, Target(known.name, np.concatenate(values), known.classes)


@dataclass(frozen=True, eq=False)
class FitResult:
    """A model with its training and test targets and scores."""

    trained: Trained
    n_features: int
    n_rows: int
    known: Target
    held: Target
    scores: dict[str, Any]

    def document(self, seconds: float) -> dict[str, Any]:
        """Summarise the fit for the output."""
        model = Model(self.trained.model)
        found: dict[str, Any] = {
            "task": self.known.task,
            "target": self.known.name,
            "rows_fitted": self.n_rows,
            "features": self.n_features,
            **model.facts(),
            "seconds": round(seconds, 2),
        }
        if len(self.held.values):
            number, within = len(self.held.values), self.scores.get("within_95")
            found["hold_out"] = {"rows": number, **self.scores}
            if within is not None:
                found["error_bars"] = bars_in_words(within, number)
            found["without_features"] = baseline(self.known, self.held)
        return found


def fit_table(source: Source) -> FitResult:
    """Fit a table in memory and score the held-out rows."""
    choices = source.choices
    everything = prepare_data(read_table(source.data), source.target, choices)
    kept, out = split(everything, choices.holdout, choices.seed)
    known, held = everything.rows(kept), everything.rows(out)
    found = train(known, choices)
    tried = scores(found.model, held.X, held.target) if len(held) else {}
    width = known.X.shape[1]
    return FitResult(found, width, len(known), known.target, held.target, tried)


def fit_stream(source: Source) -> FitResult:
    """Fit a file that is read in blocks and score the held-out rows."""
    found = train_on_stream(source.data, source.target, source.choices)
    model, held = found.trained.model, found.held
    tried = scores(model, found.X, held) if len(held.values) else {}
    width = int(model.n_features_in_)
    return FitResult(found.trained, width, found.n_rows, found.known, held, tried)


def fit_to_file(
    path: Path,
    source: Source,
    *,
    stream: bool | None = False,
    refit: bool = False,
    begin: Callable[..., None] = lambda what, seconds: None,
) -> dict[str, Any]:
    """Fit, write the model, and return a summary.

    By default large files are streamed. ``begin`` is called before a second fit, with
    the seconds expected of it.
    """
    check_writable(path, source.data)
    check_not_table_name(path)
    started = time.perf_counter()
    if stream is None:
        stream = is_large(source.data)
    fit = fit_stream if stream else fit_table
    found = fit(source)
    if refit and source.choices.holdout:
        # The time grows with the number of rows.
        seconds = (time.perf_counter() - started) / (1 - source.choices.holdout)
        begin("Fitting all rows", seconds)
        whole = fit(replace(source, choices=replace(source.choices, holdout=0.0)))
        found = replace(found, trained=whole.trained, n_rows=whole.n_rows)
    relvec.save(found.trained.model, path)
    document = found.document(time.perf_counter() - started)
    return {"model": str(path), **document, "remarks": found.trained.remarks}
