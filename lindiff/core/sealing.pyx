"""Arguments that a function must not write into.

A rule, a solver, a checkpointed function says what the derivatives of its results are, and nothing of what it
writes into its arguments.  They are sealed: it gets views that are read-only, so that NumPy refuses at the
line that writes.  Compiled code may ask for memory that can be written to and leave it as it is; a function
that was refused is therefore run again on copies, which tell whether it writes, and into what.  Some compiled
code writes without asking (``overwrite_b=True`` of LAPACK): a look at the arrays afterwards tells.
"""

cimport numpy as cnp
from cpython.object cimport PyObject, PyTypeObject
from cpython.ref cimport Py_INCREF, Py_REFCNT
from cpython.tuple cimport PyTuple_GET_ITEM

from lindiff.core.constants cimport mark_of
from lindiff.core.variable cimport (
    Variable, View, is_inner, new_variable, overlaps_itself, shares, view_by, watch,
)
from lindiff.kernels.sizes cimport GUARDED_ARGUMENTS

import functools
import inspect
from dataclasses import is_dataclass

from lindiff.core import pytree
from lindiff.core.directions import Directions
from lindiff.core.fields import shown_besides

cnp.import_array()

cdef extern from "numpy/arrayobject.h":
    PyTypeObject PyArray_Type
    object PyArray_NewFromDescr(
        PyTypeObject *, cnp.dtype, int, cnp.npy_intp *, cnp.npy_intp *, void *, int, PyObject *)


def itself(x):
    return x


# How a sealed Variable sees the one that it stands for.
cdef View SEAL = view_by(itself, (), {}, False, 0)


cpdef object sealed(object x, object given=None):
    """The arrays in ``x`` as read-only views, scalars as such: what was ``given`` as one, or (True) all
    without axes."""
    if cnp.PyArray_CheckExact(x):
        if cnp.PyArray_NDIM(<cnp.ndarray>x) == 0 and (
                given is True or type(given) is Variable and (<Variable>given)._scalar):
            return x[()]
        return read_only_view(x) if cnp.PyArray_ISWRITEABLE(<cnp.ndarray>x) else x
    if type(x) is Variable:
        return x if (<Variable>x)._scalar else sealed_variable(x)
    if type(x) is Directions:
        return Directions(sealed(x.array))
    if isinstance(x, (tuple, list)):
        return pytree.rebuild(x, [sealed(part, item_of(given, i)) for i, part in enumerate(x)]) if x else x
    if is_inner(x):
        return pytree.replace(
            x, [sealed(pytree.item(x, key), item_of(given, key)) for key in pytree.keys(x)])
    return x


cdef object item_of(object given, object key):
    return pytree.item(given, key) if isinstance(given, (tuple, list)) or is_inner(given) else given


cdef bint is_seal(object x):
    """Whether a Variable is a sealed one."""
    return type(x) is Variable and (<Variable>x).tie is not None and (<Variable>x).tie.window is SEAL


cdef tuple sealed_arguments(tuple values, tuple args, unsigned long long *shut):
    """The ``values`` of the arguments ``args``, sealed.

    An array that its Variable alone has needs no view: it is made read-only itself, and the bit of its place
    set in ``shut``.
    """
    cdef Py_ssize_t i
    cdef PyObject *x
    cdef list seals = None
    for i in range(len(values)):
        x = PyTuple_GET_ITEM(values, i)
        if i < 64 and x.ob_refcnt == 2 and is_of_a_record(args[i]) and cnp.PyArray_CheckExact(<object>x) \
                and cnp.PyArray_ISWRITEABLE(<cnp.ndarray>x) and cnp.PyArray_NDIM(<cnp.ndarray>x) > 0:
            cnp.PyArray_CLEARFLAGS(<cnp.ndarray>x, cnp.NPY_ARRAY_WRITEABLE)
            shut[0] |= <unsigned long long>1 << i
            continue
        seal = sealed(<object>x, args[i])
        if seal is not <object>x:
            if seals is None:
                seals = list(values)
            seals[i] = seal
    return values if seals is None else tuple(seals)


cdef bint is_of_a_record(object x):
    """Whether ``x`` is a Variable of a trace, whose array nobody is given to write to."""
    return type(x) is Variable and (<Variable>x).node.trace.level > 0


