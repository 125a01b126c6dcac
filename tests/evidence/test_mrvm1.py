"""Algorithm 1 of Psorakis et al. 2010 beside a plain version of its formulae."""

import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy.special import ndtr
from sklearn.datasets import make_blobs

from relvec import RVC, Mrvm1, Status
from relvec.chance import generator
from relvec.design import DenseDesign
from relvec.evidence import Limits, Problem, PublishedMrvm1, SolverContext, solved
from relvec.evidence.multiclass import OneAtATime
from relvec.likelihoods import MultinomialProbit

GRID = np.linspace(-9, 9, 2001)
DENSITY = np.exp(-0.5 * GRID**2) / np.sqrt(2 * np.pi)


def expected_variables(eta, classes):
    """(3) and (4), by sums over a grid."""
    Y = eta.copy()
    for row, own in enumerate(classes):
        rivals = [c for c in range(eta.shape[1]) if c != own]
        distance = {c: eta[row, own] - eta[row, c] for c in rivals}
        below = {c: ndtr(GRID + distance[c]) for c in rivals}
        everything = DENSITY * np.prod(list(below.values()), axis=0)
        for c in rivals:
            others = [below[j] for j in rivals if j != c]
            density = np.exp(-0.5 * (GRID + distance[c]) ** 2) / np.sqrt(2 * np.pi)
            product = np.prod(others, axis=0) if others else 1.0
            pull = np.sum(DENSITY * density * product) / everything.sum()
            Y[row, c] -= pull
            Y[row, own] += pull
    return Y


def contributions(K, Y, alpha):
    """s and θ of all samples with (20) and (21), by C⁻¹ itself."""
    n_rows, n_classes = Y.shape
    inside = np.isfinite(alpha)
    C = np.eye(n_rows) + (K[:, inside] / alpha[inside]) @ K[:, inside].T
    S = np.einsum("im,ij,jm->m", K, np.linalg.inv(C), K)
    Q = K.T @ np.linalg.solve(C, Y)
    left = np.where(inside, alpha / (np.where(inside, alpha, 1) - S), 1.0)
    left[~inside] = 1.0
    s, q = left * S, left[:, None] * Q
    return s, np.sum(q**2, axis=1) - n_classes * s


def algorithm_1(K, classes, n_classes, least_steps, tol):
    """As printed, line by line; returns α, the weights and the number of steps."""
    Y = np.eye(n_classes)[classes]
    norms, score = np.sum(K**2, axis=0), np.sum((K.T @ Y) ** 2, axis=1)
    alpha = np.full(len(norms), np.inf)
    i = int(np.argmax(score / (n_classes * norms)))  # (16), squared
    s, theta = contributions(K, Y, alpha)
    for step in range(10_000):
        before = alpha.copy()
        alpha[i] = n_classes * s[i] ** 2 / theta[i] if theta[i] > 0 else np.inf
        if step == 0:  # (15)
            first = n_classes * norms[i] / (score[i] / norms[i] - n_classes)
            assert_allclose(alpha[i], first)
        inside = np.isfinite(alpha)
        held = K[:, inside]
        W = np.linalg.solve(held.T @ held + np.diag(alpha[inside]), held.T @ Y)
        Y = expected_variables(held @ W, classes)
        s, theta = contributions(K, Y, alpha)
        entering, leaving = ~inside & (theta > 0), inside & (theta < 0)
        if entering.any():
            i = int(np.argmax(np.where(entering, theta, -np.inf)))
            continue
        if leaving.any():
            i = int(np.argmin(np.where(leaving, theta, np.inf)))
            continue
        still = np.array_equal(inside, np.isfinite(before)) and np.all(
            np.abs(np.log(alpha[inside] / before[inside])) < tol
        )
        if still and step + 1 >= least_steps:
            return alpha, W, step + 1
        drawn = generator(0, 0).random(1024)[step + 1]
        i = int(np.flatnonzero(inside)[int(drawn * inside.sum())])
    raise AssertionError("no end")


def problem(n_rows=40, n_classes=3, seed=3, scale=1.0):
    X, classes = make_blobs(
        n_rows, 2, centers=n_classes, cluster_std=2.5, random_state=seed
    )
    K = scale * (1 + X @ X.T / 10) ** 2  # norms that differ much
    return X, K, classes


def coded(K, classes):
    """With an output for every class."""
    once, codes = np.ones(len(K)), np.eye(classes.max() + 1)
    likelihood = MultinomialProbit(codes, bound=True)
    return Problem(DenseDesign.weighted(K, once), codes[classes], likelihood, once)


@pytest.mark.parametrize("n_classes", [2, 3, 4])
@pytest.mark.parametrize("convergence", ["conv1", "conv2"])
def test_is_the_published_algorithm(n_classes, convergence):
    _, K, classes = problem(n_classes=n_classes)
    fit = solved(
        coded(K, classes), PublishedMrvm1(convergence), SolverContext(), Limits()
    )
    least = len(K) if convergence == "conv2" else 0
    alpha, W, steps = algorithm_1(K, classes, n_classes, least, 1e-2)
    found = fit.posterior

    assert fit.n_iter == steps
    assert fit.status is Status.CONVERGED
    assert found.active.tolist() == np.flatnonzero(np.isfinite(alpha)).tolist()
    assert_allclose(found.prior_precision, alpha[found.active], rtol=1e-5)
    assert_allclose(found.mean, W.T, rtol=1e-5, atol=1e-9)


