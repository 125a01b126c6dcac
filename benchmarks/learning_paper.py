"""The experiments of Yuan, Bo, Wang and Yu (2009) on widths of each vector's own."""

import numpy as np
from learning_problems import cut, multiscale, plane
from learning_runs import best_width, by_rmse, fits, gaussian_process, learned
from markdown import decimals, figures, table

from relvec import RVR, Adaptive
from relvec.kernels import Gaussian

BEST = "best fixed width"
SPACING = {"equally spaced": True, "random": False}
# The paper's start, of 150 points.
PAPER_START = Adaptive(initial_precision=1 / 150)
MULTISCALE = {
    BEST: best_width(lambda _: np.geomspace(0.05, 2, 9)),
    "width": learned("width"),
    "adaptive": learned("adaptive"),
    "algorithm 1 from 0.2": learned(Adaptive(), Gaussian(0.2)),
    "algorithm 1 from 0.41": learned(Adaptive(), Gaussian(0.41)),
    "the same, α = 1/N": learned(PAPER_START, Gaussian(0.41)),
}
# RMSE and vectors: figure 7 at the width 0.16, and figure 4.
PAPER_MULTISCALE = {BEST: (0.0705, 48), "the same, α = 1/N": (0.0671, 10)}

SIDES = (8, 10, 15, 20, 25, 30)
LARGE = 15  # beyond, fewer draws and no Gaussian process
PLANE = {
    "adaptive": learned("adaptive"),
    "ard": learned("ard"),
    "ard, rbf and linear": learned("ard", ["rbf", "linear"]),
    "Gaussian process": gaussian_process,
}
# Table 1: RMSE and vectors by side.
PAPER_PLANE = {
    "paper, classical RVM": (
        (0.1675, 63),
        (0.0635, 99),
        (0.0638, 104),
        (0.0549, 115),
        (0.0543, 122),
        (0.0536, 128),
    ),
    "paper, adaptive": (
        (0.1415, 59),
        (0.0621, 98),
        (0.0615, 89),
        (0.0546, 90),
        (0.0542, 91),
        (0.0532, 93),
    ),
}
PLANE_BARS = {8: 0.065, 10: 0.05, 15: 0.032}  # of "ard", with 40 vectors at most

FIXED = "fixed width 5.5"
# "adaptive" has at most as many functions as the kernel it is given, which in the paper
# is the fixed one.
TABLES = {
    FIXED: fits(lambda: RVR(Gaussian(5.5))),
    "adaptive": learned("adaptive", Gaussian(5.5)),
    "fixed width, gamma=scale": fits(RVR),
    "adaptive, gamma=scale": learned("adaptive"),
    "width": learned("width"),
    "auto": learned("auto"),
}
# Rows to fit, rows to test, whether the target is standardised, and draws.
CUTS = {"boston": (481, 25, False, 20), "abalone": (1000, 3177, True, 10)}
# Table 2: mean squared error and vectors.
PAPER_TABLES = {
    "boston": {FIXED: (8.21959, 39), "adaptive": (8.05299, 31)},
    "abalone": {FIXED: (0.46723, 21), "adaptive": (0.45220, 18)},
}


def pair(error, vectors):
    """An error and a number of vectors as a cell."""
    return f"{decimals(error)} / {figures(vectors)}"


def bar(text, met):
    print(f"- {'met' if met else 'missed'}: {text}")


def measure_multiscale(ledger, options):
    for problem, spaced in SPACING.items():
        for seed in range(options.seeds or 20):
            split = multiscale(seed, spaced)
            for model, fit in MULTISCALE.items():
                ledger.measure(
                    ("multiscale", problem, model, seed), fit, split, by_rmse
                )


def show_multiscale(ledger, _):
    rows = []
    for problem in SPACING:
        for model in MULTISCALE:
            where = "multiscale", problem, model
            errors = ledger.values(*where)
            paper = PAPER_MULTISCALE.get(model)
            more = ledger.mean(*where, "vectors"), ledger.mean(*where, "seconds")
            rows.append(
                [
                    f"{problem}, {model}",
                    *map(decimals, (errors.mean(), errors.max())),
                    *map(figures, more),
                    pair(*paper) if paper else "",
                ]
            )
    header = ["points, model", "mean RMSE", "largest", "vectors", "seconds", "paper"]
    print("### sin(40/x), 150 points, noise 0.1\n")
    print(table(header, rows), end="\n\n")
    where = "multiscale", "equally spaced", "adaptive"
    error, vectors = ledger.mean(*where), ledger.mean(*where, "vectors")
    text = f"equally spaced: adaptive has {pair(error, vectors)}, wanted 0.0671 / 20"
    bar(text, error <= 0.0671 and vectors <= 20)
    won, of = multiscale_wins(ledger)
    text = f"{BEST} beaten with half its vectors on {won} of {of} random draws"
    bar(f"{text}, wanted three of four", won >= 0.75 * of)


