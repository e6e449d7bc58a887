"""What dataclasses have besides the fields that they were given, wherever they are given back with others."""

import collections
import copy
import dataclasses
import functools
import types
from collections import deque
from typing import Any, NamedTuple
from unittest import mock

import numpy as np
import pytest
import scipy.sparse
from scipy.spatial import cKDTree

import lindiff as ld
from lindiff.scipy import integrate

X = np.array([1.0, 2.0])


@dataclasses.dataclass
class InPercent:
    """Whose field is written when it is made."""

    a: Any

    def __post_init__(self):
        self.a = self.a * 100


@dataclasses.dataclass
class Switched:
    a: Any
    training: bool = dataclasses.field(default=True, init=False)
    t: int = dataclasses.field(default=2, init=False)
    power = 1

    def __post_init__(self):
        self.square = self.a**2
        self.name = "a name"
        self.function = np.square


def loss(p):
    return np.sum(p.function(p.a) + p.square) * p.t * p.power * (0.5 if p.training else 1.0)


def switched(a):
    p = Switched(a)
    p.training, p.t, p.function, p.power = False, 10, np.exp, 3
    return p


TRANSFORMS = {
    "grad": lambda f, p: ld.value_and_grad(f)(p)[0],
    "jvp": lambda f, p: ld.jvp(f, (p,), (p,))[0],
    "linearize": lambda f, p: ld.linearize(f, p)[0],
    "checkpoint": lambda f, p: ld.checkpoint(f)(p),
    "program": lambda f, p: ld.program(f)(p),
    "value": lambda f, p: f(ld.value(p)),
    "stop_gradient": lambda f, p: f(ld.stop_gradient(p)),
    "ravel": lambda f, p: f(ld.ravel(p)[1](ld.ravel(p)[0])),
    "tree_map": lambda f, p: f(ld.tree_map(lambda x: x, p)),
    "vmap": lambda f, p: ld.vmap(f)(ld.tree_map(lambda x: x[None], p))[0],
}


@pytest.mark.parametrize("transform", TRANSFORMS.values(), ids=TRANSFORMS)
def test_values_are_those_of_the_function(transform):
    for record in (Switched(X), switched(X)):
        np.testing.assert_allclose(transform(loss, record), loss(record), rtol=1e-14)
    written = InPercent(X)
    assert transform(lambda p: np.sum(p.a**2), written) == np.sum(written.a**2)


def test_what_is_made_of_fields_has_their_derivatives():
    slope = ld.grad(loss)(switched(X))
    np.testing.assert_allclose(slope.a, 30 * (np.exp(X) + 2 * X))
    again = ld.checkpoint(loss)
    np.testing.assert_allclose(ld.grad(again)(switched(X)).a, slope.a)
    second = ld.hvp(loss, (switched(X),), (switched(np.ones(2)),))
    np.testing.assert_allclose(second.a, 30 * (np.exp(X) + 2))


def test_results_have_what_was_set():
    for found in (
        ld.jvp(switched, (X,), (X,))[0],
        ld.vjp(switched, X)[0],
        ld.linearize(switched, X)[0],
        ld.checkpoint(switched)(X),
        ld.program(switched)(X),
        ld.value_and_grad(lambda a: (np.sum(a), switched(a)), has_aux=True)(X)[0][1],
    ):
        assert (found.t, found.training, found.power, found.function) == (10, False, 3, np.exp)
        np.testing.assert_array_equal(found.square, X**2)
    many = ld.vmap(switched)(np.arange(6.0).reshape(3, 2))
    assert (many.t, many.square, many.function) == (10, None, np.exp)

    def counted(a):
        p = Switched(a)
        p.t = int(a[0])
        return p

    with pytest.raises(TypeError, match="its results have different t: make it a field that is given"):
        ld.vmap(counted)(np.arange(6.0).reshape(3, 2))


