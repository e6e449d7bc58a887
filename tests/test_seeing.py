"""What ``explain``, ``draw`` and ``nan_check`` tell about a computation is what happened in it."""

from __future__ import annotations

import re
import sys
import threading
import xml.etree.ElementTree as ET
from pathlib import Path

import numpy as np
import pytest

import lindiff as ld
from lindiff.core.observer import Observer
from lindiff.core.variable import Operators, use_operators
from lindiff.linalg import potrf, trsm

HERE = Path(__file__)


def line_of(mark):
    """The number of the line of this file that ends in ``# mark``."""
    lines = HERE.read_text().splitlines()
    (number,) = [i for i, line in enumerate(lines, 1) if line.endswith(f"# {mark}")]
    return number


def names(table):
    return [row.operation for row in table]


def loss(x, A):
    y = np.sin(x) * x  # mark-product
    L = potrf(A)
    z = trsm(
        L,  # mark-trsm
        np.outer(y, y),
    )
    return np.sum(z) + np.var(x)  # mark-sum


@pytest.fixture
def x():
    return np.array([0.5, 1.0, 2.0])


# -- explain ---------------------------------------------------------------------------------------------


def test_operations_shapes_and_dtypes(x):
    table = ld.explain(loss, (0, 1))(x, np.eye(3))
    assert names(table) == ["sin", "multiply", "potrf", "outer", "trsm", "sum", "var", "add"]
    assert table[3].inputs == [((3,), "float64"), ((3,), "float64")]
    assert table[3].outputs == [((3, 3), "float64")]
    single = ld.explain(np.exp)(x.astype(np.float32))
    assert single[0].inputs == single[0].outputs == [((3,), "float32")]


def test_source_lines(x):
    table = ld.explain(loss, (0, 1))(x, np.eye(3))
    lines = dict(zip(names(table), table, strict=True))
    for name, mark in (("sin", "product"), ("multiply", "product"), ("var", "sum"), ("add", "sum")):
        assert lines[name].line == line_of(f"mark-{mark}")
        assert lines[name].file == __file__
        assert lines[name].text.endswith(f"# mark-{mark}")
        assert lines[name].source == f"test_seeing.py:{lines[name].line}"


def test_times_and_totals(x):
    table = ld.explain(loss, (0, 1), repeats=2)(x, np.eye(3))
    assert all(row.forward > 0 and row.backward > 0 for row in table)
    total = table.total
    assert total.operations == len(table) == 8
    assert total.forward == sum(row.forward for row in table)
    assert total.backward == sum(row.backward for row in table)
    assert total.kept == sum(row.kept for row in table)


def test_what_nothing_depends_on_is_not_pulled(x):
    def f(x):
        np.exp(x)
        return np.sum(x)

    exp, total = ld.explain(f)(x)
    assert exp.backward is None
    assert total.backward is not None


def test_bytes_kept():
    n = 10_000
    constant = np.ones(n)

    def f(x):
        y = np.exp(x)  # its result is its derivative
        z = y * x  # keeps its operands: one counted already, one the caller's
        return np.sum(np.tanh(z) * constant)

    table = ld.explain(f)(np.linspace(0, 1, n))
    assert {row.operation: row.kept for row in table if row.operation != "multiply"} == {
        "exp": 8 * n,
        "tanh": 8 * n,
        "sum": 0,
    }
    assert [row.kept for row in table if row.operation == "multiply"] == [0, 0]


def test_bytes_kept_are_those_that_are_in_use():
    import tracemalloc

    x = np.linspace(0.1, 1, 200_000)

    def f(x):
        return np.log(np.cosh(x) + np.sqrt(x)) / x

    tracemalloc.start()
    try:
        before = tracemalloc.get_traced_memory()[0]
        y, lin = ld.linearize(f, x)
        used = tracemalloc.get_traced_memory()[0] - before
    finally:
        tracemalloc.stop()
    copies = 2 * x.nbytes  # of the argument, and of the value for the caller
    kept = ld.explain(f)(x).total.kept
    assert abs(used - copies - kept) <= 1.1 * x.nbytes
    assert lin(x).shape == y.shape


