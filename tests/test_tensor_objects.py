"""Index notation by Python objects, and what is told of a tensor function."""

from __future__ import annotations

import pickle

import numpy as np
import pytest

import lindiff as ld

rng = np.random.default_rng(3)
i, j, k, l, m = ld.tensor.indices("i, j k l,m")
x, w = ld.tensor.arrays("x w")
X, W = rng.normal(size=12), rng.normal(size=(5, 4))
SUM, MAX, BRACKET = ld.tensor.sum, ld.tensor.max, ld.tensor.bracket


@pytest.mark.parametrize(
    ("made", "text", "ranges"),
    [
        (lambda: ld.tensor(SUM(x[i + 2 * l] * w[l, j], l), [i, j], ranges={"i": 3}),
         "f[i,j] = sum[l] x[i + 2*l]*w[l,j]", {"i": 3}),
        (lambda: ld.tensor(np.tanh(x[i]) / 2 - 3 * x[i] ** 2 + (-x[i]) * 2.5, [i]),
         "f[i] = tanh(x[i])/2 - 3*x[i]**2 + (-x[i])*2.5", {}),
        (lambda: ld.tensor(i * x[i] + 2 * j - i + 1.5 * i + x[i] * j - 1 / (i + 1) + np.exp(-j) + j**2 + 2**j,
                           [i, j], ranges={"j": 3}),
         "f[i,j] = i*x[i] + 2*j - i + 1.5*i + x[i]*j - 1/(i + 1) + exp(-j) + j**2 + 2**j", {"j": 3}),
        (lambda: ld.tensor(MAX(x[l], l, where=[l <= i, i < l + 3]), [i], ranges={"i": 12}),
         "f[i] = max[l | l <= i, i < l + 3] x[l]", {"i": 12}),
        (lambda: ld.tensor(BRACKET((i + j) % 2 == 1, i >= j) * x[i], [i, j], ranges={"j": 4}),
         "f[i,j] = [(i + j) % 2 == 1, i >= j]*x[i]", {"j": 4}),
        (lambda: ld.tensor(ld.tensor.prod(1 - x[l], l, where=l > i) + ld.tensor.min(x[k], k), [i],
                           ranges={"i": 4}),
         "f[i] = prod[l | l > i] (1 - x[l]) + min[k] x[k]", {"i": 4}),
        (lambda: ld.tensor(np.where(x[i] > x[0], x[i], 0), [i]), "f[i] = where(x[i] > x[0], x[i], 0)", {}),
        (lambda: ld.tensor(SUM(x[i] * BRACKET(i == j), i), [j], ranges={"j": 12}),
         "f[j] = sum[i] x[i]*[i == j]", {"j": 12}),
    ],
)  # fmt: skip
def test_the_same_as_a_text(made, text, ranges):
    f = made()
    if "where" in text:  # which comparisons of elements are not written in
        expected = np.where(X[0] < X, X, 0)
        np.testing.assert_array_equal(f(X), expected)
        return
    g = ld.tensor(text, ranges=ranges)
    assert str(f) == str(g)
    given = [{"x": X, "w": W}[name] for name in f.arguments]
    np.testing.assert_array_equal(f(*given), g(*given))
    assert str(f.adjoint("x")) == str(g.adjoint("x"))
    np.testing.assert_array_equal(pickle.loads(pickle.dumps(f))(*given), f(*given))


I = np.arange(12)
CONDITIONS_AS_NUMBERS = {
    "a factor": (lambda: x[i] * (i == 2), X * (I == 2)),
    "on the left": (lambda: (i < 2) * x[i], X * (I < 2)),
    "a summand": (lambda: x[i] + (i < 2), X + (I < 2)),
    "of a remainder": (lambda: x[i] * (i % 2 == 0), X * (I % 2 == 0)),
    "where": (lambda: np.where(i == 2, x[i], -x[i]), np.where(I == 2, X, -X)),
    "where, of numbers": (lambda: x[i] * np.where(i > 2, i, 1.5), X * np.where(I > 2, I, 1.5)),
    "beside an index": (lambda: x[i] + i * (i < 2), X + I * (I < 2)),
    "beside numbers": (lambda: x[i] - np.int64(2) * (i < 2) - (i > 4) * 3.0, X - 2 * (I < 2) - 3 * (I > 4)),
    "of each other": (lambda: x[i] * ((i > 2) & (i < 5)), X * ((I > 2) & (I < 5))),
    "products": (lambda: (i < 1) * (i < 2) + x[i], (I < 1) + X),
    "negated": (lambda: x[i] * ~(i < 2) - (i == 3), X * (I >= 2) - (I == 3)),
    "a function": (lambda: x[i] * np.exp(i >= 3), X * np.exp(1.0 * (I >= 3))),
    "a sum": (lambda: SUM(x[k] * (k <= i), k), np.cumsum(X)),
    "a condition alone": (lambda: (i < 4), 1.0 * (I < 4)),
}  # fmt: skip


