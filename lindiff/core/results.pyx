"""What the results of functions are: scalars or arrays, in memory of whom, in which order.

Functions that are composed of others, and those of other libraries, have results as the functions that they
are made of happened to give them; here they become what NumPy, or that library, gives.
"""

cimport numpy as cnp

import numpy as np

from lindiff.core.variable cimport (
    Variable, as_scalar_or_array, fix, in_order_of, in_own_memory, is_generic, is_without_axes, is_writable,
    owner_of, untraced, value_of,
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
    if type(result) is Variable:
        if (<Variable>result)._scalar:
            result = as_scalar_or_array(result, False)
            fix(<Variable>result)
        return result
    if is_generic(result):
        return untraced(result) if isinstance(result, np.inexact) else np.array(result)
    return result


cdef bint is_array(object x) except -1:
    """Whether ``x`` is an array, not a scalar, if it has no axes."""
    return not (<Variable>x)._scalar if type(x) is Variable else cnp.PyArray_Check(x) or is_without_axes(x)
