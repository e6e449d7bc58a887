"""Calls of programs among Variables whose way back goes on in what the call has left.

A program of values and cotangents is cut in two, see `halves`: a call does the first half, the walk over the
record the second one.
"""

cimport cython
cimport numpy as cnp

from lindiff.core.differential cimport Differential
from lindiff.core.record cimport Node, NodeOfMany, Pull, Push, Trace
from lindiff.core.variable cimport Variable, is_generic, kept, record, record_outputs, watch_over
from lindiff.programs.machine cimport Contents, Machine, Memory, Stretch, told_flags, value_of_leaf
from lindiff.programs.matching cimport AXES, Arguments, OfArray, Watch, form_of_array

import numpy as np

from lindiff.programs.halves import forms_of_outputs, halves
from lindiff.programs.machine import MISSED, Again

cnp.import_array()

cdef dict NOTHING = {}


@cython.final
@cython.no_gc
@cython.freelist(256)
cdef class Tape:
    """What the first half of a program has left for the second one, which reads it and writes elsewhere: its
    arguments, memory that lies apart, and arrays that Python has made."""

    def __dealloc__(self):
        if self.block != NULL:
            self.first.layout.keep_block(self.block)


cdef Tape new_tape(Machine first, list arrays):
    cdef Tape tape = Tape.__new__(Tape)
    tape.block = first.layout.new_block()
    tape.first, tape.arrays = first, arrays
    return tape


cdef int lay_out(Tape tape, Memory memory) except -1:
    """Let all that was left be in its cells."""
    cdef list handed = tape.first.layout.handed
    cdef Py_ssize_t i
    memory.attach(tape.block)
    tape.first.fill(memory, tape.arrays)
    for i in range(len(handed)):
        x = tape.objects[i]
        if cnp.PyArray_CheckExact(x):
            memory.hold(handed[i], x)
        else:
            memory.objects[<Py_ssize_t>handed[i]] = x
    return 0


@cython.final
@cython.no_gc
cdef class TapedCall(NodeOfMany):
    """A call that has left what the way back needs.

    Elsewhere (forward, in many directions, cotangents of other forms or of an outer trace) it is the
    `differential` of the program, which computes all of it again.
    """

    cdef list given(self):
        """The arguments, seen outside the trace."""
        return list(self.tape.arrays if self.args is None else self.args)

    cdef list nodes(self):
        """Those of the Variables, in the order of their places."""
        return [self.parent(i) for i in range(len(self.taped.active))]

    cdef object differential(self):
        return self.calls.differential_of(self)

    cdef bint together(self):
        return True

    cdef int pull(self, Pull walk, object y_bar) except -1:
        refuse_change(self.calls, self.taped.surroundings)
        if self.taped.pull(self, walk, y_bar):
            return 0
        return (<Differential>self.differential()).pull(walk, y_bar)

    cdef object push(self, Push walk):
        return (<Differential>self.differential()).push(walk)


@cython.final
cdef class Taped:
    """A program of values and cotangents in two halves, for arguments of one form.

    Attributes
    ----------
    first, second : Machine
    surroundings : Surroundings
        That these are of.
    active : tuple of int
        The places of the arguments that have cotangents.
    forms : list of OfArray
        Of the cotangents that the second half is given.
    several : bool
        The result is a tuple.
    """

    cdef object called(self, object calls, object known, Arguments form, Trace trace, list nodes, list arrays,
                       tuple args):
        """The recorded result of a call; MISSED where the first half cannot be run."""
        cdef TapedCall call
        cdef Variable output
        cdef Tape tape
        cdef list values, outputs, guards = [], held = arrays
        cdef tuple given = args
        if not (<Watch>self.surroundings.watch).unchanged():
            return MISSED
        if len(arrays) > len(form.variables):
            held = held_of(args, arrays, guards)
            given = given_of(args, held)
            held = in_layout(form, held, arrays, given)
            if held is None:
                return MISSED
        tape = new_tape(self.first, held)
        values = self.values(tape, held)
        if values is None:
            return MISSED
        call = TapedCall.__new__(TapedCall)
        call.calls, call.known, call.taped, call.tape, call.likes = calls, known, self, tape, values
        if len(args) != len(arrays):
            call.args = given_of(args, held) if given is args else given
        call.take_parents(nodes)
        outputs = record_outputs(trace, call, values) if self.several else [record(trace, call, values[0])]
        if guards:
            watch_over(call, guards, calls.function)
        for i in range(len(outputs)):
            if type(outputs[i]) is Variable:
                output = outputs[i]
                output._scalar = output._scalar and not (<OfArray>self.forms[i]).is_array
        return tuple(outputs) if self.several else outputs[0]

    cdef list values(self, Tape tape, list arrays):
        """The results, numbers as arrays without axes; None where the first half cannot be run."""
        cdef Machine first = self.first
        cdef Memory memory = first.layout.memory()
        cdef Stretch stretch
        cdef list values = []
        memory.attach(tape.block)
        first.fill(memory, arrays)
        stretch = first.run(memory)
        if stretch is None or memory.flags and memory.flags & told_flags():
            return None
        if first.layout.handed:
            tape.objects = [memory.objects[<Py_ssize_t>cell] for cell in first.layout.handed]
        stretch.find_leaves(first.layout)
        for leaf in stretch.given:
            values.append((<Contents>leaf).copied(memory) if type(leaf) is Contents
                          else value_of_leaf(leaf, values, memory))
        first.release(memory, stretch)
        return values

    cdef list cotangents_for(self, object y_bar):
        """Cotangents of all results for the second half; None where one has another form."""
        cdef list y_bars
        cdef Py_ssize_t i
        if not self.several:
            return [y_bar] if (<OfArray>self.forms[0]).has_form(y_bar) else None
        if type(y_bar) is not list:
            return None
        y_bars = <list>y_bar
        for i in range(len(y_bars)):
            if y_bars[i] is None:
                y_bars[i] = self.zeros[i]
            elif not (<OfArray>self.forms[i]).has_form(y_bars[i]):
                return None
        return y_bars

    cdef bint pull(self, TapedCall call, object walk, object y_bar) except -1:
        """Add to the cotangents of the arguments; False where the second half cannot be run."""
        cdef Machine second = self.second
        cdef Memory memory
        cdef Stretch stretch
        cdef list y_bars = self.cotangents_for(y_bar)
        if y_bars is None:
            return False
        memory = second.layout.memory()
        lay_out(call.tape, memory)
        second.fill(memory, y_bars)
        stretch = second.run(memory)
        if stretch is None or memory.flags and memory.flags & told_flags():
            return False
        add_cotangents(call, <Pull>walk, stretch, memory)
        call.tape.first.let_go(memory)
        second.release(memory, stretch)
        return True


