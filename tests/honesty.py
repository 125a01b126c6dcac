"""Whether a search has ended where no single action raises the evidence.

Written from the definitions and not from the library: the evidence of a model, and of
every model that differs from it by one function or one parameter, is computed anew,
each at a mode of its own. Only kernel values are the library's (they have tests of
their own), and the moments of ``Mrvm1(posterior="moments")``: see ``Matched``.

An action is the addition of a function at its best α, the deletion of a function, the
re-estimation of one α, or that of the noise. Columns have the norm one under the sample
weights v, which count repetitions of a row.

- Gaussian targets, t̂ = t, have the evidence (7) of Tipping & Faul, from a QR
  decomposition of [√β V^½Φ; A^½], so that smooth functions beside little noise keep
  their digits. Several outputs share α in units of their noise: w_c ~ N(0, σ_c²/α).
- All others have Laplace's, log p(y | ŵ) − ½ŵᵀAŵ − ½ log |I + A^(-1/2)ΦᵀBΦA^(-1/2)|,
  with ŵ the mode by Newton's method with the whole Hessian, and B what the likelihood
  says it is. Many models that differ in one function are solved side by side. The α to
  which an action moves is that of (20), which holds B, as published: the exact maximum
  over α is over-confident where classes can be separated (docs/theory/search.md). What
  the action gains is the difference of the evidences at the modes.
"""

from dataclasses import dataclass, field
from functools import cached_property

import numpy as np
from scipy.linalg import solve_triangular
from scipy.optimize import minimize_scalar
from scipy.special import expit, gammaln, log_expit, log_ndtr, log_softmax

LEAST_PRECISION = 1e-12  # B of a row, as the documentation of the evidence has it
NOISE_FLOOR = 1e-12  # of the mean square of the targets, likewise
NEVER = 1e13  # times the curvature: α of a function that is not in the model
MOST_CANDIDATES = 200
MOST_OF_PROBIT = 40  # whose rows are integrals, or whose moments are matched
MOST_REESTIMATED = 30
# Nats by which the evidence depends on where the fixed point of moments is begun.
RESOLUTION_OF_MOMENTS = 0.02
ENTRIES = 3_000_000  # numbers of an array over models, rows and pairs of outputs


@dataclass(frozen=True)
class Action:
    """A change of the model and the nats that it gains."""

    kind: str  # "addition", "deletion", "re-estimation" or "noise"
    function: int  # a candidate; the number of the output for the noise
    log_change: float  # of α or β; α itself, as a logarithm, for an addition
    gain: float

    def __str__(self):
        return f"{self.kind} of {self.function}: {self.gain:.4g} nats"


@dataclass(frozen=True)
class Found:
    """A fitted model by the numbers of its functions among the candidates."""

    active: np.ndarray  # (n,)
    prior_precision: np.ndarray  # (n,) of functions as they are, not of norm one
    noise_variance: np.ndarray | None  # (K,); none but for Gaussian targets
    log_evidence: float
    status: str


@dataclass(frozen=True, eq=False)
class Dictionary:
    """All candidates, evaluated when they are asked for."""

    kernels: tuple  # functions of two sets of rows; none: columns of X are candidates
    X: np.ndarray
    weight: np.ndarray  # (N,)
    constant: bool  # candidate 0 is one everywhere

    def __len__(self):
        n_functions = self.X.shape[1]
        if self.kernels:
            n_functions = len(self.kernels) * len(self.X)
        return n_functions + self.constant

    def columns(self, chosen):
        """(N, n) as they are."""
        return np.column_stack([np.empty((len(self.X), 0)), *self._parts(chosen)])

    def _parts(self, chosen):
        # In the order asked for, neighbours of one kernel at once.
        place = np.asarray(chosen, dtype=int) - self.constant
        kernel = place // len(self.X) if self.kernels else np.zeros_like(place)
        kernel = np.where(place < 0, -1, kernel)
        for part in np.split(
            np.arange(len(place)), np.flatnonzero(np.diff(kernel)) + 1
        ):
            if len(part) == 0:
                continue
            if kernel[part[0]] < 0:
                yield np.ones((len(self.X), len(part)))
            elif self.kernels:
                centres = self.X[place[part] % len(self.X)]
                yield np.asarray(self.kernels[kernel[part[0]]](self.X, centres))
            else:
                yield self.X[:, place[part]]

    def of_norm_one(self, chosen):
        """(N, n) and what was divided by (n,); columns that vanish stay zero."""
        columns = self.columns(chosen)
        norms = np.sqrt(self.weight @ columns**2)
        return columns / np.where(norms > 0, norms, 1.0), norms


