"""What criteria promise, against models fitted without the row in question."""

from dataclasses import replace

import numpy as np
import pytest
from numpy.testing import assert_allclose
from problems import drawn

from relvec.kernel_learning import CRITERIA, LeaveOneOut, sparsest
from relvec.kernel_learning.criteria import gcv_loss
from relvec.likelihoods import Bernoulli, Gaussian, MultinomialProbit, Softmax
from relvec.likelihoods.multinomial import contrasts
from relvec.posterior import Posterior

N, SIZE = 14, 4


def fitted(likelihood, y, weight, functions, alpha):
    """The mode and Laplace's covariance, by plain linear algebra."""
    mean = np.zeros((y.shape[1], len(alpha)))
    for _ in range(100):
        seen = likelihood.pseudo_observations(y, functions @ mean.T, weight)
        precision = np.broadcast_to(seen.precision, y.shape)
        H = [functions.T @ (functions * b[:, None]) for b in precision.T]
        mean = np.array(
            [
                np.linalg.solve(h + np.diag(alpha), functions.T @ (b * t))
                for h, b, t in zip(H, precision.T, seen.target.T, strict=True)
            ]
        )
    root = 1 / np.sqrt(alpha)
    factor = [
        np.linalg.cholesky(np.eye(len(alpha)) + root[:, None] * h * root) for h in H
    ]
    return Posterior(np.arange(len(alpha)), alpha, mean, np.array(factor))


def judged(rng, likelihood, y, own):
    centred = np.flatnonzero(own >= 0)
    own = (own[centred], centred)
    functions, alpha = rng.standard_normal((N, SIZE)), rng.uniform(0.5, 2, SIZE)
    weight = rng.integers(1, 3, N).astype(float)
    posterior = fitted(likelihood, y, weight, functions, alpha)
    return LeaveOneOut(y, weight, likelihood, functions, posterior, own, -12.0)


def loo_term(fit, row, kept):
    """log p of a row by a model of some functions, fitted without it."""
    weight = fit.sample_weight - (np.arange(N) == row)
    without = fitted(
        fit.likelihood,
        fit.y,
        weight,
        fit.functions[:, kept],
        fit.posterior.prior_precision[kept],
    )
    mean, variance = without.predict(fit.functions[np.ix_([row], kept)])
    return fit.likelihood.log_predictive(fit.y[[row]], mean, variance).item()


NONE = np.full(SIZE, -1)
OWN = np.array([3, -1, 8, -1])
REAL = drawn(2, (N, 2))
LABELS = np.arange(N) % 3


@pytest.mark.parametrize("own", [NONE, OWN], ids=["no centres", "centres"])
def test_loo_is_exact_for_gaussian_noise(own, rng):
    """Every row refitted without it, and without the function that is centred on it."""
    fit = judged(rng, Gaussian(np.array([4.0, 0.5])), REAL, own)
    total = 0.0
    for row in range(N):
        total += fit.sample_weight[row] * loo_term(fit, row, np.flatnonzero(own != row))

    assert_allclose(fit.loo, -total / fit.sample_weight.sum(), rtol=1e-9)


@pytest.mark.parametrize(
    ("likelihood", "y", "part"),
    [
        (Bernoulli(), (LABELS > 0)[:, None].astype(float), 0.15),
        (MultinomialProbit(contrasts(3)), contrasts(3)[LABELS], 0.3),
        # What couples two classes is left out.
        (Softmax(), np.eye(3)[LABELS], 0.5),
    ],
    ids=["Bernoulli", "MultinomialProbit", "Softmax"],
)
def test_loo_is_close_for_classes(likelihood, y, part, rng):
    """To what refitting the mode gives, and further from the fit itself."""
    fit = judged(rng, likelihood, y, OWN)
    total = 0.0
    for row in range(N):
        total -= fit.sample_weight[row] * loo_term(fit, row, np.flatnonzero(row != OWN))
    expected = total / fit.sample_weight.sum()
    mean, variance = fit.posterior.predict(fit.functions)
    terms = likelihood.log_predictive(y, mean, variance)
    seen = -fit.sample_weight @ terms / fit.sample_weight.sum()

    assert abs(fit.loo - expected) < part * (expected - seen)


def test_gcv_is_generalised_cross_validation(rng):
    """For Gaussian noise that is estimated: half the logarithm, and a constant."""
    y, eta = rng.standard_normal((40, 1)), 0.5 * rng.standard_normal((40, 1))
    noise = Gaussian(np.array([3.0]))
    rss = np.sum((y - eta) ** 2)
    for n in (0, 5, 9):
        loss = gcv_loss(noise, y, eta, np.ones(40), n)
        gcv = 0.5 * np.log(40 * rss / (40 - 3 * n) ** 2)
        assert_allclose(loss, gcv + 0.5 * np.log(2 * np.pi * np.e), rtol=1e-9)
    many, more = (gcv_loss(noise, y, eta, np.ones(40), n) for n in (15, 30))
    assert loss < many < more < np.inf


def test_weights_are_repetitions(rng):
    eta, y = rng.standard_normal((6, 1)), (rng.random((6, 1)) > 0.5) + 0.0
    weight = np.array([1.0, 2, 3, 1, 1, 2])
    rows = np.repeat(np.arange(6), weight.astype(int))
    one = gcv_loss(Bernoulli(), y, eta, weight, 2)
    other = gcv_loss(Bernoulli(), y[rows], eta[rows], np.ones(10), 2)

    assert_allclose(one, other)


