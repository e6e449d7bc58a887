"""Calls of programs with arguments of a form that was met before: from arguments to results without Python.

With Variables among the arguments a call is one operation on the record, an :class:`OfProgram`.
"""

cimport cython
cimport numpy as cnp

from lindiff.core.differential cimport Differential, place_of
from lindiff.core.observer cimport observing
from lindiff.core.record cimport Trace
from lindiff.core.tally cimport Tally, running, set_aside, take_up
from lindiff.core.variable cimport (
    Variable, as_scalar_or_array, is_generic, is_inexact, kept, record, record_outputs, value_of, watch_over,
)
from lindiff.programs.matching cimport Arguments, OfArray, Watch
from lindiff.programs.taped cimport Taped, TapedCall, in_layout, refuse_change

from lindiff.core import pytree
import numpy as np

from lindiff.core.directions import Apart, Directions
from lindiff.programs.compiling import compiled
from lindiff.programs.machine import MISSED, WARNED
from lindiff.programs.taped import taped_of
from lindiff.programs.tree import Unrepeatable, run as run_by_python

cnp.import_array()

cdef dict NOTHING = {}

cdef enum:
    CHECKED = 3  # walks: functions run in these, programs in later ones


@cython.final
cdef class Known:
    """What is known of the runs for arguments of one form.

    Attributes
    ----------
    tree : Tree or None
        The runs that have been recorded.
    machine : Machine, False or None
        Of the tree, once it has run; False where it has none.
    surroundings : Surroundings or None
        What the function has read besides its arguments.
    recordings : int
    callers : set of str
        The lines that the program was called from while it was recorded.
    in_vain : int
        Recordings in a row of which none was of use.
    reason : str or None
        Why it runs without a program.
    shares : bool
        Results have memory in common with each other or with arguments.
    unsteady : bool
        What the function reads besides its arguments has changed while it was recorded last.
    taped : dict
        By the places of the arguments that are Variables: the program in two halves; False without one.
    """

    cdef public object tree
    cdef public object machine
    cdef public object surroundings
    cdef public int recordings
    cdef public set callers
    cdef public int in_vain
    cdef public object reason
    cdef public bint shares
    cdef public bint unsteady
    cdef dict taped

    def __cinit__(self):
        self.callers = set()
        self.taped = {}

    def forget(self):
        self.tree = self.machine = self.surroundings = None
        self.taped = {}

    def machine_of(self, tree, arguments):
        """The machine of the tree; False where it has none."""
        machine = self.machine
        if machine is None:
            machine = compiled(tree, arguments) or False
            if self.tree is tree:
                self.machine = machine
        return machine

    def ready(self):
        """The machine, if it can run as things are; else None."""
        if not self.machine or self.tree is None or self.surroundings is None \
                or not (<Watch>self.surroundings.watch).unchanged():
            return None
        return self.machine

    cpdef object run(self, list arrays):
        """The result for these arguments; MISSED where no two runs have gone that way."""
        tree, surroundings, machine = self.tree, self.surroundings, self.machine
        if tree is None or surroundings is None or not tree.confirmed:
            return MISSED
        if not (<Watch>surroundings.watch).unchanged():
            self.forget()
            return MISSED
        if machine is None:
            machine = self.machine_of(tree, len(arrays))
        return machine(arrays) if machine is not False else run_by_python(tree, list(arrays))


