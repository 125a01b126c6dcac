"""Whether the parts of a model from a file belong together."""

from collections.abc import Callable
from dataclasses import replace
from itertools import pairwise
from typing import Any

import numpy as np

from relvec.evidence import EvidenceFit, Status
from relvec.kernels import Columns
from relvec.likelihoods import Gaussian
from relvec.model_file import expected
from relvec.model_file.errors import ModelFileError
from relvec.model_file.functions import (
    check_basis,
    check_calibration,
    check_features,
    check_kernel,
    check_kernels,
    check_labels,
    check_residuals,
    check_surroundings,
)
from relvec.modelling import (
    FittedModel,
    IndependentModel,
    Learned,
    PairwiseModel,
    PartitionSummary,
    Regression,
    RobustRegression,
    SeveralOutputs,
)
from relvec.modelling.coupling import Pairs, Rest, VotingPairs
from relvec.modelling.families.classes import (
    ClassFamily,
    ClassWiseProbit,
    Logit,
    PluggedIn,
    Probit,
    TwoClasses,
)
from relvec.modelling.families.counts import Counts
from relvec.modelling.families.noise_levels import NoiseLevels
from relvec.modelling.families.probabilities import Doubt
from relvec.modelling.same_functions import Pruned
from relvec.posterior import CoupledPosterior, Posterior

# Weights of all classes together have one matrix, and probabilities many points: of
# more classes a self-test would take seconds.
_MOST_COUPLED = 64
_MOST_OUTPUTS = 10_000  # that a self-test is tried on in no time
_CLASSES: tuple[type[Any], ...] = (
    TwoClasses,
    Probit,
    ClassWiseProbit,
    PluggedIn,
    Logit,
)


def checked_fitted(model: FittedModel) -> FittedModel:
    """The model with its likelihood, if all of it is as it should be."""
    n_features = check_features(model.features)
    basis = model.basis
    check_basis(basis, n_features)
    n_outputs = _check_family(model.family)
    fit = expected.is_a("fit", model.fit, EvidenceFit)
    _check_posterior(fit.posterior, n_outputs, len(basis), model.family.coupled)
    _check_fit(fit, n_outputs, len(basis), model.family)
    _check_offset(model, n_outputs)
    size = len(basis) - basis.bias
    columns = isinstance(basis.groups[0].kernel, Columns)
    most = n_features - 1 if columns else 2**62
    expected.indices("indices", model.indices, size, -1, most)
    expected.indices("kernel_indices", model.kernel_indices, size)
    pruned = expected.is_a("pruned", model.pruned, Pruned)
    check_kernels("pruned kernels", pruned.kernels)
    _check_learned(model.learned, size, n_features)
    expected.words("remarks", model.remarks)
    if model.partition is not None:
        _check_partition(model.partition)
    if model.surroundings is not None:
        check_surroundings(model.surroundings, n_outputs, size, n_features)
    if model.residuals is not None:
        check_residuals(model.residuals)
    if model.calibration is not None:
        check_calibration(model.calibration)
    if model.noise_model is not None:
        model = replace(model, noise_model=_checked_noise_model(model))
    if fit.likelihood is not None:
        return model
    nothing = np.empty((0, n_outputs)), np.empty(0)
    likelihood = model.family.starting_likelihood(*nothing, model.offset)
    return replace(model, fit=replace(fit, likelihood=likelihood))


def _check_offset(model: FittedModel, n_outputs: int) -> None:
    if isinstance(model.family, SeveralOutputs):
        expected.reals("offset", model.offset, (n_outputs,))
    else:
        expected.number("offset", model.offset)


def checked_independent(model: IndependentModel) -> IndependentModel:
    """A model of one target for each of several, all of the same features."""
    if type(model.models) is not tuple or not model.models:
        raise expected.refuse("models", "one for each output")
    models = tuple(
        checked_fitted(expected.is_a("a model of one output", one, FittedModel))
        for one in model.models
    )
    for one in models:
        expected.is_a("its family", one.family, Counts, Regression, RobustRegression)
    _check_together(models, model.first_kernels, model.remarks)
    return replace(model, models=models)


