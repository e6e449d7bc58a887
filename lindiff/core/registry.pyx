"""Which function has which rule, and what calling it with Variables does.

A function is handled in one of three ways: it has a rule of its own (:class:`Rule`), it is composed of
functions that have (:class:`Composed`), or its derivative is zero wherever it has one (:class:`Constant`).
"""

import functools
import inspect
import types

cimport numpy as cnp

import numpy as np

from lindiff.core.differential cimport Differential, Elementwise, both, functions_of, place_of
from lindiff.core.record cimport Trace, clock, observed_step
from lindiff.core.results cimport (
    ARRAY, LIKE_FIRST, LIKE_VALUE, SCALAR, apart, is_array, lying, scalar_result, without_axes,
)
from lindiff.core.sealing cimport (
    callers_own, contents, is_refusal, look_again, look_at, named_seals, named_shut, opened,
    refuse_other_contents, run_unsealed, sealed, sealed_arguments, unsealed,
)
from lindiff.core.variable cimport (
    Variable, array_in, as_value, constant_value, fix, has_shells, innermost, is_inexact, is_inner, is_shell,
    is_table, kept, lying_as, new_variable, outside, record, shares, untraced, untraced_result, value_of,
    view_by, watch, watch_over, without_shells,
)
from lindiff.kernels.sizes cimport GUARDED_ARGUMENTS

from lindiff.core import pytree
from lindiff.core.arrays import explain_mixture
from lindiff.core.directions import Directions, act
from lindiff.core.names import by_place, importable_name
from lindiff.core.variable import record_outputs, refuse_subclass

cnp.import_array()

# function -> Handler; functions of one name in other array libraries get the handler of NumPy's
cdef dict handlers = {}

# How many derivatives have been told that need not follow from what computes the value: see `told_apart`.
cdef Py_ssize_t _told_apart = 0


cdef class Handler:
    """What is done when ``function`` meets Variables.

    ``entry``, if there is one, is that of the table of compiled operations, which is tried first.
    """

    def __init__(self, function):
        self.function = function

    cdef object call(self, tuple args, dict kwargs):
        raise NotImplementedError


cdef class Entry(Handler):
    """What carries out a rule on plain arrays, without Python: an entry of the table of compiled operations.

    ``call`` gives the recorded result, or NotImplemented where the arguments are not its case: then the
    readable rule acts.
    """


cdef class EntryOfOne(Entry):
    """One of calls ``f(x, *options)`` with a Variable ``x``.

    ``positional`` of the options, whose names and defaults these are, may be given by their place.  What a
    subclass defines is ``recorded``, of the Variable and of all options in this order.
    """

    def __init__(self, function, Py_ssize_t positional=1, **defaults):
        self.function = function
        self.positional = min(positional, len(defaults))
        self.names = tuple(defaults)
        self.defaults = tuple(defaults.values())

    cdef object call(self, tuple args, dict kwargs):
        cdef Py_ssize_t i, given = len(args) - 1
        cdef list options
        if not 0 <= given <= self.positional or type(args[0]) is not Variable:
            return NotImplemented
        if not kwargs and given == 0:
            return self.recorded(args[0], self.defaults)
        if not kwargs and given == len(self.defaults):
            return self.recorded(args[0], args[1:])
        options = list(self.defaults)
        options[:given] = args[1:]
        for name, option in kwargs.items():
            for i in range(given, len(options)):
                if self.names[i] == name:
                    options[i] = option
                    break
            else:
                return NotImplemented
        return self.recorded(args[0], tuple(options))

    cdef object recorded(self, Variable x, tuple options):
        raise NotImplementedError


