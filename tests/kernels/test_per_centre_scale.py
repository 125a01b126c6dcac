"""Functions of one kernel with length scales of their own."""

from dataclasses import replace

import numpy as np
import pytest
from numpy.testing import assert_allclose

from relvec.kernels import Gaussian, InverseMultiquadric, Matern, RationalQuadratic
from relvec.kernels.per_centre_scale import PerCentreScale

KERNELS = [
    Gaussian(),
    Matern(nu=0.5),
    Matern(nu=2.5),
    RationalQuadratic(alpha=0.7),
    InverseMultiquadric(offset=0.5),
    Gaussian(columns=[0, 2]),
]


def functions(rng, kernel, n_features, by_feature):
    seen = 2 if kernel.columns else n_features
    scales = rng.uniform(0.5, 2, (5, seen if by_feature else 1))
    return PerCentreScale(kernel, rng.standard_normal((5, n_features)), scales)


@pytest.fixture(params=[(3, False), (3, True), (7, True), (15, False)], ids=str)
def shape(request):
    return request.param


@pytest.mark.parametrize("kernel", KERNELS, ids=repr)
def test_each_is_that_of_the_kernel_with_its_scale(kernel, shape, rng):
    varying = functions(rng, kernel, *shape)
    X = rng.standard_normal((9, shape[0]))
    values = varying.values(X)
    filled = np.empty((9, 5))
    varying.fill(X, filled)

    assert np.array_equal(values, filled)
    for m, scale in enumerate(varying.scales):
        alone = replace(kernel, length_scale=scale if len(scale) > 1 else scale[0])
        expected = alone(X, varying.centres[[m]])[:, 0]
        assert_allclose(values[:, m], expected, rtol=1e-9, atol=1e-12)


@pytest.mark.parametrize("kernel", KERNELS, ids=repr)
def test_gradients_by_log_scales_are_differences(kernel, shape, rng):
    varying = functions(rng, kernel, *shape)
    X, G = rng.standard_normal((9, shape[0])), rng.standard_normal((9, 5))
    values, by_log_scales = varying.with_gradient(X)
    assert_allclose(values, varying.values(X), rtol=1e-12)

    gradient, h = by_log_scales(G), 1e-5
    for place in np.ndindex(varying.scales.shape):
        step = np.zeros(varying.scales.shape)
        step[place] = h
        up, down = (
            np.sum(G * replace(varying, scales=varying.scales * np.exp(s)).values(X))
            for s in (step, -step)
        )
        assert_allclose(gradient[place], (up - down) / (2 * h), rtol=1e-6, atol=1e-8)


@pytest.mark.parametrize("kernel", KERNELS, ids=repr)
def test_gradients_by_position_are_differences(kernel, shape, rng):
    varying = functions(rng, kernel, *shape)
    X, weights = rng.standard_normal((9, shape[0])), rng.standard_normal(5)
    gradients, h = varying.input_gradient(X, weights), 1e-5
    seen = [0, 2] if kernel.columns else range(shape[0])

    assert gradients.shape == (9, len(seen))
    for place, feature in enumerate(seen):
        step = np.zeros(shape[0])
        step[feature] = h
        change = (varying.values(X + step) - varying.values(X - step)) @ weights
        assert_allclose(gradients[:, place], change / (2 * h), rtol=1e-5, atol=1e-7)


def test_a_part_is_that_part_and_none_is_nothing(rng):
    varying = functions(rng, Gaussian(), 3, True)
    X = rng.standard_normal((4, 3))
    chosen = np.array([1, 3])

    assert_allclose(varying.subset(chosen).values(X), varying.values(X)[:, chosen])
    none = varying.subset(np.empty(0, dtype=int))
    values, by_log_scales = none.with_gradient(X)
    assert values.shape == (4, 0)
    assert by_log_scales(values).shape == (0, 3)


def test_features_far_from_the_origin_lose_no_digits(rng):
    X = rng.standard_normal((6, 6))
    here = PerCentreScale(Gaussian(), X[:3], np.full((3, 6), 0.8))
    there = replace(here, centres=here.centres + 1e6)

    assert_allclose(there.values(X + 1e6), here.values(X), rtol=1e-8)
