"""A search by parts: what a part is of the whole, and what stands for its rows."""

from dataclasses import replace
from itertools import pairwise

import numpy as np
import pytest
from numpy.testing import assert_allclose

from relvec.basis import Basis
from relvec.chance import generator
from relvec.design import DenseDesign, Rows
from relvec.design.blocked import BlockedDesign, Room
from relvec.evidence import Problem, WarmStart
from relvec.evidence.mode import posterior_at_mode
from relvec.evidence.products import Orthonormal
from relvec.evidence.search import BatchSearch
from relvec.evidence.subsampling import (
    SubsampledSearch,
    SubsamplingSettings,
    _Known,
    _rows_of,
    _screened,
    _turned,
    embedded,
)
from relvec.kernels import Gaussian as GaussianKernel
from relvec.likelihoods import Bernoulli, Gaussian, SharedGaussian

N_ROWS, N_CENTRES = 240, 30
KINDS = ["dense", "views held", "views in blocks"]


def large_problem(kind, n_outputs=1, *, bias=True, width=1.0, seed=0, classes=False):
    """Weighted rows of a few functions, whose dictionary is held or not."""
    rng = np.random.default_rng(seed)
    X = rng.uniform(-2, 2, (N_ROWS, 2))
    weight = rng.uniform(0.2, 3.0, N_ROWS)
    basis = Basis.of(GaussianKernel(width), X[:N_CENTRES], bias)
    Phi = basis(X)
    y = Phi @ rng.normal(0, 1, (len(basis), n_outputs))
    y += 0.3 * rng.standard_normal(y.shape)
    noise = Gaussian(rng.uniform(5, 20, n_outputs))
    if classes:
        y, noise = (y > np.median(y)).astype(float), Bernoulli()
    if kind == "dense":
        design = DenseDesign.weighted(Phi, weight)
    else:
        room = Room(entries=1e6 if kind == "views held" else 0, keep=0)
        rows = replace(Rows.of(X), entries=700)
        norms = np.full(len(basis), np.sqrt(weight.sum()))
        design = BlockedDesign(rows, basis, norms, weight, room)
    most = rng.uniform(1, 5, len(basis))
    place = 0 if bias else None
    return Problem(design, y, noise, weight, bias=place, scale=2.0, max_prior_std=most)


def beginning(problem, precision=None):
    return _Known(replace(problem, start=WarmStart(precision)))


def part_of(problem, columns=(0, 3, 8, 9, 20), rows=None):
    return _rows_of(problem, beginning(problem), np.array(columns), rows)


def evidence(problem, columns, precision, noise=None):
    """At α in the user's units."""
    alpha = precision / problem.precision_units[columns]
    start = np.zeros((problem.y.shape[1], len(columns)))
    noise = problem.likelihood if noise is None else noise
    return posterior_at_mode(problem, noise, columns, alpha, start)


# Parts


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("rows", [None, np.arange(5, 200, 3)], ids=["all", "some"])
def test_a_part_is_the_problem_of_its_rows_and_columns(kind, rows):
    problem = large_problem(kind)
    part = part_of(problem, rows=rows)
    chosen = np.arange(N_ROWS) if rows is None else rows
    Phi = large_problem("dense").design.matrix[np.ix_(chosen, part.columns)]
    weight = problem.sample_weight[chosen]
    dense = DenseDesign.weighted(Phi, weight)
    expected = replace(
        part.problem, design=dense, y=problem.y[chosen], sample_weight=weight
    )
    inside, alpha = np.array([0, 2, 4]), np.array([0.1, 3.0, 40.0])
    one, other = (evidence(each, inside, alpha) for each in (part.problem, expected))

    assert not part.whole
    assert_allclose(one.log_evidence, other.log_evidence, rtol=1e-10)


def test_only_a_part_of_everything_is_whole():
    problem = large_problem("dense")
    everything = np.arange(problem.design.shape[1])

    assert part_of(problem, everything).whole
    assert not part_of(problem, everything, np.arange(100)).whole
    assert not part_of(problem, everything[1:]).whole


