"""What each transform returns, and that they agree."""

from __future__ import annotations

import collections
import dataclasses

import numpy as np
import pytest

import lindiff as ld

Point = collections.namedtuple("Point", "x y")


@dataclasses.dataclass(frozen=True)
class Model:
    weight: object
    bias: object
    nothing: object = None


def counted(f):
    calls = []

    def g(*args, **kwargs):
        calls.append(args)
        return f(*args, **kwargs)

    return g, calls


def test_grad_of_arguments_by_number():
    def f(x, y, *, scale=1.0):
        return np.sum(x * y) * scale

    x, y = np.array([1.0, 2.0]), np.array([3.0, 4.0])
    np.testing.assert_array_equal(ld.grad(f)(x, y), y)
    np.testing.assert_array_equal(ld.grad(f, 1)(x, y, scale=2.0), 2 * x)
    np.testing.assert_array_equal(ld.grad(f, -1)(x, y), x)
    both = ld.grad(f, (1, 0))(x, y)
    assert isinstance(both, tuple)
    np.testing.assert_array_equal(both, (x, y))
    assert isinstance(ld.grad(f, (0,))(x, y), tuple)
    value, gradient = ld.value_and_grad(f)(x, y)
    assert value == 11.0
    assert isinstance(value, np.float64)
    np.testing.assert_array_equal(gradient, y)
    for argnums, error in (
        (2, ValueError),
        (-3, ValueError),
        ((0, 0), ValueError),
        ((0, -2), ValueError),
        (True, TypeError),
        (0.0, TypeError),
        ([0, 0], ValueError),
        ({0}, TypeError),
        ("z", ValueError),
        ("scale", ValueError),
    ):
        with pytest.raises(error, match="argnums"):
            ld.grad(f, argnums)(x, y)
    np.testing.assert_array_equal(ld.grad(f)(x=x, y=y), y)


def test_has_aux():
    def f(x):
        y = x * x
        return np.sum(y), {"squares": y, "n": 3, "none": None}

    x = np.array([1.0, 2.0])
    gradient, aux = ld.grad(f, has_aux=True)(x)
    np.testing.assert_array_equal(gradient, 2 * x)
    assert type(aux["squares"]) is np.ndarray
    assert aux["n"] == 3
    (value, aux), gradient = ld.value_and_grad(f, has_aux=True)(x)
    assert value == 5.0
    assert aux["none"] is None
    with pytest.raises(TypeError, match="has_aux"):
        ld.grad(lambda x: np.sum(x), has_aux=True)(x)
    with pytest.raises(TypeError, match="has_aux"):
        ld.grad(f)(x)

    def nested(x):  # aux of the inner function belongs to the outer trace
        gradient, aux = ld.grad(f, has_aux=True)(x)
        return np.sum(gradient * aux["squares"])

    np.testing.assert_array_equal(ld.grad(nested)(x), 6 * x * x)


def test_names_and_docstrings_are_kept():
    def loss(x):
        """The loss."""
        return x

    for transform in (ld.grad, ld.value_and_grad, ld.jacobian, ld.hessian):
        assert transform(loss).__name__ == "loss"
        assert transform(loss).__doc__ == "The loss."


def test_vjp_calls_the_function_once_and_pulls_often():
    f, calls = counted(lambda x, y: (x * y, np.sin(x)))
    (p, s), pullback = ld.vjp(f, 2.0, 3.0)
    assert (p, s) == (6.0, np.sin(2.0))
    for k in range(5):
        x_bar, y_bar = pullback((float(k), 1.0))
        assert x_bar == pytest.approx(3 * k + np.cos(2.0))
        assert y_bar == 2.0 * k
    assert len(calls) == 1


def test_linearize_calls_the_function_once():
    f, calls = counted(lambda x: np.exp(x) * x[::-1])
    x = np.array([0.1, 0.2, 0.3])
    J = np.diag(np.exp(x) * x[::-1]) + np.diag(np.exp(x))[:, ::-1]
    y, lin = ld.linearize(f, x)
    np.testing.assert_array_equal(y, np.exp(x) * x[::-1])
    for e in np.eye(3):
        np.testing.assert_allclose(lin(e), J @ e)
        np.testing.assert_allclose(lin.T(e)[0], J.T @ e)
        np.testing.assert_allclose(lin(e), ld.jvp(f, (x,), (e,))[1])
    assert len(calls) == 1 + 3
    A = lin.as_linear_operator()
    assert A.shape == (3, 3)
    np.testing.assert_allclose(A @ np.eye(3), J)
    np.testing.assert_allclose(A.H @ np.eye(3), J.T)


def test_linear_operator_of_trees():
    p = Model(np.ones((2, 2)), [np.zeros(2)])
    x = np.array([1.0, 2.0])
    _, lin = ld.linearize(lambda m: {"y": m.weight @ x + m.bias[0], "s": np.sum(m.weight)}, p)
    A = lin.as_linear_operator()
    assert A.shape == (3, 6)
    dense = A @ np.eye(6)
    np.testing.assert_allclose(dense, [[1, 2, 0, 0, 1, 0], [0, 0, 1, 2, 0, 1], [1, 1, 1, 1, 0, 0]])
    np.testing.assert_allclose(A.rmatmat(np.eye(3)), dense.T)


