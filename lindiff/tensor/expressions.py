"""Elements of tensors as expressions of elements of others: what stands on the right of ``f[i, j] = ...``.

Expressions take Python's operators and NumPy's ufuncs, as arrays do, so that the rules of elementwise
functions, which are written for arrays, give their partial derivatives as expressions, too.
"""

from __future__ import annotations

import numbers
import operator
import sys
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from functools import reduce
from typing import Any, Literal, TypeAlias

import numpy as np

from lindiff.tensor.affine import Affine, AffineLike, affine

__all__ = [
    "GROUP",
    "Access",
    "Apply",
    "Arithmetic",
    "Bracket",
    "Condition",
    "Coordinate",
    "Number",
    "Outside",
    "Reduction",
    "Scalar",
    "accesses",
    "at_least",
    "chain",
    "chained",
    "each_in",
    "equal",
    "evaluated",
    "is_elementwise",
    "is_number",
    "is_polynomial",
    "length",
    "of_python",
    "plus",
    "product",
    "refuse_reduction",
    "scalar",
    "scaled",
    "simplified",
    "substituted",
    "times",
    "total",
]

Outside: TypeAlias = Literal["error", "zero", "wrap"]


# The modulus of a condition without one.
_NONE = affine(0)


class Arithmetic:
    """What Python's operators and NumPy's functions make of expressions, and of what stands for one."""

    __slots__ = ()

    def __array_ufunc__(self, ufunc: np.ufunc, method: str, *inputs: Any, **options: Any) -> Any:
        if method == "reduce":
            refuse_reduction(ufunc)
        if method != "__call__" or options or not is_elementwise(ufunc):
            return NotImplemented
        return applied(ufunc, *map(scalar, inputs))

    def __array_function__(self, function: Any, _: Any, args: tuple[Any, ...], options: Any) -> Any:
        refuse_reduction(function)
        if function is not np.where or len(args) != 3 or options:
            return NotImplemented
        return Apply(np.where, tuple(map(scalar, args)))

    def __add__(self, other: Any) -> Scalar:
        return applied(np.add, scalar(self), scalar(other))

    def __radd__(self, other: Any) -> Scalar:
        return applied(np.add, scalar(other), scalar(self))

    def __sub__(self, other: Any) -> Scalar:
        return applied(np.subtract, scalar(self), scalar(other))

    def __rsub__(self, other: Any) -> Scalar:
        return applied(np.subtract, scalar(other), scalar(self))

    def __mul__(self, other: Any) -> Scalar:
        return applied(np.multiply, scalar(self), scalar(other))

    def __rmul__(self, other: Any) -> Scalar:
        return applied(np.multiply, scalar(other), scalar(self))

    def __truediv__(self, other: Any) -> Scalar:
        return applied(np.divide, scalar(self), scalar(other))

    def __rtruediv__(self, other: Any) -> Scalar:
        return applied(np.divide, scalar(other), scalar(self))

    def __pow__(self, other: Any) -> Scalar:
        return applied(np.power, scalar(self), scalar(other))

    def __rpow__(self, other: Any) -> Scalar:
        return applied(np.power, scalar(other), scalar(self))

    def __neg__(self) -> Scalar:
        return applied(np.negative, scalar(self))

    def __pos__(self) -> Scalar:
        return scalar(self)

    def __abs__(self) -> Scalar:
        return applied(np.absolute, scalar(self))

    def __lt__(self, other: Any) -> Scalar:
        return applied(np.less, scalar(self), scalar(other))

    def __le__(self, other: Any) -> Scalar:
        return applied(np.less_equal, scalar(self), scalar(other))

    def __gt__(self, other: Any) -> Scalar:
        return applied(np.greater, scalar(self), scalar(other))

    def __ge__(self, other: Any) -> Scalar:
        return applied(np.greater_equal, scalar(self), scalar(other))

    def __and__(self, other: Any) -> Scalar:
        return applied(np.logical_and, scalar(self), scalar(other))

    def __or__(self, other: Any) -> Scalar:
        return applied(np.logical_or, scalar(self), scalar(other))

    def __invert__(self) -> Scalar:
        return applied(np.logical_not, scalar(self))


