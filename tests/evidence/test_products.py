"""What rows say of functions, in both forms, against definitions in dense arrays."""

from dataclasses import replace

import numpy as np
import pytest
from numpy.testing import assert_allclose
from oracles import (
    covariance,
    exact_posterior,
    log_marginal,
    moments,
    sparsity_and_quality,
)
from problems import random_case

from relvec.design import DenseDesign
from relvec.evidence import Problem, WarmStart
from relvec.evidence.products import (
    Gram,
    Orthonormal,
    best_additions,
)
from relvec.evidence.subsampling import improving_columns
from relvec.likelihoods import Gaussian, PseudoObservations, SharedGaussian
from relvec.precision import DIFFERENCE_LIMIT

SHAPES = {
    "one output": {"n_outputs": 1},
    "three outputs": {"n_outputs": 3, "shared_weights": True},
    "three outputs that weigh rows": {"n_outputs": 3},
}
FORMS = {
    "Gram": lambda gram: gram,
    "orthonormal": lambda gram: gram.orthonormal,
}


@pytest.fixture(params=range(4))
def seed(request):
    return request.param


@pytest.fixture(
    params=[
        ("Gram", "one output"),
        ("Gram", "three outputs"),
        ("Gram", "three outputs that weigh rows"),
        ("orthonormal", "one output"),
        ("orthonormal", "three outputs"),
    ],
    ids=", ".join,
)
def both(request, seed):
    """A case and its products in one of the forms."""
    form, shape = request.param
    case = random_case(seed, **SHAPES[shape])
    return case, FORMS[form](Gram(case.problem, case.seen))


def statistics_of(case, products):
    at = case.active, case.alpha, case.seen.noise_precision
    return products.statistics(*at)


def test_statistics_are_the_dense_ones(both):
    """S = φᵀC⁻¹φ and Q = φᵀC⁻¹t̂ of all functions, output by output."""
    case, products = both
    found = statistics_of(case, products)
    n_outputs, n_basis = case.seen.target.shape[1], case.Phi.shape[1]
    S = np.broadcast_to(found.sparsity, (n_outputs, n_basis))

    for output, (target, precision) in enumerate(case.each_output()):
        at = case.Phi, target, precision, case.active, case.alpha
        sparsity, quality = sparsity_and_quality(*at)
        assert_allclose(S[output], sparsity, rtol=1e-7)
        scale = np.abs(quality).max()
        assert_allclose(found.quality[output], quality, atol=1e-8 * scale)
    assert np.all(found.least_sparsity < found.sparsity)


def test_overlaps_are_those_given_the_model(both):
    """T = ΦᵀC⁻¹Φ of some functions, in the model or not."""
    case, products = both
    chosen = np.array([0, 7, 4, case.active[1], 11])
    found = products.overlaps(statistics_of(case, products), chosen)
    found = np.broadcast_to(found, (case.seen.target.shape[1], 5, 5))

    for overlap, (_, precision) in zip(found, case.each_output(), strict=True):
        C = covariance(case.Phi, precision, case.active, case.alpha)
        expected = case.Phi[:, chosen].T @ np.linalg.solve(C, case.Phi[:, chosen])
        assert_allclose(overlap, expected, atol=1e-8 * np.abs(expected).max())


def test_moments_have_the_evidence_and_the_weights_of_the_model(both):
    """For any α and noise; a weight of a row is no change of unit, hence ½Σ log v."""
    case, products = both
    columns, rng = np.array([3, 9, 1, 12]), np.random.default_rng(9)
    alpha = 10 ** rng.uniform(-2, 2, 4)
    beta = case.seen.noise_precision * rng.uniform(0.1, 10, 1)
    found = products.moments(columns).solved(alpha, beta)
    weights = np.broadcast_to(case.seen.row_weights, case.seen.target.shape)

    expected = -0.5 * np.log(weights).sum()
    for output, target in enumerate(case.seen.target.T):
        precision = weights[:, output] * beta[output]
        expected += log_marginal(case.Phi, target, precision, columns, alpha)
        _, mean = moments(case.Phi, target, precision, columns, alpha)
        assert_allclose(found.mean[output], mean, rtol=1e-6, atol=1e-8)
    assert_allclose(found.log_evidence, expected, rtol=1e-9)


