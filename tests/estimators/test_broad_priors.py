"""How broad the priors of weights may be where targets are classes."""

import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy.special import expit

from relvec import RVC, BottomUp, Mrvm1, Status, sparse_bayes
from relvec.data import scan, two_mixtures
from relvec.design import DenseDesign
from relvec.evidence import MacKay, Problem, Sequential, largest_predictor, maximise
from relvec.evidence.fixed_point import FixedPoint
from relvec.evidence.search import BatchSearch
from relvec.kernels import Gaussian
from relvec.likelihoods import Bernoulli

LARGEST = largest_predictor(Bernoulli())
SLACK = 1 + 1e-9


def nearly_separated(seed, n_new=0):
    """Two classes by five features, and as many new rows as are wanted."""
    rng = np.random.default_rng(seed)

    def rows(count):
        X = rng.uniform(-3, 3, (count, 5))
        noise = 0.1 * rng.standard_normal(count)
        return X, (X[:, 0] + 0.5 * np.sin(2 * X[:, 1]) + noise > 0).astype(int)

    training = rows(int(rng.choice([100, 150, 200])))
    return (*training, *rows(n_new))


def decided_in_the_tail(n_rows=80):
    """A column that decides the class where it is 1e-5 of what it is elsewhere."""
    x = np.random.default_rng(0).uniform(0, 4, n_rows)
    return np.exp(-4 * x)[:, None], (x < 3).astype(int)


def predictor_std(model, X):
    """Prior deviations of what functions add to η: root mean squares over rows."""
    sizes = np.sqrt(np.mean(model.basis(X) ** 2, axis=0))
    return sizes / np.sqrt(model.posterior.prior_precision)


def dictionary(X, centres, width):
    return np.column_stack([np.ones(len(X)), Gaussian(width)(X, centres)])


def problem_of(Phi, y, bound=None):
    weight = np.ones(len(y))
    design = DenseDesign.weighted(Phi, weight)
    target = y[:, None].astype(float)
    given = design, target, Bernoulli(), weight
    return Problem(*given, bias=0, max_predictor_std=bound)


@pytest.mark.parametrize("seed", [1, 4, 8, 32, 39, 41, 49, 56, 78, 90, 100, 106])
def test_weights_of_nearly_separated_classes_do_not_run_away(seed):
    X, y, *_ = nearly_separated(seed)
    found = RVC(gamma=1.0).fit(X, y)
    model, alpha = found.model_, found.model_.posterior.prior_precision

    assert found.status_ is Status.CONVERGED
    assert np.isfinite(found.log_evidence_)
    assert predictor_std(model, X).max() <= LARGEST * SLACK
    # No mode has weights that cost more than what they could explain.
    explained = len(y) * np.log(2)
    assert np.all(0.5 * alpha * model.posterior.mean[0] ** 2 <= explained)
    assert np.abs(model.predictor(X)).max() < 30 * LARGEST


WAYS = {
    "batches": {},
    "one at a time": {"solver": BottomUp(schedule="greedy")},
    "mackay": {"solver": "mackay"},
    "em": {"solver": "em"},
    "by parts": {"design": "streamed"},
    "probit": {"multi_class": "mrvm1"},
}


@pytest.mark.parametrize("settings", WAYS.values(), ids=WAYS)
def test_every_search_keeps_to_the_bound_and_ends_there(settings):
    X, y = decided_in_the_tail()
    found = RVC(kernel=None, **settings).fit(X, y)

    assert found.status_ is Status.CONVERGED
    assert found.n_iter_ < 50
    assert_allclose(predictor_std(found.model_, X).max(), LARGEST, rtol=1e-9)


def test_sums_over_rows_keep_to_the_bound():
    X, y = decided_in_the_tail()
    blocks = scan(X, target=y, block_rows=30)
    found = RVC(kernel="linear", partition="sample", partition_size=40).fit(blocks)

    assert found.status_ is Status.CONVERGED
    # The evidence hardly rises on the last part of the way.
    assert 0.5 * LARGEST < predictor_std(found.model_, X).max() <= LARGEST * SLACK


@pytest.mark.parametrize("partition", ["split-merge", "working-set"])
def test_sets_of_rows_keep_to_the_bound(partition):
    X, y, *_ = nearly_separated(41)
    found = RVC(gamma=1.0, partition=partition, partition_size=80).fit(X, y)

    assert predictor_std(found.model_, X).max() <= LARGEST * SLACK


@pytest.mark.filterwarnings("ignore:no relevance vector")
def test_matched_moments_have_a_bound_of_their_own():
    X, y = decided_in_the_tail()
    found = RVC(kernel=None, multi_class=Mrvm1("moments")).fit(X, y)

    largest = largest_predictor(found.model_.fit.likelihood)
    assert largest < LARGEST
    assert_allclose(predictor_std(found.model_, X).max(), largest, rtol=1e-9)


