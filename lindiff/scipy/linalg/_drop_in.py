"""Taking the place of a SciPy function: on plain arrays it is SciPy's own, on Variables ours."""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable
from typing import Any, TypeVar

import numpy as np

from lindiff.core.variable import Variable
from lindiff.linalg._batches import over_batch

F = TypeVar("F", bound=Callable[..., Any])

__all__ = ["drop_in"]


def drop_in(original: Callable[..., Any], *ranks: int | Callable[[Any], int]) -> Callable[[F], F]:
    """Let the decorated function take the place of a SciPy function, which plain arrays go to.

    The decorated function is called where an argument is a Variable.  A primitive behind it gets its value by
    calling it again on what that Variable holds: in the end on plain arrays.

    Parameters
    ----------
    original : callable
        SciPy's function.  It may know no batches.
    *ranks : int or callable
        How many axes each of the first arguments, arrays, has without a batch; a callable tells that of its
        array.
    """

    def decorate(function: F) -> F:
        names = list(inspect.signature(function).parameters)[: len(ranks)]

        def plain(args: tuple[Any, ...], options: dict[str, Any]) -> Any:
            arrays = [*args[: len(ranks)]]
            for name in names[len(arrays) :]:
                if name not in options:
                    break
                arrays.append(options.pop(name))
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
                if type(x) is Variable:
                    return function(*args, **options)
            return plain(args, options)

        return call  # type: ignore[return-value]

    return decorate
