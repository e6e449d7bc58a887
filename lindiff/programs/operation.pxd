"""Prepared operations on cells, for compiled code."""

from lindiff.programs.prepared cimport Prepared


cdef class Operation:
    cdef readonly Prepared prepared
    cdef int *at           # the cells
    cdef int count
    cdef readonly bint quiet
    cdef tuple several     # numbers of instructions, or None: then there is
    cdef Py_ssize_t one

cdef Operation operation(Prepared prepared, int count, bint quiet, Py_ssize_t of)
