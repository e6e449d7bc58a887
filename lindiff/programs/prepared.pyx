"""Operations of a program that are carried out without Python: a C function each, and what it has to know.

The shapes, strides and types of operands are fixed in a program.  What follows from them is found out once,
when an operation is prepared; a run hands over the operands' addresses alone.  A run returns 0, or 1 where
the operation cannot be carried out so with these numbers: a matrix is singular, an answer is another one.
"""

cimport numpy as cnp

from cpython.exc cimport PyErr_Clear, PyErr_Occurred
from cpython.mem cimport PyMem_Calloc, PyMem_Free
from cpython.object cimport PyObject
from libc.math cimport isfinite, pow
from libc.stdint cimport int32_t, int64_t, uint8_t
from libc.string cimport memchr, memcpy, memset

from lindiff.kernels.cholesky cimport potrf_one, potrf_pullback_one
from lindiff.kernels.elementwise cimport chain_block, chain_number
from lindiff.kernels.inverse cimport inverse_one
from lindiff.kernels.loops cimport AXES, Function, Nest, UFunc, join_axes, reduce_all, walk
from lindiff.kernels.lu cimport getrf_one, getrs_one
from lindiff.kernels.matmul cimport Frame, large_product, lying_product_of, product_of
from lindiff.kernels.rowmajor cimport blas_int
from lindiff.kernels.sizes cimport MATMUL_LOOPS, SINGLE_FACTORS
from lindiff.kernels.triangles cimport find_unpaired, give_to_unpaired, zero_pivot
from lindiff.programs.few cimport few_loop, run_of_few
from lindiff.programs.flags cimport FE_NOTED, clear_all_flags, feraiseexcept, fetestexcept
from lindiff.programs.logaddexp cimport logaddexp_loop, numpys_logaddexp

import numpy as np

cnp.import_array()

# Numbers in two axes: of more, NumPy's loops are as fast.
cdef enum:
    FEW_IN_ROWS = 256

# Numbers that loops take here.
cdef str KINDS = "?bBhHiIlLqQfdFD"


cdef class Prepared:
    """An operation with its operands' forms.

    Attributes
    ----------
    reads, writes : int
        The bits of the operands whose memory it reads, and of those that it writes: all of what such an
        operand is, where it does not read that as well.  ``uses`` has both for each operand.
    n : int
        How many elements it goes through, one step apart in each operand; 0 where that is not all that it
        does.
    fails : bool
        It may not be carried out with some numbers.
    tells : bool
        The processor may note that numbers are not finite.
    hushed : bool
        NumPy says nothing of that.
    keeps : bool
        It does not clear what the processor has noted before.
    exact : bool
        Its result may be written over an operand.
    """

    def __dealloc__(self):
        PyMem_Free(self.state)

    def step(self, int operand):
        """The bytes from one element of an operand to the next."""
        return self.steps[operand]

    cdef int touch(self, object reads, object writes) except -1:
        """Say which operands it reads and writes."""
        cdef int k, count = max(reads.bit_length(), writes.bit_length())
        if count > OPERANDS:
            raise ValueError("an operation with too many operands")
        self.reads, self.writes = reads, writes
        for k in range(count):
            self.uses[k] = (reads >> k & 1) * READS | (writes >> k & 1) * WRITES
        return 0

    def key(self):
        """What is the same for operations that are."""
        return <size_t>self.run, (<char *>self.state)[:self.size]


cdef Prepared prepared(Run run, const void *state, size_t size, int reads, int writes, bint fails=False):
    cdef Prepared made = Prepared.__new__(Prepared)
    made.run = run
    made.size = size
    made.state = PyMem_Calloc(1, size)
    if made.state == NULL:
        raise MemoryError()
    memcpy(made.state, state, size)
    made.touch(reads, writes)
    made.fails, made.tells = fails, True
    return made


# -- elementwise -------------------------------------------------------------------------------------------

cdef void along_vectors(const void *state, char **x, cnp.npy_intp n) noexcept nogil:
    cdef const Vectors *s = <const Vectors *>state
    cdef char *args[3]
    args[0] = x[0]  # anew: loops of SciPy change these
    args[1] = x[1]
    args[2] = x[2]
    s.function(args, &n, s.steps, s.data)


cdef int run_vectors(const void *state, char **x) noexcept nogil:
    along_vectors(state, x, (<const Vectors *>state).n)
    return 0


cdef int run_raising(const void *state, char **x) noexcept nogil:
    along_vectors(state, x, (<const Vectors *>state).n)
    return left_error()


cdef int left_error() noexcept nogil:
    """Whether a loop of SciPy's has raised, as its ``errstate`` may tell it to; the function then does so."""
    with gil:
        if PyErr_Occurred() == NULL:
            return 0
        PyErr_Clear()
        return 1


cdef int run_nested(const void *state, char **x) noexcept nogil:
    cdef const Nested *s = <const Nested *>state
    cdef Nest nest = s.nest
    cdef int i
    for i in range(s.count + 1):
        nest.data[i] = x[i]
    walk(&s.loop, &nest, s.count)
    return 0


cdef enum:
    ADDED = 0
    SUBTRACTED = 1
    MULTIPLIED = 2
    COPIED = 3


