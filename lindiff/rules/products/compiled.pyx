"""What carries out products' rules on plain arrays: matmul, outer and cross product, diagonals, trace."""

cimport cython
cimport numpy as cnp

import operator

import numpy as np

from lindiff.core.chain cimport chain_product, conjugate, fit_to, plus
from lindiff.core.linear cimport LinearNode
from lindiff.core.operands cimport Binary, by_operator, of_two, trace_of
from lindiff.core.record cimport Node, Pull, Push, Trace
from lindiff.core.registry cimport Entry, EntryOfOne
from lindiff.core.variable cimport Variable, record
from lindiff.kernels.elementwise cimport has_shape_of, if_finite, is_plain
from lindiff.kernels.matmul cimport add_product, complex_matmul, matmul as plain_matmul, stacked_matmul
from lindiff.kernels.memory cimport empty

from lindiff.core.arrays import add_product as add_product_of_foreign
from lindiff.core.registry import add_entry
from lindiff.rules.products.rules import on_diagonal, outer_product

cnp.import_array()

ctypedef fused floating:
    float
    double


# -- z = x @ y -------------------------------------------------------------------------------------------

@cython.no_gc
@cython.final
cdef class Matmul(Binary):
    cdef bint linear(self):
        return self.a is None or self.b is None

    cdef int pull(self, Pull walk, object z_bar) except -1:
        if self.a is not None and not self.pull_small(walk, self.a, z_bar, self.x, self.y, True) \
                and not self.pull_foreign(walk, self.a, z_bar, self.y, False, True):
            x_bar = complex_matmul(z_bar, self.y, False, True) if self.y.ndim == 2 else None
            if x_bar is None:
                x_bar = matmul_pull_x(z_bar, self.x, self.y)
            walk.add(self.a, fit_to(x_bar, self.x.shape, self.x.dtype), True)
        if self.b is not None and not self.pull_small(walk, self.b, z_bar, self.x, self.y, False) \
                and not self.pull_foreign(walk, self.b, self.x, z_bar, True, False):
            y_bar = complex_matmul(self.x, z_bar, True, False) if self.x.ndim == 2 else None
            if y_bar is None:
                y_bar = matmul_pull_y(z_bar, self.x, self.y)
            walk.add(self.b, fit_to(y_bar, self.y.shape, self.y.dtype), True)
        return 0

    cdef bint pull_small(self, Pull walk, Node parent, object z_bar, object x, object y, bint to_x) except -1:
        """The same for small matrices and vectors, added to the cotangent in place; False if not the case."""
        cdef int axes_x, axes_y
        if not is_plain(x) or not is_plain(y) or not is_plain(z_bar) \
                or cnp.PyArray_TYPE(<cnp.ndarray>x) != cnp.PyArray_TYPE(<cnp.ndarray>y):
            return False
        axes_x = cnp.PyArray_NDIM(<cnp.ndarray>x)
        axes_y = cnp.PyArray_NDIM(<cnp.ndarray>y)
        if axes_x == 1 and axes_y == 1:
            walk.add(parent, chain_product(y if to_x else x, z_bar, False), True)
            return True
        total = walk.buffer(parent)
        if axes_x == 2 and axes_y == 2:
            added = add_product(total, z_bar, y, False, True) if to_x \
                else add_product(total, x, z_bar, True, False)
        elif axes_x == 2 and axes_y == 1:  # z is a vector of rows: X_bar = z_bar yᵀ, y_bar = Xᵀ z_bar
            added = add_product(total, z_bar, y, False, True) if to_x else matmul_onto(total, x, z_bar, True)
        elif axes_x == 1 and axes_y == 2:  # x_bar = Y z_bar, Y_bar = x z_barᵀ
            added = matmul_onto(total, y, z_bar, False) if to_x else add_product(total, x, z_bar, False, True)
        else:
            return False
        if added is None:
            return False
        if total is None:
            walk.add(parent, added, True)
        return True

    cdef bint pull_foreign(self, Pull walk, Node parent, object left, object right, bint adjoint_left,
                           bint adjoint_right) except -1:
        """The same for matrices of another library where there is a cotangent to add to; False where not."""
        if cnp.PyArray_Check(left) or cnp.PyArray_Check(right) or self.x.ndim == 1:
            return False
        total = walk.foreign_buffer(parent)
        return total is not None and add_product_of_foreign(total, left, right, adjoint_left, adjoint_right)

    cdef object push(self, Push walk):
        x_dot = walk.tangent(self.a)
        y_dot = walk.tangent(self.b)
        z_dot = None
        if x_dot is not None:
            z_dot = times(x_dot, self.y)
        if y_dot is not None:
            term = times(self.x, y_dot)
            z_dot = term if z_dot is None else plus(z_dot, term)
        return z_dot


