"""The model of table VI that is not sparse: the multinomial probit by EM.

Every row is a function, and every weight has the prior N(0, 1). The E step is (3) and
(4), the expected auxiliary variables; the M step is (2), a ridge regression on them.
"""

import numpy as np
from scipy.linalg import cho_factor, cho_solve
from sklearn.metrics.pairwise import pairwise_kernels

from relvec.likelihoods import MultinomialProbit
from relvec.likelihoods.multinomial import class_probabilities, contrasts

N_STEPS = 100


class ExpectationMaximisation:
    """With the parameters of the kernel alone."""

    def __init__(self, kernel, **settings):
        gamma = settings.pop("gamma", None)
        self.kernel = kernel
        self.settings = {**settings, "gamma": None if gamma == "auto" else gamma}

    def fit(self, X, y):
        self.X_ = X
        self.classes_, labels = np.unique(y, return_inverse=True)
        self.relevance_ = np.arange(len(X))
        K = self._functions(X)
        factor = cho_factor(K.T @ K + np.eye(len(K)))
        C = contrasts(len(self.classes_))
        likelihood = MultinomialProbit(C, bound=True)
        targets = C[labels]
        once = np.ones(len(X))
        expected = targets  # line 1 of algorithm 1: Y follows the labels
        for _ in range(N_STEPS):
            self.weights_ = cho_solve(factor, K.T @ expected)
            eta = K @ self.weights_
            expected = likelihood.pseudo_observations(targets, eta, once).target
        return self

    def predict_proba(self, X):
        C = contrasts(len(self.classes_))
        eta = self._functions(X) @ self.weights_ @ C.T
        return class_probabilities(eta, np.zeros_like(eta))

    def _functions(self, X):
        return pairwise_kernels(
            X, self.X_, metric=self.kernel, filter_params=True, **self.settings
        )
