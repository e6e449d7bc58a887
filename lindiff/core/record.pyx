"""The record of a computation: nodes, their order, and the two walks over them.

Running a function on Variables leaves one :class:`Node` for every operation: its differential, and the nodes
of its active inputs.  The nodes between inputs and outputs, inputs first, are the linearized program
(:class:`Record`).  Walked forward it pushes tangents (``jvp``), walked backward it pulls cotangents
(``vjp``).

A node never refers to its own output and cotangents live on the walk, so a record has no cycles and its nodes
need no garbage collector.  This module knows no operation; those are subclasses of ``Node`` elsewhere.
"""

cimport cython
cimport numpy as cnp
from cpython.mem cimport PyMem_Calloc, PyMem_Free, PyMem_Malloc, PyMem_Realloc
from cpython.object cimport PyObject
from cpython.contextvars cimport PyContextVar_Reset, PyContextVar_Set
from cpython.ref cimport Py_DECREF, Py_INCREF, Py_REFCNT, Py_XDECREF

from lindiff.core.awaited cimport tell_modules
from lindiff.kernels.loops cimport ADD, add_into
from lindiff.kernels.memory cimport copy, lend

import contextvars

from lindiff.core.directions import Directions, count_of, part_of, stacked

cnp.import_array()

# Numbers traces, walks and segments in the order of their beginning; changed with the GIL held.  A node has
# its time in `position` until a walk gives it a place.
clock = 0


cdef unsigned long long tick() noexcept:
    global clock
    clock += 1
    return clock


cdef class Trace:
    """One differentiation in progress.

    Traces are nested in time: of two traces the one with the larger ``level`` began later and is the inner
    one.  Its operations treat Variables of outer traces as constants, and record what they do to them there;
    that is what keeps perturbations of different orders apart.  When its function has returned, the level is
    0, outside all others: what was kept of its Variables is worth its value from then on.

    Parameters
    ----------
    forward : bool
        Push tangents at once instead of keeping a record.
    """

    def __cinit__(self, bint forward=False):
        tell_modules()
        self.began = self.level = tick()
        self.forward = forward
        self.running = 1


# The trace that `Variable(array)` joins. Each thread and task sees its own (PEP 567).
root_trace = Trace()
_current = contextvars.ContextVar("lindiff.trace", default=root_trace)

# Whether a function runs that has to do the same again, whatever there is around it.
_is_apart = contextvars.ContextVar("lindiff.apart", default=False)


def current_trace():
    """The trace of the innermost transform that is running in this context, else the root trace."""
    return _current.get()


cdef object enter(Trace trace):
    """Make ``trace`` the current one; give the result to ``leave``."""
    return PyContextVar_Set(_current, trace)


def outside_of_transforms(function, *args, **kwargs):
    """What a function gives as if no transform was running, and there were no Variables made by hand."""
    token = enter(root_trace)
    apart = _is_apart.set(True)
    try:
        return function(*args, **kwargs)
    finally:
        _is_apart.reset(apart)
        leave(token)


cdef object begin(Trace trace):
    """The same for a new trace, whose function is going to run."""
    trace.outer = current_trace()
    return enter(trace)


cdef int leave(object token) except -1:
    """Restore what was current before the matching ``enter``."""
    return PyContextVar_Reset(_current, token)


cdef void end(Trace trace) noexcept:
    """The function of ``trace`` has returned."""
    trace.running -= 1
    if trace.running == 0:
        trace.level = 0


cdef void resume(Trace trace) noexcept:
    """A part of the function of ``trace`` runs again; ``end`` ends it."""
    trace.running += 1
    trace.level = trace.began


cdef int meet_large(Trace trace) except -1:
    """There are large arrays in ``trace``: if it is current, NumPy makes its own in memory that is used again
    from here on, until its function has returned."""
    if trace.handler is None and trace is not root_trace and current_trace() is trace:
        trace.large = True
        trace.handler = lend()
    return 0


# The class of the steps that observers are told of, while there are any (lindiff.core.observer); else None.
cdef object observed_step = None


def observe_steps(step):
    """Let every step of a walk, and every call of a rule, run inside a ``step(...)``; None ends it."""
    global observed_step
    observed_step = step


