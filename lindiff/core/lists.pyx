"""Nested lists of numbers and arrays: which of them NumPy does not make arrays of."""

cimport numpy as cnp

from lindiff.core.variable cimport Variable, is_generic

cnp.import_array()


cpdef bint hides(object nested) except -1:
    """Whether there is a Variable in nested lists or tuples."""
    cdef object x
    for x in nested:
        if type(x) is Variable or (isinstance(x, (list, tuple)) and hides(x)):
            return True
    return False


cpdef bint must_be_stacked(object nested) except -1:
    """Whether ``nested`` is lists or tuples with a Variable, or an array of another library, in them."""
    cdef object x
    if not isinstance(nested, (list, tuple)):
        return False
    for x in nested:
        if type(x) is float or type(x) is int or cnp.PyArray_CheckExact(x):
            continue
        if isinstance(x, (list, tuple)):
            if must_be_stacked(x):
                return True
        elif hasattr(x, "shape") and not (cnp.PyArray_Check(x) or is_generic(x)):
            return True
    return False
