"""Loops over arrays that are reduced along axes next to each other (see frames.pxd)."""

cimport numpy as cnp
from libc.math cimport isfinite, log, log1p
from libc.stdlib cimport free, malloc

import numpy as np

from lindiff.kernels.elementwise cimport has_shape_of, is_plain
from lindiff.kernels.loops cimport Loop, find_loop
from lindiff.kernels.memory cimport empty

cnp.import_array()

ctypedef fused floating:
    float
    double


cdef struct Frames:
    Py_ssize_t outer
    Py_ssize_t n
    Py_ssize_t inner


# NumPy's loops, for two precisions.
cdef Loop[2] exponential
cdef Loop[2] maximum
cdef int _k
for _k in range(2):
    find_loop(np.exp, cnp.NPY_FLOAT if _k else cnp.NPY_DOUBLE, &exponential[_k])
    find_loop(np.maximum, cnp.NPY_FLOAT if _k else cnp.NPY_DOUBLE, &maximum[_k])


cdef inline bint is_contiguous(object x):
    return is_plain(x) and cnp.PyArray_IS_C_CONTIGUOUS(<cnp.ndarray>x)


cdef bint read_frames(cnp.ndarray x, tuple kept, Frames *f) except -1:
    """The frames of ``x`` whose reduced axes have length 1 in ``kept``; False where others are between."""
    cdef int k
    cdef Py_ssize_t size
    cdef bint reduced = False
    f.outer = f.n = f.inner = 1
    for k in range(cnp.PyArray_NDIM(x)):
        size = cnp.PyArray_DIM(x, k)
        if size == 1:
            continue
        if kept[k] != size:
            if f.inner > 1:
                return False
            f.n *= size
            reduced = True
        elif reduced:
            f.inner *= size
        else:
            f.outer *= size
    return True


# -- x times what it was reduced to ------------------------------------------------------------------------

cdef void scale(floating *out, const floating *x, const floating *factors, bint over,
                Frames f) noexcept nogil:
    cdef Py_ssize_t _o, i, j
    for _o in range(f.outer):
        if f.inner == 1 and over:
            for i in range(f.n):
                out[i] = factors[0] / x[i]
        elif f.inner == 1:
            for i in range(f.n):
                out[i] = x[i] * factors[0]
        elif over:
            for i in range(f.n):
                for j in range(f.inner):
                    out[i * f.inner + j] = factors[j] / x[i * f.inner + j]
        else:
            for i in range(f.n):
                for j in range(f.inner):
                    out[i * f.inner + j] = x[i * f.inner + j] * factors[j]
        out += f.n * f.inner
        x += f.n * f.inner
        factors += f.inner


cdef object scaled(object x, object factors, tuple kept, bint over=False):
    """``x`` times ``factors``, one for each column, or the ``factors`` over ``x``."""
    cdef Frames f
    cdef cnp.ndarray out
    if not is_contiguous(x) or not is_contiguous(factors) \
            or cnp.PyArray_TYPE(<cnp.ndarray>x) != cnp.PyArray_TYPE(<cnp.ndarray>factors) \
            or not read_frames(x, kept, &f) or cnp.PyArray_SIZE(<cnp.ndarray>factors) != f.outer * f.inner:
        return None
    out = empty(cnp.PyArray_NDIM(<cnp.ndarray>x), cnp.PyArray_DIMS(<cnp.ndarray>x),
                cnp.PyArray_TYPE(<cnp.ndarray>x))
    if cnp.PyArray_TYPE(out) == cnp.NPY_DOUBLE:
        scale[double](<double *>cnp.PyArray_DATA(out), <double *>cnp.PyArray_DATA(<cnp.ndarray>x),
                      <double *>cnp.PyArray_DATA(<cnp.ndarray>factors), over, f)
    else:
        scale[float](<float *>cnp.PyArray_DATA(out), <float *>cnp.PyArray_DATA(<cnp.ndarray>x),
                     <float *>cnp.PyArray_DATA(<cnp.ndarray>factors), over, f)
    return out


