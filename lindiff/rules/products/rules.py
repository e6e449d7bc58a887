"""Products of arrays and what belongs to diagonals: the bilinear functions of the numpy namespace.

Most come down to ``@`` (see compiled.pyx), ``np.tensordot`` and ``np.einsum``.
"""

from __future__ import annotations

import functools
import itertools
import math
import operator
import string
from collections.abc import Callable
from typing import Any

import numpy as np

from lindiff.core.arrays import padded_with_zeros, placed
from lindiff.core.differential import Bilinear, Linear
from lindiff.core.registry import composed, constant, rule
from lindiff.core.variable import Variable, in_order_of, value
from lindiff.kernels.matmul import product
from lindiff.rules._common import as_array, conj, laid_out, normalized_axes
from lindiff.rules.indexing.rules import scatter

__all__: list[str] = []


# -- products that are a matmul --------------------------------------------------------------------------


@composed(np.dot)
def dot(a: Any, b: Any) -> Any:
    a, b = as_array(a), as_array(b)
    if a.ndim == 0 or b.ndim == 0:
        return a * b
    if a.ndim <= 2 and b.ndim <= 2:
        return a @ b
    return np.tensordot(a, b, axes=(-1, -1 if b.ndim == 1 else -2))


@composed(np.inner)
def inner(a: Any, b: Any, /) -> Any:
    a, b = as_array(a), as_array(b)
    if a.ndim == 0 or b.ndim == 0:
        return a * b
    if a.ndim <= 2 and b.ndim <= 2:
        return a @ b.T
    return np.tensordot(a, b, axes=(-1, -1))


@composed(np.vdot)
def vdot(a: Any, b: Any, /) -> Any:
    return conj(np.ravel(a)) @ np.ravel(b)


@composed(np.outer)
def outer(a: Any, b: Any) -> Any:
    a, b = as_array(a), as_array(b)
    return outer_product(a if a.ndim == 1 else np.ravel(a), b if b.ndim == 1 else np.ravel(b))


@rule
def outer_product(a: Any, b: Any) -> Any:
    """``Y = a bᵀ`` of two vectors."""
    return np.outer(a, b), Bilinear(
        (lambda a_dot: np.outer(a_dot, b), lambda b_dot: np.outer(a, b_dot)),
        (lambda Y_bar: Y_bar @ conj(b), lambda Y_bar: Y_bar.T @ conj(a)),
    )


@composed(np.linalg.outer)
def linalg_outer(x1: Any, x2: Any, /) -> Any:
    x1, x2 = as_array(x1), as_array(x2)
    if x1.ndim != 1 or x2.ndim != 1:
        raise ValueError(f"Input arrays must be one-dimensional, but they have {x1.ndim} and {x2.ndim} axes")
    return outer_product(x1, x2)


def with_ufunc_axes(
    product: Callable[..., Any], core: tuple[int, int, int], vectors: bool = False
) -> Callable[..., Any]:
    """A product over the last axes with the keyword arguments of a generalized ufunc.

    Parameters
    ----------
    product : callable
        Of two arrays.
    core : tuple of int
        How many axes the product takes of each operand and how many it makes.
    vectors : bool
        Whether an operand may be a vector instead.
    """
    least = (1, 1) if vectors else core[:2]

    def of_axes(
        x1: Any,
        x2: Any,
        /,
        *,
        axes: Any = None,
        axis: int | None = None,
        keepdims: bool = False,
        dtype: Any = None,
        casting: Any = "same_kind",
        order: str = "K",
        subok: bool = True,
    ) -> Any:
        x1, x2 = as_array(x1), as_array(x2)
        if dtype is not None:
            for x in (x1, x2):
                if not np.can_cast(x.dtype, dtype, casting):
                    raise TypeError(f"cannot cast from {x.dtype} to {np.dtype(dtype)} with rule {casting!r}")
            x1, x2 = x1.astype(dtype), x2.astype(dtype)
        if axis is not None:
            axes = [axis, axis]
        for i, x in enumerate((x1, x2)):
            if x.ndim < least[i]:
                raise ValueError(
                    f"Input operand {i} does not have enough dimensions (has {x.ndim}, the product takes "
                    f"{least[i]})"
                )
        if order == "A":
            order = "F" if all(value(x).flags.fnc for x in (x1, x2)) else "C"
        made = core[2]
        if axes is not None:
            axes = [a if isinstance(a, tuple) else (a,) for a in axes]
            x1, x2 = to_the_end(x1, axes[0]), to_the_end(x2, axes[1])
        y = laid_out(product(x1, x2), order)
        if keepdims:
            if made:
                raise TypeError("keepdims can be used only where the product makes no axes of its own")
            y = np.expand_dims(y, -1 if axes is None else (axes[2] if len(axes) > 2 else axes[0]))
        elif axes is not None and len(axes) > 2 and axes[2]:
            y = np.moveaxis(y, tuple(range(-len(axes[2]), 0)), axes[2])
        return y

    return of_axes


