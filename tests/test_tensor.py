"""Tensor functions: values, adjoints and tangents of expressions in index notation."""

import functools
import itertools
import os
import pickle
import random
import subprocess
import sys
import tracemalloc

import numpy as np
import pytest

import lindiff as ld
from lindiff.tensor import TensorSyntaxError, contracting
from lindiff.tensor.affine import affine
from lindiff.tensor.bounds import Congruence, levels_of
from lindiff.tensor.checking import _places, first_place
from lindiff.tensor.expressions import Condition, accesses, at_least
from lindiff.tensor.lattice import smith
from lindiff.tensor.statements import box_of
from lindiff.testing import check_grads

RNG = np.random.default_rng(0)


def numbers(*shape):
    return RNG.normal(size=shape)


# -- integers ----------------------------------------------------------------------------------------------


def test_smith_normal_forms():
    rng = random.Random(0)
    for _ in range(500):
        m, n = rng.randint(1, 4), rng.randint(1, 4)
        A = [[rng.choice([-3, -2, -1, 0, 0, 1, 2, 4, 6]) for _ in range(n)] for _ in range(m)]
        P, diagonal, Q = smith(A)
        S = np.zeros((m, n), int)
        np.fill_diagonal(S[: len(diagonal), : len(diagonal)], diagonal)
        np.testing.assert_array_equal(np.array(P) @ np.array(A) @ np.array(Q), S)
        assert abs(round(np.linalg.det(P))) == abs(round(np.linalg.det(Q))) == 1
        assert all(s > 0 for s in diagonal)
        assert len(diagonal) == np.linalg.matrix_rank(A)


def some_domain(rng):
    """Inequalities and congruences of some loops, and ranges that bound these."""
    n = rng.randint(1, 4)
    ranges = [(rng.randint(-3, 1), rng.randint(-1, 4)) for _ in range(n)]
    rows = []
    for k, (low, high) in enumerate(ranges):
        rows.append((*(int(j == k) for j in range(n)), -low))
        rows.append((*(-int(j == k) for j in range(n)), high))
    rows += [(*(rng.randint(-3, 3) for _ in range(n)), rng.randint(-4, 6)) for _ in range(rng.randint(0, 4))]
    rng.shuffle(rows)
    congruences = [
        Congruence(tuple(rng.randint(-3, 3) for _ in range(n + 1)), rng.randint(1, 4))
        for _ in range(rng.randint(0, 2))
    ]
    return n, ranges, rows, congruences


def test_bounds_of_loops_against_enumeration():
    rng = random.Random(0)
    for _ in range(500):
        n, ranges, rows, congruences = some_domain(rng)
        at = lambda row, x: sum(c * v for c, v in zip(row, (*x, 1), strict=True))
        expected = [
            list(x)
            for x in itertools.product(*(range(low, high + 1) for low, high in ranges))
            if all(at(row, x) >= 0 for row in rows)
            and all(at(c.row, x) % c.modulus == 0 for c in congruences)
        ]
        levels = levels_of(rows, congruences, n)
        assert ([] if levels is None else list(_places(levels, []))) == expected


def test_first_places_in_domains_against_enumeration():
    rng = random.Random(1)
    for _ in range(400):
        sizes = [rng.randint(1, 5) for _ in range(rng.randint(1, 4))]
        loops = [f"i{k}" for k in range(len(sizes))]
        said = []
        for _ in range(rng.randint(0, 3)):
            row = [rng.randint(-4, 4) for _ in sizes]
            if any(row):
                said.append((rng.choice([">=", "==", "%"]), row, rng.randint(-6, 6), rng.randint(1, 6)))

        def holds(place, said=said):
            at = [
                (kind, sum(c * x for c, x in zip(row, place, strict=True)) + k, m) for kind, row, k, m in said
            ]
            return all(
                x >= 0 if kind == ">=" else x == 0 if kind == "==" else x % m == 0 for kind, x, m in at
            )

        places = filter(holds, itertools.product(*map(range, sizes)))
        domain = [*box_of(loops, map(affine, sizes))]
        for kind, row, k, m in said:
            form = sum((affine(name) * c for name, c in zip(loops, row, strict=True)), affine(k))
            domain.append(Condition(kind, form, affine(m if kind == "%" else 0)))
        found = first_place(domain, loops)
        assert (None if found is None else (*found.values(),)) == next(places, None)


def test_places_outside_of_large_domains():
    x = np.ones(901)
    strided = ld.tensor("f[t] = sum[s | s % 100 == 0, s <= t] x[s]", ranges={"t": 3_000_000, "s": 1000})
    assert strided(x)[-1] == 10
    with pytest.raises(IndexError, match=r"reads place 900 .* t = 900, s = 900"):
        strided(x[:900])
    several = "f = sum[i, k, l | 6*i + 10*k == 15*l + {}, l % 2 == 0] x[i + k]"
    ranges = dict.fromkeys("ikl", 30_000)
    assert ld.tensor(several.format(1), ranges=ranges)(x) == 0  # an even and an odd number
    with pytest.raises(IndexError, match=r"reads place 901 .* at i = 2, k = 899, l = 600"):
        ld.tensor(several.format(2), ranges=ranges)(x)


# -- random expressions against loops ------------------------------------------------------------------------


class Case:
    """``f[i0, ...] = sum[k0, ... | conditions] x[A] * y[B]`` with random maps, as text and as loops."""

    def __init__(self, seed):
        rng = random.Random(seed)
        free, summed = rng.randint(0, 3), rng.randint(0, 3)
        self.free = [f"i{k}" for k in range(free)]
        self.summed = [f"k{k}" for k in range(summed)]
        self.names = self.free + self.summed
        self.sizes = {name: rng.choice([0, 1, 2, 3, 3, 4, 5]) for name in self.names}
        self.outside = rng.choice(["error", "zero", "wrap"])
        self.conditions = [c for _ in range(rng.choice([0, 0, 1, 2])) if (c := self.condition(rng))]
        places = itertools.product(*(range(self.sizes[name]) for name in self.names))
        self.domain = [z for z in places if all(self.holds(c, z) for c in self.conditions)]
        draw = np.random.default_rng(seed)
        self.x_at, self.x = self.array(rng, draw, rng.randint(0, 3))
        self.y_at, self.y = self.array(rng, draw, rng.randint(0, 2))
        self.f_bar = draw.integers(-4, 5, size=[self.sizes[name] for name in self.free]).astype(float)
        self.x_dot = draw.integers(-4, 5, size=self.x.shape).astype(float)

    def condition(self, rng):
        row = [rng.choice([-2, -1, 0, 1, 2]) for _ in self.names]
        kind = rng.choice([">= 0", "== 0", "%"])
        if not any(row) or (kind == ">= 0" and min(row) >= 0):
            return None
        return kind, row, rng.randint(-2, 3), rng.choice([2, 3])

    def holds(self, condition, z):
        kind, row, constant, modulus = condition
        x = self.at(row, constant, z)
        return x >= 0 if kind == ">= 0" else x == 0 if kind == "== 0" else x % modulus == 0

    @staticmethod
    def at(row, constant, z):
        return sum(c * i for c, i in zip(row, z, strict=True)) + constant

    def array(self, rng, draw, rank):
        subscripts, shape = [], []
        for _ in range(rank):
            row = [rng.choice([-3, -2, -1, 0, 0, 1, 1, 1, 2, 2, 3, 4]) for _ in self.names]
            constant = rng.randint(-2, 3)
            if self.outside == "error":
                values = [self.at(row, constant, z) for z in self.domain] or [0]
                constant -= min(values)
                shape.append(max(values) - min(values) + 1 + rng.randint(0, 1))
            else:
                shape.append(rng.randint(1, 4))
            subscripts.append((row, constant))
        return subscripts, draw.integers(-4, 5, size=shape).astype(float)

    def form(self, row, constant):
        return " + ".join(
            [*(f"({c})*{name}" for c, name in zip(row, self.names, strict=True)), f"({constant})"]
        )

    def text(self):
        conditions = ", ".join(
            f"({self.form(row, constant)}) % {modulus} == 0"
            if kind == "%"
            else f"{self.form(row, constant)} {kind}"
            for kind, row, constant, modulus in self.conditions
        )
        x, y = (
            name + (f"[{', '.join(self.form(*s) for s in at)}]" if at else "")
            for name, at in (("x", self.x_at), ("y", self.y_at))
        )
        left = f"f[{', '.join(self.free)}]" if self.free else "f"
        if self.summed:
            bound = ", ".join(self.summed) + (f" | {conditions}" if conditions else "")
            return f"{left} = sum[{bound}] {x}*{y}"
        return f"{left} = " + (f"[{conditions}]*" if conditions else "") + f"{x}*{y}"

    def place(self, array, subscripts, z):
        """Where an element is, None for a zero."""
        found = [self.at(row, constant, z) for row, constant in subscripts]
        if self.outside == "wrap":
            return tuple(s % n for s, n in zip(found, array.shape, strict=True))
        return tuple(found) if all(0 <= s < n for s, n in zip(found, array.shape, strict=True)) else None

    def by_loops(self):
        f, x_bar, y_bar = np.zeros_like(self.f_bar), np.zeros_like(self.x), np.zeros_like(self.y)
        f_dot = np.zeros_like(f)
        for z in self.domain:
            x_at, y_at = self.place(self.x, self.x_at, z), self.place(self.y, self.y_at, z)
            out = z[: len(self.free)]
            if x_at is not None:
                y = 0.0 if y_at is None else self.y[y_at]
                f[out] += self.x[x_at] * y
                f_dot[out] += self.x_dot[x_at] * y
                x_bar[x_at] += self.f_bar[out] * y
            if y_at is not None:
                y_bar[y_at] += self.f_bar[out] * (0.0 if x_at is None else self.x[x_at])
        return f, x_bar, y_bar, f_dot


@pytest.mark.parametrize("first", range(0, 1000, 100))
def test_random_expressions_against_loops(first, monkeypatch):
    """Of integers, so that all sums are exact, in whatever order."""
    if first % 200 == 0:  # sums of few numbers, too, in several tensors
        monkeypatch.setattr(contracting, "_TENSOR", 0.0)
    for seed in range(first, first + 100):
        case = Case(seed)
        f, x_bar, y_bar, f_dot = case.by_loops()
        function = ld.tensor(case.text(), ranges=case.sizes, outside=case.outside)
        given = {"x": case.x, "y": case.y}
        np.testing.assert_array_equal(function(**given), f, err_msg=case.text())
        adjoint = function.adjoint("x")
        np.testing.assert_array_equal(adjoint(**given, f_bar=case.f_bar), x_bar, err_msg=case.text())
        found = function.adjoint("y")(**given, f_bar=case.f_bar)
        np.testing.assert_array_equal(found, y_bar, err_msg=case.text())
        np.testing.assert_array_equal(function.tangent("x")(**given, x_dot=case.x_dot), f_dot)
        again = adjoint.adjoint("f_bar")  # of a linear function: the function itself
        found = again(**given, f_bar=case.f_bar, x_bar_bar=case.x_dot)
        np.testing.assert_array_equal(found, f_dot, err_msg=case.text())


# -- expressions ---------------------------------------------------------------------------------------------


