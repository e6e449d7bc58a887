"""Compiled twins of the rules of np.sum, np.mean, np.max and np.min over axes (see reductions.py).

Of the same form as arithmetic.pyx: each class is a differential.  Values are those of NumPy's own ufuncs.
"""

cimport cython
cimport numpy as cnp

import numpy as np

from lindiff.core.record cimport Node, Pull, Push
from lindiff.core.registry cimport Handler
from lindiff.core.variable cimport Variable, as_value, record
from lindiff.kernels.elementwise cimport DIVIDE, binary, filled, is_plain, repeated, shared_equally, sum_all
from lindiff.kernels.loops cimport Loop, find_loop, reduce

from lindiff.core.registry import fast_path
from lindiff.rules.reductions import attaining as attaining_and_number

cnp.import_array()


# The loops that NumPy reduces by, for two precisions.
cdef enum Function:
    ADDITION
    MAXIMUM
    MINIMUM

cdef Loop[3][2] loops
cdef list ufuncs = [np.add, np.maximum, np.minimum]


cdef int find_loops() except -1:
    cdef int i
    for i in range(3):
        find_loop(ufuncs[i], cnp.NPY_DOUBLE, &loops[i][0])
        find_loop(ufuncs[i], cnp.NPY_FLOAT, &loops[i][1])
    return 0


find_loops()


cdef object reduced(Function function, object x, object axis, bint keepdims):
    """A plain array reduced along an axis, several or all."""
    if axis is None or type(axis) is int:
        value = reduce(&loops[<int>function][cnp.PyArray_TYPE(<cnp.ndarray>x) == cnp.NPY_FLOAT], x, axis,
                       keepdims, function == ADDITION)
        if value is not None:
            return value
    return as_value(ufuncs[<int>function].reduce(x, axis, None, None, keepdims))


# -- y = sum of all of x ---------------------------------------------------------------------------------

@cython.no_gc
@cython.final
cdef class SumAll(Node):
    cdef tuple shape

    cdef bint linear(self):
        return True

    cdef bint together(self):
        return True

    cdef int pull(self, Pull walk, object y_bar) except -1:
        x_bar = filled(self.shape, y_bar)
        if x_bar is None:
            walk.add(self.a, np.broadcast_to(y_bar, self.shape), False)
        else:
            walk.add(self.a, x_bar, True)
        return 0

    cdef object push(self, Push walk):
        x_dot = walk.tangent(self.a)
        return None if x_dot is None else np.sum(x_dot)


cdef object record_sum(Variable x):
    cdef SumAll node = SumAll.__new__(SumAll)
    value = sum_all(x._value)
    if value is None:
        value = reduced(ADDITION, x._value, None, False)
    node.a = x.node
    node.shape = x._value.shape
    return record(x.node.trace, node, value)


# -- y = x reduced along axes -----------------------------------------------------------------------------

@cython.no_gc
cdef class Reduction(Node):
    """Along ``axis`` (None: all): shapes of the argument, and of the result with its axes kept."""

    cdef tuple shape
    cdef tuple kept
    cdef object axis
    cdef bint keepdims

    cdef object spread(self, object y_bar):
        """``y_bar`` repeated along the axes that were reduced."""
        x_bar = repeated(y_bar, self.kept, self.shape)
        return np.broadcast_to(np.reshape(y_bar, self.kept), self.shape) if x_bar is None else x_bar


@cython.no_gc
@cython.final
cdef class Total(Reduction):
    """The sum divided by ``count``, which is 1 or, for the mean, how many numbers were added."""

    cdef Py_ssize_t count

    cdef bint linear(self):
        return True

    cdef object divided(self, object y):
        if self.count == 1:
            return y
        quotient = binary(DIVIDE, y, self.count)
        return y / self.count if quotient is None else quotient

    cdef int pull(self, Pull walk, object y_bar) except -1:
        x_bar = self.spread(self.divided(y_bar))
        return walk.add(self.a, x_bar, cnp.PyArray_CheckExact(x_bar) and cnp.PyArray_ISWRITEABLE(x_bar))

    cdef object push(self, Push walk):
        x_dot = walk.tangent(self.a)
        if x_dot is None:
            return None
        return as_value(self.divided(np.sum(x_dot, axis=self.axis, keepdims=self.keepdims)))


