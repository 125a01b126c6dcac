"""Length scales learned with the model."""

import pickle
from itertools import chain, repeat

import numpy as np
import pytest
from numpy.testing import assert_allclose
from sklearn.base import clone
from sklearn.datasets import make_friedman1
from sklearn.exceptions import ConvergenceWarning

from relvec import RVC, RVR, Adaptive, FitWarning, LengthScales, Status
from relvec.data import noisy_sinc, scan, two_mixtures
from relvec.evidence import Deadline
from relvec.kernel_search.length_scales import Distances
from relvec.kernels import CompactMatern, Gaussian, Linear, Matern, Polynomial
from relvec.modelling import fit

MODES = ["width", "ard", "auto", "adaptive", "adaptive-ard", Adaptive(5, 5)]


def waves(n_rows=120, seed=0):
    """Slow on the right, fast on the left."""
    rng = np.random.default_rng(seed)
    x = np.linspace(1, 10, n_rows)
    mean = np.sin(40 / x)
    return x[:, None], mean + 0.1 * rng.standard_normal(n_rows), mean


def two_of_five(n_rows=150, seed=0):
    """Two features that matter, two that do not, and one that never changes."""
    rng = np.random.default_rng(seed)
    X = rng.uniform(-2, 2, (n_rows, 5))
    X[:, 4] = 3.0
    mean = np.sin(2 * X[:, 0]) + 0.5 * X[:, 2] ** 2
    return X, mean + 0.1 * rng.standard_normal(n_rows), mean


def rmse(model, X, mean):
    return np.sqrt(np.mean((model.predict(X) - mean) ** 2))


@pytest.fixture(scope="module")
def by_feature():
    X, y, mean = two_of_five()
    return RVR(kernel_learning="ard").fit(X, y), X, y, mean


def test_one_width_suits_the_data_in_any_unit():
    X, y = noisy_sinc(100, seed=0)
    truth = np.sinc(X[:, 0] / np.pi)
    model = RVR(kernel_learning="width").fit(X, y)
    other = RVR(kernel_learning="width").fit(1000 * X, y)

    assert rmse(model, X, truth) < 0.05
    assert 1 < model.kernel_.length_scale < 5
    assert_allclose(other.kernel_.length_scale, 1000 * model.kernel_.length_scale)
    assert_allclose(other.predict(1000 * X), model.predict(X), rtol=1e-6)


def test_the_learned_kernel_is_one_that_can_be_given(by_feature):
    """A fit from nothing with it was tried, and the model is one of those tried."""
    model, X, y, _ = by_feature
    given = RVR(model.kernel_).fit(X, y)
    tried = model.kernel_history_
    (place,) = np.flatnonzero(np.isclose(tried["log_evidence"], given.log_evidence_))

    assert_allclose(tried["log_evidence"][place], given.log_evidence_, rtol=1e-9)
    assert_allclose(tried["length_scale"][place], model.kernel_.length_scale)
    assert tried["n_vectors"][place] == len(given.relevance_)
    assert np.isclose(tried["log_evidence"], model.log_evidence_).any()
    again = pickle.loads(pickle.dumps(model))
    again.set_params(kernel=model.kernel_, kernel_learning=None, warm_start=True)
    assert again.fit(X, y).log_evidence_ >= model.log_evidence_ - 1e-6
    # Within the noise: a search that begins with it goes on.
    assert_allclose(again.predict(X), model.predict(X), atol=0.1)


def test_features_without_influence_fade(by_feature):
    model, X, y, mean = by_feature
    relevance = model.feature_relevance_
    plain = RVR(gamma="scale").fit(X, y)

    assert_allclose(relevance.sum(), 1)
    assert set(np.argsort(relevance)[-2:]) == {0, 2}
    assert np.all(relevance[[1, 3]] < 0.01)
    assert relevance[4] == 0
    assert rmse(model, X, mean) < 0.7 * rmse(plain, X, mean)
    scales = model.length_scales_
    assert scales.shape == (len(model.relevance_), 5)
    assert np.all(scales == scales[0])
    assert_allclose(scales[0], model.kernel_.length_scale)


def test_units_of_the_features_do_not_matter(by_feature):
    """Where searches begin; they may end elsewhere by a last digit."""
    model, X, y, mean = by_feature
    units = 2.0 ** np.array([-10, 0, 10, 3, 0])
    other = RVR(kernel_learning="ard").fit(units * X, y)
    one, two = (each.kernel_history_ for each in (model, other))

    assert_allclose(one["criterion"][:4], two["criterion"][:4], rtol=1e-9)
    assert_allclose(one["length_scale"][:4] * units, two["length_scale"][:4])
    assert rmse(other, units * X, mean) < 1.2 * rmse(model, X, mean)
    assert_allclose(other.feature_relevance_, model.feature_relevance_, atol=0.05)


