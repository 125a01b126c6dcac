"""Regression from inner products that add up over parts of the rows."""

from dataclasses import dataclass, replace

import numpy as np

from relvec.basis import blocks
from relvec.design.compressed import Inner, compressed
from relvec.evidence import Problem
from relvec.likelihoods import gaussian_noise
from relvec.modelling.families import Regression
from relvec.modelling.specification import Candidates
from relvec.modelling.training_rows import Features
from relvec.typing import AnyArray, Array


@dataclass(frozen=True)
class Accumulated:
    """A fixed dictionary and what all rows so far say about it."""

    candidates: Candidates
    features: Features
    inner: Inner
    ones: Array  # ΦᵀW1
    total: float  # Σvt
    origin: float  # targets t are y less this, so that their squares keep digits

    @classmethod
    def empty(
        cls, candidates: Candidates, features: Features, origin: float
    ) -> "Accumulated":
        """Before the first row."""
        size = len(candidates.basis)
        none = Inner(np.zeros((size, size)), np.zeros(size), 0.0, 0.0)
        return cls(candidates, features, none, np.zeros(size), 0.0, origin)

    def joined(self, X: AnyArray, y: Array, sample_weight: Array) -> "Accumulated":
        """With further rows."""
        inner, ones, basis = self.inner, self.ones, self.candidates.basis
        targets = y - self.origin
        for part in blocks(len(X), len(basis)):
            functions, weight = basis(X[part]), sample_weight[part]
            inner = inner + Inner.of(functions, targets[part], weight)
            ones = ones + weight @ functions
        total = self.total + float(sample_weight @ targets)
        return replace(self, inner=inner, ones=ones, total=total)

    def problem(self, family: Regression) -> tuple[Problem, float]:
        """The regression problem and the offset its targets were taken from."""
        bias = self.candidates.basis.bias
        shift = self.total / self.inner.weight if bias else 0.0
        inner = self.inner.shifted(shift, self.ones, self.total)
        design, y, weights = compressed(inner)
        offset = self.origin + shift
        given = family.noise_variance, offset, family.initial_noise_variance
        noise = gaussian_noise(y, weights, *given)
        return Problem(design, y, noise, weights, 0 if bias else None), offset