EXAMPLES = {
    # of the text
    "f[i] = sin(x[i])": "x_bar[i] = f_bar[i]*cos(x[i])",
    "f[i, j] = sum[k] x[i, k]*y[k, j]": "x_bar[i, k] = sum[j] f_bar[i, j]*y[k, j]",
    "f[i, j] = exp(x[m*i + j])": (
        "x_bar[p] = sum[i | i*m <= p, p < i*m + size(j)] f_bar[i, -i*m + p]*exp(x[p])"
    ),
    # others
    "f[i] = x[2*i]": "x_bar[p] = [p + 2 <= 2*size(i), p % 2 == 0]*f_bar[p/2]",
    "f[i] = x[i, i]": "x_bar[i, q] = [i == q]*f_bar[i]",
    "f[i, j] = x[i]*y[j]": "x_bar[i] = sum[j] f_bar[i, j]*y[j]",
    "f[i] = sum[k] x[i + k]*w[k]": "x_bar[p] = sum[k | k <= p, p < k + size(i)] f_bar[-k + p]*w[k]",
    "f = sum[i, j | i <= j] x[i]*y[j]": "x_bar[i] = sum[j | i <= j] f_bar*y[j]",
}


@pytest.mark.parametrize("text", EXAMPLES)
def test_adjoints_as_they_are_worked_out_by_hand(text):
    assert str(ld.tensor(text).adjoint("x")) == EXAMPLES[text]


def test_the_other_adjoint_of_a_product_of_matrices():
    function = ld.tensor("f[i, j] = sum[k] x[i, k]*y[k, j]")
    assert str(function.adjoint("y")) == "y_bar[k, j] = sum[i] f_bar[i, j]*x[i, k]"
    assert str(function.tangent("y")) == "f_dot[i, j] = sum[k] y_dot[k, j]*x[i, k]"


@pytest.mark.parametrize(
    "text", ["f[i] = x[2*i]", "f[i, j] = sum[k] x[i, k]*y[k, j]", "f[i] = x[i]**2 - x[i]/3"]
)
def test_what_is_printed_can_be_read(text):
    function = ld.tensor(text)
    assert str(ld.tensor(str(function))) == str(function)


@pytest.mark.parametrize(
    ("text", "length"),
    [
        ("f[i, j] = y[2*i - 3*j + 10]", 17),
        ("f[i, j] = y[3*i + 2*j]", 16),
        ("f[i, j] = sum[k] y[2*i - 3*j + 5*k + 10]", 27),
        ("f[i, j] = y[2*i - 3*j + 40]", 48),
    ],
)
def test_a_printed_adjoint_over_a_lattice_says_the_same(text, length):
    ranges = {"i": 4, "j": 4, "k": 3} if "k" in text else {"i": 4, "j": 4}
    adjoint = ld.tensor(text, ranges=ranges).adjoint("y")
    again = ld.tensor(str(adjoint), ranges={"p": length})
    f_bar = numbers(4, 4)
    np.testing.assert_allclose(again(f_bar), adjoint(numbers(length), f_bar))


def test_a_printed_adjoint_that_would_say_something_else_cannot_be_read():
    """The index of its sum goes over negative numbers, as far as a size or an integer says."""
    for text in (
        "f[i, j] = y[20 - 3*i - 2*j]",
        "f[i, j] = y[4*i - 2*j + 6]",
        "f[i, j] = y[2*i - 3*j + 9]*w[j]",
    ):
        adjoint = ld.tensor(text, ranges={"i": 4}).adjoint("y")
        with pytest.raises(TensorSyntaxError):
            ld.tensor(str(adjoint))
    shifted = ld.tensor("f[i, j] = y[2*i - 3*j + 3*m]", ranges={"i": 4, "j": 4})
    adjoint = shifted.adjoint("y")
    with pytest.raises(TensorSyntaxError, match="not understood"):
        ld.tensor(str(adjoint))
    f_bar, y = numbers(4, 4), numbers(20)
    expected = ld.grad(lambda y: np.sum(shifted(y, m=3) * f_bar))(y)
    np.testing.assert_allclose(adjoint(y, f_bar, m=3), expected)


def test_latex():
    text = ld.tensor("f[i] = sum[k] x[i + k]*exp(w[k])/2").adjoint("x")._repr_latex_()
    assert text[0] == text[-1] == "$"
    for part in (r"\bar{x}_{p}", r"\bar{f}_{-k + p}", r"\sum_{\substack{k"):
        assert part in text


# -- derivatives ---------------------------------------------------------------------------------------------

WITH_A_ZERO = np.array([[1.0, 0.0, 2.0, -1.5], [0.0, 0.5, 0.0, 3.0], [1.0, 2.0, 3.0, 4.0]])
SMOOTH = {
    "f[i] = prod[k] x[i, k]": ([WITH_A_ZERO], {}),
    "f[i] = prod[j, k] x[i, j, k]": ([numbers(2, 2, 3)], {}),
    "f[i] = max[k] x[i, k]*y[k]": ([numbers(3, 4), numbers(4)], {}),
    "f = sum[i, j | i <= j] x[i]*x[j]*a": ([numbers(4), np.array(0.3)], {}),
    "f[i] = exp(sum[j] A[i, j]*log(1 + x[j]**2)) + x[i]": ([numbers(3, 3), numbers(3)], {}),
    "f[i, j] = tanh(x[m*i + j])": ([numbers(13)], {"ranges": {"i": 4, "j": "m"}, "integers": {"m": 3}}),
    "f[i] = exp(x[i-1]) - 2*exp(x[i]) + exp(x[i+1])": ([numbers(6)], {"outside": "zero", "ranges": {"i": 6}}),
    "f[i] = x[i-1] - 2*x[i]**2 + x[i+1]*i": ([numbers(6)], {"outside": "wrap", "ranges": {"i": 6}}),
    "f[i] = sum[j] w[j]*(sum[k] x[i+j+k]*v[k])": ([numbers(3), numbers(10), numbers(4)], {}),
    "f[i] = (sum[k] x[i, k]**2)**0.5 * min[k] x[i, k]": ([numbers(3, 4)], {}),
    "f[i, j | i < j] = x[i]/x[j]": ([numbers(3)], {}),
    "f[i] = sum[j | j <= i] prod[k | k <= j] x[k]": ([numbers(4)], {"ranges": {"i": 4}}),
    "f[i] = where(greater(x[i], 0), x[i]**2, sin(x[i]))*abs(x[i])": ([numbers(5)], {}),
    "f[i] = [i % 2 == 0]*x[i] + sqrt(1 + [i < 2]*x[i]**2)": ([numbers(5)], {}),
    "f[b, o, p, q] = sum[c, r, s] x[b, c, 2*p+r-1, 2*q+s-1]*w[o, c, r, s]": (
        [numbers(2, 2, 5, 5), numbers(3, 2, 3, 3)],
        {"outside": {"x": "zero"}, "ranges": {"p": 3, "q": 3}},
    ),
    "f[i] = hypot(x[i], y[i]) + arctan2(x[i], y[i])*logaddexp(x[i], y[i])": ([numbers(4), numbers(4)], {}),
    "f[i, j, k] = sum[l] tanh(x[i + 2*l - k + 3])*w[l, j]": (
        [numbers(15), numbers(3, 2)],
        {"ranges": {"i": 6, "k": 4}},
    ),
    "f[i] = sum[j] x[i]*y[j] + prod[j] y[j] - max[k, l] x[k]*y[l]": ([numbers(4), numbers(3)], {}),
}


@pytest.mark.parametrize("text", SMOOTH)
def test_derivatives_of_both_modes_and_twice(text):
    arrays, options = SMOOTH[text]
    options = dict(options)
    integers = options.pop("integers", {})
    function = ld.tensor(text, **options)
    weights = RNG.normal(size=np.shape(function(*arrays, **integers)))
    for k in range(len(arrays)):

        def total(x, k=k):
            return np.sum(function(*arrays[:k], x, *arrays[k + 1 :], **integers) * weights)

        x, x_dot, h = arrays[k], RNG.normal(size=arrays[k].shape), 1e-6
        gradient, slope = ld.grad(total)(x), ld.jvp(total, (x,), (x_dot,))[1]
        np.testing.assert_allclose(np.sum(gradient * x_dot), slope, rtol=1e-11, atol=1e-12)
        difference = (total(x + h * x_dot) - total(x - h * x_dot)) / (2 * h)
        np.testing.assert_allclose(slope, difference, rtol=1e-6, atol=1e-7)
        again = ld.hvp(total, (x,), (x_dot,))
        difference = (ld.grad(total)(x + h * x_dot) - ld.grad(total)(x - h * x_dot)) / (2 * h)
        np.testing.assert_allclose(again, difference, rtol=1e-5, atol=1e-6)
        slope_along = lambda x: ld.jvp(total, (x,), (x_dot,))[1]  # noqa: B023
        for other in (
            ld.grad(lambda x: np.sum(ld.grad(total)(x) * x_dot))(x),  # noqa: B023
            ld.grad(slope_along)(x),
        ):
            np.testing.assert_allclose(other, again, rtol=1e-9, atol=1e-10)
        curvature = ld.jvp(slope_along, (x,), (x_dot,))[1]
        np.testing.assert_allclose(curvature, np.sum(again * x_dot), rtol=1e-9, atol=1e-10)


@pytest.mark.parametrize("text", SMOOTH)
def test_sparse_jacobians(text):
    arrays, options = SMOOTH[text]
    options = dict(options)
    integers = options.pop("integers", {})
    function = ld.tensor(text, **options)
    for k, name in enumerate(function.arguments):
        dense = ld.jacobian(lambda x, k=k: function(*arrays[:k], x, *arrays[k + 1 :], **integers))(arrays[k])
        jacobian = function.jacobian(name)
        for _ in range(2):  # the second time by what is kept
            found = jacobian(*arrays, **integers)
            size = np.size(function(*arrays, **integers))
            np.testing.assert_allclose(found.toarray(), np.reshape(dense, (size, -1)), rtol=1e-12, atol=1e-12)
        zeros = [np.zeros_like(x) for x in arrays]
        with np.errstate(all="ignore"):
            assert jacobian(*zeros, **integers).nnz == found.nnz


def test_a_sparse_jacobian_of_a_long_band():
    """In which all pairs of rows and columns have no room."""
    n = 200_000
    band = ld.tensor("f[i] = sum[j | i - j <= 1, j - i <= 1, (i + j) % 2 == 0] i*x[j]", ranges={"i": "n"})
    found = band.jacobian("x")(np.ones(n), n=n)
    assert found.nnz == n
    np.testing.assert_array_equal(found.diagonal(), np.arange(n))


def test_the_sparse_jacobian_of_an_adjoint_is_a_hessian():
    function = ld.tensor("f = sum[i] ((1 - x[i])**2 + 100*(x[i+1] - x[i]**2)**2)")
    x = numbers(7)
    found = function.adjoint("x").jacobian("x")(x, 1.0)
    np.testing.assert_allclose(found.toarray(), ld.hessian(function)(x))
    assert found.nnz == 7 + 2 * 6
    with pytest.raises(TypeError, match=r"ld\.jacobian"):
        ld.grad(lambda x: function.jacobian("x")(x).sum())(x)


