"""Maximising the evidence: problem, driver, algorithms."""

from relvec.evidence.base import (
    Callback,
    EvidenceFit,
    EvidenceMaximiser,
    Problem,
    Snapshot,
    Status,
)
from relvec.evidence.fixed_point import FixedPoint
from relvec.evidence.hyperprior import FLAT, Hyperprior
from relvec.evidence.maximise import Limits, maximise
from relvec.evidence.mrvm2 import Mrvm2
from relvec.evidence.polished import Polished
from relvec.evidence.pooled import Pooled
from relvec.evidence.rounds import Rounds
from relvec.evidence.sequential import Sequential
from relvec.evidence.solvers import (
    Solver,
    TopDown,
    as_hyperprior,
    as_top_down,
    starting_precision,
)
from relvec.evidence.tempering import Tempered
from relvec.evidence.updates import EM, MacKay, Variational

__all__ = [
    "EM",
    "FLAT",
    "Callback",
    "EvidenceFit",
    "EvidenceMaximiser",
    "FixedPoint",
    "Hyperprior",
    "Limits",
    "MacKay",
    "Mrvm2",
    "Polished",
    "Pooled",
    "Problem",
    "Rounds",
    "Sequential",
    "Snapshot",
    "Solver",
    "Status",
    "Tempered",
    "TopDown",
    "Variational",
    "as_hyperprior",
    "as_top_down",
    "maximise",
    "starting_precision",
]
