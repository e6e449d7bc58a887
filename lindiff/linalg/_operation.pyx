"""Operations on a matrix that are described once, by three functions, and the one node that records them.

``value(x, *options)`` returns the result, several in a list, and then what the derivatives need;
``pushforward(*kept, x_dot)`` and ``pullback(*kept, y_bar)`` are those derivatives.  All are written in
functions that dispatch: of plain arrays they are a kernel each, of Variables of an enclosing trace, or of
arrays of another library, formulas; the matrix may be of any order, dtype and batch.
"""

cimport cython
cimport numpy as cnp

from cpython.object cimport PyObject
from cpython.ref cimport Py_REFCNT

from lindiff.core.chain cimport fit
from lindiff.core.differential cimport stand_in
from lindiff.core.record cimport Node, Pull, Push
from lindiff.core.registry cimport Rule, handlers
from lindiff.core.variable cimport Variable, is_shell, record, record_outputs

import functools

import lindiff.kernels
from lindiff.core.differential import Differential

cnp.import_array()

cdef extern from "Python.h":
    object PyObject_Vectorcall(object function, PyObject **args, size_t count, PyObject *names)
    PyObject *PyTuple_GET_ITEM(tuple items, Py_ssize_t i)
    ctypedef struct PyTupleObject:
        PyObject **ob_item
    PyObject *PyList_GET_ITEM(object items, Py_ssize_t i)

cdef enum:
    MANY = 8   # arguments, and what is kept for the derivatives


# -- a formula or the kernel of its name -------------------------------------------------------------------

cdef class Direct:
    """A function that compiled code calls without Python's detour."""

    cdef object called(self, PyObject **args, Py_ssize_t count):
        raise NotImplementedError


cdef class Fused(Direct):
    """A formula that gives way to the kernel of its name where its arrays have one.

    Without looking further where all of them are NumPy's; else ``otherwise`` finds out.
    """

    cdef readonly object formula
    cdef object otherwise
    cdef str name
    cdef bint real
    cdef dict __dict__

    def __init__(self, str name, formula, otherwise, bint real):
        self.formula = formula
        self.otherwise = otherwise
        self.name = name
        self.real = real
        functools.update_wrapper(self, formula)

    def __call__(self, *args, **options):
        kernel = self.kernel((<PyTupleObject *>args).ob_item, len(args))
        if kernel is None:
            return self.otherwise(*args, **options)
        return kernel(*args, **options) if options else kernel(*args)

    cdef object kernel(self, PyObject **args, Py_ssize_t count):
        """That of NumPy's arrays, if all are; else None."""
        cdef Py_ssize_t i
        for i in range(count):
            x = <object>args[i]
            if cnp.PyArray_CheckExact(x):
                if self.real and cnp.PyArray_ISCOMPLEX(<cnp.ndarray>x):
                    return None
            elif x is not None and x is not True and x is not False and not isinstance(x, (str, int, float)):
                return None
        return getattr(kernels_of_numpy, self.name, None)

    cdef object called(self, PyObject **args, Py_ssize_t count):
        kernel = self.kernel(args, count)
        return PyObject_Vectorcall(self.otherwise if kernel is None else kernel, args, count, NULL)


cdef object kernels_of_numpy = lindiff.kernels


# -- operations --------------------------------------------------------------------------------------------

cdef class Operation(Rule):
    """A primitive of one array, described by its value and its two derivatives.

    Parameters
    ----------
    function : callable
        What it is the rule of.
    value, pushforward, pullback : callable
        See above.  Tangents and cotangents of several results are tuples, in a pullback several arguments;
        None stands for zero.
    result : class of named tuples, optional
        Of several results.
    overwrites : bool
        The pullback takes another argument: whether it may overwrite the cotangent.
    shares : bool
        The value takes a second argument: the Variable in which the array stands, if it does, whose factors
        operations share (``_factored.py``).
    learn : callable, optional
        Is told the result that is no array of NumPy's, and the last of what the derivatives need.
    """

    def __init__(self, function, value, pushforward, pullback, result=None, bint overwrites=False,
                 bint shares=False, learn=None):
        self.learn = learn
        self.shares = shares
        self.result = None if result is None else result._make
        self.value = value
        self.pushforward = pushforward
        self.pullback = pullback
        self.overwrites = overwrites
        Rule.__init__(self, function, in_one(value, pushforward, pullback, self.result, overwrites, shares))
        self.__name__ = self.__qualname__ = function.__name__

    cdef object call(self, tuple args, dict kwargs):
        cdef Applied node
        cdef Variable x
        cdef tuple described
        if not is_plain_call(args, kwargs):
            return self.apply(args, kwargs)
        x = args[0]
        if kwargs:
            given = (x._value, x) if self.shares else (x._value,)
            described = self.value(*given, *args[1:], **kwargs)
        elif len(args) > MANY:
            return self.apply(args, kwargs)
        else:
            described = described_by(self, x, args)
        node = Applied.__new__(Applied)
        node.a = x.node
        node.entry = self
        node.described = described
        node.x = stand_in(x._value)
        y = <object>PyTuple_GET_ITEM(described, 0)
        if type(y) is not list:
            out = record(x.node.trace, node, y)
            if self.learn is not None and not cnp.PyArray_CheckExact(y):
                self.learn(out, described[len(described) - 1])
            return out
        outputs = record_outputs(x.node.trace, node, <list>y)
        return tuple(outputs) if self.result is None else self.result(outputs)