def test_all_by_name(rng):
    fit = judged(rng, Gaussian(np.array([4.0, 0.5])), REAL, OWN)
    fit = replace(fit, sample_weight=np.ones(N))
    found = {name: criterion(fit) for name, criterion in CRITERIA.items()}

    assert_allclose(found["evidence"], 12 / N)
    assert_allclose(found["auto"], found["gcv"] + found["loo"])


def test_a_function_that_none_replaces_costs_five_nats(rng):
    """Without noise a model is nothing without any of its functions."""
    functions = rng.standard_normal((N, SIZE))
    y, noise = functions.sum(axis=1, keepdims=True), Gaussian(np.array([1e8]))
    posterior = fitted(noise, y, np.ones(N), functions, np.ones(SIZE))
    own = (np.array([2, 5]), np.array([0, 3]))
    with_own, without = (
        LeaveOneOut(y, np.ones(N), noise, functions, posterior, each, 0.0).loo
        for each in (own, (own[0][:0], own[1][:0]))
    )

    assert_allclose(with_own - without, 2 * 5.0 / N, rtol=1e-9)


def test_the_sparsest_within_an_error_of_the_best(rng):
    """Not the worst that is, by noise of its own, and none before the best."""
    rows = rng.standard_normal(400)
    noise = rng.standard_normal((3, 400))
    noise -= noise.mean(axis=1, keepdims=True)
    weight = np.ones(400)
    best, wild, steady = rows, rows + 0.04 + noise[0], rows + 0.04 + 0.1 * noise[1]

    assert sparsest([best, wild], weight) == 1
    assert sparsest([best, steady], weight) == 0
    assert sparsest([wild, best, steady], weight) == 1
    assert sparsest([best, steady, wild, steady], weight) == 2
    assert sparsest([best, rows + 0.06 + noise[2]], weight) == 0


def test_a_weight_counts_as_repetitions_for_the_sparsest(rng):
    rows, other = rng.standard_normal((2, 30))
    other += rows.mean() - other.mean() + 0.1
    counts = rng.integers(1, 6, 30)
    for factor in (0.01, 0.1, 0.3, 1.0, 3.0):
        losses = [rows, rows + factor * (other - rows) + 0.05]
        repeated = [np.repeat(loss, counts) for loss in losses]
        expected = sparsest(repeated, np.ones(counts.sum()))
        assert sparsest(losses, counts.astype(float)) == expected


class TestWithoutRows:
    """Means and variances of rows by the others, for Gaussian noise."""

    def judged(self, functions, weight, own):
        y = np.linspace(-1, 2, len(functions))[:, None]
        likelihood, alpha = Gaussian(np.array([4.0])), np.ones(functions.shape[1])
        posterior = fitted(likelihood, y, weight, functions, alpha)
        return LeaveOneOut(y, weight, likelihood, functions, posterior, own, 0.0)

    def refitted(self, fit, row, kept):
        weight = fit.sample_weight - (np.arange(len(fit.y)) == row)
        alpha = fit.posterior.prior_precision[kept]
        functions = fit.functions[:, kept]
        without = fitted(fit.likelihood, fit.y, weight, functions, alpha)
        return np.ravel(without.predict(functions[[row]]))

    @pytest.mark.parametrize(("beside", "part"), [(0.0, 1.0), (0.8, 0.36**0.25)])
    def test_a_function_is_lost_as_far_as_no_other_takes_its_place(self, beside, part):
        functions = np.ones((12, 2))
        functions[:, 1] = 0.0
        functions[3, 1], functions[4, 1] = 1.0, beside
        fit = self.judged(functions, np.ones(12), (np.array([3]), np.array([1])))
        kept = self.refitted(fit, 3, [0, 1])
        removed = self.refitted(fit, 3, [0])
        mean, variance = (values[3, 0] for values in fit.without_rows)

        assert_allclose([mean, variance], kept + part * (removed - kept))

    @pytest.mark.parametrize("as_weight", [True, False])
    def test_of_a_row_that_counts_twice_one_is_left(self, as_weight):
        functions, weight = np.ones((12, 2)), np.ones(12)
        functions[:, 1] = 0.0
        functions[3, 1] = 1.0
        own = np.array([3]), np.array([1])
        if as_weight:
            weight[3] = 2.0
        else:
            functions[4, 1] = 1.0
            own = np.array([3, 4]), np.array([1, 1])
        fit = self.judged(functions, weight, own)
        kept = self.refitted(fit, 3, [0, 1])

        assert_allclose([each[3, 0] for each in fit.without_rows], kept)

    def test_functions_that_are_a_third_of_the_rows_have_none_to_spare(self):
        functions = np.exp(-0.01 * np.subtract.outer(np.arange(9.0), [1, 4, 7]) ** 2)
        own = np.array([1, 4, 7]), np.arange(3)
        fit = self.judged(functions, np.ones(9), own)

        assert_allclose(
            [each[4, 0] for each in fit.without_rows], self.refitted(fit, 4, [0, 2])
        )
