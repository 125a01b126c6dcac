"""Maximising the evidence: problem, driver, algorithms."""

from relvec.evidence.base import (
    Callback,
    Deadline,
    EvidenceFit,
    Hyperprior,
    Problem,
    Snapshot,
    Status,
    WarmStart,
    largest_predictor,
)
from relvec.evidence.fixed_point import EM, MacKay, Variational
from relvec.evidence.maximise import Continued, Limits, maximise
from relvec.evidence.multiclass import Mrvm2, PrecisionOfEach, PublishedMrvm1
from relvec.evidence.sequential import Sequential
from relvec.evidence.solvers import (
    BottomUp,
    HeldPrior,
    Solver,
    SolverContext,
    TopDown,
    as_solver,
    check_noise_settings,
    settled,
    solved,
)

__all__ = [
    "EM",
    "BottomUp",
    "Callback",
    "Continued",
    "Deadline",
    "EvidenceFit",
    "HeldPrior",
    "Hyperprior",
    "Limits",
    "MacKay",
    "Mrvm2",
    "PrecisionOfEach",
    "Problem",
    "PublishedMrvm1",
    "Sequential",
    "Snapshot",
    "Solver",
    "SolverContext",
    "Status",
    "TopDown",
    "Variational",
    "WarmStart",
    "as_solver",
    "check_noise_settings",
    "largest_predictor",
    "maximise",
    "settled",
    "solved",
]
