"""Which function has which rule."""

from lindiff.core.differential cimport Differential
from lindiff.core.record cimport Trace


cdef class Handler:
    cdef readonly object function
    cdef public Handler fast
    cdef object call(self, tuple args, dict kwargs)


cdef class Rule(Handler):
    cdef readonly object rule
    cdef object signature
    cdef int view
    cdef bint is_method
    cdef Rule bound_to(self, object instance)
    cdef dict __dict__
    cdef object __weakref__
    cdef object apply(self, tuple args, dict kwargs)
    cdef object with_closures(self, Trace trace, Differential differential, list nodes, list places,
                              tuple args_seen, object result, tuple args, dict kwargs)
    cdef object seen(self, object result, tuple args, dict kwargs)
    cdef tuple outcome(self, tuple args, dict kwargs)
    cdef str name(self)


cdef class ElementwiseRule(Rule):
    cdef tuple partials
    cdef bint of_value
    cdef bint of_arguments


cdef class Composed(Handler):
    cdef readonly object implementation


cdef class Constant(Handler):
    pass


cpdef object handle(object function, tuple args, dict kwargs)
cdef dict handlers