def test_flops():
    def f(A, B):
        return np.sum(np.linalg.solve(A @ B, B))

    matmul, solve, _ = ld.explain(f, (0, 1))(np.eye(6), np.eye(6))
    assert matmul.flops == 2 * 6**3
    assert solve.flops == pytest.approx(2 / 3 * 6**3 + 2 * 6**3)
    assert ld.explain(np.exp)(np.ones(2))[0].flops is None
    (product,) = ld.explain(lambda x: np.ones((5, 4, 3)) @ x)(np.ones((3, 2)))
    assert product.flops == 2 * 5 * 4 * 2 * 3


def test_several_outputs_and_pytrees():
    def f(p):
        w, V = np.linalg.eigh(p["A"] + p["A"].T)
        return {"w": w, "V": np.abs(V), "n": 3}

    table = ld.explain(f)({"A": np.array([[2.0, 1.0], [0.0, 5.0]])})
    assert names(table) == ["transpose", "add", "eigh", "absolute"]
    assert table[2].outputs == [((2,), "float64"), ((2, 2), "float64")]


def test_results_of_integers():
    def f(x):
        return np.sum(np.bincount(np.zeros(0, int), x, 2))  # NumPy counts what has no weights in integers

    assert names(ld.explain(f)(np.ones(0))) == ["bincount", "sum"]
    assert labels_of(ld.draw(f)(np.ones(0))) == ["x", "bincount", "sum", "result"]


def test_assignment_is_an_operation():
    def f(x):
        y = x * 2
        y[0] = x[1]  # mark-assignment
        y += x
        return np.sum(y)

    table = ld.explain(f)(np.ones(3))
    assert names(table) == ["multiply", "getitem", "setitem", "add", "sum"]
    assert table[2].line == line_of("mark-assignment")


def test_a_gradient_shows_its_pullbacks(x):
    def f(x):
        return np.sum(np.sin(x))  # mark-nested

    table = ld.explain(ld.grad(f))(x)
    assert [(row.operation, row.within) for row in table] == [
        ("sin", ""),
        ("sum", ""),
        ("cos", "pullback of sin"),
        ("multiply", "pullback of sin"),
    ]
    assert {row.line for row in table} == {line_of("mark-nested")}


def test_a_hessian_shows_pushforwards_of_pullbacks(x):
    table = ld.explain(ld.hessian(lambda x: np.sum(np.sin(x))))(x)
    within = {row.within for row in table}
    assert {"pullback of sin", "pushforward of cos", "pushforward of multiply"} <= within
    assert len(ld.explain(ld.grad(ld.grad(lambda x: np.sin(x) ** 3)))(0.5)) > 8


def test_forward_mode_shows_its_pushforwards(x):
    table = ld.explain(lambda x: ld.jvp(np.sin, (x,), (x,))[1])(x)
    assert [(row.operation, row.within) for row in table][:3] == [
        ("sin", ""),
        ("cos", "pushforward of sin"),
        ("multiply", "pushforward of sin"),
    ]


def test_parts_of_composed_functions(x):
    table = ld.explain(lambda x: np.vander(x, 3))(x)
    assert {row.within for row in table} == {"vander"}


def test_custom_rules(x):
    @ld.rule
    def cube(x):
        def pullback(y_bar):
            return y_bar * 3 * x**2

        return x**3, pullback

    table = ld.explain(lambda x: cube(x) + 1)(np.resize(x, 10_000))  # mark-custom
    assert names(table) == ["cube", "add"]
    assert table[0].line == line_of("mark-custom")
    assert table[0].kept == 0  # only its argument


def test_the_table_as_text(x):
    table = ld.explain(loss, (0, 1))(x, np.eye(3))
    text = str(table)
    assert text == repr(table)
    title, *rows, total = text.splitlines()
    assert title.split() == ["operation", "arrays", "forward", "backward", "kept", "flops", "line"]
    assert len(rows) == 8
    assert {row.index("test_seeing.py:") for row in rows} == {title.index("line")}
    assert total.startswith("8 operations, forward ")
    assert "flops" not in str(ld.explain(np.exp)(x)).splitlines()[0]


def test_long_tables_are_shown_by_their_ends():
    def f(x):
        for _ in range(100):
            x = np.sin(x)
        return x

    table = ld.explain(f)(1.0)
    assert len(table) == 100
    lines = str(table).splitlines()
    assert len(lines) == 63
    assert lines[31].startswith("... 40 operations left out")
    assert lines[32].split()[0] == "70"


