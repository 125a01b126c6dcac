"""What an LS-SVM can be asked for: by name, or with settings."""

from dataclasses import dataclass
from typing import Any

import numpy as np

from relvec.parameters import as_floats, check_choice
from relvec.parametric import Parametric
from relvec.typing import Array

METHODS = ("auto", "exact", "nystrom", "cholesky", "cg")
CRITERIA = ("loo", "evidence")


@dataclass(frozen=True, eq=False, repr=False)
class Tuning(Parametric):
    """Settings of ``tune``, for which a name is not enough.

    Parameters
    ----------
    criterion : {"loo", "evidence"}, default="loo"
        What is best: the mean squared error of rows that are predicted by all others,
        in closed form, or the evidence of the targets, which is most.
    C : array of float, optional
        Weights of errors to try. By default half decades from 1e-3 to 1e7, divided by
        the mean of k(x, x).
    widths : array of float, optional
        Multiples of the kernel's length scale to try. By default five, from a third to
        twelve times, and two more beside the best; only 1 for kernels that have no
        length scale.

    Examples
    --------
    >>> import numpy as np
    >>> from relvec import LSSVR, Tuning
    >>> from relvec.data import noisy_sinc
    >>> X, y = noisy_sinc(100, seed=0)
    >>> tuning = Tuning("loo", C=np.logspace(-1, 3, 9), widths=[0.3, 1, 3])
    >>> model = LSSVR(tune=tuning).fit(X, y)
    >>> bool(model.C_ in tuning.C)
    True
    """

    criterion: str = "loo"
    C: Any = None
    widths: Any = None

    def __post_init__(self) -> None:
        check_choice("criterion", self.criterion, CRITERIA)
        for name in ("C", "widths"):
            if getattr(self, name) is not None:
                as_path(name, getattr(self, name))


def as_path(name: str, given: Any) -> Array:
    """Positive numbers, ascending, each once."""
    path = np.unique(as_floats(name, given, 1))
    if len(path) == 0 or path[0] <= 0:
        raise ValueError(f"{name} must hold positive numbers to try; got {given!r}")
    return path


def as_tuning(value: Any) -> Tuning | None:
    """What a user means by ``tune``; or refuse."""
    if value is None or isinstance(value, Tuning):
        return value
    if isinstance(value, str) and value in CRITERIA:
        return Tuning(value)
    words = ", ".join(repr(name) for name in CRITERIA)
    raise ValueError(f"tune must be None, {words} or a Tuning; got {value!r}")
