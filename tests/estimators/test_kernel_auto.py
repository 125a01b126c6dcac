"""kernel="auto": the family is learned with the scales."""

import warnings

import numpy as np
import pytest
from numpy.testing import assert_allclose

from relvec import RVC, RVR, load, save
from relvec.data import scan, two_mixtures
from relvec.kernels import Gaussian, Linear, Matern


def smooth(n_rows=150, seed=0):
    """A product of two waves, which is smooth."""
    rng = np.random.default_rng(seed)
    X = rng.uniform(-3, 3, (n_rows, 2))
    return X, np.sin(X[:, 0]) * np.cos(X[:, 1]) + 0.02 * rng.standard_normal(n_rows)


def rough(n_rows=200, seed=0):
    """A draw of a process with a Matérn 3/2 kernel, and a little noise."""
    rng = np.random.default_rng(seed)
    X = rng.uniform(-3, 3, (n_rows, 2))
    covariance = Matern(1.0, nu=1.5)(X, X) + 1e-10 * np.eye(n_rows)
    f = np.linalg.cholesky(covariance) @ rng.standard_normal(n_rows)
    return X, f + 0.02 * rng.standard_normal(n_rows)


def plane(n_rows=150, n_features=20, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((n_rows, n_features))
    f = X @ rng.standard_normal(n_features)
    return X, f + 0.5 * rng.standard_normal(n_rows)


def test_smooth_functions_get_the_gaussian():
    X, y = smooth()
    model, usual = RVR("auto").fit(X, y), RVR().fit(X, y)

    assert isinstance(model.kernel_, Gaussian)
    assert_allclose(model.kernel_.length_scale, usual.kernel_.length_scale)
    assert np.array_equal(model.predict(X), usual.predict(X))


@pytest.mark.parametrize("seed", range(3))
def test_rough_functions_get_a_matern_kernel(seed):
    X, y = rough(seed=seed)
    model = RVR("auto").fit(X[:150], y[:150])
    usual = RVR().fit(X[:150], y[:150])
    error, other = (
        np.mean((m.predict(X[150:]) - y[150:]) ** 2) for m in (model, usual)
    )

    assert isinstance(model.kernel_, Matern)
    assert model.kernel_.nu in (1.5, 2.5)
    assert error < 1.1 * other


def test_folds_check_the_intervals_of_rough_functions():
    """And only these: of smooth ones beside noise there are few."""
    covered = []
    for seed in range(3):
        X, y = rough(400, seed)
        model = RVR("auto").fit(X[:150], y[:150])
        low, high = model.predict_interval(X[150:])
        covered.append(np.mean((low < y[150:]) & (y[150:] < high)))
        assert model.calibration_.method == "folds"
    X, y = smooth(400)
    y = y + 0.3 * np.random.default_rng(1).standard_normal(400)

    assert 0.86 < np.mean(covered) < 0.97
    assert RVR("auto").fit(X, y).calibration_.method == "leave-one-out"
    assert RVR().fit(*rough(150)).calibration_.method == "leave-one-out"


def test_planes_get_a_linear_kernel():
    X, y = plane()
    model, linear = RVR("auto").fit(X, y), RVR("linear").fit(X, y)

    assert isinstance(model.kernel_, Linear)
    assert np.isnan(model.length_scales_).all()
    assert_allclose(model.predict(X), linear.predict(X))
    assert_allclose(model.feature_relevance_.sum(), 1)


@pytest.mark.parametrize("multi_class", ["mrvm1", "ovr"])
def test_planes_between_classes_get_a_linear_kernel(multi_class):
    """Where a search with wide functions finds nothing by itself."""
    X, f = plane(500)
    y = np.digitize(f, [-2, 2]) if multi_class == "mrvm1" else f > 0
    model = RVC("auto", multi_class=multi_class).fit(X[:200], y[:200])
    linear = RVC("linear", multi_class=multi_class).fit(X[:200], y[:200])

    assert np.array_equal(model.predict(X), linear.predict(X))
    assert model.score(X[200:], y[200:]) > 0.75


def test_the_history_says_why():
    """Three processes first, of which the one of most evidence is taken."""
    X, y = rough()
    model = RVR("auto").fit(X, y)
    tried = model.kernel_history_
    chosen = tried["nu"][np.argmax(tried["log_evidence"][:3])]

    assert tried["nu"][:3].tolist() == [np.inf, 2.5, 1.5]
    assert np.all(tried["n_vectors"][:3] == 0)
    assert_allclose(tried["criterion"][:3], -tried["log_evidence"][:3] / len(X))
    assert np.all(tried["nu"][3:] == chosen)
    assert model.kernel_.nu == chosen
    assert tried["n_vectors"][-1] == len(model.relevance_)
    assert "nu" not in RVR().fit(X, y).kernel_history_


@pytest.mark.parametrize(
    "settings",
    [
        {"gamma": 0.3},
        {"gamma": "scale"},
        {"gamma": "auto"},
        {"kernel_learning": "width"},
        {"kernel_learning": "adaptive"},
    ],
)
def test_beside_other_settings_it_is_the_gaussian(settings):
    X, y = rough(80)
    auto, usual = (RVR(kernel, **settings).fit(X, y) for kernel in ("auto", "rbf"))

    assert np.array_equal(auto.predict(X), usual.predict(X))


def test_in_a_list_it_is_the_gaussian():
    X, y = rough(80)
    auto, usual = (RVR([name, "linear"]).fit(X, y) for name in ("auto", "rbf"))

    assert np.array_equal(auto.predict(X), usual.predict(X))


@pytest.mark.parametrize("multi_class", ["mrvm1", "mrvm2", "softmax", "ovr", "ovo"])
def test_classes(multi_class):
    X, y = two_mixtures(150, seed=0)
    Z, truth = two_mixtures(1000, seed=1)
    model = RVC("auto", multi_class=multi_class).fit(X, y)

    assert model.score(Z, truth) > 0.86


def test_several_outputs_have_one_family():
    X, first = rough(seed=1)
    Y = np.column_stack([first, rough(seed=1)[1] + np.sin(X[:, 0])])
    model = RVR("auto").fit(X, Y)

    assert isinstance(model.kernel_, Matern)
    assert model.score(X, Y) > 0.8


def test_units_do_not_matter():
    X, y = rough()
    one, other = RVR("auto").fit(X, y), RVR("auto").fit(1024 * X, 1024 * y)

    assert one.kernel_.nu == other.kernel_.nu
    assert_allclose(other.predict(1024 * X), 1024 * one.predict(X), rtol=1e-6)


@pytest.mark.parametrize("target", ["constant", "noise", "one row"])
def test_nothing_to_learn(target):
    rng = np.random.default_rng(0)
    X, y = rng.standard_normal((200, 3)), rng.standard_normal(200)
    if target == "constant":
        y = np.full(200, 2.0)
    if target == "one row":
        X, y = X[:1], y[:1]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        model = RVR("auto").fit(X, y)

    assert_allclose(model.predict(X), np.average(y), atol=0.2)


def test_blocks_and_parts():
    X, y = rough(300)
    blocks = RVR("auto").fit(scan(X, target=y, block_rows=70))
    parts = RVR("auto", partition="sample").fit(X, y)

    for model in (blocks, parts):
        assert isinstance(model.kernel_, Matern)
        assert model.score(X, y) > 0.8


@pytest.mark.parametrize("data", [rough, plane])
def test_a_file_keeps_what_was_learned(data, tmp_path):
    X, y = data()
    model = RVR("auto").fit(X, y)
    save(model, tmp_path / "model.rvm")
    again = load(tmp_path / "model.rvm")

    assert repr(again.kernel_) == repr(model.kernel_)
    assert np.array_equal(again.predict(X), model.predict(X))
    assert np.array_equal(
        again.kernel_history_["nu"], model.kernel_history_["nu"], equal_nan=True
    )


def test_time_is_for_all_families():
    X, y = rough(400)
    with pytest.warns(match="max_seconds"):
        model = RVR("auto", max_seconds=1e-6).fit(X, y)

    assert np.sum(model.kernel_history_["n_vectors"] == 0) >= 1
    assert len(model.kernel_history_["nu"]) <= 2
    assert np.all(np.isfinite(model.predict(X)))


def test_partial_fit_keeps_the_family_of_the_first_rows():
    X, y = rough(300)
    model = RVR("auto").partial_fit(X[:200], y[:200]).partial_fit(X[200:], y[200:])

    assert model.score(X, y) > 0.8
