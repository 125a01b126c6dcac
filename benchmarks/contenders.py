"""Who takes part: relvec, its rivals, and the least work any of them could do."""

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
from scipy.linalg import cho_factor, cho_solve
from scipy.spatial.distance import cdist, pdist
from sklearn.ensemble import (
    HistGradientBoostingClassifier,
    HistGradientBoostingRegressor,
)
from sklearn.gaussian_process import GaussianProcessRegressor
from sklearn.gaussian_process.kernels import (
    RBF,
    ConstantKernel,
    Matern,
    WhiteKernel,
)
from sklearn.kernel_approximation import Nystroem
from sklearn.linear_model import LogisticRegression, Ridge
from sklearn.metrics.pairwise import pairwise_kernels
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import make_pipeline
from sklearn.svm import SVC, SVR

from relvec import RVC, RVR
from relvec.kernels import Gaussian
from relvec.likelihoods import MultinomialProbit
from relvec.likelihoods.multinomial import class_probabilities, contrasts

try:
    import fastrvm
except ImportError:
    fastrvm = None

RELVEC = "relvec"
ALONE = "relvec, alone"
MACHINE, NYSTROEM, BOOSTING = RIVALS = ("svr", "nystroem", "boosting")
N_COMPONENTS = 1000
N_COLUMNS = 330


@dataclass(frozen=True)
class Contender:
    """A name and how to make an unfitted model for a number of rows."""

    name: str
    make: Callable[[int], Any]
    largest: float = np.inf
    rival: bool = True


# With a given width: time against size


class Floor:
    """One pass over K(X, some rows), with KᵀK and Kᵀy: no fit can do with less."""

    def __init__(self, gamma, n_columns=N_COLUMNS, block=4096):
        self.gamma = gamma
        self.n_columns = n_columns
        self.block = block

    def fit(self, X, y):
        rng = np.random.default_rng(0)
        chosen = rng.choice(len(X), min(self.n_columns, len(X)), replace=False)
        centres = X[chosen]
        self.gram_ = np.zeros((len(centres), len(centres)))
        self.projection_ = np.zeros(len(centres))
        for start in range(0, len(X), self.block):
            rows = slice(start, start + self.block)
            values = cdist(X[rows], centres, "sqeuclidean")
            values *= -self.gamma
            np.exp(values, out=values)
            self.gram_ += values.T @ values
            self.projection_ += values.T @ y[rows]
        return self


def relvec_model(problem, **settings):
    estimator = RVR if problem.name == "regression" else RVC
    return estimator(gamma=problem.gamma, **settings)


def nystroem(rows, model, most=N_COMPONENTS, gamma=None):
    """A pipeline of as many components as there are rows, within reason."""
    components = min(most, rows)
    features = Nystroem(gamma=gamma, n_components=components, random_state=0)
    return make_pipeline(features, model)


def fastrvm_model(problem):
    estimator = fastrvm.RVR if problem.name == "regression" else fastrvm.RVC
    return estimator(kernel="rbf", gamma=problem.gamma, fit_intercept=True)


def support_vector_machine(problem):
    if problem.name == "regression":
        return SVR(C=1, epsilon=0.1, gamma=problem.gamma)
    return SVC(C=1, gamma=problem.gamma)


def of_given_width(problem):
    """All contenders for a problem whose width is given, relvec first."""
    machine = "SVR" if problem.name == "regression" else "SVC"
    field = [
        Contender(RELVEC, lambda _: relvec_model(problem), rival=False),
        Contender(machine, lambda _: support_vector_machine(problem)),
    ]
    if fastrvm is not None:
        # It holds several matrices of rows × rows.
        field.append(Contender("fastrvm", lambda _: fastrvm_model(problem), 8_000))
    if problem.name == "regression":
        make = partial(nystroem, model=Ridge(), most=N_COLUMNS, gamma=problem.gamma)
        field.append(Contender("Nystroem + Ridge", make))
        field.append(Contender("floor", lambda _: Floor(problem.gamma), rival=False))
    return field


# With the width of gamma="scale": data sets


def learned_name(learning):
    return f"{RELVEC}, {learning}"


def for_numbers(seconds, learning=None):
    """All contenders of regression, relvec first; learned kernels if asked for."""
    field = [
        Contender(
            RELVEC, lambda _: RVR(gamma="scale", max_seconds=seconds), rival=False
        ),
        Contender(MACHINE, lambda _: SVR()),
        Contender(NYSTROEM, lambda rows: nystroem(rows, Ridge())),
        Contender(BOOSTING, lambda _: HistGradientBoostingRegressor(random_state=0)),
    ]
    if learning is not None:
        field.append(
            Contender(
                learned_name(learning),
                lambda _: RVR(kernel_learning=learning, max_seconds=seconds),
                rival=False,
            )
        )
    return field


def for_classes(seconds):
    """All contenders of classification, relvec first."""
    return [
        Contender(
            RELVEC, lambda _: RVC(gamma="scale", max_seconds=seconds), rival=False
        ),
        Contender(MACHINE, lambda _: SVC()),
        Contender(
            NYSTROEM, lambda rows: nystroem(rows, LogisticRegression(max_iter=1000))
        ),
        Contender(BOOSTING, lambda _: HistGradientBoostingClassifier(random_state=0)),
    ]


