"""Sections about numbers that are predicted: errors, error bars, residuals."""

from typing import Any

import numpy as np
from scipy.stats import binom, norm

from relvec.plots import PredictiveIntervalDisplay
from relvec.plots.drawing import BLUE, VERMILLION
from relvec.report.blocks import Section, Table, plain
from relvec.report.case import Case, drawn
from relvec.report.drawing import figure, in_caption, short
from relvec.typing import AnyArray

_LEVELS = (0.25, 0.5, 0.8, 0.9, 0.95, 0.99)
_SHOWN = 0.9  # coverage of the intervals that are drawn, as predict_interval's
_WORST = 10  # rows


def number_sections(case: Case, found: dict[str, AnyArray]) -> list[Section]:
    """In the order to read them."""
    made = [_compared(case, found), _coverage(case), _residuals(case, found)]
    if np.shape(case.X)[1] == 1 and case.numeric:
        made.insert(0, _function(case))
    return made


def _function(case: Case) -> Section:
    """Of one feature there is more to see than dots about a diagonal."""
    every = drawn(np.arange(len(case.y)))
    X, target = case.rows(every), short(case.target)

    def draw(ax: Any) -> None:
        display = PredictiveIntervalDisplay.from_estimator(
            case.subject.whole, X, case.y[every], coverage=_SHOWN, ax=ax
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


def _compared(case: Case, found: dict[str, AnyArray]) -> Section:
    some = drawn(case.tried)
    lower, upper = (end[some] for end in case.interval(_SHOWN))
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
        _of_rows(case, some),
        (figure(draw, "predictions", caption),),
    )


def _coverage(case: Case) -> Section:
    """How many rows are within intervals, beside how many there should be."""
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
            _worst(case, found, scaled),
        ),
    )


def _worst(case: Case, found: dict[str, AnyArray], scaled: AnyArray) -> Table:
    order = np.argsort(-np.abs(scaled), kind="stable")[:_WORST]
    columns = ("row", "observed", "predicted", "std", "residual / std")
    values = (case.observed, found["mean"], found["std"], scaled)
    rows = tuple(
        (int(case.tried[at]) + 1, *(plain(each[at]) for each in values)) for at in order
    )
    return Table("Rows that are farthest off, in deviations", columns, rows)


def _of_rows(case: Case, some: AnyArray) -> str:
    if len(some) == len(case.tried):
        return f"All {len(some):,} rows that the model is tried on."
    return f"{len(some):,} of {len(case.tried):,} rows, drawn by chance."
