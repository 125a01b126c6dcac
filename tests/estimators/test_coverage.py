"""90 % intervals cover about 90 % of new rows, or the fit warns that they do not."""

import warnings
from dataclasses import dataclass

import numpy as np
import pytest
from coverage_problems import KINDS, NUMBERS, draw

from relvec import RVR
from relvec.estimators.kernel_model import FitWarning

# Two of each kind that are fitted in no time.
QUICK = {
    "default": (0, 1),
    "linear": (0, 1),
    "poly": (0, 1),
    "None": (0, 1),
    "dictionary": (0, 1),
    "list of kernels": (0, 1),
}


@dataclass(frozen=True)
class Result:
    coverage: float
    n_rows: int
    warned: bool
    counts: bool


def result(kind, number):
    problem = draw(kind, number)
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        model = RVR(**problem.settings).fit(problem.X, problem.y, **problem.given)
    lower, upper = model.predict_interval(problem.X_test, coverage=0.9)
    inside = (lower <= problem.y_test) & (problem.y_test <= upper)
    told = [str(each.message) for each in caught if each.category is FitWarning]
    warned = any("intervals cover" in message for message in told)
    assert warned == (model.calibration_.warning is not None)
    counts = problem.noise == "poisson"
    return Result(float(np.mean(inside)), len(problem.y), warned, counts)


def check_none_is_silently_narrow(results):
    narrow = [one for one in results if one.n_rows >= 50 and one.coverage < 0.75]
    assert all(one.warned for one in narrow), results


@pytest.mark.parametrize("kind", KINDS)
def test_no_interval_is_silently_narrow(kind):
    check_none_is_silently_narrow([result(kind, number) for number in QUICK[kind]])


@pytest.mark.coverage
@pytest.mark.parametrize("kind", KINDS)
def test_intervals_hold_on_average(kind):
    results = [result(kind, number) for number in NUMBERS]
    silent = [one for one in results if not one.warned]
    real = [one.coverage for one in silent if not one.counts]
    counts = [one.coverage for one in silent if one.counts]

    assert 0.85 <= np.mean(real) <= 0.96
    assert not counts or np.mean(counts) >= 0.85
    assert 3 * (len(results) - len(silent)) <= len(results)
    check_none_is_silently_narrow(results)