def test_an_axis_that_is_read_at_shifted_places():
    x = numbers(6)
    np.testing.assert_allclose(ld.tensor("f[i] = x[i+1] - x[i]")(x), np.diff(x))
    np.testing.assert_allclose(ld.tensor("f[i] = x[i] - x[i+2]")(x), x[:-2] - x[2:])
    with pytest.raises(IndexError, match="reads place 6"):
        ld.tensor("f[i] = x[i]*w[i+1]")(x, x)
    wrapped = ld.tensor("f[i] = x[i+1] - x[i]", outside="wrap")(x)
    np.testing.assert_allclose(wrapped, np.roll(x, -1) - x)


def test_what_a_derivative_is_given_has_to_fit():
    function = ld.tensor("f[i] = x[i]*w[i + 1]")
    x, w = numbers(5), numbers(6)
    adjoint = function.adjoint("x")
    np.testing.assert_allclose(adjoint(x, w, x), w[1:] * x)
    with pytest.raises(ValueError, match=r"f_bar is of shape \(5,\), not \(2,\)"):
        adjoint(x, w, x[:2])
    with pytest.raises(IndexError, match="reads place 5"):
        adjoint(x, w[:5], x)
    with pytest.raises(ValueError, match=r"x_dot is of shape"):
        function.tangent("x")(x, w, x[:2])


@pytest.mark.parametrize("dtype", ["f", "d", "F", "D"])
@pytest.mark.parametrize("layout", ["rows", "columns", "backward", "every second"])
def test_dtypes_and_layouts(dtype, layout):
    x, y = numbers(4, 6).astype(dtype), numbers(6, 3).astype(dtype)
    if dtype in "FD":
        x, y = x * (1 + 0.5j), y * (0.3 - 1j)
    if layout == "columns":
        x, y = np.asfortranarray(x), np.asfortranarray(y)
    elif layout == "backward":
        x, y = x[::-1, ::-1], y[:, ::-1]
    elif layout == "every second":
        x, y = np.repeat(np.repeat(x, 2, 0), 2, 1)[::2, ::2], np.repeat(y, 2, 1)[:, ::2]
    function = ld.tensor("f[i, j] = sum[k] sin(x[i, k])*y[k, j]")
    tolerance = 1e-5 if dtype in "fF" else 1e-13
    found, pullback = ld.vjp(function, x, y)
    expected, pullback_of_numpy = ld.vjp(lambda x, y: np.sin(x) @ y, x, y)
    assert found.dtype == dtype
    np.testing.assert_allclose(found, expected, rtol=tolerance, atol=tolerance)
    bars = found * np.arange(1, 4).astype(dtype)
    for x_bar, other in zip(pullback(bars), pullback_of_numpy(bars), strict=True):
        assert x_bar.dtype == dtype
        np.testing.assert_allclose(x_bar, other, rtol=10 * tolerance, atol=10 * tolerance)


@pytest.mark.parametrize("dtype", [">f4", ">f8", ">c16", "<f8"])
def test_both_orders_of_bytes(dtype):
    function, x = ld.tensor("f[i] = sum[k] x[i + k]*w[k]"), numbers(5).astype(dtype)
    native, w = x.astype(x.dtype.newbyteorder("=")), numbers(2)
    for arrays, plain in (((x, x[:2]), (native, native[:2])), ((x, w), (native, w))):
        np.testing.assert_array_equal(function(*arrays), function(*plain))
        assert function(*arrays).dtype.isnative
        entries = [function.jacobian("x")(*given).data for given in (arrays, plain)]
        np.testing.assert_array_equal(*entries)
        assert str(function.explain(*arrays)) == str(function.explain(*plain))
    gradients = [ld.grad(lambda x: np.sum(np.abs(function(x, w)) ** 2))(x) for x in (x, native)]
    np.testing.assert_array_equal(*gradients)


@pytest.mark.parametrize("n", [0, 1, 63, 64, 65, 1023, 1024, 1025, 2500])
def test_lengths_on_both_sides_of_every_block(n):
    x, w = numbers(n + 2), np.array([1.0, -2.0, 0.5])
    function = ld.tensor("f[i] = sum[k] x[i + k]*w[k] + 0*sin(x[i])", ranges={"i": n})
    np.testing.assert_allclose(function(x, w), x[:n] - 2 * x[1 : n + 1] + 0.5 * x[2:], rtol=1e-13, atol=1e-13)
    dots = ld.tensor("f = sum[i] x[i]*y[i]")
    np.testing.assert_allclose(dots(x, x), x @ x, rtol=1e-13)
    np.testing.assert_allclose(ld.tensor("f = max[i] x[i]")(x), np.max(x))
    np.testing.assert_allclose(ld.tensor("f[i] = prod[j] x[i, j]")(x[:, None]), x)


@pytest.mark.parametrize(
    "text",
    ["f[i] = sum[k] x[3*i + k]*w[k]", "f[i] = max[k] x[3*i + k]*w[k]", "f[i] = prod[k] x[3*i + k]*w[k]"],
)
@pytest.mark.parametrize("axes", [(), (2,)])
def test_strides_over_several_blocks(text, axes):
    """Adjoints that sum over what is tied to the innermost loop, a block of that at a time."""
    if axes:
        text = text.replace("f[i]", "f[a, i]").replace(" x[", " x[a, ")
    function, x, w = ld.tensor(text), numbers(*axes, 5000), numbers(5)
    f_bar = numbers(*function(x, w).shape)
    adjoint = function.adjoint("x")

    def by_windows(x):
        windows = np.lib.stride_tricks.sliding_window_view(x, 5, axis=-1)[..., ::3, :] * w
        return np.sum(
            {"s": np.sum, "m": np.max, "p": np.prod}[text[text.index("=") + 2]](windows, axis=-1) * f_bar
        )

    np.testing.assert_allclose(adjoint(x, w, f_bar), ld.grad(by_windows)(x), rtol=1e-9, atol=1e-12)


def test_integers_are_computed_in_double_precision():
    found = ld.tensor("f[i] = x[i]/2")(np.arange(3))
    assert found.dtype == np.float64
    np.testing.assert_array_equal(found, [0.0, 0.5, 1.0])


def test_numbers_of_python_have_the_precision_of_arrays_beside_them():
    f = ld.tensor("f[i] = x[i]*z")
    for x in (np.ones(3, "f4"), np.ones(3), np.ones(3, "F"), np.arange(3)):
        for z in (2.5, 2.5j, np.float64(2.5)):
            assert f(x, z).dtype == f(z=z, x=x).dtype == (x * z).dtype
    assert f(np.ones(3, "f4"), 2).dtype == np.float32
    assert ld.grad(lambda x: np.sum(f(x, 2.5)))(np.ones(3, "f4")).dtype == np.float32


def test_reductions_over_nothing():
    x = np.ones((2, 0))
    for kind, value in {"sum": 0.0, "prod": 1.0, "max": -np.inf, "min": np.inf}.items():
        np.testing.assert_array_equal(ld.tensor(f"f[i] = {kind}[j] x[i, j]")(x), np.full(2, value))


def test_a_slope_that_is_infinite_where_nothing_flows():
    """Elements that no sum takes, and cotangents of 0."""
    function = ld.tensor("f[i] = sum[k] log(x[2*i + k])*w[k]", ranges={"i": 2})
    x = np.array([1.0, 2.0, 3.0, 4.0, 0.0, 0.0])
    gradient = ld.grad(lambda x: np.sum(function(x, np.ones(2))))(x)
    np.testing.assert_allclose(gradient, [1, 1 / 2, 1 / 3, 1 / 4, 0, 0])
    roots = ld.tensor("f[i] = sqrt(x[i])")
    gradient = ld.grad(lambda x: np.sum(roots(x) * np.array([0.0, 1.0])))(np.array([0.0, 4.0]))
    np.testing.assert_allclose(gradient, [0.0, 0.25])


@pytest.mark.parametrize(
    ("text", "by_numpy", "x"),
    [
        (
            "f[i] = where(greater(x[i], 0), x[i]*log(x[i]), 0)",
            lambda x: np.where(x > 0, x * np.log(x), 0),
            [0.0, 0.5],
        ),
        (
            "f[i] = where(greater(x[i], 0), sqrt(x[i]), 0)",
            lambda x: np.where(x > 0, np.sqrt(x), 0),
            [-1.0, 0, 2],
        ),
        ("f[i] = sqrt(maximum(x[i], 0))", lambda x: np.sqrt(np.maximum(x, 0)), [-1.0, 1.0]),
        ("f[i] = sqrt(sum[k] x[i, k]**2)", lambda x: np.sqrt(np.sum(x**2, 1)), [[0.0, 0.0], [3.0, 4.0]]),
        ("f[i] = sqrt(x[i]**2)", lambda x: np.sqrt(x**2), [0.0, 1.0]),
        (
            "f = sqrt(x[0])*x[1] + sqrt(x[2] - x[3])",
            lambda x: np.sqrt(x[0]) * x[1] + np.sqrt(x[2] - x[3]),
            [0.0] * 4,
        ),
        ("f[i, j] = sqrt(x[i])*x[j]", lambda x: np.sqrt(x)[:, None] * x, [0.0, 0.0]),
    ],
)
def test_zero_times_infinity_as_in_numpy_rules(text, by_numpy, x):
    function, x = ld.tensor(text), np.array(x)
    with np.errstate(all="ignore"):
        gradients = [ld.grad(lambda x: np.sum(f(x)))(x) for f in (function, by_numpy)]  # noqa: B023
        tangents = [ld.jvp(f, (x,), (np.ones_like(x),))[1] for f in (function, by_numpy)]
        rows = function.jacobian("x")(x).toarray()
        expected = np.reshape(ld.jacobian(by_numpy)(x), rows.shape)
    np.testing.assert_allclose(*gradients)
    np.testing.assert_allclose(*tangents)
    np.testing.assert_allclose(rows, expected)


def test_elements_that_are_never_read():
    x = np.append(np.nan, numbers(5))
    for text in ("f[i] = sum[k] square(x[i + k + 1])*w[k]", "f[i] = sum[k] exp(x[i + k + 1])*w[k]"):
        found = ld.tensor(text).adjoint("x")(x, np.ones(2), np.ones(4))
        assert found[0] == 0.0
        assert np.isfinite(found).all()


@pytest.mark.parametrize("kind", ["max", "min"])
def test_the_largest_of_numbers_with_a_nan(kind):
    function, by_numpy = ld.tensor(f"f[i] = {kind}[k] x[i, k]"), getattr(np, kind)
    x = np.array([[1.0, np.nan, 2.0], [1.0, np.nan, np.nan], [3.0, 3.0, 3.0]])
    found, expected = (ld.jacobian(f)(x) for f in (function, lambda x: by_numpy(x, 1)))
    np.testing.assert_allclose(found, expected)


def test_divisions_by_small_numbers_and_by_zero():
    x, y = np.array([1e-310, 0.0, 3.0, 1.0]), np.array([1e-310, 1e-310, 7.0, 3.0])
    np.testing.assert_array_equal(ld.tensor("f[i] = x[i]/y[i]")(x, y), x / y)
    np.testing.assert_allclose(ld.tensor("f[i] = x[i]/1e-310")(x[:2]), [1.0, 0.0])
    with np.errstate(all="ignore"):
        np.testing.assert_array_equal(ld.tensor("f[i, j] = -x[i]/y[j]*x[j]")(x, y), -x[:, None] / y * x)
        np.testing.assert_array_equal(ld.tensor("f[i] = x[i]/0")(x - 1), (x - 1) / 0)
        np.testing.assert_array_equal(ld.tensor("f[i] = x[i]/(1 - 1)*2")(x[1:]), x[1:] / 0 * 2)


