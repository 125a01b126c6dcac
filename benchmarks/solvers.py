"""The solvers side by side: seconds, evidence and vectors on the regression problem.

MacKay's iteration and EM begin with all functions; each is run alone and polished by
the sequential search. Figures are means over draws; how many times as long as the
sequential search they take differs much from one draw to the next.
"""

import argparse
import time
import warnings

import numpy as np
from markdown import count, decimals, figures, table
from problems import REGRESSION

from relvec import RVR, TopDown

SOLVERS = {
    "sequential": {},
    "MacKay": {"solver": TopDown("mackay", polish=False)},
    "MacKay, polished": {"solver": "mackay"},
    "EM": {"solver": TopDown("em", polish=False)},
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


def row(name, seconds, models, first):
    """Means over draws, and the least and the most times of the first solver."""
    ratios = seconds / first
    return (
        name,
        figures(np.mean(seconds)),
        figures(np.mean(ratios)),
        f"{figures(np.min(ratios))} to {figures(np.max(ratios))}",
        decimals(np.mean([model.log_evidence_ for model in models])),
        figures(np.mean([len(model.relevance_) for model in models])),
        count(round(np.mean([model.n_iter_ for model in models]))),
        ", ".join(sorted({model.status_.name for model in models})),
    )


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--size", type=int, default=1000)
    parser.add_argument("--seeds", type=int, default=5, help="draws of the problem")
    parser.add_argument("--seconds", type=float, default=120, help="for a fit at most")
    options = parser.parse_args()
    rows, first = [], None
    for name, settings in SOLVERS.items():
        repeat = 1 if settings else 5
        fits = [
            measured(settings, options.size, seed, repeat, options.seconds)
            for seed in range(options.seeds)
        ]
        times, models = zip(*fits, strict=True)
        seconds = np.array(times)
        first = seconds if first is None else first
        rows.append(row(name, seconds, models, first))
    header = ["solver", "seconds", "times the first", "from draw to draw"]
    more = ["log evidence", "vectors", "steps", "status"]
    print(table([*header, *more], rows))


if __name__ == "__main__":
    main()