# Dropping the last node of a long chain must not recurse through it: parents that die with their child are
# put on this stack and released one after the other.
cdef PyObject **_doomed = NULL
cdef Py_ssize_t _doomed_count = 0
cdef Py_ssize_t _doomed_room = 0
cdef bint _releasing = False


cdef void doom(PyObject *parent) noexcept:
    """Take over a reference for release by the outermost dying node."""
    global _doomed, _doomed_count, _doomed_room
    cdef PyObject **larger
    if _doomed_count == _doomed_room:
        larger = <PyObject **>PyMem_Realloc(_doomed, (2 * _doomed_room + 64) * sizeof(PyObject *))
        if larger == NULL:
            return  # out of memory: the reference is leaked rather than the process lost
        _doomed = larger
        _doomed_room = 2 * _doomed_room + 64
    _doomed[_doomed_count] = parent
    _doomed_count += 1


cdef void release_doomed() noexcept:
    """Release what is doomed, unless that is going on already."""
    global _doomed_count, _releasing
    if _releasing:
        return
    _releasing = True
    while _doomed_count > 0:
        _doomed_count -= 1
        Py_DECREF(<object>_doomed[_doomed_count])
    _releasing = False


@cython.no_gc
cdef class Node:
    """An operation of the record: the linear map from its inputs' tangents to its output's tangent.

    ``a`` and ``b`` are the nodes of the inputs (None where an input is constant); operations with more inputs
    answer with the rest from ``more``.  ``guard`` is that of the constants kept by reference, None without.
    """

    def __dealloc__(self):
        cdef Node parent = self.a
        if parent is not None and Py_REFCNT(parent) == 2:  # this node and the local name
            Py_INCREF(parent)
            doom(<PyObject *>parent)
        parent = self.b
        if parent is not None and Py_REFCNT(parent) == 2:
            Py_INCREF(parent)
            doom(<PyObject *>parent)
        parent = None
        if _doomed_count > 0 and not _releasing:
            self.a = None
            self.b = None
            release_doomed()

    cdef tuple more(self):
        """Parents beyond ``a`` and ``b``; None where there are none."""
        return None

    cdef int set_more(self, tuple parents) except -1:
        """Replace the parents that ``more`` answers with."""
        raise NotImplementedError(f"{type(self).__name__} has two parents at most")

    def parents(self):
        """The nodes of the inputs that are not constant."""
        return [parent for parent in (self.a, self.b, *(self.more() or ())) if parent is not None]

    cdef object operation(self):
        """What the node applies: a function, or its own class where that says it all."""
        return type(self)

    @property
    def name(self):
        """The name of the operation."""
        return self.operation().__name__.lower()

    cdef bint linear(self):
        """Whether the operation itself is linear in its active inputs together."""
        return False

    cdef bint together(self):
        """Whether ``pull`` and ``push`` take :class:`Directions`; else they are called for one by one."""
        return False

    cdef int pull(self, Pull walk, object y_bar) except -1:
        """Add the adjoint's image of ``y_bar`` to the cotangents of the parents."""
        raise NotImplementedError(f"{type(self).__name__} has no pullback")

    cdef object push(self, Push walk):
        """The output's tangent from the parents' tangents; None stands for zero."""
        raise NotImplementedError(f"{type(self).__name__} has no pushforward")


@cython.no_gc
cdef class NodeOfMany(Node):
    """An operation that may have more than two active inputs: ``rest`` are the nodes after ``a``, ``b``."""

    def __dealloc__(self):
        if self.rest is not None and Py_REFCNT(self.rest) == 1:
            Py_INCREF(self.rest)
            doom(<PyObject *>self.rest)

    cdef tuple more(self):
        return self.rest

    cdef int set_more(self, tuple parents) except -1:
        self.rest = parents
        return 0

    cdef int take_parents(self, list nodes) except -1:
        """The nodes of the active inputs, one at least."""
        self.a = nodes[0]
        if len(nodes) > 1:
            self.b = nodes[1]
        if len(nodes) > 2:
            self.rest = tuple(nodes[2:])
        return 0

    cdef Node parent(self, Py_ssize_t i):
        if i == 0:
            return self.a
        return self.b if i == 1 else <Node>self.rest[i - 2]


