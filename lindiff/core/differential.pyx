"""Differentials of rules written in Python: the linear map of an operation at a point.

A rule computes value and differential together (``return y, Elementwise(...)``).  There are three kinds, so
that most rules need one line:

``Elementwise``
    keeps the partial derivatives; one definition serves both directions.
``Linear``, ``Bilinear``
    the operation is linear in its inputs together, or in each of them alone.
``Differential``
    has its own expressions for both directions (the factorizations).

A cotangent may come back wider than its input was (broadcasting) or complex where the input is real: the
adjoint of broadcasting (sum) and of real-to-complex (real part) is applied here, once, for all rules.
"""

cimport cython

import numpy as np

from cpython.ref cimport Py_REFCNT

cimport numpy as cnp

from lindiff.core.chain cimport chain_product, fit, hush, unhush
from lindiff.core.record cimport Node, NodeOfMany, Pull, Push, Trace, is_whole
from lindiff.core.sealing cimport (
    callers_own, is_refusal, look_again, look_at, name_of, named_seals, run_unsealed, sealed,
)
from lindiff.core.variable cimport Variable, constant_value, is_inner, value_of
from lindiff.kernels.memory cimport copy
from lindiff.kernels.sizes cimport GUARDED_ARGUMENTS, KEPT_ITSELF

from lindiff.core import pytree
from lindiff.core.directions import TAKES_ONE, Directions, count_of, one_by_one
from lindiff.core.record import Record, current_trace, root_trace
from lindiff.core.variable import node_in, trace_inputs


cnp.import_array()


# What a stand-in points at: one zero, at every index.
cdef cnp.npy_intp no_strides[64]
cdef double no_data[4]


# The places of arguments that are no lists, by their number.
cdef tuple SINGLE = tuple([(i,) for i in range(32)])


cdef tuple place_of(Py_ssize_t i):
    return SINGLE[i] if i < 32 else (i,)


cdef bint is_nested(values) except -1:
    """Whether the pullback of an operation on ``values`` may give Variables of an outer trace, which no plain
    array can take."""
    return current_trace() is not root_trace or any([type(x) is Variable for x in values])


