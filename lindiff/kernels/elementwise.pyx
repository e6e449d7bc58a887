"""Small dense elementwise loops on plain NumPy arrays (see elementwise.pxd)."""

cimport numpy as cnp
from cpython.float cimport PyFloat_AS_DOUBLE, PyFloat_CheckExact
from cpython.long cimport PyLong_AsLongLong, PyLong_CheckExact
from libc.math cimport fabs
from libc.stdint cimport uint32_t, uint64_t
from libc.string cimport memcpy

from lindiff.kernels.memory cimport copy, empty
from lindiff.kernels.sizes cimport CHAIN_UNDER_GIL, THIN_COLUMNS, UFUNC_LOOPS

cnp.import_array()

ctypedef fused floating:
    float
    double

cdef double LARGEST = 1.7976931348623157e308
cdef float LARGEST_FLOAT = 3.4028234663852886e38


cdef inline bint same_shape(cnp.ndarray x, cnp.ndarray y):
    cdef int axes = cnp.PyArray_NDIM(x), k
    if axes != cnp.PyArray_NDIM(y):
        return False
    for k in range(axes):
        if cnp.PyArray_DIM(x, k) != cnp.PyArray_DIM(y, k):
            return False
    return True


cdef inline bint python_number(object x, int kind, double *value):
    """A Python float or int: NumPy's weak scalars, which take the array's dtype (and warn where it is too
    large for that)."""
    if PyFloat_CheckExact(x):
        value[0] = PyFloat_AS_DOUBLE(x)
        return kind == cnp.NPY_DOUBLE or fabs(value[0]) <= LARGEST_FLOAT
    if PyLong_CheckExact(x) and -(1 << 53) <= x <= (1 << 53):
        value[0] = <double>PyLong_AsLongLong(x)
        return True
    return False


cdef inline bint all_finite(const floating *x, Py_ssize_t n) noexcept nogil:
    """Whether all numbers are finite, of either precision."""
    cdef Py_ssize_t i
    cdef uint32_t narrow, seen = 0
    if floating is double:
        return finite_doubles(x, n)
    for i in range(n):
        memcpy(&narrow, &x[i], 4)
        seen |= (narrow & <uint32_t>0x7F800000) + <uint32_t>0x00800000
    return seen >> 31 == 0


cdef bint finite(cnp.ndarray x):
    """Whether all numbers in a contiguous array are finite; of real, complex or truth values."""
    cdef int kind = cnp.PyArray_TYPE(x)
    cdef Py_ssize_t n = cnp.PyArray_SIZE(x)
    if kind == cnp.NPY_DOUBLE or kind == cnp.NPY_CDOUBLE:
        return all_finite(<double *>cnp.PyArray_DATA(x), n if kind == cnp.NPY_DOUBLE else 2 * n)
    if kind == cnp.NPY_FLOAT or kind == cnp.NPY_CFLOAT:
        return all_finite(<float *>cnp.PyArray_DATA(x), n if kind == cnp.NPY_FLOAT else 2 * n)
    return True


cdef inline void chain_row(floating *out, const floating *g, const floating *p, Py_ssize_t stride,
                           Py_ssize_t n) noexcept nogil:
    cdef Py_ssize_t i
    cdef floating q
    if stride == 1:
        for i in range(n):
            out[i] = 0 if (g[i] == 0) | (p[i] == 0) else g[i] * p[i]
    else:
        q = p[0]
        for i in range(n):
            out[i] = 0 if (g[i] == 0) | (q == 0) else g[i] * q


cdef inline void choose_row(floating *out, const floating *g, const char *mask, bint wanted,
                            Py_ssize_t n) noexcept nogil:
    """By the bits: a mask may be as good as random, and then each branch costs more than the number."""
    cdef Py_ssize_t i
    cdef uint64_t wide
    cdef uint32_t narrow
    for i in range(n):
        if floating is double:
            memcpy(&wide, &g[i], 8)
            wide &= -<uint64_t>((mask[i] != 0) == wanted)
            memcpy(&out[i], &wide, 8)
        else:
            memcpy(&narrow, &g[i], 4)
            narrow &= -<uint32_t>((mask[i] != 0) == wanted)
            memcpy(&out[i], &narrow, 4)


