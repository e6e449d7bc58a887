"""What one run of a function did: its operations in their order, and the values that left them.

A recording is made by :class:`~lindiff.programs.recorded.Recorded` arrays: every operation of theirs is
carried out at once, and leaves an :class:`Instruction`.  Where Python gets to see a value (``if x > 0``,
``float(x)``), it leaves a guard.
"""

cimport cython
cimport numpy as cnp

from cpython.bytes cimport PyBytes_FromStringAndSize
from cpython.mem cimport PyMem_Free, PyMem_Realloc
from cpython.object cimport PyObject
from cpython.ref cimport Py_INCREF, Py_REFCNT, Py_XDECREF
from cpython.tuple cimport PyTuple_SET_ITEM
from cpython.type cimport PyType_GenericAlloc

from lindiff.core.constants cimport in_memory_of
from lindiff.programs.operands cimport have_same_bytes, leaves_of, same

import itertools
import warnings
import weakref
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from lindiff.programs.machine import form_of
from lindiff.programs.operands import Slot

cnp.import_array()

cdef extern from "Python.h":
    bint PyObject_GC_IsTracked(object x)
    void PyObject_GC_UnTrack(PyObject *x)
    int PyContextVar_Get(object var, PyObject *default, PyObject **value) except -1

cdef enum:
    MOST = 5_000_000  # operations of a program: the memory of a recording is some kB for each
    AXES = 64
    FORMS = 4096      # that are known at a time


class Unrecordable(BaseException):
    """The function does something that no program repeats; it runs without one then."""


class Instruction(NamedTuple):
    """``function(*args, **kwargs)``, whose arrays are in slots.

    Attributes
    ----------
    function : callable
        Of plain arrays.
    args, kwargs : tuple, dict
        Nested tuples, lists, dicts and slices, in which `Slot` stands for an array.
    result : tree
        Of `Slot` where the result has arrays, and of what else it has.
    raised : Raised or None
        The exception that it has raised; there is no result then.
    line : str
        Where the user's code says so.
    quiet : bool
        NumPy was told not to warn of what is not finite.
    """

    function: Callable[..., Any]
    args: tuple
    kwargs: dict
    result: Any
    raised: Any
    line: str
    quiet: bool = False


class Leaving(NamedTuple):
    """A guard: ``function(x)``, of what is in a slot, has been ``value``."""

    function: Callable[[Any], Any]
    slot: Slot
    value: Any
    line: str


cdef bint leads_nowhere(object x):
    """Whether a nested tuple holds nothing but leaves: Python's search for cycles need not see it.

    It leaves out tuples and dicts, as it does by itself where these hold nothing that it sees.
    """
    cdef type kind = type(x)
    if not PyObject_GC_IsTracked(x):
        return True
    if isinstance(x, tuple) or kind is list:
        for part in x:
            if not leads_nowhere(part):
                return False
    elif kind is slice:
        return leads_nowhere(x.start) and leads_nowhere(x.stop) and leads_nowhere(x.step)
    elif kind is dict:
        for part in (<dict>x).values():
            if not leads_nowhere(part):
                return False
    else:
        return False
    if kind is not list:
        PyObject_GC_UnTrack(<PyObject *>x)
    return True


cdef object row(object kind, tuple parts):
    """A named tuple, without Python's code for it."""
    cdef Py_ssize_t k
    made = PyType_GenericAlloc(kind, len(parts))
    for k in range(len(parts)):
        part = parts[k]
        Py_INCREF(part)  # which the new tuple takes
        PyTuple_SET_ITEM(made, k, part)
    return made


cdef dict WARNINGS = vars(warnings)


# Of recordings, and of what tells whether it was made in one, in the order of their beginnings.
numbers = itertools.count()


