"""The Cholesky factorization of small matrices."""


cdef tuple described_small(object a, bint lower)
