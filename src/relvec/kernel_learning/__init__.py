"""Parameters of kernels, learned from the data that a model is fitted to."""

from relvec.kernel_learning.bound import WeightBound
from relvec.kernel_learning.criteria import CRITERIA, Judged, sparsest
from relvec.kernel_learning.fixed_basis import FixedBasisModel, Observations
from relvec.kernel_learning.gaussian_process import GaussianProcess, Proposal
from relvec.kernel_learning.own_scales import OwnScales, ScalePrior
from relvec.kernel_learning.scales import Range, ScalableBasis, better_scales
from relvec.kernel_learning.weights import Mixed, better_weights

__all__ = [
    "CRITERIA",
    "FixedBasisModel",
    "GaussianProcess",
    "Judged",
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
