"""Newton's method on the evidence: its derivatives, and where it ends."""

import numpy as np
import pytest
from numpy.testing import assert_allclose
from problems import gram_form, random_case

from relvec import RVR
from relvec.evidence.damped_newton import Ascent, _derivatives, ascend
from relvec.kernels import Gaussian

CEILING = 1e12


def at(case, alpha=None, beta=None):
    alpha = case.alpha if alpha is None else alpha
    beta = case.seen.noise_precision if beta is None else beta
    form = gram_form(case)
    solution, ceiling = form.solved(alpha, beta), np.full(len(beta), CEILING)
    chosen = np.arange(len(alpha))
    return Ascent(form, chosen, alpha, beta, solution, ceiling=ceiling)


def evidence(case, logs):
    n_active = len(case.alpha)
    alpha, beta = np.exp(logs[:n_active]), np.exp(logs[n_active:])
    return gram_form(case).solved(alpha, beta).log_evidence


@pytest.mark.parametrize("n_outputs", [1, 3])
@pytest.mark.parametrize("seed", range(4))
def test_derivatives_against_differences(seed, n_outputs):
    case = random_case(seed, n_outputs=n_outputs)
    gradient, curvature = _derivatives(at(case))
    logs = np.log(np.concatenate([case.alpha, case.seen.noise_precision]))
    step = 1e-4 * np.eye(len(logs))

    slopes = [
        (evidence(case, logs + h) - evidence(case, logs - h)) / 2e-4 for h in step
    ]
    assert_allclose(gradient, slopes, rtol=1e-5, atol=1e-6)

    def slope(values):
        alpha = np.exp(values[: len(case.alpha)])
        beta = np.exp(values[len(case.alpha) :])
        return _derivatives(at(case, alpha, beta))[0]

    curves = [(slope(logs + h) - slope(logs - h)) / 2e-4 for h in step]
    assert_allclose(-curvature, curves, rtol=1e-5, atol=1e-6)


@pytest.mark.parametrize("n_outputs", [1, 2])
@pytest.mark.parametrize("seed", range(6))
def test_it_ends_where_no_derivative_is_left(seed, n_outputs):
    case = random_case(seed, n_outputs=n_outputs, n_active=10)
    start = at(case)
    found = ascend(
        start.moments,
        case.alpha,
        case.seen.noise_precision,
        ceiling=np.full(n_outputs, CEILING),
        tol=1e-8,
        most=200,
    )

    assert found.converged
    assert found.solution.log_evidence >= start.solution.log_evidence
    gradient, curvature = _derivatives(found)
    assert_allclose(gradient, 0, atol=1e-6)
    assert np.linalg.eigvalsh(curvature).min() > -1e-8


def test_idle_functions_leave():
    """A column of noise beside two that make the target."""
    rng = np.random.default_rng(0)
    case = random_case(0)
    columns = np.linalg.qr(rng.standard_normal((200, 3)))[0]
    target = columns[:, :2] @ [20.0, -10.0] + 0.1 * rng.standard_normal(200)
    target -= columns[:, 2] * (columns[:, 2] @ target)
    form = type(gram_form(case))(
        (columns.T @ columns)[None], (target @ columns)[None], [target @ target], 200.0
    )
    found = ascend(
        form,
        np.ones(3),
        np.array([10.0]),
        ceiling=np.array([CEILING]),
        tol=1e-6,
        most=100,
    )

    assert found.chosen.tolist() == [0, 1]


def test_known_noise_stays_and_the_ceiling_holds():
    case = random_case(1)
    settings = {"tol": 1e-6, "most": 50}
    form, beta = gram_form(case), case.seen.noise_precision
    known = ascend(form, case.alpha, beta, ceiling=None, **settings)
    limited = ascend(form, case.alpha, beta, ceiling=1.01 * beta, **settings)

    assert np.array_equal(known.noise_precision, beta)
    assert np.all(limited.noise_precision <= 1.01 * beta)


def test_a_step_out_of_digits_is_not_taken():
    """A straight line without noise by hardly curved functions: RVR ran into it."""
    rng = np.random.default_rng(56)
    X = rng.uniform(-1, 1, (40, 2))
    kernel = Gaussian(10 ** rng.uniform(0.5, 2.5, 2))
    y = 3 * X[:, 0] - X[:, 1]
    model = RVR(kernel).fit(X, y)

    assert_allclose(model.predict(X), y, atol=0.01)


def test_precisions_have_a_least():
    """Those that it does not hold are where no derivative is left."""
    case = random_case(3, n_active=6)
    settings = {"ceiling": np.array([CEILING]), "tol": 1e-8, "most": 200}
    start = (gram_form(case), case.alpha, case.seen.noise_precision)
    free = ascend(*start, **settings)
    least = np.zeros(len(case.alpha))
    least[free.chosen[0]] = 5 * free.prior_precision[0]
    held = ascend(*start, **settings, least=least)

    alpha, floor = held.prior_precision, least[held.chosen]
    gradient, _ = _derivatives(held)
    at_floor = np.append(alpha <= floor, False)
    assert held.converged
    assert np.all(alpha >= floor)
    assert at_floor.any()
    assert np.all(gradient[at_floor] < 0)
    assert_allclose(gradient[~at_floor], 0, atol=1e-5)
    assert held.solution.log_evidence < free.solution.log_evidence
