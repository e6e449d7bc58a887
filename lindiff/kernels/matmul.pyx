"""Products of two matrices or vectors, whatever their strides, onto new or given memory.

For 4 x 4 matrices the arithmetic is 64 multiplications; a BLAS call, and more so NumPy's way to it, costs
several times that, so small products are plain loops.  Large ones go to the BLAS that all kernels use: two
libraries, each with its own threads that wait busily, would fight for the cores.  Functions answer None where
the operands are not their case.
"""

cimport numpy as cnp

from lindiff.kernels.elementwise cimport is_plain
from lindiff.kernels.memory cimport empty
from lindiff.kernels.rowmajor cimport ADJOINT, PLAIN, TRANSPOSE, blas_int, dot, gemm, gemv
from lindiff.kernels.sizes cimport MATMUL_LOOPS, OF_THREADS

import numpy as np

cnp.import_array()

ctypedef fused floating:
    float
    double

# Matrices of up to four rows and columns, in loops that the compiler unrolls: z = x y in the order of
# `strided_product`, with the rows of y in one piece, or not.  Where x and y lie by rows (R) or by columns (C)
# without gaps, their strides are known as well, and addresses take no arithmetic.
cdef extern from *:
    """
    #include <stddef.h>

    #define FOUR_BY_ROWS(M, K, N, ZR, XR, XC, YR)                                                           \\
        double t[N]; int i, j, p;                                                                           \\
        for (i = 0; i < M; i++) {                                                                           \\
            for (j = 0; j < N; j++) t[j] = x[i * (XR)] * y[j];                                              \\
            for (p = 1; p < K; p++)                                                                         \\
                for (j = 0; j < N; j++) t[j] += x[i * (XR) + p * (XC)] * y[p * (YR) + j];                   \\
            for (j = 0; j < N; j++) z[i * (ZR) + j] = t[j];                                                 \\
        }
    #define FOUR_BY_ANY(M, K, N, ZR, XR, XC, YR, YC)                                                        \\
        double t[N]; int i, j, p;                                                                           \\
        for (i = 0; i < M; i++) {                                                                           \\
            for (j = 0; j < N; j++) t[j] = 0;                                                               \\
            for (p = 0; p < K; p++)                                                                         \\
                for (j = 0; j < N; j++) t[j] += x[i * (XR) + p * (XC)] * y[p * (YR) + j * (YC)];            \\
            for (j = 0; j < N; j++) z[i * (ZR) + j] = t[j];                                                 \\
        }
    #define FOUR_NUMBERS(a)                                                                                 \\
        const double *__restrict x = (double *)(a)[0], *__restrict y = (double *)(a)[1];                    \\
        double *__restrict z = (double *)(a)[2]; (void)state;

    #define FOUR_PRODUCT(M, K, N)                                                                           \\
        static void rows_##M##K##N(double *z, ptrdiff_t zr, const double *x, ptrdiff_t xr, ptrdiff_t xc,    \\
                                   const double *y, ptrdiff_t yr, ptrdiff_t yc) {                           \\
            FOUR_BY_ROWS(M, K, N, zr, xr, xc, yr) }                                                         \\
        static void any_##M##K##N(double *z, ptrdiff_t zr, const double *x, ptrdiff_t xr, ptrdiff_t xc,     \\
                                  const double *y, ptrdiff_t yr, ptrdiff_t yc) {                            \\
            FOUR_BY_ANY(M, K, N, zr, xr, xc, yr, yc) }                                                      \\
        static int RR_##M##K##N(const void *state, char **a) {                                              \\
            FOUR_NUMBERS(a)                                                                                 \\
            if (N > 1) { FOUR_BY_ROWS(M, K, N, N, K, 1, N) }                                                \\
            else { FOUR_BY_ANY(M, K, N, N, K, 1, N, 1) }                                                    \\
            return 0; }                                                                                     \\
        static int CR_##M##K##N(const void *state, char **a) {                                              \\
            FOUR_NUMBERS(a)                                                                                 \\
            if (N > 1) { FOUR_BY_ROWS(M, K, N, N, 1, M, N) }                                                \\
            else { FOUR_BY_ANY(M, K, N, N, 1, M, N, 1) }                                                    \\
            return 0; }                                                                                     \\
        static int RC_##M##K##N(const void *state, char **a) {                                              \\
            FOUR_NUMBERS(a) FOUR_BY_ANY(M, K, N, N, K, 1, 1, K) return 0; }                                 \\
        static int CC_##M##K##N(const void *state, char **a) {                                              \\
            FOUR_NUMBERS(a) FOUR_BY_ANY(M, K, N, N, 1, M, 1, K) return 0; }
    #define FOUR_COLUMNS(M, K)                                                                              \\
        FOUR_PRODUCT(M, K, 1) FOUR_PRODUCT(M, K, 2) FOUR_PRODUCT(M, K, 3) FOUR_PRODUCT(M, K, 4)
    #define FOUR_DEPTHS(M) FOUR_COLUMNS(M, 1) FOUR_COLUMNS(M, 2) FOUR_COLUMNS(M, 3) FOUR_COLUMNS(M, 4)
    FOUR_DEPTHS(1) FOUR_DEPTHS(2) FOUR_DEPTHS(3) FOUR_DEPTHS(4)

    typedef void (*few_product)(double *, ptrdiff_t, const double *, ptrdiff_t, ptrdiff_t,
                                const double *, ptrdiff_t, ptrdiff_t);
    typedef int (*lying_product)(const void *, char **);
    #define FOUR_NAMES(KIND, M, K) {KIND##_##M##K##1, KIND##_##M##K##2, KIND##_##M##K##3, KIND##_##M##K##4}
    #define FOUR_TABLES(KIND, M)                                                                            \\
        {FOUR_NAMES(KIND, M, 1), FOUR_NAMES(KIND, M, 2), FOUR_NAMES(KIND, M, 3), FOUR_NAMES(KIND, M, 4)}
    #define FOUR_TABLE(KIND)                                                                                \\
        {FOUR_TABLES(KIND, 1), FOUR_TABLES(KIND, 2), FOUR_TABLES(KIND, 3), FOUR_TABLES(KIND, 4)}
    static const few_product few_products[2][4][4][4] = {FOUR_TABLE(any), FOUR_TABLE(rows)};
    static const lying_product lying_products[2][2][4][4][4] = {
        {FOUR_TABLE(RR), FOUR_TABLE(RC)}, {FOUR_TABLE(CR), FOUR_TABLE(CC)}};
    """
    ctypedef void (*few_product)(double *, Py_ssize_t, const double *, Py_ssize_t, Py_ssize_t,
                                 const double *, Py_ssize_t, Py_ssize_t) noexcept nogil
    few_product few_products[2][4][4][4]
    LyingProduct lying_products[2][2][4][4][4]

