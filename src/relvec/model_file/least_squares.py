"""The same of least-squares models: whether their parts belong together."""

from typing import Any

import numpy as np

from relvec.basis import Group
from relvec.design.pivots import Pivots
from relvec.evidence import Status
from relvec.lssvm import LeastSquaresModel, RealTargets, SignedClasses
from relvec.lssvm.dual import DualSpread
from relvec.lssvm.evidence import LeftOut
from relvec.lssvm.model import Outcome
from relvec.lssvm.ridge import RidgeSpread
from relvec.model_file import expected
from relvec.model_file.consistency import check_noise
from relvec.model_file.functions import (
    check_basis,
    check_calibration,
    check_features,
    check_kernel,
    check_labels,
)


def checked_least_squares(model: LeastSquaresModel) -> LeastSquaresModel:
    """The model, if all of it is as it should be."""
    n_features = check_features(model.features)
    check_basis(model.basis, n_features)
    if len(model.basis.groups) != 1 or model.basis.bias:
        raise expected.refuse("basis", "of one kernel, without a constant")
    expected.is_a("group", model.basis.groups[0], Group)
    size, n_outputs = len(model.basis), _check_family(model.family)
    expected.reals("coefficients", model.coefficients, (size, n_outputs))
    expected.reals("bias", model.bias, (n_outputs,))
    expected.number("scale", model.scale, 0.0)
    expected.positive("C", model.C)
    expected.indices("indices", model.indices, size, -1)
    if model.spread is not None:
        _check_spread(model.spread, n_features)
    _check_outcome(model.fit, n_outputs)
    return model


def _check_family(family: Any) -> int:
    """How many outputs it has."""
    expected.is_a("family", family, RealTargets, SignedClasses)
    if isinstance(family, RealTargets):
        check_noise(family)
        return 1
    n_classes = check_labels(family.labels)
    expected.number("noise_variance", family.noise_variance, 0.0)
    expected.positive("link_variance", family.link_variance)
    return 1 if n_classes == 2 else n_classes


def _check_spread(spread: Any, n_features: int) -> None:
    expected.is_a("spread", spread, DualSpread, RidgeSpread)
    if isinstance(spread, DualSpread):
        _check_dual(spread, n_features)
        return
    pivots = expected.is_a("pivots", spread.pivots, Pivots)
    check_kernel(pivots.kernel)
    expected.reals("rows of pivots", pivots.rows, (None, n_features))
    rank = len(pivots)
    expected.reals("factor of pivots", pivots.factor, (rank, rank))
    expected.reals("mean of features", spread.mean, (rank,))
    expected.reals("half", spread.half, (rank, rank))
    expected.number("constant", spread.constant, 0.0)
    expected.positive("C of error bars", spread.C)


def _check_dual(spread: DualSpread, n_features: int) -> None:
    system = spread.system
    check_kernel(system.functions.kernel)
    expected.reals("rows", system.rows, (None, n_features))
    size = len(system.rows)
    expected.reals("weight", system.weight, (size,))
    expected.flag("intercept", system.intercept)
    expected.reals("g", spread.g, (size,))
    expected.number("q", spread.q)
    for scale in spread.scales:
        expected.positive("scales", scale)
    if not np.all(system.weight > 0):
        raise expected.refuse("weight", "positive")


def _check_outcome(outcome: Any, n_outputs: int) -> None:
    expected.is_a("fit", outcome, Outcome)
    if type(outcome.method) is not str:
        raise expected.refuse("method", "a name")
    expected.number("log_evidence", outcome.log_evidence, finite=False)
    expected.is_a("status", outcome.status, Status)
    expected.whole("n_iter", outcome.n_iter)
    expected.words("remarks", outcome.remarks)
    if outcome.history is not None:
        expected.history("history", outcome.history)
    if outcome.calibration is not None:
        check_calibration(outcome.calibration)
    if outcome.left_out is None:
        return
    left_out = expected.is_a("rows left out", outcome.left_out, LeftOut)
    expected.reals("residual", left_out.residual, (None, n_outputs))
    size = len(left_out.residual)
    expected.reals("remaining", left_out.remaining, (size,))
    expected.reals("weight", left_out.weight, (size,))
    if isinstance(left_out.missing, np.ndarray):
        expected.reals("missing", left_out.missing, (size,))
    else:
        expected.number("missing", left_out.missing)
