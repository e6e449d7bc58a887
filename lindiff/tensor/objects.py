"""Index notation by Python objects: ``np.tanh(x[i + 2*l]) * w[l, j]`` of indices and arrays with names."""

from __future__ import annotations

import numbers
import operator
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Any, get_args

import numpy as np

from lindiff.tensor.affine import Affine, AffineLike, affine
from lindiff.tensor.expressions import (
    Access,
    Arithmetic,
    Bracket,
    Condition,
    Coordinate,
    Outside,
    Reduction,
    Scalar,
    accesses,
    applied,
    at_least,
    equal,
    is_elementwise,
    of_python,
    refuse_reduction,
    scalar,
)
from lindiff.tensor.reading import Equation

__all__ = ["Array", "Index", "arrays", "bracket", "equation_of", "indices", "max", "min", "prod", "sum"]


_OPERATORS: dict[Any, Any] = {
    np.add: operator.add,
    np.subtract: operator.sub,
    np.multiply: operator.mul,
    np.less: operator.lt,
    np.less_equal: operator.le,
    np.greater: operator.gt,
    np.greater_equal: operator.ge,
    np.equal: operator.eq,
}


class Index:
    """An index, an integer that is given later, or a sum of these times integers.

    Comparisons are conditions, for sums and :func:`bracket`; beside elements they are 1 or 0.  In arithmetic
    with elements, and in NumPy's ufuncs, it is its value.

    Examples
    --------
    >>> import lindiff as ld
    >>> i, k = ld.tensor.indices("i k")
    >>> 2 * i - k + 1
    <2*i - k + 1>
    """

    def __init__(self, form: AffineLike) -> None:
        self.form = affine(form)

    def __repr__(self) -> str:
        return f"<{self.form.text()}>"

    def __hash__(self) -> int:
        return hash(self.form)

    def __bool__(self) -> bool:
        raise TypeError("whether an index is 0 depends on its value: write ld.tensor.bracket(i == 0)")

    def __array_ufunc__(self, ufunc: np.ufunc, method: str, *inputs: Any, **options: Any) -> Any:
        if method == "reduce":
            refuse_reduction(ufunc)
        if method != "__call__" or options or not is_elementwise(ufunc):
            return NotImplemented
        if any(isinstance(x, np.ndarray) and x.ndim for x in inputs):
            raise TypeError(f"an index is no array: give np.{ufunc.__name__} elements, x[i]")
        given = [x.item() if isinstance(x, np.ndarray) else x for x in inputs]
        given = [of_python(x) if isinstance(x, (numbers.Number, np.bool_)) else x for x in given]
        if ufunc in _OPERATORS and not any(isinstance(x, Scalar) for x in given):
            return _OPERATORS[ufunc](*given)  # what NumPy's numbers ask for on the left of an index
        return applied(ufunc, *map(scalar, given))

    def __add__(self, other: Any) -> Any:
        return self._with(other, lambda x, y: x + y, np.add)

    def __radd__(self, other: Any) -> Any:
        return self._with(other, lambda x, y: y + x, lambda x, y: np.add(y, x))

    def __sub__(self, other: Any) -> Any:
        return self._with(other, lambda x, y: x - y, np.subtract)

    def __rsub__(self, other: Any) -> Any:
        return self._with(other, lambda x, y: y - x, lambda x, y: np.subtract(y, x))

    def __mul__(self, other: Any) -> Any:
        return self._with(other, lambda x, y: x * y, np.multiply)

    def __rmul__(self, other: Any) -> Any:
        return self._with(other, lambda x, y: y * x, lambda x, y: np.multiply(y, x))

    def __neg__(self) -> Index:
        return Index(-self.form)

    def __truediv__(self, other: Any) -> Scalar:
        return Coordinate(self.form) / scalar(other)

    def __rtruediv__(self, other: Any) -> Scalar:
        return scalar(other) / Coordinate(self.form)

    def __pow__(self, other: Any) -> Scalar:
        return Coordinate(self.form) ** scalar(other)

    def __rpow__(self, other: Any) -> Scalar:
        return scalar(other) ** Coordinate(self.form)

    def __mod__(self, modulus: int | Index) -> Remainder:
        return Remainder(self.form, _form(modulus))

    def __le__(self, other: int | Index) -> Condition:
        return at_least(_form(other), self.form)

    def __ge__(self, other: int | Index) -> Condition:
        return at_least(self.form, _form(other))

    def __lt__(self, other: int | Index) -> Condition:
        return at_least(_form(other), self.form + 1)

    def __gt__(self, other: int | Index) -> Condition:
        return at_least(self.form, _form(other) + 1)

    def __eq__(self, other: object) -> Condition:  # type: ignore[override]
        return equal(self.form, _form(other))

    def _with(self, other: Any, of_forms: Any, of_elements: Any) -> Any:
        if isinstance(other, Index) or (isinstance(other, (int, np.integer)) and not isinstance(other, bool)):
            return Index(of_forms(self.form, _form(other)))
        if isinstance(other, (Scalar, float, complex)):
            return of_elements(Coordinate(self.form), scalar(other))
        return NotImplemented


