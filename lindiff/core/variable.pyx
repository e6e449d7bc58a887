"""The Variable: an array that stands on a record.

A Variable holds a value and the node of the operation that made it.  Python's operators, NumPy's ufuncs
(``__array_ufunc__``) and NumPy's functions (``__array_function__``) reach the rules through
:class:`Operators`, which the rules fill in; nothing here knows an operation.

The value may itself be a Variable of an outer trace: that is how derivatives nest to any order.
"""

cimport cython
cimport numpy as cnp
from cpython.object cimport PyObject, PyObject_GenericGetAttr, Py_EQ, Py_GE, Py_GT, Py_LE, Py_LT, Py_NE

import math
import opcode
import operator
import sys
import threading
import weakref

import numpy as np

from cpython.ref cimport Py_INCREF, Py_REFCNT
from libc.stdint cimport uintptr_t

from lindiff.core.constants cimport Guard, guard_of, in_memory_of, is_copied, linked, may_change
from lindiff.core.awaited cimport tell_modules
from lindiff.core.record cimport (
    CONSTANT, Component, Leaf, Node, Tangent, Trace, clock, count_made_by_hand, doom, know_variable,
    meet_large, push_at_once, release_doomed,
)
from lindiff.core.tally cimport Tally, current as current_tally, running
from lindiff.kernels.elementwise cimport is_plain
from lindiff.kernels.loops cimport Loops, common_frame, common_kind
from lindiff.kernels.memory cimport copy as array_copy, is_large

from lindiff.core import namespaces, pytree
from lindiff.core.directions import Directions
from lindiff.core.record import Record, current_trace, root_trace
from lindiff.core.refusals import refusal

cnp.import_array()

cdef extern from "Python.h":
    PyObject *PyEval_GetGlobals()

cdef dict _comparisons = {
    Py_EQ: operator.eq, Py_NE: operator.ne, Py_LT: operator.lt,
    Py_LE: operator.le, Py_GT: operator.gt, Py_GE: operator.ge,
}
cdef dict _comparing = {
    Py_EQ: Loops(np.equal), Py_NE: Loops(np.not_equal), Py_LT: Loops(np.less),
    Py_LE: Loops(np.less_equal), Py_GT: Loops(np.greater), Py_GE: Loops(np.greater_equal),
}


cdef object compared(object x, object y, int op):
    """A comparison of plain arrays or numbers, which gives a plain array."""
    cdef int kind = common_kind(x, y)
    if (kind == cnp.NPY_DOUBLE or kind == cnp.NPY_FLOAT) and cnp.PyArray_NDIM(common_frame(x, y)) > 0:
        out = (<Loops>_comparing[op]).of_two(x, y)
        if out is not None:
            return out
    return _comparisons[op](x, y)


cdef class Operators:
    """What a Variable does when it is operated on; one instance, made by the rules."""

    cdef object add(self, object x, object y):
        raise NotImplementedError

    cdef object subtract(self, object x, object y):
        raise NotImplementedError

    cdef object multiply(self, object x, object y):
        raise NotImplementedError

    cdef object divide(self, object x, object y):
        raise NotImplementedError

    cdef object power(self, object x, object y):
        raise NotImplementedError

    cdef object matmul(self, object x, object y):
        raise NotImplementedError

    cdef object floor_divide(self, object x, object y):
        raise NotImplementedError

    cdef object remainder(self, object x, object y):
        raise NotImplementedError

    cdef object divmod(self, object x, object y):
        raise NotImplementedError

    cdef object negative(self, object x):
        raise NotImplementedError

    cdef object absolute(self, object x):
        raise NotImplementedError

    cdef object real(self, Variable x):
        raise NotImplementedError

    cdef object imag(self, Variable x):
        raise NotImplementedError

    cdef object reshape(self, Variable x, object shape):
        raise NotImplementedError

    cdef object getitem(self, Variable x, object index):
        raise NotImplementedError

    cdef object setitem(self, Variable x, object index, object y):
        raise NotImplementedError

    cdef object written(self, Variable x, Variable view, object window):
        raise NotImplementedError

    cdef object transpose(self, Variable x):
        raise NotImplementedError

    cdef object ufunc(self, object ufunc, str method, tuple inputs, dict kwargs):
        raise NotImplementedError

    cdef object function(self, object function, tuple args, dict kwargs):
        raise NotImplementedError

    cdef object method(self, str name):
        raise NotImplementedError


cdef Operators _operators = Operators()
cdef dict _methods = {}


def use_operators(Operators operators):
    """Let Variables act through ``operators``; returns those they acted through before."""
    global _operators
    before = _operators
    _operators = operators
    return before


def use_methods(dict methods):
    """Give Variables these methods and properties, by name."""
    global _methods
    _methods = methods


# the types of leaves, as far as they have been met
cdef set leaf_types = pytree.leaf_types
cdef dict _classes = namespaces.classes

# functions that make arrays ``like`` others
cdef set _makers = set()


def use_makers(*functions):
    """Let these functions know a Variable of another library's array that they were given as ``like``."""
    _makers.update(functions)


cdef object as_value(object value):
    """A result as Variables hold it: scalars become arrays without axes."""
    if cnp.PyArray_CheckExact(value):
        return value
    if type(value) is Variable:
        return constant_value(value)
    if isinstance(value, (float, complex, int)) or is_generic(value):
        return np.asarray(value)
    return value


# Whether a Variable may be changed in place, or why not.
cdef enum:
    WRITABLE
    IS_SCALAR
    READ_ONLY
    MADE_BY_HAND


cdef inline bint is_scalar(object value) except -1:
    """Whether NumPy would have a scalar, which is immutable, where an operation has this result: without
    axes, of NumPy's or of a recording of these.  Functions that give arrays without axes (views among them)
    say so."""
    if cnp.PyArray_CheckExact(value):
        return cnp.PyArray_NDIM(<cnp.ndarray>value) == 0
    if type(value) is Variable:
        return (<Variable>value)._scalar
    return is_recorded(value) and value.ndim == 0


cpdef bint is_recorded(object x) except -1:
    """Whether ``x`` is an array, or a number, of NumPy's in a program that is being recorded."""
    return hasattr(type(x), "__lindiff_without_axes__")


cdef bint is_numpys(object x) except -1:
    """Whether this is an array of NumPy's, or one of a program, or a number there."""
    return cnp.PyArray_Check(x) or is_recorded(x)


cdef bint is_without_axes(object x) except -1:
    """Whether this is an array of NumPy's, or of a program, without axes: no number."""
    if cnp.PyArray_CheckExact(x):
        return cnp.PyArray_NDIM(<cnp.ndarray>x) == 0
    return type(x) is not Variable and getattr(x, "__lindiff_without_axes__", False)


cdef object record(Trace trace, Node node, object value):
    """The output of an operation: ``value``, made in ``trace`` by ``node``."""
    cdef Variable out
    cdef Tangent tangent
    if trace.level == 0:
        return untraced_result(value)
    if running:
        count_result(node, value)
    node.trace = trace
    node.position = <Py_ssize_t>clock
    if trace.forward:
        y_dot = push_at_once(node)
        if y_dot is None:
            return constant_result(value)
        tangent = Tangent.__new__(Tangent)
        tangent.trace = trace
        tangent.x_dot = as_value(outside(y_dot, trace))
        node = tangent
    if trace.handler is None and is_large(value):
        meet_large(trace)
    out = Variable.__new__(Variable)
    out._value = as_value(value)
    out._scalar = is_scalar(out._value)
    out.node = node
    return out


cdef int count_result(Node node, object value) except -1:
    """Add an operation and its result, or results, to the tally of this thread, if it has one."""
    cdef Tally tally = current_tally()
    if tally is None:
        return 0
    tally.add_operation(node.operation())
    return tally.add([value_of(y) for y in value] if type(value) is list else value_of(value))


cdef int count_constant(object x) except -1:
    """The same of a constant that an operation keeps."""
    cdef Tally tally = current_tally()
    return 0 if tally is None else tally.add(value_of(x))


cdef bint is_inexact(object x):
    """Whether an array is of real or complex floating point numbers."""
    if cnp.PyArray_CheckExact(x):
        return cnp.PyArray_ISFLOAT(<cnp.ndarray>x) or cnp.PyArray_ISCOMPLEX(<cnp.ndarray>x)
    return getattr(getattr(x, "dtype", None), "kind", "") in ("f", "c")


cpdef list record_outputs(Trace trace, Node node, list values):
    """The outputs of an operation that has several; integers and booleans among them stay plain."""
    cdef Py_ssize_t i, count = len(values)
    cdef Component part
    cdef Tangent tangent
    cdef list outputs = []
    if trace.level == 0:
        return [untraced_result(y) if is_inexact(y) else constant_result(y) for y in values]
    if running:
        count_result(node, values)
    node.trace = trace
    node.position = <Py_ssize_t>clock
    if trace.forward:
        y_dots = push_at_once(node)
        if y_dots is None:
            return [constant_result(y) for y in values]
    for i in range(count):
        if not is_inexact(values[i]) or trace.forward and y_dots[i] is None:
            outputs.append(constant_result(values[i]))
        elif trace.forward:
            tangent = Tangent.__new__(Tangent)
            tangent.x_dot = as_value(outside(y_dots[i], trace))
            tangent.trace = trace
            outputs.append(new_variable(tangent, values[i]))
        else:
            part = Component.__new__(Component)
            part.trace = trace
            part.position = node.position
            part.a = node
            part.index = i
            part.count = count
            outputs.append(new_variable(part, values[i]))
    return outputs


