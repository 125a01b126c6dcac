"""RVC: what it finds, what it reports, how it fits into scikit-learn."""

import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_allclose
from oracles import laplace_evidence
from problems import read_only
from scipy.special import expit
from sklearn.calibration import CalibratedClassifierCV
from sklearn.metrics import log_loss
from sklearn.metrics.pairwise import rbf_kernel
from sklearn.model_selection import GridSearchCV
from sklearn.multiclass import OneVsRestClassifier

from relvec import RVC, Status
from relvec.data import two_mixtures

X, Y = read_only(*two_mixtures(120, seed=2))
GAMMA = 1 / 0.5**2


@pytest.fixture(scope="module")
def model():
    """With bars of the weights alone, which can be written down."""
    return RVC(gamma=GAMMA, uncertainty="plain").fit(X, Y)


def test_the_fitted_attributes_agree_with_each_other(model):
    n_vectors = len(model.relevance_)

    assert model.status_ is Status.CONVERGED
    assert model.classes_.tolist() == [0, 1]
    assert np.array_equal(model.relevance_vectors_, X[model.relevance_])
    assert model.dual_coef_.shape == model.prior_precision_.shape == (n_vectors,)
    assert np.isnan(model.history_["noise_std"]).all()


def test_the_evidence_is_laplaces(model):
    Phi = rbf_kernel(X, model.relevance_vectors_, gamma=GAMMA)
    alpha = model.prior_precision_
    if np.isfinite(model.intercept_precision_):
        Phi = np.column_stack([np.ones(len(X)), Phi])
        alpha = np.r_[model.intercept_precision_, alpha]

    dense = laplace_evidence(Phi, Y, np.arange(len(alpha)), alpha)
    assert_allclose(model.log_evidence_, dense, rtol=1e-7)


def test_predict_is_the_argmax_everywhere(model):
    rng = np.random.default_rng(0)
    points = np.vstack([rng.uniform(-30, 30, (500, 2)), rng.normal(0, 0.5, (500, 2))])
    probabilities = model.predict_proba(points)
    decisions = model.decision_function(points)

    predicted = model.predict(points)
    assert np.array_equal(predicted, model.classes_[probabilities.argmax(axis=1)])
    assert np.array_equal(predicted == 1, decisions > 0)
    assert_allclose(probabilities.sum(axis=1), 1, rtol=1e-14)


def test_probabilities_are_moderated(model):
    """Never more extreme than the sigmoid of the mean, by the posterior's variance."""
    mean, variance = (part[:, 0] for part in model.model_.latent(X))
    plug_in = expit(mean)
    moderated = model.predict_proba(X)[:, 1]

    assert np.all(np.abs(moderated - 0.5) <= np.abs(plug_in - 0.5) + 1e-12)
    uncertain = variance > 0.1
    assert np.any(np.abs(moderated - plug_in)[uncertain] > 1e-3)


def test_labels_of_any_kind():
    plain = RVC(gamma=GAMMA).fit(X, Y)
    for names in (np.array(["yes", "no"]), np.array([7, -7]), np.array([True, False])):
        model = RVC(gamma=GAMMA).fit(X, names[Y])
        order = np.argsort(names)
        assert np.array_equal(model.classes_, names[order])
        assert_allclose(model.predict_proba(X), plain.predict_proba(X)[:, order])
        assert np.isin(model.predict(X), names).all()


def test_a_precomputed_kernel(model):
    other = RVC(kernel="precomputed").fit(rbf_kernel(X, gamma=GAMMA), Y)

    assert np.array_equal(other.relevance_, model.relevance_)
    new = X[:7] + 0.1
    assert_allclose(
        other.predict_proba(rbf_kernel(new, X, gamma=GAMMA)),
        model.predict_proba(new),
        rtol=1e-5,
    )


def test_features_as_the_dictionary():
    rng = np.random.default_rng(1)
    rows = rng.standard_normal((150, 20))
    labels = rows[:, 4] - rows[:, 9] + 0.3 * rng.standard_normal(150) > 0
    model = RVC(kernel=None).fit(rows, labels)

    assert {4, 9} <= set(model.relevance_)
    assert len(model.relevance_) < 12
    assert model.coef_[4] > 0 > model.coef_[9]


@pytest.mark.filterwarnings("ignore::relvec.FitWarning")
def test_it_works_inside_scikit_learn():
    frame = pd.DataFrame(X, columns=["x", "y"])
    search = GridSearchCV(RVC(), {"gamma": [0.1, 4.0]}, cv=3).fit(frame, Y)
    many = OneVsRestClassifier(RVC(gamma=GAMMA)).fit(X, (3 * X[:, 0]).round() % 3)
    calibrated = CalibratedClassifierCV(RVC(gamma=GAMMA), cv=2).fit(X, Y)

    assert search.best_params_ == {"gamma": 4.0}
    assert many.predict_proba(X).shape == (120, 3)
    assert calibrated.score(X, Y) > 0.8


def test_probabilities_are_worth_something():
    """Log loss on fresh data close to that of the true probabilities."""
    train, test = two_mixtures(400, seed=0), two_mixtures(4000, seed=1)
    model = RVC(gamma=GAMMA).fit(*train)
    centres = np.array([[[-0.7, 0.3], [0.3, 0.3]], [[-0.3, 0.7], [0.4, 0.7]]])
    squares = ((test[0][:, None, None] - centres) ** 2).sum(-1)
    density = np.exp(-squares / 0.06).sum(-1)
    truth = density[:, 1] / density.sum(axis=1)

    best = log_loss(test[1], truth)
    assert log_loss(test[1], model.predict_proba(test[0])) < best + 0.03


@pytest.mark.slow
def test_ripley(data_folder):
    """A hundred of the 250 training rows, width 0.5, over twenty draws."""
    table = pd.read_csv(data_folder / "ripley.csv")
    train, test = (table[table["split"] == part] for part in ("train", "test"))
    vectors, errors = [], []
    for seed in range(20):
        draw = train.iloc[np.random.default_rng(seed).permutation(250)[:100]]
        model = RVC(gamma=GAMMA).fit(draw.iloc[:, :2], draw["target"])
        vectors.append(len(model.relevance_))
        errors.append(1 - model.score(test.iloc[:, :2], test["target"]))

    assert np.mean(vectors) <= 6
    assert np.mean(errors) <= 0.105


@pytest.mark.slow
def test_the_mixtures_over_twenty_seeds():
    """The same as Ripley's problem, on data of our own."""
    vectors, errors = [], []
    test = two_mixtures(2000, seed=1000)
    for seed in range(20):
        model = RVC(gamma=GAMMA).fit(*two_mixtures(100, seed=seed))
        vectors.append(len(model.relevance_))
        errors.append(1 - model.score(*test))

    assert np.mean(vectors) <= 6
    assert np.mean(errors) <= 0.105
