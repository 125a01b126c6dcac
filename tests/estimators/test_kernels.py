"""Kernels of every kind in the estimators: what a dictionary may be made of."""

import pickle

import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_allclose
from problems import drawn, read_only
from scipy.sparse import issparse
from sklearn.base import clone
from sklearn.gaussian_process import kernels as gaussian_process
from sklearn.metrics.pairwise import chi2_kernel, laplacian_kernel
from sklearn.model_selection import GridSearchCV, cross_val_predict

from relvec import RVC, RVR
from relvec.basis import Basis
from relvec.data import scan
from relvec.estimators import FitWarning
from relvec.evidence import Status
from relvec.kernels import (
    CompactMatern,
    Gaussian,
    InverseMultiquadric,
    Laplacian,
    Linear,
    Matern,
    RationalQuadratic,
)

X, NEW = np.split(read_only(np.random.default_rng(5).uniform(-3, 3, (110, 2))), [80])
SIGNAL = read_only(np.sin(X[:, 0]) + 0.5 * X[:, 1])
Y = read_only(SIGNAL + 0.05 * drawn(6, 80))
LABELS = read_only(np.where(SIGNAL > 0, "above", "below"))

KERNELS = {
    "Matérn": Matern(3.0, nu=2.5),
    "Matérn of order 3": Matern(3.0, nu=3),
    "compact": CompactMatern(4.0, support=5.0),
    "inverse multiquadric": InverseMultiquadric(4.0),
    "rational quadratic": RationalQuadratic(2.0),
    "Laplacian": Laplacian(4.0),
    "per feature": Gaussian([1.5, 8.0]),
    "sum": Gaussian(2.0, columns=[0]) + Linear(columns=[1]),
    "product": Gaussian(4.0) * Matern(4.0),
    "of a Gaussian process": 2.0 * gaussian_process.RBF([2.0, 6.0]),
    "several": [Gaussian(3.0), Gaussian(6.0), "linear"],
    "several, by features": [Gaussian(1.5, columns=[0]), Linear(columns=[1])],
    "by name": "laplacian",
}


@pytest.mark.parametrize("name", KERNELS)
def test_regression(name):
    model = RVR(KERNELS[name]).fit(X, Y)
    mean, std = model.predict(X, return_std=True)

    assert np.sqrt(np.mean((mean - SIGNAL) ** 2)) < 0.1
    assert np.all(std > 0.02)
    assert 0 < len(model.relevance_) < 60
    assert_allclose(model.relevance_vectors_, X[model.relevance_])
    assert model.dual_coef_.shape == model.relevance_kernel_.shape


@pytest.mark.parametrize("name", KERNELS)
def test_classification(name):
    model = RVC(KERNELS[name]).fit(X, LABELS)

    assert np.mean(model.predict(X) == LABELS) > 0.85
    assert_allclose(model.predict_proba(X).sum(axis=1), 1)


@pytest.mark.parametrize("name", ["several", "several, by features", "sum"])
@pytest.mark.parametrize("estimator", [RVR, RVC])
def test_all_designs_agree(name, estimator):
    """Rows in blocks, and the matrix itself."""
    targets = Y if estimator is RVR else (SIGNAL > 0).astype(int)
    fits = {
        design: estimator(KERNELS[name], design=design).fit(X, targets)
        for design in ("dense", "auto", "streamed")
    }
    rows = [(X[:30], targets[:30]), (X[30:], targets[30:])]
    fits["blocks"] = estimator(KERNELS[name]).fit(scan(rows))
    evidence = [fit.log_evidence_ for fit in fits.values()]

    assert_allclose(evidence, evidence[0], atol=0.01)
    for fit in fits.values():
        assert fit.predict(NEW).shape == (30,)


