"""One round: candidates join the model in a pool, where all is searched at once."""

from dataclasses import dataclass

import numpy as np
from numpy.linalg import LinAlgError

from relvec.chance import generator
from relvec.evidence.base import Problem
from relvec.evidence.coordinates import Coordinates
from relvec.evidence.moments import ColumnMoments, Moments, Overlaps, Solution
from relvec.evidence.newton import Ascent, ascend
from relvec.evidence.noise_units import in_noise_units, noise_ceiling
from relvec.evidence.pool import Pool, climb
from relvec.evidence.search_model import SearchModel
from relvec.evidence.selection import Proposals
from relvec.precision import COPY, DIFFERENCE_LIMIT, LEAST_PRIOR_SHARE, TINY
from relvec.typing import AnyArray, Array, Indices

# Early rounds polish what is about to change: nats that an action must gain, at most
# and as a share of the best in sight, and steps of Newton's method. With no more than
# so many nats in sight a round goes all the way, in eleven steps at most so far.
_LOOSE, _LATE = (1.0, 0.1), 0.3
_EARLY_NEWTON, _LATE_NEWTON = 2, 100
_NEWTON_TOL = 0.1  # in log α, at most: the next step is a hundredth
# Candidates looked at for each that may join.
_SHORT_LIST = 2
# Candidates that a pool should have, and how much alike they may be where there are not
# so many: wide kernels at low noise are, even given the model.
_FEW, _MORE_ALIKE = 8, (0.99, 0.999)
# Inverse temperature of early rounds: noise that functions still missing will explain
# is not held against others. On kin8nm it saves a third of the rounds; 2 and 3 are as
# good there.
_COLDER = 1.5


