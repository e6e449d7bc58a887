"""Which function has which rule."""

from lindiff.core.differential cimport Differential


cdef class Handler:
    cdef readonly object function
    cdef public Handler fast
    cdef int without_axes
    cdef object call(self, tuple args, dict kwargs)


cdef class Rule(Handler):
    cdef readonly object rule
    cdef object signature
    cdef int view
    cdef dict __dict__
    cdef object __weakref__
    cdef object apply(self, tuple args, dict kwargs)
    cdef object seen(self, object result, tuple args, dict kwargs)
    cdef tuple outcome(self, tuple args, dict kwargs)
    cdef int release(self, Differential differential) except -1
    cdef str name(self)


cdef class ElementwiseRule(Rule):
    cdef tuple partials
    cdef tuple readable
    cdef list uses
    cdef bint of_value
    cdef bint of_arguments


cdef class Composed(Handler):
    cdef readonly object implementation


cdef class Constant(Handler):
    pass


cpdef object handle(object function, tuple args, dict kwargs)
cdef dict handlers