def test_linear_operator_in_scipy(rng):
    linalg = pytest.importorskip("scipy.sparse.linalg")
    A = rng.standard_normal((6, 4))

    def f(x):
        return np.sin(A @ x)

    x = rng.standard_normal(4)
    _, lin = ld.linearize(f, x)
    J, dense = lin.as_linear_operator(), ld.jacobian(f)(x)
    b = rng.standard_normal(6)
    np.testing.assert_allclose(linalg.lsmr(J, b, atol=1e-14, btol=1e-14)[0], np.linalg.lstsq(dense, b)[0])
    np.testing.assert_allclose(linalg.cg(J.H @ J, J.H @ b, rtol=1e-12)[0], np.linalg.lstsq(dense, b)[0])
    s = np.linalg.svd(dense, compute_uv=False)
    np.testing.assert_allclose(linalg.svds(J, 2, v0=np.ones(4))[1][::-1], s[:2])
    np.testing.assert_allclose(linalg.eigsh(J.H @ J, 2, v0=np.ones(4))[0][::-1], s[:2] ** 2)
    np.testing.assert_allclose(J.matmat(np.eye(4)), dense)
    np.testing.assert_allclose(J.rmatmat(np.eye(6)), dense.T)
    np.testing.assert_allclose(J @ (x + 1j * x), dense @ (x + 1j * x))
    np.testing.assert_allclose(J.H @ (b + 1j * b), dense.T @ (b + 1j * b))
    assert J.dtype == np.float64
    with pytest.raises(ValueError, match=r"(?i)dimension mismatch"):
        J @ np.ones(5)


def test_linear_operator_of_complex_functions(rng):
    z = rng.standard_normal(3) + 1j * rng.standard_normal(3)
    U = rng.standard_normal((3, 2)) + 1j * rng.standard_normal((3, 2))
    _, lin = ld.linearize(lambda z: np.exp(z) * z[0], z)
    dense = ld.jacobian(lambda z: np.exp(z) * z[0], holomorphic=True)(z)
    J = lin.as_linear_operator()
    np.testing.assert_allclose(J @ U, dense @ U)
    np.testing.assert_allclose(J.H @ U, dense.conj().T @ U)
    # real to complex: as the matrix acts on complex vectors
    _, lin = ld.linearize(lambda x: np.exp(1j * x) * x[0], z.real)
    dense = ld.jacobian(lambda x: np.exp(1j * x) * x[0])(z.real)
    J = lin.as_linear_operator()
    np.testing.assert_allclose(J @ U, dense @ U)
    np.testing.assert_allclose(J.H @ U, dense.conj().T @ U)
    for f in (np.abs, np.conj):
        _, lin = ld.linearize(f, z)
        with pytest.raises(TypeError, match="linear"):
            lin.as_linear_operator()


def test_linear_transpose():
    A = np.arange(6.0).reshape(2, 3)
    transpose = ld.linear_transpose(lambda x, y: (A @ x - 2.0 * y, np.sum(y)), np.zeros(3), np.zeros(2))
    x_bar, y_bar = transpose((np.array([1.0, 10.0]), 100.0))
    np.testing.assert_array_equal(x_bar, A.T @ [1.0, 10.0])
    np.testing.assert_array_equal(y_bar, [98.0, 80.0])
    for f in (lambda x: x * x, np.sin, lambda x: 1.0 / x, lambda x: np.sum(x) * x):
        with pytest.raises(ValueError, match="not linear"):
            ld.linear_transpose(f, np.ones(2))
    with pytest.raises(ValueError, match="affine"):
        ld.linear_transpose(lambda x: x + 1.0, np.ones(2))


# -- jacobian ---------------------------------------------------------------------------------------------

CASES = {
    "vector": (lambda x: np.sin(x) * x[0], (np.array([0.3, 0.7]),)),
    "wide": (lambda x: np.sum(x) * x[0], (np.arange(3.0),)),
    "tall": (lambda x: x * np.arange(4.0), (np.array([2.0]),)),
    "0-d": (lambda x: x * x, (np.array(3.0),)),
    "scalar": (lambda x: x * x, (3.0,)),
    "matrix": (lambda A: A @ A, (np.array([[1.0, 2.0], [3.0, 5.0]]),)),
    "empty input": (lambda x: np.sum(x) * np.ones(2), (np.zeros(0),)),
    "empty output": (lambda x: x[:0], (np.ones(3),)),
    "tree": (
        lambda t: {"p": t[0] * t[1]["a"], "q": [t[0], np.sum(t[1]["a"])]},
        ((2.0, {"a": np.array([1.0, 3.0])}),),
    ),
    "named": (lambda p: Point(p.x * p.y, p.x), (Point(2.0, np.array([3.0, 4.0])),)),
    "constant": (lambda x: (np.ones(2), 3.0, x), (np.ones(2),)),
    "float32": (lambda x: x * np.float32(2), (np.ones(2, "f4"),)),
    "real to complex": (lambda x: x * (1 + 2j) * x[0], (np.array([1.0, 2.0]),)),
    "integers": (lambda x: x * x, (np.array([1, 2]),)),
}


def leaves(tree):
    return ld.core.pytree.flatten(tree)[0]


