"""Time against the number of rows, relvec and its rivals side by side.

Prints tables in Markdown, draws a picture, and says which of relvec's bars were
reached. All contenders run on the same rows, in alternation, with the same threads.
"""

import argparse
import json
import sys
from pathlib import Path

from machine import describe_machine, limited_threads
from markdown import figures
from memory import WAYS, measure_memory
from picture import draw
from problems import PROBLEMS
from report import show
from results import Results
from timing import PREDICTED_FROM, Plan, measure, measure_prediction

SIZES = "100,1000,4000,16000,64000,100000,1000000"


def sizes(text):
    found = sorted({int(number) for number in text.split(",")})
    if found[0] < 10:
        raise argparse.ArgumentTypeError(f"sizes must be at least 10, not {found[0]}")
    return tuple(found)


def problem_names(text):
    names = text.split(",")
    if not set(names) <= PROBLEMS.keys():
        choices = ", ".join(PROBLEMS)
        raise argparse.ArgumentTypeError(f"{text!r} is not a list of {choices}")
    return [name for name in PROBLEMS if name in names]


def options():
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.ArgumentDefaultsHelpFormatter
    )
    add = parser.add_argument
    add("--sizes", type=sizes, default=SIZES, help="numbers of rows, with commas")
    add("--seeds", type=int, default=3, help="draws of each problem")
    add("--repeat", type=int, default=3, help="fits of each, up to 4000 rows")
    add(
        "--problems", type=problem_names, default=",".join(PROBLEMS), help="with commas"
    )
    text = "a rival that took longer is not run on larger sizes"
    add("--limit-seconds", type=float, default=60.0, help=text)
    add("--threads", type=int, help="threads and cores to use; all if not given")
    text = "rows from which on peak memory is measured"
    add("--memory-from", type=int, default=100_000, help=text)
    picture = Path("benchmark-output", "scale.png")
    add("--picture", type=Path, default=picture, help="where to draw")
    add("--json", type=Path, help="where to write all that was measured")
    return parser.parse_args()


def collect(results, chosen):
    """Measure everything, with a line on stderr for each result."""
    plan = Plan(chosen.sizes, chosen.seeds, chosen.repeat, chosen.limit_seconds)
    for name in chosen.problems:
        for run in measure(PROBLEMS[name], plan):
            results.runs.append(run)
            outcome = run.failure or f"{figures(run.seconds)} s"
            say(f"{name}, {run.size} rows, seed {run.seed}: {run.contender} {outcome}")
        size = min(PREDICTED_FROM, max(chosen.sizes))
        results.predictions.append(measure_prediction(PROBLEMS[name], size))
    for name in chosen.problems:
        for size in chosen.sizes:
            if size >= chosen.memory_from:
                collect_memory(results, PROBLEMS[name], size, chosen.threads)


def collect_memory(results, problem, size, threads):
    for way in WAYS:
        found = measure_memory(problem, size, way, threads)
        results.footprints.append(found)
        outcome = found.failure or f"{found.fit / 1e6:.0f} MB"
        say(f"{problem.name}, {size} rows {way}: {outcome}")


def say(text):
    print(text, file=sys.stderr, flush=True)


def write(path, results):
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps(results.as_dictionary(), indent=1) + "\n")


def main():
    chosen = options()
    with limited_threads(chosen.threads):
        results = Results(describe_machine())
        try:
            collect(results, chosen)
        finally:
            if chosen.json is not None:
                write(chosen.json, results)
    show(results, [PROBLEMS[name] for name in chosen.problems])
    draw(results, chosen.problems, chosen.picture)
    print(f"\nPicture: {chosen.picture}")


if __name__ == "__main__":
    main()
