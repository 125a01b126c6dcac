"""What rows say of some functions, summed up over parts: all that ever leaves them."""

from dataclasses import dataclass
from functools import partial, reduce

import numpy as np

from relvec.basis import Basis, blocks
from relvec.design.compressed import in_place_of_rows
from relvec.evidence import Problem
from relvec.likelihoods import HeldObservations, Likelihood
from relvec.linalg import column_norms, rotated, triangle_beside_prior
from relvec.modelling import TrainingSet
from relvec.partition.parts import Parts
from relvec.typing import Array

# Numbers in a block of Φ, 32 MB: so many rows that the triangle above them, which is
# turned again with every block, is a small part of the work.
_BLOCK_ENTRIES = 4_000_000


@dataclass(frozen=True)
class Sums:
    """Rows with the inner products of functions and pseudo-observations of all.

    Triangles by orthogonal transformations, which have all digits: inner products have
    half of them, too few where there is little noise. Outputs have rows in common, or
    each its own.
    """

    triangles: tuple[Array, ...]  # (r, M + outputs) each, W^½[Φ t̂] turned
    n_functions: int
    weight: float  # Σv
    norms: Array  # (M,) √Σvφ²
    log_densities: Array  # at each of the weights that were asked for

    def __add__(self, other: "Sums") -> "Sums":
        pairs = zip(self.triangles, other.triangles, strict=True)
        return Sums(
            tuple(rotated(np.vstack(pair)) for pair in pairs),
            self.n_functions,
            self.weight + other.weight,
            np.hypot(self.norms, other.norms),
            self.log_densities + other.log_densities,
        )

    @property
    def functions(self) -> list[Array]:
        """(r, M) of every triangle."""
        return [one[:, : self.n_functions] for one in self.triangles]

    @property
    def sizes(self) -> Array:
        """(M,) root mean squares of the functions over the rows."""
        return self.norms / np.sqrt(self.weight)

    @property
    def target(self) -> Array:
        """(K, M) ΦᵀBt̂."""
        targets = [one[:, self.n_functions :] for one in self.triangles]
        pairs = zip(targets, self.functions, strict=True)
        return np.concatenate([t.T @ V for t, V in pairs])

    def information(self, weights: Array) -> Array:
        """ΦᵀBΦw (K, M), for weights (K, M)."""
        each = self.functions
        if len(each) == 1:
            return weights @ each[0].T @ each[0]
        pairs = zip(weights, each, strict=True)
        return np.stack([w @ V.T @ V for w, V in pairs])

    def factor(self, prior_precision: Array) -> Array:
        """Lower Cholesky factors of I + A^(-1/2)ΦᵀBΦA^(-1/2), (1 or K, M, M)."""
        root = 1 / np.sqrt(prior_precision)
        return np.stack([triangle_beside_prior(V * root) for V in self.functions])

    def problem(self, likelihood: Likelihood, bias: int | None) -> Problem:
        """The problem that is left, of about as few rows as there are functions."""
        V = np.concatenate(self.functions)
        y, belongs = self._targets(len(V))
        design, y, weights = in_place_of_rows(V, y, self.weight)
        if not likelihood.conjugate:
            likelihood = HeldObservations(belongs)
        return Problem(design, y, likelihood, weights, bias)

    def _targets(self, n_rows: int) -> tuple[Array, Array]:
        """Of all outputs, and which row tells of which."""
        targets = [one[:, self.n_functions :] for one in self.triangles]
        if len(targets) == 1:
            return targets[0], np.ones((n_rows, 1))
        y, belongs = np.zeros((2, n_rows, len(targets)))
        first = 0
        for output, target in enumerate(targets):
            own = slice(first, first + len(target))
            y[own, output], belongs[own, output] = target[:, 0], 1.0
            first = own.stop
        return y, belongs


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
    for rows in blocks(len(part), len(basis), _BLOCK_ENTRIES):
        total = _with_rows(
            total,
            basis(X[rows]),
            likelihood,
            tried,
            (part.targets[rows], part.weight[rows]),
        )
    return total


def _with_rows(
    before: Sums | None,
    functions: Array,
    likelihood: Likelihood,
    tried: Array,
    observed: tuple[Array, Array],
) -> Sums:
    """With further rows: of these their functions, targets and weights."""
    y, weight = observed
    etas = [functions @ weights.T for weights in tried]
    seen = likelihood.pseudo_observations(y, etas[0], weight)
    roots = np.sqrt(seen.row_weights).T[:, :, None]
    targets = [seen.target] if len(roots) == 1 else seen.target.T[:, :, None]
    above = (None,) * len(roots) if before is None else before.triangles
    triangles = tuple(
        _turned(triangle, functions, target, root)
        for triangle, target, root in zip(above, targets, roots, strict=True)
    )
    densities = np.array([likelihood.log_density(y, eta, weight) for eta in etas])
    count, norms = float(weight.sum()), column_norms(functions, weight)
    if before is not None:
        densities, count = before.log_densities + densities, before.weight + count
        norms = np.hypot(before.norms, norms)
    return Sums(triangles, functions.shape[1], count, norms, densities)


def _turned(
    triangle: Array | None, functions: Array, target: Array, root: Array
) -> Array:
    """That of W^½[Φ t̂] below another, in one go: columns stay contiguous."""
    first = 0 if triangle is None else len(triangle)
    size = functions.shape[1]
    shape = first + len(functions), size + target.shape[1]
    rows = np.empty(shape, order="F")
    if triangle is not None:
        rows[:first] = triangle
    np.multiply(functions, root, out=rows[first:, :size])
    np.multiply(target, root, out=rows[first:, size:])
    return rotated(rows, overwrite=True)