cdef enum:
    FEW_ROWS = 4


cdef inline void transpose(Frame *f) noexcept nogil:
    f.rows, f.columns = f.columns, f.rows
    f.row, f.column = f.column, f.row


cdef inline void matrix_frame(cnp.ndarray x, int kind, bint vector_is_row, Frame *f) noexcept:
    cdef Py_ssize_t size = cnp.PyArray_ITEMSIZE(x)
    f.data = cnp.PyArray_DATA(x)
    if cnp.PyArray_NDIM(x) == 2:
        f.rows = cnp.PyArray_DIM(x, 0)
        f.columns = cnp.PyArray_DIM(x, 1)
        f.row = cnp.PyArray_STRIDE(x, 0) // size
        f.column = cnp.PyArray_STRIDE(x, 1) // size
        return
    f.rows = cnp.PyArray_DIM(x, 0)
    f.columns = 1
    f.row = cnp.PyArray_STRIDE(x, 0) // size
    f.column = 0
    if vector_is_row:
        transpose(f)


cdef inline void strided_product(floating *out, Py_ssize_t zr, Py_ssize_t zc, const floating *x,
                                 Py_ssize_t xr, Py_ssize_t xc, const floating *y, Py_ssize_t yr,
                                 Py_ssize_t yc, Py_ssize_t m, Py_ssize_t k, Py_ssize_t n,
                                 bint onto) noexcept nogil:
    """out = x y, or out += x y if ``onto``; strides in elements."""
    cdef Py_ssize_t i, j, p
    cdef floating total
    if yc == 1 and zc == 1 and n > 1 and k > 0:
        for i in range(m):
            total = x[i * xr]
            if onto:
                for j in range(n):
                    out[i * zr + j] += total * y[j]
            else:
                for j in range(n):
                    out[i * zr + j] = total * y[j]
            for p in range(1, k):
                total = x[i * xr + p * xc]
                for j in range(n):
                    out[i * zr + j] += total * y[p * yr + j]
        return
    for i in range(m):
        for j in range(n):
            total = 0
            for p in range(k):
                total += x[i * xr + p * xc] * y[p * yr + j * yc]
            if onto:
                out[i * zr + j * zc] += total
            else:
                out[i * zr + j * zc] = total


