"""A fitted model as kernel learning sees it: a basis whose scales may move."""

import numpy as np

from relvec.kernel_learning import Observations, ScalableBasis, WeightBound
from relvec.kernel_search.learnable import as_varying
from relvec.kernels.varying import Varying
from relvec.modelling import FittedModel, TrainingSet
from relvec.typing import Array


def observations(
    model: FittedModel, data: TrainingSet, eta: Array, bound: WeightBound | None
) -> Observations:
    """The data as a model with these latent values sees them."""
    likelihood, weight = model.fit.likelihood, data.weight
    ceiling = likelihood.parameter_ceiling
    if data.likelihood.unit is not None:
        # Outputs that share α in units of their noise do so while that is held.
        likelihood = data.likelihood.with_parameters(likelihood.log_parameters)
        ceiling = None
    seen = likelihood.pseudo_observations(data.targets, eta, weight)
    return Observations(seen, float(weight.sum()), ceiling, bound)


def scalable(
    model: FittedModel, data: TrainingSet, bound: WeightBound | None = None
) -> tuple[ScalableBasis, Observations]:
    """A model's functions, those of the learned kernels to be moved; and the data."""
    basis, X = model.basis, data.table
    seen = observations(model, data, model.latent(X)[0] - data.offset, bound)
    others, moving = [np.arange(int(basis.bias))], []
    groups: list[Varying] = []
    for group, part in zip(basis.groups, basis.parts, strict=True):
        varying = as_varying(group)
        indices = np.arange(part.start, part.stop)
        if varying is None:
            others.append(indices)
        else:
            moving.append(indices)
            groups.append(varying)
    fixed = np.concatenate(others)
    indices = np.concatenate([fixed, *moving])
    # Where every class has its own: what they have in common.
    precision = 1 / np.mean(1 / np.atleast_2d(model.fit.prior_precision), axis=0)
    start = ScalableBasis(
        X=X,
        fixed=basis.subset(fixed)(X),
        varying=Varying(
            groups[0].kernel,
            np.concatenate([group.centres for group in groups]),
            np.concatenate([group.scales for group in groups]),
        ),
        prior_precision=precision[indices],
        noise_precision=seen.seen.noise_precision,
        indices=indices,
    )
    return start, seen
