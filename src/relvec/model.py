"""A fitted sparse model: what predicting needs and nothing more."""

from dataclasses import dataclass

import numpy as np

from relvec.basis import Basis, blocks
from relvec.posterior import Posterior
from relvec.typing import AnyArray, Array


@dataclass(frozen=True)
class SparseModel:
    """η(x) = offset + Σᵢ wᵢφᵢ(x) with a Gaussian posterior over the weights."""

    basis: Basis
    posterior: Posterior
    offset: float = 0.0

    def latent(self, X: AnyArray) -> tuple[Array, Array]:
        """Mean and variance of η, (n_rows, n_outputs) each, in blocks of rows."""
        n_outputs = len(self.posterior.mean)
        mean = np.empty((len(X), n_outputs))
        variance = np.empty((len(X), n_outputs))
        evaluate = self.basis.sparse if self.basis.compact else self.basis
        for rows in blocks(len(X), max(len(self.basis), X.shape[1])):
            functions = evaluate(X[rows])
            mean[rows], variance[rows] = self.posterior.predict(functions)
        return mean + self.offset, variance


@dataclass(frozen=True)
class SparseModels:
    """Several models of the same rows, the outputs of each beside those of others."""

    models: tuple[SparseModel, ...]

    def latent(self, X: AnyArray) -> tuple[Array, Array]:
        """Mean and variance of η, (n_rows, outputs of all models) each."""
        means, variances = zip(*(one.latent(X) for one in self.models), strict=True)
        return np.hstack(means), np.hstack(variances)
