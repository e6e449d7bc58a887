"""The machine of a program, for what runs it."""

cimport cython
cimport numpy as cnp

from lindiff.programs.prepared cimport Run

cdef enum:
    AXES = 64
    BLOCKS = 4096    # of those that halves of programs leave, so many are kept at most


cdef struct Views:
    Py_ssize_t cells        # how many there are, of cells first, then of operands of steps:
    Py_ssize_t all
    Py_ssize_t *places      # their numbers,
    Py_ssize_t *offsets     # and how many bytes behind the beginning they lie


@cython.final
cdef class Lying:
    cdef Views views


cdef class Layout:
    cdef readonly list forms
    cdef list places
    cdef list constants
    cdef readonly Py_ssize_t arena
    cdef list units
    cdef Py_ssize_t operands    # of all steps
    cdef int *first_uses        # of each cell, the last one of these that it is, or -1,
    cdef int *next_uses         # and the one before
    cdef dict made
    cdef dict makers   # of those that lie in others: in which one
    cdef list handed
    cdef Lying left    # the cells in the block
    cdef readonly Py_ssize_t block
    cdef readonly list idle
    cdef readonly object cells
    cdef char *blocks[BLOCKS]   # that nobody needs any more
    cdef Py_ssize_t idle_blocks
    cdef int find_uses(self) except -1
    cdef Memory memory(self)
    cdef int keep(self, Memory memory) except -1
    cdef char *new_block(self) except NULL
    cdef void keep_block(self, char *block) noexcept


@cython.final
cdef class Memory:
    cdef Layout layout
    cdef char **cells
    cdef char **operands  # of the steps of all units: the addresses that are in their cells
    cdef char *arena
    cdef char *block     # of another, which lies behind the arena in the layout
    cdef list objects
    cdef int flags       # of what the processor has noted in operations without Python
    cdef int attach(self, char *block) except -1
    cdef bint holds(self, const char *place)
    cdef object value(self, Py_ssize_t cell)
    cdef bint is_truth(self, Py_ssize_t cell) except -1
    cdef object own(self, Py_ssize_t cell)
    cdef int renew(self, Py_ssize_t cell, Lying views) except -1
    cdef int before_python(self) except -1
    cdef bint has(self, Py_ssize_t cell, object x) except -1
    cdef int hold(self, Py_ssize_t cell, cnp.ndarray x) except -1
    cdef bint take(self, Py_ssize_t cell, object x) except -1


cdef struct Step:
    Run run          # NULL for what Python does
    const void *state
    int first        # of its operands; else the number of the step of Python's
    char quiet
    char keeps       # what the processor has noted before
    char goes_on     # behind another one without a look at that


cdef class Unit:
    cdef Step *steps
    cdef int *operands       # the cells of its steps, ``room`` of them;
    cdef Py_ssize_t room
    cdef Py_ssize_t base     # where their addresses begin among those of all units
    cdef Py_ssize_t count
    cdef readonly list kept
    cdef list python
    cdef Py_ssize_t prepared_steps(self, Py_ssize_t at, Py_ssize_t end, char **x, int *flags) noexcept nogil
    cdef int run(self, Memory memory) except -3
    cdef list timed(self, Memory memory)


cdef class Machine:
    cdef readonly Layout layout
    cdef list arguments
    cdef Py_ssize_t count    # of the arguments,
    cdef Py_ssize_t *places  # where each one is,
    cdef Py_ssize_t *cells   # its cell,
    cdef Py_ssize_t *sizes   # how many bytes it has, if it is a number, else 0,
    cdef list lying          # and what lies in it,
    cdef Views *views
    cdef readonly Stretch start
    cdef readonly dict blocks   # of elements, as `many` runs them
    cdef Memory memory_of(self, list arrays)
    cdef int fill(self, Memory memory, list arrays) except -1
    cdef Stretch run(self, Memory memory)
    cdef int release(self, Memory memory, Stretch stretch) except -1
    cdef int let_go(self, Memory memory) except -1


cdef class Stretch:
    cdef public Unit unit
    cdef public list fresh
    cdef readonly object fork
    cdef public list outcomes
    cdef readonly list leaves
    cdef object unflatten
    cdef list objects
    cdef readonly bint confirmed
    cdef list given    # how the leaves are found; None before the first run
    cdef object nest   # of the result, as `nest_of` has it
    cdef int flat      # 1: it is a list, 2: a tuple, of all leaves in their order
    cdef Stretch following(self, Memory memory)
    cdef bint is_fresh(self, object leaf) except -1
    cdef int find_leaves(self, Layout layout) except -1
    cdef object results(self, Memory memory)


@cython.final
cdef class Contents:
    cdef Py_ssize_t cell
    cdef Py_ssize_t size
    cdef cnp.dtype dtype
    cdef int axes
    cdef int flags
    cdef bint is_number
    cdef cnp.npy_intp shape[AXES]
    cdef cnp.ndarray copied(self, Memory memory)
    cdef bint add_to(self, object total, Memory memory) except -1


cdef void follow(const Views *views, Memory memory, char *address) noexcept nogil
cdef object value_of_leaf(object leaf, list values, Memory memory)
cdef int told_flags() except -1
cdef int scalar_to(object scalar, char *address) except -1