cdef class Rule(Handler):
    """A primitive: a function that computes value and differential together."""

    def __init__(self, function, rule):
        self.function = function
        self.rule = rule
        self.is_users = (getattr(rule, "__module__", None) or "").partition(".")[0] != "lindiff"
        functools.update_wrapper(self, rule)

    def __set_name__(self, owner, name):
        """A rule that is written in the body of a class is a method."""
        if getattr(self.rule, "__qualname__", "") == f"{owner.__qualname__}.{name}":
            self.is_method = True

    def is_method_of(self, owner):
        """Whether the rule is written in the body of the class ``owner``, as what a @classmethod wraps is."""
        name = getattr(self.rule, "__qualname__", "")
        return any([name == f"{part.__qualname__}.{self.rule.__name__}" for part in owner.__mro__])

    def __get__(self, instance, owner):
        if instance is owner:  # a @classmethod, in some versions of Python
            return self.bound_to(instance)
        return self if instance is None or not self.is_method else self.bound_to(instance)

    cdef Rule bound_to(self, object instance):
        """The rule of a method, of the arguments after ``self``."""
        cdef Rule bound = Rule.__new__(Rule)
        bound.function = bound.rule = types.MethodType(self.rule, instance)
        bound.is_users = self.is_users
        vars(bound).update(vars(self))
        return bound

    def __call__(self, *args, **kwargs):
        if args and (self.is_method or isinstance(args[0], type) and self.is_method_of(args[0])):
            return self.bound_to(args[0])(*args[1:], **kwargs)
        if observed_step is None:
            return self.call(args, kwargs)
        with observed_step("operation", self, args) as step:
            step.result = self.call(args, kwargs)
        return step.result

    def __reduce__(self):
        if isinstance(self.rule, types.MethodType):
            return getattr, (self.rule.__self__, self.rule.__func__.__name__)
        return importable_name(self) or (Rule, (self.function, self.rule))

    def __repr__(self):
        return f"<lindiff rule for {getattr(self.function, '__name__', self.function)}>"

    cdef object call(self, tuple args, dict kwargs):
        if self.entry is not None:
            result = self.entry.call(args, kwargs)
            if result is not NotImplemented:
                return self.seen(result, args, kwargs)
        return self.apply(args, kwargs)

    cdef object apply(self, tuple args, dict kwargs):
        cdef Trace trace = None
        cdef Differential differential
        cdef list nodes, places, guards = None
        cdef tuple args_seen, seals = None, held = None
        cdef unsigned long long shut = 0
        cdef dict kwargs_seen
        for argument in args:
            if type(argument) is Directions:
                return act(self, args, kwargs)
            trace = innermost(argument, trace)
        if kwargs and innermost(tuple(kwargs.values()), None) is not None:
            args, kwargs = self.by_position(args, kwargs)
            for argument in args:
                trace = innermost(argument, trace)
            innermost_keyword = innermost(tuple(kwargs.values()), None)
            if innermost_keyword is not None:
                names = [name for name, argument in kwargs.items() if innermost(argument, None) is not None]
                raise TypeError(f"{self.name()}: keyword argument {names[0]!r} cannot be a Variable; "
                                f"use ld.value({names[0]})")
        if trace is None:
            return self.plain_result(args, kwargs)
        nodes = []
        places = []
        kwargs_seen = kwargs
        if trace.level > 0 and not trace.forward:  # else nothing is kept
            guards = []
            kwargs_seen = kept(kwargs, guards)
        args_seen = tuple([strip(argument, trace, place_of(i), nodes, places, guards)
                           for i, argument in enumerate(args)])
        if self.is_users:
            argument = None
            seals = sealed_arguments(args_seen, args, &shut)
            result, found = self.sealed_outcome(args_seen, seals, shut, kwargs_seen)
            self.check_result(result)
            held = opened(args_seen, seals, shut)
            result = unsealed(result, seals, args_seen)
            result = callers_own(result, functions_of(found), args_seen)
            if isinstance(found, Elementwise):
                (<Elementwise>found).take_partials(result, args_seen)
        else:
            result, found = self.outcome(args_seen, kwargs_seen)
        if trace.level == 0:
            itself = cnp.PyArray_CheckExact(result) and any([result is x for x in args_seen])
            y = self.like_value(untraced(result) if itself else untraced_results(result), result)
            return self.seen(y, args, kwargs)
        if found is None:
            return result
        differential = found if isinstance(found, Differential) else Differential(pullback=found)
        if self.is_users:
            differential.seal(self.rule, held)
        if closes_over(result, trace):
            result = self.with_closures(trace, differential, nodes, places, args_seen, result, args, kwargs)
            watch_over(differential, guards, self.function)
            return result
        differential.bind(trace, nodes, places, args_seen, result)
        if guards:
            differential.release()
            self.release(differential)
            args_seen = seals = argument = kwargs_seen = None
            watch_over(differential, guards, self.function)
        if is_flat(result):
            return pytree.rebuild(result, record_outputs(trace, differential, [as_value(y) for y in result]))
        if isinstance(result, (tuple, list)) or is_inner(result):
            leaves, differential.unflatten = pytree.flatten(result)
            return differential.unflatten(
                record_outputs(trace, differential, [as_value(y) for y in leaves]))
        return self.seen(self.like_value(record(trace, differential, result), result), args, kwargs)

    cdef object like_value(self, object y, object value):
        """``y`` as an array without axes where the rule's ``value`` is one, if that is to say so."""
        return without_axes(y, (), ARRAY) if self.without_axes == LIKE_VALUE and is_array(value) else y

    cdef object plain_result(self, tuple args, dict kwargs):
        """The result of a call without Variables."""
        result, found = self.outcome(args, kwargs)
        if not self.is_users:
            return result
        # an argument itself is that, as among Variables, but parts of trees are results like others
        return callers_own(result, functions_of(found), args if cnp.PyArray_Check(result) else ())

    cdef int release(self, Differential differential) except -1:
        """Let the differential drop constants of which the rule knows that it never asks for them."""
        return 0

    cdef object with_closures(self, Trace trace, Differential differential, list nodes, list places,
                              tuple args_seen, object result, tuple args, dict kwargs):
        """The result of a rule that depends on Variables of ``trace`` that it was not given.

        It has closed over them, or found them in an object.  What it says about its arguments goes beside
        what its operations on those Variables have recorded.
        """
        cdef list leaves, inner, outputs
        cdef Py_ssize_t i
        leaves, unflatten = pytree.flatten(result)
        lowered = [outside(y, trace) for y in leaves]
        differential.bind(trace, nodes, places, args_seen, unflatten(lowered))
        if is_inner(result) or isinstance(result, (tuple, list)):
            differential.unflatten = unflatten
            outputs = record_outputs(trace, differential, [as_value(y) for y in lowered])
        else:
            outputs = [record(trace, differential, lowered[0])]
        differential.position = <Py_ssize_t>clock
        for i in range(len(leaves)):
            node = node_within(leaves[i], trace)
            if node is not None:
                outputs[i] = record(trace, both(node_within(outputs[i], trace), node), lowered[i])
        if any([is_inside(y, trace) for y in leaves]):  # of a transform that began after theirs
            inner, _ = pytree.flatten(self.outcome(args, kwargs)[0])
            outputs = [on_top(y, output, trace) for y, output in zip(inner, outputs)]
        return unflatten(outputs)

    cdef object seen(self, object result, tuple args, dict kwargs):
        """The result, known as a view of the argument whose memory it has."""
        cdef Variable x, view
        cdef Py_ssize_t k
        if type(result) is not Variable or (<Variable>result).tie is not None:
            return result
        view = result
        for k in range(len(args)):
            if type(args[k]) is Variable and args[k] is not view:
                x = args[k]
                if shares(view._value, x._value):
                    if self.gives_itself and view._value is x._value:
                        return x
                    watch(x, view, self.window(view, x, args, kwargs, k))
                    return result
        if not self.is_users and view._value.ndim > 0:
            fix(view)
        return result

    cdef object window(self, Variable view, Variable x, tuple args, dict kwargs, Py_ssize_t place):
        """How ``view`` sees ``x``, the argument at ``place``; NumPy says whether it may be written to."""
        cdef object seen = lying_as(view), whole = lying_as(x)
        cdef bint writable = True
        if seen is not None and whole is not None:
            writable = cnp.PyArray_ISWRITEABLE(<cnp.ndarray>seen) \
                or not cnp.PyArray_ISWRITEABLE(<cnp.ndarray>whole)
            if writable and is_same(seen, whole):
                return ...
        args = args[1:] if place == 0 else args[:place] + args[place + 1:]
        return view_by(self if self.rule is self.function else self.function,
                       kept(args, []), kept(kwargs, []), writable, place)

    cdef tuple outcome(self, tuple args, dict kwargs):
        """What the rule returns, checked."""
        if self.is_users:
            tell_apart()
        outcome = self.rule(*args, **kwargs) if kwargs else self.rule(*args)
        if not isinstance(outcome, tuple) or len(outcome) != 2 or not (
                outcome[1] is None or isinstance(outcome[1], Differential) or callable(outcome[1])):
            raise TypeError(f"{self.name()}: a rule returns (value, pullback) or (value, Differential)")
        return outcome

    cdef tuple sealed_outcome(self, tuple values, tuple seals, unsigned long long shut, dict kwargs):
        """The same of a rule that may not know to leave its arguments as they are."""
        cdef dict by_name = sealed(kwargs) if kwargs else kwargs
        cdef unsigned long long marks[GUARDED_ARGUMENTS]
        cdef tuple outcome
        cdef list before = contents(seals, by_name)
        look_at(values, marks)
        try:
            outcome = self.outcome(seals, by_name)
        except Exception as error:
            if not is_refusal(error):
                opened(values, seals, shut)
                raise
            return run_unsealed(
                self._outcome, (seals, by_name),
                named_shut(self.rule, values, shut) + named_seals(self.rule, seals, values)
                + named_seals(self.rule, by_name, kwargs), error)
        look_again(self.rule, values, marks)
        if before is not None:
            refuse_other_contents(self.rule, seals, by_name, before)
        return outcome

    cdef int check_result(self, object result) except -1:
        """Refuse what is no array in the result of a user's rule."""
        if cnp.PyArray_CheckExact(result):
            return 0
        for y in pytree.flatten(result)[0]:
            if y is not None and not hasattr(y, "dtype") and not isinstance(y, (int, float, complex)):
                raise TypeError(
                    f"{self.name()}: a rule returns arrays and numbers, nested in tuples, lists, dicts or "
                    f"dataclasses, and a pullback; this one returned a {type(y).__name__} ({y!r}) among them")
        return 0

    def _outcome(self, args, kwargs):
        return self.outcome(args, kwargs)

    cdef str name(self):
        return getattr(self.rule, "__qualname__", str(self.function))

    def by_position(self, tuple args, dict kwargs):
        """Turn keyword arguments into positional ones as far as the rule's signature allows."""
        if self.signature is None:
            self.signature = inspect.signature(self.rule)
        bound = self.signature.bind(*args, **kwargs)
        bound.apply_defaults()
        return bound.args, bound.kwargs


