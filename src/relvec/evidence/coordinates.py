"""The same as ``moments`` with all digits: columns in an orthonormal basis.

With V such that VᵀV = ΦᵀWΦ, as long as there are columns and not rows, the posterior is
a least-squares problem,

    min over m of  |√β z − √β V A^(-1/2) m|² + |m|²,      QR = [√β V A^(-1/2); I],

so that RᵀR = P⁻¹ and nothing is squared.
"""

from dataclasses import dataclass, replace

import numpy as np

from relvec.evidence.moments import FreeNoise, Solution, log_evidence
from relvec.linalg import Reflections
from relvec.typing import Array, Indices

_CORRECTIONS = 2  # the first is the solution


@dataclass(frozen=True)
class Coordinates(FreeNoise):
    """Columns and pseudo-observations of which all outputs share the row weights."""

    columns: Array  # (r, n) V
    target: Array  # (r, K) z
    count: float  # Σv, the number of observations per output

    @property
    def target_squares(self) -> Array:
        return np.einsum("rk,rk->k", self.target, self.target)

    def subset(self, chosen: Indices) -> "Coordinates":
        return replace(self, columns=self.columns[:, chosen])

    def in_targets(self, scale: Array) -> "Coordinates":
        return replace(self, target=self.target * scale)

    def solved(self, prior_precision: Array, noise_precision: Array) -> Solution:
        root = 1 / np.sqrt(prior_precision)
        factors, inverses, means = [], [], []
        for beta, target in self._by_noise(noise_precision):
            turn = Reflections.of(self._stacked(root, beta))
            factors.append(turn.lower)
            inverses.append(turn.inverse)
            means.append(self._scaled_mean(root, beta, target, turn))
        m = np.concatenate(means)
        mean = root * m
        residual = self.target - self.columns @ mean.T
        squares = np.einsum("rk,rk->k", residual, residual)
        factor = np.stack(factors)
        shared = len(m) / len(factor)
        log_root = shared * np.log(np.diagonal(factor, axis1=1, axis2=2)).sum()
        evidence = log_evidence(self.count, noise_precision, squares, m, log_root)
        return Solution(factor, np.stack(inverses), m, mean, squares, evidence)

    def _scaled_mean(
        self, root: Array, beta: float, target: Array, turn: Reflections
    ) -> Array:
        """m (K, n) by least squares, and once more of what that has left."""
        m = np.zeros((len(root), target.shape[1]))
        for _ in range(_CORRECTIONS):
            left = np.sqrt(beta) * (target - self.columns @ (root[:, None] * m))
            m = m + turn.least_squares(np.vstack([left, -m]))
        return m.T

    def _stacked(self, root: Array, beta: float) -> Array:
        """[√β V A^(-1/2); I]."""
        return np.vstack([np.sqrt(beta) * self.columns * root, np.eye(len(root))])

    def _by_noise(self, noise_precision: Array) -> list[tuple[float, Array]]:
        """Each noise precision with the targets it belongs to."""
        if len(noise_precision) == 1:
            return [(float(noise_precision[0]), self.target)]
        return [
            (float(beta), self.target[:, [k]]) for k, beta in enumerate(noise_precision)
        ]