def test_several_kernels_say_which_one_each_vector_has():
    kernels = [Gaussian(0.5), Gaussian(3.0), Linear()]
    model = RVR(kernels).fit(X, Y)
    by_hand = np.full(30, model.intercept_)
    for weight, vector, kernel in zip(
        model.dual_coef_,
        model.relevance_vectors_,
        model.relevance_kernel_,
        strict=True,
    ):
        by_hand += weight * kernels[kernel](NEW, vector[None])[:, 0]

    assert_allclose(model.predict(NEW), by_hand, rtol=1e-9)
    assert len(np.unique(model.relevance_kernel_)) > 1


def test_several_scales_fit_what_no_single_one_can():
    """A slow and a fast region: fewer vectors and a higher evidence than either."""
    rng = np.random.default_rng(1)
    x = rng.uniform(1, 10, (300, 1))
    y = np.sin(40 / x[:, 0]) + 0.1 * rng.standard_normal(300)
    scales = [Gaussian(0.1), Gaussian(0.4), Gaussian(1.6)]
    both = RVR(scales).fit(x, y)
    alone = [RVR(kernel).fit(x, y) for kernel in scales]

    assert both.log_evidence_ > max(fit.log_evidence_ for fit in alone) + 10


def test_a_list_of_one_kernel_is_that_kernel():
    one, listed = RVR(Gaussian(2.0)).fit(X, Y), RVR([Gaussian(2.0)]).fit(X, Y)

    assert np.array_equal(one.relevance_, listed.relevance_)
    assert one.log_evidence_ == listed.log_evidence_


def test_candidates_are_shared_by_all_kernels():
    kernels = [Gaussian(1.0), Gaussian(4.0)]
    few = RVR(kernels, candidates=10).fit(X, Y)
    given = RVR(kernels, candidates=NEW[:10]).fit(X, Y)

    assert len(np.unique(few.relevance_)) <= 10
    assert set(given.relevance_) == {-1}


def test_kernels_of_a_gaussian_process_are_relvecs_own():
    """The same functions by scikit-learn's names and by ours."""
    pairs = [
        (gaussian_process.RBF(2.0), Gaussian(2.0)),
        (gaussian_process.Matern(2.0, nu=1.5), Matern(2.0, nu=1.5)),
        (gaussian_process.RationalQuadratic(2.0, 1.5), RationalQuadratic(2.0, 1.5)),
        (gaussian_process.RBF(2.0) + gaussian_process.WhiteKernel(), Gaussian(2.0)),
    ]
    for theirs, ours in pairs:
        expected = RVR(ours).fit(X, Y).predict(NEW)
        assert_allclose(RVR(theirs).fit(X, Y).predict(NEW), expected, rtol=1e-6)


def test_names_of_pairwise_kernels(rng):
    rows = np.abs(X)
    y = np.sqrt(rows[:, 0]) - rows[:, 1] + 0.05 * rng.standard_normal(80)
    for name, function in [("laplacian", laplacian_kernel), ("chi2", chi2_kernel)]:
        named = RVR(name, gamma=0.3).fit(rows, y)
        called = RVR(lambda a, b, f=function: f(a, b, gamma=0.3)).fit(rows, y)
        assert_allclose(named.predict(rows), called.predict(rows), rtol=1e-5)
    for name in ("cosine", "additive_chi2", "polynomial"):
        assert np.corrcoef(RVR(name).fit(rows, y).predict(rows), y)[0, 1] > 0.5


def test_grid_search_over_a_parameter_of_the_kernel():
    grid = {"kernel__length_scale": [0.3, 2.0, 30.0]}
    search = GridSearchCV(RVR(kernel=Gaussian()), grid, cv=3).fit(X, Y)

    assert search.best_params_ == {"kernel__length_scale": 2.0}
    assert search.best_estimator_.kernel == Gaussian(2.0)


def test_a_fitted_model_does_not_change_with_its_kernel():
    kernel = Gaussian(2.0)
    model = RVR(kernel).fit(X, Y)
    before = model.predict(NEW)
    kernel.set_params(length_scale=9.0)

    assert_allclose(model.predict(NEW), before)
    assert clone(model).kernel == Gaussian(9.0)
    assert_allclose(pickle.loads(pickle.dumps(model)).predict(NEW), before)