cdef class Differential(NodeOfMany):
    """The differential of an operation, from its two expressions.

    Parameters
    ----------
    pushforward : callable, tuple of callables or None
        ``y_dot = J x_dot``.  One callable takes a tangent for each of the first positional arguments, as many
        as it has parameters without default (zeros where an argument is constant); a tuple has one callable
        per argument (None where there is no derivative), and only those of active arguments are called and
        added up.
    pullback : callable, tuple of callables, dict or None
        ``x_bar = Jᴴ y_bar`` under ⟨a, b⟩ = Re(aᴴ b).  One callable returns a tuple with a cotangent for each
        positional argument (None for zero), or the cotangent of the first one alone; a tuple has one callable
        per argument, and only those of active arguments are called.  A dict has one callable for each set of
        active arguments, ``{(0,): ..., (1,): ..., (0, 1): ...}``, where their cotangents share work.
    symbolic_zeros : bool
        For operations with several outputs: give the pullback None instead of zeros for an output that
        nothing depends on.
    selective : bool
        One callable as pullback takes a second argument: the places of the active arguments, ascending.  It
        may return None for all others, and leave out the work for them.  One callable as pushforward is
        given None, not zeros, for them.
    linear_in : tuple of int
        Positional arguments in which the operation is linear together, while all others are constant: the
        right-hand side of a solve.
    overwrites : bool
        One callable, or a dict of them, as pullback takes a keyword ``overwrite``: whether nobody else needs
        the memory of its cotangent, so that it may be written to and returned.
    accumulates : tuple of int
        Places whose own callables in a tuple as pullback take a keyword ``onto``: the argument's cotangent
        so far, which they may write to, or None where there is none.  They return the sum with it.

    Notes
    -----
    A pullback alone is enough: it is linear in the cotangent, and transposing it gives the pushforward
    (two reverse modes make a forward mode).  A pushforward alone is transposed for the pullback.  Where the
    one that is there is not linear (a pullback that clips gradients), the other is refused.

    Arguments and results may be any trees; cotangents and tangents are trees of the same structure, in which
    None stands for zero.
    """

    def __init__(self, pushforward=None, pullback=None, *, bint symbolic_zeros=False, tuple linear_in=(),
                 bint selective=False, bint overwrites=False, tuple accumulates=()):
        self.pushforward = pushforward
        self.pullback = pullback
        self.selective = selective
        self.symbolic_zeros = symbolic_zeros
        self.linear_in = linear_in
        self.overwrites = overwrites
        self.accumulates = accumulates

    cdef int bind(self, Trace trace, list nodes, list places, tuple values, object result) except -1:
        """Take a place in the record: ``nodes`` of the active inputs, where each sits in the arguments."""
        if self.trace is not None:
            raise ValueError("a rule returned the same differential twice; make a new one in every call")
        self.trace = trace
        self.take_parents(nodes)
        self.places = tuple(places)
        self.values = stand_ins(values)
        self.result = stand_in(result)
        return 0

    cdef int release(self) except -1:
        """Drop what concerns the arguments that are constant: it may hold on to others that nobody needs."""
        cdef tuple active = self.active()
        if type(self.pushforward) is tuple:
            self.pushforward = only(self.pushforward, active)
        if type(self.pullback) is tuple:
            self.pullback = only(self.pullback, active)
        elif type(self.pullback) is dict:
            self.pullback = {active: self.pullback[active]}
        return 0

    cdef tuple functions(self):
        """Its expressions, for looking at what they refer to."""
        return self.pushforward, self.pullback

    cdef void seal(self, object rule, tuple held):
        """Let pushforward and pullback be those of a ``rule`` that must not write into what it is given;
        ``held`` are the sealed arguments that they keep."""
        self.sealed_by = rule
        self.seals = held

    cdef object lowered(self, object x):
        """What a rule returned in a walk, seen outside the trace, whose Variables the rule may close over."""
        if type(x) is Directions:
            return Directions(self.lowered(x.array)) if type(x.array) is Variable else x
        if type(x) is not Variable:
            return x
        while type(x) is Variable and (<Variable>x).node.trace is self.trace:
            x = (<Variable>x)._value
        x = constant_value(x)
        return copy(<cnp.ndarray>x, True) if cnp.PyArray_CheckExact(x) else x  # of which nobody else knows

    cdef bint together(self):
        return True

    cdef bint linear(self):
        return self.linear_in is not None and all([place[0] in self.linear_in for place in self.places])

    cdef int pull(self, Pull walk, object y_bar) except -1:
        cdef Py_ssize_t i
        cdef object x_bars
        cdef bint apart = False, alone = walk.overwrite and type(y_bar) is not list, overwrite
        if self.pullback is None:
            return self.pull_by_transposition(walk, y_bar)
        if type(y_bar) is list:
            y_bar = self.fill_outputs(y_bar)
        overwrite = self.overwrites and walk.overwrite and (cnp.PyArray_CheckExact(y_bar) or is_whole(y_bar))
        try:
            if type(self.pullback) is tuple and type(y_bar) is not Directions \
                    and (self.accumulates or self.sealed_by is None and len(self.places) == 1):
                if self.sealed_by is not None:
                    y_bar = sealed(y_bar, True)
                for i in range(len(self.places)):
                    self.pull_one(walk, y_bar, i)
                return 0
            if self.sealed_by is None:
                x_bars = self.pull_arguments(y_bar, overwrite)
            else:
                x_bars = self.pull_sealed(y_bar, overwrite, alone)
        except TAKES_ONE:
            if count_of(y_bar) is None:
                raise
            apart = True
        if apart:
            x_bars = one_by_one(self._pull_arguments, (y_bar,))
        for i in range(len(self.places)):
            x_bar = self.cotangent(x_bars, <tuple>self.places[i])
            if x_bar is not None:
                walk.add(self.parent(i), x_bar, len(<tuple>self.places[i]) == 1
                         and (is_ours(x_bar, x_bars) or overwrite and x_bar is y_bar))
        return 0

    cdef int pull_one(self, Pull walk, object y_bar, Py_ssize_t i) except -1:
        """The same for the i-th active argument alone, which has a pullback of its own."""
        cdef tuple place = <tuple>self.places[i]
        cdef dict x_bars
        cdef bint own
        cdef object onto = None
        pullback = one_of(self.pullback, place[0], "pullback")
        if pullback is None:
            return 0
        if place[0] in self.accumulates:
            if not is_nested(self.values):
                onto = walk.cotangent_to_write(self.parent(i))
            x_bars = {place[0]: pullback(y_bar, onto=onto)}
        elif self.sealed_by is None:
            x_bars = {place[0]: pullback(y_bar)}
        else:
            x_bars = {place[0]: callers_own(pullback(y_bar), (), (y_bar,))}
        x_bar = self.cotangent(x_bars, place)
        if x_bar is None:
            return 0
        own = len(place) == 1 and is_ours(x_bar, x_bars)
        if onto is None:
            walk.add(self.parent(i), x_bar, own)
        elif x_bar is not onto:
            walk.replace(self.parent(i), x_bar, own)
        return 0

    cdef object cotangent(self, object x_bars, tuple place):
        """The cotangent of the input at ``place``, in its shape and dtype; None for zero."""
        x_bar = x_bars[<object>place[0]]
        value = self.values[<object>place[0]]
        for key in place[1:]:
            if x_bar is None:
                return None
            if isinstance(value, (list, tuple)) and len(x_bar) != len(value):
                raise TypeError(f"{name_of(self.pullback)} returned {len(x_bar)} cotangents for a list of "
                                f"{len(value)} arrays")
            try:
                x_bar = pytree.item(x_bar, key)
            except (AttributeError, IndexError, KeyError, TypeError):
                raise TypeError(
                    f"{name_of(self.pullback)} returned a {type(x_bar).__name__} without {key!r} as "
                    f"cotangent of argument {place[0]}: give it in the structure of the argument, a "
                    f"{type(value).__name__} (None for zero)") from None
            value = pytree.item(value, key)
        x_bar = self.lowered(x_bar)
        if x_bar is None:
            return None
        try:
            return fit(x_bar, value)
        except ValueError:
            raise ValueError(
                f"{name_of(self.pullback)} returned a cotangent of shape {np.shape(value_of(x_bar))} "
                f"for argument {place[0]} of shape {value.shape}") from None

    cdef object fill_outputs(self, list y_bars):
        """Zeros for the outputs that nothing depends on, in the structure of the result."""
        cdef Py_ssize_t i
        cdef list leaves
        if self.unflatten is None:
            if not self.symbolic_zeros:
                for i in range(len(y_bars)):
                    if y_bars[i] is None:
                        y_bars[i] = pytree.zeros_like(self.result[i])
            return rebuilt(self.result, y_bars)
        if not self.symbolic_zeros:
            leaves, _ = pytree.flatten(self.result)
            y_bars = [pytree.zeros_like(y) if y_bar is None else y_bar for y, y_bar in zip(leaves, y_bars)]
        return self.unflatten.of_derivative(y_bars)

    def _pull_arguments(self, y_bar):
        if self.sealed_by is None:
            return self.pull_arguments(y_bar)
        return self.pull_sealed(y_bar, False, False)

    def pull_unsealed(self, y_bar):
        return self.pull_arguments(y_bar)

    cdef object pull_sealed(self, object y_bar, bint overwrite, bint alone):
        """The same for a pullback that may not know to leave ``y_bar`` as it is, unless it is ``alone`` to
        use it, and the arguments of its rule."""
        cdef bint shut = alone and not overwrite and cnp.PyArray_CheckExact(y_bar) \
            and cnp.PyArray_ISWRITEABLE(<cnp.ndarray>y_bar) and cnp.PyArray_NDIM(<cnp.ndarray>y_bar) > 0
        if shut:  # nobody else sees it: it needs no view
            cnp.PyArray_CLEARFLAGS(<cnp.ndarray>y_bar, cnp.NPY_ARRAY_WRITEABLE)
        given = y_bar if shut or overwrite else sealed(y_bar, True)
        cdef tuple looked = () if overwrite or alone else (y_bar,)
        cdef unsigned long long marks[GUARDED_ARGUMENTS]
        look_at(looked, marks)
        try:
            x_bars = self.pull_arguments(given, overwrite)
        except Exception as error:
            if shut:
                cnp.PyArray_ENABLEFLAGS(<cnp.ndarray>y_bar, cnp.NPY_ARRAY_WRITEABLE)
            if overwrite or type(y_bar) is Directions or not is_refusal(error):
                raise
            seals = named_seals(self.sealed_by, self.seals or ())
            if not alone:
                seals += named_seals(first_of(self.pullback), (given,), (y_bar,))
            x_bars = run_unsealed(self.pull_unsealed, (y_bar if alone else given,), seals, error)
        else:
            if shut:
                cnp.PyArray_ENABLEFLAGS(<cnp.ndarray>y_bar, cnp.NPY_ARRAY_WRITEABLE)
            look_again(first_of(self.pullback), looked, marks)
        return callers_own(x_bars, (), (y_bar,))

    cdef object pull_arguments(self, object y_bar, bint overwrite=False):
        """Cotangents by argument; where it is allowed to ``overwrite``, ``y_bar`` may become one of them."""
        cdef dict options = {"overwrite": overwrite} if self.overwrites else {}
        pullback = self.pullback
        if type(pullback) is tuple:
            x_bars = [None] * len(self.values)
            for i in {place[0] for place in self.places}:
                if one_of(pullback, i, "pullback") is not None:
                    x_bars[i] = pullback[i](y_bar, onto=None) if i in self.accumulates else pullback[i](y_bar)
            return x_bars
        if type(pullback) is dict:
            return pullback[self.active()](y_bar, **options)
        x_bars = pullback(y_bar, self.active()) if self.selective else pullback(y_bar, **options)
        if type(x_bars) is not tuple:
            x_bars = (x_bars,)
        if any([x_bar is not None for x_bar in x_bars[len(self.values):]]) \
                or any([place[0] >= len(x_bars) for place in self.places]):
            raise TypeError(
                f"{name_of(self.pullback)} returned {len(x_bars)} cotangents for {len(self.values)} "
                f"arguments, of which {sorted({place[0] for place in self.places})} are differentiated: "
                f"return a tuple with one per positional argument (None for zero)")
        return x_bars

    cdef tuple active(self):
        """The places of the active arguments."""
        cdef tuple place
        cdef list found = []
        cdef Py_ssize_t i, last = -1
        for place in self.places:
            i = place[0]
            if i < last:
                return tuple(sorted({place[0] for place in self.places}))
            if i > last:
                found.append(place[0])
            last = i
        return tuple(found)

    cdef list tangents(self, Push walk):
        """A tangent for every argument, in its structure; None where the whole argument is constant."""
        cdef Py_ssize_t i
        return self.by_argument([walk.tangent(self.parent(i)) for i in range(len(self.places))])

    cdef list by_argument(self, list x_dots):
        """Tangents of the active inputs as those of all arguments."""
        cdef list result = [None] * len(self.values)
        cdef dict of_trees = {}
        cdef Py_ssize_t i
        cdef tuple place
        for i in range(len(self.places)):
            place = <tuple>self.places[i]
            if x_dots[i] is None:
                continue
            if len(place) == 1:
                result[place[0]] = x_dots[i]
            else:
                of_trees.setdefault(place[0], {})[place[1:]] = x_dots[i]
        for at, leaves in of_trees.items():
            result[at] = pytree.zeros_but(self.values[at], leaves)
        return result

    cdef object push(self, Push walk):
        y_dot = self.push_arguments(walk)
        if y_dot is None:
            return None
        parts = self.outputs(y_dot)
        return parts if self.unflatten is not None or isinstance(self.result, (tuple, list)) else parts[0]

    cdef list outputs(self, object y_dot):
        """The tangent of the result as a list of its leaves, each in the leaf's shape and dtype."""
        cdef object parts, likes
        if self.unflatten is not None:
            parts, likes = pytree.leaves_like(y_dot, self.result), pytree.flatten(self.result)[0]
        elif not isinstance(self.result, (tuple, list)):
            parts, likes = (y_dot,), (self.result,)
        elif isinstance(y_dot, (tuple, list)) and len(y_dot) == len(self.result):
            parts, likes = y_dot, self.result
        else:
            raise TypeError(
                f"{name_of(self.pushforward)} returned {type(y_dot).__name__}: return a tuple with a "
                f"tangent for each of the {len(self.result)} results (None for zero)")
        return [None if part is None else fit(part, like) for part, like in zip(parts, likes, strict=True)]

    cdef object push_arguments(self, Push walk):
        x_dots = self.tangents(walk)
        if all(x_dot is None for x_dot in x_dots):
            return None
        try:
            return self._push_tangents(x_dots)
        except TAKES_ONE:
            if count_of(x_dots) is None:
                raise
        return one_by_one(self._push_tangents, (x_dots,))

    def _push_tangents(self, list x_dots):
        return self.push_tangents(list(x_dots)) if self.sealed_by is None else self.push_sealed(x_dots)

    cdef object push_sealed(self, list x_dots):
        """The same for a pushforward that may not know to leave these and the arguments of its rule as they
        are."""
        cdef list given = sealed(x_dots, True)
        try:
            y_dot = self.push_tangents(list(given))
        except Exception as error:
            if count_of(x_dots) is not None or not is_refusal(error):
                raise
            y_dot = run_unsealed(
                self.push_tangents, (list(given),), named_seals(first_of(self.pushforward), given, x_dots)
                + named_seals(self.sealed_by, self.seals or ()), error)
        return callers_own(y_dot, (), tuple(given))

    def push_tangents(self, list x_dots):
        """The tangent of the result from those of all arguments, None where an argument is constant."""
        if self.pushforward is None:
            return self.push_by_transposition(x_dots)
        if self.selective:
            return self.pushforward(*x_dots)
        if type(self.pushforward) is tuple:
            parts = [self.pushforward[i](x_dot) for i, x_dot in enumerate(x_dots)
                     if x_dot is not None and one_of(self.pushforward, i, "pushforward") is not None]
            return add_parts(parts)
        count = positional_count(self.pushforward, len(x_dots))
        if any([x_dot is not None for x_dot in x_dots[count:]]):
            raise TypeError(f"{name_of(self.pushforward)} takes {count} tangents, but a later argument is "
                            f"differentiated: give it a parameter for each positional argument")
        del x_dots[count:]
        for i, x_dot in enumerate(x_dots):
            if x_dot is None:
                x_dots[i] = pytree.zeros_like(self.values[i])
        return self.pushforward(*x_dots)

    def push_by_transposition(self, x_dots):
        """``J x_dot`` as the transpose of the linear map ``y_bar -> Jᴴ y_bar`` (two reverse modes)."""
        cdef list cotangents = []
        for place in self.places:
            x_dot = x_dots[place[0]]
            for key in place[1:]:
                x_dot = None if x_dot is None else pytree.item(x_dot, key)
            cotangents.append(x_dot)
        y_bars = [pytree.zeros_like(leaf) for leaf in pytree.flatten(self.result)[0]]
        y_dots = transposed(self.pull_leaves, y_bars, cotangents, name_of(self.pullback))
        if self.unflatten is not None:
            return self.unflatten.of_derivative(y_dots)
        return y_dots if isinstance(self.result, (tuple, list)) else y_dots[0]

    def pull_leaves(self, list y_bars):
        """Cotangents of the active inputs from those of the leaves of the result."""
        cdef bint several = self.unflatten is not None or isinstance(self.result, (tuple, list))
        try:
            x_bars = self.pull_arguments(self.fill_outputs(y_bars) if several else y_bars[0])
        except TypeError as error:
            if "does not turn into a plain" not in str(error):
                raise
            raise TypeError(
                f"{error}\nIn forward mode a rule that has a pullback alone is transposed: here "
                f"{name_of(self.pullback)} runs on Variables. Take reverse mode (ld.grad, ld.vjp, "
                f'ld.jacobian(f, mode="reverse")), or give the rule a pushforward, too') from None
        return [self.cotangent(x_bars, place) for place in self.places]

    cdef int pull_by_transposition(self, Pull walk, object y_bar) except -1:
        """``Jᴴ y_bar`` as the transpose of the pushforward, where there is no pullback."""
        cdef Py_ssize_t i
        if self.pushforward is None:
            raise TypeError("this differential has neither pushforward nor pullback; give it one of them")
        x_dots = []
        for place in self.places:
            value = self.values[place[0]]
            for key in place[1:]:
                value = pytree.item(value, key)
            x_dots.append(pytree.zeros_like(value))
        x_bars = transposed(self.push_leaves, x_dots, y_bar if type(y_bar) is list else [y_bar],
                            name_of(self.pushforward))
        for i in range(len(self.places)):
            if x_bars[i] is not None:
                walk.add(self.parent(i), self.lowered(x_bars[i]), False)
        return 0

    def push_leaves(self, list x_dots):
        """Tangents of the leaves of the result from those of the active inputs."""
        return self.outputs(self.push_tangents(self.by_argument(x_dots)))


