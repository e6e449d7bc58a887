"""Tensor functions: expressions in index notation as functions of arrays, with their derivatives."""

from __future__ import annotations

import functools
import threading
from collections.abc import Callable, Mapping
from typing import Any, get_args

import numpy as np

from lindiff.core.arrays import foreign
from lindiff.core.differential import Differential
from lindiff.core.registry import rule
from lindiff.core.variable import value
from lindiff.programs.recorded import Recorded, record
from lindiff.programs.surroundings import Immutable
from lindiff.rules._common import as_array, depends_on_variables
from lindiff.tensor.adjoints import adjoint, names_in, tangent
from lindiff.tensor.affine import Affine, affine
from lindiff.tensor.checking import check_inside
from lindiff.tensor.expressions import Outside, accesses
from lindiff.tensor.notation import latex_of, text_of
from lindiff.tensor.plans import IDENTITY, Plan, planned
from lindiff.tensor.ranges import Ranges, size_of_axis, uniquely_bound
from lindiff.tensor.reading import Equation, read
from lindiff.tensor.statements import Names, Statement, statements_of

__all__ = ["TensorFunction", "tensor"]

# Forms of arguments whose loops are kept.
KEPT = 32


def tensor(
    text: str,
    *,
    ranges: Mapping[str, int | str] | None = None,
    outside: Outside | Mapping[str, Outside] = "error",
    functions: Mapping[str, Callable[..., Any]] | None = None,
) -> TensorFunction:
    """The function that index notation says.

    Parameters
    ----------
    text : str
        ``name[indices] = expression``.  In the expression ``x[i + 2*l - 1, j]`` is an element of an array:
        its subscripts are sums of indices times integers, which may be names (``m*i + j``) and are then given
        in calls.  ``sum[l]``, ``prod[l]``, ``max[l]`` and ``min[l]`` take the factors behind them, over all
        l; ``sum[l, m | l <= m, (l + m) % 2 == 0]`` over those that fulfil the conditions.  ``[i <= j]`` is 1
        where that holds and 0 elsewhere.  An index on its own is its value.  Functions are NumPy's ufuncs,
        ``where``, ``abs`` and those in ``functions``; ``pi`` is known.
    ranges : dict of str to int or str, optional
        How many values an index has, from 0 on.  One that is a subscript by itself goes over its axis; others
        go as far as conditions allow, or as far as all of their subscripts are inside.
    outside : {"error", "zero", "wrap"} or dict of str to these
        What lies outside an array, of each by its name: an error, zeros, or the array again.
    functions : dict of str to callable, optional
        Elementwise functions, ufuncs or written in these.

    Returns
    -------
    TensorFunction

    Raises
    ------
    TensorSyntaxError
        For what cannot be read, with the place marked.

    Notes
    -----
    A reduction in a function, and a function of one array's elements in a larger loop, are tensors of their
    own, which are computed once (print the function to see them).  Derivatives never scatter: an adjoint is a
    sum over the indices that the equation ``A α = β`` leaves, with exact bounds.  Of n multiplications the
    value takes O(n) time, and so does each adjoint; memory is that of the results.  Sums over no index are 0,
    products 1, maxima -inf and minima inf; of several largest numbers each has its part of the derivative.

    References
    ----------
    S. Urban, P. van der Smagt (2017), Automatic Differentiation for Tensor Algebras, arXiv:1711.01348.

    Examples
    --------
    >>> import numpy as np, lindiff as ld
    >>> convolved = ld.tensor("f[i] = sum[k] x[i + k] * w[k]")
    >>> convolved(np.arange(5.0), np.array([1.0, -1.0]))
    array([-1., -1., -1., -1.])
    >>> print(convolved.adjoint("x"))
    x_bar[p] = sum[k | k <= p, p < k + size(i)] f_bar[-k + p]*w[k]
    >>> ld.grad(lambda w: np.sum(convolved(np.arange(5.0), w) ** 2))(np.array([1.0, -1.0]))
    array([-12., -20.])
    """
    if not isinstance(text, str):
        raise TypeError(
            f"lindiff.tensor takes index notation, a string, not a {type(text).__name__}: ld.grad(f) takes "
            f"plain arrays, and ld.Variable(array) is for the tape by hand"
        )
    for each in [outside] if isinstance(outside, str) else outside.values():
        if each not in get_args(Outside):
            raise ValueError(f"outside is {', '.join(map(repr, get_args(Outside)))}, not {each!r}")
    equation = uniquely_bound(read(text, functions or {}, outside))
    return TensorFunction(equation, Ranges.of(equation, ranges or {}))


