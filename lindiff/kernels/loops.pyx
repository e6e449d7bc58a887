"""The inner loops of NumPy's ufuncs (see loops.pxd)."""

cimport numpy as cnp
from cpython.complex cimport PyComplex_CheckExact, PyComplex_ImagAsDouble, PyComplex_RealAsDouble
from cpython.exc cimport PyErr_Occurred
from cpython.float cimport PyFloat_AS_DOUBLE, PyFloat_Check, PyFloat_CheckExact
from cpython.long cimport PyLong_AsLongLong, PyLong_CheckExact
from cpython.object cimport PyObject
from cpython.mem cimport PyMem_Calloc, PyMem_Free, PyMem_Malloc
from libc.math cimport fabs
from libc.string cimport memchr, memcpy, memset

from lindiff.kernels.elementwise cimport chain_block, finite, finite_doubles
from lindiff.kernels.memory cimport empty
from lindiff.kernels.sizes cimport PROGRAM_BLOCK, PROGRAM_UNDER_GIL, UFUNC_LOOPS

import numpy as np

cnp.import_array()

cdef enum:
    GIVEN = 4         # the first registers of a program: the value and three arguments
    REGISTERS = 64
    DECISIONS = 32    # of a program, by masks

# The operations that IEEE's standard fixes to the last bit.
cdef frozenset EXACT = frozenset([
    np.add, np.subtract, np.multiply, np.divide, np.reciprocal, np.square, np.sqrt, np.negative, np.positive,
    np.absolute, np.fabs, np.equal, np.not_equal, np.less, np.less_equal, np.greater, np.greater_equal,
])

cdef double LARGEST_FLOAT = 3.4028234663852886e38


# -- one loop ----------------------------------------------------------------------------------------------

cdef inline bint is_complex(int kind) noexcept nogil:
    return kind == cnp.NPY_CDOUBLE or kind == cnp.NPY_CFLOAT


cdef inline int size_of(int kind) noexcept nogil:
    if kind == cnp.NPY_BOOL:
        return 1
    if kind == cnp.NPY_FLOAT:
        return 4
    return 16 if kind == cnp.NPY_CDOUBLE else 8


cdef bint find_loop(object function, int kind, Loop *loop):
    """The loop of a ufunc whose inputs all have the type ``kind``; False where there is none, and of one that
    takes vectors or matrices."""
    cdef UFunc *ufunc = <UFunc *><PyObject *>function
    cdef int i, k
    cdef const char *types
    if ufunc.nout != 1 or ufunc.functions == NULL or function.signature is not None:
        return False
    for i in range(ufunc.ntypes):
        types = ufunc.types + i * ufunc.nargs
        for k in range(ufunc.nin):
            if types[k] != kind:
                break
        else:
            loop.function = ufunc.functions[i]
            loop.data = ufunc.data[i]
            loop.kind = types[ufunc.nin]
            loop.exact = function in EXACT and not is_complex(kind)
            loop.raises = getattr(np, function.__name__, None) is not function
            return loop.kind == cnp.NPY_BOOL or loop.kind == cnp.NPY_DOUBLE or loop.kind == cnp.NPY_FLOAT \
                or is_complex(loop.kind)
    return False


cdef inline bint is_number(object x, int kind):
    """Whether ``x`` is a number that takes the type of an array which it meets."""
    return PyFloat_CheckExact(x) or PyLong_CheckExact(x) or (is_complex(kind) and PyComplex_CheckExact(x)) \
        or (PyFloat_Check(x) and (kind == cnp.NPY_DOUBLE or kind == cnp.NPY_CDOUBLE))  # NumPy's float64


cdef int common_kind(object x, object y):
    """The type number of two operands: plain arrays of one type, or such an array and a number.

    -1 for anything else.
    """
    cdef int of_x = kind_of(x), of_y = kind_of(y)
    if of_x < 0:
        return of_y if of_y >= 0 and is_number(x, of_y) else -1
    if of_y < 0:
        return of_x if is_number(y, of_x) else -1
    return of_x if of_x == of_y else -1


cdef cnp.ndarray common_frame(object x, object y):
    """The one of two operands that has the shape of the result, if one of them has."""
    if not cnp.PyArray_CheckExact(x):
        return y
    if not cnp.PyArray_CheckExact(y) or cnp.PyArray_NDIM(<cnp.ndarray>y) <= cnp.PyArray_NDIM(<cnp.ndarray>x):
        return x
    return y