cdef object chosen(object y_bar, object of, bint wanted, bint overwrite):
    """``y_bar`` where the mask is as ``wanted``, 0 elsewhere, for contiguous plain arrays of one shape."""
    if not is_plain(y_bar) or not cnp.PyArray_CheckExact(of):
        return None
    cdef cnp.ndarray g = y_bar, mask = of
    cdef int kind = cnp.PyArray_TYPE(g)
    cdef Py_ssize_t n = cnp.PyArray_SIZE(g)
    if not same_shape(g, mask) or not cnp.PyArray_IS_C_CONTIGUOUS(mask) \
            or not cnp.PyArray_IS_C_CONTIGUOUS(g) or cnp.PyArray_TYPE(mask) != cnp.NPY_BOOL:
        return None
    cdef cnp.ndarray out = g
    if not overwrite or not cnp.PyArray_ISWRITEABLE(g):
        out = empty(cnp.PyArray_NDIM(g), cnp.PyArray_DIMS(g), kind)
    cdef char *which = <char *>cnp.PyArray_DATA(mask)
    if kind == cnp.NPY_DOUBLE:
        choose_row[double](<double *>cnp.PyArray_DATA(out), <double *>cnp.PyArray_DATA(g), which, wanted, n)
    else:
        choose_row[float](<float *>cnp.PyArray_DATA(out), <float *>cnp.PyArray_DATA(g), which, wanted, n)
    return out


cdef object chain(object y_bar, object partial, bint overwrite_y_bar):
    """``y_bar * partial`` with 0 * inf = 0, elementwise on a plain array of any size.

    ``partial`` has the dtype of ``y_bar`` and its shape, or that of its last axes; or it is a mask of its
    shape, or one number.
    """
    if not is_plain(y_bar):
        return None
    cdef cnp.ndarray g = y_bar, p, out
    cdef int kind = cnp.PyArray_TYPE(g)
    cdef double number
    cdef float number_float
    cdef void *p_data
    cdef Py_ssize_t stride = 1, n = cnp.PyArray_SIZE(g), rows = 1
    if not cnp.PyArray_IS_C_CONTIGUOUS(g):
        if n > UFUNC_LOOPS:
            return None
        g = copy(g)
        overwrite_y_bar = True
    if is_plain(partial):
        p = partial
        if cnp.PyArray_TYPE(p) != kind or not cnp.PyArray_IS_C_CONTIGUOUS(p):
            return None
        if cnp.PyArray_NDIM(p) == 0:
            stride = 0
        elif not same_shape(g, p):
            if not same_last_axes(g, p) or n == 0:
                return None
            rows = n // cnp.PyArray_SIZE(p)
            n = cnp.PyArray_SIZE(p)
        p_data = cnp.PyArray_DATA(p)
    elif python_number(partial, kind, &number):
        number_float = <float>number
        p_data = <void *>&number if kind == cnp.NPY_DOUBLE else <void *>&number_float
        stride = 0
    elif cnp.PyArray_CheckExact(partial) and cnp.PyArray_TYPE(<cnp.ndarray>partial) == cnp.NPY_BOOL:
        return chosen(g, partial, True, overwrite_y_bar)
    else:
        return None
    if overwrite_y_bar and cnp.PyArray_ISWRITEABLE(g):
        out = g
    else:
        out = empty(cnp.PyArray_NDIM(g), cnp.PyArray_DIMS(g), kind)
    cdef void *out_data = cnp.PyArray_DATA(out)
    cdef void *g_data = cnp.PyArray_DATA(g)
    if n * rows <= CHAIN_UNDER_GIL:
        chain_rows(out_data, g_data, p_data, stride, n, rows, kind)
    else:
        with nogil:
            chain_rows(out_data, g_data, p_data, stride, n, rows, kind)
    return out


cdef inline bint same_last_axes(cnp.ndarray g, cnp.ndarray p) noexcept:
    """Whether ``g`` has the axes of ``p`` behind others."""
    cdef int i, more = cnp.PyArray_NDIM(g) - cnp.PyArray_NDIM(p)
    if more < 0:
        return False
    for i in range(cnp.PyArray_NDIM(p)):
        if cnp.PyArray_DIM(g, more + i) != cnp.PyArray_DIM(p, i):
            return False
    return True


cdef inline void chain_rows(void *out, void *g, void *p, Py_ssize_t stride, Py_ssize_t n, Py_ssize_t rows,
                            int kind) noexcept nogil:
    cdef Py_ssize_t i
    for i in range(rows):
        if kind == cnp.NPY_DOUBLE:
            chain_row[double](<double *>out + i * n, <double *>g + i * n, <double *>p, stride, n)
        else:
            chain_row[float](<float *>out + i * n, <float *>g + i * n, <float *>p, stride, n)


