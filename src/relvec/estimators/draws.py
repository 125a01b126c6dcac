"""Functions that the data leave possible."""

from typing import Any

import numpy as np

from relvec.estimators.base import SparseKernelModel
from relvec.typing import Array


class DrawnFunctions(SparseKernelModel):
    """A regression whose posterior can be drawn from."""

    def sample_posterior(self, X: Any, n: int = 1, random_state: Any = None) -> Array:
        """Functions drawn from the posterior, at all rows together.

        Each is one function of X that the data leave possible, smooth as its kernel is,
        and without noise. At every row they have the mean that ``predict`` has, and the
        variance of its error bars but for the noise. With ``uncertainty="augmented"``
        what these gain far from the data is correlated between rows as the process is
        that they gain it by.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Rows at which the functions are wanted.
        n : int, default=1
            How many functions.
        random_state : int, RandomState instance or None, default=None
            For the draws. None is always the same.

        Returns
        -------
        ndarray of shape (n, n_samples) or (n, n_samples, n_outputs)
            A function in every row, or one of each output.

        Examples
        --------
        >>> import numpy as np
        >>> from relvec import RVR
        >>> from relvec.data import noisy_sinc
        >>> X, y = noisy_sinc(100, seed=0)
        >>> line = np.linspace(-10, 10, 500)[:, None]
        >>> functions = RVR().fit(X, y).sample_posterior(line, 200)
        >>> functions.shape
        (200, 500)
        >>> peaks = functions.max(axis=1)  # how high is the highest point?
        >>> bool(0.9 < peaks.mean() < 1.1), bool(peaks.std() < 0.1)
        (True, True)
        """
        drawn = self._drawn(X, n, random_state)
        return np.stack([self.model_.given(one).mean for one in drawn])
