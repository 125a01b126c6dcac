"""Kernels of several binary models: shared, or one for each."""

import numpy as np
import pytest
from numpy.testing import assert_allclose
from problems import read_only
from sklearn.datasets import make_blobs
from sklearn.metrics.pairwise import rbf_kernel

from relvec import RVC
from relvec.data import scan
from relvec.kernels import Gaussian, Linear

X, Y = read_only(*make_blobs(90, centers=3, cluster_std=2.5, random_state=3))
NEW = read_only(np.random.default_rng(0).uniform(-15, 15, (200, 2)))
MODES = ["ovr", "ovo"]
GAMMA = 0.05
KEYS = {"ovr": [0, 1, 2], "ovo": [(0, 1), (0, 2), (1, 2)]}


def _functions(kernels, model):
    """All functions of a model by its attributes, at the new points."""
    named = zip(model.relevance_kernel_, model.relevance_vectors_, strict=True)
    return np.hstack([kernels[number](NEW, vector[None]) for number, vector in named])


@pytest.mark.parametrize("mode", MODES)
def test_centres_of_ones_own(mode):
    centres = np.random.default_rng(7).uniform(-10, 10, (25, 2))
    settings = {"multi_class": mode, "gamma": GAMMA, "uncertainty": "plain"}
    model = RVC(candidates=centres, **settings).fit(X, Y)

    assert (model.relevance_ == -1).all()
    vectors = model.relevance_vectors_
    assert len(np.unique(vectors, axis=0)) == len(vectors)
    latent = rbf_kernel(NEW, vectors, gamma=GAMMA) @ model.dual_coef_.T
    assert_allclose(model.model_.latent(NEW)[0], latent + model.intercept_, atol=1e-9)


@pytest.mark.parametrize("mode", MODES)
def test_several_kernels_for_all(mode):
    kernels = [Gaussian(1.0), Gaussian(5.0)]
    model = RVC(kernels, multi_class=mode, uncertainty="plain").fit(X, Y)
    Phi = _functions(kernels, model)

    assert set(model.relevance_kernel_) <= {0, 1}
    assert_allclose(
        model.model_.latent(NEW)[0], Phi @ model.dual_coef_.T + model.intercept_
    )


def _binary_problem(key):
    if isinstance(key, int):
        return X, key == Y
    mine = np.isin(Y, key)
    return X[mine], Y[mine]


@pytest.mark.parametrize("mode", MODES)
def test_a_kernel_for_each_classifier(mode):
    kernels = dict(
        zip(KEYS[mode], [Gaussian(2.0), [Gaussian(5.0), Linear()], "rbf"], strict=True)
    )
    settings = {"gamma": GAMMA, "uncertainty": "plain"}
    model = RVC(kernels, multi_class=mode, **settings).fit(X, Y)
    alone = [
        RVC(kernel, **settings).fit(*_binary_problem(key))
        for key, kernel in kernels.items()
    ]

    for one, other in zip(model.estimators_, alone, strict=True):
        assert_allclose(one.predict_proba(NEW), other.predict_proba(NEW), rtol=1e-9)
    flat = [Gaussian(2.0), Gaussian(5.0), Linear(), Gaussian.from_gamma(GAMMA)]
    Phi = _functions(flat, model)
    assert_allclose(
        model.model_.latent(NEW)[0], Phi @ model.dual_coef_.T + model.intercept_
    )


def test_the_order_of_the_dict_is_of_no_matter():
    kernels = {0: Gaussian(2.0), 1: Gaussian(4.0), 2: Gaussian(8.0)}
    turned = dict(reversed(kernels.items()))
    a, b = (RVC(k, multi_class="ovr").fit(X, Y) for k in (kernels, turned))

    assert np.array_equal(a.relevance_kernel_, b.relevance_kernel_)
    assert np.array_equal(a.predict_proba(NEW), b.predict_proba(NEW))


@pytest.mark.parametrize(
    ("kernel", "mode", "message"),
    [
        ({0: "rbf", 1: "rbf"}, "ovr", r"no kernel for \[2\]: its keys must be \[0, 1,"),
        (dict.fromkeys("0123", "rbf"), "ovr", "no kernel for .* and has the unknown"),
        ({(1, 0): "rbf", (0, 2): "rbf", (1, 2): "rbf"}, "ovo", r"unknown \[\(1, 0\)\]"),
        ({}, "ovr", "kernel={} is empty"),
        ({0: "rbf"}, "auto", "kernel is a dict.* multi_class='auto' makes one model"),
        ({0: "rbf"}, "mrvm1", "set multi_class to 'ovr' or 'ovo'"),
        ({0: "rbf", 1: "rbf", 2: None}, "ovr", "None cannot be one of several"),
        ({0: "rbf", 1: "rbf", 2: "rfb"}, "ovr", "kernel must be one of .*'rfb'"),
    ],
)
def test_kernels_that_are_refused(kernel, mode, message):
    with pytest.raises(ValueError, match=message):
        RVC(kernel, multi_class=mode).fit(X, Y)


def test_a_dict_for_two_classes():
    few = Y < 2
    binary = RVC(Gaussian(3.0)).fit(X[few], Y[few])
    for mode, key in (("ovr", 1), ("ovo", (0, 1))):
        model = RVC({key: Gaussian(3.0)}, multi_class=mode).fit(X[few], Y[few])
        assert np.array_equal(model.predict_proba(NEW), binary.predict_proba(NEW))


def test_gamma_is_that_of_all_rows():
    gamma = 1 / (2 * X.var())
    model = RVC(gamma="scale", multi_class="ovo").fit(X, Y)

    kernels = [one.basis.groups[0].kernel for one in model.model_.models]
    scale = Gaussian.from_gamma(gamma).length_scale
    assert_allclose([kernel.length_scale for kernel in kernels], scale)


def test_every_model_may_have_as_many_functions_as_one(monkeypatch):
    monkeypatch.setattr("relvec.estimators.validation.MOST_CANDIDATES", 30)
    model = RVC({0: "rbf", 1: "rbf", 2: ["rbf", "linear"]}, multi_class="ovr")
    rows, _ = model._training_rows(scan(X, target=Y), None, None)

    assert len(rows.sample.indices) == 15
