"""Programs that are saved and loaded: the first call runs without a recording, or the file is refused."""

import collections
import dataclasses
import json
import re
import subprocess
import sys
import textwrap
import zipfile

import numpy as np
import pytest

import lindiff as ld
from lindiff.programs import files, program

X = np.array([0.5, -1.0, 2.0, 0.25])

MODEL = """
    import numpy as np
    from math import pi

    K = 3.0
    TABLE = np.array([1.0, 2.0, 3.0, 4.0])
    OPTIONS = {"scale": 2.0, "names": ["a", "b"]}

    class Model:
        power = 2

        def __init__(self, scale):
            self.scale = scale
            self.unused = object()

        def value(self, x):
            return self.scale * x**self.power

    MODEL = Model(0.5)

    def helper(x, by=1.0, *, more=2.0):
        return x * by + more

    def closing(a):
        def inner(x):
            return x - a
        return inner

    INNER = closing(0.25)

    def f(x):
        print("f runs")
        y = helper(x) * K + TABLE * pi + OPTIONS["scale"] + len(OPTIONS["names"])
        if np.sum(y) > 0:
            y = y + MODEL.value(x)
        return INNER(y)
"""


def made(source=MODEL, file="model.py", **names):
    """The names of a module of this source."""
    module = {"__name__": "model", **names}
    exec(compile(textwrap.dedent(source), file, "exec"), module)
    return module


def known(function, *args):
    fast = program(function)
    for _ in range(3):
        fast(*args)
    return fast


def saved(function, path, *args):
    """The path of a file of what is known after three calls."""
    known(function, *args).save(path)
    return path


def loaded(function, path):
    fast = program(function)
    fast.load(path)
    return fast


# -- what comes back ---------------------------------------------------------------------------------------


def test_a_loaded_program_runs_without_its_function(tmp_path, capsys):
    path = saved(made()["f"], tmp_path / "f.program", X)
    fast = loaded(made()["f"], path)
    capsys.readouterr()
    result = fast(X + 0.125)
    assert not capsys.readouterr().out
    np.testing.assert_array_equal(result, made()["f"](X + 0.125))
    assert fast.explain()[0].recordings == 2


def test_a_way_that_is_not_known_is_recorded_and_saved_again(tmp_path, capsys):
    path = saved(made()["f"], tmp_path / "f.program", X)
    fast, f = loaded(made()["f"], path), made()["f"]
    expected = [f(x) for x in (X, X - 100, X + 1)]
    capsys.readouterr()
    for _ in range(3):
        np.testing.assert_array_equal(fast(X - 100), expected[1])
    assert capsys.readouterr().out == "f runs\n" * 2
    fast.save(path)
    both = loaded(made()["f"], path)
    for x, y in zip((X, X - 100, X + 1), expected, strict=True):
        np.testing.assert_array_equal(both(x), y)
    assert not capsys.readouterr().out


def test_several_forms_of_arguments(tmp_path):
    def f(x, scale, options=None, **more):
        return np.sum(x * scale), {"more": more["a"] + options[0][0]}

    calls = [
        ((X, 2.0, [X[:2]]), {"a": X[0]}),
        ((X[None], 3, (X[:3],)), {"a": X[1:]}),
        ((np.asfortranarray(np.ones((2, 3), np.float32)), np.float32(2), {0: X}), {"a": np.int32(3)}),
        ((X.astype(">f8"), True, [X.astype(complex)]), {"a": X[::2]}),
    ]
    fast = program(f)
    for _ in range(3):
        for args, kwargs in calls:
            fast(*args, **kwargs)
    fast.save(tmp_path / "f")
    again = loaded(f, tmp_path / "f")
    assert [e.recordings for e in again.explain()] == [2] * 4
    for args, kwargs in calls:
        first, second = again(*args, **kwargs), f(*args, **kwargs)
        assert repr(first) == repr(second)
    assert [e.recordings for e in again.explain()] == [2] * 4


