"""Compiled rules of the hottest operations: arithmetic, matmul, transpose, indexing.

Each class is a differential: what it keeps, its pullback, its pushforward, each formula once in operators
that dispatch.  Small plain arrays take the kernels instead.  ``HotOperators`` is what a Variable's operators
do.
"""

cimport cython
cimport numpy as cnp
from cpython.object cimport PyObject
from cpython.ref cimport Py_REFCNT

import operator

import numpy as np

from libc.math cimport isfinite
from libc.string cimport memcpy, memset

from lindiff.core.differential cimport all_finite, chain_product, fit_to
from lindiff.core.record cimport Node, Pull, Push, Tangent, Trace, is_whole
from lindiff.core.registry cimport Handler, handle, is_any_seen_otherwise
from lindiff.core.variable cimport (
    Operators, Variable, View, array_in, as_value, constant_value, copies_parts, in_own_memory, innermost,
    is_shell, is_table, kept_by, record, shares, value_of, watch, without_shells,
)
from lindiff.kernels.elementwise cimport (
    ADD, COS, DIVIDE, EXP, EXPM1, LOG, LOG1P, MULTIPLY, NEGATIVE, RECIPROCAL, SIN, SQRT, SQUARE, SUBTRACT,
    TANH, BinaryOp, UnaryOp, add_into, binary, if_finite, is_plain, unary,
)
from lindiff.kernels.loops cimport Loop, apply, common_kind, find_loop, kind_of
from lindiff.kernels.matmul cimport (
    add_product, complex_matmul, matmul as plain_matmul, stacked_matmul, sum_of_products,
)
from lindiff.rules.structure cimport is_reshape, record_reshape

from lindiff.core.arrays import add_at, by_kernel, explain_mixture, placed, zeros_beside
from lindiff.core.arrays import add_product as add_product_of_foreign
from lindiff.core.directions import Directions, index_within
from lindiff.core.registry import fast_path
from lindiff.core.variable import refuse_subclass, use_methods, use_operators
from lindiff.rules._common import as_array
from lindiff.rules.indexing import has_repeats, is_advanced, last_written, replaced, scatter
from lindiff.rules.methods import METHODS, attribute
from lindiff.rules.ufuncs import operate, place_of_out, with_out

cnp.import_array()


# -- what all of them share ------------------------------------------------------------------------------

cdef inline object constant_operand(object x):
    """A constant as arithmetic takes it; object arrays, and arrays that multiply otherwise, are refused."""
    x = constant_value(x)
    if is_table(x):
        x = constant_value(array_in(x))
        if type(x) is Variable:
            raise TypeError("an operand holds Variables: write lnp.asarray(x), of lindiff.numpy as lnp")
    if isinstance(x, (list, tuple)):
        x = np.asarray(x)
    if not cnp.PyArray_Check(x):
        return x
    if cnp.PyArray_TYPE(<cnp.ndarray>x) == cnp.NPY_OBJECT:
        raise TypeError(
            "an object array has no derivative; write np.stack([...]) or np.array(x, dtype=float)")
    if not cnp.PyArray_CheckExact(x):
        refuse_subclass(x, "an operand")
    return x


cdef Trace trace_of(object x, object y):
    """The innermost trace of two operands."""
    if is_shell(x) or is_shell(y):
        return innermost((x, y), None)
    if type(x) is Variable:
        if type(y) is Variable and (<Variable>y).node.trace.level > (<Variable>x).node.trace.level:
            return (<Variable>y).node.trace
        return (<Variable>x).node.trace
    return (<Variable>y).node.trace


cdef inline bint alike(object x, object value):
    """Whether an input has the shape and dtype of the result."""
    cdef int kind = kind_of(x)
    if kind >= 0 and kind_of(value) >= 0:
        return cnp.PyArray_TYPE(<cnp.ndarray>value) == kind \
            and cnp.PyArray_SAMESHAPE(<cnp.ndarray>x, <cnp.ndarray>value)
    return x.shape == value.shape and x.dtype == value.dtype


