"""Arrays that record what is done with them."""

cimport cython
cimport numpy as cnp

from lindiff.core.variable cimport is_generic
from lindiff.programs.frames cimport innermost_frame, is_lindiffs, is_operator, line_of_user
from lindiff.programs.operands cimport Leaf, have_same_bytes, leaves_of, replaced_by
from lindiff.programs.recording cimport Recording

import operator
import weakref
from types import FunctionType

import numpy as np

from lindiff.core import chain
from lindiff.core.backends import kernels
from lindiff.core.constants import users_frame
from lindiff.core.directions import Apart, Directions
from lindiff.core.names import by_place
from lindiff.core.variable import Variable
from lindiff.programs.machine import raised
from lindiff.programs.recording import Unrecordable
from lindiff.rules.rebinding import is_statement, may_rebind

cnp.import_array()

cdef extern from *:
    """
    static int is_repeated(PyObject *x)
    {
        /* What NumPy's numbers ask of what they are multiplied by. */
        PyTypeObject *kind = Py_TYPE(x);
        return kind->tp_as_sequence && kind->tp_as_sequence->sq_repeat
            && !(kind->tp_as_number && kind->tp_as_number->nb_multiply);
    }
    """
    bint is_repeated(object x)

# Attributes of an array that are arrays with its memory.
VIEWS = {name: operator.attrgetter(name) for name in ("T", "mT", "real", "imag")}
# Results that are no arrays, and leave the program.
cdef tuple KNOWN = (bool, int, float, complex, str, bytes, np.dtype, type)
# What operations are given besides arrays.
cdef tuple CONSTANTS = (*KNOWN, type(None), type(Ellipsis), type(np._NoValue))
# What would show the memory itself.
cdef frozenset PROTOCOLS = frozenset({"__dlpack__", "__dlpack_device__"})
cdef frozenset ASKED_FIRST = frozenset({"__array_interface__", "__array_struct__"})  # by NumPy
cdef frozenset MEMORY = frozenset(
    {"flat", "data", "ctypes", "setflags", "resize", "tofile", "dump", "dumps", "getfield", "setfield"}
)

# What asks for nothing but the forms of arrays.
cdef frozenset OF_FORM = frozenset({np.ndim, np.shape, np.size, np.iscomplexobj, np.isrealobj})

# Code that asks for the class of what it was given by others: `isinstance` with an abstract class, or with a
# type that stands for another one where `patch_numpy` reaches.
cdef frozenset ON_BEHALF = frozenset({"abc", "functools", "lindiff.numpy._types"})


def _filled_like(x, shape, fill_value, dtype=None, order="C", **device):
    dtype = np.asarray(fill_value).dtype if dtype is None else dtype
    return np.full_like(x, fill_value, dtype, order, shape=shape, **device)


def _made_like(make):
    """``np.zeros(shape, like=x)`` or its kin as ``make``, ``np.zeros_like`` or its own."""
    return lambda x, shape, dtype=None, order="C", **device: \
        make(x, float if dtype is None else dtype, order, shape=shape, **device)


# What makes arrays for a program, which it can write to.
cdef dict MADE_LIKE = {
    np.zeros: _made_like(np.zeros_like), np.ones: _made_like(np.ones_like),
    np.empty: _made_like(np.empty_like), np.full: _filled_like,
}

cdef object getitem = operator.getitem
cdef object setitem = operator.setitem
cdef object power = operator.pow
cdef type UFUNC = np.ufunc
cdef type PYTHON = FunctionType
cdef dict NOTHING = {}


