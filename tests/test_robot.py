"""A robot that does what errors say, and nothing else: scripts run in the end, with the right derivative.

It looks for "write in line N", "write in lines N to M", "write above line N" and "begin with", each with a
line of text below: the first, what the error adds to it by "and", and nothing that it says for the case that
a derivative does not matter.
"""

from __future__ import annotations

import contextlib
import importlib
import linecache
import re
import sys
import textwrap

import numpy as np
import pytest

import lindiff.scipy.special

X = np.array([0.3, 0.6, 0.9])
MOST_STEPS = 8
WRITE = re.compile(r"(?<!matter, )write (in lines? (\d+)(?: to (\d+))?|above line (\d+))\n    (.*)")
BEGIN = re.compile(r"^and begin with\n    (.*)", re.MULTILINE)

ALSO = re.compile(r"^and (in lines? (\d+))\n    (.*)", re.MULTILINE)

# A package that was installed: it uses NumPy as packages do.
PACKAGE = {
    "kernels": """
        import math
        import scipy.linalg
        import numpy as np
        from numpy import zeros

        def fill(x):
            K = np.zeros((3, 3))
            for i in range(3):
                K[i, i] = x[i] ** 2
            return K

        def rows(x):
            table = zeros(3)
            table[:] = x
            return np.sum(table * np.arange(3.0))

        def joined(x):
            return np.asarray([x[0], 2.0 * x[1]])

        class Model:
            def __init__(self, scale):
                self.state = np.ones(3)
                self.state[0] = scale

            def energy(self):
                return np.sum(self.state**2)

        def strict(x):
            if not isinstance(x, np.ndarray):
                raise TypeError("expected an array")
            return np.sum(x)

        def mathematics(x):
            return math.log(x[0])

        def number(x):
            return float(x) ** 2

        def inverted(A):
            return np.sum(scipy.linalg.expm(A))

        def viewed(x):
            return memoryview(x)[0]

        def compiled(x):
            return np.random.default_rng(0).normal(x)

        def apply(f, x):
            return f(x)
    """
}

