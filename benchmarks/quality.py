"""Evidence and error of what relvec finds, rather than the time it takes.

First the schedules of the solver side by side on many draws of the regression
problem; then the problems on which the result of SparseBayes 2.00 is known.
"""

import argparse
import json
import os
import time
from dataclasses import astuple, dataclass
from pathlib import Path

import numpy as np
from markdown import count, decimals, figures, table
from problems import REGRESSION
from scipy.spatial.distance import cdist

from relvec import RVC, RVR, BottomUp, sparse_bayes

SCHEDULES = ("batch", "greedy")


@dataclass(frozen=True)
class Outcome:
    """One fit: evidence, vectors, error on test rows, seconds."""

    log_evidence: float
    vectors: float
    error: float
    seconds: float


def reference_folder():
    """The folder ``reference`` beside RELVEC_DATA, or beside the checkout."""
    beside = Path(__file__).resolve().parents[2] / "shared" / "data"
    return Path(os.environ.get("RELVEC_DATA", beside)).parent / "reference"


def outcome(schedule, size, seed):
    X, y = REGRESSION.draw(size, seed)
    model = RVR(gamma=REGRESSION.gamma, solver=BottomUp(schedule))
    started = time.perf_counter()
    model.fit(X, y)
    seconds = time.perf_counter() - started
    error = REGRESSION.error(model)
    return Outcome(model.log_evidence_, len(model.relevance_), error, seconds)


def compare_schedules(size, seeds):
    """Outcomes of each schedule, one after the other on each draw."""
    for schedule in SCHEDULES:
        outcome(schedule, 100, 0)
    found = {schedule: [] for schedule in SCHEDULES}
    for seed in range(seeds):
        for schedule in SCHEDULES:
            found[schedule].append(outcome(schedule, size, seed))
    return found


def show_schedules(found, size):
    """A row for each draw, their mean, and the worst difference of the evidence."""
    columns = ("log evidence", "vectors", "RMSE", "seconds")
    header = [f"{column}, {name}" for column in columns for name in found]
    values = np.array(
        [[astuple(one) for one in outcomes] for outcomes in found.values()]
    )
    lines = [(str(seed), draw) for seed, draw in enumerate(values.transpose(1, 2, 0))]
    lines.append(("mean", values.mean(axis=1).T))
    print(f"### Schedules on {count(size)} rows of the regression problem\n")
    print(table(["seed", *header], [[label, *cells(draw)] for label, draw in lines]))
    first, second = found
    difference = values[0, :, 0] - values[1, :, 0]
    print(
        f"\nEvidence, {first} − {second}: mean {difference.mean():+.2f}, "
        f"worst {difference.min():+.2f}, best {difference.max():+.2f}, "
        f"lower on {(difference < 0).sum()} of {len(difference)} draws."
    )
    errors = values[0, :, 2] / values[1, :, 2]
    print(
        f"RMSE, {first} / {second}: mean {errors.mean():.3f}, worst {errors.max():.3f}."
    )


def cells(draw):
    """Cells of a row, from (quantity, schedule)."""
    evidence, vectors, error, seconds = draw
    return [
        *(f"{value:.2f}" for value in evidence),
        *(f"{value:.4g}" for value in vectors),
        *map(decimals, error),
        *map(figures, seconds),
    ]


def load(path):
    """A reference problem: what is known of it, its rows and its targets."""
    case = json.loads(path.read_text())
    y = np.array(case["y"], dtype=float)
    return case, np.array(case["X"]).reshape(len(y), -1), y


def compare_reference(path):
    """Evidence of SparseBayes, of the estimator and of the same dictionary."""
    case, X, y = load(path)
    gamma = 1 / case["width"] ** 2
    estimator = RVR if case["likelihood"] == "gaussian" else RVC
    model = estimator(gamma=gamma).fit(X, y)
    functions = np.exp(-gamma * cdist(X, X, "sqeuclidean"))
    Phi = np.hstack([np.ones((len(y), 1)), functions])
    found = sparse_bayes(Phi, y, case["likelihood"])
    evidence = case["log_evidence"], model.log_evidence_, found.log_evidence
    return case, evidence, (len(model.relevance_), len(found.relevant))


def show_reference(folder):
    print("\n### Log evidence, less that of SparseBayes 2.00\n")
    paths = sorted(folder.glob("*.json")) if folder.is_dir() else []
    if not paths:
        print("The reference results are not here: set RELVEC_DATA.")
        return
    rows, differences = [], []
    for path in paths:
        case, (reference, *evidence), vectors = compare_reference(path)
        difference = np.array(evidence) - reference
        differences.append(difference)
        signed = [f"{number:+.3f}" for number in difference]
        sizes = [case["n_vectors"], *vectors]
        rows.append([case["case"], f"{reference:.3f}", *signed, *sizes])
    means = [f"{number:+.3f}" for number in np.mean(differences, axis=0)]
    rows.append(["mean", "", *means, "", "", ""])
    header = ["problem", "SparseBayes", "RVR or RVC", "sparse_bayes"]
    sizes = ["vectors", "RVR or RVC", "sparse_bayes"]
    print(table([*header, *sizes], rows))
    print(
        "\nsparse_bayes has the dictionary of SparseBayes. RVR centres the targets "
        "first, which is another model: its evidence tells less. Vectors of RVR and "
        "RVC do not count the constant; the others do."
    )


def main():
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.ArgumentDefaultsHelpFormatter
    )
    parser.add_argument("--size", type=int, default=1000, help="rows of a draw")
    parser.add_argument("--seeds", type=int, default=20, help="number of draws")
    text = "where the reference results are; beside RELVEC_DATA if that is set"
    folder = reference_folder()
    parser.add_argument("--reference", type=Path, default=folder, help=text)
    chosen = parser.parse_args()
    show_schedules(compare_schedules(chosen.size, chosen.seeds), chosen.size)
    show_reference(chosen.reference)


if __name__ == "__main__":
    main()
