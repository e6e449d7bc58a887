"""Operations on two operands: which trace records them, what they are outside of it, what broadcasting did.

Operands are Variables, plain arrays and numbers; arrays of a subclass and of objects are refused.
"""

cimport cython
cimport numpy as cnp

import numpy as np

from lindiff.core.chain cimport fit_to
from lindiff.core.record cimport Node, Pull, Trace
from lindiff.core.variable cimport (
    Variable, array_in, constant_value, innermost, is_shell, is_table, kept_by, record,
    without_shells,
)
from lindiff.kernels.loops cimport kind_of

from lindiff.core.arrays import explain_mixture
from lindiff.core.variable import refuse_subclass

cnp.import_array()


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


cdef bint of_two(tuple args):
    """Whether these are two operands, one of them a Variable (with ``out=`` one, both may be plain)."""
    return len(args) == 2 and (type(args[0]) is Variable or type(args[1]) is Variable)


cdef object by_operator(object operation, object x, object y):
    """``operation(x, y)``, with an error that says so where arrays of two libraries meet."""
    try:
        return operation(x, y)
    except (TypeError, ValueError) as error:
        explain_mixture((x, y), error)
        raise


cdef inline bint has_form_of(object x, object value):
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

    cdef object keep(self, Trace trace, object x, object y, object value):
        """Record a product: each operand is kept for the derivative by the other one."""
        self.x = x if self.a is not None else kept_by(x, self, trace)
        self.y = y if self.b is not None else kept_by(y, self, trace)
        return record(trace, self, value)

    cdef object finish(self, Trace trace, object x, object y, object value):
        """Note what broadcasting did, and record."""
        cdef bint differs = False
        if not cnp.PyArray_CheckExact(value) and type(value) is not Variable and not hasattr(value, "shape"):
            value = np.asarray(value)
        if self.a is not None and not has_form_of(x, value):
            self.fit_x = (x.shape, x.dtype)
            differs = True
        if self.b is not None and not has_form_of(y, value):
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
