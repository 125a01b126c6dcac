"""Parts of a problem: what stands for rows has the evidence of the rows."""

from dataclasses import replace

import numpy as np
import pytest
from numpy.testing import assert_allclose

from relvec.basis import Basis
from relvec.design import DenseDesign, Rows
from relvec.design.blocked import BlockedDesign, Room
from relvec.evidence import Problem
from relvec.evidence.mode import posterior_at_mode
from relvec.evidence.pooled import Pooled
from relvec.evidence.views import Located, Start, compressed_rows, low_rank, rows_of
from relvec.kernels import Gaussian as GaussianKernel
from relvec.kernels import Sigmoid
from relvec.likelihoods import Gaussian

N_ROWS, N_CENTRES = 240, 30


def large_problem(kind, n_outputs=1, *, bias=True, kernel=None, seed=0):
    """Weighted rows of a few functions, whose dictionary is held or not."""
    rng = np.random.default_rng(seed)
    X = rng.uniform(-2, 2, (N_ROWS, 2))
    weight = rng.uniform(0.2, 3.0, N_ROWS)
    basis = Basis.of(kernel or GaussianKernel(1.0), X[:N_CENTRES], bias)
    Phi = basis(X)
    y = Phi @ rng.normal(0, 1, (len(basis), n_outputs))
    y += 0.3 * rng.standard_normal(y.shape)
    if kind == "dense":
        design = DenseDesign.weighted(Phi, weight)
    else:
        room = Room(entries=1e6 if kind == "views held" else 0, keep=0, pivots=60)
        rows = replace(Rows.of(X), entries=700)
        norms = np.full(len(basis), np.sqrt(weight.sum()))
        design = BlockedDesign(rows, basis, norms, weight, room)
    most = rng.uniform(1, 5, len(basis))
    noise = Gaussian(rng.uniform(5, 20, n_outputs))
    place = 0 if bias else None
    return Problem(design, y, noise, weight, bias=place, scale=2.0, max_prior_std=most)


KINDS = ["dense", "views held", "views in blocks"]


def some_view(problem, columns=(3, 8, 9, 20), rows=None):
    return rows_of(problem, Start.of(problem).beside(np.array(columns)), rows)


def evidence(problem, columns, precision, noise=None):
    """At α in the user's units."""
    alpha = precision / problem.precision_units[columns]
    start = np.zeros((problem.y.shape[1], len(columns)))
    noise = problem.likelihood if noise is None else noise
    return posterior_at_mode(problem, noise, columns, alpha, start)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("n_outputs", [1, 3])
@pytest.mark.parametrize(("digits", "rtol"), [(True, 1e-9), (False, 1e-7)])
@pytest.mark.parametrize("seed", range(3))
def test_few_rows_have_the_evidence_of_all(seed, digits, rtol, n_outputs, kind):
    """For any α and noise; means of weights, in their units, are the same too."""
    problem = large_problem(kind, n_outputs, seed=seed)
    view = some_view(problem)
    few = compressed_rows(view, digits=digits)
    rng = np.random.default_rng(seed + 100)
    assert len(few.problem.y) <= 2 * (5 + n_outputs)
    assert np.array_equal(few.columns, view.columns)
    assert_allclose(few.problem.sample_weight.sum(), problem.sample_weight.sum())

    for size in (0, 1, 3, 5):
        inside = np.sort(rng.permutation(5)[:size])
        alpha = 10 ** rng.uniform(-4, 3, size)
        noise = Gaussian(10 ** rng.uniform(-2, 4, n_outputs))
        one, other = (
            evidence(part.problem, inside, alpha, noise) for part in (view, few)
        )
        assert_allclose(other.log_evidence, one.log_evidence, rtol=rtol)
        means = [
            mode.posterior.mean / part.problem.design.column_norms[inside]
            for mode, part in ((one, view), (other, few))
        ]
        assert_allclose(means[1], means[0], rtol=1e-5, atol=1e-6)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("rows", [None, np.arange(5, 200, 3)], ids=["all", "some"])
def test_a_view_is_the_problem_of_its_rows_and_columns(kind, rows):
    problem = large_problem(kind)
    view = some_view(problem, rows=rows)
    chosen = np.arange(N_ROWS) if rows is None else rows
    Phi = large_problem("dense").design.matrix[np.ix_(chosen, view.columns)]
    weight = problem.sample_weight[chosen]
    dense = DenseDesign.weighted(Phi, weight)
    expected = replace(
        view.problem, design=dense, y=problem.y[chosen], sample_weight=weight
    )
    alpha = np.array([0.1, 3.0, 40.0])
    inside = np.array([0, 2, 4])
    one, other = (evidence(part, inside, alpha) for part in (view.problem, expected))

    assert view.columns.tolist() == [0, 3, 8, 9, 20]
    assert view.exact
    assert not view.whole
    assert_allclose(one.log_evidence, other.log_evidence, rtol=1e-10)