cdef object constant_result(object value):
    """The result of an operation that depends on no Variable: without axes a number, as NumPy gives it."""
    return value[()] if type(value) is not Variable and is_scalar(value) else value


cdef Variable new_variable(Node node, object value):
    cdef Variable out = Variable.__new__(Variable)
    out._value = as_value(value)
    out._scalar = is_scalar(out._value)
    out.node = node
    return out


cdef Variable as_scalar_or_array(Variable x, bint scalar):
    """``x``, which has no axes, as the one or the other, through all traces."""
    cdef object value = x._value
    if type(value) is Variable:
        value = as_scalar_or_array(<Variable>value, scalar)
    elif not scalar and not cnp.PyArray_CheckExact(value) \
            and not getattr(value, "__lindiff_without_axes__", True):
        value = value[...]  # a number of a recording, of which no view can be
    cdef Variable out = new_variable(x.node, value)
    out._scalar = scalar
    return out


cdef object constant_value(object x):
    """The value of what belongs to no trace (any more); anything else as it is."""
    while type(x) is Variable and (<Variable>x).node.trace.level == 0:
        x = (<Variable>x)._value
    return x


cdef bint has_shells(object x):
    """Whether ``x`` is a shell, or has one among its items."""
    if type(x) is Variable:
        return is_shell(x)
    if isinstance(x, (list, tuple)):
        for item in x:
            if has_shells(item):
                return True
    return False


cdef object without_shells(object x):
    """``x`` with what shells hold in their places."""
    if type(x) is Variable:
        return constant_value(x) if is_shell(x) else x
    return pytree.rebuild(x, [without_shells(item) for item in x]) if has_shells(x) else x


cpdef object outside(object x, Trace trace):
    """``x`` as one sees it outside ``trace`` and all traces inside that."""
    if type(x) is Directions:
        return Directions(outside(x.array, trace)) if type(x.array) is Variable else x
    while type(x) is Variable and (<Variable>x).node.trace.began >= trace.began:
        x = (<Variable>x)._value
    return constant_value(x)


def traces_of(x):
    """The traces that ``x`` belongs to, through its values, the outermost first."""
    cdef list traces = []
    while type(x) is Variable:
        if (<Variable>x).node.trace.level > 0:
            traces.append((<Variable>x).node.trace)
        x = (<Variable>x)._value
    return traces[::-1]


cdef object untraced_result(object value):
    """What an operation outside all traces gives; its value may be a Variable of one nevertheless.

    A scalar is NumPy's: nothing can be written into it.
    """
    value = constant_value(value)
    if is_generic(value):
        return value
    if cnp.PyArray_CheckExact(value) and cnp.PyArray_NDIM(<cnp.ndarray>value) == 0 \
            and cnp.PyArray_BASE(<cnp.ndarray>value) == NULL:  # no view
        return value[()]
    return value if type(value) is Variable else untraced_variable(value)


cdef Variable untraced_variable(object value):
    """A constant as a Variable: it belongs to no trace yet, and becomes part of the one whose Variables are
    written into it."""
    return new_variable(CONSTANT, value)


cpdef Variable untraced(object array):
    """An array as a Variable that is no part of any trace: a buffer that Variables may be written into.

    Operations among untraced Variables are not recorded and give untraced Variables.  Its memory is taken
    over if nobody else holds it, copied at the first write otherwise.
    """
    if type(array) is Variable:
        return array
    cdef Variable out = untraced_variable(array)
    out._scalar = False
    return out


def another(Variable x):
    """A second Variable of the same value, for writing into: ``x`` keeps its elements."""
    return as_scalar_or_array(x, False) if x._value.ndim == 0 else new_variable(x.node, x._value)


def is_untraced(x):
    """Whether ``x`` is a Variable that is no part of any trace."""
    return type(x) is Variable and type(constant_value(x)) is not Variable


cdef Trace innermost(object x, Trace so_far):
    """The innermost trace of the Variables in the tree ``x``."""
    if type(x) is Variable:
        if is_shell(x):
            return innermost(constant_value(x), so_far)
        if so_far is None or (<Variable>x).node.trace.level > so_far.level:
            return (<Variable>x).node.trace
    elif isinstance(x, (list, tuple)):
        for item in x:
            so_far = innermost(item, so_far)
    elif not cnp.PyArray_CheckExact(x) and is_inner(x):
        for key in pytree.keys(x):
            so_far = innermost(pytree.item(x, key), so_far)
    return so_far


cdef inline bint is_made_by_hand(Variable x):
    return type(x.node) is Leaf and (<Leaf>x.node).shape is not None


cpdef object lying_as(object x):
    """The plain array that lies in memory as ``x`` does: what is inside, or what a recording holds in its
    place; None of arrays of other libraries."""
    x = value_of(x)
    return x if cnp.PyArray_CheckExact(x) else getattr(x, "__lindiff_lies_as__", None)


cdef inline bint in_fortran_order(object x):
    x = lying_as(x)
    return x is not None and cnp.PyArray_IS_F_CONTIGUOUS(<cnp.ndarray>x)


cdef bint has_gaps(object x):
    """Whether an array has gaps in memory, which a copy would not have."""
    x = lying_as(x)
    return x is not None and not cnp.PyArray_IS_C_CONTIGUOUS(<cnp.ndarray>x) \
        and not cnp.PyArray_IS_F_CONTIGUOUS(<cnp.ndarray>x)


cpdef object in_own_memory(object x, str order="K"):
    """``x``, a Variable or an array, in memory of its own, by rows ("C"), columns ("F") or as it lies ("K").

    It is at the same place of the record: nothing is recorded.
    """
    cdef Variable out
    if type(x) is not Variable:
        return x.copy() if lying_as(x) is None and not cnp.PyArray_Check(x) else x.copy(order)
    if is_made_by_hand(x):
        return np.copy(x, order)  # it is never written to
    out = new_variable((<Variable>x).node, in_own_memory((<Variable>x)._value, order))
    out._scalar = (<Variable>x)._scalar
    return out


cpdef object in_order_of(object x, object like, bint copied=True):
    """``x`` with its axes in memory in the order of those of ``like``, which has as many.

    That of a copy, or (these differ for repeated axes) of a result of NumPy's ufuncs.
    """
    cdef object plain = lying_as(x), pattern = lying_as(like)
    if plain is None or pattern is None \
            or cnp.PyArray_NDIM(<cnp.ndarray>plain) < 2 \
            or cnp.PyArray_NDIM(<cnp.ndarray>plain) != cnp.PyArray_NDIM(<cnp.ndarray>pattern) \
            or cnp.PyArray_IS_C_CONTIGUOUS(<cnp.ndarray>plain) \
            and cnp.PyArray_IS_C_CONTIGUOUS(<cnp.ndarray>pattern):
        return x
    wanted = axes_in_memory(np.empty_like(pattern) if copied else pattern)
    found = axes_in_memory(plain)
    long = [axis for axis in wanted if plain.shape[axis] > 1]
    return x if long == [axis for axis in found if axis in long] else in_axes_order(x, wanted)


cpdef list axes_in_memory(object x):
    """The axes of an array as NumPy's order "K" has them: by falling stride, but not past axes that do not
    tell, of length 1 or repeated."""
    cdef list strides = [abs(s) if n > 1 else 0 for s, n in zip(x.strides, x.shape)], axes = []
    cdef Py_ssize_t axis, place, k
    for axis in range(len(strides) - 1, -1, -1):  # from the fastest by rows
        place = len(axes)
        for k in range(len(axes) - 1, -1, -1):
            if strides[axis] and strides[axes[k]]:
                if strides[axes[k]] <= strides[axis]:
                    break
                place = k
        axes.insert(place, axis)
    return axes[::-1]


cpdef object in_gaps_of(object x, object like):
    """A copy of ``x`` that lies in memory as the array ``like``, of the same shape: as many of its axes go on
    without a gap, and the same run backwards; the gaps are as small as can be."""
    if type(x) is Variable:
        if is_made_by_hand(x):
            x = np.copy(x)  # which may be written to
        return new_variable((<Variable>x).node, in_gaps_of((<Variable>x)._value, like))
    size, start, strides = extent_and_strides(lying_as(like))
    memory = np.zeros_like(x, shape=size)
    view = np.lib.stride_tricks.as_strided(memory[start:], x.shape, [step * x.itemsize for step in strides])
    view[...] = x
    return view


