"""The sweeps of all series in one launch, and those of the CPU."""

import itertools
import tracemalloc
from typing import NamedTuple

import numpy as np
import nvrtc
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from standin import compiled
from standin.array import Device

from lindiff.statespace.model import series_by_pattern
from lindiff.statespace.sweep import Plan, Sweeps

pytestmark = pytest.mark.skipif(compiled.compiler() is None, reason="needs a C++ compiler")

TOLERANCE = {"f": 1e-4, "d": 1e-12}
ALL = (True,) * 8


class Case(NamedTuple):
    """S series of T steps, n states and p observations; d diffuse states; `own`: every series has its own
    system matrices; `timed`: these change in time.
    """

    S: int = 5
    T: int = 7
    n: int = 3
    p: int = 2
    independent: bool = True
    d: int = 0
    own: bool = False
    timed: bool = False
    intercept: bool = False
    missing: float = 0.2
    dtype: str = "d"
    block: int = 0


def covariance(rng, *shape):
    X = rng.standard_normal(shape)
    return X @ np.swapaxes(X, -1, -2) / shape[-1] + 0.1 * np.eye(shape[-1])


def system(rng, case):
    """Arrays and plan of NumPy's."""
    S, T, n, p, independent, d, own, timed, intercept, missing, dtype, block = case
    s, t = S if own else 1, T if timed else 1
    y = rng.standard_normal((S, T, p))
    y[rng.random(y.shape) < missing] = np.nan
    arrays = (
        y,
        0.8 / n**0.5 * rng.standard_normal((s, t, n, n)),
        rng.standard_normal((s, t, p, n)),
        covariance(rng, s, t, n, n),
        rng.uniform(0.1, 1, (s, t, 1, p)) if independent else covariance(rng, s, t, p, p),
        rng.standard_normal((s, n)),
        covariance(rng, s, n, n),
        rng.standard_normal((s, t, n)) if intercept else None,
    )
    arrays = tuple(None if x is None else x.astype(dtype) for x in arrays)
    groups = tuple(series_by_pattern(y))
    if own:
        groups = tuple((series[i : i + 1], seen) for series, seen in groups for i in range(len(series)))
    shift = rng.standard_normal((S, d)).astype(dtype) if d else None
    return arrays, Plan(groups, independent, -1.0, block, "loglikelihood", tuple(range(n - d, n)), shift)


def bars_of(rng, case):
    """Cotangents of the sums."""
    S, d = case.S, case.d
    return tuple(rng.standard_normal(shape).astype(case.dtype) for shape in [(S,), (S, d), (S, d, d), (S,)])


def moved(cupy, arrays, plan):
    """The same on a GPU."""
    shift = None if plan.shift is None else cupy.asarray(plan.shift)
    return tuple(None if x is None else cupy.asarray(x) for x in arrays), plan._replace(shift=shift)


def assert_equal(found, expected, tolerance):
    """Arrays of CuPy's and NumPy's, None among them, are equal by their largest numbers."""
    for x, y in zip(found, expected, strict=True):
        assert (x is None) == (y is None)
        if y is None:
            continue
        x = x.get()
        assert x.dtype == y.dtype
        assert x.shape == y.shape
        if y.size:
            np.testing.assert_allclose(x, y, rtol=0, atol=tolerance * np.max(np.abs(y)))


CASES = [
    *(Case(n=n, p=1) for n in (1, 2, 4, 6, 13)),
    *(Case(n=n, p=p, independent=False) for n, p in [(1, 3), (3, 1), (4, 2), (5, 3)]),
    Case(n=3, p=2, own=True, timed=True, intercept=True),
    Case(n=3, p=3, own=True, intercept=True, independent=False),
    Case(n=2, p=2, timed=True, intercept=True, independent=False),
    Case(n=4, p=1, d=2, own=True),
    Case(n=3, p=2, d=3, timed=True, intercept=True, independent=False),
    Case(n=13, p=1, d=12, T=16, missing=0),
    Case(n=17, p=4),
    Case(n=32, p=20, S=2, T=3, independent=False),
    Case(n=4, p=2, dtype="f", d=1),
    Case(n=4, p=2, dtype="f", independent=False),
    Case(S=70, n=3, p=2, missing=0.5),
    Case(missing=1),
]