# -- cumulative sums, from the start or from the end -----------------------------------------------------

cdef void accumulate(floating *out, const floating *x, Frames f, bint backward) noexcept nogil:
    cdef Py_ssize_t o, i, _i, j, step = -f.inner if backward else f.inner
    cdef const floating *of
    cdef floating *to
    cdef floating total
    for o in range(f.outer):
        of = x + o * f.n * f.inner
        to = out + o * f.n * f.inner
        if backward:
            of += (f.n - 1) * f.inner
            to += (f.n - 1) * f.inner
        if f.inner == 1:
            total = of[0]
            to[0] = total
            for i in range(1, f.n):
                total += of[i * step]
                to[i * step] = total
            continue
        for j in range(f.inner):
            to[j] = of[j]
        for _i in range(1, f.n):
            for j in range(f.inner):
                to[step + j] = to[j] + of[step + j]
            to += step
            of += step


cdef object accumulated(object x, object axis, bint backward):
    """Cumulative sums along an axis, or of all numbers as a vector; ``backward``: from the end."""
    cdef Frames f
    cdef cnp.ndarray out
    cdef cnp.npy_intp n
    cdef int along, axes, k
    if not is_contiguous(x) or (axis is not None and type(axis) is not int):
        return None
    n = cnp.PyArray_SIZE(<cnp.ndarray>x)
    axes = cnp.PyArray_NDIM(<cnp.ndarray>x)
    if n == 0:
        return None
    f.outer = f.inner = 1
    f.n = n
    if axis is None:
        out = empty(1, &n, cnp.PyArray_TYPE(<cnp.ndarray>x))
    else:
        if not -axes <= axis < axes:
            return None
        along = axis
        along += axes if along < 0 else 0
        f.n = cnp.PyArray_DIM(<cnp.ndarray>x, along)
        for k in range(axes):
            if k < along:
                f.outer *= cnp.PyArray_DIM(<cnp.ndarray>x, k)
            elif k > along:
                f.inner *= cnp.PyArray_DIM(<cnp.ndarray>x, k)
        out = empty(axes, cnp.PyArray_DIMS(<cnp.ndarray>x), cnp.PyArray_TYPE(<cnp.ndarray>x))
    if cnp.PyArray_TYPE(out) == cnp.NPY_DOUBLE:
        accumulate[double](<double *>cnp.PyArray_DATA(out), <double *>cnp.PyArray_DATA(<cnp.ndarray>x), f,
                           backward)
    else:
        accumulate[float](<float *>cnp.PyArray_DATA(out), <float *>cnp.PyArray_DATA(<cnp.ndarray>x), f,
                          backward)
    return out


# -- sums of exponentials --------------------------------------------------------------------------------

cdef inline double sum_below_one(const floating *e, Py_ssize_t n, Py_ssize_t *ones) noexcept nogil:
    """The sum of the numbers that are not 1, and how many are; several sums at a time, in short blocks."""
    cdef Py_ssize_t start, i, stop, count = 0
    cdef double a, b, c, d, total = 0
    for start in range(0, n, 512):
        stop = min(start + 512, n)
        a = b = c = d = 0
        i = start
        while i + 4 <= stop:
            a += e[i]
            b += e[i + 1]
            c += e[i + 2]
            d += e[i + 3]
            i += 4
        while i < stop:
            a += e[i]
            i += 1
        total += (a + b) + (c + d)
    for i in range(n):
        count += e[i] == 1
    ones[0] = count
    if total - count > 0.5:  # nothing is lost
        return total - count
    total = 0
    for i in range(n):
        total += e[i] if e[i] != 1 else 0
    return total