def test_cosines_are_those_of_the_columns(both):
    case, products = both
    chosen, others = np.array([2, 5, 8]), np.array([8, 0])
    weights = case.seen.row_weights.T[:, :, None]
    rows = np.sqrt(weights) * case.Phi
    rows = rows / np.linalg.norm(rows, axis=1, keepdims=True)
    expected = np.abs(np.swapaxes(rows[:, :, chosen], 1, 2) @ rows[:, :, others])

    found = products.cosines(chosen, others)
    assert found.shape == (3, 2)
    assert_allclose(found, expected.max(axis=0), rtol=1e-10)


@pytest.mark.parametrize("form", FORMS)
def test_columns_may_be_asked_for_in_any_order(form, seed):
    """What is known of some before changes nothing."""
    case = random_case(seed)
    fresh, used = (FORMS[form](Gram(case.problem, case.seen)) for _ in range(2))
    for columns in ([4], [9, 4, 2], [0, 1], [12, 9]):
        used.moments(np.array(columns))
        used.cosines(np.array([3]), np.array(columns))
    one, other = (statistics_of(case, products) for products in (fresh, used))

    assert_allclose(other.sparsity, one.sparsity, rtol=1e-9)
    assert_allclose(other.quality, one.quality, atol=1e-9 * np.abs(one.quality).max())


def sharing(seed):
    """Outputs that share α in units of their noise."""
    case = random_case(seed, n_outputs=3, shared_weights=True)
    y, weight = case.seen.target * [1.0, 20.0, 0.1], case.seen.row_weights[:, 0]
    likelihood = SharedGaussian.of(y, weight, "estimate")
    design = DenseDesign.weighted(case.Phi, weight)
    problem = Problem(design, y, likelihood, weight)
    seen = likelihood.pseudo_observations(y, np.zeros_like(y), weight)
    return case, problem, seen


@pytest.mark.parametrize("form", FORMS)
def test_outputs_that_share_a_noise_unit(form, seed):
    """C = V⁻¹ + ΦA⁻¹Φᵀ for all of them, each target in units of its noise."""
    case, problem, seen = sharing(seed)
    unit, beta = problem.design.matrix / problem.design.column_norms, [0.5, 1.0, 4.0]
    products = FORMS[form](Gram(problem, seen))
    at = case.active, case.alpha, np.array(beta)
    found, v = products.statistics(*at), seen.row_weights[:, 0]

    assert found.sparsity.shape == (1, unit.shape[1])
    for output, target in enumerate((np.sqrt(beta) * seen.target).T):
        S, Q = sparsity_and_quality(unit, target, v, case.active, case.alpha)
        assert_allclose(found.sparsity[0], S, rtol=1e-7)
        assert_allclose(found.quality[output], Q, atol=1e-8 * np.abs(Q).max())


# Digits


def nearly_dependent():
    """Wide functions on few rows, and a model of condition 1e14."""
    x = np.linspace(-1, 1, 12)
    Phi = np.exp(-0.1 * (x[:, None] - np.linspace(-1, 1, 8)) ** 2)
    target = np.sin(2 * x) + 0.1 * np.random.default_rng(0).standard_normal(12)
    seen = PseudoObservations(target[:, None], np.ones((12, 1)), np.array([1e6]))
    likelihood = Gaussian(np.array([1e6]))
    problem = Problem(
        DenseDesign(Phi, np.ones(8)),
        target[:, None],
        likelihood,
        seen.row_weights[:, 0],
    )
    return problem, seen, np.array([0, 3, 6]), np.full(3, 1e-8)


def test_an_orthonormal_basis_is_right_where_inner_products_are_not():
    """Beside exact arithmetic."""
    problem, seen, active, alpha = nearly_dependent()
    Phi, target = problem.design.matrix, problem.y[:, 0]
    S, Q, evidence = exact_posterior(Phi, target, 1e6, active, alpha)
    gram = Gram(problem, seen)
    fine = gram.orthonormal
    found = fine.statistics(active, alpha, seen.noise_precision)
    solved = fine.moments(active).solved(alpha, seen.noise_precision)

    assert solved.condition > 1e14
    assert_allclose(found.sparsity[0], S, rtol=1e-4)
    assert_allclose(found.quality[0], Q, rtol=1e-3, atol=1e-4 * np.abs(Q).max())
    assert_allclose(solved.log_evidence, evidence, rtol=1e-9)

    coarse = gram.statistics(active, alpha, seen.noise_precision)
    error = np.abs(coarse.sparsity[0] / S - 1)
    assert error.max() > 0.1
    # It says so: what is off is below what counts as rounding.
    assert np.all((error < 0.1) | (coarse.sparsity[0] <= coarse.least_sparsity[0]))