def test_groups(x):
    def f(x):
        y = np.sin(x) + np.sin(2 * x)  # mark-first
        return np.sum(y * y)  # mark-second

    table = ld.explain(f)(x)
    by_name = {group.name: group for group in table.by_operation()}
    assert {name: group.operations for name, group in by_name.items()} == {
        "sin": 2,
        "multiply": 2,
        "add": 1,
        "sum": 1,
    }
    assert by_name["sin"].forward == sum(row.forward for row in table if row.operation == "sin")
    groups = table.by_line()
    assert sorted(group.operations for group in groups) == [2, 4]
    assert len(groups) == 2
    assert groups[0].forward + groups[0].backward >= groups[1].forward + groups[1].backward
    assert "mark-first" in str(groups)
    assert repr(groups) == str(groups)


def test_pandas(x):
    pandas = pytest.importorskip("pandas")
    table = ld.explain(loss, (0, 1))(x, np.eye(3))
    frame = table.to_pandas()
    assert isinstance(frame, pandas.DataFrame)
    assert list(frame["operation"]) == names(table)
    assert frame["kept"].sum() == table.total.kept
    assert list(table.by_operation().to_pandas()["name"]) == [group.name for group in table.by_operation()]
    assert "operation" in ld.explain(lambda x: 1.0)(x).to_pandas()


def test_without_pandas(x, monkeypatch):
    monkeypatch.setitem(sys.modules, "pandas", None)
    with pytest.raises(ImportError, match="pip install pandas"):
        ld.explain(np.exp)(x).to_pandas()


def test_runs_that_differ_are_refused():
    runs = iter((np.sin, np.cos))
    with pytest.raises(ValueError, match="different operations in 2 runs"):
        ld.explain(lambda x: next(runs)(x), repeats=2)(1.0)


# -- draw ------------------------------------------------------------------------------------------------


def parse(dot):
    """The labels and the edges of DOT text, which is read line by line."""
    head, *lines, end = dot.splitlines()
    assert re.fullmatch(r"digraph \w+ \{", head)
    assert end == "}"
    labels, edges = {}, []
    for line in lines:
        node = re.fullmatch(r'  (n\d+) \[label="((?:[^"\\]|\\.)*)", shape=(\w+), fillcolor="[^"]+"\];', line)
        edge = re.fullmatch(r"  (n\d+) -> (n\d+);", line)
        if node:
            labels[node[1]] = node[2]
        elif edge:
            edges.append(edge.groups())
        else:
            assert re.fullmatch(r"  node \[[^]]*\];", line)
    return labels, edges


def labels_of(drawing):
    return [box.label for box in drawing.boxes]


def test_dot_text(x, tmp_path):
    drawing = ld.draw(loss, (0, 1), file=tmp_path / "graph.dot")(x, np.eye(3))
    labels, edges = parse((tmp_path / "graph.dot").read_text())
    assert drawing.dot == (tmp_path / "graph.dot").read_text()
    named = {(labels[a].split(r"\n")[0], labels[b].split(r"\n")[0]) for a, b in edges}
    assert named == {
        ("x", "sin"),
        ("x", "multiply"),
        ("sin", "multiply"),
        ("A", "potrf"),
        ("potrf", "trsm"),
        ("multiply", "outer"),
        ("outer", "trsm"),
        ("trsm", "sum"),
        ("x", "var"),
        ("sum", "add"),
        ("var", "add"),
        ("add", "result"),
    }
    assert labels["n0"] == r"x\n(3,)"
    assert [box.kind for box in drawing.boxes if box.label in ("x", "A", "result")] == [
        "input",
        "input",
        "output",
    ]


def test_what_the_result_does_not_depend_on_is_left_out(x):
    def f(x, y):
        np.exp(y)
        return np.sin(x), 1.0

    drawing = ld.draw(f, (0, 1))(x, x)
    assert labels_of(drawing) == ["x", "sin", "result[0]"]


def test_leaves_of_trees_and_several_results():
    def f(p):
        w, V = np.linalg.eigh(p["A"])
        return w, V @ p["b"]

    drawing = ld.draw(f)({"A": np.diag([1.0, 2.0]), "b": np.ones(2)})
    assert labels_of(drawing) == ["p[0]", "p[1]", "eigh", "matmul", "result[0]", "result[1]"]
    assert drawing.boxes[2].detail == "(2,)\n(2, 2)"
    assert set(drawing.edges) == {(0, 2), (2, 3), (1, 3), (2, 4), (3, 5)}


