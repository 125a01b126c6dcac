"""Who joins a pool."""

from dataclasses import replace

import numpy as np
import pytest

from relvec import RVC
from relvec.data import noisy_sinc, two_mixtures
from relvec.design import DenseDesign
from relvec.evidence import Problem
from relvec.evidence.mode import posterior_at_mode
from relvec.evidence.pooled import Pooled
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
    search = Pooled().init(problem).search
    gram = search.model.gram
    chosen = Rounds(width=width).entrants(problem, search, gram, 1e-3)
    cosines = np.abs(chosen.gram[0][np.triu_indices(len(chosen.columns), 1)])

    assert 8 <= len(chosen.columns) <= width
    assert least < cosines.max() < most


def test_a_model_whose_evidence_is_no_number_is_not_taken(monkeypatch):
    """As that of a posterior that was not found."""
    X, y = two_mixtures(200, seed=0)
    calls = []

    def failing(*arguments, **settings):
        mode = posterior_at_mode(*arguments, **settings)
        calls.append(mode)
        return replace(mode, log_evidence=np.nan) if len(calls) > 2 else mode

    monkeypatch.setattr("relvec.evidence.pooled.posterior_at_mode", failing)
    model = RVC(gamma=1.0).fit(X, y)

    assert len(calls) > 2
    assert np.isfinite(model.history_["log_evidence"]).all()
    assert model.score(X, y) > 0.85
