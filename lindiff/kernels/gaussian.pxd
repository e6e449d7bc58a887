"""Gaussian log densities and their gradient, on one row-major covariance matrix, in place."""

from lindiff.kernels.rowmajor cimport blas_int, floating

cdef blas_int log_density_one(blas_int n, blas_int m, floating *A, blas_int lda, const floating *noise,
                              floating *R, blas_int ldr, floating *p) noexcept nogil
cdef void log_density_pullback_one(blas_int n, blas_int m, floating *L, blas_int ldl, floating *Z,
                                   blas_int ldz, const floating *p_bar, floating *T) noexcept nogil