@cython.final
cdef class Recording:
    """The steps of one run, and the forms of the arrays that it has made.

    Attributes
    ----------
    steps : list of Instruction or Leaving
    forms, lines : list
        Of the array in each slot, and where it was made.
    roots : list of (slot, int, slot)
        In whose memory it lies, and how many bytes behind its first element; a view whose place depends on
        numbers has itself there.  Then whose memory that is in any case.
    captured : list of ndarray
        The arrays that are constants of operations.
    number : int
        What began later has a larger one.
    arguments : int
        How many of the first slots are arguments.
    writes_arguments : bool
    ended : bool
        Nothing is recorded any more: the run is over, or the recording has been given up.
    reason : str or None
        Why it has been given up: no program repeats what the function does.
    raised : Exception or None
        What an operation has raised last.
    keeps_numbers : bool
        Python's numbers that operations give do not leave, but are recorded as NumPy's.
    """

    def __cinit__(self, bint keeps_numbers=False):
        self.keeps_numbers = keeps_numbers
        self.steps, self.forms, self.lines, self.roots = [], [], [], []
        self.captured, self.loans = [], []
        self.number = next(numbers)
        self.contents, self.kept = {}, {}
        self.loud = np.geterr()
        self.filters = warnings.filters

    def __dealloc__(self):
        PyMem_Free(self.spans)

    cdef object lent(self, cnp.ndarray array):
        """What is given as a whole in the place of an array: a copy as long as the run lasts.

        Who writes there does it as NumPy does, or takes it to be a copy, as F2PY: a run with the array itself
        will tell.
        """
        cdef Loan loan
        if self.loans is None:
            return array
        loan = Loan.__new__(Loan)
        loan.array, loan.copy, loan.before = array, array.copy(order="K"), array.copy(order="K")
        loan.recording = self
        self.loans.append(weakref.ref(loan))
        return in_memory_of(loan.copy, loan)

    def tells_of_loans(self):
        """End the run, as far as loans go: whether it may tell what was lent from the arrays themselves."""
        cdef Loan loan
        for reference in self.loans or ():
            loan = reference()
            if loan is not None:
                self.is_told = self.is_told or not is_alone(loan.array)
                loan.end()
        self.loans = None
        return self.is_told

    cdef int note_write(self, Py_ssize_t slot) except -1:
        """Something is written into the array in a slot."""
        if (<tuple>self.roots[slot])[OWNER] < self.arguments:
            self.writes_arguments = True
        return 0

    cdef bint is_quiet(self) except -1:
        """Whether NumPy is told not to warn; it may be told nothing else than at the start."""
        if WARNINGS["filters"] is not self.filters:
            raise Unrecordable("it changes what becomes of warnings")
        told = what_numpy_is_told()
        if told is None or told is not self.told:
            self.quiet = self.asks_for_quiet(np.geterr())
            self.told = told
        return self.quiet

    cdef bint asks_for_quiet(self, dict told) except -1:
        if told == self.loud:
            return False
        if any([told[kind] != "ignore" for kind in ("divide", "over", "invalid")]):
            raise Unrecordable("it changes what NumPy does about numbers that are not finite")
        return True

    cdef object constant(self, cnp.ndarray x):
        """What an array of the function's own is now: it may be written to later."""
        known = self.contents.get(id(x))
        if known is None or known.shape != (<object>x).shape or known.dtype != x.dtype \
                or not have_same_bytes(known, x):
            known = self.contents[id(x)] = x.copy(order="K")
            self.captured.append(x)
        return known

    cdef int add(self, object step) except -1:
        if len(self.steps) >= MOST:
            self.give_up(f"more than {MOST} operations")
            return 0
        self.steps.append(step)
        return 0

    cdef int add_instruction(self, object function, tuple args, dict kwargs, object result, object raised,
                             str line, bint quiet) except -1:
        cdef object step = row(Instruction, (function, args, kwargs, result, raised, line, quiet))
        if leads_nowhere(args) and leads_nowhere(kwargs) and leads_nowhere(result) and raised is None:
            PyObject_GC_UnTrack(<PyObject *>step)  # functions of arrays do not lead to programs
        return self.add(step)

    cdef int add_leaving(self, object function, object slot, object value, str line) except -1:
        return self.add(row(Leaving, (function, slot, value, line)))

    cdef object new_slot(self, object array, str line, given, bint fixed=True):
        """A slot for an array, which may be a view of one of those in the slots ``given``; ``fixed``: at a
        place that does not depend on numbers."""
        cdef Py_ssize_t at = len(self.lines), root
        cdef object slot = new_slot(at)
        cdef Span span
        cdef Span *of
        self.forms.append(known_form(array))
        self.lines.append(line)
        self.make_room(at)
        self.spans[at].low = self.spans[at].high = NULL
        if cnp.PyArray_Check(array):
            span = span_of(array)
            if cnp.PyArray_BASE(<cnp.ndarray>array) != NULL and span.low < span.high:
                for other in given:
                    root = (<tuple>self.roots[<Py_ssize_t>other])[0]
                    of = &self.spans[root]
                    if of.low <= span.low and span.high <= of.high:
                        place = <tuple>self.roots[<Py_ssize_t>other]
                        if fixed:
                            behind = <Py_ssize_t>(span.first - of.first)
                            self.add_root((place[0], behind, place[OWNER]))
                        else:
                            self.spans[at] = span
                            self.add_root((slot, 0, place[OWNER]))
                        return slot
            self.spans[at] = span
        self.add_root((slot, 0, slot))
        return slot

    cdef int add_root(self, object place) except -1:
        PyObject_GC_UnTrack(<PyObject *>place)  # it leads nowhere
        self.roots.append(place)
        return 0

    cdef Py_ssize_t owner_of(self, Py_ssize_t slot) except -1:
        """The slot of the array in whose memory another one lies."""
        return (<tuple>self.roots[slot])[OWNER]

    cdef int make_room(self, Py_ssize_t at) except -1:
        cdef void *room
        if at >= self.room:
            room = PyMem_Realloc(self.spans, 2 * (at + 64) * sizeof(Span))
            if room == NULL:
                raise MemoryError()
            self.spans, self.room = <Span *>room, 2 * (at + 64)
        return 0

    cpdef give_up(self, str reason):
        """Let the run go on with plain arrays, where it has not ended."""
        if not self.ended:
            self.reason = reason
            self.end()

    cpdef end(self):
        """Record nothing any more; from now on nobody knows what is written to."""
        self.ended = True
        for slot in list(self.kept):
            for x in self.kept_of(slot):
                x.leave_memory()

    cdef int keep(self, Py_ssize_t slot, object reference) except -1:
        """Remember a view of the array in a slot that is to stay as it is now, by a weak reference."""
        self.kept.setdefault(self.owner_of(slot), []).append(reference)
        return 0

    cdef list kept_of(self, Py_ssize_t slot):
        """The views that are to stay as they are, of the memory that an array lies in; they are forgotten."""
        references = self.kept.pop(self.owner_of(slot), ())
        return [x for x in [reference() for reference in references] if x is not None]