@dataclass(frozen=True)
class Bernoulli:
    """y in {0, 1}, p(y = 1) = σ(η)."""

    y: np.ndarray  # (N,)
    n_outputs = 1

    def at(self, eta):
        """log p (C, N), its gradient (C, N, 1) and minus its Hessian (C, N, 1, 1)."""
        eta = eta[..., 0]
        p = expit(eta)
        log_p = self.y * log_expit(eta) + (1 - self.y) * log_expit(-eta)
        return log_p, (self.y - p)[..., None], (p * expit(-eta))[..., None, None]

    def precision(self, hessian):
        """B (C, N, K), or (C, N, 1) where outputs share it."""
        return np.maximum(hessian[..., 0], LEAST_PRECISION)


@dataclass(frozen=True)
class Poisson(Bernoulli):
    """Counts of rate e^η times the exposure, the mean count."""

    exposure: float

    def at(self, eta):
        eta = eta[..., 0]
        with np.errstate(over="ignore"):
            rate = self.exposure * np.exp(np.minimum(eta, 300.0))
        log_p = self.y * (eta + np.log(self.exposure)) - rate - gammaln(self.y + 1)
        return log_p, (self.y - rate)[..., None], rate[..., None, None]


@dataclass(frozen=True)
class Softmax:
    """Classes with p_c ∝ exp η_c; the log determinant leaves out what couples them."""

    y: np.ndarray  # (N,) numbers of classes
    n_outputs: int

    def at(self, eta):
        logs = log_softmax(eta, axis=-1)
        p, own = np.exp(logs), np.eye(self.n_outputs)[self.y]
        hessian = p[..., None] * np.eye(self.n_outputs) - p[..., None] * p[..., None, :]
        return np.sum(own * logs, axis=-1), own - p, hessian

    def precision(self, hessian):
        return np.maximum(np.einsum("cnkk->cnk", hessian), LEAST_PRECISION)


