"""Learned kernels beside rivals, criteria beside each other, and classes."""

from functools import partial

import numpy as np
from learning_paper import bar
from learning_problems import cut, cut_classes, friedman, round_sinc
from learning_runs import (
    best_width,
    by_rmse,
    fits,
    gaussian_process,
    learned,
    relative_widths,
    support_vectors,
)
from markdown import ABSENT, decimals, figures, table
from sklearn.metrics import log_loss

from relvec import RVC, LengthScales

# Rows to fit beside a grid of support vector machines.
SETS = {"abalone": 3000, "ccpp": 4000, "kin8nm": 4000, "california_housing": 4000}
PROCESS_ROWS = 2000
LEARNED = {mode: learned(mode) for mode in ("width", "ard", "auto")}
# With the number of rows that is theirs; relvec gets the same rows.
RIVALS = {
    "svr": ("SVR, 30 settings", support_vectors),
    "gp": ("Gaussian process", gaussian_process),
}

CRITERIA = ("evidence", "loo", "gcv", "auto", "cv")
BEST = "best of 14 widths"
JUDGED_ON = {
    "sinc, 1 feature, 100 rows": partial(round_sinc, rows=100, features=1),
    "sinc, 2 features, 300 rows": partial(round_sinc, rows=300, features=2),
    "sinc, 2 features, 1000 rows": partial(round_sinc, rows=1000, features=2),
    "friedman1, 300 rows": partial(friedman, rows=300),
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
        for rival, (title, fit) in RIVALS.items():
            rows = rows_beside(rival, name)
            problem = f"{name}, {rows} rows"
            models = dict(LEARNED)
            if rival not in options.without:
                models[title] = fit
            elif rival == "gp":
                continue  # without it, the smaller cut has nothing to say
            for seed in range(options.seeds or 1):
                # The same rows to test on, whatever the number of those to fit.
                split = cut(name, seed, SETS[name], target=True).first(rows)
                for model, one in models.items():
                    key = "rivals", problem, model, seed
                    ledger.measure(key, one, split, by_rmse)


def ratios(ledger, problem, model, title):
    """Of the error to the rival's, and of the rival's time to that of the model."""
    errors, seconds = (
        [ledger.mean("rivals", problem, one, value) for one in (model, title)]
        for value in ("error", "seconds")
    )
    return errors[0] / errors[1], seconds[1] / seconds[0]


def show_rivals(ledger, options):
    rows = []
    auto = {}
    for rival, (title, _) in RIVALS.items():
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
    print("### Beside rivals: RMSE in units of the target's deviation\n")
    header = ["set, model", "RMSE", "vectors", "seconds"]
    print(table([*header, "RMSE ratio", "times faster"], rows), end="\n\n")
    show_rival_bars(auto, options)


def show_rival_bars(auto, options):
    if "svr" not in options.without:
        error, faster = auto["svr"].T
        text = f"auto beside SVR: RMSE ratios {', '.join(map(figures, error))}"
        close = np.sum(error <= 1.03) >= 0.75 * len(error) and np.all(error <= 1.06)
        bar(f"{text}, wanted 1.06 and three of four 1.03", close)
        text = f"auto {figures(faster.min())} times faster than SVR at least, wanted 5"
        bar(text, np.all(faster >= 5))
    if "gp" not in options.without:
        error, faster = auto["gp"].T
        text = f"auto beside the process: RMSE ratios {', '.join(map(figures, error))}"
        bar(f"{text}, wanted 1.08", np.all(error <= 1.08))
        text = f"auto {figures(faster.min())} times faster than it at least, wanted 5"
        bar(text, np.all(faster >= 5))


def measure_criteria(ledger, options):
    for problem, draw in JUDGED_ON.items():
        for seed in range(options.seeds or 3):
            split = draw(seed=seed)
            models = {
                name: learned(LengthScales("width", criterion=name))
                for name in CRITERIA
            }
            models[BEST] = best_width(relative_widths)
            for model, fit in models.items():
                ledger.measure(("criteria", problem, model, seed), fit, split, by_rmse)


def show_criteria(ledger, _):
    """Mean and largest ratio, then the mean number of vectors."""
    rows = []
    ratios_of = {name: [] for name in CRITERIA}
    for problem in JUDGED_ON:
        best = ledger.values("criteria", problem, BEST)
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
    print(f"### RMSE over that of the {BEST}: mean, worst / vectors\n")
    print(table(["problem", "best RMSE", *CRITERIA], rows))


def by_class(model, split):
    p = model.predict_proba(split.X_test)
    wrong = model.classes_[p.argmax(axis=1)] != split.y_test
    loss = log_loss(split.y_test, p, labels=model.classes_)
    return {"error": float(np.mean(wrong)), "log_loss": float(loss)}


def measure_classes(ledger, options):
    for name, rows in CLASSES.items():
        for seed in range(options.seeds or 3):
            split = cut_classes(name, seed, rows)
            for model, fit in CLASSIFIERS.items():
                ledger.measure(("classes", name, model, seed), fit, split, by_class)


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
    print("### Classes: error in per cent / log loss / vectors / seconds\n")
    print(table(["set", *CLASSIFIERS], rows))
