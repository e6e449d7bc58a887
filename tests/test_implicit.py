"""Derivatives of roots and minimizers from the equation that they solve."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import pytest
from scipy import optimize
from scipy.sparse.linalg import cg, gmres

import lindiff as ld
from lindiff.testing import check_grads

WAYS = [None, "gmres", lambda A, b: gmres(A, b, rtol=1e-13)[0]]


def newton(residual):
    """A plain Newton iteration on a vector, for what ``residual`` is."""

    def solver(*args):
        x = np.ones(np.shape(args[0]))
        for _ in range(50):
            x = x - np.linalg.solve(ld.jacobian(residual)(x, *args), residual(x, *args))
        return x

    return solver


def cubic(x, a, B):
    """Strictly monotone: one root."""
    return x**3 + x + B @ x - a


@pytest.fixture
def arguments(rng):
    B = 0.3 * rng.standard_normal((3, 3))
    return rng.standard_normal(3), B @ B.T


@pytest.mark.parametrize("linear_solve", WAYS, ids=["dense", "gmres", "own"])
def test_root(arguments, linear_solve):
    a, B = arguments
    root = ld.implicit(newton(cubic), cubic, linear_solve=linear_solve)
    x = root(a, B)
    np.testing.assert_allclose(cubic(x, a, B), 0.0, atol=1e-14)
    inverse = np.linalg.inv(np.diag(3 * x**2 + 1) + B)
    for mode in ("forward", "reverse"):
        np.testing.assert_allclose(ld.jacobian(root, mode=mode)(a, B), inverse, rtol=1e-8)
    J_B = ld.jacobian(root, 1)(a, B)
    np.testing.assert_allclose(J_B, -np.einsum("ij,k->ijk", inverse, x), rtol=1e-7, atol=1e-9)
    tolerance = {} if linear_solve is None else {"adjoint_rtol": 1e-7}
    check_grads(root, (a, B), order=2, **tolerance)


def test_root_of_a_number():
    """x = √a by bisection: 1/(2x), -1/(4x³), 3/(8x⁵)."""

    def solver(a):
        return optimize.bisect(lambda x: x * x - a, 0.0, 10.0, xtol=1e-15)

    root = ld.implicit(solver, lambda x, a: x * x - a)
    d1, d2, d3 = (
        ld.grad(root)(4.0),
        ld.grad(ld.grad(root))(4.0),
        ld.jvp(ld.grad(ld.grad(root)), (4.0,), (1.0,))[1],
    )
    np.testing.assert_allclose([d1, d2, d3], [1 / 4, -1 / 32, 3 / 256], rtol=1e-12)
    assert np.shape(root(4.0)) == ()


def test_scipy_root_of_trees():
    class Circle(NamedTuple):
        radius: float
        slope: float

    def crossing(point, circle):
        """Of the circle with the line y = slope x."""
        return [point["x"] ** 2 + point["y"] ** 2 - circle.radius**2, point["y"] - circle.slope * point["x"]]

    def solver(circle):
        found = optimize.root(
            lambda p: np.array(crossing({"x": p[0], "y": p[1]}, circle)), [1.0, 1.0], tol=1e-14
        )
        return {"x": found.x[0], "y": found.x[1]}

    cross = ld.implicit(solver, crossing)
    r, s = 2.0, 0.75
    h = np.sqrt(1 + s * s)
    point, dot = ld.jvp(cross, (Circle(r, s),), (Circle(0.0, 1.0),))
    np.testing.assert_allclose([point["x"], point["y"]], [r / h, r * s / h])
    np.testing.assert_allclose([dot["x"], dot["y"]], [-r * s / h**3, r / h**3])
    g = ld.grad(lambda c: cross(c)["x"])(Circle(r, s))
    np.testing.assert_allclose(g, (1 / h, -r * s / h**3))
    H = ld.hessian(lambda s: cross(Circle(r, s))["x"])(s)
    np.testing.assert_allclose(H, r * (2 * s * s - 1) / h**5)


@pytest.mark.parametrize("linear_solve", [None, "cg"])
def test_minimizer(rng, linear_solve):
    """Ridge regression has a closed form."""
    A, y = rng.standard_normal((8, 3)), rng.standard_normal(8)

    def objective(w, damping, y):
        return 0.5 * np.sum((A @ w - y) ** 2) + 0.5 * damping * np.sum(w**2)

    def closed(damping, y):
        return np.linalg.solve(A.T @ A + damping * np.eye(3), A.T @ y)

    @ld.implicit(residual=objective, minimizer=True, linear_solve=linear_solve)
    def fit(damping, y):
        """Fits."""

        def slope(w):
            return A.T @ (A @ w - y) + damping * w

        return optimize.minimize(
            objective, np.zeros(3), (damping, y), jac=lambda w, *_: slope(w), tol=1e-12
        ).x

    assert fit.__doc__ == "Fits."
    for got, exact in zip(ld.jacobian(fit, (0, 1))(0.5, y), ld.jacobian(closed, (0, 1))(0.5, y), strict=True):
        np.testing.assert_allclose(got, exact, rtol=1e-7)

    def test_error(damping):
        return np.sum((fit(damping, y) - 1.0) ** 2)

    np.testing.assert_allclose(
        ld.hessian(test_error)(0.5), ld.hessian(lambda d: np.sum((closed(d, y) - 1.0) ** 2))(0.5), rtol=1e-6
    )


def test_fixed_point():
    """x = cos(a x), of which sin(ax) a + 1 is the derivative."""

    def g(x, a):
        return np.cos(a * x)

    def iterate(a, start):
        x = start
        for _ in range(500):
            x = g(x, a)
        return x

    fixed = ld.implicit(iterate, lambda x, a, start: g(x, a) - x)
    a = np.array([0.3, 0.9])
    x = fixed(a, np.ones(2))
    da, dstart = ld.jacobian(fixed, (0, 1))(a, np.ones(2))
    np.testing.assert_allclose(da, np.diag(-np.sin(a * x) * x / (1 + np.sin(a * x) * a)), rtol=1e-12)
    np.testing.assert_array_equal(dstart, 0.0)  # it does not matter where the iteration starts


def test_complex_root():
    """w² = z, holomorphic."""
    root = ld.implicit(np.sqrt, lambda w, z: w * w - z)
    z = np.array([1 + 2j, -3 + 0.5j])
    J = ld.jacobian(root, holomorphic=True)(z)
    np.testing.assert_allclose(J, np.diag(0.5 / np.sqrt(z)), rtol=1e-13)
    check_grads(root, (z,))
    with pytest.raises(TypeError, match="not complex-linear"):
        ld.jvp(ld.implicit(np.conj, lambda w, z: np.conj(w) - z), (z,), (z,))


def test_aux_keywords_and_plain_calls():
    calls = []

    def solver(a, *, start):
        calls.append(type(a))
        x = start
        for _ in range(60):
            x = (x + a / x) / 2
        return x, {"steps": 60}

    root = ld.implicit(solver, lambda x, a: x * x - a, has_aux=True)
    assert root(9.0, start=1.0) == (3.0, {"steps": 60})
    (x, aux), g = ld.value_and_grad(root, has_aux=True)(9.0, start=1.0)
    assert (x, aux, g) == (3.0, {"steps": 60}, 1 / 6)
    assert calls == [float, np.float64]  # plain numbers
    with pytest.raises(TypeError, match="keyword arguments"):
        ld.grad(lambda s: root(9.0, start=s)[0])(1.0)


def test_solver_and_residual_do_not_write_into_their_arguments():
    def solver(a, b):
        a -= b
        return a

    def filling(a, b):
        b[:] = 0.0
        return a - b

    def residual(x, a, b):
        a -= b
        return x - a

    a, b = np.array([2.0, 3.0]), np.ones(2)
    for find, equation, name in (
        (solver, lambda x, a, b: x - a + b, r"solver changes its argument 'a' in place"),
        (filling, lambda x, a, b: x - a + b, r"filling changes its argument 'b' in place"),
        (lambda a, b: a - b, residual, r"residual changes its argument 'a' in place"),
    ):
        found = ld.implicit(find, equation)
        for transform in (ld.grad, ld.hessian):
            with pytest.raises(TypeError, match=name):
                transform(lambda a, found=found: np.sum(found(a, b) * a))(a)
        with pytest.raises(TypeError, match=name):
            ld.jvp(lambda a, found=found: found(a, b), (a,), (a,))
        np.testing.assert_array_equal(a, [2.0, 3.0])
        np.testing.assert_array_equal(b, 1.0)


ALONE = """
import numpy as np, lindiff as ld

