"""How much of what could be known at a row the data tell: where they are, where not.

Far from its vectors a sparse model has no functions left, and is as certain there as if
nothing could happen. A Gaussian process of prior variance a·k(x, x) is not: the share

    ρ(x) = 1 − ‖z‖²/k(x, x)        z = Tk(Z, x)

of that variance is left, 1 far away, and among the data as little as these determine of
the functions at some of their rows, the pivots Z (Seeger's projected process); with
Σzᵢ²/dᵢ for ‖z‖², as little as would be left if targets had no noise. A latent value is
as uncertain as the model says, or as the process does if that is more, a·k(x, x)·ρᵖ.
How all this is found is in ``relvec.modelling.augmentation``.
"""

from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from relvec.basis import Group, evaluated
from relvec.typing import AnyArray, Array, Indices


@dataclass(frozen=True, eq=False)
class Surroundings:
    """A process about a model, as far as rows have not determined it."""

    pivots: Group  # those that are not functions of the model, too
    by_pivots: Array  # (m, pivots) columns of T
    by_functions: Array  # (m, n) those of the model's kernel functions, or (m, 0)
    determined: Array  # (m,) d, shares of the prior variance of each zᵢ
    amplitude: Array  # (K,) a of each output
    power: float = 1.0  # p
    mean: Array | None = None  # (K,) that latent values gain where nothing is known
    mean_power: float = 1.0  # of ρ without noise, whose power is the share of it

    def turned(self, X: AnyArray, functions: Any) -> tuple[Array, Array]:
        """z (N, m) over the root of k(x, x), and k(x, x), by functions of the model."""
        turned = np.zeros((len(X), len(self.determined)))
        if len(self.pivots):
            values = evaluated(self.pivots.kernel, X, self.pivots.centres)
            turned += values @ self.by_pivots.T
        shared = self.by_functions.shape[1]
        if shared:
            turned += functions[:, functions.shape[1] - shared :] @ self.by_functions.T
        prior = self.pivots.kernel.diagonal(X)
        if np.any(prior != 1):
            # A row for which the kernel is zero has no variance either.
            turned /= np.sqrt(np.where(prior > 0, prior, 1.0))[:, None]
        return turned, prior

    def left(self, turned: Array) -> Array:
        """ρ (N,)."""
        explained = np.einsum("nm,nm->n", turned, turned)
        return np.clip(1 - explained, 0.0, 1.0)

    def left_without_noise(self, turned: Array) -> Array:
        """The same if targets had none (N,)."""
        return np.clip(1 - turned**2 @ (1 / self.determined), 0.0, 1.0)

    def joined(
        self, X: AnyArray, functions: Any, mean: Array, variance: Array
    ) -> tuple[Array, Array]:
        """Moments of the model (N, K) with the process; or covariances (N, K, K)."""
        return self.moments(*self.turned(X, functions), mean, variance)

    def moments(
        self, turned: Array, prior: Array, mean: Array, variance: Array
    ) -> tuple[Array, Array]:
        """The same of rows whose z and k(x, x) are known."""
        wanted = (prior * self.left(turned) ** self.power)[:, None] * self.amplitude
        if self.mean is not None:
            share = self.left_without_noise(turned) ** self.mean_power
            mean = mean + share[:, None] * self.mean
        if variance.ndim == 2:
            return mean, np.maximum(variance, wanted)
        widened = variance.copy()
        own = np.einsum("nkk->nk", widened)
        np.maximum(own, wanted, out=own)
        return mean, widened

    def reordered(self, order: Indices) -> "Surroundings":
        """For the same model with its kernel functions in another order."""
        if not self.by_functions.shape[1]:
            return self
        return replace(self, by_functions=self.by_functions[:, order])
