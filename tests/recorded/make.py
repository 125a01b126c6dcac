"""Record fits, or compare those of the present code with the recorded ones.

Run it from the folder of the repository, with the sources that are to be used:

    PYTHONPATH=src:tests python -m recorded.make compare [NAME ...]
    PYTHONPATH=src:tests python -m recorded.make record --reason "why" NAME [NAME ...]

With the sources of version 0.2.0, ``first`` in place of ``record`` has written
``v0_2_0.json``.

The README beside this file explains what is recorded.
"""

import argparse
import json
import time
from dataclasses import replace
from pathlib import Path

import numpy as np

import relvec
from recorded.fits import FITS

HERE = Path(__file__).parent
FIRST, LATER = HERE / "v0_2_0.json", HERE / "later.json"
EXACT = 1e-9  # what a well-conditioned fit agrees to on every machine
LARGEST = 1e-4  # a fit that rounding moves further is no test of anything
MARGIN = 10.0  # tolerance beside the largest change that was seen
ROUNDING = 1e-13  # relative change of the data by which sensitivity is measured
TRIALS = 3


def recorded():
    """What every fit should find: as 0.2.0 did, unless a later record replaces it."""
    return read(FIRST) | read(LATER)


def deviations(wanted, found, problem):
    """How far numbers are apart, each in its own unit.

    The log evidence is in nats for each row, predictions are in standard deviations of
    the targets, probabilities as they are, and a variance of noise is relative to
    itself. Vectors and the status are equal or not; if not, that is infinitely far.
    """
    if set(wanted) != set(found):
        return dict.fromkeys(set(wanted) ^ set(found), np.inf)
    unit = dict.fromkeys(wanted, problem.spread)
    unit |= {"log_evidence": len(problem.y), "probability": 1.0}
    apart = {}
    for name, value in wanted.items():
        if name in {"status", "relevance"}:
            same = np.array_equal(value, found[name])
            apart[name] = 0.0 if same else np.inf
            continue
        first, second = np.asarray(value), np.asarray(found[name])
        own = np.abs(first) if name == "noise_variance" else unit[name]
        same_shape = first.shape == second.shape
        apart[name] = np.abs((second - first) / own).max() if same_shape else np.inf
    return {name: float(value) for name, value in apart.items()}


def nearby(problem, chance):
    """The problem with its numbers changed by about as much as rounding does.

    Numbers that are equal stay equal, and zeros stay zeros.
    """

    def changed(values):
        each, places = np.unique(values, return_inverse=True)
        moved = each * (1 + ROUNDING * chance.standard_normal(each.shape))
        return moved[places].reshape(values.shape)

    y = changed(problem.y) if problem.is_regression else problem.y
    return replace(problem, X=changed(problem.X), y=y)


def record(name):
    """What the present code finds, and tolerances by how much rounding moves it."""
    fit, problem = FITS[name], FITS[name].problem()
    found, chance = fit.run(problem), np.random.default_rng(0)
    moved = [
        deviations(found, fit.run(nearby(problem, chance)), problem)
        for _ in range(TRIALS)
    ]
    largest = {key: max(each[key] for each in moved) for key in found}
    if max(largest.values()) > LARGEST:
        raise SystemExit(f"{name}: rounding moves it too far, {largest}")
    tolerance = {
        key: float(f"{MARGIN * value:.1g}")
        for key, value in largest.items()
        if MARGIN * value > EXACT
    }
    return {
        "version": relvec.__version__,
        **{key: _plain(value) for key, value in found.items()},
        "tolerance": tolerance,
    }


def wanted_of(one):
    """The numbers of a record that are compared."""
    return {k: v for k, v in one.items() if k not in {"version", "reason", "tolerance"}}


def excess(apart, one):
    """The deviations that are larger than a record allows."""
    allowed = dict.fromkeys(apart, EXACT) | one["tolerance"]
    return {key: far for key, far in apart.items() if not far <= allowed[key]}


def compare(names):
    """Print what changed: vectors, nats of evidence, and predictions."""
    old = recorded()
    print(f"{'seconds':>8} {'vectors':>9} {'nats':>10} {'predicted':>10}  fit")
    for name in names or FITS:
        problem = FITS[name].problem()
        started = time.perf_counter()
        found = FITS[name].run(problem)
        seconds = time.perf_counter() - started
        wanted = wanted_of(old[name])
        apart = deviations(wanted, found, problem)
        gained = found["log_evidence"] - wanted["log_evidence"]
        predicted = max(apart.get(key, 0.0) for key in ("mean", "std", "probability"))
        before, after = len(wanted["relevance"]), len(found["relevance"])
        beyond = excess(apart, old[name])
        remark = f"  <- {', '.join(beyond)}" if beyond else ""
        sizes = f"{before} -> {after}" if before != after else f"{after}"
        numbers = f"{gained:10.2e} {predicted:10.2e}"
        print(f"{seconds:8.2f} {sizes:>9} {numbers}  {name}{remark}")


def _plain(value):
    return np.asarray(value).tolist()


def read(path):
    """The records of a file, by name of their fit; none if there is no file."""
    return json.loads(path.read_text(encoding="utf-8")) if path.exists() else {}


def write_lines(path, records):
    """As JSON, one line for each name."""
    lines = [
        f"{json.dumps(name)}: {json.dumps(one, separators=(',', ':'), allow_nan=False)}"
        for name, one in records.items()
    ]
    path.write_text("{\n" + ",\n".join(lines) + "\n}\n", encoding="utf-8")


def _asked():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("action", choices=("compare", "record", "first"))
    parser.add_argument("names", nargs="*", metavar="NAME")
    parser.add_argument("--reason", help="why these fits changed, for the record")
    asked = parser.parse_intermixed_args()
    unknown = sorted(set(asked.names) - set(FITS))
    if unknown:
        parser.error(f"there is no fit named {', '.join(map(repr, unknown))}")
    if asked.action == "first" and set(asked.names or FITS) & set(read(FIRST)):
        parser.error(f"{FIRST.name} has these fits, and is never written again")
    if asked.action == "record" and not (asked.names and asked.reason):
        parser.error("record needs names of fits, and --reason with why they changed")
    return asked


def main():
    asked = _asked()
    if asked.action == "compare":
        compare(asked.names)
    elif asked.action == "first":
        new = {name: record(name) for name in asked.names or FITS}
        write_lines(FIRST, read(FIRST) | new)
    else:
        new = {name: {"reason": asked.reason} | record(name) for name in asked.names}
        write_lines(LATER, read(LATER) | new)


if __name__ == "__main__":
    main()
