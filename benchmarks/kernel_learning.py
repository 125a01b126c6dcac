"""Learned kernels: the paper's experiments, rivals, criteria, classes.

Yuan, Bo, Wang and Yu (2009), "Adaptive spherical Gaussian kernel in sparse Bayesian
learning framework for nonlinear regression", Expert Systems with Applications 36,
3982-3989, whose figures stand beside those measured.
"""

import argparse
from pathlib import Path

import learning_beside
import learning_paper
from learning_runs import Ledger
from machine import limited_threads

# What measures each section, and what shows it.
SECTIONS = {
    "multiscale": (learning_paper.measure_multiscale, learning_paper.show_multiscale),
    "plane": (learning_paper.measure_plane, learning_paper.show_plane),
    "tables": (learning_paper.measure_tables, learning_paper.show_tables),
    "rivals": (learning_beside.measure_rivals, learning_beside.show_rivals),
    "criteria": (learning_beside.measure_criteria, learning_beside.show_criteria),
    "classes": (learning_beside.measure_classes, learning_beside.show_classes),
}


def arguments():
    parser = argparse.ArgumentParser(description=__doc__)
    text = "sections to run; all by default"
    parser.add_argument(
        "--only", nargs="+", choices=SECTIONS, default=list(SECTIONS), help=text
    )
    text = "draws of each problem, instead of as many as each section has"
    parser.add_argument("--seeds", type=int, help=text)
    sides = learning_paper.SIDES
    text = "of the plane, in points"
    parser.add_argument(
        "--sides", nargs="+", type=int, choices=sides, default=sides, help=text
    )
    sets = list(learning_beside.SETS)
    parser.add_argument(
        "--sets", nargs="+", choices=sets, default=sets, help="of the rivals"
    )
    text = "rivals to leave out, as they are slow"
    parser.add_argument(
        "--without",
        nargs="+",
        choices=learning_beside.RIVALS,
        default=[],
        help=text,
    )
    parser.add_argument("--threads", type=int, default=1)
    text = "keeps outcomes, and takes those that are there"
    parser.add_argument("--json", type=Path, help=text)
    return parser.parse_args()


def main():
    options = arguments()
    ledger = Ledger(options.json)
    for name in options.only:
        measure, show = SECTIONS[name]
        with limited_threads(options.threads):
            measure(ledger, options)
        show(ledger, options)
        print(flush=True)
    show_complaints(ledger, options)


def show_complaints(ledger, options):
    """Fits that failed, and how many warned."""
    runs = [run for run in ledger.runs.values() if run.section in options.only]
    for run in runs:
        if run.failure:
            print(f"{' '.join(map(str, run.key))}: {run.failure}")
    warned = sum(run.warned > 0 for run in runs)
    print(f"{warned} of {len(runs)} fits warned.")


if __name__ == "__main__":
    main()
