"""``np.logaddexp`` of many numbers, compiled here."""

cimport numpy as cnp

cdef void logaddexp_loop(char **args, const cnp.npy_intp *dims, const cnp.npy_intp *steps,
                         void *numpys) noexcept nogil
cdef void *numpys_logaddexp() noexcept
