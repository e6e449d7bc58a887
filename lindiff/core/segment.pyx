"""A part of a computation that is run again in the walk instead of being kept on the record.

The part runs on the Variables it is given; then the nodes that it has left are cut off from those that were
there before, and dropped.  One :class:`Segment` takes their place.  Its parents are the older nodes that the
part has touched: those of its arguments as of anything it closes over.  A walk that comes to a segment runs
the part again, which leaves the same nodes, and walks these.
"""

from lindiff.core.record cimport (
    Component, Leaf, Node, NodeOfMany, Pull, Push, Record, Tangent, Trace, end, enter, leave, resume, tick,
)
from lindiff.core.tally cimport Tally, begin_tally, current as current_tally, end_tally
from lindiff.core.variable cimport Variable, new_variable, value_of, watch_over
from lindiff.kernels.sizes cimport COMPARED_NUMBERS, COMPARED_SUMS

from types import ModuleType

import numpy as np

from lindiff.core.likeness import parts_held
from lindiff.core.record import current_trace

WITHOUT_VARIABLES = frozenset([float, int, bool, str, complex, np.float64, np.float32])


cdef class Cut:
    """The nodes made since ``since`` behind ``results``, with new leaves in place of the older ones.

    ``older`` are those that were replaced, ``leaf_of`` says what stands for them.
    """

    cdef list results
    cdef dict leaf_of
    cdef list older
    cdef Py_ssize_t since

    def __cinit__(self, list results, Py_ssize_t since):
        cdef Node node
        cdef tuple more
        self.since = since
        self.leaf_of = {}
        self.older = []
        self.results = [self.kept(node) for node in results]
        for node in newer_behind(self.results, since):
            if node.a is not None:
                node.a = self.kept(node.a)
            if node.b is not None:
                node.b = self.kept(node.b)
            more = node.more()
            if more is not None:
                node.set_more(tuple([self.kept(parent) for parent in more]))

    cdef Node kept(self, Node node):
        """The node itself, or the leaf that stands for an older one."""
        cdef Leaf leaf
        if is_newer(node, self.since):
            return node
        if id(node) in self.leaf_of:
            return self.leaf_of[id(node)]
        leaf = Leaf.__new__(Leaf)
        leaf.trace = node.trace
        leaf.position = self.since  # it belongs to this cut
        self.leaf_of[id(node)] = leaf
        self.older.append(node)
        return leaf


cdef tuple parents_of(Node node):
    cdef tuple more = node.more()
    return (node.a, node.b) if more is None else (node.a, node.b, *more)


cdef list newer_behind(list results, Py_ssize_t since):
    """The nodes made since then that results stand on, and these."""
    cdef Node node
    cdef list found = [], stack = list(results)
    cdef set seen = set()
    while stack:
        node = <Node>stack.pop()
        if node is None or id(node) in seen or not is_newer(node, since):
            continue
        seen.add(id(node))
        found.append(node)
        stack += parents_of(node)
    return found


cdef list older_behind(list results, Py_ssize_t since):
    """The nodes made before then that results, and what they stand on since, stand on first."""
    cdef Node node, parent
    cdef dict found = {}
    for node in newer_behind(results, since):
        for parent in parents_of(node):
            if parent is not None and not is_newer(parent, since):
                found[id(parent)] = parent
    return list(found.values())


cdef inline bint is_newer(Node node, Py_ssize_t since):
    return node.visit == 0 and node.position >= since


cdef list variables_of(list results, Trace trace, Py_ssize_t since):
    """The Variables of ``trace`` in ``results`` that were made since then, through values and tangents."""
    cdef list found = []
    for x in results:
        find_newer(x, trace, since, found)
    return found


cdef int find_newer(object x, Trace trace, Py_ssize_t since, list found) except -1:
    while type(x) is Variable:
        if (<Variable>x).node.trace is trace:
            if is_newer((<Variable>x).node, since):
                found.append(x)
        elif (<Variable>x).node.trace.forward:
            find_newer((<Tangent>(<Variable>x).node).x_dot, trace, since, found)
        x = (<Variable>x)._value
    return 0


