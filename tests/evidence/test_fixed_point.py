"""MacKay's iteration and EM: their formulae, their fixed points, hard dictionaries."""

from dataclasses import replace

import mpmath
import numpy as np
import pytest
from numpy.testing import assert_allclose
from problems import classification
from scipy.special import expit, log_expit
from sklearn.datasets import make_blobs, make_moons

from relvec import RVC, RVR, Hyperprior, TopDown, sparse_bayes
from relvec.blockwise import OutOfTimeError
from relvec.data import noisy_sinc, two_mixtures
from relvec.design import DenseDesign
from relvec.evidence import (
    EM,
    Continued,
    Deadline,
    Limits,
    MacKay,
    Problem,
    Status,
    WarmStart,
    maximise,
)
from relvec.evidence.fixed_point import FixedPoint, evidence_gradient
from relvec.evidence.mode import posterior_at_mode
from relvec.evidence.search import BatchSearch
from relvec.kernels import Gaussian
from relvec.likelihoods import Bernoulli, Softmax, gaussian_noise

UPDATES = {"mackay": MacKay(), "em": EM()}


def regression(n_rows=60, seed=0, width=3.0):
    X, y = noisy_sinc(n_rows, seed=seed)
    return problem_of(np.column_stack([np.ones(n_rows), Gaussian(width=width)(X)]), y)


def problem_of(Phi, y):
    weights = np.ones(len(y))
    targets = y[:, None]
    noise = gaussian_noise(targets, weights, "estimate")
    return Problem(DenseDesign.weighted(Phi, weights), targets, noise, weights)


@pytest.mark.parametrize("update", UPDATES)
def test_one_step_is_what_the_papers_say(update):
    """(17), (18), (20), (21) with Σ by a plain inverse."""
    problem = regression()
    maximiser = FixedPoint(replace(UPDATES[update], prune=np.inf))
    state = maximiser.step(problem, maximiser.init(problem))
    after = maximiser.step(problem, state)

    matrix, y = problem.design.matrix, problem.y[:, 0]
    Phi = (matrix / problem.design.column_norms)[:, state.model.active]
    alpha = state.model.prior_precision
    beta = state.model.likelihood.noise_precision[0]
    Sigma = np.linalg.inv(np.diag(alpha) + beta * Phi.T @ Phi)
    mu = beta * Sigma @ Phi.T @ y
    gamma = 1 - alpha * np.diag(Sigma)
    rss = np.sum((y - Phi @ mu) ** 2)
    if update == "mackay":
        precision, noise = gamma / mu**2, rss / (len(y) - gamma.sum())
    else:
        precision = 1 / (mu**2 + np.diag(Sigma))
        noise = (rss + np.trace(Sigma @ Phi.T @ Phi)) / len(y)
    assert_allclose(after.model.prior_precision, precision, rtol=1e-5)
    assert_allclose(after.model.likelihood.noise_variance, noise, rtol=1e-7)


def moons(seed=0):
    X, y = make_moons(50, noise=0.3, random_state=seed)
    return of_classes(Gaussian(width=3.0)(X), y[:, None].astype(float), Bernoulli())


def three_classes(seed=0):
    X, y = make_blobs(40, centers=3, cluster_std=2.5, random_state=seed)
    return of_classes(Gaussian(width=3.0)(X), np.eye(3)[y], Softmax())


def of_classes(Phi, y, likelihood):
    weights = np.ones(len(y))
    return Problem(DenseDesign.weighted(Phi, weights), y, likelihood, weights)


def falls(trace):
    return max(0.0, -np.diff(trace).min()) / np.abs(trace).max()


@pytest.mark.parametrize("make", [regression, classification, moons, three_classes])
@pytest.mark.parametrize("prior", [Hyperprior(), Hyperprior(a=0.5, b=0.1)])
def test_em_raises_the_evidence_in_every_step(make, prior):
    """Laplace's evidence has to be told: it is not what the updates are made for."""
    for seed in range(3):
        problem = replace(make(seed=seed), hyperprior=prior)
        fit = maximise(problem, FixedPoint(EM(), tol=1e-2), Limits(max_iter=150))

        assert falls(fit.history["log_evidence"]) < 1e-12


