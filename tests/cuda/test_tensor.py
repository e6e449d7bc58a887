"""Tensor expressions of CuPy's arrays: kernels beside the loops for NumPy's."""

import numpy as np
import pytest

import lindiff as ld

EXPRESSIONS = {
    "product": ("f[i,j] = sum[k] x[i,k]*y[k,j]", {}, [(4, 5), (5, 3)]),
    "shifted": ("f[i,j] = sum[l] tanh(x[i + 2*l - 1])*y[l,j]", {"outside": "zero", "ranges": {"i": 6}},
                [(9,), (4, 3)]),
    "strided": ("f[b,p] = sum[c,u] x[b,c,2*p + u]*y[c,u]", {}, [(2, 3, 11), (3, 3)]),
    "wrapped": ("f[i] = x[i - 1] - 2*x[i] + x[i + 1]*y[i]", {"outside": "wrap", "ranges": {"i": "n"}},
                [(6,), (6,)]),
    "triangle": ("f[i] = sum[k | k <= i, (i + k) % 2 == 0] x[k]*y[i]/(1 + k)", {}, [(7,), (7,)]),
    "maximum": ("f[i] = max[k] x[i,k] + 0.5*(sum[k] y[k])", {}, [(3, 4), (4,)]),
    "least": ("f = min[i] (x[i] - y[i])**2", {}, [(5,), (5,)]),
    "products": ("f[j] = prod[i | i <= j] x[i]*y[j]", {}, [(4,), (4,)]),
    "functions": (
        "f[i] = [i >= 1]*where(greater(x[i], y[i]), exp(x[i])*sqrt(abs(y[i])), maximum(x[i], 0.2)"
        "*arctan2(x[i], 2)) + logaddexp(x[i], y[i]) + sign(x[i])*log1p(y[i]**2) + x[i]**3/(1 + y[i]**2)",
        {}, [(5,), (5,)],
    ),
    "diagonal": ("f[i] = x[i,i]*y[2*i]", {"ranges": {"i": 3}}, [(3, 3), (6,)]),
    "numbers": ("f[i,j] = i - 0.5*j + 0.1*x[i]*y[j]", {}, [(3,), (4,)]),
}  # fmt: skip


@pytest.mark.parametrize("name", EXPRESSIONS)
@pytest.mark.parametrize("dtype", [np.float64, np.float32])
def test_kernels_give_what_loops_give(cupy, rng, name, dtype):
    text, options, shapes = EXPRESSIONS[name]
    f = ld.tensor(text, **options)
    given = {"n": 6} if "n" in f.integers else {}
    host = [rng.normal(size=shape).astype(dtype) for shape in shapes]
    device = [cupy.asarray(x) for x in host]
    expected = f(*host, **given)
    found = f(*device, **given)
    assert type(found) is cupy.ndarray
    assert found.dtype == dtype
    tolerance = {"rtol": 2e-5, "atol": 1e-6} if dtype == np.float32 else {"rtol": 1e-12, "atol": 1e-14}
    np.testing.assert_allclose(found.get(), expected, **tolerance)
    bar = rng.normal(size=np.shape(expected)).astype(dtype)
    for by in f.arguments:
        own, other = (f.adjoint(by)(*xs, b, **given) for xs, b in ((host, bar), (device, cupy.asarray(bar))))
        np.testing.assert_allclose(other.get(), own, **tolerance)
    own = ld.grad(lambda x, y: np.sum(f(x, y, **given) ** 2), (0, 1))(*host)
    other = ld.grad(lambda x, y: np.sum(f(x, y, **given) ** 2), (0, 1))(*device)
    for a, b in zip(own, other, strict=True):
        np.testing.assert_allclose(b.get(), a, rtol=1e-4 if dtype == np.float32 else 1e-11, atol=1e-5)


def test_any_layout_and_none_beside_numpys(cupy, rng):
    f = ld.tensor("f[i,j] = sum[k] x[i,k]*y[k,j]")
    x, y = rng.normal(size=(6, 8)), rng.normal(size=(4, 3))
    expected = x[::2, ::-2] @ y
    np.testing.assert_allclose(f(cupy.asarray(x)[::2, ::-2], cupy.asarray(y.T.copy()).T).get(), expected)
    with pytest.raises(TypeError, match=r"write cupy.asarray"):
        f(cupy.asarray(x)[::2, ::-2], y)
    assert f(cupy.zeros((0, 4)), cupy.asarray(y)).shape == (0, 3)
    assert not f(cupy.zeros((2, 0)), cupy.zeros((0, 3))).get().any()


def test_second_derivatives(cupy, rng):
    f = ld.tensor("f = sum[i] exp(x[i + 1])*x[i]**2")
    x, v = rng.normal(size=5), rng.normal(size=5)
    expected = ld.hvp(f, (x,), (v,))
    np.testing.assert_allclose(ld.hvp(f, (cupy.asarray(x),), (cupy.asarray(v),)).get(), expected, rtol=1e-12)


def test_what_kernels_do_not_compute(cupy):
    with pytest.raises(TypeError, match="real numbers"):
        ld.tensor("f[i] = x[i]*2")(cupy.ones(3, np.complex128))
    with pytest.raises(TypeError, match="spacing is no function of kernels"):
        ld.tensor("f[i] = spacing(x[i])")(cupy.ones(3))
    with pytest.raises(IndexError, match="reads place 3"):
        ld.tensor("f[i] = x[i + 1]", ranges={"i": 3})(cupy.ones(3))