cdef bint store(double first, double second, int kind, double *number) noexcept:
    """Write a number in the type ``kind``; False where it is too large for that."""
    if kind == cnp.NPY_DOUBLE or kind == cnp.NPY_CDOUBLE:
        number[0] = first
        number[1] = second
        return True
    (<float *>number)[0] = <float>first
    (<float *>number)[1] = <float>second
    return fabs(first) <= LARGEST_FLOAT and fabs(second) <= LARGEST_FLOAT


cdef bint read_operand(object x, int kind, cnp.ndarray frame, Operand *operand):
    """Read a contiguous array or a vector of the shape of ``frame``, or a number that broadcasts to it; False
    if it is neither."""
    cdef cnp.ndarray a
    operand.step = 0
    if cnp.PyArray_CheckExact(x):
        a = x
        operand.data = cnp.PyArray_BYTES(a)
        if cnp.PyArray_NDIM(a) == 0:
            return True
        if a is not frame and not cnp.PyArray_SAMESHAPE(a, frame):
            return False
        if cnp.PyArray_IS_C_CONTIGUOUS(a):
            operand.step = cnp.PyArray_ITEMSIZE(a)
        elif cnp.PyArray_NDIM(a) == 1 and cnp.PyArray_STRIDE(a, 0) >= 0:
            operand.step = cnp.PyArray_STRIDE(a, 0)
        else:
            return False
        return True
    operand.data = <char *>operand.number
    if PyFloat_CheckExact(x) or (
            PyFloat_Check(x) and (kind == cnp.NPY_DOUBLE or kind == cnp.NPY_CDOUBLE)):  # NumPy's float64
        return store(PyFloat_AS_DOUBLE(x), 0, kind, operand.number)
    if PyLong_CheckExact(x) and -(1 << 53) <= x <= (1 << 53):
        return store(<double>PyLong_AsLongLong(x), 0, kind, operand.number)
    if PyComplex_CheckExact(x) and is_complex(kind):
        return store(PyComplex_RealAsDouble(x), PyComplex_ImagAsDouble(x), kind, operand.number)
    return False


cdef inline int raise_pending() except? -1:
    """Raise what a loop of scipy.special has raised, under its ``errstate``."""
    return 0 if PyErr_Occurred() == NULL else -1


cdef inline object checked(const Loop *loop, cnp.ndarray out, cnp.npy_intp n):
    """The result of a loop; None where a number in it is not finite."""
    if loop.raises:
        raise_pending()
    if loop.kind == cnp.NPY_DOUBLE:
        return out if finite_doubles(<double *>cnp.PyArray_DATA(out), n) else None
    return out if finite(out) else None


cdef object apply(const Loop *loop, int count, object x, object y):
    """The result of a loop on one or two operands: plain arrays of its type, which broadcast, and numbers.

    None where they are not the loop's case, are many, or a result is not finite (NumPy then says so its own
    way).
    """
    cdef Operand left, right
    cdef char *args[3]
    cdef cnp.npy_intp steps[3]
    cdef cnp.npy_intp n
    cdef cnp.ndarray frame, out
    cdef int kind
    cdef bint by_columns = False
    if loop.function == NULL:
        return None
    frame = x if count == 1 else common_frame(x, y)
    kind = cnp.PyArray_TYPE(frame)
    n = cnp.PyArray_SIZE(frame)
    if n > UFUNC_LOOPS:
        return None
    if cnp.PyArray_IS_C_CONTIGUOUS(frame) and (count == 1 or (
            cnp.PyArray_CheckExact(x) and cnp.PyArray_CheckExact(y) and frame is x
            and cnp.PyArray_IS_C_CONTIGUOUS(<cnp.ndarray>y)
            and cnp.PyArray_SAMESHAPE(frame, <cnp.ndarray>y))):
        args[0] = cnp.PyArray_BYTES(frame)
        args[1] = NULL if count == 1 else cnp.PyArray_BYTES(<cnp.ndarray>y)
        steps[0] = steps[1] = size_of(kind)
    elif count == 1 and cnp.PyArray_IS_F_CONTIGUOUS(frame):
        args[0] = cnp.PyArray_BYTES(frame)
        steps[0] = size_of(kind)
        by_columns = True
    elif not read_operand(x, kind, frame, &left) or (
            count == 2 and not read_operand(y, kind, frame, &right)):
        # NumPy buffers or turns around what lies otherwise, so that other instructions give other last bits
        return apply_over_axes(loop, count, x, y, kind) if loop.exact else None
    else:
        args[0] = left.data
        steps[0] = left.step
        args[1] = right.data
        steps[1] = right.step
    out = cnp.PyArray_EMPTY(cnp.PyArray_NDIM(frame), cnp.PyArray_DIMS(frame), loop.kind, by_columns)
    args[count] = cnp.PyArray_BYTES(out)
    steps[count] = size_of(loop.kind)
    loop.function(args, &n, steps, loop.data)
    return checked(loop, out, n)