@dataclass(frozen=True)
class Condition(Arithmetic):
    """Of indices: ``form >= 0``, ``form == 0`` or ``form % modulus == 0``; its bracket, as a number."""

    kind: Literal[">=", "==", "%"]
    form: Affine
    modulus: Affine = _NONE

    def substituted(self, by: Mapping[str, AffineLike]) -> Condition:
        """With integer coefficients, whatever is put in."""
        form = self.form.substituted(by)
        times = form.denominator()
        return Condition(self.kind, form * times, self.modulus.substituted(by) * times)

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Condition):
            raise TypeError("conditions are compared by np.equal")
        return vars(self) == vars(other)

    def __bool__(self) -> bool:
        raise TypeError(
            "whether a condition holds depends on the indices: write [2 <= i, i < 5] for both of two, and "
            "the sum of two terms for one of them"
        )

    @property
    def names(self) -> frozenset[str]:
        """The indices and integers in it."""
        return self.form.names | self.modulus.names

    @property
    def holds(self) -> bool | None:
        """Whether it holds; None where that depends on an index or an integer."""
        x = self.form.number
        if x is None:
            return None
        if self.kind == "%":
            modulus = self.modulus.number
            return None if modulus is None else modulus != 0 and x % modulus == 0
        return x >= 0 if self.kind == ">=" else x == 0


def at_least(x: AffineLike, y: AffineLike) -> Condition:
    """``x >= y``"""
    return Condition(">=", affine(x) - y)


def equal(x: AffineLike, y: AffineLike) -> Condition:
    """``x == y``"""
    return Condition("==", affine(x) - y)


class Scalar(Arithmetic):
    """An expression: one number for each of the indices that are free in it."""

    # Its hash, once it is known: of its own, each would look at all of the parts again.
    __slots__ = ("_hash",)
    _hash: int

    # For the rules of elementwise functions, which ask whether they are given complex numbers.
    dtype = np.dtype(np.float64)

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Scalar):
            raise TypeError("elements are compared by np.equal")
        if self is other:
            return True
        return type(self) is type(other) and hash(self) == hash(other) and vars(self) == vars(other)

    def __hash__(self) -> int:
        try:
            return self._hash
        except AttributeError:
            object.__setattr__(self, "_hash", hash((type(self), *vars(self).values())))
            return self._hash

    def __getstate__(self) -> dict[str, Any]:
        return vars(self)  # another process has other hashes

    def __bool__(self) -> bool:
        raise TypeError("whether an element is true depends on the indices: write np.where")

    @property
    def parts(self) -> tuple[Scalar, ...]:
        """The expressions in it."""
        return ()


@dataclass(frozen=True, eq=False)
class Number(Scalar):
    """The same number everywhere.

    It is another one with the other sign of a zero, and as a complex number: functions tell these apart.
    """

    value: Any

    def __post_init__(self) -> None:
        object.__setattr__(self, "value", of_python(self.value))

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Scalar):
            raise TypeError("elements are compared by np.equal")
        return self is other or (isinstance(other, Number) and self._told == other._told)

    def __hash__(self) -> int:
        return hash((Number, self._told))

    @property
    def _told(self) -> tuple[str | int, ...]:
        x = self.value
        if isinstance(x, complex):
            return x.real.hex(), x.imag.hex()
        return (x.hex() if isinstance(x, float) else x,)


@dataclass(frozen=True, eq=False)
class Access(Scalar):
    """An element of an array; ``outside`` says what is where its subscripts are not in the array."""

    array: str
    subscripts: tuple[Affine, ...]
    outside: Outside = "error"


@dataclass(frozen=True, eq=False)
class Coordinate(Scalar):
    """The value of an index, or of a form of indices, as a number."""

    form: Affine


