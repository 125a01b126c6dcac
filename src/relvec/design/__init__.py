"""How the dictionary Φ is held."""

from relvec.design.base import DEPENDENT, DIFFERENCE_LIMIT, GRAM_LIMIT, DesignMatrix
from relvec.design.choose import DESIGNS, Budget, Dictionary, choose_design
from relvec.design.dense import DenseDesign
from relvec.design.expansions import LowRank, Whole
from relvec.design.factored import FactoredDesign
from relvec.design.rows import Rows

__all__ = [
    "DEPENDENT",
    "DESIGNS",
    "DIFFERENCE_LIMIT",
    "GRAM_LIMIT",
    "Budget",
    "DenseDesign",
    "DesignMatrix",
    "Dictionary",
    "FactoredDesign",
    "LowRank",
    "Rows",
    "Whole",
    "choose_design",
]
