"""What carries out np.where on plain arrays."""

cimport cython
cimport numpy as cnp

import numpy as np

from lindiff.core.operands cimport Binary, trace_of
from lindiff.core.record cimport Pull, Push, Trace
from lindiff.core.registry cimport Entry
from lindiff.core.variable cimport Variable, kept_by
from lindiff.kernels.elementwise cimport chosen
from lindiff.kernels.loops cimport common_kind, merge

from lindiff.core.registry import add_entry
import lindiff.rules.selection.rules  # what is carried out here  # no-cython-lint

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


cdef class WhereEntry(Entry):
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


add_entry(np.where, WhereEntry(np.where))
