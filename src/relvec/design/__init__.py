"""How the dictionary Φ is held."""

from relvec.design.base import DesignMatrix
from relvec.design.choose import DESIGNS, choose_design
from relvec.design.dense import DenseDesign
from relvec.design.dictionary import Budget, Dictionary
from relvec.design.expansions import LowRank, Whole
from relvec.design.factored import FactoredDesign
from relvec.design.rows import Rows
from relvec.design.sparse import SparseDesign

__all__ = [
    "DESIGNS",
    "Budget",
    "DenseDesign",
    "DesignMatrix",
    "Dictionary",
    "FactoredDesign",
    "LowRank",
    "Rows",
    "SparseDesign",
    "Whole",
    "choose_design",
]