cdef inline void chain_complex_row(floating *out, const floating *g, const floating *p, floating sign,
                                   Py_ssize_t n) noexcept nogil:
    """``out = g (Re p + i sign Im p)`` of pairs of real and imaginary part."""
    cdef Py_ssize_t i
    for i in range(n):
        out[2 * i] = g[2 * i] * p[2 * i] - g[2 * i + 1] * (sign * p[2 * i + 1])
        out[2 * i + 1] = g[2 * i] * (sign * p[2 * i + 1]) + g[2 * i + 1] * p[2 * i]
    if all_finite(out, 2 * n):
        return
    for i in range(n):
        if (g[2 * i] == 0 and g[2 * i + 1] == 0) or (p[2 * i] == 0 and p[2 * i + 1] == 0):
            out[2 * i] = out[2 * i + 1] = 0


cdef inline void chain_mixed_row(floating *out, const floating *r, const floating *z, floating sign,
                                 Py_ssize_t n) noexcept nogil:
    """The same with a real factor ``r``."""
    cdef Py_ssize_t i
    for i in range(n):
        out[2 * i] = r[i] * z[2 * i]
        out[2 * i + 1] = r[i] * (sign * z[2 * i + 1])
    if all_finite(out, 2 * n):
        return
    for i in range(n):
        if r[i] == 0 or (z[2 * i] == 0 and z[2 * i + 1] == 0):
            out[2 * i] = out[2 * i + 1] = 0


cdef inline void chain_complex_rows(floating *out, const floating *g, bint g_real, const floating *p,
                                    bint p_real, floating sign, Py_ssize_t n) noexcept nogil:
    if g_real:
        chain_mixed_row[floating](out, g, p, sign, n)
    elif p_real:
        chain_mixed_row[floating](out, p, g, 1, n)
    else:
        chain_complex_row[floating](out, g, p, sign, n)


cdef inline int precision(object x, Py_ssize_t *step):
    """The type number of the real parts of a contiguous array of real or complex numbers, and how many reals
    an element has; -1 for anything else."""
    if not cnp.PyArray_CheckExact(x) or not cnp.PyArray_ISCARRAY_RO(<cnp.ndarray>x):
        return -1
    cdef int kind = cnp.PyArray_TYPE(<cnp.ndarray>x)
    step[0] = 2 if kind == cnp.NPY_CDOUBLE or kind == cnp.NPY_CFLOAT else 1
    if kind == cnp.NPY_DOUBLE or kind == cnp.NPY_CDOUBLE:
        return cnp.NPY_DOUBLE
    return cnp.NPY_FLOAT if kind == cnp.NPY_FLOAT or kind == cnp.NPY_CFLOAT else -1


cdef void chain_block(char *out, const char *g, const char *p, Py_ssize_t n, int kind,
                      bint conjugated) noexcept nogil:
    """``out = g p``, or with p conjugated, with 0 * inf = 0, for numbers of one type."""
    if kind == cnp.NPY_DOUBLE:
        chain_row[double](<double *>out, <double *>g, <double *>p, 1, n)
    elif kind == cnp.NPY_FLOAT:
        chain_row[float](<float *>out, <float *>g, <float *>p, 1, n)
    elif kind == cnp.NPY_CDOUBLE:
        chain_complex_row[double](<double *>out, <double *>g, <double *>p, -1 if conjugated else 1, n)
    else:
        chain_complex_row[float](<float *>out, <float *>g, <float *>p, -1 if conjugated else 1, n)


cdef void chain_number(char *out, const char *g, const char *p, Py_ssize_t n, int kind) noexcept nogil:
    """The same for one real number p."""
    if kind == cnp.NPY_DOUBLE:
        chain_row[double](<double *>out, <double *>g, <double *>p, 0, n)
    else:
        chain_row[float](<float *>out, <float *>g, <float *>p, 0, n)


