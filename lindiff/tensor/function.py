"""Tensor functions: expressions in index notation as functions of arrays, with their derivatives."""

from __future__ import annotations

import functools
import numbers
from collections.abc import Callable, Collection, Iterable, Mapping
from typing import Any, get_args

import numpy as np

from lindiff.core.variable import refuse_subclass, value
from lindiff.programs.surroundings import Immutable
from lindiff.rules._common import as_array, depends_on_variables
from lindiff.tensor.affine import affine
from lindiff.tensor.definition import Definition
from lindiff.tensor.explaining import Explanation, lines_of
from lindiff.tensor.expressions import Arithmetic, Outside, accesses, length, scalar
from lindiff.tensor.layouts import Layout
from lindiff.tensor.names import size_of_axis
from lindiff.tensor.notation import latex_of, text_of
from lindiff.tensor.objects import Index, equation_of
from lindiff.tensor.ranges import Ranges, uniquely_bound
from lindiff.tensor.reading import Equation, TensorSyntaxError, read
from lindiff.tensor.sparse import SparseJacobian
from lindiff.tensor.statements import statements_of

__all__ = ["TensorFunction", "tensor"]


# How much is written in an expression at most: that doubles with each line like e = np.sin(e) + e.
_MOST_WRITTEN = 1 << 15

_TOO_LONG = (
    "the expression is too long, too many operations stand in each other: write sums and products over "
    "indices, or several tensor functions"
)


