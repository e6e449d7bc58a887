"""What a function reads besides its arguments: where it changes, so does what a program gives."""

import abc
import array
import collections
import ctypes
import dataclasses
import decimal
import enum
import functools
import importlib.util
import io
import math
import operator
import os
import subprocess
import sys
import threading
import types
import typing
import unittest.mock
import warnings
import weakref
from decimal import Decimal

import numpy as np
import pytest
import scipy

from lindiff.programs import program

X = np.array([0.5, -1.0, 2.0, 0.25])


def follows(function, change, *args):
    """Check that a program gives what the function gives, also after a change; whether it is one."""
    args = args or (X,)
    fast = program(function)
    for k in range(8):
        if k == 4:
            change()
        np.testing.assert_array_equal(fast(*args), function(*args))
    (known,) = fast._known.values()
    return known.reason is None and known.tree is not None and known.tree.confirmed


def put(x, name, value):
    return lambda: setattr(x, name, value)


def item(x, key, value):
    return lambda: operator.setitem(x, key, value)


def reset(**names):
    """Assign to globals of this file."""
    return lambda: globals().update(names)


def test_what_modules_of_the_library_hold(monkeypatch):
    monkeypatch.setattr(sys, "argv", ["a program", "2"])
    assert follows(lambda x: x * float(sys.argv[1]), item(sys.argv, 1, "3"))
    name = threading.current_thread().name
    monkeypatch.setattr(threading.current_thread(), "name", name)
    change = put(threading.current_thread(), "name", "another")
    assert not follows(lambda x: x * len(threading.current_thread().name), change)


# -- modules -----------------------------------------------------------------------------------------------

SOURCES = {
    "__init__": "",
    "config": "K = 2.0\nother = [3.0]\n",
    "lazy": """
_K = 2.0
def __getattr__(name):
    if name == "K": return _K
    raise AttributeError(name)
""",
    "model": """
def imported(x):
    from .config import K
    return x * K
def module_imported(x):
    from . import config
    return x * config.K
def absolute(x):
    import surroundings_pkg.config
    return x * surroundings_pkg.config.K
def renamed(x):
    import surroundings_pkg.config as c
    return x * c.K
def handed_on(x):
    from . import config
    return x * read(config)
def late(x):
    from .late import K
    return x * K
def without(x):
    try:
        from . import none_of_this_name
    except ImportError:
        return x * 2
def library(x):
    import numpy as np
    from scipy import special
    return np.sin(x) * special.gamma(3.0)
def read(m): return m.K
""",
    "late": "K = 2.0\n",
}
NAME = "K"
asked = operator.attrgetter("K")


@pytest.fixture
def pkg(tmp_path, monkeypatch):
    folder = tmp_path / "surroundings_pkg"
    folder.mkdir()
    for name, text in SOURCES.items():
        (folder / f"{name}.py").write_text(text)
    monkeypatch.syspath_prepend(str(tmp_path))
    found = importlib.import_module("surroundings_pkg")
    for name in ("config", "lazy", "model"):
        importlib.import_module(f"surroundings_pkg.{name}")
    yield found
    for name in [name for name in sys.modules if name.startswith("surroundings_pkg")]:
        del sys.modules[name]


@pytest.mark.parametrize("name", ["imported", "module_imported", "absolute", "renamed"])
def test_imports_within_functions(pkg, name):
    assert follows(getattr(pkg.model, name), put(pkg.config, "K", 5.0))


def test_a_module_that_is_imported_on_the_way_and_handed_on(pkg):
    assert follows(pkg.model.handed_on, put(pkg.config, "K", 5.0))


def test_a_module_that_the_first_run_imports(pkg):
    assert "surroundings_pkg.late" not in sys.modules
    assert follows(pkg.model.late, lambda: setattr(pkg.late, "K", 5.0))


def test_a_module_that_is_put_in_place_of_another(pkg):
    other = types.ModuleType("surroundings_pkg.config")
    other.K = 5.0
    assert follows(pkg.model.imported, item(sys.modules, "surroundings_pkg.config", other))


def test_imports_of_libraries_and_of_what_is_not_there(pkg):
    assert follows(pkg.model.without, lambda: None)
    assert follows(pkg.model.library, lambda: None)


