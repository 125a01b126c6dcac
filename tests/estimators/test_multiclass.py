"""More than two classes: one model for all of them."""

import numpy as np
import pytest
from numpy.testing import assert_allclose
from sklearn.datasets import load_digits, load_iris, load_wine, make_blobs
from sklearn.metrics import log_loss
from sklearn.model_selection import StratifiedKFold, cross_val_predict
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from relvec import RVC, BottomUp, FitWarning, LengthScales, Mrvm1, Mrvm2, Status
from relvec.data import scan, two_mixtures
from relvec.kernels import Gaussian

MODELS = ["mrvm1", "mrvm2", "softmax"]
FOLDS = StratifiedKFold(4, shuffle=True, random_state=0)


def blobs(n_rows=120, n_classes=4, seed=0, spread=1.0):
    return make_blobs(
        n_rows, 2, centers=n_classes, cluster_std=spread, random_state=seed
    )


@pytest.fixture(params=MODELS)
def multi_class(request):
    return request.param


def test_shapes_and_labels(multi_class):
    X, y = blobs()
    names = np.array(["ash", "beech", "cedar", "elm"])
    model = RVC(gamma=0.1, multi_class=multi_class).fit(X, names[y])
    p = model.predict_proba(X)
    n_vectors = len(model.relevance_)

    assert model.classes_.tolist() == names.tolist()
    assert model.dual_coef_.shape == (4, n_vectors)
    assert model.intercept_.shape == (4,)
    per_class = (4, n_vectors) if multi_class == "mrvm2" else (n_vectors,)
    assert model.prior_precision_.shape == per_class
    assert p.shape == model.decision_function(X).shape == (120, 4)
    assert_allclose(p.sum(axis=1), 1, rtol=1e-12)
    assert np.array_equal(model.predict(X), names[p.argmax(axis=1)])
    assert np.array_equal(model.decision_function(X).argmax(axis=1), p.argmax(axis=1))
    assert model.score(X, names[y]) > 0.85
    assert n_vectors < 15


def test_two_classes_when_asked(multi_class):
    X, y = blobs(n_classes=2)
    model = RVC(gamma=0.1, multi_class=multi_class).fit(X, y)
    logistic = RVC(gamma=0.1).fit(X, y)

    assert model.decision_function(X).shape == (120,)
    assert_allclose(
        model.predict_proba(X)[:, 1],
        1 / (1 + np.exp(-model.decision_function(X))),
        rtol=1e-9,
    )
    assert np.mean(model.predict(X) == logistic.predict(X)) > 0.95


def test_auto_is_logistic_for_two_classes_and_mrvm1_beyond():
    X, y = blobs()
    three = RVC(gamma=0.1).fit(X, y)
    asked = RVC(gamma=0.1, multi_class="mrvm1").fit(X, y)
    two = RVC(gamma=0.1).fit(X, y == 1)

    assert np.array_equal(three.predict_proba(X), asked.predict_proba(X))
    assert two.dual_coef_.ndim == 1


def test_of_two_classes_mrvm1_keeps_only_what_is_worth_a_nat(monkeypatch):
    """Without any one of its vectors, re-estimated, it is a nat lower or nearly so."""
    X, y = two_mixtures(200, seed=0)
    K = Gaussian(0.5)(X, X)
    with monkeypatch.context() as without:
        without.setattr("relvec.modelling.families.classes.Probit.price", 0.0)
        free = RVC(gamma=4.0, multi_class="mrvm1").fit(X, y)
    model = RVC(gamma=4.0, multi_class="mrvm1").fit(X, y)
    kept = model.relevance_

    assert len(kept) < len(free.relevance_)
    lost = free.log_evidence_ - model.log_evidence_
    assert lost < len(free.relevance_) - len(kept)
    for one in range(len(kept)):
        rest = np.delete(kept, one)
        smaller = RVC("precomputed", candidates=len(rest), multi_class="mrvm1")
        smaller.fit(K[:, rest], y)
        assert smaller.log_evidence_ < model.log_evidence_ - 0.8


def test_weights_are_repetitions(multi_class):
    X, y = blobs(60, 3)
    counts = np.arange(60) % 3
    rows = np.repeat(np.arange(60), counts)
    settings = Mrvm2(convergence="A") if multi_class == "mrvm2" else multi_class
    model = RVC(gamma=0.1, multi_class=settings)
    weighted = model.fit(X, y, sample_weight=counts).predict_proba(X)

    assert_allclose(weighted, model.fit(X[rows], y[rows]).predict_proba(X), atol=1e-5)


