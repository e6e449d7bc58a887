"""``with ld.patch_numpy():`` gives code that imported plain NumPy arrays that accept Variables."""

import asyncio
import gc
import importlib
import sys
import textwrap
import threading

import numpy as np
import pytest
import scipy.integrate
import scipy.optimize
from numpy import zeros
from numpy.polynomial import Polynomial
from numpy.polynomial.polynomial import polyval

import lindiff as ld

REAL = [np]  # the module itself, whatever `np` stands for


def powers(a):
    x = np.zeros(3)
    for i in range(3):
        x[i] = a**i
    return np.sum(x)


def by_name(a):
    x = zeros(2)
    x[1] = a
    return x @ x


def write_package(folder, name, source):
    package = folder / "site-packages" / name
    package.mkdir(parents=True)
    (package / "__init__.py").write_text(textwrap.dedent(source))
    return str(package.parent)


def test_arrays_accept_variables_inside():
    with pytest.raises(TypeError, match=r"import lindiff\.numpy"):
        ld.grad(powers)(2.0)
    with ld.patch_numpy():
        assert ld.grad(powers)(2.0) == 5.0
        assert ld.grad(by_name)(2.0) == 4.0
        assert ld.hessian(powers)(2.0) == 2.0
        assert ld.jvp(lambda a: np.linalg.inv([[a, 0.0], [0.0, 1.0]]), (2.0,), (1.0,))[1][0, 0] == -0.25
        assert ld.grad(lambda a: np.r_[a, 1.0] @ np.vectorize(lambda x: a * x)([1.0, 2.0]))(3.0) == 8.0
    with pytest.raises(TypeError, match="plain"):
        ld.grad(powers)(2.0)


def test_names_are_restored():
    before = np, zeros
    with ld.patch_numpy():
        assert np is not before[0]
        assert zeros is not before[1]
        assert REAL[0] is before[0]
        assert REAL[0].zeros is before[1]  # NumPy itself is left as it is
    assert (np, zeros) == before
    assert np is before[0]
    assert sys.modules["numpy"] is np


def test_names_are_restored_after_errors():
    module = np
    with pytest.raises(ZeroDivisionError), ld.patch_numpy():
        1 / 0  # noqa: B018
    assert np is module


def test_without_a_trace_arrays_are_plain():
    gc.collect()  # Variables made by hand in the tracebacks of other tests
    with ld.patch_numpy():
        for made in [np.zeros(2), np.array([1.0, 2.0]), np.sin(np.ones(2)), np.r_[1.0, 2.0]]:
            assert type(made) is np.ndarray
        assert type(np.vectorize(lambda x: x + 0.5)([1, 2])) is np.ndarray
        assert powers(2.0) == 7.0


def test_series():
    def f(c):
        series = np.polynomial.Chebyshev(c)
        return series(0.3) * np.polynomial.chebyshev.chebval(0.2, c) + polyval(0.5, c)

    c = np.array([1.0, 2.0, 3.0])
    expected = ld.grad(lambda c: (c @ T(0.3)) * (c @ T(0.2)) + c @ np.array([1.0, 0.5, 0.25]))(c)
    with ld.patch_numpy():
        np.testing.assert_allclose(ld.grad(f)(c), expected)
        assert type(np.polynomial.chebyshev.chebval(0.2, c)) is np.float64
        assert isinstance(np.polynomial.Polynomial([1.0]), Polynomial)
    assert type(np.polynomial.Polynomial([1.0])) is REAL[0].polynomial.Polynomial


def T(x):
    """Chebyshev's first polynomials."""
    return np.array([1.0, x, 2 * x**2 - 1])


def test_variables_made_by_hand():
    v = ld.Variable(2.0)
    with ld.patch_numpy():
        y = powers(v)
    y.backward()
    assert v.grad == 5.0
    del v, y
    with ld.patch_numpy():
        assert type(np.zeros(2)) is np.ndarray


