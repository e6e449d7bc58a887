"""Compiled twins of rules: reshape, transpose, concatenate, stack, diagonals, trace, outer and cross product.

Of the same form as arithmetic.pyx: each class is a differential.  The handlers are tried before the readable
rules of shape.py and products.py, and answer NotImplemented where the call is not their case.
"""

cimport cython
cimport numpy as cnp

import numpy as np

from libc.string cimport memcpy

from lindiff.core.record cimport Node, NodeOfMany, Pull, Push, Trace
from lindiff.core.registry cimport Handler
from lindiff.core.variable cimport Variable, constant_value, kept_by, record
from lindiff.kernels.elementwise cimport has_shape_of, if_finite, is_plain
from lindiff.kernels.matmul cimport add_product, matmul
from lindiff.kernels.memory cimport empty

from lindiff.core.arrays import zeros_beside
from lindiff.core.registry import fast_path
from lindiff.rules.products import on_diagonal, outer_product

cnp.import_array()

ctypedef fused floating:
    float
    double


# -- y = x in another shape ------------------------------------------------------------------------------

cdef inline object reshaped(object x, object shape):
    if cnp.PyArray_CheckExact(x):
        return cnp.PyArray_Reshape(<cnp.ndarray>x, shape)
    return np.reshape(x, shape)


@cython.no_gc
@cython.final
cdef class Reshape(Node):
    cdef tuple x_shape
    cdef tuple y_shape

    cdef bint linear(self):
        return True

    cdef bint together(self):
        return True

    cdef int pull(self, Pull walk, object y_bar) except -1:
        return walk.add(self.a, reshaped(y_bar, self.x_shape), walk.overwrite)

    cdef object push(self, Push walk):
        x_dot = walk.tangent(self.a)
        return None if x_dot is None else reshaped(x_dot, self.y_shape)


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


cdef class FastReshape(Handler):
    cdef object call(self, tuple args, dict kwargs):
        if kwargs or len(args) != 2 or type(args[0]) is not Variable or args[1] is None:
            return NotImplemented
        return record_reshape(args[0], reshaped((<Variable>args[0])._value, args[1]))


cdef class FastExpandDims(Handler):
    cdef object call(self, tuple args, dict kwargs):
        cdef Variable x
        cdef tuple shape
        cdef Py_ssize_t axis, axes
        if kwargs or len(args) != 2 or type(args[0]) is not Variable or type(args[1]) is not int:
            return NotImplemented
        x = args[0]
        shape = x._value.shape
        axes = len(shape) + 1
        axis = args[1]
        if not -axes <= axis < axes:
            return NotImplemented  # NumPy's error
        if axis < 0:
            axis += axes
        return record_reshape(x, reshaped(x._value, shape[:axis] + (1,) + shape[axis:]))


cdef tuple reversed_axes(object x):
    return tuple(range(x.ndim - 1, -1, -1))


cdef class FastTranspose(Handler):
    cdef object call(self, tuple args, dict kwargs):
        if kwargs or not 1 <= len(args) <= 2 or type(args[0]) is not Variable:
            return NotImplemented
        if len(args) == 1 or args[1] is None:
            return args[0].T
        if type(args[1]) is not tuple:
            return NotImplemented
        if args[1] == reversed_axes((<Variable>args[0])._value):
            return args[0].T
        return record_permuted(args[0], list(args[1]))


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
cdef class Permuted(Node):
    cdef tuple order
    cdef tuple back

    cdef bint linear(self):
        return True

    cdef bint together(self):
        return True

    cdef int pull(self, Pull walk, object y_bar) except -1:
        return walk.add(self.a, permuted(y_bar, self.back), walk.overwrite)

    cdef object push(self, Push walk):
        x_dot = walk.tangent(self.a)
        return None if x_dot is None else permuted(x_dot, self.order)


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
        if type(order[k]) is not int or not -axes <= order[k] < axes:
            return NotImplemented
        axis = order[k]
        if axis < 0:
            axis += axes
        if back[axis] >= 0:
            return NotImplemented
        order[k] = axis
        back[axis] = k
    node = Permuted.__new__(Permuted)
    node.a = x.node
    node.order = tuple(order)
    node.back = tuple(back)
    return record(x.node.trace, node, permuted(x._value, node.order))


