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
from relvec.evidence.maximise import Limits, maximise
from relvec.evidence.pooled import Pooled
from relvec.evidence.rounds import Rounds
from relvec.evidence.sequential import Sequential
from relvec.evidence.solvers import SOLVERS, Solver
from relvec.evidence.top_down import TopDown

__all__ = [
    "SOLVERS",
    "Callback",
    "EvidenceFit",
    "EvidenceMaximiser",
    "FixedPoint",
    "Limits",
    "Pooled",
    "Problem",
    "Rounds",
    "Sequential",
    "Snapshot",
    "Solver",
    "Status",
    "TopDown",
    "maximise",
]
