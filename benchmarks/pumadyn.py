"""Matérn kernels of orders 1 to 4 beside the Gaussian, thesis tables 6.3.3.1 and 2.

The six complete sets of the pumadyn family, 6144 rows to fit and 2048 to test on.
Widths are chosen by 5-fold cross-validation on some of the rows to fit.
"""

import argparse
import os
import time
import warnings
from functools import partial
from pathlib import Path

import numpy as np
from markdown import table
from sklearn.model_selection import KFold

from relvec import RVR
from relvec.kernels import Gaussian, Matern

ORDERS = (1, 2, 3, 4)
KERNELS = {
    "Gaussian": Gaussian,
    **{f"Matérn {order}": partial(Matern, nu=order) for order in ORDERS},
}
# Root mean squared errors and numbers of vectors as printed in the thesis, in the order
# of the kernels. Its widths, chosen by hand with cross-validation, are in appendix F.
THESIS = {
    "8fh": ((3.14, 3.14, 3.14, 3.16, 3.17), (38.5, 46.7, 36.5, 34.2, 12.3)),
    "8fm": ((1.05, 1.07, 1.05, 1.05, 1.23), (70.6, 136.1, 79.8, 57.2, 16.1)),
    "8nh": ((3.25, 3.24, 3.22, 3.25, 4.25), (142.4, 160.7, 93, 45.85, 19.3)),
    "8nm": ((1.22, 1.18, 1.14, 1.2, 3.54), (82.8, 530.4, 173.3, 82.76, 17.7)),
    "32nh": ((0.033, 0.034, 0.033, 0.033, 0.033), (9.9, 268.3, 28, 7.3, 7.3)),
    "32nm": ((0.027, 0.028, 0.027, 0.027, 0.027), (67.7, 324, 31.1, 16.9, 8.77)),
}
N_TRAIN = 6144
# In units of the median distance between two standardised rows, about √(2d).
WIDTHS = (0.5, 0.7, 1.0, 1.4, 2.0, 2.8, 4.0)


def load(name, seed):
    """Standardised features and targets, to fit and to test on."""
    beside = Path(__file__).resolve().parents[2] / "shared" / "data"
    folder = Path(os.environ.get("RELVEC_DATA", beside))
    path = folder / f"pumadyn_{name}.csv.gz"
    values = np.loadtxt(path, delimiter=",", skiprows=1)
    values = values[np.random.default_rng(seed).permutation(len(values))]
    X, y = values[:, :-1], values[:, -1]
    X = (X - X[:N_TRAIN].mean(axis=0)) / X[:N_TRAIN].std(axis=0)
    return X[:N_TRAIN], y[:N_TRAIN], X[N_TRAIN:], y[N_TRAIN:]


def error_of(kernel, train, test, seconds=None):
    """Root mean squared error on test rows, and the model."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # widths that do not suit end in warnings
        model = RVR(kernel, max_seconds=seconds).fit(*train)
    return np.sqrt(np.mean((model.predict(test[0]) - test[1]) ** 2)), model


def chosen_width(make, X, y, seconds):
    """By 5-fold cross-validation over widths relative to distances."""
    folds = list(KFold(5).split(X))
    typical = np.sqrt(2 * X.shape[1])
    errors = {}
    for share in WIDTHS:
        kernel = make(share * typical)
        squares = [
            error_of(kernel, (X[fit], y[fit]), (X[rest], y[rest]), seconds)[0] ** 2
            for fit, rest in folds
        ]
        errors[share * typical] = np.mean(squares)
    return min(errors, key=errors.get)


def measured(name, labels, options):
    """Rows of the table, one per kernel."""
    X, y, X_test, y_test = load(name, options.seed)
    X, y = X[: options.train], y[: options.train]
    printed = dict(zip(KERNELS, zip(*THESIS[name], strict=True), strict=True))
    for label in labels:
        make, some = KERNELS[label], slice(options.rows)
        width = chosen_width(make, X[some], y[some], options.seconds)
        started = time.perf_counter()
        error, model = error_of(make(width), (X, y), (X_test, y_test))
        elapsed = time.perf_counter() - started
        printed_error, printed_vectors = printed[label]
        yield (
            name,
            label,
            f"{width:.2f}",
            f"{error:.4g}",
            f"{printed_error:.3g}",
            str(len(model.relevance_)),
            f"{printed_vectors:.3g}",
            f"{elapsed:.0f}",
        )


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("names", nargs="*", default=list(THESIS))
    parser.add_argument("--kernels", nargs="*", default=list(KERNELS))
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--train", type=int, default=N_TRAIN, help="rows to fit")
    parser.add_argument("--rows", type=int, default=1500, help="to choose widths on")
    parser.add_argument("--seconds", type=float, default=20, help="for a fold at most")
    options = parser.parse_args()
    header = ["set", "kernel", "length scale", "RMSE", "thesis", "vectors", "thesis"]
    rows = []
    for name in options.names or THESIS:
        for row in measured(name, options.kernels, options):
            print(" ".join(row), flush=True)
            rows.append(row)
    print(table([*header, "seconds"], rows))


if __name__ == "__main__":
    main()
