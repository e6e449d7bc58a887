"""What carries out shape's rules on plain arrays: reshape, transpose, moved axes, concatenate, stack."""

cimport cython
cimport numpy as cnp

import numpy as np

from libc.string cimport memcpy

from lindiff.core.linear cimport ViewNode
from lindiff.core.record cimport NodeOfMany, Pull, Push, Trace
from lindiff.core.registry cimport Entry, EntryOfOne
from lindiff.core.variable cimport Variable, View, constant_value, record, watch
from lindiff.kernels.elementwise cimport is_plain
from lindiff.kernels.memory cimport empty

from lindiff.core.arrays import zeros_beside
from lindiff.core.registry import add_entry
import lindiff.rules.shape.rules  # what is carried out here  # no-cython-lint

cnp.import_array()


# -- y = x in another shape ------------------------------------------------------------------------------

cdef inline object reshaped(object x, object shape):
    if cnp.PyArray_CheckExact(x):
        return cnp.PyArray_Reshape(<cnp.ndarray>x, shape)
    return np.reshape(x, shape)


@cython.no_gc
@cython.final
cdef class Reshape(ViewNode):
    cdef tuple x_shape
    cdef tuple y_shape

    cdef object image(self, object x):
        return reshaped(x, self.y_shape)

    cdef object adjoint(self, object y_bar):
        return reshaped(y_bar, self.x_shape)


cdef object record_reshape(Variable x, object value):
    """``value``, the elements of ``x`` in their order, on the record."""
    cdef Reshape node = Reshape.__new__(Reshape)
    node.a = x.node
    node.x_shape = x._value.shape
    node.y_shape = value.shape
    return record(x.node.trace, node, value)


cdef bint is_reshape(object value, object x):
    """Whether ``value``, made from ``x`` by indexing, is all its memory in another shape: ``x[:, None]``."""
    return (
        cnp.PyArray_CheckExact(value) and cnp.PyArray_CheckExact(x)
        and cnp.PyArray_DATA(<cnp.ndarray>value) == cnp.PyArray_DATA(<cnp.ndarray>x)
        and cnp.PyArray_SIZE(<cnp.ndarray>value) == cnp.PyArray_SIZE(<cnp.ndarray>x)
        and cnp.PyArray_IS_C_CONTIGUOUS(<cnp.ndarray>value) and cnp.PyArray_IS_C_CONTIGUOUS(<cnp.ndarray>x)
    )


cdef class ReshapeEntry(EntryOfOne):
    cdef object recorded(self, Variable x, tuple options):
        shape = options[0]
        return NotImplemented if shape is None else record_reshape(x, reshaped(x._value, shape))


cdef Py_ssize_t place_of(object axis, Py_ssize_t axes) except -2:
    """The place of an axis that is counted from the end or the start; -1 where there is none."""
    cdef Py_ssize_t place
    if type(axis) is not int or not -axes <= axis < axes:
        return -1  # NumPy's error
    place = axis
    return place + axes if place < 0 else place


cdef class ExpandDimsEntry(EntryOfOne):
    cdef object recorded(self, Variable x, tuple options):
        cdef tuple shape = x._value.shape
        cdef Py_ssize_t place = place_of(options[0], len(shape) + 1)
        if place < 0:
            return NotImplemented
        return record_reshape(x, reshaped(x._value, shape[:place] + (1,) + shape[place:]))


# -- y = xᵀ ----------------------------------------------------------------------------------------------

@cython.no_gc
@cython.final
cdef class Transpose(ViewNode):
    cdef object image(self, object x):
        return x.T

    cdef object adjoint(self, object y_bar):
        return y_bar.T


_transposed = View(np.transpose, (), {})


cdef object transpose_of(Variable x):
    """``x.T``, known as a view of ``x``."""
    cdef Transpose node = Transpose.__new__(Transpose)
    node.a = x.node
    out = record(x.node.trace, node, x._value.T)
    watch(x, out, _transposed)
    return out


