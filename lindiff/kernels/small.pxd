"""Products of matrices that may be tiny: for a 4 x 4 matrix a BLAS call costs several times its arithmetic.

Up to a size they are plain loops, unrolled for a few columns; C, for `restrict` and for counts that the
compiler knows.  Matrices are contiguous, by rows.  Nothing is conjugated, so that results are analytic in
every entry: at complex arguments these products carry derivatives.
"""

from lindiff.kernels.rowmajor cimport blas_int, gemm, gemmt, gemv
from lindiff.kernels.scalar cimport complex64, complex128, scalar
from lindiff.kernels.sizes cimport KALMAN_LOOPS

cdef extern from * nogil:
    """
    #include <complex.h>
    #include <stddef.h>

    #if defined(__GNUC__)
    #define LINDIFF_INLINE static inline __attribute__((always_inline))
    #else
    #define LINDIFF_INLINE static inline
    #endif

    /* C (m, n) = or += ±A B; A (m, k) with its strides, B (k, n) with its strides */
    #define LINDIFF_SMALL_PRODUCT(T, name)                                                            \\
    LINDIFF_INLINE void name##_row(ptrdiff_t k, const ptrdiff_t n, int sign, const T *restrict a,      \\
            ptrdiff_t ac, const T *restrict B, ptrdiff_t br, ptrdiff_t bc, int onto, T *restrict c) {   \\
        T row[8];                                                                                     \\
        for (ptrdiff_t j = 0; j < n; j++) row[j] = onto ? c[j] : 0;                                     \\
        for (ptrdiff_t l = 0; l < k; l++) {                                                           \\
            const T x = sign > 0 ? a[l * ac] : -a[l * ac];                                            \\
            for (ptrdiff_t j = 0; j < n; j++) row[j] += x * B[l * br + j * bc];                         \\
        }                                                                                             \\
        for (ptrdiff_t j = 0; j < n; j++) c[j] = row[j];                                                \\
    }                                                                                                 \\
    LINDIFF_INLINE void name##_rows(ptrdiff_t m, ptrdiff_t k, const ptrdiff_t n, int sign,             \\
            const T *restrict A, ptrdiff_t ar, ptrdiff_t ac, const T *restrict B, ptrdiff_t br,         \\
            const ptrdiff_t bc, int onto, T *restrict C) {                                            \\
        for (ptrdiff_t i = 0; i < m; i++)                                                             \\
            name##_row(k, n, sign, A + i * ar, ac, B, br, bc, onto, C + i * n);                       \\
    }                                                                                                 \\
    LINDIFF_INLINE void name##_vector(ptrdiff_t m, const ptrdiff_t k, int sign, const T *restrict A,     \\
            ptrdiff_t ar, ptrdiff_t ac, const T *restrict b, int onto, T *restrict c) {                 \\
        for (ptrdiff_t i = 0; i < m; i++) {                                                           \\
            T total = onto ? c[i] : 0;                                                                \\
            for (ptrdiff_t l = 0; l < k; l++)                                                         \\
                total += (sign > 0 ? A[i * ar + l * ac] : -A[i * ar + l * ac]) * b[l];                  \\
            c[i] = total;                                                                             \\
        }                                                                                             \\
    }                                                                                                 \\
    static inline void name(ptrdiff_t m, ptrdiff_t k, ptrdiff_t n, int sign, const T *restrict A,      \\
            ptrdiff_t ar, ptrdiff_t ac, const T *restrict B, ptrdiff_t br, ptrdiff_t bc, int onto,      \\
            T *restrict C) {                                                                          \\
        if (n == 1 && br == 1) switch (k) {                                                             \\
            case 1: name##_vector(m, 1, sign, A, ar, ac, B, onto, C); return;                          \\
            case 2: name##_vector(m, 2, sign, A, ar, ac, B, onto, C); return;                          \\
            case 3: name##_vector(m, 3, sign, A, ar, ac, B, onto, C); return;                          \\
            case 4: name##_vector(m, 4, sign, A, ar, ac, B, onto, C); return;                          \\
            case 5: name##_vector(m, 5, sign, A, ar, ac, B, onto, C); return;                          \\
            case 6: name##_vector(m, 6, sign, A, ar, ac, B, onto, C); return;                          \\
        }                                                                                             \\
        if (bc == 1) switch (n) {                                                                     \\
            case 1: name##_rows(m, k, 1, sign, A, ar, ac, B, br, 1, onto, C); return;                  \\
            case 2: name##_rows(m, k, 2, sign, A, ar, ac, B, br, 1, onto, C); return;                  \\
            case 3: name##_rows(m, k, 3, sign, A, ar, ac, B, br, 1, onto, C); return;                  \\
            case 4: name##_rows(m, k, 4, sign, A, ar, ac, B, br, 1, onto, C); return;                  \\
            case 5: name##_rows(m, k, 5, sign, A, ar, ac, B, br, 1, onto, C); return;                  \\
            case 6: name##_rows(m, k, 6, sign, A, ar, ac, B, br, 1, onto, C); return;                  \\
            case 7: name##_rows(m, k, 7, sign, A, ar, ac, B, br, 1, onto, C); return;                  \\
            case 8: name##_rows(m, k, 8, sign, A, ar, ac, B, br, 1, onto, C); return;                  \\
        }                                                                                             \\
        for (ptrdiff_t i = 0; i < m; i++) {                                                           \\
            T *restrict c = C + i * n;                                                                \\
            if (bc != 1) {                                                                            \\
                for (ptrdiff_t j = 0; j < n; j++) {                                                   \\
                    T total = 0;                                                                      \\
                    for (ptrdiff_t l = 0; l < k; l++) total += A[i * ar + l * ac] * B[l * br + j * bc];  \\
                    if (sign < 0) total = -total;                                                     \\
                    c[j] = onto ? c[j] + total : total;                                               \\
                }                                                                                     \\
                continue;                                                                             \\
            }                                                                                         \\
            if (!onto) for (ptrdiff_t j = 0; j < n; j++) c[j] = 0;                                      \\
            for (ptrdiff_t l = 0; l < k; l++) {                                                       \\
                const T x = sign > 0 ? A[i * ar + l * ac] : -A[i * ar + l * ac];                      \\
                for (ptrdiff_t j = 0; j < n; j++) c[j] += x * B[l * br + j];                            \\
            }                                                                                         \\
        }                                                                                             \\
    }

    LINDIFF_SMALL_PRODUCT(float, lindiff_product_s)
    LINDIFF_SMALL_PRODUCT(double, lindiff_product_d)
    LINDIFF_SMALL_PRODUCT(float complex, lindiff_product_c)
    LINDIFF_SMALL_PRODUCT(double complex, lindiff_product_z)
    """
    void lindiff_product_s(Py_ssize_t m, Py_ssize_t k, Py_ssize_t n, int sign, const float *A, Py_ssize_t ar,
                           Py_ssize_t ac, const float *B, Py_ssize_t br, Py_ssize_t bc, int onto, float *C)
    void lindiff_product_d(Py_ssize_t m, Py_ssize_t k, Py_ssize_t n, int sign, const double *A, Py_ssize_t ar,
                           Py_ssize_t ac, const double *B, Py_ssize_t br, Py_ssize_t bc, int onto, double *C)
    void lindiff_product_c(Py_ssize_t m, Py_ssize_t k, Py_ssize_t n, int sign, const complex64 *A,
                           Py_ssize_t ar, Py_ssize_t ac, const complex64 *B, Py_ssize_t br, Py_ssize_t bc,
                           int onto, complex64 *C)
    void lindiff_product_z(Py_ssize_t m, Py_ssize_t k, Py_ssize_t n, int sign, const complex128 *A,
                           Py_ssize_t ar, Py_ssize_t ac, const complex128 *B, Py_ssize_t br, Py_ssize_t bc,
                           int onto, complex128 *C)