cdef class FastMove(Handler):
    """One axis moved to the place of another, or exchanged with it."""

    cdef bint exchanging

    def __init__(self, function, bint exchanging):
        self.function = function
        self.exchanging = exchanging

    cdef object call(self, tuple args, dict kwargs):
        cdef Py_ssize_t axes, of, to
        cdef list order
        if kwargs or len(args) != 3 or type(args[0]) is not Variable or type(args[1]) is not int \
                or type(args[2]) is not int:
            return NotImplemented
        axes = len((<Variable>args[0])._value.shape)
        of, to = args[1], args[2]
        if not -axes <= of < axes or not -axes <= to < axes:
            return NotImplemented  # NumPy's error
        of += axes if of < 0 else 0
        to += axes if to < 0 else 0
        order = list(range(axes))
        if self.exchanging:
            order[of], order[to] = to, of
        else:
            del order[of]
            order.insert(to, of)
        return record_permuted(args[0], order)


# -- y = diagonal of a matrix, its sum, and the matrix with a given diagonal ------------------------------

cdef struct Diagonal_:
    # Where a diagonal of a matrix lies; step in bytes.
    char *data
    Py_ssize_t length
    Py_ssize_t step


cdef inline void locate(cnp.ndarray x, Py_ssize_t offset, Diagonal_ *d) noexcept:
    cdef Py_ssize_t rows = cnp.PyArray_DIM(x, 0), columns = cnp.PyArray_DIM(x, 1)
    d.data = <char *>cnp.PyArray_DATA(x)
    if offset > 0:
        d.data += offset * cnp.PyArray_STRIDE(x, 1)
        columns -= offset
    else:
        d.data -= offset * cnp.PyArray_STRIDE(x, 0)
        rows += offset
    d.length = max(min(rows, columns), 0)
    d.step = cnp.PyArray_STRIDE(x, 0) + cnp.PyArray_STRIDE(x, 1)


cdef inline void add_strided(floating *dummy, char *x, Py_ssize_t x_step, const char *y, Py_ssize_t y_step,
                             Py_ssize_t n) noexcept nogil:
    cdef Py_ssize_t i
    for i in range(n):
        (<floating *>(x + i * x_step))[0] += (<floating *>(y + i * y_step))[0]


cdef bint add_to_diagonal(cnp.ndarray x, object y, Py_ssize_t offset):
    """Add a vector, or a number, to a diagonal of the matrix ``x`` in place; False if not the case."""
    cdef Diagonal_ d
    cdef int kind = cnp.PyArray_TYPE(x)
    cdef Py_ssize_t y_step = 0
    if not is_plain(y) or cnp.PyArray_TYPE(<cnp.ndarray>y) != kind:
        return False
    locate(x, offset, &d)
    if cnp.PyArray_NDIM(<cnp.ndarray>y) == 1:
        y_step = cnp.PyArray_STRIDE(<cnp.ndarray>y, 0)
    if kind == cnp.NPY_DOUBLE:
        add_strided[double](NULL, d.data, d.step, <char *>cnp.PyArray_DATA(<cnp.ndarray>y), y_step, d.length)
    else:
        add_strided[float](NULL, d.data, d.step, <char *>cnp.PyArray_DATA(<cnp.ndarray>y), y_step, d.length)
    return True


cdef object sum_of_diagonal(cnp.ndarray x, Py_ssize_t offset):
    cdef Diagonal_ d
    cdef Py_ssize_t i
    cdef double total = 0
    cdef cnp.ndarray out = cnp.PyArray_EMPTY(0, NULL, cnp.PyArray_TYPE(x), 0)
    locate(x, offset, &d)
    if cnp.PyArray_TYPE(x) == cnp.NPY_DOUBLE:
        for i in range(d.length):
            total += (<double *>(d.data + i * d.step))[0]
        (<double *>cnp.PyArray_DATA(out))[0] = total
    else:
        for i in range(d.length):
            total += (<float *>(d.data + i * d.step))[0]
        (<float *>cnp.PyArray_DATA(out))[0] = <float>total
    return out


