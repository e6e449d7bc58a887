"""``Program.explain`` and ``ld.draw`` of a program: what they say is what the program does."""

import pathlib

import numpy as np
import pytest

import lindiff as ld
from lindiff import kernels
from lindiff.programs import program
from lindiff.programs.flops import MATRICES, flops

X = np.array([0.5, 1.0, 2.0, 0.25])


def line_of(mark):
    """The line of this file that ends with a mark."""
    lines = pathlib.Path(__file__).read_text(encoding="utf-8").splitlines()
    return next(i + 1 for i, line in enumerate(lines) if line.endswith(f"# {mark}"))


def operations(explained):
    return [row for row in explained if row.kind == "operation"]


def texts(explained):
    return [row.text for row in explained]


# -- what is done ------------------------------------------------------------------------------------------


def test_operations_in_their_order():
    f = program(lambda x, y: np.sum(np.exp(x) * y, axis=0))
    explained = f.explain(X, X.astype(np.float32))
    assert texts(explained) == [
        "%2 = exp(%0)", "%3 = multiply(%2, %1)", "%4 = sum(%3, axis=0)", "return %4",
    ]  # fmt: skip
    assert [row.outputs for row in explained] == [
        [((4,), "float64")], [((4,), "float64")], [((), "float64")], [((), "float64")],
    ]  # fmt: skip
    assert explained[1].inputs == [((4,), "float64"), ((4,), "float32")]
    assert [row.flops for row in explained] == [4, 4, 4, None]
    assert explained[0].bytes == 64
    assert (explained[1].reads, explained[1].writes) == ((2, 1), (3,))
    assert explained.arguments == [("x", "(4,)"), ("y", "(4,) float32")]


def test_the_users_lines():
    @program
    def f(x):
        y = np.exp(x)  # mark-exp
        return np.sum(y * x)

    row = f.explain(X)[0]
    assert (row.file, row.line) == (__file__, line_of("mark-exp"))
    assert row.source == "y = np.exp(x)  # mark-exp"
    assert row.place.startswith("test_explained_programs.py:")


def test_derivatives_are_of_the_line_that_calls():
    def f(x):
        y = np.exp(x)  # mark-value
        return np.sum(y * y)

    explained = program(ld.grad(f)).explain(X)
    of_value = [row for row in explained if row.line == line_of("mark-value")]
    assert [row.name for row in of_value] == ["exp"]
    assert any(row.source.startswith("the call") for row in operations(explained))


def test_who_carries_it_out():
    def f(x):
        return np.sort(x)[::-1] + x.reshape(2, 2).T.ravel()

    by = {row.name: row.by for row in operations(program(f).explain(X))}
    assert by == {"sort": "Python", "getitem": "", "reshape": "", "T": "", "ravel": "C", "add": "C"}


def test_one_operation_in_several_steps():
    A = np.eye(3) + 0.1
    (solve,) = operations(program(np.linalg.solve).explain(A, np.ones(3)))
    assert solve.steps > 1
    assert solve.by == "C"


def test_steps_are_those_of_the_machine():
    f = program(lambda A: np.sum(np.linalg.solve(A, A.T) @ np.linalg.svd(A)[0]))
    explained = f.explain(np.eye(3) + 0.1)
    machine = next(iter(f._known.values())).machine
    assert explained.total.steps == len(machine.start.unit.kept)
    assert explained.arena == machine.layout.arena
    assert explained.total.by_python == 1


def test_what_is_written_to():
    def f(x):
        y = np.zeros_like(x)
        y[1:3] = x[1:3]
        row = y[:2]
        row += 1.0
        return y

    explained = program(f).explain(X)
    assert texts(explained) == [
        "%1 = zeros_like(%0)", "%2 = %0[1:3]", "%1[1:3] = %2", "%3 = %1[:2]",
        "%3 = add(%3, 1.0, out=(%3,))", "return %1",
    ]  # fmt: skip
    assert [set(row.writes) for row in explained] == [{1}, {2}, {1}, {3}, {1, 3}, set()]
    assert [row.bytes for row in explained] == [32, 0, 32, 0, 16, 0]