def test_classes_are_treated_alike(multi_class):
    """Other names, in another order, give the same probabilities."""
    X, y = blobs(90, 3)
    plain = RVC(gamma=0.1, multi_class=multi_class).fit(X, y).predict_proba(X)
    turned = RVC(gamma=0.1, multi_class=multi_class).fit(X, (y + 1) % 3)

    assert_allclose(turned.predict_proba(X)[:, [1, 2, 0]], plain, atol=2e-3)


def test_the_evidence_rises_and_the_trace_tells_more():
    X, y = blobs()
    model = RVC(gamma=0.1, multi_class="mrvm1").fit(X, y)
    history = model.history_
    mean, _ = model.model_.latent(X)
    targets = model.model_.family.outputs(y)
    density = model.model_.family.likelihood.log_density(targets, mean, np.ones(len(y)))

    assert model.status_ is Status.CONVERGED
    assert np.diff(history["log_evidence"]).min() > -1e-6
    assert_allclose(history["log_likelihood"][-1], density, rtol=1e-4)
    assert np.all(history["log_joint"][1:] != history["log_likelihood"][1:])
    for name in ("weights_change", "targets_change", "precision_change"):
        assert np.isnan(history[name][0])
        assert np.all(history[name][1:] >= 0)


@pytest.mark.parametrize("load", [load_iris, load_wine])
def test_probabilities_are_worth_something(load, multi_class):
    X, y = load(return_X_y=True)
    model = make_pipeline(StandardScaler(), RVC(gamma="auto", multi_class=multi_class))
    p = cross_val_predict(model, X, y, cv=FOLDS, method="predict_proba")

    assert np.mean(p.argmax(axis=1) == y) > 0.94
    assert log_loss(y, p) < 0.2


@pytest.mark.slow
def test_digits():
    X, y = load_digits(return_X_y=True)
    X = X / 16
    model = RVC().fit(X[::2], y[::2])

    assert model.score(X[1::2], y[1::2]) > 0.94
    assert len(model.relevance_) < 60


@pytest.mark.parametrize("design", ["auto", "streamed"])
def test_designs_agree(design):
    X, y = blobs(150, 3, seed=1)
    dense = RVC(kernel=Gaussian(3.0), design="dense").fit(X, y)
    other = RVC(kernel=Gaussian(3.0), design=design).fit(X, y)

    assert_allclose(other.log_evidence_, dense.log_evidence_, atol=1e-3)
    assert_allclose(other.predict_proba(X), dense.predict_proba(X), atol=1e-3)


def test_blocks_of_rows_and_several_kernels():
    X, y = blobs(200, 3, seed=2)
    kernels = [Gaussian(1.0), Gaussian(5.0)]
    model = RVC(kernel=kernels).fit(scan(X, target=y, block_rows=70))

    assert_allclose(model.predict_proba(scan(X)), model.predict_proba(X), rtol=1e-9)
    assert model.score(X, y) > 0.9
    assert set(model.relevance_kernel_) <= {0, 1}


@pytest.mark.parametrize("solver", ["mackay", "em", "variational"])
def test_top_down_solvers(solver):
    X, y = blobs(60, 3, seed=3)
    model = RVC(gamma=0.1, solver=solver, tol=1e-2).fit(X, y)
    expected = RVC(gamma=0.1).fit(X, y)

    assert np.mean(model.predict(X) == expected.predict(X)) > 0.95
    if solver != "variational":
        assert_allclose(model.log_evidence_, expected.log_evidence_, atol=0.2)


def test_features_themselves():
    X, y = load_iris(return_X_y=True)
    model = RVC(kernel=None).fit(X, y)

    assert model.coef_.shape == (3, 4)
    assert model.score(X, y) > 0.95


