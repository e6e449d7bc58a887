"""The examples and the documentation's page on CuPy's arrays: only how arrays are made is changed."""

import doctest
import importlib.util
from pathlib import Path

import matplotlib as mpl
import numpy as np

ROOT = Path(__file__).parents[2]


def load(name):
    mpl.use("Agg")
    spec = importlib.util.spec_from_file_location(name, ROOT / "examples" / f"{name}.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def numbers(text):
    words = text.replace(",", " ").split()
    return [float(word) for word in words if word.lstrip("-").replace(".", "").isdigit()]


def test_gp_regression(cupy, tmp_path, capsys):
    example = load("gp_regression")
    example.main(tmp_path, np.asarray, points=20)
    expected = numbers(capsys.readouterr().out)
    example.main(tmp_path, cupy.asarray, points=20)
    np.testing.assert_allclose(numbers(capsys.readouterr().out), expected, atol=0.002)
    assert (tmp_path / "gp_regression.png").exists()


def test_many_series(cupy, tmp_path, monkeypatch, capsys):
    example = load("many_series")
    monkeypatch.setattr(example, "SERIES", 6)
    monkeypatch.setattr(example, "times", lambda y, params: np.ones((1, 3)))  # seconds on a stand-in
    printed = []
    for asarray in (np.asarray, cupy.asarray):
        example.main(tmp_path, asarray)
        text = capsys.readouterr().out
        printed.append(numbers(text.split("iterations")[0])[:-1])
    np.testing.assert_allclose(*printed, rtol=0.02)
    assert (tmp_path / "many_series.png").exists()


def test_page(cupy):
    page = ROOT / "docs" / "gpu.md"
    result = doctest.testfile(
        str(page), module_relative=False, optionflags=doctest.ELLIPSIS, encoding="utf-8"
    )
    assert result.attempted > 0
    assert result.failed == 0