@pytest.mark.parametrize("case", CASES)
def test_modes_of_jacobian_agree(case):
    f, args = CASES[case]
    results = [ld.jacobian(f, mode=mode)(*args) for mode in (None, "forward", "reverse")]
    y = f(*args)
    for result in results[1:]:
        for a, b in zip(leaves(results[0]), leaves(result), strict=True):
            np.testing.assert_allclose(a, b, atol=1e-14)
            assert a.dtype == b.dtype
            assert a.shape == b.shape
    shapes = [np.shape(a) + np.shape(b) for a in leaves(y) for b in leaves(args)]
    assert [a.shape for a in leaves(results[0])] == shapes
    assert ld.jacobian(f, (0,))(*args) is not None


@pytest.mark.parametrize("chunk", [1, 200, 1 << 20])
def test_jacobian_in_chunks(monkeypatch, rng, chunk):
    """Directions one by one, a few at a time, all at once."""
    for limit in ("CHUNK_BYTES", "LAST_BYTES"):
        monkeypatch.setattr(f"lindiff.transforms.jacobian.{limit}", chunk)
    A = rng.standard_normal((5, 5))

    def f(x):
        return np.tanh(A @ x) * x[::-1], np.sum(x * x)

    x = rng.standard_normal(5)
    y = np.tanh(A @ x)
    dense = np.diag(x[::-1]) @ np.diag(1 - y**2) @ A + np.diag(y)[:, ::-1]
    for mode in ("forward", "reverse"):
        J, g = ld.jacobian(f, mode=mode)(x)
        np.testing.assert_allclose(J, dense, rtol=1e-13, atol=1e-15)
        np.testing.assert_array_equal(g, 2 * x)


def test_jacobian_walks_with_many_directions(rng):
    """A pullback and a pushforward are called once, not once for every direction."""
    calls = []

    @ld.rule
    def triple(x):
        def push(x_dot):
            calls.append("push")
            return 3.0 * x_dot

        def pull(y_bar):
            calls.append("pull")
            return 3.0 * y_bar

        return 3.0 * x, ld.Linear(push, pull)

    for mode in ("forward", "reverse"):
        np.testing.assert_array_equal(ld.jacobian(triple, mode=mode)(np.ones(4)), 3.0 * np.eye(4))
    assert calls == ["push", "pull"]


def test_jacobian_of_several_arguments():
    x, y = np.array([1.0, 2.0]), np.array([3.0, 4.0, 5.0])
    for mode in ("forward", "reverse"):
        jx, jy = ld.jacobian(lambda x, y: x[0] * y, (0, 1), mode=mode)(x, y)
        np.testing.assert_array_equal(jx, [[3, 0], [4, 0], [5, 0]])
        np.testing.assert_array_equal(jy, np.eye(3))
    with pytest.raises(ValueError, match="mode"):
        ld.jacobian(np.sin, mode="sideways")


def test_jacobian_of_a_real_function_of_complex_numbers():
    """dy = Re(J dz)."""
    z = np.array([1 + 2j, 3 - 1j])
    for mode in ("forward", "reverse"):
        J = ld.jacobian(lambda z: np.sum(np.real(z * np.conj(z))), mode=mode)(z)
        np.testing.assert_allclose(J, 2 * np.conj(z))


def test_holomorphic():
    z = 1 + 2j
    assert ld.grad(lambda z: z * z, holomorphic=True)(z) == 2 + 4j
    value, slope = ld.value_and_grad(np.exp, holomorphic=True)(z)
    assert value == np.exp(z)
    np.testing.assert_allclose(slope, np.exp(z), rtol=1e-15)
    np.testing.assert_allclose(
        ld.grad(ld.grad(lambda z: z**3, holomorphic=True), holomorphic=True)(z), 6 * z, rtol=1e-15
    )
    with pytest.raises(TypeError, match="complex"):
        ld.grad(lambda z: z * z)(z)
    with pytest.raises(TypeError, match="holomorphic"):
        ld.grad(lambda z: z * z, holomorphic=True)(1.0)
    with pytest.raises(TypeError, match="complex arguments"):
        ld.grad(lambda x: x * 1j, holomorphic=True)(1.0)
    for f in (lambda z: z * np.conj(z), lambda z: np.real(z) + 0j, lambda z: z * np.abs(z)):
        with pytest.raises(TypeError, match="not complex-linear"):
            ld.grad(f, holomorphic=True)(z)


@pytest.mark.parametrize("mode", ["forward", "reverse"])
def test_jacobian_of_a_holomorphic_function(mode):
    z = np.array([1 + 1j, 2 - 1j])
    J = ld.jacobian(lambda z: z * z[0] * 1j, mode=mode, holomorphic=True)(z)
    np.testing.assert_allclose(J, 1j * np.array([[2 * z[0], 0], [z[1], z[0]]]), rtol=1e-15)
    with pytest.raises(TypeError, match="holomorphic=True"):
        ld.jacobian(lambda z: z * z, mode=mode)(z)
    with pytest.raises(TypeError, match="not complex-linear"):
        ld.jacobian(np.conj, mode=mode, holomorphic=True)(z)
    with pytest.raises(TypeError, match="needs complex"):
        ld.jacobian(np.real, mode=mode, holomorphic=True)(z)
    dy = ld.jacobian(lambda x: x * (1 + 2j), mode=mode)(np.array([1.0, 2.0]))  # real to complex
    np.testing.assert_array_equal(dy, (1 + 2j) * np.eye(2))


