"""Sums, products and the like of a few real numbers, compiled here."""

cimport numpy as cnp

from lindiff.programs.prepared cimport Run

cdef Run run_of_few(str name, str letter, cnp.npy_intp n, const cnp.npy_intp *steps,
                    int operands) except? NULL
