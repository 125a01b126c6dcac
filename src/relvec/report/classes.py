"""Sections about classes that are told apart: confusion, calibration, doubt."""

from typing import Any

import numpy as np
from scipy.stats import binom
from sklearn.metrics import confusion_matrix

from relvec.plots.drawing import BLUE, VERMILLION
from relvec.report.blocks import Block, Figure, Matrix, Section, Table, plain
from relvec.report.case import Case
from relvec.report.drawing import figure, short
from relvec.typing import AnyArray, Array

_BINS = 10
_WORST = 10  # rows
_MOST_CLASSES = 30  # beyond which nobody reads a matrix


def class_sections(case: Case, found: dict[str, AnyArray]) -> list[Section]:
    """In the order to read them; calibration if there are probabilities."""
    made = [_confusion(case, found)]
    if "proba" in found:
        made.append(_calibration(case, found["proba"]))
    return made


def _confusion(case: Case, found: dict[str, AnyArray]) -> Section:
    assert case.labels is not None
    labels = tuple(str(label) for label in case.labels)
    counts = confusion_matrix(case.observed, found["class"], labels=case.labels)
    blocks: list[Block] = []
    if len(labels) <= _MOST_CLASSES:
        rows = tuple(tuple(int(each) for each in row) for row in counts)
        blocks.append(Matrix("Observed in rows, predicted in columns", labels, rows))
    blocks.append(_by_class(labels, counts))
    if "proba" in found:
        blocks += _worst(case, found)
    title, text = (
        "Confusion matrix",
        "How often each class was predicted where another, or it itself, was observed.",
    )
    if len(labels) > _MOST_CLASSES:
        title, text = "Classes", "How often each was observed, predicted, and right."
    return Section("confusion", title, text, tuple(blocks))


def _by_class(labels: tuple[str, ...], counts: AnyArray) -> Table:
    right, observed, predicted = counts.diagonal(), counts.sum(1), counts.sum(0)
    rows = tuple(
        (
            label,
            int(observed[k]),
            int(predicted[k]),
            float(right[k] / predicted[k]) if predicted[k] else None,
            float(right[k] / observed[k]) if observed[k] else None,
        )
        for k, label in enumerate(labels)
    )
    columns = ("class", "observed", "predicted", "precision", "recall")
    return Table("Each class", columns, rows)


def _worst(case: Case, found: dict[str, AnyArray]) -> list[Table]:
    """Rows whose class was least expected, of those that were doubted."""
    assert case.labels is not None
    place = {label: k for k, label in enumerate(case.labels.tolist())}
    own = np.array([place[label] for label in case.observed.tolist()])
    p = found["proba"][np.arange(len(own)), own]
    order = np.argsort(p, kind="stable")[: min(_WORST, int(np.sum(p < 0.5)))]
    rows = tuple(
        (
            int(case.tried[at]) + 1,
            str(case.observed[at]),
            str(found["class"][at]),
            plain(p[at]),
        )
        for at in order
    )
    columns = ("row", "observed", "predicted", "probability of the observed")
    table = Table("Rows whose class was least expected", columns, rows)
    return [table] if rows else []


def _calibration(case: Case, proba: Array) -> Section:
    """Probabilities beside how often they came true."""
    assert case.labels is not None
    if len(case.labels) == 2:
        given, true = proba[:, 1], case.observed == case.labels[1]
        whose, low = f"of {short(case.labels[1])}", 0.0
    else:
        best = proba.argmax(axis=1)
        given, true = proba.max(axis=1), case.observed == case.labels[best]
        whose, low = "of the predicted class", 1.0 / len(case.labels)
    rows = _reliability(given, true)
    text = (
        f"Rows by the probability {whose}, and how many of them are of it: dots on the "
        "dashed line are probabilities that can be taken at their word. Bars are the "
        "range by chance, where the share would be 95 times out of 100."
    )
    columns = ("probability", "rows", "mean", "came true")
    return Section(
        "calibration",
        "Calibration",
        text,
        (
            _diagram(rows, whose, low),
            Table("Reliability of probabilities", columns, rows),
        ),
    )


def _diagram(rows: tuple[tuple[Any, ...], ...], whose: str, low: float) -> Figure:
    count, p, share = (np.array([row[k] for row in rows]) for k in (1, 2, 3))

    def draw(ax: Any) -> None:
        ax.plot([low, 1], [low, 1], "--", color=VERMILLION, linewidth=1.2)
        ends = binom.interval(0.95, count, p)
        ax.vlines(p, ends[0] / count, ends[1] / count, color=BLUE, alpha=0.25, lw=7)
        ax.plot(p, share, "o-", color=BLUE, markersize=5)
        ax.set(
            xlabel=f"predicted probability {whose}",
            ylabel="share that came true",
            xlim=(low - 0.02, 1.02),
            ylim=(-0.02, 1.02),
        )

    return figure(draw, "calibration", "Reliability diagram")


def _reliability(given: Array, true: AnyArray) -> tuple[tuple[Any, ...], ...]:
    """By bin: which, rows, mean probability and how often it came true."""
    place = np.minimum((given * _BINS).astype(int), _BINS - 1)
    return tuple(
        (
            f"{k / _BINS:.1f} to {(k + 1) / _BINS:.1f}",
            int(np.sum(place == k)),
            float(np.mean(given[place == k])),
            float(np.mean(true[place == k])),
        )
        for k in np.unique(place)
    )