def to_the_end(x: Any, axes: tuple[int, ...]) -> Any:
    return np.moveaxis(x, axes, tuple(range(-len(axes), 0)))


composed(np.matmul)(with_ufunc_axes(lambda x1, x2: x1 @ x2, (2, 2, 2), vectors=True))


@composed(np.linalg.matmul)
def linalg_matmul(x1: Any, x2: Any, /) -> Any:
    return x1 @ x2


def row_times_column(x1: Any, x2: Any) -> Any:
    return np.squeeze(np.expand_dims(conj(x1), -2) @ np.expand_dims(x2, -1), (-2, -1))


def matrix_times_column(x1: Any, x2: Any) -> Any:
    return np.squeeze(x1 @ np.expand_dims(x2, -1), -1)


def row_times_matrix(x1: Any, x2: Any) -> Any:
    return np.squeeze(np.expand_dims(conj(x1), -2) @ x2, -2)


composed(np.vecdot)(with_ufunc_axes(row_times_column, (1, 1, 0)))
if hasattr(np, "matvec"):  # NumPy 2.2
    composed(np.matvec)(with_ufunc_axes(matrix_times_column, (2, 1, 1)))
    composed(np.vecmat)(with_ufunc_axes(row_times_matrix, (1, 2, 1)))


@composed(np.linalg.vecdot)
def linalg_vecdot(x1: Any, x2: Any, /, *, axis: int = -1) -> Any:
    vecdot: Any = np.vecdot  # NumPy's stubs lack its axis
    return vecdot(x1, x2, axis=axis)


@composed(np.linalg.multi_dot)
def multi_dot(arrays: Any) -> Any:
    if len(arrays) < 2:
        raise ValueError("Expecting at least two arrays.")
    factors = [as_array(x) for x in arrays]
    if len(factors) == 2:
        return np.dot(*factors)
    ends, inside = (factors[0], factors[-1]), factors[1:-1]
    if any(x.ndim not in (1, 2) for x in ends) or any(x.ndim != 2 for x in inside):
        raise np.linalg.LinAlgError(
            f"np.linalg.multi_dot takes matrices, and vectors as first and last, got shapes "
            f"{[x.shape for x in factors]}"
        )
    lengths = [1 if factors[0].ndim == 1 else factors[0].shape[0], *[x.shape[0] for x in factors[1:]]]
    lengths.append(1 if factors[-1].ndim == 1 else factors[-1].shape[1])
    return product_of_chain(factors, cheapest_cuts(lengths), 0, len(factors))


def cheapest_cuts(lengths: list[int]) -> dict[tuple[int, int], int]:
    """Where to cut each part of a chain of matrices, ``lengths[i]`` by ``lengths[i + 1]``.

    So that the product needs the fewest multiplications (Cormen et al., Introduction to Algorithms, 15.2).
    """
    count = len(lengths) - 1
    cost = {(i, i + 1): 0 for i in range(count)}
    cuts = {}
    for span in range(2, count + 1):
        for i in range(count - span + 1):
            j = i + span
            costs = {
                k: cost[i, k] + cost[k, j] + lengths[i] * lengths[k] * lengths[j] for k in range(i + 1, j)
            }
            cuts[i, j] = min(costs, key=costs.get)  # type: ignore[arg-type]
            cost[i, j] = costs[cuts[i, j]]
    return cuts


def product_of_chain(factors: list[Any], cuts: dict[tuple[int, int], int], start: int, stop: int) -> Any:
    if stop - start == 1:
        return factors[start]
    cut = cuts[start, stop]
    return product_of_chain(factors, cuts, start, cut) @ product_of_chain(factors, cuts, cut, stop)