def test_numbers_that_are_set_later_are_refused():
    def made(a):
        p = Switched(a)
        p.t = 2 * np.sum(a)
        return p

    for call in (
        lambda: ld.jvp(made, (X,), (X,)),
        lambda: ld.checkpoint(made)(X),
        lambda: ld.grad(loss)(made(X)),
        lambda: ld.vmap(loss)(made(np.ones((3, 2)))),
    ):
        with pytest.raises(TypeError, match="Switched has t, which is not what it makes of the fields"):
            call()


def test_steps_of_searches_do_not_write_again():
    p = InPercent(X)
    method = ld.descent.sgd(0.1)
    slope = ld.grad(lambda q: np.sum((q.a - 150.0) ** 2))(p)
    np.testing.assert_allclose(method.update(slope, method.init(p), p)[0].a, [110, 190])
    run = ld.descent.Descent(
        lambda q, X: np.sum(q.a**2), p, ld.descent.sgd(0.0), (np.ones((4, 1)),), size=4, rng=0
    )
    np.testing.assert_array_equal(run.params.a, p.a)
    np.testing.assert_array_equal(run.resume(run.snapshot()).params.a, p.a)
    solved = ld.implicit(lambda q: q.a / 2, lambda y, q: 2 * y - q.a)
    np.testing.assert_array_equal(solved(p), p.a / 2)
    path = integrate.solve_ivp(lambda t, y: InPercent(-y.a / 100), (0, 1.0), p)
    np.testing.assert_array_equal(path.y.a[:, 0], p.a)


@dataclasses.dataclass
class Unit:
    a: Any

    def __post_init__(self):
        self.norm = np.sqrt(np.sum(self.a**2))
        self.a = self.a / self.norm


@dataclasses.dataclass
class Layer:
    a: Any
    factor: dataclasses.InitVar[float] = 2.0

    def __post_init__(self, factor):
        self.product = factor * self.a


@dataclasses.dataclass
class Chosen:
    a: Any
    kind: dataclasses.InitVar[str] = "square"

    def __post_init__(self, kind):
        self.scale = 2.0
        self.function = {"square": np.square, "tanh": np.tanh}[kind]


@dataclasses.dataclass
class Late:
    a: Any
    found: Any = dataclasses.field(default=None, init=False)
    _kept: Any = dataclasses.field(default=None, init=False, repr=False)

    def kept(self):
        if self._kept is None:
            self._kept = self.a**2
        return self._kept

    @functools.cached_property
    def cube(self):
        return self.a**3


def test_numbers_of_which_nobody_can_tell_where_they_are_from():
    with pytest.raises(TypeError, match="Unit has norm, which is not what it makes of the fields"):
        ld.grad(lambda p: np.sum(p.a) * p.norm)(Unit(X))
    for layer in (Layer(X, factor=3.0), Layer(0 * X), Layer(0 * X, factor=3.0)):
        with pytest.raises(TypeError, match="has made product by its arguments factor"):
            ld.grad(lambda p: np.sum(p.product))(layer)
    moved = Switched(X)
    moved.square = np.ones(2)
    with pytest.raises(TypeError, match="Switched has square, which is not what it makes"):
        ld.grad(loss)(moved)
    late = Late(X)
    late.found = X
    with pytest.raises(TypeError, match="Late has found, which is not what it makes"):
        ld.grad(lambda p: np.sum(p.a))(late)


def test_arguments_that_are_no_fields():
    def f(p):
        return np.sum(p.function(p.a)) * p.scale

    value, slope = ld.value_and_grad(f)(Chosen(X, "tanh"))
    assert value == f(Chosen(X, "tanh"))
    np.testing.assert_allclose(slope.a, 2 / np.cosh(X) ** 2)
    np.testing.assert_array_equal(ld.grad(lambda p: np.sum(p.product))(Layer(X)).a, [2, 2])


