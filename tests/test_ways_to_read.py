"""Whatever way a function comes upon what it reads: where that changes, its program is not used again.

Each of these modules has a function ``f`` of an array, and ``change``.  Strangers found them.
"""

import sys
import types

import numpy as np
import pytest

import lindiff as ld

MODULES = {
    "__post_init__ of a class that tree_map makes anew": r"""
from dataclasses import dataclass, field

rate = 1.0

@dataclass
class Model:
    a: float
    total: float = field(init=False, default=0.0)

    def __post_init__(self):
        self.total = rate * self.a

def f(x):
    return x * ld.tree_map(lambda v: v * 2, Model(1.0)).total

def change():
    global rate
    rate = 2.0
""",
    "one that grad and tree_map make anew": r"""
from dataclasses import dataclass, field

LR = 0.1

@dataclass
class P:
    w: np.ndarray
    b: float
    n: float = field(init=False, default=0.0)

    def __post_init__(self):
        self.n = np.sum(self.w**2) * LR

def loss(p, x):
    return np.sum((x * p.w + p.b) ** 2) + p.n

def f(x):
    p = P(np.ones(3), 1.0)
    g = ld.grad(loss)(p, x)
    q = ld.tree_map(lambda a, b: a - 0.1 * b, p, g)
    return loss(q, x)

def change():
    global LR
    LR = 0.7
""",
    "__post_init__ in grad": r"""
from dataclasses import dataclass, field

rate = 1.0

@dataclass
class Model:
    a: float
    total: float = field(init=False, default=0.0)

    def __post_init__(self):
        self.total = rate * self.a

def f(x):
    return x * ld.grad(lambda c: c.total * c.a)(Model(1.0)).a

def change():
    global rate
    rate = 2.0
""",
    "__post_init__ in vmap": r"""
from dataclasses import dataclass

CLIP = 10.0

@dataclass
class P:
    w: np.ndarray

    def __post_init__(self):
        self.m = CLIP

def f(x):
    return ld.vmap(lambda q, a: np.sum(q.w) * a * q.m)(P(np.ones((3, 2)) * 2), x)

def change():
    global CLIP
    CLIP = 4.0
""",
    "__post_init__ in checkpoint": r"""
from dataclasses import dataclass

CLIP = 10.0

@dataclass
class P:
    w: np.ndarray

    def __post_init__(self):
        self.m = CLIP

g = ld.checkpoint(lambda q, x: np.sum(q.w * q.m * x))

def f(x):
    return ld.grad(lambda x: g(P(np.ones(3) * 2), x))(x)

def change():
    global CLIP
    CLIP = 4.0
""",
    "__post_init__ in ravel": r"""
from dataclasses import dataclass, field

rate = 1.0

@dataclass
class Model:
    a: float
    total: float = field(init=False, default=0.0)

    def __post_init__(self):
        self.total = rate * self.a

def f(x):
    v, un = ld.ravel(Model(1.0))
    return x * un(v).total

def change():
    global rate
    rate = 2.0
""",
    "an __init__ of one's own in tree_map": r"""
from dataclasses import dataclass, field

rate = 1.0

@dataclass(init=False)
class Model:
    a: float

    def __init__(self, a):
        self.a = rate * a

def f(x):
    return x * ld.tree_map(lambda v: v + 2, Model(1.0)).a

def change():
    global rate
    rate = 2.0
""",
    "__setattr__ in tree_map": r"""
from dataclasses import dataclass, field

rate = 1.0

@dataclass
class Model:
    a: float

    def __setattr__(self, n, v):
        self.__dict__[n] = v * rate

def f(x):
    return x * ld.tree_map(lambda v: v + 2, Model(1.0)).a

def change():
    global rate
    rate = 2.0
""",
    "default_factory in tree_map": r"""
from dataclasses import dataclass, field

rate = 1.0

@dataclass
class Model:
    a: float
    b: list = field(init=False, default_factory=lambda: [rate])

def f(x):
    return x * ld.tree_map(lambda v: v + 2, Model(1.0)).b[0]

def change():
    global rate
    rate = 2.0
""",
    "functions in the metadata of fields": r"""
from dataclasses import dataclass, field, fields

rate = 1.0

def tf(v):
    return v * rate

@dataclass
class Cfg:
    a: float = field(default=1.0, metadata={"transform": tf})

cfg = Cfg()

def f(x):
    for fl in fields(cfg):
        x = x * fl.metadata["transform"](getattr(cfg, fl.name))
    return x

def change():
    global rate
    rate = 2.0
""",
    "classes as types of fields": r"""
from dataclasses import dataclass, field, fields

rate = 1.0

class Rate:
    def __init__(self, v):
        self.v = v * rate

@dataclass
class Cfg:
    a: Rate

D = {"a": 2.0}

def make(d):
    return Cfg(**{fl.name: fl.type(d[fl.name]) for fl in fields(Cfg)})

def f(x):
    return x * make(D).a.v

def change():
    global rate
    rate = 2.0
""",
    "contents of the metadata of fields": r"""
from dataclasses import dataclass, fields, field

@dataclass
class Model:
    a: float = field(default=1.0, metadata={"w": [1.0]})

model = Model()

def f(x):
    return x * fields(model)[0].metadata["w"][0]

def change():
    fields(model)[0].metadata["w"][0] = 2.0
""",
    "classes in annotations, by get_type_hints": r"""
from typing import get_type_hints

rate = 1.0

class Rate:
    def __init__(self, v):
        self.v = v * rate

class Cfg:
    a: Rate

def f(x):
    return x * get_type_hints(Cfg)["a"](1.0).v

def change():
    global rate
    rate = 2.0
""",
    "classes in annotations of functions": r"""
rate = 1.0

class Rate:
    def __init__(self):
        self.v = rate

def g(a: Rate):
    return a.v

def call(fn):
    return fn(**{k: t() for k, t in fn.__annotations__.items()})

def f(x):
    return x * call(g)

def change():
    global rate
    rate = 2.0
""",
    "classes in annotations, by signature": r"""
import inspect

rate = 1.0

class Rate:
    def __init__(self, v):
        self.v = v * rate

def g(a: Rate):
    return a.v

def call(fn, v):
    p = list(inspect.signature(fn).parameters.values())[0]
    return fn(p.annotation(v))

def f(x):
    return x * call(g, 1.0)

def change():
    global rate
    rate = 2.0
""",
    "contents of annotations": r"""
class Model:
    a: 1.0

model = Model()

def f(x):
    return x * model.__annotations__["a"]

def change():
    Model.__annotations__["a"] = 2.0
""",
    "a property of the class that makes one": r"""
rate = 1.0

class classproperty:
    def __init__(self, f):
        self.f = f

    def __get__(self, obj, owner):
        return self.f(owner)

class Model:
    def __init__(self):
        self.v = rate

    @classproperty
    def unit(cls):
        return cls()

model = Model.__new__(Model)

def f(x):
    return x * model.unit.v

def change():
    global rate
    rate = 2.0
""",
    "a descriptor that makes one of its owner": r"""
rate = 1.0

class Maker:
    def __get__(self, obj, owner):
        return owner()

class Model:
    def __init__(self):
        self.v = rate

    unit = Maker()

model = Model.__new__(Model)

def f(x):
    return x * model.unit.v

def change():
    global rate
    rate = 2.0
""",
    "the class behind super()": r"""
class B:
    def __init__(self):
        self.v = rate

    def go(self):
        return super().__self_class__().v

rate = 1.0
b = B.__new__(B)

def f(x):
    return x * b.go()

def change():
    global rate
    rate = 2.0
""",
    "an isinstance of one's own": r"""
rate = 1.0

class Model:
    def __init__(self):
        self.v = rate

def isinstance(x, c):
    return c().v

def f(x):
    return x * isinstance(x, Model)

def change():
    global rate
    rate = 2.0
""",
    "a class that is compared with an object of one's own": r"""
rate = 1.0

class Model:
    def __init__(self):
        self.v = rate

class Spec:
    def __eq__(self, k):
        return k().v > 1.5

    __hash__ = None

model = Model.__new__(Model)
spec = Spec()

def f(x):
    return x * 2 if type(model) == spec else x * 3

def change():
    global rate
    rate = 2.0
""",
    "type under another name": r"""
T = type
rate = 1.0

class Model:
    def __init__(self):
        self.v = rate

model = Model.__new__(Model)

def f(x):
    return x * T(model)().v

def change():
    global rate
    rate = 2.0
""",
    "type as a default": r"""
rate = 1.0

class Model:
    def __init__(self):
        self.v = rate

model = Model.__new__(Model)

def f(x, kind=type):
    return x * kind(model)().v

def change():
    global rate
    rate = 2.0
""",
    "copy under another name": r"""
from copy import copy as duplicate

rate = 1.0

class Model:
    def __init__(self):
        self.v = 1

    def __copy__(self):
        c = Model.__new__(Model)
        c.v = rate
        return c

model = Model()

def f(x):
    return x * duplicate(model).v

def change():
    global rate
    rate = 2.0
""",
    "__reduce__ for copy under another name": r"""
from copy import copy as duplicate

rate = 1.0

class Model:
    def __init__(self):
        self.v = 1

    def __reduce__(self):
        return (make, ())

def make():
    c = Model.__new__(Model)
    c.v = rate
    return c

model = Model()

def f(x):
    return x * duplicate(model).v

def change():
    global rate
    rate = 2.0
""",
    "replace under another name": r"""
from dataclasses import replace as rep, dataclass

rate = 1.0

@dataclass
class Model:
    a: float
    v: float = 0.0

    def __post_init__(self):
        self.v = rate * self.a

model = Model(1.0)

def f(x):
    return x * rep(model, a=3.0).v

def change():
    global rate
    rate = 2.0
""",
    "attrgetter under another name": r"""
from operator import attrgetter as ag

class Model:
    pass

model = Model()
model.scale = 1.0
NAME = "scale"

def f(x):
    return x * ag(NAME)(model)

def change():
    model.scale = 2.0
""",
    "attrgetter of dotted names under another name": r"""
from operator import attrgetter as ag

class Model:
    pass

model = Model()
model.m = Model()
model.m.scale = 1.0

def f(x):
    return x * ag("m.scale")(model)

def change():
    model.m.scale = 2.0
""",
    "methodcaller under another name": r"""
from operator import methodcaller as mc

rate = 1.0

class Model:
    def go(self):
        return rate

model = Model()
NAME = "go"

def f(x):
    return x * mc(NAME)(model)

def change():
    global rate
    rate = 2.0
""",
    "tree_map under another name": r"""
from lindiff import tree_map as tm
from dataclasses import dataclass

rate = 1.0

def g(x):
    return x * rate

@dataclass
class Cfg:
    fn: object

model = Cfg(g)

def f(x):
    out = []
    tm(lambda h: out.append(h(x)), model)
    return out[0]

def change():
    global rate
    rate = 2.0
""",
    "astuple under another name": r"""
from dataclasses import dataclass, astuple as at

rate = 1.0

def g(x):
    return x * rate

@dataclass
class Cfg:
    fn: object

model = Cfg(g)

def f(x):
    return at(model)[0](x)

def change():
    global rate
    rate = 2.0
""",
    "flatten of fields that are functions": r"""
from dataclasses import dataclass

rate = 1.0

def g(x):
    return x * rate

@dataclass
class Cfg:
    fn: object

model = Cfg(g)

def f(x):
    leaves, _ = ld.core.pytree.flatten(model)
    return leaves[0](x)

def change():
    global rate
    rate = 2.0
""",
    "str under another name": r"""
Text = str
rate = "1.0"

class Model:
    def __str__(self):
        return rate

model = Model()

def f(x):
    return x * float(Text(model))

def change():
    global rate
    rate = "2.0"
""",
    "str in a dict": r"""
Text = {"s": str}
rate = "1.0"

class Model:
    def __str__(self):
        return rate

model = Model()

def f(x):
    return x * float(Text["s"](model))

def change():
    global rate
    rate = "2.0"
""",
    "attributes in the text of format": r"""
class Model:
    pass

model = Model()
model.scale = 1.0

def f(x):
    return x * float("{0.scale}".format(model))

def change():
    model.scale = 2.0
""",
    "format_map": r"""
rate = "1.0"

class Model:
    def __str__(self):
        return rate

model = Model()

def f(x):
    return x * float("{o}".format_map({"o": model}))

def change():
    global rate
    rate = "2.0"
""",
    "% in place": r"""
rate = "1.0"

class Model:
    def __str__(self):
        return rate

model = Model()

def f(x):
    t = "%s"
    t %= model
    return x * float(t)

def change():
    global rate
    rate = "2.0"
""",
    "operator.mod": r"""
import operator

rate = "1.0"

class Model:
    def __str__(self):
        return rate

model = Model()

def f(x):
    return x * float(operator.mod("%s", model))

def change():
    global rate
    rate = "2.0"
""",
    "string.Template": r"""
import string

rate = "1.0"

class Model:
    def __str__(self):
        return rate

model = Model()

def f(x):
    return x * float(string.Template("$o").substitute(o=model))

def change():
    global rate
    rate = "2.0"
""",
    "np.str_": r"""
rate = "1.0"

class Model:
    def __str__(self):
        return rate

model = Model()

def f(x):
    return x * float(np.str_(model))

def change():
    global rate
    rate = "2.0"
""",
    "an array of texts": r"""
rate = "1.0"

class Model:
    def __str__(self):
        return rate

model = Model()

def f(x):
    return x * float(np.array([model], dtype="U8")[0])

def change():
    global rate
    rate = "2.0"
""",
    "a bound format": r"""
class R:
    def __format__(self, spec):
        return rate

rate = "1.0"
r = R()
fmt = "{:x}".format

def f(x):
    return x * float(fmt(r))

def change():
    global rate
    rate = "2.0"
""",
    "__eq__ of a data class made by exec": r"""
from dataclasses import dataclass

rate = 1.0
exec("\n@dataclass\nclass Model:\n    fn: object\n    def __eq__(s,o): return s.fn(1.0)>1.5\n")

def g(x):
    return x * rate

model = Model(g)

def f(x):
    return x * 2 if model == model else x * 3

def change():
    global rate
    rate = 2.0
""",
    "__eq__ of a metaclass": r"""
from dataclasses import dataclass

rate = 1.0

class M(type):
    def __eq__(c, d):
        return rate > 1.5

    __hash__ = None

class D(metaclass=M):
    pass

class E(metaclass=M):
    pass

@dataclass
class Model:
    fn: object

model = Model(D)
p = Model(E)

def f(x):
    return x * 2 if model == p else x * 3

def change():
    global rate
    rate = 2.0
""",
    "repr of a field that is partial": r"""
from dataclasses import dataclass
import functools

L = [1.0]

def g(a):
    pass

@dataclass
class Model:
    fn: object

model = Model(functools.partial(g, L))

def f(x):
    return x * len(repr(model))

def change():
    L.append(3.0)
""",
    "repr of a field that is a function": r"""
from dataclasses import dataclass

@dataclass
class Model:
    fn: object

def g():
    pass

a = Model(g)

def f(x):
    return x * len(repr(a))

def change():
    g.__qualname__ = "abcdef"
""",
    "__del__ of a local object": r"""
rate = 1.0

class T:
    def __init__(self, out):
        self.out = out

    def __del__(self):
        self.out.append(rate)

def f(x):
    out = []
    t = T(out)
    del t
    return x * out[0]

def change():
    global rate
    rate = 2.0
""",
    "the deleter of a property": r"""
rate = 1.0

class Model:
    v = 0.0

    def _d(self):
        self.v = rate

    p = property(None, None, _d)

def f(x):
    c = Model()
    del c.p
    return x * c.v

def change():
    global rate
    rate = 2.0
""",
    "a property of a kind of one's own": r"""
rate = 1.0

class P(property):
    def __get__(self, model, t=None):
        return rate * 2

class Model:
    p = P(lambda self: 1.0)

model = Model()

def f(x):
    return x * model.p

def change():
    global rate
    rate = 2.0
""",
    "a cached_property of a kind of one's own": r"""
import functools

rate = 1.0

class P(functools.cached_property):
    def __get__(self, model, t=None):
        return rate * 2

class Model:
    p = P(lambda self: 1.0)

model = Model()

def f(x):
    return x * model.p

def change():
    global rate
    rate = 2.0
""",
    "a staticmethod of a kind of one's own": r"""
rate = 1.0

class P(staticmethod):
    def __get__(self, model, t=None):
        return rate * 2

class Model:
    p = P(lambda self: 1.0)

model = Model()

def f(x):
    return x * model.p

def change():
    global rate
    rate = 2.0
""",
    "frompyfunc": r"""
rate = 1.0
uf = np.frompyfunc(lambda v: v * rate, 1, 1)

def f(x):
    return x * uf(2.0)

def change():
    global rate
    rate = 2.0
""",
    "cmp_to_key": r"""
import functools

rate = 1.0
key = functools.cmp_to_key(lambda a, b: (a - b) * rate)
L = [3.0, 1.0, 2.0]

def f(x):
    return x * sorted(L, key=key)[0]

def change():
    global rate
    rate = -1.0
""",
    "a class in a generic alias": r"""
class B(list):
    def __init__(self):
        self.v = rate

import types

A = types.GenericAlias(B, (int,))
rate = 1.0

def f(x):
    return x * A().v

def change():
    global rate
    rate = 2.0
""",
    "__class_getitem__": r"""
class B:
    def __init__(self):
        self.v = rate

class G:
    __class_getitem__ = classmethod((types_GA := __import__("types").GenericAlias))

    def __init__(self):
        self.v = rate

A = G[int]
rate = 1.0

def f(x):
    return x * A().v

def change():
    global rate
    rate = 2.0
""",
    "the level of a logger": r"""
import logging

log = logging.getLogger("b22")
log.setLevel(logging.WARNING)

def f(x):
    if log.isEnabledFor(logging.DEBUG):
        x = x * 2
    return x

def change():
    log.setLevel(logging.DEBUG)
""",
    "an attribute of a logger": r"""
import logging

log = logging.getLogger("b22x")
log.scale = 1.0

def f(x):
    return x * log.scale

def change():
    log.scale = log.scale + 1
""",
    "np.amax of an object": r"""
rate = 1.0

class Model:
    def max(self, axis=None, out=None, **k):
        return rate

model = Model()

def f(x):
    return x * np.amax(model)

def change():
    global rate
    rate = 2.0
""",
    "an event of solve_ivp": r"""
from scipy.integrate import solve_ivp

class Ev:
    def __call__(self, t, y):
        return y[0] - 0.5

ev = Ev()
ev.terminal = False

def f(x):
    return x * solve_ivp(lambda t, y: -y, (0.0, 2.0), [1.0], events=ev).y[0, -1]

def change():
    ev.terminal = True
""",
    "an __index__ in itemgetter": r"""
import operator

rate = 0

class I:
    def __index__(self):
        return rate

ig = operator.itemgetter(I())
L = [1.0, 2.0]

def f(x):
    return x * ig(L)

def change():
    global rate
    rate = 1
""",
    "an __index__ in a slice": r"""
rate = 1

class I:
    def __index__(self):
        return rate

SL = slice(I())
L = [1.0, 2.0]

def f(x):
    return x * len(L[SL])

def change():
    global rate
    rate = 2
""",
    "the metadata of a dtype": r"""
dt = np.dtype("f8", metadata={"s": [1.0]})

def f(x):
    return x * dt.metadata["s"][0]

def change():
    dt.metadata["s"][0] = 2.0
""",
    "the docstring of a function": r'''
def g():
    """1.0"""

def f(x):
    return x * float(g.__doc__)

def change():
    g.__doc__ = "2.0"
''',
    "the name of a function": r'''
def g():
    """1.0"""

T = {"g": 1.0, "h": 2.0}

def f(x):
    return x * T[g.__name__]

def change():
    g.__name__ = "h"
''',
    "the name of a class": r"""
class Model:
    pass

T = {"Model": 1.0, "h": 2.0}
model = Model()

def f(x):
    return x * T[type(model).__name__]

def change():
    Model.__name__ = "h"
""",
    "__sizeof__": r"""
import sys

rate = 1

class D:
    def __sizeof__(self):
        return rate

model = D()

def f(x):
    return x * sys.getsizeof(model)

def change():
    global rate
    rate = 20
""",
    "constant_fields and _replace": r"""
rate = 1.0

class T:
    _fields = ("a", "b")

    def __init__(self, a, b):
        self.a = a
        self.b = b

    def constant_fields(self):
        return ("b",)

    def _replace(self, **k):
        t = T.__new__(T)
        t.a = k["a"] * rate
        t.b = self.b
        return t

t = T(1.0, 2.0)

def f(x):
    return x * ld.tree_map(lambda v: v + 1, t).a

def change():
    global rate
    rate = 2.0
""",
    "np.amin of an object": r"""
class Box:
    def __init__(self):
        self.lo = np.zeros(2)

    def min(self, axis=None, out=None):
        return self.lo[0]

model = Box()

def f(x):
    return x + np.amin(model)

def change():
    model.lo[0] = 3.0
""",
}

X = np.array([0.5, -1.0, 2.0])


@pytest.fixture
def module(request, monkeypatch):
    made = types.ModuleType("read_by_a_test")
    monkeypatch.setitem(sys.modules, made.__name__, made)
    made.np, made.ld = np, ld
    exec(compile(request.param, "<a test>", "exec"), vars(made))
    return made


@pytest.mark.filterwarnings("ignore:.*:RuntimeWarning")
@pytest.mark.parametrize("calls", [2, 4])
@pytest.mark.parametrize("module", MODULES.values(), ids=MODULES, indirect=True)
def test_what_is_read_changes(module, calls):
    fast = ld.program(module.f)
    for _ in range(calls):
        np.testing.assert_array_equal(fast(X), module.f(X))
    before = module.f(X)
    module.change()
    assert not np.array_equal(before, module.f(X))
    for _ in range(3):
        np.testing.assert_array_equal(fast(X), module.f(X))
