"""Fitted models of every kind that can be exported, small ones, each made once."""

import copy
import re
import warnings
from dataclasses import dataclass
from functools import cache, partial
from typing import Any

import numpy as np
from conformance.test_kernels import KERNELS as ALL_KERNELS
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import (
    MaxAbsScaler,
    MinMaxScaler,
    RobustScaler,
    StandardScaler,
)

from relvec import (
    LSSVC,
    LSSVR,
    RVC,
    RVR,
    Adaptive,
    FitWarning,
    Mrvm1,
    OneAgainstOne,
    Softmax,
)
from relvec.basis import Basis
from relvec.kernels import (
    CompactMatern,
    Gaussian,
    Laplacian,
    Linear,
    Matern,
    Periodic,
    Polynomial,
    RationalQuadratic,
)

FAR = 1e3  # from the origin, in every feature
KERNELS = [one for one in ALL_KERNELS if "CallableKernel" not in repr(one)]
BY_NAME = {  # those of which nothing but the name is ours
    "chi2": {"kernel": "chi2", "gamma": 0.5},
    "additive_chi2": {"kernel": "additive_chi2"},
    "cosine": {"kernel": "cosine"},
}
FORMS = {
    "mrvm1": "mrvm1",
    "mrvm1 moments": Mrvm1(posterior="moments"),
    "mrvm1 published": Mrvm1(algorithm="published"),
    "mrvm1 full": Mrvm1(posterior="full"),
    "mrvm2": "mrvm2",
    "softmax": "softmax",
    "softmax each": Softmax(priors="each"),
    "softmax full": Softmax(posterior="full"),
    "ovr": "ovr",
    "votes": OneAgainstOne("votes"),
    "ovo": "ovo",
}
# One of each sort of formula, by which forms of several classes are tried.
FEW_KERNELS = {
    "Gaussian": Gaussian(1.2),
    "Matern": Matern(1.0, nu=0.8),
    "Polynomial": Polynomial(2, 0.4, 1.0),
    "CompactMatern": CompactMatern(1.5, support=3.0),
}
LABELS = {
    2: np.array([False, True]),
    3: np.array(["one", "or", "the other"]),
    4: np.array([-3, 0, 7, 20]),
    5: np.array([0.0, 1.0, 2.0, 4.0, 8.0]),
}
SCALERS = {
    "standard": [StandardScaler()],
    "standard without mean": [StandardScaler(with_mean=False)],
    "standard without std": [StandardScaler(with_std=False)],
    "standard without either": [StandardScaler(with_mean=False, with_std=False)],
    "min-max": [MinMaxScaler((-1, 2))],
    "robust": [RobustScaler()],
    "robust without centre": [RobustScaler(with_centering=False)],
    "robust without scale": [RobustScaler(with_scaling=False)],
    "largest": [MaxAbsScaler()],
    "two": [StandardScaler(), MinMaxScaler()],
    "passed through": ["passthrough", RobustScaler()],
}


@cache
def regression(n_features=3, offset=0.0, *, positive=False, n_rows=36):
    chance = np.random.default_rng(n_features)
    X = chance.standard_normal((n_rows, n_features))
    X = np.abs(X) if positive else X
    y = np.sin(2 * X[:, 0]) + 0.5 * X[:, -1] ** 2 + 0.1 * chance.standard_normal(n_rows)
    return X * np.linspace(1, 1.5, n_features) + offset, y


@cache
def classes(n_classes=3, offset=0.0, n_rows=48):
    chance = np.random.default_rng(n_classes)
    y = np.arange(n_rows) % n_classes
    angle = 2 * np.pi * y / n_classes
    X = 1.5 * np.column_stack([np.cos(angle), np.sin(angle), np.zeros(n_rows)])
    return X + 0.8 * chance.standard_normal(X.shape) + offset, LABELS[n_classes][y]


@dataclass(frozen=True)
class Case:
    """A fitted model, and the rows it was fitted to."""

    model: Any
    X: Any