def test_what_is_kept_for_later_is_computed_again():
    late = Late(X)
    assert np.sum(late.cube) == 9.0
    np.testing.assert_allclose(ld.grad(lambda p: np.sum(p.kept() + p.cube))(late).a, 2 * X + 3 * X**2)
    assert ld.checkpoint(lambda p: np.sum(p.kept() + p.cube))(Late(X)) == 14.0
    late.kept()  # or is it a scale that was fitted?
    with pytest.raises(TypeError, match=r"Late has _kept, .* or a functools\.cached_property"):
        ld.grad(lambda p: np.sum(p.kept()))(late)


@dataclasses.dataclass
class Behind:
    a: Any

    def __setattr__(self, name, x):
        self.__dict__[name] = x


class Doubling:
    a = property(lambda self: self.__dict__["_a"], lambda self, x: self.__dict__.update(_a=2 * x))


Doubled = dataclasses.make_dataclass("Doubled", [("a", Any, dataclasses.field())], bases=(Doubling,))


def test_fields_that_change_what_is_set():
    assert ld.grad(lambda p: np.sum(p.a**2))(Behind(X)).a[1] == 4.0
    with pytest.raises(TypeError, match="Doubled has _a, which is not what it makes"):
        ld.grad(lambda p: np.sum(p.a**2))(Doubled(X))


def test_constructors_of_ones_own():
    @dataclasses.dataclass
    class Own:
        a: Any

        def __init__(self, a):
            self.a = a * 2

    value, slope = ld.value_and_grad(lambda p: np.sum(p.a**2))(Own(X))
    assert value == 20.0
    np.testing.assert_array_equal(slope.a, 4 * X)


def test_checkpoints_do_not_lose_what_a_function_writes():
    def counted(p):
        p.t = p.t + 1
        return np.sum(p.a) * p.t

    with pytest.raises(TypeError, match="counted changes its argument 'p', a Switched"):
        ld.checkpoint(counted)(Switched(X))


class Rows(list):
    def __init__(self, items=(), name="rows"):
        super().__init__(items)
        self.name = name
        self.count = len(self)


class Total(list):
    def __init__(self, items=(), scale=1.0):
        super().__init__(items)
        self.total = scale * sum(np.sum(item) for item in self)


class Named(dict):
    name = ""


class Ordered(collections.OrderedDict):
    name = ""


class Fixed(tuple):
    name = ""


class Attributes(dict):
    def __init__(self, *args, **kwargs):
        super().__init__(*args, **kwargs)
        self.__dict__ = self


@pytest.mark.parametrize(
    "tree", [Rows([X]), Named(a=X), Ordered(a=X), Fixed([X])], ids=lambda x: type(x).__name__
)
def test_containers_keep_their_attributes(tree):
    tree.name = "scaled"
    key = "a" if isinstance(tree, dict) else 0

    def f(p):
        return np.sum(p[key] ** 2) * len(p.name)

    value, slope = ld.value_and_grad(f)(tree)
    assert value == f(tree) == 30.0
    assert type(slope) is type(tree)
    np.testing.assert_array_equal(slope[key], 12 * X)


def test_containers_of_other_kinds():
    np.testing.assert_array_equal(ld.grad(lambda p: np.sum(p.a**2))(Attributes(a=X)).a, 2 * X)
    counts = ld.grad(lambda p: p["a"] ** 2)(collections.Counter(a=3.0))
    assert counts == {"a": 6.0}
    made = ld.grad(lambda p: p.total**2)(Total([X]))
    np.testing.assert_array_equal(made[0], [6, 6])
    with pytest.raises(TypeError, match="Total has total besides its items, which it does not make of them"):
        ld.grad(lambda p: p.total**2)(Total([X], 2.0))


@pytest.mark.parametrize(
    "held",
    [lambda x: collections.deque([x]), lambda x: types.SimpleNamespace(a=x)],
    ids=["deque", "namespace"],
)
def test_gradients_are_not_stopped_in_other_objects(held):
    with pytest.raises(TypeError, match="stop_gradient takes arrays and trees of them, and a "):
        ld.grad(lambda x: np.sum(x) * bool(ld.stop_gradient(held(x))))(X)