@pytest.fixture
def kalman(cupy):
    from lindiff_cuda import kalman

    return kalman


def check(cupy, kalman, rng, case):
    arrays, plan = system(rng, case)
    expected = Sweeps(arrays, plan)
    found = kalman.Sweeps(*moved(cupy, arrays, plan))
    bars, tolerance = bars_of(rng, case), TOLERANCE[case.dtype]
    assert_equal(found.sums(), expected.sums(), tolerance)
    gradient = found.pull(tuple(map(cupy.asarray, bars)), ALL)
    assert_equal(gradient, expected.pull(bars, ALL), tolerance)


@pytest.mark.parametrize("case", CASES, ids=str)
def test_as_on_the_cpu(cupy, kalman, rng, case):
    check(cupy, kalman, rng, case)


@settings(max_examples=40, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    sizes=st.sampled_from([(1, 1, True, 0), (3, 2, True, 0), (3, 2, False, 1)]),
    S=st.sampled_from([0, 1, 3, 40]),
    T=st.sampled_from([0, 1, 7]),
    options=st.tuples(st.booleans(), st.booleans(), st.booleans()),
    missing=st.sampled_from([0.0, 0.3, 1.0]),
    block=st.integers(0, 4),
    seed=st.integers(0, 2**32 - 1),
)
def test_shapes(cupy, kalman, sizes, S, T, options, missing, block, seed):
    case = Case(S, T, *sizes, *options, missing, block=block)
    check(cupy, kalman, np.random.default_rng(seed), case)


@pytest.mark.parametrize(
    "wanted", [ALL, *(tuple(i == j for i in range(8)) for j in range(8)), (False,) * 8], ids=str
)
@pytest.mark.parametrize("independent", [True, False])
def test_what_is_wanted(cupy, kalman, rng, wanted, independent):
    case = Case(independent=independent, d=1, intercept=True)
    arrays, plan = system(rng, case)
    bars = bars_of(rng, case)
    expected = Sweeps(arrays, plan).pull(bars, wanted)
    found = kalman.Sweeps(*moved(cupy, arrays, plan)).pull(tuple(map(cupy.asarray, bars)), wanted)
    assert_equal(found, expected, 1e-12)


@pytest.mark.parametrize("independent", [True, False])
def test_complex_arithmetic_is_analytic(cupy, kalman, rng, independent):
    case = Case(n=3, p=2, independent=independent, d=1, own=True, intercept=True)
    arrays, plan = system(rng, case)
    dots, _ = system(rng, case)
    arrays = tuple(x + 1e-3j * np.nan_to_num(x_dot) for x, x_dot in zip(arrays, dots, strict=True))
    expected, found = Sweeps(arrays, plan), kalman.Sweeps(*moved(cupy, arrays, plan))
    assert_equal(found.sums(), expected.sums(), 1e-12)
    bars = tuple(
        bar + 1j * bar_dot for bar, bar_dot in zip(bars_of(rng, case), bars_of(rng, case), strict=True)
    )
    assert_equal(found.pull(tuple(map(cupy.asarray, bars)), ALL), expected.pull(bars, ALL), 1e-12)


@pytest.mark.parametrize("independent", [True, False])
def test_no_noise(cupy, kalman, rng, independent):
    """obs_cov may be zero."""
    case = Case(n=4, p=2, independent=independent)
    arrays, plan = system(rng, case)
    arrays = (*arrays[:4], np.zeros_like(arrays[4]), *arrays[5:])
    expected, found = Sweeps(arrays, plan), kalman.Sweeps(*moved(cupy, arrays, plan))
    assert_equal(found.sums(), expected.sums(), 1e-10)
    bars = bars_of(rng, case)
    assert_equal(found.pull(tuple(map(cupy.asarray, bars)), ALL), expected.pull(bars, ALL), 1e-8)