@cython.freelist(64)
cdef class Recorded:
    """A number of a function that is being recorded; of arrays and integers it is what they have in common.

    It speaks NumPy's protocols as an array of another library does.  Operations are carried out at once on
    ``array`` and leave an instruction; what Python looks at leaves a guard.  When the recording has ended, or
    has been given up, operations are those of ``array``, and no more.
    """

    cdef object __weakref__
    cdef readonly object array
    cdef readonly Recording recording
    cdef readonly object slot
    cdef object whole  # whose memory this is a view of; held, as NumPy's views hold their base

    # -- what is known without the values ------------------------------------------------------------------

    @property
    def shape(self):
        return self.array.shape if cnp.PyArray_Check(self.array) else np.shape(self.array)

    @shape.setter
    def shape(self, shape):
        self.recording.give_up("x.shape = ... changes an array in place: write x = x.reshape(...)")
        self.array.shape = shape

    @property
    def dtype(self):
        if cnp.PyArray_Check(self.array):
            return self.array.dtype
        return self.array.dtype if hasattr(self.array, "dtype") else np.dtype(type(self.array))

    @property
    def ndim(self):
        return cnp.PyArray_NDIM(self.array) if cnp.PyArray_Check(self.array) else np.ndim(self.array)

    @property
    def size(self):
        return int(np.size(self.array))

    @property
    def base(self):
        """Whose memory this is a view of, None of an array that has its own, and of a number."""
        if not cnp.PyArray_Check(self.array):
            return None
        if not is_lindiffs(innermost_frame()):
            self.refuse_of_argument("base")
        return self.owner()

    @property
    def __lindiff_base__(self):
        """The same, of an argument as it is this time, of numbers something else; the array itself when the
        recording has ended, as views of it are plain then, and hold nothing but that."""
        return self.array if self.recording.ended else self.owner()

    cdef object owner(self):
        cdef Recorded whole
        if not cnp.PyArray_Check(self.array):
            return ...
        if self.whole is None:
            return self.array.base
        whole = self.whole
        while whole.whole is not None:
            whole = whole.whole
        return whole

    cdef int refuse_of_argument(self, str name) except -1:
        """Record no more where a function asks whether its argument is a view: no form says so."""
        if self.recording.owner_of(self.slot) < self.recording.arguments:
            self.recording.give_up(f"x.{name} of an argument says whether it is a view")
        return 0

    @property
    def flags(self):
        if not cnp.PyArray_Check(self.array) or is_lindiffs(innermost_frame()):
            return self.array.flags
        return Flags(self, self.array.flags)

    @property
    def __lindiff_without_axes__(self):
        return cnp.PyArray_Check(self.array) and cnp.PyArray_NDIM(self.array) == 0

    @property
    def __lindiff_lies_as__(self):
        """The array, of which nothing but the layout is looked at; None of a number."""
        return self.array if cnp.PyArray_CheckExact(self.array) else None

    def __lindiff_read_only__(self):
        """Let this array, a view, be one that cannot be written to."""
        self.array.flags.writeable = False

    def __lindiff_kept__(self):
        """This array as it is now, whatever is written to it later."""
        cdef Recorded same
        if not cnp.PyArray_Check(self.array):
            return self
        if self.recording.ended:
            return self.array.copy(order="K")
        same = RecordedArray.__new__(RecordedArray)
        same.recording, same.array, same.slot, same.whole = self.recording, self.array, self.slot, self
        self.recording.keep(self.slot, weakref.ref(same))
        return same

    def leave_memory(self):
        """Have a copy of the memory that somebody will write to."""
        cdef object copied = record(method("copy"), (self,), {"order": "K"})
        if isinstance(copied, Recorded):
            self.array, self.slot = (<Recorded>copied).array, (<Recorded>copied).slot
        else:
            self.array = copied
        self.whole = None

    @property
    def __lindiff_kernels__(self):
        """The kernels of the array, as instructions; None where it has none."""
        found = kernels(self.array)
        if found is None:
            return None
        known = recording_kernels.get(found)
        if known is None:
            known = recording_kernels[found] = Kernels(found)
        return known

    @property
    def __class__(self):
        """For code that is not ours, the class of the array that it stands for."""
        frame = innermost_frame()
        while frame.f_back is not None and frame.f_globals.get("__name__") in ON_BEHALF:
            frame = frame.f_back
        return type(self) if is_lindiffs(frame) else type(self.array)

    # -- operations ----------------------------------------------------------------------------------------

    def __array_ufunc__(self, ufunc, str method, *inputs, **kwargs):
        for x in inputs:
            if not is_known(x):
                if any([isinstance(x, Recorded) for x in kwargs.get("out", ())]):
                    self.recording.give_up("what depends on a Variable is written into a constant")
                if self.recording.ended:
                    break
                return NotImplemented
        if len(kwargs) == 1 and method == "__call__" and cnp.PyArray_CheckExact(inputs[0]) \
                and kwargs.get("out") is not None and kwargs["out"][0] is inputs[0]:
            bound = self.rebound(ufunc, inputs, innermost_frame())
            if bound is not None:
                return bound
        if is_generic(inputs[0]) and len(inputs) == 2 and not kwargs and not cnp.PyArray_Check(self.array) \
                and method == "__call__" and is_operator(innermost_frame()):  # of a number, which asks
            return record(power, inputs, kwargs) if ufunc is np.power else of_two(ufunc, inputs[0], self)
        return record(ufunc if method == "__call__" else getattr(ufunc, method), inputs, kwargs)

    cdef object rebound(self, object ufunc, tuple inputs, object frame):
        """What ``a op= v`` binds a local name to that alone has the plain array ``a``; None where others may
        see what is written there, or the result is another array."""
        if self.recording.ended or not is_statement(frame) or not inputs[0].flags.writeable \
                or not may_rebind(ufunc, inputs[0], frame, ("STORE_FAST",), an_array):
            return None
        result = record(ufunc, inputs, NOTHING)
        if not isinstance(result, Recorded):
            return None
        bound = result if result.ndim else result[...]
        return bound if has_form_of(inputs[0], bound.array) else None

    def __array_function__(self, function, types, args, kwargs):
        for kind in types:
            if not issubclass(kind, (Recorded, np.ndarray)) and not self.recording.ended:
                return NotImplemented
        if kwargs:
            args, kwargs = by_place(function, args, kwargs)
        if function in OF_FORM and len(args) == 1 and not kwargs and isinstance(args[0], Recorded):
            return function((<Recorded>args[0]).array)
        if function is np.linalg.matrix_power:  # whether it gives the matrix itself back depends on n
            args = (*args[:1], *[operator.index(n) if isinstance(n, Recorded) else n for n in args[1:]])
            if isinstance(kwargs.get("n"), Recorded):
                kwargs = {**kwargs, "n": operator.index(kwargs["n"])}
        if function in MADE_LIKE and first_of(args, kwargs) is None:
            return MADE_LIKE[function](self, *args, **kwargs)
        if hasattr(function, "_implementation") \
                and not any([isinstance(x, Recorded) for x in leaves_of((args, kwargs))]):
            self.recording.give_up("an operation with arrays in something that is no list")
            return function._implementation(*args, **kwargs)
        return record(function, args, kwargs)

    def __getitem__(self, index):
        return record(getitem, (self, index), NOTHING)

    def __getattr__(self, str name):
        if name in PROTOCOLS or (name in ASKED_FIRST and name in innermost_frame().f_code.co_names):
            self.recording.give_up(f"x.{name} shows the memory of an array")
            return getattr(self.array, name)
        if name.startswith("__") or not hasattr(self.array, name):
            raise AttributeError(f"{type(self).__name__!r} object has no attribute {name!r}")
        if name in MEMORY:
            self.recording.give_up(f"x.{name} shows the memory of an array")
            return getattr(self.array, name)
        if name in VIEWS:
            return record(VIEWS[name], (self,), NOTHING)
        found = getattr(self.array, name)
        if not callable(found):
            return found
        return lambda *args, **kwargs: record(method(name), (self, *args), kwargs)

    def __copy__(self):
        return record(method("copy"), (self,), {"order": "K"})

    def __deepcopy__(self, memo):
        return record(method("copy"), (self,), {"order": "K"})

    def __reduce__(self):
        self.recording.give_up("an array is pickled")
        return self.array.__reduce__()

    # -- operators -----------------------------------------------------------------------------------------

    def __lt__(self, x):
        return of_two(np.less, self, x)

    def __le__(self, x):
        return of_two(np.less_equal, self, x)

    def __eq__(self, x):
        return self.array == x if equals_none_of(self, x) else of_two(np.equal, self, x)

    def __ne__(self, x):
        return self.array != x if equals_none_of(self, x) else of_two(np.not_equal, self, x)

    def __gt__(self, x):
        return of_two(np.greater, self, x)

    def __ge__(self, x):
        return of_two(np.greater_equal, self, x)

    def __add__(self, x):
        return of_two(np.add, self, x)

    def __radd__(self, x):
        return of_two(np.add, x, self)

    def __sub__(self, x):
        return of_two(np.subtract, self, x)

    def __rsub__(self, x):
        return of_two(np.subtract, x, self)

    def __mul__(self, x):
        return self.repeating(x) if is_repeated(x) else of_two(np.multiply, self, x)

    def __rmul__(self, x):
        return self.repeating(x) if is_repeated(x) else of_two(np.multiply, x, self)

    def __matmul__(self, x):
        if is_usual(x) and not cnp.PyArray_Check(self.array):  # numbers have no such operator
            return record(operator.matmul, (self, x), NOTHING)
        return of_two(np.matmul, self, x)

    def __rmatmul__(self, x):
        if is_usual(x) and not cnp.PyArray_Check(self.array):
            return record(operator.matmul, (x, self), NOTHING)
        return of_two(np.matmul, x, self)

    def __truediv__(self, x):
        return of_two(np.true_divide, self, x)

    def __rtruediv__(self, x):
        return of_two(np.true_divide, x, self)

    def __floordiv__(self, x):
        return of_two(np.floor_divide, self, x)

    def __rfloordiv__(self, x):
        return of_two(np.floor_divide, x, self)

    def __mod__(self, x):
        return of_two(np.remainder, self, x)

    def __rmod__(self, x):
        return of_two(np.remainder, x, self)

    def __divmod__(self, x):
        return of_two(np.divmod, self, x)

    def __rdivmod__(self, x):
        return of_two(np.divmod, x, self)

    def __pow__(self, x, modulus):
        if modulus is not None or not is_known(x):
            return NotImplemented
        return record(power, (self, x), NOTHING)

    def __rpow__(self, x, modulus):
        if modulus is not None or not is_known(x):
            return NotImplemented
        return record(power, (x, self), NOTHING)

    def __lshift__(self, x):
        return of_two(np.left_shift, self, x)

    def __rlshift__(self, x):
        return of_two(np.left_shift, x, self)

    def __rshift__(self, x):
        return of_two(np.right_shift, self, x)

    def __rrshift__(self, x):
        return of_two(np.right_shift, x, self)

    def __and__(self, x):
        return of_two(np.bitwise_and, self, x)

    def __rand__(self, x):
        return of_two(np.bitwise_and, x, self)

    def __or__(self, x):
        return of_two(np.bitwise_or, self, x)

    def __ror__(self, x):
        return of_two(np.bitwise_or, x, self)

    def __xor__(self, x):
        return of_two(np.bitwise_xor, self, x)

    def __rxor__(self, x):
        return of_two(np.bitwise_xor, x, self)

    def __neg__(self):
        return record(np.negative, (self,), NOTHING)

    def __pos__(self):
        return record(np.positive, (self,), NOTHING)

    def __abs__(self):
        return record(operator.abs if is_complex_number(self) else np.absolute, (self,), NOTHING)

    def __invert__(self):
        return record(np.invert, (self,), NOTHING)

    # -- values that leave ---------------------------------------------------------------------------------

    def __bool__(self):
        return bool(self.leave(bool))

    def __int__(self):
        return int(self.leave(int))

    def __float__(self):
        return float(self.leave(float))

    def __complex__(self):
        return complex(self.leave(complex))

    def __round__(self, digits=None):
        return record(round, (self,) if digits is None else (self, digits), NOTHING)

    def __array__(self, dtype=None, copy=None):
        if cnp.PyArray_Check(self.array):  # what is written there, or read later, nobody would see
            self.recording.give_up(f"an array leaves as a whole{within_library()}")
            content = np.array(self.array, dtype=dtype, copy=copy)
            return self.recording.lent(self.array) if np.may_share_memory(content, self.array) else content
        content = np.array(self.leave(itself))
        return content if dtype is None else content.astype(dtype, copy=False)

    def item(self, *args):
        return record(method("item"), (self, *args), NOTHING)

    def tolist(self):
        return record(method("tolist"), (self,), NOTHING)

    def __bytes__(self):
        return bytes(record(bytes, (self,), NOTHING))

    def __hash__(self):
        return int(self.leave(hash))

    def __repr__(self):
        return repr(self.array) if self.recording.ended else str(self.leave(repr))

    def __str__(self):
        return str(self.leave(str))

    def __format__(self, spec):
        return str(record(format, (self, spec), NOTHING))

    cdef object leave(self, object function):
        """What Python gets to see; nothing that could be written to."""
        if self.recording.ended:
            return function(self.array)
        try:
            value = function(self.array)
        except Exception as error:
            self.recording.raised = error
            self.recording.add_leaving(function, self.slot, raised(error), line_of_user())
            raise
        self.recording.add_leaving(function, self.slot, value, line_of_user())
        return value

    cdef object repeating(self, object sequence):
        """The product with a list or the like, of which a number of NumPy's says how often it comes."""
        if cnp.PyArray_Check(self.array):
            return of_two(np.multiply, self, sequence)
        try:
            self.leave(operator.index)
        except TypeError:
            pass  # NumPy says so in other words
        return self.array * sequence


