"""Running a function on Variables: the root of every transform.

``Linearization`` runs a function once, at given primals, and keeps its value and the record of its
differentials, which is the linearized program: pushed through for ``jvp``, pulled through for ``vjp``.
"""

cimport numpy as cnp
from cpython.ref cimport Py_REFCNT

from lindiff.core.differential cimport stand_in
from lindiff.core.record cimport Record, Trace, begin, end, is_whole, leave, meet_large
from lindiff.core.results cimport is_array
from lindiff.core.variable cimport (
    Variable, alike, as_scalar_or_array, as_value, has_gaps, in_gaps_of, in_own_memory, inside_of,
    is_recorded, know_arrays, node_in, overlaps_itself, tangent_in, trace_inputs, trace_tangents, value_in,
)
from lindiff.kernels.elementwise cimport is_plain
from lindiff.kernels.memory cimport copy, give_back, is_large, lend

import functools
import types
import warnings

import numpy as np

from lindiff.core import pytree
from lindiff.core.variable import differentiable_array
from lindiff.core.wrapped import variables_in

cnp.import_array()

# What is returned by mistake: `return x.sum` for `return x.sum()`.
_functions = (types.FunctionType, types.BuiltinFunctionType, types.MethodType, functools.partial, np.ufunc,
              type(np.sum))


cdef inline object copy_of(object x):
    """A copy in the memory order of ``x``; of a Variable at the same place of the record."""
    if cnp.PyArray_CheckExact(x):
        return copy(<cnp.ndarray>x, True)
    return in_own_memory(x)


cdef object own_result(object y):
    """A result of a transform, which neither the record nor anybody else sees when it is written to."""
    if cnp.PyArray_Check(y):
        return y if cnp.PyArray_NDIM(<cnp.ndarray>y) == 0 or held_once(y) else copy_of(y)
    if type(y) is Variable:
        return y if (<Variable>y)._scalar else copy_of(y)
    if not is_recorded(y) or y.ndim == 0:
        return y
    return y if Py_REFCNT(y) <= 3 and is_whole(y) else copy_of(y)


cdef object copy_of_input(object x):
    """The same, with gaps where ``x`` has them: they tell what is a view of it."""
    return in_gaps_of(x, x) if has_gaps(x) and not overlaps_itself(x) else copy_of(x)


cdef bint held_once(object y):
    """Whether the large array ``y`` (an element of a list, and the value of a Variable about to go) and its
    memory are known to nobody else, the record included."""
    if not cnp.PyArray_CheckExact(y) or Py_REFCNT(y) > 3 or not cnp.PyArray_ISWRITEABLE(<cnp.ndarray>y):
        return False
    base = cnp.PyArray_BASE(<cnp.ndarray>y)
    return base == NULL or (
        cnp.PyArray_CheckExact(<object>base) and base.ob_refcnt == 1
        and cnp.PyArray_CHKFLAGS(<cnp.ndarray>base, cnp.NPY_ARRAY_OWNDATA)
        and cnp.PyArray_NBYTES(<cnp.ndarray>base) == cnp.PyArray_NBYTES(<cnp.ndarray>y)
    )


cdef object with_kind(object x, bint as_array):
    """What has no axes as an array without axes or as a scalar; all else as it is."""
    if cnp.PyArray_CheckExact(x):
        return x[()] if not as_array and cnp.PyArray_NDIM(<cnp.ndarray>x) == 0 else x
    if type(x) is Variable:
        if (<Variable>x)._scalar != as_array or x._value.ndim > 0:
            return x
        return as_scalar_or_array(x, not as_array)
    known = getattr(x, "__lindiff_without_axes__", None)
    if known is None or x.ndim > 0 or known == as_array:
        return x
    return x[...] if as_array else x[()]  # of a program


cdef tuple integers = (int, np.integer)


cdef bint is_integer(object x):
    if cnp.PyArray_Check(x):
        return cnp.PyArray_ISINTEGER(<cnp.ndarray>x)
    return type(x) is not float and type(x) is not Variable and issubclass(type(x), integers)


