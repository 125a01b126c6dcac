"""Time against the number of rows, relvec and its rivals side by side.

All contenders run on the same rows, in alternation, with the same threads. Beside the
tables stand a picture, and which of relvec's bars were reached.
"""

import argparse
import math
import tempfile
import time
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

import relvec.data
from benchmarks.contenders import RELVEC, of_given_width, relvec_model
from benchmarks.harness import (
    WARM_UP_ROWS,
    Benchmark,
    Ledger,
    Run,
    described_failure,
    in_own_process,
    median,
    memory_in_use,
    number_of_vectors,
    timed,
)
from benchmarks.problems import PROBLEMS
from benchmarks.reports import (
    ABSENT,
    count,
    decimals,
    figures,
    show_table,
)

SIZES = (100, 1000, 4000, 16_000, 64_000, 100_000, 1_000_000)
MILLION = 1_000_000
LARGE = 10_000  # from where on growth is fitted
REPEATED_UP_TO = 4000
PREDICTED_FROM = 4000  # rows to fit on before so many are predicted:
PREDICTED_ROWS = 100_000
YARDSTICK = 40_000  # rows of SVR that a million rows of relvec are compared with
WAYS = ("in memory", "streamed")
NYSTROEM = "Nystroem + Ridge"
COLOURS = {
    "relvec": "#2b6a99",
    "SVR": "#c4572e",
    "SVC": "#c4572e",
    "fastrvm": "#7b5ea7",
    "Nystroem + Ridge": "#4d8a57",
    "floor": "#8a8a8a",
}


def key_of(kind, problem, size, model, *, seed=0):
    return kind, f"{problem.name}, {size} rows", model, seed


# Measuring


def all_sizes(problem, options):
    """The sizes asked for, and the one at which SVR is compared with a million."""
    wanted = set(options.sizes)
    if problem.name == "regression" and MILLION in wanted:
        wanted.add(YARDSTICK)
    return sorted(wanted)


def measure_fits(ledger, problem, options):
    """Runs of all contenders, from the smallest size to the largest."""
    field = of_given_width(problem)
    for contender in field:
        contender.make(WARM_UP_ROWS).fit(*problem.draw(WARM_UP_ROWS, 0))
    retired = set()
    for size in all_sizes(problem, options):
        entrants = [
            contender
            for contender in field
            if contender.name not in retired and size <= contender.largest
        ]
        if size not in options.sizes:
            entrants = [contender for contender in field if contender.name == "SVR"]
        for seed in range(options.seeds):
            repeat = options.repeat if size <= REPEATED_UP_TO else 1
            keys = race(ledger, problem, entrants, size, seed=seed, repeat=repeat)
            runs = [ledger.runs[key] for key in keys]
            retired |= {run.model for run in runs if is_last(run, field, options)}


def is_last(run, field, options):
    """Whether a contender failed, or a rival took too long."""
    rivals = {contender.name for contender in field if contender.rival}
    too_long = run.model in rivals and run.seconds > options.limit_seconds
    return run.failure is not None or too_long


def race(ledger, problem, entrants, size, *, seed, repeat):
    """Runs of all: the first lap of each, then the second of each, and so on."""
    keys = {e.name: key_of("fit", problem, size, e.name, seed=seed) for e in entrants}
    if set(keys.values()) <= ledger.runs.keys():
        return keys.values()
    X, y = problem.draw(size, seed)
    laps = {entrant.name: [] for entrant in entrants}
    models, failures = {}, {}
    for _ in range(repeat):
        for entrant in entrants:
            if entrant.name in failures:
                continue
            try:
                model = models[entrant.name] = entrant.make(size)
                laps[entrant.name].append(timed(model.fit, X, y))
            except Exception as failure:
                failures[entrant.name] = described_failure(failure)
    for name, key in keys.items():
        ledger.keep(
            key,
            lambda key=key, name=name: (
                Run(*key, failure=failures[name])
                if name in failures
                else judged(key, problem, laps[name], models[name])
            ),
        )
    return keys.values()


def judged(key, problem, laps, model):
    """The run with the error on test rows, where there is one, and the vectors."""
    error = problem.error(model) if hasattr(model, "predict") else np.nan
    vectors = number_of_vectors(model)
    return Run(*key, error=error, vectors=vectors, seconds=float(np.median(laps)))


