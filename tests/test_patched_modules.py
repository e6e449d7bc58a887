"""What ``patch_numpy`` reaches: functions of ``math`` and of SciPy, class bodies, defaults, generated."""

import cmath
import importlib.machinery
import inspect
import math
import sys
import types

import numpy as np
import pytest
import scipy.interpolate
import scipy.linalg
import scipy.optimize
import scipy.spatial
import scipy.special
from scipy import stats
from scipy.interpolate import CubicSpline
from scipy.linalg import cho_factor, cho_solve
from scipy.stats import norm

import lindiff as ld

REAL = {"np": np, "math": math, "linalg": scipy.linalg, "float": float}
x = np.array([1.3, 0.4, 2.1])


def checked(f, x=x, h=1e-6):
    """The gradient under the patch is that of differences, the value that without it."""
    plain = f(x)
    with ld.patch_numpy():
        value, gradient = ld.value_and_grad(f)(x)
    differences = [(f(x + h * e) - f(x - h * e)) / (2 * h) for e in np.eye(x.size)]
    np.testing.assert_allclose(value, plain, rtol=1e-13)
    np.testing.assert_allclose(gradient, differences, rtol=1e-6, atol=1e-8)


# -- math ----------------------------------------------------------------------------------------------

MATH = {
    "acos": lambda x: math.acos(x[1]) + math.acosh(x[2]) + math.asin(x[1]) + math.asinh(x[0]),
    "atan": lambda x: math.atan(x[0]) + math.atan2(x[0], x[1]) + math.atanh(x[1]),
    "cos": lambda x: math.cos(x[0]) + math.cosh(x[1]) + math.sin(x[0]) * math.sinh(x[2]) + math.tan(x[1]),
    "degrees": lambda x: math.degrees(x[0]) + math.radians(x[1]) + math.tanh(x[2]),
    "erf": lambda x: math.erf(x[0]) + math.erfc(x[1]) + math.gamma(x[2]) + math.lgamma(x[0]),
    "exp": lambda x: math.exp(x[0]) + math.expm1(x[1]),
    "fabs": lambda x: math.fabs(-x[0]) + math.copysign(x[0], -x[1]) + math.fmod(x[2], x[1]),
    "frexp": lambda x: math.frexp(x[0])[0] * math.frexp(x[2])[1] + math.ldexp(x[1], 3) + math.modf(x[2])[0],
    "fsum": lambda x: math.fsum(x) ** 2 + math.fsum([x[0], 1.0]) + math.fsum(y * y for y in x),
    "hypot": lambda x: math.hypot(*x) + math.hypot(x[0]) + math.dist(x, (1.0, 2.0, x[0])),
    "log": lambda x: math.log(x[0]) + math.log(x[1], 2) + math.log(2.0, x[2]) + math.log10(x[0]),
    "log2": lambda x: math.log2(x[0]) + math.log1p(x[1]) + math.sqrt(x[2]),
    "pow": lambda x: math.pow(x[0], x[1]) + math.pow(2.0, x[1]),
    "prod": lambda x: math.prod(x) + math.prod([x[0], 2.0], start=x[1]),
    "remainder": lambda x: math.remainder(x[2], x[1]) + math.remainder(x[0], 0.7),
    "plain": lambda x: x[0] * math.floor(x[2]) + x[1] * math.isfinite(x[0]) + math.pi * math.ceil(x[0]),
    "cmath": lambda x: abs(cmath.exp(x[0] + 1j)) + cmath.sqrt(-x[1]).imag + cmath.phase(x[0] + 1j * x[1]),
    "polar": lambda x: cmath.polar(x[0] + 2j)[0] + cmath.rect(x[0], x[1]).imag + cmath.log(x[2], 2).real,
    "array without axes": lambda x: math.sin(np.sum(x)) * math.cos(np.array(x[0])),
}  # fmt: skip


@pytest.mark.parametrize("name", MATH)
def test_functions_of_math(name):
    checked(MATH[name])