def test_a_part_says_of_its_columns_what_the_problem_does():
    problem = large_problem("views in blocks")
    precision = np.full(problem.design.shape[1], np.inf)
    precision[[8, 20]] = 5.0, 7.0
    known = beginning(problem, precision)
    elsewhere = beginning(replace(problem, bias=9), precision)
    part = _rows_of(problem, known, np.array([0, 3, 8, 9, 20]), None)

    assert known.columns.tolist() == [0, 8, 20]
    assert part.problem.bias == 0
    assert _rows_of(problem, elsewhere, np.array([3, 9]), None).problem.bias == 1
    assert part.problem.start.precision.tolist() == [np.inf, np.inf, 5.0, np.inf, 7.0]
    at = np.array([0, 3, 8, 9, 20])
    assert np.array_equal(part.problem.max_prior_std, problem.max_prior_std[at])


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("n_outputs", [1, 3])
@pytest.mark.parametrize(("digits", "rtol"), [(True, 1e-9), (False, 1e-7)])
def test_few_rows_have_the_evidence_of_all(digits, rtol, n_outputs, kind):
    """For any α and noise; means of weights, in their units, are the same too."""
    problem = large_problem(kind, n_outputs)
    part = part_of(problem)
    few = _turned(part, digits=digits)
    rng = np.random.default_rng(100)
    assert len(few.problem.y) <= 2 * (5 + n_outputs)
    assert np.array_equal(few.columns, part.columns)
    assert few.whole == part.whole
    assert_allclose(few.problem.sample_weight.sum(), problem.sample_weight.sum())

    for size in (0, 1, 3, 5):
        inside = np.sort(rng.permutation(5)[:size])
        alpha = 10 ** rng.uniform(-4, 3, size)
        noise = Gaussian(10 ** rng.uniform(-2, 4, n_outputs))
        one, other = (
            evidence(each.problem, inside, alpha, noise) for each in (part, few)
        )
        assert_allclose(other.log_evidence, one.log_evidence, rtol=rtol)
        means = [
            mode.posterior.mean / each.problem.design.column_norms[inside]
            for mode, each in ((one, part), (other, few))
        ]
        assert_allclose(means[1], means[0], rtol=1e-5, atol=1e-6)


@pytest.mark.parametrize("classes", [False, True])
@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("rows", [None, np.arange(5, 200, 3)], ids=["all", "some"])
def test_a_part_has_the_columns_known_and_those_that_gain(kind, classes, rows):
    problem = large_problem(kind, classes=classes)
    precision = np.full(problem.design.shape[1], np.inf)
    precision[[5, 9]] = 0.5, 1.0
    known, every = beginning(problem, precision), np.arange(1, 31)
    few = _screened(problem, known, every, rows, promise=3.0)
    more = _screened(problem, known, every, rows, temperature=4.0, promise=3.0)

    assert {0, 5, 9} < set(few.columns) < set(more.columns) <= {0, *every}
    assert few.columns[few.problem.bias] == problem.bias
    assert_allclose(few.problem.start.precision, precision[few.columns])
    assert not few.whole


def test_without_a_model_a_part_has_all_columns():
    problem = large_problem("views in blocks")
    part = _screened(problem, beginning(problem), np.arange(7), None, promise=3.0)

    assert part.columns.tolist() == [*range(7)]


# Models of parts


def ended(problem, search):
    state = search.init(problem)
    for _ in range(300):
        if search.converged(problem, state):
            return state
        state = search.step(problem, state)
    raise AssertionError("the search does not end")


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("few", [False, True], ids=["rows", "few rows"])
def test_a_model_of_a_part_is_one_of_the_problem(kind, few):
    """Same functions, same weights, same evidence; and a search goes on from there."""
    problem = replace(large_problem(kind), max_prior_std=None)
    part = part_of(problem)
    part = _turned(part, digits=True) if few else part
    inner = ended(part.problem, BatchSearch()).model
    found = embedded(inner, part, problem)
    at = found.active, found.prior_precision, np.zeros_like(found.mean)
    again = posterior_at_mode(problem, found.likelihood, *at)

    assert len(found.active) > 2
    assert set(found.active) <= set(part.columns)
    assert_allclose(again.log_evidence, found.log_evidence, rtol=1e-7)
    assert_allclose(again.posterior.mean, found.mean, rtol=1e-4, atol=1e-5)
    known = _Known(problem.resumed(found))
    resumed = BatchSearch().init(_rows_of(problem, known, part.columns, None).problem)
    assert_allclose(resumed.model.log_evidence, found.log_evidence, rtol=1e-7)
    assert len(resumed.model.active) == len(found.active)


def test_the_evidence_of_some_rows_is_scaled_to_all():
    problem = large_problem("dense")
    rows = np.arange(0, N_ROWS, 2)
    part = part_of(problem, rows=rows)
    model = BatchSearch().init(part.problem).model
    share = problem.sample_weight.sum() / problem.sample_weight[rows].sum()

    found = embedded(model, part, problem)
    assert_allclose(found.log_evidence, share * model.log_evidence)


# The search

SMALL = SubsamplingSettings(
    small=0, fewest_rows=60, most_rows=80, growth=2, fresh=8, fresh_of_many=16, fewest=4
)


def states_of(problem, settings=SMALL, **search):
    searching = SubsampledSearch(BatchSearch(**search), 3, settings)
    states = [searching.init(problem)]
    while not searching.converged(problem, states[-1]):
        states.append(searching.step(problem, states[-1]))
        assert len(states) < 300
    return states


def parts_of(states):
    """Those searched, in turn, with the last state of each."""
    last = {id(state.part): state for state in states}
    return list(last.values())


MANY = {
    "numbers": lambda: large_problem("views held"),
    "numbers in blocks": lambda: large_problem("views in blocks"),
    "several outputs": lambda: sharing("views held"),
    "classes": lambda: large_problem("views held", classes=True),
    "classes in blocks": lambda: large_problem("views in blocks", classes=True),
}


def sharing(kind):
    given = large_problem(kind, 3)
    noise = SharedGaussian.of(given.y, given.sample_weight, "estimate")
    return replace(given, likelihood=noise, max_prior_std=None)


