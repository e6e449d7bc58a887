"""What every elementwise differential does with its partial derivatives, in one launch each.

In the products 0 · ∞ is 0, in the quotients 0 / 0 is 0: what costs NumPy a look at the result costs a GPU
nothing, while to ask for a look would be to wait for it.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import cupy
import numpy as np

__all__ = ["product", "quotient"]

# CuPy takes the types of placeholders from arrays: that of a number is the result's.
_OF_ARRAYS, _OF_NUMBERS = ("G g, P p", "Z z"), ("G g, Z p", "Z z")
_PRODUCT = "z = g == G(0) || Z(p) == Z(0) ? Z(0) : Z(g) * Z(p)"


def _kernels(operation: str, name: str) -> tuple[Any, Any]:
    """One for arrays, one for numbers."""
    return (
        cupy.ElementwiseKernel(*_OF_ARRAYS, operation, f"lindiff_{name}"),
        cupy.ElementwiseKernel(*_OF_NUMBERS, operation, f"lindiff_{name}_by_number"),
    )


_PRODUCTS = _kernels(_PRODUCT, "product")
_PRODUCT_WITH_CONJUGATE = cupy.ElementwiseKernel(
    *_OF_ARRAYS, _PRODUCT.replace("* Z(p)", "* Z(conj(p))"), "lindiff_product_with_conjugate"
)
_QUOTIENTS = _kernels("z = g == G(0) ? Z(0) : Z(g) / Z(p)", "quotient")


def product(g: Any, p: Any, conjugated: bool = False, overwrite: bool = False) -> Any:
    """``g * p``, or with ``p`` conjugated, where 0 · ∞ = 0.

    Parameters
    ----------
    g : cupy.ndarray
    p : cupy.ndarray or number
        Broadcasts with `g`.
    conjugated : bool
    overwrite : bool
        Whether the memory of `g` may take the result, if it fits.

    Returns
    -------
    cupy.ndarray
        Of the dtype that ``g * p`` has.
    """
    if not conjugated or not np.iscomplexobj(p):
        return _launched(_PRODUCTS, g, p, overwrite)
    if not isinstance(p, cupy.ndarray):
        return _launched(_PRODUCTS, g, p.conjugate(), overwrite)
    return _launched((_PRODUCT_WITH_CONJUGATE,), g, p, overwrite)


def quotient(g: Any, p: Any) -> Any:
    """``g / p`` where 0 / 0 = 0; arguments as for :func:`product`."""
    return _launched(_QUOTIENTS, g, p, False)


def _launched(kernels: Sequence[Any], g: Any, p: Any, overwrite: bool) -> Any:
    """The product by the kernel for an array p or for a number, in the memory of g if it may."""
    shape, dtype = np.broadcast_shapes(g.shape, np.shape(p)), np.result_type(g, p)
    fits = overwrite and g.base is None and g.shape == shape and g.dtype == dtype
    out = g if fits else cupy.empty(shape, dtype)
    kernels[0 if isinstance(p, cupy.ndarray) else 1](g, p, out)
    return out
