"""Several classes as one model: schemes, likelihoods of the outputs, and probabilities.

Laplace's approximation hardly changes without one row where classes are nearly
separated, so the loss of rows left out is optimistic there. Generalised
cross-validation is not, but it has no loss of single rows. It therefore sets the share
of rows that count as drawn from the frequencies of the classes, whatever the model says
of them, and ``ClassPriorMixing`` mixes the probabilities with these frequencies.
"""

from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass, field, fields, replace
from functools import cached_property, lru_cache
from typing import Any, ClassVar

import numpy as np
from scipy.optimize import minimize_scalar, root
from scipy.special import kolmogi, log_expit, log_softmax, logit, ndtr, ndtri

from relvec.evidence import Mrvm2, PrecisionOfEach, PublishedMrvm1, Solver
from relvec.likelihoods import Bernoulli, EPProbit, Likelihood, MultinomialProbit
from relvec.likelihoods import Softmax as SoftmaxLikelihood
from relvec.likelihoods.bernoulli import moderated_log_odds
from relvec.likelihoods.multinomial import contrasts, softmax_probabilities
from relvec.modelling.families.base import LeftOut
from relvec.modelling.predictive import Calibration, ClassPrediction, decision_of
from relvec.modelling.training_rows import TrainingRows, TrainingSet
from relvec.parameters import check_choice
from relvec.parametric import Parametric
from relvec.typing import AnyArray, Array, Indices

# Observations that an effective parameter costs: Friedman's, as in
# ``relvec.kernel_learning.criteria``; 1 and 2 were worse on 25 problems of classes.
_COST_PER_PARAMETER = 3.0
_LEAST_LEFT = 0.05  # of all observations
_MOST_AT_RANDOM = 0.5  # of all rows: with very few of them costs say nothing
_LEAST_GAIN = 1.0  # nats of all rows: less is no evidence for anything
_LARGEST_DOUBT = 1 - 1e-9


@dataclass(frozen=True, eq=False)
class ClassPriorMixing:
    """Probabilities are mixed with the frequencies of the classes."""

    share: float
    frequencies: Array  # (K,)

    def applied(self, decision: Array) -> Array:
        """Mix log odds (N,) of two classes, or log probabilities (N, K)."""
        if decision.ndim == 1:
            return MixingOfEach.of([self]).applied(decision)
        return np.logaddexp(decision + self.log_sure, self.log_shares)

    @property
    def log_sure(self) -> float:
        """Logarithm of the share of the model's own probabilities."""
        return float(np.log1p(-self.share))

    @property
    def log_shares(self) -> Array:
        """Logarithms of the shares of the class frequencies (K,)."""
        with np.errstate(divide="ignore"):
            return np.log(self.share * self.frequencies)

    def even(self, room: float) -> tuple[float, float]:
        """The value of p₁ − p₀ at which two classes are equally probable after mixing.

        And around it what becomes ``room`` with it.
        """
        first, second = (float(one) for one in self.frequencies)
        sure = 1 - self.share
        return self.share * (first - second) / sure, room / sure

    def overcome(self, leads: Array, chosen: Indices, room: float) -> AnyArray:
        """Whether the leading class of a row still leads after mixing (N,).

        Without it, it is, by at least what ``leads`` (N, K) say of p − pⱼ.
        """
        against = self.share * (self.frequencies - self.frequencies[chosen][:, None])
        kept = (against <= 0) | ((1 - self.share) * leads > against + room)
        return np.asarray(kept.all(axis=1))


@dataclass(frozen=True, eq=False)
class MixingOfEach:
    """Mixing for several models of two classes each, as logarithms."""

    sure: Array  # (M,)
    first: Array  # (M,) of the first class's frequency
    second: Array  # (M,)

    @classmethod
    def of(cls, doubts: Sequence[ClassPriorMixing | None]) -> "MixingOfEach":
        """Collect the mixing of every model; None stands for no mixing."""
        none = ClassPriorMixing(0.0, np.full(2, 0.5))
        each = [one or none for one in doubts]
        first, second = np.transpose([one.log_shares for one in each])
        return cls(np.array([one.log_sure for one in each]), first, second)

    def applied(self, odds: Array) -> Array:
        """Mix log odds (…, M) of the second classes."""
        above = np.logaddexp(log_expit(odds) + self.sure, self.second)
        below = np.logaddexp(log_expit(-odds) + self.sure, self.first)
        return np.asarray(above - below)


