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
    assert (moved.length, moved.offset) == (5100.0, 1.0)  # of other numbers it is made as any is
    assert pytree.tree_map(lambda a: a + 1, Checked(1.0)).inverse == 0.5
    assert ld.jvp(lambda a: dataclasses.replace(x, length=a), (2.0,), (1.0,))[1].length == 100.0


def test_derivatives_are_not_checked_as_records_are():
    slope = ld.grad(lambda x: -3 * x.length + x.inverse)(Checked(2.0))
    assert slope.length == -3.25
    assert ld.grad(lambda x: x.length**2)(Begun(3.0)).length == 6.0
