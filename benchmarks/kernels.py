"""Time of kernel matrices, beside those of scikit-learn and of dense distances.

Blocks of 10 000 rows and 500 centres, as the solver asks for them; then sparse matrices
of a compact kernel, with all rows as centres.
"""

import argparse
import sys
from functools import partial

import numpy as np
from machine import limited_threads
from markdown import count, figures, table
from scipy.spatial.distance import cdist
from sklearn.gaussian_process import kernels as processes
from sklearn.metrics.pairwise import laplacian_kernel, rbf_kernel
from timing import timed

from relvec.kernels import (
    CompactMatern,
    Gaussian,
    Laplacian,
    Matern,
    Periodic,
    RationalQuadratic,
)

N_CENTRES = 500
FEATURES = (2, 8, 32)
DENSITY = 0.01

PAIRS = {
    "Gaussian": (Gaussian(), lambda X, Z: rbf_kernel(X, Z, gamma=0.5)),
    "Matérn, ν = 1/2": (Matern(nu=0.5), processes.Matern(nu=0.5)),
    "Matérn, ν = 3/2": (Matern(nu=1.5), processes.Matern(nu=1.5)),
    "Matérn, ν = 5/2": (Matern(nu=2.5), processes.Matern(nu=2.5)),
    "Matérn, ν = 3": (Matern(nu=3), processes.Matern(nu=3)),
    "Matérn, ν = 2.2": (Matern(nu=2.2), processes.Matern(nu=2.2)),
    "RationalQuadratic": (RationalQuadratic(), processes.RationalQuadratic()),
    "Laplacian": (Laplacian(), lambda X, Z: laplacian_kernel(X, Z, gamma=1.0)),
    "Periodic": (Periodic(), processes.ExpSineSquared()),
}


def medians(actions, repeat):
    """Seconds of each action, in alternation, after one round to warm up."""
    laps = np.array([[timed(act) for act in actions] for _ in range(repeat + 1)])
    return np.median(laps[1:], axis=0)


def measure_blocks(n_rows, repeat):
    """One line per kernel and number of features."""
    for name, (ours, theirs) in PAIRS.items():
        for n_features in FEATURES:
            X = np.random.default_rng(0).standard_normal((n_rows, n_features))
            Z = X[:N_CENTRES].copy()
            print(f"{name}, {n_features} features", file=sys.stderr)
            actions = [partial(ours, X, Z), partial(theirs, X, Z)]
            mine, other = 1e3 * medians(actions, repeat)
            yield name, n_features, figures(mine), figures(other), figures(mine / other)


def support_of(X):
    """The distance below which about so many pairs are."""
    some = X[:1000]
    return float(np.quantile(cdist(some, some), DENSITY))


def measure_sparse(n_rows, repeat):
    """One line per number of features."""
    for n_features in (1, 2, 4, 8):
        X = np.random.default_rng(0).uniform(size=(n_rows, n_features))
        kernel = CompactMatern(0.1, support=support_of(X))
        print(f"sparse, {n_features} features", file=sys.stderr)
        actions = [partial(kernel, X), partial(kernel.count, X)]
        seconds, counting = medians(actions, repeat)
        yield n_features, count(kernel.count(X)), figures(seconds), figures(counting)


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rows", type=int, default=10_000)
    parser.add_argument("--sparse-rows", type=int, default=20_000)
    parser.add_argument("--repeat", type=int, default=9)
    parser.add_argument("--threads", type=int, default=1)
    options = parser.parse_args()
    with limited_threads(options.threads):
        print(f"\n{count(options.rows)} rows × {N_CENTRES} centres, milliseconds\n")
        header = ("kernel", "features", "relvec", "scikit-learn", "ratio")
        print(table(header, measure_blocks(options.rows, options.repeat)))
        print(f"\nCompactMatern, {count(options.sparse_rows)} rows, seconds\n")
        header = ("features", "entries", "matrix", "count")
        repeat = min(3, options.repeat)
        print(table(header, measure_sparse(options.sparse_rows, repeat)))


if __name__ == "__main__":
    main()