@dataclass(frozen=True, eq=False)
class Losses:
    """Log probabilities of training rows, by all rows and with each row left out."""

    fitted: Array  # (N, K) log probabilities
    left_out: Array  # (N, K)
    classes: Indices  # (N,)
    weight: Array  # (N,)
    spent: float  # share of the observations on effective parameters
    exact: bool = False  # whether functions were selected again without these rows

    def doubt(self) -> ClassPriorMixing | None:
        """The mixing of least loss; None if it gains less than a nat."""
        frequencies = np.bincount(self.classes, self.weight, self.fitted.shape[1])
        frequencies = frequencies / self.weight.sum()
        at_random = 0.0 if self.exact else self._at_random(frequencies)
        p = np.exp(self.left_out)

        def loss(share: float) -> float:
            mixed = (1 - share) * p + share * frequencies
            log_p = np.log(np.maximum(mixed, np.finfo(float).tiny))
            drawn = at_random * self._mean(log_p @ frequencies)
            return -(1 - at_random) * self._mean(self._own(log_p)) - drawn

        found = minimize_scalar(loss, bounds=(0, _LARGEST_DOUBT), method="bounded")
        gain = self.weight.sum() * (loss(0.0) - float(found.fun))
        return (
            ClassPriorMixing(float(found.x), frequencies)
            if gain > _LEAST_GAIN
            else None
        )

    def _at_random(self, frequencies: Array) -> float:
        """The share of rows at random that makes the loss that of cross-validation."""
        left = max(1 - _COST_PER_PARAMETER * self.spent, _LEAST_LEFT)
        expected = -self._mean(self._own(self.fitted)) - np.log(left)
        known = -self._mean(self._own(self.left_out))
        drawn = -self._mean(self.left_out @ frequencies)
        if expected <= known:
            return 0.0
        share = (expected - known) / max(drawn - known, expected - known)
        return float(min(share, _MOST_AT_RANDOM))

    def _own(self, log_p: Array) -> Array:
        return log_p[np.arange(len(log_p)), self.classes]

    def _mean(self, values: Array) -> float:
        return float(np.average(values, weights=self.weight))


def as_log_p(decision: Array) -> Array:
    """Convert log odds of two classes to log probabilities (N, K)."""
    if decision.ndim > 1:
        return decision
    return log_softmax(np.column_stack([np.zeros(len(decision)), decision]), axis=1)


# Akaike's price of a parameter, here the α of a function, found by maximisation.
_PRICE = 1.0
# A logistic variable is a normal one of deviation 2V, V distributed as Kolmogorov's
# statistic: so many times it has no more than this variance.
_MOST_TIMES = 0.95
_MOST_VARIANCE = float(4 * kolmogi(1 - _MOST_TIMES) ** 2)
# Leads of a class that no rounding of an integral takes from it.
_CLEAR, _CLEAR_MEANS = 1e-9, 1e-6

_EVEN = 1e-9  # of latent values


