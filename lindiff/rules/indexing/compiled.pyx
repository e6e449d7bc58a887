"""What carries out indexing: ``x[index]`` and ``x[index] = y``."""

cimport cython
cimport numpy as cnp
from cpython.object cimport PyObject
from cpython.ref cimport Py_REFCNT

import numpy as np

from libc.string cimport memcpy, memset

from lindiff.core.chain cimport fit_to
from lindiff.core.linear cimport LinearNode
from lindiff.core.operands cimport trace_of
from lindiff.core.record cimport Node, Pull, Push, Tangent, Trace, is_whole
from lindiff.core.variable cimport (
    Variable, array_in, as_value, constant_value, copies_parts, in_own_memory, is_generic, is_recorded,
    is_shell, is_table, is_without_axes, kept_by, record, shares, watch, without_shells,
)
from lindiff.kernels.elementwise cimport is_plain
from lindiff.kernels.loops cimport add_into
from lindiff.rules.shape.compiled cimport is_reshape, record_reshape

from lindiff.core.arrays import add_at, explain_mixture, placed, zeros_beside
from lindiff.core.directions import Directions, index_within
from lindiff.rules._common import as_array
from lindiff.rules.indexing.rules import has_repeats, is_advanced, last_written, replaced, scatter

cnp.import_array()


cdef object kept_index(object index, Node node, Trace trace):
    if type(index) is tuple:
        return tuple([kept_by(part, node, trace) for part in index])
    return kept_by(index, node, trace)


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
cdef class GetItem(LinearNode):
    cdef object index
    cdef tuple shape
    cdef object dtype

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
            part = total = x_bar[self.index]
            total += y_bar
            if total is not part:  # a number, not a view
                x_bar[self.index] = total
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

    cdef object image(self, object x):
        return x[self.index]


cdef object item_at(Variable x, object index):
    """``x[index]``"""
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
    if type(out) is Variable and (<Variable>out)._scalar and is_without_axes(value):
        (<Variable>out)._scalar = False  # x[np.array(1), ...]
    if shares(value, x._value):
        watch(x, out, index)
    return out


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
            if overwrite and (type(part) is Variable or not is_generic(part)):
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
    if cnp.PyArray_CheckExact(x._value) and not x.lent and is_recorded(y):
        # an array of the program that y is recorded in, which sees what is written
        order = "F" if x._value.flags.fnc else "C"
        value = np.full_like(y, x._value, x._value.dtype, order, shape=x._value.shape)
        store(value, index, y)
        return value
    if not (x.lent or is_sole(x)):
        value = in_own_memory(x._value)
        store(value, index, y)
        return value
    store(x._value, index, y)
    return x._value


cdef object written_at(Variable x, object index, object y):
    """The value of ``x`` after ``x[index] = y``."""
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
