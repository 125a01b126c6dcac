"""The posterior at a mode with all that couples its outputs.

The search leaves the coupling of classes out of the covariance, so that one small
factor serves all of them, or one each. Here it is in: a matrix of all weights.
"""

from dataclasses import replace

import numpy as np

from relvec.evidence.approach import Mode, log_evidence
from relvec.evidence.base import Problem
from relvec.evidence.newton_step import coupled_inner
from relvec.linalg import cholesky
from relvec.posterior import CoupledPosterior

_MOST_WEIGHTS = 5000  # 200 MB, and a minute where there is one for each of many steps


def check_few(n_weights: int) -> None:
    """Refuse a covariance of too many weights."""
    if n_weights > _MOST_WEIGHTS:
        raise ValueError(
            f"the covariance of all classes together has {n_weights} weights at once, "
            f"and more than {_MOST_WEIGHTS} take too long: set candidates to fewer, or "
            "leave the coupling of classes out"
        )


def coupled(problem: Problem, mode: Mode) -> Mode:
    """The same mode; of likelihoods that couple no outputs it is the same posterior."""
    at = problem.y, mode.eta, problem.sample_weight
    curvature, alone = mode.likelihood.curvature(*at), mode.posterior
    if curvature is None or alone.mean.size == 0:
        return mode
    check_few(alone.mean.size)
    alpha = np.broadcast_to(alone.prior_precision, alone.mean.shape)
    inner = coupled_inner(problem, alone.active, 1 / np.sqrt(alpha), curvature)
    of_all = alone.active, alpha, alone.mean, cholesky(inner[None])
    posterior = CoupledPosterior(*of_all, uncoupled=alone)
    evidence = log_evidence(problem, mode.likelihood, posterior, mode.eta)
    return replace(mode, posterior=posterior, log_evidence=evidence)