@dataclass(frozen=True, eq=False)
class Remainder(Arithmetic):
    """``dividend % modulus``, to be compared with a number."""

    dividend: Affine
    modulus: Affine

    __hash__ = None  # type: ignore[assignment]

    @property
    def form(self) -> Affine:
        """As a sum of indices times integers, which there is none of."""
        raise TypeError(
            f"a remainder is compared with a number: write ld.tensor.bracket({self._text()} == 1)"
        )

    def _text(self) -> str:
        return f"({self.dividend.text()}) % {self.modulus.text()}"

    def __eq__(self, other: object) -> Condition:  # type: ignore[override]
        number, modulus = _form(other).number, self.modulus.number
        is_below = number == 0 or (number is not None and modulus is not None and 0 < number < modulus)
        if (modulus is not None and modulus < 1) or not is_below:
            raise ValueError(f"{self._text()} is a number from 0 on below a positive integer")
        return Condition("%", self.dividend - _form(other), self.modulus)


@dataclass(frozen=True)
class Array:
    """An array with a name, whose elements are ``x[i + 1, j]``, and ``x[()]`` without axes."""

    name: str
    outside: Outside = "error"

    def __getitem__(self, subscripts: Any) -> Access:
        given = subscripts if isinstance(subscripts, tuple) else (subscripts,)
        return Access(self.name, tuple(map(_form, given)), self.outside)

    def __iter__(self) -> Iterator[Any]:
        # Python would ask for x[0], x[1] and so on without end
        raise TypeError(
            f"{self.name} has no length: its elements are {self.name}[i], their sum is "
            f"ld.tensor.sum({self.name}[i], i), and several arrays are ld.tensor.arrays('x y')"
        )


def _form(x: Any) -> Affine:
    if isinstance(x, Index):
        return x.form
    if isinstance(x, (int, np.integer)) and not isinstance(x, bool):
        return affine(int(x))
    raise TypeError(f"subscripts and conditions are sums of indices times integers, not {x!r}")


def _names(names: str) -> list[str]:
    found = names.replace(",", " ").split()
    wrong = [name for name in found if not name.isidentifier()]
    if wrong or not found:
        raise ValueError(
            f"names are words, separated by spaces or commas, not {wrong[0] if wrong else names!r}"
        )
    return found


def indices(names: str) -> Any:
    """Indices, or integers that are given later, by their names.

    Parameters
    ----------
    names : str
        Separated by spaces or commas.

    Returns
    -------
    Index, or a tuple of these for several names

    Examples
    --------
    >>> import lindiff as ld
    >>> i, j, k = ld.tensor.indices("i j k")
    """
    found = tuple(map(Index, _names(names)))
    return found if len(found) > 1 else found[0]


def arrays(names: str, outside: Outside = "error") -> Any:
    """Arrays, by their names.

    Parameters
    ----------
    names : str
        Separated by spaces or commas.
    outside : {"error", "zero", "wrap"}
        What lies outside them.

    Returns
    -------
    Array, or a tuple of these for several names

    Examples
    --------
    >>> import numpy as np, lindiff as ld
    >>> i, k = ld.tensor.indices("i k")
    >>> x, w = ld.tensor.arrays("x w")
    >>> f = ld.tensor(ld.tensor.sum(x[i + k] * w[k], k), [i])
    >>> print(f)
    f[i] = sum[k] x[i + k]*w[k]
    >>> f(np.arange(4.0), np.array([1.0, -1.0]))
    array([-1., -1., -1.])
    """
    if outside not in get_args(Outside):
        raise ValueError(f"outside is {', '.join(map(repr, get_args(Outside)))}, not {outside!r}")
    found = tuple(Array(name, outside) for name in _names(names))
    return found if len(found) > 1 else found[0]


