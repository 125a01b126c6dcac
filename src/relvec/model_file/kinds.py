"""What a model file may hold: every class by a name that stays, whatever becomes of it.

A name here, and the fields of its class, are part of the format: to rename either is a
new version of the format, or an entry that still reads the old name.
"""

from typing import Any

from relvec import kernels
from relvec.basis import Basis, Group
from relvec.evidence import BottomUp, Hyperprior, Mrvm2, Status, TopDown
from relvec.kernel_search import Adaptive, LengthScales
from relvec.kernels.mixture import Mixture
from relvec.kernels.varying import Varying
from relvec.lssvm import Tuning
from relvec.lssvm.evidence import LeftOut
from relvec.lssvm.families import RealTargets, SignedClasses
from relvec.lssvm.model import LeastSquaresModel, Outcome
from relvec.lssvm.ridge import RidgeSpread
from relvec.model_file.codec import Codec
from relvec.model_file.kind import Kind, of_dataclass, of_enumeration
from relvec.model_file.parts import DUAL_SPREAD, EVIDENCE_FIT, PIVOTS, PRUNED
from relvec.modelling import (
    Features,
    FittedModel,
    IndependentModel,
    Learned,
    Mrvm1,
    OneAgainstOne,
    PairwiseModel,
    PartitionSummary,
    Regression,
    RobustRegression,
    SeveralOutputs,
    Softmax,
    StudentT,
)
from relvec.modelling.coupling import Pairs, Rest, VotingPairs
from relvec.modelling.families.classes import (
    ClassWiseProbit,
    Logit,
    PluggedIn,
    Probit,
    TwoClasses,
)
from relvec.modelling.families.counts import Counts
from relvec.modelling.families.noise_levels import NoiseLevels
from relvec.modelling.families.probabilities import Doubt
from relvec.modelling.residuals import Calibration, Residuals
from relvec.modelling.surroundings import Surroundings
from relvec.partition import Incremental, SplitMerge, WorkingSet
from relvec.posterior import CoupledPosterior, Posterior

_KERNELS: dict[str, Any] = {
    "kernel.Checked": kernels.Checked,
    "kernel.Columns": kernels.Columns,
    "kernel.CompactMatern": kernels.CompactMatern,
    "kernel.Constant": kernels.Constant,
    "kernel.Gaussian": kernels.Gaussian,
    "kernel.GaussianProcess": kernels.GaussianProcessKernel,
    "kernel.InverseMultiquadric": kernels.InverseMultiquadric,
    "kernel.Laplacian": kernels.Laplacian,
    "kernel.Linear": kernels.Linear,
    "kernel.Matern": kernels.Matern,
    "kernel.Mixture": Mixture,
    "kernel.Periodic": kernels.Periodic,
    "kernel.Polynomial": kernels.Polynomial,
    "kernel.Product": kernels.Product,
    "kernel.RationalQuadratic": kernels.RationalQuadratic,
    "kernel.Scaled": kernels.Scaled,
    "kernel.Sigmoid": kernels.Sigmoid,
    "kernel.Sum": kernels.Sum,
    "kernel.Taper": kernels.Taper,
}
_SETTINGS: dict[str, Any] = {
    "settings.Adaptive": Adaptive,
    "settings.BottomUp": BottomUp,
    "settings.Hyperprior": Hyperprior,
    "settings.Incremental": Incremental,
    "settings.LengthScales": LengthScales,
    "settings.Mrvm1": Mrvm1,
    "settings.Mrvm2": Mrvm2,
    "settings.OneAgainstOne": OneAgainstOne,
    "settings.Softmax": Softmax,
    "settings.SplitMerge": SplitMerge,
    "settings.StudentT": StudentT,
    "settings.TopDown": TopDown,
    "settings.Tuning": Tuning,
    "settings.WorkingSet": WorkingSet,
}
_FAMILIES: dict[str, Any] = {
    "family.Counts": Counts,
    "family.NoiseLevels": NoiseLevels,
    "family.Regression": Regression,
    "family.RobustRegression": RobustRegression,
    "family.SeveralOutputs": SeveralOutputs,
    "family.TwoClasses": TwoClasses,
    "family.Probit": Probit,
    "family.ClassWiseProbit": ClassWiseProbit,
    "family.PluggedIn": PluggedIn,
    "family.Logit": Logit,
    "family.RealTargets": RealTargets,
    "family.SignedClasses": SignedClasses,
    "coupling.Rest": Rest,
    "coupling.Pairs": Pairs,
    "coupling.VotingPairs": VotingPairs,
}
_PARTS: dict[str, Any] = {
    "model.Fitted": FittedModel,
    "model.Independent": IndependentModel,
    "model.Pairwise": PairwiseModel,
    "model.LeastSquares": LeastSquaresModel,
    "part.Basis": Basis,
    "part.Calibration": Calibration,
    "part.CoupledPosterior": CoupledPosterior,
    "part.Doubt": Doubt,
    "part.Features": Features,
    "part.Group": Group,
    "part.Learned": Learned,
    "part.LeftOut": LeftOut,
    "part.Outcome": Outcome,
    "part.Partition": PartitionSummary,
    "part.Posterior": Posterior,
    "part.Residuals": Residuals,
    "part.RidgeSpread": RidgeSpread,
    "part.Surroundings": Surroundings,
    "part.Varying": Varying,
}


def _all_kinds() -> list[Kind]:
    others = {**_SETTINGS, **_FAMILIES, **_PARTS}
    plain = [
        *(of_dataclass(name, cls, kernel=True) for name, cls in _KERNELS.items()),
        *(of_dataclass(name, cls) for name, cls in others.items()),
    ]
    special = [DUAL_SPREAD, EVIDENCE_FIT, PIVOTS, PRUNED]
    return [*plain, *special, of_enumeration("status", Status)]


CODEC = Codec(_all_kinds())