@cython.no_gc
cdef class Binary(Node):
    """An operation on two operands ``x`` and ``y``; ``fit_x``, ``fit_y`` hold shape and dtype of an active
    operand that differs from the result in them."""

    cdef object left(self, object x, Trace trace):
        """The first operand seen from outside ``trace``."""
        if type(x) is Variable and (<Variable>x).node.trace is trace:
            self.a = (<Variable>x).node
            return (<Variable>x)._value
        return self.left(without_shells(x), trace) if is_shell(x) else constant_operand(x)

    cdef object right(self, object y, Trace trace):
        if type(y) is Variable and (<Variable>y).node.trace is trace:
            self.b = (<Variable>y).node
            return (<Variable>y)._value
        return self.right(without_shells(y), trace) if is_shell(y) else constant_operand(y)

    cdef bint together(self):
        return True

    cdef object finish(self, Trace trace, object x, object y, object value):
        """Note what broadcasting did, and record."""
        cdef bint differs = False
        if not cnp.PyArray_CheckExact(value) and type(value) is not Variable and not hasattr(value, "shape"):
            value = np.asarray(value)
        if self.a is not None and not alike(x, value):
            self.fit_x = (x.shape, x.dtype)
            differs = True
        if self.b is not None and not alike(y, value):
            self.fit_y = (y.shape, y.dtype)
            differs = True
        if differs:
            self.fit_result = (value.shape, value.dtype)
        return record(trace, self, value)

    cdef int add_a(self, Pull walk, object x_bar, bint own) except -1:
        if self.fit_x is not None:
            x_bar = fit_to(x_bar, self.fit_x[0], self.fit_x[1])
            own = False
        return walk.add(self.a, x_bar, own)

    cdef int add_b(self, Pull walk, object y_bar, bint own) except -1:
        if self.fit_y is not None:
            y_bar = fit_to(y_bar, self.fit_y[0], self.fit_y[1])
            own = False
        return walk.add(self.b, y_bar, own)

    cdef object fitted(self, object z_dot):
        """A tangent in the shape and dtype of the result."""
        if self.fit_result is None or z_dot is None:
            return z_dot
        return fit_to(z_dot, self.fit_result[0], self.fit_result[1])


cdef object conjugate(object x):
    if is_plain(x) or isinstance(x, (float, int)):
        return x
    cdef int kind = kind_of(x)
    if kind >= 0:
        out = apply(&complex_conjugates[kind == cnp.NPY_CFLOAT], 1, x, None)
        if out is not None:
            return out
    if isinstance(x, complex):
        return x.conjugate()
    return np.conjugate(x) if x.dtype.kind == "c" else x


# The loops of NumPy's arithmetic on complex numbers of two precisions, by operation.
cdef Loop[2][4] complex_loops
cdef Loop[2] complex_conjugates


cdef int find_complex_loops(int k, int kind) except -1:
    find_loop(np.conjugate, kind, &complex_conjugates[k])
    find_loop(np.add, kind, &complex_loops[k][<int>ADD])
    find_loop(np.subtract, kind, &complex_loops[k][<int>SUBTRACT])
    find_loop(np.multiply, kind, &complex_loops[k][<int>MULTIPLY])
    find_loop(np.divide, kind, &complex_loops[k][<int>DIVIDE])
    return 0


find_complex_loops(0, cnp.NPY_CDOUBLE)
find_complex_loops(1, cnp.NPY_CFLOAT)


cdef object combined(BinaryOp op, object x, object y):
    """``x op y`` for few real or complex numbers; None where that is not the case."""
    cdef int kind
    out = binary(op, x, y)
    if out is not None:
        return out
    kind = common_kind(x, y)
    if kind == cnp.NPY_CDOUBLE or kind == cnp.NPY_CFLOAT:
        return apply(&complex_loops[kind == cnp.NPY_CFLOAT][<int>op], 2, x, y)
    return None


cdef object by_operator(object operation, object x, object y):
    """``operation(x, y)``, with an error that says so where arrays of two libraries meet."""
    try:
        return operation(x, y)
    except (TypeError, ValueError) as error:
        explain_mixture((x, y), error)
        raise


cdef object plus(object x, object y):
    out = combined(ADD, x, y)
    if out is not None:
        return out
    if type(x) is Directions and type(y) is Directions and x.ndim == y.ndim:
        return Directions(plus(x.array, y.array))
    return x + y


cdef inline object negated(object x):
    out = unary(NEGATIVE, x, False)
    return -x if out is None else out[0]


# -- z = x + y, z = x - y --------------------------------------------------------------------------------

@cython.no_gc
@cython.final
cdef class Add(Binary):
    cdef bint linear(self):
        return True

    cdef int pull(self, Pull walk, object z_bar) except -1:
        if self.a is not None:
            self.add_a(walk, z_bar, walk.overwrite)
        if self.b is not None:
            self.add_b(walk, z_bar, walk.overwrite)
        return 0

    cdef object push(self, Push walk):
        x_dot = walk.tangent(self.a)
        y_dot = walk.tangent(self.b)
        if x_dot is None or y_dot is None:
            return self.fitted(y_dot if x_dot is None else x_dot)
        return self.fitted(plus(x_dot, y_dot))