@dataclass(frozen=True)
class MultinomialProbit:
    """The class of the largest of y_c ~ N(η_c, 1), η = ζCᵀ, C orthonormal contrasts.

    Z = ∫ φ(u) ∏_j Φ(u + η_own − η_j) du over the other classes j, by Gauss and
    Hermite's rule about the maximum of the integrand. One curvature, the mean over
    contrasts, stands for all of them in the log determinant.
    """

    y: np.ndarray
    n_classes: int
    n_nodes: int = 20

    @property
    def n_outputs(self):
        return self.n_classes - 1

    @cached_property
    def _differences(self):
        """(N, K − 1, K − 1): of each row, η_own − η_j as a product with ζ."""
        contrasts = np.linalg.qr(
            np.column_stack([np.ones(self.n_classes), np.eye(self.n_classes)[:, 1:]])
        )[0][:, 1:]
        other = np.arange(self.n_classes - 1)
        other = other + (other >= self.y[:, None])
        return contrasts[self.y][:, None] - contrasts[other]

    def at(self, zeta):
        D = self._differences
        d = np.einsum("njo,cno->cnj", D, zeta)
        u, narrow = self._peak(d)
        nodes, weights = np.polynomial.hermite_e.hermegauss(self.n_nodes)
        v = u[..., None] + narrow[..., None] * nodes  # (C, N, q)
        below = log_ndtr(v[..., None] + d[..., None, :])  # (C, N, q, j)
        ratio = np.exp(-0.5 * (v[..., None] + d[..., None, :]) ** 2 - below)
        ratio /= np.sqrt(2 * np.pi)
        logs = below.sum(-1) - 0.5 * v**2 + 0.5 * nodes**2 + np.log(weights)
        top = logs.max(-1, keepdims=True)
        share = np.exp(logs - top)
        total = share.sum(-1)
        log_z = top[..., 0] + np.log(total * narrow) - 0.5 * np.log(2 * np.pi)
        share /= total[..., None]
        mean = np.einsum("cnq,cnqj->cnj", share, ratio)
        slope = -ratio * (v[..., None] + d[..., None, :] + ratio)  # of Φ'/Φ
        second = np.einsum("cnq,cnqi,cnqj->cnij", share, ratio, ratio)
        second -= mean[..., :, None] * mean[..., None, :]
        bent = np.einsum("cnq,cnqj->cnj", share, slope)
        second += bent[..., None] * np.eye(self.n_outputs)
        gradient = np.einsum("njo,cnj->cno", D, mean)
        return log_z, gradient, -np.einsum("nio,cnij,njp->cnop", D, second, D)

    @staticmethod
    def _peak(d):
        """Where −½u² + Σ log Φ(u + d_j) is largest, and 1/√ of minus its curvature."""
        u = np.maximum(0.0, -d.min(-1) / 2)
        for _ in range(6):
            z = u[..., None] + d
            r = np.exp(-0.5 * z**2 - log_ndtr(z)) / np.sqrt(2 * np.pi)
            curvature = 1 + np.sum(r * (z + r), -1)
            u = u + (r.sum(-1) - u) / curvature
        return u, 1 / np.sqrt(curvature)

    def precision(self, hessian):
        mean = np.einsum("cnkk->cn", hessian) / self.n_outputs
        return np.maximum(mean, LEAST_PRECISION)[..., None]