@cython.final
cdef class RecordedArray(Recorded):
    """An array, which has what numbers have not."""

    __hash__ = None

    def __len__(self):
        return len(self.array)

    def __setitem__(self, index, item):
        if isinstance(item, Recorded) and np.may_share_memory(self.array, (<Recorded>item).array):
            item = item.copy()  # NumPy copies some rows and columns that cross each other wrongly
        record(setitem, (self, index, item), NOTHING)

    def __iter__(self):
        if self.ndim == 0:
            raise TypeError("iteration over a 0-d array")
        return (self[i] for i in range(len(self)))

    def __contains__(self, x):
        return bool((self == x).any())

    def __iadd__(self, x):
        return in_place(np.add, self, x)

    def __isub__(self, x):
        return in_place(np.subtract, self, x)

    def __imul__(self, x):
        return in_place(np.multiply, self, x)

    def __imatmul__(self, x):
        if is_usual(x) and np.ndim(x) < 2:  # which NumPy refuses
            return record(operator.imatmul, (self, x), NOTHING)
        return in_place(np.matmul, self, x)

    def __itruediv__(self, x):
        return in_place(np.true_divide, self, x)

    def __ifloordiv__(self, x):
        return in_place(np.floor_divide, self, x)

    def __imod__(self, x):
        return in_place(np.remainder, self, x)

    def __ipow__(self, x):
        if not is_usual(x):
            return in_place(np.power, self, x)
        return record(operator.ipow, (self, x), NOTHING)

    def __ilshift__(self, x):
        return in_place(np.left_shift, self, x)

    def __irshift__(self, x):
        return in_place(np.right_shift, self, x)

    def __iand__(self, x):
        return in_place(np.bitwise_and, self, x)

    def __ior__(self, x):
        return in_place(np.bitwise_or, self, x)

    def __ixor__(self, x):
        return in_place(np.bitwise_xor, self, x)

    def __index__(self):
        return int(self.leave(operator.index))


