"""The arithmetic of the chain rule: sums of tangents and cotangents, and their products with derivatives.

Small plain arrays take the kernels.  Everything else, Variables of outer traces and arrays of other libraries
among it, takes functions that dispatch.
"""

import contextvars

cimport numpy as cnp
from cpython.contextvars cimport PyContextVar_Reset, PyContextVar_Set
from cpython.ref cimport Py_REFCNT

import numpy as np

from lindiff.core.variable cimport value_of
from lindiff.kernels.elementwise cimport chain, chain_complex, finite, is_plain, sum_of_thin
from lindiff.kernels.loops cimport ADD, CONJUGATE, DIVIDE, MULTIPLY, NEGATIVE, SUBTRACT

from lindiff.core.arrays import by_kernel, placed
from lindiff.core.directions import Directions

cnp.import_array()


# -- without warnings --------------------------------------------------------------------------------------

cdef tuple quiet_setting():
    """NumPy's context variable of ``np.errstate``, and its value where nothing warns; None if it keeps that
    elsewhere."""
    before = contextvars.copy_context()
    quiet = before.copy()
    quiet.run(np.seterr, all="ignore")
    changed = [pair for pair in quiet.items() if before.get(pair[0]) is not pair[1]]
    return changed[0] if len(changed) == 1 else (None, None)


cdef object _errstate
cdef object _nothing
_errstate, _nothing = quiet_setting()


cdef object hush():
    """What entering ``np.errstate(all="ignore")`` does, at a tenth of its price; for ``unhush``."""
    if _errstate is not None:
        return PyContextVar_Set(_errstate, _nothing)
    state = np.errstate(all="ignore")
    state.__enter__()
    return state


cdef int unhush(object token) except -1:
    if _errstate is not None:
        return PyContextVar_Reset(_errstate, token)
    token.__exit__(None, None, None)
    return 0


# -- sums --------------------------------------------------------------------------------------------------

cdef object plus(object x, object y):
    """``x + y``"""
    out = ADD.of_two(x, y)
    if out is not None:
        return out
    if type(x) is Directions and type(y) is Directions and x.ndim == y.ndim:
        return Directions(plus(x.array, y.array))
    return x + y


cdef object minus(object x, object y):
    """``x - y``"""
    out = SUBTRACT.of_two(x, y)
    return x - y if out is None else out


cdef object negated(object x):
    """``-x``"""
    out = NEGATIVE.of_one(x)
    return -x if out is None else out


# -- products ----------------------------------------------------------------------------------------------

cdef object conjugate(object x):
    """``x`` conjugated if it is complex."""
    if is_plain(x):
        return x
    dtype = getattr(x, "dtype", None)
    if dtype is None:
        return x.conjugate() if isinstance(x, complex) else x
    if dtype.kind != "c":
        return x
    out = CONJUGATE.of_one(x)
    return np.conjugate(x) if out is None else out


cdef object chain_product(object g, object partial, bint overwrite, bint conjugated=False):
    """``g * partial``, or with the partial ``conjugated``, where 0 · ∞ = 0.

    NumPy's arrays are looked at only where a value that is not finite shows up; those of another library
    always, since to ask is to wait for a device.  Zeros are put in place of NaNs alone: everywhere else the
    product keeps its own derivatives.
    """
    cdef object array, out
    if type(g) is Directions:
        array = g.array
        if not cnp.PyArray_CheckExact(partial) or cnp.PyArray_NDIM(<cnp.ndarray>partial) <= g.ndim:
            out = chain(array, partial, overwrite and Py_REFCNT(array) == 2)  # its own and this name
            if out is not None:
                return g if out is array else Directions(out)
    out = chain(g, partial, overwrite)
    if out is not None:
        return out
    out = chain_complex(g, partial, conjugated)
    if out is not None:
        return out
    if not cnp.PyArray_Check(g):
        out = by_kernel("product", g, partial, conjugated, overwrite)
        if out is not None:
            return out
    if conjugated:
        partial = conjugate(partial)
    out = MULTIPLY.of_two(g, partial)  # None as well where a product is not finite
    if out is not None:
        return out
    token = hush()
    try:
        out = np.multiply(g, partial)
    finally:
        unhush(token)
    if all_finite(out):
        return out
    return np.where(np.isnan(out) & (np.equal(g, 0) | np.equal(partial, 0)), 0.0, out)


cdef object quotient(object g, object y):
    """``g / y`` with 0 / 0 = 0."""
    out = DIVIDE.of_two(g, y)
    if out is not None:
        return out
    if not cnp.PyArray_Check(g):
        out = by_kernel("quotient", g, y)
        if out is not None:
            return out
    token = hush()
    try:
        out = np.divide(g, y)
    finally:
        unhush(token)
    return out if all_finite(out) else np.where(np.isnan(out) & np.equal(g, 0), 0.0, out)


def product(g, partial, bint conjugated=False, bint overwrite=False):
    """``g * partial``, or with the partial conjugated, where 0 · ∞ = 0: the kernel of plain arrays."""
    return chain_product(g, partial, overwrite, conjugated)


def quotient_of(g, y):
    """``g / y`` with 0 / 0 = 0: the kernel of plain arrays."""
    return quotient(g, y)


cdef bint all_finite(object x) except -1:
    """Whether all elements are finite, asked to save work where they are.

    Of arrays of other libraries than NumPy, no: to read an answer from a device is to wait for it.
    """
    if type(x) is Directions:
        x = x.array
    x = value_of(x)
    if cnp.PyArray_CheckScalar(x):
        x = cnp.PyArray_FROM_O(x)
    if is_plain(x) and cnp.PyArray_IS_C_CONTIGUOUS(<cnp.ndarray>x):
        return finite(<cnp.ndarray>x)
    return cnp.PyArray_Check(x) and bool(np.isfinite(x).all())


# -- shapes ------------------------------------------------------------------------------------------------

cdef object fit(object g, object like):
    """``g`` in the shape and dtype of ``like``: the adjoint of broadcasting and of real-to-complex."""
    if is_plain(g) and is_plain(like) \
            and cnp.PyArray_TYPE(<cnp.ndarray>g) == cnp.PyArray_TYPE(<cnp.ndarray>like) \
            and cnp.PyArray_SAMESHAPE(<cnp.ndarray>g, <cnp.ndarray>like):
        return g
    shape = getattr(like, "shape", None)
    if shape is None:
        like = np.asarray(like)
        shape = like.shape
    if not hasattr(g, "dtype"):
        g = placed(np.asarray(g), like)
    return fit_to(g, shape, like.dtype)


cdef object fit_to(object g, tuple shape, object dtype):
    if g.dtype.kind == "c" and dtype.kind != "c":
        g = g.real
    if g.shape != shape:
        g = fit_shape(g, shape)
    return g if g.dtype == dtype else g.astype(dtype)


cdef object fit_shape(object g, tuple shape):
    cdef Py_ssize_t extra = len(g.shape) - len(shape)
    cdef object total = sum_of_thin(g, shape)
    if total is not None:
        return total
    if extra > 0:
        g = g.sum(axis=tuple(range(extra)))
    elif extra < 0:  # what is written to an array may have axes of length 1 before its own
        g = np.reshape(g, (1,) * -extra + g.shape)
    axes = tuple([axis for axis in range(len(shape)) if axis < len(g.shape) and shape[axis] == 1
                  and g.shape[axis] != 1]) if len(g.shape) == len(shape) else ()
    if axes:
        g = g.sum(axis=axes, keepdims=True)
    if g.shape != shape:
        g = np.broadcast_to(g, shape)
    return g
