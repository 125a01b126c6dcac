"""Learned kernels: the paper's experiments, rivals, criteria, classes.

Yuan, Bo, Wang and Yu (2009), "Adaptive spherical Gaussian kernel in sparse Bayesian
learning framework for nonlinear regression", Expert Systems with Applications 36,
3982-3989, whose figures stand beside those measured.
"""

from functools import partial

import numpy as np

from benchmarks.contenders import (
    best_width,
    gaussian_process,
    learned,
    relative_widths,
    support_vectors,
)
from benchmarks.harness import Benchmark, Ledger, by_classes, by_rmse, fits
from benchmarks.problems import (
    cut,
    cut_classes,
    friedman_split,
    round_sinc,
    yuan_plane,
    yuan_waves,
)
from benchmarks.reports import ABSENT, decimals, figures, show_bar, show_table
from relvec import RVC, RVR, Adaptive, LengthScales
from relvec.kernels import Gaussian

# The experiments of the paper, widths of each vector's own


BEST_FIXED = "best fixed width"
SPACING = {"equally spaced": True, "random": False}
# The paper's start, of 150 points.
PAPER_START = Adaptive(initial_precision=1 / 150)
MULTISCALE = {
    BEST_FIXED: best_width(lambda _: np.geomspace(0.05, 2, 9)),
    "width": learned("width"),
    "adaptive": learned("adaptive"),
    "algorithm 1 from 0.2": learned(Adaptive(), Gaussian(0.2)),
    "algorithm 1 from 0.41": learned(Adaptive(), Gaussian(0.41)),
    "the same, α = 1/N": learned(PAPER_START, Gaussian(0.41)),
}
# RMSE and vectors: figure 7 at the width 0.16, and figure 4.
PRINTED_WAVES = {BEST_FIXED: (0.0705, 48), "the same, α = 1/N": (0.0671, 10)}