@pytest.mark.parametrize("name", CONDITIONS_AS_NUMBERS)
def test_conditions_as_numbers(name):
    made, expected = CONDITIONS_AS_NUMBERS[name]
    f = ld.tensor(made(), [i], ranges={"i": 12})
    np.testing.assert_allclose(f(*[X] * len(f.arguments)), expected, rtol=1e-14)


def test_integers_that_are_given_later():
    f = ld.tensor(x[m * i + 1], [i], ranges={"i": 3}, name="picked")
    np.testing.assert_array_equal(f(X, m=2), X[1:7:2])
    assert str(f) == "picked[i] = x[i*m + 1]"


def test_numbers_of_numpys_on_the_left():
    two = np.int64(2)
    for form, places in [(two * i, [0, 2, 4]), (two + i, [2, 3, 4]), (two - i, [2, 1, 0])]:
        np.testing.assert_array_equal(ld.tensor(x[form], [i], ranges={"i": 3})(X), X[places])
    f = ld.tensor(BRACKET(two >= i) * x[i] + BRACKET(two == i) * x[i], [i])
    np.testing.assert_array_equal(f(X), X * ([1, 1, 2] + [0] * 9))


def test_what_lies_outside():
    y = ld.tensor.arrays("y", outside="wrap")
    np.testing.assert_array_equal(ld.tensor(y[i + 1], [i], ranges={"i": 12})(X), np.roll(X, -1))
    z = ld.tensor.arrays("z", outside="zero")
    np.testing.assert_array_equal(ld.tensor(z[i - 1], [i], ranges={"i": 3})(X), [0, X[0], X[1]])


def test_one_index_is_one_axis():
    np.testing.assert_array_equal(ld.tensor(2 * x[i], i)(X), 2 * X)


def test_without_axes():
    f = ld.tensor(SUM(x[i] * w[()], i))
    assert f(X, 2.0) == pytest.approx(2 * X.sum())


def test_parts_that_stand_in_each_other_again_and_again():
    e, expected = x[i], X
    for _ in range(8):
        e, expected = np.sin(e) + e, np.sin(expected) + expected
    np.testing.assert_allclose(ld.tensor(e, [i])(X), expected, rtol=1e-13)
    for _ in range(60):
        e = np.sin(e) + e
    with pytest.raises(ld.tensor.TensorSyntaxError, match="too long"):
        ld.tensor(e, [i])


@pytest.mark.parametrize(
    ("wrong", "error", "message"),
    [
        (lambda: x[i * 1.5], TypeError, "sums of indices times integers"),
        (lambda: x[x[i]], TypeError, "sums of indices times integers"),
        (lambda: x[True], TypeError, "sums of indices times integers"),
        (lambda: ld.tensor(x[i * j], [i, j]), ValueError, r"a product of two indices, i\*j"),
        (lambda: ld.tensor(SUM(x[i], i, where=i * i <= 3)), ValueError, "a product of two indices"),
        (lambda: ld.tensor(x[i], [i, i]), ValueError, "i is bound twice"),
        (lambda: ld.tensor(SUM(x[i], i), [i]), ValueError, "i is bound twice"),
        (lambda: ld.tensor(x, [i]), TypeError, "takes index notation"),
        (lambda: ld.tensor(np.ones(3)), TypeError, "takes index notation"),
        (lambda: x[i] + w, TypeError, r"no element and no number: write x\[i\]"),
        (lambda: x[i] + np.ones(3), TypeError, r"no element and no number: write x\[i\]"),
        (lambda: np.add(np.ones(3), i), TypeError, "an index is no array"),
        (lambda: np.vecdot(x[i], x[i]), TypeError, "vecdot"),
        (lambda: np.vecdot(i, x[i]), TypeError, "vecdot"),
        (lambda: i % 3 == i, ValueError, "from 0 on below"),
        (lambda: ld.tensor.indices(" "), ValueError, "names are words"),
        (lambda: ld.tensor.arrays("x 2y"), ValueError, "names are words"),
        (lambda: ld.tensor.arrays("x", outside="none"), ValueError, "outside is"),
        (lambda: ld.tensor(x[i], [i + 1]), TypeError, "one that ld.tensor.indices has made"),
        (lambda: SUM(x[i]), TypeError, "of which indices"),
        (lambda: SUM(x[i], i, where=True), TypeError, "a condition compares indices"),
        (lambda: ld.tensor(x[i], [i], name="x"), ValueError, "cannot be used"),
        (lambda: ld.tensor(x[i], [i], name="2"), ValueError, "a name is a word"),
        (lambda: list(x), TypeError, r"has no length: its elements are x\[i\]"),
        (lambda: sum(x), TypeError, r"ld.tensor.sum\(x\[i\], i\)"),
        (lambda: np.sum(x[i]), TypeError, r"write ld.tensor.sum\(x\[i\], i\)"),
        (lambda: np.add.reduce(x[i]), TypeError, r"write ld.tensor.sum\(x\[i\], i\)"),
        (lambda: np.max(i), TypeError, r"write ld.tensor.max\(x\[i\], i\)"),
        (lambda: np.prod(i < 3), TypeError, r"write ld.tensor.prod\(x\[i\], i\)"),
        (lambda: ld.tensor("f[i] = x[i]", i), TypeError, "a text names its result"),
        (lambda: ld.tensor("f[i] = x[i]", [i]), TypeError, "a text names its result"),
        (lambda: 1 if i == 0 and i else 0, TypeError, "depends on"),
        (lambda: BRACKET(2 <= i < 5), TypeError, "depends on the indices"),
        (lambda: BRACKET(i >= 2 and i < 5), TypeError, "depends on the indices"),
        (lambda: x[i] * (i % 2), TypeError, r"write ld.tensor.bracket\(\(i\) % 2 == 1\)"),
        (lambda: (i % 2) * 3 + 1, TypeError, "a remainder is compared with a number"),
        (lambda: np.sin(i % 2), TypeError, "a remainder is compared with a number"),
        (lambda: np.where(i % 2, x[i], 0), TypeError, "a remainder is compared with a number"),
        (lambda: ld.tensor(i % 2, [i], ranges={"i": 3}), TypeError, "a remainder is compared with a number"),
        (lambda: x[i] * ((i < 2) == 1), TypeError, "conditions are compared"),
        (lambda: i % 2 == 3, ValueError, "from 0 on below"),
        (lambda: i % 0 == 0, ValueError, "from 0 on below"),
    ],
)
def test_what_is_wrong(wrong, error, message):
    with pytest.raises(error, match=message):
        wrong()