def measure_predictions(ledger, problem, size, repeat=3):
    """Seconds to predict many rows, of relvec and of the support vector machine."""
    field = of_given_width(problem)[:2]
    keys = {one.name: key_of("predict", problem, size, one.name) for one in field}
    if set(keys.values()) <= ledger.runs.keys():
        return
    training, rows = problem.draw(size, 0), problem.draw(PREDICTED_ROWS, 1)[0]
    models = {one.name: one.make(size).fit(*training) for one in field}
    laps = {name: [] for name in models}
    for _ in range(repeat):
        for name, model in models.items():
            laps[name].append(timed(model.predict, rows))
    for name, key in keys.items():
        seconds = float(np.median(laps[name]))
        ledger.keep(key, lambda key=key, seconds=seconds: Run(*key, seconds=seconds))


def measure_memory(ledger, problem, size, threads):
    """Peaks of a fit in a fresh process, which reads the rows from files."""
    for way in WAYS:
        key = key_of("memory", problem, size, way)
        ledger.keep(key, lambda key=key, way=way: fit_apart(key, problem, way, threads))


def fit_apart(key, problem, way, threads):
    size = int(key[1].split()[-2])
    X, y = problem.draw(size, 0)
    with tempfile.TemporaryDirectory() as folder:
        np.save(Path(folder, "X.npy"), X)
        np.save(Path(folder, "y.npy"), y)
        np.save(Path(folder, "rows.npy"), np.column_stack([X, y]))
        given = fit_alone, problem.name, way, Path(folder)
        return Run(*key, **in_own_process(*given, threads=threads))


def rows_for(way, folder):
    """What to give to ``fit``, and the settings that go with it."""
    if way == "in memory":
        return (np.load(folder / "X.npy"), np.load(folder / "y.npy")), {}
    blocks = relvec.data.scan(str(folder / "rows.npy"), target=-1)
    return (blocks,), {"design": "streamed"}


def fit_alone(name, way, folder):
    """What this process needed for one fit."""
    problem = PROBLEMS[name]
    relvec_model(problem).fit(*problem.draw(WARM_UP_ROWS, 0))
    rows, settings = rows_for(way, folder)
    model = relvec_model(problem, **settings)
    before, _ = memory_in_use()
    started = time.perf_counter()
    model.fit(*rows)
    seconds = time.perf_counter() - started
    _, peak = memory_in_use()
    return {
        "peak": peak - before,
        "process": peak,
        "seconds": seconds,
        "error": problem.error(model),
        "vectors": len(model.relevance_),
    }


# What follows from it


@dataclass(frozen=True)
class Results:
    """The runs of a ledger, and the numbers that follow from them."""

    ledger: Ledger
    options: Any

    def of(self, problem, contender, size, kind="fit"):
        """Successful runs by seed."""
        return {
            seed: run
            for seed in range(self.options.seeds)
            if (run := self.run(kind, problem, size, contender, seed)) is not None
            and run.failure is None
        }

    def run(self, kind, problem, size, model, seed=0):
        return self.ledger.runs.get(key_of(kind, problem, size, model, seed=seed))

    def names(self, problem):
        return [contender.name for contender in of_given_width(problem)]

    def median(self, problem, contender, size, value="seconds"):
        """Median over the seeds, nan where there is none."""
        runs = self.of(problem, contender, size).values()
        return median([getattr(run, value) for run in runs])

    def ratio(self, problem, one, other, value="seconds"):
        """Median over the seeds of one (contender, size) over another, or nan."""
        first, second = self.of(problem, *one), self.of(problem, *other)
        return median(
            [
                getattr(first[seed], value) / getattr(second[seed], value)
                for seed in first.keys() & second.keys()
            ]
        )

    def timed_sizes(self, problem, contender):
        """Sizes at which a contender did not fail."""
        sizes = all_sizes(problem, self.options)
        return [size for size in sizes if self.of(problem, contender, size)]

    def exponent(self, problem, contender):
        """Slope of log seconds on log rows among the large sizes, or nan."""
        sizes = [n for n in self.timed_sizes(problem, contender) if n >= LARGE]
        if len(sizes) < 2:
            return np.nan
        seconds = [self.median(problem, contender, size) for size in sizes]
        return float(np.polyfit(np.log(sizes), np.log(seconds), 1)[0])

    def footprint(self, problem, way, size):
        """Gigabytes that a fit needed, or nan."""
        run = self.run("memory", problem, size, way)
        return np.nan if run is None else run.peak / 1e9

    def prediction_ratio(self, problem, rival, size):
        """Seconds of relvec over a rival's, both fitted on so many rows, or nan."""
        runs = [self.run("predict", problem, size, one) for one in (RELVEC, rival)]
        return np.nan if None in runs else runs[0].seconds / runs[1].seconds