@cython.no_gc
@cython.final
cdef class Subtract(Binary):
    cdef bint linear(self):
        return True

    cdef int pull(self, Pull walk, object z_bar) except -1:
        if self.b is not None:
            self.add_b(walk, negated(z_bar), True)
        if self.a is not None:
            self.add_a(walk, z_bar, walk.overwrite)
        return 0

    cdef object push(self, Push walk):
        x_dot = walk.tangent(self.a)
        y_dot = walk.tangent(self.b)
        if y_dot is None:
            return self.fitted(x_dot)
        if x_dot is None:
            return self.fitted(negated(y_dot))
        return self.fitted(x_dot - y_dot)


# -- z = x * y -------------------------------------------------------------------------------------------

@cython.no_gc
@cython.final
cdef class Multiply(Binary):
    cdef bint linear(self):
        return self.a is None or self.b is None

    cdef int pull(self, Pull walk, object z_bar) except -1:
        cdef bint overwrite = walk.overwrite
        if self.a is self.b and self.fit_result is None:  # x * x: twice the same, in the memory of one
            x_bar = chain_product(z_bar, self.y, overwrite, True)
            return walk.add(self.a, chain_product(x_bar, 2.0, True), True)
        if self.a is not None and not self.pull_number(walk, self.a, self.fit_x, z_bar, self.y):
            self.add_a(walk, chain_product(z_bar, self.y, overwrite and self.b is None, True), True)
        if self.b is not None and not self.pull_number(walk, self.b, self.fit_y, z_bar, self.x):
            self.add_b(walk, chain_product(z_bar, self.x, overwrite, True), True)
        return 0

    cdef bint pull_number(self, Pull walk, Node parent, tuple fit, object z_bar, object other) except -1:
        """For a number times an array the sum of products is one dot product; False if not the case."""
        if fit is None or fit[0] != ():
            return False
        total = sum_of_products(z_bar, other)
        if total is None or not isfinite(total):
            return False
        walk.add(parent, np.asarray(total, fit[1]), True)
        return True

    cdef object push(self, Push walk):
        x_dot = walk.tangent(self.a)
        y_dot = walk.tangent(self.b)
        z_dot = None
        if x_dot is not None:
            z_dot = chain_product(x_dot, self.y, False)
        if y_dot is not None:
            term = chain_product(y_dot, self.x, False)
            z_dot = term if z_dot is None else plus(z_dot, term)
        return self.fitted(z_dot)


cdef object quotient(object g, object y):
    """``g / y`` with 0 / 0 = 0."""
    out = combined(DIVIDE, g, y)
    if out is not None:
        return out
    if not cnp.PyArray_Check(g):
        out = by_kernel("quotient", g, y)
        if out is not None:
            return out
    with np.errstate(all="ignore"):
        out = np.divide(g, y)
    return out if all_finite(out) else np.where(np.isnan(out) & np.equal(g, 0), 0.0, out)


# -- z = x / y: dz = dx / y - z dy / y -------------------------------------------------------------------

@cython.no_gc
@cython.final
cdef class Divide(Binary):
    cdef object z

    cdef bint linear(self):
        return self.b is None

    cdef object partial_y(self):
        cdef object quotient = combined(DIVIDE, self.z, self.y)
        if quotient is None:
            with np.errstate(all="ignore"):
                quotient = self.z / self.y
        return negated(quotient)

    cdef int pull(self, Pull walk, object z_bar) except -1:
        if self.a is not None:
            self.add_a(walk, quotient(z_bar, conjugate(self.y)), True)
        if self.b is not None:
            self.add_b(walk, chain_product(z_bar, self.partial_y(), False, True), True)
        return 0

    cdef object push(self, Push walk):
        x_dot = walk.tangent(self.a)
        y_dot = walk.tangent(self.b)
        z_dot = None
        if x_dot is not None:
            z_dot = quotient(x_dot, self.y)
        if y_dot is not None:
            term = chain_product(y_dot, self.partial_y(), False)
            z_dot = term if z_dot is None else plus(z_dot, term)
        return self.fitted(z_dot)


# -- y = f(x) elementwise: value and partial from one loop -----------------------------------------------

@cython.no_gc
@cython.final
cdef class Unary(Node):
    cdef object partial
    cdef bint is_linear

    cdef bint linear(self):
        return self.is_linear

    cdef bint together(self):
        return True

    cdef int pull(self, Pull walk, object y_bar) except -1:
        walk.add(self.a, chain_product(y_bar, self.partial, walk.overwrite), True)
        return 0

    cdef object push(self, Push walk):
        x_dot = walk.tangent(self.a)
        return None if x_dot is None else chain_product(x_dot, self.partial, False)