cdef object matmul_onto(object total, object matrix, object vector, bint transpose):
    """``total += op(matrix) vector``; with ``total`` None a new vector."""
    if total is None:
        return plain_matmul(matrix.T if transpose else matrix, vector)
    return add_product(total, matrix, vector, transpose, False)


cdef inline object times(object x, object y):
    out = plain_matmul(x, y)
    if out is None:
        out = complex_matmul(x, y, False, False)
    if out is None:
        out = stacked_matmul(x, y, False, False)
    out = if_finite(out)
    return by_operator(operator.matmul, x, y) if out is None else out


cdef object matmul_pull_x(object z_bar, object x, object y):
    """``X_bar = Z_bar Yᴴ`` with NumPy's rule for vectors; a batch is summed by the caller."""
    if x.ndim == 1 and y.ndim == 1:
        return z_bar * conjugate(y)
    if y.ndim == 1:
        return z_bar[..., None] * conjugate(y)
    if x.ndim == 1:
        return (conjugate(y) @ z_bar[..., None])[..., 0]
    x_bar = stacked_matmul(z_bar, y, False, True)
    return z_bar @ conjugate(np.swapaxes(y, -1, -2)) if x_bar is None else x_bar


cdef object matmul_pull_y(object z_bar, object x, object y):
    """``Y_bar = Xᴴ Z_bar`` with NumPy's rule for vectors; a batch is summed by the caller."""
    if x.ndim == 1 and y.ndim == 1:
        return z_bar * conjugate(x)
    if x.ndim == 1:
        return conjugate(x)[:, None] * z_bar[..., None, :]
    if y.ndim == 1:
        return (conjugate(np.swapaxes(x, -1, -2)) @ z_bar[..., None])[..., 0]
    y_bar = stacked_matmul(x, z_bar, True, False)
    return conjugate(np.swapaxes(x, -1, -2)) @ z_bar if y_bar is None else y_bar


cdef object product(object x, object y):
    """``x @ y``, one of which is a Variable."""
    cdef Matmul node = Matmul.__new__(Matmul)
    cdef Trace trace = trace_of(x, y)
    x = node.left(x, trace)
    y = node.right(y, trace)
    return node.keep(trace, x, y, times(x, y))


cdef class MatmulEntry(Entry):
    cdef object call(self, tuple args, dict kwargs):
        if kwargs or not of_two(args):
            return NotImplemented
        return product(args[0], args[1])


# -- products of two arrays -------------------------------------------------------------------------------

@cython.no_gc
cdef class ProductOfTwo(Binary):
    """Linear in x and in y alone."""

    cdef object times(self, object x, object y):
        raise NotImplementedError

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
cdef class Outer(ProductOfTwo):
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
        x_bar = plain_matmul(Z_bar, other)
        return walk.add(parent, Z_bar @ other if x_bar is None else x_bar, True)


cdef inline bint is_operand(object x):
    return type(x) is Variable or is_plain(x)


cdef class ProductOfTwoEntry(Entry):
    """For plain arrays, where the product is what ``value`` finds."""

    cdef ProductOfTwo new_node(self):
        raise NotImplementedError

    cdef object value(self, object x, object y):
        """The product; None where it is not the kernels' case."""
        raise NotImplementedError

    cdef object call(self, tuple args, dict kwargs):
        cdef ProductOfTwo node
        cdef Trace trace
        if kwargs or not of_two(args) or not is_operand(args[0]) or not is_operand(args[1]):
            return NotImplemented
        node = self.new_node()
        trace = trace_of(args[0], args[1])
        x = node.left(args[0], trace)
        y = node.right(args[1], trace)
        value = self.value(x, y)
        return NotImplemented if value is None else node.keep(trace, x, y, value)


cdef class OuterEntry(ProductOfTwoEntry):
    """For small plain vectors of one dtype."""

    cdef ProductOfTwo new_node(self):
        return Outer.__new__(Outer)

    cdef object value(self, object x, object y):
        if not is_plain(x) or not is_plain(y) or cnp.PyArray_NDIM(<cnp.ndarray>x) != 1 \
                or cnp.PyArray_NDIM(<cnp.ndarray>y) != 1:
            return None
        return if_finite(add_product(None, x, y, False, True))


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
cdef class Cross(ProductOfTwo):
    """⟨z, x × y⟩ = ⟨x, y × z⟩ = ⟨y, z × x⟩."""

    cdef object times(self, object x, object y):
        return cross(x, y)

    cdef int pull(self, Pull walk, object z_bar) except -1:
        if self.a is not None:
            walk.add(self.a, cross(self.y, z_bar), True)
        if self.b is not None:
            walk.add(self.b, cross(z_bar, self.x), True)
        return 0


