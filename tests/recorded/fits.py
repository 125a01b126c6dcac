"""The problems and settings of all recorded fits, by name.

Only public names of relvec are used here, so that the same definitions run with any
version. The README beside this file says how they are used.
"""

import warnings
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Any

import numpy as np

import relvec
from relvec import LSSVC, LSSVR, RVC, RVR, kernels
from relvec.data import noisy_sinc, scan, two_mixtures

# ------------------------------------------------------------------ the problems


@dataclass(frozen=True)
class Problem:
    """Training rows, their targets, and new rows to predict."""

    X: np.ndarray
    y: np.ndarray
    new: np.ndarray
    beside: dict[str, np.ndarray] = field(default_factory=dict)  # arguments of ``fit``

    @property
    def spread(self):
        """The unit in which errors of predictions are measured."""
        return float(np.std(self.y, axis=0).max()) if self.is_regression else 1.0

    @property
    def is_regression(self):
        return self.y.dtype.kind == "f"


def split(X, y, **beside):
    """The last eight rows are new ones."""
    kept = {name: values[:-8] for name, values in beside.items()}
    return Problem(X[:-8], y[:-8], X[-8:], kept)


def noisy(signal, noise, chance):
    return signal + noise * chance.standard_normal(signal.shape)


def line(n_rows, seed, low=-10.0, high=10.0):
    chance = np.random.default_rng(seed)
    return chance, chance.uniform(low, high, (n_rows + 8, 1))


def sinc(n_rows=100, noise=0.1, seed=0):
    chance, X = line(n_rows, seed)
    return split(X, noisy(np.sinc(X[:, 0] / np.pi), noise, chance))


def sinc_on_a_grid():
    X, y = noisy_sinc(100, seed=3)
    return Problem(X, y, np.linspace(-12, 12, 8)[:, None])


def friedman(n_rows=120, noise=1.0, seed=1, n_features=5):
    chance = np.random.default_rng(seed)
    X = chance.uniform(0, 1, (n_rows + 8, n_features))
    curve = 10 * np.sin(np.pi * X[:, 0] * X[:, 1]) + 20 * (X[:, 2] - 0.5) ** 2
    return split(X, noisy(curve + 10 * X[:, 3] + 5 * X[:, 4], noise, chance))


def plane(n_rows=80, noise=0.1, seed=2):
    chance = np.random.default_rng(seed)
    X = chance.standard_normal((n_rows + 8, 2))
    return split(X, noisy(np.sin(X[:, 0]) + 0.5 * X[:, 1], noise, chance))


def sparse_line(n_rows=60, noise=0.3, seed=4):
    """Twelve features, three of which matter."""
    chance = np.random.default_rng(seed)
    X = chance.standard_normal((n_rows + 8, 12))
    return split(X, noisy(2 * X[:, 1] - X[:, 5] + 0.5 * X[:, 9] + 3, noise, chance))


def table_columns(n_rows, seed):
    """As in a table: counts, shares, sums of money and codes, in units of their own."""
    chance = np.random.default_rng(seed)
    size = chance.integers(1, 9, n_rows)
    share = np.round(chance.uniform(0, 1, n_rows), 2)
    money = np.round(np.exp(7 + 0.6 * chance.standard_normal(n_rows)) * size)
    code = chance.integers(0, 2, n_rows)
    age = np.round(20 + 50 * chance.beta(2, 3, n_rows))
    return chance, np.column_stack([size, share, money, code, age]).astype(float)


def table(n_rows=150, noise=0.3, seed=5, *, standardised=True):
    chance, X = table_columns(n_rows + 8, seed)
    size, share, money, code, age = X.T
    value = 0.4 * np.log(money) + share * code + 0.1 * np.sqrt(size) - 0.02 * age
    if standardised:
        X = (X - X.mean(axis=0)) / X.std(axis=0)
    return split(X, noisy(value, noise, chance))


def table_of_classes(n_rows=150, seed=6, labels=("no", "yes")):
    chance, X = table_columns(n_rows + 8, seed)
    X = (X - X.mean(axis=0)) / X.std(axis=0)
    score = X[:, 2] + X[:, 1] * X[:, 3] - 0.5 * X[:, 4]
    score = noisy(score, 0.7, chance)
    cuts = np.quantile(score, np.arange(1, len(labels)) / len(labels))
    return split(X, np.array(labels)[np.digitize(score, cuts)])


