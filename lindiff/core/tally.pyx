"""A number that stands for all that operations have computed and kept.

A function that runs a second time has to do what it did at first.  Results that are the same do not tell:
where a weight is zero, they are so whatever it is multiplied with.  But its derivative is made of nothing but
its operations, the values that go through them and the constants that they keep.  A :class:`Tally` adds up
numbers from all of these with weights of their own; two runs have the same sum up to rounding.
"""

cimport numpy as cnp
from cpython.object cimport PyObject
from libc.math cimport fabs, isfinite, log2
from libc.stdint cimport int8_t, int32_t, int64_t, uintptr_t

from lindiff.kernels.sizes cimport TALLIED_NUMBERS

import numpy as np

cnp.import_array()

cdef extern from *:
    """
    #ifdef _MSC_VER
    static __declspec(thread) PyObject *tally_of_this_thread = NULL;
    #else
    static __thread PyObject *tally_of_this_thread = NULL;
    #endif
    """
    PyObject *tally_of_this_thread


# The square root of the rounding error of a double: what differs by more is another number.
cdef double ROUNDING = 2.0 ** -26

cdef unsigned long long MULTIPLIER = 6364136223846793005  # of a linear congruential generator (Knuth)

# How many tallies there are in all threads.
cdef int running = 0


cdef Tally current():
    """That of this thread; None where nothing is added up."""
    return <Tally>tally_of_this_thread if tally_of_this_thread != NULL else None


cdef Tally begin_tally():
    """A new one for this thread, until ``end_tally``."""
    global running, tally_of_this_thread
    cdef Tally tally = Tally.__new__(Tally)
    tally.outer = current()
    tally_of_this_thread = <PyObject *>tally  # held by whoever ends it
    running += 1
    return tally


cdef int end_tally(Tally tally) except -1:
    global running, tally_of_this_thread
    outer = tally.outer
    tally_of_this_thread = <PyObject *>outer if outer is not None else NULL
    running -= 1
    tally.outer = None
    return 0


cdef Tally set_aside():
    """That of this thread, to which nothing is added until it is taken up."""
    global tally_of_this_thread
    tally = current()
    tally_of_this_thread = NULL
    return tally


cdef int take_up(Tally tally) except -1:
    global tally_of_this_thread
    tally_of_this_thread = <PyObject *>tally  # held by whoever ends it
    return 0


cdef char *place(cnp.ndarray x, Py_ssize_t number) noexcept:
    """Where the element of this number, counted by rows, lies."""
    cdef char *at = cnp.PyArray_BYTES(x)
    cdef int axis
    for axis in range(cnp.PyArray_NDIM(x) - 1, -1, -1):
        at += (number % cnp.PyArray_DIM(x, axis)) * cnp.PyArray_STRIDE(x, axis)
        number //= cnp.PyArray_DIM(x, axis)
    return at


cdef double number_at(const char *at, cnp.ndarray x) noexcept:
    """An element as a number; 0 for what is none."""
    cdef int kind = cnp.PyArray_TYPE(x)
    if kind == cnp.NPY_DOUBLE:
        return (<double *>at)[0]
    if kind == cnp.NPY_FLOAT:
        return (<float *>at)[0]
    if kind == cnp.NPY_CDOUBLE:
        return (<double *>at)[0] + 0.7 * (<double *>at)[1]
    if kind == cnp.NPY_CFLOAT:
        return (<float *>at)[0] + 0.7 * (<float *>at)[1]
    if cnp.PyTypeNum_ISINTEGER(kind) or cnp.PyTypeNum_ISBOOL(kind):
        if cnp.PyArray_ITEMSIZE(x) == 8:
            return <double>(<int64_t *>at)[0]
        return <double>((<int32_t *>at)[0] if cnp.PyArray_ITEMSIZE(x) == 4 else (<int8_t *>at)[0])
    return 0.0


cdef class Tally:
    """What was added is ``total``, ``size`` the same without signs; ``scale`` is the largest number so far,
    beside which rounding errors are zero."""

    cdef double weight(self) noexcept:
        """One after the other between -1 and 1, without pattern."""
        self.turn = self.turn * MULTIPLIER + 1
        return <double>(<int64_t>self.turn >> 11) * 2.0 ** -52

    cdef int put(self, double term) except -1:
        term *= self.weight()
        self.total += term
        self.size += fabs(term)
        return 0

    cdef int add_array(self, cnp.ndarray x) except -1:
        """Some of its elements: their sum with weights, beside the largest."""
        cdef Py_ssize_t size = cnp.PyArray_SIZE(x), count = min(size, TALLIED_NUMBERS), step, k
        cdef double total = 0.0, largest = 0.0, number
        self.turn += <unsigned long long>size
        if size == 0 or not cnp.PyArray_ISNOTSWAPPED(x):
            return 0
        step = size // count
        for k in range(count):
            number = number_at(place(x, k * step + (k * 7919) % step), x)
            if not isfinite(number):
                number = 0.0 if number != number else -1.0 if number < 0 else 1.0
            total += self.weight() * number
            largest = max(largest, fabs(number))
        self.scale = max(self.scale, largest)
        if self.scale > 0:
            self.put(total / (largest + ROUNDING * self.scale))
            self.put(log2(largest + ROUNDING * self.scale))
        return 0

    cdef int add(self, object x) except -1:
        if cnp.PyArray_CheckExact(x):
            return self.add_array(x)
        if isinstance(x, (float, int, complex)) or issubclass(type(x), np.generic):
            return self.add_array(np.asarray(x))
        if isinstance(x, (tuple, list)):
            for item in x:
                self.add(item)
        elif isinstance(x, slice):
            return self.add((x.start, x.stop, x.step))
        elif isinstance(x, str):
            self.turn += <unsigned long long>hash(x)
        return 0

    cdef int add_operation(self, object operation) except -1:
        """What a node applies."""
        self.turn += <uintptr_t><PyObject *>operation
        return 0

    cdef int fold(self, Tally part) except -1:
        """Add all that another one has of a part."""
        self.turn += part.turn
        self.size += part.size
        self.scale = max(self.scale, part.scale)
        return self.put(part.total)

    cdef bint differs(self, Tally other) noexcept:
        """Whether two runs were not the same."""
        return self.turn != other.turn \
            or fabs(self.total - other.total) > ROUNDING * max(self.size, other.size)
