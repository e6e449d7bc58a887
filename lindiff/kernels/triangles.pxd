"""Plain loops on one row-major matrix: its triangles and its transpose."""

cimport numpy as cnp

from lindiff.kernels.rowmajor cimport blas_int
from lindiff.kernels.scalar cimport scalar

cdef bint find_unpaired(bint lower, bint hermitian, Py_ssize_t n, const scalar *A, Py_ssize_t lda,
                        char *found) noexcept nogil
cdef void give_to_unpaired(Py_ssize_t n, scalar *X, Py_ssize_t ldx, const char *found) noexcept nogil
cdef blas_int zero_pivot(blas_int n, const scalar *L, blas_int ldl) noexcept nogil
cdef void keep_triangle(bint lower, blas_int n, scalar *X, blas_int ldx) noexcept nogil
cdef void mirror(bint lower, blas_int n, double scale, scalar *X, blas_int ldx) noexcept nogil
cdef void mirror_symmetric(bint lower, blas_int n, scalar *X, blas_int ldx) noexcept nogil
cdef void transpose_into(Py_ssize_t m, Py_ssize_t n, scalar alpha, const scalar *X, Py_ssize_t ldx,
                         scalar *Y, Py_ssize_t ldy) noexcept nogil
cdef void transpose_square(Py_ssize_t n, scalar *X, Py_ssize_t ldx) noexcept nogil
cdef object unpaired_in(bint lower, cnp.ndarray A)
