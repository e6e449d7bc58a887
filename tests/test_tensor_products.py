"""Tensor expressions by products of matrices and in fewer loops, on both sides of the sizes of blocks."""

from __future__ import annotations

import itertools
import os
import subprocess
import sys
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import lindiff as ld
from lindiff.tensor import contracting, products
from lindiff.tensor.gemm import Product
from lindiff.tensor.plans import Loops
from lindiff.tensor.views import Elementwise

rng = np.random.default_rng(21)


def plans_of(f: Any, *arrays: Any) -> list[Any]:
    """What carries a tensor function out."""
    f(*arrays)
    bound = list(f._definition._plans.values())[-1]
    return [plan for filling in bound.fillings for _, plan in filling.passes]


def agrees(f: Any, expected: Any, *arrays: Any, rtol: float = 1e-12) -> None:
    """Value and adjoints, these beside inner products with tangents."""
    got = f(*arrays)
    scale = max(np.abs(expected).max(), 1e-300)
    assert np.abs(got - expected).max() <= rtol * scale
    bar = rng.normal(size=np.shape(got)).astype(np.asarray(got).dtype)
    for k, name in enumerate(f.arguments):
        dot = rng.normal(size=arrays[k].shape).astype(arrays[k].dtype)
        along = np.sum(bar * f.tangent(name)(*arrays, dot))
        back = np.sum(f.adjoint(name)(*arrays, bar) * dot)
        assert abs(along - back) <= 100 * rtol * max(1, np.abs(bar).sum() * scale)


# -- which route -------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("text", "shapes", "routes"),
    [
        ("f[i,j] = sum[k] x[i,k]*y[k,j]", [(30, 40), (40, 50)], [Product]),
        ("f[i,j] = sum[k] x[k,i]*y[j,k]", [(40, 30), (50, 40)], [Product]),
        ("f[b,i,j] = sum[k] x[b,i,k]*y[b,k,j]", [(3, 30, 40), (3, 40, 50)], [Product]),
        ("f[i] = sum[k] x[i,k]*y[k]", [(60, 50), (50,)], [Product]),
        ("f[j] = sum[k] y[k]*x[k,j]", [(50,), (50, 60)], [Product]),
        ("f[i,j] = x[i]*y[j]", [(80,), (60,)], [Elementwise]),
        ("f[i,j] = x[i]*y[j]", [(60,), (60,)], [Loops]),
        ("f[i,j] = x[j,i]", [(80, 60)], [Elementwise]),
        ("f[i] = sum[k] x[i,k]*x[i,k]", [(60, 50)], [Loops]),
        ("f[i,j] = sum[k] x[i,k]*y[k,j]", [(3, 4), (4, 5)], [Loops]),
    ],
)
def test_which_route_is_taken(text, shapes, routes):
    f = ld.tensor(text)
    assert [type(plan) for plan in plans_of(f, *(rng.normal(size=s) for s in shapes))] == routes


@pytest.mark.parametrize(
    ("text", "loops"),
    [
        ("f[i,j] = tanh(x[i,j])", 1),
        ("f = sum[i,j] x[i,j]**2", 1),
        ("f[i] = sum[j,k] y[i,j,k]**2", 2),
        ("f[j] = sum[i,k] y[i,j,k]**2", 3),
        ("f[i,j] = max[k] y[i,j,k]", 2),
        ("f[i,j] = tanh(x[i,j]) + x[j,i]", 2),
        ("f[i,j] = tanh(x[i,j]) + i", 2),
        ("f[i,j | i <= j] = tanh(x[i,j])", 2),
    ],
)
def test_loops_that_go_on_in_memory_are_one(text, loops):
    f = ld.tensor(text)
    x, y = rng.normal(size=(9, 9)), rng.normal(size=(4, 5, 6))
    given = x if f.arguments == ("x",) else y
    (plan,) = plans_of(f, given)
    assert len(plan.loops) == loops
    pieces = np.zeros((9, 18))[:, ::2] if given is x else np.zeros((4, 5, 12))[..., ::2]
    pieces[...] = given
    np.testing.assert_allclose(f(given), f(pieces), rtol=1e-13)
    np.testing.assert_allclose(f(given.copy("F")), f(given), rtol=1e-13)


