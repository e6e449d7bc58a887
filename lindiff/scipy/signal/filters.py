"""Linear filters along one axis: recursive ones, smoothing, removal of trends."""

from __future__ import annotations

import operator
from typing import Any

import numpy as np
import scipy.signal

from lindiff.core.arrays import counterpart, foreign, placed, zeros_beside
from lindiff.core.differential import Differential, Linear
from lindiff.core.registry import rule
from lindiff.core.variable import Variable, value
from lindiff.rules._common import as_array, conj, depends_on_variables, normalized_axis
from lindiff.scipy._drop_in import drop_in
from lindiff.scipy.signal.convolutions import convolve

__all__ = ["detrend", "lfilter", "savgol_filter", "sosfilt"]


@rule
def _filter(b: Any, a: Any, x: Any, zi: Any) -> Any:
    """The y with ``A y = B x + z`` along the last axis, a₀ = 1: B and A convolve with b and a, of one length,
    and z, the state at the beginning, is zi followed by zeros.

    From ``A dy = dB x + B dx + dz - dA y``: each tangent goes through a filter; backward the same filters run
    through time the other way.
    """
    if depends_on_variables((b, a, x, zi)):  # of an enclosing trace
        y = _filter(b, a, x, zi)
    else:
        y = counterpart(scipy.signal.lfilter, b, a, x)(b, a, x, axis=-1, zi=zi)[0]
    n, order = x.shape[-1], zi.shape[-1]

    def from_rest(b: Any, x: Any) -> Any:
        return _filter(b, a, x, zeros_beside(x, zi.shape, x.dtype))

    def of_state(zi_dot: Any) -> Any:
        return _filter(b, a, np.zeros_like(value(x)), zi_dot)

    def backward(b: Any, y_bar: Any) -> Any:
        bars = np.flip(y_bar, -1)
        zeros = zeros_beside(y_bar, zi.shape, y_bar.dtype)
        return np.flip(_filter(conj(b), conj(a), bars, zeros), -1)

    def delayed_products(w: Any, x: Any, count: int) -> Any:
        """``Σ w_n conj(x_n-k)`` for each delay k, over time and batch."""
        return np.stack([np.sum(w[..., min(k, n) :] * conj(x[..., : max(n - k, 0)])) for k in range(count)])

    def adjoint(y_bar: Any) -> Any:
        """The cotangent of the right-hand side ``B x + z``."""
        return backward(placed(np.eye(1, order + 1, dtype=a.dtype)[0], a), y_bar)

    def a_bar(y_bar: Any) -> Any:
        bars = delayed_products(adjoint(y_bar), y, len(a))
        return -np.where(placed(np.arange(len(a)) == 0, bars), 0.0, bars)

    def zi_bar(y_bar: Any) -> Any:
        first = adjoint(y_bar)[..., :order]
        widths = [(0, 0)] * (first.ndim - 1) + [(0, order - first.shape[-1])]
        return np.pad(first, widths)

    return y, Differential(
        (
            lambda b_dot: from_rest(b_dot, x),
            lambda a_dot: -from_rest(np.where(placed(np.arange(len(a)) == 0, a_dot), 0.0, a_dot), y),
            lambda x_dot: from_rest(b, x_dot),
            of_state,
        ),
        (
            lambda y_bar: delayed_products(adjoint(y_bar), x, len(b)),
            a_bar,
            lambda y_bar: backward(b, y_bar),
            zi_bar,
        ),
        linear_in=(2, 3),
    )


def _tail_products(c: Any, x: Any, order: int) -> Any:
    """``Σ_i>k c_i x_N-i+k``, what delays hold of x after its end."""
    n = x.shape[-1]
    held = np.pad(x[..., max(n - order, 0) :], [(0, 0)] * (x.ndim - 1) + [(max(order - n, 0), 0)])
    k, j = np.arange(order)[:, None], np.arange(order)
    delay = order + k - j  # of sample j, of the last `order` ones, to state k
    coefficients = np.where(placed(delay <= order, c), c[np.minimum(delay, order)], 0.0)
    return held @ np.transpose(coefficients)


