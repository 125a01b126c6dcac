"""Laplace's posterior of all classes together, and priors of every weight."""

import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy.special import log_softmax, ndtr, softmax
from sklearn.datasets import make_blobs

from relvec import RVC, Mrvm1, Softmax
from relvec.likelihoods import Softmax as Logit
from relvec.likelihoods.multinomial import class_probabilities, contrasts
from relvec.posterior import CoupledPosterior, Posterior

GRID = np.linspace(-8, 8, 401)
DENSITY = np.exp(-0.5 * GRID**2) / np.sqrt(2 * np.pi) * (GRID[1] - GRID[0])


def blobs(n_rows=60, n_classes=3, seed=4):
    return make_blobs(n_rows, 2, centers=n_classes, cluster_std=2.5, random_state=seed)


def log_probit(eta, classes):
    """log P of the class of each row, by a sum over a grid."""
    own = np.take_along_axis(eta, classes[:, None], axis=1)
    below = ndtr(GRID[:, None, None] + own - eta)
    below[:, np.arange(len(eta)), classes] = 1
    return np.log(np.einsum("g,gn->n", DENSITY, below.prod(axis=2)))


def log_logit(eta, classes):
    return np.take_along_axis(log_softmax(eta, axis=1), classes[:, None], axis=1)[:, 0]


def second_derivatives(function, at, step=1e-3):
    """By central differences."""
    size = at.size
    units = step * np.eye(size)
    H = np.empty((size, size))
    for i in range(size):
        for j in range(i + 1):
            corners = [
                function(at + a * units[i] + b * units[j])
                for a, b in ((1, 1), (1, -1), (-1, 1), (-1, -1))
            ]
            value = (corners[0] - corners[1] - corners[2] + corners[3]) / (4 * step**2)
            H[i, j] = H[j, i] = value
    return H


def functions_of(model, X):
    return model.model_.basis(X)


@pytest.mark.parametrize(
    ("settings", "link", "coding"),
    [
        (Mrvm1(posterior="full"), log_probit, contrasts(3)),
        (Softmax(posterior="full"), log_logit, np.eye(3)),
    ],
)
def test_covariance_is_that_of_the_log_posterior(settings, link, coding):
    X, y = blobs()
    model = RVC(gamma=0.02, multi_class=settings).fit(X, y)
    posterior, Phi = model.model_.posterior, functions_of(model, X)
    shape = posterior.mean.shape
    alpha = np.broadcast_to(posterior.prior_precision, shape)

    def log_posterior(flat):
        weights = flat.reshape(shape)
        fit = link(Phi @ weights.T @ coding.T, y).sum()
        return fit - 0.5 * np.sum(alpha * weights**2)

    H = -second_derivatives(log_posterior, posterior.mean.ravel())
    assert_allclose(posterior.covariance[0], np.linalg.inv(H), rtol=2e-3, atol=1e-5)
    determinant = np.linalg.slogdet(H)[1] - np.log(alpha).sum()
    evidence = log_posterior(posterior.mean.ravel()) - 0.5 * determinant
    assert_allclose(model.log_evidence_, evidence, rtol=1e-4)


def test_probabilities_average_over_the_covariance_of_classes():
    """For three classes by a grid over the plane of their two contrasts."""
    X, y = blobs()
    model = RVC(gamma=0.02, multi_class=Mrvm1(posterior="full")).fit(X, y)
    mean, covariance = model.model_.latent(X[:12])
    nodes, weights = np.polynomial.hermite_e.hermegauss(40)
    weights = np.outer(weights, weights).ravel() / (2 * np.pi)
    points = np.stack(np.meshgrid(nodes, nodes, indexing="ij"), axis=-1).reshape(-1, 2)
    expected = np.empty((12, 3))
    for row in range(12):
        zeta = mean[row] + points @ np.linalg.cholesky(covariance[row]).T
        eta = zeta @ contrasts(3).T
        expected[row] = weights @ class_probabilities(eta, np.zeros_like(eta))
    found = model.model_.family
    plain = np.exp(found.decision(mean, covariance))

    assert_allclose(plain, expected, atol=1e-3)
    separate = RVC(gamma=0.02, multi_class="mrvm1").fit(X, y)
    assert separate.relevance_.tolist() == model.relevance_.tolist()
    difference = np.abs(separate.predict_proba(X) - model.predict_proba(X))
    assert 1e-3 < difference.max() < 0.3


def test_uncoupled_outputs_are_as_before():
    """Where the covariance is diagonal, both averages are the same."""
    rng = np.random.default_rng(0)
    mean, variance = rng.standard_normal((5, 3)), rng.uniform(0.1, 2, (5, 3))
    diagonal = variance[:, :, None] * np.eye(3)
    likelihood = Logit()
    y = np.eye(3)[[0, 1, 2, 0, 1]]

    assert_allclose(
        likelihood.log_predictive(y, mean, variance),
        likelihood.log_predictive(y, mean, diagonal),
        atol=1e-2,
    )


