"""Discrete Fourier transforms: SciPy's for plain arrays, ``numpy.fft``, which has rules, for Variables."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import scipy.fft

from lindiff.rules._common import as_array, conj
from lindiff.rules.fft import Norm, exchanged
from lindiff.scipy._drop_in import drop_in

_DOC = """Differentiable in `x`: linear, so backward runs one transform of the other sign.

`overwrite_x`, `workers` and `plan` are for plain arrays.

Examples
--------
>>> import numpy as np, lindiff as ld
>>> from lindiff.scipy import fft
>>> ld.grad(lambda x: np.sum(np.abs(fft.{name}(x)) ** 2))(np.ones({shape})).shape
{shape}
"""

Transform = Callable[..., Any]


def unique(axes: list[int], ndim: int) -> None:
    """Raise for an axis that is given twice, as SciPy does and NumPy does not."""
    if len({axis % ndim for axis in axes}) < len(axes):
        raise ValueError("all axes must be unique")


def _in_its_place(name: str, transform: Transform, shape: tuple[int, ...]) -> Any:
    """A transform in the place of SciPy's of this name; the example has an input of this shape."""
    transform.__name__ = transform.__qualname__ = name
    transform.__doc__ = _DOC.format(name=name, shape=shape)
    return drop_in(getattr(scipy.fft, name), anywhere=True, by_rows=True)(transform)


def _checked(x: Any, name: str, plan: Any) -> Any:
    """The input of a transform as an array; raises where SciPy raises."""
    if plan is not None:
        raise NotImplementedError(f"{name}: SciPy takes no plan")
    x = as_array(x)
    if x.ndim == 0:
        raise ValueError(f"{name}: there is no axis to transform along")
    if x.dtype.kind == "c" and name.startswith(("rfft", "ihfft")):
        raise TypeError("x must be a real sequence")
    return x


def _along_axis(name: str) -> Any:
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

    return _in_its_place(name, transform, (4,))


def _along_axes(name: str, of_numpy: Transform | None = None) -> Any:
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

    return _in_its_place(name, transform, (2, 4))


def _of_hermitian(x: Any, s: Any, axes: Any, norm: Norm) -> Any:
    return np.fft.irfftn(conj(x), s, axes, exchanged(norm))


def _to_hermitian(x: Any, s: Any, axes: Any, norm: Norm) -> Any:
    return conj(np.fft.rfftn(x, s, axes, exchanged(norm)))


fft = _along_axis("fft")
ifft = _along_axis("ifft")
rfft = _along_axis("rfft")
irfft = _along_axis("irfft")
hfft = _along_axis("hfft")
ihfft = _along_axis("ihfft")
fft2 = _along_axes("fft2")
ifft2 = _along_axes("ifft2")
rfft2 = _along_axes("rfft2")
irfft2 = _along_axes("irfft2")
hfft2 = _along_axes("hfft2", _of_hermitian)
ihfft2 = _along_axes("ihfft2", _to_hermitian)
fftn = _along_axes("fftn")
ifftn = _along_axes("ifftn")
rfftn = _along_axes("rfftn")
irfftn = _along_axes("irfftn")
hfftn = _along_axes("hfftn", _of_hermitian)
ihfftn = _along_axes("ihfftn", _to_hermitian)


@drop_in(scipy.fft.fftshift, anywhere=True)
def fftshift(x: Any, axes: Any = None) -> Any:
    """Differentiable in `x`.

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
    """Differentiable in `x`.

    Examples
    --------
    >>> import numpy as np
    >>> from lindiff.scipy import fft
    >>> fft.ifftshift(np.arange(5.0))
    array([2., 3., 4., 0., 1.])
    """
    return np.fft.ifftshift(as_array(x), axes)
