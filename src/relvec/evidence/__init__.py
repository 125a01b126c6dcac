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
from relvec.evidence.maximise import Continued, Limits, maximise
from relvec.evidence.multiclass import Mrvm2, PrecisionOfEach, PublishedMrvm1
from relvec.evidence.sequential import Sequential
from relvec.evidence.solvers import (
    BottomUp,
    HeldPrior,
    Search,
    Solver,
    TopDown,
    as_solver,
    check_noise_settings,
    settled,
    solved,
)
from relvec.evidence.updates import EM, MacKay, Variational

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
    "Search",
    "Sequential",
    "Snapshot",
    "Solver",
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
