"""Trees of what an operation is given: arrays in slots, and constants between them.

Trees are tuples, lists, dicts, slices and named tuples, nested; all else are leaves.
"""

cimport cython
cimport numpy as cnp

from cpython.ref cimport Py_INCREF
from cpython.tuple cimport PyTuple_New, PyTuple_SET_ITEM
from libc.string cimport memcmp

import numpy as np

cnp.import_array()


class Slot(int):
    """The number of an array of a recording."""

    __slots__ = ()

    def __repr__(self):
        return f"%{int(self)}"


cdef class Leaf:
    """What is to be done with a leaf."""

    cdef object of(self, object x):
        raise NotImplementedError


@cython.final
cdef class Called(Leaf):
    """Python's function of it."""

    cdef object function

    cdef object of(self, object x):
        return self.function(x)


cdef object replaced_by(object tree, Leaf leaf):
    """A tree with what ``leaf`` makes of its leaves."""
    cdef Py_ssize_t k
    kind = type(tree)
    if kind is tuple:
        made = PyTuple_New(len(<tuple>tree))
        for k in range(len(<tuple>tree)):
            part = replaced_by((<tuple>tree)[k], leaf)
            Py_INCREF(part)  # which the new tuple takes
            PyTuple_SET_ITEM(made, k, part)
        return made
    if kind is list:
        return [replaced_by(part, leaf) for part in <list>tree]
    if kind is slice:
        return slice(
            replaced_by(tree.start, leaf), replaced_by(tree.stop, leaf), replaced_by(tree.step, leaf)
        )
    if kind is dict:
        return {name: replaced_by(part, leaf) for name, part in (<dict>tree).items()}
    if isinstance(tree, tuple) and hasattr(tree, "_make"):
        return tree._make([replaced_by(part, leaf) for part in tree])
    return leaf.of(tree)


def replaced(tree, leaf):
    """A tree with ``leaf`` of what is at its leaves."""
    cdef Called called = Called.__new__(Called)
    called.function = leaf
    return replaced_by(tree, called)


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
    if isinstance(a, tuple):
        if len(<tuple>a) != len(<tuple>b):
            return False
        for i in range(len(<tuple>a)):
            if not same((<tuple>a)[i], (<tuple>b)[i]):
                return False
        return True
    if isinstance(a, list):
        return same(tuple(a), tuple(b))
    if isinstance(a, dict):
        if a.keys() != b.keys():
            return False
        for name in a:
            if not same(a[name], b[name]):
                return False
        return True
    if isinstance(a, slice):
        return same(a.start, b.start) and same(a.stop, b.stop) and same(a.step, b.step)
    if cnp.PyArray_Check(a):
        return (
            a.dtype == b.dtype
            and a.shape == b.shape
            and a.dtype != object
            and a.strides == b.strides
            and have_same_bytes(a, b)
        )
    if isinstance(a, np.generic):
        return a.dtype == b.dtype and a.dtype != object and a.tobytes() == b.tobytes()
    if isinstance(a, (float, complex)):
        return repr(a) == repr(b)
    try:
        return bool(a == b)
    except Exception:
        return False


cdef bint have_same_bytes(cnp.ndarray a, cnp.ndarray b) except -1:
    """Whether two arrays of one shape and dtype hold the same."""
    if cnp.PyArray_IS_C_CONTIGUOUS(a) and cnp.PyArray_IS_C_CONTIGUOUS(b):
        return memcmp(cnp.PyArray_DATA(a), cnp.PyArray_DATA(b), cnp.PyArray_NBYTES(a)) == 0
    return a.tobytes() == b.tobytes()