# How many Variables made by hand there are; changed with the GIL held.
cdef Py_ssize_t _made_by_hand = 0


cdef void count_made_by_hand(Py_ssize_t change) noexcept:
    global _made_by_hand
    _made_by_hand += change


cpdef bint is_recording():
    """Whether operations may be recorded: a transform is running, or there are Variables made by hand."""
    return current_trace() is not root_trace or (_made_by_hand > 0 and not _is_apart.get())


@cython.no_gc
cdef class Leaf(Node):
    """An input of the record; if made by hand, ``shape`` and ``dtype`` are those of its gradient."""

    def __dealloc__(self):
        if self.shape is not None:
            count_made_by_hand(-1)

    cdef bint linear(self):
        return True


@cython.no_gc
cdef class Tangent(Node):
    """What stands for an operation in a forward trace: nothing but the tangent of its output."""

    cdef object push(self, Push walk):
        return self.x_dot


@cython.no_gc
cdef class Component(Node):
    """One output of an operation with several; ``a`` is the operation."""

    cdef bint linear(self):
        return True

    cdef bint together(self):
        return True

    cdef int pull(self, Pull walk, object y_bar) except -1:
        walk.add_component(self.a, self.index, self.count, y_bar)
        return 0

    cdef object push(self, Push walk):
        cdef object y_dots = walk.tangent(self.a)
        return None if y_dots is None else y_dots[self.index]


cdef object _directions = Directions  # as a C variable: looked at for every cotangent
cdef object _variable = None  # the class of Variables, which is built on this module


cdef void know_variable(object variable) noexcept:
    global _variable
    _variable = variable


cdef inline bint base_is_alone(object x):
    """Whether the memory that ``x`` is a view of, if it is one, is seen by ``x`` alone.

    NumPy lets a view of a view refer to the memory itself: references to the one do not show the other.
    """
    cdef PyObject *base
    if not cnp.PyArray_CheckExact(x):
        return array_is_alone(x) if <object>type(x) is _directions else True
    base = <PyObject *>cnp.PyArray_BASE(<cnp.ndarray>x)
    return base == NULL or base.ob_refcnt == 1


cdef bint is_whole(object x):
    """Whether an array of another library, or a Variable, says that it is nobody's view.  (A Variable that
    stands for a scalar is never written to.)"""
    if type(x) is _variable and x._scalar:
        return False
    if cnp.PyArray_Check(x) or cnp.PyArray_CheckAnyScalar(x):
        return False
    name = "__lindiff_base__" if hasattr(type(x), "__lindiff_base__") else "base"
    return getattr(x, name, x) is None


cdef bint array_is_alone(object directions):
    """Whether the array behind Directions is seen through them alone."""
    array = directions.array
    return Py_REFCNT(array) == 2 and base_is_alone(array)  # its place there, and `array`


cdef bint add_in_place(object total, object x_bar) except -1:
    """``total += x_bar`` for arrays of one library, shape and dtype that ``add_into`` does not take; False
    where that is not the case.  For a ``total`` that nobody else sees."""
    if type(x_bar) is not type(total) or type(total) is _variable:
        return False
    if cnp.PyArray_CheckExact(total):
        if not cnp.PyArray_ISWRITEABLE(<cnp.ndarray>total):
            return False
    elif not is_whole(total):
        return False
    if total.shape != x_bar.shape or total.dtype != x_bar.dtype:
        return False
    total += x_bar
    return True


cdef inline object of_array(object x):
    """A NumPy scalar as the array without axes that it stands for: rules and kernels are quick with those."""
    if not cnp.PyArray_Check(x) and cnp.PyArray_CheckScalar(x):
        return cnp.PyArray_FROM_O(x)
    return x