Pair = collections.namedtuple("Pair", "left right")


@dataclasses.dataclass
class Both:
    left: object
    right: object


def nested(x):
    pair = Pair(x * 2, [x[0], None, "text", 1, 2.5, np.arange(3.0)])
    return {"pair": pair, 3: Both(np.ones((2, 3)).T * x[0], ()), (1, "a"): np.float32(2)}


def test_results_of_all_kinds(tmp_path):
    again = loaded(nested, saved(nested, tmp_path / "f", X))
    result, expected = again(X), nested(X)
    assert [e.recordings for e in again.explain()] == [2]
    assert repr(result) == repr(expected)
    assert (type(result["pair"]), type(result[3])) == (Pair, Both)
    result["pair"].right[-1][:] = 7.0  # a constant is the caller's own copy
    assert repr(again(X)) == repr(expected)


def slow_root(a):
    x = a
    while abs(x * x - a) > 1e-12:
        x = 0.5 * (x + a / x)
    return x


def caught(A):
    try:
        return np.linalg.cholesky(A)
    except np.linalg.LinAlgError:
        return A * 0.0


def gram_factor(A):
    return np.sum(np.linalg.cholesky(A @ A.T + np.eye(3)))


def with_steps(x):
    y = np.zeros_like(x, shape=(3, 4))
    y[1] = x
    y[:, 2] += np.sin(x[:3])
    order = np.argsort(x)
    z = np.where(y > 0.1, y, -y)[:, order]
    w = np.add.reduce(np.outer(z[1], x), axis=1) + np.linalg.solve(z @ z.T + np.eye(3), z[:, 0])[0]
    np.add.at(w, np.array([0, 0, 3]), 1.0)
    return w.astype(np.float32), z.T.copy(order="K"), np.linalg.qr(z), round(w[0], 2), np.max(w).item()


@pytest.mark.parametrize(
    ("function", "args", "others"),
    [
        (slow_root, [np.float64(2.0)], [np.float64(2.5)]),
        (caught, [np.eye(3)], [2 * np.eye(3)]),
        (caught, [-np.eye(3)], [-2 * np.eye(3)]),
        (with_steps, [X], [X]),
        (ld.value_and_grad(slow_root), [np.float64(2.0)], [np.float64(2.5)]),
        (ld.hessian(lambda x: np.sum(x[1:] ** 2 * x[:-1])), [X], [X + 1]),
        (ld.grad(gram_factor), [np.ones((3, 3))], [X[:3] * X[:3, None]]),
        (lambda x: ld.jvp(np.tanh, (x,), (x,)), [X], [X + 1]),
        (ld.checkpoint(lambda x: np.exp(x) * x), [X], [X + 1]),
        (ld.vmap(lambda x: x * x), [X], [X]),
    ],
)
def test_programs_of_transforms_and_with_branches(tmp_path, function, args, others):
    fast = known(function, *args)
    if any("vmap" in row.text for row in fast.explain()[0]):
        with pytest.raises(ValueError, match=r"vmap of .* no name"):
            fast.save(tmp_path / "f")
        return
    fast.save(tmp_path / "f")
    again = loaded(function, tmp_path / "f")
    for given in (args, others):
        assert repr(again(*given)) == repr(function(*given))
    assert again.explain()[0].recordings == 2


