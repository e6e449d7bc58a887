"""The door between CuPy arrays and the functions of this package: dtype, shape, layout, broadcasting.

An operator opens a `Batch`, lets its arguments `enter`, says for each whether it is only `read` or is to be
`own`ed (written in place), and gets stacks of matrices: C-contiguous, of shape (count, m, n), or (1, m, n)
for an operand that all matrices of the batch share. Nothing here knows an operator or a formula.
"""

from __future__ import annotations

import math
from typing import Any

import cupy
import numpy as np

__all__ = ["REAL", "Batch", "misfit", "transposition", "without_gpu"]

REAL = {
    "f": np.dtype(np.float32),
    "d": np.dtype(np.float64),
    "F": np.dtype(np.float32),
    "D": np.dtype(np.float64),
}
MAX_LENGTH = np.iinfo(np.int32).max  # of an axis: what cuBLAS and cuSOLVER count with


class Batch:
    """The common dtype and the broadcast leading axes of an operator's arguments.

    Parameters
    ----------
    operator : str
        Whose name error messages begin with.
    real : bool
        Complex arguments raise a TypeError.

    Attributes
    ----------
    dtype : numpy.dtype or None
        That of all results.
    shape : tuple of int
        The leading axes of all results.
    """

    def __init__(self, operator: str, real: bool = False) -> None:
        self.operator = operator
        self.real = real
        self.dtype: Any = None
        self.shape: tuple[int, ...] = ()
        self._written: list[Any] = []

    @property
    def count(self) -> int:
        """Matrices in the batch."""
        return math.prod(self.shape)

    @property
    def real_dtype(self) -> Any:
        """float32 or float64, of the precision of `dtype`."""
        return REAL[self.dtype.char]

    def enter(self, x: Any, argument: str, core: int = 2) -> Any:
        """Check an argument of at least `core` axes; the batch takes on its dtype and its leading axes.

        Raises
        ------
        TypeError
            For what is no CuPy array, and for dtypes that no kernel has.
        ValueError
            For arrays on another device, too few axes, axes that do not broadcast or are too long.
        """
        self._check_array(x, argument)
        dtype = self._scalar_type(x, argument)
        if x.ndim < core:
            raise ValueError(
                f"{self.operator}: {argument} must have at least {core} axes, got shape {x.shape}"
            )
        if max(x.shape[x.ndim - core :], default=0) > MAX_LENGTH:
            raise ValueError(f"{self.operator}: {argument} of shape {x.shape} is too large for cuBLAS")
        leading = x.shape[: x.ndim - core]
        if leading != self.shape:
            try:
                self.shape = np.broadcast_shapes(self.shape, leading)
            except ValueError:
                raise ValueError(
                    f"{self.operator}: leading axes of {argument}, shape {x.shape}, do not broadcast "
                    f"with those of the other arguments, {self.shape}"
                ) from None
        self.dtype = dtype if self.dtype is None else np.promote_types(self.dtype, dtype)
        return x

    def square(self, x: Any, argument: str) -> Any:
        """`enter` for square matrices."""
        x = self.enter(x, argument)
        if x.shape[-2] != x.shape[-1]:
            raise ValueError(
                f"{self.operator}: {argument} must be square in its last two axes, got shape {x.shape}"
            )
        return x

    def same_matrix(self, x: Any, y: Any, left: str, right: str) -> None:
        """Raise unless the last two axes agree."""
        if x.shape[-2:] != y.shape[-2:]:
            raise misfit(self.operator, left, x, right, y)

    def read(self, x: Any, core: int = 2) -> Any:
        """The stack of an argument that is not written: x itself where its layout allows it, else a copy."""
        shared = math.prod(x.shape[: x.ndim - core]) == 1
        if not (shared or x.shape[: x.ndim - core] == self.shape):
            x = self._copy(x, core)
        elif x.dtype != self.dtype or not x.flags.c_contiguous:
            x = cupy.ascontiguousarray(x, dtype=self.dtype)
        return self.stack(x, core)

    def own(self, x: Any, overwrite: bool = False, core: int = 2) -> Any:
        """An array to be written: a copy of x, with the batch's leading axes; x itself if it may be
        overwritten and its layout allows it.
        """
        return x if self.mine(x, overwrite, core) else self._copy(x, core)

    def source_and_target(self, x: Any, overwrite: bool, core: int = 2) -> tuple[Any, Any]:
        """For what cannot be done in place: the stack of x, which is not written, and the array of its shape
        that is: x itself if it may be overwritten, the source then being a copy.
        """
        if self.mine(x, overwrite, core):
            return self.stack(x, core).copy(), x
        return self.read(x, core), self.result(self.empty(*x.shape[x.ndim - core :]))

    def mine(self, x: Any, overwrite: bool, core: int = 2) -> bool:
        """Whether x may be overwritten, and its layout allows it."""
        return (
            overwrite
            and x.dtype == self.dtype
            and x.flags.c_contiguous
            and x.shape[: x.ndim - core] == self.shape
            and not any(_overlap(x, other) for other in self._written)
        )

    def keep(self, *others: Any) -> None:
        """What `own` must not overwrite: arguments that are read while another one is written."""
        self._written.extend(x for x in others if x is not None)

    def empty(self, *core: int, dtype: Any = None) -> Any:
        """A new stack, (count, *core), not initialized."""
        return cupy.empty((self.count, *core), self.dtype if dtype is None else dtype)

    def stack(self, x: Any, core: int = 2) -> Any:
        """The (count, ...) view of a C-contiguous array."""
        leading = x.shape[: x.ndim - core]
        return x if len(leading) == 1 else x.reshape((math.prod(leading), *x.shape[x.ndim - core :]))

    def full(self, X: Any) -> Any:
        """A contiguous stack with a matrix for each of the batch, also where they share one."""
        if X.shape[0] == self.count:
            return X
        return cupy.ascontiguousarray(cupy.broadcast_to(X, (self.count, *X.shape[1:])))

    def matrix(self, x: Any, k: int) -> Any:
        """Matrix k of the batch, as a stack of one."""
        whole = cupy.broadcast_to(x, (*self.shape, *x.shape[-2:]))
        return whole[np.unravel_index(k, self.shape)].astype(self.dtype)[None]

    def result(self, X: Any) -> Any:
        """The array with the batch's leading axes of a stack."""
        return X if len(self.shape) == 1 else X.reshape((*self.shape, *X.shape[1:]))

    def _check_array(self, x: Any, argument: str) -> None:
        """Raise for what is no CuPy array, or lies on another device than the current one."""
        if not isinstance(x, cupy.ndarray):
            _check_for_gpu()
            raise TypeError(
                f"{self.operator}: {argument} is {_described(x)}, but the kernels of lindiff_cuda take "
                "cupy.ndarray alone; cupy.asarray brings it to the GPU"
            )
        device = cupy.cuda.runtime.getDevice()
        if x.device.id != device:
            raise ValueError(
                f"{self.operator}: {argument} is on device {x.device.id}, but the current device is "
                f"{device}; call under `with cupy.cuda.Device({x.device.id})`, or bring {argument} over"
            )

    def _scalar_type(self, x: Any, argument: str) -> Any:
        """The dtype in which an argument is computed with; raises for one without kernels."""
        if x.dtype.char in REAL:
            if self.real and x.dtype.kind == "c":
                raise TypeError(f"{self.operator}: of this operator only float32 and float64 work")
            return x.dtype
        if x.dtype.kind in "biu":
            return REAL["d"]
        raise TypeError(
            f"{self.operator}: {argument} has dtype {x.dtype}; float32, float64, complex64 and complex128 "
            "work, and integers, which become float64"
        )

    def _copy(self, x: Any, core: int) -> Any:
        copy = cupy.empty((*self.shape, *x.shape[x.ndim - core :]), self.dtype)
        copy[...] = x
        return copy


