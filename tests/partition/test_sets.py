"""The fit of one set: when it ends, and where its noise is from."""

from dataclasses import replace

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from partitions import Cut, class_problem, numbers, sinc_problem, training_set

from relvec import BottomUp, Status, TopDown
from relvec.kernels import Gaussian
from relvec.modelling import Regression, Specification, maximised
from relvec.partition.parts import InMemory
from relvec.partition.thesis import SetFits, noise_of_all

SIZE = 20


def fits_of(spec, size=SIZE, *, rows="partition", noise="all", rule="partition"):
    return SetFits(spec, size, rows, noise, rule)


def rough(n_rows, seed=0, **choices):
    """Targets without noise or likeness, so that a model needs nearly all rows."""
    rng = np.random.default_rng(seed)
    X = rng.uniform(-1, 1, (n_rows, 2))
    family = Regression(noise_variance=1e-3)
    spec = Specification((Gaussian(0.15),), family, **choices)
    return spec, training_set(X, rng.standard_normal(n_rows), family)


def noise_of(data):
    return data.likelihood.log_parameters


# early stop


@pytest.mark.parametrize(("rule", "most"), [("partition", 10), ("set", 20)])
def test_a_solver_from_the_top_comes_down_to_half(rule, most):
    """Of a partition, or of the set at hand, and goes no further."""
    spec, data = sinc_problem(2 * SIZE, solver=TopDown("mackay"))
    fits = fits_of(spec, noise="partition", rule=rule)
    found = fits.fitted(data, None, noise_of(data))
    converged = fits_of(spec, noise="partition", rule="never")
    free = converged.fitted(data, None, noise_of(data))

    assert found.model.status is Status.MIN_VECTORS
    assert most / 2 < len(found.rows) <= most
    assert free.model.status is Status.CONVERGED
    assert len(free.rows) < len(found.rows)
    assert found.record == (len(data), len(found.rows))


@pytest.mark.parametrize("schedule", ["greedy", "batch"])
@pytest.mark.parametrize("rule", ["partition", "set"])
def test_a_solver_from_nothing_ends_by_itself(schedule, rule):
    """Also where it needs more functions than half of the rows, or begins with some."""
    spec, data = rough(2 * SIZE)
    spec = replace(spec, solver=BottomUp(schedule=schedule))
    found, free = (
        fits_of(spec, noise="partition", rule=one).fitted(data, None, noise_of(data))
        for one in (rule, "never")
    )
    again = fits_of(spec, noise="partition", rule=rule)
    again = again.fitted(data, None, noise_of(data), start=free.model)

    assert len(free.rows) > SIZE
    assert found.model.status is Status.CONVERGED
    assert numbers(found.rows) == numbers(free.rows)
    assert again.model.status is Status.CONVERGED
    assert again.model.log_evidence > free.model.log_evidence - 0.1


@pytest.mark.parametrize("solver", [TopDown("mackay"), BottomUp()])
@pytest.mark.parametrize("problem", [sinc_problem, class_problem])
def test_the_last_fit_has_converged(problem, solver):
    """Whatever ends the others."""
    spec, data = problem(2 * SIZE, solver=solver)
    fits = fits_of(spec, size=4, noise="partition")
    model, _ = fits.last(data, None, noise_of(data))

    assert model.status is Status.CONVERGED
    assert_array_equal(model.indices, maximised(spec, data).indices)


def test_what_is_left_are_the_rows_that_functions_are_centred_on():
    spec, data = sinc_problem(60)
    found = fits_of(spec).fitted(data, InMemory(data, 60), noise_of(data))

    assert numbers(found.rows) == frozenset(found.model.indices)
    assert 0 < len(found.rows) < 12
    assert found.n_rows == 60


# noise


def by_hand(model, rows, around):
    """(4.2.3.1) of a model of some rows, with Σ by inversion; weights are counts."""
    own = np.sqrt(rows.weight)[:, None] * model.basis(rows.table)
    beta = model.fit.likelihood.noise_precision[0]
    alpha = model.posterior.prior_precision
    Sigma = np.linalg.inv(np.diag(alpha) + beta * own.T @ own)
    gamma = np.sum(1 - alpha * np.diag(Sigma))
    errors = around.targets[:, 0] - model.basis(around.table) @ model.posterior.mean[0]
    return around.weight @ errors**2 / (around.weight.sum() - gamma)


