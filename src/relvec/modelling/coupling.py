"""From the odds of binary models to the probabilities of several classes, or votes."""

from dataclasses import dataclass
from itertools import combinations
from typing import Any, Protocol

import numpy as np
from scipy.special import expit, log_expit

from relvec.basis import blocks
from relvec.modelling.predictive import ClassDistribution, ClassVotes
from relvec.parameters import check_choice
from relvec.parametric import Parametric
from relvec.precision import ROUNDING
from relvec.typing import AnyArray, Array, Indices

ONE_AGAINST = ("ovr", "ovo")

# The linear system is solved to about this error, below which nothing is known.
_LEAST_PROBABILITY = np.finfo(np.float64).eps


@dataclass(frozen=True, eq=False, repr=False)
class OneAgainstOne(Parametric):
    """Settings of ``multi_class="ovo"``, a binary model for each pair of classes.

    Parameters
    ----------
    decision : {"coupled", "votes"}, default="coupled"
        Whether the probabilities of all pairs are coupled to those of all classes, or
        every pair has one vote and the class with most of them is predicted. Among
        classes with equally many the log odds of their pairs decide, summed. With votes
        there is no ``predict_proba``: the class of most votes need not be the most
        probable one.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from relvec import RVC, OneAgainstOne
    >>> X, y = load_iris(return_X_y=True)
    >>> model = RVC(gamma=0.1, multi_class=OneAgainstOne("votes")).fit(X, y)
    >>> model.decision_function(X[:1]).round().astype(int)
    array([[2, 1, 0]])
    """

    decision: str = "coupled"

    def __post_init__(self) -> None:
        check_choice("decision", self.decision, ("coupled", "votes"))


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

    def predictive(self, odds: Array) -> ClassDistribution | ClassVotes:
        """What log odds of every model (N, models) say of the classes."""


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

    def predictive(self, odds: Array) -> ClassDistribution:
        # Logarithms, since far from a class its probability may underflow.
        log_p = log_expit(odds)
        log_p -= log_p.max(axis=1, keepdims=True)
        log_p -= np.log(np.exp(log_p).sum(axis=1, keepdims=True))
        return ClassDistribution(self.labels, np.asarray(log_p))


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

    def predictive(self, odds: Array) -> ClassDistribution | ClassVotes:
        n_classes = len(self.labels)
        p = np.empty((len(odds), n_classes))
        for rows in blocks(len(odds), 4 * (n_classes + 1) ** 2):
            p[rows] = coupled(odds[rows], n_classes)
        return ClassDistribution(self.labels, np.log(p))


class VotingPairs(Pairs):
    """One model per pair of classes, each with one vote."""

    def predictive(self, odds: Array) -> ClassVotes:
        return ClassVotes(self.labels, voted(odds, len(self.labels)))


def is_one_against(multi_class: Any) -> bool:
    """Whether classes are told apart by several binary models."""
    return isinstance(multi_class, OneAgainstOne) or multi_class in ONE_AGAINST


def coupling_for(multi_class: str | OneAgainstOne, labels: AnyArray) -> Coupling:
    """How the classes are divided between binary models."""
    if multi_class == "ovr":
        return Rest(labels)
    voting = multi_class == OneAgainstOne("votes")
    return VotingPairs(labels) if voting else Pairs(labels)


def voted(odds: Array, n_classes: int) -> Array:
    """Votes (N, K) from log odds (N, pairs) of each pair's second class.

    Odds that are even, but for rounding, are a vote for the first. To the votes of a
    class a number between -1/3 and 1/3 is added that rises with the sum of its log
    odds, so that it tells apart what has equally many votes and nothing else, as in
    scikit-learn's ``OneVsOneClassifier``.
    """
    first, second = (np.eye(n_classes)[side] for side in np.triu_indices(n_classes, 1))
    won = (odds > ROUNDING).astype(np.float64)
    votes = won @ second + (1 - won) @ first
    confidence = odds @ (second - first)
    return np.asarray(votes + confidence / (3 * (np.abs(confidence) + 1)))


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
