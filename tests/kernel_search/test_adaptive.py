"""Algorithm 1 of Yuan et al. (2009), where it begins."""

import numpy as np
import pytest
from numpy.testing import assert_allclose
from problems import gaussian_kernel

from relvec import RVR, Adaptive
from relvec.data import noisy_sinc
from relvec.kernel_search import adaptive
from relvec.kernels import Gaussian
from relvec.modelling import fit_candidates

N = 40


def first_cycle(Phi, t, alpha):
    """Lines 1 to 5 of the algorithm, once: (20) and (21) from σ² = 0.1·var(t)."""
    noise = 0.1 * np.var(t)
    Sigma = np.linalg.inv(Phi.T @ Phi / noise + np.diag(alpha))
    mu = Sigma @ Phi.T @ t / noise
    gamma = 1 - alpha * np.diag(Sigma)
    return gamma / mu**2, np.sum((t - Phi @ mu) ** 2) / (len(t) - gamma.sum())


@pytest.mark.parametrize("initial", [1 / N, 0.5])
def test_the_precision_to_begin_with(monkeypatch, initial):
    fitted = []

    def watched(*args, **settings):
        fitted.append(fit_candidates(*args, **settings))
        return fitted[-1]

    monkeypatch.setattr(adaptive, "fit_candidates", watched)
    X, y = noisy_sinc(N, seed=0)
    learning = Adaptive(cycles=1, steps=1, initial_precision=initial)
    RVR(Gaussian(width=3.0), kernel_learning=learning).fit(X, y)
    model = fitted[0]
    Phi = np.column_stack([np.ones(N), gaussian_kernel(X, X, 3.0)])
    alpha, noise = first_cycle(Phi, y - y.mean(), np.full(N + 1, initial))

    posterior = model.fit.posterior
    assert len(posterior.active) > 20
    assert_allclose(posterior.prior_precision, alpha[posterior.active], rtol=1e-6)
    assert_allclose(model.fit.likelihood.scale[0] ** 2, noise, rtol=1e-8)


@pytest.mark.parametrize("bad", [0.0, -1.0, np.inf, "1/N"])
def test_the_precision_to_begin_with_is_positive(bad):
    with pytest.raises(ValueError, match="initial_precision must be a positive number"):
        Adaptive(initial_precision=bad)
