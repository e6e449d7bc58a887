"""What every elementwise differential does with its partial derivatives, in one launch each.

In the products 0 · ∞ is 0, in the quotients 0 / 0 is 0: what costs NumPy a look at the result costs a GPU
nothing, while to ask for a look would be to wait for it.
"""

from __future__ import annotations

from typing import Any

import cupy
import numpy as np

__all__ = ["product", "quotient"]

_PARAMETERS = "G g, P p", "Z z"
_PRODUCT = cupy.ElementwiseKernel(
    *_PARAMETERS, "z = g == G(0) || p == P(0) ? Z(0) : Z(g) * Z(p)", "lindiff_product"
)
_PRODUCT_WITH_CONJUGATE = cupy.ElementwiseKernel(
    *_PARAMETERS, "z = g == G(0) || p == P(0) ? Z(0) : Z(g) * Z(conj(p))", "lindiff_product_with_conjugate"
)
_QUOTIENT = cupy.ElementwiseKernel(*_PARAMETERS, "z = g == G(0) ? Z(0) : Z(g) / Z(p)", "lindiff_quotient")


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
    kernel = _PRODUCT_WITH_CONJUGATE if conjugated and np.iscomplexobj(p) else _PRODUCT
    return _launched(kernel, g, p, overwrite)


def quotient(g: Any, p: Any) -> Any:
    """``g / p`` where 0 / 0 = 0; arguments as for :func:`product`."""
    return _launched(_QUOTIENT, g, p, False)


def _launched(kernel: Any, g: Any, p: Any, overwrite: bool) -> Any:
    shape, dtype = np.broadcast_shapes(g.shape, np.shape(p)), np.result_type(g, p)
    fits = overwrite and g.base is None and g.shape == shape and g.dtype == dtype
    out = g if fits else cupy.empty(shape, dtype)
    kernel(g, p, out)
    return out
