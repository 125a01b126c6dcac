"""``relvec report``, and ``relvec demo``, which runs all steps."""

import hashlib
import shlex
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from sklearn.base import clone
from sklearn.datasets import load_diabetes, load_wine
from sklearn.pipeline import Pipeline

from relvec.cli.columns import Columns, observed_target
from relvec.cli.comparing import compare_on_folds, smallest_class
from relvec.cli.errors import CliError, listed
from relvec.cli.fitting import Data, fit_to_file, split
from relvec.cli.models import Model, load_model
from relvec.cli.options import EVERY_STEP, MODELS, Choices, Source
from relvec.cli.output import Output
from relvec.cli.paths import check_writable
from relvec.cli.predicting import UnknownTexts, predict_to_file
from relvec.cli.tables import read_table, write_table
from relvec.model_file import read_limited, unpacked
from relvec.report import Origin, make_report
from relvec.report.page import check_installed, is_report
from relvec.typing import AnyArray

_TOLERANCE = 1e-9  # rounding error of a scaled feature
_COMPARISON_FOLDS = 5
_MOST_COMPARED = 2000  # rows, so that the slowest takes a minute or so
_DEMO_TABLES: dict[str, Any] = {"diabetes": load_diabetes, "wine": load_wine}


@dataclass(frozen=True, eq=False)
class Known:
    """Rows to score, and a sentence on what is known of them."""

    held_out: AnyArray | None  # None: all rows
    text: str


def find_held_out_rows(model: Any, data: Data, holdout: float, seed: int) -> Known:
    """Find the rows that ``relvec fit`` held out; otherwise return all rows.

    The scaler stores means and deviations of its training rows, which are unique to
    a split: they show whether the model was fitted to a part of this table.
    """
    if not isinstance(model, Pipeline) or len(model.steps) != 2:
        return _rows_unknown(data)
    before = model.steps[0][1]
    if not hasattr(before, "feature_names_in_"):  # not a model of relvec fit
        return _rows_unknown(data)
    try:
        kept, out = split(data, holdout, seed)
    except CliError:  # too few rows
        return _rows_unknown(data)
    every = np.arange(len(data))
    part, whole = (_is_fitted_to(before, data.X, rows) for rows in (kept, every))
    if part and not whole and len(out):
        return Known(
            out,
            f"Scores are of the {len(out):,} rows that relvec fit held out, which the "
            "model has not seen: its scaling is exactly that of the other rows.",
        )
    if whole and not part:
        return Known(
            None,
            f"Scores are of all {len(data):,} rows, and the model was fitted to these "
            "very rows: on new ones it will do worse.",
        )
    return _rows_unknown(data)


def _rows_unknown(data: Data) -> Known:
    return Known(
        None,
        f"Scores are of all {len(data):,} rows of the table. Whether the model was "
        "fitted to some of them is not known; if so, the scores flatter it.",
    )


def _is_fitted_to(before: Any, X: Any, rows: AnyArray) -> bool:
    """Whether preprocessing was fitted to these rows."""
    again = clone(before).fit(X.iloc[rows])
    made, found = again.transform(X), before.transform(X)
    return made.shape == found.shape and np.allclose(
        made, found, _TOLERANCE, _TOLERANCE
    )


@dataclass(frozen=True)
class ReportPaths:
    """Input files and the page to write."""

    model: Path
    table: Path
    page: Path


@dataclass(frozen=True)
class ReportOptions:
    """Options of a report."""

    target: str | None = None
    title: str | None = None
    holdout: float = 0.2
    seed: int = 0
    compare: bool = False


def check_report_path(path: Path, *sources: Path, force: bool) -> None:
    """Refuse a path that cannot be written, or another file than a report."""
    check_installed()
    check_writable(path, *sources)
    if path.exists() and not force and not is_report(path):
        raise CliError(
            f"{path} is there and is no report of relvec: choose another name, or "
            "replace it with --force"
        )


def report_to_file(
    output: Output, files: ReportPaths, wanted: ReportOptions
) -> dict[str, Any]:
    """Write a report, and return a summary."""
    found = load_model(files.model)
    data = _report_data(found, read_table(files.table), wanted.target)
    known = find_held_out_rows(found.whole, data, wanted.holdout, wanted.seed)
    origin = _origin(files, wanted, data.target.name, known)
    if wanted.compare:
        origin |= _comparison(output, found, data, wanted.seed)
    with output.working(f"Writing {files.page.name}"):
        made = make_report(
            found.whole,
            data.X.to_numpy() if found.names is None else data.X,
            pd.Series(data.target.values, name=data.target.name),
            held_out=known.held_out,
            title=wanted.title or f"{files.table.name}: {data.target.name}",
            origin=Origin(**origin),
        )
        made.save(files.page)
    return {
        "report": str(files.page),
        "bytes": files.page.stat().st_size,
        "target": data.target.name,
        "rows": made.n_rows,
        "held_out": known.held_out is not None,
        "sections": [section.name for section in made.sections],
        "scores": made.scores,
        "remarks": _unknown_text_remarks(found, data.X),
    }


def _unknown_text_remarks(model: Model, X: Any) -> list[str]:
    unknown = UnknownTexts()
    unknown.add(model.unknown_texts(X))
    return unknown.remarks()


