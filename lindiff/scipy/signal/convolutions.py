"""Convolution and correlation of arrays with any number of axes.

One primitive: the full convolution over some axes, the others broadcast.  It is linear in each of its two
arguments; its adjoint in one of them is the correlation of the cotangent with the other, which is again a
convolution.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import scipy.signal

from lindiff.core.arrays import counterpart, placed, zeros_beside
from lindiff.core.differential import Bilinear
from lindiff.core.registry import rule
from lindiff.core.variable import Variable
from lindiff.rules._common import as_array, conj, laid_out, normalized_axes
from lindiff.scipy._drop_in import drop_in

__all__ = ["convolve", "convolve2d", "correlate", "correlate2d", "fftconvolve", "oaconvolve"]

BOUNDARIES: dict[str, Any] = {"fill": "constant", "wrap": "wrap", "symm": "symmetric"}
DIRECT = 64  # up to so many elements of the smaller array a GPU convolves by sums


@rule
def _convolve(a: Any, b: Any, mode: str, axes: tuple[int, ...], method: str) -> Any:
    """``y_k = Σ a_l b_k-l``, by SciPy's function for the method; a part of the sums for other modes."""
    if isinstance(a, Variable) or isinstance(b, Variable):  # of an enclosing trace
        y = _convolve(a, b, mode, axes, method)
    elif method == "overlap-add":
        y = counterpart(scipy.signal.oaconvolve, a, b)(a, b, mode, axes)
    elif len(axes) < a.ndim:
        y = counterpart(scipy.signal.fftconvolve, a, b)(a, b, mode, axes)
    else:
        function = counterpart(scipy.signal.convolve, a, b)
        if (
            function is not scipy.signal.convolve and method == "auto"
        ):  # CuPy chooses a method for vectors only
            method = "fft" if min(a.size, b.size) > DIRECT else "direct"
        y = function(a, b, mode, method)

    def over_the_other(y_bar: Any, other: Any) -> Any:
        full = _in_full(y_bar, a.shape, b.shape, mode, axes)
        return _convolve(full, _reversed(other, axes), "valid", axes, method)

    return y, Bilinear(
        (
            lambda a_dot: _convolve(a_dot, b, mode, axes, method),
            lambda b_dot: _convolve(a, b_dot, mode, axes, method),
        ),
        (lambda y_bar: over_the_other(y_bar, b), lambda y_bar: over_the_other(y_bar, a)),
    )


def _reversed(x: Any, axes: tuple[int, ...]) -> Any:
    return np.flip(conj(x), axes)


def _in_full(y: Any, shape: tuple[int, ...], other: tuple[int, ...], mode: str, axes: tuple[int, ...]) -> Any:
    """The part of the full convolution that a mode gives, with zeros around it."""
    if mode == "full":
        return y
    widths = []
    for axis, n in enumerate(y.shape):  # the mode 'same' cuts broadcast axes, too
        full = shape[axis] + other[axis] - 1 if axis in axes else max(shape[axis], other[axis])
        begin = (full - n) // 2
        widths.append((begin, full - n - begin))
    return np.pad(y, widths)


def _run(name: str, in1: Any, in2: Any, mode: str, axes: Any, method: str) -> Any:
    """A convolution of arguments with Variables among them; checks what SciPy checks."""
    a, b = placed(as_array(in1), in2), placed(as_array(in2), in1)
    if mode not in ("full", "same", "valid"):
        raise ValueError(f"{name}: mode is 'full', 'same' or 'valid', got {mode!r}")
    if a.ndim != b.ndim:
        raise ValueError(f"{name}: both must have as many axes, got shapes {a.shape} and {b.shape}")
    if a.ndim == 0:
        return a * b
    if a.size == 0 or b.size == 0:
        return zeros_beside(a, (0,), float)
    over = tuple(sorted(normalized_axes(axes, a.ndim))) if axes is not None else tuple(range(a.ndim))
    if mode == "valid":
        larger = [a.shape[axis] >= b.shape[axis] for axis in over]
        smaller = [a.shape[axis] <= b.shape[axis] for axis in over]
        if not all(larger) and not all(smaller):
            raise ValueError(
                f"{name}: for mode 'valid' one must be at least as long as the other along every axis, got "
                f"shapes {a.shape} and {b.shape}"
            )
    return _convolve(a, b, mode, over, method)


@drop_in(scipy.signal.convolve)
def convolve(in1: Any, in2: Any, mode: str = "full", method: str = "auto") -> Any:
    """Differentiable in `in1` and `in2`.

    Raises
    ------
    ValueError
        If the shapes do not go together.

    Notes
    -----
    Backward is one correlation for each differentiated argument, by the same method.

    Examples
    --------
    >>> import numpy as np, lindiff as ld
    >>> from lindiff.scipy.signal import convolve
    >>> ld.grad(lambda a: convolve(a, np.array([1.0, 2.0]))[1])(np.zeros(3))
    array([2., 1., 0.])
    """
    if method not in ("auto", "direct", "fft"):
        raise ValueError(f"convolve: method is 'auto', 'direct' or 'fft', got {method!r}")
    return _run("convolve", in1, in2, mode, None, method)