def transposed(function, list starts, list cotangents, str name):
    """``Aᴴ`` of cotangents for the linear ``function`` A between lists of arrays, from its run at ``starts``,
    which are zeros; None stands for zero.

    Raises
    ------
    TypeError
        The function is not linear.
    """
    cdef Trace trace = Trace()
    cdef list sizes
    variables = trace_inputs(trace, starts)
    outputs = function(list(variables))
    results = [node_in(y, trace) for y in outputs]
    record = Record([node_in(x, trace) for x in variables], results)
    sizes = [1.0, -1.0]  # a mask made of what the function is given is no operation of the record
    if record.nonlinear_operation() is not None or None in results and any([y is not None for y in outputs]):
        sizes += [1e-6, 1e6]
    check_linear(function, record, starts, name, sizes)
    return record.pull(cotangents, True)


cdef int check_linear(function, record, list starts, str name, list sizes) except -1:
    """Compare a function with its linearization at zero, at points of these sizes."""
    for size in sizes:
        given = [size * np.cos(1.0 + np.arange(x.size)).reshape(x.shape).astype(x.dtype) for x in starts]
        for y, y_dot in zip(function(list(given)), record.push(given)):
            if y is None:
                continue
            y, y_dot = value_of(y), 0.0 if y_dot is None else value_of(y_dot)
            known = np.isfinite(y) & np.isfinite(y_dot)
            gap = np.where(known, np.abs(y - y_dot), 0.0)
            largest = np.max(np.where(known, np.abs(y), 0.0), initial=0.0)
            if np.any(gap > np.finfo(y.dtype).eps ** 0.5 * largest):
                raise TypeError(
                    f"{name} is not linear, so that its transpose cannot stand in for the other mode: give "
                    f"ld.Differential(pushforward, pullback) both. A pullback that clips gradients serves "
                    f"ld.grad, ld.vjp and ld.jacobian(..., mode=\"reverse\") alone")
    return 0


