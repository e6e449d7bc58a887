"""``patch_numpy``: lindiff.numpy for code whose imports cannot be changed."""

from __future__ import annotations

import contextlib
import sys
import threading
from collections.abc import Iterator, Sequence
from types import MethodType, ModuleType
from typing import Any

from lindiff.core.files import is_installed
from lindiff.core.namespaces import classes, entered, patched
from lindiff.numpy._asked import class_of_value
from lindiff.numpy._holders import Holder, Namespace, Reach
from lindiff.numpy._stand_ins import StandIns
from lindiff.numpy._types import BUILTINS

__all__ = ["patch_numpy"]

# Never patched: their C code takes nothing but ndarrays.
_EXCLUDED = ("lindiff", "lindiff_cuda", "numpy", "scipy")


# Packages that hand numbers on to another one, which would have to take Variables, or refuse them.
_WITH = {"sympy": ("mpmath",)}


class patch_numpy(contextlib.ContextDecorator):
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
    NumPy itself is left as it is: the names of those modules that stand for it or for its functions
    (``np``, ``from numpy import zeros``) stand for others meanwhile, as global names, in bodies of
    classes, default arguments, variables of enclosing functions and generated code.  Those act as NumPy's
    unless the context has been entered in this thread or task, and make arrays that accept Variables only
    while a transform is running or there is a Variable made by hand.  Not reached are ``import numpy``
    inside a function, attributes of objects, and what is loaded inside the context.

    In the same way functions of ``math`` and ``cmath``, ``float``, ``complex``, ``np.float64`` and
    ``v.item()`` keep Variables that are numbers; ``int(v)`` is a plain number.  To ``isinstance`` a
    Variable is what its value is.  Functions, distributions and classes of SciPy are those of
    ``lindiff.scipy`` where Variables come to them; searches (``minimize``, ``least_squares``, ``root``)
    stay SciPy's.  Modules that compare types by identity keep Python's ``float`` and NumPy's types,
    compiled ones all but NumPy's functions.

    SciPy's own modules are never patched.  Packages named in ``modules`` have to pass the arrays that they
    make to nothing but these functions and operators.

    May decorate a function, be nested, entered again, and closed in any order.  Cost: about a millisecond
    on entry, 0.02 ms for each module that is patched; at the first entry 0.02 ms for each that is loaded,
    and a few milliseconds for each of a package that is named, whose code is looked through.

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
        names = [m.__name__ if isinstance(m, ModuleType) else m for m in modules]
        self._modules = (*names, *(other for name in names for other in _WITH.get(name, ())))
        for name in self._modules:
            if name.partition(".")[0] in _EXCLUDED:
                raise ValueError(f"{name} cannot be patched: its C code takes nothing but ndarrays")
        self._entered: list[list[Holder]] = []

    def __enter__(self) -> None:
        stand_ins = _up_to_date()
        holders = list(_holders(self._modules, stand_ins))
        _replace(holders, stand_ins)
        self._entered.append(holders)
        entered.set(entered.get() + 1)

    def __exit__(self, *exception: object) -> None:
        entered.set(entered.get() - 1)
        _restore(self._entered.pop())


def _holders(modules: Sequence[str], stand_ins: StandIns) -> Iterator[Holder]:
    """What holds names in the user's modules, in those named, and in the code that is running."""
    found: dict[int, Holder] = {}
    named = tuple(f"{module}." for module in modules)
    for name, module in [*sys.modules.items()]:
        is_named = name in modules or name.startswith(named)
        if isinstance(module, ModuleType) and (is_named or not _is_installed_module(name, module)):
            known = _of_package(module, stand_ins) if is_named else _of_namespace(vars(module))
            found |= {holder.key: holder for holder in known}
    frame = sys._getframe(1)
    while frame is not None:
        filename, names = frame.f_code.co_filename, frame.f_globals
        typed = filename.startswith("<")  # at a prompt, or in a doctest of any module
        if _is_users("" if typed else str(names.get("__name__")), filename, modules):
            if id(names) not in found:
                found |= {holder.key: holder for holder in _of_namespace(names)}
            if frame.f_locals is not names:
                found |= {holder.key: holder for holder in Reach(names, frame.f_locals.values()).holders()}
        frame = frame.f_back  # type: ignore[assignment]
    yield from found.values()