def transposition(flag: Any, operator: str, argument: str = "transpose") -> bool | str:
    """False, True or "C"."""
    if not isinstance(flag, str):
        return bool(flag)
    if flag == "C":
        return flag
    raise ValueError(f'{operator}: {argument} must be False, True or "C", got {flag!r}')


def misfit(operator: str, left: str, x: Any, right: str, y: Any) -> ValueError:
    """The error for two arguments whose matrices do not fit."""
    return ValueError(
        f"{operator}: {left} of shape {x.shape} and {right} of shape {y.shape} do not fit together"
    )


def _overlap(x: Any, y: Any) -> bool:
    """Whether two arrays share memory; for a y with gaps, whether x may lie in one."""
    begin, end = x.data.ptr, x.data.ptr + x.nbytes
    extent = [(n - 1) * step for n, step in zip(y.shape, y.strides, strict=True)]
    low = y.data.ptr + sum(step for step in extent if step < 0)
    high = y.data.ptr + sum(step for step in extent if step > 0) + y.itemsize
    return y.size > 0 and begin < high and low < end


def _described(x: Any) -> str:
    return f"a {type(x).__module__}.{type(x).__qualname__}"


def without_gpu() -> str | None:
    """Why CuPy finds no GPU; None where it finds one."""
    try:
        return None if cupy.cuda.runtime.getDeviceCount() else "no device"
    except Exception as error:  # of the driver, or of a library that is missing
        return f"{error}"


def _check_for_gpu() -> None:
    """Raise where no CuPy array can exist at all: that is then the reason why none came."""
    reason = without_gpu()
    if reason is not None:
        raise RuntimeError(
            f"lindiff_cuda: CuPy is installed but finds no GPU ({reason}); it needs an NVIDIA driver and a "
            "GPU of compute capability 7.0 or higher"
        )
