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

from libc.string cimport memcpy, memset

from lindiff.core.chain cimport chain_product, conjugate, fit_to, plus
from lindiff.core.elementwise cimport ElementwiseEntry, entry_of
from lindiff.core.operands cimport Binary, by_operator, of_two, trace_of
from lindiff.core.record cimport Node, Pull, Push, Tangent, Trace, is_whole
from lindiff.core.registry cimport Handler, handle, is_any_seen_otherwise
from lindiff.core.variable cimport (
    Operators, Variable, View, array_in, as_value, constant_value, copies_parts, in_own_memory,
    is_shell, is_table, kept_by, record, shares, value_of, watch, without_shells,
)
from lindiff.kernels.elementwise cimport if_finite, is_plain
from lindiff.kernels.loops cimport add_into
from lindiff.kernels.matmul cimport (
    add_product, complex_matmul, matmul as plain_matmul, stacked_matmul,
)
from lindiff.rules.structure cimport is_reshape, record_reshape

from lindiff.core.arrays import add_at, explain_mixture, placed, zeros_beside
from lindiff.core.arrays import add_product as add_product_of_foreign
from lindiff.core.directions import Directions, index_within
from lindiff.core.elementwise import operator_of
from lindiff.core.registry import fast_path
from lindiff.core.variable import use_methods, use_operators
from lindiff.rules._common import as_array
from lindiff.rules.indexing import has_repeats, is_advanced, last_written, replaced, scatter
from lindiff.rules.methods import METHODS, attribute
from lindiff.rules.ufuncs import operate, place_of_out, with_out
import lindiff.rules.elementwise  # the formulas of arithmetic

cnp.import_array()


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

cdef class MatmulUfunc(Handler):
    cdef object call(self, tuple args, dict kwargs):
        if kwargs or not of_two(args):
            return NotImplemented
        return _hot.matmul(args[0], args[1])


cdef object kept_index(object index, Node node, Trace trace):
    if type(index) is tuple:
        return tuple([kept_by(part, node, trace) for part in index])
    return kept_by(index, node, trace)


cdef class HotOperators(Operators):
    cdef object add(self, object x, object y):
        return addition.operate(x, y)

    cdef object subtract(self, object x, object y):
        return subtraction.operate(x, y)

    cdef object multiply(self, object x, object y):
        return multiplication.operate(x, y)

    cdef object divide(self, object x, object y):
        return division.operate(x, y)

    cdef object negative(self, object x):
        return negation.of_one(x)

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

    cdef object refusal(self, Variable x, str wanted):
        from lindiff.rules.advice import refusal  # looks at source text; most programs never need it
        return refusal(x, wanted)


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


for function, by in [
    (np.add, operator.add), (np.subtract, operator.sub), (np.multiply, operator.mul),
    (np.divide, operator.truediv), (np.negative, operator.neg),
]:
    operator_of(function, by)
cdef ElementwiseEntry addition = entry_of(np.add)
cdef ElementwiseEntry subtraction = entry_of(np.subtract)
cdef ElementwiseEntry multiplication = entry_of(np.multiply)
cdef ElementwiseEntry division = entry_of(np.divide)
cdef ElementwiseEntry negation = entry_of(np.negative)

_transposed = View(np.transpose, (), {})
cdef HotOperators _hot = HotOperators()
use_operators(_hot)
use_methods(METHODS)


def use_fast_paths():
    """Give the readable rule of np.matmul its compiled twin."""
    fast_path(np.matmul, MatmulUfunc(np.matmul))
