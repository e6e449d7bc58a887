"""Plain loops on the triangles of one square row-major matrix."""

from lindiff.kernels.rowmajor cimport blas_int, floating

cdef blas_int zero_pivot(blas_int n, const floating *L, blas_int ldl) noexcept nogil
cdef void keep_triangle(bint lower, blas_int n, floating *X, blas_int ldx) noexcept nogil
cdef void mirror(bint lower, blas_int n, floating scale, floating *X, blas_int ldx) noexcept nogil