cdef class Pull:
    """A walk backward: the cotangent of every node so far, and whether the walk made its memory.

    Memory that the walk made may be written to as soon as a single reference to it is left: two parents may
    be given the same array, the later one to be pulled overwrites it.

    With ``consume`` it takes the nodes over from the record, and releases them.
    """

    def __cinit__(self, Record record, bint consume):
        self.cotangent = <PyObject **>PyMem_Calloc(max(record.size, 1), sizeof(PyObject *))
        self.own = <char *>PyMem_Calloc(max(record.size, 1), 1)
        if self.cotangent == NULL or self.own == NULL:
            raise MemoryError()
        self.order = record.order
        self.size = record.size
        self.consume = consume
        if consume:
            record.order = NULL
            record.size = 0

    def __dealloc__(self):
        cdef Py_ssize_t i
        if self.cotangent != NULL:
            for i in range(self.size):
                Py_XDECREF(self.cotangent[i])
        PyMem_Free(self.cotangent)
        PyMem_Free(self.own)
        if self.consume:
            release(self.order, self.size)

    cdef Py_ssize_t place(self, Node node) except -1:
        """Where ``node`` stands in the record."""
        if node.position < self.size and self.order[node.position] == <PyObject *>node:
            return node.position
        return find(node, self.order, self.size)

    cdef int add(self, Node node, object x_bar, bint own) except -1:
        """Add to the cotangent of ``node``.  ``own``: the walk made this memory, nobody outside holds it."""
        cdef Py_ssize_t i = self.place(node)
        cdef object total
        if self.cotangent[i] == NULL:
            self.put(i, of_array(x_bar), own)
            return 0
        total = <object>self.cotangent[i]
        # one reference is its place here, one is `total`
        if self.own[i] and Py_REFCNT(total) == 2 and base_is_alone(total) \
                and (add_into(total, x_bar) or add_in_place(total, x_bar)):
            return 0
        if type(x_bar) is Directions:
            total = None  # its reference would hide that the walk alone has it
            if self.add_directions(node, x_bar.array):
                return 0
            total = <object>self.cotangent[i]
        total = ADD.of_two(total, x_bar)
        if total is None:
            total = of_array(<object>self.cotangent[i] + x_bar)
        self.put(i, total, True)
        return 0

    cdef bint add_directions(self, Node node, object x_bar) except -1:
        """Add to the cotangent of ``node`` in place; False where its memory is not for that."""
        cdef cnp.ndarray total = self.directions_buffer(node)
        return total is not None and add_into(total, x_bar)

    cdef void put(self, Py_ssize_t i, object total, bint own):
        cdef PyObject *old = self.cotangent[i]
        Py_INCREF(total)
        self.cotangent[i] = <PyObject *>total
        self.own[i] = own
        Py_XDECREF(old)

    cdef int replace(self, Node node, object total, bint own) except -1:
        """Put ``total`` in the place of the cotangent of ``node``, which it contains."""
        self.put(self.place(node), total, own)
        return 0

    cdef int add_component(self, Node node, Py_ssize_t index, Py_ssize_t count, object y_bar) except -1:
        """Add to one output's cotangent of an operation with ``count`` outputs."""
        cdef Py_ssize_t i = self.place(node)
        cdef list parts
        if self.cotangent[i] == NULL:
            parts = [None] * count
            self.put(i, parts, self.own[i])
        else:
            parts = <list>self.cotangent[i]
        parts[index] = y_bar if parts[index] is None else parts[index] + y_bar
        return 0

    cdef object buffer(self, Node node):
        """The cotangent of ``node`` if it is a NumPy array that may be added to in place, else None."""
        cdef Py_ssize_t i = self.place(node)
        if self.own[i] and self.cotangent[i] != NULL and self.cotangent[i].ob_refcnt == 1 \
                and cnp.PyArray_CheckExact(<object>self.cotangent[i]) \
                and base_is_alone(<object>self.cotangent[i]) \
                and cnp.PyArray_ISWRITEABLE(<cnp.ndarray>self.cotangent[i]):
            return <object>self.cotangent[i]
        return None

    cdef object foreign_buffer(self, Node node):
        """The same for an array of another library, or a Variable, that says to be nobody's view."""
        cdef Py_ssize_t i = self.place(node)
        if self.own[i] and self.cotangent[i] != NULL and self.cotangent[i].ob_refcnt == 1 \
                and is_whole(<object>self.cotangent[i]):
            return <object>self.cotangent[i]
        return None

    cdef object cotangent_to_write(self, Node node):
        """The cotangent of ``node``, an array of any library, if it may be added to in place; else None."""
        total = self.buffer(node)
        if total is None:
            total = self.foreign_buffer(node)
        return None if type(total) is _variable else total

    cdef cnp.ndarray directions_buffer(self, Node node):
        """The same for the array behind Directions."""
        cdef Py_ssize_t i = self.place(node)
        cdef object total
        if not self.own[i] or self.cotangent[i] == NULL or self.cotangent[i].ob_refcnt != 1:
            return None
        total = <object>self.cotangent[i]
        if type(total) is not Directions:
            return None
        total = total.array
        if cnp.PyArray_CheckExact(total) and cnp.PyArray_ISWRITEABLE(<cnp.ndarray>total) \
                and Py_REFCNT(total) == 2 and base_is_alone(total):  # there, and `total`
            return total
        return None

    cdef object take(self, Node node):
        """The cotangent of ``node``, given away as memory of its own; None where nothing arrived."""
        cdef object result
        cdef Py_ssize_t i = self.place(node)
        cdef bint own = self.own[i]
        result = self.taken(node)
        if result is None or (own and Py_REFCNT(result) == 1 and base_is_alone(result)):
            return result
        if cnp.PyArray_CheckExact(result):
            return copy(<cnp.ndarray>result, True)
        return result.copy() if hasattr(result, "copy") else result

    cdef object taken(self, Node node):
        """The cotangent of ``node``, which the walk forgets; None where nothing arrived."""
        cdef object result
        cdef Py_ssize_t i = self.place(node)
        if self.cotangent[i] == NULL:
            return None
        result = <object>self.cotangent[i]
        Py_DECREF(result)
        self.cotangent[i] = NULL
        return result