cdef inline bint is_few(const Frame *z, const Frame *x) noexcept nogil:
    """Whether a product is of matrices of up to four rows and columns."""
    return 0 < x.rows <= FEW_ROWS and 0 < x.columns <= FEW_ROWS and 0 < z.columns <= FEW_ROWS


cdef inline int order_of(const Frame *f) noexcept nogil:
    """0 of a matrix that lies by rows without gaps, 1 by columns, else -1; by rows where it is both."""
    if (f.column == 1 or f.columns == 1) and (f.row == f.columns or f.rows == 1):
        return 0
    if (f.row == 1 or f.rows == 1) and (f.column == f.rows or f.columns == 1):
        return 1
    return -1


cdef LyingProduct lying_product_of(const Frame *z, const Frame *x, const Frame *y) noexcept nogil:
    """What multiplies matrices of this kind as `product_of` does, given the addresses of x, y and z, which do
    not overlap; NULL of others."""
    cdef int of_x = order_of(x), of_y = order_of(y)
    if not is_few(z, x) or of_x < 0 or of_y < 0 or order_of(z) != 0:
        return NULL
    if z.columns > 1 and (y.column == 1) != (of_y == 0):  # another order of sums
        return NULL
    return lying_products[of_x][of_y][x.rows - 1][x.columns - 1][z.columns - 1]


cdef inline bint few_rows(Frame *z, Frame *x, Frame *y) noexcept nogil:
    """``z = x y`` of matrices of up to four rows and columns; False of others."""
    cdef bint by_rows = y.column == 1 and z.columns > 1
    if not is_few(z, x) or (z.column != 1 and z.columns > 1):
        return False
    few_products[by_rows][x.rows - 1][x.columns - 1][z.columns - 1](
        <double *>z.data, z.row, <double *>x.data, x.row, x.column, <double *>y.data, y.row, y.column)
    return True


cdef void product_of(Frame *z, Frame *x, Frame *y, int kind, bint onto) noexcept nogil:
    if kind == cnp.NPY_DOUBLE and not onto and few_rows(z, x, y):
        return
    if kind == cnp.NPY_DOUBLE:
        strided_product[double](<double *>z.data, z.row, z.column, <double *>x.data, x.row, x.column,
                                <double *>y.data, y.row, y.column, x.rows, x.columns, y.columns, onto)
    else:
        strided_product[float](<float *>z.data, z.row, z.column, <float *>x.data, x.row, x.column,
                               <float *>y.data, y.row, y.column, x.rows, x.columns, y.columns, onto)


cdef inline bint stored_by_rows(Frame *f, blas_int *ld) noexcept nogil:
    """Whether the elements of a row are neighbours; ``ld`` is then the distance of rows."""
    ld[0] = <blas_int>(f.row if f.rows > 1 else max(f.columns, 1))
    return (f.column == 1 or f.columns == 1) and (f.rows <= 1 or f.row >= max(f.columns, 1))


cdef bint matrix_times_vector(Frame *z, Frame *x, Frame *y, int kind, bint onto) noexcept nogil:
    """``z = x y`` or ``z += x y`` for a vector y through BLAS; False where x is stored neither way."""
    cdef blas_int ld, incy = <blas_int>y.row, incz = <blas_int>z.row
    cdef Frame xt = x[0]
    cdef bint transpose_x = False
    if y.row <= 0 or z.row <= 0 or max(y.row, z.row) > 0x7fffffff:
        return False
    if not stored_by_rows(&xt, &ld):
        transpose(&xt)
        transpose_x = True
        if not stored_by_rows(&xt, &ld):
            return False
    if kind == cnp.NPY_DOUBLE:
        gemv[double](transpose_x, <blas_int>xt.rows, <blas_int>xt.columns, 1, <double *>xt.data, ld,
                     <double *>y.data, incy, <double>onto, <double *>z.data, incz)
    else:
        gemv[float](transpose_x, <blas_int>xt.rows, <blas_int>xt.columns, 1, <float *>xt.data, ld,
                    <float *>y.data, incy, <float>onto, <float *>z.data, incz)
    return True


