"""One round: candidates join the model in a pool, where all is searched at once."""

from dataclasses import dataclass, replace

import numpy as np

from relvec.evidence.base import Problem
from relvec.evidence.moments import Moments, Solution, solve
from relvec.evidence.newton import Ascent, ascend
from relvec.evidence.pool import Pool, climb
from relvec.evidence.search_model import SearchModel
from relvec.evidence.sequential import SequentialState
from relvec.evidence.statistics import GramStatistics, combined_by_output
from relvec.linalg import solve_lower
from relvec.precision import COPY, TINY, dependent_share
from relvec.typing import AnyArray, Array, Indices

# Early rounds polish what is about to change: nats that an action must gain, at most
# and as a share of the best in sight, and steps of Newton's method. With no more than
# so many nats in sight a round goes all the way, in eleven steps at most so far.
_LOOSE, _LATE = (1.0, 0.1), 0.3
_EARLY_NEWTON, _LATE_NEWTON = 2, 100
_NEWTON_TOL = 0.1  # in log α, at most: the next step is a hundredth
# Candidates looked at for each that may join: two thirds are too much like another.
_SHORT_LIST = 2
# |cosine| of candidates that have room in a pool, all of them. With 0.7 pools of fewer
# end lower: 0.4 nats on 300 rows of the benchmarks, 33 on 1000 of kin8nm.
_MOST_LIKE = 0.95
# Candidates that a pool should have, and of functions all alike at most. With fewer,
# wide kernels find little: 51 nats less on 300 rows of Friedman's first function.
_FEW, _MOST_ALIKE = 8, 32