@dataclass(frozen=True, eq=False)
class Bracket(Scalar):
    """1 where all conditions hold, 0 elsewhere: Iverson's bracket."""

    conditions: tuple[Condition, ...]


@dataclass(frozen=True, eq=False)
class Apply(Scalar):
    """A function of numbers, a ufunc or ``np.where``."""

    function: Callable[..., Any]
    args: tuple[Scalar, ...]

    @property
    def parts(self) -> tuple[Scalar, ...]:
        return self.args


@dataclass(frozen=True, eq=False)
class Reduction(Scalar):
    """The sum, product, maximum or minimum over indices under conditions."""

    kind: Literal["sum", "prod", "max", "min"]
    indices: tuple[str, ...]
    conditions: tuple[Condition, ...]
    body: Scalar

    @property
    def parts(self) -> tuple[Scalar, ...]:
        return (self.body,)


def of_python(x: Any) -> int | float | complex:
    """A number, NumPy's too, as one of Python's, whose kind says whether it is complex; infinite where
    double precision ends."""
    if isinstance(x, numbers.Complex) and not isinstance(x, numbers.Real):
        return complex(x)
    if not isinstance(x, (numbers.Integral, np.bool_)):
        return float(x)
    whole = int(x)
    return whole if abs(whole) <= sys.float_info.max else float("inf" if whole > 0 else "-inf")


# Terms that are added one after the other.
GROUP = 16

ZERO: Scalar = Number(0)
ONE: Scalar = Number(1)


def is_elementwise(function: Any) -> bool:
    """Whether that is a ufunc that makes one number of numbers, and no product of vectors."""
    return isinstance(function, np.ufunc) and function.signature is None and function.nout == 1


_REDUCTIONS: dict[Any, str] = {
    **dict.fromkeys((np.sum, np.add), "sum"),
    **dict.fromkeys((np.prod, np.multiply), "prod"),
    **dict.fromkeys((np.max, np.maximum), "max"),
    **dict.fromkeys((np.min, np.minimum), "min"),
}


def refuse_reduction(function: Any) -> None:
    """Raise for a function of NumPy's over the axes of an array, which elements and indices have not."""
    if function in _REDUCTIONS:
        kind = _REDUCTIONS[function]
        raise TypeError(f"NumPy reduces arrays, and x[i] is one element: write ld.tensor.{kind}(x[i], i)")


def scalar(x: Any) -> Scalar:
    """A number, a condition, a form of indices or what has one, as an expression."""
    if isinstance(x, Scalar):
        return x
    if isinstance(x, Condition):
        return Bracket((x,))
    form = getattr(x, "form", x)
    if isinstance(form, Affine):
        return Coordinate(form)
    if isinstance(x, bool):  # what `==` says of two expressions
        raise TypeError(
            f"{x} is no element: == of elements or of conditions compares how they are written; write "
            f"np.equal or np.not_equal"
        )
    if not isinstance(x, (numbers.Number, np.bool_)):
        raise TypeError(f"{x!r} is no element and no number: write x[i]")
    return Number(x)


def is_number(x: Scalar, value: float) -> bool:
    """Whether an expression is a real number, the sign of zero aside."""
    return isinstance(x, Number) and not isinstance(x.value, complex) and x.value == value


def applied(function: Callable[..., Any], *args: Scalar) -> Scalar:
    """``function(*args)`` as it stands, of numbers alone their result.

    What adds 0 or multiplies by 1 or -1 says something: ``-0.0 + 0`` is 0.0, and a complex number times -1
    has another sign of zero than its negative, which is on another side of a branch cut.
    """
    if all(isinstance(x, Number) for x in args):
        return Number(_of_numbers(function, [x.value for x in args]))  # type: ignore[attr-defined]
    return Apply(function, args)


