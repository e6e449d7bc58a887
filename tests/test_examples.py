"""The examples do what they say."""

import importlib.util
import runpy
import sys
from pathlib import Path

import matplotlib as mpl
import matplotlib.pyplot as plt
import numpy as np
import pytest

import lindiff as ld
from lindiff.testing import check_rule

EXAMPLES = Path(__file__).parent.parent / "examples"


def load(name):
    mpl.use("Agg")
    spec = importlib.util.spec_from_file_location(Path(name).stem, EXAMPLES / f"{name}.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.fixture(autouse=True)
def figures_closed():
    yield
    plt.close("all")


@pytest.fixture(scope="module")
def nile():
    return load("nile")


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


def test_gaps_of_the_nile_are_bridged(tmp_path, capsys, flow):
    """The smoothed level is straight in a gap, and known worst in its middle."""
    example = load("nile_with_gaps")
    years = np.arange(1871, 1971)
    y = example.with_gaps(years, flow[:, 0])
    assert np.isnan(y).sum() == 40
    model = example.statespace.local_level(1469.1, 15099.0)
    smoothed = example.statespace.kalman_smoother(y, *model)
    gap = slice(1891 - 1871, 1911 - 1871)
    np.testing.assert_allclose(np.diff(smoothed.smoothed_state[gap, 0], 2), 0, atol=1e-9)
    assert np.argmax(smoothed.smoothed_state_cov[gap, 0, 0]) in (9, 10)
    example.main(tmp_path)
    assert "log-likelihood -380.9267" in capsys.readouterr().out
    assert (tmp_path / "nile_with_gaps.png").exists()


def test_airline(tmp_path, capsys):
    """Trend and season make up the data but for noise; both models forecast within their bands."""
    example = load("airline")
    y = np.log(np.loadtxt(EXAMPLES / "data" / "airline.csv", delimiter=",", skiprows=1, usecols=1))
    (trend, _), (season, _) = example.components(y, example.structural(7e-4, 6e-5, 1.3e-4))
    assert np.std(y - trend - season) < 0.02
    example.main(tmp_path)
    out = capsys.readouterr().out
    assert out.count("24 of 24 inside") == 2
    assert (tmp_path / "airline.png").exists()


def test_two_reverse_modes_are_the_forward_mode(tmp_path, capsys):
    pytest.importorskip("igraph")
    example = load("two_reverse_modes")
    example.main(tmp_path)
    forward, reverse, *_ = [
        line.split("[")[1] for line in capsys.readouterr().out.splitlines() if "[" in line
    ]
    assert forward == reverse
    assert (tmp_path / "two_reverse_modes.svg").exists()


def test_two_reverse_modes_do_what_the_forward_mode_does():
    example = load("two_reverse_modes")
    x = np.ones(2)
    forward, reverse = (
        sorted(box.label for box in ld.draw(program, argnums=(0, 1))(x, x).boxes)
        for program in (example.forward_mode, example.two_reverse_modes)
    )
    forward.remove("copy")
    assert forward == reverse


CUSTOM_RULES = {
    "division": "divide",
    "eigenvalues": "eigenvalues",
    "masked": "masked",
    "matrix_exponential": "matrix_exponential",
    "sigmoid": "sigmoid",
    "sine": "sine",
}


@pytest.mark.parametrize("name", CUSTOM_RULES)
def test_custom_rules(name):
    module = load(f"custom_rules/{name}")
    args = module.arguments(6, np.random.default_rng(1))
    if name == "masked":
        args = args[0], np.array([True, False, False, True, True, False])
    rule = getattr(module, CUSTOM_RULES[name])
    check_rule(rule, *args)
    check_rule(module.naive, *args, order=1, modes=["rev"])
    np.testing.assert_allclose(rule(*args), module.naive(*args), rtol=1e-13, atol=1e-15)


def test_gains_of_custom_rules(tmp_path, monkeypatch, capsys):
    file = tmp_path / "gains.csv"
    monkeypatch.setattr(sys, "argv", ["custom_rules", "--small", "--seconds", "0.001", "--csv", str(file)])
    monkeypatch.syspath_prepend(EXAMPLES / "custom_rules")
    runpy.run_path(str(EXAMPLES / "custom_rules"), run_name="__main__")
    title, *rows = [line.split(",") for line in file.read_text().splitlines()]
    assert title == ["rule", "size", "naive_ms", "shared_ms", "gain"]
    assert sorted(row[0] for row in rows) == sorted(CUSTOM_RULES)
    assert all(float(figure) > 0 for row in rows for figure in row[2:])
    assert len(capsys.readouterr().out.splitlines()) == 1 + len(rows)


def test_dynamic_factor(tmp_path, capsys):
    """The factors behind the data are found, as far as their bands say."""
    example = load("dynamic_factor")
    example.main(tmp_path)
    for line in capsys.readouterr().out.splitlines():
        if line.startswith("factor"):
            _, _, estimate, error, true, correlation, inside = line.split()
            assert abs(float(estimate) - float(true)) < 3 * float(error)
            assert float(correlation) > 0.95
            assert float(inside.rstrip("%")) > 70
    assert (tmp_path / "dynamic_factor.png").exists()


def test_many_series(tmp_path, monkeypatch, capsys):
    example = load("many_series")
    monkeypatch.setattr(example, "SERIES", 60)
    example.main(tmp_path)
    assert "one by one" in capsys.readouterr().out
    assert (tmp_path / "many_series.png").exists()


def test_many_series_are_the_sum_of_single_ones(monkeypatch):
    example = load("many_series")
    monkeypatch.setattr(example, "SERIES", 12)
    y = example.simulate(np.random.default_rng(0))
    value, gradient = ld.value_and_grad(example.loglikelihood)(example.TRUTH, y)
    single = [ld.value_and_grad(example.loglikelihood)(example.TRUTH, one) for one in y]
    np.testing.assert_allclose(value, sum(of_one for of_one, _ in single), rtol=1e-12)
    for name, slope in gradient.items():
        np.testing.assert_allclose(slope, sum(of_one[name] for _, of_one in single), rtol=1e-9)
    found = example.fit(example.simulate(np.random.default_rng(1)))
    for name, estimate in found.params.items():
        assert np.all(np.abs(estimate - example.TRUTH[name]) < 4 * found.standard_errors[name])


def test_long_loop():
    """One gradient in three ways; twice the states at four times the steps, and less than that by halves."""
    example = load("long_loop")
    example.POINTS = 1000
    g, _, _ = example.measured(example.kept, 36)
    peaks = {}
    for simulate in (example.in_pieces, example.in_halves):
        for steps in (36, 144):
            found, peaks[simulate, steps], _ = example.measured(simulate, steps)
            if steps == 36:
                np.testing.assert_allclose(found, g, rtol=1e-12)
    assert peaks[example.in_pieces, 144] < 2.2 * peaks[example.in_pieces, 36]
    assert peaks[example.in_halves, 144] < peaks[example.in_halves, 36] + 8


def test_the_filter_of_the_program_is_the_filter():
    example = load("kalman_program")
    y = example.simulate(np.log([0.2, 0.5]), np.random.default_rng(0))[:20]
    fast = ld.program(ld.value_and_grad(example.negative_log_likelihood))
    for log_std in np.random.default_rng(1).standard_normal((5, 2)):
        value, gradient = fast(log_std, y)
        assert value == pytest.approx(example.negative_log_likelihood(log_std, y), rel=1e-12)
        expected = ld.grad(example.negative_log_likelihood)(log_std, y)
        np.testing.assert_allclose(gradient, expected, rtol=1e-9)


def test_eight_schools(capsys):
    """Gelman et al., table 5.3 and figure 5.8: means of about 4 to 7 for schools whose data are -3 to 28."""
    example = load("eight_schools")
    x = np.linspace(-1.0, 1.0, 10)
    for _ in range(3):
        np.testing.assert_allclose(example.gradient(x)[1], ld.grad(example.log_density)(x), rtol=1e-12)
    chains = [example.sample(np.zeros(10), rng) for rng in np.random.default_rng(0).spawn(4)]
    of_chains = [draws for draws, _ in example.run(chains)]
    assert [draws.shape for draws in of_chains] == [(500, 10)] * 4
    assert example.scale_reduction(np.stack(of_chains)[..., 0]) < 1.05
    draws = np.concatenate(of_chains)
    mu, tau = draws[:, 0], np.exp(draws[:, 1])
    effects = mu + tau * draws[:, 2:].T
    assert np.mean(mu) == pytest.approx(4.4, abs=0.6)
    assert np.std(mu) == pytest.approx(3.3, abs=0.5)
    assert np.mean(tau) == pytest.approx(3.6, abs=0.6)
    assert np.argsort(effects.mean(axis=1))[-1] in (0, 6)


def test_neural_ode_finds_the_spiral(tmp_path, capsys):
    example = load("neural_ode")
    example.HERE = tmp_path
    example.main()
    distance = float(capsys.readouterr().out.split()[-1])
    assert distance < 0.03


def test_robust_errors_are_whites():
    """Of a Poisson regression: X' diag(r²) X in the middle, with the residuals r."""
    example = load("robust_errors")
    X, counts = example.simulate(200, np.random.default_rng(0))
    w = example.fit(X, counts)
    model, robust = example.standard_errors(w, X, counts)
    rate = np.exp(X @ w)
    H_inv = np.linalg.inv(X.T @ (rate[:, None] * X))
    J = X.T @ ((rate - counts)[:, None] ** 2 * X)
    np.testing.assert_allclose(model, np.sqrt(np.diag(H_inv)), rtol=1e-10)
    np.testing.assert_allclose(robust, np.sqrt(np.diag(H_inv @ J @ H_inv)), rtol=1e-9)


GUIDE = """
```pycon
>>> from matplotlib.figure import Figure
>>> figure = Figure((8, 2))
>>> _ = figure.subplots().plot([1, 2])

```

![A line](../images/line.png)
"""


def test_pictures_of_guides_are_what_their_pages_draw(tmp_path):
    """Pages themselves run in test_docs."""
    guides = load("guides")
    (tmp_path / "page.md").write_text(GUIDE)
    guides.draw(tmp_path / "page.md", tmp_path)
    assert mpl.image.imread(tmp_path / "line.png").shape[:2] == (200, 800)


def test_guides_show_their_pictures():
    guides = load("guides")
    shown = {
        picture
        for page in guides.GUIDES.glob("*.md")
        for _, picture in guides.PARTS.findall(page.read_text(encoding="utf-8"))
        if picture
    }
    sizes = {path.name: path.stat().st_size for path in (guides.GUIDES.parent / "images").glob("*.png")}
    assert set(sizes) == shown
    assert max(sizes.values()) < 80_000


def test_deep_processes_learn_a_step(tmp_path, capsys):
    load("deep_gp").main(tmp_path, steps=600)
    one, two = (float(line.split()[-1]) for line in capsys.readouterr().out.splitlines())
    assert two > one + 0.1
    assert (tmp_path / "deep_gp.png").stat().st_size > 10_000


def test_a_linear_head_is_unsure_where_its_network_saw_nothing(tmp_path, capsys):
    load("neural_linear").main(tmp_path, steps=800)
    evidence, spread = capsys.readouterr().out.splitlines()
    at_data, in_gap = (float(word) for word in spread.split() if word[0].isdigit())
    assert float(evidence.split()[2].rstrip(",")) > 0
    assert in_gap > at_data
    assert (tmp_path / "neural_linear.png").stat().st_size > 10_000


def test_a_network_gives_the_parameters_of_a_linear_system(tmp_path, capsys):
    load("neural_dynamics").main(tmp_path, steps=300)
    constant, network = (float(line.split()[-1]) for line in capsys.readouterr().out.splitlines())
    assert network > constant + 0.3
    assert (tmp_path / "neural_dynamics.png").stat().st_size > 10_000
