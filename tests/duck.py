"""A small array class that speaks NumPy's protocols and nothing else: no subclass, no ``__array__``."""

from __future__ import annotations

import numpy as np


class DuckArray(np.lib.mixins.NDArrayOperatorsMixin):
    """An array of another library, as lindiff sees it: everything goes through the two protocols."""

    def __init__(self, array):
        assert isinstance(array, np.ndarray), type(array)
        self.array = array

    shape = property(lambda self: self.array.shape)
    dtype = property(lambda self: self.array.dtype)
    ndim = property(lambda self: self.array.ndim)
    size = property(lambda self: self.array.size)
    T = property(lambda self: DuckArray(self.array.T))
    real = property(lambda self: DuckArray(self.array.real))
    imag = property(lambda self: DuckArray(self.array.imag))

    def __array__(self, dtype=None, copy=None):
        raise TypeError("a DuckArray became a NumPy array")

    def __array_ufunc__(self, ufunc, method, *inputs, **kwargs):
        if any(
            hasattr(x, "__array_ufunc__") and not isinstance(x, (DuckArray, np.ndarray, np.generic))
            for x in inputs
        ):
            return NotImplemented
        kwargs = {name: unwrap(argument) for name, argument in kwargs.items()}
        return wrap(getattr(ufunc, method)(*map(unwrap, inputs), **kwargs))

    def __array_function__(self, function, types, args, kwargs):
        if not all(issubclass(t, (DuckArray, np.ndarray)) for t in types):
            return NotImplemented
        return wrap(function(*unwrap(args), **unwrap(kwargs)))

    def __getitem__(self, index):
        return wrap(self.array[unwrap(index)])

    def __setitem__(self, index, item):
        self.array[unwrap(index)] = unwrap(item)

    def __len__(self):
        return len(self.array)

    def __bool__(self):
        return bool(self.array)

    def __repr__(self):
        return f"DuckArray({self.array!r})"

    def copy(self):
        return DuckArray(self.array.copy())

    def astype(self, dtype):
        return DuckArray(self.array.astype(dtype))

    def tolist(self):
        return self.array.tolist()

    def sum(self, axis=None, keepdims=False):
        return np.sum(self, axis=axis, keepdims=keepdims)

    def conj(self):
        return np.conjugate(self)

    def all(self):
        return np.all(self)

    def any(self):
        return np.any(self)


def unwrap(x):
    if isinstance(x, DuckArray):
        return x.array
    if isinstance(x, (tuple, list)):
        return type(x)(map(unwrap, x))
    if isinstance(x, dict):
        return {name: unwrap(item) for name, item in x.items()}
    return x


def wrap(x):
    if isinstance(x, (np.ndarray, np.generic)):
        return DuckArray(np.asarray(x))
    if isinstance(x, (tuple, list)):
        return type(x)(map(wrap, x))
    return x