def test_relevance_is_the_mean_square_of_slopes(by_feature):
    """Var(xⱼ)·E[(∂f/∂xⱼ)²], by differences."""
    model, X, _, _ = by_feature
    slopes, h = np.empty(X.shape), 1e-5
    for j, step in enumerate(h * np.eye(5)):
        change = model.predict(X + step) - model.predict(X - step)
        slopes[:, j] = change / (2 * h)
    expected = X.var(axis=0) * np.mean(slopes**2, axis=0)

    assert_allclose(model.feature_relevance_, expected / expected.sum(), rtol=1e-4)


def test_adaptive_scales_follow_the_signal():
    X, y, mean = waves()
    model = RVR(kernel_learning="adaptive").fit(X, y)
    best = min(rmse(RVR(Gaussian(s)).fit(X, y), X, mean) for s in (0.1, 0.2, 0.4, 0.8))
    fast = model.relevance_vectors_[:, 0] < 2

    assert rmse(model, X, mean) < 0.9 * best
    assert len(model.relevance_) <= 30  # a quarter of the rows
    assert model.length_scales_.shape == model.relevance_.shape
    assert np.median(model.length_scales_[fast]) < model.length_scales_.max() / 4


def test_every_dictionary_is_told():
    """From wide to narrow; the one taken is better than wider ones by 0.02 nats."""
    X, y, _ = waves()
    model = RVR(kernel_learning="adaptive").fit(X, y)
    tried = model.kernel_history_
    losses = tried["criterion"]
    chosen = np.flatnonzero(tried["n_vectors"] == len(model.relevance_))

    assert tried["length_scale"].shape == (len(losses), 1)
    assert np.all(np.diff(tried["length_scale"][:, 0]) < 0)
    assert np.all(tried["n_rows"] == len(X))
    assert losses[chosen].min() <= losses.min() + 0.02
    assert_allclose(tried["log_evidence"][chosen[-1]], model.log_evidence_, atol=1e-3)


@pytest.mark.parametrize("mode", ["adaptive", "adaptive-ard", Adaptive(5, 5)], ids=str)
def test_the_model_is_the_sum_of_its_functions(mode):
    X, y, _ = two_of_five(80)
    model = RVR(Matern(nu=2.5), kernel_learning=mode).fit(X, y)
    total = np.full(80, model.intercept_)
    for vector, scale, weight in zip(
        model.relevance_vectors_, model.length_scales_, model.dual_coef_, strict=True
    ):
        total += weight * Matern(scale, nu=2.5)(X, vector[None])[:, 0]

    assert_allclose(model.predict(X), total, rtol=1e-8, atol=1e-10)
    assert_allclose(model.relevance_vectors_, X[model.relevance_])


def test_algorithm_1_depends_on_where_it_begins():
    X, y, mean = waves()
    narrow, wide = (
        RVR(Gaussian(scale), kernel_learning=Adaptive()).fit(X, y)
        for scale in (0.15, 2.0)
    )

    assert rmse(narrow, X, mean) < 0.7 * rmse(wide, X, mean)
    assert len(np.unique(narrow.length_scales_)) > 3


@pytest.mark.parametrize("mode", MODES, ids=str)
def test_other_kernels_of_a_list_stay(mode):
    """A straight line beside the waves; its vectors have no length scale."""
    rng = np.random.default_rng(0)
    X = rng.uniform(-3, 3, (100, 2))
    y = np.sin(2 * X[:, 0]) + 3 * X[:, 1] + 0.1 * rng.standard_normal(100)
    model = RVR([Linear(), "rbf"], kernel_learning=mode).fit(X, y)
    learned = model.relevance_kernel_ == 1

    assert set(model.relevance_kernel_) == {0, 1}
    assert np.all(np.isfinite(model.length_scales_[learned]))
    assert np.all(np.isnan(model.length_scales_[~learned]))
    assert np.sqrt(np.mean((model.predict(X) - y) ** 2)) < 0.4
    assert model.feature_relevance_[1] > model.feature_relevance_[0]