class TestMrvm1:
    """Its settings."""

    def test_the_mode_is_the_default(self):
        X, y = blobs(60, 3)
        by_name = RVC(gamma=0.1, multi_class="mrvm1").fit(X, y)
        by_settings = RVC(gamma=0.1, multi_class=Mrvm1()).fit(X, y)

        assert by_name.log_evidence_ == by_settings.log_evidence_

    def test_matched_moments_have_better_probabilities(self):
        """Where classes can be told apart, the mode is too cautious."""
        X, y = load_iris(return_X_y=True)
        losses = {}
        for posterior in ("mode", "moments"):
            model = RVC(gamma="scale", multi_class=Mrvm1(posterior))
            scaled = make_pipeline(StandardScaler(), model)
            p = cross_val_predict(scaled, X, y, cv=FOLDS, method="predict_proba")
            losses[posterior] = log_loss(y, p)
        assert losses["moments"] < 0.8 * losses["mode"]

    @pytest.mark.parametrize(
        "settings",
        [
            {"design": "streamed"},
            {"solver": BottomUp("greedy"), "tol": 0.1},
            {"kernel_learning": LengthScales("width", n_restarts=1), "tol": 0.1},
        ],
    )
    def test_matched_moments_with_other_settings(self, settings):
        X, y = blobs(60, 3)
        chosen = {"gamma": 0.1, **settings}
        if "kernel_learning" in settings:
            chosen["kernel"] = Gaussian(2.0)
        model = RVC(multi_class=Mrvm1("moments"), **chosen)
        weights = np.where(np.arange(60) % 5, 1.0, 0.5)
        model.fit(X, y, sample_weight=weights)

        assert model.score(X, y) > 0.85
        assert np.all(np.diff(model.history_["log_evidence"]) > -0.5)

    def test_bad_settings(self):
        with pytest.raises(ValueError, match="posterior must be one of 'mode'"):
            Mrvm1(posterior="mean")

    def test_no_other_solver(self):
        X, y = blobs(30, 3)
        with pytest.raises(ValueError, match="is searched function by function"):
            RVC(multi_class=Mrvm1("moments"), solver="em").fit(X, y)


class TestMrvm2:
    """Its settings."""

    def test_convergence(self):
        X, y = blobs(60, 3)
        by_number = RVC(gamma=0.1, multi_class=Mrvm2(warm_up=3)).fit(X, y)
        by_change = RVC(gamma=0.1, multi_class=Mrvm2(convergence="A")).fit(X, y)

        assert by_number.n_iter_ <= 63
        assert by_change.history_["precision_change"][-1] < 0.02
        assert by_change.status_ is Status.CONVERGED

    def test_one_step_is_what_the_paper_says(self):
        """(5), after the warm-up, in the units of the kernel."""
        X, y = blobs(40, 3)
        settings = Mrvm2(tau=0.5, nu=0.3, warm_up=0, threshold=1e300)
        model = RVC(gamma=0.1, multi_class=settings, fit_intercept=False, max_iter=1)
        with pytest.warns(UserWarning, match="max_iter"):
            model.fit(X, y)
        K = np.exp(-0.1 * np.sum((X[:, None] - X) ** 2, axis=2))
        alpha = np.mean(K**2, axis=0)
        ridge = np.linalg.inv(K.T @ K + np.diag(alpha)) @ K.T
        weights = ridge @ np.eye(3)[y]
        likelihood = model.model_.family.likelihood
        seen = likelihood.pseudo_observations(np.eye(3)[y], K @ weights, np.ones(40))
        weights = ridge @ seen.target

        assert_allclose(model.prior_precision_, (2 / (weights**2 + 0.6)).T, rtol=1e-6)

    def test_weights_are_those_of_the_last_step_or_at_their_mode(self):
        """Algorithm 2 by plain formulae, with nothing pruned."""
        X, y = blobs(40, 3)
        K = np.exp(-0.1 * np.sum((X[:, None] - X) ** 2, axis=2))
        settings = {"tau": 0.5, "nu": 0.3, "warm_up": 0, "threshold": 1e300}
        fits = {}
        for weights in ("last", "mode"):
            scheme = Mrvm2(weights=weights, **settings)
            model = RVC(gamma=0.1, multi_class=scheme, fit_intercept=False, max_iter=4)
            with pytest.warns(UserWarning, match="max_iter"):
                fits[weights] = model.fit(X, y)
        likelihood = fits["last"].model_.family.likelihood
        labels, once = np.eye(3)[y], np.ones(40)

        def expected(W):
            return likelihood.pseudo_observations(labels, K @ W, once).target

        def regressed(alpha, Y):
            return np.column_stack(
                [
                    np.linalg.solve(K.T @ K + np.diag(a), K.T @ t)
                    for a, t in zip(alpha.T, Y.T, strict=True)
                ]
            )

        alpha = np.tile(np.mean(K**2, axis=0)[:, None], 3)
        W = regressed(alpha, expected(regressed(alpha, labels)))
        for _ in range(4):
            alpha = 2 / (W**2 + 0.6)  # (5)
            W = regressed(alpha, expected(W))  # (3), (4), (2)

        assert_allclose(fits["last"].dual_coef_, W.T, rtol=1e-5, atol=1e-8)
        for _ in range(3000):
            W = regressed(alpha, expected(W))
        assert_allclose(fits["mode"].dual_coef_, W.T, rtol=1e-4, atol=1e-5)
        assert not np.allclose(fits["last"].dual_coef_, W.T, rtol=1e-3)

    def test_posterior_variance_keeps_more(self):
        X, y = blobs(60, 3)
        counts = [
            len(
                RVC(gamma=0.1, multi_class=Mrvm2(posterior_variance=on))
                .fit(X, y)
                .relevance_
            )
            for on in (False, True)
        ]
        assert counts[1] > counts[0]

    @pytest.mark.parametrize(
        ("settings", "message"),
        [
            ({"tau": -1}, "tau must be a number of at least 0"),
            ({"nu": -1}, "nu must be a number of at least 0"),
            ({"threshold": 0}, "threshold must be a positive number"),
            ({"convergence": "B"}, "convergence must be one of 'N', 'A'"),
            ({"warm_up": -1}, "warm_up must be a whole number"),
            ({"passes": 0}, "passes must be a whole number"),
            ({"passes": 2, "convergence": "A"}, "does not count steps"),
            ({"weights": "first"}, "weights must be one of 'mode', 'last'"),
            ({"posterior_variance": 1}, "posterior_variance must be True or False"),
        ],
    )
    def test_bad_settings(self, settings, message):
        with pytest.raises(ValueError, match=message):
            Mrvm2(**settings)

    def test_no_other_solver(self):
        X, y = blobs(30, 3)
        with pytest.raises(ValueError, match="'mrvm2' is a solver of its own"):
            RVC(multi_class="mrvm2", solver="em").fit(X, y)

    def test_what_does_not_fit_is_refused(self):
        X, y = blobs(400, 3)
        with pytest.raises(ValueError, match="multi_class='mrvm2' begins with all of"):
            RVC(multi_class="mrvm2", memory_budget="3MB").fit(X, y)


