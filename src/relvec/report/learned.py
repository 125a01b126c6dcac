"""Sections about what was learned, and how: features, a map, the search."""

from typing import Any

import numpy as np

from relvec.plots import (
    EvidenceTraceDisplay,
    FeatureRelevanceDisplay,
    LengthScalesDisplay,
    RelevanceDisplay,
)
from relvec.plots.drawing import whole_numbers
from relvec.report.blocks import Block, Section, Table, plain
from relvec.report.case import Case, drawn
from relvec.report.drawing import figure, in_caption, short
from relvec.report.vectors import vector_rows
from relvec.typing import AnyArray, Array

_QUANTITIES = ("log_evidence", "n_vectors", "noise_std")
_MOST_FEATURES = 20  # of a figure; the table has all of them
_MOST_CLASSIFIERS = 7  # with colours of their own
_MOST_NAMED = 8  # classes, beyond which their names would hide the map
_GRID = 80  # places along each side of a map


def features_section(case: Case) -> Section | None:
    """Relevance and length scales, if a kernel was learned."""
    model = case.subject.model
    relevance = getattr(model, "feature_relevance_", None)
    if relevance is None or len(relevance) < 2 or not np.isfinite(relevance).all():
        return None
    names = case.subject.seen_names(len(relevance))
    scales = _scales(model, len(names))
    columns: tuple[str, ...] = ("feature", "relevance")
    every: list[Any] = [names, relevance]
    if scales is not None:
        columns += ("length scale",)
        every.append(np.median(scales, axis=0))
    rows = [tuple(map(plain, row)) for row in zip(*every, strict=True)]
    order = np.argsort(-relevance, kind="stable")
    blocks: list[Block] = [_relevance(relevance, names)]
    if scales is not None and len(names) <= _MOST_FEATURES and np.ptp(scales, 0).any():
        blocks.append(_spread(scales, names))
    table = Table("Features", columns, tuple(rows[at] for at in order))
    text = "The share of each feature in how the fitted function varies."
    if scales is not None:
        text += (
            " A length scale is the distance over which it does, in units of the "
            "feature as the kernel sees it, after scaling: where it is large, the "
            "feature hardly matters."
        )
    return Section("features", "Feature relevance", text, (*blocks, table))


def _scales(model: Any, number: int) -> Array | None:
    """A row for each vector, (n, features), where kernels have a scale for each."""
    scales = getattr(model, "length_scales_", None)
    if scales is None or scales.ndim != 2 or scales.shape[1] != number:
        return None
    scales = scales[np.isfinite(scales).all(axis=1)]
    return scales if len(scales) else None


def _relevance(relevance: Array, names: list[str]) -> Block:
    def draw(ax: Any) -> None:
        labels = [short(name) for name in names]
        display = FeatureRelevanceDisplay(relevance=relevance, feature_names=labels)
        display.plot(ax, max_features=_MOST_FEATURES)

    height = 1.2 + 0.26 * min(len(names), _MOST_FEATURES)
    return figure(draw, "relevance", "Relevance of features", size=(5.2, height))


def _spread(scales: Array, names: list[str]) -> Block:
    def draw(ax: Any) -> None:
        labels = [short(name) for name in names]
        LengthScalesDisplay(length_scales=scales, feature_names=labels).plot(ax)

    height = 1.2 + 0.26 * len(names)
    caption = "Length scales of the vectors, and their medians"
    return figure(draw, "scales", caption, size=(5.2, height))


def map_section(case: Case) -> Section | None:
    """Predictions over two features that are numbers."""
    if np.shape(case.X)[1] != 2 or not case.numeric:
        return None
    rows = vector_rows(case)
    some = np.union1d(drawn(np.arange(len(case.y))), rows[rows >= 0])
    X, y = case.rows(some), case.y[some]
    meaning = f"predicted {short(case.target)}"
    if case.labels is not None:
        meaning = f"probability of {short(case.labels[1])}"

    def draw(ax: Any) -> None:
        display = RelevanceDisplay.from_estimator(
            case.subject.whole, X, y, grid_resolution=_GRID, ax=ax
        )
        display.ax_.set(xlabel=short(case.names[0]), ylabel=short(case.names[1]))
        legend = display.ax_.get_legend()
        if legend is not None and case.labels is not None:
            for label in legend.get_texts():
                label.set_text(short(label.get_text()))
            if len(case.labels) > _MOST_NAMED:
                legend.remove()
        if display.colorbar_ is not None:
            display.colorbar_.set_label(meaning)

    what = "Predictions" if case.labels is None else "Classes"
    over = " and ".join(map(in_caption, case.names))
    caption = f"{what} over {over}; vectors are circled"
    return Section(
        "map",
        "Decision map" if case.labels is not None else "Map of predictions",
        "What is predicted wherever the two features are, and the rows of the table.",
        (figure(draw, "map", caption, size=(5.6, 4.4), themed=False),),
    )


def evidence_section(case: Case) -> Section | None:
    """How the search went, if there was one of several steps."""
    history = getattr(case.subject.model, "history_", None)
    if history is None or len(history["iteration"]) < 2:
        return None
    known = [name for name in _QUANTITIES if np.isfinite(history[name]).any()]
    if not known:
        return None
    number = len(np.unique(history.get("classifier", np.zeros(1))))

    def draw(*axes: Any) -> None:
        display = EvidenceTraceDisplay(history=history)
        display.plot(np.array(axes, dtype=object), quantities=known)
        whole_numbers(axes[-1].xaxis)
        legend = axes[0].get_legend()
        if legend is not None and number > _MOST_CLASSIFIERS:
            legend.remove()

    size = (5.2, 1.0 + 1.45 * len(known))
    caption = "Evidence, vectors and noise after every step of the fit"
    shown = figure(draw, "evidence", caption, size=size, panels=len(known))
    return Section("evidence", "Evidence trace", _steps(history), (shown,))


def _steps(history: dict[str, AnyArray]) -> str:
    seconds = float(history["seconds"].max())
    return (
        f"The fit took {len(history['iteration']):,} steps in {seconds:.2g} seconds. "
        "The log evidence rises until no change of the model is worth its while."
    )
