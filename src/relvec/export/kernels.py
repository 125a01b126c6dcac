"""Kernels and basis functions as expressions of a row and some centres.

Features are measured from an origin among the centres before anything else is done:
far from zero, single precision has no digits left for differences. A scaler before the
model is merged into the length scales of the kernel.
"""

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from scipy.special import gammaln

from relvec.basis import Basis
from relvec.estimators.kernels import Pairwise
from relvec.export.expressions import (
    ExportError,
    Expression,
    constant,
    elementwise,
    exp,
    matmul,
    maximum,
    minimum,
    power,
    sqrt,
    square,
    squared_distances,
)
from relvec.kernels import (
    Checked,
    Columns,
    CompactMatern,
    Constant,
    Gaussian,
    GaussianProcessKernel,
    InverseMultiquadric,
    Laplacian,
    Linear,
    Matern,
    Periodic,
    Polynomial,
    Product,
    RationalQuadratic,
    Scaled,
    Sigmoid,
    Sum,
    Taper,
)
from relvec.kernels.base import chosen_columns
from relvec.kernels.combinations import Mixture
from relvec.kernels.compact import TAPERS
from relvec.kernels.per_centre_scale import PerCentreScale
from relvec.kernels.stationary import Radial
from relvec.typing import Array


@dataclass(frozen=True, eq=False)
class FeatureScaling:
    """Scaling (x − shift)/scale of every feature before the model."""

    shift: Array  # (d,)
    scale: Array  # (d,)

    @classmethod
    def none(cls, n_features: int) -> "FeatureScaling":
        """The identity."""
        return cls(np.zeros(n_features), np.ones(n_features))

    def after(self, first: "FeatureScaling") -> "FeatureScaling":
        """Combine with a scaling that is applied before this one."""
        shift = first.shift + self.shift * first.scale
        return FeatureScaling(shift, first.scale * self.scale)

    def inverse(self, rows: Array) -> Array:
        """Undo the scaling of rows."""
        return rows * self.scale + self.shift


@dataclass(frozen=True, eq=False)
class KernelInputs:
    """A row x and centres z, or the row and itself."""

    given: Expression  # (d,) the row as it comes
    row: Expression  # (d,) less the origin, not scaled
    origin: Array  # (d,)
    scaling: FeatureScaling
    centres: Array | None  # (n, d) scaled; None for the row with_row

    @property
    def n_features(self) -> int:
        """Number of features that the kernel uses."""
        return len(self.origin)

    def with_centres(self, centres: Any) -> "KernelInputs":
        """The same row with other centres."""
        return replace(self, centres=np.asarray(centres, dtype=np.float64))

    def with_row(self) -> "KernelInputs":
        """The row compared with itself."""
        return replace(self, centres=None)

    def selected(self, columns: Any) -> "KernelInputs":
        """Some features only; all if ``columns`` is None."""
        if columns is None:
            return self
        chosen = chosen_columns(columns, self.n_features)
        return KernelInputs(
            self.given.take(chosen),
            self.row.take(chosen),
            self.origin[chosen],
            FeatureScaling(self.scaling.shift[chosen], self.scaling.scale[chosen]),
            None if self.centres is None else self.centres[:, chosen],
        )

    def differences(self, length_scale: Any = 1.0) -> Expression:
        """(x − z)/ℓ (n, d), with one ℓ for all, for each feature or each centre."""
        if self.centres is None:
            return constant(np.zeros((1, self.n_features)))
        ell = np.asarray(length_scale, dtype=np.float64)
        rate = 1 / (self.scaling.scale * ell)
        if ell.ndim > 1:
            return (self.row.expand_dims(0) - self._centres_from_origin) * rate
        return (self.row * rate).expand_dims(0) - self._centres_from_origin * rate

    def cycles(self, period: Any) -> Expression:
        """(x − z)/p (n, d) without whole periods, so that no digits are lost."""
        if self.centres is None:
            return self.differences()
        wide = np.broadcast_to(period * self.scaling.scale, (self.n_features,))
        row = elementwise("remainder", self.given, wide) * (1 / wide)
        places = np.fmod(self.scaling.inverse(self.centres), wide)
        return row.expand_dims(0) - places / wide

    def squares(self, length_scale: Any = 1.0, *, exact: bool = False) -> Expression:
        """‖(x − z)/ℓ‖² (n,); ``exact`` keeps the digits of small distances."""
        ell = np.asarray(length_scale, dtype=np.float64)
        if self.centres is None or ell.ndim > 1 or exact:
            return square(self.differences(ell)).sum()
        rate = 1 / (self.scaling.scale * ell)
        return squared_distances(self.row * rate, self._centres_from_origin * rate)

    @property
    def _centres_from_origin(self) -> Array:
        """Centres relative to the origin, not scaled: (n, d).

        Undoing the scaling first would lose digits if features are far from zero.
        """
        assert self.centres is not None
        return self.centres * self.scaling.scale + (self.scaling.shift - self.origin)

    def products(self) -> Expression:
        """xᵀz (n,)."""
        if self.centres is None:
            return (self.scaled_row() * self.scaled_row()).sum().expand_dims(0)
        at_origin = (self.origin - self.scaling.shift) / self.scaling.scale
        slopes = matmul(self.row, (self.centres / self.scaling.scale).T)
        return slopes + self.centres @ at_origin

    def scaled_row(self) -> Expression:
        """The row after scaling, (d,)."""
        scale = self.scaling.scale
        return self.row * (1 / scale) + (self.origin - self.scaling.shift) / scale

    def scaled_centres(self) -> Expression:
        """The centres after scaling, (n, d)."""
        return (
            self.scaled_row().expand_dims(0)
            if self.centres is None
            else constant(self.centres)
        )