def test_operands_as_text():
    def f(x, A):
        return np.sum(A[np.array([0, 2]), :], axis=(0,)) * np.array([2.0, 3.0]) + x[..., None, ::2][0] ** 2

    assert texts(program(f).explain(X, np.ones((3, 2))))[:3] == [
        "%2 = %1[array(2,), :]", "%3 = sum(%2, axis=(0,))", "%4 = multiply(%3, array(2,))",
    ]  # fmt: skip


def test_nested_arguments():
    f = program(lambda p, n, *, scale: p["w"][1] * n + scale)
    explained = f.explain({"w": [X, X + 1]}, 3, scale=np.float64(2.0))
    assert explained.arguments == [
        ("p['w'][0]", "(4,)"), ("p['w'][1]", "(4,)"), ("n", "= 3"), ("scale", "()"),
    ]  # fmt: skip
    assert [name for name, _ in explained.inputs] == ["p['w'][0]", "p['w'][1]", "scale"]


# -- guards ------------------------------------------------------------------------------------------------


def test_guards_and_what_they_have_seen():
    f = program(lambda x: np.exp(x) if np.sum(x) > 0 else x - 1)
    assert [row.seen for row in f.explain(X) if row.kind == "guard"] == [["True"]]
    explained = f.explain(-X)
    guard = next(row for row in explained if row.kind == "guard")
    assert (guard.text, guard.seen) == ("guard bool(%2)", ["True", "False"])
    ways = {row.name: row.way for row in operations(explained)}
    assert ways == {
        "sum": (), "greater": (), "exp": ("bool(%2) is True",), "subtract": ("bool(%2) is False",),
    }  # fmt: skip
    assert (explained.recordings, explained.ways) == (4, 2)
    assert "where bool(%2) is False:" in str(explained)


def test_times_are_those_of_the_way_taken():
    f = program(lambda x: np.exp(x) if np.sum(x) > 0 else x - 1)
    f.explain(X)
    timed = {row.name: row.seconds is not None for row in f.explain(-X) if row.kind != "return"}
    assert timed == {"sum": True, "greater": True, "bool": True, "exp": False, "subtract": True}


def test_forms_and_exceptions_decide():
    def f(x):
        positive = x[x > 0]
        try:
            return np.linalg.cholesky(positive[0] * np.eye(2))
        except np.linalg.LinAlgError:
            return x
        except IndexError:
            return 2 * x

    g = program(f)
    for x in (X, -X):
        explained = g.explain(x)
    guard = next(row for row in explained if len(row.seen) > 1)
    assert (guard.text, guard.seen) == ("guard %0[%1]", ["(4,)", "(0,)"])
    assert any(row.seen == ["IndexError"] for row in explained)
    assert {row.by for row in explained if row.kind == "guard"} == {"Python"}


# -- what is known -----------------------------------------------------------------------------------------


def test_nothing_is_known():
    f = program(np.sin)
    assert str(f.explain()) == f"{f!r} has not been called"
    assert "has none for arguments like these" in str(f.explain(1.0))


def test_what_is_recorded_once():
    f = program(lambda x: np.exp(x) * x)
    f(X)
    (explained,) = f.explain()
    assert "no two recordings" in explained.reason
    assert explained.recordings == 1
    assert [row.name for row in operations(explained)] == ["exp", "multiply"]


def test_without_arguments_nothing_is_called():
    f = program(lambda x: np.exp(x))
    for _ in range(3):
        f(X), f(X[:2])
    before = [known.recordings for known in f._known.values()]
    explained = f.explain()
    assert [known.recordings for known in f._known.values()] == before
    assert [e.arguments for e in explained] == [[("x", "(4,)")], [("x", "(2,)")]]
    assert all(row.seconds is None for e in explained for row in e)
    assert "2 forms of arguments" in str(explained)


def test_why_there_is_no_program():
    def f(x):
        x[0] = 1.0
        return x + 1

    explained = program(f).explain(X.copy())
    assert explained.reason == "it writes to its arguments"
    assert "runs without a program: it writes to its arguments" in str(explained)
    assert len(explained) == 0


def test_results_that_share_memory():
    def f(x):
        y = x + 1
        return y, y[1:]

    explained = program(f).explain(X)
    assert "share memory" in explained.reason
    assert {row.by for row in operations(explained)} == {"Python"}
    assert explained.arena is None


