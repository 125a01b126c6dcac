"""Latent values by functions that are evaluated once, beside models one by one."""

import pickle
from dataclasses import replace

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

from relvec import RVC, RVR
from relvec.kernels import CompactMatern, Gaussian, Linear, Matern, Polynomial
from relvec.modelling.latent import evaluated_once

KERNELS = {
    "shared": Gaussian(1.0),
    "several": [Gaussian(0.7), Linear()],
    "compact": CompactMatern(1.0, support=2.0),
    "by class": {"fig": Gaussian(1.0), "kiwi": Matern(1.0), "plum": Gaussian(1.0)},
    "growing": Polynomial(2, 0.4, 1.0),
}


def three_classes(n_rows=60):
    rng = np.random.default_rng(4)
    X = rng.standard_normal((n_rows, 2))
    noisy = X[:, 0] + 0.3 * rng.standard_normal(n_rows)
    return X, np.array(["fig", "kiwi", "plum"])[np.digitize(noisy, [-0.5, 0.5])]


def rows_about(X):
    """Near, at and far from rows."""
    return np.vstack([X[:20] + 0.1, X[:3], 30 * X[:5]])


def alone(model, X):
    """Moments of η by what a model is made of, one thing after the other."""
    functions = model.basis(X)
    mean, variance = model.posterior.predict(functions)
    if model.surroundings is not None:
        found = model.surroundings.joined(X, functions, mean, variance)
        mean, variance = found
    return mean + model.offset, variance


def compare(model, each, X):
    found, known = model.latent(X), [alone(one, X) for one in each]
    for moment, parts in zip(found, zip(*known, strict=True), strict=True):
        expected = np.hstack(parts)
        scale = np.abs(expected).max()
        assert_allclose(moment, expected, rtol=1e-9, atol=1e-11 * scale)
    for row in X[::9]:
        single = model.latent(row[None])
        for moment, parts in zip(single, model.latent(X), strict=True):
            where = np.flatnonzero((row == X).all(axis=1))[0]
            scale = np.abs(parts).max()
            assert_allclose(moment[0], parts[where], rtol=1e-9, atol=1e-11 * scale)


@pytest.mark.parametrize("uncertainty", ["plain", "augmented"])
@pytest.mark.parametrize("kernel", KERNELS)
def test_models_together_say_what_each_says(kernel, uncertainty):
    X, y = three_classes()
    params = {"multi_class": "ovr", "uncertainty": uncertainty}
    model = RVC(KERNELS[kernel], **params).fit(X, y).model_

    compare(model, model.models, rows_about(X))


@pytest.mark.parametrize(
    "params",
    [
        {"multi_class": "ovo"},
        {"multi_class": "ovr", "kernel_learning": "adaptive-ard"},
        {"multi_class": "ovr", "fit_intercept": False},
    ],
)
def test_whatever_tells_classes_apart(params):
    X, y = three_classes()
    model = RVC(gamma=0.5, **params).fit(X, y).model_

    compare(model, model.models, rows_about(X))


@pytest.mark.parametrize("multi_class", ["mrvm1", "mrvm2", "softmax"])
@pytest.mark.parametrize("uncertainty", ["plain", "augmented"])
def test_outputs_of_one_model(multi_class, uncertainty):
    X, y = three_classes()
    params = {"multi_class": multi_class, "uncertainty": uncertainty}
    model = RVC(gamma=0.5, **params).fit(X, y).model_

    compare(model, [model], rows_about(X))


def test_a_process_about_some_of_them():
    X, y = three_classes()
    model = RVC(gamma=0.5, multi_class="ovr").fit(X, y).model_
    first, *others = model.models
    mixed = replace(model, models=(replace(first, surroundings=None), *others))

    assert others[0].surroundings is not None
    compare(mixed, mixed.models, rows_about(X))


def test_what_models_have_in_common_is_evaluated_once():
    X, y = three_classes()
    model = RVC(Gaussian(1.0), multi_class="ovr").fit(X, y).model_
    parts = [
        (*one.basis.groups, *([one.surroundings.pivots] if one.surroundings else []))
        for one in model.models
    ]
    every = np.vstack([group.centres for groups in parts for group in groups])
    groups, places = evaluated_once(parts)

    assert len(groups) == 1
    assert len(groups[0]) == len(np.unique(every, axis=0)) < len(every)
    for own, found in zip(parts, places, strict=True):
        centres = np.vstack([group.centres for group in own])
        assert_array_equal(groups[0].centres[found], centres)


def test_means_are_those_without_error_bars():
    X, _ = three_classes()
    model = RVR(gamma=0.5).fit(X, np.sin(X[:, 0])).model_

    assert_array_equal(model.latent(X)[0], model.values(X))


def test_what_is_cached_is_not_kept():
    X, y = three_classes()
    model = RVC(gamma=0.5, multi_class="ovr").fit(X, y).model_
    model.predictive(X[:1])
    model.models[0].latent(X[:1])

    again = pickle.loads(pickle.dumps(model))

    assert "_stack" in vars(model)
    assert "_stack" not in vars(again)
    assert_array_equal(again.latent(X)[0], model.latent(X)[0])