cdef inline int rows_of(const Nested *s, char **x, int what) noexcept nogil:
    """Real numbers in two axes, one after the other, onto rows of the result."""
    cdef cnp.npy_intp a_step = s.nest.strides[0][1], b_step = s.nest.strides[1][1], i, k
    cdef cnp.npy_intp a_row = s.nest.strides[0][0], b_row = s.nest.strides[1][0]
    cdef cnp.npy_intp c_row = s.nest.strides[s.count][0]
    cdef char *a
    cdef char *b
    cdef double *c
    for i in range(s.nest.shape[0]):
        a, b, c = x[0] + i * a_row, x[1] + i * b_row, <double *>(x[s.count] + i * c_row)
        for k in range(s.nest.shape[1]):
            if what == ADDED:
                c[k] = (<double *>(a + k * a_step))[0] + (<double *>(b + k * b_step))[0]
            elif what == SUBTRACTED:
                c[k] = (<double *>(a + k * a_step))[0] - (<double *>(b + k * b_step))[0]
            elif what == MULTIPLIED:
                c[k] = (<double *>(a + k * a_step))[0] * (<double *>(b + k * b_step))[0]
            else:
                c[k] = (<double *>(a + k * a_step))[0]
    return 0


cdef int run_added_rows(const void *state, char **x) noexcept nogil:
    return rows_of(<const Nested *>state, x, ADDED)


cdef int run_subtracted_rows(const void *state, char **x) noexcept nogil:
    return rows_of(<const Nested *>state, x, SUBTRACTED)


cdef int run_multiplied_rows(const void *state, char **x) noexcept nogil:
    return rows_of(<const Nested *>state, x, MULTIPLIED)


cdef int run_copied_rows(const void *state, char **x) noexcept nogil:
    return rows_of(<const Nested *>state, x, COPIED)


cdef bint are_few_rows(const Nested *s):
    """Whether these are few numbers of eight bytes in two axes, onto rows of the result."""
    return s.nest.axes == 2 and s.nest.shape[0] * s.nest.shape[1] <= FEW_IN_ROWS \
        and s.nest.strides[s.count][1] == sizeof(double)


cdef int loop_of(object function, str letters) except -2:
    """The number of the loop for operands and result of these types; -1 where there is none."""
    for i, types in enumerate(function.types):
        if types.replace("->", "") == letters:
            return i
    return -1


cdef bint fill_nest(Nest *nest, list forms) except -1:
    """Broadcast operands to the shape of the last one, the result; False where it has too many axes, or there
    is nothing."""
    cdef int i, k, more
    cdef tuple shape = forms[len(forms) - 1][0], own, strides
    if len(shape) > AXES:
        return False
    memset(nest, 0, sizeof(Nest))
    nest.axes = len(shape)
    for k in range(nest.axes):
        nest.shape[k] = shape[k]
    for i in range(len(forms)):
        own, strides = forms[i]
        if 0 in own:
            return False
        more = nest.axes - len(own)
        for k in range(nest.axes):
            nest.strides[i][k] = 0 if k < more or own[k - more] == 1 else strides[k - more]
    return True


cdef Prepared by_loop(Function function, void *data, const Nest *nest, int count):
    """A loop over a nest of joined axes: one call of it where that is enough."""
    cdef Prepared made
    cdef int reads = (1 << count) - 1
    cdef Nested nested
    cdef Vectors vectors
    cdef int i
    if nest.axes > 1:
        memset(&nested, 0, sizeof(nested))
        nested.nest = nest[0]
        nested.count = count
        nested.loop.function = function
        nested.loop.data = data
        made = prepared(run_nested, &nested, sizeof(nested), reads, 1 << count)
        made.kind = NESTED
        return made
    memset(&vectors, 0, sizeof(vectors))
    vectors.function = function
    vectors.data = data
    vectors.n = nest.shape[0] if nest.axes else 1
    for i in range(count + 1):
        vectors.steps[i] = nest.strides[i][0] if nest.axes else 0
    made = prepared(run_vectors, &vectors, sizeof(vectors), reads, 1 << count)
    made.kind = VECTORS
    made.along = along_vectors
    made.n = vectors.n
    for i in range(count + 1):
        made.steps[i] = vectors.steps[i]
    return made


# What does the same to the real and to the imaginary parts: all else rounds as its loop is called.
cdef frozenset BY_PARTS = frozenset({np.add, np.subtract, np.negative, np.positive, np.conjugate})


cdef bint of_one(Prepared made, list forms, str letters, bint exactly, bint mixes) except -1:
    """Let a loop of one element have the steps that NumPy gives it, as some loops look at these.

    False where it takes another way, and ``exactly`` that is asked for, or it mixes parts of complex numbers.
    """
    cdef Vectors *vectors = <Vectors *>made.state
    cdef int i, last = len(forms) - 1
    cdef tuple shape = forms[last][0], own, strides
    for i in range(last + 1):
        own, strides = forms[i]
        if own and own != shape:
            return not (exactly or mixes)
        if not own and mixes:
            return False
    for i in range(last + 1):
        own, strides = forms[i]
        if len(own) == 1 and strides:
            vectors.steps[i] = strides[0]
        elif own or i == last:
            vectors.steps[i] = np.dtype(letters[i]).itemsize
    return True


