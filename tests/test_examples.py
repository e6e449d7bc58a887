"""The main job: the example's estimates are the textbook's, its smoother is the smoother."""

import importlib.util
from pathlib import Path

import matplotlib as mpl
import numpy as np
import pytest

EXAMPLES = Path(__file__).parent.parent / "examples"


@pytest.fixture(scope="module")
def nile():
    mpl.use("Agg")
    spec = importlib.util.spec_from_file_location("nile", EXAMPLES / "nile.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.fixture(scope="module")
def flow():
    return np.loadtxt(EXAMPLES / "data" / "nile.csv", delimiter=",", skiprows=1)[:, 1:]


def test_estimates_of_durbin_and_koopman(nile, flow, capsys):
    noise_var, level_var = nile.fit(flow)
    assert noise_var == pytest.approx(15099, rel=1e-4)
    assert level_var == pytest.approx(1469.1, rel=1e-4)
    assert "iteration" in capsys.readouterr().out


def test_derivatives_by_the_data_smooth(nile, flow):
    """Against the dense Gaussian: a level started at zero with a huge variance, conditioned on all data."""
    noise_var, level_var = variances = np.array([15099.0, 1469.1])
    t = np.arange(len(flow))
    prior = 1e9 + level_var * np.minimum(t[:, None], t)
    gain = np.linalg.solve(prior + noise_var * np.eye(len(t)), prior).T
    level, level_std = nile.smooth(variances, flow)
    np.testing.assert_allclose(level, gain @ flow[:, 0], rtol=1e-4)
    np.testing.assert_allclose(level_std, np.sqrt(np.diag(prior - gain @ prior)), rtol=1e-4)
