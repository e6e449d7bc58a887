"""What functions of matrices have in common.

A function f of matrices has the Fréchet derivative L(A, E), linear in E; the adjoint of ``E -> L(A, E)`` is
``Y -> L(A, Yᴴ)ᴴ``, since ``tr(Z L(A, E)) = tr(L(A, Z) E)``.  So each function here needs L alone, written
again in functions that have derivatives; where nothing better is at hand, by
``f([[A, E], [0, A]]) = [[f(A), L(A, E)], [0, f(A)]]`` (Mathias, 1996).
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from lindiff.core.differential import Differential
from lindiff.core.variable import value
from lindiff.linalg._batches import over_batch, require_host
from lindiff.linalg._matrices import adjoint
from lindiff.rules._common import as_array
from lindiff.scipy.linalg._arguments import is_plain

__all__ = ["UNSET", "given", "inexact", "of_scipy", "primary", "square_matrix", "with_options"]


class _Unset:
    def __repr__(self) -> str:
        return "<not given>"


# SciPy warns where a deprecated keyword is given at all
UNSET: Any = _Unset()


def given(**options: Any) -> dict[str, Any]:
    return {name: option for name, option in options.items() if option is not UNSET}


def square_matrix(A: Any, name: str) -> Any:
    """An array of square matrices; raises for any other shape."""
    A = as_array(A)
    if A.ndim < 2 or A.shape[-1] != A.shape[-2]:
        raise ValueError(f"{name}: expected square matrices in the last two axes, got shape {A.shape}")
    return A


def of_scipy(function: Callable[..., Any], A: Any, *args: Any, **options: Any) -> Any:
    """SciPy's own result for plain arrays, over a batch."""
    A = square_matrix(A, function.__name__)
    require_host(function.__name__, A)
    return over_batch(2)(lambda M: function(M, *args, **options))(A)


def with_options(
    primitive: Callable[..., Any], function: Callable[..., Any], A: Any, *args: Any, **options: Any
) -> Any:
    """SciPy's result, an error estimate with it under ``disp=False``; on Variables with a derivative."""
    A = as_array(A)
    if not options:
        return primitive(A, *args)
    plain = of_scipy(function, value(A), *args, **options)
    if is_plain(A):
        return plain
    return (primitive(A, *args), plain[1]) if isinstance(plain, tuple) else primitive(A, *args)


def primary(L: Callable[[Any], Any]) -> Differential:
    """The differential of a matrix function at A from ``L(E) = L(A, E)``, complex linear in E."""

    def pullback(Y_bar: Any) -> Any:
        return adjoint(L(adjoint(Y_bar)))

    return Differential((L,), (pullback,))


def inexact(A: Any) -> Any:
    """A matrix of integers in double precision, one in half precision in single precision."""
    if A.dtype.kind not in "fc":
        return A.astype(np.float64)
    return A.astype(np.float32) if A.dtype == np.float16 else A
