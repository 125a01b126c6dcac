"""Kernels: functions of two sets of rows."""

from relvec.kernels.adapters import Checked, Columns
from relvec.kernels.base import Kernel
from relvec.kernels.dot_product import Linear, Polynomial, Sigmoid
from relvec.kernels.stationary import Gaussian

__all__ = [
    "Checked",
    "Columns",
    "Gaussian",
    "Kernel",
    "Linear",
    "Polynomial",
    "Sigmoid",
]