@pytest.mark.parametrize("name", ["deg2rad", "radians", "rad2deg", "degrees"])
def test_angles_in_other_units(name):
    x, function = numbers(3), ld.tensor(f"f[i] = sin({name}(x[i]))")
    expected = lambda x: np.sin(getattr(np, name)(x))
    gradients = [ld.grad(lambda x: np.sum(f(x)))(x) for f in (function, expected)]  # noqa: B023
    np.testing.assert_allclose(*gradients)
    np.testing.assert_allclose(*(ld.jvp(f, (x,), (x,))[1] for f in (function, expected)))


def test_functions_of_the_users():
    softplus = ld.tensor(
        "f[i] = softplus(x[i], 2)", functions={"softplus": lambda x, b: np.log1p(np.exp(b * x)) / b}
    )
    x = numbers(5)
    np.testing.assert_allclose(softplus(x), np.log1p(np.exp(2 * x)) / 2)
    np.testing.assert_allclose(ld.grad(lambda x: np.sum(softplus(x)))(x), 1 / (1 + np.exp(-2 * x)))


@pytest.mark.parametrize(
    ("text", "by_numpy"),
    [
        ("f = prod[k] x[k]", lambda x: np.prod(x)),
        ("f = prod[k] (x[k] + 1j)", lambda x: np.prod(x + 1j)),
        ("f = sum[k] 2j*x[k]", lambda x: np.sum(2j * x)),
        ("f = sum[k] x[k]/(1 + 2j)", lambda x: np.sum(x / (1 + 2j))),
        ("f = sum[k] (1 + 1j)**2*x[k]*sin(1j*x[k])", lambda x: np.sum((1 + 1j) ** 2 * x * np.sin(1j * x))),
    ],
)
@pytest.mark.parametrize("dtype", [float, complex])
def test_gradients_through_complex_numbers(text, by_numpy, dtype):
    function, x = ld.tensor(text), numbers(3).astype(dtype)
    if dtype is complex:
        x += 1j * numbers(3)
    for part in (np.real, np.imag):
        expected = ld.grad(lambda x: part(by_numpy(x)))(x)  # noqa: B023
        np.testing.assert_allclose(ld.grad(lambda x: part(function(x)))(x), expected, atol=1e-14)  # noqa: B023


@pytest.mark.parametrize("dtype", [float, complex])
@pytest.mark.parametrize(
    ("text", "by_numpy"),
    [
        ("f = sum[i] conjugate(x[i])*x[i]", lambda x: np.sum(np.conjugate(x) * x)),
        ("f = sum[i] exp(conjugate(2j*x[i])*x[i])", lambda x: np.sum(np.exp(np.conjugate(2j * x) * x))),
        ("f = prod[i] (1 + 1j*conjugate(sin(x[i])))", lambda x: np.prod(1 + 1j * np.conjugate(np.sin(x)))),
    ],
)
def test_derivatives_through_conjugates(text, by_numpy, dtype):
    function, x, x_dot = ld.tensor(text), numbers(3).astype(dtype), numbers(3).astype(dtype)
    if dtype is complex:
        x, x_dot = x + 1j * numbers(3), x_dot + 1j * numbers(3)

    def derivatives(f):
        gradient = ld.grad(lambda x: np.real(f(x)))
        yield gradient(x)
        yield ld.jvp(f, (x,), (x_dot,))[1]
        yield ld.jvp(gradient, (x,), (x_dot,))[1]
        yield ld.grad(lambda x: np.real(np.sum(gradient(x) * x_dot)))(x)

    for found, expected in zip(derivatives(function), derivatives(by_numpy), strict=True):
        np.testing.assert_allclose(found, expected, rtol=1e-12, atol=1e-12)
    y_bar = np.array(0.3 + 0.1j)
    expected = ld.vjp(by_numpy, x.astype(complex))[1](y_bar)[0]
    np.testing.assert_allclose(function.adjoint("x")(x, y_bar), expected)


@pytest.mark.parametrize("dtype", [float, complex])
@pytest.mark.parametrize(
    ("text", "by_numpy"),
    [
        ("f = max[k] x[k]", np.max),
        ("f = min[k] x[k]*x[k]", lambda x: np.min(x * x)),
        ("f = sum[k] maximum(x[k], 2)", lambda x: np.sum(np.maximum(x, 2))),
        ("f = sum[k] fmax(x[k], 2)", lambda x: np.sum(np.fmax(x, 2))),
        ("f = sum[k] fmin(x[k], 2)*x[k]", lambda x: np.sum(np.fmin(x, 2) * x)),
        ("f = sum[k] where(greater(x[k], 2), x[k]*x[k], 1)", lambda x: np.sum(np.where(x > 2, x * x, 1))),
    ],
)
def test_derivatives_of_the_larger_of_numbers(text, by_numpy, dtype):
    x = np.array([1 + 2j, 3 - 1j, 2.5 + 5j]) if dtype is complex else np.array([1.0, 3.0, 2.5])
    f = ld.tensor(text)
    np.testing.assert_allclose(f(x), by_numpy(x))
    for part in (np.real, np.imag) if dtype is complex else (np.real,):
        expected = ld.grad(lambda x: part(by_numpy(x)))(x)  # noqa: B023
        np.testing.assert_allclose(ld.grad(lambda x: part(f(x)))(x), expected)  # noqa: B023
    np.testing.assert_allclose(ld.jvp(f, (x,), (x,))[1], ld.jvp(by_numpy, (x,), (x,))[1])


def test_what_is_differentiable_of_real_numbers_alone():
    real = ld.tensor("f[i] = conjugate(x[i])*x[i]")
    np.testing.assert_allclose(real.jacobian("x")(np.array([1.0, 2.0])).diagonal(), [2.0, 4.0])
    x = np.array([1.0 + 1j, 2.0])
    with pytest.raises(TypeError, match="conjugates"):
        real.jacobian("x")(x)
    signs = ld.tensor("f = sum[i] sign(x[i])")
    sizes = ld.tensor("f = sum[i] abs(x[i])")
    for f in (signs, sizes):
        np.testing.assert_allclose(f(x), np.sum(np.sign(x)) if f is signs else np.sum(np.abs(x)))
        for derivative in (
            lambda f=f: ld.grad(lambda x: np.real(f(x)))(x),
            lambda f=f: ld.jvp(f, (x,), (x,)),
        ):
            with pytest.raises(TypeError, match="sign"):
                derivative()
        with pytest.raises(TypeError, match="sizes"):
            f.jacobian("x")(x)


@pytest.mark.parametrize(
    "text",
    [
        *("abs(x[i])", "abs(x[i] - y[i])*x[i]", "1j*abs(x[i])", "equal(x[i], y[i])*x[i]", "floor(abs(x[i]))"),
        *("where(less(abs(x[i]), 2), x[i], y[i])", "where(x[i], 1, 2)", "isnan(x[i])", "logical_not(x[i])"),
        *("where(logical_and(x[i], y[i]), x[i], 1j)", "exp(-abs(x[i])**2)", "reciprocal(abs(x[i]))"),
    ],
)
@pytest.mark.parametrize("dtype", ["F", "D"])
def test_real_numbers_that_functions_make_of_complex_ones(text, dtype):
    x, y = np.array([1 + 1j, 3 - 4j, 0, np.nan], dtype), np.array([1 + 1j, 0, 2j, -1], dtype)
    f = ld.tensor(f"f[i] = {text}")
    with np.errstate(all="ignore"):
        expected = eval(text.replace("[i]", ""), {**vars(np), "x": x, "y": y})
        found = f(**{name: {"x": x, "y": y}[name] for name in f.arguments})
    assert found.dtype == dtype
    np.testing.assert_allclose(found, expected, rtol=1e-6)


def test_conditions_that_are_complex_numbers_do_not_make_results_complex():
    x = np.array([1.0, -2.0])
    for condition, expected in (("1j", x), ("0j", [3.0, 3.0])):
        found = ld.tensor(f"f[i] = where({condition}, x[i], 3)")(x)
        assert found.dtype == float
        np.testing.assert_array_equal(found, expected)


# -- what has gone wrong -------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("text", "options", "expected"),
    [
        ("f[i] = sum[k] cos(i*x[k])", {"i": 3}, lambda x: [np.sum(np.cos(i * x)) for i in range(3)]),
        ("f[i] = sum[k] sin(x[i+k]*(k + 1))", {"k": 2}, lambda x: np.sin(x[:-1]) + np.sin(2 * x[1:])),
        ("f[i] = sum[k] 1/(x[k] + i + 9)", {"i": 2}, lambda x: [np.sum(1 / (x + i + 9)) for i in range(2)]),
        ("f[i] = sum[k] where(greater(k, i), x[k], 0)", {"i": 2}, lambda x: [np.sum(x[1:]), np.sum(x[2:])]),
        ("f[i] = sum[k] exp([i == k]*x[k])", {"i": 2}, lambda x: np.exp(x[:2]) + len(x) - 1),
    ],
)
def test_indices_within_functions_of_elements(text, options, expected):
    x = numbers(5)
    function = ld.tensor(text, ranges=options)
    np.testing.assert_allclose(function(x), expected(x), rtol=1e-13)
    gradient = ld.grad(lambda x: np.sum(np.stack(expected(x))))(x)
    np.testing.assert_allclose(ld.grad(lambda x: np.sum(function(x)))(x), gradient, rtol=1e-12)


def test_functions_of_elements_beside_zeros():
    x, ranges = np.array([0.3, -0.7, 1.1, 0.4]), {"i": 4, "k": 2}
    function = ld.tensor("f[i] = sum[k] sin(x[i-k])", ranges=ranges, outside="zero")
    np.testing.assert_allclose(function(x), np.sin(x) + np.append(0.0, np.sin(x[:-1])))
    gradient = np.cos(x) * np.array([2.0, 2.0, 2.0, 1.0])
    np.testing.assert_allclose(ld.grad(lambda x: np.sum(function(x)))(x), gradient)
    np.testing.assert_allclose(ld.jvp(lambda x: np.sum(function(x)), (x,), (x,))[1], np.sum(gradient * x))


@pytest.mark.parametrize(
    "name", ["f_bar", "x_bar", "u_bar", "u_dot", "x_dot", "f_dot", "u", "sum1", "ties", "p"]
)
def test_arrays_with_the_names_of_derivatives(name):
    function = ld.tensor(f"f[i] = sum[k] tanh(x[k])*{name}[i]*x[i]")
    expected = lambda x, y: np.sum(np.tanh(x)) * y * x
    x, y = numbers(4), numbers(4)
    for k in range(2):
        for f in (function, expected):
            assert f(x, y).shape == (4,)
        total, other = (lambda *v, f=f: np.sum(f(*v) ** 2) for f in (function, expected))
        np.testing.assert_allclose(ld.grad(total, k)(x, y), ld.grad(other, k)(x, y))
        along = [
            lambda v, f=f, k=k: f(*(v if j == k else (x, y)[j] for j in range(2))) for f in (total, other)
        ]
        first, second = (ld.jvp(lambda v, f=f: ld.jvp(f, (v,), (x,))[1], (x,), (y,)) for f in along)
        np.testing.assert_allclose(first, second)
        twice, second = (ld.grad(lambda v, f=f: np.sum(ld.grad(f)(v) * y))((x, y)[k]) for f in along)
        np.testing.assert_allclose(twice, second)


