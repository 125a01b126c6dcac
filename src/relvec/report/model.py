"""Sections on the model: vectors, feature relevance, a map, the search."""

from typing import Any, TypeAlias

import numpy as np

from relvec.plots import (
    EvidenceTraceDisplay,
    FeatureRelevanceDisplay,
    LengthScalesDisplay,
    RelevanceDisplay,
)
from relvec.plots.drawing import rows_among, whole_numbers
from relvec.report.case import Case, drawn
from relvec.report.page import (
    Block,
    Cell,
    Section,
    Table,
    figure,
    in_caption,
    plain,
    short,
)
from relvec.typing import AnyArray, Array, Indices

# Columns are pairs, since names of features may coincide with others.
Column: TypeAlias = tuple[str, list[Cell]]

_MOST_VECTORS = 200  # vectors in the table, those with the largest weights
_MOST_VALUES = 12  # features shown beside the weights
_MOST_WEIGHTS = 6  # classes with a column each
_QUANTITIES = ("log_evidence", "n_vectors", "noise_std")
_MOST_FEATURES = 20  # in the figure; the table has all
_MOST_CLASSIFIERS = 7  # with colours of their own
_MOST_NAMED = 8  # classes in a legend; more would hide the map
_GRID = 80  # places along each side of a map


def vectors_section(case: Case) -> Section | None:
    """List the vectors; None if the model has none."""
    weights = np.atleast_2d(case.subject.model.dual_coef_)
    if not weights.shape[1]:
        return None
    if getattr(case.subject.model, "kernel", "") is None:
        return _selected_features(case, weights)
    rows = vector_rows(case)
    order = _by_weight(weights)
    columns: list[Column] = [("row", [int(at) + 1 if at >= 0 else None for at in rows])]
    columns += _weight_columns(case, weights)
    if (rows >= 0).any():
        columns += _row_columns(case, rows)
    name = case.subject.kind_of_vectors.capitalize()
    return Section(
        "vectors",
        name,
        _vectors_text(case, rows, len(order)),
        (_table(name, columns, order),),
    )


def vector_rows(case: Case) -> Indices:
    """Row of X of each vector; -1 if it is none."""
    vectors, numbers = case.subject.vectors_and_rows
    if vectors.ndim != 2 or vectors.dtype == object or not vectors.size:
        return np.full(len(numbers), -1)
    # Indices in the model count the fitted rows.
    fitted = case.fitted
    inside = (numbers >= 0) & (numbers < len(fitted))
    numbers = np.where(inside, fitted[np.where(inside, numbers, 0)], -1)
    seen = np.asarray(case.subject.rows(case.X), dtype=np.float64)
    return rows_among(seen, vectors, numbers)


def _by_weight(weights: Array) -> Indices:
    return np.argsort(-np.abs(weights).max(axis=0), kind="stable")[:_MOST_VECTORS]


def _weight_columns(case: Case, weights: Array) -> list[Column]:
    """Make one column of weights, or one for each class or classifier if few."""
    if len(weights) == 1:
        names = ["weight"]
    elif len(weights) > _MOST_WEIGHTS:
        names = ["largest weight"]
        best = np.abs(weights).argmax(axis=0)
        weights = weights[best, np.arange(weights.shape[1])][None]
    elif hasattr(case.subject.model.model_, "models") or case.labels is None:
        names = [f"weight, classifier {k}" for k in range(len(weights))]
    else:
        names = [f"weight, {label}" for label in case.labels]
    cells = [[plain(each) for each in row] for row in weights]
    return list(zip(names, cells, strict=True))


def _row_columns(case: Case, rows: Indices) -> list[Column]:
    """Make columns of observed targets, and of the features if few."""
    found: list[tuple[str, AnyArray]] = [(f"observed {case.target}", case.y)]
    if np.shape(case.X)[1] <= _MOST_VALUES:
        for place, name in enumerate(case.names):
            column = case.X.iloc[:, place] if hasattr(case.X, "iloc") else None
            values = case.X[:, place] if column is None else column.to_numpy()
            found.append((name, values))
    return [
        (name, [plain(values[at]) if at >= 0 else None for at in rows])
        for name, values in found
    ]


def _table(caption: str, columns: list[Column], order: Indices) -> Table:
    names, cells = zip(*columns, strict=True)
    rows = tuple(tuple(column[at] for column in cells) for at in order)
    return Table(caption, names, rows)


def _vectors_text(case: Case, rows: Indices, number: int) -> str:
    name, among = case.subject.kind_of_vectors, int(np.sum(rows >= 0))
    text = f"A prediction is a sum over {len(rows):,} {name}, each with its weight. "
    if len(rows) == 1:
        text = f"A prediction has one {name.removesuffix('s')}, with its weight. "
    text += "Rows are counted from 1, without a header."
    if among < len(rows):
        text += f" {among:,} of the vectors are rows of this table."
    if number < len(rows):
        text += f" The {number} of the largest weights are shown."
    return text


def _selected_features(case: Case, weights: Array) -> Section:
    """List the selected features of a model without a kernel."""
    names = case.subject.seen_names(int(case.subject.model.n_features_in_))
    number = case.subject.model.relevance_
    features: Column = ("feature", [names[at] for at in number])
    columns = [features, *_weight_columns(case, weights)]
    text = f"The model has no kernel: it weighs {len(number)} features themselves."
    table = _table("Relevant features", columns, _by_weight(weights))
    return Section("vectors", "Relevant features", text, (table,))


def features_section(case: Case) -> Section | None:
    """Show relevance and length scales, if a kernel was learned."""
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
    blocks: list[Block] = [_relevance_figure(relevance, names)]
    if scales is not None and len(names) <= _MOST_FEATURES and np.ptp(scales, 0).any():
        blocks.append(_scales_figure(scales, names))
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
    """Length scales (n_vectors, n_features); None if kernels have none by feature."""
    scales = getattr(model, "length_scales_", None)
    if scales is None or scales.ndim != 2 or scales.shape[1] != number:
        return None
    scales = scales[np.isfinite(scales).all(axis=1)]
    return scales if len(scales) else None


def _relevance_figure(relevance: Array, names: list[str]) -> Block:
    def draw(ax: Any) -> None:
        labels = [short(name) for name in names]
        display = FeatureRelevanceDisplay(relevance=relevance, feature_names=labels)
        display.plot(ax, max_features=_MOST_FEATURES)

    height = 1.2 + 0.26 * min(len(names), _MOST_FEATURES)
    return figure(draw, "relevance", "Relevance of features", size=(5.2, height))


def _scales_figure(scales: Array, names: list[str]) -> Block:
    def draw(ax: Any) -> None:
        labels = [short(name) for name in names]
        LengthScalesDisplay(length_scales=scales, feature_names=labels).plot(ax)

    height = 1.2 + 0.26 * len(names)
    caption = "Length scales of the vectors, and their medians"
    return figure(draw, "scales", caption, size=(5.2, height))


def map_section(case: Case) -> Section | None:
    """Draw predictions over two numeric features."""
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
    """Draw the course of the search, if it took several steps."""
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
    return Section("evidence", "Evidence trace", _steps_text(history), (shown,))


def _steps_text(history: dict[str, AnyArray]) -> str:
    seconds = float(history["seconds"].max())
    return (
        f"The fit took {len(history['iteration']):,} steps in {seconds:.2g} seconds. "
        "The log evidence rises until no change of the model is worth its while."
    )
