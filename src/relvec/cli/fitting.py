"""What ``relvec fit`` does: a table to a model in a file."""

import time
from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import relvec
from relvec.cli.models import Model
from relvec.cli.options import Source
from relvec.cli.places import check_no_table, check_writable
from relvec.cli.scoring import baseline, scores
from relvec.cli.streaming import is_large, trained_on_stream
from relvec.cli.tables import read_table
from relvec.cli.targets import Target
from relvec.cli.training import Trained, data_of, split, trained
from relvec.report.scores import bars_in_words


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
            number, within = len(self.held.values), self.scores.get("within_95")
            found["hold_out"] = {"rows": number, **self.scores}
            if within is not None:
                found["error_bars"] = bars_in_words(within, number)
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
    path: Path,
    source: Source,
    *,
    stream: bool | None = False,
    refit: bool = False,
    begin: Callable[..., None] = lambda what, seconds: None,
) -> dict[str, Any]:
    """Fit, write the model, and say what came of it.

    Unless told, a stream is what is large. ``begin`` hears of a second fit, and about
    how long it will take.
    """
    check_writable(path, source.data)
    check_no_table(path)
    started = time.perf_counter()
    if stream is None:
        stream = is_large(source.data)
    fit = fitted_stream if stream else fitted
    found = fit(source)
    if refit and source.choices.holdout:
        # Of all rows, by as much more as there are.
        seconds = (time.perf_counter() - started) / (1 - source.choices.holdout)
        begin("Fitting all rows", seconds)
        whole = fit(replace(source, choices=replace(source.choices, holdout=0.0)))
        found = replace(found, trained=whole.trained, n_rows=whole.n_rows)
    relvec.save(found.trained.model, path)
    document = found.document(time.perf_counter() - started)
    return {"model": str(path), **document, "remarks": found.trained.remarks}