@pytest.mark.parametrize("at", [(), (7, 7, 60), (1, 2, 3)])
def test_the_noise_of_all_rows_is_the_one_of_the_thesis(at):
    """(4.2.3.1), whatever the parts are."""
    rng = np.random.default_rng(5)
    X = rng.uniform(-3, 3, (100, 1))
    y = np.sin(2 * X[:, 0]) + 0.2 * rng.standard_normal(100)
    family = Regression()
    data = training_set(X, y, family, rng.integers(1, 4, 100).astype(float))
    spec = Specification((Gaussian(0.8),), family)
    rows = data.subset(np.arange(0, 100, 4))
    model = maximised(spec, rows)
    found = noise_of_all(Cut(data, at), model, data.likelihood)

    assert len(model.indices) > 2
    assert_allclose(found.noise_variance, by_hand(model, rows, data), rtol=1e-9)
    # The set alone has another opinion.
    own = noise_of_all(Cut(rows), model, data.likelihood)
    assert abs(np.log(own.noise_variance / found.noise_variance)) > 0.02


def test_noise_and_model_of_the_last_set_agree():
    """Each is what the other asks for, to one in a hundred."""
    spec, data = sinc_problem(300, noise=0.2)
    rows = data.subset(np.arange(40))
    fits = fits_of(spec, noise="all")
    model, found = fits.last(rows, InMemory(data, 70), noise_of(data))
    held = model.fit.likelihood.noise_variance[0]

    assert_allclose(held, by_hand(model, rows, data), rtol=0.011)
    assert_allclose(np.exp(-found), by_hand(model, rows, data), rtol=1e-9)
    # Forty rows by themselves would have it otherwise.
    assert abs(np.log(by_hand(model, rows, rows) / held)) > 0.05


def test_the_noise_of_a_partition_is_its_own():
    spec, data = sinc_problem(200)
    rows = data.subset(np.arange(40))
    fits = fits_of(spec, noise="partition")
    model, found = fits.last(rows, None, noise_of(data))
    alone = maximised(spec, rows)

    assert fits.around(data) is None
    assert_allclose(found, alone.fit.likelihood.log_parameters)
    assert_array_equal(model.indices, alone.indices)


@pytest.mark.parametrize(
    ("wanted", "count"), [(30, 30), (500, 200), (0.25, 50), ("all", 200)]
)
def test_the_noise_of_some_rows(wanted, count):
    """So many of a part, or such a share, drawn by chance and always the same."""
    spec, data = sinc_problem(200)
    fits = fits_of(spec, noise=wanted)
    rows, again = fits.around(data).data, fits.around(data).data

    assert len(rows) == count == len(numbers(rows))
    assert numbers(rows) <= numbers(data)
    assert numbers(again) == numbers(rows)
    other = replace(fits, spec=replace(spec, seed=1))
    assert (numbers(other.around(data).data) == numbers(rows)) == (count == 200)


def test_a_share_of_few_rows_is_at_least_one():
    """Where a tenth of nine rows is asked for."""
    spec, data = sinc_problem(9)
    fits = fits_of(spec, size=9, noise=0.1)
    around = fits.around(data)
    found = fits.fitted(data, around, noise_of(data))

    assert len(around.data) >= 1
    assert np.all(np.isfinite(found.log_parameters))


def test_noise_that_is_known_stays():
    X = np.random.default_rng(0).uniform(-3, 3, (80, 1))
    family = Regression(noise_variance=0.3)
    data = training_set(X, np.sin(X[:, 0]), family)
    spec = Specification((Gaussian(1.0),), family)
    model, found = fits_of(spec).last(data, InMemory(data, 80), noise_of(data))

    assert len(found) == 0
    assert_allclose(model.fit.likelihood.noise_variance, 0.3)


# all rows


@pytest.mark.parametrize("problem", [sinc_problem, class_problem])
def test_functions_of_some_rows_may_be_fitted_to_all(problem):
    """The same as with these rows as candidates: the evidence is that of all rows."""
    spec, data = problem(120)
    rows = data.subset(np.arange(30))
    fits = fits_of(spec, rows="all", rule="never")
    found = fits.fitted(rows, InMemory(data, 120), noise_of(data))
    wanted = replace(data.rows, sample=rows.rows.sample)
    place = np.arange(30)
    wanted = replace(wanted, sample=replace(rows.rows.sample, indices=place))
    expected = maximised(spec, replace(data, rows=wanted))

    assert found.model.fit.n_observations == pytest.approx(120)
    assert_array_equal(np.sort(found.model.indices), np.sort(expected.indices))
    assert_allclose(found.model.log_evidence, expected.log_evidence, rtol=1e-6)
    assert numbers(found.rows) <= numbers(rows)


@pytest.mark.parametrize("problem", [sinc_problem, class_problem])
def test_functions_may_be_centred_on_rows_of_other_parts(problem):
    """Vectors that came with a set, when it is fitted to the rows of a part."""
    spec, data = problem(120)
    part = data.subset(np.arange(0, 120, 2))
    others = data.subset(np.arange(1, 60, 2))
    fits = fits_of(spec, rows="all", rule="never")
    found = fits.fitted(others, InMemory(part, len(part)), noise_of(data))

    assert len(found.rows) > 0
    assert numbers(found.rows) <= numbers(others)
    assert found.model.fit.n_observations == pytest.approx(len(part))