def elementwise(function, str letters, list forms, bint exact, bint tells=True, bint raises=False):
    """A ufunc of one or two operands.

    Parameters
    ----------
    function : ufunc
    letters : str
        Types of operands and result.
    forms : list of (shape, strides)
        Of operands and result.
    exact : bool
        The operation is one of those that IEEE fixes.
    tells : bool
        The processor may note that numbers are not finite.
    raises : bool
        The loop may leave an error behind.

    Returns
    -------
    Prepared or None
    """
    cdef UFunc *ufunc = <UFunc *><PyObject *>function
    cdef Prepared made
    cdef Nest nest, joined
    cdef int i, k, last, count = len(forms) - 1, at = loop_of(function, letters)
    cdef bint own = function is np.logaddexp and letters == "ddd"
    cdef bint mixes = function not in BY_PARTS and not set(letters).isdisjoint("FD")
    cdef Py_ssize_t size = np.dtype(letters[count]).itemsize
    if at < 0 or ufunc.functions == NULL or set(letters) - set(KINDS) or not fill_nest(&nest, forms):
        return None
    exact |= own
    join_axes(&nest, count, False, &joined)
    last = joined.axes - 1
    if last > 0 and joined.strides[count][last] != size:
        join_axes(&nest, count, True, &joined)  # by columns
        last = joined.axes - 1
    if last >= 0 and joined.shape[last] > 1 and joined.strides[count][last] != size:
        return None  # NumPy never calls loops so, and some give other results
    if not exact and last > 0:
        return None
    if not exact or mixes:  # NumPy may turn an axis
        for i in range(count + 1):
            for k in range(last + 1):
                if joined.strides[i][k] < 0:
                    return None
    if own:
        made = by_loop(logaddexp_loop, numpys_logaddexp(), &joined, count)
    else:
        made = by_loop(ufunc.functions[at], ufunc.data[at], &joined, count)
    if last > 0 and not raises:
        few_along_rows(made, function.__name__, letters)
    if joined.axes == 0 and not of_one(made, forms, letters, not exact, mixes):
        return None
    made.exact, made.tells, made.raises, made.item = exact, tells, raises, size
    if mixes:
        made.kind = OTHER
    if raises:
        made.run = run_raising
    elif last <= 0:
        use_few(made, function.__name__, letters)
    return made


cdef int use_few(Prepared made, str name, str letters) except -1:
    """Let a few numbers be computed here; their number is the first of what an operation has to know."""
    cdef Run run = run_of_few(name, letters, made.n, made.steps)
    if run != NULL:
        made.run = run
        made.keeps = True
    return 0


cdef int few_along_rows(Prepared made, str name, str letters) except -1:
    """Let each of many rows of few numbers be computed here."""
    cdef Nested *s = <Nested *>made.state
    cdef cnp.npy_intp steps[3]
    cdef int i, last = s.nest.axes - 1
    for i in range(s.count + 1):
        steps[i] = s.nest.strides[i][last]
    cdef Run run = run_of_few(name, letters, s.nest.shape[last], steps)
    if run != NULL:
        s.loop.function, s.loop.data = few_loop, <void *>run
        made.keeps = True
    elif letters == "ddd" and name in ("add", "subtract", "multiply") and are_few_rows(s):
        made.run = run_added_rows if name == "add" else \
            run_subtracted_rows if name == "subtract" else run_multiplied_rows
        made.keeps = True
    return 0


cdef int run_power(const void *state, char **x) noexcept nogil:
    (<double *>x[2])[0] = pow((<double *>x[0])[0], (<double *>x[1])[0])
    return 0


def power_of_number():
    """``x ** y`` of numbers of NumPy's, which asks the C library."""
    return prepared(run_power, NULL, 0, 0b11, 0b100)


# -- copies ------------------------------------------------------------------------------------------------

cdef void copy_loop(char **args, const cnp.npy_intp *dims, const cnp.npy_intp *steps,
                    void *data) noexcept nogil:
    """Elements of so many bytes as ``data`` says, in the way of a ufunc's loop."""
    cdef Py_ssize_t i, size = <Py_ssize_t>data
    cdef char *of = args[0]
    cdef char *to = args[1]
    if of == to and steps[0] == steps[1]:
        return
    if dims[0] == 1 or (steps[0] == size and steps[1] == size):
        memcpy(to, of, dims[0] * size)
    elif size == 8:
        for i in range(dims[0]):
            (<double *>(to + i * steps[1]))[0] = (<double *>(of + i * steps[0]))[0]
    elif size == 4:
        for i in range(dims[0]):
            (<float *>(to + i * steps[1]))[0] = (<float *>(of + i * steps[0]))[0]
    else:
        for i in range(dims[0]):
            memcpy(to + i * steps[1], of + i * steps[0], size)


cdef void masked_loop(char **args, const cnp.npy_intp *dims, const cnp.npy_intp *steps,
                      void *data) noexcept nogil:
    """The same where a mask, the first operand, holds."""
    cdef int64_t chosen, before
    cdef int64_t *to = <int64_t *>args[2]
    cdef Py_ssize_t i
    if <Py_ssize_t>data == 8 and steps[0] == 1 and steps[1] == 0 and steps[2] == 8:  # for many at once
        chosen = (<int64_t *>args[1])[0]
        for i in range(dims[0]):
            to[i] = chosen if args[0][i] else to[i]
        return
    if <Py_ssize_t>data == 8:
        for i in range(dims[0]):  # both are read, so that no element takes a branch
            chosen = (<int64_t *>(args[1] + i * steps[1]))[0]
            before = (<int64_t *>(args[2] + i * steps[2]))[0]
            (<int64_t *>(args[2] + i * steps[2]))[0] = chosen if args[0][i * steps[0]] else before
        return
    for i in range(dims[0]):
        if args[0][i * steps[0]]:
            memcpy(args[2] + i * steps[2], args[1] + i * steps[1], <Py_ssize_t>data)


