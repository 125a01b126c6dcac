"""Several classes: the tables of Psorakis et al. (2010), and rivals in the same folds.

Psorakis, Damoulas and Girolami (2010), "Multiclass relevance vector machines: sparsity
and accuracy", IEEE Transactions on Neural Networks 21, 1588-1598. Fourteen sets of two
to eight classes, stratified 10-fold cross-validation, features standardised within each
fold, no constant. ``--repeats 10`` is what the paper has; one is for every day.
"""

import warnings
from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

import numpy as np
from sklearn.calibration import CalibratedClassifierCV
from sklearn.datasets import load_digits, load_iris, load_wine
from sklearn.gaussian_process import GaussianProcessClassifier
from sklearn.gaussian_process.kernels import RBF
from sklearn.model_selection import GridSearchCV, StratifiedKFold
from sklearn.neighbors import KNeighborsClassifier
from sklearn.svm import SVC

from benchmarks.contenders import ExpectationMaximisation, fastrvm
from benchmarks.harness import Benchmark, Ledger, by_classes, fits
from benchmarks.printed import (
    PSORAKIS_MEASURES,
    PSORAKIS_RIVALS,
    PSORAKIS_SETS,
)
from benchmarks.problems import Split, load, standardised
from benchmarks.reports import count, figures, show_table
from relvec import RVC, Mrvm1, Mrvm2

N_FOLDS = 10
KERNELS = {
    "gaussian": {"kernel": "rbf", "gamma": "auto"},
    "linear": {"kernel": "linear"},
    "polynomial": {"kernel": "poly", "gamma": 1.0, "degree": 2, "coef0": 1.0},
}
# Each model with its variants: what they are called, and their settings.
MODELS = {
    "mrvm1": {"mRVM1": {}, "mRVM1, tol=0.5": {"tol": 0.5}},
    "moments": {"mRVM1, moments": {"multi_class": Mrvm1(posterior="moments")}},
    "mrvm2": {"mRVM2": {}},
    "softmax": {"softmax": {}},
    "em": {"EM": {}},
    "auto": {"auto": {}},
}
DEFAULT = ("mrvm1", "mrvm2", "softmax", "em")
IN_PAPER = ("mrvm1", "mrvm2", "em")
# The models as published, by each measure of convergence.
MEASURES = {
    "mRVM1, max it": Mrvm1(algorithm="published", passes=6),
    "mRVM1, conv1": Mrvm1(algorithm="published", convergence="conv1"),
    "mRVM1, conv2": Mrvm1(algorithm="published", convergence="conv2"),
    "mRVM2, max it": Mrvm2(passes=6, weights="last"),
    "mRVM2, convA": Mrvm2(convergence="A", weights="last"),
    "mRVM2, convN": Mrvm2(weights="last"),
    "mRVM2, convN, at the mode": Mrvm2(),
}
PUBLISHED_TITLES = {
    "mRVM1": "mRVM1, tables II and III",
    "mRVM2": "mRVM2, tables IV and V",
}
NEAREST = "K-nn"  # neighbours chosen by cross-validation within each fold
NEIGHBOURS = {"n_neighbors": [1, 3, 5, 7, 9, 13, 17, 25]}


# Folds


def folds(y, number, repeats):
    """Rows to fit and to test on, of all folds of the first drawing, and so on."""
    for seed in range(repeats):
        splitter = StratifiedKFold(number, shuffle=True, random_state=seed)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # ecoli has classes of two rows
            yield from list(splitter.split(np.empty((len(y), 0)), y))


def cross_validate(ledger, section, name, makers, repeats):
    """All models of a set of the paper, each on all folds."""
    X, y = load(PSORAKIS_SETS[name].file)
    for model, make in makers.items():
        for fold, (train, test) in enumerate(folds(y, N_FOLDS, repeats)):
            split = standardised(X, y, train, test, classes=True)
            ledger.measure((section, name, model, fold), fits(make), split, by_classes)