cdef bint long_dot(Frame *z, Frame *x, Frame *y, int kind, bint onto) noexcept nogil:
    """The same for a row and a column; False where their elements are no neighbours."""
    cdef blas_int n = <blas_int>x.columns
    cdef double *wide = <double *>z.data
    cdef float *narrow = <float *>z.data
    if x.column != 1 or y.row != 1:
        return False
    if kind == cnp.NPY_DOUBLE:
        wide[0] = (wide[0] if onto else 0) + dot[double](n, <double *>x.data, <double *>y.data)
    else:
        narrow[0] = (narrow[0] if onto else 0) + dot[float](n, <float *>x.data, <float *>y.data)
    return True


cdef bint large_product(Frame *z, Frame *x, Frame *y, int kind, bint onto) noexcept nogil:
    """The same through BLAS; False where an operand is stored neither by rows nor by columns."""
    cdef blas_int ldx, ldy, ldz, m = <blas_int>z.rows, n = <blas_int>z.columns, k = <blas_int>x.columns
    cdef bint transpose_x = False, transpose_y = False
    cdef Frame xt = x[0], yt = y[0], zt = z[0]
    if max(z.rows, z.columns, x.columns) > 0x7fffffff:
        return False
    if z.rows == 1 and z.columns == 1:
        return long_dot(z, x, y, kind, onto)
    if z.columns == 1:
        return matrix_times_vector(z, x, y, kind, onto)
    if z.rows == 1:
        transpose(&xt)
        transpose(&yt)
        transpose(&zt)
        return matrix_times_vector(&zt, &yt, &xt, kind, onto)
    if not stored_by_rows(z, &ldz):  # zᵀ = yᵀ xᵀ
        transpose(&zt)
        if not stored_by_rows(&zt, &ldz):
            return False
        transpose(&xt)
        transpose(&yt)
        return large_product(&zt, &yt, &xt, kind, onto)
    if not stored_by_rows(&xt, &ldx):
        transpose(&xt)
        transpose_x = True
        if not stored_by_rows(&xt, &ldx):
            return False
    if not stored_by_rows(&yt, &ldy):
        transpose(&yt)
        transpose_y = True
        if not stored_by_rows(&yt, &ldy):
            return False
    if kind == cnp.NPY_DOUBLE:
        gemm[double](transpose_x, transpose_y, m, n, k, 1, <double *>xt.data, ldx, <double *>yt.data, ldy,
                     <double>onto, <double *>zt.data, ldz)
    else:
        gemm[float](transpose_x, transpose_y, m, n, k, 1, <float *>xt.data, ldx, <float *>yt.data, ldy,
                    <float>onto, <float *>zt.data, ldz)
    return True


cdef inline bint any_product(Frame *z, Frame *x, Frame *y, int kind, bint onto) noexcept:
    cdef bint done
    if x.rows * x.columns * y.columns > MATMUL_LOOPS:
        with nogil:
            done = large_product(z, x, y, kind, onto)
        return done
    product_of(z, x, y, kind, onto)
    return True


cdef object matmul(object x, object y):
    """``x @ y`` for plain arrays of one or two axes."""
    cdef Frame left, right, result
    cdef int axes_x, axes_y, axes = 0, kind
    cdef cnp.npy_intp shape[2]
    cdef cnp.ndarray out
    if not is_plain(x) or not is_plain(y):
        return None
    kind = cnp.PyArray_TYPE(<cnp.ndarray>x)
    axes_x = cnp.PyArray_NDIM(<cnp.ndarray>x)
    axes_y = cnp.PyArray_NDIM(<cnp.ndarray>y)
    if cnp.PyArray_TYPE(<cnp.ndarray>y) != kind or not 1 <= axes_x <= 2 or not 1 <= axes_y <= 2:
        return None
    matrix_frame(x, kind, True, &left)
    matrix_frame(y, kind, False, &right)
    if left.columns != right.rows:
        return None
    if axes_x == 2:
        shape[axes] = left.rows
        axes += 1
    if axes_y == 2:
        shape[axes] = right.columns
        axes += 1
    out = empty(axes, shape, kind)
    result.data = cnp.PyArray_DATA(out)
    result.rows = left.rows
    result.columns = right.columns
    result.row = right.columns
    result.column = 1
    return out if any_product(&result, &left, &right, kind, False) else None