def mixtures(n_rows=120, seed=0):
    X, y = two_mixtures(n_rows + 8, seed=seed)
    order = np.random.default_rng(seed).permutation(len(y))
    return split(X[order], y[order])


def blobs(n_classes=3, n_rows=75, spread=0.7, seed=7):
    chance = np.random.default_rng(seed)
    y = np.arange(n_rows + 8) % n_classes
    angle = 2 * np.pi * y / n_classes
    middle = 1.5 * np.column_stack([np.cos(angle), np.sin(angle)])
    return split(noisy(middle, spread, chance), y)


def rings(n_rows=120, seed=8):
    """A class within another, with a little overlap."""
    chance = np.random.default_rng(seed)
    y = np.arange(n_rows + 8) % 2
    radius = noisy(1.0 + y, 0.35, chance)
    angle = chance.uniform(0, 2 * np.pi, len(y))
    return split(np.column_stack([radius * np.cos(angle), radius * np.sin(angle)]), y)


def counts(n_rows=120, seed=9):
    chance, X = line(n_rows, seed, -4, 4)
    return split(X, chance.poisson(np.exp(1 + np.sin(X[:, 0]))))


def outliers(n_rows=100, seed=10):
    chance, X = line(n_rows, seed)
    y = noisy(np.sinc(X[:, 0] / np.pi), 0.1, chance)
    return split(X, y + 2 * (chance.uniform(size=len(y)) < 0.1))


def varying_noise(n_rows=150, seed=11):
    chance, X = line(n_rows, seed, -2, 2)
    level = 0.03 * 20 ** ((X[:, 0] + 2) / 4)
    return split(X, noisy(np.sin(2 * X[:, 0]), level, chance))


def known_noise(n_rows=100, seed=12):
    chance, X = line(n_rows, seed)
    std = np.where(X[:, 0] < 0, 0.02, 0.3)
    return split(X, noisy(np.sinc(X[:, 0] / np.pi), std, chance), y_std=std)


def weighted(make, seed=13):
    """Some rows count twice, some half, and some not at all."""
    problem = make()
    given = np.array([0.0, 0.5, 1.0, 1.0, 2.0])
    chosen = np.random.default_rng(seed).integers(0, 5, len(problem.y))
    return replace(problem, beside={"sample_weight": given[chosen]})


def outputs(n_rows=80, noise=0.1, seed=14):
    chance = np.random.default_rng(seed)
    X = chance.uniform(-3, 3, (n_rows + 8, 2))
    wave, slope = np.sin(X[:, 0]), 0.5 * X[:, 1]
    signal = np.column_stack([wave, 10 * (wave + slope), slope**2])
    return split(X, noisy(signal, noise * np.array([1.0, 10.0, 1.0]), chance))


def positive(make):
    problem = make()
    return replace(problem, X=np.abs(problem.X), new=np.abs(problem.new))


def kernel_values(make, kernel):
    """Values between rows in place of rows, for ``kernel="precomputed"``."""
    problem = make()
    K, new = kernel(problem.X, problem.X), kernel(problem.new, problem.X)
    return replace(problem, X=K, new=new)


# ------------------------------------------------------- what is found, as numbers


def whole(model, problem):
    return model.fit(problem.X, problem.y, **problem.beside)


def in_parts(model, problem):
    for rows in np.array_split(np.arange(len(problem.y)), 3):
        model.partial_fit(problem.X[rows], problem.y[rows])
    return model


def in_blocks(model, problem):
    return model.fit(scan(problem.X, target=problem.y, block_rows=64))


def twice(model, problem):
    """The second fit of half the rows begins where that of all rows has ended."""
    half = len(problem.y) // 2
    return model.fit(problem.X, problem.y).fit(problem.X[:half], problem.y[:half])


def estimated(make, how, problem):
    """What an estimator finds."""
    model = how(make(), problem)
    chosen = model.relevance_ if hasattr(model, "relevance_") else model.support_
    found = {
        "status": model.status_.name,
        "relevance": np.asarray(chosen),
        "log_evidence": model.log_evidence_,
    }
    if hasattr(model, "classes_"):
        probable = hasattr(model, "predict_proba")
        ask = model.predict_proba if probable else model.decision_function
        return found | {"probability": ask(problem.new)}
    if hasattr(model, "noise_variance_"):
        found["noise_variance"] = model.noise_variance_
    if getattr(model, "kernel", None) == "precomputed" and isinstance(model, LSSVR):
        return found | {"mean": model.predict(problem.new)}  # it has no error bars
    mean, std = model.predict(problem.new, return_std=True)
    return found | {"mean": mean, "std": std}