@pytest.mark.parametrize("result", ["x_bar", "u", "f_bar"])
def test_results_with_the_names_of_derivatives(result):
    function = ld.tensor(f"{result}[i] = sum[k] tanh(x[k])*x[i]")
    x = numbers(4)
    expected = ld.grad(lambda x: np.sum(np.sum(np.tanh(x)) * x))(x)
    np.testing.assert_allclose(ld.grad(lambda x: np.sum(function(x)))(x), expected)


def test_an_integer_with_the_name_of_an_index_elsewhere():
    x = numbers(3, 4)
    function = ld.tensor("f[i | i < k] = sum[k] x[i, k]")
    np.testing.assert_allclose(function(x, k=2), [*np.sum(x[:2], 1), 0.0])


def test_one_name_for_indices_of_several_reductions():
    x = np.arange(1.0, 6.0)
    function = ld.tensor("f = (sum[k] x[k]) + (sum[k] x[k]**2)", ranges={"k": 2})
    assert function(x) == 8.0
    for text in ("(sum[k, l] x[k + l]) + (sum[k] x[k])", "(sum[k] x[k]) + (sum[k, l] x[k + l])"):
        with pytest.raises(ValueError, match="the range of k cannot be found"):
            ld.tensor(f"f = {text}")(x)
    with pytest.raises(ValueError, match=r"there is no index k2; there are k$"):
        ld.tensor("f = (sum[k] x[k]) + (sum[k] x[k]**2)", ranges={"k2": 2})


def test_numbers_of_every_kind():
    x = np.array([1.0, 2.0])
    for text, expected in {
        "f[i] = 2j*x[i]": 2j * x,
        "f[i] = .5j*x[i]": 0.5j * x,
        "f[i] = exp(1j*x[i])": np.exp(1j * x),
        "f[i] = 10**20*x[i]": 1e20 * x,
        "f[i] = 100000000000000000000*x[i]": 1e20 * x,
        "f[i] = 2**64*x[i]": 2.0**64 * x,
        "f[i] = -10**400*x[i]": -np.inf * x,
        f"f[i] = x[i] + {'9' * 400}": np.inf * x,
        "f[i] = 2**-1*x[i]": x / 2,
        "f[i] = x[i]**-2": x**-2,
        "f[i] = where(greater(x[i], 1), 1, 2)": [2.0, 1.0],
        "f[i] = 1 - greater(x[i], 1)": [1.0, 0.0],
        "f[i] = -greater(x[i], 1)**2": [0.0, -1.0],
    }.items():
        np.testing.assert_allclose(ld.tensor(text)(x), expected, rtol=1e-15, err_msg=text)
    for text, expected in {"f = sum[i] x[i]**-2": -2 * x**-3, "f = sum[i] 1/x[i]": -(x**-2)}.items():
        np.testing.assert_allclose(ld.grad(ld.tensor(text))(x), expected, rtol=1e-15, err_msg=text)


@pytest.mark.parametrize("m", [-1, 0, 1, 2])
def test_an_integer_that_multiplies_the_only_index(m):
    x = numbers(12)
    function = ld.tensor("f[i] = x[m*i + 5]**2", ranges={"i": 3})
    expected = lambda x: x[[5, 5 + m, 5 + 2 * m]] ** 2
    np.testing.assert_allclose(function(x, m=m), expected(x))
    for transform in (ld.grad, ld.hessian):
        found = transform(lambda x: np.sum(function(x, m=m)))(x)
        np.testing.assert_allclose(found, transform(lambda x: np.sum(expected(x)))(x))


@pytest.mark.parametrize("function", [np.vecdot, lambda x, y: np.vecdot(x, y)])
def test_products_of_vectors_are_no_functions_of_numbers(function):
    with pytest.raises(TensorSyntaxError, match="dot"):
        ld.tensor("f[i] = dot(x[i], x[i])", functions={"dot": function})


def test_functions_that_ask_for_truth_are_refused():
    for function in (lambda a: a if a > 0 else -a, lambda a: 1.0 if a == 0 else a):
        with pytest.raises(TensorSyntaxError, match="g cannot be read"):
            ld.tensor("f[i] = g(x[i])", functions={"g": function})


def test_remainders_on_both_sides():
    x = np.arange(7.0)
    found = ld.tensor("f[i] = sum[k | k % 3 == i % 3] x[k]", ranges={"i": 3})(x)
    np.testing.assert_allclose(found, [x[i::3].sum() for i in range(3)])
    for wrong in ("k % 3 == 5", "k % 3 == -1", "k % 3 == i", "k % 3 == i % 2"):
        with pytest.raises(TensorSyntaxError, match="remainder"):
            ld.tensor(f"f[i] = sum[k | {wrong}] x[k]", ranges={"i": 3})


def test_remainders_by_one_in_brackets():
    x = numbers(6)
    np.testing.assert_array_equal(ld.tensor("f[i] = i + [(i - 2) % 1 == 0]*x[i]")(x), np.arange(6) + x)
    function = ld.tensor("f[i] = where([(i - 2) % m == 0, i < 99*m], x[i], -1)")
    for m in (1, 2, 3):
        np.testing.assert_array_equal(function(x, m=m), np.where(np.arange(-2, 4) % m == 0, x, -1))


def test_remainders_by_integers_of_the_call():
    x = numbers(30)
    for text, options in (("f = sum[i | i % m == 3] x[i]", {}), ("f = sum[i] cos([i % m == 3])*x[i]", {})):
        function = ld.tensor(text, **options)
        assert function.integers == ("m",)
        for m in (1, 2, 3, 4, 7):
            taken = np.arange(30) % m == 3
            expected = np.sum(x[taken]) if "cos" not in text else np.sum(np.where(taken, np.cos(1), 1) * x)
            np.testing.assert_allclose(function(x, m=m), expected, atol=1e-14)
            np.testing.assert_allclose(
                ld.grad(lambda x: function(x, m=m))(x),  # noqa: B023
                taken if "cos" not in text else np.where(taken, np.cos(1), 1),
            )
        for m in (0, -2):
            with pytest.raises(ValueError, match=f"m is {m}"):
                function(x, m=m)


def test_large_moduli():
    x, a, m = np.ones(1000), 2654435761, 2147483647
    found = ld.tensor(f"f = sum[i | ({a}*i + 5) % {m} == {(a * 777 + 5) % m}] i*x[i]")(x)
    assert found == sum(i for i in range(1000) if (a * (i - 777)) % m == 0)
    a, m = 4294967291, 2147483629
    text = f"f = sum[i | ({a}*i) % {m} == {a * 777 % m}, i % 2147483647 == 777] i*x[i]"
    assert ld.tensor(text, ranges={"i": 1000})(x) == 777
    large = (
        "f = sum[i,j,k | {0}*i <= {1}*j + {2}*k, {3}*j <= {4}*i + {5}*k, {1}*k <= {2}*i + {4}*j] x[i]*w[j, k]"
    )
    with pytest.raises(OverflowError, match="bounds of its loops"):
        ld.tensor(large.format(*(60000000007 - k for k in range(6))))(x[:5], np.ones((5, 5)))
    with pytest.raises(OverflowError, match="8589934583"):
        ld.tensor("f = sum[i | (2654435761*i) % 8589934583 == 5] x[i]")(x)


def test_places_that_remainders_alone_exclude():
    """Which is found for the loops that they tie, not for each value of the others."""
    loops, n = ["a", "b", "j"], 10**6
    domain = [*box_of(loops, [n, n, 3]), Condition("%", affine("j") - 1, affine(2)), at_least(0, "j")]
    assert first_place(domain, loops) is None
    assert first_place([*domain[:-1], at_least("a", "b")], loops) == {"a": 0, "b": 0, "j": 1}
    tied = Condition("%", affine("a") * 3 + affine("j") * 6 - 1, affine(9))
    assert first_place([*domain[:-2], tied], loops) is None


def test_a_ring_without_elements():
    with pytest.raises(IndexError, match="has no elements"):
        ld.tensor("f[i] = x[i - 1]", ranges={"i": 3}, outside="wrap")(np.ones(0))
    assert ld.tensor("f[i] = x[i - 1]", outside="wrap", ranges={"i": "n"})(np.ones(0), n=0).shape == (0,)


def test_derivatives_of_terms_with_many_elements():
    z = np.random.default_rng(0).uniform(0, 1, 45)
    products = " + ".join(f"x[k + {p}]*y[k + {p}]*{p + 0.1}" for p in range(14))
    f = ld.tensor(f"f = max[k] ({products})", ranges={"k": 5})
    summed = lambda x, y: np.max(sum(x[p : p + 5] * y[p : p + 5] * (p + 0.1) for p in range(14)))
    g = ld.tensor(
        "f[i] = exp(" + " + ".join(f"x[i + {p}]*{p / 40}" for p in range(40)) + ")", ranges={"i": 5}
    )
    exponential = lambda x: np.exp(sum(x[p : p + 5] * (p / 40) for p in range(40)))
    np.testing.assert_allclose(f(z, 2 * z), summed(z, 2 * z))
    np.testing.assert_allclose(ld.grad(f)(z, 2 * z), ld.grad(summed)(z, 2 * z))
    np.testing.assert_allclose(ld.jvp(f, (z, z), (z, z))[1], ld.jvp(summed, (z, z), (z, z))[1])
    np.testing.assert_allclose(ld.jacobian(g, mode="rev")(z), ld.jacobian(exponential)(z))
    np.testing.assert_allclose(ld.jvp(g, (z,), (z,))[1], ld.jvp(exponential, (z,), (z,))[1])


@pytest.mark.parametrize("beside", ["", " + 1", " + i"])
def test_factors_that_are_zero_where_conditions_say_so(beside):
    w, rest = np.array([1.0, np.inf, np.nan]), {"": 0.0, " + 1": 1.0}.get(beside, np.arange(3.0))
    x = np.ones(1)
    f = ld.tensor(f"f[i] = x[i]*w[i]{beside}", outside={"x": "zero"}, ranges={"i": 3})
    np.testing.assert_array_equal(f(x, w), np.array([1.0, 0.0, 0.0]) + rest)
    bracket = ld.tensor(
        f"f[i] = [0 < i, i < 2]*x[i - 1]*2{beside}", ranges={"i": 3}
    )  # which reads nothing else
    np.testing.assert_array_equal(bracket(x), np.array([0.0, 2.0, 0.0]) + rest)


def of_three(f):
    """Of three neighbours, where the first one is among the first two numbers; 0 behind."""
    return lambda x: np.array([f(x[:3]), f(x[1:4]), 0.0 * x[0], 0.0 * x[0]])