cdef inline bint broadcast_with(object x, Nest *nest):
    """Broadcast the shape of the nest with that of an operand; False where they do not fit."""
    cdef int k, more
    cdef cnp.npy_intp n
    if not cnp.PyArray_CheckExact(x):
        return True
    more = nest.axes - cnp.PyArray_NDIM(<cnp.ndarray>x)
    for k in range(more, nest.axes):
        n = cnp.PyArray_DIM(<cnp.ndarray>x, k - more)
        if nest.shape[k] == 1:
            nest.shape[k] = n
        elif n != 1 and n != nest.shape[k]:
            return False
    return True


cdef inline bint take_place(object x, int kind, Operand *operand, Nest *nest, int place):
    """Let an operand have this place in the nest: a number, or an array that lies forwards; else False."""
    cdef int k, more
    for k in range(nest.axes):
        nest.strides[place][k] = 0
    if not cnp.PyArray_CheckExact(x):
        if not read_operand(x, kind, None, operand):
            return False
        nest.data[place] = operand.data
        return True
    nest.data[place] = cnp.PyArray_BYTES(<cnp.ndarray>x)
    more = nest.axes - cnp.PyArray_NDIM(<cnp.ndarray>x)
    for k in range(more, nest.axes):
        if cnp.PyArray_DIM(<cnp.ndarray>x, k - more) != 1:
            nest.strides[place][k] = cnp.PyArray_STRIDE(<cnp.ndarray>x, k - more)
            if nest.strides[place][k] < 0:  # NumPy turns such axes around, and takes other instructions
                return False
    return True


cdef inline cnp.npy_intp distance(cnp.npy_intp stride) noexcept nogil:
    return -stride if stride < 0 else stride


cdef inline int layout(const Nest *nest, int place) noexcept nogil:
    """1 where an operand lies by rows in memory, -1 in another order, 0 where it has none."""
    cdef cnp.npy_intp last = 0, step
    cdef int k, found = 0
    for k in range(nest.axes):
        step = distance(nest.strides[place][k])
        if step == 0:
            continue
        if last != 0:
            if step > last:
                return -1
            found = 1
        last = step
    return found


cdef void join_axes(const Nest *nest, int count, bint turned, Nest *joined) noexcept nogil:
    """The same without axes of length 1, and with those as one through which all operands go by one step."""
    cdef int k, i, of, to = -1
    cdef bint goes_on
    for k in range(nest.axes):
        of = nest.axes - 1 - k if turned else k
        if nest.shape[of] == 1:
            continue
        goes_on = to >= 0
        for i in range(count + 1):
            goes_on = goes_on and joined.strides[i][to] == nest.strides[i][of] * nest.shape[of]
        if not goes_on:
            to += 1
            joined.shape[to] = 1
        joined.shape[to] *= nest.shape[of]
        for i in range(count + 1):
            joined.strides[i][to] = nest.strides[i][of]
    joined.axes = to + 1
    for i in range(count + 1):
        joined.data[i] = nest.data[i]


cdef void walk(const Loop *loop, const Nest *nest, int count) noexcept nogil:
    """Call the loop along the last axis, for every place on the others."""
    cdef cnp.npy_intp at[AXES]
    cdef cnp.npy_intp steps[3]
    cdef cnp.npy_intp n = 1, rows = 1, row
    cdef cnp.npy_intp row_steps[3]
    cdef char *here[3]
    cdef char *args[3]
    cdef int i, k, last = nest.axes - 1
    for i in range(3):
        here[i] = nest.data[i] if i <= count else NULL
        steps[i] = nest.strides[i][last] if i <= count and last >= 0 else 0
        row_steps[i] = nest.strides[i][last - 1] if i <= count and last >= 1 else 0
    if last >= 0:
        n = nest.shape[last]
    if last >= 1:
        rows = nest.shape[last - 1]
    for k in range(last - 1):
        at[k] = 0
    while True:
        for row in range(rows):
            args[0] = here[0] + row * row_steps[0]  # anew: loops of SciPy change these
            args[1] = here[1] + row * row_steps[1]
            args[2] = here[2] + row * row_steps[2]
            loop.function(args, &n, steps, loop.data)
        k = last - 2
        while k >= 0:
            at[k] += 1
            for i in range(count + 1):
                here[i] += nest.strides[i][k]
            if at[k] < nest.shape[k]:
                break
            for i in range(count + 1):
                here[i] -= at[k] * nest.strides[i][k]
            at[k] = 0
            k -= 1
        if k < 0:
            return