def test_without_looking_at_the_evidence_it_would_fall(monkeypatch):
    """So the data above do ask for it."""
    monkeypatch.setattr(FixedPoint, "_risen", moved_as_updated)
    traces = [
        maximise(moons(seed), FixedPoint(EM(), tol=1e-2), Limits()).history
        for seed in range(3)
    ]
    assert max(falls(trace["log_evidence"]) for trace in traces) > 1e-6


def moved_as_updated(self, problem, state, alpha):
    everything = np.ones(len(alpha), dtype=bool)
    return self._moved(problem, state, state.model.likelihood, alpha, everything)


def test_em_of_classes_ends_where_the_evidence_has_no_way_up():
    """Of those that the updates propose, at a tolerance that asks for it."""
    problem = moons()
    maximiser = FixedPoint(EM(), tol=1e-4)
    state = maximiser.init(problem)
    while not maximiser.converged(problem, state):
        state = maximiser.step(problem, state)
    mode = state.model
    step = EM().precisions(mode.posterior, EM().priors(problem, state.model.active))
    way = np.log(step / state.model.prior_precision)
    rising = evidence_gradient(problem, mode) * way

    assert rising.max() < 1e-4


def explicit_evidence(Phi, y, alpha):
    """Laplace's of two classes at the mode, by plain Newton steps."""
    w = np.zeros(len(alpha))
    for _ in range(50):
        p = expit(Phi @ w)
        Hessian = Phi.T @ ((p * (1 - p))[:, None] * Phi) + np.diag(alpha)
        w = w + np.linalg.solve(Hessian, Phi.T @ (y - p) - alpha * w)
    density = np.sum(log_expit(np.where(y == 1, 1, -1) * (Phi @ w)))
    log_det = np.linalg.slogdet(Hessian)[1] - np.sum(np.log(alpha))
    return density - 0.5 * np.sum(alpha * w**2) - 0.5 * log_det


def test_the_gradient_of_laplaces_evidence():
    problem = moons()
    active, alpha = np.arange(0, 20, 2), np.geomspace(0.05, 5.0, 10)
    start = np.zeros((1, 10))
    mode = posterior_at_mode(problem, problem.likelihood, active, alpha, start)
    Phi = (problem.design.matrix / problem.design.column_norms)[:, active]

    def value(log_alpha):
        return explicit_evidence(Phi, problem.y[:, 0], np.exp(log_alpha))

    at, moves = np.log(alpha), 1e-4 * np.eye(10)
    differences = [(value(at + e) - value(at - e)) / 2e-4 for e in moves]
    assert_allclose(mode.log_evidence, value(at), rtol=1e-10)
    assert_allclose(evidence_gradient(problem, mode), differences, atol=1e-6)


@pytest.mark.parametrize("make", [regression, classification])
def test_the_end_of_mackays_iteration_is_a_fixed_point(make):
    problem = make()
    maximiser = FixedPoint(MacKay(), tol=1e-8)
    state = maximiser.init(problem)
    while not maximiser.converged(problem, state):
        state = maximiser.step(problem, state)
    posterior = state.model.posterior
    gamma = 1 - posterior.prior_precision * np.sum(posterior.whitener[0] ** 2, axis=0)

    assert_allclose(
        gamma, posterior.prior_precision * posterior.mean[0] ** 2, rtol=1e-6
    )
    assert 0 < len(state.model.active) < 12


@pytest.mark.parametrize("update", UPDATES)
@pytest.mark.parametrize("make", [regression, classification])
@pytest.mark.parametrize("seed", [0, 1, 2, 3, 5])
def test_the_search_goes_on_where_the_fixed_point_is(update, make, seed):
    problem = make(seed=seed)
    fixed_point = FixedPoint(UPDATES[update])
    pruned = maximise(problem, fixed_point, Limits())
    top_down = maximise(problem, Continued(fixed_point, BatchSearch()), Limits())
    bottom_up = maximise(problem, BatchSearch(), Limits())

    assert top_down.status is Status.CONVERGED
    assert top_down.log_evidence > pruned.log_evidence - 1e-6
    least = max(1.0, 0.02 * abs(bottom_up.log_evidence))
    assert top_down.log_evidence > bottom_up.log_evidence - least
    assert np.all(np.diff(top_down.history["log_evidence"][-2:]) > -1e-6)
    assert len(top_down.posterior.active) < 15
    steps = top_down.history["iteration"]
    assert np.array_equal(steps, np.arange(1, len(steps) + 1))


