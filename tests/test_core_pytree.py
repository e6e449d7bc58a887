"""Trees: tuples, lists, dicts, named tuples, dataclasses; None is empty."""

from __future__ import annotations

import collections
import dataclasses
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import lindiff as ld
from lindiff.core import pytree

Pair = collections.namedtuple("Pair", "left right")


@dataclasses.dataclass
class Node:
    a: object
    b: object = None
    count: int = dataclasses.field(default=0, init=False)


class Names(tuple):
    __slots__ = ()


def is_leaf(x):
    return isinstance(x, float)


trees = st.recursive(
    st.floats(allow_nan=False) | st.none(),
    lambda children: (
        st.lists(children, max_size=3)
        | st.lists(children, max_size=3).map(tuple)
        | st.lists(children, max_size=3).map(Names)
        | st.dictionaries(st.text(max_size=2) | st.integers(), children, max_size=3)
        | st.dictionaries(st.text(max_size=2), children, max_size=3).map(collections.OrderedDict)
        | st.builds(Pair, children, children)
        | st.builds(Node, children, children)
    ),
    max_leaves=12,
)


@given(trees)
def test_round_trip(tree):
    leaves, unflatten = pytree.flatten(tree)
    assert all(map(is_leaf, leaves))
    again = unflatten(leaves)
    assert again == tree
    assert type(again) is type(tree)
    doubled = pytree.tree_map(lambda x, y: x + y, tree, tree)
    assert pytree.flatten(doubled)[0] == [x + x for x in leaves]
    assert pytree.flatten_like(tree, tree, "tree", "tree") == leaves


def test_leaves_of_dictionaries_match_by_key():
    like = {"a": 1.0, "b": {"c": 2.0, "d": 3.0}}
    tree = {"b": {"d": 30.0, "c": 20.0}, "a": 10.0}
    assert pytree.flatten_like(tree, like, "tangent", "primal") == [10.0, 20.0, 30.0]


@pytest.mark.parametrize(
    ("tree", "like"),
    [
        ([1.0], [1.0, 2.0]),
        (1.0, [1.0]),
        ([1.0], 1.0),
        ({"a": 1.0}, {"b": 1.0}),
        (None, 1.0 and [1.0]),
        ([1.0], None),
        (Pair(1.0, 2.0), Node(1.0, 2.0)),
        ({"a": 1.0}, [1.0]),
        (Node(1.0), Node(1.0, 2.0)),
    ],
)
def test_other_structures_are_refused(tree, like):
    with pytest.raises(ValueError, match=r"the tangent has .* where the primal has"):
        pytree.flatten_like(tree, like, "tangent", "primal")


def test_special_dictionaries_keep_their_kind():
    tree = collections.defaultdict(list, a=1.0)
    again = pytree.tree_map(lambda x: x + 1, tree)
    assert type(again) is collections.defaultdict
    assert again.default_factory is list
    assert again == {"a": 2.0}


def test_zeros_and_zeros_but():
    zeros = pytree.zeros_like({"a": np.ones(2, "f4"), "b": [1.0, None]})
    assert zeros["a"].dtype == np.float32
    assert zeros["b"] == [0.0, None]
    assert pytree.zeros_but([1.0, (2.0, 3.0)], {(1, 0): 7.0}) == [0.0, (7.0, 0.0)]
    assert pytree.zeros_but(Pair(1.0, 2.0), {(1,): 7.0}) == Pair(0.0, 7.0)


@dataclasses.dataclass(frozen=True)
class InCentimetres:
    """Whose field is written when it is made."""

    length: Any
    offset: Any = 0.0

    def __post_init__(self):
        object.__setattr__(self, "length", self.length * 100)


@dataclasses.dataclass(frozen=True, slots=True)
class Checked:
    length: Any
    inverse: Any = dataclasses.field(init=False)

    def __post_init__(self):
        if not ld.value(self.length) > 0:
            raise ValueError("length is positive")
        object.__setattr__(self, "inverse", 1 / self.length)


@dataclasses.dataclass
class Begun:
    length: Any
    factor: dataclasses.InitVar[float] = 2.0

    def __post_init__(self, factor):
        self.scaled = self.length * 2


def test_records_make_of_other_fields_what_they_made_of_theirs():
    def f(x):
        return 2 * x.length**2 + 3 * x.offset

    x = InCentimetres(0.5)  # 50.0
    value, slope = ld.value_and_grad(f)(x)
    assert (value, slope.length, slope.offset) == (5000.0, 200.0, 3.0)
    assert ld.grad(ld.checkpoint(f))(x).length == 200.0
    assert ld.grad(lambda length: f(InCentimetres(length)))(0.5) == 20_000.0
    assert ld.grad(lambda length: ld.checkpoint(f)(InCentimetres(length)))(0.5) == 20_000.0
    direction = dataclasses.replace(x, length=0.01)  # 1.0
    assert ld.jvp(f, (x,), (direction,))[1] == 200.0
    moved = pytree.tree_map(lambda a: a + 1, x)
    assert (moved.length, moved.offset) == (51.0, 1.0)
    assert pytree.tree_map(lambda a: a + 1, Checked(1.0)).inverse == 0.5
    assert ld.jvp(lambda a: dataclasses.replace(x, length=a), (2.0,), (1.0,))[1].length == 100.0


