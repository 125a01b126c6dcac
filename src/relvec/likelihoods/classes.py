"""The former place of ``ClassLikelihood``, which is now in ``relvec.likelihoods``."""

from relvec.likelihoods.base import ClassLikelihood

__all__ = ["ClassLikelihood"]
