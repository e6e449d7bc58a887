"""NumPy's functions as ``lindiff.numpy`` has them.

Three things differ from calling NumPy's own: Variables are found in lists, where NumPy's protocols do not
look; new arrays of floating point numbers accept Variables while there may be any; and calls with Variables
go straight to their rules, without NumPy's dispatch in between.
"""

import functools
from sys import maxsize

cimport numpy as cnp

from lindiff.core.lists cimport hides
from lindiff.core.record cimport is_recording
from lindiff.core.registry cimport handle
from lindiff.core.variable cimport Variable, untraced

import numpy as np

from lindiff.core import pytree
from lindiff.core.registry import has_handler
from lindiff.rules.creation import stacked
from lindiff.rules.ufuncs import place_of_out

cnp.import_array()

# What has no say in what becomes of a call with Variables.
cdef tuple _PLAIN = (int, float, complex, str, np.generic, np.dtype, type)

# What lists are to a function.
cdef enum:
    ARRAYS = 0     # arrays: np.sum([v, w])
    SEQUENCES = 1  # sequences of arrays: np.concatenate([v, w])
    NESTED = 2     # its own affair: np.array([[v, 0.0], [0.0, w]])


cdef class Function:
    """A function of NumPy that also takes lists of Variables, and whose new arrays accept Variables.

    It equals NumPy's function, and hashes as it does: what is registered for one is found for the other.

    Parameters
    ----------
    function : callable
    lists : str
        What lists among its arguments are: ``"arrays"``, ``"sequences"`` of arrays, or ``"nested"`` lists
        that the function looks through itself.
    wanted : callable, optional
        Whether new arrays are to accept Variables in this context.
    module : str, optional
        Where it is found.
    """

    cdef object function
    cdef bint is_ufunc
    cdef bint dispatches
    cdef Py_ssize_t inputs
    cdef Py_ssize_t place_of_out
    cdef int lists
    cdef object wanted
    cdef dict __dict__

    def __init__(self, function, str lists="arrays", wanted=None, str module=None):
        self.function = function
        self.is_ufunc = isinstance(function, np.ufunc)
        self.dispatches = self.is_ufunc or isinstance(function, type(np.sum))
        self.inputs = function.nin if self.is_ufunc else -1
        self.place_of_out = place_of_out(function) if self.dispatches and not self.is_ufunc else maxsize
        self.lists = ("arrays", "sequences", "nested").index(lists)
        self.wanted = wanted
        functools.update_wrapper(self, function)
        self.__module__ = module or f"lindiff.{getattr(function, '__module__', None) or 'numpy'}"

    def __call__(self, *args, **kwargs):
        cdef bint varies = False, simple = True
        cdef object x
        for x in args:
            if type(x) is Variable:
                varies = True
            elif cnp.PyArray_CheckExact(x):
                continue
            elif isinstance(x, (list, tuple)):
                if hides(x):
                    return self.of_lists(args, kwargs)
            elif not (x is None or isinstance(x, _PLAIN)):
                simple = False
        if kwargs:
            for name, x in kwargs.items():
                if type(x) is Variable:
                    varies = True
                elif isinstance(x, (list, tuple)) and name != "out" and hides(x):
                    return self.of_lists(args, kwargs)
        return self.apply(args, kwargs, varies and simple)

    cdef object of_lists(self, tuple args, dict kwargs):
        """Called with lists that have Variables in them."""
        return self.apply(
            tuple([self.seen(x) for x in args]),
            {name: x if name == "out" else self.seen(x) for name, x in kwargs.items()}, True)

    cdef object seen(self, object x):
        if self.lists == NESTED or not isinstance(x, (list, tuple)) or not hides(x):
            return x
        if self.lists == SEQUENCES:
            return [stacked(part) if isinstance(part, (list, tuple)) and hides(part) else part
                    for part in x]
        return stacked(x)

    cdef object apply(self, tuple args, dict kwargs, bint direct):
        """The result; ``direct`` where only Variables can have a say in it."""
        if self.is_ufunc:
            direct = direct and len(args) == self.inputs and not kwargs
        else:
            direct = direct and (self.dispatches or has_handler(self.function))
            if len(args) > self.place_of_out or kwargs and ("out" in kwargs or "like" in kwargs):
                direct = False
        if direct:
            result = handle(self.function, args, kwargs)
        else:
            result = self.called(args, kwargs)
        if not is_recording() or self.wanted is not None and not self.wanted():
            return result
        return accepting(result, args, kwargs)

    cdef object called(self, tuple args, dict kwargs):
        """The result of NumPy's function; objects may give Variables as their arrays, which it refuses."""
        try:
            return self.function(*args, **kwargs) if kwargs else self.function(*args)
        except (TypeError, ValueError) as error:
            given = [array_of(x) for x in args]
            if "__array__ method not producing" not in str(error) or not hides(given):
                raise
        return self(*given, **kwargs)

    @property
    def __class__(self):
        """A ufunc is one to ``isinstance`` here, too."""
        return np.ufunc if self.is_ufunc else Function

    def __getattr__(self, str name):
        found = getattr(self.function, name)
        return Function(found) if name in ("reduce", "accumulate", "reduceat", "outer") else found

    def __eq__(self, other):
        if type(other) is Function:
            other = (<Function>other).function
        return self.function is other or self.function == other

    def __hash__(self):
        return hash(self.function)

    def __repr__(self):
        return repr(self.function)

    def __reduce__(self):
        return self.__name__


cdef object array_of(object x):
    """The array that an object gives of itself, also in lists."""
    if isinstance(x, (list, tuple)):
        return [array_of(part) for part in x]
    if type(x) is Variable or isinstance(x, (np.ndarray, np.generic, type)) or not hasattr(x, "__array__"):
        return x
    return x.__array__()


cdef bint is_differentiable(object x):
    """Whether an array is of floating point numbers that have derivatives; ``longdouble`` has none."""
    cdef int kind = cnp.PyArray_TYPE(<cnp.ndarray>x)
    return cnp.PyTypeNum_ISFLOAT(kind) and kind != cnp.NPY_LONGDOUBLE \
        or cnp.PyTypeNum_ISCOMPLEX(kind) and kind != cnp.NPY_CLONGDOUBLE


cdef object owner(object x):
    """What holds the memory of an array."""
    while cnp.PyArray_Check(x) and cnp.PyArray_BASE(<cnp.ndarray>x) != NULL:
        x = <object>cnp.PyArray_BASE(<cnp.ndarray>x)
    return x


cdef bint is_new(object result, tuple args, dict kwargs) except -1:
    """Whether an array is none of the arguments, nor a view of one or of foreign memory."""
    cdef object x, memory = owner(result)
    if not cnp.PyArray_Check(memory):
        return False
    for x in args:
        if cnp.PyArray_Check(x) and owner(x) is memory:
            return False
    if not kwargs:
        return True
    for x in kwargs.values():
        if cnp.PyArray_Check(x) and owner(x) is memory:
            return False
        if type(x) is tuple and any([part is result for part in x]):  # out=
            return False
    return True


cdef object accepting(object result, tuple args, dict kwargs):
    """New arrays of floating point numbers as untraced Variables."""
    if cnp.PyArray_CheckExact(result):
        if is_differentiable(result) and cnp.PyArray_ISWRITEABLE(<cnp.ndarray>result) \
                and is_new(result, args, kwargs):
            return untraced(result)
        return result
    if isinstance(result, (tuple, list)):
        return pytree.rebuild(result, [accepting(part, args, kwargs) for part in result])
    return result
