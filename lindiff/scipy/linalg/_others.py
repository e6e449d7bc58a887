"""What ``scipy.linalg`` has besides: the same functions, for plain arrays only."""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable
from typing import Any

import scipy.linalg

from lindiff.core import pytree
from lindiff.core.variable import Variable

__all__ = ["other"]

_REASONS = {
    "subspace_angles": "write it with qr and svdvals, which have derivatives",
    "hessenberg": "its reflections are one choice among many; schur and eig have derivatives",
    "qz": "its reflections are one choice among many; eig(a, b) has derivatives",
    "ordqz": "its reflections are one choice among many; eig(a, b) has derivatives",
    "cossin": "write it with svd of the blocks",
    "cdf2rdf": "take the real and the imaginary parts of eigenvectors",
}


def other(name: str) -> Any:
    """SciPy's object of this name; a function refuses Variables and says why.

    Raises
    ------
    AttributeError
        If SciPy does not have it.
    """
    found = getattr(scipy.linalg, name)
    return _plain_only(name, found) if inspect.isroutine(found) else found


def _plain_only(name: str, function: Callable[..., Any]) -> Callable[..., Any]:
    @functools.wraps(function)
    def call(*args: Any, **options: Any) -> Any:
        leaves = pytree.flatten((args, options))[0]
        if any(isinstance(leaf, Variable) for leaf in leaves):
            reason = _REASONS.get(name)
            raise TypeError(
                f"scipy.linalg.{name} has no derivative in lindiff{': ' + reason if reason else ''}. "
                f"Where its derivative does not matter, give it ld.value(v)"
            )
        return function(*args, **options)

    return call
