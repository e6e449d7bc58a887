"""What stands for SciPy's functions, distributions and classes that ``lindiff.scipy`` has.

SciPy's own answer wherever no derivative can be asked for; only where one is, ours are imported.
"""

from __future__ import annotations

import functools
import importlib
import inspect
import sys
from collections.abc import Callable
from types import ModuleType
from typing import Any

from lindiff.rules._common import depends_on_variables

__all__ = ["MODULES", "method_of", "objects_of", "standing_for", "stands"]

MODULES = (
    "scipy.fft",
    "scipy.integrate",
    "scipy.interpolate",
    "scipy.linalg",
    "scipy.ndimage",
    "scipy.optimize",
    "scipy.signal",
    "scipy.spatial.distance",
    "scipy.special",
    "scipy.stats",
)
# Searches that go another way with derivatives: who calls SciPy's gets what SciPy finds.
_THEIRS = {"least_squares", "minimize", "root"}


def objects_of(module: str) -> dict[int, str]:
    """The names of a module of SciPy that may have one of ours, by the identity of what they stand for."""
    theirs = sys.modules[module]
    names = getattr(theirs, "__all__", ())
    objects = {name: getattr(theirs, name) for name in names if hasattr(theirs, name)}
    objects = {name: x for name, x in objects.items() if not isinstance(x, ModuleType)}
    # of two names of an object the last one counts: its own
    names = sorted(objects, key=lambda name: getattr(objects[name], "__name__", name) == name)
    return {id(objects[name]): name for name in names}


def standing_for(module: str, name: str, wanted: Callable[[], bool]) -> Any:
    """What stands for an object of SciPy; that itself where there is none of ours.

    Parameters
    ----------
    module, name : str
    wanted : callable
        Whether derivatives are asked for in this context.
    """
    theirs = getattr(sys.modules[module], name)
    ours = importlib.import_module(f"lindiff.scipy.{module.removeprefix('scipy.')}")
    if name not in ours.__all__ or name in _THEIRS or getattr(ours, name) is theirs:
        return theirs
    return _Standing(theirs, getattr(ours, name), wanted)


class _Standing:
    """An object of SciPy: a function of Variables is ours, so are classes and distributions where wanted."""

    def __init__(self, theirs: Any, ours: Any, wanted: Callable[[], bool]):
        vars(self).update(_theirs=theirs, _ours=ours, _wanted=wanted)
        vars(self).update(__doc__=theirs.__doc__, __module__=theirs.__module__)

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        ours = self._wanted() and (
            not inspect.isroutine(self._theirs) or depends_on_variables((args, kwargs))
        )
        return (self._ours if ours else self._theirs)(*args, **kwargs)

    def __getattr__(self, name: str) -> Any:
        return getattr(self._ours if self._wanted() and hasattr(self._ours, name) else self._theirs, name)

    def __setattr__(self, name: str, value: Any) -> None:
        setattr(self._theirs, name, value)

    @property  # type: ignore[misc]
    def __class__(self) -> Any:
        return type(self._theirs)

    def __instancecheck__(self, x: Any) -> bool:
        return isinstance(x, (self._theirs, self._ours))

    def __subclasscheck__(self, kind: type) -> bool:
        return issubclass(kind, self._theirs)

    def __mro_entries__(self, bases: tuple[Any, ...]) -> tuple[Any, ...]:
        return (self._theirs,)

    def __eq__(self, other: object) -> bool:
        return other is self or self._theirs == other

    def __hash__(self) -> int:
        return hash(self._theirs)

    def __repr__(self) -> str:
        return repr(self._theirs)

    def __reduce__(self) -> Any:
        return _itself, (self._theirs,)


def stands(x: Any) -> bool:
    """Whether ``x`` stands for an object of SciPy."""
    return type(x) is _Standing


def method_of(standing: Any, name: str) -> Callable[..., Any]:
    """A method of what stands for a distribution, chosen when it is called."""

    @functools.wraps(getattr(standing, name))
    def call(*args: Any, **kwargs: Any) -> Any:
        return getattr(standing, name)(*args, **kwargs)

    return call


def _itself(x: Any) -> Any:
    return x
