"""Where forms of loops are not negative."""

from libc.stdint cimport int64_t


cdef inline int64_t floor_div(int64_t x, int64_t divisor) noexcept nogil:
    if divisor == 1:
        return x
    return x // divisor if x >= 0 else -((-x + divisor - 1) // divisor)


cdef inline int keep_from(int64_t start, int64_t by, int64_t *first, int64_t *last) noexcept nogil:
    """Narrow places i to those with ``start + i by >= 0``."""
    cdef int64_t bound
    if by == 0:
        if start < 0:
            last[0] = first[0] - 1
    elif by > 0:
        bound = -floor_div(start, by)
        first[0] = max(first[0], bound)
    else:
        last[0] = min(last[0], floor_div(start, -by))
    return 0