@dataclass(frozen=True, eq=False)
class ClassFamily(ABC):
    """Classes; the targets of rows are indices of classes."""

    labels: AnyArray  # (K,)
    doubt: ClassPriorMixing | None = field(default=None, kw_only=True)
    # Whether predictions use the covariance of all outputs together.
    coupled: bool = field(default=False, kw_only=True)
    price: ClassVar[float] = 0.0

    @property
    def units(self) -> Array | None:
        return None

    @property
    def in_units(self) -> "ClassFamily":
        return self

    @property
    @abstractmethod
    def likelihood(self) -> Likelihood:
        """Likelihood of the outputs."""

    def outputs(self, indices: Indices) -> Array:
        """Outputs (N, outputs) for indices of classes."""
        return np.eye(len(self.labels))[indices]

    @property
    def parameters(self) -> dict[str, Any]:
        return {}

    def offset(self, mean: float, weight: float) -> float:
        return 0.0

    def targets(self, y: AnyArray, offset: float) -> Array:
        return self.outputs(np.searchsorted(self.labels, y))

    def given(self, targets: Array, offset: float) -> AnyArray:
        return self._classes(targets)

    def starting_likelihood(
        self, targets: Array, weight: Array, offset: float
    ) -> Likelihood:
        return self.likelihood

    def encoded(self, rows: TrainingRows, y: AnyArray) -> TrainingSet:
        return TrainingSet(rows, self.outputs(y), self.likelihood)

    def gaussian_targets(self, data: TrainingSet, latent: Array | None) -> TrainingSet:
        return data

    def fitted(self, likelihood: Likelihood, noise_freedom: float) -> "ClassFamily":
        return self

    def calibrated(self, left_out: LeftOut) -> "ClassFamily":
        """Mix probabilities with class frequencies if rows left out ask for it."""
        losses = Losses(
            fitted=as_log_p(self.decision(*left_out.fitted)),
            left_out=as_log_p(self.decision(left_out.mean, left_out.variance)),
            classes=self._classes(left_out.targets),
            weight=left_out.weight,
            spent=left_out.n_parameters / left_out.n_observations,
            exact=left_out.repeated,
        )
        if not left_out.repeated:
            return replace(self, doubt=losses.doubt())
        better = replace(self, doubt=losses.doubt())
        now, then = self.calibration(left_out), better.calibration(left_out)
        return better if now.clearly_worse_than(then) else self

    def _classes(self, targets: Array) -> Indices:
        """Indices of classes (N,) for their outputs."""
        codes = self.outputs(np.arange(len(self.labels)))
        # The nearest code, without an array of rows, classes and outputs.
        nearness = targets @ codes.T - 0.5 * (codes**2).sum(axis=1)
        return np.argmax(nearness, axis=1)

    def as_calibrated(self, likelihood: Likelihood) -> Likelihood:
        return likelihood

    def residuals(self, left_out: LeftOut) -> None:
        return None

    def calibration(self, left_out: LeftOut) -> Calibration:
        decision = self.decision(left_out.mean, left_out.variance)
        if self.doubt is not None:
            decision = self.doubt.applied(decision)
        return Calibration.of_classes(
            left_out.method,
            as_log_p(decision),
            self._classes(left_out.targets),
            left_out.weight,
        )

    def prior_mean(self, left_out: LeftOut, at: Array, variance: Array) -> Array | None:
        """The offset that makes uninformed predictions equal the class frequencies."""
        n_classes = len(self.labels)
        classes = self._classes(left_out.targets)
        count = np.bincount(classes, left_out.weight, n_classes)
        # A class without a drawn row counts as half a row.
        log_odds = np.log(np.maximum(count, 0.5))
        # With as many outputs as classes, one direction has no effect.
        free = np.eye(len(at)) if len(at) < n_classes else contrasts(n_classes)
        spread = variance[None]
        if self.coupled:
            spread = np.diag(variance)[None]

        def excess(moved: Array) -> Array:
            log_p = as_log_p(self.decision((at + free @ moved)[None], spread))[0]
            apart = log_p - log_odds
            return np.asarray(apart[1:] - apart[0])

        found = root(excess, -free.T @ at)
        # Probabilities match the frequencies already, to the digits of the search.
        even = np.abs(found.x).max() < _EVEN
        return None if even or not found.success else np.asarray(free @ found.x)

    def output_weights(self, mean: Array) -> Array:
        return mean

    def expected(self, mean: Array, variance: Array) -> Array:
        p = self.predictive(mean, variance).probabilities
        return p @ self.outputs(np.arange(len(self.labels)))

    def response(self, latent: Array) -> Array:
        return latent

    def predictive(self, mean: Array, variance: Array) -> "LatentClasses":
        return LatentClasses(self.labels, self, mean, variance)

    def argmax_without_integration(self, mean: Array, variance: Array) -> Indices:
        """The most probable classes (N,) if known without integration; else -1."""
        return np.full(len(mean), -1)

    @abstractmethod
    def decision(self, mean: Array, variance: Array) -> Array:
        """Log odds (N,) of two classes, or log probabilities (N, K), of the model."""