cdef tuple extent_and_strides(object x):
    """A vector long enough for an array with gaps where ``x`` has them, where in it that array begins, and
    its strides, both counted in elements."""
    cdef list strides = [0] * x.ndim
    cdef Py_ssize_t expected = x.itemsize, step = 1, size = 1, start = 0
    for axis in sorted(range(x.ndim), key=lambda axis: abs(x.strides[axis])):
        length = x.shape[axis]
        if length < 2:
            continue
        if abs(x.strides[axis]) != expected:
            step += 1
        strides[axis] = -step if x.strides[axis] < 0 else step
        start += (length - 1) * step if x.strides[axis] < 0 else 0
        size += (length - 1) * step
        expected = abs(x.strides[axis]) * length
        step *= length
    return size, start, strides


cdef object in_axes_order(object x, list axes):
    """A copy of ``x`` whose axes are in this order in memory."""
    if type(x) is Variable:
        return new_variable((<Variable>x).node, in_axes_order((<Variable>x)._value, axes))
    return x.transpose(axes).copy().transpose(np.argsort(axes))


cdef bint is_inner(object x):
    """Whether ``x`` is an inner node of a tree that is not empty."""
    return x is not None and type(x) not in leaf_types and pytree.is_tree(x)


cdef object value_of(object x):
    """The plain array inside, through all traces."""
    while type(x) is Variable:
        x = (<Variable>x)._value
    return x


cpdef object inside(object x):
    """The plain array inside, itself: for looking at, never to be handed out."""
    return value_of(x)


cdef object repeated_to(tuple shape, object y):
    """``y`` as ``a.flat[index] = y`` takes it, for elements of this ``shape``: cut, or over and over."""
    return y if shape == () or np.ndim(y) == 0 or np.shape(y) == shape else np.resize(y, shape)


cdef Variable owner_of(Variable x):
    """What ``x`` is a view of, in the end; ``x`` where it has memory of its own."""
    while x.tie is not None:
        x = x.tie.base
    return x


def repeats(Variable x):
    """Whether ``x`` is a view that may have one element of its base several times."""
    return overlaps(x)


def numbered(Variable x):
    """The elements of ``x``, each with its number in the memory that ``x`` is a view of: even, and for
    imaginary parts the one that follows."""
    if x.tie is None:
        return in_order_of(2 * np.arange(x._value.size).reshape(x._value.shape), x)
    numbers, window = numbered(x.tie.base), x.tie.window
    if type(window) is not View:
        return numbers[window]
    return numbers + 1 if (<View>window).function is np.imag else (<View>window).of(numbers)


cpdef object as_it_is_read(object y, Variable x, object index):
    """``y`` as ``x[index] = y`` finds it where NumPy reads an element, writes it, and reads the next: of the
    memory of ``x`` it may see what it has written before."""
    cdef Py_ssize_t k, source
    cdef dict sources = {}
    cdef list found = []
    if type(y) is not Variable or (<Variable>y)._scalar or owner_of(x) is not owner_of(<Variable>y):
        return y
    places = np.ravel(numbered(x)[index])
    for k, (place, read) in enumerate(zip(places, np.resize(numbered(y), places.size))):
        source = sources.get(read, k)
        sources[place] = source
        found.append(source)
    return np.resize(y, places.size)[found] if found != list(range(len(found))) else y


def places_in_base(Variable x):
    """What ``x``, a view, is a view of, and where the elements of ``x`` are in that, as an index."""
    cdef Variable base = x.tie.base
    return base, (<View>x.tie.window).places(value_of(base))


cpdef bint is_writable(Variable x):
    """Whether ``x`` may be changed in place, and through it what it is a view of."""
    return x.hindrance() == WRITABLE


cpdef dict shared_of(Variable x):
    """What operations on the plain array inside ``x`` share, as its factors: theirs to fill in.

    It is gone with the Variable, or with the value where that is changed in place.  It must hold no Variable.
    """
    while type(x._value) is Variable:
        x = x._value
    if owner_of(x).lent:  # others write to it
        return {}
    if x.shared is None:
        x.shared = {}
    return x.shared


cdef object read_only(cnp.ndarray x):
    """A number as NumPy scalar, an array as a view that cannot be written to."""
    if cnp.PyArray_NDIM(x) == 0:
        return x[()]
    cdef cnp.ndarray view = x.view()
    cnp.PyArray_CLEARFLAGS(view, cnp.NPY_ARRAY_WRITEABLE)
    return view


cdef object _memmap = np.memmap


cdef inline bint is_buffer(object x):
    """Whether ``x`` is an array that is read as it is; other subclasses of ndarray are refused elsewhere."""
    return cnp.PyArray_CheckExact(x) or type(x) is _memmap


cdef object kept_by(object x, Node node, Trace trace, object what=None):
    """A constant as ``node``, an operation in ``trace``, keeps it: small arrays copied, large ones guarded.

    Loops may use it as a buffer.  A forward trace needs it at once and never again.
    """
    cdef cnp.ndarray array
    if trace.forward or trace.level == 0:
        return constant_value(x)
    if running:
        count_constant(x)
    if is_buffer(x):
        array = x
        if may_change(array):
            if is_copied(array):
                return array_copy(array, True)
            if mirror_of(array) is not None:
                return value_now(array, mirror_of(array))
            node.guard = linked(guard_of(array, what), node.guard)
        return array
    if type(x) is Variable or isinstance(x, (list, tuple, dict)):
        guards = []
        x = kept(x, guards)
        watch_over(node, guards, what)
        return x
    return kept_foreign(x)


cpdef object kept(object x, list guards):
    """The same of a constant that is kept by code in Python, also in lists, tuples and dicts.

    Those of the new ``guards`` whose memory somebody holds when the code is done go to ``watch_over``.
    """
    cdef cnp.ndarray array
    if running and type(x) is not list and type(x) is not dict:
        count_constant(x)
    if is_buffer(x):
        array = x
        if not may_change(array):
            return array
        if is_copied(array):
            return array_copy(array, True)
        if mirror_of(array) is not None:
            return value_now(array, mirror_of(array))
        guards.append(guard_of(array, None))
        return in_memory_of(array, guards[len(guards) - 1])
    if type(x) is Variable:
        return kept_variable(x, guards)
    if type(x) is list:
        return [kept(item, guards) for item in x]
    if isinstance(x, tuple):
        if has_no_arrays(<tuple>x):
            return x
        items = [kept(item, guards) for item in x]
        for item, new in zip(x, items):
            if new is not item:
                return pytree.rebuild(x, items)
        return x
    if type(x) is dict:
        return {key: kept(item, guards) for key, item in x.items()}
    if is_inner(x):
        return pytree.replace(x, [kept(pytree.item(x, key), guards) for key in pytree.keys(x)])
    return kept_foreign(x)


cdef object kept_foreign(object x):
    """An array of another library as it says to keep it, if it does; else what ``x`` is."""
    if type(x) is float or type(x) is int or is_generic(x):
        return x
    return x.__lindiff_kept__() if hasattr(type(x), "__lindiff_kept__") else x


cdef bint has_no_arrays(tuple x):
    """Whether a tuple is known to hold nothing that can be written to: numbers, None, words, such tuples."""
    for item in x:
        if type(item) is tuple:
            if not has_no_arrays(<tuple>item):
                return False
        elif not (type(item) is int or item is None or type(item) is str or type(item) is bool):
            return False
    return True


cdef object kept_variable(Variable x, list guards):
    """A Variable that stays as ``x`` is now; of a constant the array.

    Variables write to no memory that somebody else holds: what ``x`` alone holds now needs no copy.
    """
    cdef Variable same
    if x.node.trace.level > 0:
        if x._scalar:
            return x
        same = new_variable(x.node, x._value)
        same._scalar = False
        if type(x._value) is not Variable and x._value.ndim > 1:  # a matrix, which may have factors
            same.shared = shared_of(x)
        return same
    if x.node is CONSTANT and not x.lent and (<PyObject *>x._value).ob_refcnt == 1 \
            and cnp.PyArray_CheckExact(x._value) \
            and cnp.PyArray_CHKFLAGS(<cnp.ndarray>x._value, cnp.NPY_ARRAY_OWNDATA):
        return x._value
    return kept(constant_value(x), guards)


def kept_constant(x):
    """A constant for code that reads it over and over, now and again in a walk: a copy of any size."""
    x = constant_value(x)
    return x.copy() if is_buffer(x) and may_change(x) else x


cdef int watch_over(Node node, list guards, object what) except -1:
    """Let ``node``, an operation called ``what``, have the guards whose memory is held still."""
    cdef Guard guard
    while guards:
        guard = guards.pop()
        if Py_REFCNT(guard) > 1:
            guard.what = what
            node.guard = linked(guard, node.guard)
    return 0


def call(function, tuple args, dict kwargs):
    """``function(*args, **kwargs)`` with a Variable first, as by NumPy's protocol but without its price."""
    for x in args:
        if type(x) is Directions:
            return function(*args, **kwargs)
    return _operators.function(function, args, kwargs)


