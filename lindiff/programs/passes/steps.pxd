"""What steps of a program read and write, for compiled passes."""

from lindiff.programs.cells cimport Cells


cdef class Uses:
    cdef int *owners            # of each operand the cell that all of its memory belongs to,
    cdef unsigned char *uses    # and whether that is read and written
    cdef int count
    cdef int room
    cdef int of(self, object step, Cells cells) except -1
    cdef int make_room(self, Py_ssize_t count) except -1