@dataclass(frozen=True, eq=False)
class LatentClasses(ClassPrediction):
    """Classes predicted from latent values; integrals are computed on demand.

    They take most of the time, and most classes are clear without them.
    """

    labels: AnyArray
    family: ClassFamily
    mean: Array
    variance: Array

    @cached_property
    def decision(self) -> Array:  # type: ignore[override]
        found, doubt = self.family.decision(self.mean, self.variance), self.family.doubt
        return found if doubt is None else doubt.applied(found)

    @property
    def predicted(self) -> AnyArray:
        chosen = self.family.argmax_without_integration(self.mean, self.variance)
        return super().predicted if chosen.min(initial=0) < 0 else self.labels[chosen]


class TwoClasses(ClassFamily):
    """The logistic link: one output, and one set of weights."""

    @property
    def likelihood(self) -> Bernoulli:
        return Bernoulli()

    def outputs(self, indices: Indices) -> Array:
        return indices[:, None].astype(np.float64)

    def output_weights(self, mean: Array) -> Array:
        return mean[0]

    def decision(self, mean: Array, variance: Array) -> Array:
        return moderated_log_odds(mean[:, 0], variance[:, 0])

    def argmax_without_integration(self, mean: Array, variance: Array) -> Indices:
        """Use bounds of p₁ − p₀, which are functions of z and of the mean."""
        m = mean[:, 0]
        z = m / np.sqrt(_MOST_VARIANCE + variance[:, 0])
        even = (0.0, _CLEAR) if self.doubt is None else self.doubt.even(_CLEAR)
        below, above = _limits(*even)
        first = (z < below[0]) & (m < below[1])
        second = (z > above[0]) & (m > above[1])
        return np.where(first | second, second, -1)


@lru_cache
def _limits(even: float, room: float) -> tuple[tuple[float, float], ...]:
    """Limits of z and m: the first class leads below the first pair, the second above.

    p₁ − p₀ is E[2Φ(m/√(4V² + s²)) − 1] for η ~ N(m, s²). Its size is at most that for
    s = 0, |2σ(m) − 1|, and at least that of most V, each as large as the largest.
    """
    sizes = np.clip(np.array([even - room, even + room]), -1.0, 1.0)
    by_z = ndtri(0.5 + 0.5 * np.clip(sizes / _MOST_TIMES, -1.0, 1.0))
    by_mean = logit(0.5 + 0.5 * sizes)
    return tuple(zip(by_z.tolist(), by_mean.tolist(), strict=True))


@dataclass(frozen=True, eq=False)
class Probit(ClassFamily):
    """The multinomial probit, on contrasts of the classes."""

    moments: bool = False  # moment matching (EP) instead of Laplace's method

    @property
    def price(self) -> float:  # type: ignore[override]
        # One curvature for all contrasts penalises functions too much already.
        return _PRICE if len(self.labels) == 2 else 0.0

    @property
    def likelihood(self) -> MultinomialProbit:
        kind = EPProbit if self.moments else MultinomialProbit
        return kind(self._contrasts)

    @property
    def _contrasts(self) -> Array:
        return contrasts(len(self.labels))

    def outputs(self, indices: Indices) -> Array:
        return self._contrasts[indices]

    def output_weights(self, mean: Array) -> Array:
        return self._contrasts @ mean

    def decision(self, mean: Array, variance: Array) -> Array:
        return decision_of(self.likelihood.probabilities(mean, variance))

    def argmax_without_integration(self, mean: Array, variance: Array) -> Indices:
        """Compare means, if classes have one variance and mixing changes nothing."""
        if self.coupled:
            return super().argmax_without_integration(mean, variance)
        common = variance.sum(axis=1, keepdims=True) / variance.shape[1]
        eta = mean @ self._contrasts.T / np.sqrt(1 + common)
        chosen, ordered = eta.argmax(axis=1), np.sort(eta, axis=1)
        clear = ordered[:, -1] - ordered[:, -2] > self._clear
        if self.doubt is not None:
            # Another class is largest at most as often as it exceeds this one.
            largest = ndtr((eta - ordered[:, -1:]) / np.sqrt(2))
            leads = 1.5 - largest.sum(axis=1, keepdims=True) - largest
            clear &= self.doubt.overcome(leads, chosen, _CLEAR_MEANS)
        return np.where(clear, chosen, -1)

    @property
    def _clear(self) -> float:
        """How far another class must be behind."""
        return _CLEAR_MEANS / (1.0 if self.doubt is None else 1 - self.doubt.share)