cdef class Calls:
    """What is done first in a call of a program: look for what is known of arguments of this form.

    Attributes
    ----------
    function : callable
        The function itself.
    recent : list of (Arguments, Known)
        The forms that were met lately.
    in_vain : int
        Forms of arguments in a row of which no program was of use.
    recomputes : bool
        A call leaves nothing but its arguments for a walk over the record.
    """

    cdef public bint recomputes
    cdef int walks            # of a derivative, as long as they are few
    cdef public object function
    cdef public list recent
    cdef public int in_vain
    cdef object __weakref__
    cdef dict __dict__

    def __init__(self, function):
        self.function = function
        self.recent = []
        self.in_vain = 0

    def __call__(self, *args, **kwargs):
        return as_one_operation(self.carried_out, args, kwargs) if running else self.carried_out(args, kwargs)

    cpdef object carried_out(self, tuple args, dict kwargs, list begun=None):
        """The result, by the program where there is one."""
        result = self.repeated(args, kwargs)
        return self.called(args, kwargs, begun) if result is MISSED else result

    def called(self, args, kwargs, begun=None):
        """The result for arguments of any form; recorded runs tell ``begun`` what they began with."""
        raise NotImplementedError

    def derivative(self, of, chosen, others=()):
        """The program of the ``"pullback"``, or another derivative, for the ``chosen`` leaves of arguments;
        the ``others`` that Variables may be written into."""
        raise NotImplementedError

    cpdef object repeated(self, tuple args, dict kwargs):
        """The result for arguments of a form that was met lately; MISSED for others."""
        cdef list arrays
        if observing():
            return MISSED
        for form, known in self.recent:
            arrays = (<Arguments>form).arrays(args, kwargs)
            if arrays is not None:
                if (<Arguments>form).variables:
                    return self.operation(form, known, arrays, args)
                return self.run(known, arrays, args, kwargs)
        return MISSED

    def repeated_by(self, tuple args, Known known, object tree):
        """The result by these steps, which are known for plain arguments; MISSED where others would be
        taken."""
        cdef list arrays
        if known.tree is tree and tree.ways == 1 and not observing():
            for form, met in self.recent:
                if met is known:
                    arrays = (<Arguments>form).arrays(args, {})
                    if arrays is not None and not (<Arguments>form).variables:
                        return self.run(known, arrays, args, {})
        return MISSED

    cpdef object run(self, Known known, list arrays, tuple args, dict kwargs):
        """The same for arguments of a known form."""
        result = known.run(arrays)
        if result is WARNED:  # NumPy says so at the function's own line
            return self.function(*args, **kwargs)
        if result is not MISSED:
            known.in_vain = self.in_vain = 0
        return result

    cdef object operation(self, Arguments form, Known known, list arrays, tuple args):
        """The same for Variables among them, all of them of one trace."""
        cdef Trace trace = None
        cdef Variable x
        cdef Py_ssize_t i, at = 0
        cdef OfProgram differential
        cdef list nodes = [], places = [], given, held, guards = []
        for i in form.variables:
            x = args[i]
            if trace is None:
                trace = x.node.trace
            elif trace is not x.node.trace:
                return MISSED
            nodes.append(x.node)
        if trace.level == 0:
            return MISSED
        if not self.recomputes and not trace.forward:
            taped = known.taped.get(form.variables)
            if type(taped) is Taped:
                result = (<Taped>taped).called(self, known, form, trace, nodes, arrays, args)
                if result is not MISSED:
                    known.in_vain = self.in_vain = 0
                    return result
        given, held = list(args), list(arrays)
        for i in range(len(args)):
            if type(args[i]) is Variable:
                places.append(place_of(i))
                given[i] = arrays[at]
                at += 1
            elif cnp.PyArray_CheckExact(args[i]) or is_generic(args[i]):
                given[i] = held[at] = kept(args[i], guards)
                at += 1
        held = in_layout(form, held, arrays, tuple(given))
        if held is None:
            return MISSED
        result = self.run(known, held, tuple(given), {})
        if result is MISSED:
            return MISSED
        differential = OfProgram.__new__(OfProgram)
        differential.of_call(self, tuple(given), NOTHING, given, 0, known.surroundings)
        differential.known, differential.variables = known, form.variables
        return self.recorded(differential, trace, nodes, places, given, guards, result)

    def differential_of(self, TapedCall call):
        """What a call is that has left what the way back needs, for the other ways."""
        cdef OfProgram made = OfProgram.__new__(OfProgram)
        cdef Taped taped = call.taped
        cdef list given = call.given(), likes = []
        cdef list places = [place_of(i) for i in taped.active]
        for y, form in zip(call.likes, taped.forms):
            likes.append(y if (<OfArray>form).is_array else y[()])
        made.of_call(self, tuple(given), NOTHING, given, 0, taped.surroundings)
        made.known, made.variables, made.likes = call.known, taped.active, likes
        made.bind(call.trace, call.nodes(), places, tuple(given), likes if taped.several else likes[0])
        return made

    cdef object recorded(self, OfProgram differential, Trace trace, list nodes, list places, list given,
                         list guards, object result):
        """A result as the output of an operation."""
        cdef list outputs, values
        if type(result) is not tuple:
            values = [result]
            differential.likes = values
            differential.bind(trace, nodes, places, tuple(given), result)
            outputs = [record(trace, differential, result)]
        else:
            values = list(<tuple>result)
            differential.likes = values
            differential.bind(trace, nodes, places, tuple(given), values)
            outputs = record_outputs(trace, differential, values)
        if guards:
            watch_over(differential, guards, self.function)
        for i in range(len(values)):
            if cnp.PyArray_CheckExact(values[i]) and cnp.PyArray_NDIM(<cnp.ndarray>values[i]) == 0 \
                    and type(outputs[i]) is Variable:
                outputs[i] = as_scalar_or_array(outputs[i], False)
        return outputs[0] if type(result) is not tuple else tuple(outputs)