class TensorFunction:
    """A function of arrays that is given element by element, as :func:`tensor` makes it.

    It takes arrays by position, in the order in which the expression names them first, or by name, and
    integers of the expression by name.  It is differentiable in all arrays, in both modes and to any order;
    of complex arrays once in reverse mode.

    Attributes
    ----------
    arguments : tuple of str
        The arrays.
    integers : tuple of str
    statements : list of Statement
        The tensors that are computed, the last one being the result.
    """

    def __init__(self, equation: Equation, ranges: Ranges) -> None:
        self._made_of = equation, ranges
        statements = statements_of(equation, ranges.sizes)
        arguments: dict[str, int] = {}
        for access in accesses(equation.body):
            rank = arguments.setdefault(access.array, len(access.subscripts))
            if rank != len(access.subscripts):
                raise ValueError(f"{access.array} has {rank} subscripts in one place and others elsewhere")
        axes = {
            name: tuple(affine(size_of_axis(name, axis)).substituted(ranges.alike) for axis in range(rank))
            for name, rank in arguments.items()
        }
        self._definition = _Definition(tuple(arguments.items()), statements, ranges, axes)
        self.arguments, self.statements = tuple(arguments), statements
        self.integers = self._definition.integers

    def __reduce__(self) -> tuple[Any, ...]:
        return TensorFunction, self._made_of

    def __repr__(self) -> str:
        return f"<tensor {self}>"

    def __str__(self) -> str:
        return text_of(self.statements, self._definition.axes)

    def _repr_latex_(self) -> str:
        return f"${latex_of(self.statements, self._definition.axes)}$"

    def __call__(self, *arrays: Any, **named: Any) -> Any:
        """The tensor, an array in C order of the common type of the arrays."""
        integers = {name: _integer(name, named.pop(name)) for name in self.integers if name in named}
        return self._definition(self._ordered(arrays, named), integers)

    def _ordered(self, arrays: tuple[Any, ...], named: dict[str, Any]) -> list[Any]:
        given = dict(zip(self.arguments, arrays, strict=False))
        for name in named:
            if name not in self.arguments:
                raise TypeError(f"there is no argument {name}; there are {', '.join(self.arguments)}")
            if name in given:
                raise TypeError(f"{name} is given twice")
        given |= named
        missing = [name for name in self.arguments if name not in given]
        if missing or len(arrays) > len(self.arguments):
            raise TypeError(
                f"{self._definition.statements[-1].name} is a function of {', '.join(self.arguments)}"
                + (f": {', '.join(missing)} is missing" if missing else f", not of {len(arrays)} arrays")
            )
        return [as_array(given[name]) for name in self.arguments]

    def adjoint(self, by: str) -> Derivative:
        """The adjoint of an argument, as an expression: its cotangent, given that of the result.

        It is a function of the arguments and of ``<result>_bar``.
        """
        return Derivative(self._definition, self._definition.adjoint(self._place(by)))

    def tangent(self, by: str) -> Derivative:
        """The tangent of the result, as an expression: of the arguments and of ``<by>_dot``."""
        return Derivative(self._definition, self._definition.tangent(self._place(by)))

    def _place(self, name: str) -> int:
        if name not in self.arguments:
            raise ValueError(f"there is no argument {name}; there are {', '.join(self.arguments)}")
        return self.arguments.index(name)


class Derivative(TensorFunction):
    """The adjoint or the tangent of a tensor function: a tensor function again."""

    def __init__(self, of: _Definition, definition: _Definition) -> None:
        self._of = of
        self._definition = definition
        self.arguments = tuple(name for name, _ in definition.arguments)
        self.statements, self.integers = definition.statements, definition.integers

    def __reduce__(self) -> tuple[Any, ...]:
        return Derivative, (self._of, self._definition)


Immutable.register(TensorFunction)


def _integer(name: str, x: Any) -> int:
    if isinstance(value(x), (bool, np.bool_)) or not isinstance(value(x), (int, np.integer)):
        raise TypeError(f"{name} is an integer of the expression, not {x!r}")
    return int(x)


