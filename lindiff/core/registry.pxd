"""Which function has which rule."""

from lindiff.core.differential cimport Differential
from lindiff.core.record cimport Trace
from lindiff.core.variable cimport Variable


cdef class Handler:
    cdef readonly object function
    cdef public Handler entry
    cdef int without_axes
    cdef object call(self, tuple args, dict kwargs)


cdef class Entry(Handler):
    pass


cdef class EntryOfOne(Entry):
    cdef Py_ssize_t positional
    cdef tuple names
    cdef tuple defaults
    cdef object recorded(self, Variable x, tuple options)


cdef class Rule(Handler):
    cdef readonly object rule
    cdef object signature
    cdef bint is_method
    cdef bint is_users
    cdef bint gives_itself
    cdef Rule bound_to(self, object instance)
    cdef dict __dict__
    cdef object __weakref__
    cdef object apply(self, tuple args, dict kwargs)
    cdef object like_value(self, object y, object value)
    cdef object plain_result(self, tuple args, dict kwargs)
    cdef object with_closures(self, Trace trace, Differential differential, list nodes, list places,
                              tuple args_seen, object result, tuple args, dict kwargs)
    cdef object seen(self, object result, tuple args, dict kwargs)
    cdef object window(self, Variable view, Variable x, tuple args, dict kwargs, Py_ssize_t place)
    cdef tuple outcome(self, tuple args, dict kwargs)
    cdef tuple sealed_outcome(self, tuple values, tuple seals, unsigned long long shut, dict kwargs)
    cdef int check_result(self, object result) except -1
    cdef int release(self, Differential differential) except -1
    cdef str name(self)


cdef class Composed(Handler):
    cdef readonly object implementation
    cdef bint gives_views
    cdef str order


cdef class Constant(Handler):
    cdef Handler of_complex


cdef bint is_any_seen_otherwise(tuple given, object function) except -1
cpdef object handle(object function, tuple args, dict kwargs)
cdef dict handlers
