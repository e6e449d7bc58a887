"""What ``lindiff.scipy`` gives on Variables has SciPy's form: scalar or array, dtype, memory, layout.

The calls of the tables, with their arguments laid out in memory in all the ways that views make, as in
test_layout.py.  The reference is the same function on plain arrays, where SciPy answers.
"""

from __future__ import annotations

import inspect

import numpy as np
import pytest
import scipy.integrate
from table import sample
from test_constants import assert_equal, directions
from test_layout import (
    TABLES,
    Subject,
    assert_none,
    description,
    in_trace,
    under_lindiff_numpy,
    wrong,
)

import lindiff as ld
from lindiff.core.registry import full_name
from lindiff.scipy import integrate, linalg, signal, special, stats

# Matrices lie as LAPACK has left them, in SciPy by columns or rows as its version will have it, here by rows.
# Of the special matrices, which no LAPACK has seen, the layout is SciPy's.
OF_LAPACK = {"order", "C", "F"}
REFUSED = {
    "scipy qr_multiply": "two axes|2-D array",  # of a number as a matrix
    "scipy.linalg.solve_continuous_are": "finite solution|ill-conditioned",  # of equal rows, to rounding
    "scipy.linalg.fractional_matrix_power": "singular matrix",  # which has no derivative
    "scipy.fft.fftn": "no axis",
    "scipy.fft.ifftn": "no axis",
    "scipy.fft.irfftn": "data points",
    "scipy.fft.hfftn": "data points",
    **dict.fromkeys(
        ("scipy.ndimage." + name for name in ("convolve", "correlate", "gaussian_laplace", "laplace")),
        "without axes",
    ),
    "scipy.ndimage.uniform_filter": "without axes",
    "scipy.solve_banded": "do not fit together",  # of an empty batch: SciPy is asked nothing
    "scipy.lstsq": "do not fit together",  # the same, from SciPy 1.18 on
}


def faces():
    """The records of our functions in SciPy's place, and of SciPy's own ufuncs."""
    for op in [op for table in TABLES for op in table.OPERATORS]:
        name = full_name(op.function)
        if name.startswith(("lindiff.scipy.", "scipy.special.")):
            call = op.call or op.function
            of_lapack = name.startswith("lindiff.scipy.linalg.") and ".special_matrices." not in name
            yield (
                op.name,
                Subject(
                    op.function,
                    call,
                    [*op.samples(np.random.default_rng(0))],
                    op.domain,
                    OF_LAPACK if of_lapack or name.endswith("lfilter_zi") else set(),
                    REFUSED.get(op.name),
                ),
            )


def results_that_may_be_arguments():
    """Calls that leave their argument as it is: what comes back is not the argument itself."""
    x, p = np.array([[0.5, 0.25], [0.75, 0.125]]), np.array([0.25, 0.5])
    calls = {
        "bernoulli.sf": lambda p: stats.bernoulli.sf(0, p),
        "bernoulli.mean": stats.bernoulli.mean,
        "poisson.mean": stats.poisson.mean,
        "poisson.var": lambda p: stats.poisson.var(p, loc=[[1.0], [2.0]]),
        "expon.mean": lambda p: stats.expon.mean(0.0, p),
        "norm.mean": stats.norm.mean,
        "norm.median": stats.norm.median,
        "norm.ppf": lambda p: stats.norm.ppf(0.5, p, 2.0),
        "uniform.cdf": stats.uniform.cdf,
        "multinomial.logpmf": lambda p: stats.multinomial.logpmf([1, 2], 3, special.softmax(p)),
        "block_diag": linalg.block_diag,
        "toeplitz": lambda p: linalg.toeplitz(p[:1]),
        "khatri_rao": lambda x: linalg.khatri_rao(x, np.ones((1, x.shape[-1]))),
        "inv": lambda x: linalg.solve(np.eye(2), x),
        "lfilter": lambda x: signal.lfilter([1.0], [1.0], x),
        "sosfilt": lambda x: signal.sosfilt([[1.0, 0.0, 0.0, 1.0, 0.0, 0.0]], x),
        "savgol_filter": lambda x: signal.savgol_filter(x, 1, 0),
        "detrend": lambda x: signal.detrend(x, bp=[0, 1]),
        "convolve": lambda x: signal.convolve(x, [[1.0]]),
        "cumulative_trapezoid": lambda x: integrate.cumulative_trapezoid(x, initial=0),
        "cumulative_simpson": lambda x: integrate.cumulative_simpson(x, initial=x[:, :1]),
        "comb": lambda p: special.comb(p + 1.0, 1),
        "factorial": special.factorial,
        "logsumexp": lambda p: special.logsumexp(p[..., None], axis=-1),
    }
    if tuple(map(int, scipy.__version__.split(".")[:2])) < (1, 17):  # whose solve gives another order
        del calls["inv"]
    for name, call in calls.items():
        given = x if name in ("inv", "khatri_rao", "block_diag") or name in vars(signal) else p
        given = x if name.startswith("cumulative") else given
        yield f"{name} of its argument", Subject(call, call, [sample(given)])


FACES = {**dict(faces()), **dict(results_that_may_be_arguments())}


@pytest.mark.parametrize("name", FACES)
def test_of_variables(name):
    subject = FACES[name]
    assert_none(wrong(subject, in_trace, subject.call, 8))


@pytest.mark.parametrize("name", FACES)
def test_in_lindiff_numpy(name):
    subject = FACES[name]
    assert_none(wrong(subject, under_lindiff_numpy, subject.call, 2))