class _Definition:
    """What is computed, of which arrays.  No data class: to rules it is one object, and no tree of others.

    Parameters
    ----------
    arguments : tuple of (str, int)
        Names, and how many axes.
    statements : list of Statement
    ranges : Ranges
        Of the indices of the value.
    axes : dict of str to tuple of Affine
        The sizes of the axes of arguments.
    is_checked : bool
        Whether what it reads may lie outside of an array; not so in derivatives of what has been checked.

    Attributes
    ----------
    axes : dict of str to tuple of Affine
        The sizes of the axes of arguments and statements.
    """

    def __init__(
        self,
        arguments: tuple[tuple[str, int], ...],
        statements: list[Statement],
        ranges: Ranges,
        axes: dict[str, tuple[Affine, ...]],
        is_checked: bool = True,
    ) -> None:
        self.arguments, self.statements, self.ranges = arguments, statements, ranges
        self.axes = axes | {s.name: s.sizes for s in statements}
        self.is_checked = is_checked
        self._plans: dict[Any, _Bound] = {}
        self._steps: dict[Any, _Step] = {}
        self._adjoints: dict[tuple[int, bool], _Definition] = {}
        self._tangents: dict[int, _Definition] = {}
        self._lock = threading.Lock()

    def __reduce__(self) -> tuple[Any, ...]:
        return _Definition, (self.arguments, self.statements, self.ranges, self.axes, self.is_checked)

    @functools.cached_property
    def integers(self) -> tuple[str, ...]:
        """The integers that are given by name."""
        indices = {i for s in self.statements for i in s.indices}
        indices |= {i for s in self.statements for term in s.terms for i in term.summed}
        arrays = {name for name, _ in self.arguments} | {s.name for s in self.statements}
        names = {*names_in(self.statements), *(n for size in self.ranges.sizes.values() for n in size.names)}
        free = names - indices - arrays
        return tuple(sorted(n for n in free if ".shape[" not in n and not n.startswith("size(")))

    def __call__(self, arrays: list[Any], integers: dict[str, int]) -> Any:
        missing = [name for name in self.integers if name not in integers]
        if missing:
            raise TypeError(f"the integer {missing[0]} is missing: give it by name, {missing[0]}=...")
        return of_arrays(self, tuple(sorted(integers.items())), *arrays)

    # -- values --------------------------------------------------------------------------------------------

    def plain(self, integers: tuple[tuple[str, int], ...], *arrays: Any) -> Any:
        """The result, of arrays of NumPy's."""
        dtype = _common_dtype(arrays)
        given = [np.require(x, dtype, "A") for x in arrays]
        key = integers, dtype, tuple((x.shape, x.strides) for x in given)
        with self._lock:
            bound = self._plans.get(key)
            if bound is None:
                bound = _Bound(self, dict(integers), given, dtype)
                if len(self._plans) >= KEPT:
                    self._plans.clear()
                self._plans[key] = bound
            return bound.run(given)

    def instruction(self, integers: tuple[tuple[str, int], ...]) -> _Step:
        """The step of a program that gives the result."""
        with self._lock:
            return self._steps.setdefault(integers, _Step(self, integers))

    # -- derivatives ---------------------------------------------------------------------------------------

    def adjoint(self, place: int, conjugated: bool = False) -> _Definition:
        """Of the argument in a place; ``conjugated`` for complex numbers."""
        with self._lock:
            if (place, conjugated) not in self._adjoints:
                self._adjoints[place, conjugated] = self._adjoint(place, conjugated)
            return self._adjoints[place, conjugated]

    def _adjoint(self, place: int, conjugated: bool) -> _Definition:
        by, rank = self.arguments[place]
        last, bar = self.statements[-1], self._marked("bar")
        sizes, alike = self.ranges.sizes, self.ranges.alike
        statements = adjoint(self.statements, by, rank, bar, sizes, alike, conjugated)
        return self._derived(bar(last.name), last.sizes, statements)

    def tangent(self, place: int) -> _Definition:
        """Along the argument in a place."""
        with self._lock:
            if place not in self._tangents:
                by, dot = self.arguments[place][0], self._marked("dot")
                statements = tangent(self.statements, [by], dot, self.ranges.sizes)
                self._tangents[place] = self._derived(dot(by), self.axes[by], statements)
            return self._tangents[place]

    def _marked(self, mark: str) -> Callable[[str], str]:
        """New names, one for each name: ``x_bar`` of ``x``."""
        names = Names({*names_in(self.statements), *(name for name, _ in self.arguments)})
        found: dict[str, str] = {}

        def marked(name: str) -> str:
            if name not in found:
                found[name] = names.fresh(f"{name}_{mark}")
            return found[name]

        return marked

    def _derived(self, direction: str, sizes: tuple[Affine, ...], statements: list[Statement]) -> _Definition:
        """The definition of a derivative, of a cotangent or a tangent, too."""
        arguments = (*self.arguments, (direction, len(sizes)))
        return _Definition(arguments, statements, self.ranges, {**self.axes, direction: sizes}, False)


