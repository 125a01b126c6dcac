"""Fewer support vectors: the rows of least |α| leave, and the rest is solved again.

Suykens' post-learning pruning: α = CVe are errors, so rows that the others predict best
go first. A twentieth goes at a time, since α of the rest changes with each.
"""

from dataclasses import replace

import numpy as np

from relvec.lssvm.dual import DualSolution, DualSystem
from relvec.modelling import TrainingSet
from relvec.typing import Array, Indices

_AT_A_TIME = 0.05


def pruned(
    solution: DualSolution, targets: Array, C: float, count: int
) -> tuple[DualSolution, Indices, int]:
    """The solution on so many rows, which these are, and systems solved on the way."""
    kept, solved = np.arange(len(targets)), 0
    system = solution.system
    while len(kept) > count:
        size = np.abs(solution.coefficients).sum(axis=1)
        leaving = min(max(int(_AT_A_TIME * len(kept)), 1), len(kept) - count)
        stay = np.sort(np.argsort(-size, kind="stable")[: len(kept) - leaving])
        kept = kept[stay]
        solution = _subset(system, kept).solved(targets[kept], C)
        solved += 1
    return solution, kept, solved


def merged(data: TrainingSet) -> TrainingSet:
    """Rows that are there again count as one of their weight: none is pruned apart."""
    table = data.table
    if table.dtype == object:
        return data
    both = np.hstack([table, data.targets])
    first = np.r_[True, np.any(both[1:] != both[:-1], axis=1)]  # rows are in order
    if first.all():
        return data
    chosen = np.flatnonzero(first)
    fewer = data.subset(chosen)
    weight = np.add.reduceat(data.weight, chosen)
    return replace(fewer, rows=replace(fewer.rows, weight=weight))


def _subset(system: DualSystem, rows: Indices) -> DualSystem:
    return replace(
        system,
        functions=system.functions.subset(rows),
        rows=system.rows[rows],
        weight=system.weight[rows],
    )
