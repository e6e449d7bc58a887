"""Names by which other processes find objects."""

from __future__ import annotations

import functools
import sys
from typing import Any

__all__ = ["importable_name"]


def importable_name(x: Any) -> str | None:
    """The qualified name under which the module of ``x`` has it, for a pickle; None where it has not.

    Examples
    --------
    >>> import lindiff as ld
    >>> importable_name(ld.grad)
    'grad'
    """
    name = getattr(x, "__qualname__", None)
    module = sys.modules.get(getattr(x, "__module__", None) or "")
    try:
        found = functools.reduce(getattr, name.split("."), module) if name else None
    except AttributeError:
        return None
    return name if found is x else None
