"""Whose code is running, and at which line of the user's."""

cdef bint is_operator(object frame) except -1
cdef bint is_lindiffs(object frame) except -1
cdef object innermost_frame()
cdef str line_of_user()
