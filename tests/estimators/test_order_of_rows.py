"""The same rows in another order are the same model."""

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from problems import read_only
from sklearn.base import clone
from sklearn.datasets import load_iris
from sklearn.metrics.pairwise import rbf_kernel

from relvec import RVC, RVR, LengthScales
from relvec.data import scan

# Rows of which more than 128 gain, so that not all of them are looked at.
N_ROWS = 180

pytestmark = pytest.mark.filterwarnings("ignore::relvec.estimators.FitWarning")


def rows_of(n_rows, seed=0):
    """Rows, targets of a regression, classes, and rows to predict."""
    rng = np.random.default_rng(seed)
    X = rng.uniform(-2, 2, (n_rows, 3)).round(2)
    signal = np.sin(2 * X[:, 0]) + 0.5 * X[:, 1] * X[:, 2]
    y = signal + 0.3 * rng.standard_normal(n_rows)
    return X, y, rng.uniform(-2, 2, (30, 3))


X, Y, NEW = read_only(*rows_of(N_ROWS))
TWO, THREE = read_only((Y > 0).astype(int), np.digitize(Y, [-0.5, 0.5]))


def predictions(model, new):
    if isinstance(model, RVR):
        return np.stack(model.predict(new, return_std=True))
    return model.predict_proba(new)


def assert_same(found, expected, order, new=NEW):
    """Row numbers are those of rows as given: ``order`` leads from one to the other."""
    assert_allclose(found.log_evidence_, expected.log_evidence_, rtol=1e-9)
    assert_allclose(predictions(found, new), predictions(expected, new), rtol=1e-6)
    assert_array_equal(np.sort(order[found.relevance_]), np.sort(expected.relevance_))


MODELS = {
    "RVR": (RVR(), Y),
    "RVR, gamma": (RVR(gamma=0.3), Y),
    "RVR, mackay": (RVR(gamma=0.3, solver="mackay"), Y),
    "RVR, em": (RVR(gamma=0.3, solver="em"), Y),
    "RVR, some candidates": (RVR(gamma=0.3, candidates=50), Y),
    "RVR, two kernels": (RVR(["rbf", "linear"], gamma=0.3), Y),
    "RVC, two classes": (RVC(), TWO),
    "RVC, two classes, gamma": (RVC(gamma=0.3), TWO),
    "RVC, three classes": (RVC(), THREE),
    "RVC, three classes, gamma": (RVC(gamma=0.3), THREE),
    "softmax": (RVC(gamma=0.3, multi_class="softmax"), THREE),
    "mrvm2": (RVC(gamma=0.3, multi_class="mrvm2"), THREE),
    "ovr": (RVC(gamma=0.3, multi_class="ovr"), THREE),
    "ovo": (RVC(gamma=0.3, multi_class="ovo"), THREE),
}


@pytest.mark.parametrize("name", MODELS)
def test_shuffled_rows(name, rng):
    model, y = MODELS[name]
    order = rng.permutation(N_ROWS)
    expected = clone(model).fit(X, y)

    assert_same(clone(model).fit(X[order], y[order]), expected, order)


def test_folds(rng):
    order = rng.permutation(50)
    model = RVR(kernel_learning=LengthScales("width", criterion="cv"))
    expected = clone(model).fit(X[:50], Y[:50])

    assert_same(clone(model).fit(X[order], Y[order]), expected, order)


@pytest.mark.parametrize("multi_class", ["auto", "softmax"])
def test_iris(multi_class, rng):
    """Whose probabilities once moved by 0.30, and whose evidence by 3.5 nats."""
    rows, classes = load_iris(return_X_y=True)
    model = RVC(gamma="scale", multi_class=multi_class).fit(rows, classes)
    evidence, p = model.log_evidence_, model.predict_proba(rows)
    for _ in range(2):
        order = rng.permutation(150)
        model.fit(rows[order], classes[order])
        assert_allclose(model.log_evidence_, evidence, rtol=1e-9)
        assert_allclose(model.predict_proba(rows), p, rtol=1e-6, atol=1e-12)


@pytest.mark.parametrize(
    ("model", "y"), [(RVR("precomputed"), Y), (RVC("precomputed"), THREE)], ids=str
)
@pytest.mark.parametrize("weighted", [False, True])
def test_a_kernel_matrix(model, y, weighted, rng):
    """Computed anew, so that it is another by rounding."""
    weight = rng.integers(0, 3, N_ROWS) if weighted else np.ones(N_ROWS)
    order = rng.permutation(N_ROWS)
    one, other = clone(model), clone(model)
    one.fit(rbf_kernel(X, gamma=0.3), y, weight)
    other.fit(rbf_kernel(X[order], gamma=0.3), y[order], weight[order])

    assert_allclose(other.log_evidence_, one.log_evidence_, rtol=1e-9)
    assert_allclose(
        predictions(other, rbf_kernel(NEW, X[order], gamma=0.3)),
        predictions(one, rbf_kernel(NEW, X, gamma=0.3)),
        rtol=1e-6,
    )
    assert_array_equal(np.sort(order[other.relevance_]), one.relevance_)