def test_facts_of_complex_gradients():
    """Under ⟨a, b⟩ = Re(aᴴ b) the gradient of a real f is 2 ∂f/∂z̄ (Wirtinger)."""
    z = np.array([1 + 2j, -0.5 + 1j])
    np.testing.assert_allclose(ld.grad(lambda z: np.sum(np.abs(z) ** 2))(z), 2 * z, rtol=1e-15)
    np.testing.assert_allclose(ld.grad(lambda z: np.sum(np.real(z * z)))(z), 2 * np.conj(z), rtol=1e-15)
    np.testing.assert_allclose(ld.grad(lambda z: np.sum(np.imag(np.exp(z))))(z), np.conj(-1j * np.exp(z)))
    np.testing.assert_allclose(ld.grad(lambda z: np.sum(np.real(z)))(z), np.ones(2))
    # f(z) of the parts: df = Re(conj(grad) dz) = grad.real dx + grad.imag dy
    g = ld.grad(lambda z: np.sum(np.abs(z) * np.real(z)))(z)
    gx, gy = ld.grad(lambda x, y: np.sum(np.hypot(x, y) * x), (0, 1))(z.real, z.imag)
    np.testing.assert_allclose(g, gx + 1j * gy, rtol=1e-14)


def test_second_derivatives_of_complex_arguments():
    """The gradient of |z|² is 2z, complex-linear; that of Re(z³) is 3z̄², real-linear only."""
    z, v = np.array([1 + 2j, -0.5 + 1j]), np.array([1j, 2 - 1j])
    np.testing.assert_allclose(ld.hessian(lambda z: np.sum(np.abs(z) ** 2))(z), 2 * np.eye(2), atol=1e-15)

    def cubic(z):
        return np.sum(np.real(z**3))

    with pytest.raises(TypeError, match="gradient of cubic is not complex-linear"):
        ld.hessian(cubic)(z)
    np.testing.assert_allclose(ld.hvp(cubic, (z,), (v,)), 6 * np.conj(z) * np.conj(v), rtol=1e-14)


# -- what every transform takes ----------------------------------------------------------------------------


def powers(x, y, *, scale=1.0):
    return np.sum(scale * x**2 * y), {"x": x, "sum": np.sum(x * y)}


def first(f):
    return lambda *args, **kwargs: f(*args, **kwargs)[0]


X, Y, S = np.array([1.0, 2.0]), np.array([3.0, 4.0]), 0.5


@pytest.mark.parametrize("argnums", [0, 1, -1, (0,), (1, 0), "scale", (1, "scale")], ids=str)
@pytest.mark.parametrize("transform", [ld.grad, ld.value_and_grad, ld.jacobian, ld.hessian])
def test_argnums_aux_and_keywords(transform, argnums):
    plain = transform(first(powers), argnums)(X, Y, scale=S)
    with_aux = transform(powers, argnums, has_aux=True)(X, Y, scale=S)
    if transform is ld.value_and_grad:
        (value, aux), result = with_aux
        assert value == plain[0]
        plain = plain[1]
    else:
        result, aux = with_aux
    assert type(result) is type(plain)
    for a, b in zip(leaves(result), leaves(plain), strict=True):
        np.testing.assert_array_equal(a, b)
    assert aux["sum"] == 11.0
    assert not any(isinstance(leaf, ld.Variable) for leaf in leaves(aux))
    exact = {0: 2 * S * X * Y, 1: S * X**2, "scale": np.sum(X**2 * Y)}
    if transform in (ld.grad, ld.value_and_grad, ld.jacobian):
        given = argnums if isinstance(argnums, tuple) else (argnums,)
        for a, place in zip(leaves(result), given, strict=True):
            np.testing.assert_allclose(a, exact[1 if place == -1 else place])


def test_aux_and_keywords_where_primals_are_given():
    dx = np.array([1.0, -1.0])
    y, y_dot, aux = ld.jvp(powers, (X, Y), (dx, 0 * Y), has_aux=True, scale=S)
    assert (y, y_dot, aux["sum"]) == (*ld.jvp(first(powers), (X, Y), (dx, 0 * Y), scale=S), 11.0)
    y, pullback, aux = ld.vjp(powers, X, Y, has_aux=True, scale=S)
    np.testing.assert_array_equal(pullback(1.0)[0], 2 * S * X * Y)
    assert aux["sum"] == 11.0
    assert len(ld.vjp(first(powers), X, Y, scale=S)) == 2
    y, lin, aux = ld.linearize(powers, X, Y, has_aux=True, scale=S)
    assert (lin(dx, 0 * Y), aux["sum"]) == (y_dot, 11.0)
    (product, _), aux = ld.hvp(powers, (X, Y), (dx, 0 * Y), has_aux=True, scale=S)
    np.testing.assert_array_equal(product, 2 * S * Y * dx)
    assert aux["sum"] == 11.0
    with pytest.raises(TypeError, match=r"\(value, aux\)"):
        ld.jvp(np.sin, (1.0,), (1.0,), has_aux=True)


def weighted(x, y, /, w, *rest, scale=1.0):
    return np.sum(w * x * y) * scale + sum(rest)


