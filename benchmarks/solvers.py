"""The solvers side by side: seconds, evidence and vectors on the regression problem.

MacKay's iteration and EM begin with all functions; each is run alone and polished by
the sequential search.
"""

import argparse
import time
import warnings

import numpy as np
from problems import REGRESSION
from tables import count, decimals, figures, table

from relvec import RVR

SOLVERS = {
    "sequential": {},
    "MacKay": {"solver": "mackay", "polish": False},
    "MacKay, polished": {"solver": "mackay"},
    "EM": {"solver": "em", "polish": False},
    "EM, polished": {"solver": "em"},
    "variational": {"solver": "variational"},
}


def measured(settings, size, seed, repeat, seconds):
    """Median seconds of some fits, and the last of them."""
    X, y = REGRESSION.draw(size, seed)
    times = []
    for _ in range(repeat):
        model = RVR(gamma=REGRESSION.gamma, max_seconds=seconds, **settings)
        started = time.perf_counter()
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # where time was up, the status says so
            model.fit(X, y)
        times.append(time.perf_counter() - started)
    return np.median(times), model


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--size", type=int, default=1000)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--seconds", type=float, default=120, help="for a fit at most")
    options = parser.parse_args()
    rows, first = [], None
    for name, settings in SOLVERS.items():
        repeat = 1 if settings else 5
        seconds, model = measured(
            settings, options.size, options.seed, repeat, options.seconds
        )
        first = first or seconds
        rows.append(
            (
                name,
                figures(seconds),
                figures(seconds / first),
                decimals(model.log_evidence_),
                len(model.relevance_),
                count(model.n_iter_),
                model.status_.name,
            )
        )
    header = ["solver", "seconds", "times the first", "log evidence", "vectors"]
    print(table([*header, "steps", "status"], rows))


if __name__ == "__main__":
    main()