@cython.final
cdef class RecordedInteger(Recorded):
    """An integer, or a truth value."""

    def __index__(self):
        return int(self.leave(operator.index))


cdef Recorded shell_for(object x):
    """A new one that has what ``x`` has: what ``hasattr`` and ``isinstance`` ask for is no guard."""
    if cnp.PyArray_Check(x):
        return RecordedArray.__new__(RecordedArray)
    if hasattr(type(x), "__index__"):
        return RecordedInteger.__new__(RecordedInteger)
    return Recorded.__new__(Recorded)


class Flags:
    """The flags of a Recorded array: what forms do not say, and changes, are no part of a program."""

    def __init__(self, Recorded x, flags):
        object.__setattr__(self, "_of", (x, flags))

    def __getattr__(self, name):
        flags = self._asked(name.lower() in ("owndata", "num"))
        return getattr(flags, name)

    def __getitem__(self, name):
        flags = self._asked(name in ("OWNDATA", "O"))
        return flags[name]

    def __setattr__(self, name, value):
        setattr(self._changed(), name, value)

    def __setitem__(self, name, value):
        self._changed()[name] = value

    def __eq__(self, other):
        return self._asked(True) == (other._asked(True) if isinstance(other, Flags) else other)

    def __repr__(self):
        return repr(self._asked(True))

    def _asked(self, says_whose):
        cdef Recorded x
        x, flags = self._of
        if says_whose:
            x.refuse_of_argument("flags.owndata")
        return flags

    def _changed(self):
        cdef Recorded x
        x, flags = self._of
        x.recording.give_up("x.flags.writeable = ... changes an array in place")
        return flags