def value(x):
    """The plain array (or NumPy scalar) that a Variable holds; anything else as it is.

    Derivatives do not see what is computed from it: use it to print, plot and decide.

    Parameters
    ----------
    x : Variable or anything
        Nested tuples, lists, dicts, named tuples and dataclasses are gone through.

    Returns
    -------
    numpy.ndarray, numpy scalar or ``x``
        Not a copy, and read-only: what ``x`` holds now.  What is written to a Variable later is not seen in
        it; :func:`lindiff.stop_gradient` gives an array that sees it.

    Examples
    --------
    >>> import lindiff as ld
    >>> v = ld.Variable([1.0, 2.0])
    >>> ld.value(v * 2)
    array([2., 4.])
    """
    if type(x) is Variable:
        x = value_of(x)
        if cnp.PyArray_CheckExact(x):
            return read_only(x)
        if hasattr(x, "__lindiff_read_only__"):  # of a recording
            if x.ndim == 0:
                return x[()]
            x = x[...]
            if hasattr(x, "__lindiff_read_only__"):
                x.__lindiff_read_only__()
        return x
    return pytree.tree_map(value, x) if is_inner(x) else x


# In the place of a window: how a mirror, a constant in memory of its own, sees its Variable.
cdef object MIRROR = object()


def mirrored(x):
    """What a Variable holds, as a plain array that sees what is written to the Variable later.

    It is read-only, and has memory of its own: that of the Variable is what operations have kept.
    """
    cdef Variable mirror
    if (<Variable>x)._scalar or is_made_by_hand(owner_of(x)):  # these never change
        return value(x)
    if owner_of(x).lent:  # plain arrays write to that, too
        return read_only((<Variable>x).as_plain_array(None, None))
    mirror = untraced_variable(in_own_memory(value_of(x)))
    tie_to(x, mirror, MIRROR)
    if cnp.PyArray_CheckExact(mirror._value):
        array = in_memory_of(mirror._value, mirror)
        cnp.PyArray_CLEARFLAGS(<cnp.ndarray>array, cnp.NPY_ARRAY_WRITEABLE)
        return array
    array = mirror._value[...]
    if cnp.PyArray_Check(array):  # of a recording that has been given up
        cnp.PyArray_CLEARFLAGS(<cnp.ndarray>array, cnp.NPY_ARRAY_WRITEABLE)
    elif hasattr(array, "__lindiff_read_only__"):
        array.__lindiff_read_only__()
    weakref.finalize(array, operator.pos, mirror)  # which lives as long as the array
    return array


cdef Variable mirror_of(cnp.ndarray x):
    """The mirror whose memory this array has; None of other arrays."""
    cdef PyObject *base = <PyObject *>x
    while base != NULL and cnp.PyArray_Check(<object>base):
        base = cnp.PyArray_BASE(<cnp.ndarray><object>base)
    return <object>base if base != NULL and type(<object>base) is Variable else None


cdef object value_now(cnp.ndarray x, Variable mirror):
    """Numbers in the memory of a mirror, for keeping: as its Variable holds them, which nobody overwrites."""
    cdef object whole = value_of(mirror.tie.base), array = x
    cdef bint is_whole = cnp.PyArray_DATA(x) == cnp.PyArray_DATA(<cnp.ndarray>mirror._value) \
        and array.shape == whole.shape and array.strides == whole.strides
    return whole if is_whole else cnp.PyArray_NewCopy(x, cnp.NPY_KEEPORDER)


# What a subclass of ndarray that means something else by its operations defines.
cdef frozenset OPERATIONS = frozenset([
    "__array_function__", "__array_ufunc__", "__getitem__", "__setitem__",
    *[f"__{kind}{name}__" for kind in ("", "r", "i")
      for name in ("add", "sub", "mul", "truediv", "floordiv", "mod", "pow", "matmul")],
    "__neg__", "__abs__", "__lt__", "__le__", "__gt__", "__ge__", "__eq__", "__ne__",
])
cdef set known_subclasses = {np.memmap, np.recarray}


def refuse_subclass(x, str what):
    """Refuse the arrays whose operators mean something else than an ndarray's."""
    if type(x) is np.ndarray or type(x) in known_subclasses or not cnp.PyArray_Check(x):
        return
    if isinstance(x, np.ma.MaskedArray):
        raise TypeError(
            f"{what} is a MaskedArray; give a plain array: x.filled(0.0), and np.where(x.mask, ...)")
    parents = type(x).__mro__[:type(x).__mro__.index(np.ndarray)]
    if any([OPERATIONS & vars(parent).keys() for parent in parents if parent not in known_subclasses]):
        plain = "x.to_value(unit)" if hasattr(x, "to_value") else "np.asarray(x)"
        raise TypeError(
            f"{what} is a {type(x).__name__}; give a plain array: {plain} (its operations are its own, "
            f"of which lindiff does not know the derivatives)")
    known_subclasses.add(type(x))


cdef Trace tape_of(Trace trace):
    """The trace that Variables made by hand join while ``trace`` is current: the root, or one inside it, so
    that what ``backward`` finds may be differentiated in turn."""
    if trace is root_trace:
        return trace
    if trace.tape is None:
        trace.tape = Trace()
    return trace.tape


cdef object of_its_library(object given, object like):
    """A number or a list as an array of the library of ``like``."""
    like = value_of(like)
    return np.asarray(given) if cnp.PyArray_Check(like) or is_generic(like) else np.asarray(given, like=like)


cpdef str type_name(object x):
    """The type of the plain array inside ``x``, with its module, for error messages."""
    x = value_of(x)
    return f"{type(x).__module__}.{type(x).__qualname__}"


cdef object alike(object given, object like, str what, str like_what):
    """``given`` as an array of the shape and dtype of ``like``."""
    given = constant_value(given)
    if is_plain(given) and is_plain(like) \
            and cnp.PyArray_TYPE(<cnp.ndarray>given) == cnp.PyArray_TYPE(<cnp.ndarray>like) \
            and cnp.PyArray_SAMESHAPE(<cnp.ndarray>given, <cnp.ndarray>like):
        return given
    if type(given) is not Variable and (
            not hasattr(given, "__array_function__") or is_generic(given)):
        given = np.asarray(given) if cnp.PyArray_Check(like) else of_its_library(given, like)
    refuse_subclass(given, f"the {what}")
    if is_numpys(given) != is_numpys(value_of(like)) and type(given) is not Variable:
        raise TypeError(
            f"the {what} is a {type_name(given)}, the {like_what} a {type_name(like)}")
    if given.shape != like.shape:
        raise ValueError(f"the {what} has shape {given.shape}, the {like_what} {like.shape}")
    if given.dtype == like.dtype:
        return in_program_of(given, like)
    if given.dtype.kind not in "biufc" or (given.dtype.kind == "c" and like.dtype.kind != "c"):
        raise TypeError(f"the {what} has dtype {given.dtype}, the {like_what} {like.dtype}")
    return in_program_of(given.astype(like.dtype), like)


cdef object in_program_of(object given, object like):
    """A constant as an array of the program that ``like`` is recorded in: there it may be written to."""
    cdef object plain = value_of(like)
    if type(given) is Variable or is_recorded(given) or not is_recorded(plain):
        return given
    return np.full_like(plain, given)


def differentiable_array(x, str what="argument"):
    """``x`` as an array that can be differentiated: integers promoted to float64, the rest refused.

    Parameters
    ----------
    x : array_like or Variable
    what : str
        How messages name it.
    """
    x = constant_value(x)
    if type(x) is Variable:
        return x
    refuse_subclass(x, what)
    if not hasattr(x, "__array_function__") or is_generic(x):
        given, x = x, np.asarray(x)
        if x.shape == () and x.dtype.kind not in "biufc":
            raise TypeError(f"{what} is or holds {no_number(given, what)}")
    kind = x.dtype.kind
    if kind in "fc":
        if x.dtype.itemsize > 16 or x.dtype.char in "gG":
            raise TypeError(f"{what} has dtype {x.dtype}; write x.astype(float)")
        return x
    if kind in "iu":
        return x.astype(np.float64)
    hint = ""
    if kind in "Ob":
        hint = f"; write np.array(x, dtype=float), or {kept_out(what)}"
    if x.dtype.names is not None:
        hint = "; give a dict of its fields, {name: x[name] for name in x.dtype.names}"
    raise TypeError(f"{what} has dtype {x.dtype}, which has no derivative{hint}")


cdef str STATIC = ", or in a static field of a dataclass, field(metadata={'static': True})"


cdef str kept_out(str what):
    """How to give a function something that is not differentiated, where ``what`` it is given is."""
    if what == "argument":
        return "give it in an argument that argnums does not name"
    return "let the function close over it, as lambda x: f(x, other) does"


cdef str no_number(object x, str what):
    """What ``x`` is instead of an array or a number, and where it should be."""
    if isinstance(x, (str, bytes)):
        return f"{x!r}, which has no derivative: {kept_out(what)}{STATIC}"
    return (
        f"a {type(x).__qualname__}, which has no derivative: make it a dict, a named tuple or a dataclass of "
        f"arrays, or {kept_out(what)}{STATIC}")


