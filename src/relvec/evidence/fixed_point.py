"""The top-down ways to the evidence's maximum: all functions in, most of them pruned.

Solves   max over α (and the noise) of the log evidence (7)
Given    a dictionary and a likelihood (Problem)
By       setting derivatives to zero and iterating: with γᵢ = 1 − αᵢΣᵢᵢ,
             MacKay  αᵢ = γᵢ/μᵢ²              β = (N − Σγ)/‖t − Φμ‖²
             EM      αᵢ = 1/(μᵢ² + Σᵢᵢ)       β = N/(‖t − Φμ‖² + Σγ/β)
         (Tipping 2001; Yuan et al. 2009, 17, 18, 20, 21). A likelihood that is not
         Gaussian is expanded at its mode, which is searched for only roughly at first
Until    no log α and no log β changes by more than ``tol``

EM raises the evidence in every step, and α to infinity never: irrelevant functions
fade out slowly. MacKay's steps are longer and not bound to rise.
"""

from dataclasses import dataclass

import numpy as np

from relvec.evidence.base import Problem
from relvec.evidence.mode import Mode, posterior_at_mode
from relvec.likelihoods import Likelihood
from relvec.typing import AnyArray, Array, Indices

UPDATES = ("mackay", "em")
_LEAST_SHARE = 1e-18  # of what the data say of a weight, its prior says at least
_ROUGH_NEWTON = 2  # steps towards the mode, while α changes more than this
_ROUGH_CHANGE = 0.5


@dataclass(frozen=True)
class FixedPointState:
    """A model and how far the last step went."""

    mode: Mode
    steps: int = 0
    change: float = np.inf  # of log α and log β, the largest

    @property
    def likelihood(self) -> Likelihood:
        return self.mode.likelihood

    @property
    def log_evidence(self) -> float:
        return self.mode.log_evidence

    @property
    def active(self) -> Indices:
        return self.mode.posterior.active

    @property
    def prior_precision(self) -> Array:
        return self.mode.posterior.prior_precision

    @property
    def mean(self) -> Array:
        return self.mode.posterior.mean

    @property
    def effective_parameters(self) -> Array:
        return self.mode.posterior.effective_parameters


@dataclass(frozen=True)
class FixedPoint:
    """Settings of the iteration."""

    update: str = "mackay"
    tol: float = 1e-3
    # A function leaves when its prior says so many times what the data say.
    prune: float = 1e6
    start_precision: float = 1.0  # of every weight, columns and targets of unit size
    noise_interval: int = 1  # steps from one estimate of the noise to the next

    def init(self, problem: Problem) -> FixedPointState:
        active = np.flatnonzero(problem.design.column_norms > 0)
        alpha = np.full(len(active), self.start_precision)
        start = np.zeros((problem.y.shape[1], len(active)))
        mode = posterior_at_mode(problem, problem.likelihood, active, alpha, start)
        return FixedPointState(mode)

    def converged(self, problem: Problem, state: FixedPointState) -> bool:
        return state.change < self.tol or len(state.active) == 0

    def step(self, problem: Problem, state: FixedPointState) -> FixedPointState:
        before = state.prior_precision
        alpha, stay = self._precisions(state)
        likelihood = self._likelihood(problem, state)
        rough = state.change > _ROUGH_CHANGE and not likelihood.conjugate
        mode = posterior_at_mode(
            problem,
            likelihood,
            state.active[stay],
            alpha[stay],
            state.mean[:, stay],
            most_steps=_ROUGH_NEWTON if rough else None,
        )
        moved = np.abs(np.log(alpha[stay] / before[stay]))
        shifted = np.abs(likelihood.log_parameters - state.likelihood.log_parameters)
        change = max(moved.max(initial=0.0), shifted.max(initial=0.0))
        return FixedPointState(mode, state.steps + 1, float(change))

    def _precisions(self, state: FixedPointState) -> tuple[Array, AnyArray]:
        """The next α, and which functions stay."""
        posterior = state.mode.posterior
        alpha = posterior.prior_precision
        squares = np.sum(posterior.mean**2, axis=0)
        variances = np.sum(posterior.whitener**2, axis=1)  # Σᵢᵢ (K, n)
        n_outputs = len(variances)
        # φᵀBφ, to which α is compared, from the diagonal of I + A^(-1/2)ΦᵀBΦA^(-1/2).
        data = alpha * np.mean(np.sum(posterior.factor**2, axis=-1) - 1, axis=0)
        with np.errstate(divide="ignore", invalid="ignore"):
            if self.update == "em":
                updated = n_outputs / (squares + variances.sum(axis=0))
            else:
                updated = np.sum(1 - alpha * variances, axis=0) / squares
        updated = np.maximum(np.nan_to_num(updated, nan=np.inf), _LEAST_SHARE * data)
        return updated, updated < self.prune * data

    def _likelihood(self, problem: Problem, state: FixedPointState) -> Likelihood:
        """With the noise estimated anew, if it is time to."""
        likelihood, eta = state.likelihood, state.mode.eta
        if (state.steps + 1) % self.noise_interval:
            return likelihood
        effective = state.effective_parameters
        if self.update == "em":
            # Stated as the γ with which (21) comes to (18).
            rss = problem.sample_weight @ (problem.y - eta) ** 2
            explained = effective * likelihood.noise_variance
            effective = problem.sample_weight.sum() * explained / (rss + explained)
        return likelihood.refit(problem.y, eta, problem.sample_weight, effective)