# What the chain rule calls of arrays of another library.
cdef dict CHAIN = {"product": chain.product, "quotient": chain.quotient_of}
cdef dict recording_kernels = {}


class Kernels:
    """The kernels of a module, for Recorded arrays; nothing is overwritten."""

    def __init__(self, module):
        self._module = module

    def __getattr__(self, name):
        kernel = CHAIN.get(name) or getattr(self._module, name)

        def recording(*args, **options):
            return record(kernel, args, {k: v for k, v in options.items() if not k.startswith("overwrite_")})

        setattr(self, name, recording)
        return recording


cdef dict methods = {}


def method(str name):
    """The method of an array as a function; always the same one."""
    if name not in methods:

        def call(x, *args, **kwargs):
            return getattr(x, name)(*args, **kwargs)

        call.__name__ = name
        methods.setdefault(name, call)
    return methods[name]


cdef bint is_usual(object x):
    """Whether an operand is no array of another library's, known by its class alone."""
    kind = type(x)
    return (
        isinstance(x, Recorded) or cnp.PyArray_CheckExact(x) or kind is float or kind is int
        or kind is complex or is_generic(x)
    )


cdef bint is_known(object x) except -1:
    return is_usual(x) or cnp.PyArray_Check(x) or not hasattr(x, "__array_ufunc__")


# Operators that round complex numbers in another way than arrays of these, or compare them in another way
# where a part is NaN, and those that leave np.float64 to Python's complex numbers.
cdef dict OF_NUMBERS = {
    np.multiply: operator.mul, np.true_divide: operator.truediv,
    np.less: operator.lt, np.less_equal: operator.le, np.greater: operator.gt, np.greater_equal: operator.ge,
}
cdef dict OF_PYTHON = {**OF_NUMBERS, np.add: operator.add, np.subtract: operator.sub}