cdef tuple reversed_axes(object x):
    return tuple(range(x.ndim - 1, -1, -1))


cdef class TransposeEntry(EntryOfOne):
    cdef object recorded(self, Variable x, tuple options):
        order = options[0]
        if order is None:
            return transpose_of(x)
        if type(order) is not tuple:
            return NotImplemented
        return transpose_of(x) if order == reversed_axes(x._value) else record_permuted(x, list(order))


# -- y = x with its axes in another order --------------------------------------------------------------------

cdef object permuted(object x, tuple order):
    cdef cnp.npy_intp axes[32]
    cdef cnp.PyArray_Dims dims
    cdef int k
    if not cnp.PyArray_CheckExact(x):
        return np.transpose(x, order)
    dims.ptr = axes
    dims.len = len(order)
    for k in range(dims.len):
        axes[k] = order[k]
    return cnp.PyArray_Transpose(<cnp.ndarray>x, &dims)


@cython.no_gc
@cython.final
cdef class Permuted(ViewNode):
    cdef tuple order
    cdef tuple back

    cdef object image(self, object x):
        return permuted(x, self.order)

    cdef object adjoint(self, object y_bar):
        return permuted(y_bar, self.back)


cdef object record_permuted(Variable x, list order):
    """``np.transpose(x, order)`` of NumPy's array; NotImplemented where the order is none."""
    cdef Permuted node
    cdef Py_ssize_t k, axes, axis
    cdef list back
    if not cnp.PyArray_CheckExact(x._value):
        return NotImplemented
    axes = cnp.PyArray_NDIM(<cnp.ndarray>x._value)
    if len(order) != axes or axes > 32:
        return NotImplemented
    back = [-1] * axes
    for k in range(axes):
        axis = place_of(order[k], axes)
        if axis < 0 or back[axis] >= 0:
            return NotImplemented
        order[k] = axis
        back[axis] = k
    node = Permuted.__new__(Permuted)
    node.a = x.node
    node.order = tuple(order)
    node.back = tuple(back)
    return record(x.node.trace, node, permuted(x._value, node.order))


cdef class MoveEntry(EntryOfOne):
    """One axis moved to the place of another, or exchanged with it."""

    cdef object recorded(self, Variable x, tuple options):
        cdef Py_ssize_t axes = len(x._value.shape)
        cdef Py_ssize_t of = place_of(options[0], axes), to = place_of(options[1], axes)
        cdef list order = list(range(axes))
        if of < 0 or to < 0:
            return NotImplemented
        if self.function is np.swapaxes:
            order[of], order[to] = to, of
        else:
            del order[of]
            order.insert(to, of)
        return record_permuted(x, order)


# -- y = parts side by side -------------------------------------------------------------------------------

@cython.no_gc
cdef class Join(NodeOfMany):
    """Parts joined along an axis: an existing one (concatenate); with ``bounds`` None a new one (stack)."""

    cdef tuple places  # of each parent among the parts
    cdef list shapes  # of the parts
    cdef list bounds
    cdef Py_ssize_t axis
    cdef object dtype

    cdef bint linear(self):
        return True

    cdef bint together(self):
        return True

    cdef int pull(self, Pull walk, object y_bar) except -1:
        """The parts do not overlap, so they share the memory of ``y_bar``."""
        cdef Py_ssize_t i, place
        before = (slice(None),) * self.axis
        for i in range(len(self.places)):
            place = self.places[i]
            if self.bounds is None:
                part = y_bar[before + (place, Ellipsis)]
            elif self.axis == 0:
                part = y_bar[self.bounds[place]:self.bounds[place + 1]]
            else:
                part = y_bar[before + (slice(self.bounds[place], self.bounds[place + 1]),)]
            walk.add(self.parent(i), part, walk.overwrite)
        return 0

    cdef object push(self, Push walk):
        cdef Py_ssize_t i
        cdef list parts = [None] * len(self.shapes)
        cdef object given = None
        for i in range(len(self.places)):
            x_dot = walk.tangent(self.parent(i))
            if x_dot is not None:
                parts[self.places[i]] = given = x_dot
        if given is None:
            return None
        for i in range(len(parts)):
            if parts[i] is None:
                parts[i] = zeros_beside(given, self.shapes[i], self.dtype)
        return np.stack(parts, self.axis) if self.bounds is None else np.concatenate(parts, self.axis)