cpdef list trace_inputs(Trace trace, list arrays):
    """Variables of ``trace`` for its inputs."""
    cdef Leaf leaf
    cdef list variables = []
    for array in arrays:
        leaf = Leaf.__new__(Leaf)
        leaf.trace = trace
        variables.append(new_variable(leaf, array))
    return variables


cpdef list trace_tangents(Trace trace, list arrays, list tangents):
    """Variables of a forward trace for its inputs, which carry their tangents."""
    cdef Tangent tangent
    cdef list variables = []
    for array, x_dot in zip(arrays, tangents, strict=True):
        tangent = Tangent.__new__(Tangent)
        tangent.trace = trace
        tangent.x_dot = x_dot
        variables.append(new_variable(tangent, array))
    return variables


cdef int know_arrays(list variables, list originals) except -1:
    """Tell the Variables of arrays without axes from those of numbers, which are scalars."""
    cdef Py_ssize_t i
    cdef Variable v
    for i in range(len(variables)):
        v = variables[i]
        if v._scalar and (cnp.PyArray_Check(originals[i]) or is_without_axes(originals[i])):
            v._scalar = False  # its value is plain, or of a recording
    return 0


cpdef object node_in(object x, Trace trace):
    """The node of ``x`` in ``trace``; None where ``x`` is constant there."""
    if type(x) is Variable and (<Variable>x).node.trace is trace:
        return (<Variable>x).node
    return None


cpdef object tangent_in(object x, Trace trace):
    """The tangent of ``x`` in the forward ``trace``; None where ``x`` is constant there."""
    if type(x) is Variable and (<Variable>x).node.trace is trace:
        return (<Tangent>(<Variable>x).node).x_dot
    return None


cpdef object value_in(object x, Trace trace):
    """The value of ``x`` seen from outside ``trace``."""
    x = constant_value(inside_of(x, trace))
    if type(x) is not Variable:
        return x
    if (<Variable>x).node.trace is trace:
        return (<Variable>x)._value
    if (<Variable>x).node.trace.began > trace.began:
        raise RuntimeError(
            "a Variable of an inner transform has leaked out of its function (kept in a list or assigned in "
            "place to an outer Variable?): return it, or keep ld.value(v)")
    return x


cpdef object inside_of(object x, Trace trace):
    """``x`` as ``trace`` has it, seen through its tape made by hand and through traces that have ended."""
    cdef Trace its
    while type(x) is Variable:
        its = (<Variable>x).node.trace
        if its is trace or its is not trace.tape and its.level > 0:
            break
        x = (<Variable>x)._value
    return x


cdef inline bint is_operand(object x):
    """Whether an operator should take ``x`` rather than leave it to its own reflected method."""
    return (
        type(x) is Variable or cnp.PyArray_Check(x)
        or isinstance(x, (int, float, complex, list, tuple)) or is_generic(x)
        or (getattr(x, "__array_ufunc__", None) is not None and type(x) is not Directions
            and not has_its_own_arithmetic(x))
        or is_array_alone(x)
    )


cdef bint is_array_alone(object x):
    """Whether an ndarray, too, would take ``x`` for the array that it is and nothing else."""
    return not hasattr(type(x), "__array_ufunc__") and is_table(x) \
        and getattr(x, "__array_priority__", 0.0) <= 0


cdef inline object operand(Variable v, object x):
    """An operand of ``v``: of a list that holds Variables an array."""
    if isinstance(x, (list, tuple)) and innermost(x, None) is not None:
        return np.array(x, like=v)
    return x


cdef bint is_table(object x):
    """Whether ``x`` turns into an array, but NumPy's functions do not dispatch on it.

    A pandas Series, an xarray DataArray; not a polynomial, which is more than its coefficients.
    """
    if type(x) is Variable or cnp.PyArray_Check(x) or cnp.PyArray_CheckScalar(x):
        return False
    if x is None or isinstance(x, (int, float, str, list, tuple, slice, dict, np.poly1d)):
        return False
    return hasattr(type(x), "__array__") and not hasattr(type(x), "__array_function__")


cdef object array_in(object table):
    """The array of a table, which may be a Variable where its code is written in lindiff.numpy."""
    array = table.__array__()
    return array if type(array) is Variable else np.asarray(array)


cdef bint has_its_own_arithmetic(object x):
    """Whether ``x`` takes Variables for its array: a unit, a quantity with one, or a table but for those that
    leave it to us."""
    if type(x) is Variable or cnp.PyArray_Check(x) or cnp.PyArray_CheckScalar(x) \
            or not hasattr(type(x), "__array_ufunc__"):
        return False
    return has_unit(type(x)) or is_table(x) and not hasattr(type(x), "__pandas_priority__")


cdef inline bint has_unit(object kind):
    """Whether objects of a type are physical units or quantities."""
    return kind is not Variable and kind is not np.ndarray and hasattr(kind, "dimensionality")


@cython.final
cdef class View:
    """How a view sees its base: ``function(*args, **kwargs)`` with the base in its ``place`` among ``args``.

    (Views by index hold the index.)
    """

    def __init__(self, function, tuple args, dict kwargs, bint writable=True, Py_ssize_t place=0):
        self.function = function
        self.args = args
        self.kwargs = kwargs
        self.writable = writable
        self.place = place

    def of(self, base):
        return self.function(*self.args[:self.place], base, *self.args[self.place:], **self.kwargs)

    def places(self, x):
        """Where the elements of the view lie in an array like ``x``, as an index."""
        cdef object numbers, found
        numbers = in_order_of(np.arange(x.size).reshape(x.shape), x)
        found = self.of(numbers)
        return np.unravel_index(found, x.shape) if x.ndim else ()


def part_of_part(base, View outer, inner):
    """A view of a view of ``base``."""
    whole = outer.of(base)
    return (<View>inner).of(whole) if type(inner) is View else whole[inner]


cdef bint overlaps_itself(object value):
    """Whether elements of an array may share memory with each other."""
    value = lying_as(value)
    cdef Py_ssize_t strides[64]
    cdef Py_ssize_t lengths[64]
    cdef Py_ssize_t stride, length, extent = 0
    cdef int axis, place, count = 0
    if value is None or cnp.PyArray_IS_C_CONTIGUOUS(<cnp.ndarray>value) \
            or cnp.PyArray_IS_F_CONTIGUOUS(<cnp.ndarray>value):
        return False
    for axis in range(cnp.PyArray_NDIM(<cnp.ndarray>value)):  # into the order of their strides
        length = cnp.PyArray_DIM(<cnp.ndarray>value, axis)
        if length < 2:
            continue
        stride = abs(cnp.PyArray_STRIDE(<cnp.ndarray>value, axis))
        place = count
        while place > 0 and strides[place - 1] > stride:
            strides[place] = strides[place - 1]
            lengths[place] = lengths[place - 1]
            place -= 1
        strides[place] = stride
        lengths[place] = length
        count += 1
    for place in range(count):
        if strides[place] <= extent:
            return True
        extent += strides[place] * (lengths[place] - 1)
    return False


cdef bint overlaps(Variable x):
    """Whether ``x`` is a view whose elements may share memory with each other."""
    return x.tie is not None and type(x.tie.window) is View and (<View>x.tie.window).overlaps


cdef bint copies_parts(Variable x):
    """Whether parts of ``x`` are copies, as of what ``flat`` gives."""
    return x.tie is not None and type(x.tie.window) is View and (<View>x.tie.window).flat


cdef View view_by(object function, tuple args, dict kwargs, bint writable, Py_ssize_t place):
    cdef View view = View.__new__(View)
    view.function = function
    view.args = args
    view.kwargs = kwargs
    view.writable = writable
    view.place = place
    return view


cdef bint shares(object value, object x):
    """Whether ``value``, made from ``x``, is a view of it or ``x`` itself."""
    cdef PyObject *base
    if cnp.PyArray_CheckExact(value):
        if value is x:
            return True
        base = cnp.PyArray_BASE(<cnp.ndarray>value)
        if base == NULL or type(x) is Variable:
            return False
        x = lying_as(x)  # of a recording that has ended: views are plain then
        if x is None:
            return False
        while base != <PyObject *>x and base != cnp.PyArray_BASE(<cnp.ndarray>x):
            if cnp.PyArray_CheckExact(<object>base):
                base = cnp.PyArray_BASE(<cnp.ndarray><object>base)
            else:  # np.lib.stride_tricks has something of its own between
                whole = getattr(<object>base, "base", None)
                base = <PyObject *>whole
            if base == NULL or <object>base is None:
                return False
        return True
    if value is x:
        return True
    if type(value) is Variable:  # a view of some views is one of their base: see `watch`
        return base_of(value) is x or (type(x) is Variable and (overlaps(x) or is_slice_of_vector(x))
                                       and base_of(value) is base_of(x))
    name = "__lindiff_base__" if hasattr(type(value), "__lindiff_base__") else "base"
    whole = getattr(value, name, None)  # of another library
    return whole is not None and (whole is x or whole is getattr(x, name, None))


