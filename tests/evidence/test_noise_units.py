"""Outputs that share α in units of their noise, against dense densities."""

import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy.optimize import minimize

from relvec.design.compressed import Inner, compressed
from relvec.design.held import DenseDesign
from relvec.evidence import BottomUp, Problem, SolverContext, as_solver, solved
from relvec.evidence.maximise import Limits
from relvec.evidence.newton import Coordinates, Moments, NoiseUnits, tempered
from relvec.likelihoods import Gaussian, SharedGaussian

SCALES = np.array([1e-3, 1.0, 50.0])
NOISE = np.array([0.05, 0.3, 0.6])


def problem(seed=0, n_rows=60, n_outputs=3, *, repeated=True):
    rng = np.random.default_rng(seed)
    x = np.sort(rng.uniform(-3, 3, n_rows))
    waves = np.sin(np.outer(x, 1 + np.arange(n_outputs)) / 1.5)
    noise = NOISE[:n_outputs] * rng.standard_normal(waves.shape)
    y = SCALES[:n_outputs] * (waves + noise)
    weight = rng.integers(1, 4, n_rows) * 1.0 if repeated else np.ones(n_rows)
    functions = np.exp(-((x[:, None] - x) ** 2))
    design = DenseDesign.weighted(np.asfortranarray(functions), weight)
    likelihood = SharedGaussian.of(y, weight, "estimate")
    return functions, Problem(design, y, likelihood, weight)


def dense_evidence(functions, problem, alpha, beta):
    """Σ log N(t_c | 0, (V⁻¹ + ΦA⁻¹Φᵀ)/β_c), a weight being repetitions."""
    weight, y = problem.sample_weight, problem.y
    C = np.diag(1 / weight) + (functions / alpha) @ functions.T
    squares = np.einsum("nk,nk->k", y, np.linalg.solve(C, y))
    log_det = np.linalg.slogdet(C)[1] + np.log(weight).sum()
    count = weight.sum()
    density = count * np.log(beta / (2 * np.pi)) - log_det - beta * squares
    return 0.5 * density.sum(), count / squares


def search(problem, solver="sequential"):
    return solved(
        problem, as_solver(solver), SolverContext(1e-4, 0, 0.0, None), Limits()
    )


@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize("n_outputs", [1, 2, 3])
def test_a_search_ends_at_a_maximum_of_the_dense_evidence(seed, n_outputs):
    functions, given = problem(seed, n_outputs=n_outputs)
    found = search(given)
    active, alpha = functions[:, found.posterior.active], found.prior_precision
    alpha = alpha if n_outputs > 1 else alpha[0] * found.likelihood.scale[0] ** 2
    beta = found.likelihood.noise_precision
    value, best = dense_evidence(active, given, alpha, beta)

    def loss(logs):
        parts = np.split(np.exp(logs), [len(alpha)])
        return -dense_evidence(active, given, *parts)[0]

    higher = minimize(loss, np.log(np.concatenate([alpha, beta])), method="BFGS")
    assert len(alpha) > 2
    assert_allclose(found.log_evidence, value, rtol=1e-9)
    assert_allclose(beta, best, rtol=1e-6)
    assert -higher.fun < value + 1e-6


@pytest.mark.parametrize("solver", ["mackay", "em", BottomUp(schedule="greedy")])
def test_other_solvers_find_as_much(solver):
    _, given = problem(1, n_rows=16, n_outputs=2)

    expected = search(given).log_evidence
    assert search(given, solver).log_evidence > expected - 1.0


def test_of_one_output_it_is_the_model_that_has_its_own_units():
    """Two ways up, from a fixed noise and with it, to one maximum where it is alone."""
    _, given = problem(4, n_outputs=1)
    own = Problem(
        given.design,
        given.y,
        Gaussian.starting(given.y, given.sample_weight),
        given.sample_weight,
    )
    shared, alone = search(given), search(own)

    assert_allclose(shared.log_evidence, alone.log_evidence, rtol=1e-6)
    assert_allclose(shared.likelihood.scale, alone.likelihood.scale, rtol=1e-3)