# Scripts with a function f(x) of three numbers; its last expression is its value.
SCRIPTS = {
    "fill": """
        def f(x):
            K = np.zeros((2, 2))
            K[0, 1] = x[0] * x[1]
            return np.sum(K**2)
    """,
    "fill twice": """
        def f(x):
            a = np.zeros(3)
            b = np.ones(2)
            for i in range(3):
                a[i] = x[i] ** 2
            b[1] = x[0]
            return np.sum(a) * np.sum(b)
    """,
    "whole numbers": """
        def f(x):
            a = np.array([1, 2, 3])
            a[0] = x[0]
            return np.sum(a * a)
    """,
    "two at once": """
        def f(x):
            a, n = np.zeros(3), 3
            for i in range(n):
                a[i] += x[i] * i
            return np.sum(a**2)
    """,
    "by a helper": """
        def rhs(y, out):
            out[0] = y[0] * y[1]
            out[1] = y[2]

        def f(x):
            out = np.zeros(2)
            rhs(x, out)
            return np.sum(out**2)
    """,
    "of the module": """
        buffer = np.zeros(3)

        def f(x):
            '''Uses a buffer.'''
            buffer[:] = x
            return np.sum(buffer**2)
    """,
    "of the function around": """
        def f(x):
            F = np.zeros((2, 3))

            def inner():
                for i in range(2):
                    F[i] += (i + 1.0) * x

            inner()
            return np.sum(F**2)
    """,
    "of an object": """
        class Model:
            def __init__(self):
                self.state = np.zeros(3)

            def run(self, x):
                for i in range(3):
                    self.state[i] = x[i] * i
                return np.sum(self.state**2)

        def f(x):
            return Model().run(x)
    """,
    "in one line": """
        def f(x):
            a = np.zeros(3)
            for i in range(3): a[i] = x[i] ** 2
            return np.sum(a)
    """,
    "lists": """
        def f(x):
            parts = [x[0], 2.0 * x[1], x[2] ** 2]
            return np.sum(parts) + np.max([x[0], x[1]])
    """,
    "matrix of a list": """
        def f(x):
            R = np.array([[np.cos(x[0]), -np.sin(x[0])], [np.sin(x[0]), np.cos(x[0])]])
            return np.sum(R @ x[1:])
    """,
    "over several lines": """
        def f(x):
            R = np.array(
                [
                    [np.cos(x[0]), -np.sin(x[0])],  # the first row
                    [np.sin(x[0]), 1.0],
                ]
            )
            return np.sum(R @ x[1:])
    """,
    "full": """
        def f(x):
            return np.sum(np.full(3, x[0]) * x)
    """,
    "columns": """
        def f(x):
            return np.sum(np.c_[x, x**2] ** 2) + np.sum(np.r_[x, x[0], 1.0])
    """,
    "dot": """
        A = np.arange(9.0).reshape(3, 3)

        def f(x):
            return 2.0 ** A[0].dot(x) + np.sum(A.dot(x))
    """,
    "lists as operands": """
        def f(x):
            return np.arange(3.0) @ [x[0], x[1], 1.0] + np.sum(np.ones(2) * [x[0], x[2]])
    """,
    "a list of double precision": """
        def f(x):
            return np.double([x[0], x[1]]).sum() * x[2]
    """,
    "long double": """
        def f(x):
            total = np.longdouble(0)
            for part in x:
                total += np.longdouble(part) ** 2
            return total
    """,
    "a number in a text": """
        def f(x):
            text = "loss %.3f" % x[0]
            return np.sum(x**2) + 0 * len(text)
    """,
    "asarray": """
        def f(x):
            x = np.asarray(x, dtype=float)
            return np.sum(x**2)
    """,
    "mathematics": """
        import math

        def f(x):
            return math.sin(x[0]) * math.hypot(x[1], x[2]) + math.exp(x[1]) + math.erf(x[2])
    """,
    "number": """
        def f(x):
            return float(x[0]) ** 2 * x[1]
    """,
    "vectorize": """
        def f(x):
            g = np.vectorize(lambda q: q * q if q > 0.5 else q)
            return np.sum(g(x))
    """,
    "draws": """
        def f(x):
            rng = np.random.default_rng(0)
            return np.sum(rng.normal(x[0], x[1], 4) ** 2) + np.sum(rng.permutation(x) * np.arange(3.0))
    """,
    "pairs": """
        def f(x):
            s = 0.0
            for i, y in np.ndenumerate(x):
                s = s + i[0] * y
            return s
    """,
    "expm": """
        import scipy.linalg

        def f(x):
            return np.sum(scipy.linalg.expm(np.outer(x, x)))
    """,
    "expm by name": """
        from scipy.linalg import expm, toeplitz

        def f(x):
            return np.sum(expm(toeplitz(x)))
    """,
    "density": """
        from scipy import stats

        def f(x):
            return np.sum(stats.norm.logpdf(np.arange(3.0), x[0], x[1]))
    """,
    "frozen": """
        import scipy.stats

        def f(x):
            return np.sum(scipy.stats.norm(x[0], 1.0).logpdf(np.arange(3.0)))
    """,
    "frozen by name": """
        from scipy.stats import gamma

        y = np.array([0.5, 1.5])

        def f(x):
            d = gamma(x[0], scale=x[1])
            return np.sum(d.logpdf(y))
    """,
    "frozen, several variates": """
        from scipy import stats

        def f(x):
            return stats.multivariate_normal(x, np.eye(3)).logpdf(np.arange(3.0))
    """,
    "distribution of another name": """
        from scipy.stats import multivariate_normal as mvn

        def f(x):
            return mvn.logpdf(np.arange(3.0), x, np.eye(3))
    """,
    "data with derivatives": """
        from scipy import stats

        def f(x):
            return np.sum(stats.norm(0.0, 2.0).logpdf(x))
    """,
    "quad": """
        from scipy.integrate import quad

        def f(x):
            return quad(lambda t: x[0] * t**2 + x[1], 0.0, 2.0)[0]
    """,
    "quad of names": """
        import scipy.integrate

        def f(x):
            a, b = x[0], x[1]
            return scipy.integrate.quad(lambda t: a * t**2 + b, 0.0, 2.0)[0]
    """,
    "quad of a function": """
        import scipy.integrate

        def f(x):
            a = x[0] * x[1]

            def h(t):
                return a * t**2

            return scipy.integrate.quad(h, 0.0, 2.0)[0]
    """,
    "solve_ivp": """
        from scipy.integrate import solve_ivp

        def f(x):
            s = solve_ivp(lambda t, y: -x[0] * y, (0.0, 1.0), [1.0], rtol=1e-9, atol=1e-9)
            return s.y[0, -1]
    """,
    "special": """
        import scipy.special

        def f(x):
            return np.sum(scipy.special.gammaln(x)) + scipy.special.logsumexp(x)
    """,
    "root finder over a closure": """
        import scipy.optimize

        def f(x):
            return scipy.optimize.brentq(lambda q: q**2 - x[0], 0.0, 2.0)
    """,
    "search whose errors SciPy hides": """
        from scipy.optimize import minimize

        def f(x):
            return minimize(lambda q: np.sum((q - x) ** 2), np.ones(3)).x[0]
    """,
    "signal": """
        import scipy.signal

        def f(x):
            return np.sum(scipy.signal.lfilter([x[0], 1.0], [1.0, x[1]], np.arange(4.0)) ** 2)
    """,
    "polynomial": """
        def f(x):
            return np.sum(np.polynomial.Polynomial(x)(np.arange(3.0)))
    """,
    "strides": """
        from numpy.lib.stride_tricks import as_strided

        def f(x):
            return np.sum(as_strided(x, (2, 2), (8, 8)) ** 2)
    """,
    "strides by the whole name": """
        def f(x):
            return np.sum(np.lib.stride_tricks.as_strided(x, (2, 2), (8, 8)) ** 2)
    """,
    "list less array": """
        def f(x):
            return np.sum(([x[0], x[1]] - np.max(x)) ** 2) + np.sum([1.0, 2.0, 3.0] * x)
    """,
    "fields": """
        def f(x):
            t = np.zeros(3, [("a", float), ("b", float)])
            t["a"][0] = x[0] ** 2
            t["b"] = x
            return np.sum(t["a"]) * np.sum(t["b"])
    """,
    "records": """
        def f(x):
            t = np.zeros(3, [("a", float), ("n", float)])
            for i in range(3):
                t[i]["a"] = x[i]
                t[i]["n"] = 2.0
            return np.sum(t["a"] ** t["n"])
    """,
    "whole records": """
        kind = [("a", float), ("b", float)]

        def f(x):
            t = np.zeros(2, kind)
            t[0] = (x[0], x[1])
            t[1] = (x[1], 1.0)
            return np.sum(t["a"] * t["b"])
    """,
    "table of records": """
        def f(x):
            t = np.array([(x[0], 1.0), (x[1], 2.0)], dtype=[("a", float), ("b", float)])
            return np.sum(t["a"] * t["b"])
    """,
    "record array": """
        def f(x):
            t = np.zeros(3, [("a", float)]).view(np.recarray)
            t.a[1] = x[0] ** 2
            return np.sum(t["a"])
    """,
    "other name": """
        def f(x):
            a = np.zeros(3)
            b = a
            a += x
            return np.sum(b**2)
    """,
    "view": """
        def f(x):
            a = np.zeros(4)
            a[1:] += x
            return np.sum(a**2)
    """,
    "diagonal": """
        def f(x):
            A = np.zeros((3, 3))
            np.fill_diagonal(A, x**2)
            return np.sum(A)
    """,
    "copied into": """
        def f(x):
            A = np.empty(3)
            np.copyto(A, x)
            return np.sum(A**2)
    """,
    "sparse": """
        import scipy.sparse

        S = scipy.sparse.csr_array(np.diag([1.0, 2.0, 3.0]))

        def f(x):
            return np.sum((S @ x) ** 2)
    """,
    "package fills": """
        from robotpackage import kernels

        def f(x):
            K = kernels.fill(x)
            return np.sum(K)
    """,
    "package that looks at types": """
        from robotpackage import kernels

        def f(x):
            return kernels.strict(2.0 * x)
    """,
    "package that uses math": """
        from robotpackage import kernels

        def f(x):
            return kernels.mathematics(x)
    """,
    "package that makes Python's numbers": """
        from robotpackage import kernels

        def f(x):
            return kernels.number(x[0]) * x[1]
    """,
    "package that calls SciPy": """
        from robotpackage import kernels

        def f(x):
            return kernels.inverted(np.diag(x))
    """,
    "package, names of NumPy": """
        import robotpackage.kernels as k

        def f(x):
            return k.rows(x**2)
    """,
    "package joins": """
        from robotpackage.kernels import joined

        def f(x):
            return np.sum(joined(x) ** 2)
    """,
    "package with a class": """
        from robotpackage.kernels import Model

        def f(x):
            m = Model(x[0])
            return m.energy()
    """,
    "package, in a lambda": """
        from robotpackage import kernels

        f = lambda x: np.sum(kernels.fill(x))
    """,
    "number in an array of the caller": """
        def add(total, x):
            total[0] += x

        def f(x):
            total = np.zeros(1)
            for i in range(3):
                add(total, x[i] * i)
            return total[0] ** 2
    """,
    "written at places": """
        def f(x):
            a = np.zeros(3)
            np.add.at(a, [0, 0, 2], x)
            np.put(a, [1], x[1] ** 2)
            return np.sum(a**2)
    """,
    "objects": """
        def f(x):
            parts = np.array([x[0], x[1] * 2.0, 1.0])
            return np.sum(parts**2) + np.sum(np.stack([parts, parts]))
    """,
    "conditions": """
        def f(x):
            a = np.zeros_like(np.arange(3.0))
            for i in range(3):
                if x[i] > 0.5: a[i] = x[i] ** 2
                else: a[i] = x[i]
            return np.sum(a)
    """,
    "package that calls back": """
        from robotpackage.kernels import apply

        def h(x):
            a = np.zeros(2)
            a[0] = x[0] * x[1]
            return np.sum(a)

        def f(x):
            return apply(h, x)
    """,
    "lindiff under its own name": """
        import lindiff
        import scipy.linalg

        def f(x):
            return np.sum(scipy.linalg.expm(np.outer(x, x)))
    """,
    "without lindiff": """
        import scipy.linalg

        def f(x):
            return np.sum(scipy.linalg.inv(np.eye(3) + np.outer(x, x)))
    """,
}


