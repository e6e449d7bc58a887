"""The functions of ``math`` and ``cmath``, which keep Variables that are numbers."""

from __future__ import annotations

import cmath
import functools
import math
import operator
from collections.abc import Callable
from types import ModuleType
from typing import Any

import numpy as np
import scipy.special

from lindiff.core.namespaces import entered
from lindiff.core.variable import Variable, is_untraced, value

__all__ = ["FUNCTIONS"]


def _logarithm(x: Any, base: Any = math.e) -> Any:
    return np.log(x) if base is math.e else np.log(x) / np.log(base)


def _remainder(x: Any, y: Any) -> Any:
    """x - n y with the whole number n nearest to x / y, rounded once."""
    plain_x, plain_y = value(x), value(y)
    plain = math.remainder(plain_x, plain_y)
    n = round((plain_x - plain) / plain_y)
    return plain + (x - plain_x) - n * (y - plain_y)


def _modf(x: Any) -> Any:
    return np.fmod(x, 1.0), np.trunc(value(x))


def _frexp(x: Any) -> Any:
    exponent = math.frexp(value(x))[1]
    return np.ldexp(x, -exponent), exponent


def _product(numbers: Any, *, start: Any = 1) -> Any:
    return functools.reduce(operator.mul, numbers, start)


def _distance(p: Any, q: Any) -> Any:
    return _hypotenuse(*(x - y for x, y in zip(p, q, strict=True)))


def _hypotenuse(*x: Any) -> Any:
    return functools.reduce(np.hypot, x, 0.0)


def _sum_of_products(p: Any, q: Any) -> Any:
    return sum(x * y for x, y in zip(p, q, strict=True))


_OF_REAL_NUMBERS: dict[str, Callable[..., Any]] = {
    "acos": np.arccos,
    "acosh": np.arccosh,
    "asin": np.arcsin,
    "asinh": np.arcsinh,
    "atan": np.arctan,
    "atan2": np.arctan2,
    "atanh": np.arctanh,
    "cbrt": np.cbrt,
    "copysign": np.copysign,
    "cos": np.cos,
    "cosh": np.cosh,
    "degrees": np.degrees,
    "dist": _distance,
    "erf": scipy.special.erf,
    "erfc": scipy.special.erfc,
    "exp": np.exp,
    "exp2": np.exp2,
    "expm1": np.expm1,
    "fabs": np.abs,
    "fma": lambda x, y, z: x * y + z,
    "fmod": np.fmod,
    "frexp": _frexp,
    "fsum": sum,
    "gamma": scipy.special.gamma,
    "hypot": _hypotenuse,
    "ldexp": np.ldexp,
    "lgamma": scipy.special.gammaln,
    "log": _logarithm,
    "log10": np.log10,
    "log1p": np.log1p,
    "log2": np.log2,
    "modf": _modf,
    "pow": np.power,
    "prod": _product,
    "radians": np.radians,
    "remainder": _remainder,
    "sin": np.sin,
    "sinh": np.sinh,
    "sqrt": np.sqrt,
    "sumprod": _sum_of_products,
    "tan": np.tan,
    "tanh": np.tanh,
}
_OF_COMPLEX_NUMBERS: dict[str, Callable[..., Any]] = {
    "acos": np.arccos,
    "acosh": np.arccosh,
    "asin": np.arcsin,
    "asinh": np.arcsinh,
    "atan": np.arctan,
    "atanh": np.arctanh,
    "cos": np.cos,
    "cosh": np.cosh,
    "exp": np.exp,
    "log": _logarithm,
    "log10": np.log10,
    "phase": np.angle,
    "polar": lambda z: (np.abs(z), np.angle(z)),
    "rect": lambda r, phi: r * np.exp(1j * phi),
    "sin": np.sin,
    "sinh": np.sinh,
    "sqrt": np.sqrt,
    "tan": np.tan,
    "tanh": np.tanh,
}
# Functions of several numbers given as one argument, which may be an array.
_OF_MANY = {"dist", "fsum", "prod", "sumprod"}
# What jumps, or says yes or no: plain results.
_PLAIN = {"ceil", "floor", "isclose", "isfinite", "isinf", "isnan", "trunc", "ulp"}


def _varies(x: Any) -> bool:
    if isinstance(x, (list, tuple)):
        return any(map(_varies, x))
    return type(x) is Variable and not is_untraced(x)


def _number(x: Any, complex_too: bool) -> Any:
    """A Variable of one element as a number, with the imaginary part that ``cmath`` gives it."""
    if isinstance(x, (list, tuple)):
        return [_number(part, complex_too) for part in x]
    if type(x) is not Variable:
        return x
    number = x if x._scalar else np.reshape(x, -1)[0]
    return number + 0j if complex_too else number


def _keeping(module: ModuleType, name: str, rule: Callable[..., Any] | None) -> Callable[..., Any]:
    """The function of this name, which keeps Variables; its errors are raised for them, too."""
    plain = getattr(module, name)
    complex_too = module is cmath and name != "rect"

    def is_listed(x: Any) -> bool:
        return name in _OF_MANY and (hasattr(x, "__next__") or (type(x) is Variable and x.ndim > 0))

    @functools.wraps(plain)
    def call(*args: Any, **kwargs: Any) -> Any:
        args = tuple(list(x) if is_listed(x) else x for x in args)
        varies = any(map(_varies, args)) or any(map(_varies, kwargs.values()))
        if not varies or not entered.get():
            return plain(*args, **kwargs)
        result = plain(*value(args), **value(kwargs))
        if rule is None:
            return result
        kwargs = {key: _number(x, complex_too) for key, x in kwargs.items()}
        return rule(*(_number(x, complex_too) for x in args), **kwargs)

    return call


FUNCTIONS: dict[Any, Callable[..., Any]] = {
    getattr(module, name): _keeping(module, name, rules.get(name))
    for module, rules in ((math, _OF_REAL_NUMBERS), (cmath, _OF_COMPLEX_NUMBERS))
    for name in (*rules, *_PLAIN)
    if hasattr(module, name)
}