def coupled_posterior(rng, n_outputs=3, size=4):
    A = rng.uniform(0.5, 2, (n_outputs, size))
    rows = rng.standard_normal((20, n_outputs * size))
    root = 1 / np.sqrt(A.ravel())
    inner = np.eye(root.size) + root[:, None] * (rows.T @ rows) * root
    factor = np.linalg.cholesky(inner)[None]
    mean = rng.standard_normal((n_outputs, size))
    alone = Posterior(
        np.arange(size), A, mean, np.tile(np.eye(size), (n_outputs, 1, 1))
    )
    posterior = CoupledPosterior(np.arange(size), A, mean, factor, alone)
    return posterior, np.linalg.inv(np.diag(A.ravel()) + rows.T @ rows)


def test_moments_of_a_coupled_posterior(rng):
    posterior, Sigma = coupled_posterior(rng)
    right = rng.standard_normal((3, 4))
    functions = rng.standard_normal((6, 4))
    mean, covariance = posterior.predict(functions)
    one = np.kron(np.eye(3), functions[2])

    assert_allclose(posterior.solve(right).ravel(), Sigma @ right.ravel())
    assert_allclose(posterior.variances.ravel(), np.diag(Sigma))
    assert_allclose(covariance[2], one @ Sigma @ one.T)
    assert_allclose(mean, functions @ posterior.mean.T)
    determinant = -np.linalg.slogdet(Sigma)[1] - np.log(posterior.prior_precision).sum()
    assert_allclose(posterior.log_determinant, determinant)
    information = np.diag(np.linalg.inv(Sigma)) - posterior.prior_precision.ravel()
    assert_allclose(posterior.information.ravel(), information)


def test_rescaled_weights_have_rescaled_moments(rng):
    posterior, Sigma = coupled_posterior(rng)
    weights = np.array([2.0, 0.5, 1.0, 10.0])
    found = posterior.rescaled(weights)
    scales = np.tile(weights, 3)

    assert_allclose(found.covariance[0], Sigma * scales[:, None] * scales)
    assert_allclose(found.separated.mean, posterior.mean * weights)


def test_weights_in_another_order(rng):
    posterior, Sigma = coupled_posterior(rng)
    order = np.array([2, 0, 3, 1])
    found = posterior.reordered(order)
    places = (4 * np.arange(3)[:, None] + order).ravel()

    assert_allclose(found.covariance[0], Sigma[np.ix_(places, places)])
    assert_allclose(found.separated.mean, posterior.mean[:, order])


class TestPriorsOfEachWeight:
    """Section 5.1.4 of the thesis."""

    def fitted(self, n_rows=36):
        X, y = blobs(n_rows)
        settings = {"gamma": 0.02, "fit_intercept": False, "tol": 1e-6}
        model = RVC(multi_class=Softmax(priors="each"), **settings).fit(X, y)
        return X, y, model

    def test_is_a_fixed_point_of_mackay(self):
        """α = γ/w² with the plain inverse of all second derivatives."""
        X, y, model = self.fitted()
        posterior, Phi = model.model_.posterior, functions_of(model, X)
        w, alpha = posterior.mean, posterior.prior_precision
        p = softmax(Phi @ w.T, axis=1)
        H = np.diag(alpha.ravel())
        for row, probability in zip(Phi, p, strict=True):
            curvature = np.diag(probability) - np.outer(probability, probability)
            H += np.kron(curvature, np.outer(row, row))
        gamma = 1 - alpha * np.diag(np.linalg.inv(H)).reshape(alpha.shape)
        gradient = (np.eye(3)[y] - p).T @ Phi - alpha * w
        alive = gamma > 1e-3

        assert alpha.shape == (3, len(model.relevance_))
        assert_allclose(gradient, 0, atol=1e-5)
        assert_allclose((alpha * w**2)[alive], gamma[alive], rtol=0.02)
        assert np.any(~alive)  # of functions that other classes need

    def test_evidence_is_no_lower_than_with_shared_priors(self):
        X, y, model = self.fitted()
        shared = RVC(
            gamma=0.02, fit_intercept=False, multi_class=Softmax(posterior="full")
        ).fit(X, y)

        assert model.log_evidence_ > shared.log_evidence_
        assert model.score(X, y) > 0.8

    def test_too_many_weights(self):
        X, y = blobs(2000)
        with pytest.raises(ValueError, match=r"6003 weights at once.*candidates"):
            RVC(gamma=0.02, multi_class=Softmax(priors="each")).fit(X, y)


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"priors": "both"}, "priors must be one of 'shared', 'each'"),
        ({"posterior": "moments"}, "posterior must be one of 'mode', 'full'"),
        ({"priors": "each", "posterior": "mode"}, "leave posterior out"),
    ],
)
def test_bad_settings(settings, message):
    with pytest.raises(ValueError, match=message):
        Softmax(**settings)
