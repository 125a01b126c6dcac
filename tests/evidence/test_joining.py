"""Many functions at once: against plain formulae, and what a search may not do."""

from dataclasses import replace

import numpy as np
import pytest
from numpy.testing import assert_allclose
from oracles import covariance

from relvec.design import DenseDesign
from relvec.evidence import Problem
from relvec.evidence.joining import Joining, beside_model, gaining
from relvec.evidence.mode import posterior_at_mode
from relvec.evidence.statistics import Projections
from relvec.evidence.views import moments_of
from relvec.likelihoods import Gaussian

N_ROWS, N_FUNCTIONS = 300, 60


def problem_of(seed, *, known_noise=False, noise=0.2, claimed=0.2):
    """Bumps on a line, of which a few make the targets; some are in the model."""
    rng = np.random.default_rng(seed)
    x = rng.uniform(-3, 3, N_ROWS)
    Phi = np.exp(-4 * (x[:, None] - np.linspace(-3, 3, N_FUNCTIONS)) ** 2)
    weight = rng.uniform(0.5, 2.0, N_ROWS)
    y = Phi[:, ::9] @ rng.normal(0, 1, len(range(0, N_FUNCTIONS, 9)))
    y = y + noise * rng.standard_normal(N_ROWS)
    likelihood = Gaussian(np.array([1 / claimed**2]), estimated=not known_noise)
    start = np.full(N_FUNCTIONS, np.inf)
    start[[3, 20, 41]] = rng.uniform(0.1, 10.0, 3)
    design = DenseDesign.weighted(Phi, weight)
    return Problem(design, y[:, None], likelihood, weight, start=start)


def searched(problem, search=None):
    """States from the first to the last."""
    search = search or Joining()
    states = [search.init(problem)]
    while not search.converged(problem, states[-1]):
        states.append(search.step(problem, states[-1]))
        assert len(states) < 200
    return states


