"""Which rows the noise is estimated from.

The residual of the model has the mean square σ²(N − Σγ)/N over all rows, and over rows
drawn by chance as well: so their squares, scaled to as many as there are in all, take
the place of ‖t − Φμ‖² and every update stays as it is. The rows that functions are
centred on are no such sample: they are explained better than others.
"""

from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np

from relvec.chance import generator
from relvec.evidence.base import Problem
from relvec.parameters import check_choice, check_count, check_fraction
from relvec.typing import Array, Indices


class NoiseRows(Protocol):
    """A weighting of rows for the estimate of the noise."""

    def weight(self, problem: Problem, active: Indices) -> Array:
        """(N,) in the place of the sample weights, with the same sum."""


class AllRows:
    """As they count for everything else."""

    def weight(self, problem: Problem, active: Indices) -> Array:
        return problem.sample_weight


@dataclass(frozen=True)
class Drawn:
    """Some rows, always the same."""

    rows: Indices

    def weight(self, problem: Problem, active: Indices) -> Array:
        return _scaled(problem.sample_weight, self.rows)


class AtCentres:
    """Those that functions in the model are centred on; all if there is none."""

    def weight(self, problem: Problem, active: Indices) -> Array:
        assert problem.centre_rows is not None
        rows = problem.centre_rows[active]
        found = np.unique(rows[rows >= 0])
        weight = problem.sample_weight
        return _scaled(weight, found) if len(found) else weight


def check_noise_from(value: Any) -> None:
    """Refuse what is no word, no number of rows and no share of them."""
    if isinstance(value, str):
        check_choice("noise_from", value, ("all", "active"))
    elif isinstance(value, float):
        check_fraction("noise_from", value)
    else:
        check_count("noise_from", value)


def noise_rows(value: Any, problem: Problem, seed: int) -> NoiseRows:
    """What such a value means for a problem."""
    if isinstance(value, str):
        if value == "active" and problem.centre_rows is None:
            raise ValueError(
                "noise_from='active' looks at the rows that functions are centred on, "
                "and here they are centred on none: set it to 'all', to a number of "
                "rows or to a share of them"
            )
        return AtCentres() if value == "active" else AllRows()
    n_rows = len(problem.sample_weight)
    count = int(np.ceil(value * n_rows)) if isinstance(value, float) else int(value)
    if count >= n_rows:
        return AllRows()
    return Drawn(np.sort(generator(seed).permutation(n_rows)[:count]))


def _scaled(weight: Array, rows: Indices) -> Array:
    """Of some rows alone, with the sum of all."""
    some = np.zeros_like(weight)
    some[rows] = weight[rows]
    return some * (weight.sum() / some.sum())