@composed(np.linalg.matrix_power)
def matrix_power(a: Any, n: int) -> Any:
    if a.ndim < 2 or a.shape[-1] != a.shape[-2]:
        raise np.linalg.LinAlgError(f"Last 2 dimensions of the array must be square, got {a.shape}")
    n = operator.index(n)
    if n < 0:
        a, n = np.linalg.inv(a), -n
    if n == 0:
        return in_order_of(np.broadcast_to(placed(np.eye(a.shape[-1], dtype=a.dtype), a), a.shape).copy(), a)
    power = None
    while True:
        n, odd = divmod(n, 2)
        if odd:
            power = a if power is None else power @ a
        if n == 0:
            return power
        a = a @ a


# -- tensordot -------------------------------------------------------------------------------------------


@composed(np.tensordot)
def tensordot(a: Any, b: Any, axes: Any = 2) -> Any:
    """A matrix product of the free axes of ``a`` by those of ``b``."""
    a, b = as_array(a), as_array(b)
    axes_a, axes_b = contracted_axes(axes, a.ndim, b.ndim)
    if [a.shape[axis] for axis in axes_a] != [b.shape[axis] for axis in axes_b]:
        raise ValueError("shape-mismatch for sum")
    free_a = [axis for axis in range(a.ndim) if axis not in axes_a]
    free_b = [axis for axis in range(b.ndim) if axis not in axes_b]
    shape_a, shape_b = [a.shape[axis] for axis in free_a], [b.shape[axis] for axis in free_b]
    summed = math.prod(a.shape[axis] for axis in axes_a)
    rows = np.reshape(np.transpose(a, (*free_a, *axes_a)), (math.prod(shape_a), summed))
    columns = np.reshape(np.transpose(b, (*axes_b, *free_b)), (summed, math.prod(shape_b)))
    return np.reshape(rows @ columns, (*shape_a, *shape_b))


def contracted_axes(axes: Any, ndim_a: int, ndim_b: int) -> tuple[tuple[int, ...], tuple[int, ...]]:
    """The axes of both operands that ``np.tensordot`` sums over, in pairs."""
    if np.ndim(axes) == 0 and not isinstance(axes, (tuple, list)):
        return tuple(range(ndim_a - int(axes), ndim_a)), tuple(range(int(axes)))
    axes_a, axes_b = (list(part) if np.ndim(part) else [int(part)] for part in axes)
    return normalized_axes(axes_a, ndim_a), normalized_axes(axes_b, ndim_b)


@composed(np.linalg.tensordot)
def linalg_tensordot(x1: Any, x2: Any, /, *, axes: Any = 2) -> Any:
    return np.tensordot(x1, x2, axes)


# -- einsum ----------------------------------------------------------------------------------------------


@rule(np.einsum)
def einsum(*args: Any, optimize: Any = False, **keywords: Any) -> Any:
    places, operands, terms, result = labelled(args)
    subscripts = f"{','.join(terms)}->{result}"

    def contract(k: int, operand: Any) -> Any:
        """The expression with another operand ``k``."""
        others = [operand if i == k else x for i, x in enumerate(operands)]
        return contraction(subscripts, others, optimize=optimize, **keywords)

    def pull(k: int, y_bar: Any) -> Any:
        """The expression with result and operand ``k`` exchanged."""
        others = [y_bar if i == k else conj(x) for i, x in enumerate(operands)]
        exchanged, reached = exchange(terms, result, k)
        x_bar = contraction(exchanged, others, optimize=optimize)
        return x_bar if reached == terms[k] else spread_labels(x_bar, reached, terms[k], operands[k].shape)

    pushes: list[Any] = [None] * len(args)
    pulls: list[Any] = [None] * len(args)
    for k, place in enumerate(places):
        pushes[place] = functools.partial(contract, k)
        pulls[place] = functools.partial(pull, k)
    y = contraction(subscripts, operands, as_numpys=True, optimize=optimize, **keywords)
    return y, Bilinear(tuple(pushes), tuple(pulls))


def contraction(
    subscripts: str, operands: list[Any], *, as_numpys: bool = False, optimize: Any, **keywords: Any
) -> Any:
    """``np.einsum``, of two plain arrays as a product of matrices where it is one of many numbers; with
    ``as_numpys`` the same in memory, too."""
    if len(operands) == 2 and optimize is False and not keywords:
        x, y = operands
        if type(x) is type(y) is np.ndarray and x.size * y.size >= MatrixProduct.FEW and x.dtype == y.dtype:
            plan = product_of_matrices(subscripts)
            if plan is not None and plan.fits(x.shape, y.shape):
                product = plan.product(x, y)
                return in_memory_of_einsum(subscripts, x, y, product) if as_numpys else product
    return np.einsum(subscripts, *operands, optimize=optimize, **keywords)