@pytest.mark.parametrize("transform", [ld.grad, ld.jacobian, ld.hessian])
@pytest.mark.parametrize(
    ("argnums", "args", "kwargs", "same_as"),
    [
        ([0, 1], (X, Y, S), {}, (0, 1)),
        (["w"], (X, Y, S), {}, (2,)),
        ("y", (X, Y, S), {}, 1),
        (("x", "scale"), (X, Y), {"w": S, "scale": 2.0}, (0, "scale")),
        (2, (X, Y), {"w": S}, "w"),
        ((2, 0), (X, Y), {"w": S}, ("w", 0)),
        (3, (X, Y, S, 1.0), {}, 3),
    ],
)
def test_arguments_are_found_however_they_are_passed(transform, argnums, args, kwargs, same_as):
    found = transform(weighted, argnums)(*args, **kwargs)
    wanted = transform(weighted, same_as)(*args, **kwargs)
    assert type(found) is type(wanted)
    for a, b in zip(leaves(found), leaves(wanted), strict=True):
        np.testing.assert_array_equal(a, b)
    assert len(leaves(found)) > 0


def test_arguments_that_a_call_does_not_have():
    for argnums, args, kwargs in [
        ("scale", (X, Y, S), {}),
        ("rest", (X, Y, S, 1.0), {}),
        (4, (X, Y), {"w": S}),
        (("w", 2), (X, Y, S), {}),
        ((2, "w"), (X, Y), {"w": S}),
    ]:
        with pytest.raises(ValueError, match="argnums"):
            ld.grad(weighted, argnums)(*args, **kwargs)
    with pytest.raises(ValueError, match="without an argument 'x'"):
        ld.grad(max, "x")(1.0, 2.0)  # tells no names
    assert ld.grad(max, [0])(2.0, 1.0) == (1.0,)


def test_value_and_jacobian():
    f, calls = counted(lambda x, y: {"z": x * y, "s": np.sum(x)})
    value, jacobian = ld.value_and_jacobian(f, (0, 1))(X, Y)
    assert len(calls) == 1
    np.testing.assert_array_equal(value["z"], X * Y)
    np.testing.assert_array_equal(jacobian["z"][0], np.diag(Y))
    (value, aux), jacobian = ld.value_and_jacobian(lambda x: (x**2, "aux"), mode="rev", has_aux=True)(X)
    assert aux == "aux"
    np.testing.assert_array_equal(jacobian, np.diag(2 * X))
    value, derivative = ld.value_and_jacobian(np.exp, holomorphic=True)(1j)
    assert value == derivative == np.exp(1j)
    with pytest.raises(TypeError, match="holomorphic"):
        ld.value_and_jacobian(np.exp)(1j)


def test_modes_by_either_name():
    for mode in ("fwd", "forward", "rev", "reverse", None):
        np.testing.assert_array_equal(ld.jacobian(lambda x: x**2, mode=mode)(X), np.diag(2 * X))
    with pytest.raises(ValueError, match=r'"fwd".*"rev"'):
        ld.jacobian(np.sin, mode="backward")


def test_hessian_of_arrays_and_trees():
    H = ld.hessian(lambda x: x**3)(X)
    assert H.shape == (2, 2, 2)
    np.testing.assert_allclose(H, np.einsum("i,ij,ik->ijk", 6 * X, np.eye(2), np.eye(2)))
    H = ld.hessian(lambda x, y: {"xy": x * y, "ss": np.sum(x) ** 2}, (0, 1))(X, Y)
    np.testing.assert_allclose(H["xy"][0][1], np.einsum("ij,ik->ijk", np.eye(2), np.eye(2)))
    np.testing.assert_allclose(H["xy"][0][0], 0.0)
    np.testing.assert_allclose(H["ss"][0][0], 2.0)
    A = np.array([[1.0, 2.0, 3.0]])
    np.testing.assert_allclose(ld.hessian(lambda x: A @ x**2)(np.ones(3)), 2 * np.diag(A[0])[None])
    second = ld.hessian(lambda p: [p["a"] ** 2 * p["b"]])({"a": 2.0, "b": 3.0})
    assert second[0]["a"]["b"] == 4.0
    assert ld.hessian(lambda x: x**2 * (1 + 2j))(2.0) == 2 + 4j
    H, aux = ld.hessian(lambda x: (x**2, "aux"), has_aux=True)(X)
    assert aux == "aux"
    assert H.shape == (2, 2, 2)
    with pytest.raises(TypeError, match="one real number"):
        ld.hessian(lambda z: z**2)(np.array([1j, 2.0]))
    third = ld.jacobian(ld.hessian(lambda x: x**3))(X)
    np.testing.assert_allclose(third[0, 0, 0, 0], 6.0)


def test_wrong_argnums_are_explained():
    for transform in (ld.grad, ld.value_and_grad, ld.jacobian, ld.hessian):
        for argnums, error, message in [
            (2, ValueError, "2 positional arguments"),
            ((0, -2), ValueError, "twice"),
            ("rate", ValueError, "without an argument 'rate'"),
            (1.0, TypeError, "argnums is an int"),
            (True, TypeError, "argnums is an int"),
        ]:
            with pytest.raises(error, match=message):
                transform(first(powers), argnums)(X, Y, scale=S)


# -- trees -------------------------------------------------------------------------------------------------