@pytest.mark.parametrize("estimator", [RVR, RVC])
def test_compact_kernels_stay_sparse(estimator, monkeypatch):
    """Through fit and predict: no array of rows × functions is ever made."""
    rng = np.random.default_rng(0)
    # Drawn: among functions that are alike on a grid, rounding would choose.
    x = np.sort(rng.uniform(0, 100, 400))[:, None]
    targets = np.sin(x[:, 0]) + 0.3 * rng.standard_normal(400)
    if estimator is RVC:
        targets = targets > 0
    kernel = CompactMatern(2.0, support=4.0)
    values = "predict" if estimator is RVR else "decision_function"
    dense = estimator(kernel, design="dense").fit(x, targets)
    expected = getattr(dense, values)(x)

    def forbidden(self, X):
        raise AssertionError

    monkeypatch.setattr(Basis, "__call__", forbidden)
    model = estimator(kernel).fit(x, targets)
    assert_allclose(getattr(model, values)(x), expected, atol=1e-4)
    assert_allclose(model.log_evidence_, dense.log_evidence_, rtol=1e-6)
    assert issparse(model.model_.basis.sparse(x))


def test_compact_kernels_take_little_memory(caplog):
    x = np.linspace(0, 500, 2000)[:, None]
    y = np.sin(x[:, 0] / 5) + 0.3 * np.random.default_rng(0).standard_normal(2000)
    model = RVR(CompactMatern(2.0, support=4.0), memory_budget="10MB", verbose=1)
    with caplog.at_level("INFO", logger="relvec"):
        model.fit(x, y)

    assert "sparse: 1.59%" in caplog.text
    with pytest.raises(ValueError, match=r"design='dense' would hold.*32 MB"):
        RVR(model.kernel, design="dense", memory_budget="10MB").fit(x, y)


def test_a_compact_kernel_that_is_not_sparse_is_held_as_others_are(caplog):
    with caplog.at_level("INFO", logger="relvec"):
        RVR(CompactMatern(2.0, support=50.0), verbose=1).fit(X, Y)

    assert "design: dense" in caplog.text


def test_sparse_designs_need_compact_kernels():
    with pytest.raises(ValueError, match="needs rows in memory and a kernel that"):
        RVR(Gaussian(), design="sparse").fit(X, Y)
    with pytest.raises(ValueError, match="do not fit into a memory_budget of 20 kB"):
        RVR(CompactMatern(), design="sparse", memory_budget="20kB").fit(X, Y)


@pytest.mark.parametrize("design", ["dense", "streamed"])
def test_compact_kernels_in_other_designs(design):
    kernel = CompactMatern(3.0, support=8.0)
    expected = RVR(kernel, design="sparse").fit(X, Y)
    found = RVR(kernel, design=design).fit(X, Y)

    assert_allclose(found.log_evidence_, expected.log_evidence_, atol=0.5)


@pytest.mark.parametrize(
    "kernel", [lambda X, Z: np.ones((len(X), len(Z))), Gaussian(1e9)]
)
def test_a_kernel_that_is_constant_on_the_data(kernel):
    with pytest.warns(FitWarning, match="the model is constant"):
        model = RVR(kernel).fit(X, Y)

    assert_allclose(model.predict(NEW), Y.mean())


