"""Data: synthetic problems to try things on."""

from relvec.data.generators import noisy_sinc, two_mixtures

__all__ = ["noisy_sinc", "two_mixtures"]