class _Step:
    """A definition as a step of programs."""

    def __init__(self, definition: _Definition, integers: tuple[tuple[str, int], ...]) -> None:
        self._made_of = definition, integers
        self.__name__ = f"tensor {definition.statements[-1].name}"

    def __call__(self, *arrays: Any) -> Any:
        definition, integers = self._made_of
        return definition.plain(integers, *arrays)


class _Bound:
    """A definition for given shapes, strides and integers: the loops of its terms, and where they write."""

    def __init__(
        self, definition: _Definition, integers: dict[str, int], arrays: list[Any], dtype: np.dtype[Any]
    ) -> None:
        self.dtype = dtype
        known = dict(integers)
        held: dict[str, Any] = {}
        for (name, rank), x in zip(definition.arguments, arrays, strict=True):
            if x.ndim != rank:
                raise ValueError(f"{name} has {rank} subscripts, and is given with {x.ndim} axes, {x.shape}")
            held[name] = x
            known |= {size_of_axis(name, axis): n for axis, n in enumerate(x.shape)}
        known = definition.ranges.settled(known)
        places = {name: k for k, name in enumerate([*held, *(s.name for s in definition.statements)])}
        self.steps: list[tuple[tuple[int, ...], float, list[Plan]]] = []
        for statement in definition.statements:
            shape = tuple(_size(size, known) for size in statement.sizes)
            known |= {size_of_axis(statement.name, axis): n for axis, n in enumerate(shape)}
            if definition.is_checked:
                check_inside(statement, known, {name: x.shape for name, x in held.items()})
            out = np.empty(shape, dtype)
            kinds = {term.kind for term in statement.terms}
            plans = [
                plan
                for term in statement.terms
                if (plan := planned(statement, term, known, held, places, out)) is not None
            ]
            self.steps.append((shape, IDENTITY[kinds.pop()] if kinds else 0.0, plans))
            held[statement.name] = out

    def run(self, arrays: list[Any]) -> Any:
        held = list(arrays)
        results = len(arrays) + len(self.steps)
        out = np.empty(0)
        for shape, identity, plans in self.steps:
            out = np.full(shape, identity, self.dtype)
            for plan in plans:
                padding = [None] * (results - len(held))
                plan.nest.run([*held, *padding, *plan.numbers], out)
            held.append(out)
        return out if out.ndim else out[()]


def _common_dtype(arrays: tuple[Any, ...]) -> np.dtype[Any]:
    """In which a tensor is computed: that of its arrays; double precision for integers."""
    if any(foreign(x) is not None for x in arrays):
        raise TypeError("tensor functions take arrays of NumPy's: write cupy.asnumpy(x)")
    dtype = np.result_type(*arrays) if arrays else np.dtype(np.float64)
    if dtype.kind in "biu":
        return np.dtype(np.float64)
    if dtype.char not in "fdFD":
        raise TypeError(f"tensor functions compute in single and double precision, not in {dtype}")
    return dtype


def _size(size: Affine, known: Mapping[str, int]) -> int:
    number = affine(size).substituted(known).number
    assert isinstance(number, int)
    return number


@rule
def of_arrays(definition: _Definition, integers: tuple[tuple[str, int], ...], *arrays: Any) -> Any:
    """The result of a definition."""
    known = dict(integers)

    def pullback(y_bar: Any, active: tuple[int, ...]) -> tuple[Any, ...]:
        is_complex = any(np.iscomplexobj(value(x)) for x in (*arrays, y_bar))

        def of(place: int) -> Any:
            x_bar = definition.adjoint(place, is_complex)([*arrays, y_bar], known)
            return x_bar if np.iscomplexobj(value(arrays[place])) else np.real(x_bar)

        return (None, None, *(of(k) if k + 2 in active else None for k in range(len(arrays))))

    def pushforward(_: Any, __: Any, *dots: Any) -> Any:
        parts = [
            definition.tangent(k)([*arrays, dot], known) for k, dot in enumerate(dots) if dot is not None
        ]
        return functools.reduce(np.add, parts)

    if depends_on_variables(arrays):  # of an enclosing trace
        result = of_arrays(definition, integers, *arrays)
    elif any(type(x) is Recorded for x in arrays):
        result = record(definition.instruction(integers), arrays, {})
    else:
        result = definition.plain(integers, *arrays)
    return result, Differential(pushforward, pullback, selective=True)