def test_classes_of_a_single_row():
    X, y = blobs(40, 3)
    y[0] = 3
    with pytest.warns(FitWarning, match=r"class 3 \(1 of 40 rows\)"):
        model = RVC(gamma=0.1).fit(X, y)

    assert model.classes_.tolist() == [0, 1, 2, 3]
    assert np.isfinite(model.predict_proba(X)).all()


def test_before_fitting():
    from sklearn.exceptions import NotFittedError

    with pytest.raises(NotFittedError):
        RVC(multi_class="mrvm1").predict_proba([[0.0]])


def test_even_odds_are_even():
    """Whatever rounding leaves of them, decisions and probabilities agree."""
    X = np.zeros((6, 1))
    model = RVC(multi_class="softmax", fit_intercept=False)
    with pytest.warns(UserWarning, match="no basis function"):
        model.fit(X, [0, 1] * 3)

    assert np.array_equal(model.decision_function(X), np.zeros(6))
    assert np.array_equal(model.predict(X), np.zeros(6))


@pytest.mark.parametrize(
    "scheme", [Mrvm2(), Mrvm1(algorithm="published")], ids=["mrvm2", "published"]
)
def test_uneven_weights_ask_for_no_more_than_ten_steps_a_row(scheme):
    """Weights count rows, and steps are counted by rows."""
    X, y = blobs(40, 3)
    weight = (
        10.0 ** np.linspace(-6, 6, len(X))[np.random.default_rng(0).permutation(40)]
    )
    model = RVC(gamma=0.1, multi_class=scheme).fit(X, y, sample_weight=weight)
    n_steps = np.ceil(np.minimum(weight, 10).sum())

    assert model.status_ is Status.CONVERGED
    assert n_steps <= model.n_iter_ <= n_steps + 40
    assert model.score(X, y) > 0.7