# Of four positive numbers, with four values of i and three of k.
UNDER_CONDITIONS = {
    "f = sum[i] ([i < 2]*x[i + 2] + x[i])": lambda x: np.sum(x) + x[2] + x[3],
    "f[i] = 2*([i < 1]*x[i + 3] + x[i])": lambda x: 2 * (np.array([1.0, 0, 0, 0]) * x[3] + x),
    "f[i] = ([i < 1]*x[i + 3] - x[i])/x[i]": lambda x: (np.array([1.0, 0, 0, 0]) * x[3] - x) / x,
    "f = sum[i] x[i]*(x[i] - [i < 2]*x[i + 2]*3)": lambda x: np.sum(x * x) - 3 * (x[0] * x[2] + x[1] * x[3]),
    "f = exp(-sum[i] ([i < 2]*x[i + 2] + x[i]))": lambda x: np.exp(-np.sum(x) - x[2] - x[3]),
    "f[i] = [i < 2]*max[k] x[i + k]": of_three(np.max),
    "f[i] = [i < 2]*prod[k] x[i + k]": of_three(np.prod),
    "f[i] = [i < 2]*tanh(sum[k] x[i + k])": of_three(lambda x: np.tanh(np.sum(x))),
    "f[i] = [i < 2]*x[i]*(sum[k] x[i + k])*sum[k] x[i + k]": of_three(lambda x: x[0] * np.sum(x) ** 2),
    "f = sum[i] [i < 2]*log(min[k] x[i + k])": lambda x: np.log(np.min(x[:3])) + np.log(np.min(x[1:])),
    "f[i] = z[i + 2]*max[k] x[i + k]": of_three(np.max),
}


@pytest.mark.parametrize("text", UNDER_CONDITIONS)
def test_what_conditions_leave_out_is_not_read(text):
    others = {"z": np.ones(4)} if "z[" in text else {}
    ranges = {name: size for name, size in {"i": 4, "k": 3}.items() if f"{name}]" in text}
    f = ld.tensor(text, ranges=ranges, outside=dict.fromkeys(others, "zero"))
    x = np.array([1.5, 3.0, 0.5, 2.0])
    np.testing.assert_allclose(f(x=x, **others), UNDER_CONDITIONS[text](x))
    check_grads(lambda x: np.sum(np.sin(f(x=x, **others) / 10)), (x,), order=2)


def test_what_conditions_leave_out_may_be_infinite():
    x, y = np.array([1.0, 2.0]), np.array([3.0, np.inf])
    for text, expected in {
        "f = sum[i] ([i < 1]*y[i] + x[i])": 6.0,
        "f[i] = 2*([i < 1]*y[i] + x[i])": [8.0, 4.0],
        "f = exp(-sum[i] (x[i] + [i < 1]*y[i]))": np.exp(-6.0),
        "f[i] = x[i]*(sum[k] ([k < 1]*y[k] - 1))": [1.0, 2.0],
    }.items():
        np.testing.assert_array_equal(ld.tensor(text)(x=x, y=y), expected)


@pytest.mark.parametrize(
    ("function", "left_out"), [("log", 0.0), ("log", np.nan), ("arctanh", 1.0), ("sqrt", 0.0)]
)
def test_second_derivatives_of_what_conditions_leave_out(function, left_out):
    f = ld.tensor(f"f[j] = sum[i | i < 2] {function}(x[i])*A[i, j]")
    x, A = np.array([0.5, 0.25, left_out, left_out]), np.arange(1.0, 13.0).reshape(4, 3)

    def of_part(x):
        return np.sum(getattr(np, function)(x[:2]) @ A[:2])

    def along(f, x):
        return ld.hvp(f, (x,), (np.ones(4),))

    with np.errstate(all="ignore"):
        for derivative in (along, ld.jacobian(along, argnums=1)):
            found = derivative(lambda x: np.sum(f(x, A)), x)
            np.testing.assert_allclose(found, derivative(of_part, x), rtol=1e-12)


def test_what_is_printed_says_nothing_that_always_holds():
    rng, errors = random.Random(0), []
    for _ in range(300):
        names, form = ["i", "j", "k", "l"], str(rng.randint(0, 12))
        for name in names:
            form += f" + {rng.choice([-2, -1, -1, 0, 1, 1, 2, 3])}*{name}"
        ranges = {name: rng.randint(1, 6) for name in names}
        adjoint = ld.tensor(f"f[i, j] = sum[k, l] x[{form}]", ranges=ranges).adjoint("x")
        try:
            ld.tensor(str(adjoint), outside="zero")
        except ValueError as error:  # places that are divided, and sizes, are not read
            errors.append(str(error))
    assert errors
    assert not any("holds always" in error for error in errors)


def test_an_expression_that_is_too_long():
    with pytest.raises(TensorSyntaxError, match="too long"):
        ld.tensor("f[i] = " + "exp(" * 3000 + "x[i]" + ")" * 3000)
    i, x = ld.tensor.indices("i"), ld.tensor.arrays("x")
    expression = x[i]
    for _ in range(3000):
        expression = np.exp(expression)
    with pytest.raises(TensorSyntaxError, match="too long"):
        ld.tensor(expression, [i])


N = 200
MANY = {
    "*".join(f"x[{k}]" for k in range(N)): lambda x: np.prod(x),
    f"tanh({' + '.join(f'x[{k}]' for k in range(N))})": lambda x: np.tanh(np.sum(x)),
    "/".join(f"x[{k}]" for k in range(N)): lambda x: functools.reduce(np.divide, list(x)),
    "-".join(["x[0]"] * N): lambda x: x[0] - (N - 1) * x[0],
    "**".join(f"x[{k}]" for k in range(N)): lambda x: functools.reduce(lambda y, z: z**y, list(x)[::-1]),
    f"sum[i] cos({'*'.join(f'x[i + {k}]' for k in range(50))})": lambda x: sum(
        np.cos(np.prod(x[i : i + 50])) for i in range(N - 49)
    ),
    f"sum[i | i < 3] log({'*'.join(f'(x[i] + x[i*{k}])' for k in range(50))})": lambda x: sum(
        np.log(np.prod(x[i] + x[i * np.arange(50)])) for i in range(3)
    ),
}


@pytest.mark.parametrize("text", MANY)
def test_many_written_elements(text):
    x = np.random.default_rng(0).uniform(0.98, 1.02, N)
    f = ld.tensor(f"f = {text}")
    np.testing.assert_allclose(f(x), MANY[text](x), rtol=1e-12)
    np.testing.assert_allclose(ld.grad(f)(x), ld.grad(MANY[text])(x), rtol=1e-10, atol=1e-12)
    for statement in [*f.statements, *f.adjoint("x").statements]:
        for term in statement.terms:
            assert len(set(accesses(term.body))) <= 40


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("f[i] = (x[i] - y[i] + [i == 0])*w[i]", lambda d, w, first: (d + first) * w),
        ("f[i] = 0.3*(x[i] - y[i] + [i == 0])", lambda d, w, first: 0.3 * (d + first)),
        ("f[i] = (x[i] - y[i] + [i == 0])/w[i]", lambda d, w, first: (d + first) / w),
        ("f[i] = exp(w[i])*(x[i] - y[i] + [i == 0])", lambda d, w, first: np.exp(w) * (d + first)),
        ("f[i] = ([i > 0]*x[i] - [i > 0]*y[i])*w[i]", lambda d, w, first: (1 - first) * d * w),
        ("f[i] = (x[i] - y[i] + sum[k] [k == i]*w[k])*w[i]", lambda d, w, first: (d + w) * w),
        ("f = sum[i] (x[i] - y[i] + [i == 0])*w[i]", lambda d, w, first: np.sum((d + first) * w)),
        ("f = 0.3*sum[i] (x[i] - y[i] + [i == 0])", lambda d, w, first: 0.3 * np.sum(d + first)),
    ],
)
@pytest.mark.parametrize("scale", [1.0, 1e184])
def test_summands_beside_conditions_cancel_before_they_are_multiplied(text, expected, scale):
    x, w = scale * np.array([1e16, 1e16 + 2, 1e16 + 4]), np.array([0.1, 0.3, 0.7])
    y = np.full(3, x[0])
    f = ld.tensor(text)
    args = {name: {"x": x, "y": y, "w": w}[name] for name in f.arguments}
    np.testing.assert_allclose(f(**args), expected(x - y, w, np.arange(3) == 0), rtol=1e-15)


def test_products_of_many_sums_with_conditions():
    n = 12
    x = numbers(n)
    product = "*".join(f"([i > {k}]*x[i - {k + 1}] + x[{k}])" for k in range(n))
    f = ld.tensor(f"f[i] = {product}", ranges={"i": n})
    assert max(len(s.terms) for s in f.statements) <= 2

    def by_loops(x):
        places = [(i, k) for i in range(n) for k in range(n)]
        factors = [(x[i - k - 1] if i > k else 0) + x[k] for i, k in places]
        return np.sum(np.prod(np.reshape(np.stack(factors), (n, n)), 1))

    np.testing.assert_allclose(np.sum(f(x)), by_loops(x))
    np.testing.assert_allclose(ld.grad(lambda x: np.sum(f(x)))(x), ld.grad(by_loops)(x))


def test_what_is_written_twice_is_computed_once():
    x = numbers(9)
    f = ld.tensor("f[i] = sum[j] tanh(x[i + j])*tanh(x[j])", ranges={"j": 3})
    assert len(f.statements) == 2
    np.testing.assert_allclose(f(x), np.correlate(np.tanh(x), np.tanh(x[:3]), "valid"))
    f = ld.tensor("f[i] = ([i > 1]*x[i] + [i > 1]*x[i - 1] + 2)*exp(sum[k] x[i + k])", ranges={"k": 3})
    assert len(f.statements) == 3
    beside = np.where(np.arange(7) > 1, x[:7] + np.roll(x, 1)[:7], 0) + 2
    np.testing.assert_allclose(f(x), beside * np.exp(np.convolve(x, np.ones(3), "valid")))


def test_what_conditions_leave_out_is_not_needed():
    x = numbers(3, 2)
    triangle = ld.tensor("f[i] = sum[j | i + j < 3] exp(sum[k] x[j, k])", ranges={"i": 6, "j": 6})
    rows = np.exp(np.sum(x, 1))
    np.testing.assert_allclose(triangle(x), [np.sum(rows[: max(3 - i, 0)]) for i in range(6)])
    gradient = ld.grad(lambda x: np.sum(triangle(x)))(x)
    np.testing.assert_allclose(gradient, np.outer([3, 2, 1] * rows, np.ones(2)))
    equal = ld.tensor("f[i] = sum[j, l | 2*i == j + l] exp(sum[k] x[j, k])", ranges={"i": 2, "j": 9, "l": 2})
    np.testing.assert_allclose(equal(x), [rows[0], rows[1] + rows[2]])


def test_sums_of_many_terms():
    x = numbers(30)
    many = ld.tensor("f[i] = " + "+".join(["x[i]"] * 300) + "".join(f"-{k}*x[i]" for k in range(40)))
    np.testing.assert_allclose(many(x), (300 - 780) * x)
    np.testing.assert_allclose(ld.grad(lambda x: np.sum(many(x)))(x), 300 - 780)
    np.testing.assert_allclose(ld.jvp(many, (x,), (x,))[1], (300 - 780) * x)
    nested = ld.tensor("f[i] = tanh(" + "+".join(["x[i]"] * 300) + ")")
    np.testing.assert_allclose(nested(x), np.tanh(300 * x))
    w = numbers(7, 7)
    places = [(p, q) for p in range(7) for q in range(7)]
    stencil = ld.tensor("f[i, j] = " + " + ".join(f"{w[p, q]}*x[i+{p}, j+{q}]" for p, q in places))
    x = numbers(10, 9)
    expected = lambda x: sum(w[p, q] * x[p : p + 4, q : q + 3] for p, q in places)
    np.testing.assert_allclose(stencil(x), expected(x), rtol=1e-12)
    f_bar = numbers(4, 3)
    gradients = [ld.grad(lambda x: np.sum(f(x) * f_bar))(x) for f in (stencil, expected)]  # noqa: B023
    np.testing.assert_allclose(*gradients)


