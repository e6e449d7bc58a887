"""The error for a Variable that would have become a plain array shows the line to write; that line works."""

import collections
import dataclasses
import linecache
import math
import statistics
import sys
import textwrap

import numpy as np
import pytest
import scipy.linalg
import scipy.ndimage
import scipy.optimize
import scipy.sparse
import scipy.special
import scipy.stats

import lindiff as ld
import lindiff.numpy.polynomial
import lindiff.scipy.linalg
import lindiff.scipy.stats

RNG = np.random.default_rng(0)
NAMES = {"np": np, "math": math, "ld": ld, "scipy": scipy, "lindiff": lindiff}

# The user's code, a fragment of the line that is wrong, and what stands there when it is right.
CASES = {
    "setitem": (
        "K = np.zeros((2, 2))\nK[0, 1] = v\nreturn K",
        "np.zeros((2, 2))",
        "np.zeros((2, 2), like=v)",
    ),
    "slice": ("x = np.ones(3)\nx[:2] = w\nreturn x", "np.ones(3)", "np.ones(3, like=v)"),
    "complex": (
        "z = np.zeros(2, complex)\nz[0] = v\nreturn z",
        "np.zeros(2, complex)",
        "np.zeros(2, complex, like=v)",
    ),
    "like": ("x = np.zeros_like(a)\nx[0] = v\nreturn x", "np.zeros_like(a)", "np.zeros(np.shape(a), like=v)"),
    "add": ("x = np.ones(3)\nx[0] += v\nreturn x", "np.ones(3)", "np.ones(3, like=v)"),
    "rows of a matrix": (
        "K = np.zeros((3, 3))\nK[:2, :2] += v * A\nreturn K",
        "np.zeros((3, 3))",
        "np.zeros((3, 3), like=v)",
    ),
    "view by name": (
        "x, n = np.ones(3), 2\ny = x[:n]\ny += v\nreturn x",
        "x, n = np.ones(3), 2",
        "x = np.ones(3, like=v); n = 2",
    ),
    "columns": ("return np.c_[w, 2 * w]", "np.c_[w, 2 * w]", "np.column_stack([w, 2 * w])"),
    "joined": ("return np.r_[v, w, 1.0]", "np.r_[v, w, 1.0]", "np.hstack([v, w, 1.0])"),
    "joined matrices": (
        "M = np.outer(w, w)\nreturn np.r_[M, M]",
        "np.r_[M, M]",
        "np.concatenate([M, M])",
    ),
    "list": ("x = [v, 2 * v]\nreturn np.max(x)", "np.max(x)", "np.max(np.stack(x))"),
    "list in a dict": (
        "d = {'x': [v, 2 * v]}\nreturn np.linalg.norm(d['x'])",
        "np.linalg.norm(d['x'])",
        "np.linalg.norm(np.stack(d['x']))",
    ),
    "fill": ("x = np.empty(3)\nx.fill(v)\nreturn x", "np.empty(3)", "np.empty(3, like=v)"),
    "array": ("return np.array([[1.0, v], [0.0, v]])", "0.0, v]])", "0.0, v]], like=v)"),
    "full": ("return np.full(3, v)", "np.full(3, v)", "np.full(3, v, like=v)"),
    "sum": ("return np.sum([v, v])", "np.sum([v, v])", "np.sum(np.stack([v, v]))"),
    "comprehension": (
        "return np.mean([v * i for i in range(3)])",
        "np.mean([v * i for i in range(3)])",
        "np.mean(np.stack([v * i for i in range(3)]))",
    ),
    "solve": (
        "return np.linalg.solve([[1.0, v], [0.0, 1.0]], [1.0, 2.0])",
        "[[1.0, v], [0.0, 1.0]]",
        "np.array([[1.0, v], [0.0, 1.0]], like=v)",
    ),
    "ufunc": ("return np.exp([v, 1.0])", "np.exp([v, 1.0])", "np.exp(np.stack([v, 1.0]))"),
    "dot": ("return a.dot(w)", "a.dot(w)", "a @ w"),
    "vectorize": (
        "f = np.vectorize(lambda x: x * x)\nreturn f(w)",
        "return f(w)",
        "return np.stack([f.pyfunc(_) for _ in w])",
    ),
    "vectorize at once": (
        "return np.vectorize(np.tanh)(w)",
        "np.vectorize(np.tanh)(w)",
        "np.stack([np.tanh(_) for _ in w])",
    ),
    "distribution": (
        "return scipy.stats.norm.logpdf(a, loc=v)",
        "scipy.stats.norm.logpdf(a, loc=v)",
        "lindiff.scipy.stats.norm.logpdf(a, loc=v)",
    ),
    "series": (
        "return np.polynomial.chebyshev.chebval(a, w)",
        "np.polynomial.chebyshev.chebval(a, w)",
        "lindiff.numpy.polynomial.chebyshev.chebval(a, w)",
    ),
    "sparse": (
        "S = scipy.sparse.eye_array(2)\nreturn S @ w",
        "return S @ w",
        "return S.toarray() @ w",
    ),
    "math": ("return math.log(v)", "math.log(v)", "np.log(v)"),
    "expm": (
        "return scipy.linalg.expm(A * v)",
        "scipy.linalg.expm(A * v)",
        "lindiff.scipy.linalg.expm(A * v)",
    ),
    "normal": (
        "rng = np.random.default_rng(0)\nreturn rng.normal(loc=v, size=3)",
        "rng.normal(loc=v, size=3)",
        "v + 1.0 * rng.standard_normal(3)",
    ),
    "uniform": (
        "rng = np.random.default_rng(0)\nreturn rng.uniform(0.0, v)",
        "rng.uniform(0.0, v)",
        "0.0 + (v - 0.0) * rng.random()",
    ),
    "lognormal": (
        "rng = np.random.default_rng(0)\nreturn rng.lognormal(v, v, 4)",
        "rng.lognormal(v, v, 4)",
        "np.exp(v + v * rng.standard_normal(4))",
    ),
}
# What Python tells since 3.11; before, the advice is general.
NEEDS_POSITIONS = {"columns", "joined", "joined matrices", "sparse", "ufunc", "vectorize at once"}


