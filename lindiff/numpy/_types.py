"""Types that stand for others in modules that are patched, and know Variables.

``float``, ``int``, ``complex`` and NumPy's types of numbers keep Variables when they are called; ``Iterable``
and its kin take a Variable for its value.  Whatever else is asked of them, they are the types that they stand
for: ``dtype=float``, ``isinstance(x, float)``, ``type(x) == float``, a base class, a key.
"""

from __future__ import annotations

import builtins
import collections.abc
import copyreg
import types
import typing
from typing import Any

import numpy as np

from lindiff.core.namespaces import entered
from lindiff.core.variable import Variable, is_untraced, value
from lindiff.numpy._asked import class_of_value
from lindiff.rules._common import depends_on_variables

__all__ = ["ABSTRACT", "BUILTINS", "OF_NUMPY", "NumberType"]


class _Standing(type):
    """The class of types that stand for another one, ``of``."""

    of: type

    def __new__(mcs, name: str, bases: tuple[type, ...], names: dict[str, Any], **options: Any) -> Any:
        if "of" in names:
            return super().__new__(mcs, name, bases, names)
        plain = tuple(base.of if isinstance(base, _Standing) else base for base in bases)
        return types.new_class(name, plain, options, lambda body: body.update(names))  # derived from it

    def __instancecheck__(cls, x: Any) -> bool:
        if type(x) is Variable and entered.get():
            return issubclass(class_of_value(x), cls.of)
        return isinstance(x, cls.of)

    def __subclasscheck__(cls, other: type) -> bool:
        return issubclass(other, cls.of)

    def __eq__(cls, other: object) -> Any:
        return other is cls or other is cls.of or NotImplemented

    def __hash__(cls) -> int:
        return hash(cls.of)

    def __repr__(cls) -> str:
        return repr(cls.of)


class NumberType(_Standing):
    """The class of types of numbers whose calls keep Variables."""

    def __call__(cls, *args: Any, **kwargs: Any) -> Any:
        if len(args) == 1 and not kwargs and type(args[0]) is Variable and not is_untraced(args[0]):
            return _converted(cls.of, args[0]) if entered.get() else cls.of(args[0])
        if (
            cls.of is complex
            and len(args) == 2
            and not kwargs
            and entered.get()
            and depends_on_variables(args)
        ):
            return args[0] + 1j * args[1]
        return cls.of(*args, **kwargs)


class _AbstractType(_Standing):
    """The class of abstract base classes that take a Variable for its value.

    They are no real subclasses: an abstract class asks those whenever it is asked.
    """

    def __getattr__(cls, name: str) -> Any:
        return getattr(cls.of, name)


# What pickles of a type say: the type of its zero.
copyreg.pickle(NumberType, lambda kind: (type, (kind.of(),)))  # type: ignore[arg-type,return-value]


WHOLE = 2.0**52  # from here on floats have no digits behind the point


def _converted(kind: type, v: Variable) -> Any:
    """A Variable as a number of that type; whole numbers are plain, since their derivative is zero."""
    number = kind(value(v))  # raises what it has always raised
    dtype: np.dtype[Any] = np.dtype(kind)
    if dtype.kind not in "fc":
        if v.dtype.kind in "fc" and np.any(np.abs(number) >= WHOLE):
            raise TypeError(
                f"{kind.__name__}(v) of a Variable beyond 2**52 cuts nothing off, so its derivative would be "
                "lost: give this code ld.value(v) if that does not matter"
            )
        return number
    if isinstance(number, np.ndarray):
        return v.astype(dtype)
    return np.reshape(v, -1)[0].astype(dtype)


def _named_as(kind: Any) -> dict[str, Any]:
    return {"of": kind, "__slots__": (), "__module__": kind.__module__, "__doc__": kind.__doc__}


def _number_type(kind: type) -> Any:
    names = _named_as(kind)
    if kind.__module__ == "builtins":
        names["dtype"] = np.dtype(kind)  # what NumPy's C code asks types that it does not know for
    return NumberType(kind.__name__, (kind,), names)


BUILTINS = {kind.__name__: _number_type(kind) for kind in (builtins.float, builtins.int, builtins.complex)}
OF_NUMPY: dict[type, Any] = {
    kind: _number_type(kind)
    for kind in (np.float64, np.float32, np.complex128, np.complex64, np.int64, np.int32)
}
# Those whose method all Variables have, but NumPy's numbers have not.
ABSTRACT: dict[Any, Any] = {
    getattr(collections.abc, name): _AbstractType(name, (), _named_as(getattr(collections.abc, name)))
    for name in ("Collection", "Container", "Iterable", "Reversible", "Sized")
}
ABSTRACT |= {getattr(typing, kind.__name__): kind for kind in [*ABSTRACT.values()]}