cdef bint is_complex_number(object x):
    return isinstance((<Recorded>x).array if isinstance(x, Recorded) else x, (complex, np.complexfloating))


cdef bint are_complex_numbers(object x, object y):
    """Whether at least one of two operands is complex, and none an array."""
    for z in (x, y):
        if cnp.PyArray_Check((<Recorded>z).array if isinstance(z, Recorded) else z):
            return False
    return is_complex_number(x) or is_complex_number(y)


cdef object of_two(object ufunc, object x, object y):
    """What an operator gives; NumPy asks the other operand first where that knows more."""
    if is_usual(x) and is_usual(y):
        if ufunc in OF_NUMBERS and are_complex_numbers(x, y):
            ufunc = OF_NUMBERS[ufunc]
        elif type(x) is complex and are_complex_numbers(x, y):
            ufunc = OF_PYTHON.get(ufunc, ufunc)
        return record(ufunc, (x, y), NOTHING)
    other = y if isinstance(x, Recorded) else x
    if getattr(other, "__array_ufunc__", ufunc) is None:
        return NotImplemented
    return ufunc(x, y)


cdef bint equals_none_of(Recorded x, object y) except -1:
    """Whether ``y`` is None or text, and the array has numbers, or text of another kind, which that equals
    none of: NumPy's operators say so, and its functions refuse it."""
    cdef str kind = x.array.dtype.kind
    if isinstance(y, (list, tuple)):
        return len(y) > 0 and all([equals_none_of(x, part) for part in y])
    if y is None:
        return kind != "O"
    return isinstance(y, (str, bytes)) and kind in ("biufcS" if isinstance(y, str) else "biufcU")


cdef object in_place(object ufunc, Recorded x, object y):
    """The same for ``x op= y`` with an array."""
    return ufunc(x, y, out=(x,))


# -- an operation ------------------------------------------------------------------------------------------

cpdef object record(object function, tuple args, dict kwargs):
    """``function(*args, **kwargs)``; with Recorded arrays among these it leaves an instruction.

    What cannot be recorded is carried out nevertheless: the recording is given up, and the run goes on.
    """
    cdef Recorded one = first_of(args, kwargs)
    cdef Recording recording
    cdef Operands operands
    cdef str line
    cdef bint quiet
    if one is None:
        return plain_result(function, args, kwargs)
    recording = one.recording
    operands = Operands.__new__(Operands)
    operands.recording, operands.given = recording, []
    try:
        slots = replaced_by(args, operands)
        named_slots = replaced_by(kwargs, operands) if kwargs else NOTHING
        line, quiet = line_of_user(), recording.is_quiet()
        note_writes(recording, function, args, kwargs)
    except Unrecordable as reason:
        recording.give_up(str(reason))
        return plain_result(function, args, kwargs)
    try:
        plain = replaced_by(args, PLAIN)
        value = function(*plain, **replaced_by(kwargs, PLAIN)) if kwargs else function(*<tuple>plain)
    except Exception as error:
        recording.raised = error
        recording.add_instruction(function, slots, named_slots, None, raised(error), line, quiet)
        raise
    try:
        if operands.are_written():
            raise Unrecordable("it writes into an array that is no argument")
        return operands.given_back(value, function, slots, named_slots, line, quiet)
    except Unrecordable as reason:
        recording.give_up(str(reason))
        return value


cdef object plain_result(object function, tuple args, dict kwargs):
    """The same of arrays whose recordings have ended: of what they stand for."""
    cdef list given = [x for x in leaves_of((args, kwargs)) if isinstance(x, Recorded)]
    value = function(*<tuple>replaced_by(args, PLAIN), **replaced_by(kwargs, PLAIN))
    for x in given:
        if cnp.PyArray_Check(value) and (<Recorded>x).array is value:
            return x
    return value


cdef Recorded first_of(tuple args, dict kwargs):
    """The first Recorded array among operands whose recording goes on, or None."""
    for x in args:
        if isinstance(x, Recorded) and not (<Recorded>x).recording.ended:
            return x
    for x in leaves_of((args, kwargs)):
        if isinstance(x, Recorded) and not (<Recorded>x).recording.ended:
            return x
    return None