cdef object chain_complex(object y_bar, object partial, bint conjugated):
    """``y_bar * partial``, or times its conjugate, with 0 * inf = 0, where one of them is complex.

    Contiguous arrays of one shape and precision, of any size.
    """
    cdef Py_ssize_t g_step, p_step, n
    cdef int kind = precision(y_bar, &g_step)
    if kind < 0 or precision(partial, &p_step) != kind or g_step + p_step == 2 \
            or not same_shape(y_bar, partial):
        return None
    cdef cnp.ndarray out = empty(
        cnp.PyArray_NDIM(<cnp.ndarray>y_bar), cnp.PyArray_DIMS(<cnp.ndarray>y_bar),
        cnp.NPY_CDOUBLE if kind == cnp.NPY_DOUBLE else cnp.NPY_CFLOAT)
    cdef void *out_data = cnp.PyArray_DATA(out)
    cdef void *g = cnp.PyArray_DATA(<cnp.ndarray>y_bar)
    cdef void *p = cnp.PyArray_DATA(<cnp.ndarray>partial)
    cdef double sign = -1 if conjugated else 1
    n = cnp.PyArray_SIZE(out)
    with nogil:
        if kind == cnp.NPY_DOUBLE:
            chain_complex_rows[double](
                <double *>out_data, <double *>g, g_step == 1, <double *>p, p_step == 1, sign, n)
        else:
            chain_complex_rows[float](
                <float *>out_data, <float *>g, g_step == 1, <float *>p, p_step == 1, <float>sign, n)
    return out


cdef inline void repeat_frame(floating *out, const floating *y, Py_ssize_t n,
                              Py_ssize_t inner) noexcept nogil:
    cdef Py_ssize_t i
    cdef floating number
    if inner == 1:
        number = y[0]
        for i in range(n):
            out[i] = number
        return
    for i in range(n):
        memcpy(out + i * inner, y, inner * sizeof(floating))


cdef object repeated(object y, tuple kept, tuple shape):
    """``y`` in the shape ``kept`` repeated along its axes of length 1 to ``shape``, in memory of its own."""
    cdef cnp.npy_intp dims[64]
    cdef Py_ssize_t k, ndim = len(shape), outer = 1, n = 1, inner = 1, size, i
    cdef cnp.ndarray out
    cdef bint apart = False
    cdef int kind
    if not is_plain(y) or ndim > 64:
        return None
    kind = cnp.PyArray_TYPE(<cnp.ndarray>y)
    for k in range(ndim):
        dims[k] = shape[k]
        size = kept[k]
        if size != dims[k]:
            apart |= inner > 1  # axes that are not next to each other
            n *= dims[k]
        elif n > 1:
            inner *= dims[k]
        else:
            outer *= dims[k]
    out = empty(<int>ndim, dims, kind)
    if apart or not cnp.PyArray_IS_C_CONTIGUOUS(<cnp.ndarray>y) or n * inner * outer == 0:
        cnp.PyArray_CopyInto(out, cnp.PyArray_Reshape(<cnp.ndarray>y, kept))
        return out
    cdef char *to = cnp.PyArray_BYTES(out)
    cdef char *of = cnp.PyArray_BYTES(<cnp.ndarray>y)
    for i in range(outer):
        if kind == cnp.NPY_DOUBLE:
            repeat_frame[double](<double *>to + i * n * inner, <double *>of + i * inner, n, inner)
        else:
            repeat_frame[float](<float *>to + i * n * inner, <float *>of + i * inner, n, inner)
    return out


cdef inline void share_frame(floating *out, const floating *x, const floating *y, const floating *y_bar,
                             Py_ssize_t n, Py_ssize_t inner) noexcept nogil:
    """One of the frames of ``n`` rows and ``inner`` columns, each column reduced to one ``y``.

    ``out`` serves for the counts of those that attain it, in its last row, which is filled last.
    """
    cdef Py_ssize_t i, j
    cdef floating count
    if inner == 1:
        count = 0
        for i in range(n):
            count += x[i] == y[0]
        for i in range(n):
            out[i] = y_bar[0] / count if x[i] == y[0] else 0
        return
    cdef floating *counts = out + (n - 1) * inner
    for j in range(inner):
        counts[j] = 0
    for i in range(n):
        for j in range(inner):
            counts[j] += x[i * inner + j] == y[j]
    for i in range(n):
        for j in range(inner):
            out[i * inner + j] = y_bar[j] / counts[j] if x[i * inner + j] == y[j] else 0