STEP = """
    import sys
    import numpy as np
    import lindiff as ld

    @ld.program
    def step(y, k):
        print("step runs")
        return y + 0.1 * k * np.sin(y)

    def path(k):
        y = np.array([0.1, 0.2])
        for _ in range(12):
            y = step(y, k)
        return np.sum(y)

    def distance(x, y):
        print("distance runs")
        return np.sqrt(np.sum((x - y) ** 2))

    NAMES = {"one": 1.0, "two": 2.0}
    WORD = "two" if len(sys.argv) < 4 else sys.argv[3]

    @ld.program
    @ld.value_and_grad
    def nll(x):
        print("nll runs")
        return np.sum(np.exp(x * NAMES[WORD]))

    fast = ld.program(distance)
    many = ld.vmap(fast, (0, None))
    X = np.arange(8.0).reshape(4, 2)
    programs = {"step": step, "distance": fast, "nll": nll}
    if sys.argv[1] == "load":
        for name, of in programs.items():
            of.load(sys.argv[2] + name)
    for k in range(5 if sys.argv[1] == "save" else 1):
        results = ld.grad(path)(1.5), many(X, X[0] + 0.5), nll(X[1])
    if sys.argv[1] == "save":
        for name, of in programs.items():
            of.save(sys.argv[2] + name)
    print(repr(results))
"""


def in_another_process(folder, *args):
    (folder / "script.py").write_text(textwrap.dedent(STEP), encoding="utf-8")
    command = [sys.executable, str(folder / "script.py"), *args]
    return subprocess.run(command, capture_output=True, text=True, check=False)


def test_other_processes(tmp_path):
    first = in_another_process(tmp_path, "save", f"{tmp_path}/")
    assert first.returncode == 0, first.stderr
    second = in_another_process(tmp_path, "load", f"{tmp_path}/")
    assert second.returncode == 0, second.stderr
    assert first.stdout.endswith(second.stdout)
    assert "runs" in first.stdout
    assert "runs" not in second.stdout
    third = in_another_process(tmp_path, "load", f"{tmp_path}/", "one")
    assert "WORD is str 'two'; now WORD is str 'one'" in third.stderr


# -- what is refused ---------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ("K = 3.0", "K = 3.5"),
        ("K = 3.0", "K = np.float64(3.0)"),
        ("K = 3.0", "K = 3"),
        ("3.0, 4.0]", "3.0, 5.0]"),
        ("3.0, 4.0])", "3.0, 4.0], np.float32)"),
        ('"scale": 2.0', '"scale": 2.5'),
        ('["a", "b"]', '["a", "c"]'),
        ('["a", "b"]', '("a", "b")'),
        ('{"scale": 2.0, "names": ["a", "b"]}', '{"names": ["a", "b"], "scale": 2.0}'),
        ("power = 2", "power = 3"),
        ("self.scale * x", "self.scale + x"),
        ("Model(0.5)", "Model(1.5)"),
        ("by=1.0", "by=2.0"),
        ("more=2.0", "more=3.0"),
        ("x * by", "x / by"),
        ("closing(0.25)", "closing(0.5)"),
        ("return x - a", "return a - x"),
        ("np.sum(y) > 0", "np.sum(y) < 0"),
        ("* K +", "* K -"),
        ("TABLE * pi", "TABLE * 2.0"),
        ("from math import pi", "pi = 3"),
        ("import numpy as np\n", "import numpy\n    class np: sum = numpy.sum; array = numpy.array\n"),
        ("helper(x) * K", "INNER(x) * K"),
        ("TABLE = np.array([1.0, 2.0, 3.0, 4.0])", "TABLE = np.array([1.0, 2.0, 3.0, 4.0])[::1]"),
        ("    MODEL = Model(0.5)", "    MODEL = Model(0.5)\n    MODEL.new = 1"),
    ],
)
def test_what_has_changed(tmp_path, before, after):
    path = saved(made()["f"], tmp_path / "f", X)
    assert before in MODEL
    function = made(MODEL.replace(before, after))["f"]
    fast = program(function)
    with pytest.raises(ValueError, match=r"when it was saved, .*; now .*save it again"):
        fast.load(path)
    assert not list(fast.explain())
    np.testing.assert_array_equal(fast(X), function(X))


def test_where_code_stands_does_not_matter(tmp_path):
    path = saved(made()["f"], tmp_path / "f", X)
    loaded(made("\n\n# moved\n" + textwrap.dedent(MODEL), "elsewhere.py")["f"], path)


