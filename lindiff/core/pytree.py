"""Nestings of tuples, lists, dicts, named tuples and dataclasses with arrays at the leaves.

Everything that a transform takes or returns may be such a tree.  None is an empty tree.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable
from typing import Any

import numpy as np

__all__ = ["flatten", "ones_like", "rebuild", "replace", "tree_map", "zeros_like"]


def flatten(tree: Any) -> tuple[list[Any], Callable[[list[Any]], Any]]:
    """The leaves of a tree, and the function that puts such leaves back in their places.

    Examples
    --------
    >>> leaves, unflatten = flatten({"a": 1.0, "b": (2.0, [3.0])})
    >>> leaves
    [1.0, 2.0, 3.0]
    >>> unflatten([10.0, 20.0, 30.0])
    {'a': 10.0, 'b': (20.0, [30.0])}
    """
    parts = _children(tree)
    if parts is None:
        return [tree], lambda leaves: leaves[0]
    children, assemble = parts
    flat = [flatten(child) for child in children]

    def unflatten(leaves: list[Any]) -> Any:
        rebuilt, start = [], 0
        for child_leaves, child_unflatten in flat:
            stop = start + len(child_leaves)
            rebuilt.append(child_unflatten(leaves[start:stop]))
            start = stop
        return assemble(rebuilt)

    return [leaf for child_leaves, _ in flat for leaf in child_leaves], unflatten


def _children(tree: Any) -> tuple[list[Any], Callable[[list[Any]], Any]] | None:
    """The children of an inner node and how to assemble it from others; None for a leaf."""
    if tree is None:
        return [], lambda _: None
    if isinstance(tree, (tuple, list)):
        return list(tree), lambda children: rebuild(tree, children)
    if isinstance(tree, dict):
        keys = list(tree)
        return [tree[key] for key in keys], lambda children: _like_dict(tree, keys, children)
    if dataclasses.is_dataclass(tree) and not isinstance(tree, type):
        names = [field.name for field in dataclasses.fields(tree) if field.init]
        return (
            [getattr(tree, name) for name in names],
            lambda children: dataclasses.replace(tree, **dict(zip(names, children, strict=True))),
        )
    return None


def _like_dict(tree: dict[Any, Any], keys: list[Any], children: list[Any]) -> dict[Any, Any]:
    items = dict(zip(keys, children, strict=True))
    if type(tree) is dict:
        return items
    copied = tree.copy()  # OrderedDict, defaultdict and their like keep what else they carry
    copied.update(items)
    return copied


def rebuild(sequence: Any, children: list[Any]) -> Any:
    """A tuple, list or named tuple of the type of ``sequence`` with other members."""
    if hasattr(sequence, "_make"):
        return sequence._make(children)
    return type(sequence)(children) if type(sequence) is not tuple else tuple(children)


def replace(tree: Any, path: tuple[int, ...], leaf: Any) -> Any:
    """``tree`` (nested sequences) with ``leaf`` at ``path``."""
    if not path:
        return leaf
    children = list(tree)
    children[path[0]] = replace(children[path[0]], path[1:], leaf)
    return rebuild(tree, children)


def tree_map(function: Callable[..., Any], tree: Any, *others: Any) -> Any:
    """Apply ``function`` to the leaves of trees of one structure.

    Examples
    --------
    >>> tree_map(lambda x, y: x + y, {"a": 1.0, "b": (2.0,)}, {"a": 10.0, "b": (20.0,)})
    {'a': 11.0, 'b': (22.0,)}
    """
    leaves, unflatten = flatten(tree)
    columns = [flatten(other)[0] for other in others]
    return unflatten([function(*row) for row in zip(leaves, *columns, strict=True)])


def zeros_like(tree: Any) -> Any:
    """Zeros in the structure, shapes and dtypes of a tree; leaves that are no arrays become 0.0.

    Examples
    --------
    >>> zeros_like([np.ones(2), 3.0])
    [array([0., 0.]), array(0.)]
    """
    return tree_map(_zeros_like_leaf, tree)


def _zeros_like_leaf(leaf: Any) -> Any:
    return np.zeros_like(_plain(leaf))


def ones_like(array: Any) -> Any:
    """Ones of the shape and dtype of an array."""
    return np.ones_like(_plain(array))


def _plain(leaf: Any) -> Any:
    while hasattr(leaf, "_value"):  # the constant of a Variable is plain
        leaf = leaf._value
    return leaf if hasattr(leaf, "dtype") else np.asarray(leaf)