@cython.final
cdef class Operands(Leaf):
    """What an operation is given: a slot for each array, and constants."""

    cdef Recording recording
    cdef list given      # Recorded arrays
    cdef list constants  # arrays that are none of these, each followed by its copy; or None

    cdef object of(self, object x):
        cdef Recorded y
        if not isinstance(x, Recorded):
            return self.constant(x)
        y = x
        if y.recording.ended:
            return self.constant(y.array)
        if y.recording is not self.recording:
            y.recording.give_up("arrays of two programs have met")
            raise Unrecordable("arrays of two programs have met")
        self.given.append(y)
        return y.slot

    cdef object constant(self, object x):
        kind = type(x)
        if kind is int or x is None or kind is float or kind is bool or is_generic(x):
            return x
        if cnp.PyArray_Check(x):
            if not cnp.PyArray_CheckExact(x) or has_objects(<cnp.ndarray>x):
                raise Unrecordable(f"an array of objects or of a class of its own, {type(x).__name__}")
            copy = self.recording.constant(x)
            if self.constants is None:
                self.constants = []
            self.constants += (x, copy)
            return copy
        if kind is Directions:
            raise Apart
        if kind is Variable:
            raise Unrecordable("what depends on a Variable is written into a constant")
        if isinstance(x, CONSTANTS):
            return x
        raise Unrecordable(f"an operation with a {kind.__name__}")

    cdef bint are_written(self) except -1:
        """Whether an array among the constants is another one than its copy."""
        cdef Py_ssize_t i
        if self.constants is not None:
            for i in range(0, len(self.constants), 2):
                if not have_same_bytes(self.constants[i], self.constants[i + 1]):
                    return True
        return False

    cdef object given_back(self, object value, object function, tuple slots, dict named_slots, str line,
                           bint quiet):
        """What an operation has given, as Recorded arrays; it leaves the instruction."""
        cdef Results results = Results.__new__(Results)
        results.operands, results.line = self, line
        results.fixed = len(self.given) == 1 and type(function) is not UFUNC and is_hashable(function) \
            and function in viewing_in_place
        result = replaced_by(value, results)
        self.recording.add_instruction(
            function, slots, named_slots, replaced_by(result, SLOTS), None, line, quiet
        )
        if results.leaving is None:
            return result
        for left in results.leaving:
            self.recording.add_leaving(itself, (<Left>left).slot, (<Left>left).value, line)
        return replaced_by(result, LEFT)


# Functions whose results are views at places that the forms of arrays and the other operands alone decide.
cdef set viewing_in_place = {
    np.flip, np.flipud, np.fliplr, np.rot90, np.atleast_1d, np.atleast_2d, np.atleast_3d, np.rollaxis,
    np.split, np.array_split, np.hsplit, np.vsplit, np.dsplit,
}


def view_in_place(*functions):
    """Declare that their results are views at places that do not depend on numbers."""
    viewing_in_place.update(functions)


@cython.final
cdef class Left:
    """What an operation has given that is no array."""

    cdef object slot
    cdef object value


@cython.final
cdef class Results(Leaf):
    """What an operation gives: Recorded arrays, and what leaves the program."""

    cdef Operands operands
    cdef str line
    cdef bint fixed    # views lie where they do whatever the numbers are
    cdef list leaving  # or None

    cdef object of(self, object x):
        cdef Left left
        if x is None:
            return x
        if self.operands.recording.keeps_numbers and isinstance(x, (float, complex)):
            x = np.asarray(x)[()]
        if not cnp.PyArray_CheckExact(x) and not is_number(x):
            if is_generic(x) or not isinstance(x, KNOWN):
                raise Unrecordable(f"a result that is a {type(x).__name__}")
            left = Left.__new__(Left)
            left.slot, left.value = self.operands.recording.new_slot(x, self.line, ()), x
            if self.leaving is None:
                self.leaving = []
            self.leaving.append(left)
            return left
        if cnp.PyArray_CheckExact(x) and has_objects(<cnp.ndarray>x):
            raise Unrecordable("a result that is an array of objects")
        if cnp.PyArray_CheckExact(x):  # NumPy has one object for each truth value
            for given in self.operands.given:
                if (<Recorded>given).array is x:
                    return given
        if self.operands.constants is not None:
            for constant in self.operands.constants[::2]:
                if np.may_share_memory(x, constant):
                    raise Unrecordable("what an operation gives lies in an array that is no argument")
        return recorded(self.operands.recording, x, self.line, self.operands.given, self.fixed)


@cython.final
cdef class Plain(Leaf):
    """The arrays themselves."""

    cdef object of(self, object x):
        return (<Recorded>x).array if isinstance(x, Recorded) else x


@cython.final
cdef class SlotsOf(Leaf):
    cdef object of(self, object x):
        if isinstance(x, Recorded):
            return (<Recorded>x).slot
        return (<Left>x).slot if type(x) is Left else x


@cython.final
cdef class WhatLeft(Leaf):
    cdef object of(self, object x):
        return (<Left>x).value if type(x) is Left else x


