"""Nestings of tuples, lists, dicts, named tuples and dataclasses with arrays at the leaves.

Everything that a transform takes or returns may be such a tree.  None is an empty tree.  What a named tuple
says to be its ``constant_fields()`` stays as it is, and is no part of the tree; nor are fields of dataclasses
whose metadata say ``{"static": True}``.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable
from typing import Any

import numpy as np

from lindiff.core.leaves import children, chosen, fields, flatten, leaf_types, rebuild, replace
from lindiff.core.likeness import bare
from lindiff.core.records import remade

__all__ = [
    "flatten",
    "flatten_like",
    "is_tree",
    "item",
    "keys",
    "leaf_types",
    "leaves_like",
    "ones_like",
    "rebuild",
    "remade",
    "replace",
    "tree_map",
    "without_variables",
    "zeros_but",
    "zeros_like",
]


def flatten_like(tree: Any, like: Any, what: str, like_what: str, or_none: bool = False) -> list[Any]:
    """The leaves of a tree in the order of ``like``, whose structure it has to have.

    With ``or_none``, None may stand for all that is below its place: it is the leaf of each of these.

    Raises
    ------
    ValueError
        Says where the structures differ; ``what`` and ``like_what`` name the two trees.
    """
    if _is_flat(like) and _is_flat(tree) and len(tree) == len(like) and not _has_other_names(tree, like):
        return list(tree)
    if or_none and tree is None:
        return [None] * len(flatten(like)[0])
    of_like = children(like)
    if of_like is None:
        if children(tree) is not None:
            raise ValueError(f"the {what} has a {type(tree).__name__} where the {like_what} has an array")
        return [tree]
    of_tree = _children_like(tree, like, of_like)
    if of_tree is None:
        raise ValueError(
            f"the {what} has {_describe(tree)} where the {like_what} has {_describe(like)}: "
            f"give the {what} in the structure of the {like_what}"
        )
    return [
        leaf
        for child, like_child in zip(of_tree, of_like, strict=True)
        for leaf in flatten_like(child, like_child, what, like_what, or_none)
    ]


def _is_flat(tree: Any) -> bool:
    """Whether this is a sequence of leaves, of types seen before: what most functions return."""
    return (
        isinstance(tree, (tuple, list))
        and leaf_types.issuperset(map(type, tree))
        and not hasattr(tree, "constant_fields")
    )


def is_tree(tree: Any) -> bool:
    """Whether ``tree`` is an inner node, not a leaf."""
    return children(tree) is not None


def keys(tree: Any) -> list[Any]:
    """How :func:`item` names the children of an inner node."""
    if isinstance(tree, dict):
        return list(tree)
    if hasattr(tree, "constant_fields") and hasattr(tree, "_fields"):
        return [tree._fields.index(name) for name in chosen(tree)]
    if isinstance(tree, (tuple, list)):
        return list(range(len(tree)))
    return fields(tree) if tree is not None else []


def item(tree: Any, key: Any) -> Any:
    """The child of an inner node.

    Examples
    --------
    >>> tree = {"a": 1.0, "b": (2.0, [3.0])}
    >>> [item(tree, key) for key in keys(tree)]
    [1.0, (2.0, [3.0])]
    """
    if isinstance(tree, dict):
        return dict.__getitem__(tree, key)
    if isinstance(tree, list):
        return list.__getitem__(tree, key)
    return getattr(tree, key) if dataclasses.is_dataclass(tree) else tree[key]


def leaves_like(tree: Any, like: Any) -> list[Any]:
    """The leaves of a tree of the structure of ``like``, in which None stands for all that is below it.

    Examples
    --------
    >>> leaves_like({"a": 1.0, "b": None}, {"b": (2.0, 3.0), "a": 4.0})
    [None, None, 1.0]
    """
    if not is_tree(like):
        return [tree]
    return [
        leaf
        for key in keys(like)
        for leaf in leaves_like(None if tree is None else item(tree, key), item(like, key))
    ]


def _children_like(tree: Any, like: Any, like_children: list[Any]) -> list[Any] | None:
    """The children of ``tree`` in the order of those of ``like``; None where it has others."""
    if isinstance(like, dict):
        return [tree[key] for key in like] if isinstance(tree, dict) and tree.keys() == like.keys() else None
    if isinstance(like, (tuple, list)) and not isinstance(tree, (tuple, list)):
        return None
    if _has_other_names(tree, like):
        return None
    if dataclasses.is_dataclass(like) and type(tree) is not type(like):
        return None
    found = children(tree)
    return found if found is not None and len(found) == len(like_children) else None


def _has_other_names(tree: Any, like: Any) -> bool:
    """Whether both are named tuples, of other names."""
    names = getattr(tree, "_fields", None)
    return names is not None and names != getattr(like, "_fields", names)


def _describe(tree: Any) -> str:
    if hasattr(tree, "_fields"):
        return f"a {type(tree).__name__} of {', '.join(tree._fields)}"
    if isinstance(tree, dict):
        return f"a {type(tree).__name__} with keys {list(tree)}"
    if isinstance(tree, (tuple, list)):
        return f"a {type(tree).__name__} of length {len(tree)}"
    return "None" if tree is None else f"a {type(tree).__name__}"


def tree_map(function: Callable[..., Any], tree: Any, *others: Any) -> Any:
    """Apply a function to the leaves of trees of one structure.

    Parameters
    ----------
    function : callable
        Of as many leaves as there are trees.
    tree : tree
        Any nesting of tuples, lists, dicts, named tuples and dataclasses; anything else is a leaf, None is an
        empty tree, fields of dataclasses with ``metadata={"static": True}`` stay as they are.
    *others : trees
        Of the structure of ``tree``.

    Returns
    -------
    tree
        Of the structure of ``tree``, with what the function returns.

    Raises
    ------
    ValueError
        Says where another tree has another structure.

    Examples
    --------
    >>> tree_map(lambda x, y: x + y, {"a": 1.0, "b": (2.0,)}, {"a": 10.0, "b": (20.0,)})
    {'a': 11.0, 'b': (22.0,)}

    A step of gradient descent:

    >>> import lindiff as ld
    >>> p = {"a": 1.0, "b": [2.0]}
    >>> g = ld.grad(lambda p: p["a"] * p["b"][0])(p)
    >>> ld.tree_map(lambda x, x_bar: float(x - 0.1 * x_bar), p, g)
    {'a': 0.8, 'b': [1.9]}
    """
    leaves, unflatten = flatten(tree)
    columns = [flatten_like(other, tree, "other tree", "first tree") for other in others]
    return unflatten([function(*row) for row in zip(leaves, *columns, strict=True)])


def without_variables(leaves: list[Any], restore: Any) -> Any:
    """What `flatten` gave with these leaves to put others in their places, without the Variables in it."""
    plain = [bare(leaf) if hasattr(leaf, "_value") else leaf for leaf in leaves]
    return flatten(restore(plain))[1]


def zeros_like(tree: Any) -> Any:
    """Zeros in the structure, shapes and dtypes of a tree; leaves that are no arrays become 0.0.

    Examples
    --------
    >>> zeros_like([np.ones(2), 3.0])
    [array([0., 0.]), array(0.)]
    """
    return tree_map(_zeros_like_leaf, tree)


def zeros_but(tree: Any, leaves: dict[tuple[Any, ...], Any], path: tuple[Any, ...] = ()) -> Any:
    """Zeros in the structure of a tree, but for the leaves that are given by their paths.

    Examples
    --------
    >>> zeros_but([2.0, (3.0, 4.0)], {(1, 0): 7.0})
    [array(0.), (7.0, array(0.))]
    """
    if path in leaves:
        return leaves[path]
    if is_tree(tree):
        return replace(tree, [zeros_but(item(tree, key), leaves, (*path, key)) for key in keys(tree)])
    return zeros_like(tree)


def _zeros_like_leaf(leaf: Any) -> Any:
    return np.zeros_like(bare(leaf))


def ones_like(array: Any) -> Any:
    """Ones of the shape and dtype of an array."""
    return np.ones_like(bare(array))
