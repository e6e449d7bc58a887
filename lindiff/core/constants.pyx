"""What operations keep of their constants: small arrays copied, large ones by reference and under guard.

A buffer that is filled again before the walk needs it would give another derivative than that of the call.
A :class:`Guard` looks at an array when an operation keeps it, and again when a walk comes to the operation:
not at every number, but at a few in each of 16 to 1024 parts.
"""

cimport cython
cimport numpy as cnp
from cpython.object cimport PyObject, PyTypeObject
from cpython.ref cimport Py_INCREF
from libc.stdint cimport uint32_t, uint64_t, uintptr_t
from libc.string cimport memcpy

from lindiff.kernels.sizes cimport (
    COPIED_CONSTANT, GUARDED_APART, GUARDED_FEWEST, GUARDED_MOST, GUARDED_PLACE,
)

import linecache
import os

import numpy as np
import scipy

import lindiff.core

cnp.import_array()

cdef extern from "Python.h":
    ctypedef struct PyFrameObject:
        pass
    PyFrameObject *PyEval_GetFrame()
    object PyFrame_GetCode(PyFrameObject *frame)

cdef extern from "numpy/arrayobject.h":
    PyTypeObject PyArray_Type
    object PyArray_NewFromDescr(
        PyTypeObject *, cnp.dtype, int, cnp.npy_intp *, cnp.npy_intp *, void *, int, PyObject *)

cdef Py_ssize_t small_constant = COPIED_CONSTANT


def copy_up_to(Py_ssize_t nbytes):
    """For tests: let constants of up to ``nbytes`` be copied, and guard the larger ones; what it was."""
    global small_constant
    before = small_constant
    small_constant = nbytes
    return before


cdef bint is_copied(cnp.ndarray x) noexcept:
    """Whether an array is so small that operations keep copies of it."""
    return cnp.PyArray_NBYTES(x) <= small_constant


cdef bint may_change(cnp.ndarray x) noexcept:
    """Whether somebody may write to the memory of ``x``, through itself or what it is a view of."""
    cdef PyObject *base
    while not cnp.PyArray_ISWRITEABLE(x):
        base = <PyObject *>cnp.PyArray_BASE(x)
        if base == NULL:
            return False
        if not cnp.PyArray_Check(<object>base):
            return type(<object>base) is not bytes
        x = <cnp.ndarray>base
    return True


# -- a look at an array ----------------------------------------------------------------------------------

cdef inline uint64_t onto(uint64_t h, uint64_t bits) noexcept nogil:
    """A polynomial modulo 2⁶⁴: no change of a single word leaves it as it was."""
    return h * <uint64_t>6364136223846793005 + bits


cdef inline uint64_t of_bytes(uint64_t h, const char *data, Py_ssize_t n) noexcept nogil:
    cdef uint64_t bits
    while n >= 8:
        memcpy(&bits, data, 8)
        h = onto(h, bits)
        data += 8
        n -= 8
    bits = 0
    if n > 0:
        memcpy(&bits, data, n)
        h = onto(h, bits)
    return h


