"""Transforms and rules of importable functions go through pickles, copies and processes."""

from __future__ import annotations

import copy
import inspect
import pickle
import subprocess
import sys

import numpy as np
import pytest

import lindiff as ld


def cubes(x, scale=1.0):
    """The sum of cubes."""
    return scale * np.sum(x**3)


def with_aux(x):
    return np.sum(x**2), x


def find_root(a):
    return np.sqrt(a)


def square_minus(x, a):
    return x * x - a


class Fit:
    """An object that keeps the derivative of its own method."""

    def __init__(self, center):
        self.center = center
        self.gradient = ld.grad(self.loss)

    def loss(self, x):
        return np.sum((x - self.center) ** 2)


@ld.grad
def decorated(x):
    return np.sum(x**2)


@ld.rule
def ruled(x):
    return x**2, lambda y_bar: 2 * x * y_bar


def rule_of_double(x):
    return 2 * x, lambda y_bar: 2 * y_bar


@ld.implicit(residual=square_minus)
def root(a):
    return np.sqrt(a)


class Model:
    factor = 3.0

    def loss(self, x):
        return self.factor * np.sum(x**2)

    slope = ld.grad(loss, 1)

    @ld.rule
    def ruled(self, x):
        return x**2, lambda y_bar: 2 * x * y_bar


x = np.array([0.5, 2.0])
MADE = {
    "grad": ld.grad(cubes),
    "value_and_grad": ld.value_and_grad(cubes),
    "with_aux": ld.grad(with_aux, has_aux=True),
    "value_and_jacobian": ld.value_and_jacobian(cubes),
    "jacobian": ld.jacobian(cubes, mode="reverse"),
    "hessian": ld.hessian(cubes),
    "nested": ld.jacobian(ld.grad(cubes)),
    "checkpoint": ld.checkpoint(cubes),
    "checkpoint by a program": ld.checkpoint(cubes, program=True),
    "implicit": ld.implicit(find_root, square_minus),
    "explain": ld.explain(cubes),
    "rule": ld.rule(rule_of_double),
    "decorated": decorated,
    "ruled": ruled,
    "root": root,
    "method": Model.slope,
}
COPIES = {"pickle": lambda f: pickle.loads(pickle.dumps(f)), "copy": copy.copy, "deepcopy": copy.deepcopy}


def results(f, name):
    if name == "explain":
        return [row.operation for row in f(x)]
    return f(Model(), x) if name == "method" else f(x)


@pytest.mark.parametrize("way", COPIES)
@pytest.mark.parametrize("name", MADE)
def test_copies_do_the_same(name, way):
    copied = COPIES[way](MADE[name])
    assert repr(results(copied, name)) == repr(results(MADE[name], name))


@pytest.mark.parametrize("name", ["decorated", "ruled", "root"])
def test_what_a_module_has_under_its_name_stays_itself(name):
    assert pickle.loads(pickle.dumps(MADE[name])) is MADE[name]


def test_they_look_like_the_function():
    gradient = ld.grad(cubes)
    assert (gradient.__name__, gradient.__doc__) == ("cubes", "The sum of cubes.")
    assert list(inspect.signature(gradient).parameters) == ["x", "scale"]
    assert repr(gradient).startswith("<grad of <function cubes")


def test_they_are_methods_in_a_class():
    np.testing.assert_array_equal(Model().slope(x), 6 * x)
    for way in COPIES.values():
        np.testing.assert_array_equal(way(Model().slope)(x), 6 * x)
        np.testing.assert_array_equal(ld.grad(lambda x, way=way: np.sum(way(Model().ruled)(x)))(x), 2 * x)
    model = pickle.loads(pickle.dumps(Model()))
    np.testing.assert_array_equal(ld.grad(lambda x: np.sum(model.ruled(x)))(x), 2 * x)


def test_a_function_without_name_is_refused_by_pickle():
    with pytest.raises((pickle.PicklingError, AttributeError)):
        pickle.dumps(ld.grad(lambda x: x))


LOSSES = """
import numpy as np, lindiff as ld

def loss(x, power=2):
    return np.sum(x**power)
"""
POOL = """
    with concurrent.futures.ProcessPoolExecutor(1, mp_context=multiprocessing.get_context({start!r})) as pool:
        print(*pool.map(ld.grad(loss), [1.0, 2.0]), pool.submit(ld.hessian(loss), 3.0, 3).result())
"""
WAYS = {
    "fork": ("concurrent.futures, multiprocessing", POOL.format(start="fork")),
    "spawn": ("concurrent.futures, multiprocessing", POOL.format(start="spawn")),
    "joblib": (
        "joblib",
        """
    run = joblib.Parallel(n_jobs=2)
    print(*run(joblib.delayed(ld.grad(loss))(x) for x in [1.0, 2.0]), ld.hessian(loss)(3.0, 3))
""",
    ),
    "dask": (
        "dask",
        """
    tasks = [dask.delayed(ld.grad(loss))(1.0), dask.delayed(ld.grad(loss))(2.0),
             dask.delayed(ld.hessian(loss))(3.0, 3)]
    print(*dask.compute(*tasks, scheduler="processes", num_workers=1))
""",
    ),
}


@pytest.mark.parametrize("way", WAYS)
def test_processes(tmp_path, way):
    modules, body = WAYS[way]
    for module in modules.split(", "):
        pytest.importorskip(module)
    (tmp_path / "losses.py").write_text(LOSSES)
    script = tmp_path / "script.py"
    script.write_text(
        f"import {modules}\nimport lindiff as ld\nfrom losses import loss\n\nif __name__ == '__main__':{body}"
    )
    run = subprocess.run([sys.executable, str(script)], capture_output=True, text=True, timeout=120)
    assert run.stdout == "2.0 4.0 18.0\n", run.stderr


@pytest.mark.parametrize("again", [copy.deepcopy, lambda x: pickle.loads(pickle.dumps(x))])
def test_objects_that_keep_derivatives_of_their_methods(again):
    fit = Fit(1.0)
    other = again(fit)
    other.center = 0.0
    assert (fit.gradient(3.0), other.gradient(3.0)) == (4.0, 6.0)
    gradient = again(fit.gradient)
    assert gradient(3.0) == 4.0
    assert gradient.__wrapped__.__self__ is not fit
    assert copy.copy(fit).gradient.__wrapped__.__self__ is fit