cdef bint is_same(cnp.ndarray x, cnp.ndarray y):
    """Whether two arrays are the same numbers in memory."""
    cdef int k
    if cnp.PyArray_DATA(x) != cnp.PyArray_DATA(y) or not cnp.PyArray_SAMESHAPE(x, y) \
            or cnp.PyArray_TYPE(x) != cnp.PyArray_TYPE(y):
        return False
    for k in range(cnp.PyArray_NDIM(x)):
        if cnp.PyArray_STRIDE(x, k) != cnp.PyArray_STRIDE(y, k):
            return False
    return True


cdef bint is_flat(object result):
    """Whether a result is a sequence of arrays or numbers."""
    if type(result) is not tuple and type(result) is not list and (
            not isinstance(result, (tuple, list)) or hasattr(result, "constant_fields")):
        return False
    for y in result:
        if not cnp.PyArray_CheckExact(y) and (y is None or isinstance(y, (tuple, list)) or is_inner(y)):
            return False
    return True


cdef bint closes_over(object result, Trace trace):
    """Whether a rule, which was given nothing of ``trace``, returned Variables of it or of one inside it."""
    if cnp.PyArray_CheckExact(result):
        return False
    cdef Trace found = innermost(result, None)
    return found is not None and found.level >= trace.level


cdef object node_within(object x, Trace trace):
    """The node of ``x`` in ``trace``, seen through traces inside it; None where it is constant there."""
    while type(x) is Variable:
        if (<Variable>x).node.trace is trace:
            return (<Variable>x).node
        x = (<Variable>x)._value
    return None