def test_trees_in_and_out():
    def f(model, data):
        return np.sum(model.weight * data["x"]) + data["y"][0] * model.bias

    model = Model(np.array([1.0, 2.0]), 3.0)
    data = {"x": np.array([5.0, 7.0]), "y": [11.0]}
    g_model, g_data = ld.grad(f, (0, 1))(model, data)
    assert isinstance(g_model, Model)
    assert g_model.nothing is None
    assert g_model.bias == 11.0
    assert list(g_data) == ["x", "y"]
    np.testing.assert_array_equal(g_data["x"], model.weight)
    tangents = ({"y": [2.0], "x": np.ones(2)},)  # keys in another order
    assert ld.jvp(lambda d: f(model, d), (data,), tangents)[1] == 3.0 + 6.0
    _, pullback = ld.vjp(lambda x: {"a": x, "b": 10.0 * x}, 1.0)
    assert pullback({"b": 1.0, "a": 2.0}) == (12.0,)


def test_wrong_structures_are_explained():
    x = {"a": 1.0, "b": 2.0}

    def f(t):
        return t["a"] * t["b"]

    for tangent in (
        {"a": 1.0},
        {"a": 1.0, "c": 2.0},
        (1.0, 2.0),
        1.0,
        None,
        {"a": None, "b": None},
        {"a": 1.0, "b": (1.0,)},
    ):
        with pytest.raises(ValueError, match="tangents"):
            ld.jvp(f, (x,), (tangent,))
    _, pullback = ld.vjp(lambda x: (x, [x, x]), 1.0)
    for y_bar in (1.0, (1.0,), (1.0, 1.0), (1.0, [1.0]), (1.0, [1.0, 1.0, 1.0])):
        with pytest.raises(ValueError, match="cotangent"):
            pullback(y_bar)
    with pytest.raises(ValueError, match="1 primals but 2 tangents"):
        ld.jvp(np.sin, (1.0,), (1.0, 2.0))
    for transform in (ld.jvp, ld.hvp):
        with pytest.raises(TypeError, match="tuple"):
            transform(lambda x: np.sum(x), np.ones(2), np.ones(2))
    _, pullback = ld.vjp(np.sin, np.ones(2))
    with pytest.raises(ValueError, match=r"shape \(3,\).*\(2,\)"):
        pullback(np.ones(3))
    with pytest.raises(TypeError, match="complex"):
        pullback(np.ones(2) * 1j)
    with pytest.raises(TypeError, match="plain array"):
        pullback(np.ma.ones(2))


# -- nothing is shared with the caller ---------------------------------------------------------------------

FUNCTIONS = [
    lambda x: x, lambda x: x.T, lambda x: x[:1], lambda x: (x, x), lambda x: x + 0.0, lambda x: np.exp(x),
    lambda x: np.reshape(x, (-1,)), lambda x: [x * 2.0, x.T],
]  # fmt: skip


@pytest.mark.parametrize("f", FUNCTIONS)
def test_results_are_memory_of_their_own(f):
    x = np.linspace(0.1, 1.0, 4).reshape(2, 2)
    y, pullback = ld.vjp(f, x)
    y_bar = ld.core.pytree.tree_map(np.ones_like, y)
    (wanted,) = pullback(y_bar)
    wanted = wanted.copy()
    for part in leaves(y):
        part *= 7.0  # the value is the caller's
    assert x[0, 0] == 0.1
    (x_bar,) = pullback(y_bar)
    np.testing.assert_array_equal(x_bar, wanted)
    x_bar *= 9.0
    for part in leaves(y_bar):
        np.testing.assert_array_equal(part, 1.0)
    x *= 5.0
    np.testing.assert_array_equal(pullback(y_bar)[0], wanted)
    x /= 5.0
    x_dot = np.ones((2, 2))
    y, y_dot = ld.jvp(f, (x,), (x_dot,))
    _, lin = ld.linearize(f, x)
    again = lin(x_dot)
    for part in leaves((y, y_dot, again)):
        part *= 3.0
    np.testing.assert_array_equal(x_dot, 1.0)
    assert x[0, 0] == 0.1
    x_bars = ld.grad(lambda x, y: np.sum(x) + np.sum(y), (0, 1))(x, x)
    x_bars[0][...] = 5.0
    np.testing.assert_array_equal(x_bars[1], 1.0)


def test_functions_that_write_into_their_arguments():
    def f(x):
        x += 1.0
        x *= x
        return np.sum(x)

    x = np.array([1.0, 2.0])
    np.testing.assert_array_equal(ld.grad(f)(x), [4.0, 6.0])
    np.testing.assert_array_equal(x, [1.0, 2.0])


# -- Variables made by hand inside -------------------------------------------------------------------------


def test_variables_made_inside_a_function():
    def f(x):
        w = ld.Variable(2.0)
        y = w * w * x  # 2 w x = 4 x
        y.backward()
        return w.grad * x  # 4 x^2

    def g(x):
        return ld.Variable(3.0) * x

    assert ld.grad(f)(3.0) == 24.0
    assert ld.jvp(f, (3.0,), (1.0,)) == (36.0, 24.0)
    assert ld.grad(ld.grad(f))(3.0) == 8.0
    assert ld.value_and_grad(g)(5.0) == (15.0, 3.0)
    assert ld.jvp(g, (5.0,), (1.0,)) == (15.0, 3.0)
    assert ld.grad(g, has_aux=False)(5.0) == 3.0


def test_variables_of_outside_are_constants_of_a_transform():
    w = ld.Variable(2.0)
    gradient = ld.grad(lambda x: x * x * w)(3.0)
    assert isinstance(gradient, ld.Variable)
    gradient.backward()
    assert w.grad == 6.0


