"""Parameters of kernels, learned from the data that a model is fitted to."""

from relvec.kernel_learning.bound import WeightBound
from relvec.kernel_learning.criteria import CRITERIA, Judged, charged_loss, sparsest
from relvec.kernel_learning.held import Held, Observed
from relvec.kernel_learning.own_scales import OwnScales, ScalePrior
from relvec.kernel_learning.process import Process, Proposal
from relvec.kernel_learning.scales import Placed, Range, better_scales
from relvec.kernel_learning.weights import Mixed, better_weights

__all__ = [
    "CRITERIA",
    "Held",
    "Judged",
    "Mixed",
    "Observed",
    "OwnScales",
    "Placed",
    "Process",
    "Proposal",
    "Range",
    "ScalePrior",
    "WeightBound",
    "better_scales",
    "better_weights",
    "charged_loss",
    "sparsest",
]
