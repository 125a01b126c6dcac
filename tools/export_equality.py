"""Exports beside the models they were made of, on many rows: the largest errors.

Every kernel with every likelihood, every form of several classes with some kernels and
every kernel with some forms, near zero and 1000 away from it: by onnxruntime, and in C
by gcc and clang, in either precision. Errors in double precision are relative to the
sums of absolute values of a model's terms, those in single precision to the spread of
what it predicts, as in tests/export, whose models are compared too.

OPENBLAS_NUM_THREADS=1 python tools/export_equality.py --rows 500 --only mrvm1
"""

import argparse
import json
import sys
import time
from functools import partial
from itertools import cycle
from pathlib import Path

import numpy as np

sys.path.insert(0, str(Path(__file__).parents[1] / "tests"))
sys.path.insert(0, str(Path(__file__).parents[1]))

from export import instances
from export.measures import rows_about, said
from export.runners import by_c, missing, session

from benchmarks.reports import table
from relvec import LSSVR
from relvec.export.onnx_graph import onnx_model
from relvec.export.plan import Plan

BARS = {"float64": 1e-12, "float32": 1e-5}
_AT_ONCE = 4_000_000  # entries of the widest value, where whole matrices are computed


def models(every):
    """Names and what makes them."""
    forms = cycle(instances.FORMS.items())
    for kernel in instances.KERNELS:
        name = instances.name_of(kernel)
        for offset in (0.0, instances.FAR):
            at = f"{name} at {offset:g}"
            fitted = partial(instances.regressor, offset, kernel=kernel)
            yield "RVR", at, fitted
            yield "LSSVR", at, partial(fitted, make=LSSVR, C=10.0)
            classes = partial(instances.classifier, offset=offset, kernel=kernel)
            yield "RVC", at, partial(classes, 2)
            chosen = instances.FORMS.items() if every else [next(forms)]
            for form, multi_class in chosen:
                yield f"RVC {form}", at, partial(classes, 3, multi_class=multi_class)
    for form, multi_class in instances.FORMS.items():
        for name, kernel in instances.FEW_KERNELS.items():
            for n_classes, offset in ((3, 0.0), (3, instances.FAR), (5, instances.FAR)):
                params = {"kernel": kernel, "multi_class": multi_class}
                make = partial(instances.classifier, n_classes, offset, **params)
                yield f"RVC {form}", f"{n_classes} {name} at {offset:g}", make
    for name, make in instances.INSTANCES.items():
        yield name.split()[0], name, make


def by_onnx(plan, X):
    """Outputs, some rows at a time."""
    running = session(onnx_model(plan))
    names = list(plan.program.outputs)
    step = max(1, _AT_ONCE // max(one.size for one in plan.program))
    rows = X.astype(plan.kind)
    parts = [
        running.run(names, {"X": rows[start : start + step]})
        for start in range(0, len(rows), step)
    ]
    found = [np.concatenate(each) for each in zip(*parts, strict=True)]
    return dict(zip(names, found, strict=True))


def compare(models, n_rows, compilers):
    """(kind, name, runner, precision, output, error), some models at a time."""
    fitted = [(kind, name, make()) for kind, name, make in models]
    for precision in BARS:
        cases, plans, each = [], [], []
        for kind, name, case in fitted:
            rows = rows_about(case.X, n_rows).astype(precision).astype(np.float64)
            expected = said(case.model, rows)
            try:
                plans.append(Plan.of(case.model, expected.wanted, precision))
            except Exception as error:
                print(f"{kind}, {name}: {error!r}", file=sys.stderr)
                for output in expected.outputs:
                    yield kind, name, "any", precision, output, np.inf
                continue
            cases.append((kind, name, case))
            each.append(expected)
        together = zip(plans, rows_of(each), strict=True)
        runners = {"ONNX": [by_onnx(*pair) for pair in together]}
        for compiler in compilers:
            runners[compiler] = by_c(plans, rows_of(each), compiler)
        for runner, found in runners.items():
            for (kind, name, _), expected, one in zip(cases, each, found, strict=True):
                for output, error in errors(expected, one, precision).items():
                    yield kind, name, runner, precision, output, error


def errors(expected, found, precision):
    """By output; infinite where there is no number."""
    try:
        return expected.errors(found, precision)
    except AssertionError:
        return dict.fromkeys(expected.outputs, np.inf)


def rows_of(each):
    """The rows on which each model is compared."""
    return [one.rows for one in each]


def batches(models, size):
    """Lists of so many models."""
    batch = []
    for one in models:
        batch.append(one)
        if len(batch) == size:
            yield batch
            batch = []
    yield batch


def read(path):
    """What an earlier run has found, which need not be done again."""
    if path is None or not path.exists():
        return []
    return [tuple(one) for one in json.loads(path.read_text())]


def write(path, results):
    """Keep what was found, if there is a file for it."""
    if path is not None:
        path.write_text(json.dumps(results))


def main():
    """Compare all models that are asked for, and report."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rows", type=int, default=10_000)
    parser.add_argument("--only", nargs="*", help="kinds or names of models")
    parser.add_argument("--every", action="store_true", help="form with every kernel")
    parser.add_argument("--worst", type=int, default=20, help="models to list")
    parser.add_argument("--json", type=Path, help="where to keep, and to go on from")
    options = parser.parse_args()
    compilers = [name for name in ("gcc", "clang") if not missing(name)]
    chosen = [
        one
        for one in models(options.every)
        if not options.only
        or any(word in f"{one[0]} {one[1]}" for word in options.only)
    ]
    known = read(options.json)
    left = [one for one in chosen if one[:2] not in {entry[:2] for entry in known}]
    results, begun = list(known), time.perf_counter()
    for number, batch in enumerate(batches(left, 10)):
        results += compare(batch, options.rows, compilers)
        write(options.json, results)
        seconds = time.perf_counter() - begun
        done = min(10 * (number + 1), len(left))
        print(f"{done} of {len(left)} models, {seconds:.0f} s", file=sys.stderr)
    print(f"{len(chosen)} models, {options.rows} rows each\n")
    report(results, options.worst)


def report(results, worst):
    """The largest error of every kind, then of single models, then of all."""
    columns = sorted({one[2:4] for one in results}, key=lambda one: one[::-1])
    lines = []
    for kind, output in sorted({(one[0], one[4]) for one in results}):
        own = [one for one in results if (one[0], one[4]) == (kind, output)]
        largest = (
            max((one[5] for one in own if one[2:4] == column), default=np.nan)
            for column in columns
        )
        lines.append([kind, output, *(f"{error:.1e}" for error in largest)])
    heads = [f"{runner} {precision}" for runner, precision in columns]
    print(table(["model", "output", *heads], lines))
    print()
    ranked = sorted(results, key=lambda one: -one[5] / BARS[one[3]])[:worst]
    shown = [[*one[:5], f"{one[5]:.1e}"] for one in ranked]
    print(table(["model", "kernel", "runner", "precision", "output", "error"], shown))
    print()
    for precision, bar in BARS.items():
        largest = max(one[5] for one in results if one[3] == precision)
        print(f"{precision}: {largest:.1e} at most; the bar is {bar:.0e}")


if __name__ == "__main__":
    main()