cdef object shared_equally(object y_bar, object x, object y, tuple kept):
    """``y_bar`` divided among the elements of ``x`` that equal ``y``, its extremes along axes that are next
    to each other (of length 1 in ``kept``); 0 elsewhere."""
    cdef Py_ssize_t outer = 1, n = 1, inner = 1, k, i
    cdef cnp.ndarray a, out
    if not is_plain(x) or not is_plain(y) or not is_plain(y_bar):
        return None
    a = x
    cdef int kind = cnp.PyArray_TYPE(a)
    if cnp.PyArray_TYPE(<cnp.ndarray>y) != kind or cnp.PyArray_TYPE(<cnp.ndarray>y_bar) != kind \
            or not cnp.PyArray_IS_C_CONTIGUOUS(a) or not cnp.PyArray_IS_C_CONTIGUOUS(<cnp.ndarray>y) \
            or not cnp.PyArray_IS_C_CONTIGUOUS(<cnp.ndarray>y_bar):
        return None
    for k in range(cnp.PyArray_NDIM(a)):
        if kept[k] == cnp.PyArray_DIM(a, k) and (n == 1 or kept[k] == 1):
            if n == 1:
                outer *= cnp.PyArray_DIM(a, k)
        elif kept[k] == cnp.PyArray_DIM(a, k):
            inner *= cnp.PyArray_DIM(a, k)
        elif inner == 1:
            n *= cnp.PyArray_DIM(a, k)
        else:
            return None  # axes that are not next to each other
    if kind == cnp.NPY_FLOAT and n >= 1 << 24:  # where counting by floats ends
        return None
    out = empty(cnp.PyArray_NDIM(a), cnp.PyArray_DIMS(a), kind)
    cdef char *to = <char *>cnp.PyArray_DATA(out)
    cdef char *of = <char *>cnp.PyArray_DATA(a)
    cdef char *values = <char *>cnp.PyArray_DATA(<cnp.ndarray>y)
    cdef char *bars = <char *>cnp.PyArray_DATA(<cnp.ndarray>y_bar)
    with nogil:
        for i in range(outer):
            if kind == cnp.NPY_DOUBLE:
                share_frame[double](
                    <double *>to + i * n * inner, <double *>of + i * n * inner,
                    <double *>values + i * inner, <double *>bars + i * inner, n, inner)
            else:
                share_frame[float](
                    <float *>to + i * n * inner, <float *>of + i * n * inner,
                    <float *>values + i * inner, <float *>bars + i * inner, n, inner)
    return out


cdef object filled(tuple shape, object scalar):
    """An array of this shape that holds one number, that of a plain 0-d ``scalar``."""
    cdef cnp.npy_intp dims[32]
    cdef int axes = len(shape), k
    cdef Py_ssize_t i, n = 1
    cdef cnp.ndarray out
    cdef double value_d
    cdef float value_f
    if axes > 32 or not is_plain(scalar) or cnp.PyArray_SIZE(<cnp.ndarray>scalar) != 1:
        return None
    cdef int kind = cnp.PyArray_TYPE(<cnp.ndarray>scalar)
    for k in range(axes):
        dims[k] = shape[k]
        n *= dims[k]
    out = empty(axes, dims, kind)
    if kind == cnp.NPY_DOUBLE:
        value_d = (<double *>cnp.PyArray_DATA(<cnp.ndarray>scalar))[0]
        for i in range(n):
            (<double *>cnp.PyArray_DATA(out))[i] = value_d
    else:
        value_f = (<float *>cnp.PyArray_DATA(<cnp.ndarray>scalar))[0]
        for i in range(n):
            (<float *>cnp.PyArray_DATA(out))[i] = value_f
    return out


cdef object sum_all(object x):
    """The sum of fewer than eight elements (NumPy adds those one after the other, too) as a 0-d array."""
    if not is_plain(x):
        return None
    cdef cnp.ndarray a = x, out
    cdef int axes = cnp.PyArray_NDIM(a), kind = cnp.PyArray_TYPE(a)
    cdef Py_ssize_t n = cnp.PyArray_SIZE(a), i, stride
    cdef double total_d = 0
    cdef float total_f = 0
    if n >= 8 or (axes > 1 and not cnp.PyArray_IS_C_CONTIGUOUS(a)):
        return None
    stride = cnp.PyArray_STRIDE(a, 0) if axes == 1 else cnp.PyArray_ITEMSIZE(a)
    out = cnp.PyArray_EMPTY(0, NULL, kind, 0)
    if kind == cnp.NPY_DOUBLE:
        for i in range(n):
            total_d += (<double *>(<char *>cnp.PyArray_DATA(a) + i * stride))[0]
        if not fabs(total_d) <= LARGEST:  # NumPy says so its own way
            return None
        (<double *>cnp.PyArray_DATA(out))[0] = total_d
    else:
        for i in range(n):
            total_f += (<float *>(<char *>cnp.PyArray_DATA(a) + i * stride))[0]
        if not fabs(total_f) <= LARGEST_FLOAT:
            return None
        (<float *>cnp.PyArray_DATA(out))[0] = total_f
    return out