ctypedef fused complexes:
    float complex
    double complex


cdef inline void complex_product(complexes *out, const complexes *x, Py_ssize_t xr, Py_ssize_t xc,
                                 bint conjugate_x, const complexes *y, Py_ssize_t yr, Py_ssize_t yc,
                                 bint conjugate_y, Py_ssize_t m, Py_ssize_t k, Py_ssize_t n) noexcept nogil:
    cdef Py_ssize_t i, j, p
    cdef complexes total, factor, other
    for i in range(m):
        for j in range(n):
            total = 0
            for p in range(k):
                factor = x[i * xr + p * xc]
                other = y[p * yr + j * yc]
                total += (factor.conjugate() if conjugate_x else factor) \
                    * (other.conjugate() if conjugate_y else other)
            out[i * n + j] = total


cdef inline bint of_few_complex(object x, int kind):
    """Whether this is a plain complex vector or matrix of the type ``kind`` whose strides count elements."""
    cdef int k
    if not cnp.PyArray_CheckExact(x) or cnp.PyArray_TYPE(<cnp.ndarray>x) != kind \
            or not cnp.PyArray_ISBEHAVED_RO(<cnp.ndarray>x) or not 1 <= cnp.PyArray_NDIM(<cnp.ndarray>x) <= 2:
        return False
    for k in range(cnp.PyArray_NDIM(<cnp.ndarray>x)):
        if cnp.PyArray_STRIDE(<cnp.ndarray>x, k) % cnp.PyArray_ITEMSIZE(<cnp.ndarray>x) != 0:
            return False
    return True


cdef inline int stored_as(Frame *f, bint adjoint, blas_int *ld) noexcept:
    """How BLAS gets a complex matrix, or its adjoint; -1 where it does not know that."""
    cdef Frame turned = f[0]
    if stored_by_rows(f, ld):
        return ADJOINT if adjoint else PLAIN
    transpose(&turned)
    return TRANSPOSE if not adjoint and stored_by_rows(&turned, ld) else -1


cdef bint large_complex_product(void *out, Frame x, Frame y, bint adjoint_x, bint adjoint_y,
                                int kind) noexcept:
    """``out = x y`` through BLAS; False where it does not know how an operand is stored."""
    cdef blas_int ldx, ldy, m, n, k
    cdef int of_x = stored_as(&x, adjoint_x, &ldx), of_y = stored_as(&y, adjoint_y, &ldy)
    if of_x < 0 or of_y < 0 or max(x.rows, x.columns, y.rows, y.columns) > 0x7fffffff:
        return False
    m = <blas_int>(x.columns if adjoint_x else x.rows)
    k = <blas_int>(x.rows if adjoint_x else x.columns)
    n = <blas_int>(y.rows if adjoint_y else y.columns)
    with nogil:
        if kind == cnp.NPY_CDOUBLE:
            gemm["double complex"](of_x, of_y, m, n, k, 1, <double complex *>x.data, ldx,
                                   <double complex *>y.data, ldy, 0, <double complex *>out, n)
        else:
            gemm["float complex"](of_x, of_y, m, n, k, 1, <float complex *>x.data, ldx,
                                  <float complex *>y.data, ldy, 0, <float complex *>out, n)
    return True


