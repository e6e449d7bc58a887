"""Whole matrices of derivatives: ``jacobian``, ``value_and_jacobian`` and ``hessian``."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any, ParamSpec, TypeVar

import numpy as np

from lindiff.core import pytree
from lindiff.core.arrays import placed, zeros_beside
from lindiff.core.directions import Directions, array_of
from lindiff.core.linearization import Linearization
from lindiff.transforms._arguments import Argnums, check_complex_linear, linearized, mode_of, one_or_all
from lindiff.transforms._transformed import transformed

__all__ = ["hessian", "jacobian", "value_and_jacobian"]

P = ParamSpec("P")
R = TypeVar("R")

# For all its directions together, a walk carries so many bytes of one array: they stay in a cache.  It may
# end in larger arrays, gradients of parameters, which it writes only once.
CHUNK_BYTES = 1 << 16
LAST_BYTES = 1 << 17
FEWEST = 4  # fewer directions go one by one


def jacobian(
    function: Callable[P, Any],
    argnums: Argnums = 0,
    mode: str | None = None,
    has_aux: bool = False,
    holomorphic: bool = False,
    sparse: bool = False,
) -> Callable[P, Any]:
    """All derivatives of a function's result with respect to its arguments.

    Parameters
    ----------
    function : callable
    argnums : int, str or tuple of these
        Arguments by number or by name.
    mode : {None, "fwd", "rev"}
        Push one tangent per input element, or pull one cotangent per output element; None takes the fewer.
    has_aux : bool
        The function returns ``(value, aux)``; the Jacobian function then returns ``(jacobian, aux)``.
    holomorphic : bool
        The function is a holomorphic function of complex arguments, with complex results.
    sparse : bool
        Of a function of one array with one array as its result: the Jacobian of these raveled, as a
        ``scipy.sparse.csr_array``.  Which entries it may have is found from the function's steps, in the
        first call for arguments of a shape; it has all of them, those that are 0 at a point, too.

    Returns
    -------
    callable
        Of the same arguments; returns arrays of shape ``y.shape + x.shape``: in the structure of the result,
        and within it that of the argument (a tuple over arguments if ``argnums`` is a tuple).  With
        ``sparse=True`` a matrix of shape ``(y.size, x.size)``.

    Raises
    ------
    TypeError
        From the returned function: a complex result of a complex argument without ``holomorphic=True``, or
        with it where the derivative is not complex-linear.  With ``sparse=True``: arguments or results that
        are no single real arrays, and a function without a pattern, as no program repeats its derivative.

    Notes
    -----
    The function runs once; then its record is walked with many directions at once, as many as fit into a
    cache: min(x.size, y.size) directions in all.  With ``sparse=True`` these are as many as groups of columns
    (or rows) without a row (column) in common, and some more, which tell whether the pattern still holds: of
    a tridiagonal matrix six, however large it is, and four of a program that repeats its steps.

    Of a complex argument of a real result, dy = Re(J dx).

    Examples
    --------
    >>> import numpy as np, lindiff as ld
    >>> ld.jacobian(lambda x: x**2)(np.array([1.0, 2.0]))
    array([[2., 0.],
           [0., 4.]])
    >>> ld.jacobian(np.diff, sparse=True)(np.arange(1000.0)).nnz
    1998
    """
    both = value_and_jacobian(function, argnums, mode, has_aux, holomorphic, sparse)

    @transformed(
        jacobian,
        function,
        argnums=argnums,
        mode=mode,
        has_aux=has_aux,
        holomorphic=holomorphic,
        sparse=sparse,
    )
    def jacobian_of(*args: Any, **kwargs: Any) -> Any:
        value, result = both(*args, **kwargs)
        return (result, value[1]) if has_aux else result

    return jacobian_of


def value_and_jacobian(
    function: Callable[P, R],
    argnums: Argnums = 0,
    mode: str | None = None,
    has_aux: bool = False,
    holomorphic: bool = False,
    sparse: bool = False,
) -> Callable[P, tuple[R, Any]]:
    """A function's result and all its derivatives, from one run.

    Parameters
    ----------
    function, argnums, mode, has_aux, holomorphic, sparse
        As for :func:`lindiff.jacobian`.

    Returns
    -------
    callable
        Of the same arguments; returns ``(value, jacobian)``, with ``has_aux`` ``((value, aux), jacobian)``.

    Examples
    --------
    >>> import numpy as np, lindiff as ld
    >>> ld.value_and_jacobian(lambda x: x**2)(np.array([1.0, 2.0]))
    (array([1., 4.]), array([[2., 0.],
           [0., 4.]]))
    """
    walk = None if mode is None else mode_of(mode)
    if sparse and holomorphic:
        raise TypeError("sparse=True is for real numbers, and holomorphic=True for complex ones")
    sparsely = _sparse_jacobian(function, argnums, walk) if sparse else None

    @transformed(
        value_and_jacobian,
        function,
        argnums=argnums,
        mode=mode,
        has_aux=has_aux,
        holomorphic=holomorphic,
        sparse=sparse,
    )
    def value_and_jacobian_of(*args: Any, **kwargs: Any) -> Any:
        if sparsely is not None:
            return sparsely(args, kwargs, has_aux)
        linearization = linearized(function, argnums, args, kwargs, has_aux)
        _check_complex(linearization, holomorphic, getattr(function, "__name__", "the function"))
        result = _jacobian(linearization, argnums, walk)
        value = (linearization.value, linearization.aux) if has_aux else linearization.value
        return value, result

    return value_and_jacobian_of


def _sparse_jacobian(function: Callable[..., Any], argnums: Argnums, mode: str | None) -> Any:
    from lindiff.transforms.sparse import SparseJacobian  # with scipy.sparse, which takes a while

    return SparseJacobian(function, argnums, mode)


def output_arrays(leaves: list[Any]) -> list[Any]:
    """The leaves of a result as arrays; constants among them may be numbers."""
    return [leaf if hasattr(leaf, "shape") else np.asarray(leaf) for leaf in leaves]


def _check_complex(linearization: Linearization, holomorphic: bool, name: str) -> None:
    """Raise where `holomorphic` and the dtypes do not agree, or the derivative is not complex-linear."""
    inputs, outputs = linearization.inputs.arrays, output_arrays(linearization.outputs.arrays)
    if not (any(map(is_complex, inputs)) and any(map(is_complex, outputs))):
        if holomorphic:
            raise TypeError(f"holomorphic=True needs complex arguments and results, {name} has not both")
        return
    if not holomorphic:
        raise TypeError(
            f"{name} takes complex arguments and returns complex results: give holomorphic=True if it is "
            f"holomorphic; if not, its derivative is no complex matrix: use ld.jvp and ld.vjp, or "
            f"differentiate with respect to real and imaginary parts"
        )
    check_linearization(linearization, name)


def check_linearization(linearization: Linearization, name: str) -> None:
    """Refuse a derivative between complex arrays that is not complex-linear, from one random direction."""
    rng = np.random.default_rng(0)
    directions = [
        placed(np.asarray(rng.standard_normal(x.shape), x.dtype), x) if is_complex(x) else None
        for x in linearization.inputs.arrays
    ]
    along = linearization.push_leaves(directions)
    across = linearization.push_leaves([None if x_dot is None else 1j * x_dot for x_dot in directions])
    complex_results = [k for k, y in enumerate(output_arrays(linearization.outputs.arrays)) if is_complex(y)]
    check_complex_linear([along[k] for k in complex_results], [across[k] for k in complex_results], name)


def _jacobian(linearization: Linearization, argnums: Argnums, mode: str | None) -> Any:
    """The Jacobian as a tree, in the given mode or by the fewer directions."""
    inputs = linearization.inputs.arrays
    outputs = output_arrays(linearization.outputs.arrays)
    fewer = "fwd" if sum(x.size for x in inputs) <= sum(y.size for y in outputs) else "rev"
    blocks = _by_pushing if (mode or fewer) == "fwd" else _by_pulling
    rows = blocks(linearization, inputs, outputs)
    _, restore_outputs = pytree.flatten(linearization.value)
    return restore_outputs.of_derivative(
        [one_or_all(argnums, linearization.inputs.restore(row)) for row in rows]
    )


def is_complex(array: Any) -> bool:
    """Whether an array has complex numbers."""
    return bool(array.dtype.kind == "c")


def _by_pushing(linearization: Linearization, inputs: list[Any], outputs: list[Any]) -> list[list[Any]]:
    """Columns, one tangent each; dy = Re(J dx) where only x is complex."""
    rows: list[list[Any]] = [[] for _ in outputs]
    for k, x in enumerate(inputs):
        columns = walked(linearization.push_leaves, inputs, k, outputs, 1, CHUNK_BYTES)
        if is_complex(x) and not all(map(is_complex, outputs)):
            turned = walked(linearization.push_leaves, inputs, k, outputs, 1j, CHUNK_BYTES)
            columns = [
                column if is_complex(y) else column - 1j * turned[j]
                for j, (column, y) in enumerate(zip(columns, outputs, strict=True))
            ]
        for j, y in enumerate(outputs):
            rows[j].append(_block(np.moveaxis(columns[j], 0, -1), x, y))
    return rows


def _by_pulling(linearization: Linearization, inputs: list[Any], outputs: list[Any]) -> list[list[Any]]:
    """Rows, one cotangent each, conjugated: Jᴴ against J (real x of complex y see one part at a time)."""
    rows: list[list[Any]] = []
    for j, y in enumerate(outputs):
        pulled = walked(linearization.pull_arrays, outputs, j, inputs, 1, LAST_BYTES)
        turned: list[Any] = []
        if is_complex(y) and not all(map(is_complex, inputs)):
            turned = walked(linearization.pull_arrays, outputs, j, inputs, 1j, LAST_BYTES)
        row = []
        for k, x in enumerate(inputs):
            block = pulled[k]
            if is_complex(x):
                block = np.conjugate(block)
            elif turned:
                block = block + 1j * turned[k]
            row.append(_block(block, x, y))
        rows.append(row)
    return rows


def walked(
    walk: Callable[[list[Any]], list[Any]],
    starts: list[Any],
    k: int,
    ends: list[Any],
    entry: complex,
    last_bytes: int,
) -> list[Any]:
    """The ends of walks from ``entry`` at each element of ``starts[k]`` in turn, along a new first axis."""
    start = starts[k]
    step = min(CHUNK_BYTES // _bytes([start]), last_bytes // _bytes(ends))
    step = step if step >= FEWEST else 1
    chunks = [
        _walked_chunk(walk, len(starts), k, _units(start, first, min(first + step, start.size), entry))
        for first in range(0, start.size, step)
    ]
    return [_joined([chunk[i] for chunk in chunks], end) for i, end in enumerate(ends)]


def _bytes(arrays: list[Any]) -> int:
    """The size of the largest array, in bytes."""
    return max([1, *(array.size * array.dtype.itemsize for array in arrays)])


def _units(like: Any, first: int, last: int, entry: complex) -> Any:
    """Arrays like ``like``, stacked: the i-th, from ``first`` on, has ``entry`` at its element i."""
    units = zeros_beside(like, (last - first) * like.size, like.dtype)
    units[first :: like.size + 1] = entry
    return np.reshape(units, (last - first, *like.shape))


def _walked_chunk(walk: Callable[[list[Any]], list[Any]], leaves: int, k: int, units: Any) -> list[Any]:
    """One walk; None stands for zero at the leaves but one.  A single direction goes as it is."""
    count = len(units)
    start: list[Any] = [None] * leaves
    start[k] = units[0] if count == 1 else Directions(units)
    return [array_of(end, count) for end in walk(start)]


def _joined(chunks: list[Any], end: Any) -> Any:
    if len(chunks) == 1:
        return chunks[0]
    return np.concatenate(chunks) if chunks else zeros_beside(end, (0, *end.shape), end.dtype)


def _block(block: Any, x: Any, y: Any) -> Any:
    dtype = np.result_type(x.dtype, y.dtype)
    block = np.reshape(block, (*y.shape, *x.shape))
    return block if block.dtype == dtype else block.astype(dtype)


def hessian(function: Callable[P, Any], argnums: Argnums = 0, has_aux: bool = False) -> Callable[P, Any]:
    """All second derivatives of a function (of one real number, forward over reverse).

    Parameters
    ----------
    function : callable
    argnums : int, str or tuple of these
    has_aux : bool
        The function returns ``(value, aux)``; the Hessian function then returns ``(hessian, aux)``.

    Returns
    -------
    callable
        Of the same arguments; returns an array of shape ``x.shape + x.shape`` (nested structures if the
        argument is a tree or ``argnums`` a tuple).  Cost: x.size gradients, many of them at once.  Where the
        function returns an array y, the shape is ``y.shape + x.shape + x.shape``; where it returns a tree,
        such arrays in it; cost: x.size Jacobians.

    Raises
    ------
    TypeError
        From the returned function: complex arguments, where the derivative of the gradient is no complex
        matrix, or of a function that returns anything but one real number.

    Notes
    -----
    The gradient of a real function of complex arguments is holomorphic only in special cases: its derivative
    is real-linear, no complex matrix.  Then the function raises; differentiate with respect to real and
    imaginary parts, or use :func:`lindiff.hvp`, which holds for complex arguments as well.

    Examples
    --------
    >>> import numpy as np, lindiff as ld
    >>> ld.hessian(lambda x: np.sum(x**3))(np.array([1.0, 2.0]))
    array([[ 6.,  0.],
           [ 0., 12.]])
    """
    name = getattr(function, "__name__", "the function")

    @functools.wraps(function)
    def first_derivatives(*args: Any, **kwargs: Any) -> Any:
        linearization = linearized(function, argnums, args, kwargs, has_aux)
        if _is_one_real_number(linearization):
            result = one_or_all(argnums, linearization.pull_one(True))
        else:
            _refuse_complex_arguments(linearization, name)
            result = _jacobian(linearization, argnums, None)
        return (result, linearization.aux) if has_aux else result

    @transformed(hessian, function, argnums=argnums, has_aux=has_aux)
    def hessian_of(*args: Any, **kwargs: Any) -> Any:
        linearization = linearized(first_derivatives, argnums, args, kwargs, has_aux)
        if any(map(is_complex, linearization.inputs.arrays)):
            check_linearization(linearization, f"the gradient of {name}")
        result = _jacobian(linearization, argnums, "fwd")
        return (result, linearization.aux) if has_aux else result

    return hessian_of


def _is_one_real_number(linearization: Linearization) -> bool:
    value = linearization.value
    return getattr(value, "shape", None) == () and not is_complex(value)


def _refuse_complex_arguments(linearization: Linearization, name: str) -> None:
    """Raise where the function is no real number and its arguments are complex."""
    if any(map(is_complex, linearization.inputs.arrays)):
        raise TypeError(
            f"hessian of complex arguments needs a function that returns one real number, {name} returned "
            f"something else; differentiate with respect to real and imaginary parts"
        )