cdef class CrossEntry(ProductOfTwoEntry):
    cdef ProductOfTwo new_node(self):
        return Cross.__new__(Cross)

    cdef object value(self, object x, object y):
        return cross_product(x, y)


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
cdef class OfMatrix(LinearNode):
    """An operation on a diagonal of the plain matrix ``x``: its shape, type number, and which diagonal."""

    cdef cnp.npy_intp shape[2]
    cdef int kind
    cdef Py_ssize_t offset

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
    cdef int pull(self, Pull walk, object y_bar) except -1:
        if not self.add_on_diagonal(walk, y_bar):
            walk.add(self.a, on_diagonal(y_bar, (self.shape[0], self.shape[1]), self.offset, 0, 1), True)
        return 0

    cdef object image(self, object x):
        return np.diagonal(x, self.offset)


@cython.no_gc
@cython.final
cdef class SumOfDiagonal(OfMatrix):
    cdef int pull(self, Pull walk, object y_bar) except -1:
        if not self.add_on_diagonal(walk, y_bar):
            row = max(0, -self.offset)
            column = max(0, self.offset)
            length = max(0, min(self.shape[0] - row, self.shape[1] - column))
            y_bar = np.broadcast_to(y_bar, (length,))
            walk.add(self.a, on_diagonal(y_bar, (self.shape[0], self.shape[1]), self.offset, 0, 1), True)
        return 0

    cdef object image(self, object x):
        return np.trace(x, self.offset)


@cython.no_gc
@cython.final
cdef class OnDiagonal(LinearNode):
    cdef tuple shape
    cdef Py_ssize_t offset

    cdef object image(self, object x):
        return on_diagonal(x, self.shape, self.offset, 0, 1)

    cdef object adjoint(self, object y_bar):
        if cnp.PyArray_CheckExact(y_bar):
            return cnp.PyArray_Diagonal(<cnp.ndarray>y_bar, <int>self.offset, 0, 1)
        return np.diagonal(y_bar, self.offset)

    cdef bint owns(self, Pull walk, object x_bar) except -1:
        return False  # a view of the cotangent, read-only


cdef inline bint is_matrix(object x):
    return is_plain(x) and cnp.PyArray_NDIM(<cnp.ndarray>x) == 2


cdef class DiagonalEntry(EntryOfOne):
    cdef object recorded(self, Variable x, tuple options):
        cdef Diagonal node
        offset = options[0]
        if not is_matrix(x._value) or type(offset) is not int:
            return NotImplemented
        node = Diagonal.__new__(Diagonal)
        node.note(x, offset)
        return record(x.node.trace, node, cnp.PyArray_Diagonal(<cnp.ndarray>x._value, <int>node.offset, 0, 1))


cdef class TraceEntry(EntryOfOne):
    cdef object recorded(self, Variable x, tuple options):
        cdef SumOfDiagonal node
        offset = options[0]
        if not is_matrix(x._value) or type(offset) is not int:
            return NotImplemented
        value = if_finite(sum_of_diagonal(x._value, offset))
        if value is None:
            return NotImplemented
        node = SumOfDiagonal.__new__(SumOfDiagonal)
        node.note(x, offset)
        return record(x.node.trace, node, value)


cdef class OnDiagonalEntry(EntryOfOne):
    """The matrix with a plain vector on a diagonal."""

    cdef object recorded(self, Variable y, tuple options):
        cdef OnDiagonal node
        cdef cnp.npy_intp dims[2]
        cdef cnp.ndarray x
        shape, offset, first, second = options
        if first != 0 or second != 1 or not is_plain(y._value) \
                or cnp.PyArray_NDIM(<cnp.ndarray>y._value) != 1:
            return NotImplemented
        node = OnDiagonal.__new__(OnDiagonal)
        node.a = y.node
        node.shape = shape
        node.offset = offset
        dims[0], dims[1] = shape
        x = cnp.PyArray_ZEROS(2, dims, cnp.PyArray_TYPE(<cnp.ndarray>y._value), 0)
        add_to_diagonal(x, y._value, node.offset)
        return record(y.node.trace, node, x)


for function, entry in [
    (np.matmul, MatmulEntry(np.matmul)), (np.cross, CrossEntry(np.cross)),
    (np.diagonal, DiagonalEntry(np.diagonal, offset=0)), (np.trace, TraceEntry(np.trace, offset=0)),
]:
    add_entry(function, entry)
on_diagonal.entry = OnDiagonalEntry(on_diagonal, 4, shape=None, offset=0, axis1=0, axis2=1)
outer_product.entry = OuterEntry(outer_product)