@pytest.mark.parametrize("independent", [True, False])
@pytest.mark.parametrize(("dtype", "sizes"), [("f", (1e-16, 1e14, 1.0)), ("d", (1e-140, 1e130, 1.0))])
def test_variances_of_any_size(cupy, kalman, rng, independent, dtype, sizes):
    """log |S| neither overflows nor underflows."""
    case = Case(
        T=9, n=1, p=1 + (not independent), independent=independent, timed=True, missing=0, dtype=dtype
    )
    arrays, plan = system(rng, case)
    y, A, B, Q, R, m, P, c = arrays
    scale = np.repeat(sizes, 3).astype(dtype)[:, None, None]
    arrays = y, 0 * A, 0 * B, Q, R * scale, m, P, c
    expected, found = Sweeps(arrays, plan).sums(), kalman.Sweeps(*moved(cupy, arrays, plan)).sums()
    assert_equal(found[3:], expected[3:], 50 * np.finfo(dtype).eps)


WINDOWS = [
    Case(S=5, T=7, n=3, p=2, timed=True, intercept=True),
    Case(S=5, T=7, n=3, p=2, timed=True, intercept=True, independent=False, d=1),
    Case(S=3, T=9, n=2, p=1, timed=True, block=4),
    Case(S=3, T=9, n=13, p=2, timed=True, block=2, independent=False),
]


@pytest.mark.parametrize("steps", [1, 2, 3, 5])
@pytest.mark.parametrize("case", WINDOWS, ids=str)
def test_sums_over_series_of_some_steps_at_a_time(cupy, kalman, rng, monkeypatch, case, steps):
    """As of all steps at once; beside arrays that do not change in time, or are of each series."""
    arrays, plan = system(rng, case)
    bars = bars_of(rng, case)
    y, A, B, Q, R, m, P, c = arrays
    for system_arrays in (arrays, (y, A[:, :1], np.repeat(B, case.S, 0), Q[:, :1], R, m, P, c)):
        given = moved(cupy, system_arrays, plan)
        expected = kalman.Sweeps(*given).pull(tuple(map(cupy.asarray, bars)), ALL)
        with monkeypatch.context() as patch:
            a_step = sum(
                case.S * x[0, 0].nbytes
                for x in (*system_arrays[1:5], system_arrays[7])
                if x is not None and x.shape[1] > 1 and len(x) == 1
            )
            patch.setattr(kalman.tuning, "BYTES_OF_PARTS", steps * a_step)
            found = kalman.Sweeps(*given).pull(tuple(map(cupy.asarray, bars)), ALL)
        assert_equal(found, [None if x is None else x.get() for x in expected], 1e-14)


def test_memory_of_what_series_share(standin, rng, monkeypatch):
    """500 series of 100 steps share 0.05 MB of arrays, of which each has a gradient at every step: 26 MB."""
    from lindiff_cuda import kalman

    case = Case(S=500, T=100, n=4, p=1, timed=True, missing=0)
    arrays, plan = system(rng, case)
    bars = tuple(map(standin.asarray, bars_of(rng, case)))
    found = kalman.Sweeps(*moved(standin, arrays, plan))
    peaks = []
    for room in (1 << 28, 1 << 20):
        monkeypatch.setattr(kalman.tuning, "BYTES_OF_PARTS", room)
        tracemalloc.start()
        found.pull(bars, ALL)
        peaks.append(tracemalloc.get_traced_memory()[1])
        tracemalloc.stop()
    own = 8 * (case.S * case.T * case.p + case.S * (case.n + 2) * case.n * 2)  # y, and what starts the series
    assert peaks[0] > 8 * case.S * case.T * (2 * 4 * 4 + 4 + 1) > 14e6
    assert peaks[1] < own + (1 << 20) + 2e5


def with_failures(rng, independent, kind):
    """A system of 6 series, of which those at 2 and 4 fail."""
    case = Case(S=6, T=9, n=2, p=2, independent=independent, own=True, timed=True, missing=0)
    arrays, plan = system(rng, case)
    _, A, B, _, R, *_ = arrays
    if kind == "indefinite":  # both elements observe the same, without noise
        for series, step in [(2, 5), (4, 1)]:
            B[series, step] = 1
            R[series, step] = 0
    else:
        A[2, 3] = A[4, 6] = 1e200
    return case, arrays, plan


@pytest.mark.parametrize(
    ("kind", "error"), [("indefinite", np.linalg.LinAlgError), ("overflow", OverflowError)]
)
@pytest.mark.parametrize("independent", [True, False])
def test_failures_are_named(cupy, kalman, rng, independent, kind, error):
    _, arrays, plan = with_failures(rng, independent, kind)
    with np.errstate(all="ignore"), pytest.raises(error) as expected:
        Sweeps(arrays, plan)
    with pytest.raises(error) as found:
        kalman.Sweeps(*moved(cupy, arrays, plan))
    assert str(found.value) == str(expected.value)
    assert "(series 2)" in str(found.value)


