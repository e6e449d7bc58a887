"""The records of ``lindiff.linalg``, ``numpy.linalg`` and ``scipy.linalg`` on CuPy arrays.

Values and derivatives of first and second order, in both modes, are those of NumPy's arrays, which
`check_grads` tests.
"""

from __future__ import annotations

import sys

import numpy as np
import pytest
import table_linalg
import table_operators
import table_scipy_decompositions
import table_scipy_eigen
import table_scipy_functions
import table_scipy_solvers
import table_scipy_special_matrices

import lindiff as ld
from lindiff.core import pytree

pytestmark = pytest.mark.filterwarnings("ignore")

OPERATORS = [*table_operators.OPERATORS, *table_linalg.OPERATORS]
OF_SCIPY = [
    *(*table_scipy_decompositions.OPERATORS, *table_scipy_eigen.OPERATORS, *table_scipy_functions.OPERATORS),
    *(*table_scipy_solvers.OPERATORS, *table_scipy_special_matrices.OPERATORS),
]
# What may need a routine of SciPy's that has no counterpart; the error then says so.
OF_THE_HOST = {
    "scipy eig",
    "scipy eigh_tridiagonal",
    "scipy eigvals",
    "scipy eigvalsh_tridiagonal",
    "scipy ldl",
    "scipy lu",
    "scipy null_space",
    "scipy orth",
    "scipy polar",
    "scipy qr (full)",
    "scipy qr (r)",
    "scipy qr_multiply",
    "scipy rq (full)",
    "scipy schur",
    "scipy schur (pairs)",
    "scipy.cho_solve_banded",
    "scipy.cholesky_banded",
    "scipy.linalg.fractional_matrix_power",
    "scipy.linalg.funm",
    "scipy.linalg.funm (Hermitian)",
    "scipy.linalg.logm",
    "scipy.linalg.signm",
    "scipy.linalg.solve_continuous_are",
    "scipy.linalg.solve_continuous_are (more)",
    "scipy.linalg.solve_continuous_lyapunov",
    "scipy.linalg.solve_discrete_are",
    "scipy.linalg.solve_discrete_are (more)",
    "scipy.linalg.solve_discrete_lyapunov (None)",
    "scipy.linalg.solve_discrete_lyapunov (bilinear)",
    "scipy.linalg.solve_sylvester",
    "scipy.linalg.sqrtm",
    "scipy.lu_factor",
    "scipy.lu_solve",
    "scipy.solve_banded",
    "scipy.solve_toeplitz",
    "scipy.solve_toeplitz (column)",
    "scipy.solveh_banded",
}
# Of the samples of a record so many first ones are taken, and every fourth of the others.
FIRST = 2


class NumpyOfDevice:
    """NumPy for the functions of a record: the arrays that it makes are CuPy's."""

    def __init__(self, cupy):
        self.cupy = cupy

    def __getattr__(self, name):
        makes = name in (
            "arange",
            "array",
            "empty",
            "eye",
            "full",
            "identity",
            "linspace",
            "ones",
            "tri",
            "zeros",
        )
        return getattr(self.cupy if makes else np, name)


@pytest.fixture
def on_device(cupy, monkeypatch):
    """A function that calls a case on CuPy arrays."""
    tables = [
        module for name, module in sys.modules.items() if name.startswith("table_") and hasattr(module, "np")
    ]

    def call(function, *args):
        with monkeypatch.context() as patch:
            for module in tables:
                patch.setattr(module, "np", NumpyOfDevice(cupy))
            return function(*args)

    return call


def cases(operators, dtype):
    return [
        pytest.param(case, id=case.id)
        for operator in operators
        for case in operator.cases()
        if (case.number < FIRST or case.number % 4 == 3)
        and not operator.constant
        and (operator.complex or np.dtype(dtype).kind != "c")
    ]


def random_like(rng, x):
    x = np.asarray(x)
    real = rng.standard_normal(x.shape)
    return np.asarray(real + 1j * rng.standard_normal(x.shape) if x.dtype.kind == "c" else real, x.dtype)