cdef Plain PLAIN = Plain()
cdef SlotsOf SLOTS = SlotsOf()
cdef WhatLeft LEFT = WhatLeft()

# What writes into its first argument, and the methods that do.
cdef frozenset WRITERS = frozenset({
    *(np.copyto, np.put, np.place, np.putmask, np.put_along_axis, np.fill_diagonal),
    *(operator.setitem, operator.ipow),
    *map(method, ("fill", "sort", "partition", "put", "itemset", "byteswap")),
})


cdef int note_writes(Recording recording, object function, tuple args, dict kwargs) except -1:
    """Which operands a function writes to."""
    if kwargs:
        out = kwargs.get("out")
        for x in out if isinstance(out, tuple) else (out,):
            note_write(recording, x)
    if type(function) is UFUNC:
        for x in args[function.nin:]:
            note_write(recording, x)
    elif function in WRITERS if is_hashable(function) else function.__name__ == "at":
        for x in args[:1]:
            note_write(recording, x)
    return 0


def may_write(function, tuple args, dict kwargs):
    """Whether a function may write into what it is given."""
    if "out" in kwargs or (type(function) is UFUNC and len(args) > function.nin):
        return True
    return getattr(function, "__name__", "") == "at" or not is_hashable(function) or function in WRITERS


cdef int note_write(Recording recording, object x) except -1:
    if isinstance(x, Recorded) and (<Recorded>x).recording is recording:
        for kept in recording.kept_of((<Recorded>x).slot):
            kept.leave_memory()
        recording.note_write((<Recorded>x).slot)
    elif isinstance(x, Recorded) or cnp.PyArray_Check(x):
        raise Unrecordable("it writes into an array that is no argument")
    return 0


cdef bint has_objects(cnp.ndarray x) except -1:
    """Whether an array holds objects: no array of numbers does."""
    return cnp.PyArray_TYPE(x) >= cnp.NPY_OBJECT and x.dtype.hasobject


cpdef bint is_hashable(object function):
    """Whether a function may be a key: methods of ufuncs are made anew each time."""
    cdef type kind = type(function)
    return kind is UFUNC or kind is PYTHON or type(getattr(function, "__self__", None)) is not UFUNC


cdef str within_library():
    """The library's function that the user's code is in, as in `` in scipy.signal.lfilter``; nothing where it
    is compiled, or the code of a program itself."""
    cdef str name = "", module
    users, frame = users_frame(), innermost_frame()
    while frame is not None and frame is not users:
        module = str(frame.f_globals.get("__name__"))
        if module.startswith("lindiff.programs."):
            return ""
        if not module.startswith("lindiff.") or "._" not in module:  # of which users do not know
            parts = [part for part in module.split(".") if not part.startswith("_")]
            name = f" in {'.'.join([*parts, frame.f_code.co_name])}"
        frame = frame.f_back
    return name


def itself(x):
    return x


cpdef bint is_number(object x) except -1:
    """Whether this is a number of NumPy's, a truth value or a time."""
    return is_generic(x) and x.dtype.kind in "biufcmM"


cpdef Recorded recorded(Recording recording, object array, str line, list given=None, bint fixed=True):
    """A new array of a recording, which may be a view of one of those ``given``."""
    cdef Recorded made = shell_for(array)
    cdef object slots = ()
    if given and cnp.PyArray_Check(array) and cnp.PyArray_BASE(<cnp.ndarray>array) != NULL:
        slots = [(<Recorded>x).slot for x in given]
    made.recording, made.array = recording, array
    made.slot = recording.new_slot(array, line, slots, fixed)
    if slots:
        owner = recording.owner_of(made.slot)
        for x in given:
            if recording.owner_of((<Recorded>x).slot) == owner:
                made.whole = x
                break
    return made


def an_array():
    """A matrix of one number in a recording of its own."""
    return recorded(Recording(), np.zeros((1, 1)), "")


cdef bint has_form_of(object x, object y) except -1:
    return cnp.PyArray_Check(y) and (x.shape, x.strides, x.dtype) == (y.shape, y.strides, y.dtype)


# A number has `x[()]`, and is no sequence all the same: with this slot Python would go through it.
cdef extern from "Python.h":
    ctypedef struct PySequenceMethods:
        void *sq_item
    ctypedef struct PyTypeObject:
        PySequenceMethods *tp_as_sequence
    void PyType_Modified(PyTypeObject *)

for kind in (Recorded, RecordedInteger):
    (<PyTypeObject *>kind).tp_as_sequence.sq_item = NULL
    PyType_Modified(<PyTypeObject *>kind)