def test_errors_of_math_are_its_own():
    with ld.patch_numpy():
        assert type(math.sin(1.0)) is REAL["float"]
        for f in [lambda v: math.sqrt(-v), math.acosh, lambda v: math.log(0 * v)]:
            with pytest.raises(ValueError, match=r"math domain|expected a"):
                ld.grad(f)(0.5)
        with pytest.raises(TypeError):
            ld.grad(lambda x: math.sin(x))(x)
    assert math is REAL["math"]


def fractions(x, count):
    """One name of math is read in a branch that need not be taken."""
    return x / count if count else x / cmath.nanj.imag + math.perm(3)


def test_programs_read_no_more_of_math_than_a_function_does():
    with ld.patch_numpy():
        program = ld.program(fractions)
        for _ in range(3):
            np.testing.assert_array_equal(program(x, 2), x / 2)
        assert "runs without a program" not in str(program.explain(x, 2))
        assert ld.jacobian(fractions, sparse=True)(x, 2).nnz == x.size


# -- SciPy ---------------------------------------------------------------------------------------------


def of_scipy(x):
    A = np.diag(x) + 0.1
    found = np.sum(scipy.linalg.inv(A)) + scipy.special.logsumexp(x) + np.sum(cho_solve(cho_factor(A), x))
    found = found + np.sum(stats.norm.logpdf(x, 0.5)) + stats.gamma(x[0]).logpdf(1.5)
    found = found + np.sum(scipy.linalg.sqrtm(A).real) + CubicSpline([0.0, 1.0, 2.0], np.sin(x))(x[1])
    return found + scipy.spatial.distance.cdist(x[None], np.zeros((1, 3)))[0, 0]


def test_names_of_scipy():
    checked(of_scipy)


density = norm.logpdf


def test_methods_of_distributions():
    checked(lambda x: np.sum(density(x, x[0])))
    assert density.__self__ is norm


def test_scipy_stays_what_it_is():
    theirs = scipy.linalg, scipy.linalg.inv, stats.norm, cho_solve, CubicSpline, scipy.optimize.minimize
    with ld.patch_numpy():
        assert scipy.optimize.minimize is theirs[-1]
        assert scipy.linalg.LinAlgError is REAL["np"].linalg.LinAlgError
        assert stats.norm == theirs[2]
        assert isinstance(stats.norm, stats.rv_continuous)
        assert stats.norm.rvs(size=2, random_state=0).shape == (2,)
        spline = CubicSpline([0.0, 1.0, 2.0], [1.0, 2.0, 0.0])
        assert type(spline) is theirs[4]
        assert isinstance(spline, CubicSpline)
        assert issubclass(theirs[4], CubicSpline)
        assert inspect.signature(scipy.linalg.inv) == inspect.signature(theirs[1])
        assert scipy.linalg.inv.__name__ == "inv"

        class Own(CubicSpline):
            pass

        assert Own.__mro__[1] is theirs[4]
        np.testing.assert_array_equal(scipy.linalg.inv(np.eye(2)), np.eye(2))
    now = scipy.linalg, scipy.linalg.inv, stats.norm, cho_solve, CubicSpline, scipy.optimize.minimize
    assert all(a is b for a, b in zip(now, theirs, strict=True))


# -- where names are bound -----------------------------------------------------------------------------


class Model:
    zeros = np.zeros
    xp = np
    stack = staticmethod(np.array)

    def by_default(self, x, xp=np):
        z = xp.zeros(3)
        z[0] = x[0] ** 2
        return np.sum(z)

    def by_keyword(self, x, *, make=np.zeros):
        z = make(3)
        z[1] = x[1] ** 2
        return np.sum(z)

    def by_class(self, x):
        z = self.xp.zeros(3)
        z[2] = x[2] ** 2
        return np.sum(z) + np.sum(Model.zeros(2)) + np.sum(self.stack([x[0], 1.0]))

    def cast(self, x, kind=float):
        return kind(x[0]) ** 2 + self.number(x[1]) ** 2

    number = float

    @staticmethod
    def static(x, array=np.array):
        return np.sum(array([x[0], x[1] ** 2]))