def test_numbers_are_another_ones_as_complex_numbers_and_with_the_other_sign_of_zero():
    x = np.array([1.0, -4.0])
    for text, text_of_equal_number in [
        ("f[i] = sqrt(x[i]*2)", "f[i] = sqrt(x[i]*(2+0j))"),
        ("f[i] = copysign(x[i], 0.0)", "f[i] = copysign(x[i], -0.0)"),
    ]:
        both = ld.tensor(text), ld.tensor(text_of_equal_number)
        with np.errstate(invalid="ignore"):
            found = ld.program(lambda x, both=both: [f(x) for f in both])(x)
            np.testing.assert_array_equal(found, [f(x) for f in both])
    np.testing.assert_array_equal(both[1](x), [-1.0, -4.0])
    assert str(both[1]) == "f[i] = copysign(x[i], -0.0)"


@pytest.mark.parametrize("of", [complex, np.complex64, np.complex128, np.clongdouble])
def test_complex_numbers_of_any_precision(of):
    i, X, x = ld.tensor.indices("i"), ld.tensor.arrays("x"), np.array([1.0, -2.0])
    np.testing.assert_array_equal(ld.tensor(X[i] * of(1j), [i])(x), x * 1j)
    np.testing.assert_array_equal(ld.tensor(X[i] * (i * of(1j)), [i])(x), [0, -2j])
    np.testing.assert_array_equal(
        ld.tensor(X[i] * of(2 + 3j), [i]).adjoint("x")(x, np.ones(2)), [2 - 3j, 2 - 3j]
    )
    g = ld.tensor("f[i] = g(x[i])", functions={"g": lambda x: np.exp(x * of(1j))})
    np.testing.assert_allclose(g(x), np.exp(1j * x))


def same_signs(x, y):
    """Whether numbers are the same, zeros and NaN too."""
    if np.iscomplexobj(x) or np.iscomplexobj(y):
        return same_signs(np.real(x), np.real(y)) and same_signs(np.imag(x), np.imag(y))
    is_nan = np.isnan(x)
    return np.array_equal(x, y, equal_nan=True) and np.all(is_nan | (np.signbit(x) == np.signbit(y)))


@pytest.mark.parametrize("dtype", ["f", "d", "F", "D"])
@pytest.mark.parametrize("n", [2, 3000])
def test_signs_of_zeros_in_results(dtype, n):
    x = np.repeat(np.array([0.0, -0.0, 1.5, -2.0, np.inf, np.nan]), n).astype(dtype)
    for text, by_numpy in (
        ("f[i] = x[i]", lambda x: x),
        ("f[i] = -x[i]", lambda x: -x),
        ("f[i] = x[i]*x[i]", lambda x: x * x),
        ("f[i] = x[i] + x[i]", lambda x: x + x),
        ("f[i] = sin(x[i])", np.sin),
        ("f[i, j] = x[i]*y[j]", lambda x: np.outer(x, -x[:7])),
    ):
        with np.errstate(all="ignore"):
            given = (x, -x[:7]) if "y" in text else (x,)
            assert same_signs(ld.tensor(text)(*given), by_numpy(x)), text
    assert np.signbit(ld.tensor("f = x*y")(-0.0, 1.0))
    assert not np.signbit(ld.tensor("f = sum[i] x[i]")(np.full(3, -0.0)))  # as NumPy's


WHAT_CHANGES_ZEROS = [
    *("x[i] + 0", "0.0 + x[i]", "x[i] + (-0.0)", "x[i] - 0", "x[i] - (-0.0)", "0 - x[i]", "x[i] - x[i]"),
    *("1*x[i]", "x[i]*(-1)", "(-1)*x[i]", "x[i]/1", "x[i]/(-1)", "-(-x[i])", "-(x[i] - x[i])", "0*x[i]"),
    *("-(x[i] + x[i])", "(-2)*x[i]", "-x[i]*x[i]", "x[i]*(x[i]*x[i])", "-x[i]/x[i]", "1 - (1 - x[i])"),
    *("x[i]**1", "x[i]**2", "x[i]**1.0", "x[i]**2.0", "x[i]**(-1)"),
]


@pytest.mark.parametrize("text", WHAT_CHANGES_ZEROS)
@pytest.mark.parametrize("dtype", ["f", "d", "F", "D"])
def test_what_changes_the_signs_of_zeros_is_computed(text, dtype):
    parts = [0.0, -0.0, 2.0, -3.0]
    x = np.array(parts if dtype in "fd" else [complex(a, b) for a in parts for b in parts], dtype)
    with np.errstate(all="ignore"):
        for function in ("", "sqrt", "log", "reciprocal"):
            whole = f"{function}({text})"
            expected = eval(whole.replace("[i]", ""), {"x": x, **vars(np)})
            assert same_signs(ld.tensor(f"f[i] = {whole}")(x), expected), whole


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("f[i] = 0*x[i]", [0, np.nan, 0]),
        ("f[i] = y[i] + x[i]*0", [1, np.nan, 1]),
        ("f[i] = [0 < i]*0*x[i] + y[i]", [1, np.nan, 1]),
        ("f = 0*sum[k] x[k]*y[k]", np.nan),
        ("f[i] = sum[k] 0*x[i]*y[k]", [0, np.nan, 0]),
        ("f[i] = max[k] 0*x[i]*y[k]", [0, np.nan, 0]),
    ],
)
def test_arrays_beside_a_factor_of_zero(text, expected):
    f, given = ld.tensor(text), {"x": np.array([1.0, np.inf, 2.0])}
    if "y" in text:
        given["y"] = np.ones(3)
    assert set(f.arguments) == set(given)
    with np.errstate(invalid="ignore"):
        np.testing.assert_array_equal(f(**given), expected)
        gradient = ld.grad(lambda x: np.sum(f(**{**given, "x": x})))(given["x"])
    np.testing.assert_array_equal(gradient, 0)


@pytest.mark.parametrize("change", ["x[i] + 0j", "x[i] - 0j", "0j + x[i]", "x[i]*(1+0j)", "x[i]/(1+0j)"])
def test_numbers_that_change_nothing_but_the_kind_of_numbers(change):
    f, x = ld.tensor(f"f[i] = sqrt({change})"), np.array([1.0, -4.0])
    np.testing.assert_array_equal(f(x), [1, 2j])
    np.testing.assert_array_equal(ld.tensor(str(f))(x), [1, 2j])
    np.testing.assert_allclose(ld.jvp(f, (x,), (np.ones(2),))[1], [0.5, -0.25j])
    np.testing.assert_allclose(f.adjoint("x")(x, np.ones(2)), [0.5, 0.25j])


@pytest.mark.parametrize("dtype", ["f", "d", "D"])
@pytest.mark.parametrize(
    ("condition", "holds"),
    [("1", True), ("0.0", False), ("greater(3, 0.5)", True), ("isnan(3)", False), ("2j", True)],
)
def test_conditions_that_are_numbers(condition, holds, dtype):
    x, y = np.arange(3).astype(dtype), np.array([4, 5, 6], dtype)
    f = ld.tensor(f"f[i] = where({condition}, x[i]**2, x[i]*y[i])")
    np.testing.assert_allclose(f(x, y), x**2 if holds else x * y)
    np.testing.assert_allclose(f.adjoint("x")(x, y, np.ones(3, dtype)), 2 * x if holds else y)
    one_of_numbers = ld.tensor(f"f[i] = where({condition}, 7, x[i])")
    np.testing.assert_allclose(one_of_numbers(x), [7, 7, 7] if holds else x)
    other = ld.tensor(f"f[i] = where({condition}, x[i], 7)")
    np.testing.assert_allclose(other(x), x if holds else [7, 7, 7])


# -- in the house --------------------------------------------------------------------------------------------


def test_every_transform_takes_it():
    function = ld.tensor("f[i] = sum[k] x[i + k]*w[k]")
    plain = lambda x, w: np.stack([x[i : i + 3] @ w for i in range(4)])
    x, w = numbers(6), numbers(3)
    np.testing.assert_allclose(ld.jacobian(function, 0)(x, w), ld.jacobian(plain, 0)(x, w))
    square = lambda f: lambda x: np.sum(f(np.sin(x), w) ** 2)
    np.testing.assert_allclose(ld.hessian(square(function))(x), ld.hessian(square(plain))(x))
    many = np.stack([x, 2 * x])
    np.testing.assert_allclose(ld.vmap(function, in_axes=(0, None))(many, w), [plain(x, w), plain(2 * x, w)])
    checked = ld.checkpoint(lambda x: function(x, w))
    np.testing.assert_allclose(
        ld.grad(lambda x: np.sum(checked(x) ** 2))(x), 2 * ld.vjp(checked, x)[1](checked(x))[0]
    )


def test_programs_take_it_as_one_step():
    function = ld.tensor("f[i] = sum[k] x[i + k]*w[k]")
    total = lambda x, w: np.sum(function(np.sin(x), w) ** 2)
    fast, w = ld.program(total), numbers(3)
    for _ in range(5):
        x = numbers(6)
        np.testing.assert_allclose(fast(x, w), total(x, w), rtol=1e-14)
        np.testing.assert_allclose(ld.grad(fast)(x, w), ld.grad(total)(x, w), rtol=1e-13)
        np.testing.assert_allclose(ld.hessian(fast)(x, w), ld.hessian(total)(x, w), rtol=1e-12, atol=1e-14)
    assert "without a program" not in str(fast.explain(x, w))


def test_it_pickles():
    function = ld.tensor("f[i] = sum[k] x[i + k]*w[k]")
    x, w = numbers(6), numbers(3)
    np.testing.assert_array_equal(pickle.loads(pickle.dumps(function))(x, w), function(x, w))
    adjoint = function.adjoint("w")
    f_bar = numbers(4)
    np.testing.assert_array_equal(pickle.loads(pickle.dumps(adjoint))(x, w, f_bar), adjoint(x, w, f_bar))


def test_it_is_the_same_in_another_process(tmp_path):
    adjoint = ld.tensor("f[i, j] = sum[k | k <= i] x[i, k]*y[k, j]").adjoint("x")
    show = "import pickle, sys; print(pickle.load(sys.stdin.buffer))"
    for seed in "12":  # other hashes
        shown = subprocess.run(
            [sys.executable, "-c", show],
            input=pickle.dumps(adjoint),
            env={**os.environ, "PYTHONHASHSEED": seed},
            cwd=tmp_path,  # where the installed package is found
            capture_output=True,
            check=True,
        )
        assert shown.stdout.decode().strip() == str(adjoint)


# -- bad input -----------------------------------------------------------------------------------------------

