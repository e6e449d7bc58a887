"""Products with second derivatives."""

from __future__ import annotations

import numpy as np
import pytest

import lindiff as ld


def model(parameters, x):
    hidden = np.tanh(parameters["W"] @ x + parameters["b"])
    return {"mean": hidden[:2], "scale": np.exp(hidden[2])}


def loss(prediction):
    return np.sum(prediction["mean"] ** 4) / prediction["scale"] + np.log(prediction["scale"])


@pytest.fixture
def point(rng):
    parameters = {"W": rng.standard_normal((3, 4)), "b": rng.standard_normal(3)}
    return parameters, {"W": rng.standard_normal((3, 4)), "b": rng.standard_normal(3)}, rng.standard_normal(4)


def flat(tree):
    return np.concatenate([np.ravel(leaf) for leaf in ld.core.pytree.flatten(tree)[0]])


def test_ggnvp_is_the_product_of_its_three_factors(point):
    parameters, v, x = point
    J = np.concatenate(
        [
            np.concatenate([np.reshape(block, (n, -1)) for block in (row["W"], row["b"])], axis=1)
            for row, n in zip(ld.jacobian(lambda p: model(p, x))(parameters).values(), (2, 1), strict=True)
        ]
    )
    mean, scale = model(parameters, x).values()
    H = ld.hessian(lambda z: loss({"mean": z[:2], "scale": z[2]}))(np.append(mean, scale))
    product = ld.ggnvp(lambda p: model(p, x), loss, (parameters,), (v,))
    assert list(product) == ["W", "b"]
    np.testing.assert_allclose(flat(product), J.T @ H @ J @ flat(v), rtol=1e-12)


def test_ggnvp_runs_the_function_once(point):
    parameters, v, x = point
    calls = []

    def counted(p):
        calls.append(1)
        return model(p, x)

    ld.ggnvp(counted, loss, (parameters,), (v,))
    assert calls == [1]


def test_ggnvp_is_the_hessian_where_the_model_is_linear(rng):
    A = rng.standard_normal((5, 3))
    x, v = rng.standard_normal(3), rng.standard_normal(3)

    def squares(z):
        return np.sum(z**4)

    gauss_newton = ld.ggnvp(lambda x: A @ x, squares, (x,), (v,))
    np.testing.assert_allclose(gauss_newton, ld.hvp(lambda x: squares(A @ x), (x,), (v,)), rtol=1e-12)


def test_ggnvp_of_several_arguments_aux_and_keywords(rng):
    x, y, v, w = rng.standard_normal((4, 3))

    def f(x, y, *, power):
        return x**power * y, "aux"

    (gx, gy), aux = ld.ggnvp(f, lambda z: np.sum(z**2), (x, y), (v, w), has_aux=True, power=2)
    z_dot = 2 * x * y * v + x**2 * w
    np.testing.assert_allclose(gx, 2 * x * y * 2 * z_dot)
    np.testing.assert_allclose(gy, x**2 * 2 * z_dot)
    assert aux == "aux"


def test_ggnvp_is_differentiable(rng):
    x, v = rng.standard_normal((2, 3))

    def product(x):
        return np.sum(ld.ggnvp(np.sin, lambda z: np.sum(z**3), (x,), (v,)))

    ld.testing.check_grads(product, (x,))
    np.testing.assert_allclose(product(x), np.sum(np.cos(x) ** 2 * 6 * np.sin(x) * v))


def test_ggnvp_of_complex_models(rng):
    """⟨v, G v⟩ = the second derivative of the loss along the tangent, under Re(aᴴ b)."""
    z = rng.standard_normal(3) + 1j * rng.standard_normal(3)
    v = rng.standard_normal(3) + 1j * rng.standard_normal(3)
    product = ld.ggnvp(np.exp, lambda u: np.sum(np.abs(u) ** 2), (z,), (v,))
    np.testing.assert_allclose(product, 2 * np.abs(np.exp(z)) ** 2 * v, rtol=1e-12)


def test_errors(rng):
    x = rng.standard_normal(3)
    with pytest.raises(TypeError, match="one number"):
        ld.ggnvp(np.sin, lambda z: z, (x,), (x,))
    with pytest.raises(ValueError, match=r"shape \(2,\)"):
        ld.ggnvp(np.sin, np.sum, (x,), (x[:2],))
    with pytest.raises(TypeError, match="primals is a tuple"):
        ld.ggnvp(np.sin, np.sum, x, x)