def test_a_view_of_everything_is_whole():
    problem = large_problem("dense")
    everything = np.arange(problem.design.shape[1])

    assert some_view(problem, everything).whole
    assert not some_view(problem, everything, np.arange(100)).whole


def test_a_view_says_of_its_columns_what_the_problem_does():
    problem = large_problem("views in blocks")
    start = Start.of(problem)
    precision = start.precision.copy()
    precision[[8, 20]] = 5.0, 7.0
    start = replace(start, precision=precision, columns=np.array([0, 8, 20]))
    view = rows_of(problem, start.beside(np.array([3, 9])), None)
    elsewhere, two = replace(problem, bias=9), replace(start, columns=np.array([3, 9]))

    assert view.problem.bias == 0
    assert rows_of(elsewhere, two, None).problem.bias == 1
    assert view.problem.start.tolist() == [np.inf, np.inf, 5.0, np.inf, 7.0]
    assert np.array_equal(
        view.problem.max_prior_std, problem.max_prior_std[[0, 3, 8, 9, 20]]
    )
    assert view.problem.n_distinct == problem.design.shape[1]


@pytest.mark.parametrize("kind", KINDS)
def test_a_model_of_a_view_is_one_of_the_problem(kind):
    """Same functions, same weights, same evidence; and a search goes on from there."""
    problem = replace(large_problem(kind), max_prior_std=None)
    view = compressed_rows(some_view(problem), digits=True)
    search = Pooled()
    state = search.init(view.problem)
    while not search.converged(view.problem, state):
        state = search.step(view.problem, state)
    found = Located(state.model, view, problem)
    at = found.active, found.prior_precision, np.zeros_like(found.mean)
    again = posterior_at_mode(problem, found.likelihood, *at)

    assert set(found.active) <= set(view.columns)
    assert_allclose(again.log_evidence, found.log_evidence, rtol=1e-7)
    assert_allclose(again.posterior.mean, found.mean, rtol=1e-4, atol=1e-5)
    start = Start.of(problem, found)
    resumed = search.init(rows_of(problem, start, None).problem)
    assert_allclose(resumed.model.log_evidence, found.log_evidence, rtol=1e-7)
    norms = problem.design.column_norms[found.active]
    assert_allclose(start.size, np.abs(found.mean / norms).sum())


def test_the_evidence_of_some_rows_is_scaled_to_all():
    problem = large_problem("dense")
    rows = np.arange(0, N_ROWS, 2)
    view = some_view(problem, rows=rows)
    model = Pooled().init(view.problem).model
    share = problem.sample_weight.sum() / problem.sample_weight[rows].sum()

    found = Located(model, view, problem)
    assert_allclose(found.log_evidence, share * model.log_evidence)


@pytest.mark.parametrize("tol", [1e-4, 1e-8])
@pytest.mark.parametrize("rows", [None, np.arange(0, N_ROWS, 3)], ids=["all", "some"])
def test_a_low_rank_has_the_evidence_of_its_columns(rows, tol):
    problem = large_problem("views in blocks", kernel=GaussianKernel(3.0))
    everything = np.arange(problem.design.shape[1])
    start = Start.of(problem).beside(everything)
    view, exact = low_rank(problem, start, rows, tol), rows_of(problem, start, rows)
    inside, alpha = np.array([0, 4, 11, 30]), np.array([1.0, 0.1, 10.0, 2.0])
    one, other = (evidence(part.problem, inside, alpha) for part in (view, exact))

    assert not view.exact
    assert not view.whole
    assert np.array_equal(view.columns, everything)
    assert view.problem.design.held
    assert_allclose(one.log_evidence, other.log_evidence, rtol=10 * tol)


def test_no_low_rank_where_the_kernel_is_not_known_to_have_one():
    problem = large_problem("views in blocks", kernel=Sigmoid(0.1))
    start = Start.of(problem).beside(np.arange(10))

    assert low_rank(problem, start, None, 1e-4) is None
    held = large_problem("dense")
    assert low_rank(held, Start.of(held).beside(np.arange(10)), None, 1e-4) is None
