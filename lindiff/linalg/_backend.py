"""Which code an operator runs: the kernels of the array's type, or its formula in NumPy functions.

An operator is a readable formula (it serves nested derivatives and any array type that speaks NumPy's
protocols) and, for arrays whose type has kernels, a fused in-place twin of the same name.  The choice is made
here and nowhere else.
"""

from __future__ import annotations

import functools
import inspect
import sys
from collections.abc import Callable
from typing import Any, TypeVar

import numpy as np

import lindiff.kernels
from lindiff.core.directions import Directions, one_by_one
from lindiff.core.registry import rule
from lindiff.core.variable import Variable

F = TypeVar("F", bound=Callable[..., Any])

# Kernels without a complex form.
REAL_ONLY = {
    *("gelqf", "gelqf_pullback", "gelqf_pushforward", "gelqf_l", "gelqf_l_pullback", "gelqf_l_pushforward"),
    *("syevd", "syevd_pullback", "syevd_pushforward"),
    *("expm", "expm_pullback", "expm_pushforward"),
}

__all__ = ["failing_as", "fused", "kernels", "operator", "renamed"]


class failing_as:
    """Let a kernel's error within the block name the function that was called."""

    __slots__ = ("name",)

    def __init__(self, name: str) -> None:
        self.name = name

    def __enter__(self) -> None:
        pass

    def __exit__(self, kind: Any, error: Any, traceback: Any) -> None:
        if isinstance(error, np.linalg.LinAlgError):
            raise renamed(error, self.name) from None


def renamed(error: np.linalg.LinAlgError, name: str) -> np.linalg.LinAlgError:
    """The error in the name of the function that was called."""
    kernel, _, what = str(error).partition(": ")
    return np.linalg.LinAlgError(f"{name}: {what or kernel}")


def kernels(*arrays: Any, real: bool = False) -> Any:
    """The module with kernels for these arrays (None among them is ignored); None if there is none.

    NumPy's arrays have ``lindiff.kernels``, CuPy's have ``lindiff_cuda``, which refuses NumPy's among them.
    With ``real``, complex arrays have none.
    """
    cupy = sys.modules.get("cupy")
    found: Any = lindiff.kernels
    for array in arrays:
        if real and np.iscomplexobj(array):
            return None
        if array is None or type(array) is np.ndarray:
            continue
        if cupy is not None and isinstance(array, cupy.ndarray):
            import lindiff_cuda

            found = lindiff_cuda
        elif hasattr(array, "__array_function__"):
            return None
    return found


def fused(formula: F) -> F:
    """Let a formula give way to the kernel of its name where its arrays have one.

    ``overwrite_*`` concerns kernels alone.
    """
    return _kernel_or(formula.__name__, formula)


def _kernel_or(name: str, formula: F) -> F:
    @functools.wraps(formula)
    def call(*args: Any, **options: Any) -> Any:
        if any(type(x) is Directions for x in args):
            return one_by_one(call, args, options)
        kernel = getattr(kernels(*args, real=name in REAL_ONLY), name, None)
        if kernel is None:
            return formula(*args, **_without_overwrite(options))
        return kernel(*args, **options)

    return call  # type: ignore[return-value]


def _without_overwrite(options: dict[str, Any]) -> dict[str, Any]:
    return {name: option for name, option in options.items() if not name.startswith("overwrite_")}


def operator(formula: Callable[..., Any]) -> Callable[[F], F]:
    """Make a public operator of a rule; the kernel of its name, or ``formula``, computes its value.

    The decorated rule calls the operator on its own arguments, as a rule of a NumPy function calls that
    function: they are plain arrays, or Variables of an enclosing trace.

    On Variables the operator ignores ``overwrite_*``: what a Variable holds may be needed again.  On plain
    arrays it is its value alone, and the kernel honours ``overwrite_*``.
    """

    def decorate(function: F) -> F:
        primitive = rule(function)
        value = _kernel_or(function.__name__, formula)
        parameters = inspect.signature(function).parameters.values()
        arrays = sum(parameter.default is parameter.empty for parameter in parameters)
        names = [parameter.name for parameter in parameters][arrays:]
        overwrites = [name for name in names if name.startswith("overwrite_")]

        @functools.wraps(function)
        def call(*args: Any, **options: Any) -> Any:
            for x in (*args, *options.values()) if options else args:
                if type(x) is Variable:  # and `primitive` looks for Directions, as `value` does
                    break
            else:
                return value(*args, **options)
            if len(args) > arrays:
                options.update(zip(names, args[arrays:], strict=False))
            for name in overwrites:
                options.pop(name, None)
            return primitive(*args[:arrays], **options)

        call.primitive = primitive  # type: ignore[attr-defined]
        return call  # type: ignore[return-value]

    return decorate