cdef refuse_none_alone(list leaves, str what):
    """None is zero beside what is given; alone it is what a function without ``return`` returns."""
    for leaf in leaves:
        if leaf is not None:
            return
    if leaves:
        raise ValueError(f"the {what} has None where there are arrays: give zeros for zero")


cdef class Inputs:
    """The array leaves of primals, and how to give results of the same form back.

    Parameters
    ----------
    primals : tuple
        Trees of arrays.
    what : str
        How messages name them.
    kept : bool
        Keep copies, which later writes to the primals do not change.
    """

    cdef readonly list arrays
    cdef list originals
    cdef object unflatten
    cdef readonly tuple primals

    def __cinit__(self, tuple primals, str what="argument", bint kept=False):
        cdef object x
        cdef Py_ssize_t i
        self.primals = primals
        self.unflatten = None
        self.originals = list(primals)
        for x in primals:
            if not is_plain(x) and type(x) is not Variable:
                self.originals, self.unflatten = pytree.flatten(primals)
                break
        self.arrays = [x if is_plain(x) else differentiable_array(x, what) for x in self.originals]
        if kept:
            for i in range(len(self.arrays)):
                if type(self.arrays[i]) is Variable:
                    self.arrays[i] = as_scalar_or_array(self.arrays[i], (<Variable>self.arrays[i])._scalar)
                elif self.arrays[i] is self.originals[i]:
                    self.arrays[i] = copy_of_input(self.arrays[i])

    cdef void forget(self):
        """Drop the memory of large copies: from here on shapes and dtypes are enough."""
        cdef Py_ssize_t i
        for i in range(len(self.arrays)):
            self.arrays[i] = stand_in(self.arrays[i])

    cpdef tuple restore(self, list leaves):
        """Cotangents in the form of the primals: NumPy scalars where there were some."""
        cdef Py_ssize_t i
        self.warn_of_integers(leaves)
        for i in range(len(leaves)):
            leaves[i] = with_kind(leaves[i], is_array(self.originals[i]))
        return tuple(leaves) if self.unflatten is None else self.unflatten.of_derivative(leaves)

    cdef warn_of_integers(self, list leaves):
        """Warn where a derivative with respect to an integer, which is taken for a real number, is NaN."""
        cdef Py_ssize_t i
        for i in range(len(leaves)):
            if not is_integer(self.originals[i]) or type(leaves[i]) is Variable:
                continue
            if np.isnan(leaves[i]).any():
                warnings.warn(
                    f"integers are differentiated as real numbers, and the derivative with respect to "
                    f"{self.originals[i]!r} is NaN: where it counts or numbers something, keep it out of "
                    f"what is differentiated (argnums, a lambda, a static field of a dataclass)",
                    RuntimeWarning, stacklevel=2)

    def tangents(self, given):
        """The leaves of tangents for these primals, checked: one tree per primal, shapes and dtypes alike.

        None stands for zeros.
        """
        cdef list leaves, checked = []
        if len(given) != len(self.primals):
            raise ValueError(f"{len(self.primals)} primals but {len(given)} tangents: give one per primal")
        leaves = list(given) if self.unflatten is None else \
            pytree.flatten_like(tuple(given), self.primals, "tangents", "primals", True)
        refuse_none_alone(leaves, "tangents")
        for x_dot, x in zip(leaves, self.arrays):
            checked.append(None if x_dot is None else alike(x_dot, x, "tangent", "primal"))
        return checked


cdef int refuse_result(object y, Trace trace) except -1:
    """Refuse what is returned by mistake, and Variables that would not be seen where they are."""
    if type(y) is Variable or is_plain(y) or isinstance(y, (float, int, complex)):
        return 0
    if isinstance(y, _functions):
        raise TypeError(
            f"a function was returned, which is not differentiated ({y!r}): call it, or return "
            f"it as aux, (value, aux) with has_aux=True")
    for x, way in variables_in(y):
        if (<Variable>x).node.trace is trace:
            raise TypeError(
                f"a {type(y).__name__} was returned, whose derivative is not looked for: return the array in "
                f"it, y{way}")
    return 0


