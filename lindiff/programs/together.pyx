"""Prepared operations on many elements at once.

An operation of a program on one element is repeated for all.  Where their numbers lie one behind the
other, one call goes through those of all: sums, exponentials and the like of arrays without gaps, reductions
of rows, products with a matrix that all elements share.  Results are the same but for products, which BLAS
adds up in an order of its own.
"""

cimport numpy as cnp

from cpython.mem cimport PyMem_Calloc
from libc.string cimport memset

from lindiff.kernels.loops cimport AXES, Nest, join_axes
from lindiff.kernels.matmul cimport Frame
from lindiff.kernels.sizes cimport MATMUL_LOOPS
from lindiff.programs.few cimport few_loop
from lindiff.programs.flags cimport feraiseexcept, noted_flags
from lindiff.programs.prepared cimport (
    CHAIN, NESTED, OPERANDS, OTHER, PRODUCT, QUOTIENT, REDUCTION, VECTORS, Chain, Nested, Prepared, Product,
    Reduction, Run, Vectors, along_quotient, by_loop, prepared, product, run_chain, run_product, run_quotient,
    run_raising, run_vectors,
)

# Multiplications of a product up to which BLAS does it in one thread: others may be at work beside it.
cdef enum:
    ONE_THREAD = 1 << 18


def together(Prepared of, Py_ssize_t count, list steps):
    """An operation on so many elements.

    Parameters
    ----------
    of : Prepared
    count : int
        Two or more.
    steps : list of int
        How many bytes the elements of each operand lie apart; 0 where all are the same.

    Returns
    -------
    Prepared
        Its operands are where those of the first element are.
    """
    cdef cnp.npy_intp apart[OPERANDS]
    cdef Prepared made = None
    cdef int k
    for k in range(len(steps)):
        apart[k] = steps[k]
    if of.kind == VECTORS or of.kind == QUOTIENT:
        made = of_vectors(of, count, apart)
    elif of.kind == NESTED:
        made = of_nest(of, count, apart)
    elif of.kind == CHAIN:
        made = of_chain(of, count, apart)
    elif of.kind == REDUCTION:
        made = of_reduction(of, count, apart)
    elif of.kind == PRODUCT:
        made = of_product(of, count, apart)
    if made is None:
        made = one_by_one(of, count, apart, <int>len(steps))
    made.touch(of.reads, of.writes)
    made.fails |= of.fails
    made.tells, made.hushed, made.exact, made.raises = of.tells, of.hushed, of.exact, of.raises
    return made


# -- one after the other -----------------------------------------------------------------------------------

cdef struct Repeated:
    Run run
    const void *state
    Py_ssize_t count
    int operands
    bint keeps
    cnp.npy_intp apart[1]   # there are as many as operands


cdef int run_repeated(const void *state, char **x) noexcept nogil:
    cdef const Repeated *s = <const Repeated *>state
    cdef char *args[OPERANDS]
    cdef Py_ssize_t _i
    cdef int k, noted = 0
    for k in range(s.operands):
        args[k] = x[k]
    for _i in range(s.count):
        if not s.keeps:
            noted |= noted_flags()
        if s.run(s.state, args) != 0:
            return 1
        for k in range(s.operands):
            args[k] += s.apart[k]
    if noted:
        feraiseexcept(noted)
    return 0


cdef Prepared one_by_one(Prepared of, Py_ssize_t count, const cnp.npy_intp *apart, int operands):
    cdef Prepared made = Prepared.__new__(Prepared)
    cdef Repeated *state
    cdef int k
    made.size = sizeof(Repeated) + operands * sizeof(cnp.npy_intp)
    made.state = PyMem_Calloc(1, made.size)
    if made.state == NULL:
        raise MemoryError()
    made.run = run_repeated
    made.members = of
    made.keeps = of.keeps
    state = <Repeated *>made.state
    state.run, state.state, state.keeps = of.run, of.state, of.keeps
    state.count, state.operands = count, operands
    for k in range(operands):
        state.apart[k] = apart[k]
    return made


# -- element by element ------------------------------------------------------------------------------------

cdef bint is_of_few(Prepared of) noexcept:
    """Whether its numbers are computed here, and not in a loop of NumPy's."""
    return of.run != run_vectors and of.run != run_raising and of.run != run_quotient


cdef Prepared of_vectors(Prepared of, Py_ssize_t count, const cnp.npy_intp *apart):
    cdef const Vectors *s = <const Vectors *>of.state
    cdef Prepared made
    cdef Nest nest, joined
    cdef int i, last = <int>(of.writes.bit_length() - 1)
    memset(&nest, 0, sizeof(nest))
    nest.axes = 2
    nest.shape[0], nest.shape[1] = count, s.n
    for i in range(last + 1):
        nest.strides[i][0], nest.strides[i][1] = apart[i], s.steps[i]
        if s.n == 1 and not of.exact and apart[i] != s.steps[i]:
            return None  # the loop may take another way
    join_axes(&nest, last, False, &joined)
    if joined.axes != 1:
        return rows_of_vectors(of, &joined, last)
    if of.item and joined.strides[last][0] != of.item:
        return None
    made = by_loop(s.function, s.data, &joined, last)
    made.keeps = of.keeps and not is_of_few(of)
    if of.kind == QUOTIENT:
        made.kind, made.run, made.along = QUOTIENT, run_quotient, along_quotient
    elif of.raises:
        made.run = run_raising
    return made


