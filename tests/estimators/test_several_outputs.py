"""Targets of shape (n_samples, n_outputs)."""

import numpy as np
import pytest
from numpy.testing import assert_allclose
from sklearn.base import clone

from relvec import RVR, FitWarning

NOISE = np.array([0.05, 0.1, 0.2, 0.4, 0.8])


def problem(n_rows=120, n_outputs=5, n_features=2, seed=0):
    """Mixtures of a few functions, each with noise of its own."""
    rng = np.random.default_rng(seed)
    X = rng.uniform(-2, 2, (n_rows, n_features))
    a, b = X[:, 0], X[:, -1]
    parts = np.column_stack([np.sin(2 * a), np.cos(1.5 * b) * a, np.tanh(2 * b), a**2])
    functions = parts @ rng.standard_normal((4, n_outputs))
    functions /= functions.std(axis=0)
    noise = np.resize(NOISE, n_outputs) * rng.standard_normal(functions.shape)
    return X, functions + noise, functions


def errors(model, X, functions):
    return np.sqrt(np.mean((model.predict(X) - functions) ** 2, axis=0))


@pytest.mark.parametrize("n_outputs", [1, 2, 8])
@pytest.mark.parametrize("outputs", ["shared", "independent"])
def test_shapes(n_outputs, outputs):
    X, y, _ = problem(40, n_outputs)
    model = RVR(gamma=0.3, outputs=outputs).fit(X, y)
    mean, std = model.predict(X, return_std=True)
    lower, upper = model.predict_interval(X)

    shape, size = y.shape, len(model.relevance_)
    assert mean.shape == std.shape == lower.shape == upper.shape == shape
    assert model.predict(X).shape == shape
    assert np.all((lower < mean) & (mean < upper))
    assert model.dual_coef_.shape == (n_outputs, size)
    assert model.intercept_.shape == model.noise_variance_.shape == (n_outputs,)
    apart = (n_outputs, size) if outputs == "independent" else (size,)
    assert model.prior_precision_.shape == apart
    assert isinstance(model.log_evidence_, float)
    assert model.score(X, y) > 0.3


def test_one_column_is_one_target():
    X, y, _ = problem(n_outputs=1)
    column, alone = RVR().fit(X, y), RVR().fit(X, y[:, 0])

    assert np.array_equal(column.predict(X)[:, 0], alone.predict(X))
    spread = column.predict(X, return_std=True)[1]
    assert_allclose(spread[:, 0], alone.predict(X, return_std=True)[1], rtol=1e-6)


@pytest.mark.parametrize("gamma", [0.3, "learn"])
def test_shared_outputs_say_what_each_alone_does(gamma):
    """Within two standard deviations of both functions, on nearly all new rows."""
    X, y, _ = problem(250)
    new = np.random.default_rng(9).uniform(-2, 2, (200, 2))
    shared = RVR(gamma=gamma).fit(X, y)
    mean, std = shared.predict(new, return_std=True)
    variance = std**2 - shared.noise_variance_
    inside = []
    for c in range(5):
        alone = RVR(gamma=gamma).fit(X, y[:, c])
        own_mean, own_std = alone.predict(new, return_std=True)
        total = variance[:, c] + own_std**2 - alone.noise_variance_
        inside.append(np.abs(mean[:, c] - own_mean) < 2 * np.sqrt(total))

    assert np.mean(inside) > 0.95


def test_noise_of_every_output():
    X, y, functions = problem(400)
    model = RVR().fit(X, y)

    assert_allclose(np.sqrt(model.noise_variance_), NOISE, rtol=0.6)
    assert np.all(errors(model, X, functions) < 0.7 * NOISE + 0.05)


@pytest.mark.filterwarnings("ignore:the 90 % intervals cover:relvec.FitWarning")
def test_independent_outputs_are_models_by_themselves():
    X, y, _ = problem(40, 2)
    model = RVR(outputs="independent").fit(X, y)
    mean, std = model.predict(X, return_std=True)
    for c in range(2):
        alone = RVR().fit(X, y[:, c])
        own_mean, own_std = alone.predict(X, return_std=True)
        assert np.array_equal(mean[:, c], own_mean)
        assert np.array_equal(std[:, c], own_std)
        assert model.noise_variance_[c] == alone.noise_variance_


def test_units_and_origins_do_not_matter():
    X, y, _ = problem(80, 3)
    unit, origin = np.array([1e-6, 1.0, 1e6]), np.array([0.3, 0.0, 1e8])
    plain, other = RVR(gamma=0.3).fit(X, y), RVR(gamma=0.3).fit(X, y * unit + origin)
    for one, same in zip(
        plain.predict(X, return_std=True),
        [
            (other.predict(X) - origin) / unit,
            other.predict(X, return_std=True)[1] / unit,
        ],
        strict=True,
    ):
        assert_allclose(same, one, rtol=1e-5, atol=1e-6)
    assert_allclose(other.prior_precision_, plain.prior_precision_, rtol=1e-5)