def assert_same(cupy, got, expected, rtol=1e-7):
    got, expected = pytree.flatten(got)[0], pytree.flatten(expected)[0]
    for x, y in zip(got, expected, strict=True):
        if isinstance(x, cupy.ndarray):
            assert (x.shape, x.dtype) == (np.shape(y), np.result_type(y))
            scale = np.max(np.abs(y), initial=1.0)
            np.testing.assert_allclose(x.get(), y, rtol=rtol, atol=rtol * scale)
        else:
            assert not isinstance(y, np.ndarray)
            assert x == y


def compare(cupy, rng, on_device, case, dtype, order):
    arrays = case.arrays(dtype)
    device = [cupy.asarray(x) for x in arrays]
    x_dot = [random_like(rng, x) for x in arrays]
    device_dot = [cupy.asarray(x) for x in x_dot]
    y, pullback = ld.vjp(case, *arrays)
    leaves, restore = pytree.flatten(y)
    bars = [random_like(rng, leaf) if isinstance(leaf, (np.ndarray, np.generic)) else leaf for leaf in leaves]

    def pulled(of_bars, *x):
        return ld.vjp(case, *x)[1](restore(of_bars))

    device_bars = [cupy.asarray(x) if isinstance(x, np.ndarray) else x for x in bars]
    assert_same(cupy, on_device(ld.vjp, case, *device)[0], y)
    assert_same(cupy, on_device(pulled, device_bars, *device), pullback(restore(bars)))
    jvp = on_device(ld.jvp, case, tuple(device), tuple(device_dot))
    assert_same(cupy, jvp, ld.jvp(case, tuple(arrays), tuple(x_dot)))
    if order == 2:
        got = on_device(ld.jvp, lambda *x: pulled(device_bars, *x), tuple(device), tuple(device_dot))
        want = ld.jvp(lambda *x: pulled(bars, *x), tuple(arrays), tuple(x_dot))
        assert_same(cupy, got, want, 1e-5)


@pytest.mark.parametrize("case", cases(OPERATORS, float))
def test_real(cupy, rng, on_device, case):
    compare(cupy, rng, on_device, case, np.float64, case.operator.order)


@pytest.mark.parametrize("case", cases(OPERATORS, complex))
def test_complex(cupy, rng, on_device, case):
    compare(cupy, rng, on_device, case, np.complex128, 1)


@pytest.mark.parametrize("case", cases(OF_SCIPY, float))
def test_scipy(cupy, rng, on_device, case):
    try:
        compare(cupy, rng, on_device, case, np.float64, 1)
    except TypeError as error:
        if case.operator.name not in OF_THE_HOST or "SciPy computes it for NumPy's arrays" not in str(error):
            raise


def test_what_scipy_alone_has_says_so(cupy):
    A = cupy.eye(3)
    for call in (
        lambda X: ld.scipy.linalg.schur(X),
        lambda X: ld.scipy.linalg.sqrtm(X),
        lambda X: ld.scipy.linalg.solve_sylvester(X, X, X),
        lambda X: ld.scipy.linalg.solve_banded((1, 1), X, X),
        lambda X: ld.scipy.linalg.qr(X, pivoting=True),
        lambda X: ld.scipy.linalg.lu_factor(X),
    ):
        for X in (A, ld.Variable(A)):
            with pytest.raises(TypeError, match=r"SciPy computes it for NumPy's arrays alone, .* a cupy"):
                call(X)


@pytest.mark.parametrize("case", cases(OPERATORS, float)[::5])
def test_plain_values(cupy, on_device, case):
    """Without a Variable, too, where CuPy has the function with these arguments."""
    arrays = case.arrays()
    try:
        got = on_device(case, *(cupy.asarray(x) for x in arrays))
    except TypeError as error:
        if not any(text in str(error) for text in ("unexpected keyword", "no implementation found")):
            raise
        pytest.skip(f"CuPy: {error}")
    assert_same(cupy, got, case(*arrays))