cdef inline Py_ssize_t places_in(Py_ssize_t nbytes) noexcept nogil:
    return min(max(nbytes // GUARDED_APART, GUARDED_FEWEST), GUARDED_MOST)


cdef uint64_t of_block(const char *data, Py_ssize_t n) noexcept nogil:
    """Of memory without gaps: one place in each of its parts, not the same in all of them, so that columns of
    a matrix take turns."""
    cdef Py_ssize_t places = places_in(n), step = n // places, k
    cdef uint64_t h[4]
    cdef uint64_t bits[4]
    cdef uintptr_t at, first = <uintptr_t>data, last = first + n - GUARDED_PLACE
    cdef uint32_t turn
    if n < GUARDED_FEWEST * GUARDED_PLACE:
        return of_bytes(0, data, n)
    h[0], h[1], h[2], h[3] = 0, 0, 0, 0
    for k in range(places):
        turn = <uint32_t>k * <uint32_t>2654435769  # k times the golden ratio, without its whole part
        at = first + k * step + ((turn * <uint64_t>step) >> 32)
        memcpy(bits, <const char *>min(max(at & ~<uintptr_t>(GUARDED_PLACE - 1), first), last), GUARDED_PLACE)
        h[0] = onto(h[0], bits[0])
        h[1] = onto(h[1], bits[1])
        h[2] = onto(h[2], bits[2])
        h[3] = onto(h[3], bits[3])
    memcpy(bits, <const char *>last, GUARDED_PLACE)
    for k in range(4):
        h[0] = onto(onto(h[0], h[k]), bits[k])
    return h[0]


cdef inline bint have_common_factor(Py_ssize_t a, Py_ssize_t b) noexcept nogil:
    while b != 0:
        a, b = b, a % b
    return a != 1


cdef uint64_t of_strided(const char *data, Py_ssize_t itemsize, int axes, const cnp.npy_intp *dims,
                         const cnp.npy_intp *strides, Py_ssize_t size) noexcept nogil:
    """Of an array with gaps: the same number of places, each step by all digits of one number, which has no
    factor in common with the length of the last axis."""
    cdef Py_ssize_t places = min(places_in(size * itemsize), size), step = size // places, i
    cdef Py_ssize_t digits[64]
    cdef Py_ssize_t index[64]
    cdef bint carry
    cdef int d, last = axes - 1
    cdef uint64_t h = 1
    cdef Py_ssize_t run = max(GUARDED_PLACE // itemsize, 1) if strides[last] == itemsize else 1
    while have_common_factor(step, dims[last]):
        step -= 1
    for d in range(last, -1, -1):
        digits[d] = step % dims[d]
        step //= dims[d]
        index[d] = 0
    for _ in range(places):
        h = of_bytes(h, data, min(run, dims[last] - index[last]) * itemsize)
        carry = False
        for d in range(last, -1, -1):
            i = index[d] + digits[d] + carry
            carry = i >= dims[d]
            if carry:
                i -= dims[d]
            data += (i - index[d]) * strides[d]
            index[d] = i
    return h


cdef unsigned long long mark_of(cnp.ndarray x) noexcept:
    """A number that is another one when what was looked at in ``x`` has changed."""
    cdef Py_ssize_t size = cnp.PyArray_SIZE(x)
    if size == 0:
        return 0
    if cnp.PyArray_IS_C_CONTIGUOUS(x) or cnp.PyArray_IS_F_CONTIGUOUS(x):
        return of_block(cnp.PyArray_BYTES(x), cnp.PyArray_NBYTES(x))
    return of_strided(cnp.PyArray_BYTES(x), cnp.PyArray_ITEMSIZE(x), cnp.PyArray_NDIM(x), cnp.PyArray_DIMS(x),
                      cnp.PyArray_STRIDES(x), size)


# -- where an operation was called -----------------------------------------------------------------------

# Code below these folders calls operations on the user's behalf.
cdef tuple _libraries = tuple([
    os.path.join(folder, "")
    for folder in (os.path.dirname(os.path.dirname(lindiff.core.__file__)), os.path.dirname(np.__file__),
                   os.path.dirname(scipy.__file__))
])
cdef object _users_code = None  # the last that was found: code in a loop is looked at once


cdef bint is_users(object code):
    global _users_code
    if code is _users_code:
        return True
    if code.co_filename.startswith(_libraries):
        return False
    _users_code = code
    return True


cpdef object users_frame():
    """The innermost frame that runs and belongs to none of lindiff, NumPy and SciPy."""
    cdef PyFrameObject *innermost = PyEval_GetFrame()
    if innermost == NULL:
        return None
    frame = <object>innermost
    while frame is not None and not is_users(PyFrame_GetCode(<PyFrameObject *>frame)):
        frame = frame.f_back
    return frame


cdef str place_of_call(object code, object instruction):
    """The line of an instruction, with its text where there is one."""
    for start, end, line in code.co_lines():
        if start <= instruction < end and line is not None:
            text = linecache.getline(code.co_filename, line).strip()
            place = f'File "{code.co_filename}", line {line}, in {code.co_name}'
            return f" ({place}: {text})" if text else f" ({place})"
    return ""


# -- the guard -------------------------------------------------------------------------------------------

@cython.no_gc
@cython.final
cdef class Guard:
    """What is remembered of a constant that an operation keeps by reference; ``next`` is that of another one
    of the same operation."""

    cdef int check(self, object node) except -1:
        """Raise if the constant, or the next one, is not what it was when the operation ``node`` ran."""
        cdef Guard guard = self
        while guard is not None:
            if mark_of(guard.array) != guard.mark:
                guard.complain(node)
            guard = guard.next
        return 0

    cdef int complain(self, object node) except -1:
        cdef object x = self.array
        name = getattr(self.what, "__name__", node.name).lstrip("_")
        place = "" if self.code is None else place_of_call(self.code, self.instruction)
        raise RuntimeError(
            f"{name}{place} was given a constant array of shape {x.shape} that has been written to since, "
            f"before the derivative was taken: give it a copy, array.copy(), or a new array each time")


cdef Guard guard_of(cnp.ndarray x, object what):
    """A guard for ``x``, a constant of the function ``what`` (None: it is called as its node)."""
    cdef Guard guard = Guard.__new__(Guard)
    guard.array = x
    guard.mark = mark_of(x)
    guard.what = what
    frame = users_frame()
    if frame is not None:
        guard.code = PyFrame_GetCode(<PyFrameObject *>frame)
        guard.instruction = frame.f_lasti
    return guard


cdef Guard linked(Guard guard, Guard others):
    """``guard`` before the ``others``."""
    guard.next = others
    return guard


cdef cnp.ndarray in_memory_of(cnp.ndarray x, object holder):
    """``x`` as an array whose memory is the holder's: it lives as long as anybody holds a part of it."""
    cdef cnp.dtype dtype = (<object>x).dtype
    Py_INCREF(dtype)  # taken over by the view
    cdef cnp.ndarray view = PyArray_NewFromDescr(
        &PyArray_Type, dtype, cnp.PyArray_NDIM(x), cnp.PyArray_DIMS(x), cnp.PyArray_STRIDES(x),
        cnp.PyArray_DATA(x), cnp.PyArray_FLAGS(x) & cnp.NPY_ARRAY_WRITEABLE, NULL)
    cnp.set_array_base(view, holder)
    return view