def test_what_nobody_reads_does_not_matter(tmp_path):
    path = saved(made()["f"], tmp_path / "f", X)
    more = MODEL.replace("K = 3.0", "K = 3.0\n    OTHER = 7").replace("object()", "[1, 2]")
    assert more.count("[1, 2]") == more.count("OTHER = 7") == 1
    loaded(made(more)["f"], path)


def test_what_has_changed_since_it_was_known(tmp_path):
    module = made()
    fast = known(module["f"], X)
    module["K"] = 4.0
    with pytest.raises(ValueError, match="nothing to save yet: call it three times"):
        fast.save(tmp_path / "f")
    assert not list(tmp_path.iterdir())


def test_arrays_that_lie_in_one_memory(tmp_path):
    source = "import numpy as np\nA = np.ones(4)\nB = A\ndef f(x):\n    return x if A is B else -x * B"
    path = saved(made(source)["f"], tmp_path / "f", X)
    loaded(made(source)["f"], path)
    with pytest.raises(ValueError, match="now"):
        loaded(made(source.replace("B = A", "B = A.copy()"))["f"], path)


@pytest.mark.parametrize("name", list(files.environment()))
def test_another_environment(tmp_path, monkeypatch, name):
    path = saved(np.tanh, tmp_path / "f", X)
    another = files.environment() | {name: "another"}
    monkeypatch.setattr(files, "environment", lambda: another)
    with pytest.raises(ValueError, match=f"it was saved with {name} .*, and this is another"):
        loaded(np.tanh, path)


@pytest.mark.parametrize(
    ("source", "reason"),
    [
        ("import os\ndef f(x): return x * len(os.environ)", "os"),
        ("import os\ndef f(x): return x * os.getpid()", "os.getpid"),
        ("import time\ndef f(x): return x + 0 * time.gmtime().tm_year", "time.gmtime"),
        ("import datetime\ndef f(x): return x * datetime.date.today().year", "datetime.date"),
        ("def f(x):\n    with open(__file__) as file: return x * len(file.read())", "io.open"),
        ("def f(x): return sum([x * len(n) for n in {'a', 'bb'}])", "makes sets"),
        ("def f(x): return sum([x * len(n) for n in set(['a', 'bb'])])", "builtins.set"),
        ("D = {'a': 1}\ndef f(x): return sum([x * len(n) for n in D.keys() | D.keys()])", "makes sets"),
        ("def f(x): return x * (hash('text') % 3)", "builtins.hash"),
        ("def f(x): return x * (id(f) % 3)", "builtins.id"),
        ("import functools\n@functools.cache\ndef g(): return 2\ndef f(x): return x * g()", "a cache"),
        ("import numpy as np\nR = np.random.default_rng(0)\ndef f(x): return x if R else -x", "Generator"),
        ("import pathlib\nP = pathlib.Path('a')\ndef f(x): return x * len(P.name)", "Path"),
        (
            "import abc\nclass A(abc.ABC): pass\ndef f(x, A=A): return x * isinstance(f, A)",
            "abstract class",
        ),
    ],
)
def test_what_may_be_another_thing_in_each_process(tmp_path, source, reason):
    f = made(source, __file__=__file__)["f"]
    fast = known(f, X)
    assert fast.explain()[0].recordings == 2, fast.explain()
    with pytest.raises(ValueError, match=f"cannot be saved: .*{reason}"):
        fast.save(tmp_path / "f")
    assert not list(tmp_path.iterdir())


def test_objects_of_unknown_classes_as_arguments(tmp_path):
    fast = known(lambda x, how: x * 2, X, len)
    with pytest.raises(ValueError, match="no form in a file"):
        fast.save(tmp_path / "f")


# -- files -------------------------------------------------------------------------------------------------