@dataclass(frozen=True)
class Bar:
    """A measured number and what it may be at the most."""

    text: str
    measured: float
    limit: float

    @property
    def verdict(self):
        return "reached" if self.measured <= self.limit else "missed"


# Problem, rival, rows of relvec, rows of the rival, and the largest ratio of times.
RACES = (
    ("regression", "SVR", 1000, 1000, 3, "within 3× of SVR"),
    ("regression", "fastrvm", 1000, 1000, 1 / 2, "2× faster than fastrvm"),
    ("regression", "SVR", 4000, 4000, 1, "not slower than SVR"),
    ("regression", "SVR", 16_000, 16_000, 1 / 5, "5× faster than SVR"),
    ("classification", "SVC", 16_000, 16_000, 1, "not slower than SVC"),
    ("classification", "SVC", 64_000, 64_000, 1 / 5, "5× faster than SVC"),
    ("regression", "SVR", MILLION, YARDSTICK, 1, "faster than SVR on 40 000"),
    ("regression", NYSTROEM, MILLION, MILLION, 1, f"not slower than {NYSTROEM}"),
    ("regression", "floor", MILLION, MILLION, 3, "within 3× of the floor"),
)
GIGABYTES = dict(zip(WAYS, (4, 1), strict=True))


def bars(results):
    """All bars whose sizes were run."""
    found = [
        Bar(
            f"{name}, {count(size)} rows: {text} (ratio of seconds)",
            results.ratio(PROBLEMS[name], (RELVEC, size), (rival, rival_size)),
            limit,
        )
        for name, rival, size, rival_size, limit, text in RACES
    ]
    regression = PROBLEMS["regression"]
    error = results.ratio(regression, (RELVEC, MILLION), (NYSTROEM, MILLION), "error")
    text = f"regression, 1 000 000 rows: no worse than {NYSTROEM} (ratio of RMSE)"
    found.append(Bar(text, error, 1))
    for name, problem in PROBLEMS.items():
        slope = results.exponent(problem, RELVEC)
        found.append(Bar(f"{name}: exponent from 10 000 rows on", slope, 1.1))
        for way, limit in GIGABYTES.items():
            text = f"{name}, 1 000 000 rows {way}: peak of a fit (GB)"
            found.append(Bar(text, results.footprint(problem, way, MILLION), limit))
    ratio = results.prediction_ratio(regression, "SVR", PREDICTED_FROM)
    text = "regression: prediction 10× faster than SVR's (ratio of seconds)"
    found.append(Bar(text, ratio, 1 / 10))
    return [bar for bar in found if not math.isnan(bar.measured)]


# Reporting


def show_fits(results, problem):
    """Seconds, error and vectors: medians over the seeds."""
    sizes = all_sizes(problem, results.options)
    for title, value, shown in (
        ("seconds to fit", "seconds", figures),
        (f"{problem.measure} on test rows", "error", decimals),
        ("vectors", "vectors", count),
    ):
        columns = {
            name: [shown(results.median(problem, name, size, value)) for size in sizes]
            for name in results.names(problem)
        }
        kept = {
            name: cells for name, cells in columns.items() if set(cells) != {ABSENT}
        }
        rows = list(zip(map(count, sizes), *kept.values(), strict=True))
        show_table(f"{problem.name.capitalize()}: {title}", ["rows", *kept], rows)


def show_growth(results, problems):
    rows = [
        [f"{problem.name}, {name}", figures(results.exponent(problem, name))]
        for problem in problems
        for name in results.names(problem)
    ]
    rows = [row for row in rows if row[1] != ABSENT]
    title = "Growth from 10 000 rows on: seconds ∝ rows^exponent"
    show_table(title, ["contender", "exponent"], rows)


def show_memory(results, problems):
    """Peaks of memory, or why there is none."""
    rows = []
    for problem in problems:
        for size in results.options.sizes:
            for way in WAYS:
                run = results.run("memory", problem, size, way)
                if run is None:
                    continue
                label = f"{problem.name}, {way}", count(size)
                if run.failure is not None:
                    rows.append([*label, run.failure, *4 * [ABSENT]])
                    continue
                megabytes = count(run.peak / 1e6), count(run.process / 1e6)
                rest = figures(run.seconds), decimals(run.error), count(run.vectors)
                rows.append([*label, *megabytes, *rest])
    header = ["relvec", "rows", "fit (MB)", "process (MB)", "seconds", "error"]
    show_table("Peak memory of a fit", [*header, "vectors"], rows)


