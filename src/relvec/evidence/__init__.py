"""Maximising the evidence: problem, driver, algorithms."""

from relvec.evidence.base import (
    Callback,
    EvidenceFit,
    EvidenceMaximiser,
    Problem,
    Snapshot,
    Status,
)
from relvec.evidence.maximise import Limits, maximise
from relvec.evidence.pooled import Pooled
from relvec.evidence.rounds import Rounds
from relvec.evidence.sequential import Sequential

__all__ = [
    "Callback",
    "EvidenceFit",
    "EvidenceMaximiser",
    "Limits",
    "Pooled",
    "Problem",
    "Rounds",
    "Sequential",
    "Snapshot",
    "Status",
    "maximise",
]
