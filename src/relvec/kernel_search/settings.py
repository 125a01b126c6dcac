"""What can be learned of a kernel: by name, or with settings."""

from dataclasses import dataclass
from typing import Any

from relvec.kernel_learning import CRITERIA
from relvec.parameters import check_choice, check_count, check_flag, check_positive
from relvec.parametric import Parametric

SHARED, ADAPTIVE = ("width", "ard", "auto"), ("adaptive", "adaptive-ard")
MODES = (*SHARED, *ADAPTIVE)
JUDGES = (*CRITERIA, "cv")


@dataclass(frozen=True, eq=False, repr=False)
class LengthScales(Parametric):
    """Settings of a search for length scales, for which its name is not enough.

    Parameters
    ----------
    mode : {"width", "ard", "auto", "adaptive", "adaptive-ard"}, default="auto"
        One length scale, one for each feature, the better of these two; one for each
        vector, or for each vector and feature, with fewer vectors than the kernel as it
        is given, unless they halve the squared error.
    criterion : {"auto", "loo", "gcv", "evidence", "cv"}, default="auto"
        What judges the kernels that are tried: leave-one-out, without a row and the
        function centred on it, in closed form; generalised cross-validation in which
        each function costs three observations; the evidence, which prefers narrow
        kernels; or three folds. "auto" is the evidence of a Gaussian process with the
        kernel as its covariance; in a list the sum of the first two, over a grid.
        Length scales of each vector's own are not judged by "cv".
    n_restarts : int, default=10
        How many widths to begin with. With 1 there is no grid: one width, from the
        median distance between rows. A process has three.

    Examples
    --------
    >>> from relvec import RVR, LengthScales
    >>> from relvec.data import noisy_sinc
    >>> X, y = noisy_sinc(100, seed=0)
    >>> learning = LengthScales("width", criterion="loo")
    >>> model = RVR(kernel_learning=learning).fit(X, y)
    >>> bool(1 < model.kernel_.length_scale < 5)
    True
    """

    mode: str = "auto"
    criterion: str = "auto"
    n_restarts: int = 10

    def __post_init__(self) -> None:
        check_choice("mode", self.mode, MODES)
        check_choice("criterion", self.criterion, JUDGES)
        check_count("n_restarts", self.n_restarts)
        if self.adaptive and self.criterion == "cv":
            raise ValueError(
                "criterion='cv' judges length scales that all vectors share: choose "
                f"another for kernel_learning={self.mode!r}"
            )

    @property
    def adaptive(self) -> bool:
        """Whether every vector has its own."""
        return self.mode in ADAPTIVE


class KernelFamily(LengthScales):
    """Length scales, of the better of several families of kernels."""


@dataclass(frozen=True, eq=False, repr=False)
class Adaptive(Parametric):
    """Settings of the algorithm of [1]_ for length scales of each vector's own.

    ``kernel_learning="adaptive"`` is another algorithm: backward elimination from a
    dictionary of several length scales. This is algorithm 1 of the paper, for the
    record: all functions begin with the same scale, which decides how it ends.

    Parameters
    ----------
    cycles : int, default=10
        H: re-estimations of all precisions and the noise at a time.
    steps : int, default=10
        S: quasi-Newton steps on the logarithms of all length scales that follow.
    by_feature : bool, default=False
        Whether each vector has a scale for each feature.
    initial_precision : float, optional
        α of every weight's prior to begin with, in the units of the data, as in
        :class:`TopDown`. The paper has 1/N, ``1 / len(y)``; by default it is that of
        weights with which one function would explain all of ``y``.

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
    initial_precision: float | None = None

    def __post_init__(self) -> None:
        check_count("cycles", self.cycles)
        check_count("steps", self.steps)
        check_flag("by_feature", self.by_feature)
        if self.initial_precision is not None:
            check_positive("initial_precision", self.initial_precision)


@dataclass(frozen=True)
class KernelWeights:
    """A list of kernels is mixed into one."""


Learning = LengthScales | Adaptive | KernelWeights


def as_learning(value: Any, kernel: Any) -> Learning | None:
    """What a user means by ``kernel_learning``, beside a kernel; or refuse."""
    if value is None or isinstance(value, LengthScales | Adaptive):
        return value
    if isinstance(value, str) and value in MODES:
        return LengthScales(value)
    if not (isinstance(value, str) and value == "weights"):
        words = ", ".join(repr(mode) for mode in (*MODES, "weights"))
        raise ValueError(
            f"kernel_learning must be None, one of {words}, a LengthScales or an "
            f"Adaptive; got {value!r}"
        )
    if not (isinstance(kernel, list | tuple) and len(kernel) > 1):
        raise ValueError(
            "kernel_learning='weights' mixes several kernels: give a list of two or "
            f"more; got kernel={kernel!r}"
        )
    return KernelWeights()