cdef class FastUnary(Handler):
    """The compiled twin of an elementwise rule, for small plain arrays; the general one takes the others."""

    cdef UnaryOp op

    def __init__(self, function, int op):
        self.function = function
        self.op = <UnaryOp>op

    cdef object call(self, tuple args, dict kwargs):
        cdef Variable x
        cdef Unary node
        if kwargs or len(args) != 1 or type(args[0]) is not Variable:
            return NotImplemented
        x = args[0]
        both = unary(self.op, x._value, True)
        if both is None:
            return self.fast.call(args, kwargs)
        node = Unary.__new__(Unary)
        node.a = x.node
        node.partial = (<tuple>both)[1]
        return record(x.node.trace, node, (<tuple>both)[0])


@cython.no_gc
@cython.final
cdef class Negative(Node):
    cdef bint linear(self):
        return True

    cdef bint together(self):
        return True

    cdef int pull(self, Pull walk, object y_bar) except -1:
        walk.add(self.a, negated(y_bar), True)
        return 0

    cdef object push(self, Push walk):
        x_dot = walk.tangent(self.a)
        return None if x_dot is None else negated(x_dot)


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


def matmul_pull_x(z_bar, x, y):
    """``X_bar = Z_bar Yᴴ`` with NumPy's rule for vectors; a batch is summed by the caller."""
    if x.ndim == 1 and y.ndim == 1:
        return z_bar * conjugate(y)
    if y.ndim == 1:
        return z_bar[..., None] * conjugate(y)
    if x.ndim == 1:
        return (conjugate(y) @ z_bar[..., None])[..., 0]
    x_bar = stacked_matmul(z_bar, y, False, True)
    return z_bar @ conjugate(np.swapaxes(y, -1, -2)) if x_bar is None else x_bar


def matmul_pull_y(z_bar, x, y):
    """``Y_bar = Xᴴ Z_bar`` with NumPy's rule for vectors; a batch is summed by the caller."""
    if x.ndim == 1 and y.ndim == 1:
        return z_bar * conjugate(x)
    if x.ndim == 1:
        return conjugate(x)[:, None] * z_bar[..., None, :]
    if y.ndim == 1:
        return (conjugate(np.swapaxes(x, -1, -2)) @ z_bar[..., None])[..., 0]
    y_bar = stacked_matmul(x, z_bar, True, False)
    return conjugate(np.swapaxes(x, -1, -2)) @ z_bar if y_bar is None else y_bar


# -- y = xᵀ ----------------------------------------------------------------------------------------------

@cython.no_gc
@cython.final
cdef class Transpose(Node):
    cdef bint linear(self):
        return True

    cdef bint together(self):
        return True

    cdef int pull(self, Pull walk, object y_bar) except -1:
        walk.add(self.a, y_bar.T, walk.overwrite)
        return 0

    cdef object push(self, Push walk):
        x_dot = walk.tangent(self.a)
        return None if x_dot is None else x_dot.T


# -- y = x[index] ----------------------------------------------------------------------------------------

cdef inline char *element(cnp.ndarray x, object index) noexcept:
    """Where ``x[index]`` lies, for a vector and an integer; NULL otherwise."""
    cdef Py_ssize_t i
    if type(index) is not int or cnp.PyArray_NDIM(x) != 1:
        return NULL
    i = index
    if i < 0:
        i += cnp.PyArray_DIM(x, 0)
    if not 0 <= i < cnp.PyArray_DIM(x, 0):
        return NULL
    return <char *>cnp.PyArray_DATA(x) + i * cnp.PyArray_STRIDE(x, 0)


cdef inline bint add_to_element(cnp.ndarray x, object index, object y) noexcept:
    """``x[index] += y`` where ``y`` is one plain number of the dtype of ``x``; False where not."""
    cdef char *at = element(x, index)
    cdef int kind = cnp.PyArray_TYPE(x)
    if at == NULL or not is_plain(y) or not is_plain(x) or cnp.PyArray_TYPE(<cnp.ndarray>y) != kind:
        return False
    if kind == cnp.NPY_DOUBLE:
        (<double *>at)[0] += (<double *>cnp.PyArray_DATA(<cnp.ndarray>y))[0]
    else:
        (<float *>at)[0] += (<float *>cnp.PyArray_DATA(<cnp.ndarray>y))[0]
    return True