cdef object apply_over_axes(const Loop *loop, int count, object x, object y, int kind):
    """The same where one loop does not go through all elements."""
    cdef Operand left, right
    cdef Nest nest, joined
    cdef cnp.npy_intp n = 1
    cdef cnp.ndarray out
    cdef int k, first, second = 0
    cdef bint turned
    nest.axes = cnp.PyArray_NDIM(<cnp.ndarray>x) if cnp.PyArray_CheckExact(x) else 0
    if count == 2 and cnp.PyArray_CheckExact(y):
        nest.axes = max(nest.axes, cnp.PyArray_NDIM(<cnp.ndarray>y))
    if nest.axes > AXES:
        return None
    for k in range(nest.axes):
        nest.shape[k] = 1
    if not broadcast_with(x, &nest) or not take_place(x, kind, &left, &nest, 0):
        return None
    if count == 2 and not (broadcast_with(y, &nest) and take_place(y, kind, &right, &nest, 1)):
        return None
    for k in range(nest.axes):
        n *= nest.shape[k]
    if not 0 < n <= UFUNC_LOOPS:
        return None
    first = layout(&nest, 0)
    if count == 2:
        second = layout(&nest, 1)
    if (first < 0 or second < 0) and nest.axes != 2:
        return None
    # the order of NumPy's results: by columns where one operand lies so and none by rows
    turned = first < 0 and second <= 0 or second < 0 and first <= 0
    out = cnp.PyArray_EMPTY(nest.axes, nest.shape, loop.kind, turned)
    nest.data[count] = cnp.PyArray_BYTES(out)
    for k in range(nest.axes):
        nest.strides[count][k] = cnp.PyArray_STRIDE(out, k)
    join_axes(&nest, count, turned, &joined)
    walk(loop, &joined, count)
    return checked(loop, out, n)


KIND = [cnp.NPY_DOUBLE, cnp.NPY_FLOAT, cnp.NPY_CDOUBLE, cnp.NPY_CFLOAT]


cdef class Loops:
    """The loops of one ufunc for all types of numbers.

    ``of_one`` and ``of_two`` call it on plain arrays and numbers.  They give None where `apply` does, and the
    caller then takes the ufunc itself; ``always`` does so by itself.
    """

    def __init__(self, function):
        cdef int k
        self.function = function
        for k in range(KINDS):
            if not find_loop(function, KIND[k], &self.loops[k]):
                self.loops[k].function = NULL

    cdef object of_one(self, object x):
        cdef int kind = kind_of(x)
        return None if kind < 0 else apply(&self.loops[place_of_kind(kind)], 1, x, None)

    cdef object of_two(self, object x, object y):
        cdef int kind = common_kind(x, y)
        return None if kind < 0 else apply(&self.loops[place_of_kind(kind)], 2, x, y)

    cdef object always(self, object x, object y):
        out = self.of_two(x, y)
        if out is None:
            out = self.function(x, y)
        return cnp.PyArray_FROM_O(out) if cnp.PyArray_CheckScalar(out) else out


ADD = Loops(np.add)
SUBTRACT = Loops(np.subtract)
MULTIPLY = Loops(np.multiply)
DIVIDE = Loops(np.divide)
NEGATIVE = Loops(np.negative)
CONJUGATE = Loops(np.conjugate)


cdef bint add_into(object total, object x):
    """``total += x`` in place for plain arrays of one shape and type; False where that is not the case."""
    cdef int kind = kind_of(total), k
    cdef const Loop *loop
    cdef Nest nest, joined
    cdef cnp.ndarray t
    if kind < 0 or kind_of(x) != kind:
        return False
    t = total
    if not cnp.PyArray_SAMESHAPE(t, <cnp.ndarray>x) or not cnp.PyArray_ISWRITEABLE(t) \
            or cnp.PyArray_NDIM(t) > AXES:
        return False
    if cnp.PyArray_IS_C_CONTIGUOUS(t) and cnp.PyArray_IS_C_CONTIGUOUS(<cnp.ndarray>x):
        return add_numbers(t, cnp.PyArray_BYTES(<cnp.ndarray>x))
    loop = &ADD.loops[place_of_kind(kind)]
    nest.data[0] = nest.data[2] = cnp.PyArray_BYTES(t)
    nest.data[1] = cnp.PyArray_BYTES(<cnp.ndarray>x)
    if cnp.PyArray_SIZE(t) == 0:
        return True
    nest.axes = cnp.PyArray_NDIM(t)
    for k in range(nest.axes):
        nest.shape[k] = cnp.PyArray_DIM(t, k)
        nest.strides[0][k] = nest.strides[2][k] = cnp.PyArray_STRIDE(t, k)
        nest.strides[1][k] = cnp.PyArray_STRIDE(<cnp.ndarray>x, k)
    join_axes(&nest, 2, nest.axes == 2 and layout(&nest, 0) < 0, &joined)
    walk(loop, &joined, 2)
    return True


