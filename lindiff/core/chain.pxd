"""The arithmetic of the chain rule."""

cdef object hush()
cdef int unhush(object token) except -1
cdef object plus(object x, object y)
cdef object minus(object x, object y)
cdef object negated(object x)
cdef object conjugate(object x)
cdef object chain_product(object g, object partial, bint overwrite, bint conjugated=*)
cdef object quotient(object g, object y)
cdef bint all_finite(object x) except -1
cdef object fit(object g, object like)
cdef object fit_to(object g, tuple shape, object dtype)