def test_a_sum_that_sees_fewer_forms_is_computed_for_these():
    f = ld.tensor("f[i,j,k] = sum[l] x[i + 2*l - k + 7]*w[l,j]", ranges={"i": 300, "k": 8})
    x, w = rng.normal(size=300 + 7 + 79), rng.normal(size=(40, 5))
    assert [type(plan) for plan in plans_of(f, x, w)] == [Product, Elementwise]
    i, k, l = np.ogrid[:300, :8, :40]
    agrees(f, np.einsum("ikl,lj->ijk", x[i + 2 * l - k + 7], w), x, w)
    bar = rng.normal(size=(300, 5, 8))
    for name, route in [("x", Loops), ("w", Product)]:  # f_bar is summed along i - k first
        assert [type(plan) for plan in plans_of(f.adjoint(name), x, w, bar)] == [Loops, route]


def test_of_three_factors_two_are_multiplied_first():
    f = ld.tensor("f[i,r] = sum[j,k] x[i,j,k]*b[j,r]*c[k,r]")
    x, b, c = rng.normal(size=(30, 20, 25)), rng.normal(size=(20, 6)), rng.normal(size=(25, 6))
    assert len(plans_of(f, x, b, c)) == 2
    agrees(f, np.einsum("ijk,jr,kr->ir", x, b, c), x, b, c)


def test_no_tensor_on_the_way_is_large():
    f = ld.tensor("f = sum[i,j,k] x[i]*y[j]*z[k]*cos(x[i] + y[j] + z[k])")
    x = rng.normal(size=90)
    plans_of(f, x, x, x)
    bound = next(iter(f._definition._plans.values()))
    assert max(np.prod(filling.shape) for filling in bound.fillings) <= contracting._SMALL
    c = np.cos(np.add.outer(np.add.outer(x, x), x))
    assert np.isclose(f(x, x, x), np.einsum("i,j,k,ijk->", x, x, x, c))


# -- numbers -----------------------------------------------------------------------------------------------


