"""``patch_numpy``: lindiff.numpy for code whose imports cannot be changed."""

from __future__ import annotations

import contextvars
import sys
import threading
from collections.abc import Iterator, Sequence
from types import ModuleType
from typing import Any

import numpy as np

from lindiff.core.record import is_recording
from lindiff.core.registry import has_handler
from lindiff.numpy import polynomial
from lindiff.numpy._function import Function
from lindiff.numpy._indexing import Rows, broadcast, isscalar, ndenumerate, nditer, vectorize
from lindiff.numpy._names import take_over
from lindiff.rules.place import is_installed

__all__ = ["patch_numpy"]

# How many contexts this thread or task is in.
_contexts = contextvars.ContextVar("lindiff.patched", default=0)

# Never patched: their C code takes nothing but ndarrays.
_EXCLUDED = ("lindiff", "lindiff_cuda", "numpy", "scipy")


def _wanted() -> bool:
    """Whether new arrays accept Variables now: inside the context, and where a Variable could come."""
    return _contexts.get() > 0 and is_recording()


class patch_numpy:
    """Context in which the user's modules see ``lindiff.numpy`` where they have imported NumPy.

    For code that fills arrays (``K = np.zeros((n, n)); K[i, j] = v``) and cannot be changed; where it can,
    write ``import lindiff.numpy as np``.

    Parameters
    ----------
    modules : sequence of str or modules, optional
        Installed packages, or modules of them, that are patched as well.  Without it these are all modules
        that were loaded from elsewhere than the standard library and ``site-packages``, and the callers'.

    Notes
    -----
    NumPy itself is left as it is: the global names of those modules that stand for it or for its functions
    (``np``, ``from numpy import zeros``) stand for others meanwhile.  Those act as NumPy's unless the context
    has been entered in this thread or task, and make arrays that accept Variables only while a transform is
    running or there is a Variable made by hand.  Not reached are names bound elsewhere: ``import numpy``
    inside a function, default arguments, attributes of objects, modules imported inside the context.

    SciPy is never patched.  Packages named in ``modules`` have to pass the arrays that they make to nothing
    but NumPy's functions and operators.

    May be nested, entered again, and closed in any order.  Cost: about a millisecond on entry, 0.01 ms for
    each module that is patched; at the first entry 0.02 ms for each that is loaded.

    Examples
    --------
    >>> import numpy as np, lindiff as ld
    >>> def powers(a):
    ...     x = np.zeros(3)
    ...     for i in range(3):
    ...         x[i] = a**i
    ...     return np.sum(x)
    >>> with ld.patch_numpy():
    ...     ld.grad(powers)(2.0)
    np.float64(5.0)
    """

    def __init__(self, modules: str | ModuleType | Sequence[str | ModuleType] = ()):
        if isinstance(modules, (str, ModuleType)):
            modules = [modules]
        self._modules = tuple(m.__name__ if isinstance(m, ModuleType) else m for m in modules)
        for name in self._modules:
            if name.partition(".")[0] in _EXCLUDED:
                raise ValueError(f"{name} cannot be patched: its C code takes nothing but ndarrays")
        self._entered: list[list[dict[str, Any]]] = []

    def __enter__(self) -> None:
        spaces = list(_namespaces(self._modules))
        _replace(spaces)
        self._entered.append(spaces)
        _contexts.set(_contexts.get() + 1)

    def __exit__(self, *exception: object) -> None:
        _contexts.set(_contexts.get() - 1)
        _restore(self._entered.pop())


def _namespaces(modules: Sequence[str]) -> Iterator[dict[str, Any]]:
    """The globals of the user's modules, of those named, and of the code that is running."""
    found: dict[int, dict[str, Any]] = {}
    named = tuple(f"{module}." for module in modules)
    for name, module in [*sys.modules.items()]:
        is_named = name in modules or name.startswith(named)
        if isinstance(module, ModuleType) and (is_named or not _is_installed_module(name, module)):
            found[id(vars(module))] = vars(module)
    frame = sys._getframe(1)
    while frame is not None:
        filename = frame.f_code.co_filename
        typed = filename.startswith("<")  # at a prompt, or in a doctest of any module
        if _is_users("" if typed else str(frame.f_globals.get("__name__")), filename, modules):
            found[id(frame.f_globals)] = frame.f_globals
        frame = frame.f_back  # type: ignore[assignment]
    yield from found.values()


# Modules that were looked at, and are none of the user's.
_installed: dict[str, ModuleType] = {}


