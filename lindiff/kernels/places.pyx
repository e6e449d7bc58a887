"""Adding at places: the adjoint of taking elements by integers or by a mask.

``np.add.at`` does it one element after the other through iterators; here whole rows are added where the index
names rows.  The order is that of ``np.add.at``, and so are the sums.
"""

cimport numpy as cnp
from cpython.mem cimport PyMem_Free, PyMem_Malloc

import numpy as np

cnp.import_array()

ctypedef fused floating:
    float
    double


cdef struct Axes:
    # An array as `outer` blocks of `n` rows of `inner` numbers; the index names rows.
    Py_ssize_t outer
    Py_ssize_t n
    Py_ssize_t inner


cdef inline bint is_whole_axis(object part):
    return type(part) is slice and part.start is None and part.stop is None and part.step is None


cdef inline bint is_integers(object part):
    return cnp.PyArray_CheckExact(part) and cnp.PyArray_ISINTEGER(<cnp.ndarray>part)


cdef inline cnp.ndarray as_integers(object part):
    return cnp.PyArray_FROMANY(part, cnp.NPY_INTP, 0, 0, cnp.NPY_ARRAY_CARRAY_RO | cnp.NPY_ARRAY_FORCECAST)


cdef inline Py_ssize_t length(cnp.ndarray x, int start, int stop):
    cdef Py_ssize_t n = 1
    cdef int k
    for k in range(start, stop):
        n *= cnp.PyArray_DIM(x, k)
    return n


cdef bint within(const cnp.npy_intp *places, Py_ssize_t count, Py_ssize_t n) noexcept nogil:
    """Whether all places are those of an axis of length ``n``."""
    cdef Py_ssize_t i
    cdef bint outside = False
    for i in range(count):
        outside |= (places[i] < -n) | (places[i] >= n)
    return not outside


cdef void add_rows(floating *x, const cnp.npy_intp *places, Py_ssize_t count, const floating *y,
                   Axes axes) noexcept nogil:
    cdef Py_ssize_t _o, i, j, place
    cdef floating *to
    for _o in range(axes.outer):
        for i in range(count):
            place = places[i] + (axes.n if places[i] < 0 else 0)
            if axes.inner == 1:
                x[place] += y[i]
                continue
            to = x + place * axes.inner
            for j in range(axes.inner):
                to[j] += y[i * axes.inner + j]
        x += axes.n * axes.inner
        y += count * axes.inner


cdef void add_masked(floating *x, const char *mask, Py_ssize_t count, const floating *y,
                     Axes axes) noexcept nogil:
    """The mask's ``n`` rows, of which ``count`` are taken."""
    cdef Py_ssize_t _o, i, j, taken
    for _o in range(axes.outer):
        taken = 0
        for i in range(axes.n):
            if axes.inner == 1:
                if taken == count:
                    break
                # without a branch: a mask may be as good as random
                x[i] += y[taken] if mask[i] else <floating>0
                taken += mask[i] != 0
            elif mask[i]:
                for j in range(axes.inner):
                    x[i * axes.inner + j] += y[taken * axes.inner + j]
                taken += 1
        x += axes.n * axes.inner
        y += count * axes.inner


cdef Py_ssize_t count_of(cnp.ndarray mask) noexcept:
    cdef const char *data = cnp.PyArray_BYTES(mask)
    cdef Py_ssize_t i, count = 0
    for i in range(cnp.PyArray_SIZE(mask)):
        count += data[i] != 0
    return count


cdef int add_at_rows(cnp.ndarray x, const cnp.npy_intp *places, const char *mask, Py_ssize_t count,
                     cnp.ndarray y, Axes axes) except -1:
    """By places, or by the mask if there is one; complex numbers as two real ones."""
    cdef int kind = cnp.PyArray_TYPE(x)
    if kind == cnp.NPY_CDOUBLE or kind == cnp.NPY_CFLOAT:
        axes.inner *= 2
    cdef void *to = cnp.PyArray_DATA(x)
    cdef void *of = cnp.PyArray_DATA(y)
    with nogil:
        if kind == cnp.NPY_DOUBLE or kind == cnp.NPY_CDOUBLE:
            if mask == NULL:
                add_rows[double](<double *>to, places, count, <double *>of, axes)
            else:
                add_masked[double](<double *>to, mask, count, <double *>of, axes)
        elif mask == NULL:
            add_rows[float](<float *>to, places, count, <float *>of, axes)
        else:
            add_masked[float](<float *>to, mask, count, <float *>of, axes)
    return 0