class MatrixProduct:
    """Two operands as batches of matrices, rows of one by columns of the other.

    Parameters
    ----------
    terms : tuple of str
        The labels of the operands, each once in a term.
    result : str
    """

    FEW = 4096  # multiplications: less is not worth the way to BLAS

    def __init__(self, terms: tuple[str, str], result: str) -> None:
        x, y = terms
        batch = [label for label in result if label in x and label in y]
        summed = [label for label in x if label in y and label not in result]
        rows = [label for label in result if label not in y]
        columns = [label for label in result if label not in x]
        self.shared = [(x.index(label), y.index(label)) for label in batch + summed]
        self.order_x = [x.index(label) for label in (*batch, *rows, *summed)]
        self.order_y = [y.index(label) for label in (*batch, *summed, *columns)]
        made = [*batch, *rows, *columns]
        self.order = [made.index(label) for label in result]
        self.batch, self.rows, self.summed = len(batch), len(rows), len(summed)

    def fits(self, shape_x: tuple[int, ...], shape_y: tuple[int, ...]) -> bool:
        """Whether lengths agree, and there is enough to do."""
        if any(shape_x[i] != shape_y[k] for i, k in self.shared):
            return False
        together = math.prod(shape_x[i] for i, _ in self.shared)
        return math.prod(shape_x) * math.prod(shape_y) >= self.FEW * together > 0

    def product(self, x: Any, y: Any) -> Any:
        x, y = x.transpose(self.order_x), y.transpose(self.order_y)
        batch = x.shape[: self.batch]
        rows = x.shape[self.batch : self.batch + self.rows]
        summed = math.prod(x.shape[self.batch + self.rows :])
        columns = y.shape[self.batch + self.summed :]
        z = product(x.reshape(*batch, math.prod(rows), summed), y.reshape(*batch, summed, math.prod(columns)))
        return z.reshape((*batch, *rows, *columns)).transpose(self.order)


def in_memory_of_einsum(subscripts: str, x: Any, y: Any, product: Any) -> Any:
    """A product as ``np.einsum`` lays it out: its iterator puts the axes into the order of the operands'."""
    given, result = subscripts.split("->")
    labels = [*result, *sorted({*given} - {*result, ","})]
    axes = [[term.find(label) for label in labels] for term in (*given.split(","), result)]
    if product.ndim == 0:
        return product[()]
    made = np.nditer(
        (x, y, None),
        ("buffered", "delay_bufalloc", "external_loop", "grow_inner", "reduce_ok"),
        (["readonly"], ["readonly"], ["readwrite", "allocate"]),
        op_axes=axes,
    ).operands[2]
    if made.strides == product.strides:
        return product
    made[...] = product
    return made


@functools.lru_cache(maxsize=1024)
def product_of_matrices(subscripts: str) -> MatrixProduct | None:
    """The plan of an expression of two operands; None where it is no product of matrices."""
    given, result = subscripts.split("->")
    x, y = given.split(",")
    if any(len(set(term)) < len(term) for term in (x, y, result)):
        return None
    alone = set(x) ^ set(y)
    if not alone <= set(result) or not (set(x) & set(y)) - set(result):
        return None
    return MatrixProduct((x, y), result)


@functools.lru_cache(maxsize=1024)
def exchange(terms: tuple[str, ...], result: str, k: int) -> tuple[str, str]:
    """The subscripts with the result in place of term ``k``, and what of that term they reach."""
    given = "".join([result, *terms[:k], *terms[k + 1 :]])
    reached = "".join(dict.fromkeys(label for label in terms[k] if label in given))
    return f"{','.join([*terms[:k], result, *terms[k + 1 :]])}->{reached}", reached


def spread_labels(x: Any, labels: str, term: str, shape: tuple[int, ...]) -> Any:
    """``x`` with the axes ``labels`` as an operand with the axes ``term``.

    Repeated along an axis that was only summed over, on the diagonal where a label stands twice.
    """
    lengths = {
        label: max(n for other, n in zip(term, shape, strict=True) if other == label) for label in term
    }
    lengths.update(zip(labels, x.shape, strict=True))
    distinct = "".join(dict.fromkeys(term))
    if labels != distinct:
        # labels are those of the term, in its order, without some
        unit = [lengths[label] if label in labels else 1 for label in distinct]
        x = np.broadcast_to(np.reshape(x, unit), [lengths[label] for label in distinct])
    if distinct == term:
        return x
    index = tuple(
        np.reshape(np.arange(lengths[label]), [-1 if label == other else 1 for other in distinct])
        for label in term
    )
    return scatter(x, index, tuple(lengths[label] for label in term), x.dtype)