@pytest.mark.parametrize("criterion", ["auto", "loo", "gcv", "evidence", "cv"])
def test_the_best_by_every_criterion_is_kept(criterion):
    X, y = noisy_sinc(60, seed=1)
    model = RVR(
        kernel_learning=LengthScales("ard", criterion=criterion, n_restarts=4)
    ).fit(X, y)
    history = model.kernel_history_
    chosen = np.isclose(history["length_scale"][:, 0], model.length_scales_[0])

    assert {len(values) for values in history.values()} == {len(chosen)}
    assert np.all(history["n_rows"] == 60)
    losses = history["criterion"]
    assert losses[chosen].min() <= losses.min() + 0.0051
    if criterion == "evidence":
        assert_allclose(losses, -history["log_evidence"] / 60)
        assert_allclose(model.log_evidence_, history["log_evidence"].max())


def test_a_process_finds_scales_where_rows_are_few():
    """Five of ten features matter, a hundred rows: selection cannot tell which."""
    X, y = make_friedman1(100, noise=1.0, random_state=1)
    Z, mean = make_friedman1(500, noise=0.0, random_state=2)
    proposed, searched = (
        RVR(kernel_learning=LengthScales("ard", criterion=criterion)).fit(X, y)
        for criterion in ("auto", "gcv")
    )

    assert rmse(proposed, Z, mean) < 1
    assert rmse(proposed, Z, mean) < rmse(searched, Z, mean) + 0.2
    scales = proposed.kernel_.length_scale
    assert scales[5:].min() > 3 * scales[[0, 1, 2]].max()


def test_a_process_charges_nothing_for_many_vectors():
    """The mean error of three draws."""
    errors = {"auto": 0.0, "gcv": 0.0}
    for seed in range(3):
        X, y, mean = waves(150, seed)
        for criterion in errors:
            learning = LengthScales("width", criterion=criterion)
            model = RVR(kernel_learning=learning).fit(X, y)
            errors[criterion] += rmse(model, X, mean)
            if criterion == "auto":
                assert len(model.relevance_) > 150 / 5

    assert errors["auto"] < 0.7 * errors["gcv"]


def test_auto_is_the_better_of_both():
    rng = np.random.default_rng(0)
    X = rng.uniform(-2, 2, (100, 2))
    noise = 0.1 * rng.standard_normal(100)
    round_hill = np.exp(-np.sum(X**2, axis=1)) + noise
    wave = np.sin(3 * X[:, 0]) + noise
    for y, by_feature in ((round_hill, False), (wave, True)):
        model = RVR(kernel_learning="auto").fit(X, y)
        history = model.kernel_history_
        best = history["length_scale"][np.argmin(history["criterion"])]

        assert (model.length_scales_.ndim == 2) == by_feature
        if by_feature:
            assert_allclose(model.kernel_.length_scale, best)


def test_one_restart_is_one_width():
    X, y = noisy_sinc(60, seed=1)
    model = RVR(
        kernel_learning=LengthScales("ard", n_restarts=1, criterion="evidence")
    ).fit(X, y)
    evidence = model.kernel_history_["log_evidence"]

    assert model.log_evidence_ == evidence.max() > evidence[0]


@pytest.mark.slow
def test_many_rows_are_learned_from_a_part():
    X, y = noisy_sinc(3000, seed=0)
    truth = np.sinc(X[:, 0] / np.pi)
    for mode in ("width", "adaptive"):
        model = RVR(kernel_learning=LengthScales(mode, n_restarts=4)).fit(X, y)
        assert rmse(model, X, truth) < 0.02
        assert_allclose(model.relevance_vectors_, X[model.relevance_])
        assert model.relevance_.max() > 2000


@pytest.mark.parametrize("mode", ["ard", "adaptive"])
def test_blocks(mode):
    X, y = noisy_sinc(300, seed=0)
    model = RVR(kernel_learning=LengthScales(mode, n_restarts=3)).fit(
        scan(X, target=y, block_rows=70)
    )
    assert np.sqrt(np.mean((model.predict(X) - y) ** 2)) < 0.12

    fixed = RVR(kernel_learning=mode, candidates=X[:20], design="streamed")
    with pytest.raises(ValueError, match="needs some rows in memory"):
        fixed.fit(scan(X, target=y, block_rows=70))


def test_given_centres_serve_as_any():
    X, y = noisy_sinc(100, seed=0)
    centres = np.linspace(-10, 10, 25)[:, None]
    for mode in ("width", "adaptive"):
        model = RVR(kernel_learning=mode, candidates=centres).fit(X, y)
        assert set(model.relevance_) == {-1}
        assert np.sqrt(np.mean((model.predict(X) - y) ** 2)) < 0.15