cdef object complex_matmul(object x, object y, bint adjoint_x, bint adjoint_y):
    """``x @ y`` for complex numbers, or with the adjoint of a matrix in place of it; many only of two
    matrices."""
    cdef Frame left, right, x_frame, y_frame
    cdef int kind, axes = 0
    cdef cnp.npy_intp shape[2]
    cdef cnp.ndarray out
    if not cnp.PyArray_CheckExact(x):
        return None
    kind = cnp.PyArray_TYPE(<cnp.ndarray>x)
    if kind != cnp.NPY_CDOUBLE and kind != cnp.NPY_CFLOAT or not of_few_complex(x, kind) \
            or not of_few_complex(y, kind):
        return None
    matrix_frame(x, kind, True, &left)
    matrix_frame(y, kind, False, &right)
    x_frame = left
    y_frame = right
    if adjoint_x:
        transpose(&left)
    if adjoint_y:
        transpose(&right)
    if left.columns != right.rows:
        return None
    if left.rows * left.columns * right.columns > MATMUL_LOOPS:
        if cnp.PyArray_NDIM(<cnp.ndarray>x) < 2 or cnp.PyArray_NDIM(<cnp.ndarray>y) < 2:
            return None
        shape[0] = left.rows
        shape[1] = right.columns
        out = empty(2, shape, kind)
        return out if large_complex_product(
            cnp.PyArray_DATA(out), x_frame, y_frame, adjoint_x, adjoint_y, kind) else None
    if cnp.PyArray_NDIM(<cnp.ndarray>x) == 2:
        shape[axes] = left.rows
        axes += 1
    if cnp.PyArray_NDIM(<cnp.ndarray>y) == 2:
        shape[axes] = right.columns
        axes += 1
    out = cnp.PyArray_EMPTY(axes, shape, kind, 0)
    if kind == cnp.NPY_CDOUBLE:
        complex_product["double complex"](
            <double complex *>cnp.PyArray_DATA(out), <double complex *>left.data, left.row, left.column,
            adjoint_x, <double complex *>right.data, right.row, right.column, adjoint_y, left.rows,
            left.columns, right.columns)
    else:
        complex_product["float complex"](
            <float complex *>cnp.PyArray_DATA(out), <float complex *>left.data, left.row, left.column,
            adjoint_x, <float complex *>right.data, right.row, right.column, adjoint_y, left.rows,
            left.columns, right.columns)
    return out


cdef object stacked_matmul(object x, object y, bint transpose_x, bint transpose_y):
    """``x @ y`` for plain stacks of small matrices, contiguous and of one shape but for the last two axes; or
    with matrices transposed."""
    cdef Frame left, right, result
    cdef cnp.npy_intp shape[32]
    cdef cnp.ndarray a, b, out
    cdef int axes, kind, k
    cdef Py_ssize_t count = 1, size, step_x, step_y, step, _i
    if not is_plain(x) or not is_plain(y):
        return None
    a = x
    b = y
    kind = cnp.PyArray_TYPE(a)
    axes = cnp.PyArray_NDIM(a)
    if cnp.PyArray_TYPE(b) != kind or not 3 <= axes <= 32 or cnp.PyArray_NDIM(b) != axes \
            or not cnp.PyArray_IS_C_CONTIGUOUS(a) or not cnp.PyArray_IS_C_CONTIGUOUS(b):
        return None
    for k in range(axes - 2):
        shape[k] = cnp.PyArray_DIM(a, k)
        if cnp.PyArray_DIM(b, k) != shape[k]:
            return None
        count *= shape[k]
    whole(a, &left)
    whole(b, &right)
    size = cnp.PyArray_ITEMSIZE(a)
    step_x = left.rows * left.columns * size
    step_y = right.rows * right.columns * size
    if transpose_x:
        transpose(&left)
    if transpose_y:
        transpose(&right)
    if left.columns != right.rows or left.rows * left.columns * right.columns > MATMUL_LOOPS:
        return None
    shape[axes - 2] = result.rows = left.rows
    shape[axes - 1] = result.columns = result.row = right.columns
    result.column = 1
    step = result.rows * result.columns * size
    out = empty(axes, shape, kind)
    result.data = cnp.PyArray_DATA(out)
    with nogil:
        for _i in range(count):
            product_of(&result, &left, &right, kind, False)
            left.data = <char *>left.data + step_x
            right.data = <char *>right.data + step_y
            result.data = <char *>result.data + step
    return out


cdef inline void whole(cnp.ndarray x, Frame *f) noexcept:
    """The first matrix of a contiguous stack."""
    cdef int axes = cnp.PyArray_NDIM(x)
    f.data = cnp.PyArray_DATA(x)
    f.rows = cnp.PyArray_DIM(x, axes - 2)
    f.columns = f.row = cnp.PyArray_DIM(x, axes - 1)
    f.column = 1