# One line each, in a function of x, of a generator rng and the matrix X.
LINES = [
    "y = rng.normal(x, 1.0)",
    "y = rng.normal(x[0], np.ones(3))",
    "y = rng.uniform(x, x + 1)",
    "y = rng.exponential(x)",
    "y = rng.lognormal(x, 0.3)",
    "y = rng.laplace(x, x[0])",
    "y = rng.rayleigh(x)",
    "y = rng.multivariate_normal(x, np.eye(3), 4, method='cholesky')",
    "y = rng.multivariate_normal(x, np.eye(3), (2, 4), method='cholesky')",
    "y = rng.permutation(X, axis=1)[0]",
    "y = rng.permuted(X, axis=1)[0]",
    "y = rng.permuted(X)[0]",
    "y = rng.choice(X, 2, axis=1)[:, 0]",
    "y = rng.choice(x, 2, p=np.ones(3) / 3)",
    "y = math.remainder(x[1], x[0])",
    "y = math.dist(x, [1.0, 2.0, 3.0])",
    "y = math.log(x[0], 10)",
    "y = cmath.phase(x[0] + 1j * x[1])",
    "y = cmath.sqrt(-x[0]).imag",
    "y = sum(cmath.polar(x[0] + 1j * x[1]))",
    "y = abs(cmath.rect(x[0], x[1]) + x[2])",
    "y = abs(complex(x[0], x[1]))",
    "y = np.vectorize(lambda a, b=2: a * b)(x, b=3)",
    "y = np.vectorize(lambda a, b: a * b if a > 0.5 else a)(X, 3.0)",
    "y = x * 1.0; b = np.ascontiguousarray(y); b[0] = 3.0",
    "y = X * 1.0; b = np.asfortranarray(y); b[0] = 3.0",
    "y = x * 1.0; b = np.asarray(y, order='C'); b[0] = 3.0",
    "y = x * 1.0; b = np.asarray(y, dtype=np.float64); b[0] = 3.0",
    "y = x * 1.0; b = np.array(y, copy=None); b[0] = 3.0",
    "y = x * 1.0; y = np.array(y, dtype=np.float32, ndmin=2)[0]",
]