cdef Prepared over_nest(Function function, Py_ssize_t size, list forms):
    cdef Nest nest, joined
    cdef Prepared made
    cdef int count = len(forms) - 1
    if not fill_nest(&nest, forms):
        return None
    join_axes(&nest, count, False, &joined)
    made = by_loop(function, <void *>size, &joined, count)
    made.exact, made.tells, made.keeps = True, False, True
    if function == copy_loop and size == sizeof(double) and joined.axes == 2 \
            and are_few_rows(<const Nested *>made.state):
        made.run = run_copied_rows
    return made


def copy(int size, list forms):
    """An operand, broadcast, written to the place of the result; ``forms`` as in `elementwise`."""
    return over_nest(copy_loop, size, forms)


def masked_copy(int size, list forms):
    """An operand, broadcast, written to the result where a mask holds; forms of mask, operand, result."""
    cdef Prepared made = over_nest(masked_loop, size, forms)
    if made is not None:
        made.touch(0b111, 0b100)
    return made


ctypedef fused given:
    uint8_t
    int32_t
    int64_t
    float

ctypedef fused wanted:
    int64_t
    float
    double


cdef inline void convert(char **args, cnp.npy_intp n, const cnp.npy_intp *steps, given *_of,
                         wanted *_to) noexcept nogil:
    cdef cnp.npy_intp i
    for i in range(n):
        if given is uint8_t:  # a truth value
            (<wanted *>(args[1] + i * steps[1]))[0] = (<given *>(args[0] + i * steps[0]))[0] != 0
        else:
            (<wanted *>(args[1] + i * steps[1]))[0] = <wanted>(<given *>(args[0] + i * steps[0]))[0]


cdef void cast_loop(char **args, const cnp.npy_intp *dims, const cnp.npy_intp *steps,
                    void *data) noexcept nogil:
    """Numbers of one type as those of another, in the way of a ufunc's loop; ``data`` is one of `CASTS`."""
    cdef Py_ssize_t kind = <Py_ssize_t>data
    cdef uint8_t *truth = NULL
    cdef int32_t *short = NULL
    cdef int64_t *long = NULL
    cdef float *single = NULL
    cdef double *number = NULL
    if kind == 0:
        convert(args, dims[0], steps, truth, long)
    elif kind == 1:
        convert(args, dims[0], steps, truth, single)
    elif kind == 2:
        convert(args, dims[0], steps, truth, number)
    elif kind == 3:
        convert(args, dims[0], steps, short, long)
    elif kind == 4:
        convert(args, dims[0], steps, short, number)
    elif kind == 5:
        convert(args, dims[0], steps, long, number)
    else:
        convert(args, dims[0], steps, single, number)


cdef list CASTS = ["b1 i8", "b1 f4", "b1 f8", "i4 i8", "i4 f8", "i8 f8", "f4 f8"]


def cast(of, to, list forms):
    """An operand, broadcast, in another type; ``forms`` as in `elementwise`."""
    cdef Prepared made
    cdef Nest nest, joined
    name = f"{of.str[1:]} {to.str[1:]}"
    if name not in CASTS or not fill_nest(&nest, forms):
        return None
    join_axes(&nest, 1, False, &joined)
    made = by_loop(cast_loop, <void *><Py_ssize_t>CASTS.index(name), &joined, 1)
    made.tells = False
    return made


cdef struct Places:
    cnp.npy_intp n
    int size
    bint gathers
    int adds                # the type of numbers to add, or -1
    cnp.npy_intp step       # of the other operand's elements
    cnp.npy_intp at[1]      # bytes behind the first element; there are n


cdef int run_places(const void *state, char **x) noexcept nogil:
    cdef const Places *s = <const Places *>state
    cdef const cnp.npy_intp *at = s.at
    cdef cnp.npy_intp i
    if s.adds == cnp.NPY_DOUBLE:
        for i in range(s.n):
            (<double *>(x[1] + at[i]))[0] += (<double *>(x[0] + i * s.step))[0]
    elif s.adds == cnp.NPY_FLOAT:
        for i in range(s.n):
            (<float *>(x[1] + at[i]))[0] += (<float *>(x[0] + i * s.step))[0]
    elif s.gathers:
        for i in range(s.n):
            memcpy(x[1] + i * s.size, x[0] + at[i], s.size)
    else:
        for i in range(s.n):
            memcpy(x[1] + at[i], x[0] + i * s.step, s.size)
    return 0


def places(int size, list offsets, bint gathers, Py_ssize_t step, int adds=-1):
    """Elements at fixed places: of the operand, in their order onto the result, or of the result.

    ``offsets`` in bytes behind the first element; ``step`` from one element of the operand to the next where
    those are written.
    """
    cdef Prepared made = Prepared.__new__(Prepared)
    cdef Places *state
    cdef Py_ssize_t i
    made.run = run_places
    made.size = sizeof(Places) + len(offsets) * sizeof(cnp.npy_intp)
    made.state = PyMem_Calloc(1, made.size)
    if made.state == NULL:
        raise MemoryError()
    made.touch(0b1 if gathers else 0b11, 0b10)
    made.tells = adds >= 0
    made.keeps = True
    state = <Places *>made.state
    state.n, state.size, state.gathers, state.step, state.adds = len(offsets), size, gathers, step, adds
    for i in range(len(offsets)):
        state.at[i] = offsets[i]
    return made