cdef bint exponentiate(floating *e, const floating *x, floating *y, floating *totals, double *rest,
                       double *ones, Frames f, const Loop *exp, const Loop *largest) noexcept nogil:
    """``e = exp(x - max x)``, ``totals = Σ e``, ``y = log totals + max x``; False where one is not finite.

    The largest are 1; the logarithm of their number is taken apart, so that few small ones are not lost.
    ``rest`` and ``ones`` are memory for ``inner`` numbers.
    """
    cdef Py_ssize_t _o, i, _i, j, count
    cdef char *args[3]
    cdef cnp.npy_intp steps[3]
    cdef cnp.npy_intp length
    cdef floating top
    cdef bint finite = True
    for _o in range(f.outer):
        for j in range(f.inner):
            y[j] = x[j]
        args[0] = args[2] = <char *>y
        args[1] = <char *>(x + f.inner)
        if f.inner == 1:
            length = f.n - 1
            steps[0] = steps[2] = 0
            steps[1] = sizeof(floating)
            largest.function(args, &length, steps, largest.data)
            top = y[0]
            for i in range(f.n):
                e[i] = x[i] - top
        else:
            length = f.inner
            steps[0] = steps[1] = steps[2] = sizeof(floating)
            for _i in range(1, f.n):
                largest.function(args, &length, steps, largest.data)
                args[1] += f.inner * sizeof(floating)
            for i in range(f.n):
                for j in range(f.inner):
                    e[i * f.inner + j] = x[i * f.inner + j] - y[j]
        length = f.n * f.inner
        args[0] = args[1] = <char *>e
        steps[0] = steps[1] = sizeof(floating)
        exp.function(args, &length, steps, exp.data)
        if f.inner == 1:
            rest[0] = sum_below_one(e, f.n, &count)
            ones[0] = count
        else:
            for j in range(f.inner):
                rest[j] = ones[j] = 0
            for i in range(f.n):
                for j in range(f.inner):
                    ones[j] += e[i * f.inner + j] == 1
                    rest[j] += e[i * f.inner + j] if e[i * f.inner + j] != 1 else 0
        for j in range(f.inner):
            totals[j] = <floating>(rest[j] + ones[j])
            y[j] = <floating>(log1p(rest[j] / ones[j]) + log(ones[j]) + y[j])
            finite &= isfinite(y[j]) and isfinite(totals[j])
        e += f.n * f.inner
        x += f.n * f.inner
        y += f.inner
        totals += f.inner
    return finite


cdef object exponentials(object x, tuple kept):
    """``(e, totals, y)``: ``e = exp(x - max x)``, its sums, and ``log Σ exp x``, both with the axes kept.

    None also where a result is not finite.
    """
    cdef Frames f
    cdef cnp.npy_intp dims[32]
    cdef cnp.ndarray a, e, y, totals
    cdef double *memory
    cdef int axes, kind, k
    cdef bint finite
    if not is_contiguous(x) or cnp.PyArray_NDIM(<cnp.ndarray>x) > 32 \
            or cnp.PyArray_SIZE(<cnp.ndarray>x) == 0 or not read_frames(x, kept, &f):
        return None
    a = x
    axes = cnp.PyArray_NDIM(a)
    kind = cnp.PyArray_TYPE(a)
    for k in range(axes):
        dims[k] = kept[k]
    e = empty(axes, cnp.PyArray_DIMS(a), kind)
    y = empty(axes, dims, kind)
    totals = empty(axes, dims, kind)
    memory = <double *>malloc(2 * f.inner * sizeof(double))
    if memory == NULL:
        raise MemoryError()
    with nogil:
        if kind == cnp.NPY_DOUBLE:
            finite = exponentiate[double](
                <double *>cnp.PyArray_DATA(e), <double *>cnp.PyArray_DATA(a), <double *>cnp.PyArray_DATA(y),
                <double *>cnp.PyArray_DATA(totals), memory, memory + f.inner, f, &exponential[0], &maximum[0])
        else:
            finite = exponentiate[float](
                <float *>cnp.PyArray_DATA(e), <float *>cnp.PyArray_DATA(a), <float *>cnp.PyArray_DATA(y),
                <float *>cnp.PyArray_DATA(totals), memory, memory + f.inner, f, &exponential[1], &maximum[1])
    free(memory)
    return (e, totals, y) if finite else None