@cython.final
@cython.no_gc_clear
cdef class Loan:
    """What a run has been given in the place of an array: a copy, whose memory this is as long as anybody has
    a part of it."""

    cdef object __weakref__
    cdef Recording recording  # None when the run is over
    cdef cnp.ndarray array
    cdef cnp.ndarray copy
    cdef cnp.ndarray before

    def __dealloc__(self):
        self.end()

    cdef int end(self) except -1:
        """Tell the recording whether one of both is no more what it was."""
        if self.recording is not None:
            if not (have_same_bytes(self.copy, self.before) and have_same_bytes(self.array, self.before)):
                self.recording.is_told = True
            self.recording = self.array = self.before = None
        return 0


cdef bint is_alone(cnp.ndarray array):
    """Whether nobody else has an array that is an attribute, or what it is a view of."""
    cdef PyObject *base = cnp.PyArray_BASE(array)
    return Py_REFCNT(array) == 2 and (base == NULL or base.ob_refcnt == 1)


cdef object new_slot(Py_ssize_t at):
    cdef object slot = Slot(at)
    PyObject_GC_UnTrack(<PyObject *>slot)  # it leads nowhere
    return slot


cdef Span span_of(cnp.ndarray a) noexcept:
    """Where the first element of an array lies, and the bounds of its memory."""
    cdef Span span
    cdef char *low = cnp.PyArray_BYTES(a)
    cdef char *high = low + cnp.PyArray_ITEMSIZE(a)
    cdef cnp.npy_intp reach
    cdef int k
    span.first = span.low = span.high = low
    for k in range(cnp.PyArray_NDIM(a)):
        if cnp.PyArray_DIM(a, k) == 0:
            return span
        reach = (cnp.PyArray_DIM(a, k) - 1) * cnp.PyArray_STRIDE(a, k)
        if reach > 0:
            high += reach
        else:
            low += reach
    span.low, span.high = low, high
    return span