@pytest.mark.parametrize("stride", [1, 2, 3])
@pytest.mark.parametrize("outside", ["error", "zero"])
@pytest.mark.parametrize("dtype", [np.float64, np.float32, np.complex128, np.complex64])
def test_convolution(stride, outside, dtype):
    from numpy.lib.stride_tricks import sliding_window_view

    pad = 1 if outside == "zero" else 0
    f = ld.tensor(
        f"f[b,o,p,q] = sum[c,u,v] x[b,c,{stride}*p + u - {pad},{stride}*q + v - {pad}]*w[o,c,u,v]",
        ranges={"p": (12 + 2 * pad - 3) // stride + 1, "q": (13 + 2 * pad - 3) // stride + 1},
        outside={"x": outside},
    )
    x = rng.normal(size=(3, 4, 12, 13)).astype(dtype)
    w = rng.normal(size=(5, 4, 3, 3)).astype(dtype)
    if np.iscomplexobj(x):
        x, w = x * (1 + 1j), w * (2 - 1j)
    padded = np.pad(x, [(0, 0), (0, 0), (pad, pad), (pad, pad)])
    windows = sliding_window_view(padded, (3, 3), axis=(2, 3))[:, :, ::stride, ::stride]
    expected = np.einsum("bcpquv,ocuv->bopq", windows, w)
    eps = np.finfo(dtype).eps
    assert np.abs(f(x, w) - expected).max() < 100 * eps * np.abs(expected).max()
    if not np.iscomplexobj(x):
        agrees(f, expected, x, w, rtol=100 * eps)


def test_a_strided_convolution_is_taken_back_by_products_for_each_remainder():
    f = ld.tensor("f[b,o,p] = sum[c,u] x[b,c,2*p + u]*w[o,c,u]")
    x, w = rng.normal(size=(4, 5, 41)), rng.normal(size=(6, 5, 3))
    bar = rng.normal(size=(4, 6, 20))
    plans = plans_of(f.adjoint("x"), x, w, bar)
    assert [type(plan) for plan in plans] == [Product, Product]
    expected = np.zeros_like(x)
    for p, u in itertools.product(range(20), range(3)):
        expected[:, :, 2 * p + u] += np.einsum("bo,oc->bc", bar[:, :, p], w[:, :, u])
    assert np.allclose(f.adjoint("x")(x, w, bar), expected, rtol=1e-13, atol=1e-13)


@pytest.mark.parametrize("rows", [1, 4, 127, 129])
@pytest.mark.parametrize("columns", [1, 5, 511, 513])
@pytest.mark.parametrize("inner", [3, 255, 257])
def test_both_sides_of_the_sizes_of_blocks(rows, columns, inner):
    """Of what has to be copied: subscripts that add, and what lies outside."""
    f = ld.tensor("f[i,j] = sum[k] x[i + 2*k]*y[k + j - 3]", ranges={"i": rows, "j": columns, "k": inner},
                  outside={"y": "zero"})  # fmt: skip
    x, y = rng.normal(size=rows + 2 * inner), rng.normal(size=max(inner + columns - 8, 1))
    i, k = np.ogrid[:rows, :inner]
    k2, j = np.ogrid[:inner, :columns]
    place = k2 + j - 3
    inside = (place >= 0) & (place < y.size)
    Y = np.where(inside, y[np.clip(place, 0, y.size - 1)], 0)
    assert np.allclose(f(x, y), x[i + 2 * k] @ Y, rtol=1e-11, atol=1e-11)


@pytest.mark.parametrize("count", [16, 17])
def test_both_sides_of_the_number_of_guards(count):
    """Conditions of a row and a place in the sum."""
    conditions = ", ".join(f"{k + 1}*i + {k + 2}*k <= {40 * (k + 1)}" for k in range(count))
    f = ld.tensor(f"f[i,j] = sum[k | {conditions}] x[i,k]*y[k,j]")
    x, y = rng.normal(size=(30, 30)), rng.normal(size=(30, 7))
    i, k = np.ogrid[:30, :30]
    holds = np.logical_and.reduce([(n + 1) * i + (n + 2) * k <= 40 * (n + 1) for n in range(count)])
    assert np.allclose(f(x, y), (x * holds) @ y)


def test_arrays_in_any_layout():
    f = ld.tensor("f[i,j] = sum[k] x[i,k]*y[k,j]")
    whole = rng.normal(size=(90, 120))
    x = whole[::2, ::-3][:, :30]
    for y in (whole[10:40, 5:25], whole.T[20:50, 7:37], whole[::3, ::5], whole[29::-1, 30:10:-1]):
        assert np.allclose(f(x, y), x @ y, rtol=1e-13, atol=1e-13)
    complexes = (whole + 1j * whole[::-1]).astype(np.complex128)
    assert np.allclose(
        f(complexes.real[:30, :40], complexes.imag[:40, :50]), whole[:30, :40] @ whole[::-1][:40, :50]
    )
    packed = np.zeros(
        100, dtype=[("a", "u1"), ("x", "<c16")]
    )  # entries that are no multiple of 16 bytes apart
    packed["x"] = rng.normal(size=100)
    assert np.allclose(
        f(packed["x"].reshape(10, 10), complexes[:10, :50]), packed["x"].reshape(10, 10) @ complexes[:10, :50]
    )


def test_scales_and_signs():
    f = ld.tensor("f[i,j] = -2*(sum[k] x[i,k]*y[k,j]/4) + sum[k] 3*x[i,k]*y[k,j]")
    x, y = rng.normal(size=(20, 30)), rng.normal(size=(30, 25))
    agrees(f, 2.5 * (x @ y), x, y)


def test_infinities_meet_no_zeros_from_outside():
    """A product with zeros in the place of what is not there would give NaN."""
    f = ld.tensor("f[i,j] = sum[k | k <= i] x[i,k]*y[k,j]")
    x, y = rng.normal(size=(30, 30)), rng.normal(size=(30, 20))
    y[20, 3], y[5, 7] = np.inf, np.nan
    expected = np.array(
        [[sum(x[i, k] * y[k, j] for k in range(i + 1)) for j in range(20)] for i in range(30)]
    )
    assert np.allclose(f(x, y), expected, equal_nan=True)
    assert np.isnan(f(x, y)).sum() == 25
    g = ld.tensor("f[p,j] = sum[k] x[p - k]*y[k,j]", ranges={"p": 40}, outside={"x": "zero"})
    x, y = rng.normal(size=30), np.full((11, 20), np.inf)
    got = g(np.abs(x), y)
    assert np.isinf(got).all()


def test_a_nan_passes_through_tensors_on_the_way():
    f = ld.tensor("f[i,l] = sum[j,k | k <= j] a[i,j]*b[j,k]*c[k,l]")
    a, b, c = rng.normal(size=(3, 30, 30))
    b[5, 2], b[3, 7] = np.nan, np.inf  # the second one is outside the condition
    expected = a @ (np.where(np.tri(30) > 0, b, 0) @ c)
    assert len(plans_of(f, a, b, c)) == 2
    np.testing.assert_array_equal(np.isnan(f(a, b, c)), np.isnan(expected))
    assert np.isnan(expected).all()
    b[5, 2] = 1.0
    np.testing.assert_allclose(f(a, b, c), a @ (np.where(np.tri(30) > 0, b, 0) @ c), rtol=1e-11, atol=1e-11)


def test_tensors_on_the_way_do_not_overflow():
    f = ld.tensor("f[i,l] = sum[j,k] a[i,j]*b[j,k]*c[k,l]")
    a, b = np.full((30, 30), 1e-30, np.float32), np.full((30, 30), 1e25, np.float32)
    np.testing.assert_allclose(f(a, b, b), 9e22, rtol=1e-4)


@pytest.mark.parametrize(
    ("text", "x", "y"),
    [
        ("f[i,j] = sum[k | k <= i] x[i,k]*y[k,j]", (10, 10), (10, 70_000)),
        ("f[i,j | i <= j] = sum[k] x[i,k]*y[k,j]", (10, 70_000), (70_000, 10)),
        ("f[i,j | i <= j] = sum[k] x[i,k]*y[k,j]", (70_000, 6), (6, 10)),
        ("f[i,j] = sum[k | k <= j] x[i,k]*y[k,j]", (70_000, 6), (6, 10)),
    ],
)
def test_rows_that_are_longer_than_a_block(text, x, y):
    f = ld.tensor(text)
    x, y = rng.normal(size=x), rng.normal(size=y)
    i, j = np.ogrid[: x.shape[0], : y.shape[1]]
    if "k <= i" in text:
        expected = np.tril(x) @ y
    elif "k <= j" in text:
        expected = x @ np.triu(y)
    else:
        expected = (x @ y) * (i <= j)
    np.testing.assert_allclose(f(x, y), expected, rtol=1e-10, atol=1e-10)


def test_the_result_of_a_product_that_is_not_whole():
    """Conditions on rows and columns: nothing is added elsewhere."""
    f = ld.tensor("f[i,j] = 1 + [i <= j]*(sum[k] x[i,k]*y[k,j])")
    x, y = rng.normal(size=(30, 20)), rng.normal(size=(20, 40))
    agrees(f, 1 + np.triu(x @ y), x, y)
    f = ld.tensor("f[i,j] = [i <= j]*(sum[k] x[i + j - 3,k]*y[k,j])", ranges={"i": 30}, outside={"x": "zero"})
    expected = np.zeros((30, 40))
    for i, j in itertools.product(range(30), range(40)):
        if i <= j and 0 <= i + j - 3 < 30:
            expected[i, j] = x[i + j - 3] @ y[:, j]
    agrees(f, expected, x, y)


# -- random expressions --------------------------------------------------------------------------------------


@st.composite
def expressions(draw: Any) -> Any:
    """Two factors at forms of up to five indices, conditions, and what lies outside."""
    free = [f"i{k}" for k in range(draw(st.integers(0, 3)))]
    summed = [f"k{k}" for k in range(draw(st.integers(1, 3)))]
    names = [*free, *summed]
    sizes = {name: draw(st.integers(1, 5)) for name in names}
    coefficient = st.sampled_from([-2, -1, 0, 0, 0, 1, 1, 2, 3])

    def form() -> Any:
        return [draw(coefficient) for _ in names], draw(st.integers(-2, 4))

    factors = [[form() for _ in range(draw(st.integers(1, 2)))] for _ in range(2)]
    conditions = [form() for _ in range(draw(st.integers(0, 2)))]
    conditions = [c for c in conditions if any(x < 0 for x in c[0])]
    return free, summed, sizes, factors, conditions, draw(st.sampled_from(["zero", "wrap"]))


def _text(form: Any, names: list[str]) -> str:
    coefficients, constant = form
    return " + ".join(
        [*(f"({c})*{name}" for c, name in zip(coefficients, names, strict=True)), f"({constant})"]
    )


@pytest.mark.parametrize("as_cheap", [False, True])
@settings(max_examples=60, deadline=None)
@given(expression=expressions(), seed=st.integers(0, 10**6))
def test_random_expressions_by_every_route(as_cheap, expression, seed):
    free, summed, sizes, factors, conditions, outside = expression
    names = [*free, *summed]
    random = np.random.default_rng(seed)
    arrays = [
        random.integers(-3, 4, size=[4 - k for k in range(len(forms))]).astype(float) for forms in factors
    ]
    reads = [
        f"{name}[{', '.join(_text(form, names) for form in forms)}]"
        for name, forms in zip("xy", factors, strict=True)
    ]
    where = " | " + ", ".join(f"{_text(c, names)} >= 0" for c in conditions) if conditions else ""
    left = f"f[{', '.join(free)}]" if free else "f"
    f = ld.tensor(
        f"{left} = sum[{', '.join(summed)}{where}] {' * '.join(reads)}", ranges=sizes, outside=outside
    )

    def at(form: Any, place: Any) -> int:
        return sum(c * p for c, p in zip(form[0], place, strict=True)) + form[1]

    def element(x: Any, forms: Any, place: Any) -> float:
        found = [at(form, place) for form in forms]
        if outside == "wrap":
            return x[tuple(p % n for p, n in zip(found, x.shape, strict=True))]
        return x[tuple(found)] if all(0 <= p < n for p, n in zip(found, x.shape, strict=True)) else 0.0

    expected = np.zeros([sizes[name] for name in free])
    for place in itertools.product(*(range(sizes[name]) for name in names)):
        if all(at(c, place) >= 0 for c in conditions):
            x, y = (element(x, forms, place) for x, forms in zip(arrays, factors, strict=True))
            expected[place[: len(free)]] += x * y
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(products, "_FEWEST", 1)
        patch.setattr(products, "_FEWEST_INNER", 1)
        patch.setattr(products, "_FEWEST_PRODUCTS", 1)
        patch.setattr(products, "_FILLED", 0.0)
        if as_cheap:
            patch.setattr(contracting, "_cost", lambda update: float(len(update.summed)))
            patch.setattr(contracting, "_TENSOR", 0.0)
        np.testing.assert_array_equal(f(*arrays), expected)
        bar = random.integers(-3, 4, size=expected.shape).astype(float)
        for k, name in enumerate(f.arguments):
            dot = random.integers(-3, 4, size=arrays[k].shape).astype(float)
            back = f.adjoint(name)(*arrays, bar)
            assert np.sum(back * dot) == np.sum(bar * f.tangent(name)(*arrays, dot))


ON_THREADS = """
import hashlib, numpy as np, lindiff as ld
rng = np.random.default_rng(0)
x, p, c = rng.normal(size=(400, 500)), rng.normal(size=(700, 2)), rng.normal(size=(60, 80)) * (1 + 2j)
given = {"x": x, "p": p, "c": c}
for text, options in [
    ("f[i,j] = tanh(x[i-1,j] + x[i+1,j] - 2*x[i,j])*[i <= j]", {"outside": "zero"}),
    ("f[i] = sum[j | j < i] exp(-(p[i,0] - p[j,0])**2 - abs(p[i,1] - p[j,1]))", {}),
    ("f[i,j] = max[k] (x[i,k] + x[j,k])", {"ranges": {"i": 90, "j": 80}}),
    ("f[i,j] = prod[k | k < i] (1 + 0.01*c[i,k] - 0.01*c[j,k])", {"ranges": {"i": 60, "j": 60}}),
]:
    f = ld.tensor(text, **options)
    (name,) = f.arguments
    found = f(given[name])
    print(hashlib.sha256(np.ascontiguousarray(found)).hexdigest())
"""


def test_the_same_bits_on_any_number_of_threads(tmp_path):
    found = [
        subprocess.run(
            [sys.executable, "-c", ON_THREADS],
            cwd=tmp_path,  # where the installed package is found
            env={**os.environ, "OMP_NUM_THREADS": threads},
            capture_output=True,
            text=True,
            check=True,
        ).stdout.split()
        for threads in ("1", "2")
    ]
    assert found[0] == found[1]
    assert len(found[0]) == 4


@pytest.fixture
def looked_at(monkeypatch: Any) -> list[Any]:
    """The factors that were tried as tensors of their own."""
    found: list[Any] = []
    factored = contracting.Contracting._factored

    def counted(self: Any, update: Any, group: Any) -> Any:
        found.append(group)
        return factored(self, update, group)

    monkeypatch.setattr(contracting.Contracting, "_factored", counted)
    return found


def test_factors_that_share_no_loop_are_not_tried_together(looked_at: list[Any]) -> None:
    n = 12
    indices = "abcdefghijkl"
    ring = "*".join(f"T{k}[{indices[k]}, {indices[(k + 1) % n]}]" for k in range(n))
    f = ld.tensor(f"f = sum[{', '.join(indices)}] {ring}")
    matrices = rng.normal(size=(n, 20, 20))
    np.testing.assert_allclose(f(*matrices), np.trace(np.linalg.multi_dot(matrices)))
    assert len(looked_at) <= n * (n + 1) + 2 * n


@pytest.mark.parametrize("n", [3, 8, 16])
def test_rings_with_weights_at_each_node(n: int) -> None:
    """No two factors together save much: all that see an index are summed over it at once."""
    indices = "abcdefghijklmnop"[:n]
    ring = "*".join(f"T{k}[{indices[k]}, {indices[(k + 1) % n]}]*w{k}[{indices[k]}]" for k in range(n))
    f = ld.tensor(f"f = sum[{', '.join(indices)}] {ring}")
    matrices, weights = rng.normal(size=(n, 8, 8)), rng.normal(size=(n, 8))
    given = {f"T{k}": matrices[k] for k in range(n)} | {f"w{k}": weights[k] for k in range(n)}
    args = [given[name] for name in f.arguments]
    weighted = weights[:, :, None] * matrices
    np.testing.assert_allclose(f(*args), np.trace(np.linalg.multi_dot(weighted)), rtol=1e-12)
    others = np.linalg.multi_dot([*weighted[1:], np.eye(8)])
    slope = ld.grad(lambda T0: f(**{**given, "T0": T0}))(matrices[0])
    np.testing.assert_allclose(slope, weights[0][:, None] * others.T, rtol=1e-10, atol=1e-12)


def test_written_elements_are_not_taken_apart(looked_at: list[Any]) -> None:
    n = 32
    x = rng.normal(size=n)
    f = ld.tensor("f = " + "*".join(f"x[{k}]" for k in range(n)))
    np.testing.assert_allclose(ld.grad(f)(x), np.prod(x) / x)
    assert not looked_at