def test_passes_over_all_functions_are_left_out_only_where_they_say_nothing():
    """θ of every function is either what the formulae say, or not positive."""
    _, K, classes = problem(60)
    given = coded(K, classes)
    search = OneAtATime(least_steps=60)
    state = search.init(given)
    asked = []
    while not search.converged(given, state):
        state = search.step(given, state)
        alpha = np.full(60, np.inf)
        norms = given.design.column_norms
        alpha[state.model.active] = state.model.prior_precision
        alpha *= norms**2
        s, theta = contributions(K, state.model.observations.target, alpha)
        known = np.isfinite(state.theta)
        significant = known & (s > 1e-6 * norms**2)
        found = (state.theta * norms**2)[significant]
        assert_allclose(found, theta[significant], rtol=1e-4, atol=1e-4 * norms.max())
        assert np.all(theta[~known] < 1e-6 * norms[~known] ** 2)
        asked.append(known.all())
    assert not all(asked[-20:])


def test_a_row_of_weight_two_counts_twice():
    X, _, classes = problem(30)
    weight = np.where(np.arange(30) < 10, 2.0, 1.0)
    settings = {"multi_class": Mrvm1(algorithm="published"), "gamma": 0.05}
    once = RVC(**settings).fit(X, classes, sample_weight=weight)
    twice = RVC(**settings).fit(
        np.vstack([X, X[:10]]), np.concatenate([classes, classes[:10]])
    )

    assert once.relevance_.tolist() == twice.relevance_.tolist()
    assert_allclose(once.predict_proba(X), twice.predict_proba(X), atol=1e-6)


def test_probabilities_are_those_of_the_weights_alone():
    X, _, classes = problem(50)
    settings = {"multi_class": Mrvm1(algorithm="published"), "uncertainty": "plain"}
    model = RVC(gamma=0.05, **settings).fit(X, classes)
    K = np.exp(-0.05 * np.sum((X[:, None] - model.relevance_vectors_) ** 2, axis=2))
    eta = K @ model.dual_coef_.T + model.intercept_
    for row, c in ((0, 0), (7, 1), (20, 2)):
        rivals = [j for j in range(3) if j != c]
        below = [ndtr(GRID + eta[row, c] - eta[row, j]) for j in rivals]
        p = np.sum(DENSITY * np.prod(below, axis=0)) * (GRID[1] - GRID[0])
        assert_allclose(model.predict_proba(X[[row]])[0, c], p, rtol=1e-6)


def test_more_passes_take_more_steps_and_fewer_vectors():
    X, _, classes = problem(60)
    fits = [
        RVC(gamma=0.05, multi_class=Mrvm1(algorithm="published", **settings)).fit(
            X, classes
        )
        for settings in ({"convergence": "conv1"}, {}, {"passes": 6})
    ]
    steps = [model.n_iter_ for model in fits]
    vectors = [len(model.relevance_) for model in fits]

    assert steps[0] < steps[1] < steps[2]
    assert steps[1] >= 60
    assert steps[2] >= 360
    assert vectors[0] >= vectors[1] >= vectors[2]


def test_warm_start_begins_with_the_model():
    X, _, classes = problem(60)
    settings = Mrvm1(algorithm="published", convergence="conv1")
    model = RVC(gamma=0.05, multi_class=settings, warm_start=True).fit(X, classes)
    cold = model.n_iter_

    assert model.fit(X, classes).n_iter_ < cold


def test_classes_that_nothing_tells_apart():
    X = np.ones((30, 1))
    with pytest.warns(UserWarning, match=r"no basis function|never predicted|class"):
        model = RVC(
            gamma=1.0,
            multi_class=Mrvm1(algorithm="published", convergence="conv1"),
            fit_intercept=False,
        ).fit(X, np.arange(30) % 3)
    assert_allclose(model.predict_proba(X), 1 / 3, atol=0.01)


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"algorithm": "printed"}, "algorithm must be one of"),
        ({"convergence": "conv1"}, "about the published algorithm"),
        ({"algorithm": "published", "posterior": "full"}, "not for the published"),
        ({"algorithm": "published", "convergence": "convA"}, "convergence must be"),
        ({"algorithm": "published", "passes": 0}, "passes must be"),
        (
            {"algorithm": "published", "passes": 2, "convergence": "conv1"},
            "does not count steps",
        ),
        ({"algorithm": "published", "tol": 0}, "tol must be"),
    ],
)
def test_bad_settings(settings, message):
    with pytest.raises(ValueError, match=message):
        Mrvm1(**settings)


@pytest.mark.parametrize(
    ("beside", "message"),
    [({"solver": "em"}, "solver of its own"), ({"tol": 1e-3}, "a tol of its own")],
)
def test_settings_that_it_would_not_look_at(beside, message):
    X, _, classes = problem(30)
    with pytest.raises(ValueError, match=message):
        RVC(multi_class=Mrvm1(algorithm="published"), **beside).fit(X, classes)
