"""Matrices of which one triangle is read."""


cdef class OneTriangle:
    cdef readonly bint lower
    cdef readonly bint hermitian
    cdef readonly object unpaired
    cpdef object tangent(self, object A_dot)
    cpdef object gradient(self, object M_bar, bint overwrite=*)


cpdef object unpaired(object A, bint lower=*, bint hermitian=*)
