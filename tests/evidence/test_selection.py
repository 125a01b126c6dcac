"""Gains (27), (32), (37): the prediction must equal the outcome."""

import numpy as np
import pytest
from numpy.testing import assert_allclose
from oracles import log_marginal
from problems import model_of, random_case
from scipy.optimize import minimize_scalar

from relvec.evidence.products import best_additions, best_precision
from relvec.evidence.sequential import Proposals, choose, proposals

SHAPES = [{"n_outputs": 1}, {"n_outputs": 3}, {"n_outputs": 2, "shared_weights": True}]


def evidence(case, active, alpha):
    return sum(
        log_marginal(case.Phi, target, precision, active, alpha)
        for target, precision in case.each_output()
    )


def proposals_for(case):
    return proposals(case.problem, model_of(case))


@pytest.mark.parametrize("shape", SHAPES, ids=str)
@pytest.mark.parametrize("seed", range(12))
def test_every_predicted_gain_is_the_difference_of_evidences(seed, shape):
    case = random_case(seed, **shape)
    options = proposals_for(case)
    before = evidence(case, case.active, case.alpha)
    kinds = set()

    for index in range(case.Phi.shape[1]):
        keep = case.active != index
        active, alpha = case.active[keep], case.alpha[keep]
        target = options.precision[index]
        kinds.add((bool(np.all(keep)), bool(np.isfinite(target))))
        if np.isfinite(target):
            active, alpha = np.append(active, index), np.append(alpha, target)
        gain = evidence(case, active, alpha) - before
        assert_allclose(options.gain[index], gain, atol=1e-8 * abs(before))

    assert (True, True) in kinds, "no addition was proposed"
    assert (False, True) in kinds, "no re-estimation was proposed"


def test_deletions_are_proposed_and_gain():
    """A precision far too low for a useless function: (37)."""
    deletions = 0
    for seed in range(30):
        case = random_case(seed)
        options = proposals_for(case)
        gone = case.active[~np.isfinite(options.precision[case.active])]
        deletions += len(gone)
        assert np.all(options.gain[gone] >= 0)
        assert np.all(np.isinf(options.change[gone]))

    assert deletions > 10


@pytest.mark.parametrize("n_outputs", [1, 2, 5])
def test_the_best_precision_maximises_the_evidence_of_one_function(n_outputs, rng):
    s = rng.uniform(0.5, 20, (n_outputs, 40))
    q = rng.normal(0, 6, (n_outputs, 40))
    alpha = best_precision(s, q)

    def evidence_of(log_alpha, m):
        a = np.exp(log_alpha)
        return 0.5 * np.sum(
            log_alpha - np.log(a + s[:, m]) + q[:, m] ** 2 / (a + s[:, m])
        )

    for m in np.flatnonzero(np.isfinite(alpha)):
        best = minimize_scalar(
            lambda x, m=m: -evidence_of(x, m),
            bounds=(-15, 15),
            method="bounded",
            options={"xatol": 1e-10},
        )
        assert_allclose(evidence_of(np.log(alpha[m]), m), -best.fun, atol=1e-9)
    outside = np.flatnonzero(~np.isfinite(alpha))
    assert np.all(np.sum(q[:, outside] ** 2 - s[:, outside], axis=0) <= 0)


def test_a_column_within_the_span_of_the_active_ones_is_no_candidate():
    """What rounding leaves of its sparsity says nothing, whatever its quality."""
    case = random_case(2)
    model = model_of(case)
    at = case.active, case.alpha, model.noise_precision
    stats = model.products.statistics(*at)
    outside = int(np.setdiff1d(np.arange(case.Phi.shape[1]), case.active)[0])
    stats.sparsity[0, outside] = 0.5 * stats.least_sparsity[0, outside]
    stats.quality[0, outside] = 1e3

    assert np.isinf(best_additions(stats, case.problem.least_precision)[0][outside])


class TestChoose:
    options = Proposals(
        current=np.array([np.inf, 2.0, np.inf, np.inf, 3.0]),
        precision=np.array([1.0, 1.0, 1.0, np.inf, np.inf]),
        gain=np.array([4.0, 5.0, 5.0 * (1 + 1e-12), 0.0, 5.0]),
        change=np.array([np.inf, 0.7, np.inf, 0.0, np.inf]),
    )
    worthwhile = np.array([0, 1, 2, 4])

    def test_ties_go_to_the_model_then_to_the_lowest_index(self):
        assert choose(self.options, self.worthwhile, "gain", 0, 0) == 1
        assert choose(self.options, np.array([0, 2]), "gain", 0, 0) == 2

    def test_equal_candidates_outside_go_to_the_lowest_index(self):
        equal = Proposals(
            np.full(3, np.inf),
            np.ones(3),
            np.array([1.0, 2.0, 2.0]),
            np.full(3, np.inf),
        )

        assert choose(equal, np.arange(3), "gain", 0, 0) == 1

    def test_the_cycle_goes_round(self):
        turns = [
            choose(self.options, self.worthwhile, "cyclic", t, 0) for t in range(6)
        ]

        assert turns == [0, 1, 2, 4, 4, 0]

    def test_random_choices_reach_all_and_repeat_with_the_seed(self):
        def draw(seed):
            return [
                choose(self.options, self.worthwhile, "random", t, seed)
                for t in range(40)
            ]

        assert set(draw(1)) == {0, 1, 2, 4}
        assert draw(1) == draw(1)
        assert draw(1) != draw(2)