@pytest.mark.parametrize(("model", "y"), [(RVR(), Y), (RVC(), THREE)], ids=str)
def test_weights_and_repeated_rows(model, y, rng):
    """Equal rows with other targets and weights among them."""
    again = rng.integers(0, N_ROWS, N_ROWS + 60)
    rows, targets = X[again], np.where(np.arange(len(again)) % 5, y[again], y[0])
    weight, order = rng.integers(0, 3, len(again)), rng.permutation(len(again))
    expected = clone(model).fit(rows, targets, weight)
    found = clone(model).fit(rows[order], targets[order], weight[order])

    assert_allclose(found.log_evidence_, expected.log_evidence_, rtol=1e-9)
    assert_allclose(predictions(found, NEW), predictions(expected, NEW), rtol=1e-6)
    chosen = rows[order][found.relevance_], rows[expected.relevance_]
    assert_array_equal(*(np.unique(each, axis=0) for each in chosen))


def test_text(rng):
    def alike(A, B):
        lengths = [[len(set(a) ^ set(b)) for b in B] for a in A]
        return np.exp(-np.square(lengths) / 8)

    letters = np.array(list("abcdefghij"))
    words = ["".join(letters[rng.random(10) < 0.5]) for _ in range(N_ROWS)]
    y = np.array([len(word) for word in words]) + rng.standard_normal(N_ROWS)
    order = rng.permutation(N_ROWS)
    expected = RVR(alike).fit(words, y)
    found = RVR(alike).fit([words[place] for place in order], y[order])

    assert_allclose(found.predict(words), expected.predict(words), rtol=1e-6)


@pytest.mark.parametrize(("model", "y"), [(RVR(), Y), (RVC(), TWO)], ids=str)
def test_blocks_of_few_rows(model, y, rng):
    order = rng.permutation(N_ROWS)
    expected = clone(model).fit(scan(X, target=y, block_rows=50))
    found = clone(model).fit(scan(X[order], target=y[order], block_rows=70))

    assert_same(found, expected, order)
    assert_same(clone(model).fit(X[order], y[order]), expected, order)


@pytest.mark.parametrize("model", [RVR(gamma=0.3), RVC(gamma=0.3)], ids=["RVR", "RVC"])
def test_many_rows(model, rng):
    """Too many to look at all rows and functions at once."""
    rows, y, new = rows_of(3000, seed=1)
    y = y if isinstance(model, RVR) else y > 0
    order = rng.permutation(3000)
    expected = clone(model).fit(rows, y)

    assert_same(clone(model).fit(rows[order], y[order]), expected, order, new)


def test_blocks_of_many_rows_that_are_kept(rng):
    rows, y, new = rows_of(2500, seed=1)
    order = rng.permutation(2500)
    model = RVR(gamma=0.3, candidates=400)
    expected = clone(model).fit(scan(rows, target=y, block_rows=300))
    found = clone(model).fit(scan(rows[order], target=y[order]))

    assert_same(found, expected, order, new)
    assert_same(clone(model).fit(rows[order], y[order]), expected, order, new)


def test_blocks_of_many_rows(rng):
    """Other rows are drawn, for a model that says the same to half a deviation."""
    rows, y, new = rows_of(2500, seed=1)
    order = rng.permutation(2500)
    model = RVR(gamma=0.3, candidates=400, design="streamed")
    mean, std = model.fit(scan(rows, target=y)).predict(new, return_std=True)
    again = model.fit(scan(rows[order], target=y[order])).predict(new)

    assert np.max(np.abs(again - mean) / std) < 0.5


def test_warm_start(rng):
    """A later fit begins with the functions of the one before, wherever they are."""
    order = rng.permutation(N_ROWS)
    expected = RVR(gamma=0.3, warm_start=True).fit(X, Y).fit(X, Y)
    found = RVR(gamma=0.3, warm_start=True).fit(X, Y).fit(X[order], Y[order])

    assert_same(found, expected, order)


def test_row_numbers_ascend_and_are_those_of_the_vectors():
    model = RVR(["rbf", "linear"], gamma=0.3).fit(X, Y)
    for kernel in (0, 1):
        assert np.all(np.diff(model.relevance_[model.relevance_kernel_ == kernel]) > 0)
    assert_array_equal(X[model.relevance_], model.relevance_vectors_)