@dataclasses.dataclass
class Normal:
    """Whose fields are normalized, and used, and of a certain form."""

    q: Any

    def __post_init__(self):
        self.q = self.q / np.sqrt(np.sum(self.q**2))
        assert self.q.shape == (4,)
        self.outer = self.q[:, None] * self.q


def test_what_is_normalized_once_more_is_the_same():
    for seed in range(50):
        q = np.random.default_rng(seed).normal(size=4)
        record = Normal(q)
        slope = ld.grad(lambda p: np.sum(p.outer[0]))(record).q
        expected = ld.grad(lambda q: np.sum(Normal(q).outer[0]))(record.q)
        np.testing.assert_allclose(slope, expected, atol=1e-14)


def test_records_among_the_arguments_of_integrands():
    record = Normal(np.arange(1.0, 5.0))

    def area(p):
        return integrate.quad(lambda t, p: t * np.sum(p.outer[0]), 0.0, 2.0, args=(p,))[0]

    expected = 2 * ld.grad(lambda p: np.sum(p.outer[0]))(record).q
    np.testing.assert_allclose(ld.grad(area)(record).q, expected, atol=1e-14)


@dataclasses.dataclass
class Checked:
    L: Any
    dtype: type = dataclasses.field(default=np.float64, init=False)

    def __post_init__(self):
        if np.ndim(self.L) != 2:
            raise ValueError("L is a matrix")
        self.trace = np.sum(np.diagonal(self.L))
        self.pair = (self.trace, {"twice": 2 * self.L})
        self.laplacian = scipy.sparse.csr_array([[2.0, -1.0], [-1.0, 2.0]])


def test_results_of_elements_are_stacked():
    X = np.arange(12.0).reshape(3, 2, 2)
    many = ld.vmap(lambda L: Checked(L @ L))(X)
    assert (many.trace, many.pair, many.dtype) == (None, None, np.float64)
    np.testing.assert_array_equal(many.L, X @ X)
    expected = [Checked(L @ L).trace for L in X]
    np.testing.assert_array_equal(ld.vmap(lambda p: p.trace)(many), expected)
    slope = ld.grad(lambda X: np.sum(ld.vmap(lambda p: p.trace)(ld.vmap(Checked)(X))))(X)
    np.testing.assert_array_equal(slope, np.stack([np.eye(2)] * 3))


def test_sparse_matrices_and_types_that_are_made():
    record = Checked(np.eye(2))
    record.dtype = np.float32
    slope = ld.grad(lambda p: np.sum(p.laplacian.toarray() @ p.L) * p.trace * (p.dtype is np.float32))(record)
    np.testing.assert_array_equal(slope.L, np.ones((2, 2)) * 2 + 2 * np.eye(2))


def test_constructors_without_a_file():
    names = {"dataclasses": dataclasses, "Any": Any, "np": np}
    exec(  # as in python -c
        "@dataclasses.dataclass\n"
        "class Own:\n    a: Any\n    def __init__(self, a):\n        self.a = a\n        self.b = a * 3\n",
        names,
    )
    np.testing.assert_array_equal(ld.grad(lambda p: np.sum(p.b))(names["Own"](X)).a, [3, 3])


@dataclasses.dataclass
class Plain:
    """Which takes no Variables."""

    a: Any
    later: Any = dataclasses.field(default=None, init=False)

    def __post_init__(self):
        self.norm = float(np.linalg.norm(np.asarray(self.a)))


def test_classes_that_take_plain_arrays_alone():
    with pytest.raises(TypeError, match="a Variable does not turn into a plain array silently"):
        ld.grad(lambda p: np.sum(p.a) * p.norm)(Plain(X))


