"""How large the weights of narrow functions may be."""

import numpy as np
from numpy.testing import assert_allclose

from relvec.kernel_learning import WeightBound


def test_it_gives_way_to_wide_functions():
    bound = WeightBound(3.0, np.array([2.0]))
    scales = np.array([[0.01], [2.0], [20.0]])

    assert_allclose(
        bound.max_prior_std(scales), [3.0, 6.0, 3.0 * (1 + 10**4)], rtol=1e-6
    )


def test_features_count_in_their_own_units():
    bound = WeightBound(1.0, np.array([1.0, 100.0]))
    scales = np.array([[1.0, 100.0], [10.0, 10.0]])

    assert_allclose(bound.max_prior_std(scales), [2.0, 2.0])