def test_derivatives_are_drawn_with_their_parts(x):
    drawing = ld.draw(ld.grad(lambda x: np.sum(np.sin(x))))(x)
    assert {box.label: box.part for box in drawing.boxes} == {
        "x": "",
        "cos": "pullback",
        "multiply": "pullback",
        "result": "",
    }


def loop(x):
    for _ in range(50):
        x = np.tanh(x) * x + 1
    return np.sum(x)


def test_loops_are_collapsed(x):
    drawing = ld.draw(loop)(x)
    assert labels_of(drawing) == [
        *("x", "tanh", "multiply", "add"),
        "48 × (tanh, multiply, add)",
        *("tanh", "multiply", "add", "sum", "result"),
    ]
    assert len(ld.draw(loop, collapse=False)(x).boxes) == 1 + 150 + 2
    parse(drawing.dot)


def test_short_chains_are_not_collapsed(x):
    assert labels_of(ld.draw(lambda x: np.sin(np.sin(np.sin(x))))(x)) == ["x", "sin", "sin", "sin", "result"]


def test_labels_are_quoted():
    assert parse(ld.draw(lambda *p: p[0] + 1)(1.0).dot)[0]["n0"] == r"argument 0\n()"
    from lindiff.seeing._graph import Box, Graph

    assert parse(Graph([Box('a "b" \\', "", "operation")]).dot())[0] == {"n0": r"a \"b\" \\"}


@pytest.fixture
def pictures():
    pytest.importorskip("igraph")
    pytest.importorskip("matplotlib")


@pytest.mark.usefixtures("pictures")
def test_svg(x, tmp_path):
    drawing = ld.draw(loss, (0, 1), file=tmp_path / "graph.svg")(x, np.eye(3))
    root = ET.parse(tmp_path / "graph.svg").getroot()
    assert root.tag == "{http://www.w3.org/2000/svg}svg"
    paths = list(root.iter("{http://www.w3.org/2000/svg}path"))
    assert len(paths) >= len(drawing.boxes) + 2 * len(drawing.edges)
    assert drawing._repr_svg_().startswith("<?xml")


@pytest.mark.usefixtures("pictures")
def test_png(x, tmp_path):
    ld.draw(ld.grad(loss), file=str(tmp_path / "graph.png"))(x, np.eye(3))
    assert (tmp_path / "graph.png").read_bytes().startswith(b"\x89PNG\r\n\x1a\n")


@pytest.mark.usefixtures("pictures")
def test_boxes_do_not_overlap(x):
    from lindiff.seeing import _layout

    def net(p, x):
        for W, b in p:
            x = np.tanh(x @ W + b)
        return np.mean(x**2)

    graph = ld.draw(ld.grad(net))([(np.eye(3), np.ones(3))] * 3, np.ones((5, 3)))._graph
    sizes = [_layout._size(box) for box in graph.boxes]
    places, routes = _layout._places(graph, sizes)
    assert len(routes) == len(graph.edges)
    for i, ((x0, y0), (w0, h0)) in enumerate(zip(places, sizes, strict=True)):
        for (x1, y1), (w1, h1) in zip(places[:i], sizes[:i], strict=True):
            assert abs(x0 - x1) >= (w0 + w1) / 2 or abs(y0 - y1) >= (h0 + h1) / 2
    for start, end in graph.edges:
        assert places[start][1] > places[end][1]


def test_other_files_are_refused(x, tmp_path):
    with pytest.raises(ValueError, match=r"\.dot, \.svg, \.png and \.pdf, not '\.jpg'"):
        ld.draw(np.sin, file=tmp_path / "graph.jpg")(x)


@pytest.mark.parametrize("package", ["matplotlib.figure", "igraph"])
def test_missing_packages(x, tmp_path, monkeypatch, package):
    monkeypatch.setitem(sys.modules, package, None)
    with pytest.raises(ImportError, match=r"pip install 'lindiff\[draw\]'.*\.dot"):
        ld.draw(np.sin, file=tmp_path / "graph.svg")(x)


# -- nan_check -------------------------------------------------------------------------------------------


def caught(function, *args, **options):
    with pytest.raises(FloatingPointError) as found, ld.nan_check(**options), np.errstate(all="ignore"):
        function(*args)
    return str(found.value)