cdef tuple only(tuple functions, tuple active):
    """Those of the ``active`` places; None for the others."""
    return tuple([function if i in active else None for i, function in enumerate(functions)])


cdef Py_ssize_t positional_count(function, Py_ssize_t most):
    """How many of ``most`` positional arguments a Python function takes."""
    code = getattr(function, "__code__", None)
    if code is None or code.co_flags & 0x04:  # not written in Python, or with *args
        return most
    defaults = getattr(function, "__defaults__", None) or ()
    bound = 1 if getattr(function, "__self__", None) is not None else 0
    return min(most, code.co_argcount - len(defaults) - bound)


cdef object one_of(tuple functions, Py_ssize_t i, str kind):
    if i >= len(functions):
        raise TypeError(
            f"the tuple of {kind}s has {len(functions)} entries, but argument {i} is differentiated: "
            f"give one per positional argument (None for zero); to a rule of lindiff, what counts or numbers "
            f"something is constant: call it with int(ld.value(v))")
    return functions[i]


cdef object first_of(object functions):
    """The first of several functions that stand for one, or this one."""
    if type(functions) is dict:
        functions = tuple(functions.values())
    return next(filter(None, functions), None) if type(functions) is tuple else functions


cdef class Linear(Differential):
    """The differential of an operation that is linear in its active inputs together.

    Takes the parameters of :class:`Differential`.  Example: ``np.reshape``, ``np.concatenate``.
    """

    cdef bint linear(self):
        return True