cdef struct Stretch:
    int operand         # -1: zeros
    Py_ssize_t offset   # of its first element, in bytes
    Py_ssize_t step
    Py_ssize_t count


cdef struct Arrangement:
    int size            # of an element
    int result
    Py_ssize_t count
    Stretch runs[1]     # there are ``count``


cdef int run_arrangement(const void *state, char **x) noexcept nogil:
    """The operands, and the result, which is filled element by element."""
    cdef const Arrangement *s = <const Arrangement *>state
    cdef const Stretch *run
    cdef char *to = x[s.result]
    cdef const char *of
    cdef Py_ssize_t i, k, size = s.size
    for k in range(s.count):
        run = &s.runs[k]
        if run.operand < 0:
            memset(to, 0, run.count * size)
            to += run.count * size
            continue
        of = x[run.operand] + run.offset
        if size == 8 and (run.count == 1 or run.step != size):
            for i in range(run.count):
                (<int64_t *>to)[i] = (<int64_t *>(of + i * run.step))[0]
        elif run.step == size or run.count == 1:
            memcpy(to, of, run.count * size)
        else:
            for i in range(run.count):
                memcpy(to + i * size, of + i * run.step, size)
        to += run.count * size
    return 0


def arrangement(int size, int operands, list runs):
    """Elements of so many operands put one behind the other onto the result.

    Parameters
    ----------
    size : int
        Bytes of an element.
    operands : int
        How many there are before the result.
    runs : list of (operand or None, offset, step, count)
        Of None there are zeros; offset and step in bytes.
    """
    cdef Prepared made = Prepared.__new__(Prepared)
    cdef Arrangement *state
    cdef Py_ssize_t k
    made.run = run_arrangement
    made.size = sizeof(Arrangement) + len(runs) * sizeof(Stretch)
    made.state = PyMem_Calloc(1, made.size)
    if made.state == NULL:
        raise MemoryError()
    made.touch((1 << <object>operands) - 1, 1 << <object>operands)
    made.tells, made.keeps = False, True
    state = <Arrangement *>made.state
    state.size, state.result, state.count = size, operands, len(runs)
    for k, (operand, offset, step, count) in enumerate(runs):
        state.runs[k].operand = -1 if operand is None else operand
        state.runs[k].offset, state.runs[k].step, state.runs[k].count = offset, step, count
    return made


cdef struct Element:
    cnp.npy_intp n      # elements of the array,
    cnp.npy_intp step   # and how far they lie apart
    int size
    bint long_place     # 64 bits
    int kind            # 0: get, 1: set, 2: add
    bint single


cdef int run_element(const void *state, char **x) noexcept nogil:
    """Of the place, the array, and the item; fails where there is no such place."""
    cdef const Element *s = <const Element *>state
    cdef cnp.npy_intp at = (<int64_t *>x[0])[0] if s.long_place else (<int32_t *>x[0])[0]
    cdef char *element
    if at < 0:
        at += s.n
    if not 0 <= at < s.n:
        return -1
    element = x[1] + at * s.step
    if s.kind == 0:
        memcpy(x[2], element, s.size)
    elif s.kind == 1:
        memcpy(element, x[2], s.size)
    elif s.single:
        (<float *>element)[0] += (<float *>x[2])[0]
    else:
        (<double *>element)[0] += (<double *>x[2])[0]
    return 0


def element(str kind, str place, str letter, Py_ssize_t n, Py_ssize_t step):
    """``"get"``, ``"set"`` or ``"add"`` to one element of an array, at a place of dtype ``place``."""
    cdef Element s
    cdef Prepared made
    if np.dtype(place).kind != "i" or np.dtype(place).itemsize not in (4, 8) or letter not in KINDS:
        return None
    if kind == "add" and letter not in "fd":
        return None
    memset(&s, 0, sizeof(s))
    s.n, s.step, s.size, s.single = n, step, np.dtype(letter).itemsize, letter == "f"
    s.long_place, s.kind = np.dtype(place).itemsize == 8, ("get", "set", "add").index(kind)
    if s.kind == 0:
        made = prepared(run_element, &s, sizeof(s), 0b11, 0b100, True)
    else:
        made = prepared(run_element, &s, sizeof(s), 0b111, 0b10, True)
    made.tells = kind == "add"
    return made


# -- reductions --------------------------------------------------------------------------------------------

cdef int run_reduction(const void *state, char **x) noexcept nogil:
    cdef const Reduction *s = <const Reduction *>state
    reduce_all(s.function, s.data, x[0], x[1], s.outer, s.n, s.inner, s.size, s.from_zero)
    return 0