def closing_over(xp):
    def f(x):
        z = xp.zeros(2)
        z[0] = x[0] ** 3
        return np.sum(z)

    return f


closure = closing_over(np)
generated = {}
source = "from math import sin\nfrom numpy import array\ndef f(x, y):\n    return array([sin(x), y])\n"
exec(source, generated)
of_generated = generated["f"]
in_a_dict = {"rotation": of_generated}

BOUND = {
    "default": Model().by_default,
    "keyword": Model().by_keyword,
    "class": Model().by_class,
    "static": Model.static,
    "types": Model().cast,
    "closure": lambda x: closure(x),
    "generated": lambda x: np.sum(of_generated(x[0], x[1] ** 2)),
    "generated, in a dict": lambda x: np.sum(in_a_dict["rotation"](x[0], x[1] ** 2)),
}


@pytest.mark.parametrize("name", BOUND)
def test_names_bound_in(name):
    checked(BOUND[name])


def test_generated_code_in_a_local_variable():
    names = {}
    exec("from numpy import array\ndef f(x):\n    return array([x[0], 2.0]).sum()\n", names)
    local = names["f"]
    checked(lambda x: local(x))
    assert names.keys() == {"array", "f", "__builtins__"}
    assert names["array"] is np.array


def test_all_is_restored():
    before = dict(vars(sys.modules[__name__]))
    with ld.patch_numpy(), ld.patch_numpy():
        assert Model.xp is np is not REAL["np"]
    assert vars(sys.modules[__name__]).keys() == before.keys()
    assert all(vars(sys.modules[__name__])[name] is x for name, x in before.items())
    assert Model.xp is np is REAL["np"]
    assert Model.by_default.__defaults__ == (np,)
    assert Model.by_keyword.__kwdefaults__ == {"make": np.zeros}
    assert isinstance(vars(Model)["stack"], staticmethod)
    assert Model.zeros is np.zeros
    assert closure.__closure__[0].cell_contents is np
    assert generated["array"] is np.array


# -- objects that give arrays ----------------------------------------------------------------------------


class Holding:
    def __init__(self, array):
        self.array = array

    def __array__(self, dtype=None, copy=None):
        return np.asarray(self.array, dtype=dtype)


def filled(grid, x):
    grid[..., 0] = x[0] ** 2
    return np.sum(grid)


OBJECTS = {
    "asarray": lambda x: np.sum(np.asarray(Holding(x)) ** 2),
    "ufunc": lambda x: np.sum(np.sin(Holding([x[0], 1.0]))),
    "array": lambda x: np.array(Holding(x)) @ x,
    "list": lambda x: np.sum(np.array([Holding(x), Holding(x * x)]) ** 2),
    "sum": lambda x: np.sum(Holding(x)),
    "fromiter": lambda x: np.sum(np.fromiter((y * y for y in x), np.float64)),
    "grid": lambda x: filled(np.mgrid[:2.0, :3.0][0], x) + filled(np.ogrid[:3.0], x),
    "broadcast": lambda x: sum(a * b for a, b in np.broadcast(x, [[2.0], [3.0]])),
    "numbers of broadcast": lambda x: np.broadcast(x, 1.0).size * sum(np.broadcast(x, 2.0).iters[0]),
}


@pytest.mark.parametrize("name", OBJECTS)
def test_objects_with_arrays(name):
    checked(OBJECTS[name])


def test_compiled_modules_keep_all_but_numpy():
    module = types.ModuleType("compiled_module")
    module.__file__ = "/site-packages/compiled_module" + importlib.machinery.EXTENSION_SUFFIXES[0]
    module.np, module.sin, module.inv = np, math.sin, scipy.linalg.inv
    sys.modules[module.__name__] = module
    try:
        with ld.patch_numpy(modules=[module]):
            assert module.np is not REAL["np"]
            assert id(module.np.float64) == id(REAL["np"].float64)
            assert module.sin is REAL["math"].sin
            assert module.inv is REAL["linalg"].inv
            assert "float" not in vars(module)
    finally:
        del sys.modules[module.__name__]