@pytest.fixture(scope="module")
def package(tmp_path_factory):
    folder = tmp_path_factory.mktemp("robot") / "site-packages"
    (folder / "robotpackage").mkdir(parents=True)
    (folder / "robotpackage" / "__init__.py").write_text("")
    for name, source in PACKAGE.items():
        (folder / "robotpackage" / f"{name}.py").write_text(textwrap.dedent(source))
    sys.path.insert(0, str(folder))
    importlib.invalidate_caches()
    yield
    sys.path.remove(str(folder))
    for name in [name for name in sys.modules if name.partition(".")[0] == "robotpackage"]:
        del sys.modules[name]


def run(source, name):
    """What the script leaves: its function, and the gradient of that."""
    filename = f"<robot {name} {hash(source)}>"
    linecache.cache[filename] = (len(source), None, source.splitlines(True), filename)
    namespace = {"__name__": "script"}
    exec(compile(source, filename, "exec"), namespace)
    return namespace


def said(error):
    """All that a traceback shows of an error."""
    texts = []
    while error is not None:
        texts.append(str(error))
        error = error.__cause__ or error.__context__
    return "\n".join(texts)


def followed(source, text):
    """The script with the line that an error prints; None where it prints none."""
    advice = WRITE.search(text)
    if advice is None:
        return None
    _, first, last, above, line = advice.groups()
    lines = source.splitlines()
    at = int(first or above) - 1
    indentation = lines[at][: len(lines[at]) - len(lines[at].lstrip())]
    lines[at : at if above else int(last or first)] = [indentation + line]
    for _, number, other in ALSO.findall(text):
        at = int(number) - 1
        lines[at] = lines[at][: len(lines[at]) - len(lines[at].lstrip())] + other
    begin = BEGIN.search(text)
    return "\n".join([*([begin[1]] if begin else []), *lines])