cdef object vectors_joined(list vectors):
    """Contiguous vectors of one plain dtype behind each other; None where they are not such."""
    cdef cnp.npy_intp n = 0
    cdef cnp.ndarray x, out
    cdef char *to
    for x in vectors:
        if cnp.PyArray_NDIM(x) != 1 or not cnp.PyArray_IS_C_CONTIGUOUS(x):
            return None
        n += cnp.PyArray_DIM(x, 0)
    out = empty(1, &n, cnp.PyArray_TYPE(<cnp.ndarray>vectors[0]))
    to = cnp.PyArray_BYTES(out)
    for x in vectors:
        memcpy(to, cnp.PyArray_BYTES(x), cnp.PyArray_NBYTES(x))
        to += cnp.PyArray_NBYTES(x)
    return out


cdef class JoinEntry(Entry):
    """For plain arrays of one dtype."""

    cdef bint stacking

    def __init__(self, function, bint stacking):
        self.function = function
        self.stacking = stacking

    cdef object call(self, tuple args, dict kwargs):
        cdef Trace trace = None
        cdef Join node
        cdef Variable v
        cdef list nodes = [], places = [], values = [], shapes = []
        cdef Py_ssize_t axis, axes, i
        cdef int kind = -1
        if not 1 <= len(args) <= 2 or (type(args[0]) is not list and type(args[0]) is not tuple) \
                or kwargs.get("dtype") is not None:
            return NotImplemented
        at = args[1] if len(args) == 2 else kwargs.get("axis", 0)
        for i, x in enumerate(args[0]):
            x = constant_value(x)
            if type(x) is Variable:
                v = x
                if trace is not None and v.node.trace is not trace:
                    return NotImplemented
                trace = v.node.trace
                nodes.append(v.node)
                places.append(i)
                x = v._value
            if not is_plain(x) or (kind >= 0 and cnp.PyArray_TYPE(<cnp.ndarray>x) != kind):
                return NotImplemented
            kind = cnp.PyArray_TYPE(<cnp.ndarray>x)
            values.append(x)
            shapes.append(x.shape)
        if trace is None:
            return NotImplemented
        axes = len(shapes[0]) + self.stacking
        axis = place_of(at, axes)
        if axis < 0:
            return NotImplemented
        node = Join.__new__(Join)
        node.axis = axis
        if self.stacking:
            if any(shape != shapes[0] for shape in shapes):
                return NotImplemented
            single = shapes[0][:axis] + (1,) + shapes[0][axis:]
            values = [cnp.PyArray_Reshape(<cnp.ndarray>x, single) for x in values]
        value = vectors_joined(values) if axes == 1 else None
        if value is None:
            value = cnp.PyArray_Concatenate(values, <int>axis)
        if not self.stacking:
            stop = 0
            node.bounds = [stop]
            for shape in shapes:
                stop += shape[axis]
                node.bounds.append(stop)
        node.take_parents(nodes)
        node.places = tuple(places)
        node.shapes = shapes
        node.dtype = value.dtype
        return record(trace, node, value)


for function, entry in [
    (np.reshape, ReshapeEntry(np.reshape, shape=None)),
    (np.expand_dims, ExpandDimsEntry(np.expand_dims, axis=None)),
    (np.transpose, TransposeEntry(np.transpose, axes=None)),
    (np.swapaxes, MoveEntry(np.swapaxes, 2, axis1=None, axis2=None)),
    (np.moveaxis, MoveEntry(np.moveaxis, 2, source=None, destination=None)),
    (np.concatenate, JoinEntry(np.concatenate, False)), (np.stack, JoinEntry(np.stack, True)),
]:
    add_entry(function, entry)
