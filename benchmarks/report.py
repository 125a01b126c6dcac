"""What was measured, as tables."""

from bars import bars
from markdown import ABSENT, count, decimals, figures, table


def show(results, problems):
    """Print all tables."""
    show_machine(results.machine)
    for problem in problems:
        show_fits(results, problem)
    show_growth(results, problems)
    show_memory(results)
    show_predictions(results)
    show_bars(results)


def show_machine(machine):
    names = (f"{name} {number}" for name, number in machine["versions"].items())
    print(f"Processor: {machine['processor']}; cores in use: {machine['cores']}.")
    print(f"Threads: {', '.join(machine['threads'])}.")
    print(f"Versions: {', '.join(names)}.")


def show_table(title, header, rows):
    if rows:
        print(f"\n### {title}\n\n{table(header, rows)}")


def show_fits(results, problem):
    """Seconds, error and vectors: medians over the seeds."""
    for title, value, shown in (
        ("seconds to fit", "seconds", figures),
        (f"{problem.measure} on test rows", "error", decimals),
        ("vectors", "vectors", count),
    ):
        columns = {
            name: [
                shown(results.median(problem.name, name, size, value))
                for size in results.sizes(problem.name)
            ]
            for name in results.names(problem.name)
        }
        kept = {
            name: cells for name, cells in columns.items() if set(cells) != {ABSENT}
        }
        labels = [count(size) for size in results.sizes(problem.name)]
        rows = list(zip(labels, *kept.values(), strict=True))
        show_table(f"{problem.name.capitalize()}: {title}", ["rows", *kept], rows)


def show_growth(results, problems):
    rows = [
        [f"{problem.name}, {name}", figures(results.exponent(problem.name, name))]
        for problem in problems
        for name in results.names(problem.name)
    ]
    rows = [row for row in rows if row[1] != ABSENT]
    title = "Growth from 10 000 rows on: seconds ∝ rows^exponent"
    show_table(title, ["contender", "exponent"], rows)


def show_memory(results):
    """Footprints, or why there is none."""
    rows = []
    for found in results.footprints:
        label = f"{found.problem}, {found.way}", count(found.size)
        if found.failure is not None:
            rows.append([*label, found.failure, *4 * [ABSENT]])
            continue
        megabytes = count(found.fit / 1e6), count(found.process / 1e6)
        rest = figures(found.seconds), decimals(found.error), count(found.vectors)
        rows.append([*label, *megabytes, *rest])
    header = ["relvec", "rows", "fit (MB)", "process (MB)", "seconds", "error"]
    show_table("Peak memory of a fit", [*header, "vectors"], rows)


def show_predictions(results):
    rows = [
        [
            f"{found.problem}, {name}",
            *map(count, (found.size, found.n_rows)),
            figures(seconds),
        ]
        for found in results.predictions
        for name, seconds in found.seconds.items()
    ]
    header = ["contender", "fitted on", "rows", "seconds"]
    show_table("Prediction", header, rows)


def show_bars(results):
    rows = [
        [bar.text, figures(bar.measured), figures(bar.limit), bar.verdict]
        for bar in bars(results)
    ]
    show_table("Bars", ["bar", "measured", "at most", "verdict"], rows)