cdef class Outputs:
    """The array leaves of what a function returned, seen from outside its trace."""

    cdef readonly object value
    cdef readonly list arrays
    cdef list inside
    cdef object unflatten

    def __cinit__(self, returned, Trace trace):
        if type(returned) is Variable:
            self.inside = [returned]
            self.unflatten = None
        else:
            self.inside, self.unflatten = pytree.flatten(returned)
            for y in self.inside:
                refuse_result(y, trace)
        self.inside = [inside_of(y, trace) for y in self.inside]
        self.arrays = [as_value(value_in(y, trace)) for y in self.inside]
        # the record and the caller's arrays must not change with what the caller does to the value
        self.value = self.restore([own_result(y) for y in self.arrays])
        self.arrays = [stand_in(y) for y in self.arrays]

    cdef object restore(self, list leaves, bint of_derivative=False):
        """Leaves in the form of the function's result, 0-d arrays as NumPy scalars."""
        cdef Py_ssize_t i
        for i in range(len(leaves)):
            leaves[i] = with_kind(leaves[i], False)
        if self.unflatten is None:
            return leaves[0]
        return self.unflatten.of_derivative(leaves) if of_derivative else self.unflatten(leaves)

    cdef list cotangents(self, y_bar):
        """The leaves of a cotangent for this result, checked; None stands for zeros."""
        cdef list leaves, checked = []
        if self.unflatten is None:
            leaves = [y_bar]
        else:
            leaves = pytree.flatten_like(y_bar, self.value, "cotangent", "function's result", True)
        refuse_none_alone(leaves, "cotangent")
        for leaf, y in zip(leaves, self.arrays):
            checked.append(alike(leaf, y, "cotangent", "function's result")
                           if leaf is not None and hasattr(y, "dtype") else None)
        return checked


cdef class Linearization:
    """``function`` at ``primals``: its value, and the linear map of its derivative.

    Attributes
    ----------
    value
        What the function returned, seen from outside.
    aux
        With ``has_aux``, the second part of what it returned.

    With ``kept``, for walks after the call, it copies the primals: the caller may write to them.
    """

    cdef readonly object value
    cdef readonly object aux
    cdef readonly Inputs inputs
    cdef readonly Outputs outputs
    cdef readonly Record record
    cdef bint large

    def __cinit__(self, function, tuple primals, bint has_aux=False, bint kept=False):
        cdef Trace trace = Trace()
        cdef list variables, nodes
        self.inputs = Inputs(primals, "primal" if kept else "argument", kept)
        variables = trace_inputs(trace, self.inputs.arrays)
        know_arrays(variables, self.inputs.originals)
        nodes = [(<Variable>v).node for v in variables]  # the function may operate on the Variables in place
        returned = run(function, trace, variables, self.inputs)
        if has_aux:
            returned, self.aux = split_aux(returned, trace)
        variables = None  # what they hold and nothing kept is free from here on
        self.inputs.forget()
        self.outputs = Outputs(returned, trace)
        self.value = self.outputs.value
        self.record = Record(nodes, [node_in(y, trace) for y in self.outputs.inside])
        self.outputs.inside = None
        self.large = trace.large

    cdef list walk(self, list leaves, bint backward, bint consume):
        """A walk over the record, its large arrays in memory that is used again."""
        if not self.large:
            return self.record.pull(leaves, consume) if backward else self.record.push(leaves)
        handler = lend()
        try:
            return self.record.pull(leaves, consume) if backward else self.record.push(leaves)
        finally:
            give_back(handler)

    def pull(self, y_bar):
        """Cotangents of the primals, one tree per primal."""
        return self.pull_leaves(self.outputs.cotangents(y_bar), False)

    cdef tuple pull_leaves(self, list y_bars, bint consume):
        return self.inputs.restore(self.pull_arrays(y_bars, consume))

    def pull_arrays(self, list y_bars, bint consume=False):
        """The same between the lists of array leaves; None stands for a zero cotangent."""
        return self.whole(self.walk(y_bars, True, consume))

    def pull_reached(self, y_bar):
        """Cotangents of primals that are arrays; None of those that the value does not depend on."""
        cdef list x_bars = self.walk(self.outputs.cotangents(y_bar), True, False)
        cdef list reached = [x_bar is not None for x_bar in x_bars]
        cdef tuple pulled = self.inputs.restore(self.whole(x_bars))
        return tuple([x_bar if is_reached else None for x_bar, is_reached in zip(pulled, reached)])

    cdef list whole(self, list x_bars):
        """Cotangents as arrays like the primals, zeros for None."""
        cdef Py_ssize_t i
        for i in range(len(x_bars)):
            x = self.inputs.arrays[i]
            if x_bars[i] is None:
                x_bars[i] = pytree.zeros_like(x)
                continue
            x_bar = as_value(x_bars[i])
            if not is_plain(x) and x_bar.dtype != x.dtype:  # another byte order
                x_bar = x_bar.astype(x.dtype)
            x_bars[i] = x_bar
        return x_bars

    def push(self, tangents):
        """The tangent of the value, in its structure."""
        return self.outputs.restore(self.push_leaves(self.inputs.tangents(tangents)), True)

    def push_leaves(self, list x_dots):
        """The same between the lists of array leaves; None stands for a zero tangent."""
        cdef list y_dots = self.walk(x_dots, False, False)
        cdef Py_ssize_t i
        for i in range(len(y_dots)):
            y_dots[i] = own_tangent(y_dots[i], self.outputs.arrays[i])
        return y_dots

    def pull_one(self, bint consume):
        """Cotangents of the primals for the cotangent 1 of a single number."""
        return self.pull_leaves([pytree.ones_like(self.outputs.arrays[0])], consume)