cdef bint add_numbers(cnp.ndarray total, char *x):
    """The same for numbers that lie as those of an array without gaps do."""
    cdef Nest nest
    cdef int kind = kind_of(total)
    if kind < 0 or not cnp.PyArray_ISWRITEABLE(total):
        return False
    nest.data[0] = nest.data[2] = cnp.PyArray_BYTES(total)
    nest.data[1] = x
    nest.axes = 1
    nest.shape[0] = cnp.PyArray_SIZE(total)
    nest.strides[0][0] = nest.strides[1][0] = nest.strides[2][0] = cnp.PyArray_ITEMSIZE(total)
    walk(&ADD.loops[place_of_kind(kind)], &nest, 2)
    return True


cdef void reduce_all(Function function, void *data, char *of, char *to, cnp.npy_intp outer, cnp.npy_intp n,
                     cnp.npy_intp inner, cnp.npy_intp size, bint from_zero) noexcept nogil:
    """The reduction of the middle axis of three, as NumPy does it; ``from_zero``: not from the first one."""
    cdef char *args[3]
    cdef cnp.npy_intp steps[3]
    cdef cnp.npy_intp _i, _k, one
    args[0] = args[2] = to
    if from_zero:
        memset(args[0], 0, outer * inner * size)
    for _i in range(outer):
        if not from_zero:
            memcpy(args[0], of, inner * size)
        args[1] = of if from_zero else of + inner * size
        one = n if from_zero else n - 1
        if inner == 1:  # onto one number
            steps[0] = steps[2] = 0
            steps[1] = size
            function(args, &one, steps, data)
        else:
            steps[0] = steps[1] = steps[2] = size
            for _k in range(one):
                function(args, &inner, steps, data)
                args[1] += inner * size
        of += n * inner * size
        args[0] += inner * size
        args[2] = args[0]


cdef object reduce(const Loop *loop, cnp.ndarray x, object axis, bint keepdims, bint from_zero):
    """The reduction of few numbers in a contiguous array along one axis (None: all), as NumPy does it.

    ``from_zero``: the result starts as zero, not as the first number.  None where the call is another.
    """
    cdef cnp.npy_intp shape[8]
    cdef cnp.npy_intp n = cnp.PyArray_SIZE(x), inner = 1, outer = 1
    cdef Py_ssize_t size = cnp.PyArray_ITEMSIZE(x), k
    cdef int axes = cnp.PyArray_NDIM(x), along = 0, left = 0
    cdef cnp.ndarray out
    if not 0 < n <= UFUNC_LOOPS or axes > 8 or not cnp.PyArray_IS_C_CONTIGUOUS(x):
        return None
    if axis is None:
        if keepdims:
            for k in range(axes):
                shape[k] = 1
            left = axes
    else:
        along = axis
        if along < 0:
            along += axes
        if not 0 <= along < axes:
            return None
        n = cnp.PyArray_DIM(x, along)
        for k in range(axes):
            if k < along:
                outer *= cnp.PyArray_DIM(x, k)
            elif k > along:
                inner *= cnp.PyArray_DIM(x, k)
            if k != along or keepdims:
                shape[left] = 1 if k == along else cnp.PyArray_DIM(x, k)
                left += 1
    out = cnp.PyArray_EMPTY(left, shape, loop.kind, 0)
    reduce_all(loop.function, loop.data, cnp.PyArray_BYTES(x), cnp.PyArray_BYTES(out), outer, n, inner, size,
               from_zero)
    return out if finite(out) else None


# -- programs ----------------------------------------------------------------------------------------------

cdef enum Operation:
    LOOP
    WHERE
    UNIT_STEP
    CAST

cdef struct Step:
    Operation operation
    Loop loop
    int sources[3]
    int sizes[4]            # bytes of an element of each source, and of the target
    int kinds[2]            # of a cast
    int count
    int target              # a register; of the last step the result
    int decides             # the number of the decision that its mask makes; or -1
    int condition           # 2 k + 1 or 2 k: left out unless the mask of decision k holds, or fails; or -1


ctypedef fused word:
    char
    float
    double
    double complex