def test_a_dictionary_of_ones_own_has_no_bound():
    X, y = decided_in_the_tail()
    Phi = np.column_stack([np.ones(len(X)), X])
    found = sparse_bayes(Phi, y, "bernoulli")

    sizes = np.sqrt(np.mean(Phi[:, found.relevant] ** 2, axis=0))
    assert np.max(sizes / np.sqrt(found.prior_precision)) > 10 * LARGEST


SEARCHES = [Sequential(), BatchSearch(), FixedPoint(MacKay())]


@pytest.mark.parametrize("search", SEARCHES, ids=lambda one: type(one).__name__)
@pytest.mark.parametrize("seed", [0, 1, 2])
def test_classes_that_overlap_know_nothing_of_it(search, seed):
    X, y = two_mixtures(60, seed=seed)
    Phi = dictionary(X, X, 0.5)
    free, bound = (
        maximise(problem_of(Phi, y, largest), search) for largest in (None, LARGEST)
    )

    assert len(free.posterior.active) > 2
    assert np.array_equal(bound.posterior.active, free.posterior.active)
    alpha, expected = bound.posterior.prior_precision, free.posterior.prior_precision
    assert_allclose(alpha, expected, rtol=1e-9)
    assert_allclose(bound.posterior.mean, free.posterior.mean, rtol=1e-9)
    assert_allclose(bound.log_evidence, free.log_evidence, rtol=1e-9)
    assert bound.n_iter == free.n_iter


def test_new_rows_of_nearly_separated_classes_are_predicted_as_well():
    """On average over draws whose priors would be broader than the bound."""
    loss = {None: [], LARGEST: []}
    for seed in (41, 50):
        X, y, X_new, y_new = nearly_separated(seed, n_new=500)
        Phi, Phi_new = (dictionary(rows, X, np.sqrt(0.5)) for rows in (X, X_new))
        for largest, found in loss.items():
            fit = maximise(problem_of(Phi, y, largest), BatchSearch())
            moments = fit.posterior.predict(Phi_new[:, fit.posterior.active])
            log_p = fit.likelihood.log_predictive(y_new[:, None], *moments)
            found.append(-log_p.mean())

    assert np.all(np.not_equal(loss[LARGEST], loss[None]))
    assert np.mean(loss[LARGEST]) < np.mean(loss[None]) + 0.01


@pytest.mark.parametrize("seed", [0, 3, 5])
def test_rows_that_count_for_more_in_a_trial_do_not_loosen_it(seed):
    X = np.random.default_rng(seed).uniform(-2, 2, (150, 2))
    y = (X[:, 0] + X[:, 1] ** 2 > 1).astype(int)
    Phi, largest = dictionary(X, X, 1.0), 5.0
    fit = maximise(problem_of(Phi, y, largest), BatchSearch())

    sizes = np.sqrt(np.mean(Phi[:, fit.posterior.active] ** 2, axis=0))
    std = sizes / np.sqrt(fit.posterior.prior_precision)
    assert fit.status is Status.CONVERGED
    assert_allclose(std.max(), largest, rtol=1e-9)


def newton_decrement(model, X, y):
    """gᵀH⁻¹g of log p(y, w) at the weights: their squared distance from the mode.

    In posterior standard deviations, from the model's functions and nothing else.
    """
    alpha, w = model.posterior.prior_precision, model.posterior.mean[0]
    Phi = model.basis(X) / np.sqrt(alpha)
    eta = Phi @ (np.sqrt(alpha) * w)
    gradient = Phi.T @ (y - expit(eta)) - np.sqrt(alpha) * w
    precision = expit(eta) * expit(-eta)
    hessian = np.eye(len(w)) + Phi.T @ (precision[:, None] * Phi)
    return gradient @ np.linalg.solve(hessian, gradient)


def linear_classes(seed):
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((120, 6))
    return X, (X @ rng.standard_normal(6) > 0).astype(int)


MODES = {
    "narrow functions": (lambda: nearly_separated(39)[:2], {"gamma": 1.0}),
    "others": (lambda: nearly_separated(41)[:2], {"gamma": 1.0}),
    "a tail": (decided_in_the_tail, {"kernel": None}),
    "a tail, mackay": (decided_in_the_tail, {"kernel": None, "solver": "mackay"}),
    "overlap": (lambda: two_mixtures(200, seed=0), {}),
    "wide functions": (lambda: two_mixtures(200, seed=1), {"gamma": 0.05}),
    "a plane": (lambda: linear_classes(0), {"kernel": "linear"}),
    "columns": (lambda: linear_classes(1), {"kernel": None}),
    "cubes": (lambda: linear_classes(2), {"kernel": "poly", "gamma": 1, "coef0": 1}),
    "a width learned": (lambda: linear_classes(3), {}),
}


@pytest.mark.parametrize(("rows", "settings"), MODES.values(), ids=MODES)
def test_weights_of_a_search_that_converged_are_at_their_mode(rows, settings):
    X, y = rows()
    found = RVC(**settings).fit(X, y)

    assert found.status_ is Status.CONVERGED
    assert newton_decrement(found.model_, X, y) < 1e-18
