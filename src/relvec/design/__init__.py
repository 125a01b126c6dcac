"""How the dictionary Φ is held."""

from relvec.design.base import DEPENDENT, GRAM_LIMIT, DesignMatrix
from relvec.design.dense import DenseDesign

__all__ = ["DEPENDENT", "GRAM_LIMIT", "DenseDesign", "DesignMatrix"]
