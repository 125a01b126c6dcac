"""Several kernels mixed into one, with weights learned from the evidence."""

from contextlib import contextmanager

import numpy as np
import pytest
from numpy.testing import assert_allclose
from sklearn.base import clone

from relvec import RVC, RVR, Status
from relvec.data import scan
from relvec.kernel_search import learn
from relvec.kernel_search.settings import KernelWeights
from relvec.kernels import CompactMatern, Gaussian
from relvec.modelling import Regression, Specification, in_arrays


def additive(n_rows=150, seed=0):
    """Two features that matter and two that do not."""
    rng = np.random.default_rng(seed)
    X = rng.uniform(-3, 3, (n_rows, 4))
    mean = np.sin(2 * X[:, 0]) + 0.5 * X[:, 1]
    return X, mean + 0.1 * rng.standard_normal(n_rows), mean


KERNELS = [Gaussian(1.0, columns=[feature]) for feature in range(4)]


def test_features_that_do_not_matter_lose_their_kernels():
    X, y, mean = additive()
    learned = RVR(KERNELS, kernel_learning="weights").fit(X, y)
    equal = 0.25 * KERNELS[0]
    for kernel in KERNELS[1:]:
        equal = equal + 0.25 * kernel

    assert_allclose(learned.kernel_weights_.sum(), 1)
    assert np.all(learned.kernel_weights_[:2] > 0.2)
    assert np.all(learned.kernel_weights_[2:] < 0.02)
    assert np.sqrt(np.mean((learned.predict(X) - mean) ** 2)) < 0.06
    assert set(learned.relevance_kernel_) == {0}
    assert learned.log_evidence_ > RVR(equal).fit(X, y).log_evidence_ + 5


def test_the_weights_are_those_of_the_sum_of_kernels():
    """The model is that of a kernel with these weights."""
    X, y, _ = additive(60)
    kernels = [Gaussian(1.0, columns=[0]), Gaussian(3.0)]
    learned = RVR(kernels, kernel_learning="weights").fit(X, y)
    first, second = learned.kernel_weights_
    vectors = learned.relevance_vectors_
    functions = first * kernels[0](X, vectors) + second * kernels[1](X, vectors)

    assert_allclose(
        learned.predict(X), learned.intercept_ + functions @ learned.dual_coef_
    )


@pytest.mark.parametrize("multi_class", ["mrvm1", "softmax"])
def test_several_classes(multi_class):
    X, y, _ = additive(90)
    labels = (y > -0.5).astype(int) + (y > 0.5)
    model = RVC(KERNELS, kernel_learning="weights", multi_class=multi_class, tol=1e-2)
    model.fit(X, labels)

    assert model.kernel_weights_[:2].sum() > 0.75
    assert model.score(X, labels) > 0.85


def classes(n_rows, seed=0):
    """Three, told apart by the first two features; the third is noise."""
    rng = np.random.default_rng(seed)
    labels = np.arange(n_rows) % 3
    angle = 2 * np.pi * labels / 3
    centres = np.stack([np.cos(angle), np.sin(angle), 0 * angle], axis=1)
    return 1.5 * centres + 0.6 * rng.standard_normal((n_rows, 3)), labels


PAIR = [Gaussian(1.5, columns=[0, 1]), Gaussian(0.5, columns=[2])]


def best_share(make, kernels, X, y, **settings):
    """The most evidence with 0, 0.1, ... 1 of the first of two kernels."""
    one, other = kernels
    shares = np.linspace(0, 1, 11)[1:-1]
    between = [s * one + (1 - s) * other for s in shares]
    kernels = (other, *between, one)
    return max(make(each, **settings).fit(X, y).log_evidence_ for each in kernels)


def test_no_share_of_two_kernels_has_more_evidence():
    X, y, _ = additive(60)
    kernels = [Gaussian(1.0, columns=[0]), Gaussian(3.0, columns=[1, 2, 3])]
    learned = RVR(kernels, kernel_learning="weights").fit(X, y)

    assert learned.log_evidence_ > best_share(RVR, kernels, X, y) - 0.02