cdef int refuse_to_shuffle(frame) except -1:
    """Refuse to let the shuffle of NumPy's random generators, which ``frame`` calls, swap rows of an array as
    it does items of a list: rows are views."""
    code = frame.f_code
    if not any(["shuffle" in names for names in (code.co_names, code.co_varnames, code.co_freevars)]):
        return 0
    if opcode.opname[frame.f_code.co_code[frame.f_lasti]].startswith("CALL"):
        raise TypeError(
            "shuffle would swap the rows of a Variable as if they were copies: write "
            "v[...] = v[rng.permutation(len(v))]")
    return 0


cdef Variable base_of(object x):
    """What the Variable ``x`` is a view of; None where it is none."""
    return None if (<Variable>x).tie is None else (<Variable>x).tie.base


@cython.final
@cython.no_gc
@cython.freelist(256)
cdef class Tie:
    """What makes ``view`` a view of ``base``: each sees what is written to the other.

    The view holds its tie, the tie its base; the base knows its views by a list of ties it does not hold.
    """

    def __dealloc__(self):
        cdef Variable base = self.base
        if self.previous != NULL:
            (<Tie>self.previous).next = self.next
        else:
            base.views = self.next
        if self.next != NULL:
            (<Tie>self.next).previous = self.previous
        if Py_REFCNT(base) == 2:  # this tie and the local name: long chains of views must not recurse
            Py_INCREF(base)
            doom(<PyObject *>base)
            self.base = base = None
            release_doomed()


cdef int fix(Variable x) except -1:
    """Let ``x`` be read-only where NumPy gives a result that may not be written to, though it is no view."""
    cdef object plain = lying_as(x._value)
    if plain is not None and not cnp.PyArray_ISWRITEABLE(<cnp.ndarray>plain):
        watch(new_variable(x.node, x._value), x, view_by(operator.pos, (), {}, False, 0))
    return 0


cdef Py_ssize_t views_of_memory(Variable x, PyObject *memory):
    """How many views of ``x`` refer to the array ``memory``, or to views of it."""
    cdef Py_ssize_t count = 0
    cdef PyObject *at = x.views
    cdef Variable view
    while at != NULL:
        view = <Variable>(<Tie>at).view
        if <PyObject *>view._value == memory:
            count += 1
        elif cnp.PyArray_CheckExact(view._value):
            count += <PyObject *>cnp.PyArray_BASE(<cnp.ndarray>view._value) == memory
        count += views_of_memory(view, memory)
        at = (<Tie>at).next
    return count


cdef bint is_slice_of_vector(Variable x):
    return x.tie is not None and type(x.tie.window) is slice and x.tie.base._value.ndim == 1


cdef object slice_of_slice(Py_ssize_t length, object outer, object inner):
    """The slice that takes of a vector what one slice takes of another."""
    cdef object places = range(length)[outer][inner]
    if len(places) == 0:
        return slice(0, 0)
    return slice(places.start, places.stop if places.stop >= 0 else None, places.step)


cdef int watch(Variable base, object view, object window) except -1:
    """Let ``view`` see changes of ``base``, and ``base`` those of ``view``."""
    if type(view) is not Variable or (<Variable>view).tie is not None or view is base:
        return 0
    if copies_parts(base):
        return 0
    if base._scalar and not (type(window) is View and not (<View>window).writable):
        return 0  # a scalar never changes; np.broadcast_to of one cannot be written to either
    (<Variable>view)._scalar = False
    if overlaps(base):  # what is written to a part is to change only that of the whole
        window = View(part_of_part, (base.tie.window, window), {}, (<View>base.tie.window).writable
                      and (type(window) is not View or (<View>window).writable))
        base = base.tie.base
    elif type(window) is slice and is_slice_of_vector(base):  # so that chains of them stay short
        window = slice_of_slice(base.tie.base._value.shape[0], base.tie.window, window)
        base = base.tie.base
    if type(window) is View:
        (<View>window).overlaps = overlaps_itself(view)
    return tie_to(base, view, window)


cdef int tie_to(Variable base, Variable view, object window) except -1:
    """Let ``base`` and ``view`` have a tie."""
    cdef Tie tie = Tie.__new__(Tie)
    tie.base = base
    tie.window = window
    tie.view = <PyObject *>view
    tie.gaps = has_gaps(view)
    tie.next = base.views
    if base.views != NULL:
        (<Tie>base.views).previous = <PyObject *>tie
    base.views = <PyObject *>tie
    view.tie = tie
    return 0