@dataclass(frozen=True)
class Rounds:
    """How candidates are chosen for a pool."""

    selection: str = "gain"  # "random", "cyclic"
    width: int = 64  # candidates in a pool
    # |cosine| that two of them must stay below, given the model: what it leaves of them
    likeness: float = 0.9
    seed: int = 0

    def short_list(
        self, options: Proposals, tol: float, *, turn: int = 0, cursor: int = 0
    ) -> Indices:
        """Functions out of the model that gain, more than will have room in a pool."""
        gaining = np.flatnonzero(np.isinf(options.current) & (options.gain > tol))
        most = _SHORT_LIST * self.width
        if len(gaining) > most and self.selection == "gain":
            best = _best_of_groups(gaining, options.gain, most // 2)
            spread = np.arange(most // 2) * len(gaining) // (most // 2)
            gaining = np.union1d(best, gaining[spread])
        if self.selection == "random":
            return generator(self.seed, turn).permutation(gaining)[:most]
        if self.selection == "cyclic":
            return np.roll(gaining, -np.searchsorted(gaining, cursor))[:most]
        return gaining[np.argsort(-options.gain[gaining], kind="stable")][:most]

    def entrants(self, overlaps: Overlaps, n_active: int) -> Indices:
        """Those beyond the active functions that are no copies, in turn.

        Wide kernels are all alike by the cosine of their columns; what decides is how
        much alike is what the model leaves of them.
        """
        cosines = likeness(overlaps.overlap)
        fresh = ~np.any(cosines[:n_active, n_active:] > COPY, axis=0)
        return n_active + self.unlike(cosines[n_active:, n_active:], fresh)

    def unlike(self, cosines: Array, fresh: AnyArray | None = None) -> Indices:
        """Functions of a list, in turn, that are unlike each other, by their cosines.

        All of them may be among these, or those that are ``fresh``.
        """
        free = np.ones(len(cosines), dtype=bool) if fresh is None else fresh
        for most_alike in (self.likeness, *_MORE_ALIKE):
            chosen = _unlike(cosines, free, self.width, most_alike)
            if len(chosen) >= min(_FEW, self.width):
                break
        return chosen


NO_ENTRANTS: Indices = np.empty(0, dtype=np.intp)


def _unlike(cosines: Array, fresh: AnyArray, most: int, likeness: float) -> Indices:
    """Indices into the list, in turn, that are unlike all chosen before."""
    chosen: list[int] = []
    free = fresh.copy()
    for index in range(len(free)):
        if free[index]:
            chosen.append(index)
            free &= cosines[index] < likeness
            if len(chosen) == most:
                break
    return np.array(chosen, dtype=np.intp)


def likeness(products: Array) -> Array:
    """|cosine| of functions with these inner products, the largest of any output."""
    size = np.sqrt(np.maximum(products.diagonal(axis1=1, axis2=2), TINY))
    cosines = np.abs(products) / (size[:, :, None] * size[:, None, :])
    return cosines.max(axis=0)


def _best_of_groups(gaining: Indices, gain: Array, n_groups: int) -> Indices:
    """The best of every group of functions, which are dealt out like cards.

    The very best of a large dictionary are neighbours of each other.
    """
    group = gaining % n_groups
    order = np.lexsort((-gain[gaining], group))
    first = np.flatnonzero(np.diff(group[order], prepend=-1))
    return gaining[order[first]]


@dataclass(frozen=True)
class Goal:
    """How far a round is to go."""

    tol: float  # nats that an action must gain
    most: float = np.inf  # actions
    price: float = 0.0  # nats that a function has to be worth

    def loosened(self, best: float, n_sharing: int = 1) -> float:
        """The tolerance of a round with so many nats in sight, of all outputs."""
        early = best > _LATE * n_sharing
        loose = min(_LOOSE[0] * n_sharing, _LOOSE[1] * best) if early else self.tol
        return max(self.tol, loose)


@dataclass(frozen=True)
class Outcome:
    """The model a round has come to."""

    active: Indices
    ascent: Ascent
    gain: float  # in the evidence of the Gaussian model
    final: bool  # found at the tolerance asked for

    @property
    def solution(self) -> Solution:
        return self.ascent.solution


def play(
    problem: Problem, model: SearchModel, short: Indices, rounds: Rounds, goal: Goal
) -> Outcome:
    """Search the pool of active functions and some of a short list of candidates.

    Tolerances follow the best gain in sight down to the goal's, at which Newton's
    method goes all the way; what has something to gain after that is for the next
    round. Where inner products turn out to have too few digits, it is played again.
    """
    columns = np.concatenate([model.active, short])
    if model.gram is not None:
        moments = known_moments(problem, model, short)
        shared = model.observations.row_weights.shape[1] == 1
        try:
            outcome = _played(
                problem, model, columns, moments, rounds=rounds, goal=goal
            )
        except LinAlgError:
            if not shared:
                raise
        else:
            if outcome.solution.condition < DIFFERENCE_LIMIT or not shared:
                return outcome
    exact = coordinates_of(problem, model, columns)
    return _played(problem, model, columns, exact, rounds=rounds, goal=goal)


def _played(
    problem: Problem,
    model: SearchModel,
    columns: Indices,
    moments: ColumnMoments,
    *,
    rounds: Rounds,
    goal: Goal,
) -> Outcome:
    n_active, beta = len(model.active), model.observations.noise_precision
    best = float(model.proposals.gain[columns[n_active:]].max(initial=0.0))
    tol = goal.loosened(best, problem.n_sharing)
    final = tol == goal.tol
    variance = np.zeros(len(columns))
    variance[:n_active] = 1 / model.prior_precision
    inside = moments.subset(np.arange(n_active))
    before = inside.solved(model.prior_precision, beta)
    ceiling = noise_ceiling(model.likelihood)
    colder, at = beta, before
    if ceiling is not None and not final:
        colder = np.minimum(_COLDER * beta, ceiling)
        at = inside.solved(model.prior_precision, colder)
    overlaps = moments.overlaps(variance, colder, at)
    entering = rounds.entrants(overlaps, n_active)
    chosen = np.concatenate([np.arange(n_active), entering])
    variance = variance[chosen]
    least = np.full(len(chosen), LEAST_PRIOR_SHARE * float(beta.max()))
    least = problem.allowed(columns[chosen], least)
    pool = Pool.of(overlaps.subset(chosen), variance, least, goal.price)
    taken = climb(pool, tol, goal.most)
    left = np.flatnonzero(variance)
    ascent = ascend(
        moments.subset(chosen[left]),
        1 / variance[left],
        beta,
        start=None if taken else before,
        ceiling=ceiling,
        tol=min(_NEWTON_TOL, tol),
        most=_LATE_NEWTON if final else _EARLY_NEWTON,
        least=least[left],
    )
    gain = ascent.solution.log_evidence - before.log_evidence
    active = columns[chosen[left[ascent.chosen]]]
    return Outcome(active, ascent, gain, final)


def known_moments(
    problem: Problem, model: SearchModel, short: Indices
) -> ColumnMoments:
    """Of the active functions, which the model knows, and a list of candidates."""
    gram = model.gram
    assert gram is not None
    columns = np.concatenate([gram.active, short])
    n_active = len(gram.active)
    products = np.empty((len(gram.cross), len(columns), len(columns)))
    products[:, :n_active] = gram.cross.take(columns, axis=2)
    across = products[:, :n_active, n_active:]
    products[:, n_active:, :n_active] = np.swapaxes(across, 1, 2)
    weights = model.observations.row_weights
    products[:, n_active:, n_active:] = problem.design.gram(short, weights)
    moments = Moments(
        products,
        gram.projections.target[:, columns],
        gram.projections.target_squares,
        float(problem.sample_weight.sum()),
    )
    return in_noise_units(moments, model.likelihood)


def coordinates_of(
    problem: Problem, model: SearchModel, columns: Indices
) -> ColumnMoments:
    """Of some columns and the pseudo-observations, whose outputs share row weights."""
    seen = model.observations
    at = columns, seen.row_weights[:, 0], seen.target
    count = float(problem.sample_weight.sum())
    exact = Coordinates(*problem.design.coordinates(*at), count)
    return in_noise_units(exact, model.likelihood)
