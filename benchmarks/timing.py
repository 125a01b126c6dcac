"""Seconds to fit and to predict, all contenders in alternation."""

import time
from dataclasses import dataclass, replace

import numpy as np
from contenders import contenders

WARM_UP_ROWS = 100
REPEATED_UP_TO = 4000
PREDICTED_FROM = 4000
YARDSTICK = 40_000  # rows of SVR that a million rows of relvec are compared with


@dataclass(frozen=True)
class Plan:
    """What to run: sizes, seeds and repeats, and when to give a rival up."""

    sizes: tuple[int, ...]
    seeds: int
    repeat: int
    limit_seconds: float

    def all_sizes(self, problem):
        wanted = set(self.sizes)
        if problem.name == "regression" and 1_000_000 in wanted:
            wanted.add(YARDSTICK)
        return sorted(wanted)

    def repeats(self, size):
        return self.repeat if size <= REPEATED_UP_TO else 1


@dataclass(frozen=True)
class Run:
    """One contender on one draw of a problem."""

    problem: str
    contender: str
    size: int
    seed: int
    laps: tuple[float, ...] = ()
    error: float | None = None
    vectors: int | None = None
    failure: str | None = None

    @property
    def seconds(self):
        return float(np.median(self.laps)) if self.laps else np.nan


@dataclass(frozen=True)
class Prediction:
    """Median seconds of each contender, fitted on so many rows, for so many others."""

    problem: str
    size: int
    n_rows: int
    seconds: dict[str, float]


def timed(action, *arguments):
    started = time.perf_counter()
    action(*arguments)
    return time.perf_counter() - started


def described(failure):
    return f"{type(failure).__name__}: {failure}"


def measure(problem, plan):
    """Runs of all contenders, from the smallest size to the largest."""
    field = contenders(problem)
    for contender in field:
        contender.make(WARM_UP_ROWS).fit(*problem.draw(WARM_UP_ROWS, 0))
    retired = set()
    for size in plan.all_sizes(problem):
        entrants = [
            contender
            for contender in field
            if contender.name not in retired and size <= contender.largest
        ]
        if size not in plan.sizes:
            entrants = [contender for contender in field if contender.name == "SVR"]
        for seed in range(plan.seeds):
            runs = race(problem, entrants, size, seed, plan.repeats(size))
            retired |= {run.contender for run in runs if is_last(run, field, plan)}
            yield from runs


def is_last(run, field, plan):
    """Whether a contender failed, or a rival took too long."""
    rivals = {contender.name for contender in field if contender.rival}
    too_long = run.contender in rivals and run.seconds > plan.limit_seconds
    return run.failure is not None or too_long


def race(problem, entrants, size, seed, repeat):
    """A run of each entrant: first lap of all, second lap of all, and so on."""
    X, y = problem.draw(size, seed)
    runs = [Run(problem.name, entrant.name, size, seed) for entrant in entrants]
    for lap in range(1, repeat + 1):
        for place, entrant in enumerate(entrants):
            if runs[place].failure is not None:
                continue
            try:
                model = entrant.make(size)
                seconds = timed(model.fit, X, y)
                runs[place] = replace(runs[place], laps=(*runs[place].laps, seconds))
                if lap == repeat:
                    runs[place] = judged(problem, runs[place], model)
            except Exception as failure:
                runs[place] = replace(runs[place], laps=(), failure=described(failure))
    return runs


def judged(problem, run, model):
    """The run with the error on test rows, where there is one, and the vectors."""
    kept = getattr(model, "relevance_", getattr(model, "support_", None))
    vectors = None if kept is None else len(kept)
    error = problem.error(model) if hasattr(model, "predict") else None
    return replace(run, error=error, vectors=vectors)


def measure_prediction(problem, size, n_rows=100_000, repeat=3):
    """Seconds to predict, of relvec and of the support vector machine."""
    training, rows = problem.draw(size, 0), problem.draw(n_rows, 1)[0]
    models = {
        contender.name: contender.make(size).fit(*training)
        for contender in contenders(problem)[:2]
    }
    laps = {name: [] for name in models}
    for _ in range(repeat):
        for name, model in models.items():
            laps[name].append(timed(model.predict, rows))
    seconds = {name: float(np.median(times)) for name, times in laps.items()}
    return Prediction(problem.name, size, n_rows, seconds)