cdef object own_tangent(object y_dot, object y):
    """A tangent as an array that nobody else holds; zeros for None."""
    if y_dot is None:
        return pytree.zeros_like(y)
    return as_value(y_dot.copy() if hasattr(y_dot, "copy") else y_dot)


# Is told of every error that leaves a transform's function.
cdef object _explain = None


def explain_errors(explain):
    """Let ``explain(error)`` look at every error that leaves a function while it is differentiated."""
    global _explain
    _explain = explain


cdef object run(function, Trace trace, list variables, Inputs inputs):
    """Call the function on Variables with its trace current, whatever happens."""
    cdef tuple arguments = tuple(variables) if inputs.unflatten is None \
        else inputs.unflatten(variables)
    token = begin(trace)
    try:
        for x in inputs.arrays:
            if is_large(x):
                meet_large(trace)
        return function(*arguments)
    except Exception as error:
        if _explain is not None:
            _explain(error)
        raise
    finally:
        leave(token)
        end(trace)
        if trace.handler is not None:
            give_back(trace.handler)
            trace.handler = None


cdef tuple split_aux(returned, Trace trace):
    if not isinstance(returned, tuple) or len(returned) != 2:
        raise TypeError(f"with has_aux=True the function returns (value, aux), got {type(returned).__name__}")
    leaves, unflatten = pytree.flatten(returned[1])
    return returned[0], unflatten([aux_value(leaf, trace) for leaf in leaves])


cdef object aux_value(object x, Trace trace):
    """A leaf of aux as seen from outside; what it shares with the record is copied."""
    if type(x) is not Variable:
        return x
    seen = value_in(x, trace)
    if type(seen) is Variable:
        return seen if seen is x else own_result(seen)
    as_result = with_kind(seen, False)
    return copy_of(seen) if as_result is seen else as_result


def push_forward(function, tuple primals, tuple tangents, bint has_aux=False):
    """Value, tangent and aux of ``function``, pushed along with it; keeps no record."""
    cdef Trace trace = Trace(forward=True)
    cdef Inputs inputs = Inputs(primals, "primal")
    cdef Outputs outputs
    cdef list y_dots, x_dots = inputs.tangents(tangents)
    x_dots = [pytree.zeros_like(x) if x_dot is None else x_dot for x_dot, x in zip(x_dots, inputs.arrays)]
    variables = trace_tangents(trace, inputs.arrays, x_dots)
    know_arrays(variables, inputs.originals)
    returned = run(function, trace, variables, inputs)
    aux = None
    if has_aux:
        returned, aux = split_aux(returned, trace)
    outputs = Outputs(returned, trace)
    y_dots = [own_tangent(tangent_in(v, trace), y) for v, y in zip(outputs.inside, outputs.arrays)]
    return outputs.value, outputs.restore(y_dots, True), aux