cdef bint is_inside(object x, Trace trace):
    """Whether ``x`` belongs to a trace inside ``trace``."""
    return type(x) is Variable and (<Variable>x).node.trace.level > trace.level


cdef object on_top(object x, object output, Trace trace):
    """``output`` with what ``x`` has in traces inside ``trace``."""
    if not is_inside(x, trace):
        return output
    return new_variable((<Variable>x).node, on_top((<Variable>x)._value, output, trace))


cdef object strip(object argument, Trace trace, tuple place, list nodes, list places, list guards):
    """``argument`` seen from outside ``trace``; appends the nodes found in it, their places, and the guards
    of large constants, which are not kept without ``guards``."""
    if type(argument) is Variable:
        argument = without_shells(argument)
        if (<Variable>argument).node.trace is not trace:
            return constant_value(argument) if guards is None else kept(argument, guards)
        nodes.append((<Variable>argument).node)
        places.append(place)
        return (<Variable>argument)._value
    if isinstance(argument, (list, tuple)):
        if innermost(argument, None) is not None:
            return pytree.rebuild(
                argument,
                [strip(item, trace, (*place, i), nodes, places, guards) for i, item in enumerate(argument)])
    elif not cnp.PyArray_CheckExact(argument) and is_inner(argument) \
            and innermost(argument, None) is not None:
        return pytree.replace(argument, [
            strip(pytree.item(argument, key), trace, (*place, key), nodes, places, guards)
            for key in pytree.keys(argument)])
    return argument if guards is None else kept(argument, guards)