def test_leaks_are_values_outside():
    kept = []

    def inner(y):
        kept.append(y * 1.0)
        return y * y

    def outer(x):
        ld.grad(inner)(x)
        return kept[-1] * x

    assert ld.grad(outer)(2.0) == 4.0


@pytest.mark.parametrize("returned", [np.sin, lambda x: x, "method", np.sum, len])
@pytest.mark.parametrize("tree", [lambda y: y, lambda y: {"y": y}])
def test_a_function_is_no_result(returned, tree):
    def f(x):
        return tree(x.sum if returned == "method" else returned)

    x = np.ones(2)
    for run in (
        lambda: ld.grad(f)(x),
        lambda: ld.vjp(f, x),
        lambda: ld.jvp(f, (x,), (x,)),
        lambda: ld.jacobian(f)(x),
        lambda: ld.hessian(f)(x),
        lambda: ld.linearize(f, x),
    ):
        with pytest.raises(TypeError, match="a function was returned"):
            run()
    assert ld.grad(lambda x: (np.sum(x), f), has_aux=True)(x)[1] is f


def test_numbers_come_as_numbers():
    """What has no axes is a NumPy scalar; a derivative has the form of its argument, a number or an array."""

    def f(x):
        return x**3

    of_number = [
        ld.grad(f)(2.0),
        *ld.value_and_grad(f)(2.0),
        *ld.jvp(f, (2.0,), (1.0,)),
        *ld.vjp(f, 2.0)[1](1.0),
        ld.linearize(f, 2.0)[1](1.0),
        ld.jacobian(f)(2.0),
        ld.jacobian(f, mode="reverse")(2.0),
        ld.jacobian(lambda x: 3.0)(2.0),
        ld.hessian(f)(2.0),
        ld.jacobian(f, (0,))(2.0)[0],
        ld.jacobian(lambda x: {"y": f(x)})(2.0)["y"],
        ld.hvp(f, (2.0,), (1.0,)),
        ld.ggnvp(f, f, (2.0,), (1.0,)),
        ld.grad(lambda x: (f(x), f(x)), has_aux=True)(2.0)[1],
        ld.grad(lambda x: (f(x), [np.sum(x)]), has_aux=True)(2.0)[1][0],
        ld.value(ld.Variable(2.0) * 2),
    ]
    assert {type(y) for y in of_number} == {np.float64}
    of_array = [
        ld.grad(f)(np.array(2.0)),
        ld.value_and_grad(f)(np.array(2.0))[1],
        ld.vjp(f, np.array(2.0))[1](1.0)[0],
        ld.grad(lambda p: f(p["a"]))({"a": np.array(2.0)})["a"],
        ld.jacobian(f)(np.array(2.0)),
        ld.jacobian(f, mode="rev")(np.array(2.0)),
        ld.value_and_jacobian(f)(np.array(2.0))[1],
        ld.hessian(f)(np.array(2.0)),
    ]
    assert {type(y) for y in of_array} == {np.ndarray}


def test_none_is_a_zero_tangent():
    """Beside others; alone it is what is returned by mistake."""

    def f(x, p):
        return {"y": x * p["a"], "z": p["b"][0] * x}

    p, p_dot = {"a": 2.0, "b": [3.0, X]}, {"a": None, "b": [1.0, None]}
    zeros = {"a": 0.0, "b": [1.0, 0 * X]}
    for tangents, filled in [
        ((1.0, None), (1.0, ld.tree_map(np.zeros_like, p))),
        ((None, p_dot), (0.0, zeros)),
    ]:
        wanted = ld.jvp(f, (5.0, p), filled)[1]
        assert ld.jvp(f, (5.0, p), tangents)[1] == wanted
        assert ld.linearize(f, 5.0, p)[1](*tangents) == wanted
    assert ld.hvp(lambda x, p: f(x, p)["y"], (5.0, p), (1.0, None))[1]["a"] == 1.0
    _, pullback = ld.vjp(f, 5.0, p)
    assert pullback({"y": None, "z": 2.0})[0] == 6.0
    for refused in (None, {"y": None, "z": None}):
        with pytest.raises(ValueError, match="cotangent has None"):
            pullback(refused)
    with pytest.raises(ValueError, match="tangents has None"):
        ld.jvp(np.sin, (1.0,), (None,))


def test_nothing_to_differentiate():
    """Arrays without elements, trees without arrays."""
    e, E = np.zeros(0), np.zeros((0, 2))

    def f(x):
        return {"square": x**2, "sum": np.sum(x), "none": None}

    for x in (e, E):
        assert ld.jvp(f, (x,), (x,))[1]["square"].shape == x.shape
        assert ld.vjp(f, x)[1]({"square": x, "sum": 1.0, "none": None})[0].shape == x.shape
        _, lin = ld.linearize(f, x)
        assert lin(x)["sum"] == 0.0
        assert lin.as_linear_operator().matmat(np.zeros((0, 3))).shape == (1, 3)
        for mode in ("fwd", "rev"):
            assert ld.jacobian(f, mode=mode)(x)["square"].shape == (*x.shape, *x.shape)
        assert ld.hessian(np.sum)(x).shape == ld.hessian(f)(x)["sum"].shape == (*x.shape, *x.shape)
        assert ld.hvp(np.sum, (x,), (x,)).shape == x.shape
        assert ld.ggnvp(f, lambda y: y["sum"], (x,), (x,)).shape == x.shape
    assert ld.grad(lambda p: 3.0)({"a": None, "b": []}) == {"a": None, "b": []}
    assert ld.jvp(lambda x, p: x, (1.0, None), (1.0, None))[1] == 1.0
    vector, unravel = ld.ravel({"a": None})
    assert vector.shape == (0,)
    assert unravel(vector) == {"a": None}