@pytest.mark.parametrize("kind", ["indefinite", "overflow"])
@pytest.mark.parametrize("independent", [True, False])
@pytest.mark.parametrize("block", [0, 4])
def test_unchecked_failures_are_nan(standin, rng, independent, kind, block):
    """The others are right, and nothing is read back."""
    from lindiff_cuda import kalman, unchecked

    case, arrays, plan = with_failures(rng, independent, kind)
    plan, bars, good = plan._replace(block=block), bars_of(rng, case), [0, 1, 3, 5]
    given = *moved(standin, arrays, plan), tuple(map(standin.asarray, bars))
    before = Device.synchronizations
    with unchecked():
        found = kalman.Sweeps(*given[:2])
        results = found.sums()[::3], found.pull(given[2], ALL)
    assert Device.synchronizations == before
    arrays = tuple(None if x is None else x[good] for x in arrays)
    plan = plan._replace(groups=tuple((np.array([i]), None) for i in range(4)))
    expected = Sweeps(arrays, plan)
    pulled = expected.pull(tuple(bar[good] for bar in bars), ALL)
    for x, y in zip(itertools.chain(*results), (*expected.sums()[::3], *pulled), strict=True):
        if y is not None:
            assert all(np.isnan(x[series].get()).any() for series in (2, 4))
            np.testing.assert_allclose(x[good].get(), y, rtol=1e-10, atol=1e-12)


@pytest.mark.parametrize("independent", [True, False])
def test_unchecked_moments_are_nan(cupy, rng, independent):
    """All of a series that has failed, and nothing of the others."""
    from lindiff_cuda import kalman, unchecked

    _, arrays, plan = with_failures(rng, independent, "indefinite")
    with unchecked():
        found = kalman.Sweeps(*moved(cupy, arrays, plan))
        moments = *found.smoothed(), *found.filtered()
    for x in moments:
        assert np.isnan(x[[2, 4]].get()).all()
        assert np.isfinite(x[[0, 1, 3, 5]].get()).all()


def test_one_synchronization(standin, rng):
    from lindiff_cuda import kalman

    case = Case(d=1)
    given = moved(standin, *system(rng, case))
    bars = tuple(map(standin.asarray, bars_of(rng, case)))
    before = Device.synchronizations
    kalman.Sweeps(*given).pull(bars, ALL)
    assert Device.synchronizations == before + 1


def test_what_fits(kalman):
    fits = kalman.Sweeps.fits
    assert fits(1, 1, 1, True, np.float32)
    assert fits(32, 32, 1, False, np.float64)
    assert fits(16, 1, 16, True, np.complex128)
    assert not fits(33, 1, 0, True, np.float32)
    assert not fits(1, 33, 0, True, np.float32)
    assert not fits(0, 1, 0, True, np.float32)
    assert not fits(32, 32, 0, False, np.complex128)


# n, p, d, independent, element type: none of them may spill registers
SIZES = [(4, 1, 0, True, "d"), (4, 2, 0, False, "d"), (2, 1, 2, True, "d"), (8, 1, 0, True, "f")]


@pytest.mark.skipif(not nvrtc.available(), reason="needs the package nvidia-cuda-nvrtc-cu12")
@pytest.mark.parametrize("device", ["sm_70", "sm_90"])
@pytest.mark.parametrize("sizes", SIZES, ids=str)
def test_compiles(kalman, sizes, device):
    if not nvrtc.knows(device):
        pytest.skip(f"NVRTC {nvrtc.version()} does not compile for {device}")
    from lindiff_cuda import launching

    *sizes, dtype = sizes
    constants = kalman.Sizes(*sizes).constants(blockwise=False, stepwise=False, smoothing=False)
    options = launching.options_of(np.dtype(dtype), constants)
    options += (f"--gpu-architecture={device}", "--ptxas-options=-warn-spills")
    assert "spill" not in nvrtc.log_of(launching.source_text("kalman.cu"), options)