def over_dictionary(settings, problem):
    """What ``sparse_bayes`` finds over a constant and Gaussians on all rows."""
    kernel = kernels.Gaussian(2.0)
    Phi, new = (
        np.column_stack([np.ones(len(rows)), kernel(rows, problem.X)])
        for rows in (problem.X, problem.new)
    )
    result = relvec.sparse_bayes(Phi, problem.y, **problem.beside, **settings())
    mean, variance = result.predict(new)
    found = {
        "status": result.status.name,
        "relevance": result.relevant,
        "log_evidence": result.log_evidence,
        "mean": mean,
        "std": np.sqrt(variance),
    }
    if np.isfinite(result.noise_variance):
        found["noise_variance"] = result.noise_variance
    return found


@dataclass(frozen=True)
class Fit:
    """A problem, and what is fitted to it."""

    problem: Callable[[], Problem]
    found: Callable[[Problem], dict[str, Any]]
    slow: bool = False  # about a second or more

    def run(self, problem=None):
        """Numbers that say what was found; a warning about a search is part of it."""
        problem = self.problem() if problem is None else problem
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", UserWarning)
            return self.found(problem)


def fit(problem, make, how=whole, *, slow=False):
    return Fit(problem, partial(estimated, make, how), slow)


def dictionary(problem, settings=dict):
    return Fit(problem, partial(over_dictionary, settings))


# ------------------------------------------------------------------------ the fits