@pytest.fixture(params=MANY)
def many(request):
    problem = MANY[request.param]()
    return problem, states_of(problem)


def test_some_rows_first_then_more_then_all_with_fresh_candidates(many):
    """And to the end on all rows only."""
    problem, states = many
    parts = parts_of(states)
    every = set(range(problem.design.shape[1]))
    rows = [state.n_rows for state in parts]

    assert rows[:3] == [60, 120, 240]
    assert set(rows[2:]) == {240}
    assert not any(state.closing for state in parts[:3])
    assert states[-1].closing
    assert set().union(*(state.part.columns for state in parts)) <= every
    for before, after in pairwise(parts):
        assert {*before.model.active, problem.bias} <= set(after.part.columns)
        assert after.taken > before.taken or after.closing
    assert len(parts[0].part.columns) < len(every)
    for state in parts:
        quick = 1.0 if state.closing else SMALL.quick
        assert state.search.tol == quick * 1e-4


def test_it_ends_where_the_last_fresh_candidates_gain_nothing(many):
    """Beside the model of all rows."""
    problem, states = many
    last = states[-1]
    known = _Known(problem.resumed(last.model))
    drawn = generator(3).permutation(problem.design.shape[1])
    fresh = drawn[np.arange(last.taken - 8, last.taken) % len(drawn)]
    nats = 1e-4 * problem.n_observations + 0.05
    closed = _screened(problem, known, fresh, None, promise=nats)

    assert set(closed.columns) <= {*last.model.active, problem.bias}


def test_what_it_found_is_a_model_of_all_rows(many):
    """Its evidence, weights and noise are those of the whole problem."""
    problem, states = many
    for state in parts_of(states)[2:]:
        found = state.model
        at = found.active, found.prior_precision, found.mean
        again = posterior_at_mode(problem, found.likelihood, *at)
        near = {"rtol": 1e-6} if problem.likelihood.conjugate else {"atol": 0.2}
        assert_allclose(found.log_evidence, again.log_evidence, **near)


def test_it_ends_about_where_the_search_of_everything_does(many):
    problem, states = many
    whole = replace(problem, design=problem.design.view(np.arange(N_CENTRES + 1)))
    expected = ended(whole, BatchSearch()).model

    difference = states[-1].model.log_evidence - expected.log_evidence
    assert abs(difference) < max(3.0, 0.02 * abs(expected.log_evidence))
    assert len(states[-1].model.active) <= len(expected.active) + 5


def test_steps_are_counted_on_from_part_to_part(many):
    _, states = many
    steps = [state.steps for state in states]

    assert np.all(np.diff(steps) >= 0)
    assert steps[-1] > 2


def test_the_same_seed_draws_the_same(many):
    problem, states = many
    again = states_of(problem)

    assert len(again) == len(states)
    assert again[-1].model.log_evidence == states[-1].model.log_evidence
    assert np.array_equal(again[-1].model.active, states[-1].model.active)


@pytest.mark.parametrize("classes", [False, True])
def test_a_small_problem_is_searched_as_a_whole(classes):
    problem = large_problem("views held", classes=classes)
    states = states_of(problem, SubsamplingSettings())

    assert states[0].closing
    assert states[0].part.whole
    alone = ended(states[0].part.problem, BatchSearch()).model
    assert states[-1].model.log_evidence == alone.log_evidence


def test_few_functions_of_many_rows_are_turned_into_few_rows():
    """One pass, and all digits."""
    problem = large_problem("views in blocks")
    states = states_of(problem, replace(SMALL, fresh=512))

    assert states[0].closing
    assert states[0].part.whole
    assert len(states[0].part.problem.y) <= 2 * (N_CENTRES + 3)


def test_a_model_that_is_given_is_looked_at_on_all_rows():
    """No rows are drawn for what is known of all of them."""
    given = large_problem("views held")
    start = np.full(given.design.shape[1], np.inf)
    start[[4, 11]] = 1.0, 3.0
    states = states_of(replace(given, start=WarmStart(start)))

    assert all(state.n_rows == N_ROWS for state in states)
    assert {4, 11} <= set(states[0].part.columns)


def test_digits_are_kept_where_a_model_needs_them():
    """Functions that nearly add up to others, and hardly any noise."""
    rng = np.random.default_rng(0)
    given = large_problem("views held", width=2.0)
    y = given.design.matvec(rng.normal(0, 1, (1, 31)), np.arange(31))
    y = 10 * y + 1e-6 * rng.standard_normal((N_ROWS, 1))
    noise = Gaussian.starting(y, given.sample_weight)
    problem = replace(given, y=y, likelihood=noise, max_prior_std=None, scale=1.0)
    states = states_of(problem)
    found = states[-1].model

    assert isinstance(states[-1].inner.model.products, Orthonormal)
    at = found.active, found.prior_precision, found.mean
    again = posterior_at_mode(problem, found.likelihood, *at)
    assert_allclose(found.log_evidence, again.log_evidence, rtol=1e-5)
    assert float(found.likelihood.scale[0]) < 1e-4
