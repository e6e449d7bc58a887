"""What is wrong with the numbers of arrays."""

import re

import numpy as np
import nvrtc
import pytest
from standin import compiled
from standin.array import Device

from lindiff import statespace

pytestmark = pytest.mark.skipif(compiled.compiler() is None, reason="needs a C++ compiler")

CONDITIONS = ("finite", "not_infinite", "not_negative", "covariance")


@pytest.fixture
def faults(cupy):
    from lindiff_cuda import faults

    return faults


def with_entry(X, place, x):
    X = X.copy()
    X[place] = x
    return X


IDENTITIES = np.broadcast_to(np.eye(3), (2, 4, 3, 3))
CASES = [
    (IDENTITIES, ""),
    (0 * IDENTITIES, ""),
    (np.zeros((0, 3, 3)), ""),
    (np.full((2, 2), 4.0), ""),
    (np.array([[1.0, 0.5], [0.5 + 1e-10, 1.0]]), ""),
    (with_entry(IDENTITIES, (1, 2, 0, 1), 0.1), "covariance"),
    (with_entry(IDENTITIES, (1, 3, 2, 2), -0.1), "not_negative covariance"),
    (with_entry(IDENTITIES, (0, 0, 0, 0), np.nan), "finite not_negative covariance"),
    (with_entry(IDENTITIES, (0, 0, 0, 0), np.inf), "finite not_infinite covariance"),
    (np.array([[1.0, -1.1], [-1.1, 1.0]]), "not_negative covariance"),
]


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize(("x", "expected"), CASES)
def test_conditions(cupy, faults, x, expected, dtype):
    device = cupy.asarray(x.astype(dtype))
    found = faults([(condition, device) for condition in CONDITIONS])
    assert found == [condition in expected.split() for condition in CONDITIONS]


def test_nothing_is_read_unchecked(cupy, faults):
    from lindiff_cuda import unchecked

    with unchecked():
        assert faults([("finite", cupy.asarray([np.nan]))]) == [False]


def launches(standin, monkeypatch, function):
    """How often `function` launches a kernel of ours, and waits."""
    names, call = [], compiled.RawKernel.__call__

    def counted(self, *args, **options):
        names.append(self.name)
        return call(self, *args, **options)

    monkeypatch.setattr(compiled.RawKernel, "__call__", counted)
    before = Device.synchronizations
    function()
    return names, Device.synchronizations - before


def test_one_launch_and_one_wait_for_all_arrays(standin, monkeypatch, rng):
    """Whatever is asked, of whatever shape; a launch for each precision."""
    import lindiff_cuda

    arrays = [
        standin.asarray(x) for x in (IDENTITIES, rng.random((7, 3)), np.full(5, -1.0), np.zeros((0, 2)))
    ]
    asked = [(condition, x) for x in arrays for condition in ("finite", "not_negative")]
    asked += [("covariance", arrays[0]), ("finite", standin.asarray(np.full(300, np.inf)))]
    found = []
    names, waits = launches(standin, monkeypatch, lambda: found.extend(lindiff_cuda.faults(asked)))
    assert (names, waits) == (["faults"], 1)
    assert found == [*(False, False), *(False, False), *(False, True), *(False, False), False, True]
    asked.append(("covariance", standin.asarray(np.full((2, 2), -1.0, np.float32))))
    found.clear()
    names, waits = launches(standin, monkeypatch, lambda: found.extend(lindiff_cuda.faults(asked)))
    assert (names, waits) == (["faults"] * 2, 1)
    assert found[-1]


@pytest.mark.parametrize("lanes", [1, 2, 3, 5, 7, 100])
def test_every_number_has_its_lane(cupy, faults, monkeypatch, lanes):
    from lindiff_cuda import tuning

    monkeypatch.setattr(tuning, "LANES_OF_FAULTS", lanes)
    others = cupy.asarray(IDENTITIES), cupy.zeros(11)
    asked = [("covariance", others[0]), ("finite", others[1])]
    for place in np.ndindex(IDENTITIES.shape):
        wrong = cupy.asarray(with_entry(IDENTITIES, place, -0.5))
        assert faults([*asked, ("covariance", wrong), *asked]) == [False, False, True, False, False]
    for place in range(11):
        wrong = cupy.asarray(with_entry(np.zeros(11), place, np.nan))
        assert faults([*asked, ("finite", wrong), *asked]) == [False, False, True, False, False]


def test_a_likelihood_looks_once(standin, monkeypatch, rng):
    """One launch for the numbers of all its arrays, one for the filter."""
    eye = np.eye(2)
    model = (0.5 * eye, eye, eye, eye, np.zeros(2), eye, np.zeros(2), np.zeros(2))
    args = [standin.asarray(x) for x in (rng.standard_normal((3, 9, 2)), *model)]
    names, _ = launches(standin, monkeypatch, lambda: statespace.loglikelihood(*args))
    assert names == ["faults", "kalman_filter"]


@pytest.mark.skipif(not nvrtc.available(), reason="needs the package nvidia-cuda-nvrtc-cu12")
@pytest.mark.parametrize("covariance", [False, True])
def test_no_division_of_64_bits(standin, covariance):
    from lindiff_cuda import launching

    constants = {"WIDTH": 1, "COVARIANCE": int(covariance)}
    options = launching.options_of(np.dtype(float), constants)
    text = nvrtc.ptx_of(launching.source_text("faults.cu"), (*options, "--gpu-architecture=compute_70"))
    assert not re.findall(r"(?:div|rem)\.[su]64", text)
    assert len(re.findall(r"(?:div|rem)\.[su]32", text)) == (2 if covariance else 0)
