"""Discrete Fourier transforms: linear functions whose adjoint is the transform of the other sign.

Under ⟨a, b⟩ = Re(aᴴ b) the adjoint of y_k = s Σ_j x_j exp(-2πi jk/n) is x_j = s Σ_k y_k exp(+2πi jk/n): the
inverse transform with the same scale s, which is what exchanging ``norm`` "backward" and "forward" gives.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Literal

import numpy as np

from lindiff.core.arrays import padded_with_zeros, placed
from lindiff.core.differential import Linear
from lindiff.core.registry import composed, rule
from lindiff.rules._common import along, normalized_axes

__all__: list[str] = []

Norm = Literal["backward", "ortho", "forward"] | None


def exchanged(norm: Norm) -> Norm:
    """The ``norm`` that gives the transform of the other sign the same scale."""
    other: dict[Norm, Norm] = {"ortho": "ortho", "forward": "backward"}
    return other.get(norm, "forward")


def of_length(x: Any, n: int, axis: int) -> Any:
    """``x`` cut or filled up with zeros to length ``n``, as the transforms do with their input (and back)."""
    length = x.shape[axis]
    if n == length:
        return x
    axis %= x.ndim
    if n < length:
        return x[along(axis, slice(n))]
    return padded_with_zeros(x, [(0, n - length if i == axis else 0) for i in range(x.ndim)])


def weights(like: Any, n: int, axis: int, inner: float) -> Any:
    """1 for the frequencies of a half spectrum that stand for themselves (0 and n/2), ``inner`` for those
    that stand for their conjugates as well."""
    w = np.full(n // 2 + 1, inner, dtype=np.finfo(like.dtype).dtype)
    w[0] = 1
    if n % 2 == 0:
        w[-1] = 1
    return placed(w.reshape(-1, *[1] * (like.ndim - 1 - axis % like.ndim)), like)


def complex_transform(transform: Callable[..., Any], inverse: Callable[..., Any]) -> None:
    @rule(transform)
    def transform_rule(a: Any, n: int | None = None, axis: int = -1, norm: Norm = None) -> Any:
        before = a.shape[axis]
        return transform(a, n, axis, norm), Linear(
            (lambda a_dot: transform(a_dot, n, axis, norm),),
            (lambda y_bar: of_length(inverse(y_bar, None, axis, exchanged(norm)), before, axis),),
        )


complex_transform(np.fft.fft, np.fft.ifft)
complex_transform(np.fft.ifft, np.fft.fft)


@rule(np.fft.rfft)
def rfft(a: Any, n: int | None = None, axis: int = -1, norm: Norm = None) -> Any:
    before = a.shape[axis]
    length = before if n is None else n

    def rfft_pullback(y_bar: Any) -> Any:
        """irfft adds the conjugate of every inner frequency, so these enter by half."""
        spectrum = y_bar * weights(y_bar, length, axis, 0.5)
        return of_length(np.fft.irfft(spectrum, length, axis, exchanged(norm)), before, axis)

    return np.fft.rfft(a, n, axis, norm), Linear(
        (lambda a_dot: np.fft.rfft(a_dot, n, axis, norm),),
        (rfft_pullback,),
    )


@rule(np.fft.irfft)
def irfft(a: Any, n: int | None = None, axis: int = -1, norm: Norm = None) -> Any:
    before = a.shape[axis]
    length = 2 * (before - 1) if n is None else n

    def irfft_pullback(y_bar: Any) -> Any:
        """Every inner frequency entered twice, once as its conjugate."""
        spectrum = np.fft.rfft(y_bar, length, axis, exchanged(norm))
        return of_length(spectrum * weights(spectrum, length, axis, 2), before, axis)

    return np.fft.irfft(a, n, axis, norm), Linear(
        (lambda a_dot: np.fft.irfft(a_dot, n, axis, norm),),
        (irfft_pullback,),
    )


@composed(np.fft.hfft)
def hfft(a: Any, n: int | None = None, axis: int = -1, norm: Norm = None) -> Any:
    return np.fft.irfft(np.conjugate(a), n, axis, exchanged(norm))


@composed(np.fft.ihfft)
def ihfft(a: Any, n: int | None = None, axis: int = -1, norm: Norm = None) -> Any:
    return np.conjugate(np.fft.rfft(a, n, axis, exchanged(norm)))


# -- several axes: one after the other -------------------------------------------------------------------


def lengths_and_axes(a: Any, s: Any, axes: Any, half: bool = False) -> tuple[list[int], list[int]]:
    """NumPy's reading of ``s`` and ``axes``; ``half``: the last axis is a half spectrum (irfftn)."""
    if axes is None:
        axes = range(a.ndim) if s is None else range(-len(s), 0)
    axes = list(normalized_axes(list(axes), a.ndim))
    lengths = [a.shape[axis] for axis in axes]
    if s is None:
        if half:
            lengths[-1] = 2 * (lengths[-1] - 1)
    elif len(s) != len(axes):
        raise ValueError("Shape and axes have different lengths.")
    else:
        lengths = [length if n == -1 else int(n) for n, length in zip(s, lengths, strict=True)]
    return lengths, axes