cdef object zeros(tuple shape, cnp.dtype dtype):
    cdef cnp.npy_intp dims[64]
    cdef int k, axes = len(shape)
    if axes > 64 or not dtype.isnative:
        return np.zeros(shape, dtype)
    for k in range(axes):
        dims[k] = shape[k]
    return cnp.PyArray_ZEROS(axes, dims, dtype.type_num, 0)


cdef bint is_basic(object index):
    """Whether an index has nothing but integers, slices, ``None`` and ``...``: one look for most."""
    if type(index) is tuple:
        for part in <tuple>index:
            if not is_basic_part(part):
                return False
        return True
    return is_basic_part(index)


cdef inline bint is_basic_part(object part):
    return type(part) is int or type(part) is slice or part is None or part is Ellipsis


@cython.no_gc
@cython.final
cdef class GetItem(Node):
    cdef object index
    cdef tuple shape
    cdef object dtype

    cdef bint linear(self):
        return True

    cdef bint together(self):
        return True

    cdef int pull(self, Pull walk, object y_bar) except -1:
        """Add into the cotangent's own memory: a loop over n elements costs n, not n²."""
        if type(y_bar) is Directions:
            return self.pull_directions(walk, y_bar)
        y_bar = as_value(y_bar)
        if not cnp.PyArray_CheckExact(y_bar):
            return self.pull_foreign(walk, y_bar)
        x_bar = walk.buffer(self.a)
        if x_bar is None:
            if walk.foreign_buffer(self.a) is not None:  # a Variable there already
                return self.pull_foreign(walk, y_bar)
            walk.add(self.a, zeros(self.shape, self.dtype), True)
            x_bar = walk.buffer(self.a)
            if x_bar is None:
                walk.add(self.a, scatter(y_bar, self.index, self.shape, self.dtype), True)
                return 0
        if add_to_element(x_bar, self.index, y_bar):
            return 0
        if not is_basic(self.index) and is_advanced(self.index):
            add_at(x_bar, self.index, y_bar)
            return 0
        part = x_bar[self.index]
        if not cnp.PyArray_CheckExact(part) \
                or not (part.base is x_bar or part.base is x_bar.base is not None):
            # a single element, or a copy: x[np.array(1)], x[True]
            x_bar[self.index] = part + y_bar
        elif not add_into(part, y_bar):
            np.add(part, y_bar, out=part)
        return 0

    cdef int pull_foreign(self, Pull walk, object y_bar) except -1:
        """The same for arrays of other libraries and Variables."""
        x_bar = walk.foreign_buffer(self.a)
        if x_bar is None or type(y_bar) is Variable and type(x_bar) is not Variable:
            return walk.add(self.a, scatter(y_bar, self.index, self.shape, self.dtype), True)
        if not is_basic(self.index) and is_advanced(self.index):
            add_at(x_bar, self.index, y_bar)
        elif type(x_bar) is Variable:
            x_bar[self.index] = x_bar[self.index] + y_bar
        else:
            part = x_bar[self.index]
            part += y_bar
        return 0

    cdef int pull_directions(self, Pull walk, object y_bar) except -1:
        """The same for many: the index behind their axis."""
        cdef tuple shape = (y_bar.count, *self.shape)
        cdef object index = index_within(self.index)
        if index is None or not cnp.PyArray_CheckExact(y_bar.array):
            return walk.add(self.a, scatter(y_bar, self.index, self.shape, self.dtype), True)
        x_bar = walk.directions_buffer(self.a)
        if x_bar is None:
            walk.add(self.a, Directions(np.zeros(shape, self.dtype)), True)
            x_bar = walk.directions_buffer(self.a)
            if x_bar is None:  # Variables there already
                return walk.add(self.a, scatter(y_bar, self.index, self.shape, self.dtype), True)
        if not is_basic(index) and is_advanced(index):
            add_at(x_bar, index, y_bar.array)
        else:
            x_bar[index] += y_bar.array
        return 0

    cdef object push(self, Push walk):
        x_dot = walk.tangent(self.a)
        return None if x_dot is None else x_dot[self.index]


# -- x[index] = y ----------------------------------------------------------------------------------------

