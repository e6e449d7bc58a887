"""scikit-learn's kernels as kernels of this package."""

from __future__ import annotations

import sys
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from lindiff.gp.kernels.base import ConstantKernel, Exponentiation, Kernel, Product, Sum
from lindiff.gp.kernels.inner_products import DotProduct
from lindiff.gp.kernels.periodic import ExpSineSquared
from lindiff.gp.kernels.stationary import RBF, Matern, RationalQuadratic, WhiteKernel

__all__ = ["from_sklearn"]


@dataclass(frozen=True, eq=False, repr=False)
class ExpSineSquaredOfLine(ExpSineSquared):
    """scikit-learn's: for points of one dimension, where both are one kernel."""

    def features(self, X: Any) -> Any:
        if X.shape[1] != 1:
            raise ValueError(
                f"scikit-learn's ExpSineSquared takes the sine of the distance, no covariance function "
                f"of {X.shape[1]} columns: write lindiff.gp.kernels.ExpSineSquared, periodic in each of them"
            )
        return super().features(X)


# Kernels whose parameters have the same names.
SAME: dict[str, Callable[..., Kernel]] = {
    "ConstantKernel": ConstantKernel,
    "DotProduct": DotProduct,
    "ExpSineSquared": ExpSineSquaredOfLine,
    "Matern": Matern,
    "RBF": RBF,
    "RationalQuadratic": RationalQuadratic,
    "WhiteKernel": WhiteKernel,
}
OF_KERNELS: dict[str, Callable[..., Kernel]] = {
    "Exponentiation": Exponentiation,
    "Product": Product,
    "Sum": Sum,
}


def from_sklearn(kernel: Any) -> Kernel:
    """The kernel of this package for one of scikit-learn's; what is one already stays.

    Raises
    ------
    TypeError
        For other objects, and for kernels that are not here.

    Examples
    --------
    >>> from sklearn.gaussian_process import kernels
    >>> from_sklearn(2.0 * kernels.RBF(0.5))
    ConstantKernel(constant_value=2) * RBF(length_scale=0.5)
    """
    if isinstance(kernel, Kernel):
        return kernel
    theirs = sys.modules.get("sklearn.gaussian_process.kernels")
    if theirs is None or not isinstance(kernel, theirs.Kernel):
        raise TypeError(
            f"a kernel is one of lindiff.gp.kernels, or of scikit-learn; got {type(kernel).__name__}"
        )
    name, params = type(kernel).__name__, kernel.get_params(deep=False)
    if type(kernel) is not getattr(theirs, name, None):
        raise TypeError(
            f"{name} is a kernel of one's own for scikit-learn: write one of lindiff.gp, see docs/gp.md"
        )
    if name in OF_KERNELS:
        return OF_KERNELS[name](
            *(from_sklearn(x) if isinstance(x, theirs.Kernel) else x for x in params.values())
        )
    if name not in SAME:
        raise TypeError(
            f"scikit-learn's {name} is not in lindiff.gp.kernels: write a kernel of your own, see docs/gp.md"
        )
    return SAME[name](**params)
