"""Time against size, on logarithmic axes."""

import numpy as np
from matplotlib.figure import Figure

COLOURS = {
    "relvec": "#2b6a99",
    "SVR": "#c4572e",
    "SVC": "#c4572e",
    "fastrvm": "#7b5ea7",
    "Nystroem + Ridge": "#4d8a57",
    "floor": "#8a8a8a",
}


def draw(results, problems, path):
    """A panel for each problem, a line for each contender."""
    width = 1 + 5 * len(problems)
    fig = Figure(figsize=(width, 4.4), layout="constrained")
    panels = fig.subplots(1, len(problems), sharey=True, squeeze=False)[0]
    for ax, problem in zip(panels, problems, strict=True):
        draw_problem(ax, results, problem)
    panels[0].set_ylabel("seconds to fit")
    path.parent.mkdir(parents=True, exist_ok=True)
    fig.savefig(path, dpi=150)


def draw_problem(ax, results, problem):
    for name in results.names(problem):
        sizes = [
            size for size in results.sizes(problem) if results.of(problem, name, size)
        ]
        seconds = [results.median(problem, name, size) for size in sizes]
        style = "--" if name == "floor" else "-"
        width = 2.4 if name == "relvec" else 1.4
        ax.plot(
            sizes,
            seconds,
            style,
            marker="o",
            ms=4,
            lw=width,
            label=name,
            color=COLOURS[name],
        )
    draw_guide(ax, results, problem)
    ax.set(xscale="log", yscale="log", xlabel="rows", title=problem)
    ax.spines[["right", "top"]].set_visible(False)
    ax.legend(frameon=False, fontsize=9, loc="best")


def draw_guide(ax, results, problem):
    """A dotted line of slope one, through the last point of relvec."""
    sizes = [
        size for size in results.sizes(problem) if results.of(problem, "relvec", size)
    ]
    if len(sizes) < 2:
        return
    ends = np.array([max(sizes[0], sizes[-1] / 100), sizes[-1]])
    line = ends / ends[1] * results.median(problem, "relvec", sizes[-1])
    ax.plot(ends, line, ":", color="#bbbbbb", lw=1, zorder=0, label="∝ rows")
