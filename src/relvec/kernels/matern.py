"""The Matérn kernel, whose smoothness is a parameter."""

from dataclasses import dataclass

import numpy as np

from relvec.kernels.bessel import matern, matern_derivative
from relvec.kernels.checks import Scale
from relvec.kernels.distances import gaussian
from relvec.kernels.radial import Radial
from relvec.parameters import check_positive
from relvec.typing import Array

# Relative: about eps^(1/5), where truncation of a difference of fourth order, h⁴, and
# rounding, eps/h, are alike.
_ORDER_STEP = 1e-3


@dataclass(frozen=True, eq=False, repr=False)
class Matern(Radial):
    """2^(1−ν)/Γ(ν)·z^ν·K_ν(z) with z = √(2ν)·‖x − z‖/ℓ.

    K_ν is the modified Bessel function of the second kind. Functions of this kernel
    are differentiable ⌈ν⌉ − 1 times: ν = 1/2 is exp(−‖x − z‖/ℓ), ν = ∞ the Gaussian
    kernel. Orders 1/2, 3/2, 5/2, … cost least, then 1, 2, 3, …

    Parameters
    ----------
    length_scale : float or array of float, optional
        ℓ, one for all features or one for each, as in scikit-learn; 1 by default.
    nu : float, default=1.5
        ν, any positive number or infinity. The derivative by it is a difference of
        fourth order, good to about ten digits; none is given for infinity.
    width : float or array of float, optional
        σ = √2·ℓ instead, the width of eq. 6.1.1.2.1 in [1]_.
    columns : sequence of int or bool, slice, optional
        The features that the kernel sees; all by default.

    Notes
    -----
    For ν ≤ 1/2 the kernel has a kink where x = z: there ``centre_gradient`` is 0.

    References
    ----------
    .. [1] Ben-Shimon, D. (2006). Accelerating the relevance vector machine. Thesis,
       Ben-Gurion University of the Negev.

    Examples
    --------
    >>> import numpy as np
    >>> from relvec.kernels import Matern
    >>> Matern(length_scale=2.0, nu=0.5)(np.array([[0.0]]), np.array([[0.0], [2.0]]))
    array([[1.        , 0.36787944]])
    """

    length_scale: Scale | None = None
    nu: float = 1.5

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.nu != np.inf:
            check_positive("nu", self.nu)

    @property
    def _rough(self) -> bool:
        return self.nu < 1

    def _profile(self, squares: Array) -> None:
        if self.nu == np.inf:
            gaussian(squares)
        else:
            squares *= 2 * self.nu
            np.sqrt(squares, out=squares)
            squares[...] = matern(self.nu, squares)

    def _profile_gradients(self, squares: Array) -> dict[str, Array]:
        if self.nu == np.inf:
            return {}
        step = _ORDER_STEP * self.nu

        def at(steps: int) -> Array:
            nu = self.nu + steps * step
            return matern(nu, np.sqrt(2 * nu * squares))

        return {"nu": (8 * (at(1) - at(-1)) - (at(2) - at(-2))) / (12 * step)}

    def _derivative(self, squares: Array) -> Array:
        if self.nu == np.inf:
            return -0.5 * np.exp(-0.5 * squares)
        return -self.nu * matern_derivative(self.nu, np.sqrt(2 * self.nu * squares))