@cython.final
@cython.no_gc
@cython.freelist(512)
cdef class Variable:
    """An array whose use is recorded, so that it can be differentiated.

    Parameters
    ----------
    array : array_like
        float32, float64 or complex; integers become float64.  Copied, so that later writes to ``array`` do
        not change what was recorded.

    Notes
    -----
    It has the attributes, methods and operators of an ndarray and goes through NumPy's functions.  It never
    turns into a plain array silently: take :func:`lindiff.value` for that.  Comparisons give plain arrays.

    Inside functions given to ``grad`` and its kin Variables are made for you.  Made by hand, they are a tape:
    ``y.backward()`` adds to the ``grad`` of every Variable that was made by hand.

    Examples
    --------
    >>> import numpy as np, lindiff as ld
    >>> v = ld.Variable([1.0, 2.0])
    >>> y = np.sum(v**2)
    >>> y.backward()
    >>> v.grad
    array([2., 4.])
    """

    __array_priority__ = 1000.0
    __hash__ = None

    def __init__(self, array):
        cdef Leaf leaf
        array = constant_value(array)
        if type(array) is Variable:
            raise TypeError(
                "this is a Variable already; derivatives of derivatives are made with nested transforms "
                "(ld.grad of ld.grad, ld.hessian), a constant copy is ld.Variable(ld.value(v))")
        value = differentiable_array(array, "the array of a Variable")
        self._scalar = cnp.PyArray_CheckExact(value) and value.ndim == 0 and not cnp.PyArray_Check(array)
        leaf = Leaf.__new__(Leaf)
        leaf.trace = tape_of(current_trace())
        leaf.shape = value.shape
        count_made_by_hand(1)
        tell_modules()
        leaf.dtype = value.dtype
        self._value = value.copy()
        self.node = leaf

    # -- the tape by hand ------------------------------------------------------------------------------

    def backward(self, y_bar=None):
        """Pull a cotangent back to every Variable made by hand that this one depends on.

        Parameters
        ----------
        y_bar : array_like, optional
            The cotangent, of this Variable's shape; may be left out where that is a single number (then 1).

        Notes
        -----
        Adds to each ``v.grad``; set ``v.grad = None`` to begin anew.  May be called again, and from several
        threads at once.
        Cost: about two times the forward computation.
        """
        backward(self, y_bar)

    @property
    def grad(self):
        """What ``backward`` has collected: an array of this Variable's shape, or None."""
        return (<Leaf>self.node).grad if type(self.node) is Leaf else None

    @grad.setter
    def grad(self, value):
        if type(self.node) is not Leaf:
            raise AttributeError("only a Variable made by hand (ld.Variable(array)) has a gradient")
        (<Leaf>self.node).grad = value

    # -- NumPy's protocols -----------------------------------------------------------------------------

    def __array_ufunc__(self, ufunc, str method, *inputs, **kwargs):
        for x in inputs:
            if type(x) is Directions or has_its_own_arithmetic(x):  # which hold Variables, not conversely
                return NotImplemented
        return _operators.ufunc(ufunc, method, inputs, kwargs)

    def __array_function__(self, function, types, args, kwargs):
        for kind in types:
            if kind is Directions or has_unit(kind):
                return NotImplemented
        if not cnp.PyArray_CheckExact(self._value) and function in _makers:
            kwargs = {**kwargs, "like": self}  # NumPy has taken it away
        return _operators.function(function, args, kwargs)

    def __array__(self, dtype=None, copy=None):
        if self.node is CONSTANT:
            return self.as_plain_array(dtype, copy)
        if self.node.trace.level == 0:  # its record may still hold the memory
            return np.array(value(self), dtype=dtype, copy=copy)
        raise refusal(self, "array")

    cdef object as_plain_array(self, object dtype, object copy):
        """A constant as a plain array: one that has the same memory, where NumPy's has that of an array."""
        cdef object plain
        if self._scalar:
            return np.array(self._value[()], dtype=dtype, copy=copy)
        plain = np.array(self._value, dtype=dtype, copy=copy)
        if not shares(plain, self._value):
            return plain
        owner_of(self).lend()
        return np.array(self._value.view(), dtype=dtype, copy=copy)

    @property
    def __pandas_priority__(self):
        """Above Index, Series and DataFrame, which leave operators to us, but cannot do so in place."""
        frame = sys._getframe()
        for _ in range(4):
            if frame is not None:
                if frame.f_code.co_name == "_inplace_method":
                    raise refusal(self, "table")
                frame = frame.f_back
        return 5000

    # -- operators -------------------------------------------------------------------------------------

    def __add__(self, other):
        return _operators.add(self, operand(self, other)) if is_operand(other) else NotImplemented

    def __radd__(self, other):
        return _operators.add(operand(self, other), self) if is_operand(other) else NotImplemented

    def __sub__(self, other):
        return _operators.subtract(self, operand(self, other)) if is_operand(other) else NotImplemented

    def __rsub__(self, other):
        return _operators.subtract(operand(self, other), self) if is_operand(other) else NotImplemented

    def __mul__(self, other):
        return _operators.multiply(self, operand(self, other)) if is_operand(other) else NotImplemented

    def __rmul__(self, other):
        return _operators.multiply(operand(self, other), self) if is_operand(other) else NotImplemented

    def __truediv__(self, other):
        if not is_operand(other):  # pint's units have the reflected operator as a ufunc alone
            return np.true_divide(self, other) if has_unit(type(other)) else NotImplemented
        return _operators.divide(self, operand(self, other))

    def __rtruediv__(self, other):
        return _operators.divide(operand(self, other), self) if is_operand(other) else NotImplemented

    def __matmul__(self, other):
        return _operators.matmul(self, operand(self, other)) if is_operand(other) else NotImplemented

    def __rmatmul__(self, other):
        return _operators.matmul(operand(self, other), self) if is_operand(other) else NotImplemented

    def __pow__(self, other, modulo):
        if modulo is not None:
            raise TypeError("pow() with a modulus is for integers")
        return _operators.power(self, operand(self, other)) if is_operand(other) else NotImplemented

    def __rpow__(self, other, modulo):
        return _operators.power(operand(self, other), self) if is_operand(other) else NotImplemented

    def __floordiv__(self, other):
        return _operators.floor_divide(self, other) if is_operand(other) else NotImplemented

    def __rfloordiv__(self, other):
        return _operators.floor_divide(other, self) if is_operand(other) else NotImplemented

    def __mod__(self, other):
        return _operators.remainder(self, other) if is_operand(other) else NotImplemented

    def __rmod__(self, other):
        return _operators.remainder(other, self) if is_operand(other) else NotImplemented

    def __divmod__(self, other):
        return _operators.divmod(self, other) if is_operand(other) else NotImplemented

    def __rdivmod__(self, other):
        return _operators.divmod(other, self) if is_operand(other) else NotImplemented

    def __neg__(self):
        return _operators.negative(self)

    def __pos__(self):
        cdef Variable out
        if self.node.trace.level > 0 and not is_made_by_hand(self) and not has_gaps(self):
            out = new_variable(self.node, self._value)  # nobody writes to a value that two Variables have
        else:
            out = in_own_memory(self)
        return as_scalar_or_array(out, True) if is_scalar(value_of(out)) else out

    def __abs__(self):
        return _operators.absolute(self)

    def __iadd__(self, other):
        return self + other if self._scalar else self.assign(_operators.add(self, other))

    def __isub__(self, other):
        return self - other if self._scalar else self.assign(_operators.subtract(self, other))

    def __imul__(self, other):
        return self * other if self._scalar else self.assign(_operators.multiply(self, other))

    def __itruediv__(self, other):
        return self / other if self._scalar else self.assign(_operators.divide(self, other))

    def __imatmul__(self, other):
        return self @ other if self._scalar else self.assign(_operators.matmul(self, other))

    def __ipow__(self, other):
        return self ** other if self._scalar else self.assign(_operators.power(self, other))

    def __imod__(self, other):
        return self % other if self._scalar else self.assign(_operators.remainder(self, other))

    def __ifloordiv__(self, other):
        return self // other if self._scalar else self.assign(_operators.floor_divide(self, other))

    cdef object assign(self, object outcome):
        """``self op= other``: this Variable takes the result, as an array's memory would."""
        self.check_writable()
        if type(outcome) is Variable and has_unit(type((<Variable>outcome)._value)):
            raise TypeError("an array keeps no unit: write a = a * unit instead of a *= unit")
        result = outcome if type(outcome) is Variable else untraced_variable(as_value(outcome))
        if not np.can_cast(result.dtype, self.dtype, casting="same_kind"):
            raise TypeError(f"cannot cast the result from {result.dtype} to {self.dtype} in place")
        if result.shape != self.shape:
            raise ValueError(
                f"non-broadcastable output operand with shape {self.shape} doesn't match the broadcast "
                f"shape {result.shape}")
        if result.dtype != self.dtype:
            result = result.astype(self.dtype)
        if owner_of(self).lent:
            self[...] = result
            return self
        self.take(in_order_of(result, self))
        self.tell()
        return self

    cdef int take(self, object outcome) except -1:
        """Become the Variable ``outcome``, or a constant."""
        if type(outcome) is Variable:
            if (<Variable>outcome)._scalar and not self._scalar:
                outcome = as_scalar_or_array(outcome, False)
            self._value = (<Variable>outcome)._value
            self.node = (<Variable>outcome).node
        else:
            self._value = as_value(outcome)
            self.node = CONSTANT
        self.shared = None
        return 0

    cdef int check_writable(self) except -1:
        """Refuse to change what is not this Variable's to change, through views as well."""
        cdef int hindrance = self.hindrance()
        cdef Variable owner
        if hindrance == WRITABLE:
            owner = owner_of(self)
            if has_gaps(owner) and not overlaps_itself(owner):
                owner.keep_gaps(lying_as(owner))
        if hindrance == IS_SCALAR:
            raise TypeError(
                "a scalar, as np.sum(v), v[0] and v @ v give it, cannot be written to: write s = ..., "
                "or make it an array without axes, s = np.copy(s)")
        if hindrance == READ_ONLY:
            raise ValueError("assignment destination is read-only")
        if hindrance == MADE_BY_HAND:
            raise TypeError(
                "a Variable made by hand cannot be changed in place, its gradient would be lost: write "
                "w = ld.Variable(ld.value(w) - step), or y = w + 1 to go on computing")
        return 0

    cdef int keep_gaps(self, object plain) except -1:
        """Become a view of a vector: what is written leaves the gaps in memory as they are.

        Whether other views of an array are copies depends on them.
        """
        cdef Variable view
        size, start, strides = extent_and_strides(plain)
        strides = tuple([step * plain.itemsize for step in strides])
        vector = untraced(np.zeros(size, plain.dtype))[start:]
        view = _operators.function(np.lib.stride_tricks.as_strided, (vector, plain.shape, strides), {})
        view[...] = self
        self._value = view._value
        self.node = view.node
        self.shared = None
        self.tie = view.tie
        view.tie = None
        self.tie.view = <PyObject *>self
        return 0

    cdef int hindrance(self):
        """Why this Variable, and through it what it is a view of, may not be changed in place."""
        cdef Variable x = self
        if self._scalar:
            return IS_SCALAR
        while not is_made_by_hand(x):
            if x.tie is None:
                return WRITABLE
            if type(x.tie.window) is View and not (<View>x.tie.window).writable:
                return READ_ONLY
            x = x.tie.base
        return MADE_BY_HAND

    cdef int write_overlapping(self, object index, object y) except -1:
        """Write into what this is a view of: an element may be here several times."""
        cdef Variable base = self.tie.base
        cdef tuple places = (<View>self.tie.window).places(value_of(base))
        if places:
            base[tuple([place[index] for place in places])] = y
        else:  # an array without axes keeps what is written last
            part = np.broadcast_to(y, np.empty(self.shape, bool)[index].shape)
            base[...] = part[(-1,) * part.ndim]
        return 0

    cdef int tell(self) except -1:
        """Let all views of this Variable, what it is a view of, and the views of that see its change."""
        cdef Variable view = self, base
        self.refresh(None)
        while view.tie is not None:
            base = view.tie.base
            base.take(_operators.written(base, view, view.tie.window))
            # the view itself is to lie as before
            base.refresh(None if overlaps(view) or view.tie.gaps or base.lent else view)
            view = base
        return 0

    cdef int lend(self) except -1:
        """Share memory with plain arrays from now on, as NumPy's arrays do: what is written to one is seen in
        the others.  What operations have kept of it must not change: it stays behind."""
        if self.lent:
            return 0
        if (<PyObject *>self._value).ob_refcnt > 1 \
                or not cnp.PyArray_CheckExact(self._value) \
                or not cnp.PyArray_CHKFLAGS(<cnp.ndarray>self._value, cnp.NPY_ARRAY_OWNDATA):
            self._value = in_own_memory(self._value)
        self.shared = None
        self.lent = True
        return self.refresh(None)

    cdef bint is_lent_out(self) except -1:
        """Whether plain arrays have the memory of this Variable now."""
        if not self.lent:
            return False
        return (<PyObject *>self._value).ob_refcnt > 1 + views_of_memory(self, <PyObject *>self._value)

    cdef int check_unlent(self) except -1:
        """Refuse to write Variables into memory that plain arrays have: these would not see it."""
        cdef Variable owner = owner_of(self)
        if owner.is_lent_out():
            raise TypeError(
                "a plain array (of np.asarray(a), or a library that asked for one) has this memory, and "
                "cannot see the Variable that is written here: make that array a copy, np.array(a), or drop "
                "it before, del")
        owner.lent = False
        return 0

    cdef int refresh(self, Variable but) except -1:
        """Take the views of this Variable anew."""
        cdef PyObject *at = self.views
        cdef Variable view
        cdef Tie tie
        while at != NULL:
            tie = <Tie>at
            view = <Variable>tie.view
            if tie.window is MIRROR:
                view._value[...] = value_of(self)
            elif view is not but:
                view.take((<View>tie.window).of(self) if type(tie.window) is View else self[tie.window])
                view.refresh(None)
            at = tie.next
        return 0

    def __richcmp__(self, other, int op):
        return compared(value_of(self), value_of(other), op)

    # -- what jumps has no derivative between the jumps: plain numbers ----------------------------------

    def __round__(self, ndigits=None):
        return round(value_of(self)[()], ndigits)

    def __floor__(self):
        return math.floor(value_of(self)[()])

    def __ceil__(self):
        return math.ceil(value_of(self)[()])

    def __trunc__(self):
        return math.trunc(value_of(self)[()])

    # -- what a plain array does and a Variable must not do silently -----------------------------------

    def __float__(self):
        if self.node.trace.level == 0:
            return float(self._value)
        raise refusal(self, "float")

    def __int__(self):
        if self.node.trace.level == 0:
            return int(self._value)
        raise refusal(self, "int")

    def __complex__(self):
        if self.node.trace.level == 0:
            return complex(self._value)
        raise refusal(self, "complex")

    def __index__(self):
        if self.node.trace.level == 0:
            return operator.index(self._value)
        raise refusal(self, "index")

    def __bool__(self):
        return bool(value_of(self))

    def __setitem__(self, index, value):
        if type(value) is Variable and base_of(value) is self:
            if (<Variable>value).tie.window is index:
                return  # v[i] += w: the view v[i] has told v already
            refuse_to_shuffle(sys._getframe())
        self.check_writable()
        if copies_parts(self):
            value = repeated_to(np.shape(value_of(self)[index]), as_it_is_read(value, self, index))
        if overlaps(self):
            self.write_overlapping(index, value)
            return
        if owner_of(self).lent and type(constant_value(without_shells(value))) is Variable:
            self.check_unlent()
        self.take(_operators.setitem(self, index, value))
        self.tell()

    # -- the ndarray it stands for ---------------------------------------------------------------------

    def __getitem__(self, index):
        return _operators.getitem(self, index)

    def __len__(self):
        return len(self._value)

    def __iter__(self):
        if not self._value.shape:
            raise TypeError("iteration over a 0-d array")
        return (self[i] for i in range(len(self._value)))

    def __reversed__(self):
        return (self[i] for i in reversed(range(len(self))))

    def __contains__(self, item):
        return item in (value(self) if self._scalar else value_of(self))

    def __getattribute__(self, str name):
        # methods first: to find that the type itself has none of that name costs a microsecond
        method = _methods.get(name)
        return PyObject_GenericGetAttr(self, name) if method is None else method.__get__(self, Variable)

    def __getattr__(self, str name):
        return _operators.method(name).__get__(self, Variable)

    def __dir__(self):
        return sorted({*object.__dir__(self), *_methods})

    @property
    def __class__(self):
        """Variable; to code that ``patch_numpy`` reaches, the class of the value."""
        chosen = _classes.get(<uintptr_t>PyEval_GetGlobals())
        return Variable if chosen is None else chosen(self)

    @property
    def base(self):
        """The Variable whose memory this one is a view of; None where it has its own."""
        cdef Variable whole = owner_of(self)
        return None if whole is self else whole

    @property
    def T(self):
        """The transposed array."""
        return _operators.transpose(self)

    @property
    def real(self):
        """The real part."""
        return _operators.real(self)

    @real.setter
    def real(self, y):
        _operators.real(self)[...] = y

    @property
    def imag(self):
        """The imaginary part."""
        return _operators.imag(self)

    @imag.setter
    def imag(self, y):
        if self.dtype.kind != "c":
            raise TypeError("array does not have imaginary part to set")
        _operators.imag(self)[...] = y

    @property
    def flat(self):
        """All elements as a vector; what is written there is written here.

        Parts of it are copies.  That of a scalar is of an array that nobody has.
        """
        if self._scalar:
            return as_scalar_or_array(self, False).flat
        cdef Variable vector = _operators.reshape(self, -1)
        if vector.tie is None:  # NumPy copied
            watch(self, vector, View(np.reshape, (-1,), {}))
        elif type(vector.tie.window) is not View:  # a vector already
            vector.tie.window = View(np.reshape, (-1,), {})
        if vector.tie is not None:
            (<View>vector.tie.window).flat = True
            (<View>vector.tie.window).overlaps |= overlaps(self)
        return vector

    @flat.setter
    def flat(self, y):
        self.check_writable()
        if np.size(y) == 0:
            return
        if type(y) is Variable and in_fortran_order(self) and not in_fortran_order(y):
            y = in_own_memory(y)  # NumPy asks for that order, which is a copy
        self.flat[...] = np.resize(as_it_is_read(y, self, ...), self.size)

    @property
    def shape(self):
        return self._value.shape

    @shape.setter
    def shape(self, new):
        cdef Variable given = Variable.__new__(Variable), reshaped
        if type(self.node) is Leaf and (<Leaf>self.node).shape is not None:
            raise TypeError("a Variable made by hand keeps its shape: write w = v.reshape(shape)")
        given.become(self)
        try:
            reshaped = _operators.reshape(given, new)
            if reshaped.tie is None:
                raise AttributeError("an array of this layout cannot take this shape without a copy: write "
                                     "v = v.reshape(shape)")
        except (ValueError, TypeError, AttributeError):
            self.become(given)
            raise
        self.become(reshaped)

    cdef int become(self, Variable other) except -1:
        """Take the place of ``other``: its value, its views, and what it is a view of."""
        cdef PyObject *at = other.views
        self._value = other._value
        self._scalar = other._scalar
        self.node = other.node
        self.shared = other.shared
        self.lent = other.lent
        self.tie = other.tie
        other.tie = None
        if self.tie is not None:
            self.tie.view = <PyObject *>self
        self.views = other.views
        other.views = NULL
        while at != NULL:
            (<Tie>at).base = self
            at = (<Tie>at).next
        return 0

    @property
    def ndim(self):
        return self._value.ndim

    @property
    def size(self):
        return self._value.size

    @property
    def dtype(self):
        return self._value.dtype

    def __repr__(self):
        if self.node.trace.level == 0:
            return repr(self._value)
        text = repr(value_of(self))
        if text.startswith("array"):
            text = text[len("array"):].replace("\n     ", "\n        ")
        else:
            text = f"({text})"
        return f"Variable{text}"

    def __str__(self):
        return str(value_of(self))

    def __format__(self, spec):
        return format(value(self), spec)

    def __deepcopy__(self, memo):
        return in_own_memory(self)

    def __copy__(self):
        return in_own_memory(self)

    def __reduce__(self):
        if self.node.trace.level == 0:
            return untraced, (self._value,)
        raise TypeError("a Variable cannot be pickled; pickle ld.value(v)")


