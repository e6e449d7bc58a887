"""Discrete Fourier transforms: SciPy's for plain arrays, ``numpy.fft``, which has rules, for Variables."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import scipy.fft

from lindiff.rules._common import as_array, conj
from lindiff.rules.fft import Norm, exchanged
from lindiff.scipy.linalg._drop_in import drop_in

__all__ = [
    "fft",
    "fft2",
    "fftn",
    "fftshift",
    "hfft",
    "hfft2",
    "hfftn",
    "ifft",
    "ifft2",
    "ifftn",
    "ifftshift",
    "ihfft",
    "ihfft2",
    "ihfftn",
    "irfft",
    "irfft2",
    "irfftn",
    "rfft",
    "rfft2",
    "rfftn",
]

_DOC = """{title}, like ``scipy.fft.{name}``.

Parameters
----------
x : array
{axes}
norm : {{'backward', 'ortho', 'forward'}}, optional
overwrite_x, workers, plan : optional
    For plain arrays.

Returns
-------
array

Notes
-----
Linear: backward runs one transform of the other sign.

Examples
--------
>>> import numpy as np, lindiff as ld
>>> from lindiff.scipy import fft
>>> ld.grad(lambda x: np.sum(np.abs(fft.{name}(x)) ** 2))(np.{example}).shape
{shape}
"""
OF_ONE = "n : int, optional\naxis : int\n    Length and axis."
OF_SEVERAL = "s, axes : sequences of int, optional\n    Lengths and axes."

Transform = Callable[..., Any]


def unique(axes: list[int], ndim: int) -> None:
    """Raise as SciPy, other than NumPy, does for axes that are there twice."""
    if len({axis % ndim for axis in axes}) < len(axes):
        raise ValueError("all axes must be unique")


def _documented(transform: Transform, name: str, title: str, axes: str) -> Any:
    transform.__name__ = transform.__qualname__ = name
    shape = (4,) if axes == OF_ONE else (2, 4)
    example = f"ones({shape})"
    transform.__doc__ = _DOC.format(title=title, name=name, axes=axes, example=example, shape=shape)
    return transform


def _checked(x: Any, name: str, plan: Any) -> Any:
    if plan is not None:
        raise NotImplementedError(f"{name}: SciPy takes no plan")
    x = as_array(x)
    if x.ndim == 0:
        raise ValueError(f"{name}: there is no axis to transform along")
    if x.dtype.kind == "c" and name.startswith(("rfft", "ihfft")):
        raise TypeError("x must be a real sequence")
    return x


def _along_axis(name: str, title: str) -> Any:
    """A transform along one axis."""
    numpys = getattr(np.fft, name)

    def transform(
        x: Any,
        n: int | None = None,
        axis: int = -1,
        norm: Norm = None,
        overwrite_x: bool = False,
        workers: int | None = None,
        *,
        plan: Any = None,
    ) -> Any:
        return numpys(_checked(x, name, plan), n, axis, norm)

    documented = _documented(transform, name, title, OF_ONE)
    return drop_in(getattr(scipy.fft, name), anywhere=True, by_rows=True)(documented)


def _along_axes(name: str, title: str, of_numpy: Transform | None = None) -> Any:
    """A transform along several axes: NumPy's, or composed of it."""
    numpys = of_numpy or getattr(np.fft, name)
    two = (-2, -1) if name.endswith("2") else None

    def transform(
        x: Any,
        s: Any = None,
        axes: Any = two,
        norm: Norm = None,
        overwrite_x: bool = False,
        workers: int | None = None,
        *,
        plan: Any = None,
    ) -> Any:
        x = _checked(x, name, plan)
        s, axes = (part if part is None else np.atleast_1d(part).tolist() for part in (s, axes))
        if axes is None and s is not None:
            axes = [*range(-len(s), 0)]
        unique(axes or [], x.ndim)
        return numpys(x, s, axes, norm)

    documented = _documented(transform, name, title, OF_SEVERAL)
    return drop_in(getattr(scipy.fft, name), anywhere=True, by_rows=True)(documented)


def _of_hermitian(x: Any, s: Any, axes: Any, norm: Norm) -> Any:
    return np.fft.irfftn(conj(x), s, axes, exchanged(norm))


def _to_hermitian(x: Any, s: Any, axes: Any, norm: Norm) -> Any:
    return conj(np.fft.rfftn(x, s, axes, exchanged(norm)))


fft = _along_axis("fft", "Discrete Fourier transform")
ifft = _along_axis("ifft", "Inverse discrete Fourier transform")
rfft = _along_axis("rfft", "Discrete Fourier transform of real numbers, half of it")
irfft = _along_axis("irfft", "Inverse of :func:`rfft`")
hfft = _along_axis("hfft", "Discrete Fourier transform of a signal with Hermitian symmetry")
ihfft = _along_axis("ihfft", "Inverse of :func:`hfft`")
fft2 = _along_axes("fft2", "Discrete Fourier transform along two axes")
ifft2 = _along_axes("ifft2", "Inverse discrete Fourier transform along two axes")
rfft2 = _along_axes("rfft2", "Discrete Fourier transform of real numbers along two axes, half of it")
irfft2 = _along_axes("irfft2", "Inverse of :func:`rfft2`")
hfft2 = _along_axes("hfft2", "Transform of a signal with Hermitian symmetry along two axes", _of_hermitian)
ihfft2 = _along_axes("ihfft2", "Inverse of :func:`hfft2`", _to_hermitian)
fftn = _along_axes("fftn", "Discrete Fourier transform along several axes")
ifftn = _along_axes("ifftn", "Inverse discrete Fourier transform along several axes")
rfftn = _along_axes("rfftn", "Discrete Fourier transform of real numbers along several axes, half of it")
irfftn = _along_axes("irfftn", "Inverse of :func:`rfftn`")
hfftn = _along_axes(
    "hfftn", "Transform of a signal with Hermitian symmetry along several axes", _of_hermitian
)
ihfftn = _along_axes("ihfftn", "Inverse of :func:`hfftn`", _to_hermitian)


@drop_in(scipy.fft.fftshift, anywhere=True)
def fftshift(x: Any, axes: Any = None) -> Any:
    """Move the frequency zero to the middle, like ``scipy.fft.fftshift``.

    Parameters
    ----------
    x : array
    axes : int or sequence of int, optional

    Returns
    -------
    array

    Examples
    --------
    >>> import numpy as np
    >>> from lindiff.scipy import fft
    >>> fft.fftshift(np.arange(5.0))
    array([3., 4., 0., 1., 2.])
    """
    return np.fft.fftshift(as_array(x), axes)


@drop_in(scipy.fft.ifftshift, anywhere=True)
def ifftshift(x: Any, axes: Any = None) -> Any:
    """Undo :func:`fftshift`, like ``scipy.fft.ifftshift``.

    Parameters
    ----------
    x : array
    axes : int or sequence of int, optional

    Returns
    -------
    array

    Examples
    --------
    >>> import numpy as np
    >>> from lindiff.scipy import fft
    >>> fft.ifftshift(np.arange(5.0))
    array([2., 3., 4., 0., 1.])
    """
    return np.fft.ifftshift(as_array(x), axes)
