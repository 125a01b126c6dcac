"""``relvec fit``: a table to a model in a file."""

import time
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import rich_click as click

import relvec
from relvec.cli.models import Model
from relvec.cli.options import FILE, Source, with_source
from relvec.cli.output import Output, with_output
from relvec.cli.scoring import baseline, scores
from relvec.cli.streaming import is_large, trained_on_stream
from relvec.cli.tables import check_writable, read_table
from relvec.cli.targets import Target
from relvec.cli.training import KERNELS, Trained, data_of, split, trained


@dataclass(frozen=True, eq=False)
class Fit:
    """A model, what it was fitted to and what it was tried on."""

    trained: Trained
    n_features: int
    n_rows: int
    known: Target
    held: Target
    scores: dict[str, Any]

    def document(self, seconds: float) -> dict[str, Any]:
        """A summary."""
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
            found["hold_out"] = {"rows": len(self.held.values), **self.scores}
            found["without_features"] = baseline(self.known, self.held)
        return found


def fitted(source: Source) -> Fit:
    """A model of the rows that are not held out, tried on those that are."""
    choices = source.choices
    everything = data_of(read_table(source.data), source.target, choices)
    kept, out = split(everything, choices.holdout, choices.seed)
    known, held = everything.rows(kept), everything.rows(out)
    found = trained(known, choices)
    tried = scores(found.model, held.X, held.target) if len(held) else {}
    width = known.X.shape[1]
    return Fit(found, width, len(known), known.target, held.target, tried)


def fitted_stream(source: Source) -> Fit:
    """The same of a file that is read a block at a time."""
    found = trained_on_stream(source.data, source.target, source.choices)
    model, held = found.trained.model, found.held
    tried = scores(model, found.X, held) if len(held.values) else {}
    width = int(model.n_features_in_)
    return Fit(found.trained, width, found.n_rows, found.known, held, tried)


def fit_to_file(
    path: Path, source: Source, *, stream: bool = False, refit: bool = False
) -> dict[str, Any]:
    """Fit, write the model, and say what came of it."""
    check_writable(path, source.data)
    started = time.perf_counter()
    fit = fitted_stream if stream else fitted
    found = fit(source)
    if refit and source.choices.holdout:
        whole = fit(replace(source, choices=replace(source.choices, holdout=0.0)))
        found = replace(found, trained=whole.trained, n_rows=whole.n_rows)
    relvec.save(found.trained.model, path)
    document = found.document(time.perf_counter() - started)
    return {"model": str(path), **document, "remarks": found.trained.remarks}


@click.command(
    epilog="Example: relvec fit houses.csv --target price --output houses.json"
)
@with_source
@click.option(
    "-o", "--output", "path", type=FILE, required=True, help="Where the model goes."
)
@click.option(
    "--kernel",
    type=click.Choice(KERNELS),
    default="auto",
    show_default=True,
    help="How predictions vary; its length scales are learned.",
)
@click.option(
    "--holdout",
    type=click.FloatRange(0, 1, max_open=True),
    default=0.2,
    show_default=True,
    help="Share of rows that the model is tried on and not fitted to; 0 is none.",
)
@click.option(
    "--refit",
    is_flag=True,
    help="Having tried a model, write one that is fitted to all rows.",
)
@click.option(
    "--stream/--no-stream",
    default=None,
    help="Read rows in blocks, numbers only; by default above 1 GB.",
)
@with_output
def fit(
    *,
    output: Output,
    source: Source,
    path: Path,
    kernel: str,
    holdout: float,
    refit: bool,
    stream: bool | None,
) -> None:
    """Fit a model to a table, try it on rows held out, and write it to a file.

    DATA is a CSV, Parquet or Arrow file with names of columns. Columns of text are
    one-hot encoded, numbers are scaled, and the kernel's length scales are learned.
    """
    verbose = int(output.lively)
    choices = replace(source.choices, kernel=kernel, holdout=holdout, verbose=verbose)
    source = replace(source, choices=choices)
    if stream is None:
        stream = is_large(source.data)
    with output.working(f"Fitting {source.data.name}"):
        document = fit_to_file(path, source, stream=stream, refit=refit)
    output.summary(document)
