"""Functions in the place of SciPy's: plain arrays go to SciPy's own, Variables to ours."""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable
from typing import Any, TypeVar

import numpy as np

from lindiff._docstrings import documented_like
from lindiff.core.arrays import counterpart, foreign
from lindiff.core.lists import must_be_stacked
from lindiff.core.results import returned
from lindiff.core.variable import Variable
from lindiff.linalg._batches import over_batch, require_host
from lindiff.scipy._lists import of_arrays

F = TypeVar("F", bound=Callable[..., Any])

__all__ = ["as_scipy_returns", "drop_in", "takes_lists"]


def as_scipy_returns(function: F) -> F:
    """Let a function return arrays in memory of their own, and scalars in place of arrays without axes.

    The function itself sends plain arrays to SciPy.
    """

    @functools.wraps(function)
    def call(*args: Any, **options: Any) -> Any:
        return returned(function(*args, **options), (*args, *options.values()))

    return call  # type: ignore[return-value]


def drop_in(
    original: Callable[..., Any] | None,
    *ranks: int | Callable[[Any], int],
    anywhere: bool = False,
    by_rows: bool = False,
    no_axes: str = "scalar",
    counterparts: bool = False,
) -> Callable[[F], F]:
    """Let the decorated function take the place of a SciPy function, which plain arrays go to.

    The decorated function is called where an argument is a Variable.  A primitive behind it gets its value by
    calling it again on what that Variable holds: in the end on plain arrays.

    Parameters
    ----------
    original : callable
        SciPy's function.  It may know no batches.  None where the installed SciPy does not have it: then the
        decorated function is not public.
    *ranks : int or callable
        How many axes each of the first arguments, arrays, has without a batch; a callable tells that of its
        array.
    anywhere : bool
        The decorated function takes plain arrays of other libraries, too: it never needs SciPy's own.
    by_rows : bool
        So SciPy's results lie in memory; else they are matrices that lie as LAPACK has left them.
    no_axes : {"scalar", "array", "like first"}
        What results without axes are; "like first" is what the first argument is.
    counterparts : bool
        Plain arrays of CuPy go to its own function of that name.

    Notes
    -----
    Positional arguments come in the order of the installed SciPy, which between versions is not the same.
    """

    def decorate(function: F) -> F:
        if original is None:
            return function
        documented_like(original)(function)
        own = inspect.signature(function)
        signature = _in_order_of(original, own)
        is_reordered = [*signature.parameters] != [*own.parameters]
        names = [*own.parameters][: len(ranks)]

        def plain(args: tuple[Any, ...], options: dict[str, Any]) -> Any:
            if counterparts:
                return counterpart(original, *args)(*args, **options)
            arrays = [*args[: len(ranks)]]
            for name in names[len(arrays) :]:
                if name not in options:
                    break
                arrays.append(options.pop(name))
            require_host(original.__name__, *arrays)
            axes = [
                rank if isinstance(rank, int) else rank(x) for rank, x in zip(ranks, arrays, strict=False)
            ]
            rest = args[len(ranks) :]
            if all(np.ndim(x) <= rank for x, rank in zip(arrays, axes, strict=True)):
                return original(*arrays, *rest, **options)
            given = [i for i, x in enumerate(arrays) if x is not None]

            def of_given(*matrices: Any) -> Any:
                filled = [*arrays]
                for i, matrix in zip(given, matrices, strict=True):
                    filled[i] = matrix
                return original(*filled, *rest, **options)

            return over_batch(*(axes[i] for i in given))(of_given)(*(np.asarray(arrays[i]) for i in given))

        @functools.wraps(function)
        def call(*args: Any, **options: Any) -> Any:
            for x in (*args, *options.values()):
                if type(x) is Variable or (anywhere and foreign(x) is not None) or must_be_stacked(x):
                    args, options = of_arrays(args, options)
                    given = (*args, *options.values())
                    if is_reordered:
                        args, options = (), signature.bind(*args, **options).arguments
                    return returned(function(*args, **options), given, no_axes, by_rows)
            return plain(args, options)

        call.__signature__ = signature  # type: ignore[attr-defined]
        return call  # type: ignore[return-value]

    return decorate


def takes_lists(function: F) -> F:
    """Let a function take lists with Variables in them for arrays, as SciPy's do."""

    @functools.wraps(function)
    def call(*args: Any, **options: Any) -> Any:
        args, options = of_arrays(args, options)
        return function(*args, **options)

    return call  # type: ignore[return-value]


def _in_order_of(original: Callable[..., Any], own: inspect.Signature) -> inspect.Signature:
    """The signature, its parameters in the order of the original's."""
    order = {name: i for i, name in enumerate(inspect.signature(original).parameters)}
    ordered = sorted(own.parameters.values(), key=lambda p: (p.kind, order.get(p.name, len(order))))
    return own if ordered == [*own.parameters.values()] else own.replace(parameters=ordered)