cdef object halves_of(object both, Known known, list y_bars, tuple active, tuple given, bint several):
    """The program of values and cotangents in two halves; None as long as it is not known well enough, False
    where it cannot be cut."""
    cdef list arrays = [x for x in given[0] if cnp.PyArray_CheckExact(x) or is_generic(x)]
    of_both = both.known_for(given, {})
    if of_both is None:
        return None
    if of_both.tree is None or of_both.surroundings is None or not of_both.tree.confirmed:
        return False if of_both.reason is not None else None
    if known.tree is None:
        return False
    return taped_of(of_both.tree, of_both.surroundings, known.tree, y_bars, active, arrays, several)


def is_counted():
    """Whether the tally of a thread counts what operations do."""
    return running


def as_one_operation(function, *args):
    """What ``function(*args)`` gives; the tally of this thread counts arguments and results alone.

    What there is between them depends on what the program knows by then: it is recorded in one run, and
    carried out without operations in the next one.
    """
    cdef Tally tally = set_aside()
    if tally is None:
        return function(*args)
    try:
        result = function(*args)
    finally:
        take_up(tally)
    tally.add([value_of(x) for x in pytree.flatten((args, result))[0]])
    return result


def has_outputs(result):
    """Whether a result is an array, or a tuple of arrays, that all may have derivatives."""
    if type(result) is not tuple:
        return is_output(result)
    return bool(result) and all([is_output(y) for y in result])


cdef bint is_output(object y):
    return (cnp.PyArray_CheckExact(y) or is_generic(y)) and is_inexact(y)


