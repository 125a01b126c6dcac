"""Kernels: functions of two sets of rows."""

from relvec.kernels.adapters import (
    CallableKernel,
    Checked,
    Columns,
    GaussianProcessKernel,
)
from relvec.kernels.base import Kernel, KernelFunction
from relvec.kernels.combinations import Product, Scaled, Sum
from relvec.kernels.compact import CompactMatern, Taper
from relvec.kernels.dot_product import Constant, Linear, Polynomial, Sigmoid
from relvec.kernels.featurewise import Laplacian, Periodic
from relvec.kernels.stationary import (
    Gaussian,
    InverseMultiquadric,
    Matern,
    RationalQuadratic,
)

__all__ = [
    "CallableKernel",
    "Checked",
    "Columns",
    "CompactMatern",
    "Constant",
    "Gaussian",
    "GaussianProcessKernel",
    "InverseMultiquadric",
    "Kernel",
    "KernelFunction",
    "Laplacian",
    "Linear",
    "Matern",
    "Periodic",
    "Polynomial",
    "Product",
    "RationalQuadratic",
    "Scaled",
    "Sigmoid",
    "Sum",
    "Taper",
]
