"""One record per operator: what the generic tests of ``test_table.py`` need to know about it.

Modules named ``table_<family>.py`` hold a list ``OPERATORS`` of these records; to test a new rule, add one.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any

import numpy as np

from lindiff.core import pytree
from lindiff.core.variable import Variable


@dataclass(frozen=True)
class Sample:
    """Arguments of one call.

    Arrays of floating dtype among them (also in lists) are differentiated; to keep one fixed, give a list.
    """

    args: tuple[Any, ...]
    kwargs: dict[str, Any]


def sample(*args: Any, **kwargs: Any) -> Sample:
    return Sample(args, kwargs)


def accepted(function: Callable[..., Any], *samples: Sample) -> list[Sample]:
    """Those samples that fit the signature of the installed NumPy's ``function``: older ones have less."""
    try:
        signature = inspect.signature(function)
    except ValueError:  # compiled
        return [*samples]
    return [sample for sample in samples if _fits(signature, sample)]


def _fits(signature: inspect.Signature, sample: Sample) -> bool:
    try:
        signature.bind(*sample.args, **sample.kwargs)
    except TypeError:
        return False
    return True


def undispatched(function: Callable[..., Any]) -> Callable[..., Any]:
    """``function``, which NumPy does not dispatch, as lindiff has it for Variables."""

    def call(*args: Any, **kwargs: Any) -> Any:
        for leaf in pytree.flatten((args, kwargs))[0]:
            if isinstance(leaf, Variable):
                return leaf.__array_function__(function, (Variable,), args, kwargs)
        return function(*args, **kwargs)

    return call


@dataclass(frozen=True)
class Operator:
    """What the generic tests need to know about one operator.

    Parameters
    ----------
    name : str
        In test ids.
    function : callable
        Has the rule: the key in the registry.
    samples : callable
        ``samples(rng)`` gives samples (:func:`sample`), made of float64 arrays.  Include empty arrays, arrays
        without axes, broadcasting, and every keyword.
    call : callable, optional
        How it is called, if not as ``function``: composed with what makes the result unique (signs, order).
    domain : callable, optional
        Maps any array to one inside the domain; applied to each differentiated array.
    reference : callable, optional
        The value to compare with, by default the call itself on plain arrays.
    complex : bool
        Whether complex arguments have a derivative.  They are random, then mapped by ``domain``.
    single : bool
        Whether float32 is tested too.
    order : int
        Of the derivatives tested.
    rtol, adjoint_rtol : float, optional
        Tolerances of ``check_grads`` for float64, where its own cannot be held; say why.
    constant : bool
        The derivative is zero: only tested to give on Variables what it gives on plain arrays, and plainly.
    also : tuple of callables
        Other functions tested by this record (for the guard against untested rules).
    """

    name: str
    function: Callable[..., Any]
    samples: Callable[[np.random.Generator], Iterable[Sample]]
    call: Callable[..., Any] | None = None
    domain: Callable[[Any], Any] | None = None
    reference: Callable[..., Any] | None = None
    complex: bool = False
    single: bool = True
    order: int = 2
    rtol: float | None = None
    adjoint_rtol: float | None = None
    constant: bool = False
    also: tuple[Callable[..., Any], ...] = ()

    def cases(self, seed: int = 0) -> list[Case]:
        return [Case(self, i, s) for i, s in enumerate(self.samples(np.random.default_rng(seed)))]


@dataclass(frozen=True)
class Case:
    """An operator and one sample of its arguments."""

    operator: Operator
    number: int
    sample: Sample

    @property
    def id(self) -> str:
        return f"{self.operator.name}-{self.number}"

    def arrays(self, dtype: Any = np.float64, seed: int = 0) -> list[Any]:
        """The differentiated arguments, inside the domain, of this dtype; read-only."""
        rng = np.random.default_rng(seed)
        arrays = []
        for leaf in pytree.flatten((self.sample.args, self.sample.kwargs))[0]:
            if _is_differentiated(leaf):
                array = leaf
                if np.dtype(dtype).kind == "c" and leaf.dtype.kind == "f":
                    array = array + 1j * rng.standard_normal(leaf.shape)
                if self.operator.domain is not None:
                    array = self.operator.domain(array)
                array = np.array(array, dtype if leaf.dtype.kind == "f" else np.result_type(dtype, "c8"))
                array.flags.writeable = False
                arrays.append(array)
        return arrays

    def of_arrays(self, arrays: Iterable[Any], reference: bool = False) -> Any:
        """The call, with ``arrays`` in the places of the differentiated arguments."""
        remaining = iter(arrays)
        leaves, restore = pytree.flatten((self.sample.args, self.sample.kwargs))
        args, kwargs = restore([next(remaining) if _is_differentiated(leaf) else leaf for leaf in leaves])
        operator = self.operator
        call = operator.call if operator.call is not None else operator.function
        if reference and operator.reference is not None:
            call = operator.reference
        return call(*args, **kwargs)

    def __call__(self, *arrays: Any) -> Any:
        return self.of_arrays(arrays)


def _is_differentiated(leaf: Any) -> bool:
    return isinstance(leaf, np.ndarray) and leaf.dtype.kind in "fc"