def function(body, name):
    """``f(v, w)`` of this body, with source text as a module's functions have it."""
    source = f"def f(v, w):\n{textwrap.indent(body, '    ')}\n"
    filename = f"<advice {name} {len(source)}>"
    linecache.cache[filename] = (len(source), None, source.splitlines(True), filename)
    namespace = {**NAMES, "a": np.array([1.0, 2.0]), "A": np.eye(2), "__name__": "model"}
    exec(compile(source, filename, "exec"), namespace)
    return namespace["f"]


@pytest.mark.parametrize("name", CASES)
def test_error_shows_the_line_to_write(name):
    body, wrong, right = CASES[name]
    v, w = ld.Variable(1.5), ld.Variable([1.0, 2.0])
    with pytest.raises(TypeError, match=r"derivative would be lost|would not see the change") as caught:
        function(body, name)(v, w)
    if name in NEEDS_POSITIONS and sys.version_info < (3, 11):
        assert "np.stack" in str(caught.value)
        return
    corrected = body.replace(wrong, right)
    line = next(line for line in corrected.splitlines() if right in line).removeprefix("return ")
    assert line.partition("; ")[0] in str(caught.value)
    assert isinstance(function(corrected, name)(v, w), ld.Variable)


@dataclasses.dataclass
class Scales:
    first: float


@pytest.mark.parametrize(
    ("parameters", "name"),
    [
        ({"scale": 2.0}, 'p["scale"]'),
        ([2.0], "p[0]"),
        (collections.namedtuple("Parameters", "scale")(2.0), "p.scale"),
        (Scales(2.0), "p.first"),
    ],
    ids=["dict", "list", "named tuple", "dataclass"],
)
def test_error_finds_variables_within_arguments(parameters, name):
    source = f"def f(p):\n    x = np.zeros(3)\n    x[1] = {name} ** 2\n    return np.sum(x)\n"
    filename = f"<advice within {name}>"
    linecache.cache[filename] = (len(source), None, source.splitlines(True), filename)
    namespace = {"np": np, "__name__": "model"}
    exec(compile(source, filename, "exec"), namespace)
    with pytest.raises(TypeError) as caught:
        ld.grad(namespace["f"])(parameters)
    assert f"x = np.zeros(3, like={name})" in str(caught.value)