def test_the_order_of_outputs_does_not_matter():
    X, y, _ = problem(80, 3)
    plain, other = RVR().fit(X, y), RVR().fit(X, y[:, [2, 0, 1]])

    assert_allclose(other.predict(X), plain.predict(X)[:, [2, 0, 1]], atol=1e-6)


def test_a_weight_is_a_number_of_repetitions():
    X, y, _ = problem(60, 2)
    count = np.random.default_rng(1).integers(0, 3, 60)
    weighted = RVR(gamma=0.3).fit(X, y, sample_weight=count)
    repeated = RVR(gamma=0.3).fit(
        np.repeat(X, count, axis=0), np.repeat(y, count, axis=0)
    )

    assert_allclose(weighted.predict(X), repeated.predict(X), atol=1e-6)


@pytest.mark.filterwarnings("error")
@pytest.mark.parametrize("value", [0.0, 3.0])
def test_an_output_that_does_not_vary(value):
    X, y, functions = problem(150, 2)
    several = np.column_stack([y, np.full(len(X), value)])
    model = RVR().fit(X, several)
    mean, std = model.predict(X, return_std=True)

    assert np.all(mean[:, 2] == value)
    assert np.isfinite(std).all()
    assert np.all(errors(model, X, np.column_stack([functions, mean[:, 2]])) < 0.12)


def test_no_noise_beside_much():
    X, y, _ = problem(150)
    several = np.column_stack([np.sin(X[:, 0]), y[:, 4]])
    with pytest.warns(FitWarning, match="noise stands at its floor"):
        model = RVR().fit(X, several)

    assert np.sqrt(np.mean((model.predict(X)[:, 0] - several[:, 0]) ** 2)) < 1e-4
    assert model.noise_variance_[1] > 0.3


@pytest.mark.parametrize("n_rows", [2, 3, 10])
def test_few_rows(n_rows):
    X, y, _ = problem(n_rows, 5)
    model = RVR()
    if n_rows < 10:
        with pytest.warns(FitWarning):
            model.fit(X, y)
    else:
        model.fit(X, y)

    assert all(np.isfinite(part).all() for part in model.predict(X, return_std=True))


def test_a_search_that_goes_on_has_nothing_left_to_do():
    X, y, _ = problem(80, 3)
    model = RVR(gamma=0.3, warm_start=True).fit(X, y)
    evidence = model.log_evidence_

    assert model.fit(X, y).n_iter_ <= 2
    assert_allclose(model.log_evidence_, evidence, rtol=1e-9)
    assert model.fit(X, y[:, 0]).predict(X).shape == (80,)
    assert model.fit(X, y[:, :2]).predict(X).shape == (80, 2)
    model.set_params(outputs="independent")
    assert model.fit(X, y).predict(X).shape == (80, 3)


@pytest.mark.filterwarnings("ignore:the 90 % intervals cover:relvec.FitWarning")
@pytest.mark.parametrize(
    "params",
    [
        {"kernel": None},
        {"kernel": ["rbf", "linear"]},
        {"uncertainty": "plain"},
        {"fit_intercept": False},
        {"design": "streamed", "gamma": 0.3},
        {"noise_variance": 0.1},
        {"noise_variance": (NOISE[:3] ** 2).tolist()},
        {"kernel_learning": "ard"},
        {"candidates": 30},
    ],
    ids=str,
)
def test_other_settings(params):
    X, y, _ = problem(70, 3)
    model = clone(RVR(**params)).fit(X, y)

    assert model.score(X, y) > (0.0 if params == {"kernel": None} else 0.8)
    assert (
        np.shape(model.coef_ if params == {"kernel": None} else model.dual_coef_)[0]
        == 3
    )


@pytest.mark.parametrize(
    ("params", "message"),
    [
        ({"outputs": "both"}, "outputs must be one of 'shared', 'independent'"),
        ({"solver": "variational"}, "y has 3: set outputs='independent'"),
        ({"kernel_learning": "adaptive"}, "set outputs='independent'"),
        ({"partition": "split-merge"}, "set outputs='independent'"),
        ({"noise_variance": [1.0, 2.0]}, "holds 2 numbers and y has 3 outputs"),
        ({"noise_variance": [1.0, 0.0, 2.0]}, "positive for every output"),
    ],
    ids=str,
)
def test_what_several_outputs_have_not(params, message):
    X, y, _ = problem(20, 3)
    model = RVR(**params)

    with pytest.raises(ValueError, match=message):
        model.fit(X, y)
    assert not hasattr(model, "model_")


@pytest.mark.filterwarnings("ignore:the 90 % intervals cover:relvec.FitWarning")
@pytest.mark.parametrize(
    "params",
    [
        {"solver": "variational"},
        {"kernel_learning": "adaptive"},
        {"partition": "split-merge", "partition_size": 25},
    ],
    ids=str,
)
def test_models_apart_have_all_of_it(params):
    X, y, _ = problem(50, 2)
    assert RVR(outputs="independent", **params).fit(X, y).score(X, y) > 0.8


def test_parts_have_one_target():
    X, y, _ = problem(20, 3)
    with pytest.raises(ValueError, match="partial_fit takes one target"):
        RVR(gamma=0.3).partial_fit(X, y)
