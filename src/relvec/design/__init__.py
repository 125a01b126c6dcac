"""How the dictionary Φ is held."""

from relvec.design.base import DEPENDENT, DIFFERENCE_LIMIT, GRAM_LIMIT, DesignMatrix
from relvec.design.dense import DenseDesign

__all__ = ["DEPENDENT", "DIFFERENCE_LIMIT", "GRAM_LIMIT", "DenseDesign", "DesignMatrix"]