def test_derivatives_are_not_checked_as_records_are():
    slope = ld.grad(lambda x: -3 * x.length + x.inverse)(Checked(2.0))
    assert slope.length == -3.25
    assert ld.grad(lambda x: x.length**2)(Begun(3.0)).length == 6.0


@dataclasses.dataclass
class Scaled:
    """What is made by an argument that no field keeps."""

    a: Any
    k: dataclasses.InitVar[float] = 2.0
    scaled: Any = dataclasses.field(init=False)

    def __post_init__(self, k):
        self.scaled = self.a * k


@dataclasses.dataclass
class Validated:
    a: Any
    most: dataclasses.InitVar[float]

    def __post_init__(self, most):
        assert np.all(ld.value(self.a) <= most)


@dataclasses.dataclass(slots=True)
class Doubled:
    a: Any
    name: str = dataclasses.field(default="", metadata={"static": True})

    def __post_init__(self):
        self.a = self.a * 2


def test_records_of_arguments_that_are_no_fields():
    def f(p):
        return np.sum(p.scaled**2)

    x = np.array([1.0, 2.0])
    assert ld.value_and_grad(f)(Scaled(x))[0] == 20.0  # by the default
    for call in (ld.grad(f), ld.checkpoint(f), ld.vmap(f), lambda p: ld.jvp(f, (p,), (p,))):
        with pytest.raises(
            TypeError, match=r"Scaled has made scaled by its arguments k, .* make fields of them"
        ):
            call(Scaled(x, 3.0))
    np.testing.assert_array_equal(ld.grad(lambda p: np.sum(p.a**2))(Validated(x, 5.0)).a, 2 * x)


def test_derivatives_have_nothing_that_is_made_of_values():
    slope = ld.grad(lambda x: -3 * x.length + x.inverse)(Checked(2.0))
    assert slope.inverse is None
    value, tangent = ld.jvp(lambda z: Checked(z * z), (2.0,), (1.0,))
    assert (value.inverse, tangent.length, tangent.inverse) == (0.25, 4.0, None)
    assert ld.jacobian(lambda z: Checked(z * z))(2.0).inverse is None


@pytest.mark.parametrize("wrap", [lambda f: f, ld.program])
def test_whatever_gives_records_back_leaves_what_they_wrote(wrap):
    p = Doubled(np.array([[1.0, 2.0], [3.0, 4.0]]), "of two")

    def f(p):
        return np.sum(p.a**2)

    slopes = ld.vmap(wrap(ld.grad(f)))(p)
    np.testing.assert_array_equal(slopes.a, 2 * p.a)
    assert slopes.name == "of two"
    np.testing.assert_array_equal(ld.vmap(wrap(Doubled))(p.a).a, 2 * p.a)
    np.testing.assert_array_equal(ld.vmap(wrap(lambda p: p))(p).a, p.a)
    np.testing.assert_array_equal(wrap(lambda p: p)(p).a, p.a)
    np.testing.assert_array_equal(wrap(ld.checkpoint(lambda p: p))(p).a, p.a)
    assert wrap(f)(p) == f(p)
    flat, back = ld.ravel(p)
    np.testing.assert_array_equal(back(flat).a, p.a)
    np.testing.assert_array_equal(ld.jacobian(lambda p: p)(p).a.a, np.eye(4).reshape(2, 2, 2, 2))


class Bag:
    """No tree: whatever is in it is found, too."""


def product_of(z):
    return Product(z, z * z)


def part_and_bag(z):
    bag, square = Bag(), z * z
    bag.cube = square * z
    return square, bag


@dataclasses.dataclass
class Product:
    a: Any
    b: Any
    c: Any = dataclasses.field(init=False)

    def __post_init__(self):
        self.c = self.a * self.b


@dataclasses.dataclass(slots=True)
class ProductOfSlots(Product):
    pass


@pytest.mark.parametrize(
    ("function", "total"),
    [
        (product_of, lambda p: np.sum(p.a + 2 * p.b + 3 * p.c**2)),
        (lambda z: ProductOfSlots(z, z * z), lambda p: np.sum(p.a + 2 * p.b + 3 * p.c**2)),
        (part_and_bag, lambda found: np.sum(found[0] + 3 * found[1].cube ** 2)),
        (lambda z: [part_and_bag(z)[1], {"a": product_of(z)}], lambda x: np.sum(x[0].cube * x[1]["a"].c)),
    ],
)
def test_what_results_of_checkpoints_have_besides(function, total):
    z = np.array([1.0, 2.0])
    expected = ld.grad(lambda z: total(function(z)))(z)
    again = ld.checkpoint(function)
    np.testing.assert_allclose(ld.grad(lambda z: total(again(z)))(z), expected, rtol=1e-14)
    np.testing.assert_allclose(ld.jvp(lambda z: total(again(z)), (z,), (np.ones(2),))[1], expected.sum())
    second = ld.hvp(lambda z: total(function(z)), (z,), (np.ones(2),))[1]
    np.testing.assert_allclose(ld.hvp(lambda z: total(again(z)), (z,), (np.ones(2),))[1], second, rtol=1e-13)
