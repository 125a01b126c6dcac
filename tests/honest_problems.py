"""Forty drawn problems of every kind, fitted, for the oracle in ``honesty``.

The number of rows and features, the size of the noise and the width of kernels are
drawn; no setting of relvec was chosen on these.
"""

import warnings
from dataclasses import dataclass, field, replace
from functools import cache
from typing import Any

import numpy as np
from honesty import Bernoulli, Case, Dictionary, Found, MultinomialProbit, Poisson
from honesty import Softmax as SoftmaxRows

from relvec import RVC, RVR, Mrvm1, sparse_bayes
from relvec.kernels import Gaussian, Linear

SEED = 39
# The kind, how many problems of it, and between how many rows, in layers.
KINDS = {
    "given width": (6, 10, 3000),
    "learned width": (3, 50, 1000),
    "columns": (3, 30, 2000),
    "several kernels": (3, 50, 800),
    "weighted rows": (2, 50, 600),
    "dictionary": (2, 50, 1500),
    "dictionary of classes": (2, 50, 1000),
    "two classes": (4, 50, 3000),
    "two classes, learned width": (1, 100, 800),
    "two classes, weighted rows": (1, 100, 800),
    "counts": (3, 50, 1500),
    "several outputs": (3, 40, 1500),
    "mrvm1": (2, 60, 500),
    "moments": (2, 50, 150),
    "softmax": (2, 60, 800),
    "ovr": (1, 100, 400),
}
PROBLEMS = [(kind, i) for kind, (count, *_) in KINDS.items() for i in range(count)]
# Some of which fit and check take least time, of every sort of likelihood.
QUICK = [
    ("given width", 0),
    ("learned width", 0),
    ("columns", 0),
    ("several kernels", 0),
    ("dictionary", 0),
    ("two classes", 0),
    ("two classes, weighted rows", 0),
    ("counts", 0),
    ("several outputs", 0),
    ("mrvm1", 0),
    ("moments", 0),
    ("softmax", 0),
]
MOST_HELD = 2_500_000  # entries of a dictionary of which a search sees all columns
# Standard deviation that the prior lets one function add to the latent values of
# classes, as a root mean square over rows: where moments are matched, and elsewhere.
LARGEST_OF_MOMENTS, LARGEST = 1e2, 1e4
CLASSES = ("mrvm1", "moments", "softmax", "ovr")


@dataclass(frozen=True, eq=False)
class Drawn:
    """Rows, targets and how they are fitted."""

    X: np.ndarray
    y: Any
    weight: np.ndarray
    settings: dict[str, Any] = field(default_factory=dict)
    kernels: tuple | None = ()  # as given; none where they are learned


@cache
def fitted(kind, number):
    """The cases (several models have one each) of this number of a kind."""
    problem = draw(kind, number)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        cases = _FITTED.get(kind, _regression)(problem, kind)
    name = f"{kind} {number}"
    return [replace(case, seed=number, name=name) for case in cases]