@dataclass(frozen=True)
class Outcome:
    """Means over all folds of one model on one set; accuracy in per cent."""

    runs: tuple[Any, ...]

    @classmethod
    def of(cls, ledger, section, name, model, repeats):
        folds = range(N_FOLDS * repeats)
        return cls(tuple(ledger.of(section, name, model, folds)))

    def mean(self, value):
        return float(np.mean([getattr(run, value) for run in self.runs]))

    @property
    def accuracy(self):
        return 100 * (1 - self.mean("error"))

    @property
    def deviation(self):
        """Between folds."""
        return 100 * float(np.std([run.error for run in self.runs]))

    @property
    def vectors(self):
        return self.mean("vectors")

    @property
    def warned(self):
        """How many fits warned."""
        return sum(run.warned > 0 for run in self.runs)

    @property
    def losses(self):
        """A cell of log loss and seconds."""
        return f"{self.mean('log_loss'):.3f} / {figures(self.mean('seconds'))}"


# Tables I to VI


def make(model, kernel, settings):
    settings = {**KERNELS[kernel], **settings}
    if model == "em":
        return ExpectationMaximisation(**settings)
    return RVC(**{"multi_class": model, "fit_intercept": False, **settings})


def variants(models):
    return [(model, variant) for model in models for variant in MODELS[model]]


def printed_cell(name, model):
    """What the paper has for a model, as a cell."""
    paper = PSORAKIS_SETS[name]
    if model == "em":
        return f"{paper.em:.1f}"
    accuracy, vectors = getattr(paper, model)
    return f"{accuracy:.1f} / {vectors}"


def show_accuracy(options, found):
    """Accuracy in per cent and vectors, the paper's first."""
    header = ["set", "kernel"]
    rows = [[name, PSORAKIS_SETS[name].kernel] for name in options.sets]
    for model in options.models:
        if model in IN_PAPER:
            header.append(f"paper: {next(iter(MODELS[model]))}")
            for row in rows:
                row.append(printed_cell(row[0], model))
        for variant in MODELS[model]:
            header.append(variant)
            for row in rows:
                one = found[row[0], variant]
                vectors = "" if model == "em" else f" / {one.vectors:.1f}"
                row.append(f"{one.accuracy:.1f}{vectors}")
    show_table("Accuracy in per cent / relevance vectors", header, rows)


def show_losses(options, found):
    names = [variant for _, variant in variants(options.models)]
    rows = [
        [name, *(found[name, variant].losses for variant in names)]
        for name in options.sets
    ]
    show_table("Log loss / seconds to fit", ["set", *names], rows)


def show_bars(options, found):
    """At most one point below the paper, at most one and a half times its vectors."""
    rows = []
    for model, variant in variants(options.models):
        if model not in ("mrvm1", "mrvm2"):
            continue
        inaccurate, many = [], []
        for name in options.sets:
            accuracy, vectors = getattr(PSORAKIS_SETS[name], model)
            one = found[name, variant]
            if one.accuracy < accuracy - 1:
                inaccurate.append(name)
            if one.vectors > 1.5 * vectors:
                many.append(name)
        for what, missed in (("accuracy", inaccurate), ("vectors", many)):
            within = len(options.sets) - len(missed)
            share = f"{within} of {len(options.sets)}"
            rows.append([f"{variant}: {what}", share, ", ".join(missed) or "none"])
    show_table("Sets within the bars", ["bar", "within", "not within"], rows)
    for (name, variant), one in found.items():
        if one.warned:
            print(f"{variant} warned in {one.warned} fits of {name}.\n")


