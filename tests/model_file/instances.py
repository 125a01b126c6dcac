"""Fitted models of every kind, small ones, each made once for all tests."""

import warnings
from functools import cache, partial

import numpy as np
from sklearn.compose import ColumnTransformer, make_column_selector
from sklearn.impute import SimpleImputer
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import (
    MaxAbsScaler,
    MinMaxScaler,
    OneHotEncoder,
    OrdinalEncoder,
    RobustScaler,
    StandardScaler,
)

from relvec import (
    LSSVC,
    LSSVR,
    RVC,
    RVR,
    Adaptive,
    BottomUp,
    FitWarning,
    Hyperprior,
    LengthScales,
    Mrvm1,
    Mrvm2,
    OneAgainstOne,
    Softmax,
    SplitMerge,
    StudentT,
    TopDown,
    Tuning,
)
from relvec.kernels import Gaussian, Laplacian, Linear, Matern, Polynomial, Taper


@cache
def regression(n_rows=40, n_features=2):
    chance = np.random.default_rng(0)
    X = chance.standard_normal((n_rows, n_features))
    y = np.sin(X[:, 0]) + 0.5 * X[:, -1] + 0.1 * chance.standard_normal(n_rows)
    return X, y


@cache
def varied(n_rows=80):
    """With noise from 0.05 to 1."""
    chance = np.random.default_rng(3)
    X = chance.uniform(-2, 2, (n_rows, 2))
    level = 0.05 * 20 ** ((X[:, 0] + 2) / 4)
    return X, np.sin(X[:, 1]) + level * chance.standard_normal(n_rows)


@cache
def classes(n_classes=3, n_rows=45):
    chance = np.random.default_rng(1)
    y = np.arange(n_rows) % n_classes
    angle = 2 * np.pi * y / n_classes
    X = 1.5 * np.column_stack([np.cos(angle), np.sin(angle)])
    return X + 0.6 * chance.standard_normal(X.shape), y


@cache
def table():
    """Three columns of numbers, one of them with holes, and two of words."""
    chance = np.random.default_rng(2)
    numbers = chance.standard_normal((40, 3))
    words = np.array(["red", "green", "blue"], dtype=object)[np.arange(40) % 3]
    sizes = np.array(["S", "M"], dtype=object)[np.arange(40) % 2]
    y = np.sin(numbers[:, 0]) + (words == "red") + 0.1 * chance.standard_normal(40)
    numbers[::7, 1] = np.nan
    return np.column_stack([numbers.astype(object), words, sizes]), y


def _rvr(**params):
    return RVR(**{"gamma": 0.5, **params}).fit(*regression())


def _rvc(n_classes=3, **params):
    return RVC(**{"gamma": 0.5, **params}).fit(*classes(n_classes))


def _lssvr(**params):
    return LSSVR(**{"gamma": 0.5, "C": 10.0, **params}).fit(*regression())


def _lssvc(n_classes=3, **params):
    return LSSVC(**{"gamma": 0.5, **params}).fit(*classes(n_classes))


def _labelled(labels, make=RVC, **params):
    X, y = classes(len(labels))
    return make(gamma=0.5, **params).fit(X, np.asarray(labels)[y])


def _precomputed(make, data, **params):
    X, y = data
    return make(kernel="precomputed", **params).fit(Gaussian(1.0)(X, X), y)


def _positive(make, data, **params):
    X, y = data
    return make(**params).fit(np.abs(X), y)


def _scaled(scaler, make=RVR, data=regression, **params):
    return make_pipeline(scaler, make(gamma=0.5, **params)).fit(*data())


def columns(**params):
    return ColumnTransformer(
        [
            ("scaled", make_pipeline(SimpleImputer(), StandardScaler()), [0, 1]),
            ("words", OneHotEncoder(handle_unknown="ignore", sparse_output=False), [3]),
            ("sizes", OrdinalEncoder(), [4]),
        ],
        **{"remainder": "passthrough", **params},
    )


def _mixed(make=RVR, **params):
    X, y = table()
    y = y if make in {RVR, LSSVR} else np.where(y > 0, "high", "low")
    return make_pipeline(columns(**params), make(gamma=0.2)).fit(X, y)


def frame():
    import pandas as pd

    names = ["width", "depth", "height", "colour", "größe"]
    found = pd.DataFrame(table()[0], columns=names)
    return found.astype(dict.fromkeys(names[:3], float)), table()[1]


def _framed(words, numbers, **params):
    X, y = frame()
    chosen = ColumnTransformer(
        [
            ("words", OneHotEncoder(drop="first", sparse_output=False), words),
            ("numbers", SimpleImputer(strategy="median", add_indicator=True), numbers),
            ("nothing", "drop", ["height"]),
        ],
        **params,
    )
    return make_pipeline(chosen, StandardScaler(), RVR(gamma=0.2)).fit(X, y)


