"""What rows say of some functions, summed up over parts: all that ever leaves them."""

from dataclasses import dataclass
from functools import partial, reduce

import numpy as np

from relvec.basis import Basis, blocks
from relvec.design import DenseDesign
from relvec.design.compressed import Inner, compressed
from relvec.evidence import Problem
from relvec.likelihoods import HeldObservations, Likelihood
from relvec.modelling import TrainingSet
from relvec.partition.parts import Parts
from relvec.typing import Array


@dataclass(frozen=True)
class Sums:
    """Inner products of functions and pseudo-observations, and log densities.

    Outputs have inner products in common, or each its own.
    """

    inner: tuple[Inner, ...]
    log_densities: Array  # at each of the weights that were asked for

    def __add__(self, other: "Sums") -> "Sums":
        pairs = zip(self.inner, other.inner, strict=True)
        both = tuple(one + two for one, two in pairs)
        return Sums(both, self.log_densities + other.log_densities)

    @property
    def gram(self) -> Array:
        """(1 or K, M, M) ΦᵀBΦ."""
        return np.stack([one.gram for one in self.inner])

    @property
    def target(self) -> Array:
        """(K, M) ΦᵀBt̂."""
        return np.concatenate([one.target for one in self.inner])

    def squares(self, weights: Array) -> float:
        """(t̂ − Φw)ᵀB(t̂ − Φw) of all outputs, for weights (K, M)."""
        squares = np.concatenate([one.target_squares for one in self.inner])
        fitted = np.sum(weights * (self.gram @ weights[:, :, None])[:, :, 0], axis=1)
        return float(
            np.sum(squares - 2 * np.sum(weights * self.target, axis=1) + fitted)
        )

    def problem(self, likelihood: Likelihood, bias: int | None) -> Problem:
        """The problem that is left, of as few rows as there are functions."""
        if likelihood.conjugate:
            design, y, weights = compressed(self.inner[0])
            return Problem(design, y, likelihood, weights, bias)
        if len(self.inner) == 1:
            design, y, weights = compressed(self.inner[0])
            held = HeldObservations(np.ones((len(y), 1)))
            return Problem(design, y, held, weights, bias)
        return self._stacked(bias)

    def _stacked(self, bias: int | None) -> Problem:
        """The rows of one output below those of another."""
        each = [compressed(one) for one in self.inner]
        size = len(each)
        matrix = np.concatenate([design.matrix for design, _, _ in each])
        y = np.zeros((len(matrix), size))
        belongs, weights = np.zeros_like(y), np.concatenate([w for _, _, w in each])
        first = 0
        for output, (_, target, _) in enumerate(each):
            own = slice(first, first + len(target))
            y[own, output], belongs[own, output] = target[:, 0], 1.0
            first = own.stop
        design = DenseDesign.weighted(np.asfortranarray(matrix), weights)
        return Problem(design, y, HeldObservations(belongs), weights, bias)


def summed(parts: Parts, basis: Basis, likelihood: Likelihood, tried: Array) -> Sums:
    """One pass over all rows, with weights (tries, outputs, functions).

    Pseudo-observations are those at the first of them.
    """
    work = partial(_of_part, basis, likelihood.rescaled(1.0), tried)
    found = (one for one in parts.each(work) if one is not None)
    return reduce(lambda one, two: one + two, found)


def _of_part(
    basis: Basis, likelihood: Likelihood, tried: Array, part: TrainingSet
) -> Sums | None:
    """None of a part without rows."""
    X, total = part.table, None
    for rows in blocks(len(part), len(basis)):
        found = _of_rows(
            basis(X[rows]), likelihood, tried, part.targets[rows], part.weight[rows]
        )
        total = found if total is None else total + found
    return total


def _of_rows(
    functions: Array, likelihood: Likelihood, tried: Array, y: Array, weight: Array
) -> Sums:
    etas = [functions @ weights.T for weights in tried]
    seen = likelihood.pseudo_observations(y, etas[0], weight)
    count = float(weight.sum())
    columns = seen.row_weights.T
    targets = [seen.target] if len(columns) == 1 else seen.target.T[:, :, None]
    inner = []
    for row_weights, target in zip(columns, targets, strict=True):
        one = Inner.of(functions, target, row_weights)
        inner.append(Inner(one.gram, one.target, one.target_squares, count))
    densities = [likelihood.log_density(y, eta, weight) for eta in etas]
    return Sums(tuple(inner), np.array(densities))