def solver(a, b):
    a -= b
    return a

a, b = np.array([2.0, 3.0]), np.ones(2)
found = ld.implicit(solver, lambda x, a, b: x - a + b)(a, b)
np.testing.assert_array_equal(found, a)
assert not np.shares_memory(found, a)
np.testing.assert_array_equal(a, [1.0, 2.0])
"""


def test_without_derivatives_a_solver_may_write_and_its_solution_is_a_copy(alone):
    """In a process of its own, where certainly no Variable lives."""
    alone(ALONE)


def test_a_solver_may_return_its_argument():
    a = np.array([2.0, 3.0])
    same = ld.implicit(lambda a: a, lambda x, a: x - a)
    np.testing.assert_array_equal(ld.grad(lambda a: np.sum(same(a) * a))(a), 2 * a)

    def written(a):
        y = same(a)
        y *= 2.0
        return np.sum(y * a)

    np.testing.assert_array_equal(ld.grad(written)(a), 4 * a)
    np.testing.assert_array_equal(a, [2.0, 3.0])


def test_errors():
    def solver(a):
        return np.zeros(2) + a

    with pytest.raises(TypeError, match="residual"):
        ld.implicit(solver)
    with pytest.raises(ValueError, match="linear_solve"):
        ld.implicit(solver, lambda x, a: x - a, linear_solve="lu")
    with pytest.raises(np.linalg.LinAlgError, match="no smooth function"):
        ld.grad(lambda a: np.sum(ld.implicit(solver, lambda x, a: (x - a) ** 2)(a)))(1.0)
    with pytest.raises(ValueError, match="1 elements, the solution 2"):
        ld.grad(lambda a: np.sum(ld.implicit(solver, lambda x, a: x[:1] - a)(a)))(1.0)
    with pytest.raises(TypeError, match="solver closes over a Variable"):
        ld.grad(lambda a: np.sum(ld.implicit(lambda b: a + b, lambda x, b: x - b)(2.0)))(1.0)
    R = np.array([[1.0, 9.0], [-9.0, 1.0]])
    diverging = ld.implicit(solver, lambda x, a: R @ (x - a), linear_solve="cg")
    with pytest.raises(np.linalg.LinAlgError, match="cg did not converge"):
        ld.grad(lambda a: np.sum(diverging(a)))(1.0)


def root_of_cubic(a, s):
    """The root of x³ + a x = s."""
    x = 1.0
    for _ in range(60):
        x = x - (x**3 + a * x - s) / (3 * x**2 + a)
    return x


def closing_over_s(linear_solve, a, s):
    plain = ld.value(s)
    return ld.implicit(
        lambda a: root_of_cubic(a, plain), lambda x, a: x**3 + a * x - s, linear_solve=linear_solve
    )(a)


CLOSED = {
    "grad": lambda f: ld.grad(f, (0, 1))(2.0, 5.0),
    "of s": lambda f: ld.grad(lambda s: f(2.0, s))(5.0),
    "jvp": lambda f: ld.jvp(f, (2.0, 5.0), (0.3, -0.4)),
    "hessian": lambda f: np.ravel(ld.hessian(f, (0, 1))(2.0, 5.0)),
    "a of s": lambda f: ld.grad(lambda a: ld.grad(lambda s: f(a, s))(5.0))(2.0),
    "s of a": lambda f: ld.grad(lambda s: ld.grad(lambda a: f(a * s, s))(2.0))(5.0),
    "forward": lambda f: ld.jvp(lambda s: ld.jvp(lambda a: f(a * s, s), (2.0,), (1.0,))[1], (5.0,), (1.0,)),
    "third": lambda f: ld.grad(ld.grad(ld.grad(lambda s: f(2.0, s))))(5.0),
}


@pytest.mark.parametrize("linear_solve", [None, "gmres"])
@pytest.mark.parametrize("name", CLOSED)
def test_the_residual_may_close_over_variables(name, linear_solve):
    got = CLOSED[name](lambda a, s: closing_over_s(linear_solve, a, s))
    np.testing.assert_allclose(got, CLOSED[name](root_of_cubic), rtol=1e-9)


def of_a_vector(linear_solve, s):
    """x of s A x = b, for all of which the residual closes."""
    A, b = np.array([[3.0, 1.0], [1.0, 2.0]]), np.array([1.0, -1.0])
    plain = ld.value(s)
    return ld.implicit(
        lambda: np.linalg.solve(plain * A, b), lambda x: s * (A @ x) - b, linear_solve=linear_solve
    )()


@pytest.mark.parametrize("linear_solve", ["cg", "gmres"])
def test_without_a_matrix_in_every_mode(linear_solve):
    A, b = np.array([[3.0, 1.0], [1.0, 2.0]]), np.array([1.0, -1.0])

    def closed(s):
        return np.linalg.solve(A, b) / s

    def loss(f):
        return lambda s: np.sum(f(s) ** 3)

    def shared(s):
        return of_a_vector(linear_solve, s)

    for mode in (
        lambda f: ld.grad(loss(f))(2.0),
        lambda f: ld.jvp(f, (2.0,), (0.7,))[1],
        lambda f: ld.jacobian(f, mode="forward")(2.0),
        lambda f: ld.jacobian(f, mode="reverse")(2.0),
        lambda f: ld.linearize(f, 2.0)[1](0.7),
        lambda f: ld.vjp(f, 2.0)[1](b)[0],
        lambda f: ld.hvp(loss(f), (2.0,), (0.7,)),
        lambda f: ld.hessian(loss(f))(2.0),
        lambda f: ld.grad(ld.grad(loss(f)))(2.0),
        lambda f: ld.grad(lambda s: np.sum(ld.jvp(f, (s,), (0.7,))[1] ** 2))(2.0),
        lambda f: ld.jvp(lambda s: ld.jvp(f, (s,), (0.7,))[1], (2.0,), (0.3,))[1],
    ):
        np.testing.assert_allclose(mode(shared), mode(closed), rtol=1e-8)


def test_an_objective_may_close_over_variables():
    def nearest(s):
        plain = ld.value(s)
        find = ld.implicit(
            lambda: {"w": np.array([plain, 2 * plain])},
            lambda x: np.sum((x["w"] - s * np.array([1.0, 2.0])) ** 2),
            minimizer=True,
        )
        return find()["w"]

    np.testing.assert_allclose(ld.jacobian(nearest)(3.0), [1.0, 2.0])
    s = ld.Variable(3.0)
    (nearest(s) @ np.ones(2)).backward()
    np.testing.assert_allclose(s.grad, 3.0)


def test_a_loop_variable_in_the_residual():
    def total(s):
        found = [
            ld.implicit(lambda i=i: np.sqrt(ld.value(s) * i), lambda x, i=i: x**2 - s * i)()
            for i in (1.0, 4.0)
        ]
        return found[0] + found[1]

    np.testing.assert_allclose(ld.grad(total)(4.0), 0.25 + 0.5)


@pytest.mark.parametrize("linear_solve", ["cg", "gmres"])
@pytest.mark.parametrize("scale", [1e-250, 1e-160, 1e160, 1e250])
def test_iterative_solvers_do_not_depend_on_the_scale_of_the_cotangent(linear_solve, scale):
    A = np.array([[3.0, 1.0], [1.0, 4.0]])
    f = ld.implicit(lambda b: np.linalg.solve(A, b), lambda x, b: A @ x - b, linear_solve=linear_solve)
    gradient = ld.grad(lambda b: scale * np.sum(f(b)))(np.ones(2))
    np.testing.assert_allclose(gradient / scale, np.linalg.solve(A, np.ones(2)), rtol=1e-8)


@pytest.mark.parametrize("solve", [cg, lambda A, b: None, lambda A, b: b[:, None], lambda A, b: b[:1]])
def test_what_a_linear_solve_returns_is_checked(solve):
    f = ld.implicit(lambda b: b / 2, lambda x, b: 2 * x - b, linear_solve=solve)
    with pytest.raises(TypeError, match=r"linear_solve\(A, b\) returns the solution"):
        ld.jacobian(f)(np.ones(2))


def test_a_solver_that_fills_its_buffer_again():
    buffer = np.empty(2)

    def find(a):
        return np.sqrt(a, out=buffer)

    root = ld.implicit(find, lambda x, a: x * x - a)
    a = np.array([1.0, 4.0])
    value, gradient = ld.value_and_grad(lambda a: np.sum(root(a) * root(2 * a)))(a)
    assert value == pytest.approx(np.sum(np.sqrt(2) * a)) == np.sum(root(a) * root(2 * a))
    np.testing.assert_allclose(gradient, np.sqrt(2) * np.ones(2))


def test_a_program_does_not_look_at_the_matrix():
    """Whether that is singular is all that is asked: other numbers take the same way."""
    A, y = np.array([[1.0, 0.5], [2.0, -1.0], [0.25, 3.0]]), np.array([1.0, 2.0, 2.5])

    @ld.implicit(residual=lambda w, d: np.sum((A @ w - y) ** 2) + d * np.sum(w**2), minimizer=True)
    def ridge(d):
        return np.linalg.solve(A.T @ A + d * np.eye(2), A.T @ y)

    slope = ld.grad(lambda d: np.sum(ridge(d) ** 2))
    program = ld.program(slope)
    for d in np.linspace(0.1, 2.0, 6):
        np.testing.assert_allclose(program(d), slope(d), rtol=1e-12)
    (explained,) = program.explain()
    assert (explained.recordings, explained.ways) == (2, 1)