cdef inline void matrix_product(int transpose_a, int transpose_b, Py_ssize_t m, Py_ssize_t k, Py_ssize_t n,
                                int sign, const scalar *A, const scalar *B, bint onto,
                                scalar *C) noexcept nogil:
    """C := sign op(A) op(B), or C += that if `onto`: op(A) is (m, k), op(B) (k, n), sign 1 or -1."""
    cdef Py_ssize_t ar = 1 if transpose_a else k, ac = m if transpose_a else 1
    cdef Py_ssize_t br = 1 if transpose_b else n, bc = k if transpose_b else 1
    if m * k * n > KALMAN_LOOPS:
        if scalar is float or scalar is double:
            if n == 1:
                gemv(transpose_a, <blas_int> (k if transpose_a else m), <blas_int> (m if transpose_a else k),
                     <scalar> sign, A, <blas_int> (m if transpose_a else k), B, 1, <scalar> onto, C, 1)
                return
            if m == 1:
                gemv(not transpose_b, <blas_int> (n if transpose_b else k),
                     <blas_int> (k if transpose_b else n), <scalar> sign, B,
                     <blas_int> (k if transpose_b else n), A, 1, <scalar> onto, C, 1)
                return
        gemm(transpose_a, transpose_b, <blas_int> m, <blas_int> n, <blas_int> k, sign, A,
             <blas_int> (m if transpose_a else k), B, <blas_int> (k if transpose_b else n), onto, C,
             <blas_int> n)
    elif scalar is float:
        lindiff_product_s(m, k, n, sign, A, ar, ac, B, br, bc, onto, C)
    elif scalar is double:
        lindiff_product_d(m, k, n, sign, A, ar, ac, B, br, bc, onto, C)
    elif scalar is complex64:
        lindiff_product_c(m, k, n, sign, A, ar, ac, B, br, bc, onto, C)
    else:
        lindiff_product_z(m, k, n, sign, A, ar, ac, B, br, bc, onto, C)


cdef inline void symmetric_product(int transpose_a, int transpose_b, Py_ssize_t n, Py_ssize_t k, int sign,
                                   const scalar *A, const scalar *B, bint onto, scalar *C) noexcept nogil:
    """The same for a C (n, n) that is symmetric: one triangle is computed, and mirrored."""
    cdef Py_ssize_t i, j
    if n * n * k > KALMAN_LOOPS:
        gemmt(True, transpose_a, transpose_b, <blas_int> n, <blas_int> k, sign, A,
              <blas_int> (n if transpose_a else k), B, <blas_int> (k if transpose_b else n), onto, C,
              <blas_int> n)
    else:
        matrix_product(transpose_a, transpose_b, n, k, n, sign, A, B, onto, C)
    for i in range(n):
        for j in range(i):
            C[j * n + i] = C[i * n + j]
