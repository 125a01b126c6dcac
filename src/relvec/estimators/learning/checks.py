"""What can be learned of a kernel, and which kernels can learn."""

from dataclasses import dataclass
from typing import Any

import numpy as np

from relvec.basis import Functions
from relvec.kernel_learning import CRITERIA
from relvec.kernels import Checked, Kernel
from relvec.kernels.radial import Radial
from relvec.kernels.varying import Varying
from relvec.parameters import check_choice, check_count, check_flag

MODES = ("width", "ard", "auto", "adaptive", "adaptive-ard", "weights")
JUDGES = (*CRITERIA, "cv")


@dataclass(frozen=True)
class Adaptive:
    """Settings of ``kernel_learning="adaptive"``, as in [1]_.

    The default of that name is another algorithm: a dictionary of several length
    scales, thinned out. This is algorithm 1 of the paper, for the record: all functions
    begin with the same scale, which decides how it ends.

    Parameters
    ----------
    cycles : int, default=10
        H: re-estimations of all precisions and the noise at a time.
    steps : int, default=10
        S: quasi-Newton steps on the logarithms of all length scales that follow.
    by_feature : bool, default=False
        Whether each vector has a scale for each feature.

    References
    ----------
    .. [1] J. Yuan, L. Bo, K. Wang and T. Yu (2009), "Adaptive spherical Gaussian kernel
       in sparse Bayesian learning framework for nonlinear regression", Expert Systems
       with Applications 36, 3982-3989.

    Examples
    --------
    >>> from relvec import RVR, Adaptive
    >>> from relvec.data import noisy_sinc
    >>> X, y = noisy_sinc(100, seed=0)
    >>> model = RVR(kernel_learning=Adaptive(cycles=5)).fit(X, y)
    >>> model.length_scales_.shape == model.relevance_.shape
    True
    """

    cycles: int = 10
    steps: int = 10
    by_feature: bool = False

    def __post_init__(self) -> None:
        check_count("cycles", self.cycles)
        check_count("steps", self.steps)
        check_flag("by_feature", self.by_feature)


def check_learning(learning: Any, kernel: Any, criterion: Any, restarts: Any) -> None:
    """Refuse what cannot be learned, whatever the data are."""
    check_choice("criterion", criterion, JUDGES)
    check_count("n_restarts", restarts)
    if learning is None or isinstance(learning, Adaptive):
        return
    if not (isinstance(learning, str) and learning in MODES):
        words = ", ".join(repr(mode) for mode in MODES)
        msg = (
            f"kernel_learning must be None, one of {words}, or an Adaptive; got "
            f"{learning!r}"
        )
        raise ValueError(msg)
    if learning.startswith("adaptive") and criterion == "cv":
        msg = (
            f"criterion='cv' judges length scales that all vectors share: choose "
            f"another for kernel_learning={learning!r}"
        )
        raise ValueError(msg)
    if learning == "weights" and not _several(kernel):
        msg = (
            "kernel_learning='weights' mixes several kernels: give a list of two or "
            f"more; got kernel={kernel!r}"
        )
        raise ValueError(msg)


def _several(kernel: Any) -> bool:
    return isinstance(kernel, list | tuple) and len(kernel) > 1


def radial_place(kernels: list[Kernel], learning: Any) -> int:
    """Which of the kernels has length scales to be learned; or refuse."""
    found = [place for place, one in enumerate(kernels) if radial(one) is not None]
    if len(found) == 1:
        return found[0]
    shown = ", ".join(repr(getattr(one, "function", one)) for one in kernels)
    if not found:
        msg = (
            f"kernel_learning={learning!r} needs a kernel with a length scale and "
            "derivatives by it, such as 'rbf' or relvec.kernels.Matern(), without "
            f"finite support; got {shown}"
        )
    else:
        msg = (
            f"kernel_learning={learning!r} learns the length scales of one kernel, and "
            f"the list has {len(found)} that have them: {shown}; leave one, beside "
            "others that have none"
        )
    raise ValueError(msg)


def radial(kernel: Kernel) -> Radial | None:
    """The kernel itself, if it has length scales that can be learned."""
    inner = kernel.function if isinstance(kernel, Checked) else kernel
    return inner if isinstance(inner, Radial) and not inner.compact else None


def as_varying(group: Functions) -> Varying | None:
    """Functions that could each have a length scale of its own."""
    if isinstance(group, Varying):
        return group
    kernel = radial(group.kernel)
    if kernel is None:
        return None
    return Varying(kernel, group.centres, np.tile(kernel.scale, (len(group), 1)))