def run_multiclass(options):
    ledger, found = Ledger(options.json), {}
    for name in options.sets:
        kernel = PSORAKIS_SETS[name].kernel
        makers = {
            variant: partial(make, model, kernel, MODELS[model][variant])
            for model, variant in variants(options.models)
        }
        cross_validate(ledger, "multiclass", name, makers, options.repeats)
        for variant in makers:
            where = "multiclass", name, variant, options.repeats
            found[name, variant] = Outcome.of(ledger, *where)
    show_accuracy(options, found)
    show_losses(options, found)
    show_bars(options, found)


# Tables II to V, VII and VIII: as published


def as_published(name, measure):
    if measure == NEAREST:
        return GridSearchCV(KNeighborsClassifier(), NEIGHBOURS, cv=5)
    kernel = PSORAKIS_SETS[name].kernel
    return make("mrvm1", kernel, {"multi_class": MEASURES[measure]})


def measure_cells(measure, name, one):
    accuracy, deviation, vectors, spread = PSORAKIS_MEASURES[measure][name]
    ours = f"{one.accuracy:.1f} / {one.vectors:.1f}"
    return f"{accuracy:.1f} ± {deviation:.1f} / {vectors} ± {spread}", ours


def show_measures(options, found):
    """Tables II to V: the paper's, then ours."""
    shown = [measure for measure in options.measures if measure in PSORAKIS_MEASURES]
    for kind in ("mRVM1", "mRVM2"):
        own = [measure for measure in shown if measure.startswith(kind)]
        header, rows = ["set"], [[name] for name in options.sets]
        for measure in own:
            header += [f"paper: {measure[7:]}", measure[7:]]
            for row in rows:
                row.extend(measure_cells(measure, row[0], found[row[0], measure]))
        if own:
            show_table(
                f"{PUBLISHED_TITLES[kind]}: accuracy in per cent / vectors",
                header,
                rows,
            )


def show_within(options, found):
    """On how many sets accuracy and vectors are within the paper's ±."""
    rows = []
    for measure in options.measures:
        if measure not in PSORAKIS_MEASURES:
            continue
        outside = {"accuracy": [], "vectors": []}
        for name in options.sets:
            accuracy, deviation, vectors, spread = PSORAKIS_MEASURES[measure][name]
            one = found[name, measure]
            if abs(one.accuracy - accuracy) > deviation:
                outside["accuracy"].append(name)
            if abs(one.vectors - vectors) > max(spread, 0.5):
                outside["vectors"].append(name)
        for what, names in outside.items():
            share = f"{len(options.sets) - len(names)} of {len(options.sets)}"
            rows.append([f"{measure}: {what}", share, ", ".join(names) or "none"])
    show_table("Within the ± of the paper", ["", "sets", "not on"], rows)


def show_rivals(options, found):
    """Tables VII and VIII, if all of their columns were measured."""
    own = ["mRVM1, conv2", "mRVM2, convN", NEAREST]
    if not set(own) <= set(options.measures):
        return
    rows = []
    for name in options.sets:
        if name in PSORAKIS_RIVALS:
            ours = [found[name, measure] for measure in own]
            cells = [f"{one.accuracy:.1f} ± {one.deviation:.1f}" for one in ours]
            rows.append([name, *cells, *PSORAKIS_RIVALS[name]])
    printed = ["paper: K-nn", "paper: PK-nn", "paper: VBpMKL"]
    show_table("Tables VII and VIII", ["set", *own, *printed], rows)


def show_published_losses(options, found):
    """What following weights to their mode is worth, and what a fit takes."""
    names = [name for name in MEASURES if name in options.measures]
    rows = [
        [name, *(found[name, measure].losses for measure in names)]
        for name in options.sets
    ]
    show_table("As published: log loss / seconds to fit", ["set", *names], rows)


def run_published(options):
    ledger, found = Ledger(options.json), {}
    for name in options.sets:
        makers = {one: partial(as_published, name, one) for one in options.measures}
        cross_validate(ledger, "published", name, makers, options.repeats)
        for measure in makers:
            where = "published", name, measure, options.repeats
            found[name, measure] = Outcome.of(ledger, *where)
    show_measures(options, found)
    show_within(options, found)
    show_rivals(options, found)
    show_published_losses(options, found)


