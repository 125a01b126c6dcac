"""Whether a model from a file is complete and its parts belong together.

Each class has a schema, a rule for each of its fields. Rules share the sizes of the
model: its ``features``, basis ``functions``, ``outputs`` and others.
"""

from dataclasses import replace
from itertools import pairwise
from typing import Any

import numpy as np

from relvec.basis import Basis, Group
from relvec.evidence import EvidenceFit, Status
from relvec.kernels import Checked, Columns
from relvec.kernels.base import chosen_columns
from relvec.kernels.combinations import Mixture
from relvec.kernels.per_centre_scale import PerCentreScale
from relvec.kernels.stationary import Radial
from relvec.likelihoods import Gaussian
from relvec.lssvm import LeastSquaresModel, RealTargets, SignedClasses
from relvec.lssvm.dual import DualSystem, DualVariance
from relvec.lssvm.model import LeaveOneOut, Outcome
from relvec.lssvm.ridge import RidgeVariance
from relvec.model_file.document import ModelFileError
from relvec.model_file.schema import (
    Rule,
    Schema,
    Sizes,
    array_or_number,
    flag,
    history,
    indices,
    instance,
    integer,
    member,
    number,
    optional,
    positive,
    reals,
    refusal,
    words,
)
from relvec.modelling import (
    Features,
    FittedModel,
    IndependentModel,
    Learned,
    PairwiseModel,
    PartitionSummary,
    Regression,
    RobustRegression,
    SeveralOutputs,
)
from relvec.modelling.families.classes import (
    ClassFamily,
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
from relvec.pivots import Pivots
from relvec.posterior import CoupledPosterior, Posterior

# Contrasts and pairs of K classes are K² numbers, which are in no file.
_MOST_CLASSES = 2048
# Weights of all classes together have one covariance matrix, and their probabilities
# are averages over many points: with more classes a self-test would take seconds.
_MOST_COUPLED = 64
_MOST_OUTPUTS = 10_000  # for which a self-test takes no time


def checked_fitted(model: FittedModel) -> FittedModel:
    """Check a sparse model and add its likelihood."""
    sizes: Sizes = {}
    _SCHEMAS[FittedModel].check(model, sizes)
    if model.noise_model is not None:
        model = replace(model, noise_model=_checked_noise_model(model))
    if model.fit.likelihood is not None:
        return model
    nothing = np.empty((0, sizes["outputs"])), np.empty(0)
    likelihood = model.family.starting_likelihood(*nothing, model.offset)
    return replace(model, fit=replace(model.fit, likelihood=likelihood))


def checked_independent(model: IndependentModel) -> IndependentModel:
    """Check one model for each of several targets."""
    if type(model.models) is not tuple or not model.models:
        raise refusal("models", "one for each output")
    families = Counts, Regression, RobustRegression
    return _checked_together(model, *families)


def checked_pairwise(model: PairwiseModel) -> PairwiseModel:
    """Check the binary models of several classes."""
    coupling: Any = instance("coupling", model.coupling, *_COUPLINGS)
    n_classes = _check_labels("labels", coupling.labels, {})
    count = n_classes if n_classes > 2 else 1
    if not isinstance(coupling, Rest):
        count = n_classes * (n_classes - 1) // 2
    if type(model.models) is not tuple or len(model.models) != count:
        raise refusal("models", "one for each class or pair of classes")
    return _checked_together(model, TwoClasses)


def checked_least_squares(model: LeastSquaresModel) -> LeastSquaresModel:
    """Check an LS-SVM."""
    _SCHEMAS[LeastSquaresModel].check(model, {})
    return model


def check_coupled(family: Any) -> None:
    """Refuse more classes than a self-test can try in a short time."""
    coupled, labels = getattr(family, "coupled", False), family.labels
    if coupled and len(labels) > _MOST_COUPLED:
        raise ModelFileError(
            f"weights of {len(labels)} classes have a covariance with one another, and "
            f"a model file may have {_MOST_COUPLED} such classes: choose another "
            "posterior than 'full', or keep the model by joblib.dump"
        )


def _checked_together(model: Any, *families: type[Any]) -> Any:
    models = tuple(
        checked_fitted(instance("each of several models", one, FittedModel))
        for one in model.models
    )
    for one in models:
        instance("its family", one.family, *families)
    for one, other in pairwise(models):
        if one.features != other.features:
            raise refusal("features", "the same in all models")
    first = model.first_kernels
    if type(first) is not tuple or len(first) != len(models):
        raise refusal("first_kernels", "a number for each model")
    for each in first:
        integer(most=2**31)("first_kernels", each, {})
    words("remarks", model.remarks, {})
    return replace(model, models=models)


def _checked_noise_model(model: FittedModel) -> FittedModel:
    instance("the family of a model with noise", model.family, Regression)
    noise = instance("noise_model", model.noise_model, FittedModel)
    instance("the family of its noise", noise.family, NoiseLevels)
    if noise.features != model.features:
        raise refusal("features", "the same of mean and noise")
    return checked_fitted(noise)


def _a(*kinds: type[Any]) -> Rule:
    """Require an object of one of these classes, and check it by its schema."""

    def rule(name: str, value: Any, sizes: Sizes) -> None:
        instance(name, value, *kinds)
        if type(value) in _SCHEMAS:
            _SCHEMAS[type(value)].check(value, sizes)

    return rule


def _kernel(name: str, value: Any, sizes: Sizes) -> None:
    if isinstance(value, Checked):
        _kernel(name, value.function, sizes)
    elif isinstance(value, Mixture):
        _kernels("the kernels of a mixture", value.kernels, sizes)
        reals(len(value.kernels))("weights of kernels", value.weights, sizes)
        if not value.kernels:
            raise refusal("a mixture", "of at least one kernel")
    elif not callable(value) or isinstance(value, type):
        raise refusal(name, "a kernel")


def _kernels(name: str, value: Any, sizes: Sizes) -> None:
    if type(value) is not tuple:
        raise refusal(name, "a tuple of kernels")
    for kernel in value:
        _kernel(name, kernel, sizes)


def _check_labels(name: str, value: Any, sizes: Sizes) -> int:
    """Require distinct classes in order, and count them."""
    known = isinstance(value, np.ndarray) and value.ndim == 1
    if not known or not 2 <= len(value) <= _MOST_CLASSES:
        raise refusal(name, f"an array of 2 to {_MOST_CLASSES}")
    if not np.all(value[1:] > value[:-1]):
        raise refusal(name, "in order, each once")
    sizes["classes"] = len(value)
    return len(value)


def _labels(name: str, value: Any, sizes: Sizes) -> None:
    _check_labels(name, value, sizes)


def _features(features: Features, sizes: Sizes) -> None:
    if features.names is not None and len(features.names) != features.number:
        raise refusal("feature names", f"{features.number}")


def _groups(name: str, value: Any, sizes: Sizes) -> None:
    if type(value) is not tuple or not value:
        raise refusal(name, "at least one")
    for group in value:
        _a(Group, PerCentreScale)("group", group, sizes)


def _basis(basis: Basis, sizes: Sizes) -> None:
    sizes["functions"] = len(basis)
    sizes["kernel functions"] = len(basis) - basis.bias


def _centres(group: Group, sizes: Sizes) -> None:
    if isinstance(group.kernel, Columns):
        indices(None, 0, "features")("centres", group.centres, sizes)
    else:
        reals(None, "features")("centres", group.centres, sizes)


def _scales(group: PerCentreScale, sizes: Sizes) -> None:
    if not isinstance(group.kernel, Radial):
        raise refusal("a kernel of many widths", "one of distances")
    reals(len(group.centres), None, above=0.0)("scales", group.scales, sizes)
    seen = sizes["features"]
    if group.kernel.columns is not None:
        seen = len(chosen_columns(group.kernel.columns, seen))
    if group.scales.shape[1] not in (1, seen):
        raise refusal("scales", "one for all features, or for each")


def _surroundings(found: AugmentedVariance, sizes: Sizes) -> None:
    reals("directions", len(found.pivots))("by_pivots", found.by_pivots, sizes)
    shared = sizes["kernel functions"] if np.size(found.by_functions) else 0
    reals("directions", shared)("by_functions", found.by_functions, sizes)
    reals("directions", above=0.0)("determined", found.determined, sizes)
    if isinstance(found.pivots.kernel, Columns):
        raise refusal("surroundings", "a process with a variance")


def _quantiles(name: str, value: Any, sizes: Sizes) -> None:
    """Require quantiles that rise from zero, of one output or several."""
    reals(None, *(None,) * (np.ndim(value) > 1))(name, value, sizes)
    if not len(value) or not np.all(np.diff(value, axis=0, prepend=0.0) >= 0):
        raise refusal(name, "rising from zero on")


def _coverage(name: str, value: Any, sizes: Sizes) -> None:
    shares = value if type(value) is tuple else () if value is None else (value,)
    for share in shares:
        number(0.0, 1.0)(name, share, sizes)


def _classes(family: ClassFamily, sizes: Sizes) -> None:
    n_classes = sizes["classes"]
    check_coupled(family)
    if isinstance(family, TwoClasses) and n_classes != 2:
        raise refusal("labels", "two")
    one_less = isinstance(family, TwoClasses | Probit)
    sizes["outputs"] = n_classes - one_less


def _signed_classes(family: SignedClasses, sizes: Sizes) -> None:
    sizes["outputs"] = 1 if sizes["classes"] == 2 else sizes["classes"]


def _one_output(family: Any, sizes: Sizes) -> None:
    sizes["outputs"] = 1


def _several_outputs(family: SeveralOutputs, sizes: Sizes) -> None:
    if not 1 <= sizes["outputs"] <= _MOST_OUTPUTS:
        raise refusal("noise_variance", f"an array of 1 to {_MOST_OUTPUTS}")


def _doubt(doubt: ClassPriorMixing, sizes: Sizes) -> None:
    if doubt.share >= 1:
        raise refusal("doubt", "a share of frequencies")


def _posterior(posterior: Any, sizes: Sizes) -> None:
    n_outputs, size = sizes["outputs"], sizes["functions"]
    coupled = isinstance(posterior, CoupledPosterior)
    alpha, factor = posterior.prior_precision, posterior.factor
    each = ("outputs",) if coupled or np.ndim(alpha) == 2 else ()
    shape = (*each, "functions")
    reals(*shape, finite=False, above=0.0)("prior_precision", alpha, sizes)
    if coupled:
        whole = n_outputs * size
        reals(1, whole, whole)("factor", factor, sizes)
        _a(Posterior)("posterior", posterior.uncoupled, sizes)
        return
    reals(None, "functions", "functions")("factor", factor, sizes)
    if len(factor) not in (1, n_outputs):
        raise refusal("factor", "one for each output, or for all")


def _learned(learned: Learned, sizes: Sizes) -> None:
    scales = learned.length_scales
    if scales is not None:
        axes = ("kernel functions", *(None,) * (np.ndim(scales) != 1))
        reals(*axes, finite=False)("length_scales", scales, sizes)


def _fitted(model: FittedModel, sizes: Sizes) -> None:
    kind = CoupledPosterior if model.family.coupled else Posterior
    instance("posterior", model.fit.posterior, kind)
    if isinstance(model.family, Regression) != isinstance(
        model.fit.likelihood, Gaussian
    ):
        raise ModelFileError("noise is for regression, and for nothing else")
    several = isinstance(model.family, SeveralOutputs)
    rule = reals("outputs") if several else number()
    rule("offset", model.offset, sizes)
    columns = isinstance(model.basis.groups[0].kernel, Columns)
    most = "features" if columns else 2**62
    indices("kernel functions", -1, most)("indices", model.indices, sizes)


def _least_squares(model: LeastSquaresModel, sizes: Sizes) -> None:
    if len(model.basis.groups) != 1 or model.basis.bias:
        raise refusal("basis", "of one kernel, without a constant")
    instance("group", model.basis.groups[0], Group)


def _dual_scales(name: str, value: Any, sizes: Sizes) -> None:
    for scale in value:
        positive(name, scale, sizes)


_CLASSES = TwoClasses, Probit, ClassWiseProbit, PlugInProbit, Logit
_NUMBERS = Counts, NoiseLevels, Regression, RobustRegression, SeveralOutputs
_COUPLINGS: tuple[type[Any], ...] = Rest, Pairs, VotingPairs
_CEILING = number(above=0.0, finite=False)  # a noise precision may be unlimited


def _ceilings(name: str, value: Any, sizes: Sizes) -> None:
    if np.ndim(value):
        reals("outputs", above=0.0)(name, value, sizes)
    else:
        _CEILING(name, value, sizes)


_OF_REALS: dict[str, Rule] = {
    "noise_variance": number(0.0),
    "centred": flag,
    "initial_noise_variance": optional(number(0.0)),
    "degrees_of_freedom": number(above=0.0, finite=False),
    "estimated": flag,
}
_OF_CLASSES: dict[str, Rule] = {
    "labels": _labels,
    "coupled": flag,
    "doubt": optional(_a(ClassPriorMixing)),
}
_POSTERIOR = Schema(
    {
        "active": indices("functions"),
        "mean": reals("outputs", "functions"),
    },
    _posterior,
)
_SCHEMAS: dict[type[Any], Schema] = {
    Features: Schema(
        {"number": integer(1, 2**31, size="features"), "names": optional(words)},
        _features,
    ),
    Basis: Schema({"bias": flag, "groups": _groups}, _basis),
    Group: Schema({"kernel": _kernel}, _centres),
    PerCentreScale: Schema({"centres": reals(None, "features")}, _scales),
    Counts: Schema({"centred": flag, "dispersion": number(0.0)}, _one_output),
    NoiseLevels: Schema({"factor": positive}, _one_output),
    Regression: Schema(_OF_REALS, _one_output),
    RealTargets: Schema(_OF_REALS, _one_output),
    RobustRegression: Schema(
        {
            "scale_variance": positive,
            "centred": flag,
            "freedom_estimated": flag,
            "initial_noise_variance": optional(number(0.0)),
            "degrees_of_freedom": number(above=2.0),
        },
        _one_output,
    ),
    SeveralOutputs: Schema(
        {
            **_OF_REALS,
            "noise_variance": reals("outputs", above=0.0),
            "initial_noise_variance": optional(
                array_or_number(reals("outputs"), number(0.0))
            ),
        },
        _several_outputs,
    ),
    ClassPriorMixing: Schema(
        {"frequencies": reals("classes", least=0.0), "share": number(0.0)}, _doubt
    ),
    **{kind: Schema(_OF_CLASSES, _classes) for kind in _CLASSES},
    Probit: Schema({**_OF_CLASSES, "moments": flag}, _classes),
    SignedClasses: Schema(
        {
            "labels": _labels,
            "noise_variance": number(0.0),
            "link_variance": positive,
        },
        _signed_classes,
    ),
    Posterior: _POSTERIOR,
    CoupledPosterior: _POSTERIOR,
    Gaussian: Schema(
        {
            "noise_precision": reals("outputs", above=0.0),
            "estimated": flag,
            "ceiling": _ceilings,
        }
    ),
    EvidenceFit: Schema(
        {
            "posterior": _a(Posterior, CoupledPosterior),
            "search_mean": reals("outputs", "functions"),
            "log_evidence": number(finite=False),
            "history": history("iteration"),
            "status": _a(Status),
            "n_iter": integer(),
            "n_observations": number(0.0),
            "steps_before": integer(),
            "likelihood": optional(_a(Gaussian)),
        }
    ),
    Pruned: Schema({"kernels": _kernels}),
    Learned: Schema(
        {
            "kernel": optional(_kernel),
            "weights": optional(reals(None)),
            "feature_relevance": optional(reals("features")),
            "history": optional(history()),
        },
        _learned,
    ),
    PartitionSummary: Schema(
        {
            "size": integer(1),
            "number": integer(1),
            "sparseness_ratio": number(finite=False),
            "history": history(),
        }
    ),
    AugmentedVariance: Schema(
        {
            "pivots": _a(Group),
            "amplitude": reals("outputs", least=0.0),
            "power": positive,
            "mean_power": positive,
            "mean": optional(reals("outputs")),
        },
        _surroundings,
    ),
    Residuals: Schema({"quantiles": _quantiles, "count": positive}),
    Calibration: Schema(
        {
            "method": member("leave-one-out", "folds"),
            "n_rows": positive,
            "coverage": _coverage,
            "log_loss": optional(number(0.0)),
            "baseline_log_loss": optional(number(0.0)),
        }
    ),
    FittedModel: Schema(
        {
            "features": _a(Features),
            "basis": _a(Basis),
            "family": _a(*_NUMBERS, *_CLASSES),
            "fit": _a(EvidenceFit),
            "kernel_indices": indices("kernel functions"),
            "pruned": _a(Pruned),
            "learned": _a(Learned),
            "remarks": words,
            "partition": optional(_a(PartitionSummary)),
            "surroundings": optional(_a(AugmentedVariance)),
            "residuals": optional(_a(Residuals)),
            "calibration": optional(_a(Calibration)),
        },
        _fitted,
    ),
    LeastSquaresModel: Schema(
        {
            "features": _a(Features),
            "basis": _a(Basis),
            "family": _a(RealTargets, SignedClasses),
            "coefficients": reals("functions", "outputs"),
            "bias": reals("outputs"),
            "scale": number(0.0),
            "C": positive,
            "indices": indices("functions", -1),
            "spread": optional(_a(DualVariance, RidgeVariance)),
            "fit": _a(Outcome),
        },
        _least_squares,
    ),
    DualSystem: Schema(
        {
            "functions": _a(Group),
            "rows": reals("rows", "features"),
            "weight": reals("rows", above=0.0),
            "intercept": flag,
        }
    ),
    DualVariance: Schema(
        {
            "system": _a(DualSystem),
            "g": reals("rows"),
            "q": number(),
            "scales": _dual_scales,
        }
    ),
    Pivots: Schema(
        {
            "kernel": _kernel,
            "rows": reals("rank", "features"),
            "factor": reals("rank", "rank"),
        }
    ),
    RidgeVariance: Schema(
        {
            "pivots": _a(Pivots),
            "mean": reals("rank"),
            "half": reals("rank", "rank"),
            "constant": number(0.0),
            "C": positive,
        }
    ),
    LeaveOneOut: Schema(
        {
            "residual": reals("left out", "outputs"),
            "remaining": reals("left out"),
            "weight": reals("left out"),
            "missing": array_or_number(reals("left out"), number()),
        }
    ),
    Outcome: Schema(
        {
            "method": member(),
            "log_evidence": number(finite=False),
            "status": _a(Status),
            "n_iter": integer(),
            "remarks": words,
            "history": optional(history()),
            "calibration": optional(_a(Calibration)),
            "left_out": optional(_a(LeaveOneOut)),
        }
    ),
}