REGRESSION = {
    # The kernel and its width.
    "rvr": fit(sinc, RVR),
    "rvr, grid": fit(sinc_on_a_grid, RVR),
    "rvr, little noise": fit(partial(sinc, 100, 1e-2, 30), RVR),
    "rvr, less noise": fit(partial(sinc, 100, 1e-3, 34), RVR),
    "rvr, hardly any noise": fit(partial(sinc, 60, 1e-6, 33), lambda: RVR(gamma=1.0)),
    "rvr, much noise": fit(partial(sinc, 200, 0.5, 21), RVR),
    "rvr, twenty rows": fit(partial(sinc, 20, 0.05, 22), RVR),
    "rvr, several features": fit(friedman, RVR),
    "rvr, ten features": fit(partial(friedman, 200, 1.0, 32, 10), RVR),
    "rvr, table": fit(table, RVR),
    "rvr, table in its units": fit(partial(table, standardised=False), RVR),
    "rvr, width given": fit(sinc, lambda: RVR(gamma=1 / 9)),
    "rvr, width of scale": fit(friedman, lambda: RVR(gamma="scale")),
    "rvr, narrow": fit(partial(sinc, 150, 0.1, 24), lambda: RVR(gamma=4.0)),
    "rvr, linear": fit(sparse_line, lambda: RVR("linear")),
    "rvr, poly": fit(plane, lambda: RVR("poly", degree=2, coef0=1.0)),
    "rvr, laplacian": fit(plane, lambda: RVR("laplacian", gamma=0.5)),
    "rvr, sigmoid": fit(plane, lambda: RVR("sigmoid", gamma=0.1)),
    "rvr, cosine": fit(plane, lambda: RVR("cosine")),
    "rvr, chi2": fit(partial(positive, friedman), lambda: RVR("chi2", gamma=0.5)),
    "rvr, features": fit(sparse_line, lambda: RVR(None)),
    "rvr, precomputed": fit(
        partial(kernel_values, plane, kernels.Gaussian(1.0)), lambda: RVR("precomputed")
    ),
    "rvr, several kernels": fit(
        plane, lambda: RVR(["rbf", "linear", kernels.Matern(nu=0.5)], gamma=0.5)
    ),
    "rvr, sum of kernels": fit(
        plane, lambda: RVR(kernels.Gaussian(1.3) + 2.0 * kernels.Linear(columns=[0]))
    ),
    "rvr, compact": fit(sinc, lambda: RVR(kernels.CompactMatern(3.0, support=3.0))),
    "rvr, own centres": fit(
        sinc, lambda: RVR(gamma=1 / 9, candidates=np.linspace(-10, 10, 21)[:, None])
    ),
    "rvr, some centres": fit(sinc, lambda: RVR(gamma=1 / 9, candidates=30)),
    "rvr, no constant": fit(plane, lambda: RVR(gamma=0.5, fit_intercept=False)),
    "rvr, plain": fit(sinc, lambda: RVR(uncertainty="plain")),
    # What is learned of the kernel.
    "rvr, one width": fit(plane, lambda: RVR(kernel_learning="width")),
    "rvr, ard": fit(friedman, lambda: RVR(kernel_learning="ard")),
    "rvr, auto": fit(partial(friedman, 80), lambda: RVR(kernel_learning="auto")),
    "rvr, matern learned": fit(
        plane, lambda: RVR(kernels.Matern(nu=1.5), kernel_learning="width")
    ),
    "rvr, adaptive": fit(
        partial(sinc, 60),
        lambda: RVR(gamma=0.5, kernel_learning="adaptive"),
        slow=True,
    ),
    "rvr, adaptive-ard": fit(
        partial(plane, 50),
        lambda: RVR(gamma=0.5, kernel_learning="adaptive-ard"),
        slow=True,
    ),
    "rvr, as Yuan": fit(
        sinc, lambda: RVR(gamma=0.5, kernel_learning=relvec.Adaptive(3, 3))
    ),
    "rvr, by left-out rows": fit(
        sinc, lambda: RVR(kernel_learning=relvec.LengthScales("width", "loo", 3))
    ),
    "rvr, by folds": fit(
        partial(sinc, 60),
        lambda: RVR(kernel_learning=relvec.LengthScales("width", "cv", 3)),
        slow=True,
    ),
    "rvr, kernel weights": fit(
        partial(plane, 50),
        lambda: RVR(
            [kernels.Gaussian(0.5), kernels.Gaussian(2.0)], kernel_learning="weights"
        ),
        slow=True,
    ),
    # The noise.
    "rvr, student-t": fit(outliers, lambda: RVR(gamma=1 / 9, noise="student-t")),
    "rvr, student-t, 3 degrees": fit(
        outliers, lambda: RVR(gamma=1 / 9, noise=relvec.StudentT(3.0))
    ),
    "rvr, counts": fit(counts, lambda: RVR(noise="poisson")),
    "rvr, counts, width given": fit(counts, lambda: RVR(gamma=0.5, noise="poisson")),
    "rvr, varying noise": fit(
        varying_noise, lambda: RVR(gamma=1.0, noise="heteroscedastic"), slow=True
    ),
    "rvr, known deviations": fit(known_noise, RVR),
    "rvr, known variance": fit(sinc, lambda: RVR(noise_variance=0.01)),
    # Several outputs.
    "rvr, outputs": fit(outputs, RVR),
    "rvr, outputs, width given": fit(outputs, lambda: RVR(gamma=0.3)),
    "rvr, outputs apart": fit(outputs, lambda: RVR(gamma=0.3, outputs="independent")),
    "rvr, outputs of known noise": fit(
        outputs, lambda: RVR(gamma=0.3, noise_variance=[0.01, 1.0, 0.01])
    ),
    # The solvers.
    "rvr, mackay": fit(partial(sinc, 40), lambda: RVR(gamma=1 / 9, solver="mackay")),
    "rvr, em": fit(partial(sinc, 40), lambda: RVR(gamma=1 / 9, solver="em")),
    "rvr, variational": fit(
        partial(sinc, 40), lambda: RVR(gamma=1 / 9, solver="variational")
    ),
    "rvr, mackay, not polished": fit(
        partial(sinc, 40),
        lambda: RVR(gamma=1 / 9, solver=relvec.TopDown("mackay", polish=False)),
    ),
    "rvr, hyperprior": fit(
        partial(sinc, 40),
        lambda: RVR(
            gamma=1 / 9,
            solver=relvec.TopDown(hyperprior=relvec.Hyperprior(c=5.0, d=0.05)),
        ),
    ),
    "rvr, greedy": fit(
        sinc, lambda: RVR(gamma=1 / 9, solver=relvec.BottomUp("greedy"))
    ),
    "rvr, in turn": fit(
        sinc, lambda: RVR(gamma=1 / 9, solver=relvec.BottomUp(selection="cyclic"))
    ),
    "rvr, ended early": fit(
        friedman,
        lambda: RVR(gamma=1.0, solver=relvec.BottomUp("greedy"), max_iter=5),
    ),
    # Rows by parts, in blocks, one after the other.
    "rvr, split and merge": fit(
        partial(sinc, 300),
        lambda: RVR(gamma=1 / 9, partition="split-merge", partition_size=60),
    ),
    "rvr, incremental": fit(
        partial(sinc, 300),
        lambda: RVR(
            gamma=1 / 9, partition=relvec.Incremental(polish=False), partition_size=60
        ),
    ),
    "rvr, working set": fit(
        partial(sinc, 300),
        lambda: RVR(gamma=1 / 9, partition="working-set", partition_size=60),
    ),
    "rvr, sample": fit(
        partial(sinc, 400),
        lambda: RVR(gamma=1 / 9, partition="sample", partition_size=80),
    ),
    "rvr, streamed": fit(
        partial(sinc, 400), lambda: RVR(gamma=1 / 9, design="streamed")
    ),
    "rvr, sparse": fit(
        partial(sinc, 200),
        lambda: RVR(kernels.CompactMatern(2.0, support=1.5), design="sparse"),
    ),
    # Recorded with design="low-rank", which means the default now.
    "rvr, low rank": fit(partial(plane, 400, 0.1, 31), lambda: RVR(gamma=0.5)),
    "rvr, blocks": fit(partial(sinc, 300), lambda: RVR(gamma=1 / 9), in_blocks),
    "rvr, partial fit": fit(partial(sinc, 150), lambda: RVR(gamma=1 / 9), in_parts),
    "rvr, warm start": fit(
        partial(sinc, 150), lambda: RVR(gamma=1 / 9, warm_start=True), twice
    ),
    "rvr, sample weights": fit(partial(weighted, sinc), RVR),
}

