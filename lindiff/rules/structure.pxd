"""Compiled rules of functions that move elements."""

from lindiff.core.variable cimport Variable


cdef bint is_reshape(object value, object x)
cdef object record_reshape(Variable x, object value)