def test_a_nan_of_a_value():
    def f(x):
        y = x - 1
        return np.sum(np.sqrt(y))  # mark-sqrt

    message = caught(ld.grad(f), np.array([[2.0, 3.0], [1.5, 0.0]]))
    assert message.splitlines() == [
        "sqrt makes a NaN: in its result of shape (2, 2), at index (1, 1)",
        f'  File "{__file__}", line {line_of("mark-sqrt")}, in f',
        "    return np.sum(np.sqrt(y))  # mark-sqrt",
    ]


def test_an_operator_on_two_arrays():
    message = caught(ld.grad(lambda x: np.sum(x / (x - 1) - x / (x - 1))), np.array([1.0, 2.0]))
    assert message.startswith("subtract makes a NaN: in its result of shape (2,), at index (0,)")


def test_a_nan_of_a_pullback():
    @ld.rule
    def root(x):
        return np.sqrt(x), lambda y_bar: y_bar * 0.0 / np.sqrt(x)

    def f(x):
        y = root(x)  # mark-root
        return np.sum(y)

    message = caught(ld.grad(f), np.array([1.0, 0.0, 0.0]))
    assert message.startswith(
        "the pullback of root makes a NaN: in the cotangent of its input 0 of shape (3,), "
        "at index (1,) and 1 more"
    )
    assert f"line {line_of('mark-root')}, in f" in message


def test_infinities_are_an_option():
    def f(x):
        return np.sum(np.sqrt(x))

    zero = np.array([1.0, 0.0])
    with ld.nan_check(), np.errstate(all="ignore"):
        ld.grad(f)(zero)
    assert caught(ld.grad(f), zero, inf=True).startswith("the pullback of sqrt makes an infinity: ")
    assert caught(lambda x: ld.jvp(f, (x,), (x + 1,)), zero, inf=True).startswith(
        "the derivative of sqrt makes an infinity: in its tangent of shape (2,), at index (1,)"
    )
    _, lin = ld.linearize(f, zero)
    assert caught(lin, zero + 1, inf=True).startswith("the pushforward of sqrt makes an infinity: ")


def test_nested_derivatives():
    def f(x):
        return np.sum(x**1.5)  # mark-power

    message = caught(ld.hessian(f), np.array([1.0, 0.0]), inf=True)
    assert message.startswith("the pushforward of power (in the pullback of power) makes an infinity: ")
    assert f"line {line_of('mark-power')}, in f" in message


def test_several_outputs():
    @ld.rule
    def two(x):
        return (x, np.log(x)), ld.Differential(lambda x_dot: (x_dot, x_dot / x), lambda y_bar: y_bar[0])

    message = caught(lambda: two(ld.Variable(-1.0)))
    assert message.startswith("two makes a NaN: in its result 1 of shape (), at index ()")


def test_nans_that_came_in_are_not_blamed():
    data = np.array([1.0, np.nan, 3.0])

    def f(x):
        return np.nansum((x - data) ** 2) + np.sum(np.where(np.isnan(data), np.nan, x)[:1])

    with ld.nan_check(inf=True):
        np.testing.assert_allclose(ld.grad(f)(np.zeros(3)), [-1.0, 0.0, -6.0])
        ld.grad(np.sum)(data)


@pytest.mark.parametrize(
    "f",
    [
        lambda x, c: x * c,
        lambda x, c: x / c,
        lambda x, c: x @ c,
        lambda x, c: np.outer(x, c),
        lambda x, c: np.average(x, weights=c),
        lambda x, c: np.einsum("i,i->i", x, c),
        lambda x, c: np.where(np.isnan(c), 0, np.sin(c * x)),
        lambda x, c: np.hypot(x, c),
        lambda x, c: np.convolve(x, c),
    ],
)
def test_nans_of_constants_are_not_blamed_on_products_with_them(f):
    x, c = np.ones(3), np.array([1.0, np.nan, 3.0])
    summed = lambda x: np.nansum(f(x, c))
    for function in (lambda x: f(x, c), summed):
        with ld.nan_check():
            y, pullback = ld.vjp(function, x)
            pullback(np.ones_like(y))
            ld.jvp(function, (x,), (x,))
            ld.linearize(function, x)[1](x)
    with ld.nan_check():
        ld.hessian(summed)(x)
        ld.grad(lambda c: np.nansum(f(x, c)))(c)


def test_a_nan_beside_one_that_came_in_is_still_found():
    data = np.array([1.0, np.nan])

    def f(x):
        residuals = x - data
        return np.nansum(residuals) + np.log(x[0])

    assert caught(ld.grad(f), -np.ones(2)).startswith("log makes a NaN")