@pytest.mark.parametrize("mode", MODES, ids=str)
def test_two_classes(mode):
    X, y = two_mixtures(200, seed=0)
    Z, truth = two_mixtures(1000, seed=1)
    model = RVC(kernel_learning=mode).fit(X, y)

    assert model.score(Z, truth) > 0.86
    assert_allclose(model.feature_relevance_.sum(), 1)


@pytest.mark.parametrize("multi_class", ["mrvm1", "mrvm2", "softmax", "ovr", "ovo"])
@pytest.mark.parametrize("mode", ["width", "ard", "adaptive"])
def test_several_classes(mode, multi_class):
    rng = np.random.default_rng(0)
    X = rng.standard_normal((60, 3))
    y = np.digitize(X[:, 0] + 0.2 * rng.standard_normal(60), [-0.5, 0.5])
    learning = LengthScales(mode, n_restarts=2)
    model = RVC(kernel_learning=learning, multi_class=multi_class).fit(X, y)

    assert model.score(X, y) > 0.8
    if mode == "ard":
        assert model.feature_relevance_.argmax() == 0
    assert_allclose(model.feature_relevance_.sum(), 1)
    assert len(model.length_scales_) == len(model.relevance_)


def test_every_trial_is_told(caplog):
    X, y = noisy_sinc(40, seed=0)
    with caplog.at_level("INFO", logger="relvec"):
        model = RVR(kernel_learning=LengthScales("width", n_restarts=3), verbose=1).fit(
            X, y
        )
    told = [r for r in caplog.messages if r.startswith("length scale")]

    assert len(told) == len(model.kernel_history_["criterion"])


@pytest.mark.parametrize(("criterion", "judged"), [("gcv", 3), ("auto", 1)])
def test_a_trial_that_is_stopped_is_the_last(monkeypatch, criterion, judged):
    """And the status says that time was out."""
    before = [Deadline()] * (2 if criterion == "gcv" else 0)
    deadlines = chain(before, repeat(Deadline.after(0)))
    monkeypatch.setattr(
        "relvec.kernel_search.trials.maximised",
        lambda spec, data, **start: fit(spec.until(next(deadlines)), data, **start),
    )
    X, y, _ = two_of_five(100)
    with pytest.warns(ConvergenceWarning, match="max_seconds"):
        model = RVR(kernel_learning=LengthScales("width", criterion=criterion)).fit(
            X, y
        )

    assert model.status_ is Status.MAX_SECONDS
    assert len(model.kernel_history_["criterion"]) == judged


def test_a_model_travels_and_begins_anew(by_feature):
    model, X, y, _ = by_feature
    again = pickle.loads(pickle.dumps(model))
    assert np.array_equal(again.predict(X), model.predict(X))
    assert_allclose(again.fit(X, y).predict(X), model.predict(X))

    plain = clone(model).set_params(kernel_learning=None, gamma="scale").fit(X, y)
    assert_allclose(plain.predict(X), RVR(gamma="scale").fit(X, y).predict(X))
    assert not hasattr(plain, "length_scales_")


def test_what_was_learned_is_gone_when_nothing_is_learned():
    X, y = noisy_sinc(50, seed=0)
    model = RVR(kernel_learning=LengthScales("width", n_restarts=3)).fit(X, y)
    model.set_params(kernel_learning=None, gamma="scale").fit(X, y)

    assert_allclose(model.predict(X), RVR(gamma="scale").fit(X, y).predict(X))
    for name in ("kernel_", "length_scales_", "feature_relevance_", "kernel_history_"):
        assert not hasattr(model, name)


@pytest.mark.parametrize("mode", MODES, ids=str)
def test_time_is_for_all_trials(mode):
    X, y, _ = two_of_five(150)
    with pytest.warns(ConvergenceWarning, match="max_seconds"):
        model = RVR(kernel_learning=mode, max_seconds=1e-6).fit(X, y)

    assert model.status_ is Status.MAX_SECONDS
    assert np.all(np.isfinite(model.predict(X)))
    assert len(model.kernel_history_["criterion"]) <= 2


@pytest.mark.parametrize("mode", MODES, ids=str)
@pytest.mark.parametrize("target", ["constant", "noise", "line", "one row"])
@pytest.mark.filterwarnings("ignore::relvec.FitWarning")
def test_nothing_to_learn(mode, target):
    rng = np.random.default_rng(3)
    X = rng.uniform(-1, 1, (40, 2))
    y = {
        "constant": np.full(40, 2.0),
        "noise": rng.standard_normal(40),
        "line": 3 * X[:, 0] - X[:, 1],
        "one row": np.zeros(40),
    }[target]
    if target == "one row":
        X, y = X[:1], y[:1]
    learning = LengthScales(mode, n_restarts=3) if isinstance(mode, str) else mode
    model = RVR(kernel_learning=learning).fit(X, y)

    assert np.all(np.isfinite(model.predict(X)))
    assert np.all(np.isfinite(model.feature_relevance_))
    if target == "line":
        assert_allclose(model.predict(X), y, atol=0.02)
    if len(model.relevance_):
        assert np.all(model.length_scales_ > 1e-3)
        assert np.all(model.length_scales_ < 1e4)