@cython.final
cdef class OfProgram(Differential):
    """The differential of a program.

    Its pullback is a program of the same arguments and a cotangent, which computes again what it needs on the
    way; its pushforward likewise.

    Parameters
    ----------
    calls : Calls
        The program.
    args, kwargs : tuple, dict
        Its arguments, seen outside the trace.
    leaves : list
        The leaves of these.
    first : int
        The place of the first of them among the arguments of the operation.
    surroundings : Surroundings
        What the function has read besides them, which has to be the same in a walk.

    Attributes
    ----------
    likes : list
        The outputs.
    variables : tuple of int
        The leaves that were Variables, of any trace.
    """

    cdef Calls calls
    cdef tuple args
    cdef dict kwargs
    cdef list leaves
    cdef Py_ssize_t first
    cdef object surroundings
    cdef public list likes
    cdef public tuple variables
    cdef Known known      # of calls that are recorded without Python: what is known

    def __init__(self, Calls calls, tuple args, dict kwargs, list leaves, Py_ssize_t first, surroundings):
        self.of_call(calls, args, kwargs, leaves, first, surroundings)

    cdef int of_call(self, Calls calls, tuple args, dict kwargs, list leaves, Py_ssize_t first,
                     object surroundings) except -1:
        self.pullback = self.pushforward = calls
        self.selective = True
        self.linear_in = self.accumulates = ()
        self.calls = calls
        self.args = args
        self.kwargs = kwargs
        self.leaves = leaves
        self.first = first
        self.surroundings = surroundings
        self.variables = ()
        return 0

    cdef object derivative(self, str of, tuple chosen):
        """The program of a derivative for these of the leaves."""
        cdef tuple others = tuple([i for i in self.variables if i not in chosen])
        return self.calls.derivative(of, chosen, others) if others else self.calls.derivative(of, chosen)

    cdef object pull_arguments(self, object y_bar, bint overwrite=False):
        cdef list y_bars = list(<list>y_bar) if type(y_bar) is list else [y_bar]
        cdef list x_bars = [None] * (len(self.leaves) + self.first)
        cdef tuple active = self.active()
        cdef Py_ssize_t i
        refuse_directions(y_bars)
        refuse_change(self.calls, self.surroundings)
        for i in range(len(y_bars)):
            y_bars[i] = like(self.likes[i], y_bars[i])
        found = self.pulled(y_bars, active)
        for i in range(len(active)):
            x_bars[<Py_ssize_t>active[i]] = found[i]
        return x_bars

    cdef object pulled(self, list y_bars, tuple active):
        """The cotangents of the active arguments, by a program."""
        cdef tuple chosen = active if self.first == 0 else tuple([i - self.first for i in active])
        cdef tuple given = (self.args, self.kwargs, y_bars)
        if not are_plain(y_bars) or not (self.known is not None or hold_no_variable(self.leaves)):
            return self.derivative("pullback", chosen)(*given)
        both = self.derivative("values and pullback", chosen)
        if self.known is not None and not self.calls.recomputes and self.variables not in self.known.taped:
            several = isinstance(self.result, (tuple, list))
            taped = halves_of(both, self.known, y_bars, active, given, several)
            if taped is not None:
                self.known.taped[self.variables] = taped
        values, x_bars = both(*given)
        if (<Calls>both).walks < CHECKED:
            (<Calls>both).walks += 1
            refuse_others(self.calls, values, self.likes)
        return x_bars

    def push_tangents(self, list x_dots):
        cdef list chosen = [i for i in range(len(self.leaves)) if x_dots[i + self.first] is not None]
        refuse_directions(x_dots)
        refuse_change(self.calls, self.surroundings)
        given = [like(self.leaves[i], x_dots[i + self.first]) for i in chosen]
        y_dots = self.derivative("pushforward", tuple(chosen))(self.args, self.kwargs, given)
        return y_dots if isinstance(self.result, (tuple, list)) else y_dots[0]


cdef int refuse_others(object calls, list values, list likes) except -1:
    """Raise where a function gives other values in a walk than in its call, by far more than rounding."""
    for y, before in zip(values, likes):
        with np.errstate(all="ignore"):
            size = np.max(np.abs(before), initial=0.0)
            if np.isfinite(size) and np.max(np.abs(y - before), initial=0.0) > 0.01 * size:
                raise Unrepeatable(
                    f"{calls!r} gives another result for the same arguments, which nothing that a program "
                    "sees has told it to: do not draw random numbers, count calls or read clocks within it")
    return 0


cdef bint are_plain(list y_bars):
    """Whether all are arrays, or numbers, of NumPy's."""
    for y_bar in y_bars:
        if not cnp.PyArray_CheckExact(y_bar) and not is_generic(y_bar):
            return False
    return True


cdef bint hold_no_variable(list leaves):
    for x in leaves:
        if type(x) is Variable:
            return False
    return True


cdef int refuse_directions(list dots) except -1:
    """Have many directions come one by one."""
    for dot in dots:
        if type(dot) is Directions:
            raise Apart
    return 0


cdef object like(object x, object dot):
    """A tangent or cotangent without axes as a number where ``x`` is one."""
    cdef bint is_number = (<Variable>x)._scalar if type(x) is Variable else is_generic(x)
    return dot[()] if is_number and cnp.PyArray_CheckExact(dot) else dot
