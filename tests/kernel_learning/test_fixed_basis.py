"""Gradients of the evidence of fixed basis functions, against differences."""

from dataclasses import replace

import numpy as np
import pytest
from numpy.testing import assert_allclose

from relvec.kernel_learning import FixedBasisModel, Observations
from relvec.likelihoods import PseudoObservations

CASES = {"one": (1, False), "three": (3, False), "three that share": (3, True)}
# Outputs with α of their own, the rows' precision shared or not.
OWN = {"own α": (3, False), "own α beside shared rows": (3, True)}


def held(rng, n_outputs, shared, n_functions=4, own=False):
    outputs = 1 if shared else n_outputs
    seen = PseudoObservations(
        rng.standard_normal((20, n_outputs)),
        rng.uniform(0.5, 2, (20, outputs)),
        rng.uniform(1, 3, outputs),
    )
    observations = Observations(seen, 20.0, None if shared else np.full(outputs, 1e9))
    functions = rng.standard_normal((20, n_functions))
    shape = (n_outputs, n_functions) if own else n_functions
    alpha = rng.uniform(0.5, 2, shape)
    return FixedBasisModel(functions, alpha, seen.noise_precision, observations)


@pytest.fixture(params=CASES)
def sharing(request, rng):
    return held(rng, *CASES[request.param])


@pytest.fixture(params=[*CASES, *OWN])
def model(request, rng):
    own = request.param in OWN
    return held(rng, *(OWN if own else CASES)[request.param], own=own)


def difference(function, at, index, h=1e-5):
    step = np.zeros_like(at)
    step[index] = h
    return (function(at + step) - function(at - step)) / (2 * h)


def test_gradients_by_the_functions(model):
    def evidence(functions):
        return replace(model, functions=functions).log_evidence

    for index in [(0, 0), (7, 2), (19, 3)]:
        expected = difference(evidence, model.functions, index)
        assert_allclose(model.gradient[index], expected, rtol=1e-6, atol=1e-8)


def test_gradients_by_log_precisions(model):
    def evidence(log_alpha):
        return replace(model, prior_precision=np.exp(log_alpha)).log_evidence

    for index in np.ndindex(model.prior_precision.shape):
        expected = difference(evidence, np.log(model.prior_precision), index)
        assert_allclose(model.precision_gradient[index], expected, rtol=1e-6, atol=1e-8)


def test_gradients_by_log_noise(rng):
    model = held(rng, 3, shared=False)

    def evidence(log_beta):
        return replace(model, noise_precision=np.exp(log_beta)).log_evidence

    for output in range(3):
        expected = difference(evidence, np.log(model.noise_precision), output)
        assert_allclose(model.noise_gradient[output], expected, rtol=1e-6)


def test_deletion_cost_is_what_is_lost(model):
    for index in range(4):
        left = np.delete(np.arange(4), index)
        without = replace(
            model,
            functions=model.functions[:, left],
            prior_precision=model.prior_precision[..., left],
        )
        loss = model.log_evidence - without.log_evidence
        assert_allclose(model.deletion_cost[index], loss, rtol=1e-8, atol=1e-10)


def test_the_gradient_vanishes_at_the_maximum(sharing, rng):
    model = sharing
    target = model.functions @ rng.standard_normal((4, model.eta.shape[1]))
    target += 0.5 * rng.standard_normal(target.shape)
    seen = replace(model.observations.seen, target=target)
    model = replace(model, observations=replace(model.observations, seen=seen))
    found = model.maximised(1e-6, 100)
    end = replace(
        model,
        functions=model.functions[:, found.chosen],
        prior_precision=found.prior_precision,
        noise_precision=found.noise_precision,
    )

    assert end.log_evidence > model.log_evidence
    assert_allclose(end.precision_gradient, 0, atol=1e-4)