@dataclass(frozen=True)
class Rounds:
    """How candidates are chosen for a pool."""

    selection: str = "gain"  # "random", "cyclic"
    width: int = 64  # candidates in a pool
    likeness: float = 0.7  # |cosine| that two of them must stay below if there are more
    seed: int = 0

    def entrants(
        self, problem: Problem, state: SequentialState, gram: GramStatistics, tol: float
    ) -> "Entrants":
        """Functions out of the model that gain most and are no copies of each other."""
        options = state.model.proposals
        gaining = np.flatnonzero(np.isinf(options.current) & (options.gain > tol))
        short = self._short_list(gaining, options.gain, state)
        products = problem.design.gram(short, state.model.observations.row_weights)
        cross = gram.cross.take(short, axis=2)
        squares = gram.projections.squared_norms
        scale = np.sqrt(squares[:, gram.active, None] * squares[:, None, short])
        fresh = ~np.any(np.abs(cross) > COPY * scale, axis=(0, 1))
        likeness = self.likeness if len(short) > self.width else _MOST_LIKE
        chosen = _unlike(_likeness(products), fresh, self.width, likeness)
        if len(chosen) < _FEW:
            # All alike, as with wide kernels; what the model leaves of them is not.
            explained = np.swapaxes(cross, 1, 2) @ (gram.covariance @ cross)
            left = products / gram.noise_precision[:, None, None] - explained
            chosen = _unlike(_likeness(left), fresh, _MOST_ALIKE, self.likeness)
        return Entrants(short[chosen], products[:, chosen[:, None], chosen])

    def _short_list(
        self, gaining: Indices, gain: Array, state: SequentialState
    ) -> Indices:
        most = _SHORT_LIST * self.width
        if len(gaining) > most and self.selection == "gain":
            best = _best_of_groups(gaining, gain, most // 2)
            spread = np.arange(most // 2) * len(gaining) // (most // 2)
            gaining = np.union1d(best, gaining[spread])
        if self.selection == "random":
            return np.random.default_rng([self.seed, state.steps]).permutation(gaining)[
                :most
            ]
        if self.selection == "cyclic":
            return np.roll(gaining, -np.searchsorted(gaining, state.cursor))[:most]
        return gaining[np.argsort(-gain[gaining], kind="stable")][:most]


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


def _likeness(products: Array) -> Array:
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
class Entrants:
    """Functions that join a pool."""

    columns: Indices
    gram: Array  # (K or 1, n, n) their inner products


NO_ENTRANTS = Entrants(np.empty(0, dtype=np.intp), np.empty((1, 0, 0)))


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
    problem: Problem,
    model: SearchModel,
    entrants: Entrants,
    *,
    tol: float,
    most: float,
    price: float = 0.0,
) -> Outcome:
    """Search the pool of active functions and candidates, at most so many actions.

    Tolerances follow the best gain in sight down to ``tol``, at which Newton's method
    goes all the way; what has something to gain after that is for the next round. With
    a ``price`` functions that are not worth it leave.
    """
    best = float(model.proposals.gain[entrants.columns].max(initial=0.0))
    loose = min(_LOOSE[0], _LOOSE[1] * best) if best > _LATE else tol
    loose = max(tol, loose)
    final = loose == tol
    columns = np.concatenate([model.active, entrants.columns])
    moments = known_moments(problem, model, entrants)
    variance = np.zeros(len(columns))
    variance[: len(model.active)] = 1 / model.prior_precision
    beta = model.observations.noise_precision
    before = model.solution or _solved(moments, variance, beta)
    pool = _pool(moments, variance, beta, before, price)
    least = problem.least_precision
    if least is not None:
        least = least[columns]
        with np.errstate(divide="ignore"):
            pool = replace(pool, most_variance=1 / least)
    taken = climb(pool, loose, most)
    inside = np.flatnonzero(variance)
    ascent = ascend(
        moments.subset(inside),
        1 / variance[inside],
        beta,
        start=None if taken else before,
        ceiling=model.likelihood.parameter_ceiling,
        tol=min(_NEWTON_TOL, loose),
        most=_LATE_NEWTON if final else _EARLY_NEWTON,
        least=least if least is None else least[inside],
    )
    gain = ascent.solution.log_evidence - before.log_evidence
    return Outcome(columns[inside[ascent.chosen]], ascent, gain, final)


def known_moments(problem: Problem, model: SearchModel, entrants: Entrants) -> Moments:
    """Of the active functions, which the model knows, and the candidates."""
    gram = model.gram
    assert gram is not None
    columns = np.concatenate([gram.active, entrants.columns])
    n_active = len(gram.active)
    products = np.empty((len(gram.cross), len(columns), len(columns)))
    products[:, :n_active] = gram.cross[:, :, columns]
    across = products[:, :n_active, n_active:]
    products[:, n_active:, :n_active] = np.swapaxes(across, 1, 2)
    products[:, n_active:, n_active:] = entrants.gram
    return Moments(
        products,
        gram.projections.target[:, columns],
        gram.projections.target_squares,
        float(problem.sample_weight.sum()),
    )


def _solved(moments: Moments, variance: Array, noise_precision: Array) -> Solution:
    inside = np.flatnonzero(variance)
    return solve(moments.subset(inside), 1 / variance[inside], noise_precision)


def _pool(
    moments: Moments,
    variance: Array,
    noise_precision: Array,
    solution: Solution,
    price: float,
) -> Pool:
    """T and Q at the posterior of the functions inside, eqs. (24)-(25)."""
    beta = noise_precision[:, None]
    inside = np.flatnonzero(variance)
    cross = moments.gram[:, inside]
    whitened = solve_lower(solution.factor, np.sqrt(variance[inside])[:, None] * cross)
    explained = combined_by_output(solution.mean, cross)
    prior = beta[:, :, None] * moments.gram
    whitened *= beta[:, :, None]
    norms = np.diagonal(prior, axis1=1, axis2=2)
    least = dependent_share(solution.condition) * norms
    overlap = prior - np.swapaxes(whitened, 1, 2) @ whitened
    quality = beta * (moments.target - explained)
    if len(overlap) == 1:
        products, least = np.concatenate([overlap[0], quality]), least[0]
    else:
        products = np.concatenate([overlap, quality[:, None]], axis=1)
    return Pool(products, variance, least, price)