def test_finer_products_are_taken_where_a_model_needs_them_and_left_again():
    problem, seen, *_ = nearly_dependent()
    gram = Gram(problem, seen)
    fine = gram.suited(1.1 * DIFFERENCE_LIMIT)

    assert gram.suited(0.9 * DIFFERENCE_LIMIT) is gram
    assert isinstance(fine, Orthonormal)
    assert fine.suited(0.5 * DIFFERENCE_LIMIT) is fine  # or they would be made again
    assert fine.suited(1e3) is gram
    assert fine.finer(None) is None
    assert gram.finer(None) is fine  # no digits to tell at all


def test_outputs_that_weigh_rows_have_inner_products_only():
    case = random_case(1, n_outputs=2)
    gram = Gram(case.problem, case.seen)

    assert gram.orthonormal is None
    assert gram.suited(1e20) is gram
    assert gram.finer(None) is None


# What functions gain


def gaussian_problem(seed, **settings):
    """Bumps on a line, three of them in the model."""
    rng = np.random.default_rng(seed)
    x = rng.uniform(-3, 3, 120)
    Phi = np.exp(-4 * (x[:, None] - np.linspace(-3, 3, 40)) ** 2)
    weight = rng.uniform(0.5, 2.0, 120)
    y = Phi[:, ::9] @ rng.normal(0, 1, 5) + 0.2 * rng.standard_normal(120)
    start = np.full(40, np.inf)
    start[[3, 20, 31]] = rng.uniform(0.1, 10.0, 3)
    design = DenseDesign.weighted(Phi, weight)
    noise = Gaussian(np.array([25.0]), estimated=True)
    return Problem(
        design, y[:, None], noise, weight, start=WarmStart(start), **settings
    )


def begun(problem):
    """The model that it begins with, and S and Q beside it."""
    active, alpha, _ = problem.initial
    weight, noise = problem.sample_weight, problem.likelihood.noise_precision
    seen = PseudoObservations(problem.y, weight[:, None], noise)
    products = Gram(problem, seen)
    return products, (active, alpha), products.statistics(active, alpha, noise)


def test_a_gain_is_that_of_the_evidence(seed):
    """Of a function that joins at its best α."""
    problem = gaussian_problem(seed)
    products, (active, alpha), stats = begun(problem)
    precision, gain = best_additions(stats, problem.least_precision)
    noise = problem.likelihood.noise_precision
    before = products.moments(active).solved(alpha, noise).log_evidence
    outside = np.setdiff1d(np.flatnonzero(gain > 0), active)

    assert len(outside) > 3
    for function in outside:
        columns = np.append(active, function)
        for factor in (1.0, 1.3, 0.8):
            joined = np.append(alpha, factor * precision[function])
            after = products.moments(columns).solved(joined, noise).log_evidence
            if factor == 1.0:
                assert_allclose(after - before, gain[function], rtol=1e-6, atol=1e-9)
            else:
                assert after - before < gain[function]


def test_no_prior_is_broader_than_it_may_be(seed):
    problem = gaussian_problem(seed, max_prior_std=np.full(40, 0.1))
    _, _, stats = begun(problem)
    precision, gain = best_additions(stats, problem.least_precision)
    free, more = best_additions(stats, None)

    assert np.all(precision >= problem.least_precision)
    held = free < problem.least_precision
    assert held.any()
    assert np.all(gain[held] <= more[held])
    assert_allclose(precision[~held], free[~held])


def test_what_is_rounding_gains_nothing(seed):
    """Its S is as likely wrong as right."""
    problem = gaussian_problem(seed)
    _, _, stats = begun(problem)
    best = int(best_additions(stats, problem.least_precision)[1].argmax())
    least = stats.least_sparsity.copy()
    least[0, best] = stats.sparsity[0, best]

    gain = best_additions(replace(stats, least_sparsity=least), None)[1]
    assert gain[best] == 0.0


def test_improving_columns_are_those_that_gain_beside_the_model(seed):
    """With as much less noise as asked for."""
    problem = gaussian_problem(seed)
    _, (active, _), stats = begun(problem)
    gain = best_additions(stats, problem.least_precision)[1]
    gain[active] = 0.0
    columns = improving_columns(problem, 1.0, 20.0)

    assert columns.tolist() == np.flatnonzero(gain > 20.0).tolist()
    assert set(columns) < set(improving_columns(problem, 4.0, 20.0))