cdef inline void choose(char **args, const cnp.npy_intp *steps, word *out, Py_ssize_t n) noexcept nogil:
    """``out = where(mask, x, y)``"""
    cdef const char *mask = args[0]
    cdef const word *x = <word *>args[1]
    cdef const word *y = <word *>args[2]
    cdef word first, second
    cdef Py_ssize_t i
    # both are read, so that no element takes a branch
    if steps[0] == 1 and steps[1] == sizeof(word) and steps[2] == sizeof(word):
        for i in range(n):
            first = x[i]
            second = y[i]
            out[i] = first if mask[i] else second
    elif steps[0] == 1 and steps[1] == 0 and steps[2] == sizeof(word):
        first = x[0]
        for i in range(n):
            second = y[i]
            out[i] = first if mask[i] else second
    else:
        for i in range(n):
            first = (<word *>(args[1] + i * steps[1]))[0]
            second = (<word *>(args[2] + i * steps[2]))[0]
            out[i] = first if mask[i * steps[0]] else second


cdef inline void choose_any(char **args, const cnp.npy_intp *steps, int size, Py_ssize_t n) noexcept nogil:
    """The same onto ``args[3]``, for elements of so many bytes."""
    if size == 1:
        choose[char](args, steps, args[3], n)
    elif size == 4:
        choose[float](args, steps, <float *>args[3], n)
    elif size == 8:
        choose[double](args, steps, <double *>args[3], n)
    else:
        choose["double complex"](args, steps, <double complex *>args[3], n)


ctypedef fused real:
    float
    double


cdef inline real unit_step(real x, real y) noexcept nogil:
    """1 where x > y or one of them is a NaN, 1/2 where they are equal, else 0."""
    return <real>1 - (<real>0.5 if x <= y else <real>0) - (<real>0.5 if x < y else <real>0)


cdef inline void unit_steps(char **args, const cnp.npy_intp *steps, real *out, Py_ssize_t n) noexcept nogil:
    """``out = unit_step(x, y)``"""
    cdef const real *x = <real *>args[0]
    cdef const real *y = <real *>args[1]
    cdef real number
    cdef Py_ssize_t i
    if steps[0] == sizeof(real) and steps[1] == sizeof(real):
        for i in range(n):
            out[i] = unit_step(x[i], y[i])
    elif steps[0] == sizeof(real) and steps[1] == 0:
        number = y[0]
        for i in range(n):
            out[i] = unit_step(x[i], number)
    elif steps[0] == 0 and steps[1] == sizeof(real):
        number = x[0]
        for i in range(n):
            out[i] = unit_step(number, y[i])
    else:
        for i in range(n):
            number = (<real *>(args[1] + i * steps[1]))[0]
            out[i] = unit_step((<real *>(args[0] + i * steps[0]))[0], number)


cdef inline void cast_to(const char *x, cnp.npy_intp step, int kind, word *out,
                         Py_ssize_t n) noexcept nogil:
    cdef Py_ssize_t i
    if kind == cnp.NPY_BOOL and step == 1:
        for i in range(n):
            out[i] = <word>(x[i] != 0)
    elif kind == cnp.NPY_BOOL:
        for i in range(n):
            out[i] = <word>(x[i * step] != 0)
    elif kind == cnp.NPY_FLOAT:
        for i in range(n):
            out[i] = <word>(<float *>(x + i * step))[0]
    else:
        for i in range(n):
            out[i] = <word>(<double *>(x + i * step))[0]


cdef inline void cast(const char *x, cnp.npy_intp step, const int *kinds, char *out,
                      Py_ssize_t n) noexcept nogil:
    """Truth values and real numbers as real or complex ones."""
    cdef Py_ssize_t i
    if kinds[1] == cnp.NPY_DOUBLE:
        cast_to[double](x, step, kinds[0], <double *>out, n)
    elif kinds[1] == cnp.NPY_FLOAT:
        cast_to[float](x, step, kinds[0], <float *>out, n)
    elif kinds[1] == cnp.NPY_CDOUBLE:
        cast_to["double complex"](x, step, kinds[0], <double complex *>out, n)
    else:
        for i in range(n):
            (<float *>out)[2 * i] = (<float *>(x + i * step))[0] if kinds[0] == cnp.NPY_FLOAT \
                else x[i * step] != 0
            (<float *>out)[2 * i + 1] = 0


