"""What stands for NumPy, its functions and its types under ``patch_numpy``, and for ``math`` and SciPy."""

from __future__ import annotations

import cmath
import collections.abc
import functools
import math
import sys
import typing
from collections.abc import Set
from types import MethodType, ModuleType
from typing import Any

import numpy as np

from lindiff.core.namespaces import entered
from lindiff.core.record import is_recording
from lindiff.core.registry import has_handler
from lindiff.numpy import _mathematics, _of_scipy, polynomial
from lindiff.numpy._function import Function
from lindiff.numpy._indexing import Grid, Rows, broadcast, fromiter, isscalar, ndenumerate, nditer, vectorize
from lindiff.numpy._names import take_over
from lindiff.numpy._types import ABSTRACT, BUILTINS, OF_NUMPY, NumberType

__all__ = ["StandIns"]


def _wanted() -> bool:
    """Whether new arrays accept Variables now: inside the context, and where a Variable could come."""
    return entered.get() > 0 and is_recording()


# -- NumPy ---------------------------------------------------------------------------------------------


def _stand_in(module: ModuleType, **own: Any) -> ModuleType:
    """A module with the names of ``module``, taken over as in lindiff.numpy while that is wanted."""
    made = ModuleType(module.__name__, module.__doc__)
    names = vars(made)
    names.update(own)
    names["__getattr__"] = lambda name: take_over(module, name, names, _wanted)
    names["__dir__"] = lambda: dir(module)
    return made


@functools.wraps(np.fromiter)
def _fromiter(*args: Any, **kwargs: Any) -> Any:
    return (fromiter if _wanted() else np.fromiter)(*args, **kwargs)


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


def _numpy_with(types: dict[type, Any]) -> ModuleType:
    """NumPy, with these in the place of some of its types."""
    own = {name: types[x] for name, x in vars(np).items() if isinstance(x, type) and x in types}
    return _stand_in(
        np,
        linalg=_stand_in(np.linalg),
        fft=_stand_in(np.fft),
        lib=_stand_in(np.lib, stride_tricks=_stand_in(np.lib.stride_tricks)),
        polynomial=_series(),
        vectorize=_Vectorize,
        r_=Rows(np.r_, _wanted),
        c_=Rows(np.c_, _wanted),
        mgrid=Grid(np.mgrid, _wanted),
        ogrid=Grid(np.ogrid, _wanted),
        fromiter=_fromiter,
        broadcast=broadcast,
        ndenumerate=ndenumerate,
        nditer=nditer,
        isscalar=isscalar,
        **own,
    )


_numpy = _numpy_with(OF_NUMPY)
# For code that compares types by identity.
_numpy_of_own_types = _numpy_with({})


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


# -- what stands for what, by identity ------------------------------------------------------------------


class _Ours:
    """The place of an object of SciPy until it is met."""

    def __init__(self, module: str, name: str):
        self.module = module
        self.name = name


class StandIns:
    """What stands for NumPy, ``math``, SciPy, and for what they have.

    Attributes
    ----------
    known : dict
        By the identity of each object that one may stand for.
    of_numpy : set
        The identities of NumPy's.
    """

    def __init__(self) -> None:
        self.known: dict[int, Any] = _replacements()
        self.of_numpy = {*self.known}
        self._modules: set[str] = set()
        self.known |= {id(plain): ours for plain, ours in _mathematics.FUNCTIONS.items()}
        self.known |= {id(kind): ours for kind, ours in ABSTRACT.items()}
        self.known |= {id(kind.of): kind for kind in BUILTINS.values()}
        for module in (math, cmath, collections.abc, collections, typing):
            self.known[id(module)] = self._seen_through(module)

    def look_around(self) -> None:
        """Know the modules of SciPy that have been loaded since."""
        for name in _of_scipy.MODULES:
            if name in sys.modules and name not in self._modules:
                self._modules.add(name)
                found = {key: _Ours(name, of) for key, of in _of_scipy.objects_of(name).items()}
                self.known = found | self.known
                for known in (name, "scipy.spatial", "scipy"):
                    module = sys.modules.get(known)
                    if module is not None and id(module) not in self.known:
                        self.known[id(module)] = self._seen_through(module)

    def get(self, x: Any, own_types: Set[str] = frozenset()) -> Any:
        """What stands for ``x``, or None; types of these names are left alone, NumPy's together."""
        if type(x) is MethodType:  # of a distribution: cdf = norm.cdf
            found = self.get(x.__self__)
            return _of_scipy.method_of(found, x.__name__) if _of_scipy.stands(found) else None
        found = self.known.get(id(x))
        if found is None:
            return None
        if type(found) is _Ours:
            found = _of_scipy.standing_for(found.module, found.name, _wanted)
            self.known[id(x)] = found = None if found is x else found
        if isinstance(found, NumberType) and x.__module__ == "builtins":
            return None if x.__name__ in own_types else found
        if not own_types - BUILTINS.keys():
            return found
        return _numpy_of_own_types if found is _numpy else None if isinstance(found, NumberType) else found

    def _seen_through(self, module: ModuleType) -> ModuleType:
        """A module whose objects are what stands for those of ``module``."""
        made = ModuleType(module.__name__, module.__doc__)

        def get(name: str) -> Any:
            original = getattr(module, name)
            self.look_around()  # a module may have been loaded just now
            found = self.get(original)
            vars(made)[name] = found = original if found is None else found
            return found

        vars(made).update(__getattr__=get, __dir__=lambda: dir(module), __spec__=module.__spec__)
        return made