@cython.no_gc
cdef class OfMatrix(Node):
    """An operation on a diagonal of the plain matrix ``x``: its shape, type number, and which diagonal."""

    cdef cnp.npy_intp shape[2]
    cdef int kind
    cdef Py_ssize_t offset

    cdef bint linear(self):
        return True

    cdef int note(self, Variable x, Py_ssize_t offset) except -1:
        self.a = x.node
        self.shape[0] = cnp.PyArray_DIM(<cnp.ndarray>x._value, 0)
        self.shape[1] = cnp.PyArray_DIM(<cnp.ndarray>x._value, 1)
        self.kind = cnp.PyArray_TYPE(<cnp.ndarray>x._value)
        self.offset = offset
        return 0

    cdef bint add_on_diagonal(self, Pull walk, object y_bar) except -1:
        """Add into the cotangent's own memory; False where it is not the kernels' case."""
        if not is_plain(y_bar):
            return False
        x_bar = walk.buffer(self.a)
        if x_bar is None:
            walk.add(self.a, cnp.PyArray_ZEROS(2, self.shape, self.kind, 0), True)
            x_bar = walk.buffer(self.a)
        return x_bar is not None and add_to_diagonal(x_bar, y_bar, self.offset)


@cython.no_gc
@cython.final
cdef class Diagonal(OfMatrix):
    cdef bint together(self):
        return True

    cdef int pull(self, Pull walk, object y_bar) except -1:
        if not self.add_on_diagonal(walk, y_bar):
            walk.add(self.a, on_diagonal(y_bar, (self.shape[0], self.shape[1]), self.offset, 0, 1), True)
        return 0

    cdef object push(self, Push walk):
        x_dot = walk.tangent(self.a)
        return None if x_dot is None else np.diagonal(x_dot, self.offset)


@cython.no_gc
@cython.final
cdef class SumOfDiagonal(OfMatrix):
    cdef bint together(self):
        return True

    cdef int pull(self, Pull walk, object y_bar) except -1:
        if not self.add_on_diagonal(walk, y_bar):
            row = max(0, -self.offset)
            column = max(0, self.offset)
            length = max(0, min(self.shape[0] - row, self.shape[1] - column))
            y_bar = np.broadcast_to(y_bar, (length,))
            walk.add(self.a, on_diagonal(y_bar, (self.shape[0], self.shape[1]), self.offset, 0, 1), True)
        return 0

    cdef object push(self, Push walk):
        x_dot = walk.tangent(self.a)
        return None if x_dot is None else np.trace(x_dot, self.offset)


@cython.no_gc
@cython.final
cdef class OnDiagonal(Node):
    cdef tuple shape
    cdef Py_ssize_t offset

    cdef bint linear(self):
        return True

    cdef bint together(self):
        return True

    cdef int pull(self, Pull walk, object y_bar) except -1:
        if cnp.PyArray_CheckExact(y_bar):
            x_bar = cnp.PyArray_Diagonal(<cnp.ndarray>y_bar, <int>self.offset, 0, 1)
        else:
            x_bar = np.diagonal(y_bar, self.offset)
        return walk.add(self.a, x_bar, False)

    cdef object push(self, Push walk):
        x_dot = walk.tangent(self.a)
        return None if x_dot is None else on_diagonal(x_dot, self.shape, self.offset, 0, 1)


cdef inline bint of_plain_matrix(tuple args, dict kwargs):
    """Whether the call is of a Variable that holds a plain matrix, and at most an offset."""
    return (
        not kwargs and 1 <= len(args) <= 2 and type(args[0]) is Variable
        and is_plain((<Variable>args[0])._value)
        and cnp.PyArray_NDIM(<cnp.ndarray>(<Variable>args[0])._value) == 2
        and (len(args) == 1 or type(args[1]) is int)
    )


