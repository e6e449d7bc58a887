"""Numerical checks of derivatives, for lindiff's own tests and for the rules that users write."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from lindiff.core import pytree
from lindiff.core.arrays import foreign, placed
from lindiff.core.registry import full_name
from lindiff.core.variable import value
from lindiff.transforms.forward import jvp
from lindiff.transforms.reverse import vjp

__all__ = ["check_grads", "check_rule"]

# Relative tolerances by the precision of the result: against central differences; of the adjoint identity.
DIFFERENCE_TOLERANCE = {np.dtype("f4"): 1e-3, np.dtype("f8"): 1e-7}
ADJOINT_TOLERANCE = {np.dtype("f4"): 1e-4, np.dtype("f8"): 1e-11}
STEP = 1e-3  # the 4th-order formula errs by about STEP**4 / 30 and 1e-16 / STEP


def check_grads(
    f: Callable[..., Any],
    args: Sequence[Any],
    order: int = 2,
    modes: Sequence[str] = ("fwd", "rev"),
    *,
    rtol: float | None = None,
    adjoint_rtol: float | None = None,
    step: float = STEP,
    seed: int = 0,
) -> None:
    """Check the derivatives of a function against differences and against each other.

    Along one random direction, in every mode: the derivative against central differences of 4th order; its
    shape and dtype; and, near machine precision, the pullback against the pushforward by the adjoint identity
    ``<y_bar, J x_dot> = <Jᴴ y_bar, x_dot>``.  Order 2 does the same for the derivatives, taken as functions.

    Parameters
    ----------
    f : callable
        Takes and returns trees of arrays.  Integer and boolean results are left out.
    args : sequence of trees of arrays
        Its positional arguments, all of which are differentiated (integers become float64).  Complex ones are
        perturbed in both parts, under <a, b> = Re(aᴴ b).
    order : int
        How often to differentiate.
    modes : sequence of "fwd" and "rev"
    rtol : float, optional
        Against differences, relative to the size of the derivative or 1; by default 1e-7 for double and 1e-3
        for single precision.
    adjoint_rtol : float, optional
        Between pushforward and pullback; by default 1e-11 for double and 1e-4 for single precision.
    step : float
        Of the differences, which are taken in double precision.
    seed : int
        Of the random direction and cotangent.

    Raises
    ------
    AssertionError
        Names the check, the mode, the order, and the numbers.

    Examples
    --------
    >>> import numpy as np
    >>> from lindiff.testing import check_grads
    >>> check_grads(lambda x, y: np.sin(x) * y, (np.array([1.0, 2.0]), 3.0))
    >>> import lindiff as ld
    >>> @ld.rule
    ... def cube(x):
    ...     return x**3, lambda y_bar: y_bar * 2 * x**2
    >>> check_grads(cube, (1.0,), modes=["rev"])
    Traceback (most recent call last):
    ...
    AssertionError: check_grads: pullback against differences, order 1, mode rev: ...
    """
    _refuse_unknown(modes)
    check = _Check("check_grads", frozenset(modes), rtol, adjoint_rtol, step, np.random.default_rng(seed))
    leaves, restore = pytree.flatten(tuple(args))

    def of_leaves(*arrays: Any) -> tuple[Any, ...]:
        return _differentiable(f(*restore(list(arrays))))

    check.run(of_leaves, [_as_float(leaf) for leaf in leaves], order, ())


def check_rule(
    rule: Callable[..., Any],
    *args: Any,
    order: int = 2,
    modes: Sequence[str] = ("fwd", "rev"),
    kwargs: dict[str, Any] | None = None,
    rtol: float | None = None,
    adjoint_rtol: float | None = None,
    step: float = STEP,
    seed: int = 0,
) -> None:
    """Check a rule: its value, its pushforward and pullback for each argument, and their derivatives.

    The value against the function that the rule was given to, if it was given to one.  For each argument of
    floating point numbers alone, then for all of them together, what :func:`check_grads` checks.  That the
    pullback may be called again, and leaves its cotangent as it was.  With order 2, that the rule is written
    in functions that dispatch, so that derivatives nest.

    Parameters
    ----------
    rule : callable
        Decorated with ``ld.rule``; or a function that has a rule, such as ``np.exp``.
    *args
        Arguments to check it at.  Integers and booleans among them are options and stay as they are.
    order, modes, rtol, adjoint_rtol, step, seed
        As for :func:`check_grads`.
    kwargs : dict, optional
        Keyword arguments.

    Raises
    ------
    AssertionError
        Names the rule, the argument, what disagrees and by how much.

    Examples
    --------
    >>> import numpy as np, lindiff as ld
    >>> from lindiff.testing import check_rule
    >>> @ld.rule
    ... def scaled(x, s):
    ...     return s * x, ld.Differential((lambda x_dot: s * x_dot, lambda s_dot: s_dot * x),
    ...                                   (lambda y_bar: s * y_bar, lambda y_bar: 2 * np.sum(y_bar * x)))
    >>> check_rule(scaled, np.array([1.0, 2.0]), 3.0)
    Traceback (most recent call last):
    ...
    AssertionError: check_rule: scaled, argument 1 (s): pullback against differences, order 1, mode rev: ...
    """
    _refuse_unknown(modes)
    options = kwargs or {}
    name = getattr(rule, "__name__", repr(rule))
    _check_value(rule, args, options, f"check_rule: {name}")

    def check(places: list[int], order: int, about: str) -> None:
        chosen = _Check(about, frozenset(modes), rtol, adjoint_rtol, step, np.random.default_rng(seed))
        leaves, restore = pytree.flatten(tuple(args[place] for place in places))

        def of_leaves(*arrays: Any) -> tuple[Any, ...]:
            full = list(args)
            for place, part in zip(places, restore(list(arrays)), strict=True):
                full[place] = part
            return _differentiable(rule(*full, **options))

        arrays = [_as_float(leaf) for leaf in leaves]
        try:
            if "rev" in modes:
                chosen.check_repeated(of_leaves, arrays)
            chosen.run(of_leaves, arrays, order, ())
        except AssertionError:
            raise
        except Exception as error:
            raise AssertionError(
                f"{about}: differentiating {'twice ' if order > 1 else ''}raised {type(error).__name__}: "
                f"{error}{_WRITE_DISPATCHING if isinstance(error, (TypeError, AttributeError)) else ''}"
            ) from error

    places = [place for place, argument in enumerate(args) if _is_float(argument)]
    parameters = _parameters(rule)
    for place in places:
        label = f" ({parameters[place]})" if place < len(parameters) else ""
        check([place], 1, f"check_rule: {name}, argument {place}{label}")
    check(places, order, f"check_rule: {name}, all arguments")


_WRITE_DISPATCHING = (
    "\nWrite the rule in functions that take Variables (NumPy's and those of lindiff, not math's; no "
    "np.asarray, no writing into plain arrays)"
)


def _check_value(rule: Callable[..., Any], args: Sequence[Any], kwargs: dict[str, Any], about: str) -> None:
    """Compare the value of a rule with that of the function that has it."""
    function = getattr(rule, "function", rule)
    if function is getattr(rule, "rule", rule):  # a new primitive, or a plain function
        return
    expected = pytree.flatten(function(*args, **kwargs))[0]
    got = pytree.flatten(rule(*args, **kwargs))[0]
    what = f"{about}: value against {full_name(function)}"
    _compare_kinds(got, expected, what)
    rtol = DIFFERENCE_TOLERANCE[_lowest(expected)]
    for part, wanted in zip(got, expected, strict=True):
        _compare(part, wanted, rtol * max(1.0, _largest(wanted)), what)


def _parameters(rule: Callable[..., Any]) -> list[str]:
    try:
        return list(inspect.signature(getattr(rule, "rule", rule)).parameters)
    except (TypeError, ValueError):  # a ufunc of an older NumPy
        return []


def _is_float(argument: Any) -> bool:
    """Whether all leaves of an argument are floating point numbers."""
    leaves = pytree.flatten(argument)[0]
    return bool(leaves) and all(
        isinstance(leaf, (float, complex)) or getattr(getattr(leaf, "dtype", None), "kind", "") in tuple("fc")
        for leaf in leaves
    )


def _refuse_unknown(modes: Sequence[str]) -> None:
    if set(modes) - {"fwd", "rev"} or not modes:
        raise ValueError(f'modes are "fwd" and "rev", got {modes!r}')


@dataclass(frozen=True)
class _Check:
    name: str
    modes: frozenset[str]
    rtol: float | None
    adjoint_rtol: float | None
    step: float
    rng: np.random.Generator

    def run(
        self, f: Callable[..., tuple[Any, ...]], x: list[Any], order: int, taken: tuple[str, ...]
    ) -> None:
        """Check ``f``, from arrays to a tuple of arrays; ``taken`` are the derivatives it already is."""
        if order < 1:
            return
        n = len(x)
        copies = [np.copy(a) for a in x]
        y = f(*x)
        x_dot = [self.random_like(a) for a in x]
        y_bar = tuple(self.random_like(b) for b in y)
        numerical = self.differences(f, x, x_dot)

        def pushforward(*both: Any) -> tuple[Any, ...]:
            return jvp(f, both[:n], both[n:])[1]

        def pullback(*both: Any) -> tuple[Any, ...]:
            return vjp(f, *both[:n])[1](tuple(both[n:]))

        precision = _lowest([*x, *y])
        rtol = DIFFERENCE_TOLERANCE[precision] if self.rtol is None else self.rtol
        adjoint_rtol = ADJOINT_TOLERANCE[precision] if self.adjoint_rtol is None else self.adjoint_rtol
        if "fwd" in self.modes:
            where = _describe((*taken, "fwd"))
            y_dot = pushforward(*x, *x_dot)
            _compare_kinds(y_dot, y, f"{self.name}: shape and dtype of the pushforward, {where}")
            for part, expected in zip(y_dot, numerical, strict=True):
                _compare(
                    part,
                    expected,
                    rtol * max(1.0, _largest(expected)),
                    f"{self.name}: pushforward against differences, {where}",
                )
        if "rev" in self.modes:
            where = _describe((*taken, "rev"))
            x_bar = pullback(*x, *y_bar)
            _compare_kinds(x_bar, x, f"{self.name}: shape and dtype of the pullback, {where}")
            product, size = _inner(x_bar, x_dot)
            expected, _ = _inner(y_bar, numerical)
            what = f"{self.name}: pullback against differences, {where}"
            _compare(product, expected, rtol * max(1.0, size), what)
            if "fwd" in self.modes:
                expected, other = _inner(y_bar, y_dot)
                identity = "<y_bar, J x_dot> = <J^H y_bar, x_dot>"
                what = f"{self.name}: pullback against pushforward ({identity}), {where}"
                _compare(product, expected, adjoint_rtol * max(1.0, size, other), what)
        for a, copy in zip(x, copies, strict=True):
            if not np.array_equal(a, copy, equal_nan=True):
                raise AssertionError(f"{self.name}: differentiating changed an input, from {copy} to {a}")
        if "fwd" in self.modes:
            self.run(pushforward, [*x, *x_dot], order - 1, (*taken, "fwd"))
        if "rev" in self.modes:
            self.run(pullback, [*x, *y_bar], order - 1, (*taken, "rev"))

    def check_repeated(self, f: Callable[..., tuple[Any, ...]], x: list[Any]) -> None:
        """The pullback may be called again, and leaves its cotangent as it was."""
        y, pull = vjp(f, *x)
        y_bar = tuple(self.random_like(b) for b in y)
        copies = tuple(map(np.copy, y_bar))
        first, second = pull(y_bar), pull(tuple(map(np.copy, copies)))
        for a, copy in zip(y_bar, copies, strict=True):
            if not np.array_equal(a, copy):
                raise AssertionError(f"{self.name}: the pullback writes into its cotangent")
        for a, b in zip(first, second, strict=True):
            what = f"{self.name}: pullback called a second time"
            _compare(b, _double(a), ADJOINT_TOLERANCE[_lowest([a])] * max(1.0, _largest(a)), what)

    def random_like(self, a: Any) -> Any:
        shape, dtype = np.shape(a), np.result_type(a)
        r = self.rng.standard_normal(shape)
        if dtype.kind == "c":
            r = r + 1j * self.rng.standard_normal(shape)
        return placed(np.asarray(r, dtype), a)

    def differences(self, f: Callable[..., tuple[Any, ...]], x: list[Any], x_dot: list[Any]) -> list[Any]:
        """Central differences of 4th order along ``x_dot``, in double precision."""

        def at(t: float) -> tuple[Any, ...]:
            return f(*[_double(a) + t * _double(a_dot) for a, a_dot in zip(x, x_dot, strict=True)])

        h = self.step
        points = zip(at(-2 * h), at(-h), at(h), at(2 * h), strict=True)
        return [
            (8 * (_double(c) - _double(b)) - (_double(d) - _double(a))) / (12 * h) for a, b, c, d in points
        ]


def _compare_kinds(got: Sequence[Any], like: Sequence[Any], what: str) -> None:
    for part, expected in zip(got, like, strict=True):
        found = np.shape(part), np.result_type(part)
        wanted = np.shape(expected), np.result_type(expected)
        if found != wanted:
            raise AssertionError(f"{what}: got {found[0]} {found[1]}, expected {wanted[0]} {wanted[1]}")


def _compare(got: Any, expected: Any, tolerance: float, what: str) -> None:
    error = _largest(_double(got) - expected)
    if not error <= tolerance:
        raise AssertionError(
            f"{what}: got {got}, expected {expected} (largest error {error:.1e}, allowed {tolerance:.1e})"
        )


def _describe(mode: tuple[str, ...]) -> str:
    return f"order {len(mode)}, mode {' of '.join(reversed(mode))}"


def _differentiable(tree: Any) -> tuple[Any, ...]:
    """The leaves of a result that can have a derivative."""
    leaves = pytree.flatten(tree)[0]
    return tuple(leaf for leaf in leaves if np.result_type(value(leaf)).kind in "fc")


def _as_float(leaf: Any) -> Any:
    array = leaf if hasattr(leaf, "dtype") else np.asarray(leaf)
    return array.astype(np.float64) if array.dtype.kind in "iu" else array


def _double(a: Any) -> Any:
    dtype = np.complex128 if np.result_type(a).kind == "c" else np.float64
    return np.asarray(a, dtype) if foreign(a) is None else a.astype(dtype)


def _lowest(arrays: Sequence[Any]) -> Any:
    """The real dtype of the least precise of the arrays."""
    return min(map(_precision, arrays), key=lambda dtype: dtype.itemsize, default=np.dtype(np.float64))


def _precision(a: Any) -> Any:
    """The dtype of a real part."""
    return np.zeros((), np.result_type(a)).real.dtype


def _largest(a: Any) -> float:
    return float(np.max(np.abs(a))) if np.size(a) else 0.0


def _inner(a: Sequence[Any], b: Sequence[Any]) -> tuple[float, float]:
    """``Re(aᴴ b)`` over all parts, and the sum of the sizes of its terms."""
    terms = [np.conjugate(_double(u)) * _double(v) for u, v in zip(a, b, strict=True)]
    return float(sum(np.sum(np.real(t)) for t in terms)), float(sum(np.sum(np.abs(t)) for t in terms))


def __dir__() -> list[str]:
    return __all__