cdef Prepared rows_of_vectors(Prepared of, const Nest *nest, int last):
    cdef const Vectors *s = <const Vectors *>of.state
    cdef Prepared made
    if not of.exact or of.kind == QUOTIENT or of.raises:
        return None
    if is_of_few(of):
        made = by_loop(few_loop, <void *>of.run, nest, last)
    else:
        made = by_loop(s.function, s.data, nest, last)
    made.keeps = of.keeps
    return made


cdef Prepared of_nest(Prepared of, Py_ssize_t count, const cnp.npy_intp *apart):
    cdef const Nested *s = <const Nested *>of.state
    cdef Prepared made
    cdef Nest nest, joined
    cdef int i, k
    if not of.exact or of.raises or s.nest.axes == AXES:
        return None
    memset(&nest, 0, sizeof(nest))
    nest.axes = s.nest.axes + 1
    nest.shape[0] = count
    for i in range(s.count + 1):
        nest.strides[i][0] = apart[i]
    for k in range(s.nest.axes):
        nest.shape[k + 1] = s.nest.shape[k]
        for i in range(s.count + 1):
            nest.strides[i][k + 1] = s.nest.strides[i][k]
    join_axes(&nest, s.count, False, &joined)
    made = by_loop(s.loop.function, s.loop.data, &joined, s.count)
    made.keeps = of.keeps
    return made


cdef Prepared of_chain(Prepared of, Py_ssize_t count, const cnp.npy_intp *apart):
    cdef Chain s = (<const Chain *>of.state)[0]
    cdef Prepared made
    cdef int k
    for k in range(3):
        if apart[k] != s.n * of.steps[k]:
            return None
    s.n *= count
    made = prepared(run_chain, &s, sizeof(s), 0, 0)
    made.keeps = True
    return made


# -- reductions and products -------------------------------------------------------------------------------

cdef Prepared of_reduction(Prepared of, Py_ssize_t count, const cnp.npy_intp *apart):
    cdef Reduction s = (<const Reduction *>of.state)[0]
    cdef cnp.npy_intp size = s.outer * s.inner * s.size
    if apart[0] != size * s.n or apart[1] != size:
        return None
    s.outer *= count
    return prepared(of.run, &s, sizeof(s), 0, 0)


cdef int run_turned(const void *state, char **x) noexcept nogil:
    """A product of which the second operand comes first."""
    cdef char *args[3]
    args[0], args[1], args[2] = x[1], x[0], x[2]
    return run_product(state, args)


cdef Prepared of_product(Prepared of, Py_ssize_t count, const cnp.npy_intp *apart):
    """One product of a matrix that all elements share with the rows, or the vectors, of all."""
    cdef Product s = (<const Product *>of.state)[0]
    cdef Frame x = s.x
    cdef Prepared made
    cdef Py_ssize_t size = 8 if s.kind == cnp.NPY_DOUBLE else 4
    cdef bint turned = apart[1] != 0
    if count * s.x.rows * s.x.columns * s.y.columns > ONE_THREAD:
        return None
    if turned:  # the vectors of all are the rows of a matrix: Z = Y Xᵀ
        if apart[0] != 0 or s.y.columns != 1:
            return None
        s.x, s.y = s.y, x
        turn(&s.x)
        turn(&s.y)
        turn(&s.z)
    if not stack(&s.x, count, apart[turned], size) or not stack(&s.z, count, apart[2], size):
        return None
    s.large = s.x.rows * s.x.columns * s.y.columns > MATMUL_LOOPS
    if s.large and not (is_stored(&s.x) and is_stored(&s.y) and is_stored(&s.z)):
        return None
    made = product(&s)
    if turned:
        made.run, made.kind = run_turned, OTHER
    return made


cdef inline void turn(Frame *f) noexcept:
    f.rows, f.columns = f.columns, f.rows
    f.row, f.column = f.column, f.row


cdef bint stack(Frame *f, Py_ssize_t count, cnp.npy_intp apart, Py_ssize_t size) noexcept:
    """Put the matrices of all elements below each other; False where their rows are not one step apart."""
    if apart % size != 0:
        return False
    if f.rows == 1:
        f.row = apart // size
    elif f.row * f.rows * size != apart:
        return False
    f.rows *= count
    return True


cdef bint is_stored(const Frame *f) noexcept:
    """Whether BLAS can read a matrix: by rows or by columns."""
    return are_rows(f.rows, f.columns, f.row, f.column) or are_rows(f.columns, f.rows, f.column, f.row)


cdef inline bint are_rows(Py_ssize_t rows, Py_ssize_t columns, Py_ssize_t row, Py_ssize_t column) noexcept:
    return (column == 1 or columns == 1) and (rows <= 1 or row >= max(columns, 1))