cpdef object untraced_results(object result):
    """Arrays of floating point numbers as untraced Variables."""
    if isinstance(result, (tuple, list)):
        return pytree.rebuild(result, [untraced_results(part) for part in result]) if result else result
    if is_inner(result):
        return pytree.tree_map(untraced_results, result)
    result = as_value(result)
    if is_inexact(result):
        return untraced_result(result)
    return result if result.ndim else result[()]


cdef class Composed(Handler):
    """A function written in functions that have rules.

    Its results have memory of their own, unless it ``gives_views``.
    """

    def __init__(self, function, implementation):
        self.function = function
        self.implementation = implementation

    cdef object call(self, tuple args, dict kwargs):
        if self.entry is not None:
            result = self.entry.call(args, kwargs)
            if result is not NotImplemented:
                return result
        result = self.implementation(*args, **kwargs)
        if not self.gives_views:
            result = apart(result, args)
        if self.without_axes != LIKE_VALUE:
            result = scalar_result(result, args)
        return result if self.order is None else lying(result, self.order, args)


cdef class Constant(Handler):
    """A function whose derivative is zero wherever it has one: runs on the plain values.

    For complex numbers it may have a rule.
    """

    cdef object call(self, tuple args, dict kwargs):
        if self.of_complex is not None and is_any_complex(args):
            return self.of_complex.call(args, kwargs)
        return on_values(self.function, args, kwargs)


cdef bint is_any_complex(tuple args):
    for x in args:
        if np.iscomplexobj(value_of(x) if type(x) is Variable else x):
            return True
    return False


cpdef object on_values(object function, tuple args, dict kwargs):
    """``function(*args, **kwargs)`` of the plain values of Variables, also of those in lists and tuples."""
    return function(*[plain(argument) for argument in args],
                    **{name: plain(argument) for name, argument in kwargs.items()})


cdef object plain(object x):
    if type(x) is Variable:
        return value_of(x)
    if isinstance(x, (list, tuple)) and innermost(x, None) is not None:
        return pytree.rebuild(x, [plain(item) for item in x])
    return x


cdef object as_handled(object x):
    """An argument as handlers take it."""
    return without_shells(array_in(x) if is_table(x) else x)


cpdef object handle(object function, tuple args, dict kwargs):
    """Call ``function`` on arguments with Variables among them."""
    cdef Handler handler = handlers.get(function)
    if handler is None:
        return unsupported(function, args, kwargs)
    if kwargs:
        args, kwargs = by_place(function, args, kwargs)
    checked = None if type(handler) is Constant else function
    if is_any_seen_otherwise(args, checked):
        args = tuple([as_handled(x) for x in args])
    if kwargs and is_any_seen_otherwise(tuple(kwargs.values()), checked):
        kwargs = {name: as_handled(x) for name, x in kwargs.items()}
    try:
        result = handler.call(args, kwargs)
    except (TypeError, ValueError) as error:
        explain_mixture((args, kwargs), error)
        raise
    if handler.without_axes == SCALAR or handler.without_axes == LIKE_VALUE:
        return result
    return without_axes(result, args, handler.without_axes)


cdef bint is_any_seen_otherwise(tuple given, object function) except -1:
    """Whether there are tables or shells among arguments, or shells in lists of them.

    With a ``function``, arrays are refused that it would take for plain ones: masks and units would be lost.
    """
    cdef bint found = False
    for x in given:
        if type(x) is Variable:
            found |= is_shell(x)
        elif cnp.PyArray_CheckExact(x):
            continue
        elif isinstance(x, (list, tuple)):
            found |= is_any_hidden(x, function)
        elif cnp.PyArray_Check(x):
            if function is not None:
                refuse_subclass(x, f"an argument of {full_name(function)}")
        else:
            found |= is_table(x)
    return found


