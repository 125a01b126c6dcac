"""Parameters of kernels, learned from the data that a model is fitted to."""

from relvec.kernel_learning.criteria import CRITERIA, LeaveOneOut, sparsest
from relvec.kernel_learning.fixed_basis import (
    FixedBasisModel,
    Mixed,
    Observations,
    WeightBound,
    better_weights,
)
from relvec.kernel_learning.gaussian_process import GaussianProcess, Proposal
from relvec.kernel_learning.scales import (
    OwnScales,
    Range,
    ScalableBasis,
    ScalePrior,
    better_scales,
)

__all__ = [
    "CRITERIA",
    "FixedBasisModel",
    "GaussianProcess",
    "LeaveOneOut",
    "Mixed",
    "Observations",
    "OwnScales",
    "Proposal",
    "Range",
    "ScalableBasis",
    "ScalePrior",
    "WeightBound",
    "better_scales",
    "better_weights",
    "sparsest",
]
