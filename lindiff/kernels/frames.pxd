"""Loops over arrays that are reduced, or accumulated, along axes next to each other.

Such an array is read as ``outer`` frames of ``n`` rows and ``inner`` columns, each column reduced to one
number. Every function returns None where the arrays are not its case: C-contiguous ones of one plain type.
"""

cdef object scaled(object x, object factors, tuple kept, bint over=*)
cdef object accumulated(object x, object axis, bint backward)
cdef object exponentials(object x, tuple kept)
cdef object normalized(object e, object totals, tuple kept)
cdef object projected(object y, object y_bar, tuple kept)