def labelled(args: tuple[Any, ...]) -> tuple[list[int], list[Any], tuple[str, ...], str]:
    """The two forms of einsum's arguments read as one.

    Returns
    -------
    places : list of int
        Where the operands stand in the arguments.
    operands : list of array
    terms : tuple of str
        Letters for all axes of each operand; an ellipsis is spelled out.
    result : str
        Letters for the axes of the result.
    """
    if not args:
        raise ValueError("must specify the einstein sum subscripts string and at least one operand")
    if isinstance(args[0], str):
        subscripts = args[0].replace(" ", "")
        places = list(range(1, len(args)))
    else:
        places = list(range(0, len(args) - 1, 2))
        subscripts = ",".join(letters_of(args[place + 1]) for place in places)
        if len(args) % 2:
            subscripts += "->" + letters_of(args[-1])
    operands = [as_array(args[place]) for place in places]
    terms, result = spelled_out(subscripts, tuple(x.ndim for x in operands))
    return places, operands, terms, result


def letters_of(sublist: Any) -> str:
    """A list of axis numbers (and Ellipsis) of the interleaved form in letters, in NumPy's order."""
    letters = string.ascii_uppercase + string.ascii_lowercase
    return "".join("..." if axis is Ellipsis else letters[axis] for axis in sublist)


@functools.lru_cache(maxsize=1024)
def spelled_out(subscripts: str, ndims: tuple[int, ...]) -> tuple[tuple[str, ...], str]:
    """The terms and the result of einsum subscripts, with letters for ellipses and the result given."""
    inputs, arrow, result = subscripts.partition("->")
    terms = inputs.split(",")
    if len(terms) != len(ndims):
        raise ValueError(f"einsum: {len(terms)} terms in {subscripts!r} for {len(ndims)} operands")
    if not arrow:  # the letters that stand once, in alphabetical order
        letters = inputs.replace(",", "").replace(".", "")
        once = "".join(sorted(letter for letter in set(letters) if letters.count(letter) == 1))
        result = ("..." if "..." in inputs else "") + once
    free = [letter for letter in string.ascii_letters if letter not in subscripts]
    hidden = [
        ndim - len(term.replace("...", "")) if "..." in term else 0
        for term, ndim in zip(terms, ndims, strict=True)
    ]
    widest = max(hidden, default=0)
    if min(hidden, default=0) < 0 or widest > len(free):
        raise ValueError(f"einsum: {subscripts!r} does not fit operands with {ndims} axes")
    ellipsis = "".join(free[:widest])
    spelled = [
        term.replace("...", ellipsis[widest - count :]) for term, count in zip(terms, hidden, strict=True)
    ]
    for term, ndim in zip(spelled, ndims, strict=True):
        if len(term) != ndim:
            raise ValueError(
                f"einsum: the term {term!r} in {subscripts!r} does not fit an operand with {ndim} axes"
            )
    return tuple(spelled), result.replace("...", ellipsis)


constant(np.einsum_path)


# -- diagonals -------------------------------------------------------------------------------------------


@rule
def on_diagonal(y: Any, shape: tuple[int, ...], offset: int, axis1: int, axis2: int) -> Any:
    """Zeros with ``y`` on a diagonal: the adjoint of ``np.diagonal``."""
    if isinstance(y, Variable):  # of an outer trace
        x = on_diagonal(y, shape, offset, axis1, axis2)
    else:
        x = np.zeros_like(y, shape=shape)
        i = np.arange(y.shape[-1])
        matrices = np.moveaxis(x, (axis1, axis2), (-2, -1))
        matrices[..., i + max(-offset, 0), i + max(offset, 0)] = y
    return x, Linear(
        (lambda y_dot: on_diagonal(y_dot, shape, offset, axis1, axis2),),
        (lambda x_bar: np.diagonal(x_bar, offset, axis1, axis2),),
    )


