"""A fitted model in the eyes of each of its rows without that row."""

from dataclasses import replace

import numpy as np

from relvec.kernel_learning import Judged
from relvec.modelling.fitted import FittedModel
from relvec.modelling.training_rows import TrainingSet
from relvec.typing import AnyArray, Indices


def judged(
    model: FittedModel, data: TrainingSet, *, columns_are_rows: bool = False
) -> Judged:
    """A fit as criteria see it.

    Functions that are columns of X belong to no row, unless columns are rows.
    """
    basis, X = model.basis, data.table
    first = int(basis.bias)
    if any(group.centres.ndim == 1 for group in basis.groups):
        indices = model.indices if columns_are_rows else model.indices[:0]
        own = _equal_indices(data.rows.indices, indices, first)
    else:
        centres = np.concatenate([group.centres for group in basis.groups])
        own = equal_pairs(X, centres, first)
    return Judged(
        y=data.targets,
        sample_weight=data.weight,
        # Copies, since the model is not to keep what is computed on the way.
        likelihood=model.fit.likelihood.rescaled(1.0),
        functions=basis.sparse(X).toarray() if basis.compact else basis(X),
        posterior=replace(model.posterior.separated),
        own=own,
        log_evidence=model.log_evidence,
    )


def equal_pairs(X: AnyArray, centres: AnyArray, first: int) -> tuple[Indices, Indices]:
    """Indices of rows and of the functions, ``first`` on, that are centred on them."""
    centred: dict[bytes, list[int]] = {}
    for index, centre in enumerate(np.asarray(centres, dtype=X.dtype), start=first):
        centred.setdefault(centre.tobytes(), []).append(index)
    pairs = [
        (row, function)
        for row, values in enumerate(np.ascontiguousarray(X))
        for function in centred.get(values.tobytes(), ())
    ]
    rows, functions = np.array(pairs, dtype=np.intp).reshape(-1, 2).T
    return rows, functions


def _equal_indices(
    rows: Indices, functions: Indices, first: int
) -> tuple[Indices, Indices]:
    _, places, own = np.intersect1d(rows, functions, return_indices=True)
    return places, own + first
