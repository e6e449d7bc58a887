"""NumPy with derivatives for code that fills arrays: ``import lindiff.numpy as np``.

All of NumPy's public names, with three differences.  The arrays of floating point numbers that its functions
make while a transform is running accept Variables (``K = np.zeros((n, n)); K[i, j] = v``).  Lists may hold
Variables wherever NumPy takes lists (``np.array([[1.0, v], [0.0, w]])``, ``np.sum([v, w])``).  And a call
goes to its rule without NumPy's dispatch in between, which saves about a microsecond.

Types and constants (``np.ndarray``, ``np.float64``, ``np.pi``) are NumPy's own, so are ``np.random`` and the
other submodules except ``linalg``, ``fft``, ``lib.stride_tricks`` and ``polynomial``.  It is also the
namespace that ``v.__array_namespace__()`` gives, in the sense of the Array API standard.

Examples
--------
>>> import lindiff as ld
>>> import lindiff.numpy as np
>>> def f(a):
...     x = np.zeros(4)
...     x[0] = a
...     for i in range(1, 4):
...         x[i] = x[i - 1] * a
...     return np.sum(x)
>>> ld.grad(f)(2.0)
np.float64(49.0)
"""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Any

import numpy

from lindiff.numpy._asked import ask_in
from lindiff.numpy._names import public_names, take_over
from lindiff.rules.methods import use_namespace

__all__ = public_names(numpy)

if TYPE_CHECKING:  # to a type checker, what NumPy has
    from numpy import *  # noqa: F403

    from lindiff.numpy import special as special
else:
    from lindiff.numpy import fft, lib, linalg, polynomial, special
    from lindiff.numpy._indexing import (
        broadcast,
        c_,
        fromiter,
        isscalar,
        mgrid,
        ndenumerate,
        nditer,
        ogrid,
        r_,
        vectorize,
    )

    _OWN = (
        broadcast, c_, fft, fromiter, isscalar, lib, linalg, mgrid, ndenumerate, nditer, ogrid, polynomial,
        r_, special, vectorize,
    )  # fmt: skip

    def __getattr__(name: str) -> Any:
        if name == "ndarray":  # not kept: each module that asks is told of
            ask_in(sys._getframe(1).f_globals, sys.modules[__name__])
            return numpy.ndarray
        return take_over(numpy, name, globals())


def __dir__() -> list[str]:
    return __all__


use_namespace(sys.modules[__name__])
