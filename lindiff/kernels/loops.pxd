"""The inner loops of NumPy's ufuncs, called without the ufunc around them, and programs of such calls.

Finding out what a call is about takes a ufunc several times as long as a few numbers need; what is found out
once is kept here. `Program` runs the steps of a formula one after the other over blocks that stay in the
cache.
"""

cimport numpy as cnp

ctypedef void (*Function)(char **args, const cnp.npy_intp *dims, const cnp.npy_intp *steps,
                          void *data) noexcept nogil

# Declared here: the members that NumPy's own declarations for Cython show change with its version.
cdef extern from "numpy/ufuncobject.h":
    ctypedef struct UFunc "PyUFuncObject":
        int nin
        int nout
        int nargs
        int ntypes
        Function *functions
        void **data
        const char *types

cdef struct Loop:
    Function function
    void *data
    int kind                # the type number of the result
    bint exact              # its results do not depend on the instructions that it takes: IEEE's operations
    bint raises             # it may leave an error behind, as the loops of scipy.special do

cdef struct Operand:
    char *data
    cnp.npy_intp step       # bytes from one element to the next; 0 for a number
    double number[2]        # where `data` points to for a Python number


cdef inline int kind_of(object x):
    """The type number of a plain array of real or complex numbers; -1 for anything else."""
    if not cnp.PyArray_CheckExact(x) or not cnp.PyArray_ISBEHAVED_RO(<cnp.ndarray>x):
        return -1
    cdef int kind = cnp.PyArray_TYPE(<cnp.ndarray>x)
    if kind == cnp.NPY_DOUBLE or kind == cnp.NPY_FLOAT or kind == cnp.NPY_CDOUBLE or kind == cnp.NPY_CFLOAT:
        return kind
    return -1


cdef enum:
    KINDS = 4


cdef inline int place_of_kind(int kind) noexcept nogil:
    """The place of a type of numbers among those that loops are kept for."""
    if kind == cnp.NPY_DOUBLE:
        return 0
    if kind == cnp.NPY_FLOAT:
        return 1
    return 2 if kind == cnp.NPY_CDOUBLE else 3


cdef class Loops:
    cdef readonly object function
    cdef Loop[KINDS] loops
    cdef object of_one(self, object x)
    cdef object of_two(self, object x, object y)
    cdef object always(self, object x, object y)


cdef int *KIND  # the types that loops are kept for, in their order

cdef Loops ADD
cdef Loops SUBTRACT
cdef Loops MULTIPLY
cdef Loops DIVIDE
cdef Loops NEGATIVE
cdef Loops CONJUGATE

cdef enum:
    AXES = 8          # more of them are left to NumPy

cdef struct Nest:
    # Operands broadcast to one shape, and the result behind them; strides in bytes, 0 where one is repeated.
    int axes
    cnp.npy_intp shape[AXES]
    cnp.npy_intp strides[3][AXES]
    char *data[3]

cdef void join_axes(const Nest *nest, int count, bint turned, Nest *joined) noexcept nogil
cdef void walk(const Loop *loop, const Nest *nest, int count) noexcept nogil
cdef bint find_loop(object function, int kind, Loop *loop)
cdef int common_kind(object x, object y)
cdef cnp.ndarray common_frame(object x, object y)
cdef bint read_operand(object x, int kind, cnp.ndarray frame, Operand *operand)
cdef object apply(const Loop *loop, int count, object x, object y)
cdef bint add_into(object total, object x)
cdef bint add_numbers(cnp.ndarray total, char *x)
cdef object merge(object mask, object x, object y)
cdef void reduce_all(Function function, void *data, char *of, char *to, cnp.npy_intp outer, cnp.npy_intp n,
                     cnp.npy_intp inner, cnp.npy_intp size, bint from_zero) noexcept nogil
cdef object reduce(const Loop *loop, cnp.ndarray x, object axis, bint keepdims, bint from_zero)


cdef struct Step


cdef class Program:
    cdef readonly int uses
    cdef readonly int kind
    cdef readonly bint asks
    cdef readonly object number
    cdef Step *steps
    cdef char *constants
    cdef int count
    cdef int constant_count
    cdef int slots
    cdef int decisions
    cdef int result
    cdef int decision(self, int condition)
    cdef object run(self, Operand *given, cnp.ndarray frame)
    cdef object chained(self, Operand *given, object y_bar, bint overwrite, bint conjugated)
    cdef object into(self, cnp.ndarray out, Operand *given, const char *y_bar, bint conjugated)
    cdef int over_blocks(self, Operand *given, Py_ssize_t n, char *out, const char *y_bar, bint conjugated,
                         char *memory) noexcept nogil
