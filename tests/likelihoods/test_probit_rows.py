"""ProbitRows beside their cavities: derivatives, and the integrals they stand for."""

import numpy as np
import pytest
from numpy.testing import assert_allclose
from problems import drawn, other_classes, read_only

from relvec.likelihoods import EPProbit, MultinomialProbit
from relvec.likelihoods.multinomial import contrasts
from relvec.likelihoods.probit_integrals import orthant
from relvec.likelihoods.probit_rows import CavityRows, Comparisons, ProbitRows

C = contrasts(4)
Y = read_only(C[[3, 1, 0, 1, 2, 3, 1, 0, 2]])
CONTRAST = Comparisons.of(C, Y)
ETA = read_only(1.5 * drawn(2, (9, 3)))
CAVITY = read_only(np.random.default_rng(2).uniform(0.1, 4, 9))


@pytest.mark.parametrize("n_classes", [2, 3, 10, 40])
@pytest.mark.parametrize("by_contrasts", [True, False])
def test_derivatives_by_outputs_are_those_of_differences(n_classes, by_contrasts, rng):
    """Beside the matrix of differences of every row, few classes and many."""
    coding = contrasts(n_classes) if by_contrasts else np.eye(n_classes)
    own = rng.integers(n_classes, size=12)
    zeta, v = 2 * rng.standard_normal((2, 12, coding.shape[1]))
    rows = ProbitRows.at(Comparisons.of(coding, coding[own]), zeta)
    D = coding[own][:, None] - coding[other_classes(own, n_classes)]
    plain = orthant(np.einsum("njc,nc->nj", D, zeta))
    H = np.swapaxes(D, 1, 2) @ plain.curvature @ D

    assert_allclose(rows.log_density, plain.log_z, rtol=1e-9)
    slopes = np.einsum("njc,nj->nc", D, plain.gradient)
    assert_allclose(rows.gradient, slopes, rtol=1e-9, atol=1e-12)
    assert_allclose(rows.curvature, H, rtol=1e-8, atol=1e-11)
    product = np.einsum("nab,nb->na", H, v)
    assert_allclose(rows.product(v), product, rtol=1e-8, atol=1e-10)
    trace = np.trace(H, axis1=1, axis2=2) / coding.shape[1]
    assert_allclose(rows.precision, trace, rtol=1e-8)


def settled(eta, cavity, pull):
    """With m found to all digits."""
    rows = CavityRows.at(CONTRAST, eta, cavity, pull)
    for _ in range(8):
        rows = rows.moved(eta, cavity, pull)
    return rows


@pytest.mark.parametrize("share", [1.0, 0.4])
def test_slope_and_curvature_are_derivatives(share, rng):
    direction, h = rng.standard_normal(ETA.shape), 1e-3
    up, here, down = (
        settled(ETA + step * direction, CAVITY, share * CAVITY) for step in (h, 0, -h)
    )

    slope = (up.log_density - down.log_density) / (2 * h)
    assert_allclose(
        np.sum(here.gradient * direction, axis=1), slope, rtol=1e-3, atol=1e-5
    )
    change = (up.gradient - down.gradient) / (2 * h)
    product = (here.curvature @ direction[:, :, None])[:, :, 0]
    assert_allclose(product, -change, rtol=1e-3, atol=1e-4)


def test_moments_are_those_of_the_likelihood_in_the_cavity(rng):
    """By Monte Carlo, one row: the mean, and the variance averaged over outputs."""
    rows = settled(ETA, CAVITY, CAVITY)
    n = 3
    draws = rows.mean[n] + np.sqrt(CAVITY[n]) * rng.standard_normal((100_000, 3))
    labels = np.tile(Y[n], (len(draws), 1))
    plain = MultinomialProbit(C)
    p = np.exp(plain.log_predictive(labels, draws, np.zeros_like(draws)))
    mean = p @ draws / p.sum()
    variance = np.mean(p @ (draws - mean) ** 2 / p.sum())

    assert_allclose(rows.eta[n], mean, atol=0.02)
    together = 1 / (1 / CAVITY[n] + rows.precision[n])
    assert_allclose(together, variance, rtol=0.02)


def test_no_cavity_is_the_row_alone():
    nothing = np.zeros(9)
    alone, rows = ProbitRows.at(CONTRAST, ETA), settled(ETA, nothing, nothing)

    for name in ("log_density", "gradient", "precision", "curvature"):
        expected, found = getattr(alone, name), getattr(rows, name)
        assert_allclose(found, expected, rtol=1e-3, atol=1e-4)
    assert_allclose(rows.correction, 0)


def test_far_from_where_they_were(rng):
    """As from nothing, up to what is left to the next steps."""
    pull = 0.7 * CAVITY
    near = settled(ETA, CAVITY, pull)
    far = near.moved(ETA + 30 * rng.standard_normal(ETA.shape), 9 * CAVITY, 9 * pull)
    back = far.moved(ETA, CAVITY, pull)
    for _ in range(4):
        back = back.moved(ETA, CAVITY, pull)

    assert_allclose(back.mean, near.mean, rtol=1e-6, atol=1e-6)


def test_after_a_fit_no_rows_are_remembered():
    """The likelihood of a fit may be asked of other rows."""
    likelihood = EPProbit(C).with_cavity(CAVITY).rescaled(1.0)
    seen = likelihood.pseudo_observations(Y[:4], ETA[:4], np.ones(4))

    assert seen.target.shape == (4, 3)
    assert likelihood.ep is likelihood
