"""LU factors, solve and inverse, on one row-major matrix, in place."""

from lindiff.kernels.rowmajor cimport blas_int, floating

cdef void exchange(Py_ssize_t count, floating *x, floating *y, Py_ssize_t step) noexcept nogil
cdef blas_int getrf_one(blas_int n, floating *A, blas_int lda, blas_int *piv) noexcept nogil
cdef void getrs_one(bint transpose, blas_int n, blas_int k, const floating *LU, blas_int ldlu,
                    const blas_int *piv, floating *B, blas_int ldb) noexcept nogil
cdef void getri_one(blas_int n, floating *LU, blas_int ldlu, const blas_int *piv,
                    floating *work, blas_int lwork) noexcept nogil