class ClassWiseProbit(ClassFamily):
    """The multinomial probit with an output, and a prior, for each class."""

    @property
    def likelihood(self) -> MultinomialProbit:
        return MultinomialProbit(np.eye(len(self.labels)), bound=True)

    def decision(self, mean: Array, variance: Array) -> Array:
        return decision_of(self.likelihood.probabilities(mean, variance))


class PlugInProbit(ClassWiseProbit):
    """Class-wise probit at the posterior mean (22): no variance and no mixing."""

    def calibrated(self, left_out: LeftOut) -> "PlugInProbit":
        return self

    def decision(self, mean: Array, variance: Array) -> Array:
        return super().decision(mean, np.zeros_like(mean))


class Logit(ClassFamily):
    """The multinomial logit."""

    @property
    def likelihood(self) -> SoftmaxLikelihood:
        return SoftmaxLikelihood()

    def decision(self, mean: Array, variance: Array) -> Array:
        return decision_of(softmax_probabilities(mean, variance))


@dataclass(frozen=True, eq=False, repr=False)
class Mrvm1(Parametric):
    """Settings of ``multi_class="mrvm1"``.

    Parameters
    ----------
    posterior : {"mode", "moments", "full"}, default="mode"
        Whether the posterior of the weights is Laplace's approximation at their mode,
        without what couples the classes, or the one whose mean and variance match those
        of the likelihood for every row (expectation propagation), which has better
        probabilities and takes longer. With "full" the search is that of "mode", and
        the posterior of the model found has all couplings: a matrix of all weights of
        all classes, for models that are small.
    algorithm : {"default", "published"}, default="default"
        Whether the evidence is maximised by ``solver``, or by algorithm 1 of [1]_ as it
        is printed: one function at a time, then one update of the weights and one of
        the auxiliary variables, with an output for every class. Probabilities are then
        those of the weights alone.
    convergence : {"conv1", "conv2"}, optional
        When the published algorithm ends: as soon as no function is to enter or leave
        and the last precision hardly moves, or not before ``passes`` steps for each
        row, which is its default.
    passes : int, optional
        λ of "conv2", by default 1.
    tol : float, optional
        Of the logarithm of a precision, for the published algorithm; by default 1e-2.

    References
    ----------
    .. [1] I. Psorakis, T. Damoulas and M. A. Girolami (2010), "Multiclass relevance
       vector machines: sparsity and accuracy", IEEE Transactions on Neural Networks 21,
       1588-1598.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from relvec import RVC, Mrvm1
    >>> X, y = load_iris(return_X_y=True)
    >>> model = RVC(gamma=0.1, multi_class=Mrvm1(posterior="moments")).fit(X, y)
    >>> bool(model.score(X, y) > 0.95)
    True
    >>> model.set_params(multi_class=Mrvm1(algorithm="published")).fit(X, y).n_iter_
    150
    """

    posterior: str = "mode"
    algorithm: str = "default"
    convergence: str | None = None
    passes: int | None = None
    tol: float | None = None

    def __post_init__(self) -> None:
        check_choice("posterior", self.posterior, ("mode", "moments", "full"))
        check_choice("algorithm", self.algorithm, ("default", "published"))
        if self.algorithm == "default" and self._published:
            raise ValueError(
                f"{' and '.join(self._published)} of Mrvm1 is about the published "
                "algorithm: set algorithm='published' or leave it out"
            )
        if self.algorithm == "published" and self.posterior != "mode":
            raise ValueError(
                f"posterior={self.posterior!r} is not for the published algorithm, "
                "which has a covariance of its own: leave out one of the two"
            )
        PublishedMrvm1(**self._published)

    @property
    def _published(self) -> dict[str, Any]:
        """Settings of the published algorithm that were given."""
        named = {field.name: getattr(self, field.name) for field in fields(self)[2:]}
        return {name: value for name, value in named.items() if value is not None}

    @property
    def solver(self) -> Solver | None:
        """The solver that this scheme brings along, if any."""
        published = self.algorithm == "published"
        return PublishedMrvm1(**self._published) if published else None

    def family(self, labels: AnyArray) -> ClassFamily:
        """The family of these classes."""
        if self.algorithm == "published":
            return PlugInProbit(labels)
        moments, full = self.posterior == "moments", self.posterior == "full"
        return Probit(labels, moments=moments, coupled=full)