def _reduced(kind: Any, body: Any, over: tuple[Index, ...], where: Any) -> Reduction:
    if not over:
        raise TypeError(f"ld.tensor.{kind} of which indices? Write ld.tensor.{kind}(x[i, k], k)")
    return Reduction(kind, tuple(map(_name, over)), _conditions(where), scalar(body))


def sum(body: Any, *over: Index, where: Any = ()) -> Reduction:
    """The sum of an expression over all values of indices, or those that fulfil conditions.

    Parameters
    ----------
    body : expression
        Of elements, numbers, indices and NumPy's ufuncs of these.
    *over : Index
    where : condition or list of conditions
        ``[l <= m, (l + m) % 2 == 0]``

    Examples
    --------
    >>> import numpy as np, lindiff as ld
    >>> i, k = ld.tensor.indices("i k")
    >>> x = ld.tensor.arrays("x")
    >>> ld.tensor(ld.tensor.sum(x[k], k, where=k <= i), [i], ranges={"i": 3})(np.array([1.0, 2.0, 3.0]))
    array([1., 3., 6.])
    """
    return _reduced("sum", body, over, where)


def prod(body: Any, *over: Index, where: Any = ()) -> Reduction:
    """The product of an expression over indices, as :func:`sum` takes them."""
    return _reduced("prod", body, over, where)


def max(body: Any, *over: Index, where: Any = ()) -> Reduction:
    """The maximum of an expression over indices, as :func:`sum` takes them."""
    return _reduced("max", body, over, where)


def min(body: Any, *over: Index, where: Any = ()) -> Reduction:
    """The minimum of an expression over indices, as :func:`sum` takes them."""
    return _reduced("min", body, over, where)


def bracket(*conditions: Condition) -> Bracket:
    """1 where conditions hold, 0 elsewhere: Iverson's bracket.

    Examples
    --------
    >>> import numpy as np, lindiff as ld
    >>> i, j = ld.tensor.indices("i j")
    >>> x = ld.tensor.arrays("x")
    >>> ld.tensor(ld.tensor.bracket(i <= j) * x[i, j], [i, j])(np.ones((2, 2)))
    array([[1., 1.],
           [0., 1.]])
    """
    return Bracket(_conditions(conditions))


def _conditions(given: Any) -> tuple[Condition, ...]:
    found = tuple(given) if isinstance(given, (list, tuple)) else (given,)
    for each in found:
        if not isinstance(each, Condition):
            raise TypeError(f"a condition compares indices, as in i <= j; this is {each!r}")
    return found


def _name(index: Any) -> str:
    names = index.form.names if isinstance(index, Index) else set()
    if len(names) != 1 or index.form != affine(next(iter(names))):
        raise TypeError(f"an index is one that ld.tensor.indices has made, not {index!r}")
    return str(next(iter(names)))


def equation_of(name: str, free: Iterable[Index], body: Any) -> Equation:
    """``name[free] = body``

    Raises
    ------
    ValueError
        For an index that is bound twice, a product of two indices in a subscript or a condition, and an array
        with the name of the result.
    """
    if not name.isidentifier():
        raise ValueError(f"a name is a word, not {name!r}")
    bound = [*map(_name, free)]
    for k, index in enumerate(bound):
        if index in bound[:k]:
            raise ValueError(f"the index {index} is bound twice")
    expression = scalar(body)
    _check(expression, bound)
    if any(access.array == name for access in accesses(expression)):
        raise ValueError(f"{name} is what is defined: it cannot be used; give another name=")
    return Equation(name, tuple(bound), (), expression)


def _check(x: Scalar, scope: list[str]) -> None:
    if isinstance(x, Reduction):
        for index in x.indices:
            if index in scope:
                raise ValueError(f"the index {index} is bound twice")
            scope = [*scope, index]
        _check_forms([c.form for c in x.conditions], scope)
    if isinstance(x, Access):
        _check_forms(x.subscripts, scope)
    elif isinstance(x, Bracket):
        _check_forms([c.form for c in x.conditions], scope)
    elif isinstance(x, Coordinate):
        _check_forms([x.form], scope)
    for part in x.parts:
        _check(part, scope)


def _check_forms(forms: Iterable[Affine], scope: list[str]) -> None:
    for form in forms:
        two = form.product_of_two(scope)
        if two is not None:
            raise ValueError(
                f"a product of two indices, {'*'.join(two)}: subscripts and conditions are sums of indices "
                f"times integers"
            )