@cython.no_gc
@cython.final
cdef class Extreme(Reduction):
    """The largest or smallest ``y`` of ``x``; those that attain it share its cotangent."""

    cdef object x
    cdef object y

    cdef tuple attaining(self):
        """Which elements attain the extreme, and how many share it."""
        attained, n = attaining_and_number(self.x, self.y, self.kept, self.axis)
        return attained, n.astype(self.x.dtype)

    cdef int pull(self, Pull walk, object y_bar) except -1:
        x_bar = shared_equally(y_bar, self.x, self.y, self.kept)
        if x_bar is None:
            attained, n = self.attaining()
            x_bar = np.where(attained, np.reshape(y_bar, self.kept) / n, 0)
        return walk.add(self.a, x_bar, True)

    cdef object push(self, Push walk):
        x_dot = walk.tangent(self.a)
        if x_dot is None:
            return None
        attained, n = self.attaining()
        return as_value(np.sum(np.where(attained, x_dot / n, 0), axis=self.axis, keepdims=self.keepdims))


cdef class FastReduction(Handler):
    """For plain arrays: all axes, one, or a tuple of them, kept or not."""

    cdef Function by
    cdef bint averaging

    def __init__(self, function, int by, bint averaging=False):
        self.function = function
        self.by = <Function>by
        self.averaging = averaging

    cdef object call(self, tuple args, dict kwargs):
        cdef Variable x
        cdef Reduction node
        cdef list kept
        cdef bint keepdims = False
        cdef Py_ssize_t count, axes
        if len(args) == 1 and not kwargs and self.function is np.sum \
                and type(args[0]) is Variable and is_plain((<Variable>args[0])._value):
            return record_sum(args[0])
        axis = args[1] if len(args) == 2 else None
        for name, argument in kwargs.items():
            if name == "axis" and len(args) == 1:
                axis = argument
            elif name == "keepdims" and type(argument) is bool:
                keepdims = argument
            else:
                return NotImplemented
        if not 1 <= len(args) <= 2 or type(args[0]) is not Variable:
            return NotImplemented
        x = args[0]
        if not is_plain(x._value) or cnp.PyArray_SIZE(<cnp.ndarray>x._value) == 0:
            return NotImplemented
        axes = cnp.PyArray_NDIM(<cnp.ndarray>x._value)
        shape = x._value.shape
        if axis is None:
            kept = [1] * axes
        else:
            kept = list(shape)
            for k in (axis if type(axis) is tuple else (axis,)):
                if type(k) is not int or not -axes <= k < axes:
                    return NotImplemented
                kept[k] = 1
        value = reduced(self.by, x._value, axis, keepdims)
        if self.by != ADDITION:
            node = Extreme.__new__(Extreme)
            (<Extreme>node).x = x._value
            (<Extreme>node).y = value
        else:
            node = Total.__new__(Total)
            (<Total>node).count = 1
            if self.averaging:
                count = cnp.PyArray_SIZE(<cnp.ndarray>x._value)
                for n in kept:
                    count //= max(<Py_ssize_t>n, 1)
                (<Total>node).count = count
                value = (<Total>node).divided(value)
        node.a = x.node
        node.shape = shape
        node.kept = tuple(kept)
        node.axis = axis
        node.keepdims = keepdims
        return record(x.node.trace, node, value)


def use_reduction_paths():
    """Give the readable rules of these functions their compiled twins."""
    fast_path(np.sum, FastReduction(np.sum, ADDITION))
    fast_path(np.mean, FastReduction(np.mean, ADDITION, averaging=True))
    fast_path(np.max, FastReduction(np.max, MAXIMUM))
    fast_path(np.min, FastReduction(np.min, MINIMUM))