cdef class Bilinear(Differential):
    """The differential of an operation that is linear in each of its inputs alone.

    Takes the parameters of :class:`Differential`.  Example: ``np.dot``.
    """

    cdef bint linear(self):
        return len({place[0] for place in self.places}) == 1


cdef class Elementwise(Differential):
    """The differential of an elementwise operation, from its partial derivatives.

    Parameters
    ----------
    *partials : array, callable or None
        One per positional argument, broadcasting to the result: the derivative with respect to it.
        A callable is called the first time that the partial is needed.

    Notes
    -----
    The products take 0 · ∞ as 0, so that ``where(x > 0, sqrt(x), 0)`` has gradient 0 at negative x.
    """

    def __init__(self, *partials):
        self.partials = list(partials)

    cdef int release(self) except -1:
        self.partials = list(only(tuple(self.partials), self.active()))
        return 0

    cdef tuple functions(self):
        return (self.partials,)

    cdef int take_partials(self, object result, tuple args) except -1:
        """Copy the partials that somebody else holds, as a buffer that is filled again."""
        self.partials = callers_own(self.partials, (result,), args, 2)
        return 0

    cdef object partial(self, Py_ssize_t place):
        value = self.partials[place] if place < len(self.partials) else None
        if callable(value):
            token = hush()
            try:
                value = value() if self.given is None else value(*self.given)
            except Exception as error:
                if self.seals is None or not is_refusal(error):
                    raise
                value = run_unsealed(value, (), named_seals(self.sealed_by, self.seals), error)
            finally:
                unhush(token)
            self.partials[place] = value
        return value

    cdef int pull(self, Pull walk, object y_bar) except -1:
        cdef Py_ssize_t i, place, last = len(self.places) - 1
        cdef bint overwrite = walk.overwrite
        for i in range(len(self.places)):
            place = (<tuple>self.places[i])[0]
            partial = self.partial(place)
            if partial is None:
                continue
            x_bar = self.lowered(chain_product(y_bar, partial, overwrite and i == last, True))
            fitted = fit(x_bar, self.values[place])
            walk.add(self.parent(i), fitted, fitted is x_bar)
        return 0

    cdef object push(self, Push walk):
        cdef Py_ssize_t i, place
        parts = []
        for i in range(len(self.places)):
            place = (<tuple>self.places[i])[0]
            x_dot = walk.tangent(self.parent(i))
            if x_dot is None:
                continue
            partial = self.partial(place)
            if partial is not None:
                parts.append(chain_product(x_dot, partial, False))
        y_dot = add_parts(parts)
        return None if y_dot is None else fit(y_dot, self.result)


