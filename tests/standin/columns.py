"""Column-major matrices behind raw pointers, and what the evaluators of both libraries share."""

from __future__ import annotations

import ctypes
import inspect

import numpy as np

__all__ = ["DTYPES", "Recorder", "addresses", "matrix", "op", "scribble", "triangle", "vector"]

DTYPES = {"s": np.float32, "d": np.float64, "c": np.complex64, "z": np.complex128}
INVALID_VALUE = {"cublas": "CUBLAS_STATUS_INVALID_VALUE", "cusolver": "CUSOLVER_STATUS_INVALID_VALUE"}


class LibraryError(RuntimeError):
    """As CuPy raises it for a status that is not success."""


def vector(pointer, dtype, length, step=None):
    """The array of numbers at a host or device address (they are the same here)."""
    dtype = np.dtype(dtype)
    step = dtype.itemsize if step is None else step
    if length == 0:
        return np.empty(0, dtype)
    assert pointer, "a null pointer"
    memory = (ctypes.c_char * ((length - 1) * step + dtype.itemsize)).from_address(pointer)
    return np.ndarray((length,), dtype, memory, strides=(step,))


def matrix(pointer, dtype, rows, columns, ld):
    """The column-major matrix; entry (i, j) is `i + j * ld` entries from the pointer."""
    dtype = np.dtype(dtype)
    if rows == 0 or columns == 0:
        return np.empty((rows, columns), dtype)
    assert pointer, "a null pointer"
    memory = (ctypes.c_char * (((columns - 1) * ld + rows) * dtype.itemsize)).from_address(pointer)
    return np.ndarray((rows, columns), dtype, memory, strides=(dtype.itemsize, ld * dtype.itemsize))


def addresses(pointer, count):
    """The pointers of an array of pointers."""
    return vector(pointer, np.int64, count).tolist()


def op(X, transpose):
    """op(X) for CUBLAS_OP_N, T, C."""
    return (X, X.T, X.conj().T)[transpose]


def triangle(X, uplo, unit=False):
    """The triangle that a routine reads; the rest as zeros."""
    T = np.triu(X) if uplo else np.tril(X)
    if unit:
        np.fill_diagonal(T, 1)
    return T


def scribble(pointer, size):
    """A workspace of `size` bytes is written to, all of it."""
    vector(pointer, np.uint8, size)[...] = 0x5A


class Recorder:
    """Gives a module the routines of a library, for each type letter; its ``calls`` are what was called."""

    def __init__(self, library, module):
        self.library, self.module = library, module
        module.calls = []

    def check(self, good, name):
        if not good:
            raise LibraryError(f"{INVALID_VALUE[self.library]} ({name})")

    def add(self, evaluate, letters="sdcz", names=None):
        """``evaluate(check, dtype, handle, ...)`` becomes ``dgemm(handle, ...)`` and its like.

        Its parameters after dtype are the routine's; arguments are positional, as in CuPy's bindings.
        """
        parameters = list(inspect.signature(evaluate).parameters)[2:]
        for letter in letters:
            name = letter + (names or {}).get(letter, evaluate.__name__)
            setattr(self.module, name, self._routine(evaluate, name, DTYPES.get(letter), parameters))

    def _routine(self, evaluate, name, dtype, parameters):
        def routine(*arguments):
            if len(arguments) != len(parameters):
                raise TypeError(
                    f"{name}() takes exactly {len(parameters)} arguments ({len(arguments)} given)"
                )
            named = dict(zip(parameters, arguments, strict=True))
            for parameter, value in named.items():
                if type(value) is not int:
                    raise TypeError(f"{name}: {parameter} must be an int, got {type(value)}")
                if parameter in COUNTS and not name.startswith("x") and value >= 2**31:
                    raise OverflowError("value too large to convert to int")
                self.check(parameter not in BATCH or value <= MOST_MATRICES, name)
            if not name.endswith(("_bufferSize", "PointerMode", "MathMode")):
                self.module.calls.append((name, {k: v for k, v in named.items() if k in FLAGS}))
            return evaluate(lambda good: self.check(good, name), dtype, *arguments)

        routine.__name__ = name
        return routine


# Parameters that are an `int` in C but for the 64-bit interface; what may be on a grid's second axis.
COUNTS = {"m", "n", "k", "nrhs", "lda", "ldb", "ldc", "ldu", "ldv", "lwork", "batchCount", "batchSize"}
BATCH = {"batchCount", "batchSize"}
MOST_MATRICES = 65_535

# Parameters that tests look at.
FLAGS = {
    *(
        "side",
        "uplo",
        "trans",
        "transa",
        "transb",
        "diag",
        "jobz",
        "econ",
        "m",
        "n",
        "k",
        "nrhs",
        "lda",
        "ldb",
    ),
    *("ldc", "ldu", "ldv", "batchCount", "batchSize", "strideA", "strideB", "strideC"),
}
