"""Sections on predictions: errors, intervals, residuals, confusion, calibration."""

from typing import Any

import numpy as np
from scipy.stats import binom, norm
from sklearn.metrics import confusion_matrix

from relvec.plots import PredictiveIntervalDisplay
from relvec.plots.drawing import BLUE, VERMILLION
from relvec.report.case import Case, drawn
from relvec.report.page import (
    Block,
    Figure,
    Matrix,
    Section,
    Table,
    figure,
    in_caption,
    plain,
    short,
)
from relvec.typing import AnyArray, Array

_LEVELS = (0.25, 0.5, 0.8, 0.9, 0.95, 0.99)
_DRAWN_COVERAGE = 0.9  # coverage of the intervals that are drawn, as predict_interval's
_MOST_OUTLIERS = 10  # rows
_BINS = 10
_MOST_WRONG = 10  # rows
_MOST_CLASSES = 30  # more would make the matrix unreadable


def number_sections(case: Case, found: dict[str, AnyArray]) -> list[Section]:
    """Make the sections of a regression."""
    made = [
        _observed_and_predicted(case, found),
        _coverage(case),
        _residuals(case, found),
    ]
    if np.shape(case.X)[1] == 1 and case.numeric:
        made.insert(0, _function(case))
    return made


def _function(case: Case) -> Section:
    """Draw the fitted function of a single feature."""
    every = drawn(np.arange(len(case.y)))
    X, target = case.rows(every), short(case.target)

    def draw(ax: Any) -> None:
        display = PredictiveIntervalDisplay.from_estimator(
            case.subject.whole, X, case.y[every], coverage=_DRAWN_COVERAGE, ax=ax
        )
        display.ax_.set(xlabel=short(case.names[0]), ylabel=target)

    what, over = in_caption(case.target), in_caption(case.names[0])
    caption = f"Predicted {what} over {over}, with 90 % intervals"
    return Section(
        "function",
        "The fitted function",
        "Prediction and 90 % intervals over the one feature; circles are vectors.",
        (figure(draw, "function", caption),),
    )


def _observed_and_predicted(case: Case, found: dict[str, AnyArray]) -> Section:
    some = drawn(case.tried)
    lower, upper = (end[some] for end in case.interval(_DRAWN_COVERAGE))
    observed, mean = case.observed[some], found["mean"][some]
    target = short(case.target)

    def draw(ax: Any) -> None:
        ax.vlines(observed, lower, upper, color=BLUE, alpha=0.3, linewidth=1.2)
        ax.scatter(observed, mean, s=12, color=BLUE)
        ends = [observed.min(), observed.max()]
        ax.plot(ends, ends, "--", color=VERMILLION, linewidth=1.2)
        ax.set(xlabel=f"observed {target}", ylabel=f"predicted {target}")

    caption = (
        f"Predicted against observed {in_caption(case.target)}: dots with 90 % "
        "intervals; on the dashed line both are equal"
    )
    return Section(
        "predictions",
        "Predicted against observed",
        _rows_shown(case, some),
        (figure(draw, "predictions", caption),),
    )


def _coverage(case: Case) -> Section:
    """Compare the coverage of intervals with its nominal value."""
    number, rows = len(case.tried), []
    for level in _LEVELS:
        lower, upper = case.interval(level)
        within = np.mean((lower <= case.observed) & (case.observed <= upper))
        low, high = binom.interval(0.95, number, level)
        chance = f"{low / number:.3f} to {high / number:.3f}"
        width = float(np.mean(upper - lower))
        rows.append((level, float(within), chance, plain(width)))

    def draw(ax: Any) -> None:
        nominal = np.linspace(0.0, 1.0, 101)
        ends = binom.interval(0.95, number, nominal)
        ax.fill_between(
            nominal, ends[0] / number, ends[1] / number, color=BLUE, alpha=0.15, lw=0
        )
        ax.plot([0, 1], [0, 1], "--", color=VERMILLION, linewidth=1.2)
        ax.plot(_LEVELS, [row[1] for row in rows], "o-", color=BLUE, markersize=5)
        ax.set(xlabel="nominal coverage", ylabel="rows within", xlim=(0, 1.02))

    text = (
        "The share of rows whose observation is within the predictive interval, for "
        "several nominal coverages. More rows within than nominal: the error bars are "
        "too wide; fewer: too narrow. With intervals that are exactly right, the share "
        f"of {number:,} rows would be in the range by chance 95 times out of 100."
    )
    columns = ("nominal", "actual", "range by chance", "mean width")
    caption = "Coverage of predictive intervals; the band is what chance allows"
    return Section(
        "coverage",
        "Interval coverage",
        text,
        (
            figure(draw, "coverage", caption),
            Table("Coverage of predictive intervals", columns, tuple(rows)),
        ),
    )


