"""What the noise of real targets may be, by name."""

from typing import Any

import numpy as np

from relvec.evidence import Solver, check_noise_settings
from relvec.modelling.families.counts import Counts
from relvec.modelling.families.regression import Regression
from relvec.parameters import check_choice, check_noise_variances

NOISES = ("gaussian", "heteroscedastic", "poisson")


def check_noise(noise: Any, noise_variance: Any, solver: Solver) -> None:
    """Refuse what is no noise, and what another noise would make no use of."""
    check_choice("noise", noise, NOISES)
    check_noise_variances(noise_variance)
    known = not isinstance(noise_variance, str)
    if known and noise != "gaussian":
        raise ValueError(
            f"noise_variance={noise_variance!r} is that of Gaussian noise, and has no "
            f"use with noise={noise!r}: leave it at 'estimate'"
        )
    if known:
        check_noise_settings(solver, f"noise_variance={noise_variance!r} is known")
    elif noise != "gaussian":
        check_noise_settings(solver, f"that of noise={noise!r} is another one")
    if noise == "heteroscedastic" and np.isfinite(solver.noise_freedom(1.0)):
        raise ValueError(
            f"noise={noise!r} asks for a noise of each row, and solver={solver!r} "
            "integrates the one of all out: use solver='sequential'"
        )


def check_summable(noise: str) -> None:
    """Refuse noise that is not known by sums over rows."""
    if noise == "heteroscedastic":
        raise ValueError(
            f"noise={noise!r} looks at every row for itself, not at parts or rows that "
            "stay where they are: fit some of them as arrays without partition, or use "
            "noise='gaussian'"
        )


def regression_family(
    noise: str,
    noise_variance: float | str,
    centred: bool,
    initial_noise_variance: float | None = None,
) -> Any:
    """What ``noise`` means for targets that are numbers."""
    if noise == "poisson":
        return Counts(centred)
    return Regression(noise_variance, centred, initial_noise_variance)