cdef Elementwise elementwise_of(tuple partials, tuple given):
    """The differential whose partials are functions of what is ``given``, called when they are needed."""
    cdef Elementwise differential = Elementwise.__new__(Elementwise)
    differential.partials = list(partials)
    differential.given = given
    return differential


@cython.no_gc
@cython.final
cdef class Both(Node):
    """The sum of two parts of one result: what a rule says, and what it closes over."""

    cdef bint linear(self):
        return True

    cdef bint together(self):
        return True

    cdef int pull(self, Pull walk, object y_bar) except -1:
        walk.add(self.a, y_bar, False)
        walk.add(self.b, y_bar, False)
        return 0

    cdef object push(self, Push walk):
        y_dot, other = walk.tangent(self.a), walk.tangent(self.b)
        return add_parts([part for part in (y_dot, other) if part is not None])


cdef Node both(Node a, Node b):
    """The node of a result that has the parts ``a`` and ``b``."""
    cdef Both node = Both.__new__(Both)
    node.a = a
    node.b = b
    return node


cdef tuple stand_ins(tuple values):
    """Stand-ins for all of ``values``; often that is what they are."""
    cdef Py_ssize_t i
    for i in range(len(values)):
        if stand_in(values[i]) is not values[i]:
            return tuple([stand_in(value) for value in values])
    return values


