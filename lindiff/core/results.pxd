"""What the results of functions are: scalars or arrays, in memory of whom, in which order."""

# What a function gives that has no axes.
cdef enum:
    SCALAR
    ARRAY
    LIKE_FIRST  # what its first argument is
    LIKE_VALUE  # what its rule's value is

cdef object lying(object result, str order, tuple args)
cpdef object returned(object result, tuple args, str no_axes=*, bint by_rows=*)
cpdef object apart(object result, tuple args, bint writable=*)
cdef object scalar_result(object result, tuple args, bint everywhere=*)
cdef object without_axes(object result, tuple args, int kind)
cdef bint is_array(object x) except -1