# -- what is done again ------------------------------------------------------------------------------------

def repeated(list steps, list forms, Recording recording, Py_ssize_t start):
    """How many of ``steps`` a recording has done again from ``start`` on, with results of the same forms."""
    cdef Py_ssize_t i, most = min(len(steps), len(recording.steps) - start)
    for i in range(most):
        if not is_repeated(steps[i], recording.steps[start + i], forms, recording.forms):
            return i
    return max(most, 0)


cdef bint is_repeated(object step, object other, list forms, list other_forms) except -1:
    if type(step) is not Instruction or type(other) is not Instruction:
        return False
    if not same_function((<tuple>step)[FUNCTION], (<tuple>other)[FUNCTION]):
        return False
    for k in (ARGS, KWARGS, RESULT):
        if not same((<tuple>step)[k], (<tuple>other)[k]):
            return False
    if (<tuple>step)[RAISED] is not None or (<tuple>other)[RAISED] is not None:
        return False
    for x in leaves_of((<tuple>step)[RESULT]):
        if type(x) is Slot and not same(forms[<Py_ssize_t>x], other_forms[<Py_ssize_t>x]):
            return False
    return True


# -- forms -------------------------------------------------------------------------------------------------

cdef tuple TIMES = (np.datetime64, np.timedelta64)  # their dtypes have units
cdef dict forms = {}  # of plain arrays, by what is in them; of numbers, by their class


cdef object known_form(object x):
    """The form of an array, the same object where it is the same, as a rule."""
    name = type(x)
    if cnp.PyArray_CheckExact(x):
        name = written_form(x)
    elif cnp.PyArray_Check(x) or isinstance(x, TIMES):
        return form_of(x)
    form = forms.get(name)
    if form is None:
        if len(forms) >= FORMS:
            forms.clear()
        form = forms[name] = form_of(x)
    return form


cdef bytes written_form(cnp.ndarray x):
    """The address of the dtype, which the form holds, and what else is in it."""
    cdef cnp.npy_intp words[2 + 2 * AXES]
    cdef int k, axes = cnp.PyArray_NDIM(x)
    words[0] = <cnp.npy_intp><PyObject *>cnp.PyArray_DESCR(x)
    words[1] = cnp.PyArray_ISWRITEABLE(x)
    for k in range(axes):
        words[2 + 2 * k] = cnp.PyArray_DIM(x, k)
        words[3 + 2 * k] = cnp.PyArray_STRIDE(x, k)
    return PyBytes_FromStringAndSize(<char *>words, (2 + 2 * axes) * sizeof(cnp.npy_intp))


# -- what NumPy is told ------------------------------------------------------------------------------------

cdef object ERRORS = getattr(np._core.umath, "_extobj_contextvar", None)


cdef object what_numpy_is_told():
    """The object in which NumPy keeps what `np.errstate` says, another one after each change; or None."""
    cdef PyObject *found = NULL
    if ERRORS is None:
        return None
    PyContextVar_Get(ERRORS, NULL, &found)
    if found == NULL:
        return None
    told = <object>found
    Py_XDECREF(found)
    return told


cpdef bint same_function(object f, object g) except -1:
    """Whether two functions are one: methods of ufuncs are made anew each time."""
    return f is g or (
        hasattr(f, "__self__")
        and getattr(g, "__self__", None) is f.__self__
        and getattr(f, "__name__", f) == getattr(g, "__name__", g)
        and isinstance(f.__self__, np.ufunc)
    )
