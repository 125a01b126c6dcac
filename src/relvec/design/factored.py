"""A dictionary that is never held: Φ = F·C, with F evaluated in blocks of rows.

Products of the whole dictionary go through the features' own Gram matrix FᵀWF, of which
the last is kept; a Gaussian likelihood needs no other, so one pass over the rows will
do.
Products of a few columns evaluate those columns exactly.
"""

import numpy as np

from relvec.basis import Basis
from relvec.design.exact_columns import ExactColumns
from relvec.design.expansions import Expansion
from relvec.design.feature_gram import FeatureGram
from relvec.design.inner_products import InnerProducts
from relvec.design.rows import Rows
from relvec.linalg import solve_lower, stacked
from relvec.precision import DEPENDENT, LAST_GRAM_LIMIT
from relvec.typing import Array, Indices


class FactoredDesign:
    """The functions of a basis on rows that come in blocks.

    Columns are divided by ``column_norms``, which are about their norms. Features, and
    columns, are kept for the next pass if they take no more than ``keep`` bytes.
    """

    def __init__(
        self,
        rows: Rows,
        basis: Basis,
        expansion: Expansion,
        column_norms: Array,
        keep: float,
    ) -> None:
        self.column_norms = column_norms
        self._divisors = np.where(column_norms > 0, column_norms, 1.0)
        self._features = FeatureGram(rows, expansion, keep)
        self._columns = ExactColumns(rows, basis, self._divisors, keep)
        self._combined: tuple[Array, list[InnerProducts]] | None = None

    @property
    def shape(self) -> tuple[int, int]:
        return self._columns.rows.n_rows, len(self._columns.basis)

    @property
    def approximate(self) -> bool:
        return self.expansion.approximate

    @property
    def gram_limit(self) -> float:
        return LAST_GRAM_LIMIT

    @property
    def expansion(self) -> Expansion:
        """The features as they are now, repaired where rows asked for it."""
        return self._features.expansion

    def refined(self) -> "FactoredDesign | None":
        self._combined = None  # its memory may be needed
        self._features.forget()
        self._columns.forget()
        better = self.expansion.refined()
        if better is None:
            return None
        rows, basis, keep = self._columns.rows, self._columns.basis, self._columns.keep
        return FactoredDesign(rows, basis, better, self.column_norms, keep)

    def matvec(self, weights: Array, indices: Indices) -> Array:
        return self._columns.matvec(weights, indices)

    def rmatvec(self, values: Array, indices: Indices | None = None) -> Array:
        if indices is not None:
            return self._columns.rmatvec(values, indices)
        products = self._features.transposed(values)
        return self.expansion.combine(products) / self._divisors

    def project(self, row_weights: Array, target: Array) -> tuple[Array, Array]:
        products = self._features.project(row_weights, row_weights * target)
        squares = self._squared_norms(row_weights)
        return squares, self.expansion.combine(products) / self._divisors

    def cross_gram(self, indices: Indices, row_weights: Array) -> Array:
        return stacked([each.across(indices) for each in self._products(row_weights)])

    def gram(self, indices: Indices, row_weights: Array) -> Array:
        return stacked([each.among(indices) for each in self._products(row_weights)])

    def factor(
        self, indices: Indices, prior_precision: Array, precision: Array
    ) -> Array:
        return self._columns.factor(indices, prior_precision, precision)

    def sparsity(
        self, indices: Indices, prior_precision: Array, precision: Array, factor: Array
    ) -> Array:
        cross = self.cross_gram(indices, precision)
        root = 1 / np.sqrt(prior_precision)
        whitened = solve_lower(factor, root[:, None] * cross)
        norms = self._squared_norms(precision)
        left = norms - np.sum(whitened**2, axis=1)  # eq. 24
        return np.where(left > DEPENDENT * norms, left, 0.0)

    def _products(self, row_weights: Array) -> list[InnerProducts]:
        """Of all functions under the weights of each output."""
        gram = self._features.gram(row_weights)
        if self._combined is None or self._combined[0] is not gram:
            self._combined = None  # its memory may be needed
            products = [self.expansion.inner_products(G, self._divisors) for G in gram]
            self._combined = (gram, products)
        return self._combined[1]

    def _squared_norms(self, row_weights: Array) -> Array:
        return stacked([each.squares for each in self._products(row_weights)])