@pytest.mark.parametrize("seed", [1, 2])
def test_pruned_functions_get_a_second_chance(seed):
    """A threshold far too low takes out what is needed; polishing brings it back."""
    problem = regression(seed=seed)
    hasty = FixedPoint(MacKay(prune=0.03))
    alone = maximise(problem, hasty, Limits())
    polished = maximise(problem, Continued(hasty, BatchSearch()), Limits())

    assert polished.log_evidence > alone.log_evidence + 2


def test_a_threshold_that_prunes_everything_leaves_the_empty_model():
    fit = maximise(regression(), FixedPoint(MacKay(prune=1e-12)), Limits())

    assert fit.status is Status.EMPTY
    assert len(fit.posterior.active) == 0


def hard_dictionary(rng):
    """Columns repeated, nearly repeated, of any size, of conditions up to 1e16."""
    n_rows, n_columns = rng.integers(5, 30), rng.integers(2, 25)
    Phi = rng.standard_normal((n_rows, n_columns))
    decay = 10.0 ** -rng.uniform(0, 16, min(Phi.shape))
    left, _, right = np.linalg.svd(Phi, full_matrices=False)
    Phi = (left * np.sort(decay)[::-1]) @ right
    copies = Phi[:, rng.integers(0, n_columns, 3)]
    nearly = copies * (1 + 1e-12 * rng.standard_normal(copies.shape))
    Phi = np.column_stack([Phi, copies, nearly]) * 10.0 ** rng.uniform(-3, 3)
    return Phi, rng.standard_normal(n_rows) + 10 * Phi[:, 0]


@pytest.mark.parametrize("update", UPDATES)
def test_hard_dictionaries_end_in_finite_numbers(update):
    for seed in range(25):
        Phi, y = hard_dictionary(np.random.default_rng(seed))
        fit = maximise(
            problem_of(Phi, y),
            Continued(FixedPoint(UPDATES[update], tol=1e-2), BatchSearch()),
            Limits(max_iter=300),
        )
        assert np.isfinite(fit.log_evidence)
        assert np.isfinite(fit.posterior.mean).all()
        assert np.isfinite(fit.history["log_evidence"]).all()


def exact_log_evidence(Phi, y, alpha, beta):
    """With 50 digits, from the definition: log N(y | 0, I/β + ΦA⁻¹Φᵀ)."""
    with mpmath.workdps(50):
        design, targets = mpmath.matrix(Phi.tolist()), mpmath.matrix(y.tolist())
        scaled = design * mpmath.diag([1 / mpmath.mpf(a) for a in alpha])
        C = mpmath.eye(len(y)) / mpmath.mpf(beta) + scaled * design.T
        L = mpmath.cholesky(C)
        half = mpmath.lu_solve(L, targets)
        log_det = 2 * mpmath.fsum(mpmath.log(L[i, i]) for i in range(len(y)))
        square = (half.T * half)[0]
        return -(len(y) * mpmath.log(2 * mpmath.pi) + log_det + square) / 2


@pytest.mark.parametrize("solver", ["sequential", *UPDATES])
def test_the_evidence_of_hard_dictionaries_is_right(solver):
    """Where Gram matrices lose all digits: noise-free targets, columns nearly equal."""
    for seed in range(12):
        rng = np.random.default_rng(100 + seed)
        Phi, _ = hard_dictionary(rng)
        Phi = Phi[:12]
        y = Phi @ rng.standard_normal(Phi.shape[1])
        noise = 10.0 ** -rng.uniform(0, 8) * np.abs(y).max()
        y += noise * rng.standard_normal(len(y))
        found = sparse_bayes(Phi, y, solver=solver, tol=1e-2, max_iter=200)
        columns = Phi[:, found.relevant]
        precision = 1 / found.noise_variance
        exact = exact_log_evidence(columns, y, found.prior_precision, precision)

        assert abs(found.log_evidence - exact) < 1e-6 * abs(exact)


