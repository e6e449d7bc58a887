"""What the functions of ``scipy.special`` that are written in Python have in common."""

from __future__ import annotations

import functools
from typing import Any

import lindiff.scipy._drop_in
from lindiff.core.variable import Variable

__all__ = ["drop_in", "refuse_variable"]

drop_in = functools.partial(lindiff.scipy._drop_in.drop_in, counterparts=True)


def refuse_variable(name: str, argument: str, x: Any, reason: str) -> None:
    """Raise a TypeError for a Variable in an argument without derivative."""
    if isinstance(x, Variable):
        raise TypeError(
            f"scipy.special.{name} has no derivative with respect to {argument} in lindiff: {reason}. Give "
            f"ld.value(v) there if that derivative does not matter"
        )