scale = 2.0


def test_constants_that_have_changed(monkeypatch):
    f = program(lambda x: x * scale)
    assert f.explain(X)[0].text == "%1 = multiply(%0, 2.0)"
    monkeypatch.setitem(globals(), "scale", 3.0)
    assert f.explain(X)[0].text == "%1 = multiply(%0, 3.0)"


# -- times and tables --------------------------------------------------------------------------------------


def test_times():
    f = program(lambda x: np.sum(np.sort(np.exp(x).reshape(2, -1))))
    explained = f.explain(np.linspace(0, 1, 10_000))
    assert explained.runs >= 3
    assert explained.run > 0
    seconds = {row.name: row.seconds for row in operations(explained)}
    assert all(seconds[name] > 0 for name in ("exp", "sort", "sum"))
    assert explained.total.seconds == pytest.approx(sum(t for t in seconds.values() if t is not None))
    assert seconds["reshape"] is None  # a view


def test_times_of_a_way_that_is_not_known():
    f = program(lambda x: np.exp(x) if np.sum(x) > 0 else x - 1)
    f.explain(X)
    machine = next(iter(f._known.values())).machine
    ((stretch, _), (_, _)) = machine.timed([X])
    assert stretch is machine.start
    assert machine.timed([-X]) is None


def test_timed_steps_are_those_of_a_run():
    """Looking at the clock between them changes no results, and leaves no notes of the processor behind."""

    def f(x):
        with np.errstate(divide="ignore"):
            y = 1 / (x - x[0])
        return np.sort(y)[0] + np.exp(x)

    g = program(f)
    before = [g(X) for _ in range(3)][-1]
    g.explain(X)
    np.testing.assert_array_equal(g(X), before)


def test_long_programs_are_shown_by_lines():
    @program
    def f(x):
        for _ in range(50):
            x = np.sin(x)  # mark-loop
            x = np.sort(x)
        return x

    explained = f.explain(X)
    text = str(explained)
    assert len(text.splitlines()) < 20
    assert "mark-loop" in text
    assert ".listing() shows all 101 rows" in text
    assert len(explained.listing().splitlines()) == 102
    lines = {line.name.partition("  ")[2]: line for line in explained.by_line()}
    assert lines["x = np.sin(x)  # mark-loop"].operations == 50
    assert lines["x = np.sin(x)  # mark-loop"].flops == 200
    assert lines["x = np.sort(x)"].by_python == 50
    assert [(line.name, line.steps) for line in sorted(explained.by_operation(), key=lambda t: t.name)] == [
        ("sin", 50), ("sort", 50),
    ]  # fmt: skip


def test_the_head_counts_before_and_after():
    explained = program(lambda A: np.sort(np.linalg.solve(A.T, A[0]))).explain(np.eye(3) + 0.1)
    head = explained.head.splitlines()
    assert "for A (3, 3)" in head[0]
    assert head[1] == "2 recordings, 1 way"
    assert head[2] == "4 operations recorded: 1 in C, 1 by Python, 2 with nothing to do"
    assert head[3].startswith(f"{explained.total.steps} steps of the machine on ")
    assert str(explained) == repr(explained)


def test_tables_for_pandas():
    pytest.importorskip("pandas")
    explained = program(lambda x: np.sum(np.exp(x))).explain(X)
    assert explained.to_pandas()["name"].tolist() == ["exp", "sum", "return"]
    assert explained.by_operation().to_pandas()["operations"].tolist() == [1, 1]