@pytest.mark.parametrize("solver", UPDATES)
class TestEstimators:
    """The same by name."""

    def test_regression(self, solver):
        X, y = noisy_sinc(80, seed=1)
        model = RVR(gamma=1 / 9, solver=solver, tol=1e-3).fit(X, y)
        expected = RVR(gamma=1 / 9).fit(X, y)

        # Each ends in a local maximum of its own, some tenths of a nat apart or two.
        assert abs(model.log_evidence_ - expected.log_evidence_) < 2
        assert np.sqrt(np.mean((model.predict(X) - expected.predict(X)) ** 2)) < 0.05

    def test_weights_are_repetitions(self, solver):
        X, y = noisy_sinc(40, seed=2)
        weights = np.arange(40) % 3
        rows = np.repeat(np.arange(40), weights)
        model = RVR(gamma=1 / 9, solver=TopDown(solver, polish=False), tol=1e-2)
        weighted = model.fit(X, y, weights).predict(X)

        assert_allclose(weighted, model.fit(X[rows], y[rows]).predict(X), rtol=1e-6)

    def test_classification(self, solver):
        X, y = two_mixtures(100, seed=3)
        model = RVC(gamma=4.0, solver=solver, tol=1e-2).fit(X, y)

        expected = RVC(gamma=4.0).fit(X, y)
        assert abs(model.log_evidence_ - expected.log_evidence_) < 2

    def test_a_dictionary_of_ones_own(self, solver):
        rng = np.random.default_rng(0)
        Phi = rng.standard_normal((60, 20))
        y = 3 * Phi[:, 4] - 2 * Phi[:, 11] + 0.1 * rng.standard_normal(60)
        found = sparse_bayes(Phi, y, solver=solver, tol=1e-3)

        assert {4, 11} <= set(found.relevant.tolist())

    def test_limits_leave_a_usable_model(self, solver):
        X, y = noisy_sinc(50, seed=1)
        with pytest.warns(UserWarning, match="max_iter"):
            model = RVR(gamma=1 / 9, solver=solver, max_iter=4).fit(X, y)

        assert model.n_iter_ == 4
        assert np.isfinite(model.predict(X)).all()

    def test_what_does_not_fit_is_refused(self, solver):
        X, y = noisy_sinc(500)
        with pytest.raises(ValueError, match=f"solver='{solver}' begins with all of"):
            RVR(solver=solver, memory_budget="3MB").fit(X, y)


def test_bad_settings():
    X, y = noisy_sinc(20)
    with pytest.raises(ValueError, match="solver must be one of"):
        RVR(solver="newton").fit(X, y)
    with pytest.raises(ValueError, match="solver must be one of"):
        sparse_bayes(np.eye(3), np.ones(3), solver="newton")


class TestWithoutTime:
    """It begins with fewer functions."""

    def begun(self, start=None):
        known = WarmStart(start)
        problem = replace(regression(250, width=1.0), bias=0, start=known)
        maximiser = FixedPoint(deadline=Deadline(0.0))
        return problem, maximiser, maximiser.init(problem)

    def test_some_of_all(self):
        problem, _, state = self.begun()
        active = state.model.active

        assert len(active) == 100
        assert active[0] == 0
        assert np.diff(active).max() < 4
        assert len(FixedPoint().init(problem).model.active) == 251

    def test_those_of_a_model_come_first(self):
        start = np.full(251, np.nan)
        start[100:190] = 1.0
        start[220:] = np.inf
        _, _, state = self.begun(start)

        assert np.isin(np.arange(100, 190), state.model.active).all()
        assert len(state.model.active) == 100
        assert state.model.active.max() < 220

    def test_it_does_not_converge(self):
        """There was no time for the others."""
        problem, _, _ = self.begun()
        maximiser = FixedPoint(tol=0.1, deadline=Deadline(0.0))
        state = maximiser.init(problem)
        while not maximiser.settled(state):
            state = maximiser.step(problem, state)

        assert not maximiser.converged(problem, state)
        with pytest.raises(OutOfTimeError):
            maximiser.step(problem, state)

    def test_all_get_a_chance_where_it_is_polished(self):
        problem, maximiser, _ = self.begun()
        polished = Continued(maximiser, BatchSearch())
        found = maximise(problem, polished)
        expected = maximise(problem, replace(polished, fixed_point=FixedPoint()))

        assert found.status is Status.CONVERGED
        assert_allclose(found.log_evidence, expected.log_evidence, atol=2.0)
