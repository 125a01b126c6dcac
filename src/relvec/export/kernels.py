"""Kernels as expressions: their values between a row and the centres of functions."""

from collections.abc import Callable
from functools import singledispatch
from typing import Any

import numpy as np
from scipy.special import gammaln

from relvec.estimators.kernels import Pairwise
from relvec.export.errors import ExportError
from relvec.export.expressions import (
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
)
from relvec.export.pairs import Pairs
from relvec.kernels import (
    Checked,
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
from relvec.kernels.mixture import Mixture
from relvec.kernels.radial import Radial
from relvec.kernels.tapers import TAPERS

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
    """By the recurrence of ``relvec.kernels.bessel``, whose terms are below one."""
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
