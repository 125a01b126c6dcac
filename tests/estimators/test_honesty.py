"""A fit that says "converged" has ended where no single action gains.

The evidence, and what every action would gain, are computed in ``honesty``, apart from
the library. A dozen of the forty problems run by default, all with ``-m honesty``.
"""

from dataclasses import replace

import numpy as np
import pytest
from honest_problems import PROBLEMS, QUICK, fitted

SAME = 1e-6  # relative, of log evidences
# Moments are matched until cavities hardly move: of what an action may gain.
NEARLY = 0.5
NOT_JUDGED = 1 / 8  # of the problems, at most: those that end in another way


def check_no_action_gains(kind, number):
    for case in fitted(kind, number):
        evidence, reported = case.model.log_evidence, case.found.log_evidence
        nats = NEARLY * case.threshold if case.moments else SAME
        assert reported == pytest.approx(evidence, rel=SAME, abs=nats)
        if case.found.status == "CONVERGED":
            gaining = [str(action) for action in case.violations()]
            assert not gaining, f"{case.name}, threshold {case.threshold:.3g} nats"


@pytest.mark.parametrize(("kind", "number"), QUICK)
def test_no_action_gains_once_a_search_has_converged(kind, number):
    check_no_action_gains(kind, number)


@pytest.mark.honesty
@pytest.mark.parametrize(("kind", "number"), PROBLEMS)
def test_no_action_gains_of_all(kind, number):
    check_no_action_gains(kind, number)


def check_most_converge(problems):
    each = [[case.found.status for case in fitted(*problem)] for problem in problems]
    ended_otherwise = sum(any(one != "CONVERGED" for one in some) for some in each)
    assert ended_otherwise <= NOT_JUDGED * len(problems), each


def test_most_searches_converge():
    check_most_converge(QUICK)


@pytest.mark.honesty
def test_most_searches_converge_of_all():
    check_most_converge(PROBLEMS)


# What follows shows that the oracle sees what is wrong with a model.

SPOILT = [("given width", 2), ("two classes", 0), ("counts", 0), ("softmax", 0)]


def spoilt(case, **changes):
    return replace(case, found=replace(case.found, **changes))


def kinds_of(case):
    return {action.kind for action in case.violations()}


@pytest.mark.parametrize(("kind", "number"), SPOILT)
def test_a_function_that_is_missing_is_seen(kind, number):
    case = fitted(kind, number)[0]
    without = case.found.active[:-1], case.found.prior_precision[:-1]
    lost = spoilt(case, active=without[0], prior_precision=without[1])
    assert lost.model.log_evidence < case.model.log_evidence - case.threshold
    assert "addition" in kinds_of(lost)


@pytest.mark.parametrize(("kind", "number"), SPOILT)
def test_a_function_of_no_use_is_seen(kind, number):
    case = fitted(kind, number)[0]
    useless = np.setdiff1d(np.arange(len(case.dictionary)), case.found.active)[-1]
    alpha = np.append(case.found.prior_precision, case.found.prior_precision.min())
    more = spoilt(case, active=np.append(case.found.active, useless))
    more = spoilt(more, prior_precision=alpha)
    assert "deletion" in kinds_of(more)


@pytest.mark.parametrize(("kind", "number"), SPOILT)
def test_a_precision_that_is_off_is_seen(kind, number):
    case = fitted(kind, number)[0]
    alpha = case.found.prior_precision.copy()
    alpha[-1] *= 20
    assert "re-estimation" in kinds_of(spoilt(case, prior_precision=alpha))


def test_a_noise_that_is_off_is_seen():
    case = fitted("given width", 2)[0]
    noise = 2 * case.found.noise_variance
    assert "noise" in kinds_of(spoilt(case, noise_variance=noise))
