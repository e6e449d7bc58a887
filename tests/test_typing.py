"""What a type checker makes of functions and of what the transforms make of them."""

from __future__ import annotations

from pathlib import Path

import pytest

# One part for each check; `# error` marks the lines that mypy has to refuse, and no others.
SCRIPT = """
from collections.abc import Callable
from typing import Any, assert_type

import numpy as np
from numpy.typing import NDArray

import lindiff as ld
from lindiff.transforms.linearize import LinearMap
from lindiff.typing import Array

Vector = NDArray[np.float64]
x = np.ones(3)


def loss(x: Vector, scale: float = 1.0, *, power: int = 2) -> float:
    return scale * float(np.sum(x**power))


# The parameters stay, the results are those of the transform.
ld.grad(loss)(x, 2.0, power=3)
ld.grad(loss)(x, "2.0")  # error
ld.grad(loss)(x, exponent=3)  # error
ld.hessian(loss)()  # error
ld.jacobian(loss)(None)  # error
value, gradient = ld.value_and_grad(loss)(x)
assert_type(value, float)
assert_type(ld.value_and_jacobian(loss)(x), tuple[float, Any])
ld.value_and_grad(loss)(x, power=0.5)  # error
ld.grad(lambda x: np.sum(x**2))(x)
ld.grad(np.sum)(x)


@ld.grad
def slope(a: float) -> float:
    return a * a


slope("a")  # error

# Without aux and with it.
y, pullback = ld.vjp(loss, x)
assert_type(y, float)
assert_type(pullback(1.0), tuple[Any, ...])
assert_type(ld.jvp(loss, (x,), (x,)), tuple[float, float])
assert_type(ld.linearize(loss, x), tuple[float, LinearMap])
y, tangent, aux = ld.jvp(loss, (x,), (x,))  # error


def with_aux(x: Vector) -> tuple[float, str]:
    return float(np.sum(x)), "sum"


assert_type(ld.jvp(with_aux, (x,), (x,), has_aux=True), tuple[float, float, str])
y, pullback, name = ld.vjp(with_aux, x, has_aux=True)
assert_type(name, str)
_, lin, name = ld.linearize(with_aux, x, has_aux=True)
assert_type(lin, LinearMap)


def either(has_aux: bool) -> Any:
    return ld.vjp(with_aux, x, has_aux=has_aux)


# A rule has the parameters of its function, and returns the value.
@ld.rule
def double(x: Vector, times: int = 1) -> tuple[Vector, Callable[[Vector], Vector]]:
    return 2.0**times * x, lambda y_bar: 2.0**times * y_bar


assert_type(double(x), Vector)
double(x, "1")  # error
ld.grad(double)(x, times="1")  # error


@ld.rule
def bare(x, times=1):
    return x, lambda y_bar: y_bar


bare(x, 2)
bare(x, factor=2)  # error


@ld.rule(np.linalg.eigh)
def eigh(a: Vector) -> tuple[Any, Any]:
    return a, None


eigh(x)


class Spring:
    @ld.rule
    def energy(self, x: float) -> tuple[float, float]:
        return x, x

    @staticmethod
    @ld.rule
    def force(x: float) -> tuple[float, float]:
        return x, x


Spring().energy(1.0)
Spring.force(1.0)
Spring().force(1.0)


# Solvers, and what leaves a function as it is.
@ld.implicit(residual=lambda x, a: x * x - a)
def root(a: float) -> float:
    return float(np.sqrt(a))


root("a")  # error
ld.implicit(root, lambda x, a: x * x - a)(2.0)
ld.checkpoint(loss)(x, power="3")  # error


def constant(a: Vector) -> Vector:
    return ld.stop_gradient(a)


# Arrays and Variables.
def energy(x: Array, y: Array) -> Any:
    return np.sum(x.T @ y + 2.0 * np.sin(x) / y[0])


energy(x, ld.Variable(x))
energy("x", x)  # error
ld.grad(energy)(x, x)
"""


def test_by_mypy(tmp_path, monkeypatch):
    api = pytest.importorskip("mypy.api")
    monkeypatch.setenv("MYPYPATH", str(Path(__file__).parent.parent))
    script, config = tmp_path / "script.py", tmp_path / "mypy.ini"
    script.write_text(SCRIPT, encoding="utf-8")
    config.write_text("[mypy]\nfollow_imports = silent\nignore_missing_imports = true\n", encoding="utf-8")
    options = ["--config-file", config, "--cache-dir", tmp_path / "cache", "--python-version", "3.12"]
    out, err, _ = api.run([*map(str, options), "--hide-error-context", str(script)])
    refused = {int(line.split(":")[1]) for line in out.splitlines() if ": error: " in line}
    expected = {i for i, line in enumerate(SCRIPT.splitlines(), 1) if line.endswith("# error")}
    assert refused == expected, out + err