def multiscale_wins(ledger):
    """Random draws with less error than the best width and half its vectors."""
    errors, vectors = (
        [
            ledger.values("multiscale", "random", model, value)
            for model in ("adaptive", BEST)
        ]
        for value in ("error", "vectors")
    )
    better = (errors[0] < errors[1]) & (vectors[0] <= 0.5 * vectors[1])
    return int(better.sum()), len(better)


def measure_plane(ledger, options):
    for side in options.sides:
        for seed in range(options.seeds or (8 if side <= LARGE else 3)):
            split = plane(seed, side)
            for model, fit in PLANE.items():
                skipped = side > LARGE or "gp" in options.without
                if not (fit is gaussian_process and skipped):
                    key = "plane", f"{side}", model, seed
                    ledger.measure(key, fit, split, by_rmse)


def show_plane(ledger, options):
    rows = []
    for name, known in PAPER_PLANE.items():
        rows.append([name, *(pair(*known[SIDES.index(s)]) for s in options.sides)])
    for model in PLANE:
        row = [model]
        for side in options.sides:
            where = "plane", f"{side}", model
            row.append(pair(ledger.mean(*where), ledger.mean(*where, "vectors")))
        rows.append(row)
    print("### sin(x)/x + 0.1 y, noise 0.1: RMSE / vectors\n")
    header = [f"{side}×{side}" for side in options.sides]
    print(table(["model", *header], rows), end="\n\n")
    for model in ("ard", "ard, rbf and linear"):
        for side in sorted(PLANE_BARS.keys() & set(options.sides)):
            where, wanted = ("plane", f"{side}", model), PLANE_BARS[side]
            error, vectors = ledger.mean(*where), ledger.mean(*where, "vectors")
            text = f"{side}: {model} has {pair(error, vectors)}, wanted {wanted} / 40"
            bar(text, error <= wanted and vectors <= 40)


def by_mse(model, split):
    return {"error": split.rmse(model) ** 2}


def measure_tables(ledger, options):
    for name, (rows, n_test, target, draws) in CUTS.items():
        for seed in range(options.seeds or draws):
            split = cut(name, seed, rows, n_test, target)
            for model, fit in TABLES.items():
                ledger.measure(("tables", name, model, seed), fit, split, by_mse)


def paired(ledger, name, model):
    """Mean difference from the fixed width in the same draws, and its error or nan."""
    errors = (ledger.values("tables", name, one) for one in (model, FIXED))
    apart = np.subtract(*errors)
    several = len(apart) > 1
    return apart.mean(), apart.std() / np.sqrt(len(apart) - 1) if several else np.nan


def show_tables(ledger, _):
    rows = []
    for name, papers in PAPER_TABLES.items():
        for model in TABLES:
            where = "tables", name, model
            means = [ledger.mean(*where, v) for v in ("error", "vectors", "seconds")]
            apart, spread = paired(ledger, name, model)
            difference = "" if model == FIXED else f"{apart:+.4f} ± {spread:.4f}"
            known = pair(*papers[model]) if model in papers else ""
            cells = decimals(means[0]), figures(means[1]), figures(means[2])
            rows.append([f"{name}, {model}", *cells, difference, known])
    print("### Boston and Abalone: mean squared errors\n")
    header = ["set, model", "MSE", "vectors", "seconds", "minus fixed", "paper"]
    print(table(header, rows), end="\n\n")
    for name in CUTS:
        apart, spread = paired(ledger, name, "adaptive")
        few, many = (
            ledger.mean("tables", name, model, "vectors")
            for model in ("adaptive", FIXED)
        )
        text = f"{name}: adaptive not worse than fixed beyond the error, fewer vectors"
        bar(text, apart <= spread and few < many)
    where = "tables", "abalone", "adaptive"
    error, vectors = ledger.mean(*where), ledger.mean(*where, "vectors")
    text = f"abalone: adaptive has {pair(error, vectors)}, wanted 0.4522 / 18"
    bar(text, error <= 0.4522 and vectors <= 18)
