"""Sums, products and the like of a few real numbers, compiled here."""

cimport numpy as cnp

from lindiff.programs.prepared cimport Run

cdef void few_loop(char **args, const cnp.npy_intp *dims, const cnp.npy_intp *steps,
                   void *run) noexcept nogil
cdef Run run_of_few(str name, str letters, cnp.npy_intp n, const cnp.npy_intp *steps) except? NULL
