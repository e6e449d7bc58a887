"""Functions of single matrices over leading batch axes: the one loop in Python.

Only for what has no kernel: SciPy routines that older versions do not batch.
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any, TypeVar

import numpy as np

from lindiff.core.arrays import foreign

F = TypeVar("F", bound=Callable[..., Any])

__all__ = ["over_batch", "require_host"]


def require_host(function: str, *arrays: Any) -> None:
    """Raise for an array of another library than NumPy: a function of SciPy alone is going to get it."""
    for x in arrays:
        like = foreign(x)
        if like is not None:
            name = f"{type(like).__module__.partition('.')[0]}.{type(like).__name__}"
            raise TypeError(
                f"{function}: SciPy computes it for NumPy's arrays alone, and it got a {name}; bring what "
                "it needs to the host, or write it with functions of lindiff.linalg and numpy.linalg"
            )


def over_batch(*ranks: int) -> Callable[[F], F]:
    """Let a function of arrays with these numbers of axes work on arrays with more, which are broadcast.

    Parameters
    ----------
    *ranks : int
        Of the leading positional arguments; all other arguments are the same for the whole batch.

    Notes
    -----
    A ``LinAlgError`` gets the batch index.  For an empty batch the function runs once, on identity matrices,
    to learn the shapes and dtypes of its results.

    Examples
    --------
    >>> import numpy as np
    >>> traces = over_batch(2)(lambda A: A.diagonal().sum())
    >>> traces(np.ones((2, 3, 3)))
    array([3., 3.])
    """

    def decorate(function: F) -> F:
        @functools.wraps(function)
        def call(*args: Any, **options: Any) -> Any:
            arrays, rest = args[: len(ranks)], args[len(ranks) :]
            require_host(function.__name__, *arrays)
            if all(x.ndim == rank for x, rank in zip(arrays, ranks, strict=False)):
                return function(*map(_writable, arrays), *rest, **options)
            cores = [x.shape[x.ndim - rank :] for x, rank in zip(arrays, ranks, strict=False)]
            batch = np.broadcast_shapes(
                *(x.shape[: x.ndim - len(c)] for x, c in zip(arrays, cores, strict=True))
            )
            if 0 in batch:
                results = [function(*map(_regular, arrays, cores), *rest, **options)]
                return _stacked(
                    results, lambda r: np.empty((*batch, *np.shape(r[0])), np.asarray(r[0]).dtype)
                )
            whole = [np.broadcast_to(x, (*batch, *c)) for x, c in zip(arrays, cores, strict=True)]
            results = []
            for index in np.ndindex(*batch):
                try:
                    results.append(function(*(_writable(x[index]) for x in whole), *rest, **options))
                except np.linalg.LinAlgError as error:
                    raise np.linalg.LinAlgError(f"{error} (batch index {index})") from error
            return _stacked(results, lambda r: _of_one_shape(r).reshape(*batch, *np.shape(r[0])))

        return call  # type: ignore[return-value]

    return decorate


def _writable(x: Any) -> Any:
    """The compiled parts of older SciPy versions refuse arrays that are read-only, as broadcast ones are."""
    return x if x.flags.writeable else x.copy()


def _regular(x: Any, core: tuple[int, ...]) -> Any:
    """Some matrix of this shape that any function takes."""
    return np.eye(*core, dtype=x.dtype) if len(core) == 2 else np.ones(core, x.dtype)


def _of_one_shape(results: list[Any]) -> Any:
    shapes = sorted({np.shape(r) for r in results})
    if len(shapes) > 1:
        raise ValueError(
            f"the matrices of a batch must have results of one shape, got {' and '.join(map(str, shapes))}"
        )
    return np.stack(results)


def _stacked(results: list[Any], stack: Callable[[list[Any]], Any]) -> Any:
    first = results[0]
    if not isinstance(first, tuple):
        return stack(results)
    columns = [stack(list(column)) for column in zip(*results, strict=True)]
    return type(first)(*columns) if hasattr(first, "_fields") else tuple(columns)