cdef bint is_any_hidden(object items, object function) except -1:
    """The same of shells in lists."""
    cdef bint found = False
    for x in items:
        if type(x) is Variable:
            found |= is_shell(x)
        elif isinstance(x, (list, tuple)):
            found |= is_any_hidden(x, function)
        elif function is not None and cnp.PyArray_Check(x) and not cnp.PyArray_CheckExact(x):
            refuse_subclass(x, f"an argument of {full_name(function)}")
    return found


def unsupported(function, tuple args, dict kwargs, known=None):
    """A function, ``known`` as another, that has no rule: of constants alone it needs none."""
    given = (args, tuple(kwargs.values()))
    trace = innermost(given, None)
    if trace is not None and trace.level > 0 or has_shells(given):
        raise_unsupported(function if known is None else known)
    return function(*[as_plain(x) for x in args], **{name: as_plain(x) for name, x in kwargs.items()})


cdef object as_plain(object x):
    """An argument with plain arrays, which have the memory of constants, for these."""
    if type(x) is Variable:
        return np.asarray(x)
    if isinstance(x, (list, tuple)) and innermost(x, None) is not None:
        return pytree.rebuild(x, [as_plain(item) for item in x])
    return x


def raise_unsupported(function):
    """Refuse a function that has no rule, at the call, and name the nearest that has one."""
    import difflib
    name = full_name(function)
    if function in _refused:
        raise TypeError(f"{name} has no derivative in lindiff: {_refused[function]}. Use "
                        f"{name}(ld.value(v)) where its derivative does not matter")
    if isinstance(function, np.ufunc) and set(function.types[0]) == set("O->"):
        raise TypeError(f"{name} is a ufunc of Python objects (np.frompyfunc), whose derivative nobody "
                        "knows: write lindiff.numpy.vectorize(function) in its place")
    known = {full_name(other).rpartition(".")[2]: full_name(other) for other in handlers}
    near = difflib.get_close_matches(name.rpartition(".")[2], known, n=1, cutoff=0.75)
    hint = f"; the nearest function that has one: {known[near[0]]}" if near else ""
    raise TypeError(
        f"{name} has no derivative rule in lindiff{hint}. Give it one with @ld.rule({name}), or use "
        f"{name}(ld.value(v)) where its derivative does not matter")


# functions that are not going to have a rule, and why
_refused = {}


def refuse(function, str reason):
    """Let the error for ``function``, which has no rule, say why it has none and what to do instead."""
    _refused[function] = reason


def refused_functions():
    """The functions that are refused on purpose, with the reasons."""
    return dict(_refused)


def full_name(function):
    """``numpy.linalg.eig`` for the function of that name."""
    import numpy as np
    name = getattr(function, "__qualname__", None) or getattr(function, "__name__", repr(function))
    module = getattr(function, "__module__", None)
    if module is None:  # ufuncs do not say where they are from
        if name.endswith(" (vectorized)"):  # of np.frompyfunc
            return name.removesuffix(" (vectorized)")
        module = "numpy" if getattr(np, name, None) is function else "scipy.special"
    return f"{module}.{name}"


def rule(function=None):
    """Make a primitive, or give an existing function a rule.

    The decorated function is the rule: read top to bottom it is the primal and its differential.  It takes
    the arguments of the function and returns ``(value, pullback)`` or ``(value, Differential)``, see
    :class:`lindiff.Differential`, ``Linear``, ``Bilinear`` and ``Elementwise``.  It may compute the value in
    another way than the original, for instance to share work with the derivative.

    Parameters
    ----------
    function : callable, optional
        Used as ``@ld.rule(np.linalg.cholesky)``: the existing NumPy function (anything that dispatches by
        NumPy's protocols) that gets the rule.  Used as ``@ld.rule``: a new primitive.

    Returns
    -------
    callable
        Acts on arrays as on Variables.

    Notes
    -----
    Write the rule in functions that have rules themselves (NumPy's, or other primitives): then it serves
    every order of derivative.

    Arguments and results may be trees: nestings of tuples, lists, dicts and dataclasses.  Variables that
    reach the rule in another way (it closes over them, or finds them in an object) are differentiated through
    its operations.  In the body of a class it makes a method, whose differential is that of the arguments
    after ``self`` or ``cls``; ``@staticmethod`` and ``@classmethod`` go above ``@ld.rule``.

    Examples
    --------
    >>> import numpy as np, lindiff as ld
    >>> @ld.rule
    ... def logistic(x):
    ...     ex = np.exp(x)
    ...     y = ex / (1 + ex)
    ...     def pullback(y_bar):
    ...         return y_bar * y / (1 + ex)
    ...     return y, pullback
    >>> logistic(0.0)
    np.float64(0.5)
    >>> ld.grad(logistic)(0.0)
    np.float64(0.25)
    """
    if function is None:
        return rule
    if not callable(function):
        raise TypeError(f"ld.rule goes on a function, not on a {type(function).__name__}; @staticmethod, "
                        f"@classmethod and @property go above @ld.rule")
    if inspect.isfunction(function) or inspect.ismethod(function) or isinstance(function, functools.partial):
        return Rule(function, function)

    def register(rule):
        if not callable(rule):
            raise TypeError(f"ld.rule({full_name(function)}) is a decorator, for a function that is the rule "
                            f"of this one; a primitive of your own is made by @ld.rule above its def")
        cdef Rule made = Rule(function, rule)
        handlers[function] = made
        return made

    return register