cdef object rebuilt(object sequence, object items):
    """The ``items`` in a new sequence of the same kind."""
    if type(sequence) is list:
        return list(items)
    return tuple(items) if type(sequence) is tuple else pytree.rebuild(sequence, items)


cpdef object stand_in(object x):
    """What answers for the shape and dtype of ``x`` without holding the memory of large plain arrays."""
    if isinstance(x, (tuple, list)):
        parts = stand_ins(tuple(x))
        return x if parts is x else rebuilt(x, parts)  # of a list another one, which stays as it is
    if not cnp.PyArray_CheckExact(x):
        if not is_inner(x):
            return foreign_stand_in(x)
        return pytree.replace(x, [stand_in(pytree.item(x, key)) for key in pytree.keys(x)])
    if cnp.PyArray_NBYTES(<cnp.ndarray>x) <= KEPT_ITSELF:
        return x
    if not cnp.PyArray_ISNUMBER(<cnp.ndarray>x) or not cnp.PyArray_ISNOTSWAPPED(<cnp.ndarray>x):
        return x
    return cnp.PyArray_New(cnp.ndarray, cnp.PyArray_NDIM(<cnp.ndarray>x), cnp.PyArray_DIMS(<cnp.ndarray>x),
                           cnp.PyArray_TYPE(<cnp.ndarray>x), no_strides, &no_data[0], 0, 0, None)