cdef tuple opened(tuple values, tuple seals, unsigned long long shut):
    """Let arrays that were made read-only be as before where nobody but their Variable has them; the seals
    that the function has kept, None for the others, or if there are none."""
    cdef Py_ssize_t i
    cdef PyObject *seal
    cdef list kept = None
    for i in range(len(seals)):
        seal = PyTuple_GET_ITEM(seals, i)
        if i < 64 and shut >> i & 1:
            if seal.ob_refcnt == 2 + (seals is not values):
                cnp.PyArray_ENABLEFLAGS(<cnp.ndarray>seal, cnp.NPY_ARRAY_WRITEABLE)
                continue
        elif seal == PyTuple_GET_ITEM(values, i) or seal.ob_refcnt == 1 \
                or cnp.PyArray_CheckAnyScalar(<object>seal):
            continue
        if kept is None:
            kept = [None] * len(seals)
        kept[i] = <object>seal
    return None if kept is None else tuple(kept)


cdef cnp.ndarray read_only_view(cnp.ndarray x):
    cdef cnp.dtype dtype = (<object>x).dtype
    Py_INCREF(dtype)  # taken over by the view
    cdef cnp.ndarray view = PyArray_NewFromDescr(
        &PyArray_Type, dtype, cnp.PyArray_NDIM(x), cnp.PyArray_DIMS(x), cnp.PyArray_STRIDES(x),
        cnp.PyArray_DATA(x), 0, NULL)
    cnp.set_array_base(view, x)
    return view


cdef Variable sealed_variable(Variable x):
    cdef Variable seal = new_variable(x.node, x._value)
    watch(x, seal, SEAL)
    return seal


cpdef object unsealed(object result, object seals, object values):
    """A result of ``seals`` as one of the ``values`` that they stand for: these themselves, and views of
    these, which may be written to."""
    if cnp.PyArray_CheckExact(result):
        return result if cnp.PyArray_ISWRITEABLE(<cnp.ndarray>result) \
            else unsealed_array(result, seals, values)
    if type(result) is Variable:
        return result if (<Variable>result).tie is None else unsealed_variable(result)
    if isinstance(result, (tuple, list)) and result:
        return pytree.rebuild(result, [unsealed(part, seals, values) for part in result])
    if is_inner(result):
        return pytree.replace(
            result, [unsealed(pytree.item(result, key), seals, values) for key in pytree.keys(result)])
    return result


cdef object unsealed_array(cnp.ndarray result, object seals, object values):
    for seal, x in zip(pytree.flatten(seals)[0], pytree.flatten(values)[0]):
        if result is seal:
            return x
        if cnp.PyArray_CheckExact(x) and cnp.PyArray_ISWRITEABLE(<cnp.ndarray>x) and shares(result, x) \
                and not overlaps_itself(result):
            cnp.PyArray_ENABLEFLAGS(result, cnp.NPY_ARRAY_WRITEABLE)
    return result


cdef Variable unsealed_variable(Variable result):
    """``result`` or what it is a view of, tied to what the seal stands for in its place."""
    cdef Variable view = result, seal = view.tie.base
    if result.tie.window is SEAL:
        return result.tie.base
    while seal.tie is not None and seal.tie.window is not SEAL:
        view, seal = seal, seal.tie.base
    if seal.tie is not None:
        window = view.tie.window
        view.tie = None
        watch(seal.tie.base, view, window)
    return result


def called(function, tuple args, dict kwargs=None):
    """``function(*args, **kwargs)``, which must not write into these.

    Raises
    ------
    TypeError
        It does; names the argument.
    """
    cdef tuple seals = sealed(args)
    cdef dict by_name = sealed(kwargs) if kwargs else {}
    cdef list before = contents(seals, by_name)
    try:
        result = function(*seals, **by_name)
    except Exception as error:
        if not is_refusal(error):
            raise
        known = named_seals(function, seals, args) + named_seals(function, by_name, kwargs or {})
        result = run_unsealed(functools.partial(function, **by_name), seals, known, error)
    if before is not None:
        refuse_other_contents(function, seals, by_name, before)
    return unsealed(result, (seals, by_name), (args, kwargs or {}))


# -- what code that did not ask has written to --------------------------------------------------------------

cdef void look_at(tuple values, unsigned long long *marks) noexcept:
    """Remember the first arrays among ``values``."""
    cdef Py_ssize_t i
    for i in range(min(len(values), GUARDED_ARGUMENTS)):
        x = <object>PyTuple_GET_ITEM(values, i)
        if cnp.PyArray_CheckExact(x):
            marks[i] = mark_of(<cnp.ndarray>x)