def tensor(
    expression: Any,
    indices: Index | Iterable[Index] = (),
    *,
    name: str = "f",
    ranges: Mapping[str, int | str] | None = None,
    outside: Outside | Mapping[str, Outside] = "error",
    functions: Mapping[str, Callable[..., Any]] | None = None,
) -> TensorFunction:
    """The function that index notation says.

    Parameters
    ----------
    expression : str or expression
        ``name[indices] = expression``.  In the expression ``x[i + 2*l - 1, j]`` is an element of an array:
        its subscripts are sums of indices times integers, which may be names (``m*i + j``) and are then given
        in calls.  ``sum[l]``, ``prod[l]``, ``max[l]`` and ``min[l]`` take the factors behind them, over all
        l; ``sum[l, m | l <= m, (l + m) % 2 == 0]`` over those that fulfil the conditions.  ``[i <= j]`` is 1
        where that holds and 0 elsewhere.  An index on its own is its value.  Functions are NumPy's ufuncs,
        ``where``, ``abs`` and those in ``functions``; ``pi`` is known.

        Or what stands on the right, of elements ``x[i + 1]`` of :func:`lindiff.tensor.arrays` at
        :func:`lindiff.tensor.indices`, with Python's operators, NumPy's ufuncs, and ``sum``, ``prod``,
        ``max``, ``min`` and ``bracket`` of :mod:`lindiff.tensor`.
    indices : Index or iterable of Index
        Those of the result, if there is no text.
    name : str
        Of the result, if there is no text.
    ranges : dict of str to int or str, optional
        How many values an index has, from 0 on.  One that is a subscript by itself goes over its axis (unless
        that is read at a shifted place, too: ``x[i + 1] - x[i]``); others go as far as conditions allow, or
        as far as all of their subscripts are inside.
    outside : {"error", "zero", "wrap"} or dict of str to these
        What lies outside an array, of each by its name: an error, zeros, or the array again.  Of arrays that
        are objects, these say it themselves.
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
    indices = (indices,) if isinstance(indices, Index) else indices
    if isinstance(expression, str) and (indices != () or name != "f"):
        raise TypeError("a text names its result and its indices: f[i, j] = ...")
    try:
        if not isinstance(expression, str):
            return _of_objects(expression, indices, name, ranges or {})
        return _of_text(expression, ranges or {}, outside, functions or {})
    except RecursionError:
        raise TensorSyntaxError(_TOO_LONG) from None


def _of_text(
    text: str,
    ranges: Mapping[str, int | str],
    outside: Outside | Mapping[str, Outside],
    functions: Mapping[str, Callable[..., Any]],
) -> TensorFunction:
    for each in [outside] if isinstance(outside, str) else outside.values():
        if each not in get_args(Outside):
            raise ValueError(f"outside is {', '.join(map(repr, get_args(Outside)))}, not {each!r}")
    equation = read(text, functions, outside)
    _check_names(outside, {access.array for access in accesses(equation.body)})
    equation, written = uniquely_bound(equation)
    return TensorFunction(equation, Ranges.of(equation, ranges, written))


def _check_names(outside: Outside | Mapping[str, Outside], arrays: Collection[str]) -> None:
    for name in () if isinstance(outside, str) else outside:
        if name not in arrays:
            raise ValueError(f"outside: there is no array {name}; there are {', '.join(arrays) or 'none'}")


def _of_objects(
    expression: Any, indices: Iterable[Index], name: str, ranges: Mapping[str, int | str]
) -> TensorFunction:
    if not isinstance(expression, (Arithmetic, Index, numbers.Number)):
        raise TypeError(
            f"lindiff.tensor takes index notation, a string or an expression of its elements, not a "
            f"{type(expression).__name__}: ld.grad(f) takes plain arrays, and ld.Variable(array) is for the "
            f"tape by hand"
        )
    if length(scalar(expression)) > _MOST_WRITTEN:
        raise TensorSyntaxError(_TOO_LONG)
    equation, written = uniquely_bound(equation_of(name, indices, expression))
    return TensorFunction(equation, Ranges.of(equation, ranges, written))


class TensorFunction:
    """A function of arrays that is given element by element, as :func:`tensor` makes it.

    It takes arrays by position, in the order in which the expression names them first, or by name, and
    integers of the expression by name.  It is differentiable in all arrays, in both modes and to any order.

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
        self._definition = Definition(tuple(arguments.items()), statements, ranges, axes)
        both = self._definition.names_of_integers & arguments.keys()
        if both:
            raise ValueError(f"{min(both)} is an array and an integer")
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
        if not named and len(arrays) == len(self.arguments) and all(map(_is_an_array, arrays)):
            return self._definition(arrays, {})
        return self._definition(*self._given(arrays, named))

    def _given(self, arrays: tuple[Any, ...], named: dict[str, Any]) -> tuple[list[Any], dict[str, int]]:
        """The arrays in order, and the integers."""
        integers = {name: _integer(name, named.pop(name)) for name in self.integers if name in named}
        return self._ordered(arrays, named), integers

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
        for name in self.arguments:
            refuse_subclass(given[name], name)
        found = [given[name] for name in self.arguments]
        dtypes = [x.dtype for x in found if hasattr(x, "dtype")]
        return [
            x if _is_an_array(x) else as_array(np.asarray(x) if hasattr(x, "shape") else _beside(x, dtypes))
            for x in found
        ]

    def adjoint(self, by: str) -> Derivative:
        """The adjoint of an argument, as an expression: its cotangent, given that of the result.

        It is a function of the arguments and of ``<result>_bar``; derivatives in it are conjugated where the
        expression has complex numbers or conjugates.
        """
        definition = self._definition
        conjugated = definition.has_complex_numbers or np.conjugate in definition.functions
        return Derivative(definition, definition.adjoint(self._place(by), conjugated))

    def tangent(self, by: str) -> Derivative:
        """The tangent of the result, as an expression: of the arguments and of ``<by>_dot``."""
        return Derivative(self._definition, self._definition.tangent(self._place(by)))

    def jacobian(self, by: str) -> Callable[..., Any]:
        """The Jacobian by an argument, as a function that returns a sparse matrix.

        Returns
        -------
        callable
            Takes what the tensor function takes, and returns a ``scipy.sparse.csr_array`` with a row for each
            element of the result and a column for each of the argument, both in C order.  An entry is there
            where an element is read, be it 0 or not.  Time and memory grow with the entries of the tensors
            that the expression is made of, and with their products; where these are is kept for later calls.

        Examples
        --------
        >>> import numpy as np, lindiff as ld
        >>> squares = ld.tensor("f[i] = x[i + 1]**2 - x[i]")
        >>> print(squares.jacobian("x")(np.array([1.0, 2.0, 3.0])).toarray())
        [[-1.  4.  0.]
         [ 0. -1.  6.]]
        """
        return functools.partial(_sparse_jacobian, self, SparseJacobian(self._definition, self._place(by)))

    def explain(self, *arrays: Any, **named: Any) -> Explanation:
        """What is done for arrays of these shapes: each pass over memory, its loops, flops and bytes.

        Parameters
        ----------
        *arrays, **named : ndarray or tuple of int
            Arrays as in a call, or their shapes, in double precision then; integers by name.

        Returns
        -------
        Explanation
            A list of lines that prints as a table.  A pass is a product of matrices (by BLAS, of blocks where
            the elements do not lie as it wants them), loops, or copies; tensors that are made on the way have
            names of their own, as sums over indices that a factor does not see come first.

        Examples
        --------
        >>> import lindiff as ld
        >>> f = ld.tensor("f[i,j,k] = sum[l] x[i + 2*l - k + 7] * w[l,j]", ranges={"i": 5000, "k": 8})
        >>> print(f.explain((5069,), (32, 16)))
        tensor  shape          route           loops                flops    bytes  of
        h       5007 × 16      matrix product  1 × 5007 × 16 × 32  5.13 M   686 kB  sum of x[2*l + y]*w[l, y2]
        f       5000 × 16 × 8  copies          i:5000 j:16 k:8          0  5.76 MB  h[i - k + 7, j]
        in all                                                     5.13 M  6.45 MB
        """
        arrays = tuple(_of_shape(x) for x in arrays)
        given, integers = self._given(arrays, {name: _of_shape(x) for name, x in named.items()})
        bound = self._definition.bound(integers, given)
        return Explanation(line for filling in bound.fillings for line in lines_of(filling))

    def _place(self, name: str) -> int:
        if name not in self.arguments:
            raise ValueError(f"there is no argument {name}; there are {', '.join(self.arguments)}")
        return self.arguments.index(name)