cdef void divide(floating *e, const floating *totals, Frames f) noexcept nogil:
    cdef Py_ssize_t _o, i, j
    for _o in range(f.outer):
        if f.inner == 1:
            for i in range(f.n):
                e[i] /= totals[0]
        else:
            for i in range(f.n):
                for j in range(f.inner):
                    e[i * f.inner + j] /= totals[j]
        e += f.n * f.inner
        totals += f.inner


cdef object normalized(object e, object totals, tuple kept):
    """``e / totals`` in place, of what ``exponentials`` gave."""
    cdef Frames f
    read_frames(e, kept, &f)
    if cnp.PyArray_TYPE(<cnp.ndarray>e) == cnp.NPY_DOUBLE:
        divide[double](<double *>cnp.PyArray_DATA(<cnp.ndarray>e),
                       <double *>cnp.PyArray_DATA(<cnp.ndarray>totals), f)
    else:
        divide[float](<float *>cnp.PyArray_DATA(<cnp.ndarray>e),
                      <float *>cnp.PyArray_DATA(<cnp.ndarray>totals), f)
    return e


cdef void project(floating *out, const floating *y, const floating *g, double *sums, Frames f) noexcept nogil:
    cdef Py_ssize_t _o, i, j
    cdef double a, b
    cdef floating shift
    for _o in range(f.outer):
        if f.inner == 1:
            a = b = 0
            for i in range(0, f.n - 1, 2):
                a += y[i] * g[i]
                b += y[i + 1] * g[i + 1]
            if f.n % 2:
                a += y[f.n - 1] * g[f.n - 1]
            shift = <floating>(a + b)
            for i in range(f.n):
                out[i] = y[i] * (g[i] - shift)
        else:
            for j in range(f.inner):
                sums[j] = 0
            for i in range(f.n):
                for j in range(f.inner):
                    sums[j] += y[i * f.inner + j] * g[i * f.inner + j]
            for i in range(f.n):
                for j in range(f.inner):
                    out[i * f.inner + j] = y[i * f.inner + j] * (g[i * f.inner + j] - <floating>sums[j])
        out += f.n * f.inner
        y += f.n * f.inner
        g += f.n * f.inner


cdef object projected(object y, object y_bar, tuple kept):
    """``y (y_bar - Σ y y_bar)``: the pullback of softmax, and its pushforward."""
    cdef Frames f
    cdef cnp.ndarray out
    cdef double *sums
    if not is_contiguous(y) or not is_contiguous(y_bar) or not has_shape_of(y_bar, y) \
            or not read_frames(y, kept, &f):
        return None
    out = empty(cnp.PyArray_NDIM(<cnp.ndarray>y), cnp.PyArray_DIMS(<cnp.ndarray>y),
                cnp.PyArray_TYPE(<cnp.ndarray>y))
    sums = <double *>malloc(f.inner * sizeof(double))
    if sums == NULL:
        raise MemoryError()
    with nogil:
        if cnp.PyArray_TYPE(out) == cnp.NPY_DOUBLE:
            project[double](<double *>cnp.PyArray_DATA(out), <double *>cnp.PyArray_DATA(<cnp.ndarray>y),
                            <double *>cnp.PyArray_DATA(<cnp.ndarray>y_bar), sums, f)
        else:
            project[float](<float *>cnp.PyArray_DATA(out), <float *>cnp.PyArray_DATA(<cnp.ndarray>y),
                           <float *>cnp.PyArray_DATA(<cnp.ndarray>y_bar), sums, f)
    free(sums)
    return out