@pytest.mark.parametrize(
    "of",
    [
        lambda p: lambda x: x * p.config.K,
        lambda p: lambda x: x * p.model.read(p.config),
        lambda p: lambda x: x * (lambda: p.config)().K,
        lambda p: lambda x: x * sum(getattr(p.config, k, 0.0) for k in ("K", "Z")),
        lambda p: lambda x: x * getattr(p.config, NAME),
        lambda p: lambda x: x * asked(p.config),
        lambda p: lambda x: x * sum(v for k, v in p.config.__dict__.items() if len(k) == 1),
        lambda p: (
            type("Has", (), {"cfg": property(lambda _: p.config), "f": lambda self, x: x * self.cfg.K})().f
        ),
    ],
)
def test_what_is_read_of_modules(pkg, of):
    assert follows(of(pkg), put(pkg.config, "K", 5.0))


def test_a_name_of_a_module_that_is_an_argument(pkg):
    config = pkg.config
    assert follows(lambda x, name: x * getattr(config, name), put(config, "K", 5.0), X, "K")


def test_what_a_module_computes_when_it_is_asked(pkg):
    assert follows(lambda x: x * pkg.lazy.K, put(pkg.lazy, "_K", 5.0))


@pytest.mark.parametrize(
    "f",
    [
        lambda x: x * importlib.import_module("surroundings_pkg.config").K,
        lambda x: x * sys.modules["surroundings_pkg.config"].K,
        lambda x: x * getattr(sys, "modules")["surroundings_pkg.config"].K,  # noqa: B009
        lambda x: x * globals()["NAME"].count("K"),
        lambda x: x * follows.__globals__["NAME"].count("K"),
    ],
)
def test_where_nobody_can_tell_what_is_read_there_is_no_program(pkg, f):
    assert not follows(f, put(pkg.config, "K", 5.0))


def test_names_of_modules_that_a_function_does_not_read(pkg):
    fast, config = program(lambda x: x * pkg.config.K), pkg.config
    for k in range(6):
        config.unread = k
        fast(X)
    assert [known.recordings for known in fast._known.values()] == [2]


def test_a_module_named_like_one_of_the_library(tmp_path):
    """Where its file lies decides."""
    (tmp_path / "profile.py").write_text("K = 2.0\ndef scale(x): return x * K\n")
    text = """
import numpy as np, profile
from lindiff.programs import program
fast, x = program(profile.scale), np.ones(2)
for _ in range(4): fast(x)
profile.K = 5.0
print(fast(x), [known.reason for known in fast._known.values()])
"""
    script = tmp_path / "script.py"
    script.write_text(text)
    out = subprocess.run([sys.executable, str(script)], capture_output=True, text=True, check=True)
    assert out.stdout == "[5. 5.] [None]\n"