@pytest.mark.parametrize("cold", [1.0, 8.0])
@pytest.mark.parametrize("seed", range(3))
def test_gains_are_those_of_the_evidence_with_less_noise(seed, cold):
    """A function that joins at its best α raises the evidence by what was said."""
    problem = problem_of(seed)
    start = problem.start_precision
    active = np.flatnonzero(np.isfinite(start))
    alpha, noise = start[active], problem.likelihood.noise_precision
    weight = problem.sample_weight[:, None]
    cross, norms, target = problem.design.beside(active, weight, problem.y)
    squares = np.sum(weight * problem.y**2, axis=0)
    products = Projections(norms, target, squares)
    beside = beside_model(problem, (active, alpha, noise), cross, products, cold)

    less = replace(problem.likelihood, noise_precision=cold * noise)

    def evidence(functions, precision):
        mean = np.zeros((1, len(functions)))
        return posterior_at_mode(problem, less, functions, precision, mean).log_evidence

    before = evidence(active, alpha)
    options = beside.options
    joining = np.flatnonzero(options.gain > 0)
    assert joining.size
    assert not np.isin(joining, active).any()
    for index in joining[:: max(1, len(joining) // 10)]:
        precision = np.append(alpha, options.precision[index])
        after = evidence(np.append(active, index), precision)
        assert_allclose(after - before, options.gain[index], rtol=1e-6, atol=1e-8)


@pytest.mark.parametrize("seed", range(3))
def test_overlaps_are_those_given_the_model(seed):
    problem = problem_of(seed)
    active = np.flatnonzero(np.isfinite(problem.start))
    alpha, noise = problem.start_precision[active], problem.likelihood.noise_precision
    weight = problem.sample_weight[:, None]
    cross, norms, target = problem.design.beside(active, weight, problem.y)
    products = Projections(norms, target, np.sum(weight * problem.y**2, axis=0))
    beside = beside_model(problem, (active, alpha, noise), cross, products, 2.0)

    unit = problem.design.matrix / problem.design.column_norms
    precision = 2.0 * noise[0] * problem.sample_weight
    some = np.array([5, 7, 30])
    C = covariance(unit, precision, active, alpha)
    expected = unit[:, some].T @ np.linalg.solve(C, unit[:, some])
    found = beside.overlaps(moments_of(problem).gram[:, some[:, None], some], some)
    assert_allclose(found[0], expected, rtol=1e-8, atol=1e-8)


@pytest.mark.parametrize("seed", range(3))
def test_what_gains_has_the_inner_products_of_its_columns(seed):
    problem = problem_of(seed)
    columns, moments = gaining(problem)
    expected = moments_of(problem).subset(columns)

    assert np.isin(np.flatnonzero(np.isfinite(problem.start)), columns).all()
    assert 3 < len(columns) <= N_FUNCTIONS
    assert_allclose(moments.gram, expected.gram, atol=1e-12)
    assert_allclose(moments.target, expected.target, rtol=1e-12)
    assert_allclose(moments.target_squares, expected.target_squares)
    assert moments.count == expected.count


@pytest.mark.parametrize("known_noise", [False, True])
@pytest.mark.parametrize("enough", [0.0, np.inf], ids=["plain", "tempered"])
@pytest.mark.parametrize("seed", range(3))
def test_the_evidence_never_falls_and_is_that_of_the_model(seed, enough, known_noise):
    problem = problem_of(seed, known_noise=known_noise)
    states = searched(problem, Joining(enough=enough))
    evidence = [state.model.log_evidence for state in states]
    model = states[-1].model
    mode = posterior_at_mode(
        problem, model.likelihood, model.active, model.prior_precision, model.mean
    )

    assert np.all(np.diff(evidence) >= 0)
    assert_allclose(model.log_evidence, mode.log_evidence, rtol=1e-8)
    assert_allclose(model.mean, mode.posterior.mean, rtol=1e-4, atol=1e-6)
    assert_allclose(
        model.effective_parameters, mode.posterior.effective_parameters, rtol=1e-6
    )
    assert_allclose(model.log_determinant, mode.posterior.log_determinant, rtol=1e-8)
    if known_noise:
        noise = model.observations.noise_precision
        assert np.array_equal(noise, problem.likelihood.noise_precision)


def test_it_finds_what_makes_the_targets():
    problem = problem_of(1)
    model = searched(problem)[-1].model
    functions = problem.design.matrix[:, model.active]
    eta = functions @ (model.mean[0] / problem.design.column_norms[model.active])
    truth = problem_of(1, noise=0.0).y[:, 0]

    assert np.sqrt(np.mean((eta - truth) ** 2)) < 0.1
    assert 0.15 < float(model.likelihood.scale[0]) < 0.25


@pytest.mark.parametrize("seed", range(3))
def test_less_noise_for_a_while_frees_a_search_that_is_stuck(seed):
    """Fast waves in four dimensions, by functions that are worth little alone."""
    rng = np.random.default_rng(seed)
    X = rng.uniform(-1, 1, (750, 4))
    y = np.sin(5 * X[:, 0]) * np.cos(4 * X[:, 1])
    y = y + np.sin(3 * X[:, 2]) * np.cos(2 * X[:, 3])
    y = (y + 0.1 * rng.standard_normal(len(y)))[:, None]
    squares = ((X[:, None] - X[None]) ** 2).sum(-1)
    rows = np.ones(len(y))
    design = DenseDesign.weighted(np.exp(-0.75 * squares), rows)
    problem = Problem(design, y - y.mean(), Gaussian.starting(y, rows), rows)
    plain, freed = (
        searched(problem, Joining(enough=enough))[-1].model for enough in (0.0, np.inf)
    )

    assert freed.log_evidence > plain.log_evidence + 20


def test_it_ends_where_gram_matrices_have_too_few_digits():
    """The model that it began with is kept, for a search that does without them."""
    problem = problem_of(0, known_noise=True, claimed=1e-7)
    states = searched(problem)

    assert len(states) == 2
    assert not states[-1].model.digits
    assert np.isfinite(states[-1].model.log_evidence)


def test_a_beginning_that_is_out_of_digits_is_left():
    """As that of many wide functions beside hardly any noise."""
    given = problem_of(0, claimed=1e-9)
    x = np.linspace(-3, 3, N_ROWS)
    Phi = np.exp(-0.01 * (x[:, None] - np.linspace(-3, 3, N_FUNCTIONS)) ** 2)
    design = DenseDesign.weighted(Phi, given.sample_weight)
    problem = replace(given, design=design, start=np.full(N_FUNCTIONS, 1e-12))
    state = Joining().init(problem)

    assert len(state.model.active) == 0
    assert np.isfinite(state.model.log_evidence)
