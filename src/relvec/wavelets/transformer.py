"""Wavelets of every feature, as a transformer of scikit-learn."""

# The base classes of scikit-learn carry no types.
# mypy: disallow-subclassing-any=False

from numbers import Integral
from typing import Any, Literal, Self

import numpy as np
from sklearn.base import BaseEstimator, OneToOneFeatureMixin, TransformerMixin
from sklearn.utils.validation import check_is_fitted, validate_data

from relvec.parameters import as_floats, check_choice
from relvec.typing import AnyArray, Array
from relvec.wavelets.functions import basis_functions, symmlet

_ORDERS = (2, 10)
_LEVELS = (1, 16)


class WaveletTransformer(TransformerMixin, BaseEstimator):
    """Wavelet basis functions of each feature.

    A dictionary of functions from coarse to fine, for signals with jumps, kinks or
    local detail. Use it before ``RVR(kernel=None)``, like
    :class:`sklearn.preprocessing.SplineTransformer`, or give its output to
    :func:`relvec.sparse_bayes`. Such models are related to wavelet shrinkage [2]_.

    Level j divides the interval into 2^j cells, each with one wavelet centred on it,
    from level 0 to ``levels`` - 1. Wavelets are orthogonal to polynomials of a degree
    below their number of vanishing moments, so these polynomials are added. All
    functions have unit norm in L² over the interval scaled to [0, 1], except wavelets
    cut off at its ends.

    Parameters
    ----------
    family : {"symmlet", "haar"}, default="symmlet"
        Daubechies' least asymmetric wavelets [1]_, smooth and nearly symmetric, or
        step functions.
    order : int, default=8
        Number of vanishing moments of the symmlets, from 2 to 10. With more, wavelets
        are smoother and wider. Haar's wavelet has one.
    levels : int, default=6
        Number of levels, up to 16; the finest wavelets sit on cells of width
        2^(1 - ``levels``) of the interval.
    boundary : {"interval", "periodic"}, default="interval"
        Whether functions are cut off at the ends of the interval or wrap around.
        Wrapping makes the functions orthonormal and connects both ends of the signal:
        use it for periodic signals only.
    domain : (float, float), optional
        Ends of the interval, or of one period, for all features. By default the
        least and the greatest value of each feature in ``fit``.

    Attributes
    ----------
    interval_ : ndarray of shape (n_features, 2)
        Ends of the interval of each feature.
    filter_ : ndarray of shape (2 * order,)
        The wavelet's filter h, with sum √2.
    n_features_in_ : int
        Number of features.
    feature_names_in_ : ndarray of shape (n_features,)
        Names of the features; only if all names were strings.

    See Also
    --------
    relvec.RVR : Sparse regression, on these features with ``kernel=None``.
    relvec.sparse_bayes : The same for a dictionary given as a matrix.

    Notes
    -----
    Outside the interval all functions are zero, and a model returns to its intercept.
    If new rows may lie outside, in cross-validation for instance, set ``domain``.

    There are 2^``levels`` - 1 wavelets per feature, and 1 polynomial for "haar" and for
    "periodic", otherwise ``order`` of them. If there are about as many functions as
    rows, they can fit the noise: choose ``levels`` so that the finest cells hold
    several rows.

    Needs PyWavelets: ``pip install "relvec[wavelets]"``.

    References
    ----------
    .. [1] I. Daubechies (1992), "Ten Lectures on Wavelets", SIAM, chapters 6 and 8.
    .. [2] A. Schmolck and R. Everson (2007), "Smooth relevance vector machine: a
       smoothness prior extension of the RVM", Machine Learning 68, 107-135.

    Examples
    --------
    >>> import numpy as np
    >>> from sklearn.pipeline import make_pipeline
    >>> from relvec import RVR
    >>> from relvec.wavelets import WaveletTransformer
    >>> x = np.linspace(0, 1, 200)[:, None]
    >>> step = np.where(x[:, 0] < 0.25, 1.0, 3.0)
    >>> y = step + 0.02 * np.random.default_rng(0).standard_normal(200)
    >>> model = make_pipeline(WaveletTransformer("haar", levels=4), RVR(kernel=None))
    >>> model.fit(x, y).predict([[0.2], [0.3]]).round(1)
    array([1., 3.])
    >>> model[0].get_feature_names_out()[:4]
    array(['x0_polynomial_0', 'x0_wavelet_0_0', 'x0_wavelet_1_0',
           'x0_wavelet_1_1'], dtype=object)
    """

    def __init__(
        self,
        family: Literal["symmlet", "haar"] = "symmlet",
        *,
        order: int = 8,
        levels: int = 6,
        boundary: Literal["interval", "periodic"] = "interval",
        domain: tuple[float, float] | None = None,
    ) -> None:
        self.family = family
        self.order = order
        self.levels = levels
        self.boundary = boundary
        self.domain = domain

    def fit(self, X: Any, y: Any = None) -> Self:
        """Find the interval of each feature.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Training rows.
        y : None
            Ignored.

        Returns
        -------
        object
            The transformer itself.
        """
        check_choice("family", self.family, ("symmlet", "haar"))
        check_choice("boundary", self.boundary, ("interval", "periodic"))
        _check_between("order", self.order, _ORDERS)
        _check_between("levels", self.levels, _LEVELS)
        ends = None if self.domain is None else _as_interval(self.domain)
        rows = validate_data(self, X, dtype=np.float64)
        if ends is None:
            self.interval_ = np.column_stack([rows.min(axis=0), rows.max(axis=0)])
        else:
            self.interval_ = np.tile(ends, (rows.shape[1], 1))
        self.filter_ = symmlet(1 if self.family == "haar" else int(self.order))
        return self

    def transform(self, X: Any) -> Array:
        """Values of all functions, feature by feature.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Rows to transform.

        Returns
        -------
        ndarray of shape (n_samples, n_features * n_functions)
            For each feature the polynomials, then the wavelets from coarse to fine.
        """
        check_is_fitted(self)
        rows = validate_data(self, X, dtype=np.float64, reset=False)
        pairs = zip(rows.T, self.interval_, strict=True)
        return np.hstack([self._functions(feature, ends) for feature, ends in pairs])

    def _functions(self, feature: Array, ends: Array) -> Array:
        low, high = ends
        # The interval of a constant feature may have any length.
        positions = (feature - low) / (high - low if high > low else 1.0)
        periodic = self.boundary == "periodic"
        if periodic:
            positions = positions % 1.0
        inside = (positions >= 0) & (positions <= 1)
        places, levels = np.where(inside, positions, 0.0), int(self.levels)
        values = basis_functions(places, self.filter_, levels, periodic=periodic)
        values[~inside] = 0.0
        return values

    def get_feature_names_out(self, input_features: Any = None) -> AnyArray:
        """Names such as "x0_polynomial_2", or "x0_wavelet_3_5" for level 3, cell 5.

        Parameters
        ----------
        input_features : array-like of str, optional
            Names of the features; those seen in ``fit``, or "x0", "x1" and so on.

        Returns
        -------
        ndarray of str
            One name per column.
        """
        check_is_fitted(self)
        # For the checks of the names that scikit-learn has for all its transformers.
        features = OneToOneFeatureMixin.get_feature_names_out(self, input_features)
        n_polynomials = 1 if self.boundary == "periodic" else len(self.filter_) // 2
        functions = [f"polynomial_{degree}" for degree in range(n_polynomials)]
        for level in range(self.levels):
            functions += [f"wavelet_{level}_{cell}" for cell in range(2**level)]
        names = [f"{feature}_{name}" for feature in features for name in functions]
        return np.array(names, dtype=object)


def _check_between(name: str, value: Any, limits: tuple[int, int]) -> None:
    low, high = limits
    whole = isinstance(value, Integral) and not isinstance(value, bool)
    if not whole or not low <= value <= high:
        msg = f"{name} must be a whole number from {low} to {high}; got {value!r}"
        raise ValueError(msg)


def _as_interval(domain: Any) -> Array:
    ends = as_floats("domain", domain, 1)
    if ends.shape != (2,) or ends[0] >= ends[1]:
        msg = f"domain must be two numbers, the smaller one first; got {domain!r}"
        raise ValueError(msg)
    return ends