def _checked_noise_model(model: FittedModel) -> FittedModel:
    expected.is_a("the family of a model with noise", model.family, Regression)
    noise = expected.is_a("noise_model", model.noise_model, FittedModel)
    expected.is_a("the family of its noise", noise.family, NoiseLevels)
    if noise.features != model.features:
        raise expected.refuse("features", "the same of mean and noise")
    return checked_fitted(noise)


def checked_pairwise(model: PairwiseModel) -> PairwiseModel:
    """Several binary models of the same features."""
    kinds: tuple[type[Any], ...] = (Rest, Pairs, VotingPairs)
    coupling = expected.is_a("coupling", model.coupling, *kinds)
    n_classes = check_labels(coupling.labels)
    count = n_classes if n_classes > 2 else 1
    if not isinstance(coupling, Rest):
        count = n_classes * (n_classes - 1) // 2
    if type(model.models) is not tuple or len(model.models) != count:
        raise expected.refuse("models", "one for each class or pair of classes")
    models = tuple(
        checked_fitted(expected.is_a("a model of two classes", one, FittedModel))
        for one in model.models
    )
    for one in models:
        expected.is_a("its family", one.family, TwoClasses)
    _check_together(models, model.first_kernels, model.remarks)
    return replace(model, models=models)


def _check_together(
    models: tuple[FittedModel, ...], first_kernels: Any, remarks: Any
) -> None:
    for one, other in pairwise(models):
        if one.features != other.features:
            raise expected.refuse("features", "the same in all models")
    if type(first_kernels) is not tuple or len(first_kernels) != len(models):
        raise expected.refuse("first_kernels", "a number for each model")
    for first in first_kernels:
        expected.whole("first_kernels", first, most=2**31)
    expected.words("remarks", remarks)


def _check_family(family: Any) -> int:
    """How many outputs it has."""
    expected.is_a("family", family, *_NUMBERS, *_CLASSES)
    if family.labels is not None:
        return _check_classes(family)
    return _NUMBERS[type(family)](family) or 1


def check_noise(family: Regression) -> None:
    """The noise of real targets."""
    expected.number("noise_variance", family.noise_variance, 0.0)
    expected.flag("centred", family.centred)
    if family.initial_noise_variance is not None:
        expected.number("initial_noise_variance", family.initial_noise_variance, 0.0)
    expected.positive("degrees_of_freedom", family.degrees_of_freedom, finite=False)
    expected.flag("estimated", family.estimated)


def _check_several(family: SeveralOutputs) -> int:
    """The noise of several targets, and how many there are."""
    noise, begun = family.noise_variance, family.initial_noise_variance
    expected.reals("noise_variance", noise, (None,))
    size = len(noise)
    if not 1 <= size <= _MOST_OUTPUTS or not np.all(noise > 0):
        raise expected.refuse("noise_variance", f"positive, of 1 to {_MOST_OUTPUTS}")
    known = replace(family, noise_variance=1.0, initial_noise_variance=None)
    check_noise(known)
    if np.ndim(begun):
        expected.reals("initial_noise_variance", begun, (size,))
    elif begun is not None:
        expected.number("initial_noise_variance", begun, 0.0)
    return size


def _check_counts(family: Counts) -> None:
    expected.flag("centred", family.centred)
    expected.number("dispersion", family.dispersion, 0.0)


def _check_heavy_tails(family: RobustRegression) -> None:
    expected.positive("scale_variance", family.scale_variance)
    expected.flag("centred", family.centred)
    expected.flag("freedom_estimated", family.freedom_estimated)
    if family.initial_noise_variance is not None:
        expected.number("initial_noise_variance", family.initial_noise_variance, 0.0)
    if expected.number("degrees_of_freedom", family.degrees_of_freedom) <= 2:
        raise expected.refuse("degrees_of_freedom", "more than 2")


# Families of targets that are numbers, what is asked of each, and how many outputs.
_NUMBERS: dict[type[Any], Callable[[Any], int | None]] = {
    Counts: _check_counts,
    NoiseLevels: lambda family: expected.positive("factor", family.factor),
    Regression: check_noise,
    RobustRegression: _check_heavy_tails,
    SeveralOutputs: _check_several,
}


