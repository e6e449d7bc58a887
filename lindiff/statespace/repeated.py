"""Models that are built again and again: what depends on the parameters, by a program."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from lindiff.core import pytree
from lindiff.core.linearization import Linearization
from lindiff.core.variable import Variable
from lindiff.scipy.optimize._running import Running
from lindiff.statespace.model import Model
from lindiff.statespace.nonlinear import NonlinearModel

__all__ = ["by_program"]

At = Callable[[dict[str, Any]], Model | NonlinearModel]


def by_program(at: At, start: dict[str, Any], run: Running) -> At:
    """A function from parameters to models, without Python from the third model on.

    What the first model has that depends on no parameter stays constant, so that no derivatives by it are
    computed.  Where another model differs in that, or by its functions, `at` builds it, and all that follow.

    Parameters
    ----------
    at : callable
    start : dict
        The parameters of the first model, arrays.
    run : Running
        Makes the programs.
    """
    varying: list[bool] = []
    constant: list[Any] = []

    first = at(start)
    restore, differs = pytree.flatten(first)[1], False

    def noted(*params: Any) -> list[Any]:
        nonlocal differs
        model = at(dict(zip(start, params, strict=True)))
        differs = _differ_by_functions(model, first)
        leaves, _ = pytree.flatten(model)
        varying.extend(type(leaf) is Variable for leaf in leaves)
        constant.extend(None if varies else leaf for leaf, varies in zip(leaves, varying, strict=True))
        return [leaf for leaf, varies in zip(leaves, varying, strict=True) if varies]

    Linearization(noted, tuple(start.values()))

    @run
    def arrays(*params: Any) -> tuple[Any, ...]:
        model = at(dict(zip(start, params, strict=True)))
        leaves, _ = pytree.flatten(model)
        if len(leaves) != len(varying) or _differ_by_functions(model, first):
            raise _DiffersError
        parts = list(zip(leaves, constant, varying, strict=True))
        if not all(varies or _are_same(leaf, before) for leaf, before, varies in parts):
            raise _DiffersError
        # in memory of their own: results that share memory have no program among Variables
        return tuple(+leaf for leaf, varies in zip(leaves, varying, strict=True) if varies)

    def model(params: dict[str, Any]) -> Model | NonlinearModel:
        nonlocal differs
        if not differs:
            try:
                found = iter(arrays(*params.values()))
            except _DiffersError:
                differs = True
            else:
                leaves = [next(found) if varies else x for x, varies in zip(constant, varying, strict=True)]
                return restore(leaves)
        return at(params)

    return model


class _DiffersError(Exception):
    """A model that differs from the first one by more than the arrays that depend on parameters."""


def _differ_by_functions(model: Model | NonlinearModel, first: Model | NonlinearModel) -> bool:
    if type(model) is not type(first):
        return True
    return isinstance(model, NonlinearModel) and any(
        getattr(model, name) is not getattr(first, name) for name in model.constant_fields()
    )


def _are_same(x: Any, before: Any) -> bool:
    return type(x) is type(before) and bool(np.array_equal(x, before))
