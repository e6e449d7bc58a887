"""Several directions at once: every rule gives what it gives for one after the other."""

from __future__ import annotations

import numpy as np
import pytest
from test_table import OPERATORS

import lindiff as ld
from lindiff.core.directions import Apart, Directions, array_of, part_of
from lindiff.core.linearization import Linearization
from lindiff.core.variable import value

COUNT = 2


def random_like(rng, array):
    x = rng.standard_normal((COUNT, *array.shape))
    if array.dtype.kind == "c":
        x = x + 1j * rng.standard_normal(x.shape)
    return x.astype(array.dtype)


def assert_together_as_apart(walk, starts, ends, rng):
    given = [random_like(rng, start) if start.dtype.kind in "fc" else None for start in starts]
    got = walk([None if x is None else Directions(x) for x in given])
    apart = [walk([None if x is None else x[k] for x in given]) for k in range(COUNT)]
    for i, end in enumerate(ends):
        expected = np.stack([np.asarray(value(results[i])) for results in apart])
        result = value(array_of(got[i], COUNT))
        assert result.shape == (COUNT, *end.shape)
        assert result.dtype == expected.dtype
        scale = max(1.0, np.max(np.abs(expected), initial=0.0))
        np.testing.assert_allclose(result, expected, rtol=1e-10, atol=1e-11 * scale)


def assert_walks(function, arrays, rng):
    linearization = Linearization(function, tuple(arrays), kept=True)
    inputs = linearization.inputs.arrays
    outputs = [np.asarray(value(y)) for y in linearization.outputs.arrays]
    assert_together_as_apart(linearization.push_leaves, inputs, outputs, rng)
    assert_together_as_apart(linearization.pull_arrays, outputs, inputs, rng)


DIFFERENTIABLE = [operator for operator in OPERATORS if not operator.constant]


