"""What carries out elementwise rules: formulas that are read once, and repeated by loops of ufuncs."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from scipy import special

import lindiff as ld
from lindiff.core.elementwise import elementwise_rule, elementwise_rules
from lindiff.core.formula import read, some
from lindiff.core.registry import full_name

TYPES = {"d": np.float64, "f": np.float32, "D": np.complex128, "F": np.complex64}
RULES = {
    full_name(f): (f, rule)
    for f, rule in elementwise_rules().items()
    if type(rule.entry).__name__ == "ElementwiseEntry"
}
CASES = [
    (name, kind)
    for name, (f, rule) in RULES.items()
    for kind in TYPES
    if any(types.startswith(kind * len(types.partition("-")[0]) + "->") for types in getattr(f, "types", []))
]


def numbers(kind: str, seed: int, n: int = 40) -> Any:
    """Ordinary numbers, and those at which formulas are likely to differ."""
    rng = np.random.default_rng(seed)
    x = np.append(rng.uniform(-2, 2, n), [0.0, -0.0, 1.0, -1.0, 2.0, 1.0, np.inf, -np.inf, np.nan, 1e-30])
    if kind in "DF":
        x = x + 1j * rng.permutation(np.where(np.isfinite(x), x, 0.5))
    return x.astype(TYPES[kind])


def derivatives(function: Any, args: list[Any]) -> list[Any]:
    """Value, gradients and tangent."""
    value, pullback = ld.vjp(function, *args)
    weights = np.linspace(-1, 1, value.size).reshape(value.shape).astype(value.dtype)
    tangents = tuple(np.cos(np.arange(x.size)).astype(x.dtype) for x in args)
    return [value, *pullback(weights), ld.jvp(function, tuple(args), tangents)[1]]


def same_bits(x: Any, y: Any) -> bool:
    """Whether two arrays are the same numbers in the same order in memory; NaNs of any kind are the same."""
    known = ~np.isnan(x)
    return (
        x.dtype == y.dtype
        and x.shape == y.shape
        and x.strides == y.strides
        and np.array_equal(known, ~np.isnan(y))
        and x[known].tobytes() == y[known].tobytes()
    )


def layouts(kind: str, n: int) -> list[list[Any]]:
    """Pairs of arrays of about n elements that lie, and broadcast, in several ways."""
    x = np.resize(numbers(kind, 0), 2 * n)
    y = np.resize(numbers(kind, 1), 2 * n)
    k = max(n // 3, 1)
    X, Y = np.resize(x, (3, k)), np.resize(y, (3, k))
    return [
        [x[:n], y[:n]],
        [x[::2], y[:n]],
        [x[:n], y[0]],
        [X, Y[0]],
        [X, Y[:, :1]],
        [X[:, :1], Y[0]],
        [X.T, Y.T],
        [X.T, Y.T[:, :1]],
        [X.T, np.resize(y, (k, 3))],
        [X[:, ::-1], Y],
        [np.resize(x, (2, 3, k))[..., ::-1], Y],
        [np.abs(X).astype(x.dtype), np.full((3, 1), 0.5, x.dtype)],
        [np.array(0.1, x.dtype), X[:, ::-1]],
    ]


@pytest.mark.parametrize("n", [1, 3, 4, 8, 31, 512, 2048, 2049])
@pytest.mark.parametrize("kind", TYPES)
def test_values_are_numpys_bit_for_bit(kind: str, n: int) -> None:
    pairs = layouts(kind, n)
    for name, (function, _) in RULES.items():
        if (name, kind) not in CASES:
            continue
        for args in pairs:
            args = args[: function.nin]
            with np.errstate(all="ignore"):
                expected, (found, _) = np.asarray(function(*args)), ld.vjp(function, *args)
            assert same_bits(np.asarray(found), expected), (name, [x.shape for x in args])


@pytest.mark.parametrize(("name", "kind"), CASES)
def test_entry_agrees_with_readable_rule(name: str, kind: str, monkeypatch: pytest.MonkeyPatch) -> None:
    function, rule = RULES[name]
    args = [numbers(kind, seed) for seed in range(function.nin)]
    args[-1][1] = args[0][1]  # a tie
    args[-1][-1] *= 2  # where terms of 1e30 would cancel but for rounding
    with np.errstate(all="ignore"):
        found = derivatives(function, args)
        monkeypatch.setattr(rule, "entry", None)
        expected = derivatives(function, args)
    for got, wanted in zip(found, expected, strict=True):
        assert got.dtype == wanted.dtype
        if kind in "dD":
            np.testing.assert_allclose(got, wanted, rtol=1e-12, atol=1e-12)
        else:  # rounded at every step, where NumPy's float64 scalars made the readable rule do more
            both = np.isfinite(got) & np.isfinite(wanted)
            np.testing.assert_allclose(got[both], wanted[both], rtol=1e-4, atol=1e-4)


def strided(x: Any) -> Any:
    return np.repeat(x, 3)[::3]


def backward(x: Any) -> Any:
    return x[::-1].copy()[::-1]


def repeated(x: Any) -> Any:
    return np.broadcast_to(x[:1], x.shape)


def number(x: Any) -> Any:
    return x[0]


@pytest.mark.parametrize(("name", "kind"), CASES)
def test_loops_in_every_step_of_memory(name: str, kind: str) -> None:
    """As one number after the other, each in an array of its own: no loop is wrong in the way it is used."""
    function, _ = RULES[name]
    given = [np.append(numbers(kind, seed, 8)[:8], 0.75).astype(TYPES[kind]) for seed in range(function.nin)]
    ways: list[Any] = [strided, backward, repeated]
    for way in ways if function.nin == 1 else [*ways, number]:
        for place in range(function.nin):
            args = [way(x) if k == place else x for k, x in enumerate(given)]
            at = [np.broadcast_to(x, given[0].shape) for x in args]
            with np.errstate(all="ignore"):
                value, pullback = ld.vjp(function, *args)
                alone = [ld.vjp(function, *[x[i : i + 1].copy() for x in at]) for i in range(len(at[0]))]
                bars = pullback(np.ones_like(value))
                bars_alone = [one_pullback(np.ones_like(one)) for one, one_pullback in alone]
            tolerance = 1e-12 if kind in "dD" else 1e-4
            np.testing.assert_allclose(value, np.concatenate([one for one, _ in alone]), tolerance)
            for k, bar in enumerate(bars):
                expected = np.concatenate([one[k] for one in bars_alone])
                if way is number and k == place:
                    expected = np.sum(expected)
                np.testing.assert_allclose(bar, expected, tolerance, tolerance)


@pytest.mark.parametrize("n", [0, 1, 511, 512, 513, 5000])
def test_blocks(n: int) -> None:
    x = np.linspace(-3, 3, n)
    (x_bar,) = ld.vjp(np.arctan, x)[1](np.ones(n))
    np.testing.assert_array_equal(x_bar, 1 / (1 + x * x))


@pytest.mark.parametrize(
    "function",
    [
        np.arctan,
        np.sinc,
        special.expit,
        special.psi,
        lambda x: np.arctan2(x, 0.5),
        lambda x: x**3,
        lambda x: np.maximum(x, 0.5),
        lambda x: np.logaddexp(x, 2 * x),
    ],
)
def test_many_numbers_as_few(function: Any) -> None:
    """Large arrays take other ways, to the same derivatives."""
    x = np.append(np.random.default_rng(0).uniform(0.1, 40, 2990), [0.5, 1e-200, 1e90, 1.0, 1e-8])
    whole = ld.vjp(function, x)[1](np.ones_like(x))[0]
    parts = [ld.vjp(function, x[k::31])[1](np.ones_like(x[k::31]))[0] for k in range(31)]
    for k, part in enumerate(parts):
        np.testing.assert_allclose(whole[k::31], part, rtol=1e-12)


@pytest.mark.parametrize("x", [np.linspace(0.5, 2, 12)[::3], np.linspace(0.5, 2, 12).reshape(3, 4).T, 0.7])
def test_strided_and_single_numbers(x: Any) -> None:
    (x_bar,) = ld.vjp(np.arctan, x)[1](np.ones(np.shape(x)))
    np.testing.assert_array_equal(x_bar, 1 / (1 + np.asarray(x) * x))


@pytest.mark.parametrize("function", [special.expit, np.tan, np.arctan, np.exp, np.sinc, special.psi, np.abs])
def test_transposed(function: Any) -> None:
    """Formulas are called then: with what the program does not need as well."""
    x = np.random.default_rng(0).uniform(0.1, 2, (3, 4))
    weights = np.arange(12.0).reshape(3, 4)
    (x_bar,) = ld.vjp(function, x)[1](weights)
    for transposed in (x.T, np.asfortranarray(x).T):
        (xt_bar,) = ld.vjp(function, transposed)[1](weights.T)
        np.testing.assert_allclose(xt_bar, x_bar.T, rtol=1e-13)
    (through,) = ld.vjp(lambda x: function(x.T), x)[1](weights.T)
    np.testing.assert_allclose(through, x_bar, rtol=1e-13)


def test_number_beside_array() -> None:
    x = np.linspace(0.5, 2, 4)
    for number in (1.0, 1, np.float64(1.0), np.array(1.0)):
        (x_bar,) = ld.vjp(lambda x: np.hypot(x, number), x)[1](np.ones(4))  # noqa: B023
        np.testing.assert_allclose(x_bar, x / np.hypot(x, 1))
    (y_bar,) = ld.vjp(lambda y: np.hypot(x, y), 1.0)[1](np.ones(4))
    np.testing.assert_allclose(y_bar, np.sum(1 / np.hypot(x, 1)))


def test_read_tells_the_steps() -> None:
    constants, steps, slots, _, kind, asks = read(lambda y, x: 1 / (1 + x * x), "ddd", 2)  # type: ignore[misc]
    assert [step[0] for step in steps] == [np.multiply, np.add, np.divide]
    assert constants == [(1, np.dtype("d").num)]
    assert (slots, kind, asks) == (2, np.dtype("d").num, False)


def test_read_leaves_out_what_the_result_does_not_need() -> None:
    def formula(y: Any) -> Any:
        np.exp(y)
        return -y

    assert [step[0] for step in read(formula, "dd", 1)[1]] == [np.negative]  # type: ignore[index]


def asks_by_bool(y: Any) -> Any:
    return -y if (y < 0).any() else y


def sums(y: Any) -> Any:
    return y / np.sum(y)


def takes_an_array(y: Any) -> Any:
    return y * np.ones(3)


@pytest.mark.parametrize("formula", [asks_by_bool, sums, takes_an_array])
def test_what_cannot_be_read_is_called(formula: Any) -> None:
    assert read(formula, "dd", 1) is None


def test_question_that_only_saves_work() -> None:
    def formula(y: Any) -> Any:
        return np.where(y < 0, -y, y) if some(y < 0) else y

    assert [step[0] for step in read(formula, "dd", 1)[1]] == [  # type: ignore[index]
        np.less, np.negative, "where"
    ]  # fmt: skip
    assert read(formula, "dd", 1)[-1] is True  # type: ignore[index]
    assert some(np.array([False, True]))
    assert not some(np.array([False, False]))


def test_what_one_side_of_a_mask_needs_belongs_to_it() -> None:
    def formula(y: Any) -> Any:
        shared, negative = y * y, y < 0
        inner = np.where(shared > 4, np.exp(shared), shared)
        return np.where(negative, np.sin(inner), np.cos(shared))

    conditions = {step[0]: step[-1] for step in read(formula, "dd", 1)[1]}  # type: ignore[index]
    assert conditions == {
        np.multiply: -1,
        np.less: -1,
        np.greater: 2 * 1 + True,
        np.exp: 2 * 2 + True,
        "where": -1,  # the last one; the inner belongs to `negative`
        np.sin: 2 * 1 + True,
        np.cos: 2 * 1 + False,
    }


@pytest.mark.parametrize("below", [0.0, 0.5, 1.0])
@pytest.mark.parametrize("n", [1, 3, 700, 1400])
def test_sides_of_masks_that_nothing_takes_are_left_out(below: float, n: int) -> None:
    """Beta functions ask whether an argument is large, or small beside the other: everywhere, here and there,
    nowhere."""
    rng = np.random.default_rng(n)
    a, b = rng.uniform(0.5, 50, n), rng.uniform(0.5, 50, n)
    few = np.arange(n) >= n * (1 - below)
    b = np.where(few, 1e-4 * b, b)
    _, pullback = ld.vjp(special.betaln, a, b)
    a_bar, b_bar = pullback(np.ones(n))
    for each in range(0, n, 97):
        one = ld.grad(lambda a, b: special.betaln(a, b), (0, 1))(a[each], b[each])
        np.testing.assert_allclose((a_bar[each], b_bar[each]), one, rtol=1e-14)


def test_single_precision_stays() -> None:
    assert read(lambda y: np.where(y < 0, 0.5, y > 1), "ff", 1)[4] == np.dtype("f").num  # type: ignore[index]


def test_warnings_and_errors_of_values_are_numpys() -> None:
    x = np.array([2.0, 0.5])
    with pytest.warns(RuntimeWarning, match="invalid value encountered in arcsin"):
        ld.vjp(np.arcsin, x)
    with np.errstate(all="raise"), pytest.raises(FloatingPointError, match="arcsin"):
        ld.vjp(np.arcsin, x)


@pytest.mark.parametrize("n", [1, 2, 16, 2048, 5000])
def test_clip_keeps_numpys_zeros(n: int) -> None:
    for number, lower, upper in [(-0.0, 0.0, 1.0), (0.0, -1.0, -0.0), (-0.0, -1.0, 0.0), (2.0, np.nan, 1.0)]:
        x = np.full(n, number)
        found = ld.vjp(lambda v, lower=lower, upper=upper: np.clip(v, lower, upper), x)[0]
        assert same_bits(found, np.clip(x, lower, upper))


def test_functions_without_loops_for_a_type_have_second_derivatives() -> None:
    x = np.array([0.3, 0.7])
    for f, given in [
        (lambda v: np.real(special.wofz(v)), x),
        (lambda v: np.float_power(v, 2.5), x.astype(np.float32)),
        (lambda v: np.float_power(2.5, v), x.astype(np.float32)),
    ]:
        slope = ld.grad(lambda v, f=f: np.sum(f(v)))
        h = 1e-6 if given.dtype == np.float64 else 1e-3
        differences = (slope(given + given.dtype.type(h)) - slope(given - given.dtype.type(h))) / (2 * h)
        found = np.diagonal(ld.hessian(lambda v, f=f: np.sum(f(v)))(given))
        np.testing.assert_allclose(found, differences, rtol=1e-6 if given.dtype == np.float64 else 1e-2)


@pytest.mark.parametrize("n", [4, 2048, 2049])
@pytest.mark.parametrize("exponent", [0, 0.0, np.zeros(1)])
def test_slope_of_a_power_of_zero(n: int, exponent: Any) -> None:
    x = np.resize([5e-324, 1e-310, np.nan, 1.0, 0.0, np.inf], n)
    for at in (x, np.broadcast_to(x[:, None], (n, 2))):
        tangent = ld.jvp(lambda v: v**exponent, (at,), (np.ones(at.shape),))[1]
        known = ~np.isnan(at) | np.isscalar(exponent)
        np.testing.assert_array_equal(tangent[known], 0)
        with np.errstate(all="ignore"):
            tangent = ld.jvp(lambda v: np.float_power(v, exponent), (at,), (np.ones(at.shape),))[1]
        np.testing.assert_array_equal(tangent[known], 0)


def half_tanh(x, y):
    half_tanh.calls += 1
    return 0.5 * (1 + np.tanh(x * y))


def test_value_given_as_a_formula_is_carried_out_without_python():
    step = elementwise_rule(
        half_tanh,
        lambda z, x, y: 2 * y * z * (1 - z),
        lambda z, x, y: 2 * x * z * (1 - z),
        value=lambda x, y: 0.5 * (1 + np.tanh(x * y)),
    )
    x, y = np.linspace(-2, 2, 7), np.linspace(1, 2, 7)
    half_tanh.calls = 0
    z, slopes = ld.value_and_grad(lambda x, y: np.sum(step(x, y)), argnums=(0, 1))(x, y)
    assert half_tanh.calls == 0
    s = half_tanh(x, y)
    assert z == np.sum(s)
    np.testing.assert_allclose(slopes, (2 * y * s * (1 - s), 2 * x * s * (1 - s)), rtol=1e-15)


def test_value_of_one_argument_given_as_a_formula():
    square = elementwise_rule(lambda x: 1 / 0, lambda _, x: 2 * x, value=lambda x: x * x)
    np.testing.assert_array_equal(ld.grad(lambda x: np.sum(square(x)))(np.arange(3.0)), [0, 2, 4])


def test_value_given_as_a_formula_that_cannot_be_read_is_called():
    step = elementwise_rule(
        lambda x: np.where(x > 0, x, 0.0), lambda _, x: np.greater(x, 0), value=lambda x: x if x.all() else 0
    )
    np.testing.assert_array_equal(ld.grad(lambda x: np.sum(step(x)))(np.array([-1.0, 2.0])), [0, 1])
