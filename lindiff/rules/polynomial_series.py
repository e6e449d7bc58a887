"""``numpy.polynomial``: series of powers and of classical orthogonal polynomials, the lowest degree first.

NumPy does not dispatch these functions; ``lindiff.numpy.polynomial`` brings them here.  What is linear in the
coefficients is a matrix that NumPy's own function gives for the unit vectors, what is bilinear a tensor.
"""

from __future__ import annotations

import functools
import warnings
from collections.abc import Callable
from types import ModuleType
from typing import Any

import numpy as np

from lindiff.core.arrays import padded_with_zeros
from lindiff.core.differential import Differential
from lindiff.core.registry import composed, rule
from lindiff.core.variable import Variable, value
from lindiff.rules._common import as_array, conj, normalized_axis

__all__ = ["BASES"]

# by the prefix of the functions' names
BASES: dict[str, ModuleType] = {
    "poly": np.polynomial.polynomial,
    "cheb": np.polynomial.chebyshev,
    "leg": np.polynomial.legendre,
    "lag": np.polynomial.laguerre,
    "herm": np.polynomial.hermite,
    "herme": np.polynomial.hermite_e,
}


def series(c: Any) -> Any:
    """Coefficients as an array of floating point numbers with at least one axis."""
    c = np.atleast_1d(as_array(c))
    return c if c.dtype.kind in "fc" else c.astype(float)


def trimmed(c: Any) -> Any:
    """Coefficients of one series without zeros at the end, as NumPy takes them."""
    c = series(c)
    if c.ndim != 1:
        raise ValueError("Coefficient array is not 1-d")
    if c.size == 0:
        raise ValueError("Coefficient array is empty")
    nonzero = np.flatnonzero(value(c))
    return c[: nonzero[-1] + 1 if nonzero.size else 1]


def padded(c: Any, length: int) -> Any:
    return c if len(c) == length else padded_with_zeros(c, [(0, length - len(c))])


def applied(matrix: Any, c: Any, axis: int = 0) -> Any:
    """A real matrix times the coefficients along one axis, in their precision."""
    axis = normalized_axis(axis, c.ndim)
    precision = np.finfo(c.dtype).dtype
    return np.moveaxis(np.tensordot(matrix.astype(precision), np.moveaxis(c, axis, 0), 1), 0, axis)


def by_columns(function: Callable[..., Any], n: int) -> Any:
    """The matrix of a function that is linear in ``n`` coefficients."""
    return columns([function(unit) for unit in np.eye(n)])


def columns(parts: list[Any]) -> Any:
    """Coefficients of several series side by side."""
    length = max(map(len, parts))
    return np.stack([padded(part, length) for part in parts], axis=1)


class Basis:
    """NumPy's functions for one basis, and what is known of them."""

    def __init__(self, prefix: str, module: ModuleType) -> None:
        self.prefix, self.module = prefix, module
        self.matrix = functools.cache(self._matrix)
        self.products = functools.cache(self._products)

    def __getitem__(self, name: str) -> Callable[..., Any]:
        """``self["val"]`` is ``chebval``."""
        return getattr(self.module, f"{self.prefix}{name}")

    def _matrix(self, name: str, n: int) -> Any:
        return by_columns(self[name], n)

    def _products(self, n: int, m: int) -> Any:
        """``t[k, i, j]``: how much of the k-th basis function is in the product of the i-th and the j-th."""
        t = np.zeros((n + m - 1, n, m))
        for i in range(n):
            for j in range(m):
                product = self["mul"](np.eye(n)[i], np.eye(m)[j])
                t[: len(product), i, j] = product
        return t


def is_traced(*arrays: Any) -> bool:
    return any(isinstance(x, Variable) for x in arrays)


# -- values ----------------------------------------------------------------------------------------------


def value_rules(basis: Basis) -> tuple[Callable[..., Any], Callable[..., Any]]:
    """For ``chebval`` and ``chebvander``: ``V_k' = Σ_j D_jk V_j`` with D the matrix of ``chebder``."""
    val, vander = basis["val"], basis["vander"]

    @composed(vander)
    @rule
    def vandermonde(x: Any, deg: int) -> Any:
        x = as_array(x)

        def slopes() -> Any:
            D = basis.matrix("der", deg + 1)
            return vandermonde(x, len(D) - 1) @ D

        return vandermonde(x, deg) if is_traced(x) else vander(x, deg), Differential(
            (lambda x_dot: slopes() * np.expand_dims(x_dot, -1), None),
            (lambda y_bar: np.sum(conj(slopes()) * y_bar, axis=-1), None),
        )

    @composed(val)
    @rule
    def values(x: Any, c: Any, tensor: bool = True) -> Any:
        x, c = as_array(x), series(c)

        def slope() -> Any:
            return values(x, applied(basis.matrix("der", len(c)), c), tensor)

        def pull_c(y_bar: Any) -> Any:
            V = conj(np.reshape(vandermonde(np.ravel(x), len(c) - 1), (*x.shape, len(c))))
            if tensor:  # the axes of y are those of the series, then those of x
                first = y_bar.ndim - x.ndim
                axes = range(first, y_bar.ndim)
                return np.moveaxis(np.tensordot(y_bar, V, (axes, range(x.ndim))), -1, 0)
            terms = np.moveaxis(np.expand_dims(y_bar, -1) * V, -1, 0)
            return summed_to(terms, c.shape)

        y = values(x, c, tensor) if is_traced(x, c) else val(x, c, tensor)
        return y, Differential(
            (lambda x_dot: slope() * x_dot, lambda c_dot: values(x, c_dot, tensor), None),
            (lambda y_bar: conj(slope()) * y_bar, pull_c, None),
        )

    return values, vandermonde


