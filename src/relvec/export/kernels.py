"""Kernels and basis functions as expressions of a row and some centres.

Features are measured from an origin among the centres before anything else is done:
far from zero, single precision has no digits left for differences. A scaler before the
model is merged into the length scales of the kernel.
"""

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import singledispatch
from typing import Any

import numpy as np
from scipy.special import gammaln

from relvec.basis import Basis, Group
from relvec.estimators.kernels import Pairwise
from relvec.export.expressions import (
    ExportError,
    Expression,
    at_least,
    at_most,
    constant,
    elementwise,
    exp,
    matmul,
    power,
    sqrt,
    squared,
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
from relvec.kernels.stationary import Radial
from relvec.kernels.varying import Varying
from relvec.typing import Array


@dataclass(frozen=True, eq=False)
class Scaling:
    """(x − shift)/scale of every feature, before a model sees it."""

    shift: Array  # (d,)
    scale: Array  # (d,)

    @classmethod
    def none(cls, n_features: int) -> "Scaling":
        """That leaves features as they are."""
        return cls(np.zeros(n_features), np.ones(n_features))

    def after(self, first: "Scaling") -> "Scaling":
        """Of what another has scaled before."""
        shift = first.shift + self.shift * first.scale
        return Scaling(shift, first.scale * self.scale)

    def undone(self, rows: Array) -> Array:
        """Rows as they were before."""
        return rows * self.scale + self.shift


@dataclass(frozen=True, eq=False)
class Pairs:
    """A row x and centres z, or the row and itself."""

    given: Expression  # (d,) the row as it comes
    row: Expression  # (d,) less the origin, not scaled
    origin: Array  # (d,)
    scaling: Scaling
    centres: Array | None  # (n, d) scaled; None for the row itself

    @property
    def n_features(self) -> int:
        """That are seen."""
        return len(self.origin)

    def beside(self, centres: Any) -> "Pairs":
        """The same row beside other centres."""
        return replace(self, centres=np.asarray(centres, dtype=np.float64))

    def itself(self) -> "Pairs":
        """The row beside itself."""
        return replace(self, centres=None)

    def narrowed(self, columns: Any) -> "Pairs":
        """Some features alone; all for None."""
        if columns is None:
            return self
        chosen = chosen_columns(columns, self.n_features)
        return Pairs(
            self.given.take(chosen),
            self.row.take(chosen),
            self.origin[chosen],
            Scaling(self.scaling.shift[chosen], self.scaling.scale[chosen]),
            None if self.centres is None else self.centres[:, chosen],
        )

    def differences(self, length_scale: Any = 1.0) -> Expression:
        """(x − z)/ℓ (n, d), by one ℓ, one for each feature, or for each centre too."""
        if self.centres is None:
            return constant(np.zeros((1, self.n_features)))
        ell = np.asarray(length_scale, dtype=np.float64)
        rate = 1 / (self.scaling.scale * ell)
        if ell.ndim > 1:
            return (self.row.wider(0) - self._places) * rate
        return (self.row * rate).wider(0) - self._places * rate

    def turns(self, period: Any) -> Expression:
        """(x − z)/p (n, d) less whole periods, of which no digits are lost far away."""
        if self.centres is None:
            return self.differences()
        wide = np.broadcast_to(period * self.scaling.scale, (self.n_features,))
        row = elementwise("remainder", self.given, wide) * (1 / wide)
        places = np.fmod(self.scaling.undone(self.centres), wide)
        return row.wider(0) - places / wide

    def squares(self, length_scale: Any = 1.0, *, exact: bool = False) -> Expression:
        """‖(x − z)/ℓ‖² (n,); ``exact`` also for those nearly the same."""
        ell = np.asarray(length_scale, dtype=np.float64)
        if self.centres is None or ell.ndim > 1 or exact:
            return squared(self.differences(ell)).sum()
        rate = 1 / (self.scaling.scale * ell)
        return squared_distances(self.row * rate, self._places * rate)

    @property
    def _places(self) -> Array:
        """The centres less the origin, not scaled: (n, d).

        Not by way of the features as they were given, far from zero perhaps, where
        digits would be lost that a scaler has saved.
        """
        assert self.centres is not None
        return self.centres * self.scaling.scale + (self.scaling.shift - self.origin)

    def products(self) -> Expression:
        """xᵀz (n,)."""
        if self.centres is None:
            return (self.seen() * self.seen()).sum().wider(0)
        at_origin = (self.origin - self.scaling.shift) / self.scaling.scale
        slopes = matmul(self.row, (self.centres / self.scaling.scale).T)
        return slopes + self.centres @ at_origin

    def seen(self) -> Expression:
        """The row as the kernel sees it, (d,)."""
        scale = self.scaling.scale
        return self.row * (1 / scale) + (self.origin - self.scaling.shift) / scale

    def others(self) -> Expression:
        """The centres as the kernel sees them, (n, d)."""
        return self.seen().wider(0) if self.centres is None else constant(self.centres)


def origin_of(centres: Array) -> Array:
    """A point among centres (n, d), one that single precision can hold.

    Zero, where it is among them already.
    """
    if len(centres) == 0:
        return np.zeros(centres.shape[1])
    middle, width = centres.mean(axis=0), centres.std(axis=0)
    single = np.asarray(middle, dtype=np.float32).astype(np.float64)
    return np.where(np.abs(middle) > width, single, 0.0)


_TINY = 1e-30  # beside which a sum of features or a norm counts as zero
# Steps of the rule for Matérn kernels, by the width of the narrowest integrand, that of
# the largest z at which there is anything left, and where terms end: all leave 1e-14.
_STEP, _FURTHEST, _LEFT_OUT = 0.7, 35.0, 34.0
# Beyond, exp(−z) is nothing in either precision, and squares are in range.
_LARGEST_DISTANCE = 1e4
_LARGEST_RATE = 1e30  # that single precision can hold


def values(kernel: Any, pairs: Pairs) -> Expression:
    """k(x, z) (n,) for every centre."""
    _check_ours(kernel)
    return _values(kernel, pairs.narrowed(getattr(kernel, "columns", None)))


def of_squares(kernel: Radial, squares: Expression) -> Expression:
    """f(s) of a kernel that is a function of a scaled distance alone."""
    _check_ours(kernel)
    return _profile(kernel, squares)


def _check_ours(kernel: Any) -> None:
    """Refuse one that is derived from ours: its formula may be another."""
    if not type(kernel).__module__.startswith("relvec."):
        raise ExportError(
            f"kernel {kernel!r} is not one whose formula is known, so it cannot be "
            "exported: use a kernel of relvec.kernels, or ship the model by joblib"
        )


@singledispatch
def _values(kernel: Any, pairs: Pairs) -> Expression:
    raise ExportError(
        f"kernel {kernel!r} has no formula, so it cannot be exported: use another of "
        "relvec.kernels, or ship the model by joblib"
    )


@_values.register
def _(kernel: Checked, pairs: Pairs) -> Expression:
    return values(kernel.function, pairs)


@_values.register
def _(kernel: Radial, pairs: Pairs) -> Expression:
    # The root of a distance near zero magnifies errors.
    rough = isinstance(kernel, Matern) and kernel.nu < 1
    return _profile(kernel, pairs.squares(kernel.scale, exact=rough))


@singledispatch
def _profile(kernel: Any, squares: Expression) -> Expression:
    """f(s) of a radial kernel."""
    name = type(kernel).__name__
    raise ExportError(
        f"{name} is a kernel of one's own, whose formula an export does not know: use "
        "one of relvec.kernels, or ship the model by joblib"
    )


@_profile.register
def _(kernel: Gaussian, squares: Expression) -> Expression:
    return exp(squares * -0.5)


@_profile.register
def _(kernel: InverseMultiquadric, squares: Expression) -> Expression:
    return power(squares + float(kernel.offset), -0.5)


@_profile.register
def _(kernel: RationalQuadratic, squares: Expression) -> Expression:
    alpha = float(kernel.alpha)
    return power(squares * (0.5 / alpha) + 1.0, -alpha)


@_profile.register
def _(kernel: Matern, squares: Expression) -> Expression:
    nu = float(kernel.nu)
    if np.isinf(nu):
        return exp(squares * -0.5)
    if nu % 1 == 0.5:
        return _half_integer(nu, squares)
    return _mixture_of_gaussians(nu, squares * (2 * nu))


def _half_integer(nu: float, squares: Expression) -> Expression:
    """By the recurrence of ``relvec.kernels.stationary``, whose terms are below one."""
    z = at_most(sqrt(squares * (2 * nu)), _LARGEST_DISTANCE)
    lower = exp(-z)
    if nu == 0.5:
        return lower
    upper = lower * (z + 1.0)
    for order in np.arange(1.5, nu):
        factor = squared(z) * (0.25 / (order * (order - 1)))
        lower, upper = upper, upper + factor * lower
    return upper


def _mixture_of_gaussians(nu: float, squares: Expression) -> Expression:
    """M_ν(z) = ∫ u^(ν−1) exp(−u − z²/4u) du / Γ(ν), by a trapezium rule in log u.

    A sum of positive terms, which converges faster than any power of its step.
    """
    low, high = _ends(nu)
    step = _STEP / np.sqrt(np.hypot(nu, _FURTHEST))
    places = np.arange(low, high + step, step)
    u = np.exp(places)
    weights = np.exp(nu * places - u - gammaln(nu))
    weights /= weights.sum()
    rates = np.minimum(0.25 / u, _LARGEST_RATE)
    terms = exp(squares.wider(-1) * -rates)
    return matmul(terms, weights[:, None]).sum()


def _ends(nu: float) -> tuple[float, float]:
    """Between which exp(ν·s − e^s) is not e^(−34) of its peak at log ν."""
    grid = np.log(nu) + np.linspace(-_LEFT_OUT / nu - 12, 6, 20_000)
    heights = nu * grid - np.exp(grid)
    kept = grid[heights > heights.max() - _LEFT_OUT]
    return float(kept[0]), float(kept[-1])


@_values.register
def _(kernel: Taper, pairs: Pairs) -> Expression:
    u = sqrt(pairs.squares(kernel.support, exact=True))
    least = TAPERS[kernel.taper].least(pairs.n_features)
    exponent = least if kernel.exponent is None else float(kernel.exponent)
    tapered = power(at_least(1.0 - u, 0.0), exponent)
    return tapered * (u * exponent + 1.0) if kernel.taper == "smooth" else tapered


@_values.register
def _(kernel: CompactMatern, pairs: Pairs) -> Expression:
    taper = Taper(kernel.support, kernel.exponent, kernel.taper)
    smooth = Matern(kernel.length_scale, kernel.nu, width=kernel.width)
    return values(smooth, pairs) * values(taper, pairs)


@_values.register
def _(kernel: Laplacian, pairs: Pairs) -> Expression:
    scaled = pairs.differences(kernel.length_scale)
    return exp(-elementwise("absolute", scaled).sum())


@_values.register
def _(kernel: Periodic, pairs: Pairs) -> Expression:
    half_turns = pairs.turns(np.asarray(kernel.period)) * np.pi
    chords = elementwise("sin", half_turns) * (1 / np.asarray(kernel.length_scale))
    return exp(squared(chords).sum() * -2.0)


@_values.register
def _(kernel: Constant, pairs: Pairs) -> Expression:
    n_centres = 1 if pairs.centres is None else len(pairs.centres)
    return constant(np.full(n_centres, float(kernel.value)))


@_values.register
def _(kernel: Linear, pairs: Pairs) -> Expression:
    return pairs.products()


@_values.register
def _(kernel: Polynomial, pairs: Pairs) -> Expression:
    sums = pairs.products() * float(kernel.gamma) + float(kernel.coef0)
    return power(sums, float(kernel.degree))


@_values.register
def _(kernel: Sigmoid, pairs: Pairs) -> Expression:
    sums = pairs.products() * float(kernel.gamma) + float(kernel.coef0)
    return elementwise("tanh", sums)


@_values.register
def _(kernel: Scaled, pairs: Pairs) -> Expression:
    return values(kernel.kernel, pairs) * float(kernel.factor)


@_values.register
def _(kernel: Sum, pairs: Pairs) -> Expression:
    return values(kernel.left, pairs) + values(kernel.right, pairs)


@_values.register
def _(kernel: Product, pairs: Pairs) -> Expression:
    return values(kernel.left, pairs) * values(kernel.right, pairs)


@_values.register
def _(kernel: Mixture, pairs: Pairs) -> Expression:
    each = zip(kernel.kernels, kernel.weights, strict=True)
    parts = [values(one, pairs) * float(weight) for one, weight in each]
    return sum(parts[1:], start=parts[0])


@_values.register
def _(kernel: Pairwise, pairs: Pairs) -> Expression:
    x, z = pairs.seen().wider(0), pairs.others()
    if kernel.name == "cosine":
        lengths = sqrt(squared(x).sum() * squared(z).sum())
        return (x * z).sum() / at_least(lengths, _TINY)
    distances = (squared(x - z) / at_least(x + z, _TINY)).sum()
    return exp(distances * -kernel.gamma) if kernel.name == "chi2" else -distances


@_values.register
def _(kernel: GaussianProcessKernel, pairs: Pairs) -> Expression:
    return of_process(kernel.kernel, pairs)


def of_process(kernel: Any, pairs: Pairs) -> Expression:
    """Of a kernel of ``sklearn.gaussian_process``, by its name."""
    name = type(kernel).__name__
    theirs = type(kernel).__module__.startswith("sklearn.gaussian_process.")
    if not theirs or name not in _PROCESSES:
        raise ExportError(
            f"{kernel!r} is not one of the kernels of Gaussian processes that can be "
            "written down: use one of relvec.kernels, or ship the model by joblib"
        )
    return _PROCESSES[name](kernel, pairs)


def _periodic_distance(kernel: Any, pairs: Pairs) -> Expression:
    """Of several features not a product, as ours is, but one of their distance."""
    if pairs.n_features == 1:
        return values(Periodic(kernel.length_scale, kernel.periodicity), pairs)
    distance = sqrt(pairs.squares(exact=True))
    chord = elementwise("sin", distance * (np.pi / kernel.periodicity))
    return exp(squared(chord * (1 / kernel.length_scale)) * -2.0)


_PROCESSES: dict[str, Callable[[Any, Pairs], Expression]] = {
    "RBF": lambda k, pairs: values(Gaussian(k.length_scale), pairs),
    "Matern": lambda k, pairs: values(Matern(k.length_scale, k.nu), pairs),
    "RationalQuadratic": lambda k, pairs: values(
        RationalQuadratic(k.length_scale, k.alpha), pairs
    ),
    "ExpSineSquared": _periodic_distance,
    "DotProduct": lambda k, pairs: pairs.products() + k.sigma_0**2,
    "ConstantKernel": lambda k, pairs: values(Constant(k.constant_value), pairs),
    # Among rows and centres, which are apart even if they are equal, it is nothing.
    "WhiteKernel": lambda k, pairs: values(Constant(1.0), pairs) * 0.0,
    "Sum": lambda k, pairs: of_process(k.k1, pairs) + of_process(k.k2, pairs),
    "Product": lambda k, pairs: of_process(k.k1, pairs) * of_process(k.k2, pairs),
    "Exponentiation": lambda k, pairs: power(of_process(k.kernel, pairs), k.exponent),
}


@dataclass(frozen=True, eq=False)
class FunctionValues:
    """φ(x) of all functions of a model, kernel by kernel."""

    parts: list[tuple[slice, Expression]]
    bias: bool

    @classmethod
    def of(cls, basis: Basis, pairs: Pairs) -> "FunctionValues":
        """Of a row."""
        each = zip(basis.parts, basis.groups, strict=True)
        parts = [(place, _of_group(group, pairs)) for place, group in each if group]
        return cls(parts, basis.bias)

    def times(self, matrix: Array) -> Expression:
        """φ(x)ᵀ times (n, m)."""
        total = constant(matrix[0] if self.bias else np.zeros(matrix.shape[1]))
        for place, part in self.parts:
            total = matmul(part, matrix[place]) + total
        return total

    def squares(self, matrix: Array) -> Expression:
        """‖φ(x)ᵀM‖², for M (n, m)."""
        return squared(self.times(matrix)).sum()


@singledispatch
def _of_group(group: Any, pairs: Pairs) -> Expression:
    raise ExportError(f"functions of type {type(group).__name__} cannot be exported")


@_of_group.register
def _(group: Group, pairs: Pairs) -> Expression:
    if isinstance(group.kernel, Columns):
        return pairs.narrowed(group.centres).seen()
    if group.centres.dtype == object:
        raise ExportError(
            "the model is one of objects, which only its own kernel understands: ship "
            "it by joblib"
        )
    return values(group.kernel, pairs.beside(group.centres))


@_of_group.register
def _(group: Varying, pairs: Pairs) -> Expression:
    seen = pairs.beside(group.centres).narrowed(group.kernel.columns)
    return of_squares(group.kernel, seen.squares(group.scales))