def origin_near(centres: Array) -> Array:
    """A point among centres (n, d) that single precision represents exactly.

    It is zero if zero is among the centres already.
    """
    if len(centres) == 0:
        return np.zeros(centres.shape[1])
    middle, width = centres.mean(axis=0), centres.std(axis=0)
    single = np.asarray(middle, dtype=np.float32).astype(np.float64)
    return np.where(np.abs(middle) > width, single, 0.0)


_TINY = 1e-30  # a smaller sum of features or norm counts as zero
# Trapezium rule for Matérn kernels: step in units of the narrowest integrand, largest z
# with a value above rounding, and log size of omitted terms. All errors are near 1e-14.
_STEP, _FURTHEST, _LEFT_OUT = 0.7, 35.0, 34.0
# ExcessVariance, exp(−z) is zero in either precision; squares are still in range.
_LARGEST_DISTANCE = 1e4
_LARGEST_RATE = 1e30  # within the range of single precision


def values(kernel: Any, pairs: KernelInputs) -> Expression:
    """k(x, z) (n,) for every centre."""
    return _formula(_FORMULAS, kernel)(
        kernel, pairs.selected(getattr(kernel, "columns", None))
    )


def radial_profile(kernel: Radial, squares: Expression) -> Expression:
    """f(s) of a radial kernel for scaled squared distances s."""
    return _formula(_PROFILES, kernel)(kernel, squares)


def _formula(formulas: dict[Any, Any], kernel: Any) -> Any:
    """The formula of a kernel; derived kernels are refused, as theirs may differ."""
    if type(kernel).__module__.startswith("relvec."):
        for cls in type(kernel).__mro__:
            if cls in formulas:
                return formulas[cls]
    raise ExportError(
        f"kernel {kernel!r} has no known formula, so it cannot be exported: use a "
        "kernel of relvec.kernels, or save the model by joblib"
    )


def _radial(kernel: Radial, pairs: KernelInputs) -> Expression:
    # The square root magnifies errors near zero.
    rough = isinstance(kernel, Matern) and kernel.nu < 1
    return radial_profile(kernel, pairs.squares(kernel.scale, exact=rough))


def _matern(kernel: Matern, squares: Expression) -> Expression:
    nu = float(kernel.nu)
    if np.isinf(nu):
        return exp(squares * -0.5)
    if nu % 1 == 0.5:
        return _half_integer(nu, squares)
    return _matern_by_quadrature(nu, squares * (2 * nu))


def _half_integer(nu: float, squares: Expression) -> Expression:
    """Use the recurrence of ``relvec.kernels.stationary``, with terms below one."""
    z = minimum(sqrt(squares * (2 * nu)), _LARGEST_DISTANCE)
    lower = exp(-z)
    if nu == 0.5:
        return lower
    upper = lower * (z + 1.0)
    for order in np.arange(1.5, nu):
        factor = square(z) * (0.25 / (order * (order - 1)))
        lower, upper = upper, upper + factor * lower
    return upper


