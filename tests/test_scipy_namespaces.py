"""What the namespaces in ``lindiff.scipy`` have in common: SciPy's names and signatures, what they refuse."""

from __future__ import annotations

import importlib
import inspect

import numpy as np
import pytest

import lindiff as ld

MODULES = ["fft", "integrate", "interpolate", "ndimage", "optimize", "signal", "spatial.distance", "stats"]


def both(module):
    return importlib.import_module(f"lindiff.scipy.{module}"), importlib.import_module(f"scipy.{module}")


FUNCTIONS = [
    (module, name)
    for module in MODULES
    for name in both(module)[0].__all__
    if inspect.isfunction(getattr(both(module)[0], name))
]


@pytest.mark.parametrize(("module", "name"), FUNCTIONS)
def test_signatures_are_scipys(module, name):
    ours, theirs = (inspect.signature(getattr(m, name)).parameters for m in both(module))
    positional = [p.name for p in theirs.values() if p.kind is p.POSITIONAL_OR_KEYWORD]
    by_name = {p.name for p in theirs.values() if p.kind is p.KEYWORD_ONLY}
    taken = [p.name for p in ours.values() if p.kind is p.POSITIONAL_OR_KEYWORD and p.name not in by_name]
    assert taken == positional[: len(taken)]
    takes_any = any(p.kind is p.VAR_KEYWORD for p in ours.values())
    assert takes_any or set(theirs) - set(ours) <= {"even"}  # deprecated in SciPy 1.13


@pytest.mark.parametrize(("module", "name"), FUNCTIONS)
def test_documented(module, name):
    assert "Examples" in inspect.getdoc(getattr(both(module)[0], name))


@pytest.mark.parametrize(
    ("module", "name", "args", "says"),
    [
        ("signal", "hilbert2", (np.ones((2, 2)),), "np.fft"),
        ("stats", "zscore", (np.arange(3.0),), "np.std"),
        ("optimize", "minimize_scalar", (lambda x, a: (a - x) ** 2, None, None, (1.0,)), "minimize"),
    ],
)
def test_the_rest_is_scipys_for_plain_arrays(module, name, args, says):
    ours, theirs = both(module)
    assert ours.__name__ != theirs.__name__
    function = getattr(ours, name)
    np.testing.assert_equal(function(*args), getattr(theirs, name)(*args))
    with pytest.raises(TypeError, match=rf"scipy.{module}.{name} has no derivative in lindiff: .*{says}"):
        function(*args[:-1], [ld.Variable(1.0)])
    with pytest.raises(AttributeError):
        ours.no_such_function  # noqa: B018


def test_lists_of_variables_are_arrays():
    """As in SciPy, and as the advice on a refused line has it."""
    from lindiff.scipy import fft, linalg, ndimage, signal
    from lindiff.scipy.spatial import distance

    calls = [
        lambda v: distance.pdist([[v, 1.0], [0.0, 2.0]])[0],
        lambda v: fft.dct([v, 1.0, 2.0])[0],
        lambda v: signal.lfilter([v, 1.0], [1.0], [1.0, 2.0])[1],
        lambda v: ndimage.shift([v, 1.0, 2.0], 0.5, order=1)[1],
        lambda v: linalg.expm([[v, 1.0], [0.0, 3.0]])[0, 1],
    ]
    for call in calls:
        np.testing.assert_allclose(
            ld.grad(call)(0.5), (call(0.5 + 1e-6) - call(0.5 - 1e-6)) / 2e-6, rtol=1e-6
        )


def test_functions_written_in_lindiff_numpy():
    """Their arrays are untraced Variables, which count as plain arrays."""
    import lindiff.numpy as lnp
    from lindiff.scipy import integrate, optimize, stats

    def oscillator(t, y, k):
        y_dot = lnp.zeros(2)
        y_dot[0], y_dot[1] = y[1], -k * y[0]
        return y_dot

    def position(k):
        times = np.array([1.0])
        return integrate.solve_ivp(
            oscillator, (0.0, 1.0), lnp.array([1.0, 0.0]), "DOP853", times, args=(k,)
        ).y[0, 0]

    np.testing.assert_allclose(ld.grad(position)(1.0), -0.5 * np.sin(1.0), rtol=1e-3)
    np.testing.assert_allclose(ld.value(position(1.0)), np.cos(1.0), rtol=1e-3)

    def integral(k):
        return integrate.quad(lambda x, k: lnp.array([1.0, k]) @ lnp.array([1.0, x]), 0.0, 1.0, args=(k,))[0]

    np.testing.assert_allclose(ld.grad(integral)(1.0), 0.5)

    def bowl(x):
        y = lnp.zeros(2)
        y[:] = x - 1.0
        return y @ y

    np.testing.assert_allclose(optimize.minimize(bowl, lnp.zeros(2)).x, 1.0, rtol=1e-6)
    got = ld.grad(lambda m: lnp.sum(stats.norm.logpdf(lnp.array([1.0, 2.0]), m)))(0.0)
    np.testing.assert_allclose(got, 3.0)
