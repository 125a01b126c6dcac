"""The section about a model's vectors: which rows they are, and what they weigh."""

from typing import TypeAlias

import numpy as np

from relvec.plots.subject import rows_among
from relvec.report.blocks import Cell, Section, Table, plain
from relvec.report.case import Case
from relvec.typing import AnyArray, Array, Indices

# A feature may have any name, that of a column about weights as well.
Column: TypeAlias = tuple[str, list[Cell]]

_MOST = 200  # vectors, those of the largest weights
_MOST_VALUES = 12  # features whose values are beside the weights
_MOST_WEIGHTS = 6  # classes with a column each


def vectors_section(case: Case) -> Section | None:
    """None of a model that has none, a constant for instance."""
    weights = np.atleast_2d(case.subject.model.dual_coef_)
    if not weights.shape[1]:
        return None
    if getattr(case.subject.model, "kernel", "") is None:
        return _features(case, weights)
    rows = vector_rows(case)
    order = _heaviest(weights)
    columns: list[Column] = [("row", [int(at) + 1 if at >= 0 else None for at in rows])]
    columns += _weights(case, weights)
    if (rows >= 0).any():
        columns += _of_rows(case, rows)
    name = case.subject.kind_of_vectors.capitalize()
    return Section(
        "vectors",
        name,
        _text(case, rows, len(order)),
        (_table(name, columns, order),),
    )


def vector_rows(case: Case) -> Indices:
    """Which row of X each vector is; -1 for none."""
    model = case.subject.model
    sparse = hasattr(model, "relevance_")
    vectors = model.relevance_vectors_ if sparse else model.support_vectors_
    numbers = model.relevance_ if sparse else model.support_
    if vectors.ndim != 2 or vectors.dtype == object or not vectors.size:
        return np.full(len(numbers), -1)
    # The model counts the rows that it was fitted to.
    fitted = case.fitted
    inside = (numbers >= 0) & (numbers < len(fitted))
    numbers = np.where(inside, fitted[np.where(inside, numbers, 0)], -1)
    seen = np.asarray(case.subject.rows(case.X), dtype=np.float64)
    return rows_among(seen, vectors, numbers)


def _heaviest(weights: Array) -> Indices:
    return np.argsort(-np.abs(weights).max(axis=0), kind="stable")[:_MOST]


def _weights(case: Case, weights: Array) -> list[Column]:
    """One column, or one for each class or classifier if they are few."""
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


def _of_rows(case: Case, rows: Indices) -> list[Column]:
    """What was observed, and the features if they are few."""
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


def _text(case: Case, rows: Indices, number: int) -> str:
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


def _features(case: Case, weights: Array) -> Section:
    """A model without a kernel weighs the features themselves."""
    names = case.subject.seen_names(int(case.subject.model.n_features_in_))
    number = case.subject.model.relevance_
    features: Column = ("feature", [names[at] for at in number])
    columns = [features, *_weights(case, weights)]
    text = f"The model has no kernel: it weighs {len(number)} features themselves."
    table = _table("Relevant features", columns, _heaviest(weights))
    return Section("vectors", "Relevant features", text, (table,))
