"""The clock, and what each step came to."""

import time
from dataclasses import fields

import numpy as np

from relvec.evidence.base import Model, Problem, Snapshot, State
from relvec.evidence.units import Units
from relvec.typing import AnyArray, Array

_NO_COLUMN = ("details", "fit")


class Trace:
    """What was accepted so far, in the user's units."""

    def __init__(self, units: Units) -> None:
        self.units = units
        self.snapshots: list[Snapshot] = []
        self._before: Model | None = None
        self._started = time.perf_counter()

    @property
    def seconds(self) -> float:
        """Since the start."""
        return time.perf_counter() - self._started

    def record(self, problem: Problem, state: State) -> Snapshot | None:
        """A snapshot if the last step was accepted."""
        if state.steps == len(self.snapshots):
            return None
        model = state.model
        snapshot = Snapshot(
            iteration=state.steps,
            log_evidence=model.log_evidence - self.units.shift,
            n_vectors=n_vectors(problem, model),
            gamma=float(np.sum(model.effective_parameters)),
            noise_std=self.units.noise_std(model.likelihood),
            seconds=self.seconds,
            details=self._details(problem, model),
        )
        self.snapshots.append(snapshot)
        return snapshot

    def history(self) -> dict[str, AnyArray]:
        """One array per quantity."""
        names = [each.name for each in fields(Snapshot) if each.name not in _NO_COLUMN]
        columns = {
            name: [getattr(shot, name) for shot in self.snapshots] for name in names
        }
        for name in self.snapshots[0].details if self.snapshots else ():
            columns[name] = [shot.details[name] for shot in self.snapshots]
        return {name: np.array(values) for name, values in columns.items()}

    def _details(self, problem: Problem, model: Model) -> dict[str, float]:
        """Of a classifier: likelihoods, and what moved since the last step."""
        if problem.likelihood.conjugate:
            return {}
        likelihood, joint = likelihoods(model)
        before, self._before = self._before, model
        moved = _moved(before, model) if before else (np.nan, np.nan, np.nan)
        names = ("weights_change", "targets_change", "precision_change")
        return {
            "log_likelihood": likelihood,
            "log_joint": joint,
            **dict(zip(names, moved, strict=True)),
        }


def n_vectors(problem: Problem, model: Model) -> int:
    """Active functions, the constant not counted."""
    return int(np.count_nonzero(model.active != problem.bias))


def likelihoods(model: Model) -> tuple[float, float]:
    """log p(y | w) and log p(y, w | α) at the weights, from the evidence."""
    alpha = np.broadcast_to(model.prior_precision, model.mean.shape)
    penalty = float(np.sum(alpha * model.mean**2))
    evidence = model.log_evidence - model.log_hyperprior
    likelihood = evidence + 0.5 * penalty + 0.5 * model.log_determinant
    prior = 0.5 * float(np.sum(np.log(alpha / (2 * np.pi)))) - 0.5 * penalty
    return likelihood, likelihood + prior


def _moved(before: Model, after: Model) -> tuple[float, float, float]:
    """Length of the change of W, root mean square of that of Y, largest of log α."""
    weights = _beside(before.mean, after.mean, before, after, 0.0)
    alphas = _beside(
        np.atleast_2d(before.prior_precision),
        np.atleast_2d(after.prior_precision),
        before,
        after,
        np.nan,
    )
    targets = np.full(1, np.nan)  # of other rows than before
    if before.observations.target.shape == after.observations.target.shape:
        targets = after.observations.target - before.observations.target
    ratios = np.abs(np.log(alphas[1] / alphas[0]))
    return (
        _norm(weights[1] - weights[0]),
        _norm(targets) / float(np.sqrt(targets.size)),
        float(np.fmax.reduce(ratios, axis=None, initial=0.0)),
    )


def _norm(values: Array) -> float:
    return float(np.sqrt(np.vdot(values, values)))


def _beside(
    one: Array, other: Array, before: Model, after: Model, rest: float
) -> list[Array]:
    """Values (K, n) of two models for the functions that are in either."""
    if np.array_equal(before.active, after.active):
        return [one, other]
    functions = np.union1d(before.active, after.active)
    both = ((one, before), (other, after))
    return [_among(values, model, functions, rest) for values, model in both]


def _among(values: Array, model: Model, functions: AnyArray, rest: float) -> Array:
    """Values (K, n) of the model's functions among more of them."""
    result = np.full((len(values), len(functions)), rest)
    result[:, np.searchsorted(functions, model.active)] = values
    return result