cdef list held_of(tuple args, list arrays, list guards):
    """Arrays for later: constants among the arguments as operations keep them."""
    cdef list held = list(arrays)
    cdef Py_ssize_t i, at = 0
    for i in range(len(args)):
        if is_array(args[i]):
            if type(args[i]) is not Variable:
                held[at] = kept(args[i], guards)
            at += 1
    return held


cdef list in_layout(Arguments form, list held, list arrays, tuple given):
    """The arrays of a call as they are kept; None where that is another layout than the program's.

    ``given`` are the arguments with these in the place of ``arrays``.
    """
    cdef bint alike = True
    cdef Py_ssize_t i
    for i in range(len(held)):
        alike = alike and lie_alike(held[i], arrays[i])
    if alike:
        return held if form.kept is None else None
    return None if form.kept is None else form.kept.arrays(given, NOTHING)


cpdef bint lie_alike(object x, object y) except -1:
    """Whether two arrays of one shape have the same strides; others have none."""
    cdef int k
    if x is y or not cnp.PyArray_CheckExact(x) or not cnp.PyArray_CheckExact(y):
        return True
    for k in range(cnp.PyArray_NDIM(<cnp.ndarray>x)):
        if cnp.PyArray_STRIDE(<cnp.ndarray>x, k) != cnp.PyArray_STRIDE(<cnp.ndarray>y, k):
            return False
    return True


cdef tuple given_of(tuple args, list held):
    """Arguments with these arrays among them."""
    cdef list given = list(args)
    cdef Py_ssize_t i, at = 0
    for i in range(len(args)):
        if is_array(args[i]):
            given[i] = held[at]
            at += 1
    return tuple(given)


cdef bint is_array(object x):
    return type(x) is Variable or cnp.PyArray_CheckExact(x) or is_generic(x)


cdef int add_cotangents(TapedCall call, Pull walk, Stretch stretch, Memory memory) except -1:
    """What the second half gives, one leaf for each of the nodes."""
    cdef Py_ssize_t k
    cdef Node parent
    stretch.find_leaves(memory.layout)
    for k in range(len(stretch.given)):
        parent = call.parent(k)
        leaf = stretch.given[k]
        if type(leaf) is Again:
            leaf = stretch.given[<Py_ssize_t>leaf]
        if type(leaf) is Contents:
            if not (<Contents>leaf).add_to(walk.buffer(parent), memory):
                walk.add(parent, (<Contents>leaf).copied(memory), True)
            continue
        x_bar = value_of_leaf(leaf, None, memory)
        if x_bar is not None:
            walk.add(parent, x_bar, stretch.is_fresh(leaf))
    return 0


def taped_of(tree_of_both, surroundings, tree, list y_bars, tuple active, list arrays, bint several):
    """A program of values and cotangents in two halves; False where it cannot be cut.

    Parameters
    ----------
    tree_of_both : Tree
    surroundings : Surroundings
        That both are of.
    tree : Tree
        Of the function.
    y_bars : list of ndarray
        Cotangents that are given.
    active : tuple of int
        The places of arguments that have cotangents.
    arrays : list
        Those among the arguments.
    several : bool
    """
    cdef Taped taped
    cdef Py_ssize_t early = len(arrays), late = len(y_bars)
    if len({id(x) for x in (*arrays, *y_bars)}) < early + late or any([np.ndim(y) > AXES for y in y_bars]):
        return False
    forms = forms_of_outputs(tree_of_both, late)
    if forms is None or forms != forms_of_outputs(tree, late) \
            or len(tree_of_both.root.result.leaves) != late + len(active):
        return False
    made = halves(tree_of_both, early, early + late, late)
    if made is None:
        return False
    taped = Taped.__new__(Taped)
    taped.first, taped.second = made
    taped.forms = [form_of_array(np.asarray(y_bar), form.strides is not None)
                   for y_bar, form in zip(y_bars, forms)]
    taped.zeros = [np.zeros_like(y_bar) for y_bar in y_bars]
    taped.surroundings = surroundings
    taped.active, taped.several = active, several
    return taped


cpdef int refuse_change(object calls, object surroundings) except -1:
    """Raise where what a function has read besides its arguments is not what it was in its call."""
    if not (<Watch>surroundings.watch).unchanged():
        raise RuntimeError(
            f"what {calls!r} reads besides its arguments (globals, closures, attributes, arrays) has changed "
            "between its call and the walk for derivatives: give it what changes as an argument")
    return 0
