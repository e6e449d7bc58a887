"""Plain matrices: what compiled code asks of them, and copies that are going to be overwritten."""

cimport numpy as cnp
from libc.string cimport memcpy

from lindiff.kernels.elementwise cimport is_plain
from lindiff.kernels.memory cimport copy, empty
from lindiff.kernels.rowmajor cimport floating
from lindiff.kernels.sizes cimport SINGLE_FACTORS


cdef inline Py_ssize_t rows(cnp.ndarray x):
    return cnp.PyArray_DIM(x, cnp.PyArray_NDIM(x) - 2)


cdef inline Py_ssize_t columns(cnp.ndarray x):
    return cnp.PyArray_DIM(x, cnp.PyArray_NDIM(x) - 1)


cdef inline bint are_matrices(object x):
    """Whether ``x`` holds matrices of float32 or float64, in any batch, that have entries."""
    return is_plain(x) and cnp.PyArray_NDIM(<cnp.ndarray>x) >= 2 and cnp.PyArray_SIZE(<cnp.ndarray>x) > 0


cdef inline bint are_squares(object x):
    return are_matrices(x) and rows(<cnp.ndarray>x) == columns(<cnp.ndarray>x)


cdef inline bint are_small_squares(object x):
    """Those of which sharing their factors between operations costs more than factoring again."""
    return are_squares(x) and rows(<cnp.ndarray>x) <= SINGLE_FACTORS


cdef inline bint is_small_square(object x):
    """A single one."""
    return is_plain(x) and cnp.PyArray_NDIM(<cnp.ndarray>x) == 2 \
        and 1 <= rows(<cnp.ndarray>x) <= SINGLE_FACTORS and rows(<cnp.ndarray>x) == columns(<cnp.ndarray>x)


cdef inline void copy_strided(floating *out, const char *x, Py_ssize_t m, Py_ssize_t n,
                              Py_ssize_t row, Py_ssize_t column) noexcept nogil:
    cdef Py_ssize_t i, j
    for i in range(m):
        for j in range(n):
            out[i * n + j] = (<const floating *>(x + i * row + j * column))[0]


cdef inline cnp.ndarray copied(cnp.ndarray x):
    """A C-contiguous copy of plain vectors or matrices."""
    cdef int kind = cnp.PyArray_TYPE(x), axes = cnp.PyArray_NDIM(x)
    if axes > 2 or cnp.PyArray_SIZE(x) > SINGLE_FACTORS * SINGLE_FACTORS:
        return copy(x)
    cdef cnp.ndarray out = empty(axes, cnp.PyArray_DIMS(x), kind)
    if cnp.PyArray_IS_C_CONTIGUOUS(x):
        memcpy(cnp.PyArray_DATA(out), cnp.PyArray_DATA(x), cnp.PyArray_NBYTES(x))
        return out
    cdef Py_ssize_t m = cnp.PyArray_DIM(x, 0), n = 1, row = cnp.PyArray_STRIDE(x, 0), column = 0
    if axes == 2:
        n = cnp.PyArray_DIM(x, 1)
        column = cnp.PyArray_STRIDE(x, 1)
    if kind == cnp.NPY_DOUBLE:
        copy_strided[double](<double *>cnp.PyArray_DATA(out), <char *>cnp.PyArray_DATA(x), m, n, row, column)
    else:
        copy_strided[float](<float *>cnp.PyArray_DATA(out), <char *>cnp.PyArray_DATA(x), m, n, row, column)
    return out


cdef inline cnp.ndarray owned(cnp.ndarray x, bint own):
    """``x`` itself if it may be overwritten and is C-contiguous, else a copy."""
    return x if own and cnp.PyArray_ISCARRAY(x) else copied(x)