cdef class FastDiagonal(Handler):
    cdef object call(self, tuple args, dict kwargs):
        cdef Diagonal node
        cdef Py_ssize_t offset
        if not of_plain_matrix(args, kwargs):
            return NotImplemented
        offset = args[1] if len(args) == 2 else 0
        node = Diagonal.__new__(Diagonal)
        node.note(args[0], offset)
        value = cnp.PyArray_Diagonal(<cnp.ndarray>(<Variable>args[0])._value, <int>offset, 0, 1)
        return record((<Variable>args[0]).node.trace, node, value)


cdef class FastTrace(Handler):
    cdef object call(self, tuple args, dict kwargs):
        cdef SumOfDiagonal node
        cdef Py_ssize_t offset
        if not of_plain_matrix(args, kwargs):
            return NotImplemented
        offset = args[1] if len(args) == 2 else 0
        value = if_finite(sum_of_diagonal((<Variable>args[0])._value, offset))
        if value is None:
            return NotImplemented
        node = SumOfDiagonal.__new__(SumOfDiagonal)
        node.note(args[0], offset)
        return record((<Variable>args[0]).node.trace, node, value)


cdef class FastOnDiagonal(Handler):
    cdef object call(self, tuple args, dict kwargs):
        cdef OnDiagonal node
        cdef Variable y
        cdef cnp.npy_intp shape[2]
        cdef cnp.ndarray x
        if kwargs or len(args) != 5 or type(args[0]) is not Variable or args[3] != 0 or args[4] != 1:
            return NotImplemented
        y = args[0]
        if not is_plain(y._value) or cnp.PyArray_NDIM(<cnp.ndarray>y._value) != 1:
            return NotImplemented
        node = OnDiagonal.__new__(OnDiagonal)
        node.a = y.node
        node.shape = args[1]
        node.offset = args[2]
        shape[0] = node.shape[0]
        shape[1] = node.shape[1]
        x = cnp.PyArray_ZEROS(2, shape, cnp.PyArray_TYPE(<cnp.ndarray>y._value), 0)
        add_to_diagonal(x, y._value, node.offset)
        return record(y.node.trace, node, x)


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


cdef class FastJoin(Handler):
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
        if type(at) is not int:
            return NotImplemented
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
        axis = at
        axes = len(shapes[0]) + self.stacking
        if axis < 0:
            axis += axes
        if not 0 <= axis < axes:
            return NotImplemented  # NumPy's error
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


# -- products of two arrays -------------------------------------------------------------------------------

@cython.no_gc
cdef class Product(Node):
    """Linear in x and in y alone."""

    cdef object x
    cdef object y

    cdef object times(self, object x, object y):
        raise NotImplementedError

    cdef Trace take_operands(self, tuple args):
        """Note the two operands; their trace, None where there is none, or not one."""
        cdef Trace trace = None
        cdef Variable v
        self.x = constant_value(args[0])
        self.y = constant_value(args[1])
        if type(self.x) is Variable:
            v = self.x
            trace = v.node.trace
            self.a = v.node
            self.x = v._value
        if type(self.y) is Variable:
            v = self.y
            if trace is not None and v.node.trace is not trace:
                return None
            trace = v.node.trace
            self.b = v.node
            self.y = v._value
        return trace

    cdef object keep(self, Trace trace, object value):
        """Record ``value``, the product."""
        if self.a is None:
            self.x = kept_by(self.x, self, trace)
        if self.b is None:
            self.y = kept_by(self.y, self, trace)
        return record(trace, self, value)

    cdef bint linear(self):
        return self.a is None or self.b is None

    cdef object push(self, Push walk):
        x_dot = walk.tangent(self.a)
        y_dot = walk.tangent(self.b)
        if y_dot is None:
            return None if x_dot is None else self.times(x_dot, self.y)
        if x_dot is None:
            return self.times(self.x, y_dot)
        return self.times(x_dot, self.y) + self.times(self.x, y_dot)


# -- Z = x yᵀ --------------------------------------------------------------------------------------------

