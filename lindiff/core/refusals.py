"""The error for a Variable that is asked to become a plain array or number: a floor above knows its text."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

__all__ = ["refusal", "use_advice"]

_write: Callable[..., TypeError] | None = None


def use_advice(write: Callable[..., TypeError]) -> None:
    """Let ``write(variable, wanted, message)`` make the errors that `refusal` returns."""
    global _write
    _write = write


def refusal(variable: Any, wanted: str, message: str | None = None) -> TypeError:
    """The error for a Variable asked to become a plain ``"array"``, ``"float"``, ``"int"``, ....

    Parameters
    ----------
    variable : Variable
    wanted : str
        What NumPy or Python asked for; ``"view"`` for ``a[1:] += v`` with a plain array ``a``, ``"held"`` for
        ``a += v`` where there are other names for ``a``, ``"room"`` for functions that write into ``a``.
    message : str, optional
        What goes wrong, where that is not always the same.

    Returns
    -------
    TypeError
        To be raised; its text shows the user's line and what to write there.
    """
    assert _write is not None, "lindiff/advice gives it when lindiff is imported"
    return _write(variable, wanted, message)