cdef Py_ssize_t count_among(list leaves):
    """How many directions these tangents or cotangents have; 0 for a single one."""
    for leaf in leaves:
        if type(leaf) is Directions:
            return leaf.count
    return 0


cdef int pull_each(Node node, Pull walk, object y_bar) except -1:
    """``node.pull`` for one direction after the other."""
    cdef Py_ssize_t i, k, count = count_of(y_bar)
    cdef list parents = list({id(parent): parent for parent in node.parents()}.values()), x_bars
    x_bars = [[None] * count for _ in parents]
    for k in range(count):
        node.pull(walk.each, part_of(y_bar, k))
        for i in range(len(parents)):
            x_bars[i][k] = walk.each.taken(<Node>parents[i])
    for i in range(len(parents)):
        x_bar = stacked(x_bars[i])
        if x_bar is not None:
            walk.add(<Node>parents[i], x_bar, True)
    return 0


cdef object push_each(Node node, Push walk, Py_ssize_t count):
    """``node.push`` for one direction after the other."""
    cdef Py_ssize_t k
    cdef list y_dots = []
    try:
        for k in range(count):
            walk.direction = k
            y_dots.append(node.push(walk))
    finally:
        walk.direction = -1
    return stacked(y_dots)


cdef void release(PyObject **order, Py_ssize_t size) noexcept:
    """Drop nodes, children first: then no node takes its parents with it, however long the chain."""
    while size > 0:
        size -= 1
        Py_XDECREF(order[size])
    PyMem_Free(order)


cdef Py_ssize_t find(Node node, PyObject **order, Py_ssize_t size) except -1:
    """Number the nodes again, where another record that shares them has numbered them since (Variables made
    by hand); answers with the number of ``node``."""
    cdef Py_ssize_t i
    for i in range(size):
        if order[i] != NULL:
            (<Node>order[i]).position = i
    if node.position >= size or order[node.position] != <PyObject *>node:
        raise RuntimeError("this node is not part of the record")
    return node.position


