"""A model by all rows, of which only sums are seen, is that of the rows themselves."""

from dataclasses import dataclass, field, replace

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from oracles import laplace_evidence, log_marginal
from partitions import Cut, three_clouds, training_set
from scipy.special import expit, softmax

from relvec import Status
from relvec.data import noisy_sinc, two_mixtures
from relvec.evidence import Deadline
from relvec.kernels import Gaussian
from relvec.modelling import (
    Candidates,
    Given,
    Regression,
    Specification,
    class_family,
    maximised,
)
from relvec.partition.parts import dealt
from relvec.partition.search import FreshCandidates, fit_to_sums, search_sums

N_ROWS = 150
KINDS = ["regression", "two classes", "probit", "softmax"]
CLASSES = KINDS[1:]
PARTS = (50, 50, 120, 145)
NEAR = 3.0  # nats between one maximum and another


def problem(kind, seed=0, n_rows=N_ROWS):
    """A specification with given centres, and all rows."""
    rng = np.random.default_rng(seed)
    width = 0.8
    if kind == "regression":
        X, y = noisy_sinc(n_rows, seed=seed)
        family, width = Regression(), 3.0
    elif kind == "two classes":
        X, y = two_mixtures(n_rows, seed=seed)
        family, width = class_family("auto", np.arange(2)), 0.5
    else:
        X, y = three_clouds(n_rows, seed)
        scheme = "softmax" if kind == "softmax" else "mrvm1"
        family = class_family(scheme, np.arange(3))
    weight = rng.integers(1, 4, n_rows).astype(float)
    data = training_set(X, y, family, weight)
    centres = data.table[:: max(5, n_rows // 40)]
    return Specification((Gaussian(width),), family, centres=Given(centres)), data


def some_rows(spec, data):
    """The model of few rows, which the search begins with."""
    return maximised(spec, data.subset(np.arange(0, len(data), 5)))


def found_by(spec, data, start, at=PARTS):
    candidates = Candidates.of(spec.kernels, spec.centres, data.rows, bias=True)
    return fit_to_sums(spec, Cut(data, at), candidates, data, start=start)


@pytest.fixture(scope="module", params=KINDS)
def case(request):
    """Kind, specification, rows and the model by their sums."""
    spec, data = problem(request.param)
    return request.param, spec, data, found_by(spec, data, some_rows(spec, data))


def test_it_reaches_the_evidence_of_a_fit_to_the_rows(case):
    """With the same functions to choose from: nothing is lost."""
    _, spec, data, model = case
    expected = maximised(spec, data)
    found, wanted = (
        one.family.expected(*one.latent(data.table)) for one in (model, expected)
    )
    evidence, best = model.log_evidence, expected.log_evidence

    assert model.status is Status.CONVERGED
    assert evidence > best - NEAR
    assert np.sqrt(np.mean((found - wanted) ** 2)) < 0.1 * np.std(data.targets)


def test_all_rows_are_counted_once(case):
    """Whatever the number of outputs."""
    _, _, data, model = case

    assert model.fit.n_observations == pytest.approx(data.weight.sum())


def test_the_evidence_is_that_of_all_rows(case):
    """By its definition, or by Laplace's formula, with all rows at hand."""
    kind, _, data, model = case
    Phi, alpha = model.basis(data.table), model.posterior.prior_precision
    if kind == "regression":
        beta = model.fit.likelihood.noise_precision[0]
        expected = weighted_marginal(Phi, data, beta, alpha)
    else:
        expected = laplace(Phi, data, model)
    assert_allclose(model.log_evidence, expected, rtol=1e-8, atol=1e-3)


def weighted_marginal(Phi, data, beta, alpha):
    """Of rows that are there as often as they weigh."""
    n = np.repeat(np.arange(len(Phi)), data.weight.astype(int))
    precision = np.full(len(n), beta)
    every = np.arange(len(alpha))
    return log_marginal(Phi[n], data.targets[n, 0], precision, every, alpha)


def laplace(Phi, data, model):
    """log p(y | w) + log p(w) − ½log|A + H| + ½n log 2π, output by output."""
    alpha, weights = model.posterior.prior_precision, model.posterior.mean
    eta = Phi @ weights.T
    seen = data.likelihood.pseudo_observations(data.targets, eta, data.weight)
    precision = np.broadcast_to(seen.row_weights, eta.shape)
    total = data.likelihood.log_density(data.targets, eta, data.weight)
    for w, b in zip(weights, precision.T, strict=True):
        _, log_determinant = np.linalg.slogdet(Phi.T * b @ Phi + np.diag(alpha))
        total += 0.5 * (np.log(alpha).sum() - alpha @ w**2 - log_determinant)
    return total


@pytest.mark.parametrize("kind", CLASSES)
def test_weights_are_at_their_mode(kind):
    """Where what rows ask for is what the prior takes: ΦᵀV(t − p) = αw."""
    spec, data = problem(kind, seed=1)
    model = found_by(spec, data, some_rows(spec, data))
    Phi, weights = model.basis(data.table), model.posterior.mean
    alpha = model.posterior.prior_precision

    def to_gain(w):
        """½gᵀΣg: nats that a step along the gradient g still promises."""
        g = slope(kind, data, Phi, w) - alpha * w
        Sigma = np.broadcast_to(model.posterior.covariance, (len(w), *2 * w.shape[1:]))
        return 0.5 * np.einsum("ki,kij,kj", g, Sigma, g)

    assert to_gain(weights) < 1e-3
    assert to_gain(1.05 * weights) > 0.01


def slope(kind, data, Phi, w):
    """∂ log p(y | w) / ∂w (outputs, functions), rows as often as they weigh."""
    if kind != "probit":
        eta = Phi @ w.T
        p = expit(eta) if kind == "two classes" else softmax(eta, axis=1)
        return (Phi.T @ (data.weight[:, None] * (data.targets - p))).T
    found = np.empty_like(w)
    for place in np.ndindex(w.shape):
        step = np.zeros_like(w)
        step[place] = 1e-5
        up, down = (
            data.likelihood.log_density(data.targets, Phi @ near.T, data.weight)
            for near in (w + step, w - step)
        )
        found[place] = (up - down) / 2e-5
    return found


def test_two_classes_have_the_evidence_at_the_best_of_all_weights():
    """At a mode that a general optimiser has found."""
    spec, data = problem("two classes", seed=2)
    model = found_by(spec, data, some_rows(spec, data))
    alpha = model.posterior.prior_precision
    every = np.arange(len(alpha))
    Phi = model.basis(data.table)
    expected = laplace_evidence(Phi, data.targets[:, 0], every, alpha, data.weight)

    assert_allclose(model.log_evidence, expected, atol=0.01)


@pytest.mark.parametrize("kind", KINDS)
def test_parts_do_not_matter(kind):
    spec, data = problem(kind, seed=3)
    start = some_rows(spec, data)
    one, other = (found_by(spec, data, start, at) for at in ((), (0, 1, 100, 100)))

    assert_allclose(one.log_evidence, other.log_evidence, rtol=1e-6)
    latent, wanted = (model.latent(data.table)[0] for model in (one, other))
    assert_allclose(latent, wanted, atol=1e-3 * np.abs(wanted).max())


@pytest.mark.parametrize("kind", CLASSES)
def test_a_beginning_that_is_sure_of_what_is_wrong(kind):
    """Its weights are taken back as far as all rows ask for."""
    spec, data = problem(kind, seed=1)
    start = some_rows(spec, data)
    loud = replace(start.posterior, mean=-30 * start.posterior.mean)
    loud = replace(start.fit, posterior=loud, search_mean=loud.mean)
    model = found_by(spec, data, replace(start, fit=loud))
    evidence, best = model.log_evidence, maximised(spec, data).log_evidence

    assert evidence > best - NEAR


@pytest.mark.parametrize("seed", [5, 6])
def test_a_beginning_from_rows_that_could_be_told_apart(seed):
    """Without bounds to weights, no step may lead away from the mode."""
    spec, data = problem("two classes", seed=seed, n_rows=300)
    start = some_rows(spec, data)
    model = found_by(spec, data, start)
    evidence, best = model.log_evidence, maximised(spec, data).log_evidence

    assert np.max(np.abs(start.posterior.mean)) > 30
    assert evidence > best - NEAR


@pytest.mark.parametrize("kind", KINDS)
def test_a_beginning_without_functions(kind):
    """Few rows told nothing, and all rows do: as much as to a search in memory."""
    spec, data = problem(kind, seed=2)
    nothing = without_functions(some_rows(spec, data))
    model = found_by(spec, data, nothing)
    further = maximised(spec, data, start=model)

    assert len(nothing.basis) == 0
    assert model.log_evidence > further.log_evidence - 1.0


def without_functions(model):
    """The same, with nothing found."""
    none, outputs = np.empty(0, dtype=np.intp), len(model.posterior.mean)
    posterior = replace(
        model.posterior,
        active=none,
        prior_precision=np.empty(0),
        mean=np.empty((outputs, 0)),
        factor=np.empty((1, 0, 0)),
    )
    fit = replace(model.fit, posterior=posterior, search_mean=posterior.mean)
    basis = model.basis.subset(none)
    return replace(model, basis=basis, fit=fit, indices=none, kernel_indices=none)


@pytest.mark.parametrize("kind", KINDS)
def test_time_that_is_over(kind):
    """The model is one all the same."""
    spec, data = problem(kind, seed=6)
    start = some_rows(spec, data)
    model = found_by(spec.until(Deadline.after(0)), data, start)

    assert model.status is Status.MAX_SECONDS
    assert np.all(np.isfinite(model.latent(data.table)[0]))
    assert np.isfinite(model.log_evidence)


# fresh candidates in turns


def many_rows(kind, seed=0, n_rows=6000):
    """A specification, and rows in an order by chance, which may all be centres."""
    rng = np.random.default_rng(seed)
    X = rng.uniform(-3, 3, (n_rows, 2))
    latent = np.sinc(X[:, 0]) + 0.1 * X[:, 1]
    if kind == "regression":
        family, y = Regression(), latent + 0.1 * rng.standard_normal(n_rows)
    else:
        family = class_family("auto", np.arange(2))
        y = (latent + 0.1 * rng.logistic(size=n_rows) > 0.3).astype(int)
    data = training_set(X, y, family)
    return Specification((Gaussian(1.0),), family), dealt(data, by_class=False)


@dataclass
class Passes:
    """Parts that count how often all of them are asked for."""

    parts: Cut
    number: int = 0

    def each(self, work):
        self.number += 1
        return self.parts.each(work)


def searched(spec, data, at=(), *, number=2000):
    """By sums over all rows, from the model of the first thousand."""
    few = data.subset(np.arange(1000))
    model = maximised(spec, few)
    fresh = FreshCandidates(data.subset(np.arange(number)), spec, number)
    passes = Passes(Cut(data, at))
    weight = data.weight.sum()
    found = search_sums(spec, passes, fresh, model, few, n_observations=weight)
    return found, passes.number


@pytest.fixture(scope="module", params=["regression", "two classes"])
def large(request):
    """Specification, rows, and their model by sums."""
    spec, data = many_rows(request.param)
    return spec, data, *searched(spec, data, (1000, 5000))


def test_fresh_candidates_find_what_a_search_in_memory_finds(large):
    """With other candidates, so that the two differ by a few nats."""
    spec, data, model, _ = large
    expected = maximised(spec, data)

    assert model.status is Status.CONVERGED
    assert model.log_evidence > expected.log_evidence - 10.0
    assert len(model.basis) < 1.3 * len(expected.basis)
    found, wanted = (
        one.family.expected(*one.latent(data.table)) for one in (model, expected)
    )
    assert np.sqrt(np.mean((found - wanted) ** 2)) < 0.1 * np.std(wanted)


def test_they_are_worth_it(large):
    """More than those of the first turn alone, and never less."""
    spec, data, model, _ = large
    once, _ = searched(spec, data, number=100)

    assert model.log_evidence > once.log_evidence - NEAR


def test_blocks_of_other_sizes_lead_to_the_same_functions(large):
    """And to the same numbers but for the last digits."""
    spec, data, model, _ = large
    other, _ = searched(spec, data, (777, 778, 2000, 2000, 4321))

    assert_array_equal(other.indices, model.indices)
    assert_allclose(other.log_evidence, model.log_evidence, rtol=1e-9)
    alpha = model.posterior.prior_precision
    assert_allclose(other.posterior.prior_precision, alpha, rtol=1e-4)


def test_it_takes_few_passes(large):
    """Two for each turn; classes have some more on the functions of the model."""
    _, data, _, passes = large

    assert passes <= (6 if data.likelihood.conjugate else 30)


def test_the_number_of_passes_does_not_grow_with_the_rows():
    spec, data = many_rows("regression", n_rows=24_000)
    _, passes = searched(spec, data)

    assert passes <= 8


@dataclass(frozen=True)
class Late:
    """Rows that take longer than there is time for, from some pass on."""

    parts: Passes
    after: int
    clock: list

    def each(self, work):
        if self.parts.number == self.after:
            self.clock.append(True)
        return self.parts.each(work)


@dataclass(frozen=True)
class OnceLate(Deadline):
    """Time that is over as soon as the rows are late."""

    clock: list = field(default_factory=list)

    @property
    def passed(self):
        return bool(self.clock)


@pytest.mark.parametrize("kind", ["regression", "two classes"])
@pytest.mark.parametrize("after", [0, 1, 2])
def test_time_that_is_over_within_a_pass(kind, after):
    """The model is the last one that is complete."""
    spec, data = many_rows(kind, n_rows=3000)
    few, clock = data.subset(np.arange(500)), []
    model = maximised(spec, few)
    fresh = FreshCandidates(data.subset(np.arange(1000)), spec, 1000)
    late = Late(Passes(Cut(data, (1000, 2000))), after, clock)
    spec = spec.until(OnceLate(clock=clock))
    found = search_sums(spec, late, fresh, model, few, n_observations=3000.0)

    assert found.status is Status.MAX_SECONDS
    assert late.parts.number <= after + 1
    assert np.all(np.isfinite(found.latent(data.table)[0]))
