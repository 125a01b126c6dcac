"""Wavelets as features: a dictionary for signals with jumps and local detail."""

from relvec.wavelets.transformer import WaveletTransformer

__all__ = ["WaveletTransformer"]
