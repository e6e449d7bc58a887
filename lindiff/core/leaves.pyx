"""The leaves of trees, and what puts others in their places."""

cimport cython

import dataclasses

import numpy as np

# What was seen to be a leaf, which its type alone decides; asking is most of the price of a small tree.
leaf_types = set()

cdef set known_leaves = leaf_types

cdef enum Kind:
    LEAF
    NOTHING     # None, an empty tree
    CHOSEN      # a named tuple some of whose fields are constant
    SEQUENCE
    MAPPING
    RECORD      # a dataclass


cdef enum Anew:     # what a dataclass makes of other fields
    MADE        # what its class makes of any
    KEPT        # what it makes of them, but what it wrote to them is there
    LEFT        # nothing: they are a derivative's


cdef Kind kind_of(tree) except *:
    cdef type of = type(tree)
    if of in known_leaves:
        return LEAF
    if tree is None:
        return NOTHING
    if hasattr(of, "constant_fields") and hasattr(of, "_replace"):
        return CHOSEN
    if isinstance(tree, (tuple, list)):
        return SEQUENCE
    if isinstance(tree, dict):
        return MAPPING
    if dataclasses.is_dataclass(tree) and of is not type and not isinstance(tree, type):
        return RECORD
    known_leaves.add(of)
    return LEAF


def fields(tree):
    """The names of a dataclass's fields that are in the tree."""
    return [field.name for field in dataclasses.fields(tree)
            if field.init and not field.metadata.get("static", False)]


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
        return [tree[key] for key in keys]
    return [] if kind == NOTHING else [getattr(tree, name) for name in keys]


cdef object assembled(tree, Kind kind, list keys, list children, Anew anew):
    """A node like ``tree`` with other children."""
    if kind == SEQUENCE:
        return rebuild(tree, children)
    if kind == NOTHING:
        return None
    items = dict(zip(keys, children, strict=True))
    if kind == RECORD:
        if not hasattr(tree, "__post_init__"):
            return dataclasses.replace(tree, **items)
        if anew == LEFT:
            return derivative(tree, items)
        if has_init_vars(tree):
            return of_init_vars(tree, items)
        return dataclasses.replace(tree, **items) if anew == MADE else remade(tree, items)
    if kind == CHOSEN:
        return tree._replace(**items)
    if type(tree) is dict:
        return items
    copied = tree.copy()  # OrderedDict, defaultdict and their like keep what else they carry
    copied.update(items)
    return copied


cdef bint has_init_vars(record):
    """Whether what a dataclass was made with is not all in its fields."""
    return any(field._field_type is dataclasses._FIELD_INITVAR
               for field in record.__dataclass_fields__.values())


cdef dict made_besides(record):
    """What has numbers in a dataclass but is none of the fields that it was given."""
    given = {field.name for field in dataclasses.fields(record) if field.init}
    found = {field.name: getattr(record, field.name) for field in dataclasses.fields(record)
             if hasattr(record, field.name)} | getattr(record, "__dict__", {})
    return {name: x for name, x in found.items() if name not in given and numbers_in(x)}


cdef list numbers_in(x):
    cdef list leaves = []
    structure_of(x, kind_of(x), leaves)
    return [leaf for leaf in leaves if isinstance(leaf, float) or hasattr(leaf, "dtype")]


cdef object of_init_vars(record, dict items):
    """A dataclass with other fields, if its default arguments make of its own what it has."""
    made = made_besides(record)
    if not made:
        return with_fields(record, items)
    names = [name for name, field in record.__dataclass_fields__.items()
             if field._field_type is dataclasses._FIELD_INITVAR]
    try:
        again = made_besides(dataclasses.replace(record))
    except ValueError:  # an argument without a default
        again = {}
    if again.keys() != made.keys() or not all(map(are_same, made.values(), again.values())):
        raise TypeError(f"{type(record).__name__} has made {', '.join(made)} by its arguments "
                        f"{', '.join(names)}, which are no fields: of other numbers it cannot be made again; "
                        f"make fields of them instead of InitVar")
    return dataclasses.replace(record, **items)


def are_same(x, y):
    """Whether two values have the same numbers in them."""
    first, second = numbers_in(x), numbers_in(y)
    return len(first) == len(second) and all(
        np.array_equal(bare(a), bare(b), equal_nan=bare(a).dtype.kind in "fc")
        for a, b in zip(first, second, strict=True))


def bare(leaf):
    """The array of a leaf, without the Variables around it."""
    while hasattr(leaf, "_value"):  # the constant of a Variable is plain
        leaf = leaf._value
    return leaf if hasattr(leaf, "dtype") else np.asarray(leaf)


cdef object derivative(record, dict items):
    """A dataclass with derivatives as its fields, without numbers that its class has made of other fields."""
    other = with_fields(record, items)
    for name in made_besides(other):
        object.__setattr__(other, name, None)
    return other


cdef object with_fields(record, dict items):
    """A dataclass with other fields and nothing besides."""
    other = object.__new__(type(record))
    for field in dataclasses.fields(record):
        if field.name in items or hasattr(record, field.name):
            object.__setattr__(other, field.name, items[field.name] if field.name in items
                               else getattr(record, field.name))
    return other


def remade(record, dict items):
    """A dataclass with other fields.  What it makes of these is made anew, but they stay as they are: what it
    writes to them has been written to those of ``record`` already."""
    other = with_fields(record, items)
    given = {field.name: getattr(other, field.name) for field in dataclasses.fields(other) if field.init}
    other.__post_init__()
    for name, x in given.items():
        object.__setattr__(other, name, x)
    return other


def rebuild(sequence, children):
    """A tuple, list or named tuple of the type of ``sequence`` with other members."""
    if type(sequence) is tuple:
        return tuple(children)
    if hasattr(sequence, "_make"):
        return sequence._make(children)
    return type(sequence)(children)


def children(tree):
    """The children of an inner node; None for a leaf."""
    cdef Kind kind = kind_of(tree)
    return None if kind == LEAF else children_of(tree, kind, keys_of(tree, kind))


def replace(tree, list children):
    """An inner node with other children of the same values, in the order of its own."""
    cdef Kind kind = kind_of(tree)
    assert kind != LEAF, "a leaf has no children"
    return assembled(tree, kind, keys_of(tree, kind), children, KEPT)


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
        return self.of(list(leaves), KEPT)

    def of_others(self, leaves):
        """The same for leaves of other values, of which records are made as by their users."""
        return self.of(list(leaves), MADE)

    def of_derivative(self, leaves):
        """The same for leaves that are derivatives by those of the tree, or along them."""
        return self.of(list(leaves), LEFT)

    cdef object of(self, list leaves, Anew anew):
        cdef Py_ssize_t at = 0
        if self.kind == LEAF:
            return leaves[0]
        if self.is_flat:
            return assembled(self.node, self.kind, self.keys, leaves, anew)
        return self.filled(leaves, &at, anew)

    cdef object filled(self, list leaves, Py_ssize_t *at, Anew anew):
        cdef list children = []
        cdef Structure child
        if self.is_flat:
            children = leaves[at[0]:at[0] + self.count]
            at[0] += self.count
            return assembled(self.node, self.kind, self.keys, children, anew)
        for child in self.inner:
            if child is None:
                children.append(leaves[at[0]])
                at[0] += 1
            else:
                children.append(child.filled(leaves, at, anew))
        return assembled(self.node, self.kind, self.keys, children, anew)


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
        else:
            made.inner.append(structure_of(child, of_child, leaves))
            made.is_flat = False
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
