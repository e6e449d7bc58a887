"""Looking on: every operation, and every step of a walk over a record, as an observer sees it.

While somebody looks, Variables act through operators that tell of each step, and so do the walks; else
nothing here runs.  Observers belong to the context (thread, task) that they look on in.
"""

import contextvars
import threading
import time

from lindiff.core.record cimport Node, Tangent
from lindiff.core.variable cimport Operators, Variable

from lindiff.core.record import observe_steps
from lindiff.core.variable import use_operators

_observers = contextvars.ContextVar("lindiff.observers", default=())
_running = contextvars.ContextVar("lindiff.step", default=None)

# How many contexts are observed, and what Variables act through while none is.
cdef object _lock = threading.Lock()
cdef int _observed = 0
cdef Operators _plain = None


cdef class Step:
    """Something that happened.

    Attributes
    ----------
    kind : {"operation", "pull", "push"}
        An operation on Variables; or one node of a record pulled or pushed through.
    what : str, callable or Node
        The name of an operator, or the function that was called; the node.
    inputs : sequence
        Arguments of the operation, the cotangent of the node, or the tangents of its inputs.
    keywords : dict
        Arguments of the operation by name.
    result
        Of the operation; cotangents of the node's inputs, or its tangent.
    outer : Step or None
        The step that this one is part of.
    seconds : float
        How long it took.
    """

    cdef readonly str kind
    cdef readonly object what
    cdef readonly object inputs
    cdef readonly dict keywords
    cdef public object result
    cdef readonly Step outer
    cdef readonly double seconds
    cdef tuple observers
    cdef object token
    cdef double start

    def __init__(self, str kind, what, inputs, dict keywords=None):
        self.kind = kind
        self.what = what
        self.inputs = inputs
        self.keywords = {} if keywords is None else keywords

    def __enter__(self):
        self.observers = _observers.get()
        if self.observers:
            self.outer = _running.get()
            self.token = _running.set(self)
            for observer in self.observers:
                observer.before(self)
            self.start = time.perf_counter()
        return self

    def __exit__(self, kind, error, traceback):
        if not self.observers:
            return
        self.seconds = time.perf_counter() - self.start
        _running.reset(self.token)
        if error is None:
            for observer in self.observers:
                observer.see(self)


cpdef bint observing() except -1:
    """Whether something sees the steps of this context."""
    return _observed != 0 and bool(_observers.get())


class Observer:
    """Sees the steps of this context while it is entered: ``with observer: ...``."""

    def before(self, step):
        """Called before each step; a walk may write to the inputs of the step."""

    def see(self, step):
        """Called after each step that did not raise; what it raises stops the computation."""
        raise NotImplementedError

    def __enter__(self):
        global _observed, _plain
        with _lock:
            if _observed == 0:
                _plain = use_operators(ObservedOperators())
                observe_steps(Step)
            _observed += 1
        self._token = _observers.set((*_observers.get(), self))
        return self

    def __exit__(self, *error):
        global _observed
        _observers.reset(self._token)
        with _lock:
            _observed -= 1
            if _observed == 0:
                observe_steps(None)
                use_operators(_plain)


cdef class ObservedOperators(Operators):
    """What Variables do while somebody looks: the same, as steps."""

    cdef object add(self, object x, object y):
        with Step("operation", "add", (x, y)) as step:
            step.result = _plain.add(x, y)
        return step.result

    cdef object subtract(self, object x, object y):
        with Step("operation", "subtract", (x, y)) as step:
            step.result = _plain.subtract(x, y)
        return step.result

    cdef object multiply(self, object x, object y):
        with Step("operation", "multiply", (x, y)) as step:
            step.result = _plain.multiply(x, y)
        return step.result

    cdef object divide(self, object x, object y):
        with Step("operation", "divide", (x, y)) as step:
            step.result = _plain.divide(x, y)
        return step.result

    cdef object power(self, object x, object y):
        return _plain.power(x, y)  # calls a function

    cdef object matmul(self, object x, object y):
        with Step("operation", "matmul", (x, y)) as step:
            step.result = _plain.matmul(x, y)
        return step.result

    cdef object negative(self, object x):
        with Step("operation", "negative", (x,)) as step:
            step.result = _plain.negative(x)
        return step.result

    cdef object getitem(self, Variable x, object index):
        with Step("operation", "getitem", (x,)) as step:
            step.result = _plain.getitem(x, index)
        return step.result

    cdef object setitem(self, Variable x, object index, object y):
        with Step("operation", "setitem", (x, y)) as step:
            step.result = _plain.setitem(x, index, y)
        return step.result

    cdef object written(self, Variable x, Variable view, object window):
        with Step("operation", "setitem", (x, view)) as step:
            step.result = _plain.written(x, view, window)
        return step.result

    cdef object transpose(self, Variable x):
        with Step("operation", "transpose", (x,)) as step:
            step.result = _plain.transpose(x)
        return step.result

    cdef object refusal(self, Variable x, str wanted):
        return _plain.refusal(x, wanted)

    cdef object ufunc(self, object ufunc, str method, tuple inputs, dict kwargs):
        with Step("operation", ufunc, inputs, kwargs) as step:
            step.result = _plain.ufunc(ufunc, method, inputs, kwargs)
        return step.result

    cdef object function(self, object function, tuple args, dict kwargs):
        with Step("operation", function, args, kwargs) as step:
            step.result = _plain.function(function, args, kwargs)
        return step.result

    cdef object method(self, str name):
        return _plain.method(name)


def node_of(Variable x):
    """The node of ``x`` in its own trace."""
    return x.node


def layers(x):
    """All plain arrays in a Variable: its tangents in forward traces, and its value at the end."""
    cdef Node node
    found = []
    while type(x) is Variable:
        node = (<Variable>x).node
        if type(node) is Tangent:
            found += layers((<Tangent>node).x_dot)
        x = (<Variable>x)._value
    return [*found, x]