SIDES = (8, 10, 15, 20, 25, 30)
LARGE = 15  # beyond, fewer draws and no Gaussian process
PLANE = {
    "adaptive": learned("adaptive"),
    "ard": learned("ard"),
    "ard, rbf and linear": learned("ard", ["rbf", "linear"]),
    "Gaussian process": gaussian_process,
}
# Table 1: RMSE and vectors by side.
PRINTED_PLANE = {
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
PAPER_SETS = {
    FIXED: fits(lambda: RVR(Gaussian(5.5))),
    "adaptive": learned("adaptive", Gaussian(5.5)),
    "fixed width, gamma=scale": fits(RVR),
    "adaptive, gamma=scale": learned("adaptive"),
    "width": learned("width"),
    "auto": learned("auto"),
}
# Rows to fit, rows to test, whether the target is standardised, and draws.
PAPER_CUTS = {"boston": (481, 25, False, 20), "abalone": (1000, 3177, True, 10)}
# Table 2: mean squared error and vectors.
PRINTED_TABLES = {
    "boston": {FIXED: (8.21959, 39), "adaptive": (8.05299, 31)},
    "abalone": {FIXED: (0.46723, 21), "adaptive": (0.45220, 18)},
}


def pair(error, vectors):
    """An error and a number of vectors as a cell."""
    return f"{decimals(error)} / {figures(vectors)}"


def measure_multiscale(ledger, options):
    for problem, spaced in SPACING.items():
        for seed in range(options.seeds or 20):
            split = yuan_waves(seed, spaced)
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
            paper = PRINTED_WAVES.get(model)
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
    title = "sin(40/x), 150 points, noise 0.1"
    show_table(title, header, rows)
    where = "multiscale", "equally spaced", "adaptive"
    error, vectors = ledger.mean(*where), ledger.mean(*where, "vectors")
    text = f"equally spaced: adaptive has {pair(error, vectors)}, wanted 0.0671 / 20"
    show_bar(text, error <= 0.0671 and vectors <= 20)
    won, of = multiscale_wins(ledger)
    text = f"{BEST_FIXED} beaten with half its vectors on {won} of {of} random draws"
    show_bar(f"{text}, wanted three of four", won >= 0.75 * of)


def multiscale_wins(ledger):
    """Random draws with less error than the best width and half its vectors."""
    errors, vectors = (
        [
            ledger.values("multiscale", "random", model, value)
            for model in ("adaptive", BEST_FIXED)
        ]
        for value in ("error", "vectors")
    )
    better = (errors[0] < errors[1]) & (vectors[0] <= 0.5 * vectors[1])
    return int(better.sum()), len(better)


def measure_plane(ledger, options):
    for side in options.sides:
        for seed in range(options.seeds or (8 if side <= LARGE else 3)):
            split = yuan_plane(seed, side)
            for model, fit in PLANE.items():
                skipped = side > LARGE or "gp" in options.without
                if not (fit is gaussian_process and skipped):
                    key = "plane", f"{side}", model, seed
                    ledger.measure(key, fit, split, by_rmse)


def show_plane(ledger, options):
    rows = []
    for name, known in PRINTED_PLANE.items():
        rows.append([name, *(pair(*known[SIDES.index(s)]) for s in options.sides)])
    for model in PLANE:
        row = [model]
        for side in options.sides:
            where = "plane", f"{side}", model
            row.append(pair(ledger.mean(*where), ledger.mean(*where, "vectors")))
        rows.append(row)
    title = "sin(x)/x + 0.1y, noise 0.1: RMSE / vectors"
    header = [f"{side}×{side}" for side in options.sides]
    show_table(title, ["model", *header], rows)
    for model in ("ard", "ard, rbf and linear"):
        for side in sorted(PLANE_BARS.keys() & set(options.sides)):
            where, wanted = ("plane", f"{side}", model), PLANE_BARS[side]
            error, vectors = ledger.mean(*where), ledger.mean(*where, "vectors")
            text = f"{side}: {model} has {pair(error, vectors)}, wanted {wanted} / 40"
            show_bar(text, error <= wanted and vectors <= 40)


def by_mse(model, split):
    return {"error": split.rmse(model) ** 2}


def measure_tables(ledger, options):
    for name, (rows, n_test, target, draws) in PAPER_CUTS.items():
        for seed in range(options.seeds or draws):
            split = cut(name, seed, rows, n_test, target)
            for model, fit in PAPER_SETS.items():
                ledger.measure(("tables", name, model, seed), fit, split, by_mse)


def paired(ledger, name, model):
    """Mean difference from the fixed width in the same draws, and its error or nan."""
    errors = (ledger.values("tables", name, one) for one in (model, FIXED))
    apart = np.subtract(*errors)
    several = len(apart) > 1
    return apart.mean(), apart.std() / np.sqrt(len(apart) - 1) if several else np.nan


def show_tables(ledger, _):
    rows = []
    for name, papers in PRINTED_TABLES.items():
        for model in PAPER_SETS:
            where = "tables", name, model
            means = [ledger.mean(*where, v) for v in ("error", "vectors", "seconds")]
            apart, spread = paired(ledger, name, model)
            difference = "" if model == FIXED else f"{apart:+.4f} ± {spread:.4f}"
            known = pair(*papers[model]) if model in papers else ""
            cells = decimals(means[0]), figures(means[1]), figures(means[2])
            rows.append([f"{name}, {model}", *cells, difference, known])
    title = "Boston and Abalone: mean squared errors"
    header = ["set, model", "MSE", "vectors", "seconds", "minus fixed", "paper"]
    show_table(title, header, rows)
    for name in PAPER_CUTS:
        apart, spread = paired(ledger, name, "adaptive")
        few, many = (
            ledger.mean("tables", name, model, "vectors")
            for model in ("adaptive", FIXED)
        )
        text = f"{name}: adaptive not worse than fixed beyond the error, fewer vectors"
        show_bar(text, apart <= spread and few < many)
    where = "tables", "abalone", "adaptive"
    error, vectors = ledger.mean(*where), ledger.mean(*where, "vectors")
    text = f"abalone: adaptive has {pair(error, vectors)}, wanted 0.4522 / 18"
    show_bar(text, error <= 0.4522 and vectors <= 18)


# Beside rivals, criteria beside each other, and classes


# Rows to fit beside a grid of support vector machines.
SETS = {"abalone": 3000, "ccpp": 4000, "kin8nm": 4000, "california_housing": 4000}
PROCESS_ROWS = 2000
LEARNED = {mode: learned(mode) for mode in ("width", "ard", "auto")}
# With the number of rows that is theirs; relvec gets the same rows.
KERNEL_RIVALS = {
    "svr": ("SVR, 30 settings", support_vectors),
    "gp": ("Gaussian process", gaussian_process),
}

CRITERIA = ("evidence", "loo", "gcv", "auto", "cv")
BEST_OF_14 = "best of 14 widths"
JUDGED_ON = {
    "sinc, 1 feature, 100 rows": partial(round_sinc, rows=100, features=1),
    "sinc, 2 features, 300 rows": partial(round_sinc, rows=300, features=2),
    "sinc, 2 features, 1000 rows": partial(round_sinc, rows=1000, features=2),
    "friedman1, 300 rows": partial(friedman_split, rows=300),
    "boston, 400 rows": partial(cut, "boston", rows=400),
    "abalone, 1000 rows": partial(cut, "abalone", rows=1000),
    "ccpp, 1500 rows": partial(cut, "ccpp", rows=1500),
}

# Rows to fit of each class problem, all others to test on.
CLASSES = {"ripley": 250, "banana": 400, "pima": 512, "iris": 100, "wine": 118}
CLASSIFIERS = {
    "gamma=scale": fits(RVC),
    "width": fits(lambda: RVC(kernel_learning="width")),
    "ard": fits(lambda: RVC(kernel_learning="ard")),
}


def rows_beside(rival, name):
    return PROCESS_ROWS if rival == "gp" else SETS[name]


def measure_rivals(ledger, options):
    for name in options.sets:
        for rival, (title, fit) in KERNEL_RIVALS.items():
            rows = rows_beside(rival, name)
            problem = f"{name}, {rows} rows"
            models = dict(LEARNED)
            if rival not in options.without:
                models[title] = fit
            elif rival == "gp":
                continue  # without it, the smaller cut has nothing to say
            for seed in range(options.seeds or 1):
                # However many rows are fitted, those to test on are the same.
                split = cut(name, seed, SETS[name], target=True).first(rows)
                for model, one in models.items():
                    key = "rivals", problem, model, seed
                    ledger.measure(key, one, split, by_rmse)


def ratios(ledger, problem, model, title):
    """Error over the rival's error, and the rival's seconds over the model's."""
    errors, seconds = (
        [ledger.mean("rivals", problem, one, value) for one in (model, title)]
        for value in ("error", "seconds")
    )
    return errors[0] / errors[1], seconds[1] / seconds[0]


def show_rivals(ledger, options):
    rows = []
    auto = {}
    for rival, (title, _) in KERNEL_RIVALS.items():
        found = []
        for name in options.sets:
            problem = f"{name}, {rows_beside(rival, name)} rows"
            models = [*LEARNED, title]
            for model in models:
                where = "rivals", problem, model
                if not len(ledger.values(*where)):
                    continue
                error, faster = ratios(ledger, problem, model, title)
                cells = [
                    ledger.mean(*where, v) for v in ("error", "vectors", "seconds")
                ]
                shown = decimals(cells[0]), *map(figures, [*cells[1:], error, faster])
                rows.append([f"{problem}, {model}", *shown])
            found.append(ratios(ledger, problem, "auto", title))
        auto[rival] = np.array(found)
    title = "Beside rivals: RMSE in units of the target's deviation"
    header = ["set, model", "RMSE", "vectors", "seconds"]
    show_table(title, [*header, "RMSE ratio", "times faster"], rows)
    show_rival_bars(auto, options)


def show_rival_bars(auto, options):
    if "svr" not in options.without:
        error, faster = auto["svr"].T
        text = f"auto beside SVR: RMSE ratios {', '.join(map(figures, error))}"
        close = np.sum(error <= 1.03) >= 0.75 * len(error) and np.all(error <= 1.06)
        show_bar(f"{text}, wanted 1.06 and three of four 1.03", close)
        text = f"auto {figures(faster.min())} times faster than SVR at least, wanted 5"
        show_bar(text, np.all(faster >= 5))
    if "gp" not in options.without:
        error, faster = auto["gp"].T
        text = f"auto beside the process: RMSE ratios {', '.join(map(figures, error))}"
        show_bar(f"{text}, wanted 1.08", np.all(error <= 1.08))
        text = f"auto {figures(faster.min())} times faster than it at least, wanted 5"
        show_bar(text, np.all(faster >= 5))


def measure_criteria(ledger, options):
    for problem, draw in JUDGED_ON.items():
        for seed in range(options.seeds or 3):
            split = draw(seed=seed)
            models = {
                name: learned(LengthScales("width", criterion=name))
                for name in CRITERIA
            }
            models[BEST_OF_14] = best_width(relative_widths)
            for model, fit in models.items():
                ledger.measure(("criteria", problem, model, seed), fit, split, by_rmse)


def show_criteria(ledger, _):
    """Mean and largest ratio, then the mean number of vectors."""
    rows = []
    ratios_of = {name: [] for name in CRITERIA}
    for problem in JUDGED_ON:
        best = ledger.values("criteria", problem, BEST_OF_14)
        row = [problem, decimals(best.mean())]
        for name in CRITERIA:
            where = "criteria", problem, name
            ratio = ledger.values(*where) / best
            ratios_of[name].extend(ratio)
            vectors = figures(ledger.mean(*where, "vectors"))
            row.append(f"{ratio.mean():.3f}, {ratio.max():.3f} / {vectors}")
        rows.append(row)
    overall = [f"{np.mean(r):.3f}, {np.max(r):.3f}" for r in ratios_of.values()]
    rows.append(["all", "", *overall])
    title = f"RMSE over that of the {BEST_OF_14}: mean, worst / vectors"
    show_table(title, ["problem", "best RMSE", *CRITERIA], rows)


def measure_classes(ledger, options):
    for name, rows in CLASSES.items():
        for seed in range(options.seeds or 3):
            split = cut_classes(name, seed, rows)
            for model, fit in CLASSIFIERS.items():
                ledger.measure(("classes", name, model, seed), fit, split, by_classes)


def show_classes(ledger, _):
    rows = []
    for name in CLASSES:
        row = [name]
        for model in CLASSIFIERS:
            where = "classes", name, model
            values = [
                ledger.mean(*where, v)
                for v in ("error", "log_loss", "vectors", "seconds")
            ]
            error = ABSENT if np.isnan(values[0]) else f"{100 * values[0]:.1f}"
            row.append(" / ".join([error, *map(figures, values[1:])]))
        rows.append(row)
    title = "Classes: error in per cent / log loss / vectors / seconds"
    show_table(title, ["set", *CLASSIFIERS], rows)


# What measures each section, and what shows it.
SECTIONS = {
    "multiscale": (measure_multiscale, show_multiscale),
    "plane": (measure_plane, show_plane),
    "tables": (measure_tables, show_tables),
    "rivals": (measure_rivals, show_rivals),
    "criteria": (measure_criteria, show_criteria),
    "classes": (measure_classes, show_classes),
}


def show_complaints(ledger, options):
    """Fits that failed, and how many warned."""
    runs = [run for run in ledger.runs.values() if run.section in options.only]
    for run in runs:
        if run.failure:
            print(f"{' '.join(map(str, run.key))}: {run.failure}")
    warned = sum(run.warned > 0 for run in runs)
    print(f"{warned} of {len(runs)} fits warned.")


def run(options):
    ledger = Ledger(options.json)
    for name in options.only:
        measure, show = SECTIONS[name]
        measure(ledger, options)
        show(ledger, options)
        print()
    show_complaints(ledger, options)


def add_options(parser):
    add = parser.add_argument
    text = "sections to run"
    add("--only", nargs="+", choices=SECTIONS, default=list(SECTIONS), help=text)
    text = "draws of each problem, instead of as many as each section has"
    add("--seeds", type=int, help=text)
    text = "of the plane, in points"
    add("--sides", nargs="+", type=int, choices=SIDES, default=SIDES, help=text)
    sets = list(SETS)
    add("--sets", nargs="+", choices=sets, default=sets, help="of the rivals")
    text = "rivals to leave out, as they are slow"
    add("--without", nargs="+", choices=KERNEL_RIVALS, default=[], help=text)


BENCHMARKS = {
    "kernel_learning": Benchmark(
        "learned kernels: the tables of Yuan et al., rivals, criteria, classes",
        run,
        add_options,
        threads=1,
        keeps_fits=True,
    )
}
