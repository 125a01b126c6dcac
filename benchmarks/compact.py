"""A kernel of compact support: the same fit from sparse and from dense memory.

One-dimensional rows on a long axis, the support so short that about a hundredth of Φ
is not zero. Prints bytes of Φ, seconds, and how far predictions are apart.
"""

import argparse
import time

import numpy as np
from markdown import table

from relvec import RVR
from relvec.basis import Basis
from relvec.design.sparse import sparse_functions
from relvec.kernels import CompactMatern

LENGTH = 200.0
KERNEL = CompactMatern(1.0, support=1.2)


def problem(n_rows, seed):
    """Two waves in noise."""
    rng = np.random.default_rng(seed)
    X = rng.uniform(0, LENGTH, (n_rows, 1))
    signal = np.sin(X[:, 0]) + 0.3 * np.sin(7 * X[:, 0] / 3)
    return X, signal + 0.2 * rng.standard_normal(n_rows)


def sparse_bytes(X):
    """Of Φ in compressed columns."""
    basis = Basis.of(KERNEL, X, bias=True)
    matrix = sparse_functions(basis, X, most_bytes=np.inf, most_density=1.0)
    return matrix.data.nbytes + matrix.indices.nbytes + matrix.indptr.nbytes


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rows", type=int, default=20_000)
    parser.add_argument("--seed", type=int, default=0)
    options = parser.parse_args()
    X, y = problem(options.rows, options.seed)
    sizes = {"sparse": sparse_bytes(X), "dense": 8 * len(X) * (len(X) + 1)}
    rows, predictions = [], []
    for design, size in sizes.items():
        model = RVR(KERNEL, candidates="all", design=design, memory_budget="10GB")
        started = time.perf_counter()
        model.fit(X, y)
        elapsed = time.perf_counter() - started
        predictions.append(model.predict(X, return_std=True))
        vectors = len(model.relevance_)
        rows.append((design, f"{size / 1e6:.1f}", vectors, f"{elapsed:.1f}"))
    print(table(["design", "MB of Φ", "vectors", "seconds"], rows))
    share = sizes["sparse"] / sizes["dense"]
    apart = [np.max(np.abs(a - b)) for a, b in zip(*predictions, strict=True)]
    print(f"\nΦ takes {share:.2%} of the dense memory.")
    print(f"Means are at most {apart[0]:.1e} apart, error bars {apart[1]:.1e}.")


if __name__ == "__main__":
    main()
