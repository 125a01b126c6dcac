"""How the dictionary Φ is held."""

from relvec.design.base import DesignMatrix
from relvec.design.choose import (
    DEPRECATED_DESIGNS,
    DESIGNS,
    Budget,
    Dictionary,
    choose_design,
)
from relvec.design.held import DenseDesign
from relvec.design.rows import Rows

__all__ = [
    "DEPRECATED_DESIGNS",
    "DESIGNS",
    "Budget",
    "DenseDesign",
    "DesignMatrix",
    "Dictionary",
    "Rows",
    "choose_design",
]
