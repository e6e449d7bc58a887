"""What one run of a function did, for the arrays that leave its steps."""

cimport numpy as cnp


cdef enum:  # places in an Instruction
    FUNCTION
    ARGS
    KWARGS
    RESULT
    RAISED
    LINE
    QUIET

cdef enum:  # places in one of `Recording.roots`
    OWNER = 2


cdef struct Span:
    char *first
    char *low
    char *high


cdef class Recording:
    cdef readonly list steps
    cdef readonly list forms
    cdef readonly list lines
    cdef readonly list roots
    cdef readonly list captured
    cdef readonly object number
    cdef readonly bint writes_arguments
    cdef readonly bint ended
    cdef readonly bint keeps_numbers
    cdef public object reason
    cdef public object raised
    cdef list loans       # weak references; None when the run is over
    cdef bint is_told     # an array, or what was lent in its place, has been written to
    cdef public Py_ssize_t arguments
    cdef Span *spans      # the memory of each slot that lies in no other
    cdef Py_ssize_t room
    cdef dict contents    # of constants, by their id
    cdef dict kept        # by the slot of their owner, what is to stay as it is: weak references
    cdef object filters
    cdef dict loud        # what NumPy was told at the start
    cdef object told      # where it was asked last, and what it was
    cdef bint quiet
    cdef object lent(self, cnp.ndarray array)
    cdef int note_write(self, Py_ssize_t slot) except -1
    cdef bint is_quiet(self) except -1
    cdef bint asks_for_quiet(self, dict told) except -1
    cdef object constant(self, cnp.ndarray x)
    cdef int add(self, object step) except -1
    cdef int add_instruction(self, object function, tuple args, dict kwargs, object result, object raised,
                             str line, bint quiet) except -1
    cdef int add_leaving(self, object function, object slot, object value, str line) except -1
    cdef Py_ssize_t owner_of(self, Py_ssize_t slot) except -1
    cdef object new_slot(self, object array, str line, given, bint fixed=*)
    cdef int add_root(self, object place) except -1
    cdef int make_room(self, Py_ssize_t at) except -1
    cdef list kept_of(self, Py_ssize_t slot)
    cdef int keep(self, Py_ssize_t slot, object reference) except -1
    cpdef give_up(self, str reason)
    cpdef end(self)

cpdef bint same_function(object f, object g) except -1
