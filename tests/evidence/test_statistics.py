"""The update formulae (28)-(41) and their recomputation against definitions."""

import numpy as np
import pytest
from numpy.testing import assert_allclose
from oracles import moments, sparsity_and_quality
from problems import full_statistics, random_case

from relvec.evidence.mode import posterior_at_mode
from relvec.evidence.statistics import added, deleted, observed, reestimated

SHAPES = [
    {"n_outputs": 1},
    {"n_outputs": 3},
    {"n_outputs": 2, "shared_weights": True},
]


def assert_same(one, other, rtol):
    order, other_order = np.argsort(one.active), np.argsort(other.active)

    def moments_of(stats, order):
        return stats.mean[:, order], stats.covariance[:, order[:, None], order]

    assert_allclose(one.active[order], other.active[other_order])
    assert_allclose(one.sparsity_in, other.sparsity_in, rtol=rtol, atol=rtol)
    assert_allclose(one.quality_in, other.quality_in, rtol=rtol, atol=rtol)
    pairs = zip(moments_of(one, order), moments_of(other, other_order), strict=True)
    for left, right in pairs:
        assert_allclose(left, right, rtol=rtol, atol=rtol)


@pytest.mark.parametrize("shape", SHAPES, ids=str)
@pytest.mark.parametrize("seed", range(6))
def test_recomputation_agrees_with_the_definitions(seed, shape):
    case = random_case(seed, **shape)
    stats = full_statistics(case)

    for k, (target, precision) in enumerate(case.each_output()):
        arguments = (case.Phi, target, precision, case.active, case.alpha)
        S, Q = sparsity_and_quality(*arguments)
        Sigma, mu = moments(*arguments)
        assert_allclose(stats.sparsity_in[k], S, rtol=1e-9)
        assert_allclose(stats.quality_in[k], Q, rtol=1e-8, atol=1e-9)
        assert_allclose(stats.covariance[k], Sigma, rtol=1e-8, atol=1e-12)
        assert_allclose(stats.mean[k], mu, rtol=1e-8, atol=1e-10)


@pytest.mark.parametrize("shape", SHAPES, ids=str)
def test_recomputation_does_not_depend_on_its_pieces(monkeypatch, shape):
    case = random_case(0, **shape)
    whole = full_statistics(case)
    monkeypatch.setattr("relvec.evidence.statistics._CACHED_COLUMNS", 4)

    assert_same(full_statistics(case), whole, rtol=1e-12)


@pytest.mark.parametrize("shape", SHAPES, ids=str)
@pytest.mark.parametrize("seed", range(6))
def test_passes_over_the_dictionary_agree_with_inner_products(seed, shape):
    case = random_case(seed, **shape)
    problem = case.problem
    start = np.zeros((case.seen.target.shape[1], len(case.active)))
    mode = posterior_at_mode(
        problem, problem.likelihood, case.active, case.alpha, start
    )

    seen = observed(problem.design, case.seen, mode.posterior, mode.eta)
    assert_same(seen, full_statistics(case), rtol=1e-9)


@pytest.mark.parametrize("shape", SHAPES, ids=str)
@pytest.mark.parametrize("seed", range(6))
def test_a_walk_of_updates_ends_where_recomputation_does(seed, shape):
    """Thirty additions, re-estimations and deletions lose less than 1e-8."""
    case = random_case(seed, **shape)
    rng = np.random.default_rng(seed + 100)
    stats = full_statistics(case)
    outside = np.setdiff1d(np.arange(case.Phi.shape[1]), case.active)

    for _ in range(30):
        action = rng.choice(["add", "reestimate", "delete"])
        position = int(rng.integers(len(stats.active)))
        precision = float(10 ** rng.uniform(-1.5, 1.5))
        if action == "add" and len(stats.active) < 10:
            index = int(rng.choice(np.setdiff1d(outside, stats.active)))
            row = case.problem.design.cross_gram(
                np.array([index]), case.seen.row_weights
            )
            stats = added(stats, index, precision, row)
        elif action == "delete" and len(stats.active) > 2:
            stats = deleted(stats, position)
        else:
            stats = reestimated(stats, position, precision)

    again = full_statistics(case, stats.active, stats.prior_precision)
    assert_same(stats, again, rtol=1e-8)


def test_reestimating_to_the_same_precision_changes_nothing():
    stats = full_statistics(random_case(1))

    assert reestimated(stats, 2, float(stats.prior_precision[2])) is stats


def test_deletion_undoes_addition():
    case = random_case(3)
    stats = full_statistics(case)
    index = int(np.setdiff1d(np.arange(case.Phi.shape[1]), case.active)[0])
    row = case.problem.design.cross_gram(np.array([index]), case.seen.row_weights)

    back = deleted(added(stats, index, 0.7, row), len(stats.active))
    assert_same(back, stats, rtol=1e-9)