cdef object merge(object mask, object x, object y):
    """``where(mask, x, y)`` for few numbers in arrays of one type and shape, or single ones."""
    cdef Operand operands[3]
    cdef char *args[4]
    cdef cnp.npy_intp steps[3]
    cdef cnp.ndarray frame, out
    cdef int kind = common_kind(x, y), k
    cdef Py_ssize_t n
    if kind < 0 or not cnp.PyArray_CheckExact(mask) or cnp.PyArray_TYPE(<cnp.ndarray>mask) != cnp.NPY_BOOL:
        return None
    frame = common_frame(mask, common_frame(x, y))
    n = cnp.PyArray_SIZE(frame)
    if n > UFUNC_LOOPS or not read_operand(mask, kind, frame, &operands[0]) \
            or not read_operand(x, kind, frame, &operands[1]) \
            or not read_operand(y, kind, frame, &operands[2]):
        return None
    out = cnp.PyArray_EMPTY(cnp.PyArray_NDIM(frame), cnp.PyArray_DIMS(frame), kind, 0)
    for k in range(3):
        args[k] = operands[k].data
        steps[k] = operands[k].step
    args[3] = cnp.PyArray_BYTES(out)
    choose_any(args, steps, cnp.PyArray_ITEMSIZE(out), n)
    return out