def composed(function):
    """Decorator: ``function`` on Variables is the decorated function, written in functions with rules."""
    def register(implementation):
        handlers[function] = Composed(function, implementation)
        return implementation
    return register


def constant(*functions):
    """Declare functions whose derivative is zero wherever they have one."""
    for function in functions:
        handlers[function] = Constant(function)


def tell_apart():
    """Count a derivative that need not follow from what computes the value: that of a user's rule, or of an
    equation that a solver is given."""
    global _told_apart
    _told_apart += 1


def told_apart():
    """How many of these there have been, in all threads."""
    return _told_apart


def has_rules_of_users():
    """Whether an existing function has got its rule from a user."""
    return any([isinstance(handler, Rule) and (<Rule>handler).is_users for handler in handlers.values()])


def has_no_derivative(function):
    """Whether the derivative of a function is declared to be zero, of real numbers."""
    return type(handlers.get(function)) is Constant


def constant_of_reals(function):
    """Decorator: the rule for complex numbers of a function whose derivative is zero for real ones."""
    def register(rule):
        constant(function)
        (<Constant>handlers[function]).of_complex = Rule(function, rule)
        return rule
    return register


def alias(function, other):
    """Let ``other`` be handled as ``function`` is."""
    handlers[other] = handlers[function]


def add_entry(function, Entry entry):
    """Let the rule of ``function`` be carried out by this entry of the table of compiled operations."""
    cdef Handler readable = handlers[function]
    readable.entry = entry


def compiled_operations():
    """The table of compiled operations: the entry of each function that has one."""
    cdef Handler handler
    return {function: handler.entry for function, handler in handlers.items() if handler.entry is not None}


def gives_views(*functions):
    """Declare that the results of these functions, composed of others, may be views of their arguments."""
    for function in functions:
        (<Composed?>handlers[function]).gives_views = True


def gives_itself(*functions):
    """Declare that these functions, which have rules, return the array itself where nothing is to do."""
    for function in functions:
        (<Rule?>handlers[function]).gives_itself = True


def results_lie(str order, *functions):
    """Declare how the results of functions that are composed of others lie in memory.

    By rows ("C"), by columns if the first array does so alone ("A"), as a ufunc's result of the first array
    ("K"), or as a copy of it ("copy").
    """
    for function in functions:
        (<Composed?>handlers[function]).order = order


def gives_arrays(*functions, bint like_first=False, bint like_value=False):
    """Declare that NumPy's results of these functions are arrays, not scalars, where they have no axes; with
    ``like_first`` where the first argument is one, with ``like_value`` where the value of the rule is one."""
    for function in functions:
        (<Handler>handlers.get(function, function)).without_axes = \
            LIKE_FIRST if like_first else LIKE_VALUE if like_value else ARRAY


def has_handler(function):
    """Whether ``function`` may be called on Variables."""
    return function in handlers


def handler_kind(function):
    """"Rule", "Composed", "Constant", or None where the function has no handler."""
    handler = handlers.get(function)
    return "Rule" if isinstance(handler, Rule) else None if handler is None else type(handler).__name__


def is_constant(function, tuple args):
    """Whether the derivative of ``function`` at ``args`` is zero wherever it has one."""
    handler = handlers.get(function)
    if not isinstance(handler, Constant):
        return False
    return (<Constant>handler).of_complex is None or not is_any_complex(args)


def handled_functions():
    """All functions that may be called on Variables, with the kind of their handler."""
    return {function: handler_kind(function) for function in handlers}