def _named(make=RVR):
    import pandas as pd

    X, y = regression()
    frame = pd.DataFrame(X, columns=["width", "höhe"])
    return make(gamma=0.5).fit(frame, y)


def _warm():
    X, y = regression()
    model = RVR(gamma=0.5, warm_start=True, solver="mackay")
    return model.fit(X, y)


def _partial():
    X, y = regression()
    return RVR(gamma=0.5).partial_fit(X[:20], y[:20]).partial_fit(X[20:], y[20:])


def _constant():
    y = np.random.default_rng(3).standard_normal(40)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", FitWarning)
        return RVR(gamma=1e-9).fit(regression()[0], y)


def _outputs(n_outputs=3, **params):
    X, y = regression()
    several = np.column_stack([y, 10 * X[:, 0] + y, y**2])[:, :n_outputs]
    return RVR(**{"gamma": 0.5, **params}).fit(X, several)


INSTANCES = {
    "rvr": _rvr,
    "rvr learned width": partial(_rvr, gamma="learn"),
    "rvr width": partial(_rvr, kernel=Gaussian(), kernel_learning="width"),
    "rvr ard": partial(_rvr, kernel_learning="ard"),
    "rvr adaptive": partial(_rvr, kernel_learning="adaptive"),
    "rvr adaptive-ard": partial(_rvr, kernel_learning="adaptive-ard"),
    "rvr Yuan": partial(_rvr, kernel_learning=Adaptive(cycles=3, steps=3)),
    "rvr criterion": partial(_rvr, kernel_learning=LengthScales("width", "loo", 2)),
    "rvr weights": partial(
        _rvr, kernel=[Gaussian(0.5), Gaussian(2.0)], kernel_learning="weights"
    ),
    "rvr several": partial(_rvr, kernel=["rbf", Linear(), Matern(nu=0.5)]),
    "rvr algebra": partial(_rvr, kernel=Gaussian(1.3) + 2.0 * Linear(columns=[0])),
    "rvr compact": partial(_rvr, kernel=Polynomial(2, 0.4, 1.0) * Taper(2.0)),
    "rvr features": partial(_rvr, kernel=None),
    "rvr linear": partial(_rvr, kernel="linear"),
    "rvr poly": partial(_rvr, kernel="poly", degree=2, coef0=1.0),
    "rvr laplacian": partial(_rvr, kernel="laplacian"),
    "rvr sigmoid": partial(_rvr, kernel="sigmoid", gamma=0.1),
    "rvr cosine": partial(_rvr, kernel="cosine"),
    "rvr chi2": partial(_positive, RVR, regression(), kernel="chi2"),
    "rvr additive": partial(_positive, RVR, regression(), kernel="additive_chi2"),
    "rvr precomputed": partial(_precomputed, RVR, regression()),
    "rvr mackay": partial(_rvr, solver="mackay"),
    "rvr em": partial(_rvr, solver=TopDown("em", polish=False)),
    "rvr variational": partial(_rvr, solver="variational"),
    "rvr hyperprior": partial(
        _rvr, solver=TopDown(hyperprior=Hyperprior(c=5.0, d=0.05))
    ),
    "rvr greedy": partial(_rvr, solver=BottomUp(schedule="greedy")),
    "rvr known noise": partial(_rvr, noise_variance=0.01),
    "rvr counts": lambda: RVR(gamma=0.5, noise="poisson").fit(
        regression()[0], np.round(3 * np.exp(regression()[1]))
    ),
    "rvr varying noise": lambda: RVR(gamma=0.5, noise="heteroscedastic").fit(*varied()),
    "rvr student-t": partial(_rvr, noise=StudentT(3.0)),
    "rvr student-t of two": lambda: RVR(
        gamma=0.5, outputs="independent", noise="student-t"
    ).fit(regression()[0], np.column_stack([regression()[1]] * 2)),
    "rvr without constant": partial(_rvr, fit_intercept=False),
    "rvr candidates": partial(_rvr, candidates=regression()[0][:10]),
    "rvr partition": partial(_rvr, partition=SplitMerge(), partition_size=15),
    "rvr sample": partial(_rvr, partition="sample", partition_size=30),
    "rvr single precision": lambda: RVR(gamma=0.5).fit(
        regression()[0].astype(np.float32), regression()[1]
    ),
    "rvr outputs": partial(_outputs, gamma="learn"),
    "rvr outputs apart": partial(_outputs, outputs="independent"),
    "rvr one column": partial(_outputs, 1),
    "rvr outputs of known noise": partial(_outputs, noise_variance=[0.01, 4.0, 1.0]),
    "rvr names": _named,
    "rvr warm": _warm,
    "rvr partial": _partial,
    "rvr constant": _constant,
    "rvc two": partial(_rvc, 2),
    "rvc learned": partial(_rvc, gamma="learn"),
    "rvc mrvm1": partial(_rvc, multi_class="mrvm1"),
    "rvc mrvm1 of two": partial(_rvc, 2, multi_class="mrvm1"),
    "rvc moments": partial(_rvc, multi_class=Mrvm1(posterior="moments")),
    "rvc full": partial(_rvc, multi_class=Mrvm1(posterior="full")),
    "rvc published": partial(_rvc, multi_class=Mrvm1(algorithm="published")),
    "rvc mrvm2": partial(_rvc, multi_class="mrvm2"),
    "rvc mrvm2 settings": partial(_rvc, multi_class=Mrvm2(convergence="A")),
    "rvc softmax": partial(_rvc, multi_class="softmax"),
    "rvc each": partial(_rvc, multi_class=Softmax(priors="each")),
    "rvc ovr": partial(_rvc, multi_class="ovr"),
    "rvc ovo": partial(_rvc, multi_class="ovo"),
    "rvc votes": partial(_rvc, multi_class=OneAgainstOne("votes")),
    "rvc ovo learned": partial(_rvc, multi_class="ovo", kernel_learning="width"),
    "rvc kernels by class": partial(
        _rvc,
        multi_class="ovo",
        kernel={(0, 1): Gaussian(), (0, 2): ["rbf", Laplacian()], (1, 2): "rbf"},
    ),
    "rvc partition": partial(_rvc, 2, partition="split-merge", partition_size=20),
    "rvc sample": partial(_rvc, 3, partition="sample", partition_size=30),
    "rvc precomputed": partial(_precomputed, RVC, classes(2)),
    "rvc words": partial(_labelled, ["no", "perhaps", "yes, øvrig"]),
    "rvc objects": partial(_labelled, np.array(["a", "b"], dtype=object)),
    "rvc flags": partial(_labelled, [False, True]),
    "rvc decimals": partial(_labelled, [0.0, 1.0, 2.0]),
    "rvc bytes": partial(_labelled, np.array([3, 5], dtype=np.int8)),
    "rvc balanced": partial(_rvc, class_weight="balanced"),
    "rvc class weights": partial(_labelled, ["no", "yes"], class_weight={"yes": 2.5}),
    "lssvr": _lssvr,
    "lssvr tuned": partial(_lssvr, tune=Tuning("loo", C=[1.0, 10.0], widths=[1, 2])),
    "lssvr nystrom": partial(_lssvr, method="nystrom", rank=12),
    "lssvr landmarks": partial(_lssvr, landmarks=regression()[0][:9]),
    "lssvr cholesky": partial(_lssvr, method="cholesky"),
    "lssvr cg": partial(_lssvr, method="cg"),
    "lssvr pruned": partial(_lssvr, n_support=10),
    "lssvr linear": partial(_lssvr, kernel=None),
    "lssvr precomputed": partial(_precomputed, LSSVR, regression()),
    "lssvr weights": lambda: LSSVR(gamma=0.5).fit(
        *regression(), np.random.default_rng(0).uniform(0.5, 2, 40)
    ),
    "lssvc two": partial(_lssvc, 2),
    "lssvc": _lssvc,
    "lssvc class weights": partial(_lssvc, class_weight={0: 2, 2: 0.5}),
    "lssvc nystrom": partial(_lssvc, method="nystrom", rank=12),
    "lssvc cg": partial(_lssvc, method="cg"),
    "lssvc words": partial(_labelled, ["no", "yes"], LSSVC),
    "pipeline standard": partial(_scaled, StandardScaler()),
    "pipeline min-max": partial(_scaled, MinMaxScaler(), RVC, classes),
    "pipeline largest": partial(_scaled, MaxAbsScaler(), LSSVR),
    "pipeline robust": partial(_scaled, RobustScaler(), LSSVC, classes),
    "pipeline columns": _mixed,
    "pipeline columns dropped": partial(_mixed, LSSVR, remainder="drop"),
    "pipeline of classes": partial(_mixed, RVC),
    "pipeline of frames": partial(_framed, ["colour", "größe"], ["width", "depth"]),
    "pipeline of no columns": partial(
        _framed, [], ["width", "depth", "height"], remainder="drop"
    ),
    "pipeline without remainder": partial(
        _framed, slice(3, None), [0, 1, 2], remainder="passthrough"
    ),
    "pipeline of slices": partial(_framed, slice("colour", "größe"), slice(0, 2)),
    "pipeline of selectors": partial(
        _framed,
        make_column_selector("colour|größe"),
        [True, False, False, False, False],
        remainder=SimpleImputer(),
    ),
}


@cache
def fitted(name):
    """A model of a name; some are too sure of themselves, and say so."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", FitWarning)
        return INSTANCES[name]()


def rows_for(model):
    """Other rows than those of the fit, as the model takes them."""
    n_features = model.n_features_in_
    if hasattr(model, "steps") and hasattr(model, "feature_names_in_"):
        return frame()[0][:12]
    if hasattr(model, "steps") and n_features == 5:
        return table()[0][:12]
    return np.abs(np.random.default_rng(9).standard_normal((12, n_features)))
