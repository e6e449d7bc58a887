"""What a Variable's operators do: each one is the rule of a function, taken without NumPy's dispatch."""

cimport numpy as cnp

import operator

import numpy as np

from lindiff.core.elementwise cimport ElementwiseEntry, entry_of
from lindiff.core.registry cimport handle, is_any_seen_otherwise
from lindiff.core.variable cimport Operators, Variable, View, value_of
from lindiff.rules.indexing.compiled cimport item_at, written_at
from lindiff.rules.products.compiled cimport product
from lindiff.rules.shape.compiled cimport transpose_of

from lindiff.core.arrays import explain_mixture
from lindiff.core.elementwise import operator_of
from lindiff.core.variable import use_methods, use_operators
from lindiff.rules.methods import METHODS, attribute
from lindiff.rules.ufuncs import operate, place_of_out, with_out
import lindiff.rules.elementwise.rules  # the formulas of arithmetic  # no-cython-lint

cnp.import_array()


cdef class RulesAsOperators(Operators):
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
        return product(x, y)

    cdef object getitem(self, Variable x, object index):
        return item_at(x, index)

    cdef object setitem(self, Variable x, object index, object y):
        return written_at(x, index, y)

    cdef object transpose(self, Variable x):
        return transpose_of(x)

    cdef object written(self, Variable x, Variable view, object window):
        cdef View by
        if type(window) is not View:
            return written_at(x, window, view)
        by = window
        if by.function is np.imag:
            return np.real(x) + 1j * view
        if by.function is np.real and x._value.dtype.kind == "c":
            return view + 1j * np.imag(x)
        places = by.places(value_of(x))
        if not x._value.shape:  # which has room for the last one
            return written_at(x, Ellipsis, view[(-1,) * len(view._value.shape) + (Ellipsis,)])
        return written_at(x, places, view)

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


for function, by in [
    (np.add, operator.add), (np.subtract, operator.sub), (np.multiply, operator.mul),
    (np.divide, operator.truediv), (np.negative, operator.neg), (np.positive, operator.pos),
]:
    operator_of(function, by)
cdef ElementwiseEntry addition = entry_of(np.add)
cdef ElementwiseEntry subtraction = entry_of(np.subtract)
cdef ElementwiseEntry multiplication = entry_of(np.multiply)
cdef ElementwiseEntry division = entry_of(np.divide)
cdef ElementwiseEntry negation = entry_of(np.negative)

use_operators(RulesAsOperators())
use_methods(METHODS)
