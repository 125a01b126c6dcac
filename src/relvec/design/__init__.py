"""How the dictionary Φ is held."""

from relvec.design.base import GRAM_LIMIT, DesignMatrix
from relvec.design.dense import DenseDesign

__all__ = ["GRAM_LIMIT", "DenseDesign", "DesignMatrix"]