class TestPrecomputed:
    """Rectangular matrices have centres of their own."""

    kernel = Gaussian(2.0)

    def test_rectangular(self):
        model = RVR("precomputed", candidates=20).fit(self.kernel(X, NEW[:20]), Y)
        direct = RVR(self.kernel, candidates=NEW[:20]).fit(X, Y)

        assert_allclose(
            model.predict(self.kernel(X, NEW[:20])), direct.predict(X), atol=1e-4
        )
        assert np.all(model.relevance_ < 20)

    def test_rows_of_weight_zero_keep_their_columns(self):
        weights = np.ones(80)
        weights[:40] = 0
        values = self.kernel(X, X[:20])
        model = RVR("precomputed", candidates=20).fit(values, Y, weights)

        assert len(model.relevance_)
        assert np.all(model.relevance_ < 20)

    def test_cross_validation_cuts_rows_alone(self):
        values = self.kernel(X, NEW[:20])
        found = cross_val_predict(RVR("precomputed", candidates=20), values, Y)

        assert np.corrcoef(found, Y)[0, 1] > 0.9

    def test_shapes(self):
        values = self.kernel(X, NEW[:20])
        with pytest.raises(ValueError, match=r"square.*take it with candidates=20"):
            RVR("precomputed").fit(values, Y)
        with pytest.raises(ValueError, match="has 20 columns and candidates is 30"):
            RVR("precomputed", candidates=30).fit(values, Y)
        model = RVR("precomputed", candidates=20).fit(values, Y)
        with pytest.raises(ValueError, match="all columns of the matrix fitted on"):
            model.predict(values[:, :7])


def letter_pairs(first, second):
    """Inner products of how often each pair of letters occurs."""

    def counts(words):
        pairs = ("aa", "ab", "ba", "bb")
        table = [[w.count(pair) for pair in pairs] for w in words]
        return np.array(table, dtype=float).reshape(-1, 4)

    return counts(first) @ counts(second).T


def words(rng):
    """Sixty of two letters, and about how often one follows the other."""
    drawn = ["".join(rng.choice(list("ab"), n)) for n in rng.integers(3, 9, 60)]
    counts = np.array([word.count("ab") + 0.1 * len(word) for word in drawn])
    return drawn, read_only(counts + 0.05 * rng.standard_normal(60))


WORDS, COUNTS = words(np.random.default_rng(5))


class TestObjects:
    """Rows that are no numbers, for kernels that know what they are."""

    @pytest.mark.parametrize("kind", [list, np.array, lambda w: np.array(w, object)])
    def test_text(self, kind):
        rows = kind(WORDS)
        model = RVR(letter_pairs).fit(rows, COUNTS)

        assert np.sqrt(np.mean((model.predict(rows) - COUNTS) ** 2)) < 0.3
        assert model.relevance_vectors_.tolist() == [
            WORDS[number] for number in model.relevance_
        ]

    def test_a_series_and_a_table_of_text(self):
        series = RVR(letter_pairs).fit(pd.Series(WORDS), COUNTS)

        def first_column(first, second):
            return letter_pairs(first[:, 0], second[:, 0])

        table = pd.DataFrame({"word": WORDS, "number": range(60)})
        found = RVR(first_column).fit(table, COUNTS)
        assert_allclose(found.predict(table), series.predict(pd.Series(WORDS)))
        assert found.relevance_vectors_.shape[1] == 2

    def test_cross_validation(self):
        rows = np.array(WORDS, dtype=object)
        found = cross_val_predict(RVR(letter_pairs), rows, COUNTS)

        assert np.corrcoef(found, COUNTS)[0, 1] > 0.8

    def test_classes_and_given_centres(self):
        labels = np.array(WORDS) > "b"
        model = RVC(letter_pairs, candidates=["ab", "ba", "aab"])
        model.fit(WORDS, labels)

        assert set(model.relevance_vectors_) <= {"ab", "ba", "aab"}
        with pytest.raises(ValueError, match="give at least one centre"):
            RVR(letter_pairs, candidates=[]).fit(WORDS, COUNTS)

    def test_objects_without_hash(self, rng):
        """Sets of numbers by their overlap; equal ones need not be recognised."""
        rows = [set(range(i, i + 4)) for i in range(25)] * 2
        y = np.tile(np.arange(25.0), 2) + rng.standard_normal(50)

        def overlap(first, second):
            return np.array([[len(a & b) for b in second] for a in first], dtype=float)

        model = RVR(overlap).fit(rows, y)
        assert np.corrcoef(model.predict(rows), y)[0, 1] > 0.9

    def test_equal_objects_are_one_candidate(self):
        repeated = WORDS + WORDS
        model = RVR(letter_pairs).fit(repeated, np.tile(COUNTS, 2))

        assert np.all(model.relevance_ < 60)

    def test_partial_fit(self):
        model = RVR(letter_pairs).partial_fit(WORDS[:40], COUNTS[:40])
        model.partial_fit(WORDS[40:], COUNTS[40:])

        assert np.corrcoef(model.predict(WORDS), COUNTS)[0, 1] > 0.9

    def test_rows_in_blocks(self):
        expected = RVR(letter_pairs).fit(WORDS, COUNTS)
        found = RVR(letter_pairs, design="streamed").fit(WORDS, COUNTS)
        assert_allclose(found.log_evidence_, expected.log_evidence_, atol=1e-3)

    def test_other_rows_at_prediction(self):
        model = RVR(letter_pairs).fit(WORDS, COUNTS)
        with pytest.raises(ValueError, match="fitted on objects and X holds numbers"):
            model.predict(X)
        numbers = RVR(lambda a, b: a @ b.T).fit(X, Y)
        with pytest.raises(ValueError, match="fitted on numbers and X holds objects"):
            numbers.predict(WORDS)

    def test_kernels_of_numbers_refuse_text(self):
        for kernel in ("rbf", Gaussian(), [Gaussian(), letter_pairs]):
            with pytest.raises(ValueError, match="holds text"):
                RVR(kernel).fit(WORDS, COUNTS)


