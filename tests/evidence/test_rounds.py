"""Who joins a pool."""

import numpy as np
import pytest

from relvec.data import noisy_sinc
from relvec.design import DenseDesign
from relvec.evidence import Pooled, Problem
from relvec.evidence.rounds import Rounds
from relvec.kernels import Gaussian
from relvec.likelihoods import gaussian_noise


@pytest.mark.parametrize(("width", "least", "most"), [(64, 0.7, 0.95), (16, 0, 0.7)])
def test_candidates_may_be_more_alike_where_all_have_room(width, least, most):
    X, y = noisy_sinc(60, seed=0)
    weights, y = np.ones(60), y[:, None]
    design = DenseDesign.weighted(Gaussian(width=0.8)(X), weights)
    noise = gaussian_noise(y, weights, "estimate")
    problem = Problem(design, y, noise, weights)
    state = Pooled().init(problem)
    chosen = Rounds(width=width).candidates(problem, state, state.gram, 1e-3)
    cosines = np.abs(chosen.gram[0][np.triu_indices(len(chosen.columns), 1)])

    assert 8 <= len(chosen.columns) <= width
    assert least < cosines.max() < most