def test_libraries_get_plain_arrays():
    def f(a):
        rng = np.random.default_rng(0)
        noise = rng.normal(size=3) + rng.standard_normal(3) + np.random.rand(3)  # noqa: NPY002
        area = scipy.integrate.solve_ivp(lambda t, y: -y, (0.0, 1.0), [1.0]).y[0, -1]
        x = np.empty(3)
        x[:] = a * noise * area
        return np.sum(x)

    with ld.patch_numpy():
        assert np.isfinite(ld.grad(f)(1.0))
        found = scipy.optimize.minimize(ld.value_and_grad(lambda x: powers(x[0]) ** 2), np.zeros(1), jac=True)
    assert found.x == pytest.approx([-0.5], abs=1e-4)


def test_contexts_nest():
    with ld.patch_numpy():
        inner = np
        with ld.patch_numpy():
            assert np is inner
        assert np is inner
        assert ld.grad(powers)(2.0) == 5.0
    assert np is REAL[0]


def test_one_context_may_be_entered_again():
    context = ld.patch_numpy()
    for _ in range(2):
        with context, context:
            assert ld.grad(powers)(2.0) == 5.0
    assert np is REAL[0]


def test_a_name_bound_anew_inside_stays():
    module = sys.modules[__name__]
    with ld.patch_numpy():
        module.zeros = None
    assert zeros is None
    module.zeros = np.zeros


def test_installed_packages_are_named(tmp_path, monkeypatch):
    source = """
    import numpy as np

    def fill(v):
        x = np.zeros(2)
        x[0] = v
        return np.sum(x * x)
    """
    monkeypatch.syspath_prepend(write_package(tmp_path, "filler", source))
    filler = importlib.import_module("filler")
    with ld.patch_numpy(), pytest.raises(TypeError, match="plain"):
        ld.grad(filler.fill)(3.0)
    for named in ["filler", ["filler"], filler, [filler]]:
        with ld.patch_numpy(modules=named):
            assert ld.grad(filler.fill)(3.0) == 6.0
    assert filler.np is np
    sys.modules.pop("filler")


@pytest.mark.parametrize("name", ["numpy", "scipy.linalg", "lindiff"])
def test_what_cannot_be_patched(name):
    with pytest.raises(ValueError, match="cannot be patched"):
        ld.patch_numpy(modules=[name])


def test_other_threads_go_on_plain():
    seen = {}

    def other():
        seen["type"] = type(np.zeros(2))
        with pytest.raises(TypeError):
            ld.grad(powers)(2.0)
        with ld.patch_numpy():
            seen["gradient"] = ld.grad(powers)(2.0)

    with ld.patch_numpy():
        thread = threading.Thread(target=other)
        thread.start()
        thread.join()
        assert ld.grad(powers)(2.0) == 5.0
    assert seen == {"type": np.ndarray, "gradient": 5.0}
    assert np is REAL[0]


def test_tasks_side_by_side():
    async def inside():
        with ld.patch_numpy():
            await asyncio.sleep(0)
            return ld.grad(powers)(2.0)

    async def outside():
        await asyncio.sleep(0)
        with pytest.raises(TypeError):
            ld.grad(powers)(2.0)

    async def both():
        return (await asyncio.gather(inside(), outside(), inside()))[::2]

    assert asyncio.run(both()) == [5.0, 5.0]
    assert np is REAL[0]


def test_contexts_closed_out_of_order():
    first, second = ld.patch_numpy(), ld.patch_numpy()
    first.__enter__()
    second.__enter__()
    first.__exit__()
    assert ld.grad(powers)(2.0) == 5.0
    second.__exit__()
    assert np is REAL[0]
    with pytest.raises(TypeError):
        ld.grad(powers)(2.0)


def test_modules_loaded_later_are_found(tmp_path, monkeypatch):
    with ld.patch_numpy():
        pass
    (tmp_path / "users_module.py").write_text(
        "import numpy as np\n\ndef one(a):\n    x = np.zeros(1)\n    x[0] = a\n    return x[0]\n"
    )
    monkeypatch.syspath_prepend(tmp_path)
    module = importlib.import_module("users_module")
    with ld.patch_numpy():
        assert ld.grad(module.one)(2.0) == 1.0
