"""Peak memory of the fit of any model, in a process of its own."""

import argparse
import json
import pickle
import sys
import tempfile
import warnings
from dataclasses import asdict
from pathlib import Path

import numpy as np
from learning_problems import Split
from learning_runs import Run, measured
from machine import limited_threads
from memory import memory_in_use, outcome_of
from sklearn.base import clone
from timing import WARM_UP_ROWS


def warm_up(model, split):
    """The model itself, fitted to a few rows; they are from all places of the split."""
    few = slice(None, None, max(1, len(split.y) // WARM_UP_ROWS))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return model.fit(split.X[few], split.y[few])


def measured_alone(key, model, split, judge, threads=None):
    """A run in a fresh process, which reads the rows to fit from files."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        # A pickle of these would be in memory twice while it is read.
        np.save(folder / "X.npy", split.X)
        np.save(folder / "y.npy", split.y)
        rest = key, model, judge, split.X_test, split.y_test
        (folder / "rest.pickle").write_bytes(pickle.dumps(rest))
        found = outcome_of([sys.executable, __file__, name], threads)
    names = "section", "problem", "model", "seed"
    return Run(**{**dict(zip(names, key, strict=True)), **found})


def run_in(folder):
    """The run that a folder describes, with its peak of memory."""
    rest = pickle.loads((folder / "rest.pickle").read_bytes())
    key, model, judge, *test = rest
    split = Split(np.load(folder / "X.npy"), np.load(folder / "y.npy"), *test)
    warm_up(clone(model), split)
    before, _ = memory_in_use()

    def judged(fitted, rows):
        _, peak = memory_in_use()
        return {**judge(fitted, rows), "peak": peak - before}

    return measured(key, lambda rows: model.fit(rows.X, rows.y), split, judged)


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("folder", type=Path, help="where the rows and the model are")
    parser.add_argument("--threads", type=int, help="threads of BLAS and OpenMP")
    options = parser.parse_args()
    with limited_threads(options.threads):
        run = run_in(options.folder)
    print(json.dumps(asdict(run)))


if __name__ == "__main__":
    main()
