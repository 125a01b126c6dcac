"""Random problems for the engine, from a seed."""

import json
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from oracles import Frozen

from relvec.data import two_mixtures
from relvec.design import DenseDesign
from relvec.evidence import Problem
from relvec.evidence.mode import posterior_at_mode
from relvec.evidence.newton import Moments
from relvec.evidence.sequential import model_at
from relvec.kernels import Gaussian
from relvec.likelihoods import Bernoulli, PseudoObservations


def read_only(*arrays):
    """The arrays, which no test can change for another; one alone as itself."""
    for array in arrays:
        array.setflags(write=False)
    return arrays if len(arrays) > 1 else arrays[0]


def drawn(seed, shape):
    """Normal numbers that are the same for all tests of a file."""
    return read_only(np.random.default_rng(seed).standard_normal(shape))


def ripples(n_rows, seed, noise=0.1):
    """Rings around the origin of a square of twenty by twenty."""
    rng = np.random.default_rng(seed)
    X = rng.uniform(-10, 10, (n_rows, 2))
    rings = np.sinc(np.hypot(X[:, 0], X[:, 1]) / np.pi)
    return read_only(X, rings + noise * rng.standard_normal(n_rows))


def gaussian_kernel(X, Z, width):
    squares = ((X[:, None, :] - Z[None, :, :]) ** 2).sum(-1)
    return np.exp(-squares / width**2)


def reference(name, folder=Path(__file__).parent / "references"):
    """A problem and what SparseBayes found on it, X and y as arrays; see the folder."""
    case = json.loads((folder / f"{name}.json").read_text(encoding="utf-8"))
    y = np.array(case["y"], dtype=float)
    X = np.array(case["X"], dtype=float).reshape(len(y), -1)
    return {**case, "X": X, "y": y}


def unit_columns(Phi):
    return Phi / np.linalg.norm(Phi, axis=0)


@dataclass(frozen=True)
class Case:
    """A dictionary, pseudo-observations and a model within them."""

    Phi: np.ndarray  # (N, M), unit columns
    seen: PseudoObservations
    active: np.ndarray
    alpha: np.ndarray

    @property
    def problem(self) -> Problem:
        n_samples = len(self.Phi)
        design = DenseDesign(self.Phi, np.ones(self.Phi.shape[1]))
        likelihood = Frozen(self.seen)
        return Problem(design, self.seen.target, likelihood, np.ones(n_samples))

    def each_output(self):
        """Targets and precisions of one output after the other."""
        return list(zip(self.seen.target.T, self.seen.precision.T, strict=True))


def random_case(seed, *, n_outputs=1, shared_weights=False, n_active=6) -> Case:
    """A smooth or a rough dictionary with heteroscedastic pseudo-observations."""
    rng = np.random.default_rng(seed)
    n_samples, n_basis = int(rng.integers(20, 40)), int(rng.integers(15, 50))
    if seed % 2:
        X = rng.uniform(-3, 3, (n_samples, 2))
        Phi = gaussian_kernel(X, rng.uniform(-3, 3, (n_basis, 2)), 1.5)
    else:
        Phi = rng.standard_normal((n_samples, n_basis))
    Phi = unit_columns(Phi)
    weights = rng.uniform(0.2, 3.0, (n_samples, 1 if shared_weights else n_outputs))
    hidden = Phi[:, :3] @ rng.normal(0, 3, (3, n_outputs))
    seen = PseudoObservations(
        target=hidden + 0.3 * rng.standard_normal((n_samples, n_outputs)),
        row_weights=weights,
        noise_precision=rng.uniform(5, 50, n_outputs),
    )
    active = rng.permutation(n_basis)[:n_active]
    return Case(Phi, seen, active, 10 ** rng.uniform(-1.5, 1.5, n_active))


def model_of(case):
    """The model of a case, and what the rows say of all functions beside it."""
    problem = case.problem
    start = np.zeros((case.seen.target.shape[1], len(case.active)))
    at = problem.likelihood, case.active, case.alpha, start
    return model_at(problem, posterior_at_mode(problem, *at))


def gram_form(case):
    """What is left of the rows of a case, for its active columns."""
    columns, weights = case.Phi[:, case.active], case.seen.row_weights
    target = case.seen.target
    return Moments(
        gram=np.stack([columns.T * w @ columns for w in weights.T]),
        target=(weights * target).T @ columns,
        target_squares=np.sum(weights * target**2, axis=0),
        count=float(len(case.Phi)),
    )


def classification(n_rows=80, seed=0):
    """Two classes, Gaussian kernels and a constant."""
    X, y = two_mixtures(n_rows, seed=seed)
    Phi = np.column_stack([np.ones(n_rows), Gaussian(width=0.5)(X)])
    weights = np.ones(n_rows)
    design = DenseDesign.weighted(Phi, weights)
    return Problem(design, y[:, None].astype(float), Bernoulli(), weights)


def other_classes(own, n_classes):
    """(N, K − 1) the classes but one of each row, ascending."""
    first = np.arange(n_classes - 1)
    return first + (first >= own[:, None])