@cython.no_gc
@cython.final
cdef class Outer(Product):
    cdef object times(self, object x, object y):
        return np.outer(x, y)

    cdef bint together(self):
        return True

    cdef int pull(self, Pull walk, object Z_bar) except -1:
        if self.a is not None:
            self.pull_vector(walk, self.a, Z_bar, self.y)
        if self.b is not None:
            self.pull_vector(walk, self.b, Z_bar.T, self.x)
        return 0

    cdef int pull_vector(self, Pull walk, Node parent, object Z_bar, object other) except -1:
        """``x_bar = Z_bar y``; added to the cotangent in place where there is one."""
        total = walk.buffer(parent)
        if total is not None and add_product(total, Z_bar, other, False, False) is not None:
            return 0
        x_bar = matmul(Z_bar, other)
        return walk.add(parent, Z_bar @ other if x_bar is None else x_bar, True)


cdef class FastOuter(Handler):
    """For small plain vectors of one dtype."""

    cdef object call(self, tuple args, dict kwargs):
        cdef Outer node
        cdef Trace trace
        if kwargs or len(args) != 2:
            return NotImplemented
        node = Outer.__new__(Outer)
        trace = node.take_operands(args)
        if not is_plain(node.x) or not is_plain(node.y) or trace is None \
                or cnp.PyArray_NDIM(<cnp.ndarray>node.x) != 1 or cnp.PyArray_NDIM(<cnp.ndarray>node.y) != 1:
            return NotImplemented
        value = if_finite(add_product(None, node.x, node.y, False, True))
        return NotImplemented if value is None else node.keep(trace, value)


# -- Y = X × Y, of vectors with three components -------------------------------------------------------------

cdef inline void cross_rows(floating *out, const floating *x, const floating *y, Py_ssize_t n) noexcept nogil:
    cdef Py_ssize_t i
    for i in range(0, 3 * n, 3):
        out[i] = x[i + 1] * y[i + 2] - x[i + 2] * y[i + 1]
        out[i + 1] = x[i + 2] * y[i] - x[i] * y[i + 2]
        out[i + 2] = x[i] * y[i + 1] - x[i + 1] * y[i]


