"""What the results of functions are: scalars or arrays, in memory of whom, in which order.

Functions that are composed of others, and those of other libraries, have results as the functions that they
are made of happened to give them; here they become what NumPy, or that library, gives.
"""

cimport numpy as cnp
from cpython.object cimport PyObject
from cpython.ref cimport Py_REFCNT

import numpy as np

from lindiff.core.differential cimport Differential, Elementwise
from lindiff.core.variable cimport (
    Variable, as_scalar_or_array, in_order_of, in_own_memory, is_writable, owner_of, shares, untraced,
    value_of,
)

from lindiff.core import pytree

cnp.import_array()


cdef object lying(object result, str order, tuple args):
    """Results as :func:`results_lie` says."""
    cdef object first, plain
    if isinstance(result, (tuple, list)):
        return pytree.rebuild(result, [lying(part, order, args) for part in result])
    if type(result) is not Variable:
        return result
    first = next((x for x in args if type(x) is Variable or cnp.PyArray_CheckExact(x)), result)
    if order in ("K", "copy"):
        return in_order_of(result, first, order == "copy")
    plain = value_of(result)
    if order == "A" and value_of(first).flags.fnc:
        return result if plain.flags.f_contiguous else in_own_memory(result, "F")
    return result if plain.flags.c_contiguous else in_own_memory(result, "C")


# What a function of another library than NumPy gives that has no axes.
cdef dict _kinds = {"scalar": SCALAR, "array": ARRAY, "like first": LIKE_FIRST}


cpdef object returned(object result, tuple args, str no_axes="scalar", bint by_rows=False):
    """What a function of another library than NumPy, written in functions that have rules, returns.

    Memory of its own, which may be written to; what has no axes is a scalar, an array, or is like the first
    argument; ``by_rows`` it lies like that in memory.
    """
    result = scalar_result(apart(result, args, True), args, True)
    if no_axes != "scalar":
        result = without_axes(result, args, _kinds[no_axes])
    return lying(result, "C", args) if by_rows else result


cpdef object apart(object result, tuple args, bint writable=False):
    """The results of a function, those that are views of Variables among ``args`` in memory of their own;
    if they are to be ``writable``, those that are views and are not as well."""
    if type(result) is Variable:
        if writable and is_fixed(result):
            return in_own_memory(result, "C")
        return in_own_memory(result) if is_of(result, args) else result
    if isinstance(result, (tuple, list)) and result:
        parts = [apart(part, args, writable) for part in result]
        if any([part is not before for part, before in zip(parts, result)]):
            return pytree.rebuild(result, parts)
    return result


cdef bint is_of(object x, object args):
    """Whether a Variable is one of ``args``, or has memory in common with one."""
    cdef object argument
    for argument in args:
        if type(argument) is Variable:
            if argument is x or ((<Variable>x).tie is not None or (<Variable>argument).tie is not None) \
                    and owner_of(x) is owner_of(argument):
                return True
        elif isinstance(argument, (tuple, list)) and is_of(x, argument):
            return True
    return False


cdef bint is_fixed(Variable x):
    """Whether ``x`` is a view that cannot be written to."""
    return x.tie is not None and not is_writable(x)


cdef object scalar_result(object result, tuple args, bint everywhere=False):
    """A result without axes that is none of the arguments, nor a view of one, as the scalar that NumPy gives,
    whatever it was made with; with ``everywhere`` those in tuples and plain ones, too."""
    cdef Variable y
    if type(result) is Variable:
        y = result
        if y._scalar or y._value.ndim > 0 or is_of(y, args):
            return result
        return as_scalar_or_array(y, True)
    if cnp.PyArray_CheckExact(result):
        return result[()] if everywhere and cnp.PyArray_NDIM(<cnp.ndarray>result) == 0 else result
    if everywhere and isinstance(result, tuple) and result:
        parts = [scalar_result(part, args, True) for part in result]
        if any([part is not before for part, before in zip(parts, result)]):
            return pytree.rebuild(result, parts)
    return result


cdef object without_axes(object result, tuple args, int kind):
    """A result without axes as the array that NumPy gives, ``kind`` says when."""
    if kind == LIKE_FIRST and not (args and is_array(args[0])):
        return scalar_result(result, args, True)
    if isinstance(result, np.generic):
        return untraced(result) if isinstance(result, np.inexact) else np.array(result)
    if type(result) is Variable and (<Variable>result)._scalar:
        return as_scalar_or_array(result, False)
    return result


cdef bint is_array(object x):
    """Whether ``x`` is an array, not a scalar."""
    return cnp.PyArray_Check(x) or type(x) is Variable and not (<Variable>x)._scalar


# -- results of users' rules -------------------------------------------------------------------------------

cdef object apart_from_rule(object result, object found, tuple args, Py_ssize_t known=1):
    """The results of a rule as copies where others than the differential that it ``found`` hold their memory:
    a buffer that is filled again in the next call must not change what this one gave.

    There are as many references ``known`` to them as we have.
    """
    if cnp.PyArray_CheckExact(result):
        if is_held(result, found, known) and not is_among(result, args):
            return result.copy()
    elif isinstance(result, (tuple, list)) and result:
        known = 0 if is_held(result, found, known) else 2  # of the sequence and the loop
        return pytree.rebuild(result, [apart_from_rule(y, found, args, known) for y in result])
    return result


cdef bint is_held(object result, object found, Py_ssize_t known) except -1:
    """Whether there are more references to a result, or to what it is a view of, than we know."""
    if Py_REFCNT(result) > known + references(found, result, 2):
        return True
    if not cnp.PyArray_CheckExact(result) or cnp.PyArray_BASE(<cnp.ndarray>result) == NULL:
        return False
    whole = <object>cnp.PyArray_BASE(<cnp.ndarray>result)
    return cnp.PyArray_CheckExact(whole) and Py_REFCNT(whole) > 2 + references(found, whole, 2)


cdef bint is_among(object y, tuple args):
    """Whether an array is one of the plain ``args``, or a view of one."""
    for x in pytree.flatten(args)[0]:
        if x is y or (cnp.PyArray_CheckExact(x) and shares(y, x)):
            return True
    return False


cdef Py_ssize_t references(object holder, object x, int depth) except -1:
    """How often the functions of a differential refer to ``x``, or to views of it, as far as we look."""
    cdef Py_ssize_t count = 0
    if holder is x:
        return 1
    if cnp.PyArray_CheckExact(holder):
        return cnp.PyArray_BASE(<cnp.ndarray>holder) == <PyObject *>x
    if isinstance(holder, (tuple, list)):
        for part in holder:
            count += references(part, x, depth)
    elif isinstance(holder, dict):
        count = references(list(holder.values()), x, depth)
    elif isinstance(holder, Differential):
        count = references((holder.pushforward, holder.pullback), x, depth)
        if isinstance(holder, Elementwise):
            count += references((<Elementwise>holder).partials, x, depth)
    elif depth > 0 and getattr(holder, "__closure__", None) is not None:
        for cell in holder.__closure__:
            try:
                count += references(cell.cell_contents, x, depth - 1)
            except ValueError:  # of a name that has no value yet
                pass
    return count