X, W = np.arange(6.0), np.ones(3)
WRONG = {
    "f[i] = x[i*i]": "product of two indices",
    "f[i] = x[i**2]": "sums of indices times integers",
    "f[i] = x[i/2]": "sums of indices times integers",
    "f[i] = x[i] +": "something is missing",
    "f[i] = dot(x[i], x[i])": "no elementwise function dot",
    "f[i] = vecdot(x[i], x[i])": "no elementwise function vecdot",
    "f[i] = matmul(x[i], x[i])": "no elementwise function matmul",
    "f[i] = modf(x[i])": "no elementwise function modf",
    "f[i] = where(x[i], 1)": "a function of 3, not of 2",
    "f[i] = maximum(x[i])": "a function of 2, not of 1",
    "f[i] = x[i$]": "not understood",
    "f[i] = sum[i] x[i]": "bound twice",
    "f[i, i] = x[i]": "bound twice",
    "f[i] = f[i]": "what is defined",
    "f[i = x[i]": "']' is missing",
    "f[i] = x[i]*i[i]": "an array and an index",
    "f[i] = x[i] y[i]": "ends before this",
    "f[i] = sum[j | i != j] x[j]": "two sums",
    "f[i] = sum[j | j] x[j]": "comparison is missing",
    "f[i] = [i % 0 == 0]*x[i]": "positive integer",
}


@pytest.mark.parametrize("text", WRONG)
def test_what_cannot_be_read_is_marked(text):
    with pytest.raises(TensorSyntaxError, match=WRONG[text].replace("'", ".")) as caught:
        ld.tensor(text)
    line, mark = str(caught.value).splitlines()[-2:]
    assert text in line
    assert set(mark.strip()) == {"^"}


@pytest.mark.parametrize(
    ("text", "options", "error", "message"),
    [
        ("f[i] = x[i]", {"ranges": {"i": 2.0}}, TypeError, "2.0 is no integer"),
        ("f[i, j] = x[i]", {"ranges": {"j": "i"}}, TypeError, "conditions"),
        ("f[i, j] = x[i]", {"ranges": {"j": "n/2"}}, TensorSyntaxError, "sums of indices"),
        ("f[i] = x[i]", {"ranges": {"i": -1}}, ValueError, "range of i is -1"),
        ("f[i] = x[i]", {"ranges": {"i": "n"}}, ValueError, "range of i is -2"),
        ("f[i] = m[i]*x[i + m]", {}, ValueError, "m is an array and an integer"),
        ("f[i] = x[i]", {"outside": {"q": "zero"}}, ValueError, "there is no array q"),
    ],
)
def test_ranges_and_names_that_are_wrong(text, options, error, message):
    def result():
        function = ld.tensor(text, **options)
        return function(X, **({"n": -2} if function.integers else {}))

    with pytest.raises(error, match=message):
        result()


def test_integers_in_ranges_and_on_their_own():
    assert ld.tensor("f[i] = x[i]", ranges={"i": np.int64(2)})(X).shape == (2,)
    np.testing.assert_array_equal(ld.tensor("f[i] = x[i]", ranges={"i": "n - 1"})(X, n=4), X[:3])
    np.testing.assert_array_equal(ld.tensor("f[i] = n*x[i + n]")(X, n=2), 2 * X[2:])


@pytest.mark.parametrize(
    ("text", "options", "given", "message"),
    [
        ("f[i] = x[i]*w[i]", {}, {}, "i has two ranges: x.shape.0. is 6 and w.shape.0. is 3"),
        ("f[i] = x[i + 1]*w[0]", {"ranges": {"i": 6}}, {}, "reads place 6 of axis 0, which has 6, at i = 5"),
        ("f[i] = x[i - 1]*w[0]", {"ranges": {"i": 6}}, {}, "reads place -1 of axis 0"),
        ("f[i, j] = x[i + j]*w[0]", {}, {}, "the range of i cannot be found"),
        ("f[i] = x[m*i]*w[0]", {}, {}, "the integer m is missing"),
        ("f[i] = x[m*i]*w[0]", {}, {"m": 2.5}, "m is an integer"),
        ("f[i] = x[m*i]*w[0]", {}, {"m": 10**30}, "an integer of"),
        ("f[i] = x[i]*x[i, i]*w[0]", {}, {}, "x has 1 subscripts in one place"),
        ("f[i] = x[i, i]*w[0]", {}, {}, "x has 2 subscripts, and is given with 1 axes"),
        ("f[i] = sum[k | -2 <= k, k <= 2] x[i + k]*w[0]", {}, {}, "holds always"),
        ("f[i] = x[i]*w[0]", {"ranges": {"j": 2}}, {}, "there is no index j"),
        ("f[i] = x[i]*w[0]", {"outside": "nothing"}, {}, "outside is"),
        ("f[i] = x[i]*w[0]*v[i]", {}, {}, "v is missing"),
        ("f[i] = x[i]*w[0]", {}, {"v": W}, "there is no argument v"),
    ],
)
def test_what_does_not_fit(text, options, given, message):
    with pytest.raises((ValueError, TypeError, IndexError, OverflowError), match=message):
        ld.tensor(text, **options)(x=X, w=W, **given)


class Table:
    """Of columns, as pandas has them: with a shape, and no type of its numbers."""

    shape = 3, 2

    def __array__(self, dtype=None, copy=None):
        return np.arange(6.0).reshape(3, 2)


def test_arrays_of_other_classes():
    f = ld.tensor("f[j] = sum[i] x[i, j]*y[i]")
    y = np.array([1.0, 2.0, 3.0])
    for call in (f, ld.program(lambda x, y: f(x, y)), lambda x, y: f(y=y, x=x), f.jacobian("y")):
        with pytest.raises(TypeError, match=r"x is a MaskedArray; give a plain array: x\.filled"):
            call(np.ma.masked_array(np.ones((3, 2)), np.eye(3, 2)), y)
    np.testing.assert_array_equal(f(Table(), y), [16, 22])
    np.testing.assert_array_equal(ld.grad(lambda y: np.sum(f(Table(), y)))(y), [1, 5, 9])
    np.testing.assert_array_equal(f(np.ones((3, 2)).view(np.recarray), y), [6, 6])
    np.testing.assert_array_equal(f([[1, 0]] * 3, [1, 2, 3]), [6, 0])


def test_more_loops_or_elements_than_there_is_room_for():
    names = [f"k{k}" for k in range(17)]
    many = ld.tensor(f"f = sum[{', '.join(names)}] x[{' + '.join(names)}]", ranges=dict.fromkeys(names, 2))
    with pytest.raises(ValueError, match="17 indices, more than 16: write several tensor functions"):
        many(np.ones(18))
    pairs = "*".join(f"sin(x[i] + x[j + {k}])" for k in range(300))
    with pytest.raises(ValueError, match=r"\d+ elements .*, more than 512: write sums and products over"):
        ld.tensor(f"f = sum[i, j] {pairs}", ranges={"i": 1, "j": 2})(np.arange(310.0))
    products = "*".join(f"sin(x[i] + x[i + {k}])" for k in range(12))
    x = numbers(20)
    found = ld.tensor(f"f[i] = {products}", ranges={"i": 3})(x)
    np.testing.assert_allclose(found, np.prod([np.sin(x[:3] + x[k : k + 3]) for k in range(12)], axis=0))


def test_an_array_in_the_place_of_an_expression():
    with pytest.raises(TypeError, match=r"ld\.Variable"):
        ld.tensor(X)


def test_kinds_of_numbers_that_there_are_no_loops_for():
    function = ld.tensor("f[i] = x[i]")
    for dtype in (object, "U1", np.longdouble):
        with pytest.raises(TypeError):
            function(np.zeros(2, dtype))


def test_a_tensor_function_that_is_made_inside_a_program():
    program = ld.program(lambda x: ld.tensor("f[i] = max[k] x[i,k]*2")(x))
    for _ in range(5):
        np.testing.assert_array_equal(program(np.ones((4, 4))), 2 * np.ones(4))


SUMS_IN_ENTRIES = [
    ("f[i,l] = sum[j,k] a[i,j]*b[j,k]*c[k,l]", {}),
    ("f[i,l] = sum[j,k | k >= 2, j < 3] exp(a[i,j]*b[j,k] + c[k - 2,l])", {"k": 8}),
    ("f[i,l] = sum[j,k | k <= j] a[i,j]*b[j,k]*c[k,l]", {}),
    ("f[i,l] = prod[j] (sum[k] b[j,k]*c[k,l]*k) + max[j] sum[k] a[i,j]*b[j,k]", {}),
    ("f[i] = sum[j,k] a[i,j]*b[j,k]*[j < k]*sin(c[k,j])", {}),
]


@pytest.mark.parametrize(("text", "ranges"), SUMS_IN_ENTRIES)
def test_entries_of_sparse_jacobians_that_are_sums(text, ranges):
    rng = np.random.default_rng(1)
    f = ld.tensor(text, ranges=ranges)
    given = {name: rng.normal(size=(8, 8)) for name in f.arguments}
    for name in f.arguments:
        dense = ld.jacobian(lambda x, name=name: f(**{**given, name: x}))(given[name])
        found = f.jacobian(name)(**given)
        np.testing.assert_allclose(found.toarray(), dense.reshape(found.shape), rtol=1e-12, atol=1e-13)


def test_sums_in_entries_are_no_entries():
    a = np.ones((40, 40))
    jacobian = ld.tensor("f[i,l] = sum[j,k] a[i,j]*b[j,k]*c[k,l]").jacobian("a")
    tracemalloc.start()
    try:
        assert jacobian(a, a, a).nnz == 40**3
        assert tracemalloc.get_traced_memory()[1] < 100 * 8 * 40**3
    finally:
        tracemalloc.stop()


@pytest.mark.parametrize("m", [3, 4])
def test_entries_of_sums_that_integers_leave_out(m):
    f = ld.tensor("f = s*s*(sum[i | n <= m] z[i + n])", ranges={"i": 2})
    args = {"s": np.array(2.0), "z": np.arange(6.0 - (m == 3))}
    entry = f.jacobian("s")(*(args[name] for name in f.arguments), n=4, m=m)
    assert entry.toarray() == (0.0 if m == 3 else 4.0 * (4 + 5))


@pytest.mark.parametrize("kind", ["max", "min", "prod"])
@pytest.mark.parametrize("conditional", ["[i >= j]", "(sum[k | k <= i] [j >= 0])", "[i >= j]*y[i]"])
def test_other_reductions_beside_conditional_summands_of_a_factor(kind, conditional):
    """The sum is a tensor of its own, of which the maximum is one of two terms."""
    rng = np.random.default_rng(0)
    x, y = rng.uniform(0.5, 1.5, 3), np.arange(1.0, 4)
    i, j = np.indices((3, 3))
    values = {"[i >= j]": i >= j, "(sum[k | k <= i] [j >= 0])": i + 1, "[i >= j]*y[i]": y[i] * (i >= j)}
    f = ld.tensor(f"f[i, j] = y[j]*({conditional} + ({kind}[k] x[k]))", ranges={"i": 3, "j": 3})
    found = {"max": np.max, "min": np.min, "prod": np.prod}[kind](x)
    np.testing.assert_allclose(f(y, x), y[j] * (values[conditional] + found), rtol=1e-14)
    check_grads(f, (y, x))
