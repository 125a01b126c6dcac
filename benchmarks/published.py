"""mRVM1 and mRVM2 as published: tables II-V, VII and VIII of Psorakis et al. (2010).

Each convergence measure beside what the paper has for it, in per cent ± the standard
deviation that is printed there; folds, kernels and features are those of
``multiclass.py``. K-nn is scikit-learn's with the number of neighbours chosen by
cross-validation within each fold; what else tables VII and VIII have is quoted.
"""

import argparse
import json
import sys
import warnings
from dataclasses import asdict, dataclass
from pathlib import Path

import numpy as np
from machine import limited_threads
from markdown import table
from multiclass import SETS, folds, judged, load, make
from sklearn.model_selection import GridSearchCV
from sklearn.neighbors import KNeighborsClassifier

from relvec import Mrvm1, Mrvm2

MEASURES = {
    "mRVM1, max it": Mrvm1(algorithm="published", passes=6),
    "mRVM1, conv1": Mrvm1(algorithm="published", convergence="conv1"),
    "mRVM1, conv2": Mrvm1(algorithm="published", convergence="conv2"),
    "mRVM2, max it": Mrvm2(passes=6, weights="last"),
    "mRVM2, convA": Mrvm2(convergence="A", weights="last"),
    "mRVM2, convN": Mrvm2(weights="last"),
    "mRVM2, convN, at the mode": Mrvm2(),
}
# Of every set and measure: per cent, its standard deviation, vectors and theirs.
PRINTED = {
    "mRVM1, max it": {
        "breast": (97.07, 0.85, 4, 0),
        "ecoli": (83.33, 2.56, 7, 0),
        "glass": (64.14, 3.68, 7, 0),
        "haberman": (75.10, 2.45, 4, 0),
        "ionosphere": (90.14, 1.34, 9, 0),
        "iris": (93.47, 1.74, 4, 0),
        "liver": (58.85, 2.21, 2, 0),
        "parkinsons": (84.63, 2.39, 6, 0),
        "pima": (77.11, 1.72, 8, 0),
        "wine": (96.00, 1.86, 3, 0),
        "soybean": (89.25, 5.53, 3, 0),
        "vehicle": (73.82, 1.42, 14, 1),
        "balance": (96.63, 0.53, 8, 0),
        "crabs": (94.70, 1.75, 4, 1),
    },
    "mRVM1, conv1": {
        "breast": (97.54, 1.98, 9, 5),
        "ecoli": (83.48, 5.99, 16, 7),
        "glass": (64.19, 8.57, 13, 3),
        "haberman": (74.63, 8.09, 10, 3),
        "ionosphere": (89.74, 4.63, 17, 5),
        "iris": (93.33, 6.77, 8, 2),
        "liver": (58.65, 7.94, 3, 1),
        "parkinsons": (83.79, 8.78, 10, 3),
        "pima": (77.17, 4.38, 16, 4),
        "wine": (95.71, 4.72, 5, 2),
        "soybean": (88.25, 19.93, 5, 2),
        "vehicle": (73.07, 4.47, 38, 15),
        "balance": (92.35, 3.52, 13, 5),
        "crabs": (94.49, 5.78, 5, 2),
    },
    "mRVM1, conv2": {
        "breast": (97.29, 2.04, 5, 1),
        "ecoli": (83.76, 5.99, 9, 5),
        "glass": (64.10, 9.02, 9, 1),
        "haberman": (75.23, 7.66, 5, 1),
        "ionosphere": (90.17, 4.72, 10, 2),
        "iris": (93.80, 6.01, 5, 1),
        "liver": (58.82, 8.03, 2, 1),
        "parkinsons": (84.58, 8.57, 7, 1),
        "pima": (77.14, 4.09, 8, 1),
        "wine": (95.94, 4.71, 3, 1),
        "soybean": (91.75, 16.30, 4, 2),
        "vehicle": (73.77, 4.93, 15, 3),
        "balance": (95.03, 3.12, 8, 1),
        "crabs": (94.80, 5.71, 4, 2),
    },
    "mRVM2, max it": {
        "breast": (97.07, 0.55, 7, 0),
        "ecoli": (84.73, 2.98, 11, 0),
        "glass": (67.49, 2.33, 11, 1),
        "haberman": (74.97, 2.13, 5, 0),
        "ionosphere": (90.49, 1.88, 12, 0),
        "iris": (93.80, 1.75, 6, 0),
        "liver": (68.71, 3.10, 5, 0),
        "parkinsons": (84.11, 1.31, 9, 0),
        "pima": (77.13, 1.47, 11, 1),
        "wine": (95.94, 1.02, 5, 0),
        "soybean": (96.50, 2.11, 5, 0),
        "vehicle": (75.88, 2.03, 36, 1),
        "balance": (92.71, 0.69, 14, 0),
        "crabs": (94.85, 1.33, 8, 0),
    },
    "mRVM2, convA": {
        "breast": (97.20, 2.13, 10, 2),
        "ecoli": (85.00, 6.22, 11, 1),
        "glass": (67.21, 27.10, 11, 6),
        "haberman": (75.34, 7.78, 6, 1),
        "ionosphere": (90.63, 4.60, 13, 2),
        "iris": (93.87, 6.04, 6, 1),
        "liver": (68.65, 7.79, 5, 1),
        "parkinsons": (83.95, 7.34, 9, 2),
        "pima": (77.22, 4.86, 13, 2),
        "wine": (96.24, 4.77, 5, 1),
        "soybean": (96.21, 9.01, 6, 1),
        "vehicle": (76.26, 5.08, 41, 3),
        "balance": (92.26, 3.52, 15, 2),
        "crabs": (93.70, 5.53, 9, 1),
    },
    "mRVM2, convN": {
        "breast": (97.14, 0.72, 8, 0),
        "ecoli": (84.85, 2.66, 11, 0),
        "glass": (67.37, 2.38, 11, 1),
        "haberman": (74.87, 2.45, 5, 0),
        "ionosphere": (90.54, 1.32, 13, 1),
        "iris": (93.87, 1.80, 6, 0),
        "liver": (68.74, 3.11, 5, 0),
        "parkinsons": (84.00, 2.12, 9, 0),
        "pima": (77.18, 1.53, 12, 1),
        "wine": (96.24, 0.97, 5, 0),
        "soybean": (97.00, 1.58, 6, 0),
        "vehicle": (76.30, 1.72, 38, 1),
        "balance": (92.63, 0.69, 14, 0),
        "crabs": (93.85, 1.55, 9, 0),
    },
}
# Tables VII and VIII: K-nn, PK-nn and VBpMKL, per cent ± standard deviation.
RIVALS = {
    "glass": ("70.09 ± 9.22", "73.33 ± 8.81", "72.1 ± 10.1"),
    "iris": ("94.67 ± 5.25", "96 ± 5.62", "97.3 ± 5.6"),
    "crabs": ("85 ± 8.82", "80.5 ± 6.85", "86.5 ± 8.2"),
    "pima": ("73 ± 8.88", "76 ± 14.68", "–"),
    "soybean": ("85.5 ± 16.74", "95.5 ± 9.56", "95.16 ± 8.4"),
    "wine": ("96.08 ± 3.77", "96.63 ± 2.89", "98.9 ± 2.3"),
    "balance": ("88.48 ± 2.99", "89.77 ± 3.02", "93 ± 3.3"),
    "liver": ("66.4 ± 6.98", "63.74 ± 12.93", "–"),
    "vehicle": ("63.72 ± 5.16", "62.78 ± 4.53", "74.4 ± 4"),
}
NEIGHBOURS = {"n_neighbors": [1, 3, 5, 7, 9, 13, 17, 25]}