def summed_to(terms: Any, shape: tuple[int, ...]) -> Any:
    """The adjoint of broadcasting all axes but the first."""
    extra = terms.ndim - len(shape)
    terms = np.sum(terms, axis=tuple(range(1, 1 + extra)))
    stretched = tuple(k for k in range(1, len(shape)) if shape[k] == 1 != terms.shape[k])
    return np.sum(terms, axis=stretched, keepdims=True) if stretched else terms


def values_of_several(basis: Basis, values: Callable[..., Any], vandermonde: Callable[..., Any]) -> None:
    """At points of the plane and of space, and on grids."""

    def at_points(*arguments: Any) -> Any:
        *points, c = arguments
        points = [as_array(x) for x in points]
        if any(x.shape != points[0].shape for x in points):
            raise ValueError("x, y, z are incompatible" if len(points) == 3 else "x, y are incompatible")
        c = values(points[0], c)
        for x in points[1:]:
            c = values(x, c, False)
        return c

    def on_grid(*arguments: Any) -> Any:
        *points, c = arguments
        for x in points:
            c = values(x, c)
        return c

    def product_of_vandermondes(*arguments: Any) -> Any:
        *points, degrees = arguments
        if len(points) != len(degrees):
            raise ValueError(f"Expected {len(points)} dimensions of degrees, got {len(degrees)}")
        product: Any = None
        for x, degree in zip(points, degrees, strict=True):
            V = vandermonde(x, degree)
            if product is None:
                product = V
            else:
                product = np.expand_dims(product, -1) * np.expand_dims(V, -2)
                product = np.reshape(product, (*product.shape[:-2], -1))
        return product

    for n in ("2d", "3d"):
        composed(basis[f"val{n}"])(at_points)
        composed(basis[f"grid{n}"])(on_grid)
        composed(basis[f"vander{n}"])(product_of_vandermondes)


# -- what is linear in the coefficients ------------------------------------------------------------------


def calculus(basis: Basis) -> None:
    differentiate, integrate = basis["der"], basis["int"]

    @composed(differentiate)
    def der(c: Any, m: int = 1, scl: Any = 1, axis: int = 0) -> Any:
        c = series(c)
        return applied(differentiate(np.eye(c.shape[axis]), m, scl), c, axis)

    @composed(integrate)
    def int_(c: Any, m: int = 1, k: Any = (), lbnd: Any = 0, scl: Any = 1, axis: int = 0) -> Any:
        c, k = series(c), np.atleast_1d(as_array(k))
        integrate(np.zeros(1), m, np.zeros(k.shape), lbnd, scl)  # its checks
        y = applied(integrate(np.eye(c.shape[axis]), m, (), lbnd, scl), c, axis)
        if k.size == 0 or m == 0:
            return y
        of_constants = columns([integrate(np.zeros(1), m, unit, lbnd, scl) for unit in np.eye(len(k))])
        constant = padded(of_constants @ k, y.shape[axis])
        return y + np.reshape(constant, [-1 if a == axis % y.ndim else 1 for a in range(y.ndim)]).astype(
            y.dtype
        )


def linear_functions(basis: Basis) -> None:
    """Multiplication by x, and the way from and to powers (which NumPy computes in double precision)."""

    def linear(function: Callable[..., Any], double: bool = False) -> None:
        @composed(function)
        def implementation(c: Any) -> Any:
            c = trimmed(c)
            c = c.astype(np.result_type(c, np.float64)) if double else c
            return applied(by_columns(function, len(c)), c)

    linear(basis["mulx"])
    if basis.prefix != "poly":
        linear(basis["2poly"])
        linear(getattr(basis.module, f"poly2{basis.prefix}"), double=True)


# -- arithmetic ------------------------------------------------------------------------------------------