# -- flops -------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("function", "inputs", "output", "count"),
    [
        (np.add, [(3, 1), (4,)], (3, 4), 12),
        (np.add.reduce, [(3, 4)], (4,), 12),
        (np.multiply.outer, [(3,), (4,)], (3, 4), 12),
        (np.sum, [(3, 4)], (), 12),
        (np.reshape, [(3, 4)], (12,), 0),
        (np.matmul, [(2, 3), (3, 5)], (2, 5), 60),
        (np.matmul, [(7, 2, 3), (3, 5)], (7, 2, 5), 420),
        (kernels.gemm2, [(3, 2), (5, 3)], (2, 5), 60),
        (kernels.syrk, [(2, 3)], (2, 2), 12),
        (kernels.trsm, [(3, 3), (3, 2)], (3, 2), 18),
        (kernels.trsm, [(3, 3), (2, 3)], (2, 3), 18),
        (np.linalg.cholesky, [(6, 6)], (6, 6), 72),
        (kernels.potrf_pullback, [(6, 6), (6, 6)], (6, 6), 144),
        (np.linalg.solve, [(6, 6), (6, 2)], (6, 2), 288),
        (kernels.getrs, [(6, 6), (6,), (6, 2)], (6, 2), 144),
        (np.linalg.svd, [(6, 6)], (6, 6), None),
        (np.sort, [(6,)], (6,), None),
        (np.zeros, [], (6,), None),
    ],
)
def test_flops(function, inputs, output, count):
    assert flops(function, inputs, output) == (None if count is None else pytest.approx(count))


def test_no_name_stands_for_two_counts():
    shapes, output = [(4, 4), (4, 4), (4, 4)], (4, 4)
    counts = {}
    for function, count in MATRICES.items():
        assert counts.setdefault(function.__name__, count(shapes, output)) == count(shapes, output)


# -- drawings ----------------------------------------------------------------------------------------------


def labels(drawing, kind=None):
    return [box.label for box in drawing.boxes if kind in (None, box.kind)]


def test_a_program_is_drawn():
    drawing = ld.draw(program(lambda x, y: np.sum(np.exp(x) * y)))(X, X + 1)
    assert labels(drawing) == ["x", "y", "exp", "multiply", "sum", "result"]
    assert drawing.edges == [(0, 2), (2, 3), (1, 3), (3, 4), (4, 5)]


def test_guards_are_diamonds():
    f = program(lambda x: np.exp(x) if np.sum(x) > 0 else x - 1)
    f.explain(X)
    drawing = ld.draw(f)(-X)
    assert labels(drawing, "guard") == ["bool(%2)"]
    assert labels(drawing, "way") == ["True", "False"]
    assert drawing.dot.count("shape=diamond") == 1
    named = [(drawing.boxes[a].label, drawing.boxes[b].label) for a, b in drawing.edges]
    for edge in [("bool(%2)", "True"), ("True", "exp"), ("False", "subtract"), ("x", "subtract")]:
        assert edge in named


def test_writes_are_drawn():
    def f(x):
        y = np.zeros_like(x)
        y[1:] = x[1:]
        return np.exp(y)

    drawing = ld.draw(program(f))(X)
    named = [(drawing.boxes[a].label, drawing.boxes[b].label) for a, b in drawing.edges]
    assert ("setitem", "exp") in named
    assert ("zeros_like", "exp") not in named


def test_repeated_blocks_and_lines():
    def loop(x):
        for _ in range(30):
            x = np.sin(x)
        return x

    assert labels(ld.draw(program(loop))(X)) == ["x", "sin", "28 × (sin)", "sin", "result"]
    assert len(ld.draw(program(loop), collapse=False)(X).boxes) == 32

    order = np.random.default_rng(0).integers(0, 2, 300).tolist()

    def changing(x):
        for k in order:
            x = np.sin(x) if k else np.cos(x)
        return x

    drawing = ld.draw(program(changing))(X)
    assert labels(drawing) == ["x", "x = np.sin(x) if k else np.cos(x)", "result"]
    assert drawing.boxes[1].detail.endswith(", 300 operations")


def test_drawings_are_written(tmp_path):
    pytest.importorskip("matplotlib")
    pytest.importorskip("igraph")
    f = program(lambda x: np.exp(x) if np.sum(x) > 0 else x - 1)
    ld.draw(f, file=tmp_path / "program.svg")(X)
    assert "<svg" in (tmp_path / "program.svg").read_text(encoding="utf-8")


def test_what_cannot_be_drawn():
    with pytest.raises(ValueError, match="writes to its arguments"):
        ld.draw(program(lambda x: x.fill(0.0)))(X.copy())
    with pytest.raises(ValueError, match="needs arguments"):
        ld.draw(program(np.sin))()