@dataclass(frozen=True)
class Outcome:
    """Of all folds of one set."""

    name: str
    measure: str
    repeats: int
    accuracy: float
    deviation: float  # between folds
    vectors: float
    log_loss: float
    seconds: float


def model_of(name, measure):
    if measure == "K-nn":
        return GridSearchCV(KNeighborsClassifier(), NEIGHBOURS, cv=5)
    return make("mrvm1", SETS[name].kernel, {"multi_class": MEASURES[measure]})


def measured(name, measure, repeats):
    X, y = load(name)
    found = []
    for fold in folds(y, repeats):
        model = model_of(name, measure)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # classes of fewer rows than folds
            found.append(judged(model, X, y, *fold)[:4])
    accuracy, vectors, loss, seconds = np.mean(found, axis=0)
    deviation = np.std([one[0] for one in found])
    figures = map(float, (accuracy, deviation, vectors, loss, seconds))
    return Outcome(name, measure, repeats, *figures)


def stored(path):
    if path is None or not path.exists():
        return {}
    outcomes = [Outcome(**record) for record in json.loads(path.read_text())]
    return {(one.name, one.measure): one for one in outcomes}


def measure_all(options):
    known = stored(options.json)
    for measure in options.measures:
        for name in options.sets:
            before = known.get((name, measure))
            if before is None or before.repeats < options.repeats:
                known[name, measure] = measured(name, measure, options.repeats)
                print(known[name, measure], file=sys.stderr, flush=True)
            if options.json is not None:
                records = [asdict(one) for one in known.values()]
                options.json.write_text(json.dumps(records))
    return known