def draw(kind, number):
    """The problem of this number of a kind."""
    rng = np.random.default_rng([SEED, list(KINDS).index(kind), number])
    count, fewest, most = KINDS[kind]
    N = int(fewest * (most / fewest) ** ((number + rng.uniform(0.5, 1)) / count))
    # Among many features those of several widths would follow the noise.
    widest = 4 if kind == "several kernels" else 20
    p = int(rng.integers(1, min(widest, 1 + N // 10) + 1))
    noise = float(np.exp(rng.uniform(np.log(1e-3), 0)))
    X = rng.standard_normal((N, p))
    f = _smooth(rng, X)
    gamma = float(rng.uniform(0.1, 0.6)) / p
    weight = np.ones(N)
    if "weighted" in kind:
        weight = rng.integers(1, 5, N) * rng.choice([0.5, 1.0], N)
    settings, kernels = {"gamma": gamma}, (Gaussian.from_gamma(gamma),)
    if "learned" in kind:
        settings, kernels = {}, None
    elif kind == "several kernels":
        kernels = Gaussian.from_gamma(gamma), Gaussian.from_gamma(9 * gamma), Linear()
        settings = {"kernel": list(kernels[: 2 + number % 2])}
        kernels = kernels[: 2 + number % 2]
    elif kind == "columns" or kind.startswith("dictionary"):
        X, settings, kernels = _waves(rng, X, N), {}, ()
        X = (
            X
            if kind != "columns"
            else np.column_stack([X, rng.standard_normal((N, 5))])
        )
    return Drawn(X, _targets(rng, kind, f, noise, X), weight, settings, kernels)


def _smooth(rng, X):
    """A smooth function of at most three features, of mean zero and variance one."""
    f = np.zeros(len(X))
    for column in rng.choice(X.shape[1], min(3, X.shape[1]), replace=False):
        height, frequency, phase = rng.uniform([0.5, 0.5, 0], [1.5, 1.5, 6.3])
        f += height * np.sin(frequency * X[:, column] + phase)
    return (f - f.mean()) / (f.std() or 1.0)


def _waves(rng, X, N):
    size = int(rng.integers(10, min(2 * N, 400)))
    frequencies = rng.standard_normal((X.shape[1], size)) / np.sqrt(X.shape[1])
    return np.cos(X @ frequencies + rng.uniform(0, 6.3, size))


def _targets(rng, kind, f, noise, X):
    N = len(f)
    if kind == "several outputs":
        others = [_smooth(rng, X) for _ in range(int(rng.integers(1, 4)))]
        F = np.column_stack([f, *(0.5 * f + one for one in others)])
        scale = np.exp(rng.uniform(-1, 1, F.shape[1]))
        sizes = noise * np.exp(rng.uniform(-1, 1, F.shape[1]))
        return scale * (F + sizes * rng.standard_normal(F.shape))
    if kind == "counts":
        return rng.poisson(np.exp(rng.uniform(-0.5, 2.5) + 0.7 * f)).astype(float)
    doubtful = f + noise * rng.standard_normal(N)
    if kind in CLASSES:
        n_classes = int(rng.integers(3, 5))
        edges = np.quantile(doubtful, np.arange(1, n_classes) / n_classes)
        return np.digitize(doubtful, edges)
    if "classes" in kind:
        # Noise of the size of the signal makes classes overlap.
        size = rng.choice([noise, max(noise, 0.3)])
        return (f + size * rng.standard_normal(N) > 0).astype(int)
    return doubtful


def _dictionary(problem, model, constant=True):
    kernels = model.kernels if problem.kernels is None else problem.kernels
    dictionary = Dictionary(tuple(kernels), problem.X, problem.weight, constant)
    many = problem.X.shape[0] * len(dictionary) > MOST_HELD
    return dictionary, many and bool(kernels)


def _found(problem, model, dictionary):
    """By the numbers that the fitted model has for its functions."""
    size = len(problem.X) if dictionary.kernels else problem.X.shape[1]
    active = 1 + model.kernel_indices * size + model.indices
    if model.basis.bias:
        active = np.append(0, active)
    noise = np.asarray(model.fit.likelihood.scale) ** 2
    return Found(
        active=active,
        prior_precision=np.asarray(model.fit.prior_precision),
        noise_variance=None if np.isnan(noise).any() else noise,
        log_evidence=float(model.log_evidence),
        status=model.status.name,
    )


def _case(problem, model, y, **others):
    dictionary, drawn = _dictionary(problem, model)
    found = _found(problem, model, dictionary)
    return Case(dictionary, found, y, drawn=drawn, **others)


def _estimator(problem, **more):
    given = {"uncertainty": "plain", **problem.settings, **more}
    if problem.kernels == ():
        given["kernel"] = None
    return given


def _regression(problem, kind):
    model = RVR(**_estimator(problem)).fit(problem.X, problem.y, problem.weight).model_
    Y = problem.y if problem.y.ndim == 2 else problem.y[:, None]
    return [_case(problem, model, Y - problem.weight @ Y / problem.weight.sum())]


def _counts(problem, kind):
    model = RVR(**_estimator(problem, noise="poisson"))
    model = model.fit(problem.X, problem.y, problem.weight).model_
    exposure = float(problem.weight @ problem.y / problem.weight.sum())
    return [_case(problem, model, problem.y, likelihood=Poisson(problem.y, exposure))]


def _two_classes(problem, kind):
    model = RVC(**_estimator(problem)).fit(problem.X, problem.y, problem.weight).model_
    return [_of_two(problem, model, problem.y)]


def _of_two(problem, model, y):
    return _case(problem, model, y, likelihood=Bernoulli(y), largest_std=LARGEST)


def _one_against_all(problem, kind):
    model = RVC(**_estimator(problem, multi_class="ovr")).fit(problem.X, problem.y)
    each = enumerate(model.model_.models)
    return [_of_two(problem, one, (problem.y == k).astype(int)) for k, one in each]


def _several_classes(problem, kind):
    scheme = {"moments": Mrvm1(posterior="moments")}.get(kind, kind)
    model = RVC(**_estimator(problem, multi_class=scheme))
    model = model.fit(problem.X, problem.y).model_
    n_classes = problem.y.max() + 1
    kind_of = SoftmaxRows if kind == "softmax" else MultinomialProbit
    moments = kind == "moments"
    largest = LARGEST_OF_MOMENTS if moments else LARGEST
    given = {"largest_std": largest, "moments": moments}
    rows = kind_of(problem.y, n_classes)
    return [_case(problem, model, problem.y, likelihood=rows, **given)]


def _sparse_bayes(problem, kind):
    classes = "classes" in kind
    name = "bernoulli" if classes else "gaussian"
    fit = sparse_bayes(problem.X, problem.y, name)
    found = Found(
        active=fit.relevant,
        prior_precision=fit.prior_precision,
        noise_variance=None if classes else np.array([fit.noise_variance]),
        log_evidence=fit.log_evidence,
        status=fit.status.name,
    )
    dictionary = Dictionary((), problem.X, problem.weight, constant=False)
    if classes:
        return [Case(dictionary, found, problem.y, likelihood=Bernoulli(problem.y))]
    return [Case(dictionary, found, problem.y[:, None])]


_FITTED = {
    "counts": _counts,
    "two classes": _two_classes,
    "two classes, learned width": _two_classes,
    "two classes, weighted rows": _two_classes,
    "ovr": _one_against_all,
    "mrvm1": _several_classes,
    "moments": _several_classes,
    "softmax": _several_classes,
    "dictionary": _sparse_bayes,
    "dictionary of classes": _sparse_bayes,
}
