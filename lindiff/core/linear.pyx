"""Operations that are linear in their one argument: what is done to a tangent, and to a cotangent."""

cimport cython

from lindiff.core.record cimport Node, Pull, Push


@cython.no_gc
cdef class LinearNode(Node):
    """``y = A x``."""

    cdef object image(self, object x):
        """``A x``"""
        raise NotImplementedError

    cdef object adjoint(self, object y_bar):
        """``Aᴴ y_bar``"""
        raise NotImplementedError

    cdef bint owns(self, Pull walk, object x_bar) except -1:
        """Whether the walk may write to the memory of ``x_bar``, as the adjoint has given it."""
        return True

    cdef bint linear(self):
        return True

    cdef bint together(self):
        return True

    cdef int pull(self, Pull walk, object y_bar) except -1:
        x_bar = self.adjoint(y_bar)
        return walk.add(self.a, x_bar, self.owns(walk, x_bar))

    cdef object push(self, Push walk):
        x_dot = walk.tangent(self.a)
        return None if x_dot is None else self.image(x_dot)


@cython.no_gc
cdef class ViewNode(LinearNode):
    """One whose adjoint gives a view of the cotangent."""

    cdef bint owns(self, Pull walk, object x_bar) except -1:
        return walk.overwrite