def test_the_posterior_of_every_output():
    functions, given = problem()
    found = search(given)
    active = functions[:, found.posterior.active]
    mean, variance = found.posterior.predict(active)
    gram = active.T @ (given.sample_weight[:, None] * active)
    shared = np.linalg.inv(np.diag(found.prior_precision) + gram)
    for c, noise in enumerate(1 / found.likelihood.noise_precision):
        weights = shared @ active.T @ (given.sample_weight * given.y[:, c])
        spread = np.einsum("ni,ij,nj->n", active, noise * shared, active)
        assert_allclose(mean[:, c], active @ weights, rtol=1e-6)
        assert_allclose(variance[:, c], spread, rtol=1e-6)
        assert_allclose(found.posterior.covariance[c], noise * shared, rtol=1e-6)


@pytest.fixture
def both(rng):
    """The same columns by inner products and by themselves."""
    columns, target = rng.standard_normal((30, 4)), rng.standard_normal((30, 2))
    moments = Moments(
        (columns.T @ columns)[None],
        target.T @ columns,
        np.sum(target**2, axis=0),
        30.0,
    )
    return NoiseUnits(moments), NoiseUnits(Coordinates(columns, target, 30.0))


ALPHA, BETA = np.array([0.5, 2.0, 7.0, 1.0]), np.array([0.7, 3.0])


def test_moments_and_coordinates_agree(both):
    one, other = (each.solved(ALPHA, BETA) for each in both)
    for name in ("mean", "scaled_mean", "residual", "log_evidence"):
        assert_allclose(getattr(one, name), getattr(other, name), rtol=1e-9)


def test_derivatives_by_the_noise(both):
    moments, h = both[0], 1e-4

    def value(logs):
        return moments.solved(np.exp(logs[:4]), np.exp(logs[4:])).log_evidence

    logs = np.log(np.concatenate([ALPHA, BETA]))
    steps = h * np.eye(6)
    solution = moments.solved(ALPHA, BETA)
    ceiling = np.full(2, 1e9)
    gradient, across, diagonal = moments.noise_derivatives(
        solution, BETA, ceiling, np.empty(0)
    )
    for c in range(2):
        up, down = logs + steps[4 + c], logs - steps[4 + c]
        slope = (value(up) - value(down)) / (2 * h)
        curve = (value(up) - 2 * value(logs) + value(down)) / h**2
        assert_allclose(gradient[c], slope, rtol=1e-5)
        assert_allclose(diagonal[c], -curve, rtol=1e-3)
        for i in range(4):
            mixed = value(up + steps[i]) - value(up - steps[i])
            mixed -= value(down + steps[i]) - value(down - steps[i])
            assert_allclose(across[c, i], -mixed / (4 * h**2), rtol=1e-3, atol=1e-5)


def test_a_noise_that_is_released_is_the_best(both):
    moments = both[0]
    before = moments.solved(ALPHA, BETA)
    solution, beta = moments.released(before, BETA, np.array([1e9, 1e-2]))

    assert beta[1] == 1e-2
    assert_allclose(moments.solved(ALPHA, beta).log_evidence, solution.log_evidence)
    for factor in (0.9, 1.1):
        other = moments.solved(ALPHA, beta * np.array([factor, 1.0]))
        assert other.log_evidence < solution.log_evidence


def test_rows_that_stand_for_products_of_several_targets(rng):
    columns, target = rng.standard_normal((50, 6)), rng.standard_normal((50, 3))
    squares = np.sum(target**2, axis=0)
    inner = Inner(columns.T @ columns, columns.T @ target, squares, 50.0)
    design, y, weight = compressed(inner)
    rows = design.matvec(np.diag(design.column_norms), np.arange(6))

    assert len(y) == 9
    assert_allclose((rows * weight[:, None]).T @ y, columns.T @ target, atol=1e-10)
    assert_allclose(weight @ y**2, squares)


def test_an_inverse_temperature_lets_in_as_many_by_chance():
    rng = np.random.default_rng(0)
    chance = rng.chisquare(1, 4000), rng.chisquare(5, 4000) / 5
    passed = [
        np.mean(tempered(8.0, k) * one > 3.6)
        for k, one in zip((1, 5), chance, strict=True)
    ]

    assert abs(passed[0] - passed[1]) < 0.05
    assert tempered(8.0, 1) == 8.0
    assert tempered(1.0, 5) == 1.0