def test_sparse_jacobians_go_to_other_processes():
    f = ld.tensor(SUM(x[i + l] * w[l, j], l), [i, j])
    jacobian = f.jacobian("x")
    expected = jacobian(X, W)
    for pickled in (jacobian, ld.tensor(x[i] * w[i, j], [i, j]).adjoint("x").jacobian("w")):
        pickle.dumps(pickled)
    for z in (jacobian, pickle.loads(pickle.dumps(jacobian))):
        np.testing.assert_array_equal(z(w=W, x=X).toarray(), expected.toarray())


# -- explain -------------------------------------------------------------------------------------------------


def test_explain_tells_routes_flops_and_bytes():
    f = ld.tensor("f[i,j] = sum[k] x[i,k]*y[k,j]")
    told = f.explain((30, 40), (40, 50))
    assert [(line.route, line.loops, line.flops) for line in told] == [
        ("matrix product", "1 × 30 × 50 × 40", 2.0 * 30 * 40 * 50)
    ]
    assert told.bytes == 8 * (30 * 40 + 40 * 50 + 30 * 50)
    assert "matrix product" in str(told)
    small = f.explain((3, 4), np.ones((4, 5), np.float32))
    assert small[0].route == "loops"
    assert sorted(small[0].loops.split()) == ["i:3", "j:5", "k:4"]
    assert ld.tensor("f[i] = x[m*i]").explain((9000,), m=2)[0].route == "copies"
    assert str(ld.tensor("f[i] = x[i] + 1").explain(x=(0,))).count("\n") == 1


@pytest.mark.parametrize(
    ("given", "named", "error", "message"),
    [
        (((3, 4),), {}, TypeError, "y is missing"),
        (((3, 4), (4, -1)), {}, ValueError, "a shape is a tuple of integers"),
        (((3, 4), (5, 6)), {}, ValueError, "k has two ranges"),
        (((3, 4), (4, 6, 7)), {}, ValueError, "y has 2 subscripts"),
        (((3, 4), (4, 6)), {"z": (3,)}, TypeError, "no argument z"),
    ],
)
def test_explain_refuses_what_a_call_refuses(given, named, error, message):
    with pytest.raises(error, match=message):
        ld.tensor("f[i,j] = sum[k] x[i,k]*y[k,j]").explain(*given, **named)


@pytest.mark.parametrize(
    "compared",
    [
        lambda i, k, x, y: x[i] * (x[i] == y[i]),
        lambda i, k, x, y: x[i] * ((i < 2) == (k < 2)),
        lambda i, k, x, y: x[i] + ((i < 2) != (k < 2)),
        lambda i, k, x, y: np.where(x[i] == y[i], x[i], 0.0),
        lambda i, k, x, y: (i < 2) == (k < 2),
    ],
)
def test_what_python_says_of_two_expressions_is_no_element(compared):
    """`==` compares how they are written."""
    i, k = ld.tensor.indices("i k")
    x, y = ld.tensor.arrays("x y")
    with pytest.raises(TypeError, match=r"is no element: == of .* write np.equal or np.not_equal"):
        ld.tensor(compared(i, k, x, y), [i, k])


def test_conditions_are_compared_by_numpy():
    i, k = ld.tensor.indices("i k")
    x = ld.tensor.arrays("x")
    f = ld.tensor(x[i] * np.equal(i < 2, k < 2), [i, k], ranges={"k": 4})
    a = np.arange(1.0, 5.0)
    low = np.arange(4) < 2
    np.testing.assert_array_equal(f(a), a[:, None] * (low[:, None] == low))
