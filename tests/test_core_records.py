"""What dataclasses have besides the fields that they were given, wherever they are given back with others."""

import collections
import dataclasses
import functools
import types
from typing import Any

import numpy as np
import pytest
import scipy.sparse

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
    assert np.sum(late.kept() + late.cube) == 14.0
    np.testing.assert_allclose(ld.grad(lambda p: np.sum(p.kept() + p.cube))(late).a, 2 * X + 3 * X**2)
    assert ld.checkpoint(lambda p: np.sum(p.kept() + p.cube))(Late(X)) == 14.0


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
    with pytest.raises(TypeError, match="Doubled changes its field a where it is set"):
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
