"""``np.emath``: functions that go on to complex numbers where real ones end."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from lindiff.core.registry import composed
from lindiff.core.variable import value
from lindiff.rules._common import as_array

__all__: list[str] = []


def continued(x: Any, is_outside: Callable[[Any], Any]) -> Any:
    """``x`` as a complex array if any of its real elements lies outside the domain."""
    x = as_array(x)
    plain = value(x)
    if np.any(np.isreal(plain) & is_outside(np.real(plain))):
        return np.astype(x, np.result_type(x, np.complex64))
    return x


def is_negative(x: Any) -> Any:
    return x < 0


def is_beyond_one(x: Any) -> Any:
    return np.abs(x) > 1


def of_one_argument(name: str, is_outside: Callable[[Any], Any]) -> None:
    """The function of this name in np.emath: that of np, continued."""
    function = getattr(np, name)

    @composed(getattr(np.emath, name))
    def implementation(x: Any) -> Any:
        return function(continued(x, is_outside))


for name in ["sqrt", "log", "log2", "log10"]:
    of_one_argument(name, is_negative)
for name in ["arccos", "arcsin", "arctanh"]:
    of_one_argument(name, is_beyond_one)


@composed(np.emath.logn)
def logn(n: Any, x: Any) -> Any:
    return np.log(continued(x, is_negative)) / np.log(continued(n, is_negative))


@composed(np.emath.power)
def power(x: Any, p: Any) -> Any:
    """Integer powers below 0 are taken as real ones."""
    p = as_array(p)
    if p.dtype.kind == "i" and np.any(p < 0):
        p = p * 1.0
    return np.power(continued(x, is_negative), p)
