"""The leaves of trees, and what puts others in their places."""

cimport cython

import dataclasses

cdef extern from "Python.h":
    int Py_EnterRecursiveCall(const char *where) except -1
    void Py_LeaveRecursiveCall()

from lindiff.core.fields import class_of
from lindiff.core.records import derivative, remade, with_items

# What was seen to be a leaf, which its type alone decides; asking is most of the price of a small tree.
leaf_types = set()

cdef set known_leaves = leaf_types
cdef dict known_records = {}  # types of dataclasses to the names of their fields that are in the tree

cdef enum Kind:
    LEAF
    NOTHING     # None, an empty tree
    CHOSEN      # a named tuple some of whose fields are constant
    SEQUENCE
    MAPPING
    RECORD      # a dataclass


cdef Kind kind_of(tree) except *:
    cdef type of = type(tree)
    if of in known_leaves:
        return LEAF
    if of in known_records:
        return RECORD
    if tree is None:
        return NOTHING
    if hasattr(of, "constant_fields") and hasattr(of, "_replace"):
        return CHOSEN
    if isinstance(tree, (tuple, list)):
        return SEQUENCE
    if isinstance(tree, dict):
        return MAPPING
    if dataclasses.is_dataclass(tree) and of is not type and not isinstance(tree, type):
        if len(known_records) > 1024:   # of classes that functions make, again and again
            known_records.clear()
        known_records[of] = list(class_of(tree).in_tree)
        return RECORD
    known_leaves.add(of)
    return LEAF


def fields(tree):
    """The names of a dataclass's fields that are in the tree."""
    if type(tree) not in known_records:
        kind_of(tree)
    return known_records[type(tree)]


def chosen(tree):
    """The names of a named tuple's fields that are not constant."""
    constant = tree.constant_fields()
    return [name for name in tree._fields if name not in constant]


cdef list keys_of(tree, Kind kind):
    """The names of children, where they have names."""
    if kind == MAPPING:
        return list(tree)
    if kind == RECORD:
        return fields(tree)
    return chosen(tree) if kind == CHOSEN else None


cdef list children_of(tree, Kind kind, list keys):
    if kind == SEQUENCE:
        return list(tree)
    if kind == MAPPING:
        return [dict.__getitem__(tree, key) for key in keys]
    return [] if kind == NOTHING else [getattr(tree, name) for name in keys]


cdef object assembled(tree, Kind kind, list keys, list children, bint of_derivative):
    """A node like ``tree`` with other children."""
    if kind == SEQUENCE:
        return rebuild(tree, children)
    if kind == NOTHING:
        return None
    items = dict(zip(keys, children, strict=True))
    if kind == RECORD:
        return derivative(tree, items) if of_derivative else remade(tree, items)
    if kind == CHOSEN:
        return tree._replace(**items)
    if type(tree) is dict:
        return items
    return with_items(tree, items)  # OrderedDict, defaultdict and their like keep what else they carry


def rebuild(sequence, children):
    """A tuple, list or named tuple of the type of ``sequence`` with other members."""
    if type(sequence) is tuple:
        return tuple(children)
    if type(sequence) is list:
        return list(children)
    if hasattr(sequence, "_make") and not getattr(sequence, "__dict__", None):
        return sequence._make(children)
    return with_items(sequence, children)


def children(tree):
    """The children of an inner node; None for a leaf."""
    cdef Kind kind = kind_of(tree)
    return None if kind == LEAF else children_of(tree, kind, keys_of(tree, kind))


def replace(tree, list children):
    """An inner node with other children of the same values, in the order of its own."""
    cdef Kind kind = kind_of(tree)
    assert kind != LEAF, "a leaf has no children"
    return assembled(tree, kind, keys_of(tree, kind), children, False)


@cython.final
cdef class Structure:
    """A tree without its leaves: called with leaves, it puts these in their places."""

    cdef Kind kind
    cdef object node
    cdef list keys
    cdef list inner             # of each child its Structure, or None for a leaf
    cdef Py_ssize_t count       # of leaves
    cdef bint is_flat           # all children are leaves

    def __call__(self, leaves):
        """What a record has written to its fields is in the leaves; what it makes besides is made anew."""
        return self.of(list(leaves), False)

    def of_derivative(self, leaves):
        """The same for leaves that are derivatives by those of the tree, or along them."""
        return self.of(list(leaves), True)

    cdef object of(self, list leaves, bint of_derivative):
        cdef Py_ssize_t at = 0
        if self.kind == LEAF:
            return leaves[0]
        if self.is_flat:
            return assembled(self.node, self.kind, self.keys, leaves, of_derivative)
        return self.filled(leaves, &at, of_derivative)

    cdef object filled(self, list leaves, Py_ssize_t *at, bint of_derivative):
        cdef list children = []
        cdef Structure child
        if self.is_flat:
            children = leaves[at[0]:at[0] + self.count]
            at[0] += self.count
            return assembled(self.node, self.kind, self.keys, children, of_derivative)
        for child in self.inner:
            if child is None:
                children.append(leaves[at[0]])
                at[0] += 1
            else:
                children.append(child.filled(leaves, at, of_derivative))
        return assembled(self.node, self.kind, self.keys, children, of_derivative)


cdef Structure structure_of(tree, Kind kind, list leaves):
    """The structure of a tree, whose leaves are appended to others."""
    cdef Structure made = Structure.__new__(Structure)
    cdef Kind of_child
    cdef Py_ssize_t before = len(leaves)
    made.kind, made.node, made.inner, made.is_flat = kind, tree, [], True
    if kind == LEAF:
        leaves.append(tree)
        return made
    made.keys = keys_of(tree, kind)
    for child in children_of(tree, kind, made.keys):
        of_child = kind_of(child)
        if of_child == LEAF:
            leaves.append(child)
            made.inner.append(None)
            continue
        made.is_flat = False
        Py_EnterRecursiveCall(" in a tree that is very deep, or holds itself")
        try:
            made.inner.append(structure_of(child, of_child, leaves))
        finally:
            Py_LeaveRecursiveCall()
    made.count = len(leaves) - before
    return made


def flatten(tree):
    """The leaves of a tree, and the function that puts such leaves back in their places.

    Examples
    --------
    >>> leaves, unflatten = flatten({"a": 1.0, "b": (2.0, [3.0])})
    >>> leaves
    [1.0, 2.0, 3.0]
    >>> unflatten([10.0, 20.0, 30.0])
    {'a': 10.0, 'b': (20.0, [30.0])}
    """
    cdef list leaves = []
    structure = structure_of(tree, kind_of(tree), leaves)
    return leaves, structure
