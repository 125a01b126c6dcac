"""Fitting an LS-SVM as a function: a specification and rows in, a model out."""

from collections.abc import Callable
from dataclasses import replace

from relvec.linalg import single_threaded
from relvec.lssvm.exact import exact
from relvec.lssvm.low_rank import conjugate, low_rank
from relvec.lssvm.model import LeastSquaresModel
from relvec.lssvm.solved import Solved
from relvec.lssvm.specification import LeastSquares
from relvec.modelling import TrainingSet, logger

_METHODS: dict[str, Callable[[LeastSquares, TrainingSet], Solved]] = {
    "exact": exact,
    "nystrom": low_rank,
    "cholesky": low_rank,
    "cg": conjugate,
}


def fit_least_squares(spec: LeastSquares, data: TrainingSet) -> LeastSquaresModel:
    """The LS-SVM of these data."""
    method = spec.method_for(data.rows)
    logger.info("method: %s", method)
    with single_threaded():
        return _METHODS[method](replace(spec, method=method), data).model()