def _of_length(c: Any, n: int, dtype: Any) -> Any:
    return np.pad(c, (0, n - len(c))).astype(dtype)


@drop_in(scipy.signal.lfilter, by_rows=True)
def lfilter(b: Any, a: Any, x: Any, axis: int = -1, zi: Any = None) -> Any:
    """Differentiable in `b`, `a`, `x` and `zi`.

    Raises
    ------
    ValueError
        If shapes do not go together, or ``a[0]`` is zero.

    Notes
    -----
    O(T) memory and O(T (M + N)) flops, forward and backward: the cotangent runs through the filter the other
    way in time.

    Examples
    --------
    >>> import numpy as np, lindiff as ld
    >>> from lindiff.scipy.signal import lfilter
    >>> def last(pole):
    ...     return lfilter(np.ones(1), np.stack([1.0, -pole]), np.array([1.0, 0.0, 0.0]))[-1]
    >>> ld.grad(last)(0.5)
    np.float64(1.0)
    """
    b, a, x = (placed(as_array(part), b, a, x) for part in (b, a, x))
    b, a = np.atleast_1d(b), np.atleast_1d(a)
    if b.ndim > 1 or a.ndim > 1:
        raise ValueError(f"lfilter: b and a have one axis, got shapes {b.shape} and {a.shape}")
    if a.shape[0] == 0 or (foreign(value(a)) is None and value(a)[0] == 0):
        raise ValueError("lfilter: a[0], by which all coefficients are divided, is zero or missing")
    axis = normalized_axis(axis, x.ndim)
    x = np.moveaxis(x, axis, -1)
    order = max(len(a), len(b)) - 1
    dtype = np.result_type(b.dtype, a.dtype, x.dtype, np.float32, *(() if zi is None else (zi.dtype,)))
    b, a, x = _of_length(b / a[0], order + 1, dtype), _of_length(a / a[0], order + 1, dtype), x.astype(dtype)
    shape = (*x.shape[:-1], order)
    if zi is None:
        return np.moveaxis(_filter(b, a, x, zeros_beside(x, shape, dtype)), -1, axis)
    state = np.broadcast_to(np.moveaxis(as_array(zi), axis, -1), shape).astype(dtype)
    y = _filter(b, a, x, state)
    zf = _tail_products(b, x, order) - _tail_products(a, y, order)
    left = state[..., x.shape[-1] :]  # the part of a state that is longer than the data
    zf = zf + np.pad(left, [(0, 0)] * (x.ndim - 1) + [(0, order - left.shape[-1])])
    return np.moveaxis(y, -1, axis), np.moveaxis(zf, -1, axis)


@drop_in(scipy.signal.sosfilt)
def sosfilt(sos: Any, x: Any, axis: int = -1, zi: Any = None) -> Any:
    """Differentiable in `sos`, `x` and `zi`.

    Raises
    ------
    ValueError
        If `sos` has another shape, or sections that do not begin with 1.

    Examples
    --------
    >>> import numpy as np, lindiff as ld
    >>> from lindiff.scipy.signal import sosfilt
    >>> sos = np.array([[1.0, 0.0, 0.0, 1.0, -0.5, 0.0]])
    >>> ld.grad(lambda x: sosfilt(sos, x)[-1])(np.zeros(3))
    array([0.25, 0.5 , 1.  ])
    """
    sos, x = np.atleast_2d(placed(as_array(sos), x)), as_array(x)
    if sos.ndim != 2 or sos.shape[1] != 6:
        raise ValueError(f"sosfilt: sos has shape (sections, 6), got {sos.shape}")
    if np.any(value(sos)[:, 3] != 1):
        raise ValueError("sosfilt: sos[:, 3] should be all ones")
    axis = normalized_axis(axis, x.ndim)
    y = np.moveaxis(x, axis, -1)
    states = []
    for i in range(len(sos)):
        if zi is None:
            y = lfilter(sos[i, :3], sos[i, 3:], y)
        else:
            y, state = lfilter(sos[i, :3], sos[i, 3:], y, zi=np.moveaxis(zi[i], axis, -1))
            states.append(state)
    y = np.moveaxis(y, -1, axis)
    return y if zi is None else (y, np.moveaxis(np.stack(states, axis=-2), (-2, -1), (0, axis + 1)))


