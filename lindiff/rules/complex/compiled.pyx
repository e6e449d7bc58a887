"""What carries out np.real and np.imag on plain complex arrays."""

cimport cython
cimport numpy as cnp

import numpy as np

from lindiff.core.linear cimport LinearNode
from lindiff.core.registry cimport EntryOfOne
from lindiff.core.variable cimport Variable, record
from lindiff.kernels.elementwise cimport is_plain
from lindiff.kernels.loops cimport kind_of
from lindiff.kernels.memory cimport empty

from lindiff.core.registry import add_entry
import lindiff.rules.complex.rules  # what is carried out here  # no-cython-lint

cnp.import_array()

ctypedef fused floating:
    float
    double


cdef inline void widen(floating *out, const floating *y, bint imaginary, Py_ssize_t n) noexcept nogil:
    """``y``, or ``i y``, as pairs of real and imaginary part."""
    cdef Py_ssize_t i
    if imaginary:
        for i in range(n):
            out[2 * i] = 0
            out[2 * i + 1] = y[i]
    else:
        for i in range(n):
            out[2 * i] = y[i]
            out[2 * i + 1] = 0


@cython.no_gc
@cython.final
cdef class Part(LinearNode):
    cdef bint imaginary
    cdef object dtype

    cdef object image(self, object x):
        return np.imag(x) if self.imaginary else np.real(x)

    cdef object adjoint(self, object y_bar):
        cdef cnp.ndarray y, out
        if not is_plain(y_bar) or not cnp.PyArray_IS_C_CONTIGUOUS(<cnp.ndarray>y_bar):
            return (1j * y_bar if self.imaginary else y_bar).astype(self.dtype)
        y = y_bar
        if cnp.PyArray_TYPE(y) == cnp.NPY_DOUBLE:
            out = empty(cnp.PyArray_NDIM(y), cnp.PyArray_DIMS(y), cnp.NPY_CDOUBLE)
            widen[double](<double *>cnp.PyArray_DATA(out), <double *>cnp.PyArray_DATA(y), self.imaginary,
                          cnp.PyArray_SIZE(y))
        else:
            out = empty(cnp.PyArray_NDIM(y), cnp.PyArray_DIMS(y), cnp.NPY_CFLOAT)
            widen[float](<float *>cnp.PyArray_DATA(out), <float *>cnp.PyArray_DATA(y), self.imaginary,
                         cnp.PyArray_SIZE(y))
        return out


cdef class PartEntry(EntryOfOne):
    """Of complex arrays."""

    cdef object recorded(self, Variable z, tuple _):
        cdef Part node
        cdef int kind = kind_of(z._value)
        if kind != cnp.NPY_CDOUBLE and kind != cnp.NPY_CFLOAT:
            return NotImplemented
        node = Part.__new__(Part)
        node.a = z.node
        node.imaginary = self.function is np.imag
        node.dtype = z._value.dtype
        return record(z.node.trace, node, z._value.imag if node.imaginary else z._value.real)


add_entry(np.real, PartEntry(np.real))
add_entry(np.imag, PartEntry(np.imag))
