"""Solves with a triangle on the right of many rows, in float64."""


cdef bint trsm_rows(bint lower, bint transposed, bint unit, Py_ssize_t m, Py_ssize_t n, double alpha,
                    const double *L, Py_ssize_t ldl, double *B, Py_ssize_t ldb) noexcept nogil
