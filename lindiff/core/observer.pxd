cpdef bint observing() except -1
