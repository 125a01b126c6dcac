"""Sums over all rows: all that ever leaves the place where rows are.

Given    functions of a row, and weights w at which a likelihood is expanded: its
         pseudo-observations t̂ with precisions B, which are the data themselves for
         Gaussian noise
Returns  inner products of some functions with all (``InnerProducts``), which find
         candidates that gain; or a triangle R with RᵀR = [Φ t̂]ᵀB[Φ t̂] (``Triangles``),
         which has all digits and stands for the rows in a search
By       one pass over the rows, block by block; sums are made in the order of the parts
"""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from functools import partial, reduce
from itertools import starmap
from typing import TypeVar

import numpy as np

from relvec.basis import Basis, blocks
from relvec.blockwise import check_time
from relvec.design.compressed import in_place_of_rows
from relvec.evidence import Problem
from relvec.likelihoods import HeldObservations, Likelihood, PseudoObservations
from relvec.linalg import column_norms, rotated, triangle_beside_prior, weighted_squares
from relvec.modelling import TrainingSet
from relvec.partition.parts import Parts
from relvec.typing import Array, Indices

# Numbers in a block of Φ, 32 MB: so many rows that the triangle above them, which is
# factorised again with every block, is a small part of the work.
_BLOCK_ENTRIES = 4_000_000


@dataclass(frozen=True)
class InnerProducts:
    """Of some functions with all, and of all with the pseudo-observations."""

    cross: Array  # (K or 1, n, M) ΦₐᵀBΦ
    squares: Array  # (K or 1, M) diag(ΦᵀBΦ)
    target: Array  # (K, M) ΦᵀBt̂

    def __add__(self, other: "InnerProducts") -> "InnerProducts":
        return InnerProducts(
            self.cross + other.cross,
            self.squares + other.squares,
            self.target + other.target,
        )

    @classmethod
    def of_rows(
        cls, some: Indices, functions: Array, seen: PseudoObservations
    ) -> "InnerProducts":
        """Of rows whose functions are at hand."""
        chosen, weights = functions[:, some], seen.row_weights
        cross = [(chosen * w[:, None]).T @ functions for w in weights.T]
        squares = [weighted_squares(functions, w) for w in weights.T]
        target = (weights * seen.target).T @ functions
        return cls(np.stack(cross), np.stack(squares), target)

    def with_unit_columns(
        self, some: Indices
    ) -> tuple[Array, tuple[Array, Array, Array]]:
        """Lengths (M,) of the functions, and the products of these at length one."""
        lengths = np.sqrt(self.squares.max(axis=0))
        lengths = np.where(lengths > 0, lengths, 1.0)
        cross = self.cross / lengths / lengths[some, None]
        return lengths, (cross, self.squares / lengths**2, self.target / lengths)


@dataclass(frozen=True)
class Triangles:
    """Rows with the inner products of functions and pseudo-observations of all.

    They are made by orthogonal transformations, which keep all digits: inner products
    keep half of them. Outputs have rows in common, or each its own.
    """

    triangles: tuple[Array, ...]  # (r, M + outputs) each, R of B^½[Φ t̂]
    n_functions: int
    weight: float  # Σv
    norms: Array  # (M,) √Σvφ²
    log_densities: Array  # at each of the weights that were asked for

    def __add__(self, other: "Triangles") -> "Triangles":
        pairs = zip(self.triangles, other.triangles, strict=True)
        return Triangles(
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

    @classmethod
    def of_rows(
        cls,
        functions: Array,
        likelihood: Likelihood,
        tried: Array,
        y: Array,
        weight: Array,
    ) -> "Triangles":
        """Of rows whose functions are at hand."""
        etas = [functions @ weights.T for weights in tried]
        seen = likelihood.pseudo_observations(y, etas[0], weight)
        roots = np.sqrt(seen.row_weights).T[:, :, None]
        targets = [seen.target] if len(roots) == 1 else seen.target.T[:, :, None]
        densities = [likelihood.log_density(y, eta, weight) for eta in etas]
        return cls(
            tuple(map(partial(_triangle, functions), targets, roots)),
            functions.shape[1],
            float(weight.sum()),
            column_norms(functions, weight),
            np.array(densities),
        )


def _triangle(functions: Array, target: Array, root: Array) -> Array:
    """R of B^½[Φ t̂], whose columns are contiguous for LAPACK."""
    size = functions.shape[1]
    rows = np.empty((len(functions), size + target.shape[1]), order="F")
    np.multiply(functions, root, out=rows[:, :size])
    np.multiply(target, root, out=rows[:, size:])
    return rotated(rows, overwrite=True)


SumT = TypeVar("SumT", InnerProducts, Triangles)


def triangles(
    parts: Parts, basis: Basis, likelihood: Likelihood, tried: Array
) -> Triangles:
    """One pass over all rows, with weights (tries, outputs, functions).

    Pseudo-observations are those at the first of them.
    """
    work = partial(_triangles_of_part, basis, likelihood.rescaled(1.0), tried)
    return _added(parts.each(work))


def inner_products(
    parts: Parts, basis: Basis, likelihood: Likelihood, weights: Array, some: Indices
) -> InnerProducts:
    """One pass over all rows, of some functions with all.

    Pseudo-observations are those at weights (outputs, functions), of which only those
    of ``some`` functions differ from zero.
    """
    likelihood = likelihood.rescaled(1.0)
    work = partial(_products_of_part, basis, likelihood, weights[:, some], some)
    return _added(parts.each(work))


def _added(found: Iterable[SumT | None]) -> SumT:
    """In order; a part without rows has none."""

    def after(total: SumT, one: SumT) -> SumT:
        check_time()
        return total + one

    return reduce(after, (one for one in found if one is not None))


def _triangles_of_part(
    basis: Basis, likelihood: Likelihood, tried: Array, part: TrainingSet
) -> Triangles | None:
    if not len(part):
        return None
    return _added(
        Triangles.of_rows(functions, likelihood, tried, y, weight)
        for functions, y, weight in _by_blocks(basis, part)
    )


def _products_of_part(
    basis: Basis,
    likelihood: Likelihood,
    weights: Array,
    some: Indices,
    part: TrainingSet,
) -> InnerProducts | None:
    if not len(part):
        return None

    def of_rows(functions: Array, y: Array, weight: Array) -> InnerProducts:
        eta = functions[:, some] @ weights.T
        seen = likelihood.pseudo_observations(y, eta, weight)
        return InnerProducts.of_rows(some, functions, seen)

    return _added(starmap(of_rows, _by_blocks(basis, part)))


def _by_blocks(basis: Basis, part: TrainingSet) -> Iterator[tuple[Array, Array, Array]]:
    """Functions, targets and weights of some rows at a time."""
    X = part.table
    for rows in blocks(len(part), len(basis), _BLOCK_ENTRIES):
        yield basis(X[rows]), part.targets[rows], part.weight[rows]