cdef list variables_anywhere(object returned):
    """The Variables in a tree, and those that its records and other objects have as attributes."""
    cdef list found = [], queue = [returned]
    cdef set seen = set()
    for x in queue:
        if type(x) is Variable:
            found.append(x)
        elif x is not None and type(x) not in WITHOUT_VARIABLES and id(x) not in seen:
            seen.add(id(x))
            queue.extend(parts_of(x))
    return found


cdef object parts_of(object x):
    """What is in a container, or what an object has."""
    if type(x) is tuple or type(x) is list:
        return x
    if isinstance(x, (type, ModuleType)):
        return ()
    if isinstance(x, np.ndarray):
        return x.ravel() if x.dtype == object else ()
    return parts_held(x) or ()


cdef list results_of(object returned):
    """The different Variables that a function returned, and what they are views of, in order: these change
    where one of them is written to."""
    cdef list found = variables_anywhere(returned)
    cdef set seen = set()
    cdef list results = []
    for x in found:
        if id(x) not in seen:
            seen.add(id(x))
            results.append(x)
            if (<Variable>x).tie is not None:
                found.append((<Variable>x).tie.base)
    return results


cdef int note_traces(object x, list traces) except -1:
    """Collect the traces in ``x`` that keep a record."""
    cdef Trace trace
    while type(x) is Variable:
        trace = (<Variable>x).node.trace
        if trace.forward:
            note_traces((<Tangent>(<Variable>x).node).x_dot, traces)
        elif trace.level > 0 and trace not in traces:  # not that of untraced Variables
            traces.append(trace)
        x = (<Variable>x)._value
    return 0


cdef object with_nodes(object x, dict nodes):
    """``x`` with other nodes for the Variables in it."""
    cdef Variable out
    cdef Node node
    if type(x) is not Variable:
        return x
    value = with_nodes((<Variable>x)._value, nodes)
    node = nodes.get(id(x), (<Variable>x).node)
    if node.trace.forward:
        node = with_tangent(<Tangent>node, nodes)
    if value is (<Variable>x)._value and node is (<Variable>x).node:
        return x
    out = new_variable(node, value)
    out._scalar = (<Variable>x)._scalar
    return out


cdef Tangent with_tangent(Tangent tangent, dict nodes):
    cdef Tangent out
    x_dot = with_nodes(tangent.x_dot, nodes)
    if x_dot is tangent.x_dot:
        return tangent
    out = Tangent.__new__(Tangent)
    out.trace = tangent.trace
    out.x_dot = x_dot
    return out


cdef int renew(Variable x, dict nodes) except -1:
    """Let ``x`` itself, which others may be views of, have other nodes."""
    cdef Variable new = with_nodes(x, nodes)
    if new is not x:
        x.node, x._value = new.node, new._value
        x.shared = None
    return 0


cdef class Segment(NodeOfMany):
    """What stands on the record of one trace for all that ``call()`` does there.

    Its parents stand for the ``older`` nodes that it touches (they are these, until a segment around it is
    cut off in its turn); it has a result for every Variable of the trace in what it returns.
    """

    cdef object call
    cdef Trace current  # when it ran first
    cdef tuple older
    cdef list prints  # of its results: what tells them from others
    cdef Tally tally  # of its operations

    cdef bint together(self):
        return True

    cdef Record record_again(self):
        """Run the part once more: what it leaves, with leaves in the order of the parents."""
        cdef Py_ssize_t since = <Py_ssize_t>tick()
        cdef list found
        cdef Cut cut
        cdef list traces = traces_around(self.current, self.trace)
        cdef Trace trace
        cdef Tally tally
        token = enter(self.current)
        for trace in traces:
            resume(trace)
        tally = begin_tally()
        try:
            found = variables_of(results_of(self.call()), self.trace, since)
        finally:
            end_tally(tally)
            for trace in traces:
                end(trace)
            leave(token)
        cut = Cut([(<Variable>x).node for x in found], since)
        if tally.differs(self.tally) or len(found) != len(self.prints) \
                or {id(node) for node in self.older} != set(cut.leaf_of) \
                or any([differ(before, fingerprint(value_of(x))) for before, x in zip(self.prints, found)]):
            raise RuntimeError(
                "a checkpointed function did something else when it ran again in the walk: it has to depend "
                "on nothing but its arguments and what it closes over, and to leave these unchanged. Random "
                "numbers: draw them outside, or give it the seed; the variable of a loop: give it as an "
                "argument (def f(x, i=i)); a buffer that is filled anew: give it a copy")
        return Record([cut.leaf_of[id(node)] for node in self.older], cut.results)

    cdef int pull(self, Pull walk, object y_bars) except -1:
        cdef list parents = self.parents(), x_bars = self.record_again().pull(y_bars, True)
        cdef Py_ssize_t i
        for i in range(len(parents)):
            if x_bars[i] is not None:
                walk.add(<Node>parents[i], x_bars[i], True)
        return 0

    cdef object push(self, Push walk):
        cdef list x_dots = [walk.tangent(<Node>node) for node in self.parents()]
        if all([x_dot is None for x_dot in x_dots]):
            return None
        return self.record_again().push(x_dots)


