"""Which code an operator runs: the kernels of the array's type, or its formula in NumPy functions.

An operator is a readable formula (it serves nested derivatives and any array type that speaks NumPy's
protocols) and, for arrays whose type has kernels, a fused in-place twin of the same name.
Which arrays have kernels is known to `lindiff.core.backends`.
"""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext
from typing import Any, TypeVar

import numpy as np

from lindiff.core.backends import device_checks, device_in_use
from lindiff.core.backends import kernels as kernels
from lindiff.core.directions import Directions, one_by_one
from lindiff.core.registry import rule
from lindiff.core.variable import Variable, inside, shared_of
from lindiff.linalg._operation import Fused, Operation, Operator

F = TypeVar("F", bound=Callable[..., Any])

# Kernels without a complex form.
REAL_ONLY = {
    *("gelqf", "gelqf_pullback", "gelqf_pushforward", "gelqf_l", "gelqf_l_pullback", "gelqf_l_pushforward"),
    *("syevd", "syevd_pullback", "syevd_pushforward"),
    *("expm", "expm_pullback", "expm_pushforward"),
}

NOTHING: AbstractContextManager[None] = nullcontext()

__all__ = [
    *("Known", "failing_as", "fused", "fused_trusting", "kernels", "known_of", "learn_factor", "looks"),
    *("operator", "renamed", "trusting"),
]


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


# -- what a device need not be asked again ---------------------------------------------------------------


def _of_device(name: str) -> Any:
    """A function of ``lindiff_cuda.checks``; None as long as no thread has imported it to the end."""
    return getattr(device_checks(), name, None)


def looks() -> bool:
    """Whether kernels look for failures: on a device not within ``lindiff_cuda.unchecked``."""
    checking = _of_device("checking")
    return checking is None or checking()


def trusting() -> AbstractContextManager[None]:
    """Within it a device's kernels do not look at the factors that they are given: that would wait for it.

    For derivatives, whose factors the operator itself has looked at, and for what is known to be regular.
    """
    unchecked = _of_device("unchecked")
    return NOTHING if unchecked is None else unchecked()


class Known:
    """What is known of a plain matrix, or of its factor, without a look at it.

    Parameters
    ----------
    lower : bool or None
        Which triangle the matrix is; None if nobody knows.
    regular : bool
        No zero stands on the diagonal of the factor.
    """

    __slots__ = ("lower", "regular")

    def __init__(self, lower: bool | None = None, regular: bool = False) -> None:
        self.lower, self.regular = lower, regular

    def dividing(self) -> AbstractContextManager[None]:
        """Kernels within it divide by the diagonal, at which they look unless it is known to be regular; if
        they do not raise, it is.
        """
        return trusting() if self.regular else self._looking()

    @contextmanager
    def _looking(self) -> Iterator[None]:
        yield
        self.regular = looks()


def known_of(x: Any) -> Known | None:
    """What is known of the matrix in a Variable, for as long as that is not changed in place; else None.

    Only of what may lie on a device: matrices of NumPy are looked at.
    """
    if type(x) is not Variable or not device_in_use():
        return None
    known: Known = shared_of(x).setdefault(Known, Known())
    if known.lower is None and x.base is not None and _is_transpose(inside(x), inside(x.base)):
        of_base = shared_of(x.base).get(Known, known)
        if of_base.lower is not None:
            return Known(not of_base.lower, of_base.regular)
    return known


def _is_transpose(x: Any, base: Any) -> bool:
    """Whether x, a view of matrices or of their transposes on a device, is the latter."""
    if type(x) is np.ndarray:
        return False
    swapped = (*base.strides[:-2], *base.strides[:-3:-1])
    return (
        x.ndim == base.ndim > 1
        and x.shape[-1] > 1
        and (x.shape, x.strides) == (base.shape, swapped)
        and swapped != base.strides
        and x.data.ptr == base.data.ptr
    )


def learn_factor(L: Any, lower: bool) -> None:
    """A Variable holds the triangle that a factorization has given, which raises where that is singular."""
    known = known_of(L)
    if known is not None:
        known.lower, known.regular = lower, looks()


# -- operators -------------------------------------------------------------------------------------------


def fused(formula: F) -> F:
    """Let a formula give way to the kernel of its name where its arrays have one.

    ``overwrite_*`` concerns kernels alone.
    """
    name = formula.__name__
    return Fused(name, formula, _kernel_or(name, formula), name in REAL_ONLY)  # type: ignore[return-value]


def fused_trusting(formula: F) -> F:
    """`fused` for a derivative whose factors the operator itself has looked at."""
    call = _kernel_or(formula.__name__, formula)

    @functools.wraps(formula)
    def trusted(*args: Any, **options: Any) -> Any:
        with trusting():
            return call(*args, **options)

    name = formula.__name__
    return Fused(name, formula, trusted, name in REAL_ONLY)  # type: ignore[return-value]


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


def operator(
    formula: Callable[..., Any], described: Any = None, *, divides: bool = False
) -> Callable[[F], F]:
    """Make a public operator; the kernel of its name, or ``formula``, computes its value of plain arrays.

    Of Variables it is the rule that is decorated; or one `described` once (``_operation.pyx``), by both
    derivatives, whose value is decorated, or as a whole.  One that `divides` by the diagonal of its first
    argument looks at that once for each Variable.

    The decorated rule calls the operator on its own arguments, as a rule of a NumPy function calls that
    function: they are plain arrays, or Variables of an enclosing trace.

    On Variables the operator ignores ``overwrite_*``: what a Variable holds may be needed again.  On plain
    arrays it is its value alone, and the kernel honours ``overwrite_*``.
    """

    def decorate(function: F) -> F:
        primitive: Any
        if described is None:
            primitive = rule(function)
        else:
            primitive = Operation(function, function, *described) if type(described) is tuple else described
        name = function.__name__
        value = Fused(name, formula, _kernel_or(name, formula), name in REAL_ONLY)
        parameters = inspect.signature(function).parameters.values()
        arrays = sum(parameter.default is parameter.empty for parameter in parameters)
        names = [parameter.name for parameter in parameters][arrays:]
        known = known_of if divides else None
        return Operator(function, primitive, value, arrays, names, known)  # type: ignore[return-value]

    return decorate
