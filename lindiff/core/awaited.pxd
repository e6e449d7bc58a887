cdef int tell_modules() except -1