@dataclass(frozen=True, eq=False, repr=False)
class Softmax(Parametric):
    """Settings of ``multi_class="softmax"``.

    Parameters
    ----------
    priors : {"shared", "each"}, default="shared"
        Whether the weights of a function have one prior precision for all classes, or
        one each, as in section 5.1.4 of [1]_. The latter begins with all functions and
        factors a matrix of all weights of all classes in every step: it is for small
        data.
    posterior : {"mode", "full"}, optional
        Whether what couples the classes is left out of the covariance, or not. By
        default it is in where priors are for each, and must be; else it is not.

    References
    ----------
    .. [1] D. Ben-Shimon (2006), "Accelerating the relevance vector machine via data
       partitioning", thesis, Ben-Gurion University of the Negev.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from relvec import RVC, Softmax
    >>> X, y = load_iris(return_X_y=True)
    >>> settings = {"gamma": 0.1, "candidates": 40, "random_state": 0}
    >>> model = RVC(multi_class=Softmax(priors="each"), **settings).fit(X, y)
    >>> model.prior_precision_.shape == model.dual_coef_.shape
    True
    """

    priors: str = "shared"
    posterior: str | None = None

    def __post_init__(self) -> None:
        check_choice("priors", self.priors, ("shared", "each"))
        if self.posterior is not None:
            check_choice("posterior", self.posterior, ("mode", "full"))
        if self.priors == "each" and self.posterior == "mode":
            raise ValueError(
                "priors='each' has precisions that follow from the covariance of all "
                "classes together: leave posterior out"
            )

    @property
    def solver(self) -> Solver | None:
        """The solver that this scheme brings along, if any."""
        return PrecisionOfEach() if self.priors == "each" else None

    def family(self, labels: AnyArray) -> ClassFamily:
        """The family of these classes."""
        return Logit(labels, coupled=self.priors == "each" or self.posterior == "full")


Scheme = Mrvm1 | Mrvm2 | Softmax
_BY_NAME: dict[str, Scheme] = {"mrvm1": Mrvm1(), "mrvm2": Mrvm2(), "softmax": Softmax()}
SINGLE_MODELS = tuple(_BY_NAME)


def class_family(multi_class: str | Scheme, labels: AnyArray) -> ClassFamily:
    """The family for ``multi_class``; "auto" is mRVM1 for several classes."""
    if multi_class == "auto" and len(labels) == 2:
        return TwoClasses(labels)
    scheme = _scheme(multi_class)
    if scheme is None:
        return Probit(labels)
    return (
        ClassWiseProbit(labels) if isinstance(scheme, Mrvm2) else scheme.family(labels)
    )


def own_solver(multi_class: Any) -> Solver | None:
    """The solver that ``multi_class`` brings along, or None."""
    scheme = _scheme(multi_class)
    if not isinstance(scheme, Mrvm1 | Softmax):
        return scheme if isinstance(scheme, Mrvm2) else None
    return scheme.solver


def _scheme(multi_class: str | Scheme) -> Scheme | None:
    return _BY_NAME.get(multi_class) if isinstance(multi_class, str) else multi_class
