"""Integrands of one number or more, ``f(*numbers, params)``, and what derivatives make of them."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from lindiff.core.variable import Variable, inside
from lindiff.programs.closures import Opened, closed_over, program_of
from lindiff.programs.evaluating import Evaluator, evaluator
from lindiff.transforms.forward import jvp
from lindiff.transforms.reverse import vjp

__all__ = ["cotangent_of", "evaluator_of", "in_unit", "middle", "tangent_of"]

Integrand = Callable[..., Any]


def tangent_of(f: Integrand, n: int) -> Integrand:
    """``f_p dp`` as an integrand of n parameters and their tangents."""

    def tangent(*given: Any) -> Any:
        *x, both = given
        _, f_dot = jvp(lambda *p: f(*x, list(p)), both[:n], both[n:])
        return np.ravel(f_dot)

    return tangent


def cotangent_of(f: Integrand, n: int) -> Integrand:
    """``f_pᵀ ȳ``, the entries of all parameters, as an integrand of n parameters and ȳ."""

    def cotangent(*given: Any) -> Any:
        *x, both = given
        bars = vjp(lambda *p: f(*x, list(p)), *both[:n])[1](both[n])
        return np.concatenate([np.ravel(bar) for bar in bars])

    return cotangent


def in_unit(integral: Callable[[list[Any]], Any], directions: Sequence[Any]) -> Any:
    """What is linear in tangents or cotangents, of these in the unit of the largest of their numbers.

    They may be of any size, and in this unit the tolerances of the integral hold.  It is a power of two.
    """
    sizes = [float(np.max(np.abs(inside(x)), initial=0.0)) for x in directions]
    size = max(sizes, default=0.0)
    unit = float(2.0 ** np.floor(np.log2(size))) if 0 < size < np.inf else 1.0
    return unit * integral([x / unit for x in directions])


def evaluator_of(function: Integrand, numbers: tuple[float, ...], params: list[Any]) -> Evaluator | None:
    """Runs of the integrand's program, which is recorded at these numbers; None where it has none, or gives
    a list."""
    opened = Opened(function)
    contents = opened.contents
    if any(type(leaf) is Variable for leaf in (*contents, *params)):
        return None
    moving = {len(contents) + k: np.array(x, np.float64) for k, x in enumerate(numbers)}
    given = tuple(x[()] for x in moving.values())
    made = evaluator(program_of(opened, _of_contents), (contents, given, params), moving)
    return made if made is not None and len(made.results) == 1 else None


def _of_contents(closing_over: Callable[[Any], Any]) -> Integrand:
    def integrand(contents: list[Any], numbers: tuple[Any, ...], params: list[Any]) -> Any:
        return closed_over(closing_over, contents, (*numbers, params))

    return integrand


def middle(a: float, b: float) -> float:
    """Between limits, where QUADPACK looks first."""
    if np.isfinite(a):
        return 0.5 * (a + b) if np.isfinite(b) else a + np.sign(b)
    return float(b + np.sign(a)) if np.isfinite(b) else 1.0
