"""What a library says of a failure, as an error; the one switch for code that must not wait for the GPU."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Any

import cupy
import numpy as np

from lindiff_cuda import tuning
from lindiff_cuda.launching import kernel, launch
from lindiff_cuda.structure import refuse

__all__ = ["checking", "first_bad", "settle", "settle_pivots", "spoil", "unchecked"]

WARP = 32

_checking = ContextVar("lindiff_cuda_checking", default=True)


@contextmanager
def unchecked() -> Iterator[None]:
    """Within this context no operator waits for the GPU to learn whether a matrix has failed.

    A matrix that cannot be factored gives NaN in all its results in the place of a ``LinAlgError``; a
    triangular one with a zero on its diagonal gives what the division by zero gives, infinity or NaN. Nothing
    is read back. Code that must not synchronize needs it, such as many small calls on several streams. `expm`
    alone still reads how often it must square, `nearly_equal` its answer. Derivatives run within it where the
    operator itself has looked at the factors that they divide by.

    CuPy refuses cuBLAS and cuSOLVER while a stream is capturing: only matrices up to order 32 (complex: 16)
    can go into a CUDA graph, and then with a memory pool of their own that lives as long as the graph.
    """
    token = _checking.set(False)
    try:
        yield
    finally:
        _checking.reset(token)


def checking() -> bool:
    """Whether failures are looked at: False within `unchecked`."""
    return _checking.get()


def first_bad(X: Any, positive: bool = False, info: Any = None) -> Any:
    """1 + the index of the first zero on the diagonal of each matrix of a stack, or 0; one launch.

    With `positive` the first that is not greater than zero, as NaN is not; `info` is what a library has said
    of the matrices, of which the smaller one counts.
    """
    count, n = X.shape[:2]
    info = cupy.zeros(count, np.int32) if info is None else info
    if X.size == 0:
        return info
    step, ld = (X.strides[i] // X.itemsize for i in (0, 1))
    function = kernel("diagonals.cu", "first_bad", X.dtype, WIDTH=WARP)
    launch(function, count, WARP, (X, np.int64(step), ld, n, positive, info, count))
    return info


def settle(info: Any, shape: tuple[int, ...], message: Callable[[int, int], str]) -> None:
    """Raise a LinAlgError if any matrix of a batch has failed; within `unchecked` nothing is read.

    Parameters
    ----------
    info : (count,) cupy.ndarray of int32
        Of each matrix, 0 where all went well. It is read, which waits for the GPU: the one synchronization of
        an operator.
    shape : tuple of int
        The batch, for its index in the message.
    message : callable
        Gets the number of the first failed matrix, and its info.
    """
    if not checking() or info.size == 0 or (info.size > tuning.INFO_AS_IT_IS and not info.any()):
        return
    host = info.get()
    if host.any():
        k = int((host != 0).argmax())
        place = f" (batch index {tuple(map(int, np.unravel_index(k, shape)))})" if shape else ""
        raise np.linalg.LinAlgError(message(k, int(host[k])) + place)


def settle_pivots(X: Any, batch: Any, message: Callable[[int, int], str]) -> None:
    """`settle` for a triangular matrix, which fails by a zero on its diagonal. Within `unchecked` the zero is
    divided by, and nothing is launched.
    """
    if checking():
        settle(first_bad(X), batch.shape, message)


def spoil(info: Any, *results: Any) -> None:
    """Within `unchecked`, what a library has made of matrices that failed becomes NaN, in one launch each.

    The kernels of this package write NaN themselves.

    Parameters
    ----------
    info : (count,) cupy.ndarray of int32
    *results : (count, n) or (count, m, n) cupy.ndarray
    """
    if not checking():
        for X in results:
            refuse(X if X.ndim == 3 else X[:, None], info)
