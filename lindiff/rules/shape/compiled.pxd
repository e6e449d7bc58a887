"""What indexing takes from the compiled rules of shapes."""

from lindiff.core.variable cimport Variable

cdef object record_reshape(Variable x, object value)
cdef bint is_reshape(object value, object x)
cdef object transpose_of(Variable x)
