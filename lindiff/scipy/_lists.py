"""Lists and tuples that stand for arrays, with Variables in them."""

from __future__ import annotations

from typing import Any

from lindiff.core.lists import must_be_stacked
from lindiff.rules._common import as_array

__all__ = ["of_arrays"]


def of_arrays(args: tuple[Any, ...], options: dict[str, Any]) -> tuple[tuple[Any, ...], dict[str, Any]]:
    """The arguments, where lists with Variables in them have become arrays.

    Other lists are copied: formulas keep them, and the caller may change them afterwards.
    """
    for x in (*args, *options.values()):
        if isinstance(x, (list, tuple)):
            return tuple(map(_argument, args)), {name: _argument(x) for name, x in options.items()}
    return args, options


def _argument(x: Any) -> Any:
    if must_be_stacked(x):
        return as_array(x)
    return [*x] if type(x) is list else x