BAD = [
    ([], "give at least one kernel"),
    (["rbf", None], "kernel=None cannot be one of several"),
    (["precomputed"], "kernel='precomputed' cannot be one of several"),
    (["rbf", "rfb"], "got 'rfb'"),
    (Gaussian, "got <class"),
    (Gaussian([1.0, 2.0, 3.0]), "length_scale has 3 entries and the kernel sees 2"),
    (Gaussian(columns=[0, 7]), "does not fit 2 features"),
    (CompactMatern(exponent=1.0), "positive definite only from 1.5 on"),
    (lambda a, b: np.full((len(a), len(b)), np.nan), "returned NaN or infinity"),
    (lambda a, b: np.ones((len(b), len(a) + 1)), "returned shape"),
    (lambda a, b: 1j * np.ones((len(a), len(b))), "must return real numbers"),
]


@pytest.mark.parametrize(("kernel", "message"), BAD)
@pytest.mark.parametrize("estimator", [RVR, RVC])
def test_bad_kernels(estimator, kernel, message):
    targets = Y if estimator is RVR else LABELS
    with pytest.raises(ValueError, match=message):
        estimator(kernel).fit(X, targets)


def test_a_kernel_too_narrow_for_the_data_ends_in_a_warning(rng):
    """Ten features, and supports that hold hardly another row: Φ is nearly I."""
    rows = rng.standard_normal((150, 10))
    y = rows[:, 0] + rng.standard_normal(150)
    with pytest.warns(FitWarning, match="nearly all observations on weights"):
        model = RVR(CompactMatern()).fit(rows, y)

    assert model.status_ is Status.INTERPOLATION
    assert model.n_iter_ < 20


def test_a_kink_at_the_centre_is_what_interpolates():
    """Of the same wide support, in eight features; one taper is smooth there."""
    rows = np.random.default_rng(0).standard_normal((200, 8))
    y = rows[:, 0] + 0.5 * np.random.default_rng(1).standard_normal(200)
    kernel = CompactMatern(10.0, nu=2.5, support=30.0)
    with pytest.warns(FitWarning, match="nearly all observations on weights"):
        RVR(kernel).fit(rows, y)
    smooth = RVR(kernel.set_params(taper="smooth")).fit(rows, y)

    assert smooth.status_ is Status.CONVERGED
    assert 0.4 < np.sqrt(smooth.noise_variance_) < 0.6
    assert len(smooth.relevance_) < 30