def _check_classes(family: ClassFamily) -> int:
    n_classes = check_labels(family.labels)
    expected.flag("coupled", family.coupled)
    check_coupled(family)
    if family.doubt is not None:
        doubt = expected.is_a("doubt", family.doubt, Doubt)
        expected.reals("frequencies", doubt.frequencies, (n_classes,))
        share = expected.number("share", doubt.share, 0.0)
        if share >= 1 or np.any(doubt.frequencies < 0):
            raise expected.refuse("doubt", "a share of frequencies")
    if isinstance(family, TwoClasses):
        if n_classes != 2:
            raise expected.refuse("labels", "two")
        return 1
    if isinstance(family, Probit):
        expected.flag("moments", family.moments)
        return n_classes - 1
    return n_classes


def check_coupled(family: Any) -> None:
    """Refuse more classes than can be tried in the time that a file may take."""
    coupled, labels = getattr(family, "coupled", False), family.labels
    if coupled and len(labels) > _MOST_COUPLED:
        raise ModelFileError(
            f"weights of {len(labels)} classes have a covariance with one another, and "
            f"a model file may have {_MOST_COUPLED} such classes: choose another "
            "posterior than 'full', or keep the model by joblib.dump"
        )


def _check_posterior(posterior: Any, n_outputs: int, size: int, coupled: bool) -> None:
    kind = CoupledPosterior if coupled else Posterior
    expected.is_a("posterior", posterior, kind)
    expected.indices("active", posterior.active, size)
    expected.reals("mean", posterior.mean, (n_outputs, size))
    alpha = posterior.prior_precision
    each = coupled or np.ndim(alpha) == 2
    shape = (n_outputs, size) if each else (size,)
    expected.reals("prior_precision", alpha, shape, finite=False)
    if not np.all(alpha > 0):
        raise expected.refuse("prior_precision", "positive")
    if coupled:
        whole = n_outputs * size
        expected.reals("factor", posterior.factor, (1, whole, whole))
        _check_posterior(posterior.uncoupled, n_outputs, size, False)
        return
    expected.reals("factor", posterior.factor, (None, size, size))
    if len(posterior.factor) not in (1, n_outputs):
        raise expected.refuse("factor", "one for each output, or for all")


def _check_fit(fit: EvidenceFit, n_outputs: int, size: int, family: Any) -> None:
    expected.reals("search_mean", fit.search_mean, (n_outputs, size))
    expected.number("log_evidence", fit.log_evidence, finite=False)
    expected.history("history", fit.history, "iteration")
    expected.is_a("status", fit.status, Status)
    expected.whole("n_iter", fit.n_iter)
    expected.number("n_observations", fit.n_observations, 0.0)
    expected.whole("steps_before", fit.steps_before)
    noise: Any = fit.likelihood
    if isinstance(family, Regression) != isinstance(noise, Gaussian):
        raise ModelFileError("noise is for regression, and for nothing else")
    if noise is not None:
        expected.reals("noise_precision", noise.noise_precision, (n_outputs,))
        expected.flag("noise_estimated", noise.estimated)
        if np.ndim(noise.ceiling):
            expected.reals("noise_ceiling", noise.ceiling, (n_outputs,))
        for ceiling in np.ravel(noise.ceiling).tolist():
            expected.positive("noise_ceiling", ceiling)
        if not np.all(noise.noise_precision > 0):
            raise expected.refuse("noise_precision", "positive")


def _check_learned(learned: Any, size: int, n_features: int) -> None:
    expected.is_a("learned", learned, Learned)
    if learned.kernel is not None:
        check_kernel(learned.kernel)
    if learned.weights is not None:
        expected.reals("kernel weights", learned.weights, (None,))
    scales = learned.length_scales
    if scales is not None:
        axes = (size,) if np.ndim(scales) == 1 else (size, None)
        expected.reals("length_scales", scales, axes, finite=False)
    if learned.feature_relevance is not None:
        expected.reals("feature_relevance", learned.feature_relevance, (n_features,))
    if learned.history is not None:
        expected.history("history of kernels", learned.history)


def _check_partition(summary: Any) -> None:
    expected.is_a("partition", summary, PartitionSummary)
    expected.whole("rows of a partition", summary.size, 1)
    expected.whole("number of partitions", summary.number, 1)
    expected.number("sparseness ratio", summary.sparseness_ratio, finite=False)
    expected.history("history of partitions", summary.history)
