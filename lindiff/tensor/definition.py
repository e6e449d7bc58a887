"""What a tensor function computes: its statements for given arrays, and its derivatives."""

from __future__ import annotations

import functools
import threading
import weakref
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

import numpy as np

from lindiff.core.arrays import foreign, placed
from lindiff.core.backends import are_cupys
from lindiff.core.differential import Differential
from lindiff.core.registry import rule
from lindiff.core.variable import value
from lindiff.programs.recorded import Recorded, record
from lindiff.rules._common import depends_on_variables
from lindiff.tensor.adjoints import adjoint, forms_in, names_in, tangent
from lindiff.tensor.affine import Affine, AffineLike, affine
from lindiff.tensor.checking import check_inside
from lindiff.tensor.device import kernel_of
from lindiff.tensor.expressions import Apply, Number, Scalar, each_in
from lindiff.tensor.fillings import Filling, fillings_of
from lindiff.tensor.layouts import Layout
from lindiff.tensor.names import Names, is_size, size_of_axis
from lindiff.tensor.plans import planned
from lindiff.tensor.ranges import Ranges
from lindiff.tensor.statements import Statement, with_numbers
from lindiff.tensor.updates import update_of

__all__ = ["Bound", "Definition"]

# Forms of arguments whose loops are kept.
KEPT = 32

# The steps of programs that are somewhere in use, by what they compute.
_STEPS: weakref.WeakValueDictionary[Any, Step] = weakref.WeakValueDictionary()


