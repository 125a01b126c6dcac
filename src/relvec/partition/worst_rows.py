"""The rows that a model predicts worst, of those that no set has had."""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial, reduce

import numpy as np

from relvec.chance import generator
from relvec.modelling import FittedModel, TrainingSet
from relvec.partition.parts import Parts
from relvec.typing import Array, Indices


@dataclass(frozen=True)
class Strata:
    """The classes, whose proportions are kept; without any, all rows are one."""

    codes: Array | None  # (classes, outputs) their targets
    share: Array  # (classes,) of the rows

    @classmethod
    def of(cls, parts: Parts, *, by_class: bool) -> "Strata":
        """One look at all targets."""
        if not by_class:
            return cls(None, np.ones(1))
        found = list(parts.each(_counted))
        targets = np.concatenate([codes for codes, _ in found])
        codes, which = np.unique(targets, axis=0, return_inverse=True)
        counts = np.bincount(which.ravel(), np.concatenate([n for _, n in found]))
        return cls(codes, counts / counts.sum())

    def of_rows(self, part: TrainingSet) -> Indices:
        """The number of each row's class."""
        if self.codes is None:
            return np.zeros(len(part), dtype=np.intp)
        return _nearest(part.targets, self.codes)

    def quotas(self, size: int) -> Indices:
        """Rows of each class among so many, by the largest remainders."""
        exact = size * self.share
        whole = np.floor(exact).astype(np.intp)
        most = np.argsort(whole - exact, kind="stable")[: size - whole.sum()]
        whole[most] += 1
        return whole


@dataclass(frozen=True)
class _Ranked:
    """Rows with their class and how much they have to tell."""

    rows: TrainingSet
    stratum: Indices
    score: Array

    def best(self, strata: Strata, size: int) -> "_Ranked":
        """So many of each class at most."""
        chosen = [
            mine[np.argsort(-self.score[mine], kind="stable")[:size]]
            for mine in (
                np.flatnonzero(self.stratum == k) for k in range(len(strata.share))
            )
        ]
        every = np.sort(np.concatenate(chosen))
        return _Ranked(self.rows.subset(every), self.stratum[every], self.score[every])

    def joined(self, other: "_Ranked") -> "_Ranked":
        return _Ranked(
            self.rows.joined(other.rows),
            np.concatenate([self.stratum, other.stratum]),
            np.concatenate([self.score, other.score]),
        )


def worst_rows(
    parts: Parts, strata: Strata, model: FittedModel, size: int, used: Indices
) -> TrainingSet:
    """So many rows, or those that are left, in the proportions of the classes."""
    used = np.sort(used)
    found = parts.each(partial(_ranked, strata, model, size, used))
    ranked = reduce(lambda one, two: one.joined(two).best(strata, size), found)
    return ranked.rows.subset(np.sort(_by_quotas(ranked, strata.quotas(size), size)))


def _by_quotas(ranked: _Ranked, quotas: Sequence[int] | Indices, size: int) -> Indices:
    """The best of each class, then the best of those that are left."""
    order = np.argsort(-ranked.score, kind="stable")
    of_class = ranked.stratum[order]
    place = np.empty(len(order), dtype=np.intp)  # of each among its class
    for k, _ in enumerate(quotas):
        mine = np.flatnonzero(of_class == k)
        place[mine] = np.arange(len(mine))
    beyond = place >= np.asarray(quotas)[of_class]
    return order[np.argsort(beyond, kind="stable")[:size]]


def _ranked(
    strata: Strata, model: FittedModel, size: int, used: Indices, part: TrainingSet
) -> _Ranked:
    """The best of a part."""
    indices = part.rows.indices
    after = np.searchsorted(used, indices).clip(max=len(used) - 1)
    left = np.flatnonzero(used[after] != indices)
    fresh = part.subset(left)
    # By the place of a row in its part: its number is that of the order given.
    chance = generator(part.rows.seed, 8, len(used)).random(len(part))[left]
    stratum = strata.of_rows(fresh)
    score = _score(strata, model, fresh, stratum, chance)
    return _Ranked(fresh, stratum, score).best(strata, size)


def _score(
    strata: Strata,
    model: FittedModel,
    rows: TrainingSet,
    stratum: Indices,
    chance: Array,
) -> Array:
    """How improbable it is, or of classes one where it is wrong; then by chance."""
    if not len(rows):
        return np.empty(0)
    if strata.codes is None:
        mean = model.predictor(rows.table)
        nothing = np.zeros_like(mean)
        return -rows.likelihood.log_predictive(rows.targets, mean, nothing)
    expected = model.family.expected(*model.latent(rows.table))
    predicted = _nearest(expected, strata.codes)
    return (predicted != stratum) + chance


def _counted(part: TrainingSet) -> tuple[Array, Array]:
    """Targets that occur, and how often."""
    codes, counts = np.unique(part.targets, axis=0, return_counts=True)
    return codes, counts.astype(np.float64)


def _nearest(targets: Array, codes: Array) -> Indices:
    """The number of the code (K, outputs) that each target is nearest to."""
    return np.argmax(targets @ codes.T - 0.5 * np.sum(codes**2, axis=1), axis=1)