def scaled(x: Scalar, y: Scalar) -> Scalar:
    """``x y`` without a factor of 1 or -1, signs of zeros aside."""
    for factor, other in ((x, y), (y, x)):
        if is_number(factor, 1):
            return other
        if is_number(factor, -1):
            return simplified(np.negative, other)
    return applied(np.multiply, x, y)


def simplified(function: Callable[..., Any], *args: Scalar) -> Scalar:
    """The same without what adds 0 or multiplies by 0, 1 or -1, for the chain rule."""
    if function is chain and isinstance(args[0], Number) and args[0].value != 0:
        return simplified(np.multiply, *args)
    if function is np.multiply and not all(isinstance(x, Number) for x in args):
        return ZERO if any(is_number(x, 0) for x in args) else scaled(*args)
    if function is np.add and (is_number(args[0], 0) or is_number(args[1], 0)):
        return args[1] if is_number(args[0], 0) else args[0]
    if function in (np.subtract, np.divide) and is_number(args[1], int(function is np.divide)):
        return args[0]
    if function is np.negative and isinstance(args[0], Apply) and args[0].function is np.negative:
        return args[0].args[0]
    return applied(function, *args)


def times(x: Scalar, y: Scalar) -> Scalar:
    """``x y`` in the chain rule."""
    return simplified(np.multiply, x, y)


def plus(x: Scalar, y: Scalar) -> Scalar:
    """``x + y`` in the chain rule."""
    return simplified(np.add, x, y)


# What Python computes of its own numbers, of integers of any size.
_OF_PYTHON: dict[Any, Callable[..., Any]] = {
    np.add: operator.add,
    np.subtract: operator.sub,
    np.multiply: operator.mul,
    np.divide: operator.truediv,
    np.power: operator.pow,
    np.negative: operator.neg,
}


def _of_numbers(function: Callable[..., Any], numbers: list[Any]) -> Any:
    try:
        return _OF_PYTHON[function](*numbers)
    except (KeyError, ArithmeticError):
        with np.errstate(all="ignore"):
            found = function(*(x if isinstance(x, complex) else float(x) for x in numbers))
        return found.item() if isinstance(found, np.ndarray) else found


def chain(x_bar: Any, slope: Any) -> Any:
    """``x_bar slope``, 0 where one of them is 0, also if the other one is infinite there."""
    return np.where(np.logical_and(x_bar, slope), np.multiply(x_bar, slope), 0.0)


_POLYNOMIAL = (np.add, np.subtract, np.multiply, np.negative, np.conjugate, np.equal)


def is_polynomial(x: Scalar) -> bool:
    """Whether an expression of finite numbers is finite: it takes sums and products of them alone."""
    return not isinstance(x, Apply) or (x.function in _POLYNOMIAL and all(map(is_polynomial, x.args)))


def chained(x_bar: Scalar, slope: Scalar, is_finite: bool) -> Scalar:
    """A cotangent or tangent times a derivative, where 0 · ∞ = 0 as in other operations' chain rule.

    If it ``is_finite``, its product with a polynomial needs no care: sums can be taken apart by that.
    """
    if isinstance(slope, Number) or (is_finite and is_polynomial(slope)):
        return times(x_bar, slope)
    return simplified(chain, x_bar, slope)


def product(factors: Iterable[Scalar]) -> Scalar:
    """Of factors, and divided by what there are reciprocals of: two roundings would be one too many."""

    def by(x: Scalar, factor: Scalar) -> Scalar:
        is_inverse = isinstance(factor, Apply) and factor.function is np.reciprocal
        return x / factor.parts[0] if is_inverse else scaled(x, factor)

    return reduce(by, factors, ONE)


def total(terms: Iterable[Scalar]) -> Scalar:
    """The sum of terms, of many in groups: no expression is deep then."""
    left = list(terms)
    while len(left) > GROUP:
        left = [reduce(operator.add, left[k : k + GROUP]) for k in range(0, len(left), GROUP)]
    return reduce(operator.add, left) if left else ZERO  # 0 + -0.0 is another number


