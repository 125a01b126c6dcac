"""What every way to maximise the evidence is asked beside its algorithm."""

from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import Any

import numpy as np

from relvec.evidence.base import EvidenceMaximiser, Problem
from relvec.evidence.deadline import NEVER, Deadline
from relvec.evidence.hyperprior import FLAT, Hyperprior
from relvec.parametric import Parametric
from relvec.typing import Array


@dataclass(frozen=True)
class Search:
    """What a solver is told beside the problem."""

    tol: float = 1e-4
    seed: int = 0
    price: float = 0.0  # nats that a function has to be worth in the end
    constant: int | None = None  # the column that is one, where it is known
    deadline: Deadline = NEVER


class Solver(Parametric, ABC):
    """Settings of a way to maximise the evidence; most are as they are here."""

    initial_noise_variance: float | None = None  # None for a guess

    @abstractmethod
    def maximiser(self, problem: Problem, search: Search) -> EvidenceMaximiser[Any]:
        """The algorithm with these settings."""

    @property
    def begins_with_all(self) -> str | None:
        """What to call a solver whose first model has all functions; None if not."""
        return None

    @property
    def selective(self) -> bool:
        """Whether it can do with some functions at a time."""
        return False

    @property
    def begins_with_constant(self) -> bool:
        """Whether its first function is the constant."""
        return False

    @property
    def ends_at_mode(self) -> bool:
        """Whether weights are followed to their mode at the end."""
        return True

    @property
    def own_tolerance(self) -> str | None:
        """How to set what it ends by, if that is not the tolerance of the search."""
        return None

    @property
    def looks_at_rows(self) -> str | None:
        """The setting that tells rows apart, so that their products do not serve."""
        return None

    @property
    def maximises_evidence(self) -> bool:
        """Whether another search for the evidence may go on where it has ended."""
        return True

    @property
    def prior(self) -> Hyperprior:
        """Over the precisions."""
        return FLAT

    @property
    def noise_settings(self) -> list[str]:
        """Settings, other than their defaults, of a noise that is estimated."""
        return []

    def starting_precision(self, n_basis: int, known: Array | None) -> Array | None:
        """α to begin with, from an earlier fit or settings.

        ``known`` has one for each function, or for each output and function; it is
        infinite for what has left the model and nan for what is new.
        """
        # Where every class has its own, the function is as much in the model as in any.
        return None if known is None else np.atleast_2d(known).min(axis=0)

    def starting_weights(self, known: Array) -> Array | None:
        """Weights (outputs, functions) to begin with, from an earlier fit."""
        # A search that adds functions looks for the mode from zero.
        return None if self.begins_with_all is None else known

    def min_vectors_of(self, n_basis: int) -> int:
        """How few of so many functions end the search."""
        return 0

    def stopping_at(self, n_vectors: int) -> "Solver":
        """The same but over as soon as so many functions are left; or as it is."""
        return self

    @property
    def integrates_noise(self) -> bool:
        """Whether the noise is integrated out, so that it has degrees of freedom."""
        return bool(np.isfinite(self.noise_freedom(1.0)))

    def noise_freedom(self, n_observations: float) -> float:
        """Degrees of freedom of the noise, if it is integrated out; else infinite."""
        return np.inf
