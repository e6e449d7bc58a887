"""Runs of a program from compiled code."""

from lindiff.programs.machine cimport Machine, Memory, Stretch


cdef struct Copy:       # of a result
    Py_ssize_t cell     # in which it is found,
    Py_ssize_t size     # in bytes,
    char *place         # and where it goes


cdef class Evaluator:
    cdef object program
    cdef list leaves          # of the arguments, with buffers in the places of those that change;
    cdef list moving          # of (place, whether it is a number, buffer)
    cdef object restore       # the arguments from their leaves
    cdef list arrays          # those of the leaves that the machine is given
    cdef readonly list results
    cdef Copy *copies         # of these
    cdef Stretch copied_from  # which gives them; None where they are no arrays of its own
    cdef Machine machine
    cdef object surroundings  # of the machine
    cdef Memory memory
    cdef int told             # of what the processor notes, what NumPy says something about
    cdef int run(self) except -1
    cdef bint allocated(self) except -1
    cdef int take_results(self, Stretch stretch, Memory memory) except -1
    cdef bint finds_copies(self, Stretch stretch, Memory memory) except -1