def _of_namespace(names: dict[str, Any]) -> list[Holder]:
    """A namespace, and what is reached from it."""
    reach = Reach(names, names.values())
    return [reach.namespace(), *reach.holders()]


# What was found in packages that were named, by module, while there are as many names and stand-ins.
_packages: dict[ModuleType, tuple[tuple[int, int], list[Holder]]] = {}


def _of_package(module: ModuleType, stand_ins: StandIns) -> list[Holder]:
    """The namespace of a module, and of what is reached from it those that hold what has a stand-in."""
    sizes, holders = _packages.get(module, ((0, 0), []))
    names = vars(module)
    now = len(names) - sum(name in names for name in BUILTINS), len(stand_ins.known)
    if sizes != now:
        holders = [holder for holder in _of_namespace(names) if _has_work(holder, stand_ins)]
        _packages[module] = (now, holders)
    return holders


def _has_work(holder: Holder, stand_ins: StandIns) -> bool:
    if isinstance(holder, Namespace) or holder.key in _patched:
        return True
    return any(id(x) in stand_ins.known for _, x in holder.items())


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


# -- putting in place, and back -------------------------------------------------------------------------


class _Patched:
    """A holder, what was put in the place of what, and how many contexts have it."""

    def __init__(self, holder: Holder):
        self.holder = holder
        self.put: dict[Any, tuple[Any, Any]] = {}
        self.contexts = 0
        self.asked: Any = None  # what its code took Variables for before


_ABSENT = object()
_lock = threading.Lock()
_stand_ins: list[StandIns] = []
_patched: dict[int, _Patched] = {}


def _up_to_date() -> StandIns:
    """What stands for what, with all modules that are loaded now."""
    with _lock:
        if not _stand_ins:
            _stand_ins.append(StandIns())
        _stand_ins[0].look_around()
    return _stand_ins[0]


def _replace(holders: list[Holder], stand_ins: StandIns) -> None:
    with _lock:
        for holder in holders:
            known = _patched.get(holder.key)
            if known is None:
                known = _patched[holder.key] = _Patched(holder)
            known.contexts += 1
            _put(known, stand_ins)


def _put(known: _Patched, stand_ins: StandIns) -> None:
    holder = known.holder
    own_types = holder.own_types
    known_here = (
        stand_ins.of_numpy if isinstance(holder, Namespace) and holder.is_compiled else stand_ins.known
    )
    for key, value in holder.items():
        if id(value) not in known_here and type(value) is not MethodType:
            continue
        replacement = stand_ins.get(value, own_types)
        if replacement is not None:
            known.put[key] = (value, replacement)
            holder.put(key, replacement)
    if isinstance(holder, Namespace):
        for name, kind in BUILTINS.items():
            if name not in holder.names and name not in own_types:
                known.put[name] = (_ABSENT, kind)
                holder.put(name, kind)
        if holder.key not in patched:
            known.asked = classes.get(holder.key)
            classes[holder.key] = _class_of_value
            patched.add(holder.key)


def _restore(holders: list[Holder]) -> None:
    with _lock:
        for holder in holders:
            known = _patched[holder.key]
            known.contexts -= 1
            if known.contexts:
                continue
            del _patched[holder.key]
            for key, (original, replacement) in known.put.items():
                if holder.get(key) is not replacement:  # bound anew meanwhile
                    continue
                if original is _ABSENT and isinstance(holder, Namespace):
                    holder.drop(key)
                else:
                    holder.put(key, original)
            if isinstance(holder, Namespace):
                patched.discard(holder.key)
                classes.pop(holder.key)
                if known.asked is not None:
                    classes[holder.key] = known.asked


def _class_of_value(variable: Any) -> Any:
    """The class of what a Variable stands for, in code that is patched here and now."""
    return class_of_value(variable) if entered.get() else type(variable)
