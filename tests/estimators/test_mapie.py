"""MAPIE's conformal predictions, of estimators as they are."""

import numpy as np
import pytest

from relvec import LSSVC, LSSVR, RVC, RVR
from relvec.data import noisy_sinc, two_mixtures

classification = pytest.importorskip("mapie.classification")
regression = pytest.importorskip("mapie.regression")

FIT, CONFORMALIZE, TEST = slice(0, 120), slice(120, 600), slice(600, 1500)
REGRESSORS = [RVR(gamma=1 / 9), LSSVR(gamma=1 / 9)]
CLASSIFIERS = [RVC(gamma=4.0), RVC(gamma=4.0, multi_class="ovr"), LSSVC(gamma=4.0)]


def shuffled(X, y):
    order = np.random.default_rng(0).permutation(len(y))
    return X[order], y[order]


def name(model):
    return str(model)


def covered(bounds, y):
    return np.mean((bounds[:, 0, 0] <= y) & (y <= bounds[:, 1, 0]))


@pytest.mark.parametrize("model", REGRESSORS, ids=name)
class TestRegression:
    X, y = shuffled(*noisy_sinc(1500, seed=0))

    @pytest.mark.parametrize("prefit", [False, True])
    def test_split(self, model, prefit):
        given = model.fit(self.X[FIT], self.y[FIT])
        found = regression.SplitConformalRegressor(given, prefit=prefit)
        if not prefit:
            found.fit(self.X[FIT], self.y[FIT])
        found.conformalize(self.X[CONFORMALIZE], self.y[CONFORMALIZE])
        predicted, bounds = found.predict_interval(self.X[TEST])

        assert 0.85 < covered(bounds, self.y[TEST]) < 0.95
        np.testing.assert_allclose(predicted, given.predict(self.X[TEST]), rtol=1e-9)

    def test_cross(self, model):
        found = regression.CrossConformalRegressor(model, cv=4)
        found.fit_conformalize(self.X[CONFORMALIZE], self.y[CONFORMALIZE])
        _, bounds = found.predict_interval(self.X[TEST])

        assert 0.85 < covered(bounds, self.y[TEST]) < 0.95


@pytest.mark.parametrize("model", CLASSIFIERS, ids=name)
class TestClassification:
    X, y = shuffled(*two_mixtures(1500, seed=0))

    def test_split(self, model):
        found = classification.SplitConformalClassifier(model, prefit=False)
        found.fit(self.X[FIT], self.y[FIT])
        found.conformalize(self.X[CONFORMALIZE], self.y[CONFORMALIZE])
        _, sets = found.predict_set(self.X[TEST])

        assert 0.85 < self.held(sets) < 0.95

    def test_cross(self, model):
        found = classification.CrossConformalClassifier(model, cv=4)
        found.fit_conformalize(self.X[CONFORMALIZE], self.y[CONFORMALIZE])
        _, sets = found.predict_set(self.X[TEST])

        assert 0.85 < self.held(sets) < 0.95

    def held(self, sets):
        """The share of rows whose class is in their set."""
        return np.mean(sets[np.arange(len(sets)), self.y[TEST], 0])
