"""Which parameters a model has, and where a search for them begins, if nobody says so."""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

from lindiff.core.arrays import on_host
from lindiff.core.variable import value
from lindiff.statespace.model import Model
from lindiff.statespace.nonlinear import NonlinearModel, are_alike
from lindiff.statespace.transforms import Transform, positive

__all__ = ["completed", "size_of_noise"]

FAILURES = (TypeError, ValueError, ArithmeticError)  # of a builder that is tried out
COVARIANCES = ("state_cov", "obs_cov", "initial_state_cov")


def completed(
    build: Callable[..., Any], y: Any, start: Mapping[str, Any] | None, transforms: Mapping[str, Transform]
) -> tuple[dict[str, Any], dict[str, Transform]]:
    """Start and transforms, with those from the data where `start` is None or has None.

    Variances are found by trying: covariances are linear in them, and all else does not depend on them.  They
    are positive, unless a transform says more.
    """
    asked = _arguments(build) if start is None else {k: v for k, v in start.items() if v is None}
    given = {k: v for k, v in (start or {}).items() if v is not None}
    numbers = {k: np.asarray(on_host(v), np.float64)[()] for k, v in given.items()}
    maps, bare = dict(transforms), [k for k, v in numbers.items() if k not in transforms and _is_positive(v)]
    if not asked and not bare:
        return dict(start or {}), maps
    trial = _trial(build, asked, numbers) if asked else numbers
    maps |= {name: positive for name in bare if _is_variance(build, trial, name)}
    size, found = size_of_noise(y), {}
    for name, default in asked.items():
        if _is_variance(build, trial, name):
            maps.setdefault(name, positive)
            found[name] = _allowed(maps[name], size)
        elif default is None:
            found[name] = _allowed(maps.get(name), _beginning(build, trial, name))
    wanted = start if start is not None else found
    return {name: given[name] if name in given else found[name] for name in wanted}, maps


def _allowed(transform: Any, x: float) -> float:
    """x, or where a transform does not allow that, the number it makes of zero."""
    if not isinstance(transform, Transform):
        return x
    try:
        if np.all(np.isfinite(transform.unconstrain(x))):
            return x
    except FAILURES:
        pass
    try:
        return float(transform.constrain(np.float64(0.0)))
    except (*FAILURES, IndexError):  # of vectors or matrices
        return x


def _is_positive(x: Any) -> bool:
    return bool(np.ndim(x) == 0 and 0 < x < np.inf)


def size_of_noise(y: Any) -> float:
    """The mean square of the differences between one value and the next; if that is zero, of the values."""
    series = on_host(value(y)).astype(np.float64)
    for numbers in (np.diff(series, axis=1 if series.ndim == 3 else 0), series):
        squares = numbers[np.isfinite(numbers)] ** 2
        size = float(np.mean(squares)) if squares.size else 0.0
        if size > 0:
            return size
    return 1.0


def _arguments(build: Callable[..., Any]) -> dict[str, Any]:
    """Those of a builder that may be parameters, with their defaults: the ones without, and numbers."""
    try:
        signature = inspect.signature(build)
    except (TypeError, ValueError):
        raise ValueError(
            "fit: the arguments of build cannot be seen; give a start for each: start={'level_var': 1.0, …}"
        ) from None
    fixed = build.keywords if isinstance(build, functools.partial) else {}
    named = (inspect.Parameter.POSITIONAL_OR_KEYWORD, inspect.Parameter.KEYWORD_ONLY)
    found = {
        name: None if argument.default is argument.empty else argument.default
        for name, argument in signature.parameters.items()
        if argument.kind in named and name not in fixed
        if argument.default is argument.empty or type(argument.default) is float
    }
    if not found:
        raise ValueError(
            "fit: build has no arguments that could be fitted; let it take the parameters by their names, or "
            "give a start for each: start={'level_var': 1.0, …}"
        )
    return found


def _trial(build: Callable[..., Any], asked: dict[str, Any], given: dict[str, Any]) -> dict[str, Any]:
    """Parameters for which the model can be built."""
    failure: Exception | None = None
    for number in (1.0, 0.5, 0.0):
        trial = given | {k: np.float64(number if v is None else v or 1.0) for k, v in asked.items()}
        try:
            model = build(**trial)
        except FAILURES as error:
            failure = failure or error
            continue
        if not isinstance(model, Model | NonlinearModel):
            raise TypeError(
                f"fit: build returns a lindiff.statespace.Model, or a NonlinearModel, got "
                f"{type(model).__name__}"
            ) from None
        return trial
    names = [name for name, default in asked.items() if default is None]
    example = ", ".join(f"{name!r}: …" for name in names)
    raise ValueError(
        f"fit: a number for each of {names} makes no model ({failure}); give a start for those that are "
        f"arrays, and None for the others: start={{{example}}}; what is no parameter is fixed by "
        f"functools.partial"
    ) from failure


def _is_variance(build: Callable[..., Any], trial: dict[str, Any], name: str) -> bool:
    """Whether the covariances grow by the same for each unit of this parameter, and nothing else changes."""
    try:
        models: list[Any] = [build(**(trial | {name: np.float64(number)})) for number in (1.0, 2.0, 3.0)]
    except Exception:  # of whatever kind: nobody has asked for the model with these numbers
        return False
    kinds = {type(model) for model in models}
    if len(kinds) > 1 or not kinds <= {Model, NonlinearModel}:
        return False
    moved = False
    for field in models[0]._fields:
        one, two, three = (getattr(model, field) for model in models)
        if one is None:
            continue
        if field not in COVARIANCES:
            if not are_alike(one, two):
                return False
            continue
        one, two, three = (on_host(value(x)) for x in (one, two, three))
        growth = two - one
        size = np.max(np.abs(three), initial=0)
        if not np.isfinite(size) or not np.allclose(three - two, growth, rtol=1e-9, atol=1e-12 * size):
            return False
        if not _is_semidefinite(growth):
            return False
        moved = moved or bool(np.any(growth))
    return moved


def _is_semidefinite(growth: Any) -> bool:
    """Of a covariance, a row of variances, or a number, which the model refuses later by its name."""
    rounding = 1e-9 * np.max(np.abs(growth), initial=0)
    if growth.ndim < 2 or growth.shape[-1] != growth.shape[-2]:
        return bool(np.all(growth >= -rounding))
    return bool(np.all(np.linalg.eigvalsh(growth) >= -rounding))


def _beginning(build: Callable[..., Any], trial: dict[str, Any], name: str) -> float:
    """Zero for a parameter that is no variance, if the covariances of the model are the same with that."""
    models = []
    for number in (trial[name], np.float64(0.0)):
        try:
            models.append(build(**(trial | {name: number})))
        except FAILURES:
            return float(trial[name])
    covariances = [[getattr(model, field) for field in COVARIANCES] for model in models]
    same = all(
        one is two or np.array_equal(on_host(value(one)), on_host(value(two)))
        for one, two in zip(*covariances, strict=True)
    )
    return 0.0 if same else float(trial[name])
