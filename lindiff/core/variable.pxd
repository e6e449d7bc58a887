"""The Variable: an array on a record."""

cimport cython

from cpython.object cimport PyObject, PyObject_TypeCheck, PyTypeObject as TypeObject

from lindiff.core.record cimport Node, Trace


cdef extern from "numpy/arrayobject.h":
    TypeObject PyGenericArrType_Type


cdef inline bint is_generic(object x):
    """Whether this is one of NumPy's scalars, whatever class it says to have."""
    return PyObject_TypeCheck(x, &PyGenericArrType_Type)


@cython.no_gc
@cython.final
cdef class Variable:
    cdef readonly object _value
    cdef readonly bint _scalar
    cdef bint lent
    cdef Node node
    cdef dict shared
    cdef Tie tie
    cdef PyObject *views
    cdef object assign(self, object outcome)
    cdef int take(self, object outcome) except -1
    cdef int become(self, Variable other) except -1
    cdef int check_writable(self) except -1
    cdef int keep_gaps(self, object plain) except -1
    cdef int hindrance(self)
    cdef int write_overlapping(self, object index, object y) except -1
    cdef int tell(self) except -1
    cdef int refresh(self, Variable but) except -1
    cdef object as_plain_array(self, object dtype, object copy)
    cdef int lend(self) except -1
    cdef bint is_lent_out(self) except -1
    cdef int check_unlent(self) except -1


@cython.final
@cython.no_gc
cdef class Tie:
    cdef Variable base
    cdef object window
    cdef PyObject *view
    cdef PyObject *next
    cdef PyObject *previous
    cdef bint gaps


@cython.final
cdef class View:
    cdef readonly object function
    cdef readonly tuple args
    cdef readonly dict kwargs
    cdef bint writable
    cdef bint overlaps
    cdef bint flat
    cdef Py_ssize_t place


cdef class Operators:
    cdef object add(self, object x, object y)
    cdef object subtract(self, object x, object y)
    cdef object multiply(self, object x, object y)
    cdef object divide(self, object x, object y)
    cdef object power(self, object x, object y)
    cdef object matmul(self, object x, object y)
    cdef object floor_divide(self, object x, object y)
    cdef object remainder(self, object x, object y)
    cdef object divmod(self, object x, object y)
    cdef object negative(self, object x)
    cdef object absolute(self, object x)
    cdef object real(self, Variable x)
    cdef object imag(self, Variable x)
    cdef object reshape(self, Variable x, object shape)
    cdef object getitem(self, Variable x, object index)
    cdef object setitem(self, Variable x, object index, object y)
    cdef object written(self, Variable x, Variable view, object window)
    cdef object transpose(self, Variable x)
    cdef object ufunc(self, object ufunc, str method, tuple inputs, dict kwargs)
    cdef object function(self, object function, tuple args, dict kwargs)
    cdef object method(self, str name)


cdef object as_value(object value)
cdef bint is_inexact(object x)
cpdef bint is_recorded(object x) except -1
cdef bint is_without_axes(object x) except -1
cdef object record(Trace trace, Node node, object value)
cpdef list record_outputs(Trace trace, Node node, list values)
cpdef object lying_as(object x)
cpdef object in_own_memory(object x, str order=*)
cpdef object in_order_of(object x, object like, bint copied=*)
cpdef list axes_in_memory(object x)
cpdef object in_gaps_of(object x, object like)
cdef object value_of(object x)
cdef object constant_value(object x)
cdef bint is_inner(object x)
cdef inline bint is_shell(object x):
    """Whether ``x`` is kept of a trace that has ended and holds a Variable of another, which has to be seen
    in its place."""
    return type(x) is Variable and (<Variable>x).node.trace.level == 0 \
        and type((<Variable>x)._value) is Variable

cdef bint has_shells(object x)
cdef object without_shells(object x)
cdef Variable new_variable(Node node, object value)
cdef Variable as_scalar_or_array(Variable x, bint scalar)
cdef bint is_table(object x)
cdef Variable untraced_variable(object value)
cpdef Variable untraced(object array)
cdef Variable owner_of(Variable x)
cpdef bint is_writable(Variable x)
cdef int fix(Variable x) except -1
cdef int watch(Variable base, object view, object window) except -1
cdef object array_in(object table)
cdef bint copies_parts(Variable x)
cdef View view_by(object function, tuple args, dict kwargs, bint writable, Py_ssize_t place)
cdef bint shares(object value, object x)
cdef bint has_gaps(object x)
cdef bint overlaps_itself(object value)
cpdef dict shared_of(Variable x)
cdef Trace innermost(object x, Trace so_far)
cdef object alike(object given, object like, str what, str like_what)
cpdef object inside_of(object x, Trace trace)
cpdef object outside(object x, Trace trace)
cdef object untraced_result(object value)
cpdef list trace_inputs(Trace trace, list arrays)
cpdef list trace_tangents(Trace trace, list arrays, list tangents)
cdef int know_arrays(list variables, list originals) except -1
cpdef object node_in(object x, Trace trace)
cpdef object tangent_in(object x, Trace trace)
cpdef object value_in(object x, Trace trace)
cdef object kept_by(object x, Node node, Trace trace, object what=*)
cpdef object kept(object x, list guards)
cdef int watch_over(Node node, list guards, object what) except -1