@dataclass(frozen=True, eq=False)
class Laplace:
    """Models of one set of functions, and with one more, by Laplace's method."""

    likelihood: object
    weight: np.ndarray  # (N,)
    columns: np.ndarray  # (N, n) of norm one
    prior_precision: np.ndarray  # (n,)

    @cached_property
    def _pairs(self):
        N, n = self.columns.shape
        if N * n * n > 20_000_000:
            return None
        return (self.columns[:, :, None] * self.columns[:, None, :]).reshape(N, -1)

    @cached_property
    def here(self):
        """(1,) evidence and (1, K, n) weights of the model as it is."""
        K, n = self.likelihood.n_outputs, len(self.prior_precision)
        return self.solved(self.prior_precision[None], np.zeros((1, K, n)))

    @property
    def log_evidence(self):
        return float(self.here[0][0])

    def changed(self, numbers, alpha, start=None):
        """Of models with other α (C,) of the functions of these numbers (C,)."""
        alphas = np.repeat(self.prior_precision[None], len(numbers), axis=0)
        alphas[np.arange(len(numbers)), numbers] = alpha
        if start is None:
            start = np.repeat(self.here[1], len(numbers), axis=0)
        return self._in_parts(alphas, start, None)

    def with_one_more(self, more, alpha, start=None):
        """Of models with one of the columns (N, C) besides, at these α (C,)."""
        count = more.shape[1]
        alphas = np.repeat(self.prior_precision[None], count, axis=0)
        alphas = np.column_stack([alphas, alpha])
        if start is None:
            nothing = np.zeros((1, self.likelihood.n_outputs, 1))
            start = np.concatenate([self.here[1], nothing], axis=2)
            start = np.repeat(start, count, axis=0)
        return self._in_parts(alphas, start, more.T)

    def _in_parts(self, alphas, start, more):
        per_model = len(self.weight) * self.likelihood.n_outputs**2
        if isinstance(self.likelihood, MultinomialProbit):
            per_model *= 2 * self.likelihood.n_nodes
        size = max(1, ENTRIES // per_model)
        found = [
            self.solved(alphas[at], start[at], None if more is None else more[at])
            for at in (slice(i, i + size) for i in range(0, len(alphas), size))
        ]
        return tuple(np.concatenate(part) for part in zip(*found, strict=True))

    def solved(self, alphas, start, more=None):
        """Evidence (C,) and modes (C, K, m) of models of α (C, m)."""
        w, root = start.copy(), np.sqrt(alphas)
        eta = self._eta(w, more)
        terms = self.likelihood.at(eta)
        objective = self._objective(terms, alphas, w)
        models = alphas, w, more  # w is changed in place
        last = np.full(len(w), np.inf)
        moving = np.arange(len(w))
        for _ in range(60):
            inner, gradient = self._system(terms, models, moving)
            z = np.linalg.solve(inner, gradient[..., None])[..., 0]
            size = np.einsum("ci,ci->c", gradient, z)
            at_end = (size < 1e-13) | ((size < 1e-7) & (size > 0.3 * last[moving]))
            last[moving] = size
            step = z.reshape(len(moving), *w.shape[1:]) / root[moving, None, :]
            step, moving = step[~at_end], moving[~at_end]
            if len(moving) == 0:
                break
            there = self._backtracked(models, moving, step, eta, objective)
            w[moving], eta[moving], objective[moving], new = there
            for whole, part in zip(terms, new, strict=True):
                whole[moving] = part
        B = self.likelihood.precision(terms[2])
        evidence = objective.copy()
        for k in range(w.shape[1]):
            inner = self._gram(B[..., min(k, B.shape[-1] - 1)], more)
            inner = inner / (root[:, :, None] * root[:, None, :])
            inner += np.eye(inner.shape[-1])
            evidence -= 0.5 * np.linalg.slogdet(inner)[1]
        return evidence, w

    def _backtracked(self, models, moving, step, eta, objective):
        alphas, w, more = models
        chosen = None if more is None else more[moving]
        slope, share = self._eta(step, chosen), np.ones(len(moving))
        for _ in range(40):
            there = w[moving] + share[:, None, None] * step
            values = eta[moving] + share[:, None, None] * slope
            terms = self.likelihood.at(values)
            reached = self._objective(terms, alphas[moving], there)
            before = objective[moving]
            falls = ~(reached >= before - 1e-12 * (1 + np.abs(before)))
            if not falls.any():
                break
            share[falls] *= 0.5
        return there, values, reached, terms

    def _eta(self, w, more):
        n = self.columns.shape[1]
        eta = np.einsum("ckm,nm->cnk", w[..., :n], self.columns, optimize=True)
        if more is not None:
            eta += more[:, :, None] * w[:, None, :, n]
        return eta

    def _objective(self, terms, alphas, w):
        penalty = np.einsum("cm,ckm,ckm->c", alphas, w, w)
        return terms[0] @ self.weight - 0.5 * penalty

    def _system(self, terms, models, moving):
        """A^(-1/2)(Hessian)A^(-1/2) and the gradient times A^(-1/2)."""
        alphas, w, more = models
        more = None if more is None else more[moving]
        gradient, hessian = terms[1][moving], terms[2][moving]
        root = np.sqrt(alphas[moving])
        count, K, m = w[moving].shape
        inner = np.empty((count, K, m, K, m))
        for k in range(K):
            for other in range(k + 1):
                block = self._gram(hessian[..., k, other], more)
                block = block / (root[:, :, None] * root[:, None, :])
                inner[:, k, :, other] = inner[:, other, :, k] = block
        inner = inner.reshape(count, K * m, K * m) + np.eye(K * m)
        pull = self._pulled(gradient * self.weight[:, None], more)
        pull = (pull - alphas[moving, None] * w[moving]) / root[:, None, :]
        return inner, pull.reshape(count, K * m)

    def _pulled(self, values, more):
        """Φᵀ values: (C, N, K) to (C, K, m)."""
        pull = np.einsum("cnk,nm->ckm", values, self.columns, optimize=True)
        if more is None:
            return pull
        last = np.einsum("cnk,cn->ck", values, more)
        return np.concatenate([pull, last[..., None]], axis=2)

    def _gram(self, precision, more):
        """ΦᵀVBΦ (C, m, m) of precisions (C, N)."""
        weights, P = precision * self.weight, self.columns
        n = P.shape[1]
        if self._pairs is None:
            gram = np.array([(P.T * w) @ P for w in weights])
        else:
            gram = (weights @ self._pairs).reshape(len(weights), n, n)
        if more is None:
            return gram
        whole = np.empty((len(gram), n + 1, n + 1))
        whole[:, :n, :n] = gram
        whole[:, :n, n] = whole[:, n, :n] = (weights * more) @ P
        whole[:, n, n] = np.sum(weights * more**2, axis=1)
        return whole

    def without_themselves(self):
        """s and q (K, n) of the functions inside, (23), with B held at the mode."""
        w = self.here[1][0]
        _, _, hessian = self.likelihood.at(self._eta(self.here[1], None))
        B = self.likelihood.precision(hessian)[0] * self.weight[:, None]
        return self._without(w, B)

    def _without(self, w, B):
        alpha, variance = self.prior_precision, np.empty_like(w)
        for k in range(len(w)):
            b = B[:, min(k, B.shape[1] - 1)]
            inner = (self.columns.T * b) @ self.columns + np.diag(alpha)
            variance[k] = np.linalg.inv(inner).diagonal()
        return np.maximum(1 - alpha * variance, 1e-300) / variance, w / variance

    def sparsity_and_quality(self, more):
        """S and Q (K, C) of columns outside, at the mode; Q is Φᵀ∂log p/∂η."""
        eta = self._eta(self.here[1], None)
        _, gradient, hessian = self.likelihood.at(eta)
        B = self.likelihood.precision(hessian)[0] * self.weight[:, None]
        quality = (gradient[0] * self.weight[:, None]).T @ more
        sparsity = np.empty_like(quality)
        for k in range(len(quality)):
            b = B[:, min(k, B.shape[1] - 1)]
            inner = (self.columns.T * b) @ self.columns + np.diag(self.prior_precision)
            factor = np.linalg.cholesky(inner)
            cross = (self.columns.T * b) @ more
            seen = solve_triangular(factor, cross, lower=True)
            sparsity[k] = b @ more**2 - np.sum(seen**2, axis=0)
        return np.maximum(sparsity, 1e-300), quality


class Matched(Laplace):
    """The same where moments are matched: by the library's own fixed point.

    Expectation propagation is not written anew here, so the evidence of each model is
    that which ``posterior_at_mode`` finds for it, from zero weights. Whether the search
    has ended where no action gains is still asked independently of the search.
    """

    def solved(self, alphas, start, more=None):
        found = []
        for number, alpha in enumerate(alphas):
            columns = self.columns
            if more is not None:
                columns = np.column_stack([columns, more[number]])
            found.append(self._matched(columns, alpha).log_evidence)
        return np.array(found), start

    def _matched(self, columns, alpha):
        """By the library; functions whose α is that of none are left out."""
        from relvec.design import DenseDesign
        from relvec.evidence import Problem
        from relvec.evidence.mode import posterior_at_mode
        from relvec.likelihoods import EPProbit
        from relvec.likelihoods.multinomial import contrasts

        inside = np.flatnonzero(alpha < NEVER / 10)
        code = contrasts(self.likelihood.n_classes)
        design = DenseDesign.weighted(columns[:, inside], self.weight)
        y = code[self.likelihood.y]
        problem = Problem(design, y, EPProbit(code), self.weight)
        start = np.zeros((y.shape[1], len(inside)))
        at = np.arange(len(inside)), alpha[inside], start
        return posterior_at_mode(problem, problem.likelihood, *at)

    def without_themselves(self):
        mode = self._matched(self.columns, self.prior_precision)
        return self._without(mode.posterior.mean, mode.observations.precision)

    def sparsity_and_quality(self, more):
        """By the observations that rows amount to, whose evidence changes likewise."""
        mode = self._matched(self.columns, self.prior_precision)
        seen = mode.observations
        quality = (seen.precision * (seen.target - mode.eta)).T @ more
        b = seen.precision[:, 0]
        inner = (self.columns.T * b) @ self.columns + np.diag(self.prior_precision)
        cross = (self.columns.T * b) @ more
        whitened = solve_triangular(np.linalg.cholesky(inner), cross, lower=True)
        s = b @ more**2 - np.sum(whitened**2, axis=0)
        return np.tile(np.maximum(s, 1e-300), (len(quality), 1)), quality


@dataclass(frozen=True, eq=False)
class Gaussian:
    """Models of real targets (N, K); α in units of the noise if outputs share it."""

    y: np.ndarray
    weight: np.ndarray
    columns: np.ndarray
    prior_precision: np.ndarray
    noise_variance: np.ndarray  # (K,)
    estimated: bool = True

    @property
    def _shared(self):
        return self.y.shape[1] > 1

    def _units(self, noise_variance):
        """Targets (N, K) of the noise precision that is returned beside them."""
        t = np.sqrt(self.weight)[:, None] * self.y
        if self._shared:
            return t / np.sqrt(noise_variance), 1.0
        return t, 1 / float(noise_variance[0])

    def evidence(self, columns, alpha, noise_variance):
        """(7), of functions and precisions that are given."""
        t, beta = self._units(noise_variance)
        Q, R = _decomposed(columns, self.weight, alpha, beta)
        left = _left(Q, t)
        squares = beta * np.einsum("nk,nk->", left, left)
        determinant = np.log(np.abs(R.diagonal())).sum() - 0.5 * np.log(alpha).sum()
        count, K = self.weight.sum(), t.shape[1]
        density = -0.5 * count * np.log(2 * np.pi * noise_variance).sum()
        return density - 0.5 * squares - K * determinant

    @cached_property
    def log_evidence(self):
        return self.evidence(self.columns, self.prior_precision, self.noise_variance)

    def sparsity_and_quality(self, more):
        """S and Q (K, C), eq. (22), without differences of nearly equal numbers."""
        t, beta = self._units(self.noise_variance)
        Q, _ = _decomposed(self.columns, self.weight, self.prior_precision, beta)
        away, left = _left(Q, np.sqrt(self.weight)[:, None] * more), _left(Q, t)
        S = beta * np.einsum("nm,nm->m", away, away)
        return np.tile(S, (t.shape[1], 1)), beta * left.T @ away

    def inside(self):
        """s and q (K, n), eq. (23), of the functions in the model."""
        t, beta = self._units(self.noise_variance)
        Q, R = _decomposed(self.columns, self.weight, self.prior_precision, beta)
        inverse = solve_triangular(R, np.eye(len(R)))
        padded = np.concatenate([t, np.zeros((len(R), t.shape[1]))])
        mean = (inverse @ (Q.T @ padded)).T * np.sqrt(beta)
        variance = np.sum(inverse**2, axis=1)
        s = np.maximum(1 / variance - self.prior_precision, 1e-300)
        return np.tile(s, (t.shape[1], 1)), mean / variance


def _decomposed(columns, weight, alpha, beta):
    scaled = np.sqrt(beta * weight)[:, None] * columns
    return np.linalg.qr(np.concatenate([scaled, np.diag(np.sqrt(alpha))]))


def _left(Q, rows):
    """[rows; 0] less its projection on Q: its inner products are those of C⁻¹/β."""
    left = np.concatenate([rows, np.zeros((Q.shape[1], rows.shape[1]))])
    for _ in range(2):
        left = left - Q @ (Q.T @ left)
    return left


@dataclass(frozen=True, eq=False)
class Case:
    """What was fitted, and what the fit has found."""

    dictionary: Dictionary
    found: Found
    y: np.ndarray  # targets (N, K) less the offset, counts, or numbers of classes
    likelihood: object | None = None  # none: Gaussian
    estimated: bool = True
    largest_std: float | None = None  # of what one function adds to η: a bound
    moments: bool = False
    drawn: bool = False  # whether the search has seen some candidates only
    tol: float = 1e-4
    seed: int = 0
    name: str = field(default="", compare=False)

    @property
    def threshold(self):
        """Nats: what no action may gain."""
        outputs = self.y.shape[1] if self.likelihood is None else 1
        known_to = RESOLUTION_OF_MOMENTS if self.moments else 0.0
        return self.tol * self.dictionary.weight.sum() * outputs + known_to

    @property
    def least(self):
        """The least that α may be, of columns of norm one."""
        if self.largest_std is None:
            return 0.0
        return 1 / (self.dictionary.weight.sum() * self.largest_std**2)

    @cached_property
    def model(self):
        """The model, to be changed."""
        weight, found = self.dictionary.weight, self.found
        columns, norms = self.dictionary.of_norm_one(found.active)
        alpha = found.prior_precision / norms**2
        if self.likelihood is None:
            noise = np.atleast_1d(found.noise_variance)
            return Gaussian(self.y, weight, columns, alpha, noise, self.estimated)
        kind = Matched if self.moments else Laplace
        return kind(self.likelihood, weight, columns, alpha)

    def violations(self):
        """Actions that gain more than the threshold, the greatest first."""
        gaussian = self.likelihood is None
        actions = _gaussian_actions(self) if gaussian else _laplace_actions(self)
        beyond = [action for action in actions if action.gain > self.threshold]
        return sorted(beyond, key=lambda action: -action.gain)

    def outside(self, rng):
        """Candidates that are not in the model: all, or fresh ones where too many."""
        others = np.setdiff1d(np.arange(len(self.dictionary)), self.found.active)
        if self.drawn and len(others) > MOST_CANDIDATES:
            others = np.sort(rng.choice(others, MOST_CANDIDATES, replace=False))
        return others


def best_precision(s, q, least):
    """argmax over α of Σ ½[log α − log(α + s) + q²/(α + s)], (K, C) to (C,).

    Eq. (20), exact where all outputs have one sparsity factor, otherwise near it. It is
    infinite where no α gains.
    """
    K = len(s)
    excess = np.sum(q**2 - s, axis=0)
    with np.errstate(over="ignore"):  # a gain next to nothing at an α without end
        best = s.mean(axis=0) ** 2 * K / np.maximum(excess, 1e-300)
    start = np.where(excess > 0, best, np.inf)
    return np.where(np.isfinite(start), np.maximum(start, least), np.inf)


def gain_of(alpha, s, q):
    """ℓ(α) (18) of one function, (C,): nothing for an infinite α."""
    out = ~np.isfinite(alpha)
    a = np.where(out, 1.0, alpha)
    terms = q**2 / (a + s) - np.log1p(s / a)
    return np.where(out, 0.0, 0.5 * terms.sum(axis=0))


def _gaussian_actions(case):
    """In closed form, the greatest of each kind once more by the evidence itself."""
    model, rng = case.model, np.random.default_rng(case.seed)
    alpha, before = model.prior_precision, model.log_evidence
    actions = []
    others = case.outside(rng)
    for part in np.array_split(others, 1 + len(others) // 1000):
        more, norms = case.dictionary.of_norm_one(part)
        s, q = model.sparsity_and_quality(more)
        best = best_precision(s, q, case.least)
        gains = np.where(norms > 0, gain_of(best, s, q), 0.0)
        for i in np.argsort(-gains)[:3]:
            if gains[i] > case.threshold:
                columns = np.column_stack([model.columns, more[:, i]])
                given = np.append(alpha, best[i]), model.noise_variance
                gain = model.evidence(columns, *given) - before
                action = "addition", int(part[i]), float(np.log(best[i])), gain
                actions.append(Action(*action))
    if len(alpha):
        actions += _gaussian_changes(case, before)
    if model.estimated:
        actions += _noise_actions(case, before)
    return actions


def _gaussian_changes(case, before):
    model, active = case.model, case.found.active
    alpha, noise = model.prior_precision, model.noise_variance
    s, q = model.inside()
    here = gain_of(alpha, s, q)
    best = best_precision(s, q, case.least)
    gains = {"deletion": -here, "re-estimation": gain_of(best, s, q) - here}
    for kind, gain in gains.items():
        for i in np.argsort(-gain)[:3]:
            if gain[i] <= case.threshold or (kind[0] == "r" and np.isinf(best[i])):
                continue
            keep = np.arange(len(alpha)) != i
            if kind == "deletion":
                after = model.evidence(model.columns[:, keep], alpha[keep], noise)
                change = np.inf
            else:
                moved = np.where(keep, alpha, best)
                after = model.evidence(model.columns, moved, noise)
                change = float(np.log(best[i] / alpha[i]))
            yield Action(kind, int(active[i]), change, after - before)


def _noise_actions(case, before):
    """Of each output by itself, no smaller than its floor."""
    model = case.model
    count = model.weight.sum()
    mean_square = model.weight @ model.y**2 / count
    for k, noise in enumerate(model.noise_variance):
        lowest = np.log(NOISE_FLOOR * mean_square[k] / noise)

        def lost(change, k=k):
            moved = model.noise_variance.copy()
            moved[k] *= np.exp(change)
            return before - model.evidence(model.columns, model.prior_precision, moved)

        bounds = max(-3.0, min(lowest, -1e-9)), 3.0
        best = minimize_scalar(lost, bounds=bounds, method="bounded")
        yield Action("noise", k, float(-best.x), float(-best.fun))


def _laplace_actions(case):
    model, active = case.model, case.found.active
    before, actions = model.log_evidence, []
    if len(active):
        numbers = _to_change(model)
        deleted = NEVER * np.maximum(1.0, model.prior_precision[numbers])
        gains = model.changed(numbers, deleted)[0] - before
        for i, gain in zip(numbers, gains, strict=True):
            actions.append(Action("deletion", int(active[i]), np.inf, float(gain)))
        s, q = model.without_themselves()
        present = model.prior_precision
        best = best_precision(s, q, case.least)
        best = np.where(np.isfinite(best), best, present)  # else it is a deletion
        gains = model.changed(numbers, best[numbers])[0] - before
        for i, gain in zip(numbers, gains, strict=True):
            change = float(np.log(best[i] / present[i]))
            actions.append(Action("re-estimation", int(active[i]), change, float(gain)))
    return actions + _laplace_additions(case, before)


def _to_change(model):
    """All functions if they are few, or those with the steepest evidence."""
    n = len(model.prior_precision)
    if n <= MOST_REESTIMATED:
        return np.arange(n)
    every, moved = np.arange(n), 0.05
    up, down = (
        model.changed(every, model.prior_precision * np.exp(shift))[0]
        for shift in (moved, -moved)
    )
    return np.sort(np.argsort(-np.abs(up - down))[:MOST_REESTIMATED])


def _laplace_additions(case, before):
    model, rng = case.model, np.random.default_rng(case.seed)
    others = case.outside(rng)
    more, norms = case.dictionary.of_norm_one(others)
    others, more = others[norms > 0], more[:, norms > 0]
    if len(others) == 0:
        return []
    s, q = model.sparsity_and_quality(more)
    best = best_precision(s, q, case.least)
    worth = gain_of(best, s, q) + np.sum(q**2, axis=0) / s.sum(axis=0) * 1e-9
    probit = isinstance(case.likelihood, MultinomialProbit)
    most = MOST_OF_PROBIT if probit else MOST_CANDIDATES
    chosen = np.argsort(-worth)[: most * 3 // 4]
    rest = np.setdiff1d(np.arange(len(others)), chosen)
    chosen = np.append(chosen, rng.permutation(rest)[: most - len(chosen)])
    others, more = others[chosen], more[:, chosen]
    worthwhile = np.isfinite(best[chosen])
    others, more, alpha = (
        others[worthwhile],
        more[:, worthwhile],
        best[chosen][worthwhile],
    )
    if len(others) == 0:
        return []
    gains = model.with_one_more(more, alpha)[0] - before
    triples = zip(others, np.log(alpha), gains, strict=True)
    return [Action("addition", int(i), float(a), float(g)) for i, a, g in triples]
