"""How the dictionary Φ is held."""

from relvec.design.base import DesignMatrix
from relvec.design.choose import DESIGNS, choose_design
from relvec.design.dense import DenseDesign
from relvec.design.dictionary import Budget, Dictionary
from relvec.design.rows import Rows

__all__ = [
    "DESIGNS",
    "Budget",
    "DenseDesign",
    "DesignMatrix",
    "Dictionary",
    "Rows",
    "choose_design",
]
