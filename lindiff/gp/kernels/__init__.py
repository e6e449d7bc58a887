"""Covariance functions: see :class:`lindiff.gp.kernels.Kernel`."""

from lindiff.gp.kernels.base import (
    Active,
    ConstantKernel,
    Exponentiation,
    Kernel,
    Product,
    Sum,
    Warped,
)
from lindiff.gp.kernels.compound import CompoundKernel
from lindiff.gp.kernels.inner_products import ArcCosine, DotProduct, Polynomial
from lindiff.gp.kernels.nonstationary import Coregionalized, Gibbs
from lindiff.gp.kernels.periodic import ExpSineSquared, SpectralMixture
from lindiff.gp.kernels.stationary import RBF, Matern, RationalQuadratic, WhiteKernel

__all__ = [
    "RBF",
    "Active",
    "ArcCosine",
    "CompoundKernel",
    "ConstantKernel",
    "Coregionalized",
    "DotProduct",
    "ExpSineSquared",
    "Exponentiation",
    "Gibbs",
    "Kernel",
    "Matern",
    "Polynomial",
    "Product",
    "RationalQuadratic",
    "SpectralMixture",
    "Sum",
    "Warped",
    "WhiteKernel",
]


def __dir__() -> list[str]:
    return __all__
