"""Classes that are told without an integral, beside those that it tells."""

import numpy as np
import pytest
from numpy.testing import assert_array_equal

from relvec.modelling.families.classes import (
    ClassPriorMixing,
    ClassWiseProbit,
    Logit,
    Probit,
    TwoClasses,
)
from relvec.modelling.predictive import ClassPrediction

DOUBTS = [
    None,
    ClassPriorMixing(0.0, np.array([0.4, 0.6])),
    ClassPriorMixing(0.1, np.array([0.73, 0.27])),
    ClassPriorMixing(0.3, np.array([0.2, 0.8])),
    ClassPriorMixing(0.6, np.array([0.9, 0.1])),
    ClassPriorMixing(1 - 1e-9, np.array([0.5, 0.5])),
    ClassPriorMixing(1 - 1e-9, np.array([0.3, 0.7])),
    ClassPriorMixing(1 - 1e-9, np.array([0.5 + 1e-12, 0.5 - 1e-12])),
]


def latent(rng, n_outputs, n_rows=20_000):
    """Means of all sizes, near each other and far apart; variances in common."""
    size = 10.0 ** rng.uniform(-18, 4, (n_rows, 1))
    mean = size * rng.standard_normal((n_rows, n_outputs))
    mean[::4] = rng.standard_normal(mean[::4].shape)
    mean[:2] = 0.0
    variance = 10.0 ** rng.uniform(-8, 6, (n_rows, 1))
    variance[::3] = 0.0
    return mean, np.broadcast_to(variance, mean.shape)


def integrated(found):
    """The labels that probabilities tell."""
    return ClassPrediction.predicted.fget(found)


@pytest.mark.parametrize("doubt", DOUBTS)
def test_two_classes_as_the_integral_tells(doubt, rng):
    family = TwoClasses(np.array([0, 1]), doubt=doubt)
    mean, variance = latent(rng, 1)

    chosen = family.argmax_without_integration(mean, variance)
    told = chosen >= 0
    expected = integrated(family.predictive(mean, variance))
    assert_array_equal(chosen[told], expected[told])


@pytest.mark.parametrize("doubt", DOUBTS[:4])
def test_hardly_ever_two_classes_need_the_integral(doubt, rng):
    family = TwoClasses(np.array([0, 1]), doubt=doubt)
    mean = 3 * rng.standard_normal((1000, 1))

    assert (
        np.mean(family.argmax_without_integration(mean, np.full_like(mean, 0.5)) < 0)
        < 0.1
    )


@pytest.mark.parametrize("n_classes", [2, 3, 5])
@pytest.mark.parametrize("share", [None, 0.0, 0.1, 0.7, 1 - 1e-9])
def test_classes_of_one_variance_as_the_integral_tells(n_classes, share, rng):
    frequencies = rng.dirichlet(np.ones(n_classes))
    doubt = None if share is None else ClassPriorMixing(share, frequencies)
    family = Probit(np.arange(n_classes), doubt=doubt)
    mean, variance = latent(rng, n_classes - 1, 3000)

    chosen = family.argmax_without_integration(mean, variance)
    told = chosen >= 0
    expected = integrated(family.predictive(mean, variance))
    assert_array_equal(chosen[told], expected[told])
    assert share is not None or np.mean(told[::4]) > 0.9


@pytest.mark.parametrize("make", [TwoClasses, Probit, ClassWiseProbit, Logit])
@pytest.mark.parametrize("n_rows", [0, 1, 50])
def test_labels_are_those_of_the_probabilities(make, n_rows, rng):
    labels = np.array(["a", "b"] if make is TwoClasses else ["a", "b", "c"])
    n_outputs = {TwoClasses: 1, Probit: 2}.get(make, 3)
    doubt = ClassPriorMixing(0.2, np.full(len(labels), 1 / len(labels)))
    mean = rng.standard_normal((n_rows, n_outputs))

    found = make(labels, doubt=doubt).predictive(mean, np.ones_like(mean))
    assert_array_equal(found.predicted, integrated(found))
    assert found.predicted.shape == (n_rows,)


def test_even_odds_are_those_of_the_first():
    found = TwoClasses(np.array([3, 7])).predictive(np.zeros((1, 1)), np.ones((1, 1)))

    assert found.predicted[0] == 3
