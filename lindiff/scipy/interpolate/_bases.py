"""B-splines at points, and splines through data, in functions of NumPy."""

from __future__ import annotations

import itertools
from typing import Any

import numpy as np

from lindiff.core.variable import value
from lindiff.scipy.linalg.banded import solve_banded

__all__ = ["basis", "combined", "interval_of", "knots_through", "linear_parts", "spline_coefficients"]


def interval_of(t: Any, k: int, x: Any) -> Any:
    """The i with ``t_i <= x < t_i+1`` between the inner ends of the knots; beyond them the first or last."""
    t = value(t)
    return np.clip(np.searchsorted(t, value(x), side="right") - 1, k, len(t) - k - 2)


def basis(t: Any, k: int, x: Any, i: Any, nu: int = 0) -> list[Any]:
    """The derivatives of order `nu` of the B-splines ``i - k``, …, ``i`` of degree k at x.

    By de Boor's recursion up to the degree ``k - nu``, and ``B'_j = d (B_j / (t_j+d - t_j) - B_j+1 / (…))``
    from there (C. de Boor, A Practical Guide to Splines, X).
    """
    values = [np.ones_like(x)]
    for d in range(1, k + 1):
        raised, saved = [], 0.0
        for r, part in enumerate(values):
            left, right = t[i + 1 - d + r], t[i + 1 + r]
            part = part / (right - left)
            if d <= k - nu:
                raised.append(saved + (right - x) * part)
                saved = (x - left) * part
            else:
                raised.append(saved - d * part)
                saved = d * part
        values = [*raised, saved]
    return [0.0 * part for part in values] if nu > k else values


def combined(c: Any, parts: list[tuple[list[Any], list[Any]]]) -> Any:
    """``Σ w_a w_b … c[i_a, j_b, …]`` over the places and the weights that points have along each axis."""
    total: Any = 0.0
    for choice in itertools.product(*(zip(*part, strict=True) for part in parts)):
        weight = choice[0][1]
        for _, other in choice[1:]:
            weight = weight * other
        entries = c[tuple(index for index, _ in choice)]
        total = total + entries * np.reshape(weight, (*weight.shape, *[1] * (entries.ndim - weight.ndim)))
    return total


def knots_through(x: Any, k: int, all_inner: bool = False) -> Any:
    """The knots for data at x: these places, or the middles between them, those next to the ends left out, as
    SciPy chooses them; or all the inner ones."""
    if k == 0:
        return np.concatenate([x, x[-1:]])
    if all_inner:
        inner = x[1:-1]
    elif k % 2 == 1:
        inner = x[(k + 1) // 2 : len(x) - (k + 1) // 2]
    else:
        inner = ((x[1:] + x[:-1]) / 2)[k // 2 : len(x) - 1 - k // 2]
    return np.concatenate([x[:1]] * (k + 1) + [inner] + [x[-1:]] * (k + 1))


def linear_parts(x: Any, at: Any) -> tuple[list[Any], list[Any]]:
    """The two data between which each point lies, and their weights; the outer ones go on beyond the ends."""
    i = np.clip(np.searchsorted(value(x), value(at), side="right") - 1, 0, len(x) - 2)
    w = (at - x[i]) / (x[i + 1] - x[i])
    return [i, i + 1], [1.0 - w, w]


def spline_coefficients(x: Any, y: Any, t: Any, k: int, left: Any, right: Any) -> Any:
    """The coefficients of the spline of degree k with knots t through y at x.

    At the first and last point it has derivatives ``(order, value)``; where both are ``"periodic"``, those
    of all orders below k agree there.
    """
    n = len(t) - k - 1
    rhs = np.reshape(y, (len(x), -1))
    if left == "periodic":
        rows = [*_rows(t, k, x, 0, n)]
        rows += [_rows(t, k, x[:1], nu, n)[0] - _rows(t, k, x[-1:], nu, n)[0] for nu in range(1, k)]
        rhs = np.concatenate([rhs, np.zeros((k - 1, rhs.shape[1]))])
        return np.reshape(np.linalg.solve(np.stack(rows), rhs), (n, *y.shape[1:]))
    entries = [np.stack(basis(t, k, x, interval_of(t, k, x)), -1)]
    places = [interval_of(t, k, x)]
    values = [rhs]
    for end, conditions in ((slice(0, 1), left), (slice(-1, None), right)):
        i = interval_of(t, k, x[end])
        of_end = [np.stack(basis(t, k, x[end], i, nu), -1) for nu, _ in conditions]
        given = [np.broadcast_to(np.reshape(v, (1, -1)), (1, rhs.shape[1])) for _, v in conditions]
        where = 0 if end.stop == 1 else len(entries)
        entries[where:where], places[where:where], values[where:where] = of_end, [i] * len(of_end), given
    columns = np.concatenate(places)[:, None] + np.arange(-k, 1)
    within = columns - np.arange(n)[:, None]  # the place in the band
    ab = _scattered(np.concatenate(entries), (k - within, columns), np.abs(within) <= k, (2 * k + 1, n))
    return np.reshape(solve_banded((k, k), ab, np.concatenate(values)), (n, *y.shape[1:]))


def _rows(t: Any, k: int, x: Any, nu: int, n: int) -> Any:
    """All n B-splines at x, as a matrix."""
    i = interval_of(t, k, x)
    columns = i[:, None] + np.arange(-k, 1)
    rows = np.broadcast_to(np.arange(len(i))[:, None], columns.shape)
    entries = np.stack(basis(t, k, x, i, nu), -1)
    return _scattered(entries, (rows, columns), np.ones(columns.shape, bool), (len(i), n))


def _scattered(entries: Any, places: tuple[Any, Any], there: Any, shape: tuple[int, int]) -> Any:
    """A matrix of zeros with the entries at the places that are there."""
    numbers = np.zeros(shape, np.intp)
    numbers[places[0][there], places[1][there]] = np.flatnonzero(there) + 1
    return np.concatenate([np.zeros(1), np.ravel(entries)])[numbers]
