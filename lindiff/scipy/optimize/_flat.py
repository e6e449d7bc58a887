"""Trees of arrays as flat vectors, which SciPy's searches take."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from typing import Any

import numpy as np
import scipy.optimize
from scipy.sparse.linalg import LinearOperator

from lindiff.core import pytree
from lindiff.core.arrays import foreign, on_host, placed
from lindiff.core.variable import differentiable_array, value
from lindiff.rules._common import depends_on_variables
from lindiff.scipy._trees import is_list_of_numbers, is_tree
from lindiff.scipy.optimize._running import Running
from lindiff.transforms.jacobian import jacobian
from lindiff.transforms.linearize import linearize

__all__ = [
    "Flat",
    "as_arguments",
    "flat_callable",
    "flat_callback",
    "flat_jacobian",
    "jacobian_matrix",
    "linear_operator",
    "matrix_by_columns",
    "matrix_of",
    "refuse_variables",
    "unknowns",
    "unpacked_arguments",
    "vector_of",
]


def unknowns(x0: Any) -> Any:
    """Where a search begins, as SciPy reads it: numbers, alone or in a list, are an array with one axis."""
    if is_tree(x0):
        return x0
    array = differentiable_array(np.asarray(x0) if is_list_of_numbers(x0) else x0)
    return np.atleast_1d(array) if array.ndim == 0 else array


class Flat:
    """The form of a tree of arrays, and the way to vectors of float64 and back.

    Leaves follow each other in C order; a complex number counts as two, its real and imaginary part.
    Leaves on a device go there and back: SciPy searches on the host.

    Parameters
    ----------
    tree : tree of arrays
    """

    def __init__(self, tree: Any) -> None:
        leaves, self._restore = pytree.flatten(tree)
        arrays = [differentiable_array(leaf) for leaf in leaves]
        self.tree = tree
        self.shapes = [array.shape for array in arrays]
        self._is_complex = [array.dtype.kind == "c" for array in arrays]
        self.is_complex = any(self._is_complex)
        sizes = [array.size * (2 if array.dtype.kind == "c" else 1) for array in arrays]
        self._likes = [array if foreign(array) is not None else None for array in arrays]
        self._ends = np.cumsum(sizes)[:-1]
        self.size = sum(sizes)

    def flat(self, tree: Any) -> Any:
        """The plain leaves of a tree of this form in one vector; of an array, lists of numbers too."""
        if isinstance(tree, (list, tuple)) and not pytree.is_tree(self.tree):
            tree = np.asarray(value(tree))
        leaves = pytree.flatten_like(tree, self.tree, "result", "argument")
        dtypes = [np.complex128 if is_complex else np.float64 for is_complex in self._is_complex]
        parts = [
            np.ravel(np.ascontiguousarray(on_host(value(leaf)), dtype)).view(np.float64)
            for leaf, dtype in zip(leaves, dtypes, strict=True)
        ]
        return np.concatenate([np.zeros(0), *parts])

    def parted(self, tree: Any) -> list[Any]:
        """The leaves of a tree of this form, Variables among them, as real arrays."""
        leaves = pytree.flatten_like(tree, self.tree, "result", "argument")
        return [
            np.stack([np.real(leaf), np.imag(leaf)], axis=-1) if is_complex else leaf
            for leaf, is_complex in zip(leaves, self._is_complex, strict=True)
        ]

    def joined(self, parts: list[Any]) -> Any:
        """The tree of such real arrays."""
        return self._restore(
            [
                part[..., 0] + 1j * part[..., 1] if is_complex else part
                for part, is_complex in zip(parts, self._is_complex, strict=True)
            ]
        )

    def matrix(self, J: Any) -> Any:
        """The derivative of a real vector by a tree of this form, by the flat vector: dy = Re(J dx)."""
        blocks = [on_host(value(block)) for block in pytree.flatten(J)[0]]
        parts = [
            np.conj(np.ascontiguousarray(block, np.complex128)).view(np.float64)
            if is_complex
            else np.asarray(block, np.float64)
            for block, is_complex in zip(blocks, self._is_complex, strict=True)
        ]
        return np.concatenate([np.reshape(part, (len(part), -1)) for part in parts], axis=1)

    def tree_of(self, vector: Any) -> Any:
        """The tree that a vector stands for; complex ones are those of SciPy's complex steps."""
        dtype = np.complex128 if np.iscomplexobj(vector) else np.float64
        parts = np.split(np.array(vector, dtype), self._ends)  # the user's function may write into them
        leaves = []
        for part, shape, is_complex, like in zip(
            parts, self.shapes, self._is_complex, self._likes, strict=True
        ):
            array = np.ascontiguousarray(part).view(np.complex128) if is_complex else part
            array = array.reshape(shape)
            leaves.append(array[()] if like is None else placed(array, like))
        return self._restore(leaves)