def finish(source, name):
    """The script as it is in the end, what it gives, and the last error where it does not finish."""
    error = None
    for _ in range(MOST_STEPS):
        try:
            return source, run(source, name), None
        except Exception as caught:
            error = caught
        changed = followed(source, said(error))
        if changed is None or changed == source:
            break
        source = changed
    return source, None, error


def difference(f, x):
    """The gradient by central differences."""
    h = 1e-6
    with np.errstate(all="ignore"):
        return np.array([(f(x + h * e) - f(x - h * e)) / (2 * h) for e in np.eye(len(x))])


def script(name):
    """A script that differentiates its function."""
    source = with_call(SCRIPTS[name])
    if "lindiff" in name:
        return source.replace("import lindiff as ld\n", "").replace("ld.grad", GRAD)
    return source


def with_call(body):
    call = "g = ld.grad(f)(np.array([0.3, 0.6, 0.9]))"
    return f"import numpy as np\nimport lindiff as ld\n{textwrap.dedent(body)}\n{call}\n"


GRAD = "__import__('lindiff').grad"
# Of functions whose values NumPy rounds, or a search does.
KNOWN = {"whole numbers": [0.6, 0.0, 0.0], "search whose errors SciPy hides": [1.0, 0.0, 0.0]}


@pytest.mark.skipif(sys.version_info < (3, 11), reason="no positions of expressions")
@pytest.mark.parametrize("name", SCRIPTS)
def test_what_errors_say_leads_to_the_derivative(name, package):
    source = script(name)
    final, found, error = finish(source, name)
    assert found is not None, f"{final}\n{said(error)}"
    original = run(source.replace("ld.grad(f)", "f").replace(f"{GRAD}(f)", "f"), name)
    expected = KNOWN.get(name)
    if expected is None:
        expected = difference(original["f"], X)
    np.testing.assert_allclose(found["g"], expected, rtol=1e-5, atol=1e-7, err_msg=final)


@pytest.mark.skipif(sys.version_info < (3, 11), reason="no positions of expressions")
@pytest.mark.parametrize("line", LINES)
def test_lines_as_written_give_the_same(line):
    body = f"""
        import math, cmath

        def f(x):
            rng = np.random.default_rng(3)
            X = np.outer(x, x)
            {line}
            return np.sum(y ** 2)
    """
    source = with_call(body)
    original = run(source.replace("ld.grad(f)", "f"), line)["f"]
    final, found, error = finish(source, line)
    assert found is not None, f"{final}\n{said(error)}"
    loose = 1e-5 if "float32" in line else 1e-12
    np.testing.assert_allclose(lindiff.value(found["f"](X.copy())), original(X.copy()), rtol=loose)
    expected = difference(lambda x: original(x.copy()), X)
    np.testing.assert_allclose(
        found["g"], expected, rtol=1e-6 + 1e3 * loose, atol=1e-8 + 1e3 * loose, err_msg=final
    )