@dataclasses.dataclass
class Trained:
    a: Any

    def __post_init__(self):
        self._training = True
        self.mask = np.array([1.0, 0.0])

    def __call__(self, x):
        return np.sum(self.a * x * (1.0 if self.mask is None else self.mask)) * (1 + self._training)


def test_private_switches_and_what_is_none_or_missing_stay():
    p = Trained(X)
    p._training, p.mask = False, None
    value, slope = ld.value_and_grad(lambda p: p(X))(p)
    assert value == p(X) == ld.checkpoint(lambda p: p(X))(p) == ld.stop_gradient(p)(X)
    np.testing.assert_array_equal(slope.a, X)
    np.testing.assert_array_equal(ld.vmap(lambda x, p: p(x), (0, None))(np.stack([X, X]), p), [value, value])
    assert ld.tree_map(np.negative, p).mask is None
    del p.mask
    assert not hasattr(ld.tree_map(np.negative, p), "mask")


@dataclasses.dataclass
class Whole:
    a: Any

    def __post_init__(self):
        self.square = self.a**2
        self.names = [f"x{i}" for i in range(int(ld.value(np.sum(self.a))))]
        self.sizes = [int(ld.value(np.sum(self.a))), 1]


def test_whole_numbers_are_made_again_too():
    whole = Whole(np.array([2, 3]))
    np.testing.assert_array_equal(ld.grad(lambda p: np.sum(p.square))(whole).a, [4, 6])
    np.testing.assert_array_equal(ld.vmap(lambda p: 1.0 * p.square)(Whole(np.array([2, 3]))), [4, 9])
    twice = ld.tree_map(lambda x: 2 * x, whole)
    assert (list(twice.square), len(twice.names), twice.sizes) == ([16, 36], 10, [10, 1])

    class Total(list):
        def __init__(self, items):
            super().__init__(items)
            self.total = sum(self)

    assert ld.grad(lambda p: p[0] * p.total)(Total([2, 3])) == [7, 2]


class Factor:
    __slots__ = ("L",)

    def __init__(self, t):
        self.L = np.exp(t)


@dataclasses.dataclass
class Hidden:
    a: Any

    def __post_init__(self):
        self.factor = Factor(self.a)
        self.shown = types.MappingProxyType({"square": self.a**2})
        self.tree = cKDTree(np.reshape(ld.value(self.a), (-1, 1)))
        self.rng = np.random.default_rng(0)


def test_what_is_made_of_fields_is_found_where_it_hides():
    def f(p):
        return np.sum(p.factor.L) + np.sum(p.shown["square"])

    np.testing.assert_allclose(ld.grad(f)(Hidden(X)).a, np.exp(X) + 2 * X)
    np.testing.assert_allclose(ld.jvp(f, (Hidden(X),), (Hidden(X),))[1], np.sum((np.exp(X) + 2 * X) * X))
    p = Hidden(X)
    p.rng.uniform()
    moved = ld.tree_map(lambda x: x + 10, p)
    assert moved.tree.query([11.0])[0] == 0.0
    assert moved.rng is p.rng  # whose state is its own


def test_classes_that_write_to_the_arrays_that_they_are_given():
    @dataclasses.dataclass
    class Jittered:
        K: Any

        def __post_init__(self):
            self.K += 0.5

    K = np.array([2.0, 2.0])
    p = Jittered(K)
    p.name = "jittered"
    value, slope = ld.value_and_grad(lambda p: np.sum(p.K**2))(p)
    assert (value, list(slope.K), list(K)) == (12.5, [5.0, 5.0], [2.5, 2.5])
    np.testing.assert_array_equal(ld.tree_map(lambda x: x, p).K, [2.5, 2.5])


class Clipped:
    """A descriptor that keeps what it is given elsewhere."""

    def __set_name__(self, owner, name):
        self.name = "_" + name

    def __get__(self, instance, owner):
        return 1.0 if instance is None else getattr(instance, self.name)

    def __set__(self, instance, x):
        setattr(instance, self.name, np.minimum(x, 5.0))