cdef list traces_around(Trace current, Trace trace):
    """The traces that were in progress where ``current`` was the innermost, and ``trace``."""
    cdef list traces = [trace]
    while current is not None:
        if current is not trace:
            traces.append(current)
        current = current.outer
    return traces


def fingerprint(y):
    """What stands for a result when it is compared: all of its numbers where they are few; else some of them,
    and the sums of moduli in blocks."""
    if y.size <= COMPARED_NUMBERS:
        return (y.copy(),)
    y = y.reshape(-1)
    blocks = y[: y.size // COMPARED_SUMS * COMPARED_SUMS].reshape(COMPARED_SUMS, -1)
    return y[:: y.size // COMPARED_NUMBERS].copy(), y[-COMPARED_SUMS:].copy(), np.abs(blocks).sum(axis=1)


def differ(tuple before, tuple after):
    """Whether the fingerprints of results of the same operations differ by more than rounding."""
    return len(before) != len(after) or any([is_other(x, y) for x, y in zip(before, after)])


cdef bint is_other(first, second) except -1:
    if first.shape != second.shape or first.dtype != second.dtype:
        return True
    if bool((first == second).all()):
        return False
    finite = np.isfinite(first)
    if bool((finite != np.isfinite(second)).any()):
        return True
    with np.errstate(all="ignore"):
        first, second = np.where(finite, first, 0.0), np.where(finite, second, 0.0)
        return bool(np.max(np.abs(first - second)) > np.finfo(first.dtype).eps ** 0.5 * np.max(np.abs(first)))


cdef list component_nodes(Segment segment, Py_ssize_t count):
    cdef Component part
    cdef Py_ssize_t i
    cdef list parts = []
    for i in range(count):
        part = Component.__new__(Component)
        part.trace = segment.trace
        part.position = segment.position
        part.a = segment
        part.index = i
        part.count = count
        parts.append(part)
    return parts


def run_segment(call, again, list guards):
    """What ``call()`` returns, with one node on each record instead of its operations.

    Parameters
    ----------
    call : callable
        Without arguments.
    again : callable
        The same, on arguments that nobody changes; runs in every walk.
    guards : list
        Of the large constants among these.
    """
    cdef Py_ssize_t since = <Py_ssize_t>tick()
    cdef Segment segment
    cdef Trace trace
    cdef list found, results, older, traces = []
    cdef dict nodes = {}
    cdef Tally tally = begin_tally()
    try:
        returned = call()
    finally:
        end_tally(tally)
    if current_tally() is not None:  # of a function around this one
        current_tally().fold(tally)
    results = results_of(returned)
    for x in results:
        note_traces(x, traces)
    for trace in traces:
        found = variables_of(results, trace, since)
        # What the results stand on stays whole: it is that of Variables, too, which nobody finds.
        older = older_behind([(<Variable>x).node for x in found], since)
        if not older:
            continue
        segment = Segment.__new__(Segment)
        segment.trace = trace
        segment.position = <Py_ssize_t>tick()
        segment.call = again
        segment.current = current_trace()
        segment.tally = tally
        segment.prints = [fingerprint(value_of(x)) for x in found]
        segment.older = tuple(older)
        segment.take_parents(older)
        watch_over(segment, list(guards), again)
        for x, node in zip(found, component_nodes(segment, len(found))):
            nodes[id(x)] = node
    for x in results:
        renew(x, nodes)
    return returned