# Digits, iris and wine beside other libraries

RELVEC = {
    "RVC, mrvm1": {"multi_class": "mrvm1"},
    "RVC, mrvm1, moments": {"multi_class": Mrvm1(posterior="moments")},
    "RVC, mrvm1, tol=0.5": {"multi_class": "mrvm1", "tol": 0.5},
    "RVC, mrvm2": {"multi_class": "mrvm2"},
    "RVC, softmax": {"multi_class": "softmax"},
    "RVC, ovr": {"multi_class": "ovr"},
    "RVC, ovo": {"multi_class": "ovo"},
}
CALIBRATED = "SVC + sigmoid"
PROCESS = "Gaussian process, one against rest"
MNIST_TEST_ROWS = 1000


@dataclass(frozen=True)
class FoldedSet:
    """Rows and classes, and in how many folds; standardised unless they are pixels."""

    name: str
    load: Callable[[], Any]
    folds: int
    standardised: bool = True
    left_out: tuple[str, ...] = ()  # unless asked for by name

    def cut(self, X, y, train, test):
        if self.standardised:
            return standardised(X, y, train, test, classes=True)
        return Split(X[train], y[train], X[test], y[test])


FOLDED_SETS = (
    FoldedSet(
        "digits",
        lambda: pixels(*load_digits(return_X_y=True)),
        folds=5,
        standardised=False,
        left_out=("RVC, mrvm2",),  # a minute and more for each fold
    ),
    FoldedSet("iris", lambda: load_iris(return_X_y=True), 10),
    FoldedSet("wine", lambda: load_wine(return_X_y=True), 10),
)


def pixels(X, y):
    return X / X.max(), y


def process_of_scale(X):
    """A Gaussian process with the width of ``gamma="scale"``."""
    gamma = 1 / (X.shape[1] * X.var())
    kernel = RBF(1 / np.sqrt(2 * gamma), "fixed")
    return GaussianProcessClassifier(kernel, optimizer=None)


def classifiers(problem, names):
    """How to make a model for some rows, by name."""
    field = {
        name: lambda _, settings=settings: RVC(**settings)
        for name, settings in RELVEC.items()
    }
    field[CALIBRATED] = lambda _: CalibratedClassifierCV(SVC(), method="sigmoid")
    field[PROCESS] = process_of_scale
    if fastrvm is not None:
        field["fastrvm"] = lambda _: fastrvm.RVC(fit_intercept=True)
    chosen = names or [name for name in field if name not in problem.left_out]
    return {name: make for name, make in field.items() if name in chosen}


def by_rows_kept(model, split):
    """By classes; vectors are rows kept by all binary models together."""
    kept = getattr(model, "relevance_", None)
    vectors = np.nan if kept is None else len(np.unique(kept))
    return {**by_classes(model, split), "vectors": vectors}


def race(ledger, problem, options):
    """All contenders in turn, fold by fold."""
    X, y = problem.load()
    field = classifiers(problem, options.models)
    where = f"{problem.name}, {problem.folds} folds"
    for fold, rows in enumerate(folds(y, problem.folds, options.repeats)):
        split = problem.cut(X, y, *rows)
        for name, make_for in field.items():
            ledger.measure(
                ("digits", where, name, fold),
                fits(partial(make_for, split.X)),
                split,
                by_rows_kept,
            )
    return where, list(field)


