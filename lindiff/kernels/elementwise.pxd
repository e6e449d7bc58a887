"""Small dense elementwise loops on plain NumPy arrays, for callers that would otherwise pay ufunc overhead.

Every function returns ``None`` where the operands are not its case (other dtype, array subclass, more than
two axes, large); the caller then takes NumPy's own way.
"""

cimport numpy as cnp
from libc.stdint cimport uint64_t
from libc.string cimport memcpy


cdef inline bint is_plain(object x):
    """Exactly an ndarray of float32 or float64 in native byte order, aligned."""
    if not cnp.PyArray_CheckExact(x):
        return False
    cdef int kind = cnp.PyArray_TYPE(<cnp.ndarray>x)
    return (kind == cnp.NPY_DOUBLE or kind == cnp.NPY_FLOAT) and cnp.PyArray_ISBEHAVED_RO(<cnp.ndarray>x)


cdef inline bint has_shape_of(object x, cnp.ndarray like):
    """Whether ``x`` is a plain array of the shape and dtype of ``like``."""
    return is_plain(x) and cnp.PyArray_TYPE(<cnp.ndarray>x) == cnp.PyArray_TYPE(like) \
        and cnp.PyArray_SAMESHAPE(<cnp.ndarray>x, like)


cdef inline bint finite_doubles(const double *x, Py_ssize_t n) noexcept nogil:
    """Whether no exponent is all ones: then adding 1 to it carries into the sign, integers that vectorize."""
    cdef Py_ssize_t i
    cdef uint64_t wide, seen = 0
    for i in range(n):
        memcpy(&wide, &x[i], 8)
        seen |= (wide & <uint64_t>0x7FF0000000000000) + <uint64_t>0x0010000000000000
    return seen >> 63 == 0


cdef inline object if_finite(object x):
    """A contiguous array, or None where a number in it is not finite: NumPy then says so in its own way."""
    if x is None:
        return None
    if cnp.PyArray_TYPE(<cnp.ndarray>x) == cnp.NPY_DOUBLE:
        return x if finite_doubles(
            <double *>cnp.PyArray_DATA(<cnp.ndarray>x), cnp.PyArray_SIZE(<cnp.ndarray>x)) else None
    return x if finite(<cnp.ndarray>x) else None


cdef bint finite(cnp.ndarray x)
cdef object chosen(object y_bar, object of, bint wanted, bint overwrite)
cdef object chain(object y_bar, object partial, bint overwrite_y_bar)
cdef void chain_block(char *out, const char *g, const char *p, Py_ssize_t n, int kind,
                      bint conjugated) noexcept nogil
cdef void chain_number(char *out, const char *g, const char *p, Py_ssize_t n, int kind) noexcept nogil
cdef object chain_complex(object y_bar, object partial, bint conjugated)
cdef object repeated(object y, tuple kept, tuple shape)
cdef object shared_equally(object y_bar, object x, object y, tuple kept)
cdef object filled(tuple shape, object scalar)
cdef object sum_all(object x)
cdef object sum_of_thin(object x, tuple shape)