def reduction(function, str letter, tuple shape, object axis, int size):
    """A ufunc's reduction of a C-contiguous operand along one axis, or all (None)."""
    cdef UFunc *ufunc = <UFunc *><PyObject *>function
    cdef Reduction state
    cdef int at = loop_of(function, letter * 3), k
    if at < 0 or 0 in shape or letter not in "fdFD?lq":
        return None
    memset(&state, 0, sizeof(state))
    state.function = ufunc.functions[at]
    state.data = ufunc.data[at]
    state.size = size
    state.from_zero = function is np.add
    state.outer = state.inner = state.n = 1
    for k in range(len(shape)):
        if axis is None or k == axis:
            state.n *= shape[k]
        elif k < axis:
            state.outer *= shape[k]
        else:
            state.inner *= shape[k]
    cdef cnp.npy_intp[3] steps = [size, size, size]
    cdef Run run = run_of_few(function.__name__, 3 * letter, state.inner, steps)
    if state.inner > 1 and run != NULL:
        state.function, state.data = few_loop, <void *>run
    cdef Prepared made = prepared(run_reduction, &state, sizeof(state), 0b1, 0b10)
    made.kind = REDUCTION
    return made


# -- products of matrices ----------------------------------------------------------------------------------

cdef int run_product(const void *state, char **x) noexcept nogil:
    cdef const Product *s = <const Product *>state
    cdef Frame a = s.x, b = s.y, c = s.z
    a.data = x[0]
    b.data = x[1]
    c.data = x[2]
    if s.large:
        return not large_product(&c, &a, &b, s.kind, False)
    product_of(&c, &a, &b, s.kind, False)
    return 0


cdef Prepared product(const Product *s):
    """The product of matrices of these forms."""
    cdef Prepared made = prepared(run_product, s, sizeof(s[0]), 0b11, 0b100, s.large)
    made.kind = PRODUCT
    made.keeps = not s.large
    return made


cdef bint fill_frame(Frame *f, tuple form, Py_ssize_t size, bint vector_is_row) except -1:
    shape, strides = form
    if len(shape) == 2:
        f.rows, f.columns = shape
        f.row = strides[0] // size
        f.column = strides[1] // size
    elif len(shape) == 1:
        f.rows = 1 if vector_is_row else shape[0]
        f.columns = shape[0] if vector_is_row else 1
        f.row = 0 if vector_is_row else strides[0] // size
        f.column = strides[0] // size if vector_is_row else 0
    else:
        return False
    for stride in strides:
        if stride % size:
            return False
    return True


def matrix_product(str letter, tuple x, tuple y, bint transpose_x=False, bint transpose_y=False):
    """``x @ y`` of real matrices and vectors, given by shape and strides; the result lies by rows."""
    cdef Product s
    cdef Py_ssize_t size = np.dtype(letter).itemsize
    if letter not in "fd":
        return None
    memset(&s, 0, sizeof(s))
    if not fill_frame(&s.x, x, size, True) or not fill_frame(&s.y, y, size, False):
        return None
    if transpose_x:
        s.x.rows, s.x.columns = s.x.columns, s.x.rows
        s.x.row, s.x.column = s.x.column, s.x.row
    if transpose_y:
        s.y.rows, s.y.columns = s.y.columns, s.y.rows
        s.y.row, s.y.column = s.y.column, s.y.row
    if s.x.columns != s.y.rows or s.x.rows * s.x.columns * s.y.columns == 0:
        return None
    s.large = s.x.rows * s.x.columns * s.y.columns > MATMUL_LOOPS
    s.z.rows = s.x.rows
    s.z.columns = s.z.row = s.y.columns
    s.z.column = 1
    s.kind = cnp.NPY_DOUBLE if letter == "d" else cnp.NPY_FLOAT
    made = product(&s)
    if letter == "d" and lying_product_of(&s.z, &s.x, &s.y) != NULL:
        made.run = <Run>lying_product_of(&s.z, &s.x, &s.y)
    return made


# -- the chain rule ----------------------------------------------------------------------------------------

cdef void along_chain(const void *state, char **x, cnp.npy_intp n) noexcept nogil:
    cdef const Chain *s = <const Chain *>state
    if s.by_number:
        chain_number(x[2], x[0], x[1], n, s.kind)
    else:
        chain_block(x[2], x[0], x[1], n, s.kind, s.conjugated)


cdef int run_chain(const void *state, char **x) noexcept nogil:
    along_chain(state, x, (<const Chain *>state).n)
    return 0


def chain_product(str letter, Py_ssize_t n, bint conjugated, bint by_number):
    """Products of a cotangent and a partial derivative, by rows or a real number, with 0 · ∞ = 0."""
    cdef Chain s
    cdef Prepared made
    cdef Py_ssize_t size = np.dtype(letter).itemsize
    if by_number and letter not in "fd":
        return None
    memset(&s, 0, sizeof(s))
    s.n, s.kind, s.conjugated, s.by_number = n, np.dtype(letter).num, conjugated, by_number
    made = prepared(run_chain, &s, sizeof(s), 0b11, 0b100)
    made.kind = CHAIN
    made.along = along_chain
    made.n = n
    made.steps[0] = made.steps[2] = size
    made.steps[1] = 0 if by_number else size
    made.exact = letter in "fd"
    made.hushed = made.keeps = True
    if letter in "fd":
        use_few(made, "product", 3 * letter)
    return made


cdef void along_quotient(const void *state, char **x, cnp.npy_intp n) noexcept nogil:
    cdef const Vectors *s = <const Vectors *>state
    cdef cnp.npy_intp i
    along_vectors(state, x, n)
    if s.steps[2] == sizeof(double):
        for i in range(n):
            if (<double *>x[2])[i] != (<double *>x[2])[i] and (<double *>(x[0] + i * s.steps[0]))[0] == 0:
                (<double *>x[2])[i] = 0
    else:
        for i in range(n):
            if (<float *>x[2])[i] != (<float *>x[2])[i] and (<float *>(x[0] + i * s.steps[0]))[0] == 0:
                (<float *>x[2])[i] = 0


