"""What operators take from the compiled rules of products."""

cdef object product(object x, object y)