cdef bint add_along(cnp.ndarray x, int axis, object part, cnp.ndarray y) except -1:
    """By one array of integers or truth values, behind ``axis`` axes that are taken whole."""
    cdef cnp.ndarray places = part
    cdef Axes axes
    cdef Py_ssize_t count
    cdef int k, over = 1
    axes.outer = length(x, 0, axis)
    if cnp.PyArray_TYPE(places) == cnp.NPY_BOOL:
        over = cnp.PyArray_NDIM(places)
        if over == 0 or axis + over > cnp.PyArray_NDIM(x) or not cnp.PyArray_ISCARRAY_RO(places):
            return False
        for k in range(over):
            if cnp.PyArray_DIM(places, k) != cnp.PyArray_DIM(x, axis + k):
                return False
        count = count_of(places)
    elif is_integers(places) and axis < cnp.PyArray_NDIM(x):
        places = as_integers(places)
        count = cnp.PyArray_SIZE(places)
        if not within(<cnp.npy_intp *>cnp.PyArray_DATA(places), count, cnp.PyArray_DIM(x, axis)):
            return False
    else:
        return False
    axes.n = length(x, axis, axis + over)
    axes.inner = length(x, axis + over, cnp.PyArray_NDIM(x))
    if cnp.PyArray_SIZE(y) != axes.outer * count * axes.inner:
        return False
    if cnp.PyArray_TYPE(places) == cnp.NPY_BOOL:
        add_at_rows(x, NULL, cnp.PyArray_BYTES(places), count, y, axes)
    else:
        add_at_rows(x, <cnp.npy_intp *>cnp.PyArray_DATA(places), NULL, count, y, axes)
    return True


cdef bint add_at_all(cnp.ndarray x, list parts, cnp.ndarray y) except -1:
    """By an array of integers for each of the first axes, which broadcast."""
    cdef int k, number = len(parts)
    cdef cnp.broadcast together = np.broadcast(*parts)
    cdef Py_ssize_t count = together.size, i = 0, place, at
    cdef Axes axes
    cdef cnp.npy_intp *places
    cdef bint inside = True
    axes.outer = 1
    axes.n = length(x, 0, number)
    axes.inner = length(x, number, cnp.PyArray_NDIM(x))
    if cnp.PyArray_SIZE(y) != count * axes.inner:
        return False
    places = <cnp.npy_intp *>PyMem_Malloc(max(count, 1) * sizeof(cnp.npy_intp))
    if places == NULL:
        raise MemoryError()
    while i < count and inside:
        place = 0
        for k in range(number):
            at = (<cnp.npy_intp *>cnp.PyArray_MultiIter_DATA(together, k))[0]
            if at < 0:
                at += cnp.PyArray_DIM(x, k)
            inside &= 0 <= at < cnp.PyArray_DIM(x, k)
            place = place * cnp.PyArray_DIM(x, k) + at
        places[i] = place
        i += 1
        cnp.PyArray_MultiIter_NEXT(together)
    if inside:
        add_at_rows(x, places, NULL, count, y, axes)
    PyMem_Free(places)
    return inside


cpdef bint add_at_places(object x, object index, object y) except -1:
    """``np.add.at(x, index, y)`` for contiguous arrays of one type.

    The index is an array of integers or truth values, with nothing but whole axes before it, or an array of
    integers (or an integer) for each of the first axes.  False, and nothing is done, where it is another.

    Examples
    --------
    >>> import numpy as np
    >>> x = np.zeros(3)
    >>> add_at_places(x, np.array([0, 2, 0]), np.array([1.0, 2.0, 3.0]))
    True
    >>> x
    array([4., 0., 2.])
    """
    cdef tuple parts = <tuple>index if type(index) is tuple else (index,)
    cdef int axis = 0, number = len(parts), kind
    cdef list integers = []
    if not cnp.PyArray_CheckExact(x) or not cnp.PyArray_CheckExact(y):
        return False
    kind = cnp.PyArray_TYPE(<cnp.ndarray>x)
    if kind != cnp.NPY_DOUBLE and kind != cnp.NPY_FLOAT and kind != cnp.NPY_CDOUBLE \
            and kind != cnp.NPY_CFLOAT:
        return False
    if cnp.PyArray_TYPE(<cnp.ndarray>y) != kind or not cnp.PyArray_ISCARRAY(<cnp.ndarray>x) \
            or not cnp.PyArray_ISCARRAY_RO(<cnp.ndarray>y):
        return False
    while axis < number and is_whole_axis(parts[axis]):
        axis += 1
    if number == axis + 1:
        return cnp.PyArray_CheckExact(parts[axis]) and add_along(x, axis, parts[axis], y)
    if axis > 0 or not 0 < number <= cnp.PyArray_NDIM(<cnp.ndarray>x):
        return False
    for part in parts:
        if type(part) is not int and not is_integers(part):
            return False
        integers.append(as_integers(part))
    return add_at_all(x, integers, y)