@drop_in(scipy.signal.correlate)
def correlate(in1: Any, in2: Any, mode: str = "full", method: str = "auto") -> Any:
    """Differentiable in `in1` and `in2`.

    Raises
    ------
    ValueError
        If the shapes do not go together.

    Examples
    --------
    >>> import numpy as np, lindiff as ld
    >>> from lindiff.scipy.signal import correlate
    >>> ld.grad(lambda a: correlate(a, np.array([1.0, 2.0]))[1])(np.zeros(3))
    array([1., 2., 0.])
    """
    if method not in ("auto", "direct", "fft"):
        raise ValueError(f"correlate: method is 'auto', 'direct' or 'fft', got {method!r}")
    in2 = as_array(in2)
    return _run("correlate", in1, _reversed(in2, tuple(range(in2.ndim))), mode, None, method)


@drop_in(scipy.signal.fftconvolve)
def fftconvolve(in1: Any, in2: Any, mode: str = "full", axes: Any = None) -> Any:
    """Differentiable in `in1` and `in2`.

    Examples
    --------
    >>> import numpy as np, lindiff as ld
    >>> from lindiff.scipy.signal import fftconvolve
    >>> ld.grad(lambda a: fftconvolve(a, np.array([1.0, 2.0]))[1])(np.zeros(3)).round(12) + 0.0
    array([2., 1., 0.])
    """
    return _run("fftconvolve", in1, in2, mode, axes, "fft")


@drop_in(scipy.signal.oaconvolve)
def oaconvolve(in1: Any, in2: Any, mode: str = "full", axes: Any = None) -> Any:
    """Differentiable in `in1` and `in2`.

    Examples
    --------
    >>> import numpy as np, lindiff as ld
    >>> from lindiff.scipy.signal import oaconvolve
    >>> ld.grad(lambda a: oaconvolve(a, np.array([1.0, 2.0]))[1])(np.zeros(3)).round(12) + 0.0
    array([2., 1., 0.])
    """
    return _run("oaconvolve", in1, in2, mode, axes, "overlap-add")


def _of_two_axes(name: str, a: Any, b: Any, mode: str, boundary: str, fillvalue: Any, middle: int = 1) -> Any:
    """The convolution of b with a and what lies around a, in full or the part that a mode gives.

    The mode 'same' begins at the place ``(n - middle) // 2`` of the full one.
    """
    if boundary not in BOUNDARIES:
        raise ValueError(f"{name}: boundary is 'fill', 'wrap' or 'symm', got {boundary!r}")
    a, b = placed(as_array(a), b), placed(as_array(b), a)
    if not a.ndim == b.ndim == 2:
        raise ValueError(f"{name}: both must have two axes, got shapes {a.shape} and {b.shape}")
    is_empty = boundary == "fill" and type(fillvalue) in (int, float) and fillvalue == 0
    if (is_empty and mode == "full") or mode not in ("full", "same"):
        return _run(name, a, b, mode, None, "direct")
    outside = {"constant_values": fillvalue} if boundary == "fill" else {}
    around = np.pad(a, [(n - 1, n - 1) for n in b.shape], mode=BOUNDARIES[boundary], **outside)
    y = _convolve(around, b, "valid", (0, 1), "direct")
    if mode == "full":
        return y
    begins = [(n - middle) // 2 for n in b.shape]
    return laid_out(y[tuple(slice(begin, begin + n) for begin, n in zip(begins, a.shape, strict=True))], "C")


@drop_in(scipy.signal.convolve2d)
def convolve2d(in1: Any, in2: Any, mode: str = "full", boundary: str = "fill", fillvalue: Any = 0) -> Any:
    """Differentiable in `in1` and `in2`.

    Raises
    ------
    ValueError
        If the shapes do not go together, or for options that SciPy refuses.

    Examples
    --------
    >>> import numpy as np, lindiff as ld
    >>> from lindiff.scipy.signal import convolve2d
    >>> ld.grad(lambda a: convolve2d(a, np.ones((2, 2)), "same", "wrap")[0, 0])(np.zeros((2, 3)))
    array([[1., 0., 1.],
           [1., 0., 1.]])
    """
    return _of_two_axes("convolve2d", in1, in2, mode, boundary, fillvalue)


@drop_in(scipy.signal.correlate2d)
def correlate2d(in1: Any, in2: Any, mode: str = "full", boundary: str = "fill", fillvalue: Any = 0) -> Any:
    """Differentiable in `in1` and `in2`.

    Raises
    ------
    ValueError
        If the shapes do not go together, or for options that SciPy refuses.

    Examples
    --------
    >>> import numpy as np, lindiff as ld
    >>> from lindiff.scipy.signal import correlate2d
    >>> ld.grad(lambda a: correlate2d(a, np.array([[1.0, 2.0]]), "valid")[0, 0])(np.zeros((1, 3)))
    array([[1., 2., 0.]])
    """
    in1, in2 = as_array(in1), as_array(in2)
    if mode == "valid" and in1.shape < in2.shape:  # as SciPy does, which then conjugates in1
        return np.flip(correlate2d(in2, in1, mode, boundary, fillvalue))
    kernel = _reversed(in2, tuple(range(in2.ndim)))
    return _of_two_axes("correlate2d", in1, kernel, mode, boundary, fillvalue, middle=0)