def along_axes(transform: Callable[..., Any], a: Any, lengths: list[int], axes: list[int], norm: Norm) -> Any:
    for n, axis in zip(reversed(lengths), reversed(axes), strict=True):
        a = transform(a, n, axis, norm)
    return a


def several_axes(function: Callable[..., Any], default_axes: Any, transform: Callable[..., Any]) -> None:
    @composed(function)
    def transform_axes(a: Any, s: Any = None, axes: Any = default_axes, norm: Norm = None) -> Any:
        return along_axes(transform, a, *lengths_and_axes(a, s, axes), norm)


several_axes(np.fft.fftn, None, np.fft.fft)
several_axes(np.fft.fft2, (-2, -1), np.fft.fft)
several_axes(np.fft.ifftn, None, np.fft.ifft)
several_axes(np.fft.ifft2, (-2, -1), np.fft.ifft)


def to_half_spectrum(function: Callable[..., Any], default_axes: Any) -> None:
    @composed(function)
    def rfft_axes(a: Any, s: Any = None, axes: Any = default_axes, norm: Norm = None) -> Any:
        lengths, axes = lengths_and_axes(a, s, axes)
        spectrum = np.fft.rfft(a, lengths[-1], axes[-1], norm)
        return along_axes(np.fft.fft, spectrum, lengths[:-1], axes[:-1], norm)


def from_half_spectrum(function: Callable[..., Any], default_axes: Any) -> None:
    @composed(function)
    def irfft_axes(a: Any, s: Any = None, axes: Any = default_axes, norm: Norm = None) -> Any:
        lengths, axes = lengths_and_axes(a, s, axes, half=True)
        for n, axis in zip(lengths[:-1], axes[:-1], strict=True):
            a = np.fft.ifft(a, n, axis, norm)
        return np.fft.irfft(a, lengths[-1], axes[-1], norm)


to_half_spectrum(np.fft.rfftn, None)
to_half_spectrum(np.fft.rfft2, (-2, -1))
from_half_spectrum(np.fft.irfftn, None)
from_half_spectrum(np.fft.irfft2, (-2, -1))


# -- shifts ----------------------------------------------------------------------------------------------


def shifted(function: Callable[..., Any], shift: Callable[[int], int]) -> None:
    @composed(function)
    def shift_axes(x: Any, axes: Any = None) -> Any:
        axes = tuple(range(x.ndim)) if axes is None else normalized_axes(axes, x.ndim)
        return np.roll(x, tuple(shift(x.shape[axis]) for axis in axes), axes)


shifted(np.fft.fftshift, lambda n: n // 2)
shifted(np.fft.ifftshift, lambda n: -(n // 2))