def test_nans_that_functions_deal_with_are_not_blamed():
    with ld.nan_check(inf=True), np.errstate(all="ignore"):
        ld.hessian(lambda x: np.nanmean(x) + np.sinc(x[0]) + np.linalg.norm(x))(np.zeros(2))


def test_as_a_decorator():
    @ld.nan_check()
    def f(x):
        with np.errstate(all="ignore"):
            return ld.grad(np.log)(x)

    assert f(1.0) == 1.0
    for _ in range(2):
        with pytest.raises(FloatingPointError, match="log makes a NaN: in its result"):
            f(-1.0)


def test_variables_made_by_hand():
    with np.errstate(all="ignore"):
        v = ld.Variable([0.0, 1.0])
        y = np.sum(np.sqrt(v))
        with (
            pytest.raises(FloatingPointError, match="the pullback of sqrt makes an infinity"),
            ld.nan_check(inf=True),
        ):
            y.backward()


# -- nothing is paid while nobody looks ------------------------------------------------------------------


def operators():
    """What Variables act through."""
    current = use_operators(Operators())
    use_operators(current)
    return current


def test_everything_is_as_before_afterwards(x):
    before = operators()
    ld.explain(loss, (0, 1))(x, np.eye(3))
    ld.draw(ld.hessian(lambda x: np.sum(x**3)))(x)
    with ld.nan_check():
        assert operators() is not before
        with ld.nan_check():
            pass
        assert operators() is not before
    caught(lambda: np.log(ld.Variable(-1.0)))
    with pytest.raises(ZeroDivisionError):
        ld.explain(lambda x: 1 // 0)(x)
    assert operators() is before


class Seen(Observer):
    def __init__(self):
        self.steps = []

    def see(self, step):
        self.steps.append(step)


def test_other_threads_are_not_seen():
    seen = Seen()
    with seen:
        thread = threading.Thread(target=lambda: ld.grad(np.sin)(1.0))
        thread.start()
        thread.join()
        assert seen.steps == []
        ld.grad(np.sin)(1.0)
    assert [step.kind for step in seen.steps] == ["operation", "pull"]
    ld.grad(np.sin)(1.0)
    assert len(seen.steps) == 2


def test_steps_that_fail_are_left():
    seen = Seen()
    with seen:
        v = ld.Variable(np.ones(2))
        with pytest.raises(ValueError, match=r"matmul|mismatch|shapes"):
            v @ np.ones(3)
        np.sin(v)
    assert [step.outer for step in seen.steps] == [None]


def test_refusals_are_the_same_while_somebody_looks():
    def refused():
        with pytest.raises(TypeError) as found:
            np.asarray(ld.Variable(1.0))
        return str(found.value)

    before = refused()
    with Seen():
        assert refused().partition(":")[0] == before.partition(":")[0]


def test_derivatives_are_the_same_while_somebody_looks(x):
    def f(x):
        y = np.stack([x, x[::-1]]) @ x
        y[0] = np.sum(x) * y[1]
        z = y.T + x[1]
        z += z * z
        return np.sum(-z / (1 + z**2) - 2.0 * z) + np.linalg.slogdet(np.outer(x, x) + np.eye(3))[1]

    expected = ld.grad(f)(x), ld.hessian(f)(x)
    with Seen():
        got = ld.grad(f)(x), ld.hessian(f)(x)
    for a, b in zip(got, expected, strict=True):
        np.testing.assert_array_equal(a, b)


def test_names_of_the_package():
    assert ld.testing.check_rule is not None
    root = HERE.parent.parent
    for name in ("pyproject.toml", "meson.build"):
        version = re.search(r"^\s*version\s*[=:]\s*['\"]([^'\"]+)", (root / name).read_text(), re.MULTILINE)
        assert version[1] == ld.__version__
    with pytest.raises(AttributeError, match="no attribute 'nothing'"):
        ld.nothing  # noqa: B018


def test_arguments_are_chosen_by_name():
    def f(x, *, scale):
        return np.sum(scale * np.sin(x))

    x = np.ones(3)
    assert [row.operation for row in ld.explain(f, argnums="scale")(x, scale=2.0)] == ["multiply", "sum"]
    graph = ld.draw(f, argnums=(0, "scale"))(x, scale=2.0)
    assert [box.label for box in graph.boxes][:2] == ["x", "scale"]