@cython.no_gc
@cython.final
cdef class SetItem(Node):
    """The array ``a`` with ``b`` written at ``index``."""

    cdef object index
    cdef tuple shape
    cdef object dtype
    cdef tuple y_shape
    cdef object y_dtype

    cdef bint linear(self):
        return True

    cdef int pull(self, Pull walk, object y_bar) except -1:
        """What was written takes its places of the cotangent, what was there before gets the others."""
        cdef bint overwrite = walk.overwrite and (
            cnp.PyArray_ISWRITEABLE(<cnp.ndarray>y_bar) if is_plain(y_bar) else is_whole(y_bar))
        if overwrite and cnp.PyArray_CheckExact(y_bar) and self.pull_element(walk, y_bar):
            return 0
        if self.b is not None:
            part = y_bar[self.index]
            if overwrite and (type(part) is Variable or not isinstance(part, np.generic)):
                part = part.copy()
            if not is_basic(self.index) and has_repeats(self.index):
                part = np.where(placed(last_written(self.index, self.shape), part), part, 0)
            walk.add(self.b, fit_to(part, self.y_shape, self.y_dtype), overwrite)
        if self.a is None:
            return 0
        if not overwrite:
            return walk.add(self.a, replaced(y_bar, self.index, 0), is_plain(y_bar))
        y_bar[self.index] = 0
        return walk.add(self.a, y_bar, True)

    cdef bint pull_element(self, Pull walk, object y_bar) except -1:
        """The same for one element of a vector that may be written to; False where it is not the case."""
        cdef char *at = element(y_bar, self.index)
        cdef int kind = cnp.PyArray_TYPE(<cnp.ndarray>y_bar)
        cdef cnp.ndarray part
        if at == NULL:
            return False
        if self.b is not None:
            if self.y_shape or self.y_dtype.num != kind:
                return False
            part = cnp.PyArray_EMPTY(0, NULL, kind, 0)
            memcpy(cnp.PyArray_DATA(part), at, cnp.PyArray_ITEMSIZE(part))
            walk.add(self.b, part, True)
        if self.a is not None:
            memset(at, 0, cnp.PyArray_ITEMSIZE(<cnp.ndarray>y_bar))
            walk.add(self.a, y_bar, True)
        return True

    cdef object push(self, Push walk):
        cdef bint writable
        x_dot = walk.tangent(self.a)
        y_dot = walk.tangent(self.b)
        if x_dot is None and y_dot is None:
            return None
        if y_dot is None:
            y_dot = 0
        if x_dot is None:
            x_dot = zeros_beside(y_dot, self.shape, self.dtype)
            writable = True
        else:
            writable = self.is_alone(walk, x_dot)
        if not writable or type(y_dot) is Variable:
            return replaced(x_dot, self.index, y_dot)
        x_dot[self.index] = y_dot
        return x_dot

    cdef bint is_alone(self, Push walk, object x_dot) except -1:
        """Whether this tangent serves nothing but the array that is written to.

        A forward trace holds it for that Variable, a walk for this node: one reference, and ours.
        """
        if type(self.a) is Tangent:
            if (<PyObject *>self.a).ob_refcnt != 2:
                return False
        elif not walk.uses_last(self.a):
            return False
        return Py_REFCNT(x_dot) == 2 and owns_its_memory(x_dot)


cdef bint owns_its_memory(object x):
    """Whether an array may be written to where nobody else holds it."""
    if cnp.PyArray_CheckExact(x):
        return cnp.PyArray_CHKFLAGS(<cnp.ndarray>x, cnp.NPY_ARRAY_OWNDATA | cnp.NPY_ARRAY_WRITEABLE)
    return is_whole(x)


cdef bint is_sole(Variable x):
    """Whether nobody but ``x`` holds its plain array: no operation has kept it, there is no view of it."""
    return (<PyObject *>x._value).ob_refcnt == 1 and owns_its_memory(x._value)


cdef int store(object value, object index, object y) except -1:
    """``value[index] = y``, with an error that says so where arrays of two libraries meet."""
    try:
        value[index] = y
    except (TypeError, ValueError) as error:
        explain_mixture((value, y), error)
        raise
    return 0


cdef object with_item(Variable x, object index, object y):
    """The plain array of ``x`` with the plain ``y`` at ``index``; in place where only ``x`` sees it."""
    if not (x.lent or is_sole(x)):
        value = in_own_memory(x._value)
        store(value, index, y)
        return value
    store(x._value, index, y)
    return x._value


# -- what a Variable's operators do ----------------------------------------------------------------------

cdef bint of_two(tuple args):
    """Whether these are two operands, one of them a Variable (with ``out=`` one, both may be plain)."""
    return len(args) == 2 and (type(args[0]) is Variable or type(args[1]) is Variable)


cdef class BinaryUfunc(Handler):
    """np.add and its kin, called by name."""

    cdef int op

    def __init__(self, function, int op):
        self.function = function
        self.op = op

    cdef object call(self, tuple args, dict kwargs):
        if kwargs or not of_two(args):
            return NotImplemented
        if self.op == ADD:
            return _hot.add(args[0], args[1])
        if self.op == SUBTRACT:
            return _hot.subtract(args[0], args[1])
        if self.op == MULTIPLY:
            return _hot.multiply(args[0], args[1])
        return _hot.divide(args[0], args[1])


