"""Kernels inside scikit-learn: cloned, searched over, shown."""

import numpy as np
from numpy.testing import assert_allclose
from problems import read_only
from sklearn.base import clone
from sklearn.gaussian_process.kernels import RBF
from sklearn.model_selection import GridSearchCV

from relvec import RVR
from relvec.kernels import Gaussian, GaussianProcessKernel, Linear


def waves():
    rng = np.random.default_rng(4)
    X = rng.uniform(-6, 6, (60, 1))
    return X, np.sinc(X[:, 0]) + 0.05 * rng.standard_normal(60)


X, Y = read_only(*waves())


def test_a_search_over_a_length_scale():
    kernel = Gaussian()
    grid = {"kernel__length_scale": [0.1, 0.6, 3.0]}
    search = GridSearchCV(RVR(kernel=kernel), grid, cv=3).fit(X, Y)

    assert search.best_params_ == {"kernel__length_scale": 0.6}
    assert search.best_estimator_.kernel == Gaussian(0.6)
    assert kernel == Gaussian()


def test_a_search_over_a_nested_parameter():
    grid = {"kernel__left__kernel__length_scale": [0.1, 0.6]}
    model = RVR(kernel=2.0 * Gaussian() + Linear())
    search = GridSearchCV(model, grid, cv=3).fit(X, Y)

    assert search.best_estimator_.kernel == 2.0 * Gaussian(0.6) + Linear()


def test_an_estimator_is_cloned_with_its_kernel():
    model = RVR(kernel=Gaussian(2.0))
    other = clone(model)

    assert other.kernel == model.kernel
    assert other.kernel is not model.kernel


def test_a_kernel_of_a_gaussian_process():
    model = RVR(kernel=GaussianProcessKernel(RBF(0.6))).fit(X, Y)

    expected = RVR(kernel=Gaussian(0.6)).fit(X, Y)
    assert_allclose(model.predict(X), expected.predict(X), rtol=1e-6, atol=1e-9)


def test_an_estimator_shows_its_kernel():
    model = RVR(kernel=Gaussian(2.0))

    assert repr(model) == "RVR(kernel=Gaussian(length_scale=2.0))"
    assert "Gaussian" in model._repr_html_()