cdef int run_quotient(const void *state, char **x) noexcept nogil:
    along_quotient(state, x, (<const Vectors *>state).n)
    return 0


def chain_quotient(str letter, list forms):
    """Quotients of cotangents, with 0 / 0 = 0; ``forms`` as in `elementwise`, of real numbers."""
    cdef Prepared made = elementwise(np.divide, letter * 3, forms, True)
    if made is None or made.along == NULL or letter not in "fd":
        return None
    made.kind, made.run, made.along = QUOTIENT, run_quotient, along_quotient
    made.exact, made.hushed = False, True
    use_few(made, "quotient", 3 * letter)
    return made


# -- factors of small matrices -----------------------------------------------------------------------------

cdef struct Square:
    blas_int n
    blas_int k
    bint single
    bint lower
    int transpose
    int size


cdef int run_potrf(const void *state, char **x) noexcept nogil:
    cdef const Square *s = <const Square *>state
    if x[1] != x[0]:
        memcpy(x[1], x[0], s.n * s.n * s.size)
    if s.single:
        return potrf_one[float](s.lower, s.n, <float *>x[1], s.n) != 0
    return potrf_one[double](s.lower, s.n, <double *>x[1], s.n) != 0


cdef int run_potrf_pullback(const void *state, char **x) noexcept nogil:
    cdef const Square *s = <const Square *>state
    if x[2] != x[1]:
        memcpy(x[2], x[1], s.n * s.n * s.size)
    if s.single:
        if zero_pivot[float](s.n, <float *>x[0], s.n) != 0:
            return 1
        potrf_pullback_one[float](s.lower, s.n, <float *>x[0], s.n, <float *>x[2], s.n)
    else:
        if zero_pivot[double](s.n, <double *>x[0], s.n) != 0:
            return 1
        potrf_pullback_one[double](s.lower, s.n, <double *>x[0], s.n, <double *>x[2], s.n)
    return 0


cdef int run_getrf(const void *state, char **x) noexcept nogil:
    cdef const Square *s = <const Square *>state
    if x[1] != x[0]:
        memcpy(x[1], x[0], s.n * s.n * s.size)
    if s.single:
        getrf_one[float](s.n, <float *>x[1], s.n, <blas_int *>x[2])
    else:
        getrf_one[double](s.n, <double *>x[1], s.n, <blas_int *>x[2])
    return 0


cdef int run_getrs(const void *state, char **x) noexcept nogil:
    """Operands are the factors, the exchanges, and B."""
    cdef const Square *s = <const Square *>state
    if x[3] != x[2]:
        memcpy(x[3], x[2], s.n * s.k * s.size)
    if s.single:
        if zero_pivot[float](s.n, <float *>x[0], s.n) != 0:
            return 1
        getrs_one[float](s.transpose, s.n, s.k, <float *>x[0], s.n, <blas_int *>x[1], <float *>x[3], s.k)
    else:
        if zero_pivot[double](s.n, <double *>x[0], s.n) != 0:
            return 1
        getrs_one[double](s.transpose, s.n, s.k, <double *>x[0], s.n, <blas_int *>x[1], <double *>x[3], s.k)
    return 0


cdef int run_getri(const void *state, char **x) noexcept nogil:
    """Operands are the factors, the exchanges, a workspace, and the inverse."""
    cdef const Square *s = <const Square *>state
    if s.single:
        if zero_pivot[float](s.n, <float *>x[0], s.n) != 0:
            return 1
        inverse_one[float](s.n, <float *>x[0], s.n, <blas_int *>x[1], <float *>x[3], s.n, <float *>x[2])
    else:
        if zero_pivot[double](s.n, <double *>x[0], s.n) != 0:
            return 1
        inverse_one[double](s.n, <double *>x[0], s.n, <blas_int *>x[1], <double *>x[3], s.n, <double *>x[2])
    return 0


cdef int run_unpaired(const void *state, char **x) noexcept nogil:
    """Whether some entry has no mirror image: then the answer is another one."""
    cdef const Square *s = <const Square *>state
    if s.single:
        return find_unpaired[float](s.lower, True, s.n, <float *>x[0], s.n, NULL)
    return find_unpaired[double](s.lower, True, s.n, <double *>x[0], s.n, NULL)


cdef int run_unpaired_places(const void *state, char **x) noexcept nogil:
    """Which entries these are; where there are none, the answer is another one."""
    cdef const Square *s = <const Square *>state
    memset(x[1], 0, s.n * s.n)
    if s.single:
        find_unpaired[float](s.lower, True, s.n, <float *>x[0], s.n, x[1])
    else:
        find_unpaired[double](s.lower, True, s.n, <double *>x[0], s.n, x[1])
    return memchr(x[1], 1, s.n * s.n) == NULL


cdef int run_onto_unpaired(const void *state, char **x) noexcept nogil:
    cdef const Square *s = <const Square *>state
    memcpy(x[2], x[0], s.n * s.n * s.size)
    if s.single:
        give_to_unpaired[float](s.n, <float *>x[2], s.n, x[1])
    else:
        give_to_unpaired[double](s.n, <double *>x[2], s.n, x[1])
    return 0


cdef struct Numbers:
    Py_ssize_t n
    bint single


