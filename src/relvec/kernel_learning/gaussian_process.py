"""Length scales by the evidence of all functions together, before any is selected.

Solves   max over log ℓ, log a, log σ² of log N(y | 0, C), C = aK(ℓ) + σ²V⁻¹
Given    rows, targets and the rows' weights V
By       quasi-Newton steps from several length scales

This is the evidence of a Gaussian process with the kernel as its covariance. It has one
number for each length scale and two more, and nothing is chosen among rows: so it is
not optimistic, as that of a sparse model is. With G = ½(bbᵀ − C⁻¹) and b = C⁻¹y

    ∂L/∂K = aG        ∂L/∂log a = a Σᵢⱼ GᵢⱼKᵢⱼ        ∂L/∂log σ² = σ² Σᵢ Gᵢᵢ/vᵢ

Outputs that are ``relative`` have a scale each, s_c(aK(ℓ) + σ²V⁻¹), of most evidence at
s_c = y_cᵀC⁻¹y_c/N: in b they are then divided by its root.

Equal rows are merged into one of their mean and their weight: a row that is there twice
with its target would otherwise tell of no noise at all.
"""

from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np
from scipy.linalg import cho_solve, cholesky

from relvec.kernel_learning.scales import Range, ScalePrior, lowest
from relvec.kernels.per_centre_scale import PerCentreScale
from relvec.kernels.stationary import Radial
from relvec.linalg import cholesky_and_inverse
from relvec.typing import AnyArray, Array

# A few from every start, which tell the best, and at most so many from there, as long
# as one gains so many nats: less is no evidence for anything.
_FIRST_STEPS, _STEPS, _LEAST_GAIN = 6, 50, 0.1
_DIGITS = 40  # of a length scale: the last ones of a double depend on its unit
_GRAIN = 0.05  # in log ℓ: more digits than these depend on the order of the rows
# That tell which of several starts is the best, twice as many of one for each feature:
# with 125 one in 13 draws of pumadyn_32nm began where nothing was to be found.
_FEW_ROWS = 125
_AMPLITUDE, _NOISE = 1.0, 0.1  # to begin with, of the targets' mean square
# Of both: hardly a signal, and no noise but rounding; a plane, which has wide functions
# of large amplitude, and twice as much noise as there are targets.
_LEAST, _MOST = np.log([1e-3, 1e-9]), np.log([1e6, 2.0])
# Of a plane's variance to the noise, on a grid: in steps of 1.6 nothing is missed.
_RATIOS, _N_RATIOS = (1e-4, 1e8), 60
_JITTER = 1e-10  # of the kernel: what is left of positive definite with these digits


@dataclass(frozen=True)
class Proposal:
    """Length scales proposed by a Gaussian process."""

    scales: Array  # (1 or d,)
    amplitude: float
    noise: float  # a variance; both where targets have unit mean square

    @property
    def others(self) -> Array:
        """Logarithms of amplitude and noise."""
        return np.log([self.amplitude, self.noise])


