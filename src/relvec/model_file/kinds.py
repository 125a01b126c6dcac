"""The kinds of objects in a model file, each under a name that never changes.

A name here, and the fields of its class, are part of the format. Renaming either needs
a new version of the format, or an entry that still reads the old name.
"""

from typing import Any, cast

import numpy as np

from relvec import kernels
from relvec.basis import Basis, Group
from relvec.evidence import BottomUp, EvidenceFit, Hyperprior, Mrvm2, Status, TopDown
from relvec.kernel_search import Adaptive, LengthScales
from relvec.kernels.combinations import Mixture
from relvec.kernels.per_centre_scale import PerCentreScale
from relvec.likelihoods import Gaussian
from relvec.lssvm import Tuning
from relvec.lssvm.dual import DualSystem, DualVariance
from relvec.lssvm.model import (
    LeastSquaresModel,
    LeaveOneOut,
    Outcome,
    RealTargets,
    SignedClasses,
)
from relvec.lssvm.ridge import RidgeVariance
from relvec.model_file.codec import Codec, Kind, of_dataclass, of_enumeration
from relvec.model_file.document import ModelFileError
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
from relvec.modelling.families.classes import (
    ClassPriorMixing,
    ClassWiseProbit,
    Logit,
    PlugInProbit,
    Probit,
    TwoClasses,
)
from relvec.modelling.families.noises import Counts, NoiseLevels
from relvec.modelling.latent import AugmentedVariance, Pruned
from relvec.modelling.predictive import Calibration, Residuals
from relvec.modelling.several_models import Pairs, Rest, VotingPairs
from relvec.partition import Incremental, SplitMerge, WorkingSet
from relvec.pivots import Pivots
from relvec.posterior import CoupledPosterior, Posterior
from relvec.typing import AnyArray

_CONSTANT = "constant"  # as ``relvec.modelling.latent`` names it
_KEY_BYTES = 8
_SEARCH = (
    "posterior",
    "search_mean",
    "log_evidence",
    "history",
    "status",
    "n_iter",
    "n_observations",
    "steps_before",
)
_MOST_PRUNED = 1_000_000  # more functions than a search can start with


def _fit_fields(fit: EvidenceFit) -> dict[str, Any]:
    """Save the noise; the rest of the likelihood follows from the family."""
    noise = fit.likelihood if isinstance(fit.likelihood, Gaussian) else None
    return {
        "noise_precision": None if noise is None else noise.noise_precision,
        "noise_estimated": None if noise is None else noise.estimated,
        "noise_ceiling": None if noise is None else noise.ceiling,
        **{name: getattr(fit, name) for name in _SEARCH},
    }


def _made_fit(
    noise_precision: Any, noise_estimated: Any, noise_ceiling: Any, **others: Any
) -> EvidenceFit:
    noise = None
    if noise_precision is not None:
        noise = Gaussian(noise_precision, noise_estimated, noise_ceiling)
    # None until the family is known.
    return EvidenceFit(likelihood=cast(Any, noise), **others)


def _dual_fields(spread: DualVariance) -> dict[str, Any]:
    """Omit the factor, which is made again when it is needed."""
    system = spread.system
    if not np.array_equal(system.functions.centres, system.rows):
        msg = "error bars of functions that are not centred on rows cannot be saved"
        raise ModelFileError(msg)
    return {
        "kernel": system.functions.kernel,
        "rows": system.rows,
        "weight": system.weight,
        "intercept": system.intercept,
        "scales": list(spread.scales),
        "g": spread.g,
        "q": spread.q,
    }


def _made_dual(*, scales: Any, g: Any, q: Any, **system: Any) -> DualVariance:
    functions = Group(system.pop("kernel"), system["rows"])
    t, u = scales
    return DualVariance(DualSystem(functions, **system), (t, u), g, q, cast(Any, None))


def _pruned_fields(pruned: Pruned) -> dict[str, Any]:
    """Save the keys in order, each as a number of eight bytes."""
    known = sorted(key for key in pruned.keys if key != _CONSTANT)
    if any(not isinstance(centre, bytes) for _, centre in known):
        raise ModelFileError("functions of objects cannot be saved in a model file")
    return {
        "kernels": pruned.kernels,
        "constant": _CONSTANT in pruned.keys,
        "groups": np.array([group for group, _ in known], dtype=np.int64),
        "keys": np.frombuffer(b"".join(key for _, key in known), dtype="<u8"),
    }


def _made_pruned(kernels: Any, constant: Any, groups: Any, keys: Any) -> Pruned:
    _check_keys(groups, keys)
    content = keys.astype("<u8").tobytes()
    pairs = [
        (int(group), content[_KEY_BYTES * place : _KEY_BYTES * (place + 1)])
        for place, group in enumerate(groups)
    ]
    names: list[Any] = [_CONSTANT] if constant else []
    return Pruned(kernels, frozenset([*names, *pairs]))


def _check_keys(groups: AnyArray, keys: AnyArray) -> None:
    known = getattr(groups, "dtype", None), getattr(keys, "dtype", None)
    if known != (np.int64, np.uint64) or groups.ndim != 1 or groups.shape != keys.shape:
        raise ModelFileError("the keys of pruned functions are malformed")
    if len(keys) > _MOST_PRUNED:
        raise ModelFileError(f"it has more than {_MOST_PRUNED:,} pruned functions")


_SPECIAL = [
    Kind(
        "part.EvidenceFit",
        EvidenceFit,
        ("noise_precision", "noise_estimated", "noise_ceiling", *_SEARCH),
        take=_fit_fields,
        make=_made_fit,
    ),
    Kind(
        "part.DualSpread",
        DualVariance,
        ("kernel", "rows", "weight", "intercept", "scales", "g", "q"),
        take=_dual_fields,
        make=_made_dual,
    ),
    Kind.of_attributes("part.Pivots", Pivots, ("kernel", "rows", "factor")),
    Kind(
        "part.Pruned",
        Pruned,
        ("kernels", "constant", "groups", "keys"),
        take=_pruned_fields,
        make=_made_pruned,
    ),
]
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
    "family.PluggedIn": PlugInProbit,
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
    "part.Doubt": ClassPriorMixing,
    "part.Features": Features,
    "part.Group": Group,
    "part.Learned": Learned,
    "part.LeftOut": LeaveOneOut,
    "part.Outcome": Outcome,
    "part.Partition": PartitionSummary,
    "part.Posterior": Posterior,
    "part.Residuals": Residuals,
    "part.RidgeSpread": RidgeVariance,
    "part.Surroundings": AugmentedVariance,
    "part.Varying": PerCentreScale,
}


def _all_kinds() -> list[Kind]:
    others = {**_SETTINGS, **_FAMILIES, **_PARTS}
    plain = [
        *(of_dataclass(name, cls, kernel=True) for name, cls in _KERNELS.items()),
        *(of_dataclass(name, cls) for name, cls in others.items()),
    ]
    return [*plain, *_SPECIAL, of_enumeration("status", Status)]


CODEC = Codec(_all_kinds())