CLASSES = {
    "rvc": fit(mixtures, RVC),
    "rvc, rings": fit(rings, RVC),
    "rvc, table": fit(table_of_classes, RVC),
    "rvc, width given": fit(mixtures, lambda: RVC(gamma=4.0)),
    "rvc, linear": fit(table_of_classes, lambda: RVC("linear")),
    "rvc, poly": fit(rings, lambda: RVC("poly", degree=2, coef0=1.0)),
    "rvc, features": fit(table_of_classes, lambda: RVC(None)),
    "rvc, precomputed": fit(
        partial(kernel_values, rings, kernels.Gaussian(1.0)), lambda: RVC("precomputed")
    ),
    "rvc, balanced": fit(
        table_of_classes, lambda: RVC(gamma=0.1, class_weight="balanced")
    ),
    "rvc, class weights": fit(
        table_of_classes, lambda: RVC(gamma=0.1, class_weight={"yes": 2.5})
    ),
    "rvc, sample weights": fit(partial(weighted, mixtures), lambda: RVC(gamma=4.0)),
    "rvc, plain": fit(mixtures, lambda: RVC(gamma=4.0, uncertainty="plain")),
    "rvc, ard": fit(rings, lambda: RVC(kernel_learning="ard")),
    "rvc, adaptive": fit(rings, lambda: RVC(gamma=0.5, kernel_learning="adaptive")),
    "rvc, mackay": fit(partial(rings, 40), lambda: RVC(gamma=0.5, solver="mackay")),
    "rvc, working set": fit(
        partial(mixtures, 240),
        lambda: RVC(gamma=4.0, partition="working-set", partition_size=60),
    ),
    "rvc, streamed": fit(
        partial(mixtures, 240), lambda: RVC(gamma=4.0, design="streamed")
    ),
    "rvc, blocks": fit(partial(mixtures, 240), lambda: RVC(gamma=4.0), in_blocks),
    "rvc, two classes, probit": fit(
        mixtures, lambda: RVC(gamma=4.0, multi_class="mrvm1")
    ),
    "rvc, three classes": fit(blobs, RVC),
    "rvc, three classes, table": fit(
        partial(table_of_classes, labels=("low", "middle", "high")), RVC
    ),
    "rvc, mrvm1": fit(blobs, lambda: RVC(gamma=0.5, multi_class="mrvm1")),
    "rvc, matched moments": fit(
        blobs,
        lambda: RVC(gamma=0.5, multi_class=relvec.Mrvm1(posterior="moments")),
    ),
    "rvc, full posterior": fit(
        blobs, lambda: RVC(gamma=0.5, multi_class=relvec.Mrvm1(posterior="full"))
    ),
    "rvc, mrvm1 as published": fit(
        blobs,
        lambda: RVC(gamma=0.5, multi_class=relvec.Mrvm1(algorithm="published")),
    ),
    "rvc, mrvm2": fit(blobs, lambda: RVC(gamma=0.5, multi_class="mrvm2")),
    "rvc, mrvm2 to the end": fit(
        blobs, lambda: RVC(gamma=0.5, multi_class=relvec.Mrvm2(convergence="A"))
    ),
    "rvc, softmax": fit(blobs, lambda: RVC(gamma=0.5, multi_class="softmax")),
    "rvc, softmax, a prior for each": fit(
        partial(blobs, 3, 45),
        lambda: RVC(gamma=0.5, multi_class=relvec.Softmax(priors="each")),
    ),
    "rvc, one against the rest": fit(
        partial(blobs, 4), lambda: RVC(gamma=0.5, multi_class="ovr")
    ),
    "rvc, one against one": fit(
        partial(blobs, 4), lambda: RVC(gamma=0.5, multi_class="ovo")
    ),
    "rvc, kernels by class": fit(
        blobs,
        lambda: RVC(
            {0: "rbf", 1: ["rbf", "linear"], 2: kernels.Laplacian()},
            gamma=0.5,
            multi_class="ovr",
        ),
    ),
    "rvc, votes": fit(
        blobs, lambda: RVC(gamma=0.5, multi_class=relvec.OneAgainstOne("votes"))
    ),
}