def show_predictions(results, problems):
    size = predicted_from(results.options)
    rows = [
        [
            f"{problem.name}, {name}",
            *map(count, (size, PREDICTED_ROWS)),
            figures(run.seconds),
        ]
        for problem in problems
        for name in results.names(problem)
        if (run := results.run("predict", problem, size, name)) is not None
    ]
    show_table("Prediction", ["contender", "fitted on", "rows", "seconds"], rows)


def show_bars(results):
    rows = [
        [bar.text, figures(bar.measured), figures(bar.limit), bar.verdict]
        for bar in bars(results)
    ]
    show_table("Bars", ["bar", "measured", "at most", "verdict"], rows)


def draw(results, problems, path):
    """A panel for each problem, a line for each contender."""
    # The picture alone needs matplotlib.
    from matplotlib.figure import Figure

    width = 1 + 5 * len(problems)
    fig = Figure(figsize=(width, 4.4), layout="constrained")
    panels = fig.subplots(1, len(problems), sharey=True, squeeze=False)[0]
    for ax, problem in zip(panels, problems, strict=True):
        draw_problem(ax, results, problem)
    panels[0].set_ylabel("seconds to fit")
    path.parent.mkdir(parents=True, exist_ok=True)
    fig.savefig(path, dpi=150)
    print(f"Picture: {path}")


def draw_problem(ax, results, problem):
    for name in results.names(problem):
        sizes = results.timed_sizes(problem, name)
        seconds = [results.median(problem, name, size) for size in sizes]
        style = "--" if name == "floor" else "-"
        width = 2.4 if name == RELVEC else 1.4
        colour = COLOURS[name]
        ax.plot(
            sizes, seconds, style, marker="o", ms=4, lw=width, label=name, color=colour
        )
    draw_guide(ax, results, problem)
    ax.set(xscale="log", yscale="log", xlabel="rows", title=problem.name)
    ax.spines[["right", "top"]].set_visible(False)
    ax.legend(frameon=False, fontsize=9, loc="best")


def draw_guide(ax, results, problem):
    """A dotted line of slope one, through the last point of relvec."""
    sizes = results.timed_sizes(problem, RELVEC)
    if len(sizes) < 2:
        return
    ends = np.array([max(sizes[0], sizes[-1] / 100), sizes[-1]])
    line = ends / ends[1] * results.median(problem, RELVEC, sizes[-1])
    ax.plot(ends, line, ":", color="#bbbbbb", lw=1, zorder=0, label="∝ rows")


# The command


def predicted_from(options):
    """Rows to fit on before prediction is timed."""
    return min(PREDICTED_FROM, max(options.sizes))


def run(options):
    ledger = Ledger(options.json)
    problems = [PROBLEMS[name] for name in PROBLEMS if name in options.problems]
    for problem in problems:
        measure_fits(ledger, problem, options)
        measure_predictions(ledger, problem, predicted_from(options))
    for problem in problems:
        for size in options.sizes:
            if size >= options.memory_from:
                measure_memory(ledger, problem, size, options.threads)
    results = Results(ledger, options)
    for problem in problems:
        show_fits(results, problem)
    show_growth(results, problems)
    show_memory(results, problems)
    show_predictions(results, problems)
    show_bars(results)
    draw(results, problems, options.picture)


def sizes(text):
    found = tuple(sorted({int(number) for number in text.split(",")}))
    if found[0] < 10:
        raise argparse.ArgumentTypeError(f"sizes must be at least 10, not {found[0]}")
    return found


def problem_names(text):
    names = text.split(",")
    if not set(names) <= PROBLEMS.keys():
        choices = ", ".join(PROBLEMS)
        raise argparse.ArgumentTypeError(f"{text!r} is not a list of {choices}")
    return names


def add_options(parser):
    add = parser.add_argument
    add("--sizes", type=sizes, default=SIZES, help="numbers of rows, with commas")
    add("--seeds", type=int, default=3, help="draws of each problem")
    add("--repeat", type=int, default=3, help="fits of each, up to 4000 rows")
    names = list(PROBLEMS)
    add("--problems", type=problem_names, default=names, help="with commas")
    text = "a rival that took longer is not run on larger sizes"
    add("--limit-seconds", type=float, default=60.0, help=text)
    text = "rows from which on peak memory is measured"
    add("--memory-from", type=int, default=100_000, help=text)
    picture = Path("benchmark-output", "scale.png")
    add("--picture", type=Path, default=picture, help="where to draw")


BENCHMARKS = {
    "scale": Benchmark(
        "time and memory against rows, beside SVR, fastrvm and Nystroem",
        run,
        add_options,
        keeps_fits=True,
    )
}
