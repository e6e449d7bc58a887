"""Independent tasks side by side, in threads that live as long as the call."""

ctypedef void (*Work)(void *task) noexcept nogil


cdef int threads_for(double nanoseconds) noexcept nogil
cdef void run_tasks(Work work, char *tasks, size_t step, int count) noexcept nogil