def linear_operator(function: Callable[[Any], Any], x: Any, form: Flat) -> tuple[Any, LinearOperator, Flat]:
    """The value of ``function`` at a tree ``x``, the derivative of flat vectors, and the value's form."""
    y, linear = linearize(function, x)
    y_form = Flat(y)
    derivative = LinearOperator(
        shape=(y_form.size, form.size),
        matvec=lambda v: y_form.flat(linear(form.tree_of(np.ravel(v)))),
        rmatvec=lambda v: form.flat(linear.T(y_form.tree_of(np.ravel(v)))[0]),
        dtype=np.float64,
    )
    return y, derivative, y_form


def matrix_of(derivative: LinearOperator) -> Any:
    """A linear map as a matrix, from the fewer of its columns and its rows."""
    m, n = derivative.shape
    return derivative.matmat(np.eye(n)) if n <= m else derivative.rmatmat(np.eye(m)).T


def jacobian_matrix(function: Callable[[Any], Any], x: Any, form: Flat) -> Any:
    """The derivative of a ``function`` with real results at a tree ``x``, between flat vectors."""
    return form.matrix(jacobian(lambda x: vector_of(function(x)))(x))


def matrix_by_columns(J: Any) -> Any:
    """The derivative of a vector by a tree of real arrays as a matrix, with derivatives of its own."""
    blocks = pytree.flatten(J)[0]
    return np.concatenate([np.reshape(block, (len(block), -1)) for block in blocks], axis=1)


def flat_jacobian(
    function: Callable[..., Any], form: Flat, args: tuple[Any, ...], kwargs: dict[str, Any]
) -> Callable[[Any], Any]:
    """The derivative of a vector, which a function of a tree and other arguments returns, by flat vectors.

    Of a program, from one run of its pushforward for each column: that is less to record than all of them.
    """

    def of_reals(*args: Any, **kwargs: Any) -> Any:
        y = function(*args, **kwargs)
        if y.dtype.kind == "c":
            raise TypeError(
                "a function to be solved or fitted returns complex numbers: let it return their real and "
                "their imaginary parts, [y.real, y.imag]"
            )
        return y

    slopes = jacobian(of_reals)
    return lambda x: form.matrix(slopes(form.tree_of(x), *args, **kwargs))


def vector_of(y: Any) -> Any:
    """What a function of several equations returns, as one vector."""
    leaves = pytree.flatten(y)[0]
    if not leaves or y is None:
        raise TypeError(
            f"a function to be solved, fitted or held to a constraint returns real numbers, one or more, and "
            f"returned {'nothing: it may lack its return' if y is None else repr(y)}"
        )
    return np.concatenate([np.ravel(leaf) for leaf in leaves])


def flat_callable(
    function: Any, args: tuple[Any, ...], form: Flat, run: Running, flat: Callable[[Any], Any] = lambda y: y
) -> Any:
    """A derivative that the user gives, as a function of flat vectors; names and strategies as they are."""
    if not callable(function):
        return function
    given = run(function)
    return lambda x: flat(value(given(form.tree_of(x), *args)))


def flat_callback(
    callback: Callable[..., Any] | None, form: Flat, forget: Callable[[], None] = lambda: None
) -> Callable[..., Any] | None:
    """A callback that gets x in the form it has, as SciPy calls it; it may change what functions read, then
    ``forget`` is called."""
    if callback is None:
        return None
    if set(inspect.signature(callback).parameters) == {"intermediate_result"}:

        def with_result(*, intermediate_result: Any) -> Any:
            result = scipy.optimize.OptimizeResult(intermediate_result)
            result.x = form.tree_of(np.copy(result.x))
            found = callback(intermediate_result=result)
            forget()
            return found

        return with_result

    def with_vector(x: Any, *state: Any) -> Any:
        found = callback(form.tree_of(np.copy(x)), *state)
        forget()
        return found

    return with_vector


def as_arguments(args: Any) -> tuple[Any, ...]:
    """Extra arguments of a function, where SciPy lets one stand without its tuple."""
    return args if isinstance(args, tuple) else (args,)


def unpacked_arguments(args: Any) -> tuple[Any, ...]:
    """Extra arguments of a function, where SciPy takes a list for several of them."""
    return tuple(args) if isinstance(args, list) else as_arguments(args)


def refuse_variables(name: str, *trees: Any) -> None:
    """Raise for Variables among bounds, whose derivatives would be lost."""
    if depends_on_variables(trees):
        raise TypeError(f"lindiff.scipy.optimize.{name}: bounds have no derivatives here: give ld.value(v)")