def _as_number(x: Any) -> Any:
    """A truth value as 1 or 0, to compute with."""
    return np.multiply(x, 1.0) if getattr(x, "dtype", None) == np.bool_ else x


def evaluated(x: Scalar, leaves: Mapping[Scalar, Any]) -> Any:
    """An expression of what stands for its leaves."""
    known = dict(leaves)

    def value(x: Scalar) -> Any:
        if isinstance(x, Number) and x not in known:
            return x.value if isinstance(x.value, complex) else float(x.value)
        if x not in known:
            assert isinstance(x, Apply)
            known[x] = _called(x, list(map(value, x.args)))
        return known[x]

    return value(x)


def _called(x: Apply, args: list[Any]) -> Any:
    """A function of arguments that are evaluated."""
    if x.function is np.where and isinstance(x.args[0], Number):
        symbol = args[1 + isinstance(x.args[1], Number)]  # what makes an array of the truth value
        args[0] = np.logical_or(symbol, True) if x.args[0].value else np.logical_and(symbol, False)
    elif x.function is np.where and getattr(args[0], "dtype", np.bool_) != np.bool_:
        args[0] = np.not_equal(args[0], 0)
    elif x.function is np.power:
        exponent = x.args[1]
        is_whole = isinstance(exponent, Number) and isinstance(exponent.value, int)
        return _as_number(args[0]) ** (exponent.value if is_whole else args[1])  # type: ignore[attr-defined]
    elif x.function not in (np.logical_and, np.logical_or, np.logical_not):
        args[x.function is np.where :] = [_as_number(arg) for arg in args[x.function is np.where :]]
    return x.function(*args)


def each_in(x: Scalar) -> Iterator[Scalar]:
    """An expression and all that it is made of, from left to right, what stands in it twice once."""
    seen = set()
    left = [x]
    while left:
        one = left.pop()
        if one not in seen:
            seen.add(one)
            yield one
            left += one.parts[::-1]


# What takes as long as a reduction, which has conditions and indices of its own.
_OF_A_REDUCTION = 32


def length(x: Scalar) -> int:
    """How much is written in an expression, what stands in it twice twice."""
    known: dict[int, int] = {}

    def found(x: Scalar) -> int:
        if id(x) not in known:
            own = _OF_A_REDUCTION if isinstance(x, Reduction) else 1
            known[id(x)] = own + sum(map(found, x.parts))
        return known[id(x)]

    return found(x)


def accesses(x: Scalar) -> Iterator[Access]:
    """The elements of arrays in an expression, each once."""
    return (part for part in each_in(x) if isinstance(part, Access))


def substituted(x: Scalar, by: Mapping[str, AffineLike]) -> Scalar:
    """An expression with forms in place of indices; those that reductions bind must not be among these."""
    return _Substitution(by)(x)


class _Substitution:
    """Forms in place of indices: what stands in expressions twice is one afterwards, too."""

    def __init__(self, by: Mapping[str, AffineLike]) -> None:
        self.by = by
        self.made: dict[Scalar, Scalar] = {}

    def __call__(self, x: Scalar) -> Scalar:
        if x not in self.made:
            self.made[x] = self._new(x)
        return self.made[x]

    def _new(self, x: Scalar) -> Scalar:
        if isinstance(x, Access):
            return Access(x.array, tuple(s.substituted(self.by) for s in x.subscripts), x.outside)
        if isinstance(x, Coordinate):
            return Coordinate(x.form.substituted(self.by))
        if isinstance(x, Bracket):
            return Bracket(tuple(c.substituted(self.by) for c in x.conditions))
        if isinstance(x, Apply):
            return Apply(x.function, tuple(map(self, x.args)))
        if isinstance(x, Reduction):
            conditions = tuple(c.substituted(self.by) for c in x.conditions)
            return Reduction(x.kind, x.indices, conditions, self(x.body))
        return x