@pytest.mark.parametrize("mode", MODES, ids=str)
def test_features_that_do_not_vary(mode):
    X, y = np.full((30, 2), 7.0), np.random.default_rng(0).standard_normal(30)
    with pytest.warns(FitWarning):
        model = RVR(kernel_learning=mode).fit(X, y)

    assert_allclose(model.predict(X), model.predict(X)[0])
    assert np.array_equal(model.feature_relevance_, np.zeros(2))


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"mode": "weights"}, "mode must be one of 'width', 'ard'"),
        ({"criterion": "aic"}, "criterion must be one of"),
        ({"n_restarts": 0}, "n_restarts must be a whole number"),
        ({"mode": "adaptive", "criterion": "cv"}, "choose another"),
    ],
)
def test_bad_settings(settings, message):
    with pytest.raises(ValueError, match=message):
        LengthScales(**settings)


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"kernel_learning": "magic"}, "kernel_learning must be None, one of 'width'"),
        ({"kernel_learning": 3}, "kernel_learning must be None"),
        ({"kernel": "linear"}, "needs a kernel with a length scale"),
        ({"kernel": None}, "needs a kernel with a length scale.* the columns of X"),
        ({"kernel": Polynomial()}, "needs a kernel with a length scale"),
        ({"kernel": CompactMatern()}, "without finite support"),
        ({"kernel": lambda X, Z: X @ Z.T}, "needs a kernel with a length scale"),
        ({"kernel": [Gaussian(), Matern()]}, "the list has 2 that have them"),
    ],
)
def test_bad_parameters(settings, message):
    X, y = noisy_sinc(20, seed=0)
    settings = {"kernel_learning": "width", **settings}
    with pytest.raises(ValueError, match=message):
        RVR(**settings).fit(X, y)


@pytest.mark.parametrize("settings", [{"cycles": 0}, {"steps": -1}, {"steps": 1.5}])
def test_bad_settings_of_algorithm_1(settings):
    with pytest.raises((ValueError, TypeError), match=next(iter(settings))):
        Adaptive(**settings)


def test_a_matrix_of_kernel_values_cannot_learn():
    X, y = noisy_sinc(20, seed=0)
    with pytest.raises(ValueError, match="needs a kernel with a length scale"):
        RVR(kernel="precomputed", kernel_learning="ard").fit(X @ X.T, y)


def test_scales_that_run_away_are_reported():
    """A plane with a little noise, which the widest functions describe best."""
    rng = np.random.default_rng(0)
    X = rng.uniform(-1, 1, (80, 2))
    y = 3 * X[:, 0] - X[:, 1] + 1e-3 * rng.standard_normal(80)
    with pytest.warns(FitWarning, match="upper bound.*look like a plane"):
        model = RVR(kernel_learning="ard").fit(X, y)
    assert np.all(model.length_scales_ < 101 * 2 * np.sqrt(2))


def test_what_is_said_of_bounds():
    shape = np.array([1.0, 10.0])
    distances = Distances(
        shape, near=0.5, median=2.0, far=4.0, nearest=0.2, n_features=2
    )
    low, high = (np.exp(end) for end in (distances.allowed.low, distances.allowed.high))

    assert distances.remark(np.array([2.0, 20.0])) is None
    assert distances.remark(np.array([2.0, high[1]])) is None
    assert "plane" in distances.remark(high)
    assert "of feature 1 ran to its lower bound" in distances.remark(
        np.array([2.0, low[1]])
    )


def test_narrow_functions_do_not_run_wild_where_there_are_no_rows():
    """Of which there are none below 1.15; without a bound it went down to -19."""
    rng = np.random.default_rng(11)
    X = rng.uniform(1, 10, (150, 1))
    y = np.sin(40 / X[:, 0]) + 0.1 * rng.standard_normal(150)
    model = RVR(kernel_learning="adaptive").fit(X, y)

    assert X.min() > 1.15
    assert np.abs(model.predict(np.linspace(1, 10, 200)[:, None])).max() < 4
    assert model.score(X, y) > 0.95