@rule(np.diagonal)
def diagonal(a: Any, offset: int = 0, axis1: int = 0, axis2: int = 1) -> Any:
    shape, offset = a.shape, operator.index(offset)
    return np.diagonal(a, offset, axis1, axis2), Linear(
        (lambda a_dot: np.diagonal(a_dot, offset, axis1, axis2),),
        (lambda y_bar: on_diagonal(y_bar, shape, offset, axis1, axis2),),
    )


@composed(np.linalg.diagonal)
def linalg_diagonal(x: Any, /, *, offset: int = 0) -> Any:
    return np.diagonal(x, offset, -2, -1)


@composed(np.diag)
def diag(v: Any, k: int = 0) -> Any:
    if v.ndim == 2:
        return diagonal(v, k)
    if v.ndim != 1:
        raise ValueError("Input must be 1- or 2-d.")
    n = len(v) + abs(k)
    return on_diagonal(v, (n, n), k, 0, 1)


@composed(np.diagflat)
def diagflat(v: Any, k: int = 0) -> Any:
    return np.diag(np.ravel(v), k)


@rule(np.trace)
def trace(a: Any, offset: int = 0, axis1: int = 0, axis2: int = 1, dtype: Any = None) -> Any:
    shape, offset = a.shape, operator.index(offset)

    def trace_pullback(y_bar: Any) -> Any:
        rows, columns = shape[axis1] - max(-offset, 0), shape[axis2] - max(offset, 0)
        y_bar = np.broadcast_to(np.expand_dims(y_bar, -1), (*y_bar.shape, max(min(rows, columns), 0)))
        return on_diagonal(y_bar, shape, offset, axis1, axis2)

    return np.trace(a, offset, axis1, axis2, dtype), Linear(
        (lambda a_dot: np.trace(a_dot, offset, axis1, axis2, dtype),),
        (trace_pullback,),
    )


@composed(np.linalg.trace)
def linalg_trace(x: Any, /, *, offset: int = 0, dtype: Any = None) -> Any:
    return np.trace(x, offset, -2, -1, dtype)


# -- kron and cross --------------------------------------------------------------------------------------


@composed(np.kron)
def kron(a: Any, b: Any) -> Any:
    a, b = as_array(a), as_array(b)
    ndim = max(a.ndim, b.ndim)
    shape_a = (1,) * (ndim - a.ndim) + a.shape
    shape_b = (1,) * (ndim - b.ndim) + b.shape
    blocks = np.reshape(a, list(itertools.chain.from_iterable((n, 1) for n in shape_a))) * np.reshape(
        b, list(itertools.chain.from_iterable((1, n) for n in shape_b))
    )
    return np.reshape(blocks, [m * n for m, n in zip(shape_a, shape_b, strict=True)])


@rule
def cross_of_last_axes(a: Any, b: Any) -> Any:
    """``a × b`` of vectors with three components: ⟨y, a × b⟩ = ⟨a, b × y⟩ = ⟨b, y × a⟩."""
    return np.cross(a, b), Bilinear(
        (lambda a_dot: np.cross(a_dot, b), lambda b_dot: np.cross(a, b_dot)),
        (lambda y_bar: np.cross(conj(b), y_bar), lambda y_bar: np.cross(y_bar, conj(a))),
    )


@composed(np.cross)
def cross(a: Any, b: Any, axisa: int = -1, axisb: int = -1, axisc: int = -1, axis: int | None = None) -> Any:
    if axis is not None:
        axisa = axisb = axisc = axis
    a, b = np.moveaxis(as_array(a), axisa, -1), np.moveaxis(as_array(b), axisb, -1)
    if not {a.shape[-1], b.shape[-1]} <= {2, 3}:
        raise ValueError("incompatible dimensions for cross product\n(dimension must be 2 or 3)")
    if a.shape[-1] == b.shape[-1] == 2:
        return a[..., 0] * b[..., 1] - a[..., 1] * b[..., 0]
    return np.moveaxis(cross_of_last_axes(with_third(a), with_third(b)), -1, axisc)


def with_third(x: Any) -> Any:
    """A vector in the plane with 0 as its third component."""
    if x.shape[-1] == 3:
        return x
    return padded_with_zeros(x, [(0, 0)] * (x.ndim - 1) + [(0, 1)])


@composed(np.linalg.cross)
def linalg_cross(x1: Any, x2: Any, /, *, axis: int = -1) -> Any:
    if as_array(x1).shape[axis] != 3 or as_array(x2).shape[axis] != 3:
        raise ValueError("Both input arrays must be (arrays of) 3-dimensional vectors")
    return np.cross(x1, x2, axis=axis)