cdef class MatmulUfunc(Handler):
    cdef object call(self, tuple args, dict kwargs):
        if kwargs or not of_two(args):
            return NotImplemented
        return _hot.matmul(args[0], args[1])


cdef class NegativeUfunc(Handler):
    cdef object call(self, tuple args, dict kwargs):
        return NotImplemented if kwargs or type(args[0]) is not Variable else _hot.negative(args[0])


cdef object kept_index(object index, Node node, Trace trace):
    if type(index) is tuple:
        return tuple([kept_by(part, node, trace) for part in index])
    return kept_by(index, node, trace)


cdef class HotOperators(Operators):
    cdef object add(self, object x, object y):
        cdef Add node = Add.__new__(Add)
        cdef Trace trace = trace_of(x, y)
        x = node.left(x, trace)
        y = node.right(y, trace)
        value = combined(ADD, x, y)
        return node.finish(trace, x, y, by_operator(operator.add, x, y) if value is None else value)

    cdef object subtract(self, object x, object y):
        cdef Subtract node = Subtract.__new__(Subtract)
        cdef Trace trace = trace_of(x, y)
        x = node.left(x, trace)
        y = node.right(y, trace)
        value = combined(SUBTRACT, x, y)
        return node.finish(trace, x, y, by_operator(operator.sub, x, y) if value is None else value)

    cdef object multiply(self, object x, object y):
        cdef Multiply node = Multiply.__new__(Multiply)
        cdef Trace trace = trace_of(x, y)
        x = node.left(x, trace)
        y = node.right(y, trace)
        value = combined(MULTIPLY, x, y)
        if node.a is not None:
            node.y = y if node.b is not None else kept_by(y, node, trace)
        if node.b is not None:
            node.x = x if node.a is not None else kept_by(x, node, trace)
        return node.finish(trace, x, y, by_operator(operator.mul, x, y) if value is None else value)

    cdef object divide(self, object x, object y):
        cdef Divide node = Divide.__new__(Divide)
        cdef Trace trace = trace_of(x, y)
        x = node.left(x, trace)
        y = node.right(y, trace)
        value = combined(DIVIDE, x, y)
        if value is None:
            value = by_operator(operator.truediv, x, y)
        node.y = y if node.b is not None else kept_by(y, node, trace)
        if node.b is not None:
            node.z = value
        return node.finish(trace, x, y, value)

    cdef object power(self, object x, object y):
        if type(y) is int and y == 2 and type(x) is Variable:
            return np.square(x)
        if type(x) is Variable and (type(y) is int or type(y) is float) and is_complex_array(<Variable>x):
            if y == -1 and type(y) is int:  # the operator's own ways in NumPy, not those of np.power
                return np.reciprocal(x)
            if y == 0.5:
                return np.sqrt(x)
        return np.power(x, y)

    cdef object matmul(self, object x, object y):
        cdef Matmul node = Matmul.__new__(Matmul)
        cdef Trace trace = trace_of(x, y)
        x = node.left(x, trace)
        y = node.right(y, trace)
        value = times(x, y)
        node.x = x if node.a is not None else kept_by(x, node, trace)
        node.y = y if node.b is not None else kept_by(y, node, trace)
        return record(trace, node, value)

    cdef object negative(self, object x):
        cdef Negative node = Negative.__new__(Negative)
        node.a = (<Variable>x).node
        return record(node.a.trace, node, negated((<Variable>x)._value))

    cdef object getitem(self, Variable x, object index):
        cdef GetItem node
        value = x._value[index]
        if is_reshape(value, x._value):
            out = record_reshape(x, value)
            watch(x, out, index)
            if x._scalar and type(out) is Variable:
                (<Variable>out)._scalar = False  # s[...] is an array of its own
            return out
        if copies_parts(x) and shares(value, x._value):
            value = in_own_memory(value, "C")
        node = GetItem.__new__(GetItem)
        node.a = x.node
        node.index = kept_index(index, node, x.node.trace)
        node.shape = x._value.shape
        node.dtype = x._value.dtype
        out = record(x.node.trace, node, value)
        if shares(value, x._value):
            watch(x, out, index)
        return out

    cdef object setitem(self, Variable x, object index, object y):
        cdef SetItem node
        cdef Trace trace
        if is_shell(x):
            x = without_shells(x)
        y = as_array(y) if isinstance(y, (list, tuple)) else constant_value(array_in(y) if is_table(y) else y)
        trace = trace_of(x, y)
        if type(y) is not Variable and x.node.trace.level == 0:
            return with_item(x, index, y)
        if x._value.dtype.kind not in "fc":
            raise TypeError(f"an array of {x._value.dtype} cannot hold Variables: make it one of floats")
        node = SetItem.__new__(SetItem)
        node.index = kept_index(index, node, trace)
        node.shape = x._value.shape
        node.dtype = x._value.dtype
        if x.node.trace is trace:
            node.a = x.node
        if type(y) is Variable and (<Variable>y).node.trace is trace:
            node.b = (<Variable>y).node
            y = (<Variable>y)._value
            node.y_shape = y.shape
            node.y_dtype = y.dtype
        if type(x._value) is Variable and x.node.trace is trace:
            value = with_item(x, index, y)
        elif type(y) is Variable or type(x._value) is Variable or node.a is None and x.node.trace.level > 0:
            value = replaced(x._value if x.node.trace is trace else x, index, y)
        else:
            value = with_item(x, index, y)
        return record(trace, node, value)

    cdef object written(self, Variable x, Variable view, object window):
        cdef View by
        if type(window) is not View:
            return self.setitem(x, window, view)
        by = window
        if by.function is np.imag:
            return np.real(x) + 1j * view
        if by.function is np.real and x._value.dtype.kind == "c":
            return view + 1j * np.imag(x)
        places = by.places(value_of(x))
        if not x._value.shape:  # which has room for the last one
            return self.setitem(x, Ellipsis, view[(-1,) * len(view._value.shape) + (Ellipsis,)])
        return self.setitem(x, places, view)

    cdef object transpose(self, Variable x):
        cdef Transpose node = Transpose.__new__(Transpose)
        node.a = x.node
        out = record(x.node.trace, node, x._value.T)
        watch(x, out, _transposed)
        return out

    cdef object ufunc(self, object ufunc, str method, tuple inputs, dict kwargs):
        if not kwargs and method == "__call__":
            return handle(ufunc, inputs, kwargs)
        is_any_seen_otherwise(inputs, ufunc)  # refuses masks and units
        try:
            return operate(ufunc, method, inputs, kwargs)
        except (TypeError, ValueError) as error:
            explain_mixture((inputs, kwargs), error)
            raise

    cdef object function(self, object function, tuple args, dict kwargs):
        if "out" in kwargs or len(args) > 1 and len(args) > out_place(function):
            return with_out(function, args, kwargs)
        return handle(function, args, kwargs)

    cdef object method(self, str name):
        return attribute(name)

    cdef object floor_divide(self, object x, object y):
        return np.floor_divide(x, y)

    cdef object remainder(self, object x, object y):
        return np.remainder(x, y)

    cdef object divmod(self, object x, object y):
        return np.divmod(x, y)

    cdef object absolute(self, object x):
        return handle(np.absolute, (x,), {})

    cdef object real(self, Variable x):
        return np.real(x)

    cdef object imag(self, Variable x):
        return np.imag(x)

    cdef object reshape(self, Variable x, object shape):
        return np.reshape(x, shape)