cdef object cross_product(object x, object y):
    """``x × y`` along the last axis, of contiguous plain arrays of one shape."""
    cdef cnp.ndarray a, out
    cdef int axes
    if not is_plain(x) or not has_shape_of(y, <cnp.ndarray>x):
        return None
    a = x
    axes = cnp.PyArray_NDIM(a)
    if axes == 0 or cnp.PyArray_DIM(a, axes - 1) != 3 or not cnp.PyArray_IS_C_CONTIGUOUS(a) \
            or not cnp.PyArray_IS_C_CONTIGUOUS(<cnp.ndarray>y):
        return None
    out = empty(axes, cnp.PyArray_DIMS(a), cnp.PyArray_TYPE(a))
    if cnp.PyArray_TYPE(a) == cnp.NPY_DOUBLE:
        cross_rows[double](<double *>cnp.PyArray_DATA(out), <double *>cnp.PyArray_DATA(a),
                           <double *>cnp.PyArray_DATA(<cnp.ndarray>y), cnp.PyArray_SIZE(a) // 3)
    else:
        cross_rows[float](<float *>cnp.PyArray_DATA(out), <float *>cnp.PyArray_DATA(a),
                          <float *>cnp.PyArray_DATA(<cnp.ndarray>y), cnp.PyArray_SIZE(a) // 3)
    return if_finite(out)


cdef object cross(object x, object y):
    z = cross_product(x, y)
    return np.cross(x, y) if z is None else z


@cython.no_gc
@cython.final
cdef class Cross(Product):
    """⟨z, x × y⟩ = ⟨x, y × z⟩ = ⟨y, z × x⟩."""

    cdef object times(self, object x, object y):
        return cross(x, y)

    cdef int pull(self, Pull walk, object z_bar) except -1:
        if self.a is not None:
            walk.add(self.a, cross(self.y, z_bar), True)
        if self.b is not None:
            walk.add(self.b, cross(z_bar, self.x), True)
        return 0


cdef class FastCross(Handler):
    cdef object call(self, tuple args, dict kwargs):
        cdef Cross node
        cdef Trace trace
        if kwargs or len(args) != 2:
            return NotImplemented
        node = Cross.__new__(Cross)
        trace = node.take_operands(args)
        value = None if trace is None else cross_product(node.x, node.y)
        if value is None:
            return NotImplemented
        return node.keep(trace, value)


# -- y = Re z or Im z ------------------------------------------------------------------------------------

cdef inline void widen(floating *out, const floating *y, bint imaginary, Py_ssize_t n) noexcept nogil:
    """``y``, or ``i y``, as pairs of real and imaginary part."""
    cdef Py_ssize_t i
    if imaginary:
        for i in range(n):
            out[2 * i] = 0
            out[2 * i + 1] = y[i]
    else:
        for i in range(n):
            out[2 * i] = y[i]
            out[2 * i + 1] = 0


@cython.no_gc
@cython.final
cdef class Part(Node):
    cdef bint imaginary
    cdef object dtype

    cdef bint linear(self):
        return True

    cdef bint together(self):
        return True

    cdef int pull(self, Pull walk, object y_bar) except -1:
        cdef cnp.ndarray y, out
        if not is_plain(y_bar) or not cnp.PyArray_IS_C_CONTIGUOUS(<cnp.ndarray>y_bar):
            return walk.add(self.a, (1j * y_bar if self.imaginary else y_bar).astype(self.dtype), True)
        y = y_bar
        if cnp.PyArray_TYPE(y) == cnp.NPY_DOUBLE:
            out = empty(cnp.PyArray_NDIM(y), cnp.PyArray_DIMS(y), cnp.NPY_CDOUBLE)
            widen[double](<double *>cnp.PyArray_DATA(out), <double *>cnp.PyArray_DATA(y), self.imaginary,
                          cnp.PyArray_SIZE(y))
        else:
            out = empty(cnp.PyArray_NDIM(y), cnp.PyArray_DIMS(y), cnp.NPY_CFLOAT)
            widen[float](<float *>cnp.PyArray_DATA(out), <float *>cnp.PyArray_DATA(y), self.imaginary,
                         cnp.PyArray_SIZE(y))
        return walk.add(self.a, out, True)

    cdef object push(self, Push walk):
        z_dot = walk.tangent(self.a)
        if z_dot is None:
            return None
        return np.imag(z_dot) if self.imaginary else np.real(z_dot)


cdef class FastPart(Handler):
    """Of complex arrays."""

    cdef bint imaginary

    def __init__(self, function, bint imaginary):
        self.function = function
        self.imaginary = imaginary

    cdef object call(self, tuple args, dict kwargs):
        cdef Variable z
        cdef Part node
        if kwargs or len(args) != 1 or type(args[0]) is not Variable:
            return NotImplemented
        z = args[0]
        if not cnp.PyArray_CheckExact(z._value) or not cnp.PyArray_ISNOTSWAPPED(<cnp.ndarray>z._value) or (
                cnp.PyArray_TYPE(<cnp.ndarray>z._value) != cnp.NPY_CDOUBLE
                and cnp.PyArray_TYPE(<cnp.ndarray>z._value) != cnp.NPY_CFLOAT):
            return NotImplemented
        node = Part.__new__(Part)
        node.a = z.node
        node.imaginary = self.imaginary
        node.dtype = z._value.dtype
        return record(z.node.trace, node, z._value.imag if self.imaginary else z._value.real)


def use_structure_paths():
    """Give the readable rules of these functions their compiled twins."""
    fast_path(np.reshape, FastReshape(np.reshape))
    fast_path(np.expand_dims, FastExpandDims(np.expand_dims))
    fast_path(np.transpose, FastTranspose(np.transpose))
    fast_path(np.swapaxes, FastMove(np.swapaxes, True))
    fast_path(np.moveaxis, FastMove(np.moveaxis, False))
    fast_path(np.cross, FastCross(np.cross))
    fast_path(np.real, FastPart(np.real, False))
    fast_path(np.imag, FastPart(np.imag, True))
    fast_path(np.diagonal, FastDiagonal(np.diagonal))
    fast_path(np.trace, FastTrace(np.trace))
    fast_path(np.concatenate, FastJoin(np.concatenate, False))
    fast_path(np.stack, FastJoin(np.stack, True))
    on_diagonal.fast = FastOnDiagonal(on_diagonal)
    outer_product.fast = FastOuter(outer_product)
