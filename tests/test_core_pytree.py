"""Trees: tuples, lists, dicts, named tuples, dataclasses; None is empty."""

from __future__ import annotations

import collections
import dataclasses

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

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