def test_fields_that_are_descriptors_are_refused():
    @dataclasses.dataclass
    class Item:
        a: Any = Clipped()

    with pytest.raises(TypeError, match="Item has _a, which is not what it makes"):
        ld.grad(lambda p: p.a**2)(Item(3.0))


def test_containers_that_are_their_own_copies_are_refused():
    class Frozen(dict):
        def __copy__(self):
            return self

    p = Frozen(a=2.0)
    with pytest.raises(TypeError, match="Frozen gives itself for a copy"):
        ld.tree_map(lambda x: 10 * x, p)
    assert p == {"a": 2.0}


def test_static_fields_of_stacked_results_must_be_the_same():
    @dataclasses.dataclass
    class Found:
        x: Any
        steps: int = dataclasses.field(default=0, metadata={"static": True})

    with pytest.raises(TypeError, match="different steps: make it a field that is given, and not static"):
        ld.vmap(lambda a: Found(a, 1 if a < 2 else 2))(X)
    assert ld.vmap(lambda a: Found(a, 3))(X).steps == 3


class Point(NamedTuple):
    x: Any
    y: Any


class Turned(NamedTuple):
    y: Any
    x: Any


class Scaled(Point):
    scale = 1.0


def test_named_tuples_of_other_names_and_with_attributes():
    with pytest.raises(ValueError, match="has a Turned of y, x where the primals has a Point of x, y"):
        ld.jvp(lambda p: p.x + 2 * p.y, (Point(1.0, 1.0),), (Turned(1.0, 0.0),))
    p = Scaled(1.0, 2.0)
    p.scale = 4.0
    with pytest.raises(TypeError, match="Scaled has scale besides its items"):
        ld.grad(lambda p: p.x * p.scale)(p)


def test_records_that_hold_themselves():
    @dataclasses.dataclass
    class Node:
        w: Any
        parent: Any = None

    node = Node(2.0)
    node.parent = node
    with pytest.raises(RecursionError, match="a tree that is very deep, or holds itself"):
        ld.grad(lambda n: n.w)(node)


@pytest.mark.parametrize("program", [False, True])
def test_checkpoints_find_results_wherever_they_are(program):
    def in_a_deque(x):
        return 2 * x, deque([(2 * x) ** 2])

    def in_a_closure(x):
        square = (2 * x) ** 2
        return 2 * x, lambda: square

    for step, of_result in ((in_a_deque, lambda r: r[0]), (in_a_closure, lambda r: r())):
        once_more = ld.checkpoint(step, program=program)
        assert (
            ld.grad(lambda x, once_more=once_more, of_result=of_result: of_result(once_more(x)[1]))(3.0) == 24
        )


def test_objects_that_answer_whatever_they_are_asked():
    p = Trained(X)
    p.tracer = mock.Mock()
    np.testing.assert_array_equal(ld.grad(lambda p: np.sum(p.a**2))(p).a, 2 * X)


@dataclasses.dataclass
class Dropped:
    a: Any
    seed: int = dataclasses.field(default=0, metadata={"static": True})

    def __post_init__(self):
        self.rng = np.random.default_rng(self.seed)
        self._memo = {}

    def __call__(self):
        if "square" not in self._memo:
            self._memo["square"] = self.a**2
        return np.sum(self._memo["square"] * (self.rng.random(2) < 0.5))


def test_generators_go_on_and_private_caches_begin_anew():
    p, q = Dropped(X), Dropped(X)
    for _ in range(6):
        assert ld.value_and_grad(lambda p: p())(p)[0] == q()
    p()
    np.testing.assert_array_equal(ld.grad(lambda p: np.sum(p.a) + 0 * p())(p).a, [1, 1])
    twice = ld.tree_map(lambda x: 2 * x, p)
    twice()
    np.testing.assert_array_equal(p._memo["square"], X**2)
    np.testing.assert_array_equal(twice._memo["square"], 4 * X**2)