@pytest.mark.filterwarnings("ignore::relvec.FitWarning")  # of noise alone
@pytest.mark.parametrize("multi_class", ["mrvm1", "mrvm2"])
@pytest.mark.parametrize("n_classes", [2, 3])
def test_a_kernel_of_noise_has_no_weight(multi_class, n_classes):
    X, labels = classes(36)
    X, labels = X[labels < n_classes], labels[labels < n_classes]
    model = RVC(PAIR, kernel_learning="weights", multi_class=multi_class)
    model.fit(X, labels)
    best = best_share(RVC, PAIR, X, labels, multi_class=multi_class)

    assert model.log_evidence_ > best - 0.02
    assert model.kernel_weights_[1] < 0.01
    assert model.score(X, labels) > 0.9


def test_several_kernels_with_a_prior_for_each_class():
    X, labels = classes(36)
    kernels = [*PAIR, Gaussian(1.5, columns=[0])]
    model = RVC(kernels, kernel_learning="weights", multi_class="mrvm2")
    model.fit(X, labels)

    assert model.kernel_weights_[1] < 0.01
    assert (
        model.prior_precision_.shape
        == model.dual_coef_.shape
        == (
            3,
            len(model.relevance_),
        )
    )


def test_a_warm_start_keeps_the_weights():
    X, y, _ = additive(60)
    model = RVR(KERNELS, kernel_learning="weights", warm_start=True).fit(X, y)
    evidence = model.log_evidence_
    model.fit(X, y)

    assert model.log_evidence_ >= evidence - 1e-6
    assert model.get_params()["warm_start"] is True
    assert model.kernel is KERNELS


def test_kernels_of_finite_support_stay_sparse():
    X, y, _ = additive()
    kernels = [CompactMatern(support=1.0), CompactMatern(support=4.0)]
    model = RVR(kernels, kernel_learning="weights", tol=1e-2).fit(X[:, :1], y)

    assert model.model_.basis.compact
    assert_allclose(model.kernel_weights_.sum(), 1)


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"kernel_learning": "magic"}, "kernel_learning must be None, one of"),
        ({"kernel": "rbf"}, "give a list of two or more; got kernel='rbf'"),
        ({"kernel": [Gaussian()]}, "give a list of two or more"),
    ],
)
@pytest.mark.parametrize("make", [RVR, RVC])
def test_bad_settings(make, settings, message):
    X, y, _ = additive(30)
    model = make(**{"kernel": KERNELS, "kernel_learning": "weights", **settings})
    with pytest.raises(ValueError, match=message):
        model.fit(X, y > 0 if make is RVC else y)


def test_what_cannot_be_learned():
    X, y, _ = additive(30)
    model = RVR(KERNELS, kernel_learning="weights")
    streamed = clone(model).set_params(candidates=20, design="streamed")
    with pytest.raises(ValueError, match="needs its rows in memory"):
        streamed.fit(scan(X, target=y))
    assert not hasattr(model, "partial_fit")


def test_a_stop_is_the_end_of_it():
    """Of all weights that would be tried."""
    rng = np.random.default_rng(0)
    X = rng.uniform(-3, 3, (80, 2))
    y = np.sin(X[:, 0]) + 0.1 * rng.standard_normal(80)
    family = Regression()
    rows, values = in_arrays(X, y, np.ones(80), 80, 0)
    spec = Specification((Gaussian(0.5), Gaussian(3.0)), family)
    calls = []

    @contextmanager
    def stopping(model_of):
        yield lambda news: calls.append(news) or len(calls) >= 12

    data = family.encoded(rows, values)
    model = learn(KernelWeights(), spec, data, monitor=stopping)

    assert model.status is Status.STOPPED
    assert len(calls) == 12