cdef inline void add_up(const floating *x, Py_ssize_t rows, Py_ssize_t columns, floating *out,
                        bint over_columns) noexcept nogil:
    """Sums of a matrix over its rows, or over all."""
    cdef Py_ssize_t i, j
    cdef floating total
    if over_columns:
        total = 0
        for i in range(rows * columns):
            total += x[i]
        out[0] = total
        return
    for j in range(columns):
        out[j] = 0
    for i in range(rows):
        for j in range(columns):
            out[j] += x[i * columns + j]


cdef object sum_of_few(cnp.ndarray x, tuple shape):
    """The sums of a few plain numbers over their first axes, in ``shape``, which ends with the other axes or
    is that of a single number."""
    cdef cnp.npy_intp dims[8]
    cdef int axes = len(shape), kind = cnp.PyArray_TYPE(x), more = cnp.PyArray_NDIM(x) - axes, k
    cdef Py_ssize_t n = 1
    cdef cnp.ndarray out
    if cnp.PyArray_SIZE(x) > 64 or axes > 8 or more < 0 or not cnp.PyArray_IS_C_CONTIGUOUS(x):
        return None
    for k in range(axes):
        dims[k] = shape[k]
        n *= dims[k]
    if n == 0:
        return None
    if n > 1:
        for k in range(axes):
            if dims[k] != cnp.PyArray_DIM(x, more + k):
                return None
    out = cnp.PyArray_EMPTY(axes, dims, kind, 0)
    if kind == cnp.NPY_DOUBLE:
        add_up[double](<double *>cnp.PyArray_DATA(x), cnp.PyArray_SIZE(x) // n, n,
                       <double *>cnp.PyArray_DATA(out), n == 1)
    else:
        add_up[float](<float *>cnp.PyArray_DATA(x), cnp.PyArray_SIZE(x) // n, n,
                      <float *>cnp.PyArray_DATA(out), n == 1)
    return out


cdef void sum_columns(const double *x, Py_ssize_t rows, Py_ssize_t columns, double *out) noexcept nogil:
    cdef Py_ssize_t i, j
    for j in range(columns):
        out[j] = 0
    for i in range(rows):
        for j in range(columns):
            out[j] += x[i * columns + j]


cdef void sum_rows(const double *x, Py_ssize_t rows, Py_ssize_t columns, double *out) noexcept nogil:
    cdef Py_ssize_t i, j
    cdef double even, odd
    for i in range(rows):
        even = 0
        odd = 0
        for j in range(0, columns - 1, 2):
            even += x[j]
            odd += x[j + 1]
        if columns % 2:
            even += x[columns - 1]
        out[i] = even + odd
        x += columns


cdef object sum_of_thin(object x, tuple shape):
    """The sums of few numbers, or of a matrix of few columns over one axis, in ``shape``.

    NumPy's own loop over short rows takes several times as long.  None where that does not lead to ``shape``.
    """
    cdef cnp.ndarray a, out
    cdef Py_ssize_t rows, columns
    cdef cnp.npy_intp dims[2]
    cdef bint over_rows
    if not is_plain(x):
        return None
    few = sum_of_few(x, shape)
    if few is not None:
        return few
    if cnp.PyArray_TYPE(<cnp.ndarray>x) != cnp.NPY_DOUBLE \
            or cnp.PyArray_NDIM(<cnp.ndarray>x) != 2 or not cnp.PyArray_IS_C_CONTIGUOUS(<cnp.ndarray>x):
        return None
    a = x
    rows = cnp.PyArray_DIM(a, 0)
    columns = cnp.PyArray_DIM(a, 1)
    if not 1 < columns <= THIN_COLUMNS or rows < 2:
        return None
    over_rows = shape == (columns,) or shape == (1, columns)
    if not over_rows and shape != (rows, 1):
        return None
    dims[0] = shape[0]
    dims[1] = shape[1] if len(shape) == 2 else 1
    out = cnp.PyArray_EMPTY(len(shape), dims, cnp.NPY_DOUBLE, 0)
    if over_rows:
        sum_columns(<double *>cnp.PyArray_DATA(a), rows, columns, <double *>cnp.PyArray_DATA(out))
    else:
        sum_rows(<double *>cnp.PyArray_DATA(a), rows, columns, <double *>cnp.PyArray_DATA(out))
    return out
