"""Memory against time: ``checkpoint``."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar

from lindiff.core import pytree
from lindiff.core.sealing import called
from lindiff.core.segment import run_segment
from lindiff.core.variable import kept
from lindiff.programs import Program
from lindiff.transforms._transformed import transformed

__all__ = ["checkpoint"]

F = TypeVar("F", bound=Callable[..., Any])


def checkpoint(function: F, *, program: bool = False) -> F:
    """Let a function run again in the backward walk instead of keeping what its operations keep.

    Between its call and the backward walk only its arguments and results are kept.

    Parameters
    ----------
    function : callable
        Of trees of arrays and whatever else, by position and by keyword.  It may close over Variables, which
        get their derivatives.  It has to do the same when it runs again, and must not change its arguments
        or anything outside: another result, operation or constant of the second run raises.
    program : bool
        Run the function, and its part of each walk, as :func:`lindiff.program` does: recorded in the first
        calls, without Python in the others, so that prints and counters of the function are those of the
        first calls.  Where there is no program, as for a function that closes over Variables, it is as
        without.

    Returns
    -------
    callable
        Of the same arguments, with the same results and derivatives of any order.  Cost: the function runs
        once more in each walk; in forward mode (``jvp``) only once, as there nothing is kept anyway.

    Notes
    -----
    A loop of T steps keeps O(T).  Cut into √T checkpointed pieces of √T steps, it keeps the √T states between
    them, and one piece at a time in the backward walk: O(√T), for one more run.  Pieces that are checkpointed
    themselves go on from there: with d levels O(d · T^(1/(d+1))), for d more runs.

    A program keeps nothing but arguments and results, too: of each step ``checkpoint(step, program=True)``
    costs the call of one, and as much memory as without.

    Of second derivatives, ``hvp`` (forward over reverse) keeps as little; what a ``hessian`` keeps of the
    backward walk itself is not reduced.

    References
    ----------
    A. Griewank, A. Walther (2000), Algorithm 799: revolve, ACM Transactions on Mathematical Software 26,
    19-45.  T. Chen, B. Xu, C. Zhang, C. Guestrin (2016), Training deep nets with sublinear memory cost,
    arXiv:1604.06174.

    Examples
    --------
    >>> import numpy as np, lindiff as ld
    >>> def orbit(x, steps):
    ...     for _ in range(steps):
    ...         x = x + 0.01 * np.sin(x)
    ...     return x
    >>> piece = ld.checkpoint(orbit)
    >>> def loss(x):
    ...     for _ in range(30):
    ...         x = piece(x, steps=30)
    ...     return np.sum(x)
    >>> x = np.linspace(0.0, 1.0, 5)
    >>> np.allclose(ld.grad(loss)(x), ld.grad(lambda x: np.sum(orbit(x, 900)))(x))
    True
    """

    @transformed(checkpoint, function, program=program)
    def checkpointed(*args: Any, **kwargs: Any) -> Any:
        def call() -> Any:
            return called(function, args, kwargs)

        def again() -> Any:
            return called(function, positional, by_name)

        again.__name__ = f"checkpoint({getattr(function, '__name__', 'function')})"  # for messages
        leaves, restore = pytree.flatten((args, kwargs))
        guards: list[Any] = []
        positional, by_name = restore([kept(leaf, guards) for leaf in leaves])
        return run_segment(call, again, guards)

    if program:  # which keeps arguments and results alone, and has a program for the walk
        step = Program(function, otherwise=checkpointed)
        return transformed(checkpoint, function, program=program)(step)  # type: ignore[return-value]
    return checkpointed  # type: ignore[return-value]