def _sparse_jacobian(function: TensorFunction, found: SparseJacobian, /, *arrays: Any, **named: Any) -> Any:
    """What :meth:`TensorFunction.jacobian` returns, of arguments of the function."""
    given, integers = function._given(arrays, named)
    if depends_on_variables(given):
        raise TypeError("a sparse matrix has no derivatives: use ld.jacobian, or ld.value(x)")
    definition = function._definition
    is_of_real = {np.conjugate, np.absolute, np.sign} & definition.functions
    if is_of_real and definition.dtype_of(given).kind == "c":
        raise TypeError(
            "of conjugates and sizes of complex numbers there is no Jacobian: use ld.jvp and ld.vjp"
        )
    return found(tuple(sorted(integers.items())), given)


class Derivative(TensorFunction):
    """The adjoint or the tangent of a tensor function: a tensor function again."""

    def __init__(self, of: Definition, definition: Definition) -> None:
        self._of = of
        self._definition = definition
        self.arguments = tuple(name for name, _ in definition.arguments)
        self.statements, self.integers = definition.statements, definition.integers

    def __reduce__(self) -> tuple[Any, ...]:
        return Derivative, (self._of, self._definition)


Immutable.register(TensorFunction)


def _is_an_array(x: Any) -> bool:
    """Whether it can be taken as it is: no subclass of NumPy's arrays, and no table without a type."""
    return type(x) is np.ndarray or (hasattr(x, "dtype") and not isinstance(x, np.ndarray))


def _beside(x: Any, dtypes: list[np.dtype[Any]]) -> Any:
    """A number of Python's in the precision of the arrays beside it, where these have one, as in NumPy."""
    if type(x) not in (bool, int, float, complex) or not any(dtype.kind in "fc" for dtype in dtypes):
        return x
    return np.asarray(x, np.result_type(*dtypes, x))


def _of_shape(x: Any) -> Any:
    """A shape as how an array of it lies."""
    if not isinstance(x, tuple):
        return x
    if not all(isinstance(n, (int, np.integer)) and n >= 0 for n in x):
        raise ValueError(f"a shape is a tuple of integers from 0 on, not {x}")
    return Layout.by_rows(x, np.dtype(np.float64))


def _integer(name: str, x: Any) -> int:
    if isinstance(value(x), (bool, np.bool_)) or not isinstance(value(x), (int, np.integer)):
        raise TypeError(f"{name} is an integer of the expression, not {x!r}")
    return int(x)
