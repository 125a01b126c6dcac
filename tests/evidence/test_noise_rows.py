"""The noise from all rows, from some, or from those that functions are centred on."""

import numpy as np
import pytest
from numpy.testing import assert_allclose
from problems import read_only
from sklearn.exceptions import ConvergenceWarning
from sklearn.metrics.pairwise import rbf_kernel

from relvec import RVC, RVR, TopDown, sparse_bayes
from relvec.chance import generator
from relvec.data import noisy_sinc

X, Y = read_only(*noisy_sinc(40, seed=3))
WEIGHT = read_only(np.random.default_rng(0).integers(1, 4, 40).astype(float))
START = {"initial_precision": 0.2, "initial_noise_variance": 0.05, "prune": 3.0}


def drawn(count, seed=0):
    return np.sort(generator(seed).permutation(40)[:count])


def stopped(update, noise_from, steps, **settings):
    """A model after a few steps; its functions have no constant beside them."""
    solver = TopDown(update, noise_from=noise_from, polish=False, **START)
    model = RVR(gamma=1 / 9, solver=solver, max_iter=steps, fit_intercept=False)
    with pytest.warns(ConvergenceWarning, match="max_iter"):
        return model.set_params(**settings).fit(X, Y, WEIGHT)


def next_noise(update, model, rows):
    """(2.5.7) with the residual of some rows, scaled to Σv of them."""
    Phi = rbf_kernel(X, X[model.relevance_], gamma=1 / 9)
    alpha, beta = model.prior_precision_, model.history_["noise_std"][-1] ** -2
    Sigma = np.linalg.inv(np.diag(alpha) + beta * Phi.T @ (WEIGHT[:, None] * Phi))
    mu = beta * Sigma @ Phi.T @ (WEIGHT * Y)
    gamma = np.sum(1 - alpha * np.diag(Sigma))
    total, part = WEIGHT.sum(), WEIGHT[rows]
    squares = total * np.sum(part * (Y - Phi @ mu)[rows] ** 2) / part.sum()
    if update == "mackay":
        return squares / (total - gamma)
    return (squares + gamma / beta) / total


@pytest.mark.parametrize("update", ["mackay", "em"])
@pytest.mark.parametrize("noise_from", ["all", 10, 0.5, "active", 100])
def test_the_update_has_the_residual_of_these_rows(update, noise_from):
    steps = 4 if update == "mackay" else 60
    model = stopped(update, noise_from, steps)
    rows = {
        10: drawn(10),
        0.5: drawn(20),
        "active": np.sort(model.relevance_),
    }.get(noise_from, np.arange(40))
    expected = next_noise(update, model, rows)
    after = stopped(update, noise_from, steps + 1)

    assert 3 < len(model.relevance_) < 40
    assert_allclose(after.history_["noise_std"][-1] ** 2, expected, rtol=1e-6)


def test_rows_are_drawn_once_by_the_seed_of_the_fit():
    one, same = (stopped("mackay", 8, 6, random_state=5) for _ in range(2))
    other = stopped("mackay", 8, 6, random_state=6)

    assert np.array_equal(one.history_["noise_std"], same.history_["noise_std"])
    assert not np.allclose(one.history_["noise_std"], other.history_["noise_std"])


@pytest.mark.parametrize("noise_from", [0.5, "active"])
def test_models_are_about_the_same(noise_from):
    solver = TopDown(noise_from=noise_from)
    model = RVR(gamma=1 / 9, solver=solver, tol=1e-2).fit(X, Y)
    plain = RVR(gamma=1 / 9, solver=TopDown(polish=False), tol=1e-2).fit(X, Y)

    assert_allclose(model.predict(X), plain.predict(X), atol=0.05)
    assert len(model.relevance_) < 12


def test_a_precomputed_kernel_has_rows_for_its_columns():
    absent = np.arange(40) % 5 == 0  # the number of a column is not that of its row
    weight = np.where(absent, 0.0, 1.0)
    solver = TopDown(noise_from="active", polish=False)
    plain = RVR(gamma=1 / 9, solver=solver, tol=1e-2).fit(X, Y, weight)
    model = RVR("precomputed", solver=solver, tol=1e-2)
    model.fit(rbf_kernel(X, gamma=1 / 9), Y, weight)

    assert_allclose(
        model.history_["noise_std"][-1], plain.history_["noise_std"][-1], rtol=1e-6
    )


def test_a_dictionary_of_ones_own_may_have_a_sample():
    Phi = rbf_kernel(X, gamma=1 / 9)
    found = sparse_bayes(Phi, Y, solver=TopDown(noise_from=0.5), tol=1e-2)

    assert 0.05 < np.sqrt(found.noise_variance) < 0.2


@pytest.mark.parametrize(
    "fit",
    [
        lambda solver: sparse_bayes(rbf_kernel(X), Y, solver=solver),
        lambda solver: RVR(gamma=1.0, candidates=X + 1, solver=solver).fit(X, Y),
        lambda solver: RVR(None, solver=solver).fit(X, Y),
    ],
)
def test_functions_that_are_centred_on_no_row_are_refused(fit):
    with pytest.raises(ValueError, match="here they are centred on none: set it to"):
        fit(TopDown(noise_from="active"))


@pytest.mark.parametrize(
    ("value", "message"),
    [
        ("some", "noise_from must be one of 'all', 'active'"),
        (0, "noise_from must be a whole number of at least 1"),
        (True, "noise_from must be a whole number of at least 1"),
        (1.5, "noise_from must be a number between 0 and 1"),
        (None, "noise_from must be a whole number"),
    ],
)
def test_bad_values(value, message):
    with pytest.raises(ValueError, match=message):
        TopDown(noise_from=value)


def test_what_it_cannot_be_had_with():
    with pytest.raises(ValueError, match=r"polish=True .* and noise_from=0.5"):
        TopDown(noise_from=0.5, polish=True)
    with pytest.raises(ValueError, match=r"noise_from of solver=.* classes have none"):
        RVC(solver=TopDown(noise_from=0.5)).fit(X, Y > 0)
    with pytest.raises(ValueError, match=r"noise_variance=0.1 is known"):
        RVR(solver=TopDown(noise_from=5), noise_variance=0.1).fit(X, Y)
    with pytest.raises(ValueError, match=r"noise_from=0.5 tells rows apart"):
        RVR(gamma=1.0, solver=TopDown(noise_from=0.5)).partial_fit(X, Y)