cdef object add_product(object total, object x, object y, bint transpose_x, bint transpose_y):
    """``total += op(x) op(y)`` in place; a vector is the row or column that makes the shapes fit.

    With ``total`` None a new matrix.
    """
    cdef Frame left, right, result
    cdef int kind
    cdef cnp.npy_intp shape[2]
    cdef cnp.ndarray out
    if not is_plain(x) or not is_plain(y):
        return None
    kind = cnp.PyArray_TYPE(<cnp.ndarray>x)
    if cnp.PyArray_TYPE(<cnp.ndarray>y) != kind:
        return None
    matrix_frame(x, kind, False, &left)
    matrix_frame(y, kind, False, &right)
    if transpose_x:
        transpose(&left)
    if transpose_y:
        transpose(&right)
    if left.columns != right.rows:
        return None
    if total is None:
        shape[0] = left.rows
        shape[1] = right.columns
        out = empty(2, shape, kind)
        matrix_frame(out, kind, False, &result)
        return out if any_product(&result, &left, &right, kind, False) else None
    out = total
    if not is_plain(out) or cnp.PyArray_TYPE(out) != kind or not cnp.PyArray_ISWRITEABLE(out) \
            or not 1 <= cnp.PyArray_NDIM(out) <= 2:
        return None
    matrix_frame(out, kind, left.rows == 1 and right.columns != 1, &result)
    if result.rows != left.rows or result.columns != right.columns:
        return None
    return out if any_product(&result, &left, &right, kind, True) else None


cdef object sum_of_products(object x, object y):
    """``sum(x * y)`` of two C-contiguous plain arrays of one shape and dtype, as a Python float."""
    if not is_plain(x) or not is_plain(y):
        return None
    cdef cnp.ndarray a = x, b = y
    cdef blas_int n
    if cnp.PyArray_TYPE(a) != cnp.PyArray_TYPE(b) or not cnp.PyArray_SAMESHAPE(a, b) \
            or not cnp.PyArray_IS_C_CONTIGUOUS(a) or not cnp.PyArray_IS_C_CONTIGUOUS(b) \
            or cnp.PyArray_SIZE(a) > 0x7fffffff:
        return None
    n = <blas_int>cnp.PyArray_SIZE(a)
    if cnp.PyArray_TYPE(a) == cnp.NPY_DOUBLE:
        return dot[double](n, <double *>cnp.PyArray_DATA(a), <double *>cnp.PyArray_DATA(b))
    return dot[float](n, <float *>cnp.PyArray_DATA(a), <float *>cnp.PyArray_DATA(b))


def product(x, y, *others):
    """``x @ y @ ...``, of plain matrices and vectors by the BLAS that all kernels use.

    What computes with plain arrays beside kernels takes it: NumPy's own BLAS has threads that wait busily for
    some 20 ms after a product, and kernels then wait for theirs.

    Examples
    --------
    >>> import numpy as np
    >>> product(np.eye(2), np.ones(2))
    array([1., 1.])
    """
    z = matmul(x, y)
    if z is None:
        z = complex_matmul(x, y, False, False)
    if z is None:
        z = stacked_matmul(x, y, False, False)
    if z is None and are_of_blas(x, y):
        z = other_product(x, y)
    z = x @ y if z is None else z[()]  # numbers, of vectors
    return product(z, *others) if others else z


cdef inline bint are_of_blas(object x, object y):
    """Whether both are matrices, or stacks of them, of numbers that BLAS knows."""
    return cnp.PyArray_CheckExact(x) and cnp.PyArray_CheckExact(y) and cnp.PyArray_NDIM(x) >= 2 \
        and cnp.PyArray_NDIM(y) >= 2 and (<cnp.ndarray>x).dtype.char in "fdFD" \
        and (<cnp.ndarray>y).dtype.char in "fdFD"


cdef object other_product(cnp.ndarray x, cnp.ndarray y):
    """``x @ y`` of matrices of two types of numbers, and of stacks of large ones, one after the other."""
    if x.shape[x.ndim - 1] != y.shape[y.ndim - 2] \
            or x.shape[x.ndim - 2] * x.shape[x.ndim - 1] * y.shape[y.ndim - 1] < OF_THREADS:
        return None
    if cnp.PyArray_TYPE(x) != cnp.PyArray_TYPE(y):
        dtype = np.result_type(x, y)
        return product(x.astype(dtype, copy=False), y.astype(dtype, copy=False))
    if x.ndim == y.ndim == 2:
        return None
    batch = np.broadcast_shapes(np.shape(x)[:-2], np.shape(y)[:-2])
    z = np.empty((*batch, x.shape[x.ndim - 2], y.shape[y.ndim - 1]), x.dtype)
    left = np.broadcast_to(x, (*batch, *np.shape(x)[-2:]))
    right = np.broadcast_to(y, (*batch, *np.shape(y)[-2:]))
    for index in np.ndindex(*batch):
        z[index] = product(left[index], right[index])
    return z