# Scripts that no line mends, and what the errors say of them.
STOPS = {
    "root finder that hides errors": (
        """
        from scipy.optimize import fsolve

        def f(x):
            return fsolve(lambda q: q**2 - x, np.ones(3))[0]
        """,
        ["not a proper array of floats", "ld.implicit(solver, residual)"],
    ),
    "package, patched already": (
        """
        from robotpackage import kernels

        def f(x):
            with ld.patch_numpy(modules=["robotpackage"]):
                return kernels.compiled(x)
        """,
        ["return np.random.default_rng(0).normal(x)\n  called in", "give kernels.compiled a rule"],
    ),
    "package that gives arrays to compiled code": (
        """
        from robotpackage import kernels

        def f(x):
            return kernels.viewed(x)
        """,
        [
            "robotpackage gives x, a Variable, to compiled code",
            "return memoryview(x)[0]\n  called in",
            "give kernels.viewed a rule of its own (@ld.rule)",
        ],
    ),
    "package whose result nobody uses": (
        """
        from robotpackage import kernels

        def f(x):
            kernels.joined(x)
            return x[0]
        """,
        ["where its derivative does not matter, write in line 7\n    kernels.joined(ld.value(x))"],
    ),
    "package in a condition": (
        """
        from robotpackage import kernels

        def f(x):
            if kernels.joined(x)[0] > 0.0:
                return x[0]
        """,
        ['run it within\n    with ld.patch_numpy(modules=["robotpackage"]):'],
    ),
    "buffer of several functions": (
        """
        state = np.zeros(3)

        def step(x):
            state[:] = x**2

        def f(x):
            step(x)
            return np.sum(state)
        """,
        ["others use it, too: give it to them as an argument;"],
    ),
    "records that are counted": (
        """
        def f(x):
            t = np.zeros(3, [("a", float)])
            for i in range(len(t)):
                t["a"][i] = x[i]
            return np.sum(t["a"])
        """,
        ["t is a structured array, which takes no Variables: make one array of each field"],
    ),
    "records that are copied": (
        """
        def f(x):
            t = np.zeros(3, [("a", float)])
            before = t.copy()
            t["a"][0] = x[0]
            return np.sum(t["a"] - before["a"])
        """,
        ["t is a structured array, which takes no Variables: make one array of each field"],
    ),
    "other name of an array from a function": (
        """
        def make():
            return np.zeros(3)

        def f(x):
            a = make()
            b = a
            a[0] = x[0]
            return np.sum(b)
        """,
        ["if nobody else has to see the change"],
    ),
    "array of a dict": (
        """
        def f(x):
            p = {"a": np.zeros(3)}
            a = p["a"]
            a[0] = x[0]
            return np.sum(p["a"])
        """,
        ["if nobody else has to see the change"],
    ),
    "other name, changed in place": (
        """
        def make():
            return np.zeros(3)

        def f(x):
            a = make()
            b = a
            a += x
            return np.sum(b)
        """,
        ["if nobody else has to see the change"],
    ),
    "array of objects": (
        """
        def f(x):
            return np.sum(np.array([x[0], None, x[1]], dtype=object, like=x)[0])
        """,
        ["an array of objects would lose the derivative"],
    ),
}


@pytest.mark.skipif(sys.version_info < (3, 11), reason="no positions of expressions")
@pytest.mark.parametrize("name", STOPS)
def test_errors_without_a_line_to_write_say_what_to_do(name, package):
    body, texts = STOPS[name]
    source = with_call(body)
    final, found, error = finish(source, name)
    assert found is None
    assert final == source
    for text in texts:
        assert text in said(error)


def test_errors_of_others_keep_their_own_causes():
    def f(x):
        with contextlib.suppress(TypeError):
            float(x)
        raise ValueError("mine") from KeyError("cause")

    with pytest.raises(ValueError, match="mine") as caught:
        lindiff.grad(f)(1.0)
    assert isinstance(caught.value.__cause__, KeyError)


def test_refusals_of_other_runs_are_no_causes():
    def refused(x):
        try:
            return float(x)
        except TypeError:
            return x

    def fails(x):
        raise ValueError("mine")

    lindiff.grad(refused)(1.0)
    with pytest.raises(ValueError, match="mine") as caught:
        lindiff.grad(fails)(1.0)
    assert caught.value.__cause__ is None