@pytest.mark.parametrize("operator", DIFFERENTIABLE, ids=lambda operator: operator.name)
def test_together_as_apart(operator, rng):
    cases = operator.cases()
    for case in cases[:: max(1, -(-len(cases) // 4))]:  # none where the installed SciPy is wrong
        assert_walks(case, case.arrays(np.complex128 if operator.complex else np.float64), rng)


A = np.random.default_rng(3).standard_normal((4, 4))
B = np.random.default_rng(4).standard_normal((5, 4, 4))
V = np.random.default_rng(5).standard_normal(4)

FUNCTIONS = {
    "element by element": lambda A, v: np.stack([v[i] * v[i - 1] for i in range(4)]),
    "indices": lambda A, v: (A[1], A[:, 2], A[[0, 0, 3]], A[0, [1, 1]], A[A > 0], A[..., None]),
    "indices apart": lambda A, v: ((B * v)[0, :, [0, 1]] * v, A[[1, 2], None, [0, 1]]),
    "products": lambda A, v: (A @ v, v @ A, A @ A, B @ A, A @ B, B @ v, v @ B, v @ v, np.dot(A, v), B * v),
    "broadcasting": lambda A, v: (A + v[:, None] * v, v[0] * A, A / np.sum(v), 1.0 - B * v),
    "reductions": lambda A, v: (np.sum(A), np.sum(A, axis=0) * np.mean(A, axis=-1, keepdims=True)),
    "solves": lambda A, v: (np.linalg.solve(A, v), np.linalg.solve(A, A.T @ A), np.linalg.solve(B, A)),
    "einsum": lambda A, v: np.einsum("ij,kjl,l->ik", A, B, v),
    "branches": lambda A, v: np.where(v > 0, np.sqrt(np.abs(v)), A) if np.sum(v) > -100 else v,
}


@pytest.mark.parametrize("name", FUNCTIONS)
def test_functions_together_as_apart(name, rng):
    assert_walks(FUNCTIONS[name], (A, V), rng)


@pytest.mark.parametrize("name", FUNCTIONS)
def test_in_an_outer_trace(name, rng):
    """The arrays of the directions are Variables: derivatives of a Jacobian."""
    f = FUNCTIONS[name]
    u = rng.standard_normal(4)

    def weighted(v, mode):
        blocks = ld.jacobian(f, 1, mode=mode)(A, v)
        return sum(np.sum(block**2) for block in ld.core.pytree.flatten(blocks)[0])

    forward = ld.jvp(lambda v: weighted(v, "reverse"), (V,), (u,))[1]
    np.testing.assert_allclose(np.sum(ld.grad(weighted)(V, "forward") * u), forward, rtol=1e-9)
    np.testing.assert_allclose(np.sum(ld.grad(weighted)(V, "reverse") * u), forward, rtol=1e-9)


def test_third_order():
    """The Hessian of a Hessian, many directions in each."""
    e = np.eye(4)[0]

    def exact(x):
        return np.diag(6 * x * x[0]) + np.outer(3 * x**2, e) + np.outer(e, 3 * x**2)

    T = ld.jacobian(ld.hessian(lambda x: np.sum(x**3) * x[0]))(V)
    np.testing.assert_allclose(T, ld.jacobian(exact)(V), rtol=1e-12, atol=1e-12)


def test_values_that_differ_send_a_rule_apart(rng):
    """A rule that asks for the values of its cotangent, or hands it to other code, sees one at a time."""
    seen = []

    @ld.rule
    def clipped(x):
        def pull(y_bar):
            seen.append(np.shape(y_bar))
            return y_bar if np.sum(y_bar) > 0 else 0 * y_bar

        def push(x_dot):
            return np.asarray(x_dot) * 1.0

        return x * 1.0, ld.Differential(push, pull)

    assert_walks(clipped, (V,), rng)
    assert set(seen) == {(4,)}


@pytest.mark.parametrize("error", [RuntimeError, ZeroDivisionError, KeyError, ValueError, TypeError])
@pytest.mark.parametrize("mode", ["forward", "reverse"])
def test_errors_of_a_rule_are_its_own(error, mode):
    """They are seen as they are: not hidden behind a second try for one direction after the other."""
    calls = []

    def failing(*_):
        calls.append(1)
        raise error("the rule's own message")

    @ld.rule
    def broken(x):
        return 1.0 * x, ld.Differential(failing, failing)

    with pytest.raises(error, match="the rule's own message") as caught:
        ld.jacobian(broken, mode=mode)(V)
    assert caught.value.__context__ is None
    if error not in (ValueError, TypeError):  # which code that takes no Directions may raise as well
        assert len(calls) == 1


def test_directions_do_not_write_into_one_array():
    """A pullback that computes in place is called for one direction after the other."""

    @ld.rule
    def scaled(x):
        def pullback(y_bar):
            buffer = np.full(4, 2.0)
            buffer *= y_bar
            return np.add(buffer, 0.0, out=buffer)

        return 2 * x, pullback

    np.testing.assert_array_equal(ld.jacobian(scaled, mode="reverse")(V), 2 * np.eye(4))


@pytest.mark.parametrize(
    "logdet",
    [
        lambda A: ld.linalg.lu_factor(A).logdet(),
        lambda A: ld.linalg.cho_factor(A @ np.swapaxes(A, -1, -2)).logdet(),
    ],
    ids=["LU", "Cholesky"],
)
def test_jacobians_of_determinants(logdet):
    """Whose pullback computes in the memory of an inverse."""
    expected = np.stack([ld.grad(logdet)(A) for A in B])
    rows = ld.jacobian(logdet, mode="reverse")(B)
    np.testing.assert_allclose(rows, np.eye(5)[..., None, None] * expected, atol=1e-12)


def test_directions_as_one_array(rng):
    x = Directions(rng.standard_normal((3, 2, 4)))
    assert (x.count, x.shape, x.ndim, x.size, len(x)) == (3, (2, 4), 2, 8, 2)
    assert x.T.shape == (4, 2)
    assert np.shape(x) == x.reshape(2, 4).shape == x.copy().shape
    assert bool(Directions(np.ones(3)))
    for ask in (bool, float, np.asarray):
        with pytest.raises(Apart):
            ask(Directions(np.array([0.0, 1.0])))
    with pytest.raises(AttributeError, match="nonsense"):
        x.nonsense  # noqa: B018
    assert part_of([x, 1.0], 2)[0].shape == (2, 4)
