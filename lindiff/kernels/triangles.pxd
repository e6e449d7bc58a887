"""Plain loops on one row-major matrix: its triangles and its transpose."""

from lindiff.kernels.rowmajor cimport blas_int, floating

cdef blas_int zero_pivot(blas_int n, const floating *L, blas_int ldl) noexcept nogil
cdef void keep_triangle(bint lower, blas_int n, floating *X, blas_int ldx) noexcept nogil
cdef void mirror(bint lower, blas_int n, floating scale, floating *X, blas_int ldx) noexcept nogil
cdef void transpose_into(Py_ssize_t m, Py_ssize_t n, floating alpha, const floating *X, Py_ssize_t ldx,
                         floating *Y, Py_ssize_t ldy) noexcept nogil