know_variable(Variable)

# Held while a gradient is added to, which other threads may do, too; sums of foreign arrays may call back.
cdef object _adding = threading.RLock()


cdef backward(Variable y, object y_bar):
    cdef Leaf leaf
    if y.node.trace.forward:
        raise TypeError("backward() of a Variable that depends on no Variable made by hand")
    y_value = value_of(y)
    if y_bar is None:
        if y_value.size != 1:
            raise TypeError(
                f"backward() of a Variable with shape {y.shape} needs a cotangent of that shape: "
                f"y.backward(y_bar), or reduce it to one number first, e.g. np.sum(y).backward()")
        y_bar = np.ones_like(y_value)
    else:
        y_bar = alike(y_bar, y, "cotangent", "Variable")
    tape = Record([], [y.node])
    tape.leaves = tape.inputs()
    for leaf, x_bar in zip(tape.leaves, tape.pull([y_bar], False)):
        if x_bar is None or leaf.shape is None:  # an input of a transform, not made by hand
            continue
        with _adding:
            leaf.grad = as_value(x_bar if leaf.grad is None else leaf.grad + x_bar)


# `a[i] = v` with a plain array asks `__float__`. NumPy shows our error only for what is no sequence to C code
# and puts one of its own in its place otherwise; Python's `v[i]`, `len` and `iter` do without this slot.
cdef extern from "Python.h":
    ctypedef struct PySequenceMethods:
        void *sq_item
    ctypedef struct PyTypeObject:
        PySequenceMethods *tp_as_sequence
    void PyType_Modified(PyTypeObject *)

(<PyTypeObject *>Variable).tp_as_sequence.sq_item = NULL
PyType_Modified(<PyTypeObject *>Variable)