cdef int look_again(object function, tuple values, const unsigned long long *marks) except -1:
    """Raise if one of ``values``, the arguments of ``function``, is another one than before."""
    cdef Py_ssize_t i
    for i in range(min(len(values), GUARDED_ARGUMENTS)):
        x = <object>PyTuple_GET_ITEM(values, i)
        if cnp.PyArray_CheckExact(x) and mark_of(<cnp.ndarray>x) != marks[i]:
            argument = parameters(function, len(values))[i]
            raise TypeError(
                f"{name_of(function)} changes its argument {argument!r} in place, by compiled code that does "
                f"not ask: let it work on a copy, {argument} = {argument}.copy(), or without "
                f"overwrite_...=True; {argument} has been overwritten")
    return 0


cdef list contents(tuple values, dict by_name):
    """What the lists, dicts and other trees among the arguments hold; None where there are none."""
    cdef list found = None
    for x in values + tuple(by_name.values()) if by_name else values:
        if is_changeable(x):
            if found is None:
                found = []
            found.append(held_by(x))
    return found


cdef bint is_changeable(object x):
    """Whether a function may put something else into ``x``: a list, a dict, a dataclass."""
    return is_inner(x) and not isinstance(x, tuple)


cdef tuple held_by(object x):
    """Keys and children, and what a dataclass has besides by its names."""
    keys = pytree.keys(x)
    return [*keys, *[pytree.item(x, key) for key in keys]], shown_besides(x) if is_dataclass(x) else {}


cdef bint holds_other(tuple before, tuple now):
    """Whether something else is held; what was nothing before, and what is private, may be kept for later."""
    if len(now[0]) != len(before[0]) or any([x is not y for x, y in zip(now[0], before[0])]):
        return True
    return any([now[1].get(name) is not x for name, x in before[1].items()])


cdef int refuse_other_contents(object function, tuple values, dict by_name, list before) except -1:
    """Raise if a list, a dict or a dataclass among the arguments of ``function`` holds something else than
    ``before``: what it got is not the caller's own."""
    cdef list now = contents(values, by_name)
    for i in range(len(before)):
        if holds_other(before[i], now[i]):
            named = zip(parameters(function, len(values)) + list(by_name), values + tuple(by_name.values()))
            argument, x = [(name, x) for name, x in named if is_changeable(x)][i]
            raise TypeError(
                f"{name_of(function)} changes its argument {argument!r}, a {type(x).__name__}, where the "
                f"caller does not see it: return what is new, or keep it in an object of your own")
    return 0


# -- what a function gives and keeps ----------------------------------------------------------------------

cdef object callers_own(object result, tuple functions, tuple args, Py_ssize_t known=1):
    """What a user's function gave, in memory of the caller's own: copies of what others hold.

    A buffer that is filled again in the next call must not change what this one gave.  The ``functions`` of a
    differential may refer to it, ``args`` are as they are, and we know of so many references.
    """
    cdef list parts
    if cnp.PyArray_CheckExact(result):
        if is_held(result, functions, known) and not is_among(result, args):
            return result.copy()
    elif isinstance(result, (tuple, list)):
        known = 0 if is_held(result, functions, known) else 2  # of the sequence and the loop
        parts = [callers_own(y, functions, args, known) for y in result]
        return pytree.rebuild(result, parts) if is_another(parts, result) else result
    elif is_inner(result):
        known = 0 if is_held(result, functions, known) else 2
        parts = [callers_own(pytree.item(result, key), functions, args, known) for key in pytree.keys(result)]
        return pytree.replace(result, parts)
    return result


cdef bint is_another(list parts, object sequence) except -1:
    """Whether one of ``parts`` is not that of ``sequence``."""
    cdef Py_ssize_t i
    for i in range(len(parts)):
        if parts[i] is not sequence[i]:
            return True
    return False


cdef bint is_held(object x, tuple functions, Py_ssize_t known) except -1:
    """Whether there are more references to ``x``, or to what it is a view of, than we know."""
    if Py_REFCNT(x) > known + references(functions, x, 2):
        return True
    if not cnp.PyArray_CheckExact(x) or cnp.PyArray_BASE(<cnp.ndarray>x) == NULL:
        return False
    whole = <object>cnp.PyArray_BASE(<cnp.ndarray>x)
    return cnp.PyArray_CheckExact(whole) and Py_REFCNT(whole) > 2 + references(functions, whole, 2)


cdef bint is_among(object y, tuple args):
    """Whether an array is one of the plain ``args``, or a view of one."""
    for x in pytree.flatten(args)[0]:
        if x is y or (cnp.PyArray_CheckExact(x) and shares(y, x)):
            return True
    return False


