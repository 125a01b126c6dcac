"""Length scales moved by gradients of the evidence."""

import numpy as np
import pytest
from numpy.testing import assert_allclose

from relvec.kernel_learning import (
    Observations,
    OwnScales,
    Range,
    ScalableBasis,
    ScalePrior,
    better_scales,
)
from relvec.kernel_learning.criteria import gcv_loss
from relvec.kernels import Gaussian
from relvec.kernels.per_centre_scale import PerCentreScale
from relvec.likelihoods import Gaussian as Noise
from relvec.likelihoods import PseudoObservations

N = 80


def problem(rng, n_features=2, scale=1.0, centres=12):
    """A wave along the first feature, and functions of the wrong width."""
    X = rng.uniform(-3, 3, (N, n_features))
    y = np.sin(2 * X[:, :1]) + 0.1 * rng.standard_normal((N, 1))
    seen = PseudoObservations(y, np.ones((N, 1)), np.array([20.0]))
    observations = Observations(seen, float(N), np.array([1e8]))
    scales = np.full((centres, n_features), scale)
    basis = ScalableBasis(
        X=X,
        fixed=np.ones((N, 1)),
        varying=PerCentreScale(Gaussian(), X[:centres], scales),
        prior_precision=np.ones(1 + centres),
        noise_precision=np.array([20.0]),
        indices=np.arange(1 + centres),
    )
    return basis, observations


def allowed(n_features, least=0.05, most=50.0):
    ends = np.full(n_features, np.log(least)), np.full(n_features, np.log(most))
    return Range(*ends)


def test_a_feature_without_influence_fades(rng):
    basis, observations = problem(rng)
    before = basis.maximised(observations)[1]
    found, evidence = better_scales(
        basis, observations, allowed(2), steps=30, tied=False
    )

    first, second = found.varying.scales[0]
    assert evidence > before + 5
    assert second > 5 * first
    assert_allclose(found.model(observations).log_evidence, evidence, rtol=1e-9)


def test_tied_scales_keep_their_ratio(rng):
    basis, observations = problem(rng, scale=0.3)
    basis = basis.scaled(np.array([[0.3, 0.9]]))
    found, _ = better_scales(basis, observations, allowed(2), steps=10, tied=True)
    scales = found.varying.scales[0]

    assert_allclose(scales[1] / scales[0], 3)
    assert scales[0] > 0.35


def test_scales_stay_within_bounds(rng):
    basis, observations = problem(rng)
    narrow = allowed(2, 0.8, 1.3)
    found, _ = better_scales(basis, observations, narrow, steps=30, tied=False)

    assert np.all(found.varying.scales >= 0.8 - 1e-9)
    assert np.all(found.varying.scales <= 1.3 + 1e-9)


def test_a_constant_feature_stays_as_it_is(rng):
    basis, observations = problem(rng)
    basis.X[:, 1] = 7.0
    basis.varying.centres[:, 1] = 7.0
    found, _ = better_scales(basis, observations, allowed(2), steps=10, tied=False)

    assert_allclose(found.varying.scales[:, 1], 1.0)


def test_functions_keep_their_names_when_others_leave(rng):
    basis, observations = problem(rng)
    found, _ = better_scales(basis, observations, allowed(2), steps=30, tied=False)
    n_fixed = found.fixed.shape[1]

    assert len(found.indices) == len(found.prior_precision) < 13
    names = found.indices[n_fixed:] - 1
    assert_allclose(found.varying.centres, basis.varying.centres[names])


@pytest.mark.parametrize("n_features", [1, 2])
def test_scales_of_their_own_raise_the_evidence(n_features, rng):
    basis, observations = problem(rng, n_features)
    before, evidence = basis.maximised(observations)
    found = OwnScales(allowed(1), steps=30).better(before, observations)

    assert found.model(observations).log_evidence > evidence + 1
    assert len(np.unique(found.varying.scales[:, 0])) > 1


def test_scales_alone_leave_the_precisions(rng):
    basis, observations = problem(rng)
    before = basis.model(observations).log_evidence
    found = OwnScales(allowed(2), steps=5, joint=False).better(basis, observations)

    assert np.array_equal(found.prior_precision, basis.prior_precision)
    assert np.array_equal(found.noise_precision, basis.noise_precision)
    assert found.model(observations).log_evidence > before


def test_a_prior_holds_scales_back(rng):
    basis, observations = problem(rng, 2)
    basis, _ = basis.maximised(observations)
    free = OwnScales(allowed(2), steps=20).better(basis, observations)
    prior = ScalePrior(np.zeros((1, 2)), 1e4)
    held = OwnScales(allowed(2), steps=20, prior=prior).better(basis, observations)

    assert np.abs(np.log(held.varying.scales)).max() < 0.05
    assert np.abs(np.log(free.varying.scales)).max() > 0.3


def test_the_prior_s_gradient_is_its_difference(rng):
    prior = ScalePrior(np.array([[0.2, -0.4]]), 3.0)
    at, h = rng.standard_normal((3, 2)), 1e-6
    gradient = prior.log_density(at)[1]
    for index in np.ndindex(at.shape):
        step = np.zeros_like(at)
        step[index] = h
        up, down = (prior.log_density(at + s)[0] for s in (step, -step))
        assert_allclose(gradient[index], (up - down) / (2 * h), rtol=1e-6)


def test_elimination_leaves_ever_fewer_functions(rng):
    """One at a time, down to the last; the GCV loss falls on the way."""
    basis, observations = problem(rng, 1, scale=0.2, centres=60)
    start, _ = basis.maximised(observations)
    y = observations.seen.target
    path = list(
        OwnScales(allowed(1)).backward_elimination(
            start, observations, lambda eta: observations
        )
    )
    sizes = [len(model.varying) for model, _ in path]
    losses = [
        gcv_loss(Noise(np.ones(1)), y, held.eta, np.ones(N), size + 1)
        for (_, held), size in zip(path, sizes, strict=True)
    ]

    assert path[0][0] is start
    assert np.all(np.diff(sizes) < 0)
    assert sizes[-1] == 1
    assert 0 < np.argmin(losses) < len(losses) - 1
    assert min(losses[0], losses[-1]) > min(losses) + 0.1
    for model, held in path:
        assert_allclose(held.log_evidence, model.model(observations).log_evidence)