class Definition:
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
    ) -> None:
        self.arguments, self.statements, self.ranges = arguments, statements, ranges
        self.axes = axes | {s.name: s.sizes for s in statements}
        self._plans: dict[Any, Bound] = {}
        self._steps: dict[Any, Step] = {}
        self._of_integers: dict[Any, Definition] = {}
        self._adjoints: dict[tuple[int, bool], Definition] = {}
        self._tangents: dict[int, Definition] = {}
        self._lock = threading.Lock()

    def __reduce__(self) -> tuple[Any, ...]:
        return Definition, (self.arguments, self.statements, self.ranges, self.axes)

    @functools.cached_property
    def integers(self) -> tuple[str, ...]:
        """The integers that are given by name."""
        return tuple(sorted(self.names_of_integers))

    @property
    def names_of_integers(self) -> set[str]:
        """The names that are no indices, in subscripts, conditions and ranges."""
        indices = {i for s in self.statements for i in s.indices}
        indices |= {i for s in self.statements for term in s.terms for i in term.summed}
        names = {*forms_in(self.statements), *(n for size in self.ranges.sizes.values() for n in size.names)}
        return {n for n in names - indices if not is_size(n)}

    @functools.cached_property
    def has_complex_numbers(self) -> bool:
        """Whether complex numbers are written in it."""
        return any(map(_is_complex, (term.body for s in self.statements for term in s.terms)))

    @functools.cached_property
    def functions(self) -> frozenset[Callable[..., Any]]:
        """Those that it takes of numbers."""
        return frozenset(f for s in self.statements for term in s.terms for f in _functions(term.body))

    @functools.cached_property
    def _moduli(self) -> frozenset[Affine]:
        """What is divided by, of integers that are given by name."""
        moduli = {c.modulus for s in self.statements for term in s.terms for c in term.conditions}
        return frozenset(x for x in moduli if x.names and x.names <= set(self.integers))

    def __call__(self, arrays: Sequence[Any], integers: dict[str, int]) -> Any:
        if self.integers:
            self._check_integers(integers)
        return of_arrays(self, tuple(sorted(integers.items())) if integers else (), *arrays)

    def _check_integers(self, integers: dict[str, int]) -> None:
        missing = [name for name in self.integers if name not in integers]
        if missing:
            raise TypeError(f"the integer {missing[0]} is missing: give it by name, {missing[0]}=...")
        for modulus in self._moduli:
            if modulus.substituted(integers).constant < 1:
                given = ", ".join(f"{name} is {integers[name]}" for name in sorted(modulus.names))
                raise ValueError(
                    f"a remainder is one of a positive integer, not of {modulus.text()}: {given}"
                )

    # -- values --------------------------------------------------------------------------------------------

    def plain(self, integers: tuple[tuple[str, int], ...], *arrays: Any) -> Any:
        """The result, of arrays of NumPy's."""
        given, dtype = self._given(arrays)
        with self._lock:
            return self._bound(integers, given, dtype).run(given)

    def tensors(self, integers: tuple[tuple[str, int], ...], *arrays: Any) -> tuple[dict[str, Any], Bound]:
        """All arrays and tensors by name, and what is known of these."""
        given, dtype = self._given(arrays)
        with self._lock:
            bound = self._bound(integers, given, dtype)
            return dict(zip(bound.names, bound.tensors(given), strict=True)), bound

    def _given(self, arrays: tuple[Any, ...]) -> tuple[list[Any], np.dtype[Any]]:
        """The arrays in the type that is computed in."""
        dtypes = {x.dtype if type(x) is np.ndarray and x.flags.aligned else None for x in arrays}
        if len(dtypes) == 1 and not self.has_complex_numbers:
            (dtype,) = dtypes
            if dtype is not None and dtype.char in "fdFD" and dtype.isnative:
                return list(arrays), dtype
        dtype = self.dtype_of(arrays)
        if any(foreign(x) is not None for x in arrays):
            return [placed(x, *arrays).astype(dtype, copy=False) for x in arrays], dtype
        return [np.require(x, dtype, "A") for x in arrays], dtype

    def dtype_of(self, arrays: Sequence[Any]) -> np.dtype[Any]:
        """In which it is computed."""
        return _common_dtype(tuple(arrays), self.has_complex_numbers)

    def _bound(self, integers: tuple[tuple[str, int], ...], given: list[Any], dtype: np.dtype[Any]) -> Bound:
        key = integers, dtype, tuple((type(x), x.shape, x.strides) for x in given)
        bound = self._plans.get(key)
        if bound is None:
            on_device = any(foreign(x) is not None for x in given)
            bound = Bound(self, dict(integers), given, dtype, on_device)
            if len(self._plans) >= KEPT:
                self._plans.clear()
            self._plans[key] = bound
        return bound

    def bound(self, integers: dict[str, int], arrays: list[Any]) -> Bound:
        """The same for arrays, or layouts of these."""
        self._check_integers(integers)
        dtype = self.dtype_of([np.empty(0, x.dtype) for x in arrays])
        layouts = [Layout.of(x) if x.dtype == dtype else Layout.by_rows(x.shape, dtype) for x in arrays]
        return Bound(self, integers, layouts, dtype)

    def instruction(self, integers: tuple[tuple[str, int], ...]) -> Step:
        """The step of a program that gives the result."""
        with self._lock:
            if integers not in self._steps:
                # of the same expression in another call it is the same step
                content = self.arguments, tuple(self.statements), repr(self.ranges), integers
                self._steps[integers] = _STEPS.setdefault(content, Step(self, integers))
            return self._steps[integers]

    def of_integers(self, integers: tuple[tuple[str, int], ...]) -> Definition:
        """The same with numbers in the place of integers that are given by name."""
        with self._lock:
            if integers not in self._of_integers:
                by: dict[str, AffineLike] = dict(integers)
                statements = [with_numbers(statement, by) for statement in self.statements]
                axes = {name: tuple(x.substituted(by) for x in sizes) for name, sizes in self.axes.items()}
                found = Definition(self.arguments, statements, self.ranges.with_numbers(by), axes)
                self._of_integers[integers] = found
            return self._of_integers[integers]

    # -- derivatives ---------------------------------------------------------------------------------------

    def adjoint(self, place: int, conjugated: bool = False) -> Definition:
        """Of the argument in a place; ``conjugated`` for complex numbers."""
        with self._lock:
            if (place, conjugated) not in self._adjoints:
                self._adjoints[place, conjugated] = self._adjoint(place, conjugated)
            return self._adjoints[place, conjugated]

    def _adjoint(self, place: int, conjugated: bool) -> Definition:
        by, rank = self.arguments[place]
        last, bar = self.statements[-1], self._marked("bar")
        sizes, alike = self.ranges.sizes, self.ranges.alike
        statements = adjoint(self.statements, by, rank, bar, sizes, alike, conjugated)
        return self._derived(bar(last.name), last.sizes, statements)

    def tangent(self, place: int) -> Definition:
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

    def beside(self, statements: list[Statement]) -> Definition:
        """Other statements of the same arguments."""
        return Definition(self.arguments, statements, self.ranges, self.axes)

    def _derived(self, direction: str, sizes: tuple[Affine, ...], statements: list[Statement]) -> Definition:
        """The definition of a derivative, of a cotangent or a tangent, too."""
        arguments = (*self.arguments, (direction, len(sizes)))
        return Definition(arguments, statements, self.ranges, {**self.axes, direction: sizes})