LEAST_SQUARES = {
    "lssvr": fit(sinc, lambda: LSSVR(C=10.0)),
    "lssvr, by left-out rows": fit(sinc, lambda: LSSVR(tune="loo")),
    "lssvr, by the evidence": fit(plane, lambda: LSSVR(tune="evidence")),
    "lssvr, low rank": fit(friedman, lambda: LSSVR(C=10.0, method="nystrom", rank=40)),
    "lssvr, cholesky": fit(plane, lambda: LSSVR(C=10.0, method="cholesky", rank=20)),
    "lssvr, conjugate gradients": fit(plane, lambda: LSSVR(C=10.0, method="cg")),
    "lssvr, pruned": fit(sinc, lambda: LSSVR(C=10.0, n_support=20)),
    "lssvr, landmarks": fit(
        sinc, lambda: LSSVR(C=10.0, landmarks=np.linspace(-9, 9, 13)[:, None])
    ),
    "lssvr, sample weights": fit(partial(weighted, sinc), lambda: LSSVR(C=10.0)),
    "lssvr, features": fit(sparse_line, lambda: LSSVR(None)),
    "lssvr, precomputed": fit(
        partial(kernel_values, plane, kernels.Gaussian(1.0)),
        lambda: LSSVR("precomputed"),
    ),
    "lssvc": fit(mixtures, LSSVC),
    "lssvc, three classes": fit(blobs, lambda: LSSVC(gamma=0.5)),
    "lssvc, class weights": fit(
        table_of_classes, lambda: LSSVC(class_weight={"yes": 2.5})
    ),
    "lssvc, by left-out rows": fit(rings, lambda: LSSVC(tune="loo")),
    "lssvc, low rank": fit(rings, lambda: LSSVC(method="nystrom", rank=30)),
}

DICTIONARIES = {
    "dictionary": dictionary(sinc),
    "dictionary, known noise": dictionary(sinc, lambda: {"noise_variance": 0.01}),
    "dictionary, known priors": dictionary(
        partial(sinc, 40), lambda: {"prior_precision": 1.0}
    ),
    "dictionary, mackay": dictionary(partial(sinc, 30), lambda: {"solver": "mackay"}),
    "dictionary, weights": dictionary(partial(weighted, sinc)),
    "dictionary, two classes": dictionary(rings, lambda: {"likelihood": "bernoulli"}),
}

FITS = REGRESSION | CLASSES | LEAST_SQUARES | DICTIONARIES