def _report_data(model: Model, frame: pd.DataFrame, target: str | None) -> Data:
    """Read features and target, and check that they suit the model."""
    _check_one_output(model)
    names = model.names
    if target is None:
        target = _only_other_column(frame, names)
    if target in (names or []):
        raise CliError(
            f"{target!r} is a feature of the model: name the column with --target that "
            "it was fitted to"
        )
    values = observed_target(frame, target, model.labels)
    X = model.rows_of(frame if names else frame.drop(columns=target))
    if not hasattr(X, "iloc"):
        left = [name for name in frame.columns if name != target]
        X = pd.DataFrame(X, columns=left)
    texts = tuple(name for name in X.columns if name in model.categories())
    numbers = tuple(name for name in X.columns if name not in texts)
    return Data(X, values, Columns(numbers, texts))


def _check_one_output(model: Model) -> None:
    if model.n_outputs > 1:
        raise CliError(
            "the model predicts several targets, and a report is of one: fit a model "
            "for each, and write a report for each"
        )


def _only_other_column(frame: pd.DataFrame, names: list[str] | None) -> str:
    """Find the only column that is no feature of the model."""
    others = [name for name in frame.columns if name not in (names or [])]
    if names is not None and len(others) == 1:
        return str(others[0])
    if not others:
        raise CliError(
            "the table has the model's features and nothing else: add the column that "
            "was observed, and name it with --target"
        )
    raise CliError(
        f"the target is one of {listed(map(repr, others))}: name it with --target"
    )


def _origin(
    files: ReportPaths, wanted: ReportOptions, target: str, known: Known
) -> dict[str, Any]:
    written = unpacked(read_limited(files.model))["written_by"]
    return {
        "facts": {
            "model file": files.model.name,
            "its SHA-256": _digest(files.model),
            "fitted with": ", ".join(
                f"{name} {each}" for name, each in written.items()
            ),
            "table": files.table.name,
            "SHA-256 of the table": _digest(files.table),
        },
        "rows": known.text,
        "command": _command(files, wanted, target),
        "model_bytes": files.model.stat().st_size,
    }


def _digest(path: Path) -> str:
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def _command(files: ReportPaths, wanted: ReportOptions, target: str) -> str:
    """Write the command, with all options that differ from defaults."""
    words = ["relvec", "report", str(files.model), str(files.table)]
    words += ["--target", target, "--output", str(files.page)]
    if wanted.title is not None:
        words += ["--title", wanted.title]
    for name in ("holdout", "seed"):
        if getattr(wanted, name) != getattr(ReportOptions, name):
            words += [f"--{name}", str(getattr(wanted, name))]
    if wanted.compare:
        words.append("--compare")
    return shlex.join(words)


def _comparison(output: Output, model: Model, data: Data, seed: int) -> dict[str, Any]:
    """Compare other models on the same folds of the table, or of some of its rows."""
    number = len(data)
    data = data.rows(_rows_to_compare(data, seed))
    choices = Choices(impute=model.imputes, seed=seed)
    folds = min(_COMPARISON_FOLDS, smallest_class(data))  # each has rows of all classes
    if folds < 2:
        raise CliError(
            "a class has a single row, too few to compare models by folds: add rows of "
            "it, or leave out --compare"
        )
    text = (
        f"Other models with their usual settings, on {len(data):,} of {number:,} rows: "
        f"means over {folds} folds that are the same for all, seconds those of a fit. "
        "RVM is what relvec fit fits; a GP sees 1,000 rows at most."
    )
    if len(data) == number and folds == _COMPARISON_FOLDS:
        text += " relvec compare shows the same."
    rows = compare_on_folds(output, data, choices, folds, MODELS)
    return {"comparison": rows, "comparison_text": text}


def _rows_to_compare(data: Data, seed: int) -> AnyArray:
    """Draw rows for the comparison; rare classes keep a row for each fold."""
    share = _MOST_COMPARED / len(data)
    if share >= 1:
        return np.arange(len(data))
    groups: AnyArray = np.zeros(len(data), dtype=int)
    if data.target.classes:
        groups = pd.factorize(data.target.values)[0]
    rng = np.random.default_rng(seed)
    chosen = [
        rng.permutation(rows)[: max(round(share * len(rows)), _COMPARISON_FOLDS)]
        for rows in (np.flatnonzero(groups == group) for group in np.unique(groups))
    ]
    return np.sort(np.concatenate(chosen))


def run_demo(output: Output, folder: Path, data: str) -> dict[str, Any]:
    """Write a table, its model, its predictions and a report; return their paths."""
    folder.mkdir(parents=True, exist_ok=True)
    table, model, predictions, page = (
        folder / f"{data}{end}" for end in (".csv", ".json", "_predicted.csv", ".html")
    )
    check_report_path(page, force=True)
    write_table(_DEMO_TABLES[data](as_frame=True).frame, table)
    source = Source(table, "target", Choices(verbose=EVERY_STEP * output.lively))
    with output.working(f"Fitting {table.name}"):
        fitted = fit_to_file(model, source)
    written = predict_to_file(output, predictions, model, table)
    wanted = ReportOptions("target", compare=True)
    reported = report_to_file(output, ReportPaths(model, table, page), wanted)
    return {
        "data": str(table),
        **fitted,
        "predictions": written["predictions"],
        "report": reported["report"],
    }