def _residuals(case: Case, found: dict[str, AnyArray]) -> Section:
    residual = case.observed - found["mean"]
    scaled = residual / np.maximum(found["std"], np.finfo(float).tiny)
    some = drawn(case.tried)

    def over_predictions(ax: Any) -> None:
        ax.axhline(0.0, color=VERMILLION, linestyle="--", linewidth=1.2)
        ax.scatter(found["mean"][some], residual[some], s=12, color=BLUE)
        ax.set(xlabel=f"predicted {short(case.target)}", ylabel="observed − predicted")

    def distribution(ax: Any) -> None:
        edge = min(max(4.0, float(np.abs(scaled).max())), 8.0)
        grid = np.linspace(-edge, edge, 200)
        clipped = np.clip(scaled, -edge, edge)
        number = int(np.clip(np.sqrt(len(scaled)) * 2, 12, 48))
        bins = np.linspace(-edge, edge, number + 1)
        ax.hist(clipped, bins=bins, density=True, color=BLUE, alpha=0.45)
        ax.plot(grid, norm.pdf(grid), color=VERMILLION, linewidth=1.4)
        ax.set(xlabel="residual, in predictive deviations", ylabel="density")

    text = (
        "What is left of each row. A curve or a funnel over the predictions is "
        "structure that the model has missed; deviations beyond the normal curve are "
        "outliers, or error bars that are too narrow."
    )
    names = ("Residuals over predictions", "Standardised residuals, and a normal curve")
    return Section(
        "residuals",
        "Residuals",
        text,
        (
            figure(over_predictions, "residuals", names[0]),
            figure(distribution, "deviations", names[1]),
            _largest_residuals(case, found, scaled),
        ),
    )


def _largest_residuals(
    case: Case, found: dict[str, AnyArray], scaled: AnyArray
) -> Table:
    order = np.argsort(-np.abs(scaled), kind="stable")[:_MOST_OUTLIERS]
    columns = ("row", "observed", "predicted", "std", "residual / std")
    values = (case.observed, found["mean"], found["std"], scaled)
    rows = tuple(
        (int(case.tried[at]) + 1, *(plain(each[at]) for each in values)) for at in order
    )
    return Table("Rows that are farthest off, in deviations", columns, rows)


def _rows_shown(case: Case, some: AnyArray) -> str:
    if len(some) == len(case.tried):
        return f"All {len(some):,} rows that the model is tried on."
    return f"{len(some):,} of {len(case.tried):,} rows, drawn by chance."


def class_sections(case: Case, found: dict[str, AnyArray]) -> list[Section]:
    """Make the sections of a classifier; calibration needs probabilities."""
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
        blocks += _least_expected(case, found)
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


def _least_expected(case: Case, found: dict[str, AnyArray]) -> list[Table]:
    """List the rows whose observed class had the lowest probability, below 0.5."""
    assert case.labels is not None
    place = {label: k for k, label in enumerate(case.labels.tolist())}
    own = np.array([place[label] for label in case.observed.tolist()])
    p = found["proba"][np.arange(len(own)), own]
    order = np.argsort(p, kind="stable")[: min(_MOST_WRONG, int(np.sum(p < 0.5)))]
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
    """Compare probabilities with observed frequencies."""
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
    """Rows of the reliability table: bin, count, mean probability, frequency."""
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