@dataclasses.dataclass
class Shaped:
    a: Any

    def __post_init__(self):
        self.shape = np.shape(self.a)
        self.over = [bool(x > 10) for x in ld.value(self.a).ravel()]
        self.kind = "positive" if ld.value(self.a).ravel()[0] > 0 else "negative"


def test_what_depends_on_shapes_and_signs_is_made_again():
    rows = np.arange(6.0).reshape(3, 2)
    means = ld.vmap(lambda p: np.sum(p.a) / p.shape[0])(Shaped(rows))
    np.testing.assert_array_equal(means, np.mean(rows, axis=1))
    assert ld.tree_map(lambda x: x[:1], Shaped(X)).shape == (1,)
    assert ld.tree_map(lambda x: 6 * x, Shaped(X)).over == [False, True]
    signed = np.array([[1.0], [-2.0], [3.0]])
    kinds = ld.vmap(lambda p: np.sum(p.a) * (2 if p.kind == "positive" else 3))
    np.testing.assert_array_equal(kinds(ld.vmap(Shaped)(signed)), [2, -6, 6])


def test_classes_that_write_to_arrays_further_down():
    @dataclasses.dataclass
    class Outer:
        layer: Any
        named: Any

        def __post_init__(self):
            self.layer.a += 0.5
            self.named["b"] += 0.5

    p = Outer(Behind(np.array([2.0, 2.0])), collections.OrderedDict(b=np.array([1.0])))
    p.name = "outer"
    value, slope = ld.value_and_grad(lambda p: np.sum(p.layer.a**2) + p.named["b"][0])(p)
    assert (value, list(slope.layer.a), list(p.layer.a), list(p.named["b"])) == (
        14.0,
        [5, 5],
        [2.5, 2.5],
        [1.5],
    )
    assert list(ld.tree_map(lambda x: x, p).layer.a) == list(p.layer.a) == [2.5, 2.5]


@dataclasses.dataclass(slots=True)
class InSlots:
    a: Any
    square: Any = dataclasses.field(init=False)

    def __post_init__(self):
        self.square = self.a**2


@dataclasses.dataclass
class Unslotted:
    a: Any
    square: Any = dataclasses.field(init=False)

    def __post_init__(self):
        self.square = self.a**2


def test_stacked_results_and_copies_of_them_are_made_whole():
    cubes = ld.vmap(lambda p: p.a * p.square)
    many = np.array([1.0, 2.0, 3.0])
    for of in (InSlots, Unslotted):
        stacked = ld.vmap(of)(many)
        assert stacked.square is None
        np.testing.assert_array_equal(cubes(stacked), many**3)
        slope = ld.grad(lambda p: p.a * p.square)(of(2.0))
        assert (slope.a, slope.square) == (12.0, None)
        assert ld.value_and_grad(lambda p: p.a * p.square)(slope)[0] == 12.0**3
    for copied in (copy.copy, copy.deepcopy):
        np.testing.assert_array_equal(cubes(copied(ld.vmap(Unslotted)(many))), many**3)
        with pytest.raises(TypeError, match="InSlots has square"):  # None, and nobody can tell why
            cubes(copied(ld.vmap(InSlots)(many)))


def test_classes_that_write_to_arrays_that_have_no_derivative():
    @dataclasses.dataclass
    class Table:
        a: Any
        counts: Any
        fixed: Any = dataclasses.field(metadata={"static": True})

        def __post_init__(self):
            self.counts += 1
            self.fixed += 0.5
            self.memo = {}

    counts, fixed = np.array([1, 2]), np.array([1.0])
    p = Table(X, counts, fixed)
    assert list(ld.grad(lambda p: np.sum(p.a * p.counts) + p.fixed[0])(p).a) == [2.0, 3.0]
    assert (list(counts), list(fixed)) == ([2, 3], [1.5])