@dataclass(frozen=True)
class GaussianProcess:
    """A Gaussian process on given rows."""

    functions: PerCentreScale  # centred on the rows, no two of which are equal
    target: Array  # (N, K), of unit mean square
    weight: Array  # (N,)
    tied: bool  # whether length scales keep their ratios
    known_noise: float | None = None  # of the targets' mean square
    prior: ScalePrior | None = None  # of tied log ℓ
    relative: bool = False  # whether a and σ² are measured by each output's own scale

    @classmethod
    def of(
        cls, kernel: Radial, rows: AnyArray, target: Array, weight: Array, *, tied: bool
    ) -> "GaussianProcess":
        """Set up the process; rows may contain duplicates, in any order."""
        unique, inverse = np.unique(rows, axis=0, return_inverse=True)
        total = np.asarray(np.bincount(inverse.ravel(), weight), dtype=np.float64)
        sums = [np.bincount(inverse.ravel(), weight * each) for each in target.T]
        functions = PerCentreScale(kernel, unique, np.ones((len(unique), 1)))
        return cls(functions, np.column_stack(sums) / total[:, None], total, tied)

    def proposed(
        self,
        starts: list[Array],
        allowed: Range,
        ended: Callable[[], bool] | None = None,
    ) -> Proposal:
        """Scales of most evidence that are found from any of some, (1 or d,) each.

        Or in the time there is.
        """
        noise = _NOISE if self.known_noise is None else self.known_noise
        best = starts[0], np.log([_AMPLITUDE, noise])
        if len(starts) > 1:
            some = self._some(_FEW_ROWS if self.tied else 2 * _FEW_ROWS)
            begun = [
                some._climbed(each, best[1], allowed, _FIRST_STEPS, ended)
                for each in starts
            ]
            best = max(begun, key=lambda found: some.log_evidence(*found)[0])
        scales, others = self._climbed(*best, allowed, _STEPS, ended)
        # More digits than these depend on the order of the rows.
        steps = np.round(np.log(scales / starts[0]) / _GRAIN)
        amplitude, noise = np.exp(_GRAIN * np.round(others / _GRAIN))
        found = _without_last_digits(starts[0] * np.exp(_GRAIN * steps))
        return Proposal(found, amplitude, noise)

    def gain(self, proposal: Proposal) -> float:
        """Nats of log evidence beyond that of a constant and noise."""
        squares = self.weight @ self.target**2
        if not squares.any():
            return 0.0
        count, n_outputs = self.target.shape
        if self.relative:
            noise, nothing = 1.0, self._without_scales(squares)
        else:
            noise = self.known_noise or float(squares.sum()) / (count * n_outputs)
            nothing = -0.5 * (float(squares.sum()) / noise)
        nothing -= 0.5 * n_outputs * np.sum(np.log(noise / self.weight))
        return self.log_evidence(proposal.scales, proposal.others)[0] - float(nothing)

    def linear_gain(self) -> float:
        """The gain of planes, whose covariance is a(x − x̄)ᵀ(z − z̄), at the best a.

        With rows and targets times √v the evidence is that of independent numbers, the
        targets in the covariance's eigenvectors, of variances σ²(1 + rλ).
        """
        rows = self.functions.kernel.seen(self.functions.centres)[0]
        mean, root = np.average(rows, axis=0, weights=self.weight), np.sqrt(self.weight)
        rows = root[:, None] * (rows - mean)
        values, vectors = np.linalg.eigh(rows @ rows.T)
        values = np.maximum(values, 0.0)
        if not values.any():
            return 0.0
        squares = (vectors.T @ (root[:, None] * self.target)) ** 2
        count, n_outputs = squares.shape

        def evidence(ratio: float) -> float:
            spread = 1 + ratio * values
            noise = (squares / spread[:, None]).sum(axis=0) / count
            if not self.relative:
                noise = np.full(n_outputs, noise.mean())
            noise = np.maximum(noise, np.exp(_LEAST[1]))
            found = noise if self.known_noise is None else self.known_noise
            terms = count * (np.log(found) + noise / found)
            return -0.5 * float(np.sum(terms) + n_outputs * np.sum(np.log(spread)))

        ratios = np.geomspace(*_RATIOS, _N_RATIOS) / values.mean()
        return max(map(evidence, ratios)) - evidence(0.0)

    def leave_one_out(self, proposal: Proposal) -> Array:
        """Leave-one-out mean squared errors of the targets (K,).

        They are b/diag(C⁻¹), as Sundararajan and Keerthi (2001) have it.
        """
        functions = self._scaled(proposal.scales)
        kernel = functions.values(functions.centres)
        covariance = self._covariance(kernel, proposal.amplitude, proposal.noise)
        factor, inverse = cholesky_and_inverse(covariance[None])
        explained = cho_solve((factor[0], True), self.target, check_finite=False)
        errors = explained / np.diag(inverse[0])[:, None]
        return np.asarray(np.average(errors**2, axis=0, weights=self.weight))

    def mean(self, proposal: Proposal, rows: AnyArray) -> Array:
        """The posterior mean at some rows, aK(X, rows)ᵀC⁻¹y (N, K)."""
        functions = self._scaled(proposal.scales)
        kernel = functions.values(functions.centres)
        covariance = self._covariance(kernel, proposal.amplitude, proposal.noise)
        weights = cho_solve((cholesky(covariance, lower=True), True), self.target)
        return np.asarray(proposal.amplitude * functions.values(rows) @ weights)

    def _some(self, count: int) -> "GaussianProcess":
        """The process on about ``count`` of the rows, evenly spread."""
        rows = np.arange(0, len(self.target), -(-len(self.target) // count))
        return replace(
            self,
            functions=self.functions.subset(rows),
            target=self.target[rows],
            weight=self.weight[rows],
        )

    def _scaled(self, scales: Array) -> PerCentreScale:
        shape = (len(self.weight), len(scales))
        return replace(self.functions, scales=np.broadcast_to(scales, shape))

    def log_evidence(self, scales: Array, others: Array) -> tuple[float, Array]:
        """Log evidence at ℓ, (log a, log σ²) up to a constant; its gradient by logs."""
        amplitude, noise = np.exp(others)
        rows, n_outputs = self.functions.centres, self.target.shape[1]
        kernel, by_log_scales = self._scaled(scales).with_gradient(rows)
        covariance = self._covariance(kernel, amplitude, noise)
        factor, inverse = cholesky_and_inverse(covariance[None])
        explained = cho_solve((factor[0], True), self.target, check_finite=False)
        value = -0.5 * float(np.sum(self.target * explained))
        if self.relative:
            squares = np.sum(self.target * explained, axis=0)
            value = self._without_scales(squares)
            explained *= np.sqrt(len(rows) / np.where(squares > 0, squares, np.inf))
        value -= n_outputs * np.sum(np.log(np.diag(factor[0])))
        gradient = inverse[0]  # in place: these arrays are what takes the time
        gradient *= -0.5 * n_outputs
        gradient += (0.5 * explained) @ explained.T
        by_noise = noise * np.sum(np.diag(gradient) / self.weight)
        gradient *= amplitude
        by_amplitude = np.vdot(gradient, kernel)
        by_scales = by_log_scales(gradient).sum(axis=0)
        return float(value), np.array([*by_scales, by_amplitude, by_noise])

    def _without_scales(self, squares: Array) -> float:
        """−½N Σ log s_c of outputs whose scales are those of most evidence."""
        varying = squares[squares > 0]
        return -0.5 * len(self.weight) * float(np.sum(np.log(varying)))

    def _covariance(self, kernel: Array, amplitude: float, noise: float) -> Array:
        """The covariance C; jitter is added to the kernel in place."""
        diagonal = np.diag_indices(len(kernel))
        kernel[diagonal] += _JITTER
        covariance = amplitude * kernel
        covariance[diagonal] += noise / self.weight
        return covariance

    def _climbed(
        self,
        scales: Array,
        others: Array,
        allowed: Range,
        steps: int,
        ended: Callable[[], bool] | None,
    ) -> tuple[Array, Array]:
        """After some steps, in factors of the scales: units matter to no digit."""
        low, high = (
            np.round(end - np.log(scales), 9) for end in (allowed.low, allowed.high)
        )
        if self.tied:
            low, high = low.max(keepdims=True), high.min(keepdims=True)

        def objective(x: Array) -> tuple[float, Array]:
            moved = scales * np.exp(x[:-2])
            value, gradient = self.log_evidence(moved, x[-2:])
            if self.tied:
                shared = gradient[:-2].sum(keepdims=True)
                gradient = np.concatenate([shared, gradient[-2:]])
            if self.tied and self.prior is not None:
                log_prior, pull = self.prior.log_density(np.log(moved[:1]))
                value, gradient[0] = value + log_prior, gradient[0] + pull[0]
            return -value, -gradient

        start = np.concatenate([np.zeros(len(low)), others])
        least, most = _LEAST.copy(), _MOST.copy()
        if self.known_noise is not None:
            least[1] = most[1] = np.log(self.known_noise)
        limits = np.concatenate([low, least]), np.concatenate([high, most])
        found = lowest(objective, start, limits, steps, ended, least_gain=_LEAST_GAIN)
        return scales * np.exp(found[:-2]), found[-2:]


def _without_last_digits(values: Array) -> Array:
    """Values to 40 binary digits, in which units of powers of two round alike."""
    mantissa, exponent = np.frexp(values)
    return np.ldexp(np.round(mantissa * 2.0**_DIGITS) / 2.0**_DIGITS, exponent)