@pytest.mark.parametrize("name", FACES)
def test_under_patch_numpy(name):
    subject = FACES[name]
    assert_none(wrong(subject, in_trace, subject.call, 2, ld.patch_numpy))


# -- overwrite_a=True ---------------------------------------------------------------------------------------


def that_overwrite():
    """Names of functions of the faces with ``overwrite_*``."""
    for module in (linalg, signal):
        for name in module.__all__:
            function = getattr(module, name)
            names = [p for p in inspect.signature(function).parameters if p.startswith("overwrite_")]
            if names:
                yield pytest.param(function, names, id=name)


A = np.array([[4.0, 1.0, 0.5], [1.0, 5.0, 0.25], [0.5, 0.25, 6.0]])
B = np.array([[1.0, 2.0], [0.5, -1.0], [3.0, 0.25]])
BAND = np.array([[0.0, 1.0, 0.5], [4.0, 5.0, 6.0]])
ARGUMENTS = {
    "cho_solve": (lambda a, b, **how: linalg.cho_solve((np.linalg.cholesky(a), True), b, **how), A, B),
    "cho_solve_banded": (lambda ab, b, **how: linalg.cho_solve_banded((ab, False), b, **how), BAND, B),
    "cholesky_banded": (linalg.cholesky_banded, BAND),
    "eig_banded": (linalg.eig_banded, BAND),
    "eigvals_banded": (linalg.eigvals_banded, BAND),
    "lstsq": (linalg.lstsq, A, B),
    "lu_solve": (lambda a, b, **how: linalg.lu_solve(linalg.lu_factor(a), b, **how), A, B),
    "qr_multiply": (linalg.qr_multiply, A, B.T),
    "solve": (linalg.solve, A, B),
    "solve_banded": (lambda ab, b, **how: linalg.solve_banded((0, 1), ab, b, **how), BAND, B),
    "solve_triangular": (linalg.solve_triangular, A, B),
    "solveh_banded": (linalg.solveh_banded, BAND, B),
}


@pytest.mark.parametrize(("function", "names"), [*that_overwrite()])
@pytest.mark.parametrize("order", ["C", "F"])
def test_what_may_be_overwritten_is_what_it_was(function, names, order):
    """SciPy may use the memory of these arguments; on Variables, and on arrays beside them, nothing does."""
    call, *arrays = ARGUMENTS.get(function.__name__, (function, A))
    for which in [(k,) for k in range(len(arrays))] + [tuple(range(len(arrays)))]:
        found = []
        for how in ({}, dict.fromkeys(names, True)):
            given = [np.array(a, order=order) for a in arrays]

            def of(*v, given=given, how=how, which=which):
                mixed = [*given]
                for k, one in zip(which, v, strict=True):
                    mixed[k] = one * 1.0
                y = call(*mixed, **how)
                for k, a in zip(which, v, strict=True):
                    np.testing.assert_array_equal(ld.value(mixed[k]), ld.value(a))
                return y

            x = [given[k] for k in which]
            y, derivative = ld.linearize(of, *x)
            y_bar = directions(y, np.random.default_rng(0))
            found.append((y, derivative.T(y_bar), derivative(*directions(x, np.random.default_rng(1)))))
            for a, b in zip(given, arrays, strict=True):
                np.testing.assert_array_equal(a, b)
        assert_equal(*found)


# -- solutions of differential equations, integrals ------------------------------------------------------


def decay(t, y, a):
    return -a * y


SOLVED = {
    "solve_ivp": lambda ns, a, ts: ns.solve_ivp(decay, (0.0, 1.0), [1.0, 2.0], args=(a,)),
    "solve_ivp by its start": lambda ns, a, ts: ns.solve_ivp(decay, (0.0, 1.0), a * np.ones(2), args=(1.0,)),
    "solve_ivp at times": lambda ns, a, ts: ns.solve_ivp(decay, (0.0, 1.0), [1.0, 2.0], t_eval=ts, args=(a,)),
    "solve_ivp at a list": lambda ns, a, ts: ns.solve_ivp(
        decay, (0.0, 1.0), [1.0], t_eval=[0.0, 0.5, 1.0], args=(a,)
    ),
    "odeint": lambda ns, a, ts: ns.odeint(decay, [1.0, 2.0], ts, args=(a,), tfirst=True),
    "quad": lambda ns, a, ts: ns.quad(decay, 0.0, 1.0, args=(1.0, a)),
    "fixed_quad": lambda ns, a, ts: ns.fixed_quad(decay, 0.0, 1.0, args=(1.0, a)),
}


@pytest.mark.parametrize("name", SOLVED)
def test_solutions(name):
    def answer(ns, a, ts):
        y = SOLVED[name](ns, a, ts)
        parts = [y.t, y.y] if name.startswith("solve_ivp") else y if isinstance(y, tuple) else [y]
        found = [description(part) for part in parts if isinstance(part, (ld.Variable, np.ndarray, float))]
        for part in parts:
            if np.ndim(part):
                part[...] = 70_000.0  # which no argument sees
        return found, ld.value(ts).tolist()

    def given(one):
        return np.float64(0.7) * one, np.array([0.0, 0.5, 1.0]) * one

    found = []
    ld.vjp(lambda one: found.append(answer(integrate, *given(one))) or one, 1.0)
    assert found == [answer(scipy.integrate, *given(1.0))]
