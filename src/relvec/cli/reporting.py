"""What ``relvec report`` does: one HTML file about a model and a table."""

import hashlib
import shlex
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from relvec.cli.choices import MODELS, Choices
from relvec.cli.columns import Columns
from relvec.cli.comparing import on_folds, rarest
from relvec.cli.exits import Problem, listed
from relvec.cli.held_out import Known, known_rows
from relvec.cli.models import Model, loaded
from relvec.cli.output import Output
from relvec.cli.places import check_writable
from relvec.cli.predicting import Unknown
from relvec.cli.tables import read_table
from relvec.cli.targets import observed
from relvec.cli.training import Data
from relvec.model_file import read_limited, unpacked
from relvec.report import Origin, make_report
from relvec.report.page import check_installed, is_report
from relvec.typing import AnyArray

_FOLDS = 5
_MOST_COMPARED = 2000  # rows, so that the slowest takes a minute or so


@dataclass(frozen=True)
class Files:
    """What a report is made of, and where it goes."""

    model: Path
    table: Path
    page: Path


@dataclass(frozen=True)
class Wanted:
    """What a user wants of a report."""

    target: str | None = None
    title: str | None = None
    holdout: float = 0.2
    seed: int = 0
    compare: bool = False


def check_place(path: Path, *sources: Path, force: bool) -> None:
    """Refuse a place that cannot be written to, or that holds something else."""
    check_installed()
    check_writable(path, *sources)
    if path.exists() and not force and not is_report(path):
        raise Problem(
            f"{path} is there and is no report of relvec: choose another name, or "
            "replace it with --force"
        )


def report_to_file(output: Output, files: Files, wanted: Wanted) -> dict[str, Any]:
    """Write a report, and say what came of it."""
    found = loaded(files.model)
    data = _data(found, read_table(files.table), wanted.target)
    known = known_rows(found.whole, data, wanted.holdout, wanted.seed)
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
        "remarks": _remarks(found, data.X),
    }


def _remarks(model: Model, X: Any) -> list[str]:
    unknown = Unknown()
    unknown.add(model.unknown_texts(X))
    return unknown.remarks()


def _data(model: Model, frame: pd.DataFrame, target: str | None) -> Data:
    """Features and target, checked to be the model's."""
    _check_one_output(model)
    names = model.names
    if target is None:
        target = _only_other(frame, names)
    if target in (names or []):
        raise Problem(
            f"{target!r} is a feature of the model: name the column with --target that "
            "it was fitted to"
        )
    values = observed(frame, target, model.labels)
    X = model.rows_of(frame if names else frame.drop(columns=target))
    if not hasattr(X, "iloc"):
        left = [name for name in frame.columns if name != target]
        X = pd.DataFrame(X, columns=left)
    texts = tuple(name for name in X.columns if name in model.categories())
    numbers = tuple(name for name in X.columns if name not in texts)
    return Data(X, values, Columns(numbers, texts))


def _check_one_output(model: Model) -> None:
    if model.n_outputs > 1:
        raise Problem(
            "the model predicts several targets, and a report is of one: fit a model "
            "for each, and write a report for each"
        )


def _only_other(frame: pd.DataFrame, names: list[str] | None) -> str:
    """The column that a model does not predict from, if it is one."""
    others = [name for name in frame.columns if name not in (names or [])]
    if names is not None and len(others) == 1:
        return str(others[0])
    if not others:
        raise Problem(
            "the table has the model's features and nothing else: add the column that "
            "was observed, and name it with --target"
        )
    raise Problem(
        f"the target is one of {listed(map(repr, others))}: name it with --target"
    )


def _origin(files: Files, wanted: Wanted, target: str, known: Known) -> dict[str, Any]:
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


def _command(files: Files, wanted: Wanted, target: str) -> str:
    """With all that is not as by default."""
    words = ["relvec", "report", str(files.model), str(files.table)]
    words += ["--target", target, "--output", str(files.page)]
    if wanted.title is not None:
        words += ["--title", wanted.title]
    for name in ("holdout", "seed"):
        if getattr(wanted, name) != getattr(Wanted, name):
            words += [f"--{name}", str(getattr(wanted, name))]
    if wanted.compare:
        words.append("--compare")
    return shlex.join(words)


def _comparison(output: Output, model: Model, data: Data, seed: int) -> dict[str, Any]:
    """Other models on the same folds of the table, or of some of its rows."""
    number = len(data)
    data = data.rows(_some(data, seed))
    choices = Choices(impute=model.imputes, seed=seed)
    folds = min(_FOLDS, rarest(data))  # each has rows of all classes
    if folds < 2:
        raise Problem(
            "a class has a single row, too few to compare models by folds: add rows of "
            "it, or leave out --compare"
        )
    text = (
        f"Other models with their usual settings, on {len(data):,} of {number:,} rows: "
        f"means over {folds} folds that are the same for all, seconds those of a fit. "
        "RVM is what relvec fit fits; a GP sees 1,000 rows at most."
    )
    if len(data) == number and folds == _FOLDS:
        text += " relvec compare shows the same."
    rows = on_folds(output, data, choices, folds, MODELS)
    return {"comparison": rows, "comparison_text": text}


def _some(data: Data, seed: int) -> AnyArray:
    """Rows to compare models on; of rare classes as many as there are folds."""
    share = _MOST_COMPARED / len(data)
    if share >= 1:
        return np.arange(len(data))
    groups: AnyArray = np.zeros(len(data), dtype=int)
    if data.target.classes:
        groups = pd.factorize(data.target.values)[0]
    rng = np.random.default_rng(seed)
    chosen = [
        rng.permutation(rows)[: max(round(share * len(rows)), _FOLDS)]
        for rows in (np.flatnonzero(groups == group) for group in np.unique(groups))
    ]
    return np.sort(np.concatenate(chosen))