def in_one(value, pushforward, pullback, result, overwrites, shares):
    """The rule in one function, for calls of any form."""

    @functools.wraps(value)
    def rule(*args, **options):
        y, *kept = value(args[0], *args, **options) if shares else value(*args, **options)

        def push(x_dot):
            return pushforward(*kept, x_dot)

        def pull(bars):
            bars = bars if type(y) is list else (bars,)
            return pullback(*kept, *bars, False) if overwrites else pullback(*kept, *bars)

        differential = Differential((push,), (pull,), symbolic_zeros=True)
        if type(y) is not list:
            return y, differential
        return tuple(y) if result is None else result(y), differential

    return rule


cdef tuple described_by(Operation operation, Variable x, tuple args):
    cdef PyObject *given[MANY + 1]
    cdef Py_ssize_t i, count = 1
    given[0] = <PyObject *>x._value
    if operation.shares:
        given[1] = <PyObject *>x
        count = 2
    for i in range(1, len(args)):
        given[count] = <PyObject *>PyTuple_GET_ITEM(args, i)
        count += 1
    return result_of(operation.value, given, count)


cdef bint is_plain_call(tuple args, dict kwargs) except -1:
    """Whether the first argument is a Variable and no other one is."""
    cdef Py_ssize_t i
    if not args or type(args[0]) is not Variable or is_shell(args[0]):
        return False
    for i in range(1, len(args)):
        if not is_constant(args[i]):
            return False
    if kwargs:
        for x in kwargs.values():
            if not is_constant(x):
                return False
    return True


# What may stand beside an array without being one; filled in by `know_constants`.
cdef tuple constants = (bool, str, int, float)


def know_constants(*classes):
    """Objects of these classes hold no Variables, and nothing that anybody writes to."""
    global constants
    constants += classes


cdef inline bint is_constant(object x):
    return x is None or isinstance(x, constants)


@cython.no_gc
@cython.final
cdef class Applied(Node):
    """An operation of one array."""

    cdef Operation entry
    cdef tuple described  # what the value returned
    cdef object x  # stands for the argument

    cdef object operation(self):
        return self.entry.function

    cdef int pull(self, Pull walk, object y_bar) except -1:
        cdef PyObject *args[2 * MANY]
        cdef Py_ssize_t i, count = len(self.described) - 1
        cdef object overwrite
        for i in range(count):
            args[i] = <PyObject *>PyTuple_GET_ITEM(self.described, i + 1)
        if type(y_bar) is list:
            for i in range(len(<list>y_bar)):
                args[count] = <PyObject *>PyList_GET_ITEM(y_bar, i)
                count += 1
        else:
            args[count] = <PyObject *>y_bar
            count += 1
        if self.entry.overwrites:
            overwrite = walk.overwrite
            args[count] = <PyObject *>overwrite
            count += 1
        x_bar = result_of(self.entry.pullback, args, count)
        if x_bar is None:
            return 0
        x_bar = fit(x_bar, self.x)
        walk.add(self.a, x_bar, Py_REFCNT(x_bar) == 1 and is_own(x_bar) or x_bar is y_bar and walk.overwrite)
        return 0

    cdef object push(self, Push walk):
        x_dot = walk.tangent(self.a)
        return None if x_dot is None else self.entry.pushforward(*self.described[1:], x_dot)


cdef inline object result_of(object function, PyObject **args, Py_ssize_t count):
    if isinstance(function, Direct):
        return (<Direct>function).called(args, count)
    return PyObject_Vectorcall(function, args, count, NULL)


cdef inline bint is_own(object x):
    """Whether an array has its memory."""
    return cnp.PyArray_CheckExact(x) and cnp.PyArray_CHKFLAGS(<cnp.ndarray>x, cnp.NPY_ARRAY_OWNDATA)


cdef class Operator:
    """A public operator: of plain arrays its value alone, of Variables the ``primitive``.

    Parameters
    ----------
    primitive : Rule
    value : callable
    arrays : int
        How many leading arguments are arrays.
    options : list of str
        The names of the others.
    known : callable or None
        Of the first array of one that `divides` by its diagonal: within what it is called.
    """

    cdef readonly object primitive
    cdef object value
    cdef Py_ssize_t arrays
    cdef list options
    cdef list overwrites
    cdef object known
    cdef dict __dict__

    def __init__(self, function, primitive, value, Py_ssize_t arrays, list options, known):
        self.primitive = primitive
        self.value = value
        self.arrays = arrays
        self.options = options
        self.overwrites = [name for name in options if name.startswith("overwrite_")]
        self.known = known
        functools.update_wrapper(self, function)

    def __reduce__(self):
        return self.__qualname__

    def __repr__(self):
        return f"<lindiff operator {self.__name__}>"

    def __call__(self, *args, **options):
        cdef bint recorded = False
        for x in args:
            if type(x) is Variable:
                recorded = True
                break
        else:
            for x in options.values():
                if type(x) is Variable:
                    recorded = True
                    break
        if not recorded:
            return self.value(*args, **options) if options else self.value(*args)
        if len(args) > self.arrays:
            options.update(zip(self.options, args[self.arrays:]))
            args = args[:self.arrays]
        if options:
            for name in self.overwrites:
                options.pop(name, None)
        known = self.known(args[0]) if self.known is not None and args else None
        if known is None:
            return (<Rule>self.primitive)(*args, **options)
        with known.dividing():
            return (<Rule>self.primitive)(*args, **options)


def operation(function, *description, **options):
    """Give an existing function a rule that is described by three functions; see :class:`Operation`."""
    made = Operation(function, *description, **options)
    handlers[function] = made
    return made
