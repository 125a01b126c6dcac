"""Slopes of the evidence of a model whose functions are held, against differences."""

from dataclasses import replace

import numpy as np
import pytest
from numpy.testing import assert_allclose

from relvec.kernel_learning import Held, Observed
from relvec.likelihoods import PseudoObservations

CASES = {"one": (1, False), "three": (3, False), "three that share": (3, True)}


def held(rng, n_outputs, shared, n_functions=4):
    outputs = 1 if shared else n_outputs
    seen = PseudoObservations(
        rng.standard_normal((20, n_outputs)),
        rng.uniform(0.5, 2, (20, outputs)),
        rng.uniform(1, 3, outputs),
    )
    observed = Observed(seen, 20.0, None if shared else np.full(outputs, 1e9))
    functions = rng.standard_normal((20, n_functions))
    alpha = rng.uniform(0.5, 2, n_functions)
    return Held(functions, alpha, seen.noise_precision, observed)


@pytest.fixture(params=CASES)
def model(request, rng):
    return held(rng, *CASES[request.param])


def difference(function, at, place, h=1e-5):
    step = np.zeros_like(at)
    step[place] = h
    return (function(at + step) - function(at - step)) / (2 * h)


def test_slopes_by_the_functions(model):
    def evidence(functions):
        return replace(model, functions=functions).log_evidence

    for place in [(0, 0), (7, 2), (19, 3)]:
        expected = difference(evidence, model.functions, place)
        assert_allclose(model.slope[place], expected, rtol=1e-6, atol=1e-8)


def test_slopes_by_log_precisions(model):
    def evidence(log_alpha):
        return replace(model, prior_precision=np.exp(log_alpha)).log_evidence

    for place in range(4):
        expected = difference(evidence, np.log(model.prior_precision), place)
        assert_allclose(model.precision_slope[place], expected, rtol=1e-6, atol=1e-8)


def test_slopes_by_log_noise(rng):
    model = held(rng, 3, shared=False)

    def evidence(log_beta):
        return replace(model, noise_precision=np.exp(log_beta)).log_evidence

    for output in range(3):
        expected = difference(evidence, np.log(model.noise_precision), output)
        assert_allclose(model.noise_slope[output], expected, rtol=1e-6)


def test_worth_is_what_deleting_costs(model):
    for place in range(4):
        left = np.delete(np.arange(4), place)
        without = replace(
            model,
            functions=model.functions[:, left],
            prior_precision=model.prior_precision[left],
        )
        loss = model.log_evidence - without.log_evidence
        assert_allclose(model.worth[place], loss, rtol=1e-8, atol=1e-10)


def test_settled_precisions_have_no_slope_left(model, rng):
    target = model.functions @ rng.standard_normal((4, model.eta.shape[1]))
    target += 0.5 * rng.standard_normal(target.shape)
    seen = replace(model.observed.seen, target=target)
    model = replace(model, observed=replace(model.observed, seen=seen))
    found = model.settled(1e-6, 100)
    end = replace(
        model,
        functions=model.functions[:, found.chosen],
        prior_precision=found.prior_precision,
        noise_precision=found.noise_precision,
    )

    assert end.log_evidence > model.log_evidence
    assert_allclose(end.precision_slope, 0, atol=1e-4)
