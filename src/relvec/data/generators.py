"""Synthetic problems of the papers, from a seed."""

import numpy as np

from relvec.typing import AnyArray, Array


def noisy_sinc(
    n_samples: int = 100, *, noise: float = 0.1, seed: int = 0
) -> tuple[Array, Array]:
    """sin(x)/x at equally spaced points of [-10, 10], with Gaussian noise.

    Parameters
    ----------
    n_samples : int, default=100
        Number of points.
    noise : float, default=0.1
        Standard deviation of the noise.
    seed : int, default=0
        Of the noise.

    Returns
    -------
    X : ndarray of shape (n_samples, 1)
        Points.
    y : ndarray of shape (n_samples,)
        Noisy values.

    Examples
    --------
    >>> from relvec.data import noisy_sinc
    >>> X, y = noisy_sinc(5, noise=0)
    >>> y.round(2)
    array([-0.05, -0.19,  1.  , -0.19, -0.05])
    """
    rng = np.random.default_rng(seed)
    X = np.linspace(-10, 10, n_samples)[:, None]
    return X, np.sinc(X[:, 0] / np.pi) + noise * rng.standard_normal(n_samples)


def two_mixtures(n_samples: int = 250, *, seed: int = 0) -> tuple[Array, AnyArray]:
    """Two classes in the plane, each a mixture of two Gaussians, after Ripley (1996).

    Parameters
    ----------
    n_samples : int, default=250
        Number of points, half of them in each class.
    seed : int, default=0
        Of the draw.

    Returns
    -------
    X : ndarray of shape (n_samples, 2)
        Points.
    y : ndarray of shape (n_samples,)
        Classes 0 and 1.

    Examples
    --------
    >>> from relvec.data import two_mixtures
    >>> X, y = two_mixtures(6)
    >>> y
    array([0, 1, 0, 1, 0, 1])
    """
    rng = np.random.default_rng(seed)
    centres = np.array([[[-0.7, 0.3], [0.3, 0.3]], [[-0.3, 0.7], [0.4, 0.7]]])
    y = np.arange(n_samples) % 2
    component = rng.integers(2, size=n_samples)
    noise = np.sqrt(0.03) * rng.standard_normal((n_samples, 2))
    return centres[y, component] + noise, y


def mixtures_and_copies(
    n_samples: int = 2500, *, noise: float = 0.05, seed: int = 0
) -> tuple[Array, AnyArray]:
    """Rows of :func:`two_mixtures`, and as many noisy copies of them, in any order.

    The data of section 5.3.1 in [1]_, which measures time by rows: 1250 rows after
    Ripley, and each again with noise on its features and the same class.

    Parameters
    ----------
    n_samples : int, default=2500
        Number of points, half of them copies; of an odd number one row has none.
    noise : float, default=0.05
        Standard deviation of what is added to each feature of a copy.
    seed : int, default=0
        Of the rows, of the noise and of the order.

    Returns
    -------
    X : ndarray of shape (n_samples, 2)
        Points.
    y : ndarray of shape (n_samples,)
        Classes 0 and 1.

    Notes
    -----
    Rows set aside as a test set have near copies among the others: errors on them look
    better than those on new rows are.

    References
    ----------
    .. [1] Ben-Shimon, D. (2006). Accelerating the relevance vector machine. Thesis,
       Ben-Gurion University of the Negev.

    Examples
    --------
    >>> from relvec.data import mixtures_and_copies
    >>> X, y = mixtures_and_copies(2500)
    >>> X.shape, int(y.sum())
    ((2500, 2), 1250)
    """
    # Another stream than that of the rows, for which the seed itself stands.
    (rng,) = np.random.default_rng(seed).spawn(1)
    n_copies = n_samples // 2
    X, y = two_mixtures(n_samples - n_copies, seed=seed)
    copies = X[:n_copies] + noise * rng.standard_normal((n_copies, 2))
    order = rng.permutation(n_samples)
    return np.concatenate([X, copies])[order], np.concatenate([y, y[:n_copies]])[order]
