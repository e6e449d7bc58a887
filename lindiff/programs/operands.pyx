"""Trees of what an operation is given: arrays in slots, and constants between them.

Trees are tuples, lists, dicts, slices and named tuples, nested; all else are leaves.
"""

cimport numpy as cnp

import numpy as np

cnp.import_array()


class Slot(int):
    """The number of an array of a recording."""

    __slots__ = ()

    def __repr__(self):
        return f"%{int(self)}"


cpdef object replaced(object tree, object leaf):
    """A tree with ``leaf`` of what is at its leaves."""
    kind = type(tree)
    if kind is tuple:
        return tuple([replaced(part, leaf) for part in <tuple>tree])
    if kind is list:
        return [replaced(part, leaf) for part in <list>tree]
    if kind is slice:
        return slice(replaced(tree.start, leaf), replaced(tree.stop, leaf), replaced(tree.step, leaf))
    if kind is dict:
        return {name: replaced(part, leaf) for name, part in (<dict>tree).items()}
    if isinstance(tree, tuple) and hasattr(tree, "_make"):
        return tree._make([replaced(part, leaf) for part in tree])
    return leaf(tree)


cpdef list leaves_of(object tree):
    """What :func:`replaced` calls ``leaf`` of."""
    found = []
    gather(tree, found)
    return found


cdef int gather(object tree, list found) except -1:
    kind = type(tree)
    if kind is tuple or kind is list:
        for part in tree:
            gather(part, found)
    elif kind is slice:
        gather(tree.start, found)
        gather(tree.stop, found)
        gather(tree.step, found)
    elif kind is dict:
        for part in (<dict>tree).values():
            gather(part, found)
    elif isinstance(tree, tuple) and hasattr(tree, "_make"):
        for part in tree:
            gather(part, found)
    else:
        found.append(tree)
    return 0


def slots_of(tree):
    """The slots in a tree."""
    return [x for x in leaves_of(tree) if type(x) is Slot]


def filled(tree, list arrays):
    """A tree with arrays in their slots."""
    return replaced(tree, lambda x: arrays[x] if type(x) is Slot else x)


cpdef bint same(object a, object b) except -1:
    """Whether two trees are the same to the last bit: constants, slots and structure."""
    cdef Py_ssize_t i
    if a is b:
        return True
    if type(a) is not type(b):
        return False
    if type(a) is Slot or type(a) is int:
        return a == b
    if isinstance(a, (tuple, list)):
        if len(a) != len(b):
            return False
        for i in range(len(a)):
            if not same(a[i], b[i]):
                return False
        return True
    if isinstance(a, dict):
        if a.keys() != b.keys():
            return False
        for name in a:
            if not same(a[name], b[name]):
                return False
        return True
    if isinstance(a, slice):
        return same(a.start, b.start) and same(a.stop, b.stop) and same(a.step, b.step)
    if isinstance(a, (np.ndarray, np.generic)):
        return (
            a.dtype == b.dtype
            and a.shape == b.shape
            and a.dtype != object
            and (isinstance(a, np.generic) or a.strides == b.strides)
            and a.tobytes() == b.tobytes()
        )
    if isinstance(a, (float, complex)):
        return repr(a) == repr(b)
    try:
        return bool(a == b)
    except Exception:
        return False