def cell(measure, name, one):
    accuracy, deviation, vectors, spread = PRINTED[measure][name]
    ours = f"{one.accuracy:.1f} / {one.vectors:.1f}"
    return f"{accuracy:.1f} ± {deviation:.1f} / {vectors} ± {spread}", ours


def show_measures(options, found):
    """Tables II to V: the paper's, then ours."""
    shown = [measure for measure in options.measures if measure in PRINTED]
    for kind in ("mRVM1", "mRVM2"):
        own = [measure for measure in shown if measure.startswith(kind)]
        header, rows = ["set"], [[name] for name in options.sets]
        for measure in own:
            header += [f"paper: {measure[7:]}", measure[7:]]
            for row in rows:
                row.extend(cell(measure, row[0], found[row[0], measure]))
        if own:
            print(f"\n### {kind}: accuracy in per cent / vectors\n")
            print(table(header, rows))


def show_within(options, found):
    """On how many sets accuracy and vectors are within the paper's ±."""
    rows = []
    for measure in options.measures:
        outside = {"accuracy": [], "vectors": []}
        for name in options.sets if measure in PRINTED else ():
            accuracy, deviation, vectors, spread = PRINTED[measure][name]
            one = found[name, measure]
            if abs(one.accuracy - accuracy) > deviation:
                outside["accuracy"].append(name)
            if abs(one.vectors - vectors) > max(spread, 0.5):
                outside["vectors"].append(name)
        for what, names in outside.items() if measure in PRINTED else ():
            share = f"{len(options.sets) - len(names)} of {len(options.sets)}"
            rows.append([f"{measure}: {what}", share, ", ".join(names) or "none"])
    print("\n### Within the ± of the paper\n")
    print(table(["", "sets", "not on"], rows))


def show_rivals(options, found):
    """Tables VII and VIII."""
    rows = []
    for name in options.sets:
        if name in RIVALS:
            ours = [
                f"{one.accuracy:.1f} ± {one.deviation:.1f}"
                for measure in ("mRVM1, conv2", "mRVM2, convN", "K-nn")
                if (one := found.get((name, measure))) is not None
            ]
            rows.append([name, *ours, *RIVALS[name]])
    header = ["set", "mRVM1, conv2", "mRVM2, convN", "K-nn"]
    printed = ["paper: K-nn", "paper: PK-nn", "paper: VBpMKL"]
    if rows and len(rows[0]) == len(header) + len(printed):
        print("\n### Tables VII and VIII\n")
        print(table([*header, *printed], rows))


def show_losses(options, found):
    """What following weights to their mode is worth, and what a fit takes."""
    names = [name for name in MEASURES if name in options.measures]
    rows = [
        [name]
        + [
            f"{found[name, m].log_loss:.3f} / {found[name, m].seconds:.3f}"
            for m in names
        ]
        for name in options.sets
    ]
    print("\n### Log loss / seconds to fit\n")
    print(table(["set", *names], rows))


def arguments():
    parser = argparse.ArgumentParser(description=__doc__)
    every = [*MEASURES, "K-nn"]
    parser.add_argument("--repeats", type=int, default=1, help="of the 10 folds")
    parser.add_argument("--sets", nargs="+", choices=SETS, default=list(SETS))
    parser.add_argument("--measures", nargs="+", choices=every, default=every)
    parser.add_argument("--threads", type=int, default=1)
    text = "keeps outcomes, and takes those that are there"
    parser.add_argument("--json", type=Path, help=text)
    return parser.parse_args()


def main():
    options = arguments()
    with limited_threads(options.threads):
        found = measure_all(options)
    show_measures(options, found)
    show_within(options, found)
    show_rivals(options, found)
    show_losses(options, found)


if __name__ == "__main__":
    main()