@rule
def _detrended(data: Any, axis: int, type: str, bp: Any) -> Any:
    """The residual of a least-squares fit: an orthogonal projection, which is its own adjoint."""

    def project(x: Any) -> Any:
        return _detrended(x, axis, type, bp)

    is_outer = isinstance(data, Variable)
    y = project(data) if is_outer else counterpart(scipy.signal.detrend, data)(data, axis, type, bp)
    return y, Linear((project,), (project,))


@drop_in(scipy.signal.detrend)
def detrend(
    data: Any, axis: int = -1, type: str = "linear", bp: Any = 0, overwrite_data: bool = False
) -> Any:
    """Differentiable in `data`.

    Examples
    --------
    >>> import numpy as np, lindiff as ld
    >>> from lindiff.scipy.signal import detrend
    >>> ld.grad(lambda x: detrend(x, type="constant")[0])(np.zeros(4))
    array([ 0.75, -0.25, -0.25, -0.25])
    """
    return _detrended(data, axis, type, bp)


PADDING: dict[str, Any] = {"mirror": "reflect", "nearest": "edge", "wrap": "wrap"}


@drop_in(scipy.signal.savgol_filter, by_rows=True)
def savgol_filter(
    x: Any,
    window_length: int,
    polyorder: int,
    deriv: int = 0,
    delta: float = 1.0,
    axis: int = -1,
    mode: str = "interp",
    cval: float = 0.0,
) -> Any:
    """Differentiable in `x`.

    Raises
    ------
    ValueError
        If the window is longer than the data with 'interp', or for options that SciPy refuses.

    Examples
    --------
    >>> import numpy as np, lindiff as ld
    >>> from lindiff.scipy.signal import savgol_filter
    >>> ld.grad(lambda x: savgol_filter(x, 3, 1)[1])(np.zeros(4)).round(6)
    array([0.333333, 0.333333, 0.333333, 0.      ])
    """
    if mode not in ("mirror", "constant", "nearest", "wrap", "interp"):
        raise ValueError(f"savgol_filter: mode {mode!r} is none of SciPy's")
    x = x if x.dtype in (np.float64, np.float32) else x.astype(np.float64)
    window_length, polyorder = operator.index(window_length), operator.index(polyorder)
    axis = normalized_axis(axis, x.ndim)
    x = np.moveaxis(x, axis, -1)
    n, half = x.shape[-1], window_length // 2
    if mode == "interp" and window_length > n:
        raise ValueError(
            "savgol_filter: for mode 'interp' window_length must be less than or equal to the size of x"
        )

    def coefficients(**position: Any) -> Any:
        return scipy.signal.savgol_coeffs(window_length, polyorder, deriv, delta, **position)

    weights = np.reshape(placed(coefficients(), x), (*(1,) * (x.ndim - 1), window_length))
    if mode == "interp":
        at_edge = placed(np.stack([coefficients(pos=i, use="dot") for i in range(window_length)]), x)
        before = x[..., :window_length] @ at_edge[:half].T
        after = x[..., n - window_length :] @ at_edge[window_length - half :].T
        begin = 2 * half + 1 - window_length  # a window of even length reaches farther to the right
        inside = convolve(x, weights, "valid")[..., begin : begin + n - 2 * half]
        y = np.concatenate([before, inside, after], axis=-1)
    else:
        widths = [(0, 0)] * (x.ndim - 1) + [(window_length - 1 - half, half)]
        options: dict[str, Any] = {"constant_values": cval} if mode == "constant" else {}
        y = convolve(np.pad(x, widths, mode=PADDING.get(mode, mode), **options), weights, "valid")
    return np.moveaxis(y.astype(x.dtype), -1, axis)