cdef class Program:
    """A formula as the loops that compute it, one after the other.

    Its registers are what is given (the value, then three arguments), constants, and blocks of memory for
    what comes between.

    Parameters
    ----------
    constants : list of (number, type number)
    steps : list of (ufunc, "where", "unit step" or "cast", sources, their types, target, its type, condition)
        The condition is ``2 i + 1`` for a step that is needed only if the mask of step i holds somewhere,
        ``2 i`` if it fails somewhere, -1 for one that is needed anyway.
    slots : int
        How many blocks.
    result : int
        The register of the result, if there are no steps: something given, or a constant.
    kind : int
        The type number of the result.
    asks : bool
        Whether the formula does without some of the steps where it can.

    Attributes
    ----------
    uses : int
        The bits of the given registers that are needed.
    number : float or None
        The result, where it is a constant.
    """

    def __cinit__(self, list constants, list steps, int slots, int result, int kind, bint asks):
        cdef int i, k
        cdef Step *step
        self.count = len(steps)
        self.constant_count = len(constants)
        self.slots = slots
        self.result = result
        self.kind = kind
        self.asks = asks
        if GIVEN + self.constant_count + slots > REGISTERS:
            raise ValueError("a formula with too many constants and intermediate results")
        self.steps = <Step *>PyMem_Calloc(max(self.count, 1), sizeof(Step))
        self.constants = <char *>PyMem_Calloc(max(self.constant_count, 1), 16)
        if self.steps == NULL or self.constants == NULL:
            raise MemoryError()
        for i, (number, number_kind) in enumerate(constants):
            number = complex(number)
            if number_kind == cnp.NPY_BOOL:
                self.constants[16 * i] = number != 0
            elif not store(number.real, number.imag, number_kind, <double *>(self.constants + 16 * i)):
                raise ValueError("a constant too large for its type")
        for i in range(self.count):
            self.steps[i].decides = -1
        for i, (what, sources, kinds, target, target_kind, condition) in enumerate(steps):
            step = &self.steps[i]
            step.condition = self.decision(condition)
            step.count = len(sources)
            step.target = target
            for k in range(step.count):
                step.sources[k] = sources[k]
                step.sizes[k] = size_of(kinds[k])
                if sources[k] < GIVEN:
                    self.uses |= 1 << <int>sources[k]
            step.sizes[step.count] = size_of(target_kind)
            if what == "where":
                step.operation = WHERE
            elif what == "unit step":
                step.operation = UNIT_STEP
            elif what == "cast":
                step.operation = CAST
                step.kinds[0] = kinds[0]
                step.kinds[1] = target_kind
            elif not find_loop(what, kinds[0], &step.loop) or step.loop.kind != target_kind:
                raise ValueError(f"{what} has no loop for these types")
        if self.count == 0:
            if result < GIVEN:
                self.uses = 1 << result
            else:
                self.number = constants[result - GIVEN][0]

    cdef int decision(self, int condition):
        """A condition by the number of its decision; of more of them than there is room for, none."""
        cdef Step *mask
        if condition < 0:
            return -1
        mask = &self.steps[condition // 2]
        if mask.decides < 0 and self.decisions < DECISIONS:
            mask.decides = self.decisions
            self.decisions += 1
        return -1 if mask.decides < 0 else 2 * mask.decides + condition % 2

    def __dealloc__(self):
        PyMem_Free(self.steps)
        PyMem_Free(self.constants)

    cdef object run(self, Operand *given, cnp.ndarray frame):
        """The result, an array of the shape of ``frame``.  There has to be a step."""
        return self.into(
            empty(cnp.PyArray_NDIM(frame), cnp.PyArray_DIMS(frame), self.kind), given, NULL, False)

    cdef object chained(self, Operand *given, object y_bar, bint overwrite, bint conjugated):
        """``y_bar`` times the result, or its conjugate, with 0 * inf = 0; what is given has the shape of
        ``y_bar``.

        None unless that is a contiguous array of the type of the result.
        """
        cdef cnp.ndarray out
        if kind_of(y_bar) != self.kind or not cnp.PyArray_IS_C_CONTIGUOUS(<cnp.ndarray>y_bar):
            return None
        out = y_bar
        if not overwrite or is_complex(self.kind) or not cnp.PyArray_ISWRITEABLE(out):
            out = empty(cnp.PyArray_NDIM(out), cnp.PyArray_DIMS(out), self.kind)
        return self.into(out, given, cnp.PyArray_BYTES(<cnp.ndarray>y_bar), conjugated)

    cdef object into(self, cnp.ndarray out, Operand *given, const char *y_bar, bint conjugated):
        """Write the result, or its product with ``y_bar``, into ``out``."""
        cdef Py_ssize_t n = cnp.PyArray_SIZE(out)
        cdef char *to = cnp.PyArray_BYTES(out)
        cdef char small[4096]
        cdef char *memory = small
        cdef size_t needed = <size_t>(self.slots + (y_bar != NULL)) * min(n, <Py_ssize_t>PROGRAM_BLOCK) * 16
        if needed > sizeof(small):
            memory = <char *>PyMem_Malloc(needed)
            if memory == NULL:
                raise MemoryError()
        if n < PROGRAM_UNDER_GIL:
            self.over_blocks(given, n, to, y_bar, conjugated, memory)
        else:
            with nogil:
                self.over_blocks(given, n, to, y_bar, conjugated, memory)
        if memory != small:
            PyMem_Free(memory)
        raise_pending()
        return out

    cdef int over_blocks(self, Operand *given, Py_ssize_t n, char *out, const char *y_bar, bint conjugated,
                         char *memory) noexcept nogil:
        cdef char *at[REGISTERS]
        cdef char *result = memory + self.slots * min(n, <Py_ssize_t>PROGRAM_BLOCK) * 16
        cdef char *args[4]
        cdef cnp.npy_intp steps[4]
        cdef cnp.npy_intp length
        cdef char found[2 * DECISIONS]  # whether a mask fails, and holds, somewhere in the block
        cdef int i, k, r, first = GIVEN + self.constant_count
        cdef Py_ssize_t start = 0, size = size_of(self.kind)
        cdef Step *step
        for r in range(self.constant_count):
            at[GIVEN + r] = self.constants + 16 * r
        for r in range(self.slots):
            at[first + r] = memory + r * min(n, <Py_ssize_t>PROGRAM_BLOCK) * 16
        while start < n:
            length = min(n - start, <Py_ssize_t>PROGRAM_BLOCK)
            for r in range(GIVEN):
                if self.uses >> r & 1:
                    at[r] = given[r].data + start * given[r].step
            for i in range(self.count):
                step = &self.steps[i]
                if step.condition >= 0 and not found[step.condition]:
                    if step.decides >= 0:
                        found[2 * step.decides] = found[2 * step.decides + 1] = 0
                    continue
                for k in range(step.count):
                    r = step.sources[k]
                    args[k] = at[r]
                    steps[k] = given[r].step if r < GIVEN else 0 if r < first else step.sizes[k]
                args[step.count] = at[step.target]
                if i == self.count - 1:
                    args[step.count] = result if y_bar != NULL else out + start * step.sizes[step.count]
                steps[step.count] = step.sizes[step.count]
                if step.operation == LOOP:
                    step.loop.function(args, &length, steps, step.loop.data)
                elif step.operation == UNIT_STEP and step.sizes[2] == sizeof(double):
                    unit_steps[double](args, steps, <double *>args[2], length)
                elif step.operation == UNIT_STEP:
                    unit_steps[float](args, steps, <float *>args[2], length)
                elif step.operation == CAST:
                    cast(args[0], steps[0], step.kinds, args[1], length)
                else:
                    choose_any(args, steps, step.sizes[3], length)
                if step.decides >= 0:
                    found[2 * step.decides] = memchr(args[step.count], 0, length) != NULL
                    found[2 * step.decides + 1] = memchr(args[step.count], 1, length) != NULL
            if y_bar != NULL:
                chain_block(out + start * size, y_bar + start * size, result, length, self.kind, conjugated)
            start += length
        return 0