def _is_installed_module(name: str, module: ModuleType) -> bool:
    if _installed.get(name) is module:
        return True
    if _is_users(name, vars(module).get("__file__"), ()):
        return False
    _installed[name] = module
    return True


def _is_users(name: str, filename: str | None, modules: Sequence[str]) -> bool:
    if any(name == module or name.startswith(f"{module}.") for module in modules):
        return True
    if name.partition(".")[0] in _EXCLUDED:
        return False
    return name == "__main__" if filename is None else not is_installed(filename)


# -- what stands for NumPy meanwhile -------------------------------------------------------------------


def _stand_in(module: ModuleType, **own: Any) -> ModuleType:
    """A module with the names of ``module``, taken over as in lindiff.numpy while that is wanted."""
    made = ModuleType(module.__name__, module.__doc__)
    names = vars(made)
    names.update(own)
    names["__getattr__"] = lambda name: take_over(module, name, names, _wanted)
    names["__dir__"] = lambda: dir(module)
    return made


class _Vectorize(vectorize):
    wanted = staticmethod(_wanted)


_SERIES = {
    "chebyshev": "Chebyshev",
    "hermite": "Hermite",
    "hermite_e": "HermiteE",
    "laguerre": "Laguerre",
    "legendre": "Legendre",
    "polynomial": "Polynomial",
}


def _series() -> ModuleType:
    """``np.polynomial`` and its modules, with the classes of lindiff.numpy."""
    own: dict[str, Any] = {name: getattr(polynomial, name) for name in _SERIES.values()}
    for name, series in _SERIES.items():
        module = getattr(np.polynomial, name)
        functions = [getattr(module, f) for f in module.__all__ if callable(getattr(module, f))]
        wrapped = {f.__name__: Function(f, "arrays", _wanted) for f in functions if has_handler(f)}
        own[name] = _stand_in(module, **wrapped, **{series: own[series]})
    return _stand_in(np.polynomial, **own)


_numpy = _stand_in(
    np,
    linalg=_stand_in(np.linalg),
    fft=_stand_in(np.fft),
    lib=_stand_in(np.lib, stride_tricks=_stand_in(np.lib.stride_tricks)),
    polynomial=_series(),
    vectorize=_Vectorize,
    r_=Rows(np.r_, _wanted),
    c_=Rows(np.c_, _wanted),
    broadcast=broadcast,
    ndenumerate=ndenumerate,
    nditer=nditer,
    isscalar=isscalar,
)


def _replacements() -> dict[int, Any]:
    """What stands for what, by identity."""
    found: dict[int, Any] = {id(np): _numpy}
    modules = [(np, _numpy)]
    modules += [(getattr(np, name), getattr(_numpy, name)) for name in ("linalg", "fft", "polynomial")]
    modules += [(getattr(np.polynomial, name), getattr(_numpy.polynomial, name)) for name in _SERIES]
    found[id(np.lib)] = _numpy.lib
    found[id(np.lib.stride_tricks)] = _numpy.lib.stride_tricks
    tricks = np.lib.stride_tricks.as_strided, np.lib.stride_tricks.sliding_window_view
    found |= {id(trick): getattr(_numpy.lib.stride_tricks, trick.__name__) for trick in tricks}
    for module, stand_in in modules:
        for name in module.__all__:
            original, replacement = getattr(module, name), getattr(stand_in, name)
            if replacement is not original:
                found[id(original)] = replacement
    return found


_lock = threading.Lock()
_by_identity: dict[int, Any] = {}
# Namespaces that are patched: what their names stood for, and how many contexts have them.
_originals: dict[int, tuple[dict[str, Any], int]] = {}


def _replace(spaces: list[dict[str, Any]]) -> None:
    with _lock:
        if not _by_identity:
            _by_identity.update(_replacements())
        for space in spaces:
            originals, count = _originals.get(id(space), ({}, 0))
            for name, value in [*space.items()]:
                replacement = _by_identity.get(id(value))
                if replacement is not None:
                    originals[name] = value
                    space[name] = replacement
            _originals[id(space)] = (originals, count + 1)


def _restore(spaces: list[dict[str, Any]]) -> None:
    with _lock:
        for space in spaces:
            originals, count = _originals.pop(id(space))
            if count > 1:
                _originals[id(space)] = (originals, count - 1)
                continue
            for name, original in originals.items():
                if space.get(name) is _by_identity[id(original)]:  # not bound anew meanwhile
                    space[name] = original