cdef Py_ssize_t references(object holder, object x, int depth) except -1:
    """How often functions refer to ``x``, or to views of it, as far as we look."""
    cdef Py_ssize_t count = 0
    if holder is x:
        return 1
    if cnp.PyArray_CheckExact(holder):
        return cnp.PyArray_BASE(<cnp.ndarray>holder) == <PyObject *>x
    if isinstance(holder, (tuple, list)):
        for part in holder:
            count += references(part, x, depth)
    elif isinstance(holder, dict):
        count = references(list(holder.values()), x, depth)
    elif depth > 0 and getattr(holder, "__closure__", None) is not None:
        for cell in holder.__closure__:
            try:
                count += references(cell.cell_contents, x, depth - 1)
            except ValueError:  # of a name that has no value yet
                pass
    return count


# -- what a function that was refused did -----------------------------------------------------------------

cpdef bint is_refusal(error):
    """Whether an error says that an array is read-only: of NumPy, or of compiled code that asks for memory to
    write to, whether it writes there or not."""
    text = str(error)
    return any([word in text for word in ("read-only", "readonly", "writable", "writeable")])


cdef list named_shut(object function, tuple values, unsigned long long shut):
    """The arrays among ``values`` that were made read-only, with the names of the arguments."""
    cdef Py_ssize_t i
    return named_seals(
        function, tuple([values[i] if i < 64 and shut >> i & 1 else None for i in range(len(values))]))


cpdef list named_seals(object function, object seals, object values=None):
    """The seals of the arguments of ``function`` with the names of these, but for ``values`` that needed
    none."""
    cdef list found = []
    cdef Py_ssize_t i
    if type(seals) is dict:
        names, seals, values = list(seals), list(seals.values()), values and list(values.values())
    else:
        names = parameters(function, len(seals))
    for i in range(len(seals)):
        leaves = pytree.flatten(seals[i])[0]
        for leaf, x in zip(leaves, [None] * len(leaves) if values is None else pytree.flatten(values[i])[0]):
            if leaf is not x and (cnp.PyArray_CheckExact(leaf) or is_seal(leaf)):
                found.append((leaf, name_of(function), names[i]))
    return found


cpdef object run_unsealed(object function, tuple args, list seals, error):
    """What ``function(*args)``, which was refused with ``error``, gives where the ``seals`` among ``args`` or
    in the function may be written to.

    Raises
    ------
    TypeError
        It writes into one of them, which is then as before.
    """
    before = [
        seal.copy() if cnp.PyArray_CheckExact(seal) else (<Variable>seal).tie.base for seal, *_ in seals]
    failure = None
    for seal, *_ in seals:
        unlock(seal)
    try:
        result = function(*args)
    except Exception as other:
        failure = other
    written = [names for (seal, *names), x in zip(seals, before) if lock(seal, x)]
    if written:
        function, argument = written[0]
        raise TypeError(
            f"{function} changes its argument {argument!r} in place, where others may see it and derivatives "
            f"do not: let it work on a copy, {argument} = {argument}.copy()") from error
    if failure is not None:
        raise failure
    return result


cdef int unlock(object seal) except -1:
    if type(seal) is Variable:
        (<Variable>seal).tie = None
    else:
        cnp.PyArray_ENABLEFLAGS(<cnp.ndarray>seal, cnp.NPY_ARRAY_WRITEABLE)
    return 0


cdef bint lock(object seal, object before) except -1:
    """Seal again what was as ``before``, and make it so again; whether it was another one now."""
    cdef bint changed
    if type(seal) is Variable:
        changed = (<Variable>seal).node is not (<Variable>before).node \
            or (<Variable>seal)._value is not (<Variable>before)._value
        (<Variable>seal).take(before)
        watch(before, seal, SEAL)
        return changed
    changed = seal.tobytes() != before.tobytes()
    if changed:
        seal[...] = before
    cnp.PyArray_CLEARFLAGS(<cnp.ndarray>seal, cnp.NPY_ARRAY_WRITEABLE)
    return changed


cdef list parameters(object function, Py_ssize_t count):
    """The names of the first ``count`` positional parameters."""
    try:
        known = list(inspect.signature(function).parameters.values())
    except (TypeError, ValueError):
        known = []
    names = [p.name for p in known if p.kind in (p.POSITIONAL_ONLY, p.POSITIONAL_OR_KEYWORD)]
    rest = next((p.name for p in known if p.kind is p.VAR_POSITIONAL), "args")
    return [names[i] if i < len(names) else f"{rest}[{i - len(names)}]" for i in range(count)]


cdef str name_of(object function):
    """What a function is called in errors."""
    function = getattr(function, "func", function)  # of functools.partial
    return getattr(function, "__qualname__", repr(function))