def _matern_by_quadrature(nu: float, squares: Expression) -> Expression:
    """M_ν(z) = ∫ u^(ν−1) exp(−u − z²/4u) du / Γ(ν), by a trapezium rule in log u.

    A sum of positive terms, which converges faster than any power of its step.
    """
    low, high = _integration_range(nu)
    step = _STEP / np.sqrt(np.hypot(nu, _FURTHEST))
    places = np.arange(low, high + step, step)
    u = np.exp(places)
    weights = np.exp(nu * places - u - gammaln(nu))
    weights /= weights.sum()
    rates = np.minimum(0.25 / u, _LARGEST_RATE)
    terms = exp(squares.expand_dims(-1) * -rates)
    return matmul(terms, weights[:, None]).sum()


def _integration_range(nu: float) -> tuple[float, float]:
    """The range where exp(ν·s − e^s) exceeds e^(−34) of its peak at log ν."""
    grid = np.log(nu) + np.linspace(-_LEFT_OUT / nu - 12, 6, 20_000)
    heights = nu * grid - np.exp(grid)
    kept = grid[heights > heights.max() - _LEFT_OUT]
    return float(kept[0]), float(kept[-1])


def _taper(kernel: Taper, pairs: KernelInputs) -> Expression:
    u = sqrt(pairs.squares(kernel.support, exact=True))
    least = TAPERS[kernel.taper].least(pairs.n_features)
    exponent = least if kernel.exponent is None else float(kernel.exponent)
    tapered = power(maximum(1.0 - u, 0.0), exponent)
    return tapered * (u * exponent + 1.0) if kernel.taper == "smooth" else tapered


def _compact_matern(kernel: CompactMatern, pairs: KernelInputs) -> Expression:
    taper = Taper(kernel.support, kernel.exponent, kernel.taper)
    smooth = Matern(kernel.length_scale, kernel.nu, width=kernel.width)
    return values(smooth, pairs) * values(taper, pairs)


def _periodic(kernel: Periodic, pairs: KernelInputs) -> Expression:
    half_turns = pairs.cycles(np.asarray(kernel.period)) * np.pi
    chords = elementwise("sin", half_turns) * (1 / np.asarray(kernel.length_scale))
    return exp(square(chords).sum() * -2.0)


def _affine_product(kernel: Polynomial | Sigmoid, pairs: KernelInputs) -> Expression:
    return pairs.products() * float(kernel.gamma) + float(kernel.coef0)


def _mixture(kernel: Mixture, pairs: KernelInputs) -> Expression:
    each = zip(kernel.kernels, kernel.weights, strict=True)
    parts = [values(one, pairs) * float(weight) for one, weight in each]
    return sum(parts[1:], start=parts[0])


def _pairwise(kernel: Pairwise, pairs: KernelInputs) -> Expression:
    x, z = pairs.scaled_row().expand_dims(0), pairs.scaled_centres()
    if kernel.name == "cosine":
        lengths = sqrt(square(x).sum() * square(z).sum())
        return (x * z).sum() / maximum(lengths, _TINY)
    distances = (square(x - z) / maximum(x + z, _TINY)).sum()
    return exp(distances * -kernel.gamma) if kernel.name == "chi2" else -distances


def scikit_learn_kernel(kernel: Any, pairs: KernelInputs) -> Expression:
    """Values of a kernel of ``sklearn.gaussian_process``."""
    name = type(kernel).__name__
    theirs = type(kernel).__module__.startswith("sklearn.gaussian_process.")
    if not theirs or name not in _SCIKIT_LEARN_KERNELS:
        raise ExportError(
            f"kernel {kernel!r} has no known formula, so it cannot be exported: use a "
            "kernel of relvec.kernels, or save the model by joblib"
        )
    return _SCIKIT_LEARN_KERNELS[name](kernel, pairs)


def _periodic_in_distance(kernel: Any, pairs: KernelInputs) -> Expression:
    """Use one distance over all features, where ours is a product over features."""
    if pairs.n_features == 1:
        return values(Periodic(kernel.length_scale, kernel.periodicity), pairs)
    distance = sqrt(pairs.squares(exact=True))
    chord = elementwise("sin", distance * (np.pi / kernel.periodicity))
    return exp(square(chord * (1 / kernel.length_scale)) * -2.0)