class Step:
    """A definition as a step of programs."""

    def __init__(self, definition: Definition, integers: tuple[tuple[str, int], ...]) -> None:
        self._made_of = definition, integers
        self.__name__ = f"tensor {definition.statements[-1].name}"

    def __call__(self, *arrays: Any) -> Any:
        definition, integers = self._made_of
        return definition.plain(integers, *arrays)

    def pattern(self, shapes: list[tuple[int, ...]]) -> list[Any]:
        """Where the Jacobians by all arguments have entries."""
        from lindiff.tensor.sparse import SparseJacobian  # which is made of definitions

        definition, integers = self._made_of
        arrays = [np.ones(shape) for shape in shapes]
        with np.errstate(all="ignore"):
            found = [SparseJacobian(definition, k)(integers, arrays) for k in range(len(arrays))]
        for matrix in found:
            matrix.data = np.ones(matrix.nnz)
        return found


class Bound:
    """A definition for given shapes, strides and integers.

    Attributes
    ----------
    fillings : list of Filling
        Its tensors, and those that are made on the way, in their order.
    known : dict of str to int
        All integers.
    """

    def __init__(
        self,
        definition: Definition,
        integers: dict[str, int],
        arrays: list[Any],
        dtype: np.dtype[Any],
        on_device: bool = False,
    ) -> None:
        self.dtype = dtype
        self.names = [name for name, _ in definition.arguments] + [s.name for s in definition.statements]
        known = dict(integers)
        held: dict[str, Any] = {}
        for (name, rank), x in zip(definition.arguments, arrays, strict=True):
            if x.ndim != rank:
                raise ValueError(f"{name} has {rank} subscripts, and is given with {x.ndim} axes, {x.shape}")
            held[name] = x
            known |= {size_of_axis(name, axis): n for axis, n in enumerate(x.shape)}
        known = definition.ranges.settled(known)
        for name, x in held.items():
            shape = tuple(_size(size, known) for size in definition.axes[name])
            if x.shape != shape:
                raise ValueError(f"{name} is of shape {shape}, not {x.shape}")
        self.fillings: list[Filling] = []
        shapes = {name: x.shape for name, x in held.items()}
        names = Names({*names_in(definition.statements), *held})
        for statement in definition.statements:
            shape = tuple(_size(size, known) for size in statement.sizes)
            known |= {size_of_axis(statement.name, axis): n for axis, n in enumerate(shape)}
            check_inside(statement, known, shapes)
            updates = [update_of(statement, term, known) for term in statement.terms]
            if on_device:
                self.fillings.append(Filling(statement.name, shape, updates, [], []))
            else:
                self.fillings += fillings_of(statement.name, shape, updates, shapes, names)
            shapes[statement.name] = shape
        self.known = known
        arguments = [name for name, _ in definition.arguments]
        places = {name: k for k, name in enumerate([*arguments, *(f.name for f in self.fillings)])}
        self._places = [places[name] for name in self.names]
        layouts = {name: Layout.of(x) for name, x in held.items()}
        layouts |= {f.name: Layout.by_rows(f.shape, dtype) for f in self.fillings}
        for filling in self.fillings:
            filling.plan(layouts, places, kernel_of if on_device else planned)

    def run(self, arrays: list[Any]) -> Any:
        """The last tensor; a number without axes."""
        out = self._all(arrays)[-1]
        return out if out.ndim else out[()]

    def tensors(self, arrays: list[Any]) -> list[Any]:
        """The arrays, and all tensors behind them."""
        found = self._all(arrays)
        return [found[place] for place in self._places]

    def _all(self, arrays: list[Any]) -> list[Any]:
        held = [*arrays, *(None for _ in self.fillings)]
        for place, filling in enumerate(self.fillings, len(arrays)):
            held[place] = filling.run(held)
        return held


