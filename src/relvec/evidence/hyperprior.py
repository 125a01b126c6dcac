"""Gamma distributions over the precisions, for those who want them informative.

    p(α) = Gamma(a, b) for the prior precision of every weight,
    p(β) = Gamma(c, d) for the precision of the noise,

with mean a/b and c/d. All zero are the flat ones of log α and log β. The search is over
logarithms, so that they add to the log evidence (thesis 2.5.9)

    Σᵢ (a log αᵢ − b αᵢ) + c log β − d β.
"""

from dataclasses import dataclass, fields
from typing import Any

import numpy as np

from relvec.parameters import check_not_negative
from relvec.parametric import Parametric
from relvec.typing import Array


@dataclass(frozen=True, eq=False, repr=False)
class Hyperprior(Parametric):
    """Gamma hyperpriors in the units of the data; flat by default.

    Parameters
    ----------
    a, b : float, default=0.0
        Shape and rate of the precision α of every weight's prior.
    c, d : float, default=0.0
        Shape and rate of the precision of the noise.

    Examples
    --------
    >>> from relvec import RVR, Hyperprior, TopDown
    >>> from relvec.data import noisy_sinc
    >>> X, y = noisy_sinc(50, seed=0)
    >>> noise = Hyperprior(c=50.0, d=50.0 * 0.1**2)  # a deviation of about 0.1
    >>> model = RVR(gamma=1 / 9, solver=TopDown(hyperprior=noise)).fit(X, y)
    >>> round(model.noise_variance_**0.5, 1)
    0.1
    """

    a: float = 0.0
    b: float = 0.0
    c: float = 0.0
    d: float = 0.0

    def __post_init__(self) -> None:
        for field in fields(self):
            check_not_negative(f"hyperprior's {field.name}", getattr(self, field.name))

    @property
    def informative(self) -> bool:
        """Whether it says anything."""
        return any((self.a, self.b, self.c, self.d))

    def log_density(self, alpha: Array, beta: Array) -> float:
        """What it adds to the log evidence, without constants."""
        weights = np.sum(self.a * np.log(alpha) - self.b * alpha)
        if not (self.c or self.d):
            return float(weights)
        return float(weights + np.sum(self.c * np.log(beta) - self.d * beta))


FLAT = Hyperprior()


def as_hyperprior(value: Any) -> Hyperprior:
    """What a user means by ``hyperprior``: None, a Hyperprior or its four numbers."""
    if value is None or isinstance(value, Hyperprior):
        return value or FLAT
    try:
        return Hyperprior(*value)
    except TypeError:
        raise ValueError(
            "hyperprior must be None, a Hyperprior or its four numbers (a, b, c, d); "
            f"got {value!r}"
        ) from None