# With learned kernels: fits of a split


def learned(learning, kernel="rbf", **settings):
    """A fit of RVR that learns its kernel."""
    return lambda split: RVR(kernel, kernel_learning=learning, **settings).fit(
        split.X, split.y
    )


def best_width(widths):
    """The fit of least error on the test rows: what no honest choice can beat."""

    def fit(split):
        models = [RVR(Gaussian(width)).fit(split.X, split.y) for width in widths(split)]
        return min(models, key=split.rmse)

    return fit


def relative_widths(split, number=14):
    """From narrow to wide, by the median distance between rows."""
    return np.median(pdist(split.X[:500])) * np.geomspace(0.05, 5, number)


def process_of_one_scale():
    """One length scale, the amplitude and the noise learned."""
    kernel = ConstantKernel(1.0) * RBF(3.0) + WhiteKernel(0.1)
    return GaussianProcessRegressor(kernel, normalize_y=True)


def gaussian_process(split):
    """One length scale for each feature and the noise, learned from one start."""
    scales = np.ones(split.X.shape[1])
    kernel = ConstantKernel(1.0) * RBF(scales) + WhiteKernel(0.1)
    return GaussianProcessRegressor(kernel, normalize_y=True).fit(split.X, split.y)


def process_by_evidence(split):
    """Matérn 3/2 or Gaussian, a scale for each feature: that of more evidence."""
    scales = np.full(split.X.shape[1], np.sqrt(split.X.shape[1]))
    bounds = (1e-2, 1e4)
    families = (
        RBF(scales, bounds),
        Matern(scales, bounds, nu=1.5),
    )
    models = [
        GaussianProcessRegressor(
            ConstantKernel(1.0, (1e-4, 1e4)) * family
            + WhiteKernel(0.1, noise_level_bounds=(1e-8, 10.0)),
            normalize_y=True,
        ).fit(split.X, split.y)
        for family in families
    ]
    return max(models, key=lambda model: model.log_marginal_likelihood_value_)


def support_vectors(split):
    """The best of 30 by 3-fold cross-validation, one after the other."""
    scale = 1 / (split.X.shape[1] * split.X.var())
    grid = {
        "C": [1, 10, 100],
        "epsilon": list(np.array([0.01, 0.1]) * split.y.std()),
        "gamma": list(scale * np.geomspace(0.1, 10, 5)),
    }
    search = GridSearchCV(SVR(), grid, scoring="neg_mean_squared_error", cv=3)
    return search.fit(split.X, split.y).best_estimator_


# Models that nobody else has


class Nothing:
    """The mean and the deviation of targets, or the frequencies of classes."""

    def fit(self, X, y):
        self.mean, self.std = y.mean(), y.std()
        self.classes_, counts = np.unique(y, return_counts=True)
        self.frequencies = counts / counts.sum()
        self.classes = y.dtype.kind == "i"
        return self

    def predict(self, X, return_std=False):
        if self.classes:
            return np.full(len(X), self.classes_[np.argmax(self.frequencies)])
        mean, std = np.full(len(X), self.mean), np.full(len(X), self.std)
        return (mean, std) if return_std else mean

    def predict_proba(self, X):
        return np.tile(self.frequencies, (len(X), 1))


class ExpectationMaximisation:
    """The model of table VI of Psorakis et al. that is not sparse.

    A multinomial probit in which every row is a function, and every weight has the
    prior N(0, 1). The E step is (3) and (4), the expected auxiliary variables; the M
    step is (2), a ridge regression on them. Its parameters are those of the kernel.
    """

    N_STEPS = 100

    def __init__(self, kernel, **settings):
        gamma = settings.pop("gamma", None)
        self.kernel = kernel
        self.settings = {**settings, "gamma": None if gamma == "auto" else gamma}

    def fit(self, X, y):
        self.X_ = X
        self.classes_, labels = np.unique(y, return_inverse=True)
        self.relevance_ = np.arange(len(X))
        K = self._functions(X)
        factor = cho_factor(K.T @ K + np.eye(len(K)))
        C = contrasts(len(self.classes_))
        likelihood = MultinomialProbit(C, bound=True)
        targets = C[labels]
        once = np.ones(len(X))
        expected = targets  # line 1 of algorithm 1: Y follows the labels
        for _ in range(self.N_STEPS):
            self.weights_ = cho_solve(factor, K.T @ expected)
            eta = K @ self.weights_
            expected = likelihood.pseudo_observations(targets, eta, once).target
        return self

    def predict_proba(self, X):
        C = contrasts(len(self.classes_))
        eta = self._functions(X) @ self.weights_ @ C.T
        return class_probabilities(eta, np.zeros_like(eta))

    def _functions(self, X):
        return pairwise_kernels(
            X, self.X_, metric=self.kernel, filter_params=True, **self.settings
        )