def test_a_module_that_only_its_file_tells_from_one_of_the_library(tmp_path):
    (tmp_path / "colorsys.py").write_text("K = 2.0\ndef scale(x): return x * K\n")
    importlib.import_module("colorsys")
    spec = importlib.util.spec_from_file_location("colorsys", tmp_path / "colorsys.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    assert follows(module.scale, put(module, "K", 5.0))


def test_the_environment(monkeypatch):
    monkeypatch.setenv("SURROUNDINGS", "2")
    assert follows(lambda x: x * float(os.environ["SURROUNDINGS"]), item(os.environ, "SURROUNDINGS", "5"))
    assert follows(lambda x: x * float(os.getenv("SURROUNDINGS")), item(os.environ, "SURROUNDINGS", "7"))


def test_a_word_that_a_global_is_named_by_is_not_read():
    fast = program(lambda x: {"NAME": x * 2}["NAME"])
    try:
        for k in range(6):
            globals()["NAME"] = f"K{k}"
            fast(X)
    finally:
        globals()["NAME"] = "K"
    assert [known.recordings for known in fast._known.values()] == [2]


# -- classes of arguments ----------------------------------------------------------------------------------

scale = 2.0


class Pair(typing.NamedTuple):
    a: typing.Any
    b: float = 1.0

    def scaled(self):
        return self.a * scale


@dataclasses.dataclass
class Model:
    a: typing.Any
    c: typing.ClassVar[float] = 2.0

    def scaled(self):
        return self.a * scale


@dataclasses.dataclass
class Static:
    a: typing.Any
    cfg: dict = dataclasses.field(default_factory=lambda: {"k": 2.0}, metadata={"static": True})


@dataclasses.dataclass
class NotGiven:
    a: typing.Any
    cfg: dict = dataclasses.field(default_factory=lambda: {"k": 2.0}, init=False)


class Constant(typing.NamedTuple):
    a: typing.Any
    cfg: dict

    def constant_fields(self):
        return ("cfg",)


@pytest.mark.parametrize("of", [Pair, Model])
def test_methods_of_arguments(of, monkeypatch):
    monkeypatch.setitem(globals(), "scale", 2.0)
    seven = lambda p: p.a * 7
    assert follows(lambda p: p.scaled(), reset(scale=5.0), of(X))
    assert follows(lambda p: p[0].scaled(), lambda: monkeypatch.setattr(of, "scaled", seven), (of(X),))


def test_attributes_of_the_class_of_an_argument(monkeypatch):
    assert follows(lambda p: p.a * p.c, lambda: monkeypatch.setattr(Model, "c", 5.0), Model(X))


@pytest.mark.parametrize("of", [Static, lambda x: Constant(x, {"k": 2.0})])
def test_what_constant_fields_hold(of):
    argument = of(X)
    assert follows(lambda p: p.a * p.cfg["k"], item(argument.cfg, "k", 5.0), argument)


def test_fields_that_are_not_given():
    """Nobody could make such an argument anew with what its fields hold."""
    argument = NotGiven(X)
    argument.cfg["k"] = 5.0
    fast = program(lambda p: p.a * p.cfg["k"])
    for _ in range(4):
        np.testing.assert_array_equal(fast(argument), X * 5)


def test_the_class_of_a_named_tuple_that_is_no_argument(monkeypatch):
    pair = Pair(3.0)
    monkeypatch.setitem(globals(), "scale", 2.0)
    assert follows(lambda x: x * pair.scaled(), reset(scale=5.0))


class Named(Pair):
    """A named tuple with room for attributes."""


def test_attributes_of_named_tuples():
    pair = Named(X)
    pair.k = 2.0
    assert follows(lambda x: x * pair.k, put(pair, "k", 5.0))
    fast = program(lambda p: p.a * p.k)
    for _ in range(4):
        np.testing.assert_array_equal(fast(pair), X * 5)


# -- objects whose state lies elsewhere --------------------------------------------------------------------


class Mode(enum.Enum):
    A = 1

    def weight(self):
        return scale


class Level(enum.IntEnum):
    LOW = 2


class Length(float):
    def doubled(self):
        return float(self) * scale


class Queue(collections.deque):
    pass


class Numbers(array.array):
    pass


class Bytes(bytearray):
    pass


class Thing:
    def __init__(self, k):
        self.k = k


def test_rows_of_structured_arrays():
    table = np.array([(1.0, 2.0), (3.0, 4.0)], dtype=[("a", "f8"), ("b", "f8")])
    row = table[0]
    assert follows(lambda x: x * row["a"], item(table["a"], 0, 9.0))
    assert follows(lambda x, row: x * row["a"], item(table["a"], 0, 7.0), X, row)


def test_lists_in_arrays_of_objects():
    things = np.array([None, 0.0], object)
    things[0] = [2.0]
    assert follows(lambda x: x * things[0][0], item(things[0], 0, 5.0))
    assert follows(lambda x: np.copysign(x, things[1]), item(things, 1, -0.0))


def test_members_of_enumerations(monkeypatch):
    mode, level = Mode.A, Level.LOW
    monkeypatch.setitem(globals(), "scale", 2.0)
    assert follows(lambda x: x * mode.weight() * level, reset(scale=5.0))
    assert follows(lambda x, mode: x * mode.weight() if mode is Mode.A else x, reset(scale=6.0), X, mode)
    monkeypatch.setattr(mode, "extra", 2.0, raising=False)
    assert follows(lambda x: x * mode.extra, put(mode, "extra", 5.0))


def test_numbers_of_a_class_of_its_own(monkeypatch):
    length = Length(3.0)
    monkeypatch.setitem(globals(), "scale", 2.0)
    assert follows(lambda x: x * length.doubled(), reset(scale=5.0))
    length.k = 2.0
    assert follows(lambda x: x * length.k, put(length, "k", 5.0))


def test_bound_methods_of_arrays_and_lists():
    w, things = np.ones(2), [1.0]
    get, size = w.__getitem__, things.__len__
    assert follows(lambda x: x * get(0), item(w, 0, 5.0))
    assert follows(lambda x: x * size(), lambda: things.append(1.0))


def test_parts_of_partial_functions():
    scaled = functools.partial(lambda k, x: x * k, 2.0)
    assert follows(lambda x: scaled(x), lambda: scaled.__setstate__((scaled.func, (5.0,), {}, {})))


def test_a_cache_that_is_cleared():
    things = [2.0]

    @functools.cache
    def cached():
        return things[0]

    fast = program(lambda x: x * cached())
    for k in range(12):
        if k == 4:
            things[0] = 5.0
        if k == 8:
            cached.cache_clear()
        np.testing.assert_array_equal(fast(X), X * cached())
    assert all(known.reason is None for known in fast._known.values())


@pytest.mark.parametrize("cache", [functools.cache, functools.lru_cache(maxsize=8)])
def test_a_cache_that_has_been_filled_again(cache):
    things = [2.0]

    @cache
    def table(n):
        return n * things[0]

    def plain(x):
        return x * table(3)

    fast = program(plain)
    for k in range(12):
        if k in (4, 8):
            things[0] += 3.0
            table.cache_clear()
            for _ in range(20):
                plain(X)
        np.testing.assert_array_equal(fast(X), plain(X))


def test_a_function_for_several_classes(monkeypatch):
    @functools.singledispatch
    def weight(x):
        return 1.0

    @weight.register
    def of_float(x: float):
        return scale

    monkeypatch.setitem(globals(), "scale", 2.0)
    assert follows(lambda x: x * weight(1.0), reset(scale=5.0))
    assert follows(lambda x: x * weight(1.0), lambda: weight.register(float, lambda x: 7.0))


def test_classes_that_are_registered():
    class Abstract(abc.ABC):  # noqa: B024
        pass

    thing = Thing(2.0)
    f = lambda x: x * (2.0 if isinstance(thing, Abstract) else 3.0)
    assert follows(f, lambda: Abstract.register(Thing))


def test_bases_that_are_replaced():
    a, b = type("A", (), {"k": 2.0}), type("B", (), {"k": 5.0})
    c = type("C", (a,), {})
    thing = c()
    assert follows(lambda x: x * thing.k, put(c, "__bases__", (b,)))


def test_what_holds_more_than_attributes_leaves_the_function_alone():
    number, numbers = ctypes.c_double(2.0), (ctypes.c_double * 2)(2, 3)
    queue, many, raw = Queue([2.0]), Numbers("d", [2.0]), Bytes(b"a")
    error, text = ValueError(2.0), io.StringIO("2")
    thing = Thing(2.0)
    weak, proxy = weakref.WeakValueDictionary(m=thing), weakref.proxy(thing)
    base = type("Base", (), {"k": 1.0})
    kept = [type("One", (base,), {"k": 2.0})]
    for f, change in [
        (lambda x: x * number.value, put(number, "value", 5.0)),
        (lambda x: x * numbers[0], item(numbers, 0, 5.0)),
        (lambda x: x * queue[0], item(queue, 0, 5.0)),
        (lambda x: x * many[0], item(many, 0, 5.0)),
        (lambda x: x * raw[0], item(raw, 0, 5)),
        (lambda x: x * error.args[0], put(error, "args", (5.0,))),
        (lambda x: x * float(text.getvalue()), lambda: (text.seek(0), text.write("7"))),
        (lambda x: x * weak["m"].k, put(thing, "k", 5.0)),
        (lambda x: x * proxy.k, put(thing, "k", 6.0)),
        (
            lambda x: x * sum(c.k for c in base.__subclasses__()),
            lambda: kept.append(type("Two", (base,), {"k": 5.0})),
        ),
        (
            lambda x: x * sum(c.k for c in type(kept[0]()).__mro__[1].__subclasses__()),
            lambda: kept.append(type("Two", (base,), {"k": 6.0})),
        ),
        (lambda x: x * (2.0 if np.geterr()["over"] == "warn" else 3.0), lambda: None),
    ]:
        assert not follows(f, change)


class Slots:
    __slots__ = ("__private", "k")

    def __init__(self):
        self.k = self.__private = 2.0

    def get(self):
        return self.__private


@dataclasses.dataclass(slots=True)
class Slotted:
    k: float = 2.0


class Flags(enum.Flag):
    A = enum.auto()
    B = enum.auto()


class Word(str, enum.Enum):
    A = "a"


@pytest.mark.parametrize("of", [Slots, Slotted, lambda: Thing(2.0), lambda: types.SimpleNamespace(k=2.0)])
def test_attributes(of):
    thing = of()
    assert follows(lambda x: x * thing.k, put(thing, "k", 5.0))


def test_ordinary_things_are_known():
    slots, made, view = Slots(), Pair(2.0), types.MappingProxyType({"k": 2.0})
    for f in [
        lambda x: x * slots.get(),
        lambda x: x * made._replace(a=3.0).a * Pair(1.0, 2.0).b,
        lambda x: x * Static(3.0).a * Slotted(k=3.0).k,
        lambda x: x * (Flags.A | Flags.B).value * len(Word.A) * Level.LOW * Mode["A"].value,
        lambda x: x * view["k"],
        lambda x: x * isinstance(made, Pair),
    ]:
        assert follows(f, lambda: None)


# -- what cannot be asked at all ---------------------------------------------------------------------------


class NoClass:
    """Such as raises at whatever it is asked."""

    def __getattribute__(self, name):
        raise AttributeError(name)


@pytest.mark.parametrize("x", [unittest.mock.Mock(), NoClass(), sys.stdout, type(sys.implementation)])
def test_arguments_and_globals_that_cannot_be_looked_at(x):
    held = [x]
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        follows(lambda y, x: y * len(held), lambda: None, X, x)
        follows(lambda y: y * len(held), lambda: None)


def test_pandas():
    pd = pytest.importorskip("pandas")
    series = pd.Series([1.0, 2.0, 3.0, 4.0])
    follows(lambda x: x * series.values, lambda: series.__setitem__(0, 5.0))
    follows(lambda x: pd.Series(np.array(x)).sum() * x, lambda: None)
    follows(lambda x, frame: x * frame["a"].iloc[0], lambda: None, X, pd.DataFrame({"a": [2.0]}))


def test_what_changes_each_time_is_told_by_the_warning():
    class Counting:
        k = 0

    def f(x):
        Counting.k += 1
        return x * 2

    fast = program(f)
    for _ in range(7):
        fast(X)
    with pytest.warns(UserWarning, match="what it reads besides its arguments changes"):
        [fast(X) for _ in range(3)]


# -- what is replaced in libraries -------------------------------------------------------------------------


def helper(x):
    return scipy.special.expit(x) + np.linalg.norm(x)


def imported_within(x):
    from math import tau

    import numpy.linalg as la

    return la.norm(x) * tau + math.pi


LIBRARIES = {
    "a ufunc": (lambda x: np.sin(x) * 2, np, "sin", np.cos),
    "a function of a module in it": (lambda x: x / np.linalg.norm(x), np.linalg, "norm", np.max),
    "one of the user's": (lambda x: np.tanh(x), np, "tanh", lambda x: 3 * x),
    "a number": (lambda x: np.pi * x, np, "pi", 3.0),
    "what a helper calls": (lambda x: helper(x) * 2, scipy.special, "expit", np.cos),
    "of Python's": (lambda x: x * math.pi, math, "pi", 3.0),
    "a module": (
        lambda x: x * (np.linalg.norm(x) if hasattr(np.linalg, "norm") else 2),
        np,
        "linalg",
        types.ModuleType("linalg"),
    ),
    "imported within": (imported_within, math, "tau", 1.0),
    "imported within as a module": (imported_within, np.linalg, "norm", np.max),
    "what is added": (lambda x: np.ours(x) if hasattr(np, "ours") else x, np, "ours", np.cos),
}


@pytest.mark.parametrize("of", LIBRARIES)
def test_functions_of_libraries_that_are_replaced(of, monkeypatch):
    function, module, name, new = LIBRARIES[of]
    assert follows(function, lambda: monkeypatch.setattr(module, name, new, raising=False))


def test_what_a_replaced_function_reads(monkeypatch):
    monkeypatch.setattr(np, "sin", lambda x: x * FACTOR)
    monkeypatch.setitem(globals(), "FACTOR", 2.0)
    assert follows(lambda x: np.sin(x) + 1, reset(FACTOR=5.0))


FACTOR = 2.0


@pytest.mark.parametrize(
    "f",
    [
        lambda x: x * float(decimal.Decimal(1) / 3),
        lambda x: x * float(Decimal(1) / Decimal(3)),
        lambda x: x * float(THIRD / 7),
        lambda x: x * decimal.getcontext().prec,
    ],
)
def test_how_decimals_are_rounded(f):
    with decimal.localcontext():
        assert follows(f, put(decimal.getcontext(), "prec", 3))


THIRD = Decimal(1) / 3


def test_how_numbers_are_printed():
    with np.printoptions():
        assert follows(lambda x: x * len(str(x)), lambda: np.set_printoptions(precision=1, sign="+"))


def test_what_changes_in_a_loop_that_python_has_specialized():
    """Of dicts that have not changed, the version says so: each write to them has to change it."""

    class Model:
        def __init__(self):
            self.scale = 0.0

    model, table, options = Model(), {"scale": 0.0}, [0.0]

    def function(x):
        return x * model.scale + table["scale"] + options[0] + SHIFT

    fast, x = program(function), np.arange(3.0)
    for k in range(1, 400):
        which = k // 20 % 4
        if k % 20 == 0 and which == 0:
            model.scale = float(k)
        elif k % 20 == 0 and which == 1:
            table["scale"] = float(k)
        elif k % 20 == 0 and which == 2:
            options[0] = float(k)
        elif k % 20 == 0:
            globals()["SHIFT"] = float(k)
        np.testing.assert_array_equal(fast(x), function(x))
        model.other = k  # which nobody asks for


SHIFT = 0.0