def fit(estimator, X, y):
    """Whatever a search has to tell: its model is what it is."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", FitWarning)
        return Case(copy.deepcopy(estimator).fit(X, y), X)


def _after(scalers, estimator):
    return make_pipeline(*scalers, estimator) if scalers else estimator


def regressor(offset=0.0, n_features=3, positive=False, scalers=(), make=RVR, **params):
    X, y = regression(n_features, offset, positive=positive)
    return fit(_after(scalers, make(**params)), X, y)


def classifier(n_classes, offset=0.0, scalers=(), make=RVC, **params):
    X, y = classes(n_classes, offset)
    return fit(_after(scalers, make(**params)), X, y)


def _varying_noise():
    chance = np.random.default_rng(3)
    X = chance.uniform(-2, 2, (80, 3))
    level = 0.05 * 20 ** ((X[:, 0] + 2) / 4)
    y = np.sin(X[:, 1]) + level * chance.standard_normal(80)
    return fit(RVR(noise="heteroscedastic", gamma=0.5), X, y)


def _counts(**params):
    X, y = regression()
    return fit(RVR(noise="poisson", **params), X, np.round(3 * np.exp(y)))


def _precomputed(make, data, **params):
    X, y = data
    return fit(make(kernel="precomputed", **params), Gaussian(1.5)(X, X), y)


def _doubtless(doubt):
    """Two classes as one overlaps another, or not at all."""
    X, y = classes(2)
    shift = 0.0 if doubt else 3.0
    return fit(RVC(gamma=0.5), X + shift * y[:, None], y)


def _constant(make, **params):
    chance = np.random.default_rng(3)
    X = chance.standard_normal((30, 3))
    y = chance.standard_normal(30) if make is RVR else np.arange(30) % 3
    return fit(make(gamma=1e-9, **params), X, y)


def _one_vector():
    X, y = regression()
    return fit(RVR(kernel=Gaussian(1.5), candidates=X[:1]), X, y)


def cancelling(offset=0.0):
    """Hardly any noise, and a wide kernel: weights are huge, and cancel."""
    X = np.random.default_rng(1).uniform(-1, 1, (60, 2))
    model = RVR(kernel=Gaussian(4.0), noise_variance=1e-10)
    return fit(model, X + offset, np.sin(2 * X[:, 0]) * X[:, 1])


def name_of(kernel):
    return re.sub(r"\s+", "", repr(kernel))


def _offsets(kernel):
    """Both for kernels that see where rows are, and for others the harder one."""
    X = regression()[0]
    here, there = (Basis.of(kernel, rows, bias=False)(rows) for rows in (X, X + 1))
    moved = np.abs(here - there).max() > 1e-9
    return (0.0, FAR) if moved else (FAR,)


def _kernels():
    for kernel in KERNELS:
        for offset in _offsets(kernel):
            name = f"rvr {name_of(kernel)} at {offset:g}"
            yield name, partial(regressor, offset, kernel=kernel)


def _regressions():
    for offset in (0.0, FAR):
        at = f" at {offset:g}"
        for name, params in BY_NAME.items():
            make = partial(regressor, offset, positive=True, **params)
            yield f"rvr {name}{at}", make
        yield f"rvr features{at}", partial(regressor, offset, kernel=None)
        several = ["rbf", Linear(), Matern(nu=0.5)]
        yield f"rvr several{at}", partial(regressor, offset, kernel=several, gamma=0.5)
        yield f"rvr 20 features{at}", partial(regressor, offset, n_features=20)
        yield f"rvr 8 features{at}", partial(regressor, offset, n_features=8, gamma=0.1)
        yield (
            f"rvr one feature{at}",
            partial(regressor, offset, n_features=1, gamma=1.0),
        )
    for offset, learning in ((0.0, "adaptive"), (FAR, "adaptive-ard"), (FAR, "ard")):
        params = {"kernel_learning": learning, "gamma": 0.5}
        yield f"rvr {learning} at {offset:g}", partial(regressor, offset, **params)
    learning = Adaptive(cycles=3, steps=3, by_feature=True)
    yield "rvr Yuan", partial(regressor, kernel_learning=learning, gamma=0.5)
    mixture = {"kernel": [Gaussian(0.5), Gaussian(2.0)], "kernel_learning": "weights"}
    yield "rvr weights", partial(regressor, **mixture)
    yield "rvr without intercept", partial(regressor, gamma=0.5, fit_intercept=False)
    yield "rvr student-t", partial(regressor, FAR, gamma=0.5, noise="student-t")
    yield "rvr precomputed", partial(_precomputed, RVR, regression())
    yield "rvr constant", partial(_constant, RVR)
    yield "rvr one vector", _one_vector
    yield "rvr varying noise", _varying_noise
    yield "rvr counts", partial(_counts, gamma=0.5)
    yield "rvr counts, plain", partial(_counts, uncertainty="plain")


def _least_squares():
    squares = partial(regressor, make=LSSVR, C=10.0)
    others = (Linear(), Laplacian(), Periodic(2.0, 5.0))
    for kernel in (*FEW_KERNELS.values(), *others):
        for offset in _offsets(kernel):
            name = f"lssvr {name_of(kernel)} at {offset:g}"
            yield name, partial(squares, offset, kernel=kernel)
    for offset, method in ((0.0, "nystrom"), (FAR, "cholesky"), (0.0, "cg")):
        params = {} if method == "cg" else {"rank": 12}
        params |= {"method": method, "gamma": 0.3}
        yield f"lssvr {method} at {offset:g}", partial(squares, offset, **params)
    yield "lssvr features", partial(squares, FAR, kernel=None)
    for name, params in BY_NAME.items():
        yield f"lssvr {name}", partial(squares, positive=True, **params)
    white = ALL_KERNELS[[name_of(one).count("White") for one in ALL_KERNELS].index(1)]
    yield "lssvr process", partial(squares, kernel=white)
    yield "lssvr pruned", partial(squares, gamma=0.3, n_support=10)
    yield "lssvr landmarks", partial(squares, gamma=0.3, landmarks=regression()[0][:9])
    yield "lssvr without intercept", partial(squares, gamma=0.3, fit_intercept=False)
    yield "lssvr precomputed", partial(_precomputed, LSSVR, regression())
    yield "lssvc precomputed", partial(_precomputed, LSSVC, classes(3))
    for n_classes in (2, 3, 5):
        for method in ("exact", "nystrom"):
            params = {"gamma": 0.3, "method": method, "make": LSSVC}
            yield (
                f"lssvc {n_classes} {method}",
                partial(classifier, n_classes, **params),
            )


def _of_classes():
    for doubt in (True, False):
        name = "rvc two with doubt" if doubt else "rvc two without doubt"
        yield name, partial(_doubtless, doubt)
    for offset in (0.0, FAR):
        for name, kernel in FEW_KERNELS.items():
            params = {"kernel": kernel, "offset": offset}
            yield f"rvc 2 {name} at {offset:g}", partial(classifier, 2, **params)
    for place, (form, multi_class) in enumerate(FORMS.items()):
        more = (4, FAR) if place % 2 else (5, 0.0)
        for number, (n_classes, offset) in enumerate(((3, FAR * (place % 2)), more)):
            name = list(FEW_KERNELS)[(place + number) % len(FEW_KERNELS)]
            params = {"kernel": FEW_KERNELS[name], "multi_class": multi_class}
            make = partial(classifier, n_classes, offset, **params)
            yield f"rvc {n_classes} {form} {name} at {offset:g}", make
        if form not in {"mrvm1 published", "mrvm1 full", "votes"}:
            make = partial(classifier, 2, gamma=0.3, multi_class=multi_class)
            yield f"rvc 2 {form}", make
    yield "rvc precomputed", partial(_precomputed, RVC, classes(3))
    yield "rvc constant", partial(_constant, RVC)
    yield "rvc constant softmax", partial(_constant, RVC, multi_class="softmax")
    full = Mrvm1(posterior="full")
    yield "rvc constant full", partial(_constant, RVC, multi_class=full)
    full = {"multi_class": full, "fit_intercept": False}
    yield "rvc nothing full", partial(_constant, RVC, **full)
    yield "rvc nothing", partial(_constant, RVC, fit_intercept=False)
    yield "rvr nothing", partial(_constant, RVR, fit_intercept=False)
    yield "rvc constant ovo", partial(_constant, RVC, multi_class="ovo")
    yield "rvc 3 several", partial(classifier, 3, kernel=["rbf", Linear()], gamma=0.3)
    yield (
        "rvc 3 adaptive",
        partial(classifier, 3, gamma=0.3, kernel_learning="adaptive"),
    )


def _pipelines():
    for name, scalers in SCALERS.items():
        params = {"gamma": 0.5, "scalers": scalers}
        yield f"pipeline {name}", partial(regressor, FAR, **params)
    standard = {"scalers": [StandardScaler()]}
    ard = RationalQuadratic([0.7, 1.0, 2.0], alpha=2.0)
    yield "pipeline scales", partial(regressor, FAR, kernel=ard, **standard)
    yield "pipeline linear", partial(regressor, FAR, kernel="linear", **standard)
    yield "pipeline features", partial(regressor, FAR, kernel=None, **standard)
    params = {"kernel_learning": "adaptive-ard", "gamma": 0.5, **standard}
    yield "pipeline adaptive", partial(regressor, FAR, **params)
    positive = {"positive": True, "kernel": "chi2", "scalers": [MaxAbsScaler()]}
    yield "pipeline chi2", partial(regressor, **positive)
    yield "pipeline cosine", partial(regressor, 0.0, kernel="cosine", **standard)
    yield "pipeline lssvr", partial(regressor, FAR, make=LSSVR, gamma=0.3, **standard)
    yield (
        "pipeline lssvc",
        partial(classifier, 3, FAR, make=LSSVC, gamma=0.3, **standard),
    )
    yield "pipeline rvc", partial(classifier, 3, FAR, gamma=0.3, **standard)
    params = {"multi_class": "ovo", "gamma": 0.3, "scalers": [RobustScaler()]}
    yield "pipeline ovo", partial(classifier, 4, FAR, **params)


INSTANCES = {
    name: make
    for part in (_kernels, _regressions, _least_squares, _of_classes, _pipelines)
    for name, make in part()
}


@cache
def fitted(name):
    """A model of a name; some are too sure of themselves, and say so."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", FitWarning)
        return INSTANCES[name]()