cdef int run_are_finite(const void *state, char **x) noexcept nogil:
    cdef const Numbers *s = <const Numbers *>state
    cdef Py_ssize_t i
    for i in range(s.n):
        if not isfinite((<float *>x[0])[i] if s.single else (<double *>x[0])[i]):
            return 1
    return 0


def are_finite(str letter, Py_ssize_t n):
    """Nothing, which fails where one of n numbers by rows is not finite."""
    cdef Numbers s
    memset(&s, 0, sizeof(s))
    s.n, s.single = n, letter == "f"
    made = prepared(run_are_finite, &s, sizeof(s), 0b1, 0, True)
    (<Prepared>made).hushed = True
    return made


cdef dict SQUARES = {
    "potrf": 0, "potrf_pullback": 1, "getrf": 2, "getrs": 3, "unpaired": 4, "unpaired_places": 5,
    "onto_unpaired": 6, "getri": 7,
}


def of_square(str name, str letter, Py_ssize_t n, Py_ssize_t k, bint lower=True, int transpose=0):
    """The kernel of this name for real matrices of a low order, by rows; ``k`` columns beside them."""
    cdef Square s
    cdef Run run[8]
    cdef int reads[8]
    cdef int writes[8]
    cdef int kind = SQUARES[name]
    cdef Prepared made
    if letter not in "fd" or not 0 < n <= SINGLE_FACTORS or not 0 <= k <= 4096:
        return None
    memset(&s, 0, sizeof(s))
    s.n, s.k, s.single, s.lower, s.transpose = <blas_int>n, <blas_int>k, letter == "f", lower, transpose
    s.size = 4 if s.single else 8
    run[0], run[1], run[2], run[3], run[4] = run_potrf, run_potrf_pullback, run_getrf, run_getrs, run_unpaired
    run[5], run[6], run[7] = run_unpaired_places, run_onto_unpaired, run_getri
    reads[0], reads[1], reads[2], reads[3], reads[4] = 0b1, 0b11, 0b1, 0b111, 0b1
    reads[5], reads[6], reads[7] = 0b1, 0b11, 0b11
    writes[0], writes[1], writes[2], writes[3], writes[4] = 0b10, 0b100, 0b110, 0b1000, 0
    writes[5], writes[6], writes[7] = 0b10, 0b100, 0b1100
    made = prepared(run[kind], &s, sizeof(s), reads[kind], writes[kind], name != "getrf")
    made.hushed = True
    return made


# -- several at a time -------------------------------------------------------------------------------------

cdef struct Member:
    Along along
    const void *state
    int count
    bint quiet
    int at[EACH]                    # the operand of all in which an operand lies,
    cnp.npy_intp offsets[EACH]      # how many bytes behind its first one,
    cnp.npy_intp steps[EACH]        # and how far its elements lie apart; 0 where blocks are in one place


cdef struct Group:
    cnp.npy_intp n
    cnp.npy_intp block
    int count
    bint raises
    Member members[1]               # there are ``count``


cdef int run_group(const void *state, char **x) noexcept nogil:
    cdef const Group *s = <const Group *>state
    cdef const Member *member
    cdef char *args[EACH]
    cdef cnp.npy_intp start = 0, n
    cdef int i, k, noted = 0
    cdef bint quiet = False
    while start < s.n:
        n = min(s.block, s.n - start)
        for i in range(s.count):
            member = &s.members[i]
            for k in range(member.count):
                args[k] = x[member.at[k]] + member.offsets[k] + start * member.steps[k]
            if quiet and not member.quiet:
                clear_all_flags()
            quiet = member.quiet
            member.along(member.state, args, n)
            if not quiet:
                noted |= fetestexcept(FE_NOTED)
        start += n
    if quiet:
        clear_all_flags()
    if noted:
        feraiseexcept(noted)
    return left_error() if s.raises else 0


def group(Py_ssize_t n, Py_ssize_t block, list members):
    """Operations of which each goes through ``n`` elements, done one block of elements after the other.

    Parameters
    ----------
    n, block : int
        The block is a multiple of 64.
    members : list of (Prepared, quiet, places)
        A place for each operand of an operation: (the operand of the group in which it lies, bytes behind its
        first one, whether it goes on with the blocks).
    """
    cdef Prepared made = Prepared.__new__(Prepared)
    cdef Prepared of
    cdef Group *state
    cdef Member *member
    cdef int i, k
    made.run = run_group
    made.size = sizeof(Group) + len(members) * sizeof(Member)
    made.state = PyMem_Calloc(1, made.size)
    if made.state == NULL:
        raise MemoryError()
    made.members = members
    made.tells = made.fails = True
    reads = writes = 0
    state = <Group *>made.state
    state.n, state.block, state.count = n, block, len(members)
    for i, (of, quiet, places) in enumerate(members):
        if of.along == NULL or of.n != n or len(places) > EACH:
            raise ValueError("an operation that does not go through these elements")
        member = &state.members[i]
        member.along, member.state, member.quiet, member.count = of.along, of.state, quiet, len(places)
        state.raises |= of.raises
        for k, (at, offset, goes_on) in enumerate(places):
            member.at[k], member.offsets[k] = at, offset
            member.steps[k] = of.steps[k] if goes_on else 0
            reads |= (of.reads >> k & 1) << at
            writes |= (of.writes >> k & 1) << at
    made.touch(reads, writes)
    return made