def show_folds(ledger, where, names, repeats):
    """Means of all folds; of several drawings, also how accuracy spreads over them."""
    rows = []
    for name in names:
        error, loss, vectors, seconds = (
            ledger.values("digits", where, name, value)
            for value in ("error", "log_loss", "vectors", "seconds")
        )
        right = 100 * (1 - error)
        accuracy = f"{right.mean():.2f}"
        if repeats > 1:
            drawings = right.reshape(repeats, -1).mean(axis=1)
            accuracy += f" ± {np.std(drawings, ddof=1):.2f}"
        shown = figures(vectors.mean()), figures(seconds.mean())
        rows.append([name, accuracy, f"{loss.mean():.4f}", *shown])
    header = ["model", "accuracy in per cent", "log loss", "vectors"]
    name, number = where.capitalize().split(", ")
    times = f"{repeats} × " if repeats > 1 else ""
    show_table(f"{name}, {times}{number}", [*header, "seconds to fit"], rows)


def run_mnist(ledger, options):
    X, y = load("mnist_test10k")
    order = np.random.default_rng(0).permutation(len(y))
    X, y = X[order] / 255, y[order].astype(int)
    split = Split(
        X[MNIST_TEST_ROWS:],
        y[MNIST_TEST_ROWS:],
        X[:MNIST_TEST_ROWS],
        y[:MNIST_TEST_ROWS],
    )
    rows = []
    for name in options.models or ["RVC, mrvm1"]:
        key = "digits", "mnist", name, 0
        make_model = partial(RVC, **RELVEC[name])
        ledger.measure(key, fits(make_model), split, by_rows_kept)
        one = ledger.runs[key]
        right = f"{100 * (1 - one.error):.1f}", f"{one.log_loss:.3f}"
        shown = count(one.vectors), figures(one.seconds), one.status
        rows.append([name, *right, *shown])
    header = ["model", "accuracy in per cent", "log loss", "vectors", "seconds to fit"]
    title = f"MNIST, {count(len(split.y))} of the 10 000 test images"
    show_table(title, [*header, "status"], rows)


def run_digits(options):
    ledger = Ledger(options.json)
    if options.mnist:
        run_mnist(ledger, options)
        return
    for each in FOLDED_SETS:
        if each.name in options.sets:
            problem = replace(each, folds=options.folds or each.folds)
            where, names = race(ledger, problem, options)
            show_folds(ledger, where, names, options.repeats)


# The command


def multiclass_options(parser):
    set_options(parser)
    text = "of " + ", ".join(MODELS)
    parser.add_argument(
        "--models", nargs="+", choices=MODELS, default=DEFAULT, help=text
    )


def published_options(parser):
    set_options(parser)
    every = [*MEASURES, NEAREST]
    text = "of convergence"
    parser.add_argument(
        "--measures", nargs="+", choices=every, default=every, help=text
    )


def set_options(parser):
    add = parser.add_argument
    add("--repeats", type=int, default=1, help="of the 10 folds")
    sets = list(PSORAKIS_SETS)
    add("--sets", nargs="+", choices=sets, default=sets, help="of the paper")


def digits_options(parser):
    add = parser.add_argument
    chosen = [problem.name for problem in FOLDED_SETS]
    add("--sets", nargs="+", choices=chosen, default=chosen, help="data")
    add("--models", nargs="+", help="by name; all if none is given")
    text = "in the place of 5 for digits and 10 for the others"
    add("--folds", type=int, help=text)
    add("--repeats", type=int, default=1, help="drawings of the folds")
    text = "fit 9000 of the test images of MNIST instead, and test on the others"
    add("--mnist", action="store_true", help=text)


BENCHMARKS = {
    "multiclass": Benchmark(
        "14 sets of two to eight classes, beside tables I to VI of Psorakis et al.",
        run_multiclass,
        multiclass_options,
        threads=1,
        keeps_fits=True,
    ),
    "published": Benchmark(
        "mRVM1 and mRVM2 as published, beside tables II to V, VII and VIII",
        run_published,
        published_options,
        threads=1,
        keeps_fits=True,
    ),
    "digits": Benchmark(
        "digits, iris and wine, or MNIST, beside other libraries",
        run_digits,
        digits_options,
        threads=1,
        keeps_fits=True,
    ),
}