def arithmetic(basis: Basis) -> None:
    def of_one_length(c1: Any, c2: Any) -> tuple[Any, Any]:
        c1, c2 = trimmed(c1), trimmed(c2)
        n = max(len(c1), len(c2))
        return padded(c1, n), padded(c2, n)

    @composed(basis["add"])
    def add(c1: Any, c2: Any) -> Any:
        c1, c2 = of_one_length(c1, c2)
        return trimmed(c1 + c2)

    @composed(basis["sub"])
    def subtract(c1: Any, c2: Any) -> Any:
        c1, c2 = of_one_length(c1, c2)
        return trimmed(c1 - c2)

    def products(n: int, m: int, c: Any) -> Any:
        return basis.products(n, m).astype(np.finfo(c.dtype).dtype)

    @composed(basis["mul"])
    def multiply(c1: Any, c2: Any) -> Any:
        c1, c2 = trimmed(c1), trimmed(c2)
        t = products(len(c1), len(c2), c1)
        return trimmed(np.tensordot(np.tensordot(t, c2, (2, 0)), c1, (1, 0)))

    @composed(basis["div"])
    def divide(c1: Any, c2: Any) -> Any:
        """The quotient solves a triangular system: no power from ``len(c2) - 1`` on may remain."""
        c1, c2 = trimmed(c1), trimmed(c2)
        if value(c2)[-1] == 0:
            raise ZeroDivisionError
        n, m = len(c1) - len(c2) + 1, len(c2)
        if n <= 0:
            return c1[:1] * 0, c1
        times_c2 = np.tensordot(products(n, m, c2), c2, (2, 0))
        quotient = np.linalg.solve(times_c2[m - 1 :], c1[m - 1 :])
        if m == 1:
            return quotient, c1[:1] * 0
        return quotient, trimmed((c1 - times_c2 @ quotient)[: m - 1])

    @composed(basis["pow"])
    def power(c: Any, pow: int, maxpower: int | None = 16) -> Any:
        c, n = trimmed(c), int(pow)
        if n != pow or n < 0:
            raise ValueError("Power must be a non-negative integer.")
        if maxpower is not None and n > maxpower:
            raise ValueError("Power is too large")
        result: Any = np.ones(1, c.dtype)
        for _ in range(n):
            result = multiply(result, c)
        return result


# -- roots and fits --------------------------------------------------------------------------------------


def root_rules(basis: Basis, values: Callable[..., Any], vandermonde: Callable[..., Any]) -> None:
    roots_of = basis["roots"]

    @composed(roots_of)
    @rule
    def roots(c: Any) -> Any:
        """``c(r) = 0``, so ``c'(r) dr = -dc(r)``; a root that nothing depends on may be repeated."""
        c = trimmed(c)
        r = roots(c) if is_traced(c) else roots_of(c)

        def slope() -> Any:
            return values(r, applied(basis.matrix("der", len(c)), c))

        def roots_pullback(r_bar: Any) -> Any:
            unused = value(r_bar) == 0
            moved = np.where(unused, 0, -r_bar / np.where(unused, 1, conj(slope())))
            return conj(vandermonde(r, len(c) - 1)).T @ moved

        return r, Differential((lambda c_dot: -values(r, c_dot[: len(c)]) / slope(),), (roots_pullback,))

    @composed(basis["fromroots"])
    def from_roots(roots: Any) -> Any:
        z = series(roots)
        z = z.astype(np.result_type(z, np.float64))
        x = basis["line"](0.0, 1.0)  # the function x itself
        result: Any = np.ones(1, z.dtype)
        for i in range(len(z)):
            shifted = (
                np.tensordot(basis.products(len(result), len(x)), x, (2, 0)).astype(z.real.dtype) @ result
            )
            result = shifted - padded(z[i] * result, len(shifted))
        return result


def fit_rule(basis: Basis, vandermonde: Callable[..., Any]) -> None:
    @composed(basis["fit"])
    def fit(x: Any, y: Any, deg: Any, rcond: Any = None, full: bool = False, w: Any = None) -> Any:
        """Least squares with columns scaled to length 1, as NumPy does it."""
        x, y = as_array(x) + 0.0, as_array(y) + 0.0
        degrees = np.asarray(deg)
        plain = [value(part) for part in (x, y, w)]
        c, (_, rank, _, found_rcond) = basis["fit"](*plain[:2], degrees, rcond, True, plain[2])  # its checks
        wanted = np.arange(int(degrees) + 1) if degrees.ndim == 0 else np.sort(degrees)
        columns = vandermonde(x, int(wanted[-1]))[:, wanted]
        if w is not None:
            w = as_array(w) + 0.0
            columns = columns * w[:, None]
            y = y * (w[:, None] if y.ndim == 2 else w)
        lengths = np.sqrt(np.sum(np.real(columns * conj(columns)), axis=0))
        lengths = np.where(value(lengths) == 0, 1, lengths)
        solution, residuals, rank, s = np.linalg.lstsq(columns / lengths, y, found_rcond)
        solution = (solution.T / lengths).T
        if len(c) != len(wanted):  # the degrees left out have the coefficient 0
            places = np.zeros((len(c), len(wanted)), c.real.dtype)
            places[wanted, np.arange(len(wanted))] = 1
            solution = places @ solution
        if full:
            return solution, [residuals, rank, s, found_rcond]
        if rank != len(wanted):
            warnings.warn("The fit may be poorly conditioned", np.exceptions.RankWarning, stacklevel=2)
        return solution


for _prefix, _module in BASES.items():
    _basis = Basis(_prefix, _module)
    _values, _vandermonde = value_rules(_basis)
    values_of_several(_basis, _values, _vandermonde)
    calculus(_basis)
    linear_functions(_basis)
    arithmetic(_basis)
    root_rules(_basis, _values, _vandermonde)
    fit_rule(_basis, _vandermonde)