def test_integers_are_not_differentiated_silently():
    """As exponents of negative numbers they have no derivative; as starting values they are numbers."""

    def power(p):
        return p["a"] ** p["n"]

    for number in (3, np.int32(3), np.array(3), np.array([3])):
        p = {"a": -2.0, "n": number}
        for derivative in (
            lambda p: ld.grad(lambda p: np.sum(power(p)))(p),
            lambda p: ld.vjp(power, p)[1](ld.tree_map(np.ones_like, power(p)))[0],
            lambda p: ld.jacobian(power)(p),
        ):
            with pytest.warns(RuntimeWarning, match="integers are differentiated as real numbers"):
                np.testing.assert_allclose(derivative(p)["a"], 12.0)
    assert ld.grad(power)({"a": 2, "n": 3})["a"] == 12.0
    assert np.isnan(ld.grad(power)({"a": -2.0, "n": 3.0})["n"])


@dataclasses.dataclass(frozen=True)
class Layer:
    weight: object
    activation: object = dataclasses.field(default=np.tanh, metadata={"static": True})
    name: str = dataclasses.field(default="layer", kw_only=True, metadata={"static": True})


def test_static_fields_are_constants():
    def f(layers):
        return sum(np.sum(layer.activation(layer.weight)) for layer in layers)

    layers = [Layer(X, np.sin, name="first"), Layer(0.5)]
    first, second = ld.grad(f)(layers)
    np.testing.assert_allclose(first.weight, np.cos(X))
    assert (first.activation, first.name, second.name) == (np.sin, "first", "layer")
    vector, unravel = ld.ravel(layers)
    np.testing.assert_array_equal(vector, [*X, 0.5])
    assert unravel(vector)[0].name == "first"
    with pytest.raises(TypeError, match="static"):
        ld.grad(lambda m: m.weight)(Model(1.0, "a name"))


def test_ravel_and_back():
    tree = {"a": 1, "b": (np.arange(4.0).reshape(2, 2), np.array(2.0 + 1j)), "c": np.ones(1, "f4")}
    vector, unravel = ld.ravel(tree)
    np.testing.assert_array_equal(vector, [1, 0, 1, 2, 3, 2 + 1j, 1])
    again = unravel(vector)
    assert again["b"][0].dtype == np.float64
    assert again["c"].dtype == np.float32
    assert type(again["a"]) is np.float64
    assert again["b"][1] == 2 + 1j
    with pytest.raises(ValueError, match=r"\(7,\)"):
        unravel(vector[:-1])

    def f(p):
        return np.sum(np.sin(p["x"]) * p["s"])

    p = {"x": np.array([[0.3], [0.7]]), "s": 2.0}
    vector, unravel = ld.ravel(p)
    gradient = ld.grad(lambda v: f(unravel(v)))(vector)
    np.testing.assert_array_equal(gradient, ld.ravel(ld.grad(f)(p))[0])
    np.testing.assert_array_equal(ld.grad(lambda p: np.sum(ld.ravel(p)[0] * vector))(p)["x"], p["x"])
    assert ld.hessian(lambda v: f(unravel(v)))(vector).shape == (3, 3)


def test_tree_map_needs_one_structure():
    assert ld.tree_map(lambda x, y: x - y, {"a": 1, "b": [2]}, {"b": [5], "a": 7}) == {"a": -6, "b": [-3]}
    with pytest.raises(ValueError, match="the other tree has a list where the first tree has an array"):
        ld.tree_map(np.add, {"a": 1.0}, {"a": [1.0]})


def test_aux_shares_no_memory_with_the_record():
    _, pullback, aux = ld.vjp(lambda x: (lambda y: (np.sum(y * y), y))(np.exp(x)), np.zeros(3), has_aux=True)
    aux[:] = 100.0
    np.testing.assert_array_equal(pullback(1.0)[0], [2.0, 2.0, 2.0])


def test_values_of_trees():
    @dataclasses.dataclass
    class Point:
        x: object
        name: str = "p"

    v = ld.Variable([1.0, 2.0])
    point = ld.value({"points": [Point(v * 2)], "none": None})
    assert point["none"] is None
    assert point["points"][0].name == "p"
    assert type(point["points"][0].x) is np.ndarray


def test_a_pullback_that_is_called_later_sees_its_point():
    """Writing to the primal of a transform that has been taken does not change its derivative."""
    square = ld.rule(lambda t: (t**2, lambda g: 2 * t * g))

    def f(of):
        def g(x):
            y = x * 1.0
            _, pullback = ld.vjp(lambda t: np.sum(of(t)), y)
            _, linear = ld.linearize(of, y)
            y *= 3.0
            y[0] = 7.0
            return np.sum(pullback(1.0)[0] ** 2 + linear(np.ones(2)))

        return g

    x = np.array([1.0, 2.0])
    for of in (square, np.square, lambda t: t * t):
        np.testing.assert_array_equal(ld.grad(f(of))(x), 8 * x + 2)