cdef inline bint is_complex_array(Variable x):
    return not x._scalar and cnp.PyArray_CheckExact(x._value) \
        and cnp.PyArray_ISCOMPLEX(<cnp.ndarray>x._value)


cdef dict _out_places = {}


cdef Py_ssize_t out_place(object function) except -1:
    """At which place among its arguments ``function`` takes ``out``; one it never has where it does not."""
    place = _out_places.get(function)
    if place is None:
        place = _out_places[function] = place_of_out(function)
    return place


_transposed = View(np.transpose, (), {})
cdef HotOperators _hot = HotOperators()
use_operators(_hot)
use_methods(METHODS)


def use_fast_paths():
    """Give the readable rules of these functions their compiled twins."""
    for function, op in [
        (np.square, SQUARE), (np.sqrt, SQRT), (np.reciprocal, RECIPROCAL), (np.exp, EXP), (np.log, LOG),
        (np.log1p, LOG1P), (np.expm1, EXPM1), (np.sin, SIN), (np.cos, COS), (np.tanh, TANH),
    ]:
        fast_path(function, FastUnary(function, op))
    for function, op in [
        (np.add, ADD), (np.subtract, SUBTRACT), (np.multiply, MULTIPLY), (np.divide, DIVIDE),
    ]:
        fast_path(function, BinaryUfunc(function, op))
    fast_path(np.negative, NegativeUfunc(np.negative))
    fast_path(np.matmul, MatmulUfunc(np.matmul))
