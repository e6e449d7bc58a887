"""The exponential of matrices, and the trigonometric and hyperbolic functions made of it."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

import numpy as np
import scipy.linalg

import lindiff.linalg
from lindiff._docstrings import documented_like
from lindiff.rules._common import as_array
from lindiff.scipy.linalg._arguments import as_checked, is_plain
from lindiff.scipy.linalg._functions import inexact, of_scipy, square_matrix

__all__ = ["coshm", "cosm", "expm", "expm_frechet", "sinhm", "sinm", "tanhm", "tanm"]


@documented_like(scipy.linalg.expm)
def expm(A: Any) -> Any:
    """Differentiable in `A`.

    Raises
    ------
    numpy.linalg.LinAlgError
        If A is not a square matrix.

    See Also
    --------
    lindiff.linalg.expm : the algorithm and its cost.

    Examples
    --------
    >>> import numpy as np
    >>> from lindiff.scipy.linalg import expm
    >>> expm(np.array([[0.0, 1.0], [0.0, 0.0]]))
    array([[1., 1.],
           [0., 1.]])
    """
    A = as_array(A)
    if A.ndim < 2 and A.size == 1:
        return np.reshape(np.exp(A), (1, 1))
    if A.ndim < 2:
        raise np.linalg.LinAlgError("The input array must be at least two-dimensional")
    if A.shape[-1] != A.shape[-2]:
        raise np.linalg.LinAlgError("Last 2 dimensions of the array must be square")
    if is_plain(A) and A.dtype.kind == "c":
        return of_scipy(scipy.linalg.expm, A)
    return lindiff.linalg.expm(inexact(A))


@documented_like(scipy.linalg.expm_frechet)
def expm_frechet(
    A: Any, E: Any, method: str | None = None, compute_expm: bool = True, check_finite: bool = True
) -> Any:
    """Differentiable in `A` and `E`.

    See :func:`lindiff.linalg.expm_frechet` for the algorithm, which is the same for both names of a method.
    The derivative has double precision.

    Raises
    ------
    ValueError
        If A and E are not square matrices of one shape, or not finite; if the method is unknown.

    Examples
    --------
    >>> import numpy as np
    >>> from lindiff.scipy.linalg import expm_frechet
    >>> expm_frechet(np.zeros((2, 2)), np.eye(2), compute_expm=False)
    array([[1., 0.],
           [0., 1.]])
    """
    A, E = as_array(A), as_array(E)
    if check_finite:
        for x in (A, E):
            as_checked(x, True)
    for x, which in ((A, "A"), (E, "E")):
        if x.ndim < 2 or x.shape[-1] != x.shape[-2]:
            raise ValueError(f"expected {which} to be a square matrix")
    if A.shape[-2:] != E.shape[-2:]:
        raise ValueError("expected A and E to be the same shape")
    if method not in (None, "SPS", "blockEnlarge"):
        raise ValueError(f"Unknown implementation {method}")
    dtype = np.result_type(A.dtype, E.dtype, np.float64)
    A, E = A.astype(dtype), E.astype(dtype)
    L = lindiff.linalg.expm_frechet(A, E)
    return (lindiff.linalg.expm(A), L) if compute_expm else L


# -- trigonometric and hyperbolic functions --------------------------------------------------------------


def _composed(function: Callable[..., Any]) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    """On plain arrays SciPy's function; on Variables the decorated one, written in functions with rules."""

    def decorate(formula: Callable[..., Any]) -> Callable[..., Any]:
        @documented_like(function)
        @functools.wraps(formula)
        def call(A: Any) -> Any:
            if is_plain(A):
                return of_scipy(function, A)
            return formula(inexact(square_matrix(A, formula.__name__)))

        return call

    return decorate


def _cosine_and_sine(A: Any) -> tuple[Any, Any]:
    """``cosm(A)`` and ``sinm(A)``, of a real A by one exponential."""
    if A.dtype.kind != "c":
        E = expm(1j * A)
        return E.real, E.imag
    E, E_inv = expm(1j * A), expm(-1j * A)
    return 0.5 * (E + E_inv), -0.5j * (E - E_inv)


def _hyperbolic_cosine_and_sine(A: Any) -> tuple[Any, Any]:
    """``coshm(A)`` and ``sinhm(A)``."""
    E, E_inv = expm(A), expm(-A)
    return 0.5 * (E + E_inv), 0.5 * (E - E_inv)


@_composed(scipy.linalg.cosm)
def cosm(A: Any) -> Any:
    """``(exp(iA) + exp(-iA)) / 2``, differentiable in `A`.

    Examples
    --------
    >>> import numpy as np
    >>> from lindiff.scipy.linalg import cosm
    >>> cosm(np.zeros((2, 2)))
    array([[1., 0.],
           [0., 1.]])
    """
    return _cosine_and_sine(A)[0]


@_composed(scipy.linalg.sinm)
def sinm(A: Any) -> Any:
    """``(exp(iA) - exp(-iA)) / 2i``, differentiable in `A`.

    Examples
    --------
    >>> import numpy as np
    >>> from lindiff.scipy.linalg import sinm
    >>> sinm(np.array([[0.0, 1.0], [0.0, 0.0]]))
    array([[0., 1.],
           [0., 0.]])
    """
    return _cosine_and_sine(A)[1]


@_composed(scipy.linalg.tanm)
def tanm(A: Any) -> Any:
    """``cosm(A)⁻¹ sinm(A)``, differentiable in `A`.

    Examples
    --------
    >>> import numpy as np
    >>> from lindiff.scipy.linalg import tanm
    >>> tanm(np.zeros((2, 2)))
    array([[0., 0.],
           [0., 0.]])
    """
    return np.linalg.solve(*_cosine_and_sine(A))


@_composed(scipy.linalg.coshm)
def coshm(A: Any) -> Any:
    """``(exp(A) + exp(-A)) / 2``, differentiable in `A`.

    Examples
    --------
    >>> import numpy as np
    >>> from lindiff.scipy.linalg import coshm
    >>> coshm(np.zeros((2, 2)))
    array([[1., 0.],
           [0., 1.]])
    """
    return _hyperbolic_cosine_and_sine(A)[0]


@_composed(scipy.linalg.sinhm)
def sinhm(A: Any) -> Any:
    """``(exp(A) - exp(-A)) / 2``, differentiable in `A`.

    Examples
    --------
    >>> import numpy as np
    >>> from lindiff.scipy.linalg import sinhm
    >>> sinhm(np.array([[0.0, 1.0], [0.0, 0.0]]))
    array([[0., 1.],
           [0., 0.]])
    """
    return _hyperbolic_cosine_and_sine(A)[1]


@_composed(scipy.linalg.tanhm)
def tanhm(A: Any) -> Any:
    """``coshm(A)⁻¹ sinhm(A)``, differentiable in `A`.

    Examples
    --------
    >>> import numpy as np
    >>> from lindiff.scipy.linalg import tanhm
    >>> tanhm(np.zeros((2, 2)))
    array([[0., 0.],
           [0., 0.]])
    """
    return np.linalg.solve(*_hyperbolic_cosine_and_sine(A))