cdef dict zeros_of_dtype = {}


cdef object foreign_stand_in(object x):
    """The same for an array that knows the device it is on: there is one zero of each dtype on each."""
    cdef object device, zero
    cdef tuple key
    if type(x) is Variable or cnp.PyArray_Check(x):
        return x
    device = getattr(getattr(x, "device", None), "id", None)
    if device is None or x.dtype.kind not in "fc" or x.nbytes <= KEPT_ITSELF:
        return x
    key = type(x), device, x.dtype
    zero = zeros_of_dtype.get(key)
    if zero is None:
        zero = zeros_of_dtype[key] = np.zeros_like(x, shape=())
    return np.broadcast_to(zero, x.shape)


cdef tuple functions_of(object found):
    """What a differential, or a pullback alone, is made of."""
    if not isinstance(found, Differential):
        return (found,)
    return (<Differential>found).functions()


cdef inline bint is_ours(object x_bar, object x_bars):
    """Whether ``x_bar`` is memory that only the running pull knows: a fresh array in a fresh container."""
    return cnp.PyArray_CheckExact(x_bar) and Py_REFCNT(x_bar) <= 2 and Py_REFCNT(x_bars) == 1 \
        and cnp.PyArray_CHKFLAGS(<cnp.ndarray>x_bar, cnp.NPY_ARRAY_OWNDATA)


cdef object add_parts(list parts):
    if not parts:
        return None
    total = parts[0]
    for part in parts[1:]:
        total = total + part
    return total
