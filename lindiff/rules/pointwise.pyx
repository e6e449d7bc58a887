"""Compiled twins of np.where, and of linear ufuncs that are their own adjoints, on plain arrays."""

cimport cython
cimport numpy as cnp

import numpy as np

from lindiff.core.operands cimport Binary, trace_of
from lindiff.core.record cimport Node, Pull, Push, Trace
from lindiff.core.registry cimport Handler
from lindiff.core.variable cimport Variable, as_value, kept_by, record
from lindiff.kernels.elementwise cimport chosen
from lindiff.kernels.loops cimport Loops, common_kind, kind_of, merge, place_of_kind

from lindiff.core.registry import fast_path

cnp.import_array()

# -- z = x where a mask holds, y elsewhere ---------------------------------------------------------------

@cython.no_gc
@cython.final
cdef class Where(Binary):
    """Each branch gets the derivative where it is taken, and exactly 0 elsewhere."""

    cdef object mask

    cdef bint linear(self):
        return True

    cdef object part(self, object t, bint wanted, bint overwrite):
        """``t`` where the mask is as ``wanted``."""
        out = chosen(t, self.mask, wanted, overwrite)
        if out is not None:
            return out
        return np.where(self.mask, t, 0) if wanted else np.where(self.mask, 0, t)

    cdef int pull(self, Pull walk, object z_bar) except -1:
        if self.a is not None:
            self.add_a(walk, self.part(z_bar, True, walk.overwrite and self.b is None), True)
        if self.b is not None:
            self.add_b(walk, self.part(z_bar, False, walk.overwrite), True)
        return 0

    cdef object push(self, Push walk):
        x_dot = walk.tangent(self.a)
        y_dot = walk.tangent(self.b)
        if x_dot is None:
            return None if y_dot is None else self.fitted(self.part(y_dot, False, False))
        if y_dot is None:
            return self.fitted(self.part(x_dot, True, False))
        z_dot = merge(self.mask, x_dot, y_dot)
        return self.fitted(np.where(self.mask, x_dot, y_dot) if z_dot is None else z_dot)


cdef class FastWhere(Handler):
    """For a plain mask, and plain arrays of one type or numbers."""

    cdef object call(self, tuple args, dict kwargs):
        cdef Where node
        cdef Trace trace
        if kwargs or len(args) != 3 or not cnp.PyArray_CheckExact(args[0]) \
                or cnp.PyArray_TYPE(<cnp.ndarray>args[0]) != cnp.NPY_BOOL \
                or (type(args[1]) is not Variable and type(args[2]) is not Variable):
            return NotImplemented
        node = Where.__new__(Where)
        trace = trace_of(args[1], args[2])
        x = node.left(args[1], trace)
        y = node.right(args[2], trace)
        if common_kind(x, y) < 0:
            return NotImplemented
        value = merge(args[0], x, y)
        if value is None:
            value = np.where(args[0], x, y)
        node.mask = kept_by(args[0], node, trace)
        return node.finish(trace, x, y, value)


# -- y = f(x) linear and its own adjoint: the conjugate, degrees ------------------------------------------

@cython.no_gc
@cython.final
cdef class SelfAdjoint(Node):
    cdef FastSelfAdjoint entry

    cdef object operation(self):
        return self.entry.function

    cdef bint linear(self):
        return True

    cdef bint together(self):
        return True

    cdef int pull(self, Pull walk, object y_bar) except -1:
        return walk.add(self.a, self.entry.image(y_bar), True)

    cdef object push(self, Push walk):
        x_dot = walk.tangent(self.a)
        return None if x_dot is None else self.entry.image(x_dot)


@cython.final
cdef class FastSelfAdjoint(Handler):
    """For plain arrays."""

    cdef Loops loops

    def __init__(self, function):
        self.function = function
        self.loops = Loops(function)

    cdef object image(self, object x):
        y = self.loops.of_one(x)
        return as_value(self.function(x)) if y is None else y

    cdef object call(self, tuple args, dict kwargs):
        cdef Variable x
        cdef SelfAdjoint node
        cdef int kind
        if kwargs or len(args) != 1 or type(args[0]) is not Variable:
            return NotImplemented
        x = args[0]
        kind = kind_of(x._value)
        if kind < 0 or self.loops.loops[place_of_kind(kind)].function == NULL:
            return NotImplemented
        node = SelfAdjoint.__new__(SelfAdjoint)
        node.a = x.node
        node.entry = self
        return record(x.node.trace, node, self.image(x._value))


def use_pointwise_paths():
    """Give these functions their compiled twins."""
    for function in (np.conjugate, np.deg2rad, np.radians, np.rad2deg, np.degrees):
        fast_path(function, FastSelfAdjoint(function))
    fast_path(np.where, FastWhere(np.where))
