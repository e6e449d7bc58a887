"""What functions of ``lindiff.scipy.linalg`` do with their arguments before they compute."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np
import scipy

from lindiff.core.arrays import foreign
from lindiff.core.lists import must_be_stacked
from lindiff.core.variable import Variable, value
from lindiff.linalg._batches import over_batch, require_host
from lindiff.rules._common import as_array

__all__ = [
    "SCIPY",
    "as_checked",
    "axes_of",
    "columns",
    "is_plain",
    "joined",
    "of_scipy",
    "on_columns",
    "promoted",
    "require_square",
    "require_system",
    "singular_means",
    "transpose_of",
]


SCIPY = tuple(int(part) for part in scipy.__version__.split(".")[:2])


def is_plain(*arrays: Any) -> bool:
    """Whether SciPy can take all of them: no Variable, no array of another library, no list with such."""
    for x in arrays:
        if type(x) is np.ndarray:
            continue
        if type(x) is Variable or foreign(x) is not None or must_be_stacked(x):
            return False
    return True


def axes_of(b: Any) -> int:
    """1 for a right-hand side, 2 for a matrix of them: only an array with one axis is one."""
    return min(np.ndim(b), 2)


def as_checked(x: Any, check_finite: bool) -> Any:
    """An array or Variable as it is, anything else as an array; NaN and infinity refused as in SciPy."""
    x = as_array(x)
    plain = value(x)
    if foreign(plain) is not None:
        if check_finite and not np.isfinite(plain).all():
            raise ValueError("array must not contain infs or NaNs")
        return x
    plain = np.asarray_chkfinite(plain) if check_finite else np.asarray(plain)
    if plain.dtype.kind == "O":
        raise ValueError("object arrays are not supported")
    return x


def promoted(*arrays: Any) -> list[Any]:
    """Arrays in the one dtype that LAPACK has for all of them."""
    dtype = arrays[0].dtype
    if dtype.char in "fdFD" and all(x.dtype == dtype for x in arrays):
        return list(arrays)
    dtype = np.result_type(*(x.dtype for x in arrays))
    if dtype.kind not in "fc":
        dtype = np.dtype(np.float64)
    single = np.finfo(dtype).bits <= 32
    if dtype.kind == "c":
        dtype = np.dtype(np.complex64 if single else np.complex128)
    else:
        dtype = np.dtype(np.float32 if single else np.float64)
    return [x if x.dtype == dtype else x.astype(dtype) for x in arrays]


def require_square(a: Any, function: str, name: str = "a") -> None:
    if a.ndim < 2 or a.shape[-1] != a.shape[-2]:
        raise ValueError(f"{function}: {name} must be square in its last two axes, got shape {a.shape}")


def require_system(rows: int, a: Any, b: Any, function: str, name: str = "a") -> None:
    """``b`` must have this many rows, and batch axes that go with those of ``a``."""
    fits = b.ndim > 0 and b.shape[0 if b.ndim == 1 else -2] == rows
    if fits and b.ndim > 2 and a.ndim > 2:
        try:
            np.broadcast_shapes(a.shape[:-2], b.shape[:-2])
        except ValueError:
            fits = False
    if not fits:
        raise ValueError(
            f"{function}: {name} of shape {a.shape} and b of shape {b.shape} do not fit together"
        )


@contextmanager
def singular_means(what: str) -> Iterator[None]:
    """Put `what` before the message of an error about a singular matrix."""
    try:
        yield
    except np.linalg.LinAlgError as error:
        raise np.linalg.LinAlgError(f"{what}: {error}") from error


def columns(x: Any, vector: bool) -> Any:
    """A right-hand side or solution as a matrix of columns."""
    return x[..., None] if vector else x


def joined(*vectors: Any) -> Any:
    """Vectors end to end, their batch axes broadcast."""
    batch = np.broadcast_shapes(*(x.shape[:-1] for x in vectors))
    return np.concatenate([np.broadcast_to(x, (*batch, x.shape[-1])) for x in vectors], axis=-1)


def of_scipy(function: Callable[[Any, Any], Any], a: Any, b: Any) -> Any:
    """The solutions by SciPy's ``function(a, b)``, over a batch.  Before 1.15 it takes no empty arrays."""
    require_host(getattr(function, "__name__", "this function"), a, b)
    a, b = np.asarray(a), np.asarray(b)
    single = a.ndim <= 2 and b.ndim <= 2
    if (a.size and b.size) or (single and SCIPY >= (1, 15)):
        return over_batch(2, axes_of(b))(function)(a, b)
    batch = np.broadcast_shapes(a.shape[:-2], b.shape[:-2])
    return np.zeros((*batch, *b.shape[-2:]), np.result_type(a.dtype, b.dtype, np.float32))


def on_columns(solve: Callable[[Any], Any], b: Any) -> Any:
    """``solve(b)`` by a function that takes a matrix of columns."""
    return solve(b[:, None])[..., 0] if b.ndim == 1 else solve(b)


TRANSPOSES: dict[Any, Any] = {0: False, 1: True, 2: "C", "N": False, "T": True, "C": "C"}


def transpose_of(trans: Any, function: str) -> Any:
    if trans not in TRANSPOSES:
        raise ValueError(f"{function}: trans must be 0, 1, 2, 'N', 'T' or 'C', got {trans!r}")
    return TRANSPOSES[trans]
