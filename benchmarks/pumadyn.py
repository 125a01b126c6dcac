"""The Matérn kernel of order 3 beside the Gaussian, thesis tables 6.3.3.1 and 6.3.3.2.

The six complete sets of the pumadyn family, 6144 rows to fit and 2048 to test on.
Widths are chosen by 5-fold cross-validation on some of the rows to fit.
"""

import argparse
import os
import time
import warnings
from pathlib import Path

import numpy as np
from markdown import table
from sklearn.model_selection import KFold

from relvec import RVR
from relvec.kernels import Gaussian, Matern

# Root mean squared errors and numbers of vectors as printed in the thesis.
THESIS = {
    "8fh": {"Gaussian": (3.14, 38.5), "Matérn 3": (3.16, 34.2)},
    "8fm": {"Gaussian": (1.05, 70.6), "Matérn 3": (1.05, 57.2)},
    "8nh": {"Gaussian": (3.25, 142.4), "Matérn 3": (3.25, 45.85)},
    "8nm": {"Gaussian": (1.22, 82.8), "Matérn 3": (1.2, 82.76)},
    "32nh": {"Gaussian": (0.033, 9.9), "Matérn 3": (0.033, 7.3)},
    "32nm": {"Gaussian": (0.027, 67.7), "Matérn 3": (0.027, 16.9)},
}
KERNELS = {
    "Gaussian": Gaussian,
    "Matérn 3": lambda length_scale: Matern(length_scale, nu=3),
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


def measured(name, seed, rows, seconds):
    """Rows of the table, one per kernel."""
    X, y, X_test, y_test = load(name, seed)
    for label, make in KERNELS.items():
        width = chosen_width(make, X[:rows], y[:rows], seconds)
        started = time.perf_counter()
        error, model = error_of(make(width), (X, y), (X_test, y_test))
        elapsed = time.perf_counter() - started
        printed_error, printed_vectors = THESIS[name][label]
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
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--rows", type=int, default=1500, help="to choose widths on")
    parser.add_argument("--seconds", type=float, default=20, help="for a fold at most")
    options = parser.parse_args()
    header = ["set", "kernel", "length scale", "RMSE", "thesis", "vectors", "thesis"]
    rows = []
    for name in options.names or THESIS:
        for row in measured(name, options.seed, options.rows, options.seconds):
            print(" ".join(row), flush=True)
            rows.append(row)
    print(table([*header, "seconds"], rows))


if __name__ == "__main__":
    main()