cdef class Push:
    """A walk forward: the tangent of every node by its position; None stands for zero.

    A tangent is forgotten after the node that uses it last, which may write to its memory.
    """

    def __dealloc__(self):
        PyMem_Free(self.last)

    cdef object tangent(self, Node node):
        if node is None:
            return None
        if self.tangents is None:  # a forward trace
            return node.push(self)
        if self.direction >= 0:
            return part_of(self.tangents[self.place(node)], self.direction)
        return self.tangents[self.place(node)]

    cdef bint uses_last(self, Node node) except -1:
        """Whether no node after the present one asks for the tangent of ``node``."""
        return self.last != NULL and self.direction < 0 and self.last[self.place(node)] == self.at

    cdef int find_last_uses(self) except -1:
        """Of each node, the position of the last one that has it as a parent; the end for results."""
        cdef Py_ssize_t i
        cdef Node node
        self.last = <Py_ssize_t *>PyMem_Calloc(max(self.record.size, 1), sizeof(Py_ssize_t))
        if self.last == NULL:
            raise MemoryError()
        for i in range(self.record.size):
            node = <Node>self.record.order[i]
            if node.a is not None:
                self.last[self.place(node.a)] = i
            if node.b is not None:
                self.last[self.place(node.b)] = i
            more = node.more()
            if more is not None:
                for parent in <tuple>more:
                    self.last[self.place(<Node>parent)] = i
        for node in self.record.results:
            if node is not None:
                self.last[self.place(node)] = self.record.size
        return 0

    cdef int forget(self, Node node) except -1:
        """Drop the tangent of a parent if the present node is the last one to use it."""
        cdef Py_ssize_t i = self.place(node)
        if self.last[i] == self.at:
            self.tangents[i] = None
        return 0

    cdef Py_ssize_t place(self, Node node) except -1:
        if node.position < self.record.size and self.record.order[node.position] == <PyObject *>node:
            return node.position
        return find(node, self.record.order, self.record.size)


# The trace of constants that Variables hold, outside all others: nothing is recorded there.
cdef Trace UNTRACED = Trace()
UNTRACED.level = 0
cdef Leaf CONSTANT = Leaf()
CONSTANT.trace = UNTRACED


# The walk of forward traces, whose nodes hold their tangents themselves.
cdef Push EAGER = Push()


cdef inline int pull_node(Node node, Pull walk, object y_bar, bint many) except -1:
    if node.guard is not None:
        node.guard.check(node)
    if many and not node.together() and count_of(y_bar) is not None:
        return pull_each(node, walk, y_bar)
    return node.pull(walk, y_bar)


cdef inline object push_node(Node node, Push walk, Py_ssize_t many):
    if node.guard is not None:
        node.guard.check(node)
    return push_each(node, walk, many) if many and not node.together() else node.push(walk)


cdef object shown(object x):
    """What an observer sees of a tangent or cotangent."""
    return x.array if type(x) is Directions else x


cdef int pull_observed(Node node, Pull walk, object y_bar, bint many) except -1:
    cdef PyObject *x_bar
    with observed_step("pull", node, [shown(y_bar)]) as step:
        pull_node(node, walk, y_bar, many)
        step.result = []
        for parent in node.parents():
            x_bar = walk.cotangent[walk.place(parent)]
            step.result.append(None if x_bar == NULL else shown(<object>x_bar))
    return 0


cdef object push_at_once(Node node):
    """The tangent of an operation in a forward trace."""
    return node.push(EAGER) if observed_step is None else push_observed(node, EAGER, 0)


cdef object push_observed(Node node, Push walk, Py_ssize_t many):
    with observed_step("push", node, [shown(walk.tangent(parent)) for parent in node.parents()]) as step:
        y_dot = push_node(node, walk, many)
        step.result = shown(y_dot)
    return y_dot