def test_error_names_file_and_line():
    v = ld.Variable(1.0)
    with pytest.raises(TypeError) as caught:
        np.zeros(3)[0] = v  # the user's line
    assert 'test_advice.py", line' in str(caught.value)
    assert "np.zeros(3)[0] = v  # the user's line" in str(caught.value)


def test_error_from_inside_a_library_names_the_users_line():
    with pytest.raises(TypeError) as caught:
        scipy.linalg.toeplitz(ld.Variable([1.0, 2.0]))  # deep inside SciPy and NumPy
    assert "# deep inside SciPy and NumPy" in str(caught.value)
    assert "lindiff.scipy.linalg.toeplitz" in str(caught.value)


def test_error_without_source_text():
    namespace = {"np": np, "v": ld.Variable(1.0), "__name__": "typed"}
    with pytest.raises(TypeError, match=r"line 1\nuse ld\.value"):
        exec("np.array([v])", namespace)


@pytest.mark.parametrize(
    ("ask", "advice"),
    [
        (lambda v: float(v), "float(ld.value(v))"),
        (lambda v: complex(v), "v + 0j"),
        (lambda v: int(v), "int(ld.value(v))"),
        (lambda v: [1, 2][v], "[1, 2][int(ld.value(...))]"),
        (lambda v: "%f" % v, '"%f" % ld.value(v)'),  # noqa: UP031
        (lambda v: math.lgamma(v), "scipy.special.gammaln(v)"),
        (lambda v: np.arange(v), "start + step * np.arange(n)"),
        (lambda v: np.asarray(v), "v is an array already: write v, or"),
        (lambda v: np.array(v), "v is an array already: write v.copy(), or"),
        (lambda v: np.asarray(v * 2), "if v * 2 is an array, write v * 2 alone"),
        (lambda v: np.fromiter((v for _ in range(2)), float), "np.stack([*(v for _ in range(2))])"),
        (
            lambda v: np.vectorize(lambda q: q * q)(v * np.ones(2)),
            "np.stack([(lambda q: q * q)(_) for _ in v * np.",
        ),
        (lambda v: np.random.default_rng(0).normal(v, v + 1), "v + (v + 1) * np.random.default_rng(0)"),
        (lambda v: np.ones(2).dot(v * 2 + np.ones(2)), "np.ones(2) @ (v * 2 + np.ones(2))"),
        (lambda v: np.r_[v, 0:3], "begin with `import lindiff.numpy as np`"),
        (lambda v: scipy.linalg.hilbert(v), "ld.value"),
        (lambda v: np.random.default_rng(0).poisson(v), "no derivative by its parameters"),
        (lambda v: np.testing.assert_allclose(v, 1.0), "np.testing.assert_allclose(ld.value(v), 1.0)"),
        (lambda v: statistics.NormalDist(mu=1.0, sigma=v), "NormalDist(mu=1.0, sigma=ld.value(v))"),
        (lambda v: RNG.permutation(v + np.ones(3)), "indices"),
        (lambda v: scipy.optimize.minimize_scalar(lambda x: (x - v) ** 2), "ld.implicit(solver, residual)"),
        (lambda v: scipy.ndimage.gaussian_filter(v * np.ones(3), 1), "no derivative of scipy.ndimage.gaus"),
    ],
)
def test_advice_on_numbers(ask, advice):
    with pytest.raises(TypeError) as caught:
        ask(ld.Variable(1.0))
    assert advice in str(caught.value)


def test_variables_are_sequences_to_python():
    v = ld.Variable([1.0, 2.0, 3.0])
    assert [float(ld.value(x)) for x in reversed(v)] == [3.0, 2.0, 1.0]
    assert len([*v]) == 3
    assert 2.0 in v
