"""What carries out linear ufuncs that are their own adjoints, on plain arrays: conjugate, degrees, radians.

All other elementwise functions are carried out by ``lindiff.core.elementwise``.
"""

cimport cython
cimport numpy as cnp

import numpy as np

from lindiff.core.linear cimport LinearNode
from lindiff.core.registry cimport EntryOfOne
from lindiff.core.variable cimport Variable, as_value, record
from lindiff.kernels.loops cimport Loops, kind_of, place_of_kind

from lindiff.core.registry import add_entry
import lindiff.rules.elementwise.rules  # what is carried out here  # no-cython-lint

cnp.import_array()


@cython.no_gc
@cython.final
cdef class SelfAdjoint(LinearNode):
    cdef SelfAdjointEntry entry

    cdef object operation(self):
        return self.entry.function

    cdef object image(self, object x):
        return self.entry.image(x)

    cdef object adjoint(self, object y_bar):
        return self.entry.image(y_bar)


@cython.final
cdef class SelfAdjointEntry(EntryOfOne):
    """For plain arrays."""

    cdef Loops loops

    def __init__(self, function):
        EntryOfOne.__init__(self, function)
        self.loops = Loops(function)

    cdef object image(self, object x):
        y = self.loops.of_one(x)
        return as_value(self.function(x)) if y is None else y

    cdef object recorded(self, Variable x, tuple _):
        cdef SelfAdjoint node
        cdef int kind = kind_of(x._value)
        if kind < 0 or self.loops.loops[place_of_kind(kind)].function == NULL:
            return NotImplemented
        node = SelfAdjoint.__new__(SelfAdjoint)
        node.a = x.node
        node.entry = self
        return record(x.node.trace, node, self.image(x._value))


for function in (np.conjugate, np.deg2rad, np.radians, np.rad2deg, np.degrees):
    add_entry(function, SelfAdjointEntry(function))