cdef class Record:
    """The linearized program: the nodes between ``leaves`` and ``results``, parents before children.

    Parameters
    ----------
    leaves : list of Leaf
    results : list of Node or None
        None stands for an output that does not depend on the leaves.
    """

    def __cinit__(self, list leaves, list results):
        self.leaves = leaves
        self.results = results
        self.order = NULL
        self.size = 0
        self.sort()

    def __dealloc__(self):
        release(self.order, self.size)

    cdef int sort(self) except -1:
        """Depth-first from the results; every node after its parents."""
        cdef Py_ssize_t opened = <Py_ssize_t>tick(), done = -opened
        cdef list stack = []
        cdef Py_ssize_t room = 64, i
        cdef Node node
        cdef tuple more
        self.order = <PyObject **>PyMem_Malloc(room * sizeof(PyObject *))
        if self.order == NULL:
            raise MemoryError()
        for i in range(len(self.results) - 1, -1, -1):
            if self.results[i] is not None:
                stack.append(self.results[i])
        for i in range(len(self.leaves) - 1, -1, -1):
            stack.append(self.leaves[i])
        while stack:
            node = <Node>stack[len(stack) - 1]
            if node.visit == opened or node.visit == done:
                stack.pop()
                if node.visit == opened:
                    node.visit = done
                    if self.size == room:
                        room = self.grow(room)
                    node.position = self.size
                    Py_INCREF(node)
                    self.order[self.size] = <PyObject *>node
                    self.size += 1
                continue
            node.visit = opened
            if node.b is not None and node.b.visit != opened and node.b.visit != done:
                stack.append(node.b)
            if node.a is not None and node.a.visit != opened and node.a.visit != done:
                stack.append(node.a)
            more = node.more()
            if more is not None:
                for parent in more:
                    if (<Node>parent).visit != opened and (<Node>parent).visit != done:
                        stack.append(parent)
        return 0

    cdef Py_ssize_t grow(self, Py_ssize_t room) except -1:
        cdef PyObject **larger = <PyObject **>PyMem_Realloc(self.order, 2 * room * sizeof(PyObject *))
        if larger == NULL:
            raise MemoryError()
        self.order = larger
        return 2 * room

    cpdef list pull(self, list cotangents, bint consume):
        """Cotangents of the leaves from cotangents of the results (None stands for zero), or from
        :class:`Directions` of them.

        With ``consume`` the record is released on the way and cannot be walked again.
        """
        cdef Pull walk
        cdef Node node
        cdef Py_ssize_t i
        cdef object y_bar
        cdef list results = self.results
        cdef bint many = count_among(cotangents) > 0
        if self.order == NULL:
            raise RuntimeError("this record was released by an earlier backward walk")
        each = Pull(self, False) if many else None
        walk = Pull(self, consume)
        walk.each = each
        for i in range(len(results)):
            if results[i] is not None and cotangents[i] is not None:
                walk.add(<Node>results[i], cotangents[i], False)
        if consume:
            results = self.results = []
        for i in range(walk.size - 1, -1, -1):
            node = <Node>walk.order[i]
            if type(node) is Leaf:
                continue
            if walk.cotangent[i] != NULL:
                y_bar = <object>walk.cotangent[i]
                Py_DECREF(y_bar)
                walk.cotangent[i] = NULL
                walk.overwrite = walk.own[i] and Py_REFCNT(y_bar) == 1 and base_is_alone(y_bar)
                if observed_step is None:
                    pull_node(node, walk, y_bar, many)
                else:
                    pull_observed(node, walk, y_bar, many)
                y_bar = None
            if consume:
                walk.order[i] = NULL
                Py_DECREF(node)
                node = None
        return [walk.take(<Node>leaf) for leaf in self.leaves]

    cpdef list push(self, list tangents):
        """Tangents of the results from tangents of the leaves (None stands for zero), or from
        :class:`Directions` of them."""
        cdef Push walk
        cdef Node node
        cdef Py_ssize_t i
        cdef Py_ssize_t many = count_among(tangents)
        if self.order == NULL:
            raise RuntimeError("this record was released by an earlier backward walk")
        walk = Push.__new__(Push)
        walk.record = self
        walk.direction = -1
        walk.tangents = [None] * self.size
        walk.find_last_uses()
        for node, x_dot in zip(self.leaves, tangents):
            walk.tangents[walk.place(node)] = x_dot
        for i in range(self.size):
            node = <Node>self.order[i]
            if type(node) is Leaf:
                continue
            walk.at = i
            if observed_step is None:
                walk.tangents[i] = of_array(push_node(node, walk, many))
            else:
                walk.tangents[i] = of_array(push_observed(node, walk, many))
            if node.a is not None:
                walk.forget(node.a)
            if node.b is not None:
                walk.forget(node.b)
            more = node.more()
            if more is not None:
                for parent in <tuple>more:
                    walk.forget(<Node>parent)
        return [None if node is None else walk.tangent(node) for node in self.results]

    def inputs(self):
        """All leaves that the results depend on."""
        cdef Py_ssize_t i
        return [<Node>self.order[i] for i in range(self.size) if type(<Node>self.order[i]) is Leaf]

    def nonlinear_operation(self):
        """The name of an operation on the way that is not linear; None where the whole record is."""
        cdef Py_ssize_t i
        for i in range(self.size):
            if not (<Node>self.order[i]).linear():
                return (<Node>self.order[i]).name
        return None

    def __len__(self):
        return self.size
