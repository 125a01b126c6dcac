"""Maximising the evidence: problem, driver, algorithms."""

from relvec.evidence.base import (
    Callback,
    EvidenceFit,
    Problem,
    Snapshot,
    Status,
    largest_predictor,
)
from relvec.evidence.deadline import Deadline
from relvec.evidence.each_weight import PrecisionOfEach
from relvec.evidence.hyperprior import Hyperprior
from relvec.evidence.maximise import Limits, maximise
from relvec.evidence.mrvm1 import PublishedMrvm1
from relvec.evidence.mrvm2 import Mrvm2
from relvec.evidence.polished import Polished
from relvec.evidence.reweighting import settled
from relvec.evidence.sequential import Sequential
from relvec.evidence.solver import Search, Solver
from relvec.evidence.solvers import (
    BottomUp,
    HeldPrior,
    TopDown,
    as_solver,
    check_noise_settings,
    solved,
)
from relvec.evidence.updates import EM, MacKay, Variational

__all__ = [
    "EM",
    "BottomUp",
    "Callback",
    "Deadline",
    "EvidenceFit",
    "HeldPrior",
    "Hyperprior",
    "Limits",
    "MacKay",
    "Mrvm2",
    "Polished",
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
    "as_solver",
    "check_noise_settings",
    "largest_predictor",
    "maximise",
    "settled",
    "solved",
]
