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
import scipy.integrate
import scipy.linalg
import scipy.ndimage
import scipy.optimize
import scipy.sparse
import scipy.spatial.distance
import scipy.special
import scipy.stats

import lindiff as ld
import lindiff.numpy.polynomial
import lindiff.scipy.integrate
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
        "x, n = np.ones(3, like=v), 2",
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
    "whole numbers": (
        "k = np.zeros(3, dtype=int)\nk[0] = v\nreturn k",
        "np.zeros(3, dtype=int)",
        "np.zeros(3, dtype=float, like=v)",
    ),
    "array of whole numbers": (
        "k = np.array([1, 2, 3])\nk[1] = v\nreturn k",
        "np.array([1, 2, 3])",
        "np.array([1, 2, 3], dtype=float, like=v)",
    ),
    "full of whole numbers": (
        "k = np.full(3, 7)\nk[1] = v\nreturn k",
        "np.full(3, 7)",
        "np.full(3, 7, dtype=float, like=v)",
    ),
    "like whole numbers": (
        "k = np.full_like(np.arange(3), 7)\nk[1] = v\nreturn k",
        "np.full_like(np.arange(3), 7)",
        "np.full(np.shape(np.arange(3)), 7, dtype=float, like=v)",
    ),
    "quad": (
        "return scipy.integrate.quad(lambda x: v * x, 0.0, 1.0)[0]",
        "scipy.integrate.quad(lambda x: v * x, 0.0, 1.0)",
        "lindiff.scipy.integrate.quad(lambda x, v: v * x, 0.0, 1.0, args=(v,))",
    ),
    "odeint": (
        "return scipy.integrate.odeint(lambda y, t: -v * y, [1.0], [0.0, 1.0])[-1]",
        "scipy.integrate.odeint(lambda y, t: -v * y, [1.0], [0.0, 1.0])",
        "lindiff.scipy.integrate.odeint(lambda y, t, v: -v * y, [1.0], [0.0, 1.0], args=(v,))",
    ),
    "solve_ivp": (
        "return scipy.integrate.solve_ivp(lambda t, y: -v * y, (0.0, 1.0), [1.0]).y[0]",
        "scipy.integrate.solve_ivp(lambda t, y: -v * y, (0.0, 1.0), [1.0])",
        "lindiff.scipy.integrate.solve_ivp(lambda t, y, v: -v * y, (0.0, 1.0), [1.0], args=(v,))",
    ),
    "limits of an integral": (
        "return scipy.integrate.quad(np.exp, 0.0, v)[0]",
        "scipy.integrate.quad(np.exp, 0.0, v)",
        "lindiff.scipy.integrate.quad(np.exp, 0.0, v)",
    ),
    "by columns": ("return np.asfortranarray(w)", "np.asfortranarray(w)", "lindiff.numpy.asfortranarray(w)"),
    "by rows": (
        "return np.ascontiguousarray(w.T)",
        "np.ascontiguousarray(w.T)",
        "lindiff.numpy.ascontiguousarray(w.T)",
    ),
    "required": (
        "return np.require(w * 2, requirements='C')",
        "np.require(w * 2, requirements='C')",
        "w * 2",
    ),
    "single": (
        "return np.asarray(w, dtype=np.float32)",
        "np.asarray(w, dtype=np.float32)",
        "lindiff.numpy.asarray(w, dtype=np.float32)",
    ),
    "more axes": ("return np.array(w, ndmin=2)", "np.array(w, ndmin=2)", "np.array(w, ndmin=2, like=w)"),
    "strides": (
        "return np.lib.stride_tricks.as_strided(w, (2, 1), (8, 8))",
        "np.lib.stride_tricks.as_strided(w, (2, 1), (8, 8))",
        "lindiff.numpy.lib.stride_tricks.as_strided(w, (2, 1), (8, 8))",
    ),
    "polynomial": (
        "return np.polynomial.Polynomial(w)(a)",
        "np.polynomial.Polynomial(w)",
        "lindiff.numpy.polynomial.Polynomial(w)",
    ),
    "fitted polynomial": (
        "return np.polynomial.Chebyshev.fit(a, w, 1)(0.5)",
        "np.polynomial.Chebyshev.fit(a, w, 1)",
        "lindiff.numpy.polynomial.Chebyshev.fit(a, w, 1)",
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
    lost = "derivative would be lost|would lose the derivative|would not see the change"
    with pytest.raises(TypeError, match=lost) as caught:
        function(body, name)(v, w)
    if name in NEEDS_POSITIONS and sys.version_info < (3, 11):
        assert "np.stack" in str(caught.value)
        return
    corrected = body.replace(wrong, right)
    line = next(line for line in corrected.splitlines() if right in line).removeprefix("return ")
    shown = right if line.endswith("]") or "](" in line or ")(" in line else line.partition("; ")[0]
    assert shown in str(caught.value)
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
        exec(compile("np.array([v])", "<typed>", "exec"), namespace)


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
        pytest.param(
            lambda v: np.vectorize(lambda q: q * q)(v * np.ones(2)),
            "np.stack([(lambda q: q * q)(_) for _ in v * np.",
            marks=pytest.mark.skipif(sys.version_info < (3, 11), reason="no positions of expressions"),
        ),
        (lambda v: np.random.default_rng(0).normal(v, v + 1), "v + (v + 1) * np.random.default_rng(0)"),
        (lambda v: np.ones(2).dot(v * 2 + np.ones(2)), "np.ones(2) @ (v * 2 + np.ones(2))"),
        (lambda v: np.r_[v, 0:3], "begin with `import lindiff.numpy as np`"),
        (lambda v: scipy.linalg.hilbert(v), "ld.value"),
        (lambda v: np.random.default_rng(0).poisson(v), "no derivative by its parameters"),
        (lambda v: np.testing.assert_allclose(v, 1.0), "np.testing.assert_allclose(ld.value(v), 1.0)"),
        (lambda v: statistics.NormalDist(mu=1.0, sigma=v), "NormalDist(mu=1.0, sigma=ld.value(v))"),
        (
            lambda v: RNG.permutation(v + np.ones(3)),
            "(v + np.ones(3))[RNG.permutation(len(v + np.ones(3)))]",
        ),
        (lambda v: RNG.choice([v], 2), "[v][RNG.choice(len([v]), 2)]"),
        (lambda v: math.hypot(v, 1.0, 2.0), "np.linalg.norm(np.stack([v, 1.0, 2.0]))"),
        (lambda v: math.hypot(v, 1.0), "np.hypot(v, 1.0)"),
        (lambda v: v.item(), "v[i] to go on computing"),
        (lambda v: v.tolist(), "list(v) to go on computing"),
        (lambda v: (v + 1j).view(float), "np.stack([v.real, v.imag], axis=-1)"),
        (
            lambda v: np.fill_diagonal(np.zeros((2, 2)), v),
            "np.zeros((2, 2)) is a plain array: make it an array",
        ),
        (lambda v: np.zeros(2).__setitem__(0, v), "fill np.zeros(n, like=v)"),
        (lambda v: scipy.optimize.minimize_scalar(lambda x: (x - v) ** 2), "ld.implicit(solver, residual)"),
        (lambda v: scipy.ndimage.shift(v * np.ones(3), 1), "lindiff.scipy.ndimage.shift(v * np.ones(3), 1)"),
        (lambda v: scipy.ndimage.median(v * np.ones(3)), "\nlindiff has no derivative of scipy.ndimage.med"),
        (lambda v: scipy.spatial.distance.pdist([[v], [0]]), "lindiff.scipy.spatial.distance.pdist([[v]"),
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


def test_variables_of_a_function_that_is_integrated_go_through_args():
    body = "a = v * 2.0\ndef g(x):\n    return a * x\nreturn scipy.integrate.quad(g, 0.0, 1.0)[0]"
    with pytest.raises(TypeError) as caught:
        function(body, "quad of g")(ld.Variable(1.5), None)
    right = "lindiff.scipy.integrate.quad(g, 0.0, 1.0, args=(a,))"
    assert f"{right}[0]\nand in line 3\n    def g(x, a):" in str(caught.value)
    body = body.replace("g(x)", "g(x, a)").replace("scipy.integrate.quad(g, 0.0, 1.0)", right)
    assert isinstance(function(body, "quad of g with a")(ld.Variable(1.5), None), ld.Variable)


@pytest.mark.parametrize("name", ["minimize", "least_squares"])
def test_searches_that_differentiate_what_they_find(name):
    right = f"lindiff.scipy.optimize.{name}(lambda x: np.sum((x - w) ** 2) + 0.0 * x, a)"
    body = f"return scipy.optimize.{name}(lambda x: np.sum((x - w) ** 2) + 0.0 * x, a).x"
    with pytest.raises((TypeError, ValueError)) as caught:  # SciPy puts an error of its own before ours
        function(body, name)(None, ld.Variable([1.0, 2.0]))
    assert right in f"{caught.value} {caught.value.__cause__}"


def test_searches_that_do_not_are_differentiated_implicitly():
    body = "return scipy.optimize.minimize_scalar(lambda x: np.sum((x - w) ** 2)).x"
    with pytest.raises(TypeError, match=r"ld\.implicit\("):
        function(body, "minimize_scalar")(None, ld.Variable([1.0, 2.0]))


def test_tables_change_in_place_for_plain_arrays_alone():
    pandas = pytest.importorskip("pandas")
    names = {"s": pandas.Series([1.0, 2.0]), "t": pandas.DataFrame({"b": [1.0, 2.0]})}
    for body, right in (
        ("s += w\nreturn s", "s = s + w"),
        ("t['b'] *= w\nreturn t['b']", "y = t['b'] * w"),
    ):
        wrong = function(body, right)
        wrong.__globals__.update(names)
        wrong = function("s = globals()['s'] * 1.0\n" + body, right) if body[0] == "s" else wrong
        wrong.__globals__.update(names)
        with pytest.raises(TypeError, match="the result is a Variable") as caught:
            wrong(None, ld.Variable([1.0, 2.0]))
        assert right in str(caught.value)


def test_nditer():
    from lindiff import numpy as lnp

    def f(v):
        with pytest.raises(TypeError, match=r"for x in v\.flat"):
            lnp.nditer(v)
        return sum([x * x for x in v.flat])

    np.testing.assert_array_equal(ld.grad(f)(np.ones((2, 2))), 2 * np.ones((2, 2)))
    assert [float(x) for x in lnp.nditer(lnp.ones(3))] == [1.0, 1.0, 1.0]


# Functions of arrays that were made elsewhere, with where they have to be made, and the line there.
ELSEWHERE = {
    "argument": (
        "def rhs(y, out):\n    out[0] = y\nout = np.zeros(2)\nrhs(v, out)\nreturn np.sum(out)",
        "write in line 4\n    out = np.zeros(2, like=v)",
        ("np.zeros(2)", "np.zeros(2, like=v)"),
    ),
    "function around": (
        "F = np.zeros(2)\ndef add():\n    for i in range(2):\n        f = v * i\n        F[i] += f\nadd()\n"
        "return F",
        "F = np.zeros(2, like=v)",
        ("F = np.zeros(2)", "F = np.zeros(2, like=v)"),
    ),
    "bound later": (
        "def add():\n    F = np.zeros(2)\n    for i in range(2):\n        f = v * i\n        F[i] += f\n"
        "    return F\nreturn add()",
        "F = np.zeros(2, like=v)",
        ("F = np.zeros(2)", "F = np.zeros(2, like=v)"),
    ),
    "pairs": (
        "s = 0.0\nfor i, x in np.ndenumerate(np.outer(w, w)):\n    s = s + i[0] * x\nreturn s",
        "((i, np.outer(w, w)[i]) for i in np.ndindex(np.shape(np.outer(w, w))))",
        (
            "np.ndenumerate(np.outer(w, w))",
            "((i, np.outer(w, w)[i]) for i in np.ndindex(np.shape(np.outer(w, w))))",
        ),
    ),
    "field": (
        "t = np.zeros(2, [('a', float)])\nt['a'][0] = v\nreturn t['a']",
        "t = {k: np.array(t[k], like=v) for k in t.dtype.names}",
        ("t['a'][0]", "t = {k: np.array(t[k], like=v) for k in t.dtype.names}\nt['a'][0]"),
    ),
}


@pytest.mark.parametrize("name", ELSEWHERE)
def test_advice_on_arrays_that_were_made_elsewhere(name):
    body, shown, (line, right) = ELSEWHERE[name]
    v, w = ld.Variable(1.5), ld.Variable([0.5, 2.0])
    with pytest.raises(TypeError) as caught:
        function(body, f"{name} elsewhere")(v, w)
    assert shown in str(caught.value)
    assert isinstance(function(body.replace(line, right), f"{name} elsewhere, right")(v, w), ld.Variable)


TREE = scipy.spatial.KDTree(np.eye(2))
WITHOUT_DERIVATIVES = {
    "a matrix": (lambda w: np.asmatrix([w, w]), r"a matrix takes no Variables: make an array, .* write @"),
    "fields": (lambda w: np.rec.fromarrays([w, w], names="a,b"), "make one array of each field"),
    "a mask": (lambda w: np.ma.masked_less(w, 0.0), r"a masked array .*np\.where\(mask"),
    "a method": (
        lambda w: scipy.stats.beta.nnlf((w[0], 1.0, 0.0, 1.0), [0.5]),
        r"no derivative of scipy\.stats\.beta\.nnlf;",
    ),
    "a tree": (lambda w: TREE.query(w), r"no derivative of scipy\.spatial\.KDTree\.query;"),
    "objects": (
        lambda w: np.frompyfunc(lambda x: x + 1, 1, 1)(w),
        r"np\.frompyfunc.*write lindiff\.numpy\.vectorize",
    ),
}


@pytest.mark.parametrize("name", WITHOUT_DERIVATIVES)
@pytest.mark.filterwarnings("ignore::PendingDeprecationWarning")  # NumPy's, of matrices
def test_what_has_no_derivative_is_said_to_have_none(name):
    f, says = WITHOUT_DERIVATIVES[name]
    with pytest.raises(TypeError, match=says):
        ld.vjp(f, np.array([0.3, 0.7]))