_SCIKIT_LEARN_KERNELS: dict[str, Callable[[Any, KernelInputs], Expression]] = {
    "RBF": lambda k, pairs: values(Gaussian(k.length_scale), pairs),
    "Matern": lambda k, pairs: values(Matern(k.length_scale, k.nu), pairs),
    "RationalQuadratic": lambda k, pairs: values(
        RationalQuadratic(k.length_scale, k.alpha), pairs
    ),
    "ExpSineSquared": _periodic_in_distance,
    "DotProduct": lambda k, pairs: pairs.products() + k.sigma_0**2,
    "ConstantKernel": lambda k, pairs: values(Constant(k.constant_value), pairs),
    # Rows and centres are different observations, even if they are equal.
    "WhiteKernel": lambda k, pairs: values(Constant(1.0), pairs) * 0.0,
    "Sum": lambda k, pairs: (
        scikit_learn_kernel(k.k1, pairs) + scikit_learn_kernel(k.k2, pairs)
    ),
    "Product": lambda k, pairs: (
        scikit_learn_kernel(k.k1, pairs) * scikit_learn_kernel(k.k2, pairs)
    ),
    "Exponentiation": lambda k, pairs: power(
        scikit_learn_kernel(k.kernel, pairs), k.exponent
    ),
}
_PROFILES: dict[type[Any], Callable[[Any, Expression], Expression]] = {
    Gaussian: lambda k, squares: exp(squares * -0.5),
    InverseMultiquadric: lambda k, squares: power(squares + float(k.offset), -0.5),
    RationalQuadratic: lambda k, squares: power(
        squares * (0.5 / float(k.alpha)) + 1.0, -float(k.alpha)
    ),
    Matern: _matern,
}
_FORMULAS: dict[type[Any], Callable[[Any, KernelInputs], Expression]] = {
    Checked: lambda k, pairs: values(k.function, pairs),
    Radial: _radial,
    Taper: _taper,
    CompactMatern: _compact_matern,
    Laplacian: lambda k, pairs: exp(
        -elementwise("absolute", pairs.differences(k.length_scale)).sum()
    ),
    Periodic: _periodic,
    Constant: lambda k, pairs: constant(
        np.full(1 if pairs.centres is None else len(pairs.centres), float(k.value))
    ),
    Linear: lambda k, pairs: pairs.products(),
    Polynomial: lambda k, pairs: power(_affine_product(k, pairs), float(k.degree)),
    Sigmoid: lambda k, pairs: elementwise("tanh", _affine_product(k, pairs)),
    Scaled: lambda k, pairs: values(k.kernel, pairs) * float(k.factor),
    Sum: lambda k, pairs: values(k.left, pairs) + values(k.right, pairs),
    Product: lambda k, pairs: values(k.left, pairs) * values(k.right, pairs),
    Mixture: _mixture,
    Pairwise: _pairwise,
    GaussianProcessKernel: lambda k, pairs: scikit_learn_kernel(k.kernel, pairs),
}


@dataclass(frozen=True, eq=False)
class FunctionValues:
    """φ(x) of all basis functions of a model, kernel by kernel."""

    parts: list[tuple[slice, Expression]]
    bias: bool

    @classmethod
    def of(cls, basis: Basis, pairs: KernelInputs) -> "FunctionValues":
        """Evaluate the basis functions at a row."""
        each = zip(basis.parts, basis.groups, strict=True)
        parts = [(place, _of_group(group, pairs)) for place, group in each if group]
        return cls(parts, basis.bias)

    def times(self, matrix: Array) -> Expression:
        """φ(x)ᵀM for a matrix M (n, m)."""
        total = constant(matrix[0] if self.bias else np.zeros(matrix.shape[1]))
        for place, part in self.parts:
            total = matmul(part, matrix[place]) + total
        return total

    def squares(self, matrix: Array) -> Expression:
        """‖φ(x)ᵀM‖² for M (n, m)."""
        return square(self.times(matrix)).sum()


def _of_group(group: Any, pairs: KernelInputs) -> Expression:
    if isinstance(group, PerCentreScale):
        inputs = pairs.with_centres(group.centres).selected(group.kernel.columns)
        return radial_profile(group.kernel, inputs.squares(group.scales))
    if isinstance(group.kernel, Columns):
        return pairs.selected(group.centres).scaled_row()
    if group.centres.dtype == object:
        raise ExportError(
            "the rows of the model are objects, which only its own kernel can read: "
            "save it by joblib"
        )
    return values(group.kernel, pairs.with_centres(group.centres))