def test_damaged_files(tmp_path):
    module = made()
    path = saved(module["f"], tmp_path / "f", X)
    whole = path.read_bytes()
    expected = made()["f"](X)
    rng = np.random.default_rng(3)
    damaged = [whole[:n] for n in rng.integers(0, len(whole), 25)]
    for at in rng.integers(0, len(whole), 50):
        damaged.append(whole[:at] + bytes([whole[at] ^ (1 << int(rng.integers(8)))]) + whole[at + 1 :])
    refused = []
    for content in damaged:
        path.write_bytes(content)
        fast = program(made()["f"])
        try:
            fast.load(path)
        except ValueError as error:
            refused.append((str(error), len(fast.explain())))
        np.testing.assert_array_equal(fast(X), expected)
    assert len(refused) >= 60  # bits of dates in the archive say nothing
    assert all(str(path) in message and forms == 0 for message, forms in refused)


@pytest.mark.parametrize("content", [b"", b"text", b"PK\x05\x06" + bytes(18), b"\x93NUMPY"])
def test_files_that_are_something_else(tmp_path, content):
    (tmp_path / "f").write_bytes(content)
    with pytest.raises(ValueError, match="damaged, or no program file"):
        loaded(np.tanh, tmp_path / "f")


def test_other_archives_and_files_of_other_functions(tmp_path):
    np.savez(tmp_path / "f.npz", X)
    with pytest.raises(ValueError, match="damaged, or no program file"):
        loaded(np.tanh, tmp_path / "f.npz")
    path = saved(made()["f"], tmp_path / "f", X)
    with pytest.raises(ValueError, match=r"the function is f with the code .*; now the function is closing"):
        loaded(made()["closing"], path)
    with pytest.raises(FileNotFoundError):
        loaded(np.tanh, tmp_path / "nothing")


def rewritten(path, change):
    """A file with other text."""
    with zipfile.ZipFile(path) as archive:
        text, arrays = archive.read("program.json"), archive.read("arrays")
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr("program.json", json.dumps(change(json.loads(text))))
        archive.writestr("arrays", arrays)


@pytest.mark.parametrize(
    "name",
    [
        *("os.system", "builtin eval", "builtin open", "operator methodcaller", "operator call"),
        *("numpy.load", "numpy.save", "numpy.fromfile", "method tofile", "method dump", "view __class__"),
        *("subprocess.run", "lindiff.kernels.batch.__builtins__", "lindiff.programs.program.program"),
        "ufunc numpy.add.__call__",
    ],
)
def test_files_cannot_name_what_steps_do_not_call(tmp_path, name):
    path = saved(np.tanh, tmp_path / "f", X)

    def change(written):
        written["shared"]["texts"] = [name for _ in written["shared"]["texts"]]
        return written

    rewritten(path, change)
    with pytest.raises(ValueError, match=re.escape(f"{name!r}, which steps of programs do not call")):
        loaded(np.tanh, path)


def test_a_later_layout(tmp_path):
    path = saved(np.tanh, tmp_path / "f", X)
    rewritten(path, lambda written: written | {"layout": 99})
    with pytest.raises(ValueError, match="it has the layout 99"):
        loaded(np.tanh, path)


def test_nothing_is_known_yet(tmp_path):
    with pytest.raises(ValueError, match=r"nothing to save yet.*explain\(\)"):
        program(np.tanh).save(tmp_path / "f")


def test_a_file_is_replaced_as_a_whole(tmp_path):
    path = saved(made()["f"], tmp_path / "f", X)
    before = path.read_bytes()
    module = made(MODEL.replace("K = 3.0", "K = {1.0, 2.0}").replace("* K", "* len(K)"))
    fast = known(module["f"], X)
    module["TABLE"][0] = 5.0
    with pytest.raises(ValueError, match="nothing to save"):
        fast.save(path)
    assert path.read_bytes() == before
    assert [p.name for p in tmp_path.iterdir()] == ["f"]
