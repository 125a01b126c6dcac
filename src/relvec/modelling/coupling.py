"""From the odds of binary models to the probabilities of several classes."""

from dataclasses import dataclass
from itertools import combinations
from typing import Any, Protocol

import numpy as np
from scipy.special import expit, log_expit, logsumexp

from relvec.basis import blocks
from relvec.typing import AnyArray, Array, Indices

ONE_AGAINST = ("ovr", "ovo")

# The linear system is solved to about this error, below which nothing is known.
_LEAST_PROBABILITY = np.finfo(np.float64).eps


class Coupling(Protocol):
    """Several classes, decided by models of two each."""

    @property
    def labels(self) -> AnyArray:
        """Of the classes."""

    @property
    def keys(self) -> list[Any]:
        """What each binary model decides on: a class, or a pair of classes."""

    def binary(self, classes: Indices, number: int) -> tuple[Indices, Indices]:
        """The rows of a binary model, by the classes of all, and their two classes."""

    def decision(self, odds: Array) -> Array:
        """Log probabilities (N, K) from log odds of every model (N, models)."""


@dataclass(frozen=True, eq=False)
class Rest:
    """One model per class, against all others; their probabilities are scaled to 1."""

    labels: AnyArray

    @property
    def keys(self) -> list[Any]:
        labels = self.labels.tolist()
        # Of two classes the first is the rest of the second.
        return labels if len(labels) > 2 else labels[1:]

    def binary(self, classes: Indices, number: int) -> tuple[Indices, Indices]:
        return np.arange(len(classes)), (classes == number).astype(np.intp)

    def decision(self, odds: Array) -> Array:
        # Logarithms, since far from a class its probability may underflow.
        log_p = log_expit(odds)
        return np.asarray(log_p - logsumexp(log_p, axis=1, keepdims=True))


@dataclass(frozen=True, eq=False)
class Pairs:
    """One model per pair of classes, coupled after Wu, Lin and Weng (2004)."""

    labels: AnyArray

    @property
    def keys(self) -> list[Any]:
        return list(combinations(self.labels.tolist(), 2))

    def binary(self, classes: Indices, number: int) -> tuple[Indices, Indices]:
        pairs = np.triu_indices(len(self.labels), 1)
        first, second = (int(each[number]) for each in pairs)
        rows = np.flatnonzero((classes == first) | (classes == second))
        return rows, (classes[rows] == second).astype(np.intp)

    def decision(self, odds: Array) -> Array:
        n_classes = len(self.labels)
        p = np.empty((len(odds), n_classes))
        for rows in blocks(len(odds), 4 * (n_classes + 1) ** 2):
            p[rows] = coupled(odds[rows], n_classes)
        return np.log(p)


def coupling_for(multi_class: str, labels: AnyArray) -> Coupling:
    """How the classes are divided between binary models."""
    return Rest(labels) if multi_class == "ovr" else Pairs(labels)


def coupled(odds: Array, n_classes: int) -> Array:
    """Probabilities p (N, K) from log odds (N, pairs) of each pair's second class.

    With r_ij the probability of i among i and j, p minimises
    Σᵢ Σ_{j≠i} (r_ji pᵢ - r_ij pⱼ)² subject to Σp = 1: the second method of T.-F. Wu,
    C.-J. Lin and R. C. Weng (2004), "Probability estimates for multi-class
    classification by pairwise coupling", Journal of Machine Learning Research 5,
    975-1005, equations (21) and (22).
    """
    first, second = np.triu_indices(n_classes, 1)
    r = np.zeros((len(odds), n_classes, n_classes))
    r[:, first, second] = expit(-odds)
    r[:, second, first] = expit(odds)
    # Σp = 1 borders Q. Since r_ij + r_ji = 1, at most one class is beaten by none, so
    # the system can be solved even where probabilities are 0 and 1.
    system = np.ones((len(odds), n_classes + 1, n_classes + 1))
    system[:, :-1, :-1] = -r * r.transpose(0, 2, 1)
    diagonal = np.arange(n_classes)
    system[:, diagonal, diagonal] = np.sum(r**2, axis=1)
    system[:, -1, -1] = 0
    target = np.zeros((len(odds), n_classes + 1, 1))
    target[:, -1] = 1
    p = np.maximum(np.linalg.solve(system, target)[:, :-1, 0], _LEAST_PROBABILITY)
    return np.asarray(p / p.sum(axis=1, keepdims=True))