def _functions(x: Scalar) -> Iterator[Callable[..., Any]]:
    return (part.function for part in each_in(x) if isinstance(part, Apply))


def _is_complex(x: Scalar) -> bool:
    """Whether it computes with a complex number, and does not only ask whether that is 0."""

    def used(part: Scalar) -> tuple[Scalar, ...]:
        is_fixed = isinstance(part, Apply) and part.function is np.where and isinstance(part.args[0], Number)
        return part.parts[is_fixed:]

    numbers = (y for y in (x, *(z for part in each_in(x) for z in used(part))) if isinstance(y, Number))
    return any(isinstance(number.value, complex) for number in numbers)


def _common_dtype(arrays: tuple[Any, ...], beside_complex: bool) -> np.dtype[Any]:
    """In which a tensor is computed: that of its arrays; double precision for integers."""
    others = [x for x in arrays if foreign(x) is not None]
    if not are_cupys(*others) and others:
        raise TypeError(f"tensor functions take arrays of NumPy's and CuPy's, not {type(others[0]).__name__}")
    if others and any(type(x) is np.ndarray and x.ndim for x in arrays):
        raise TypeError("an array of NumPy's and one of CuPy's: write cupy.asarray(x)")
    dtype = np.result_type(*(x.dtype.newbyteorder("=") for x in arrays)) if arrays else np.dtype(np.float64)
    dtype = np.dtype(np.float64) if dtype.kind in "biu" else dtype
    if beside_complex:
        dtype = np.result_type(dtype, np.complex64)
    if dtype.char not in "fdFD" or (others and dtype.char in "FD"):
        numbers = "real numbers of single and double precision" if others else "single and double precision"
        raise TypeError(f"tensor functions compute in {numbers}, not in {dtype}")
    return dtype


def _size(size: Affine, known: Mapping[str, int]) -> int:
    number = affine(size).substituted(known).number
    assert isinstance(number, int)
    return number


@rule
def of_arrays(definition: Definition, integers: tuple[tuple[str, int], ...], *arrays: Any) -> Any:
    """The result of a definition."""

    def exact() -> Definition:
        """With numbers alone, of which every equation can be solved."""
        return definition.of_integers(integers) if integers else definition

    def is_complex(direction: Any) -> bool:
        return definition.has_complex_numbers or any(np.iscomplexobj(value(x)) for x in (*arrays, direction))

    def derivative(found: Definition, direction: Any) -> Any:
        if np.sign in found.functions | definition.functions and is_complex(direction):
            raise TypeError(
                "derivatives of abs and sign are those of real numbers: write sqrt(x[i]*conjugate(x[i])) for "
                "abs(x[i])"
            )
        return found([*arrays, direction], {})

    def pullback(y_bar: Any, active: tuple[int, ...]) -> tuple[Any, ...]:
        conjugated = is_complex(y_bar)

        def of(place: int) -> Any:
            x_bar = derivative(exact().adjoint(place, conjugated), y_bar)
            return x_bar if np.iscomplexobj(value(arrays[place])) else np.real(x_bar)

        return (None, None, *(of(k) if k + 2 in active else None for k in range(len(arrays))))

    def pushforward(_: Any, __: Any, *dots: Any) -> Any:
        moving = [(k, dot) for k, dot in enumerate(dots) if dot is not None]
        return functools.reduce(np.add, (derivative(exact().tangent(k), dot) for k, dot in moving))

    if depends_on_variables(arrays):  # of an enclosing trace
        result = of_arrays(definition, integers, *arrays)
    elif any(isinstance(x, Recorded) for x in arrays):
        result = record(definition.instruction(integers), arrays, {})
    else:
        result = definition.plain(integers, *arrays)
    return result, Differential(pushforward, pullback, selective=True)
