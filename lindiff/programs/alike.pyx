"""Steps that are alike are prepared once: a loop does the same ones again and again.

They are alike if they call one function with operands of the same forms in the same places, and the same
constants, and if what lies in common memory lies there in the same way.
"""

cimport cython
cimport numpy as cnp

from cpython.bytes cimport PyBytes_FromStringAndSize
from cpython.float cimport PyFloat_AS_DOUBLE
from cpython.object cimport PyObject
from libc.string cimport memcpy

import numpy as np

from lindiff.programs.operands import Slot
from lindiff.programs.preparing import Between, Part, prepare

cnp.import_array()

cdef enum:
    WORDS = 128  # of a description
    LOCALS = 16  # slots of a step, and those in whose memory they lie

cdef type UFUNC = np.ufunc

cdef enum Tag:
    OF_SLOT
    OF_FLOAT
    OF_OBJECT


@cython.final
cdef class Description:
    """What a step is prepared from, in words: its slots are numbered in the order in which they come."""

    cdef size_t words[WORDS]
    cdef int count
    cdef list slots
    cdef Py_ssize_t numbers[LOCALS]  # of these
    cdef Py_ssize_t offsets[LOCALS]  # of the first operand in the memory of each
    cdef bint described[LOCALS]
    cdef bint has_offset[LOCALS]
    cdef int locals
    cdef bint fits                   # there has been room for all of it
    cdef list forms
    cdef list roots

    def __init__(self, step, list forms, list roots):
        self.forms, self.roots, self.fits = forms, roots, True
        self.slots = []
        self.function(step.function)
        self.tree(step.args)
        self.tree(step.kwargs)
        self.tree(step.result)

    cdef bytes key(self):
        return PyBytes_FromStringAndSize(<char *>self.words, self.count * sizeof(size_t))

    cdef void add(self, size_t word) noexcept:
        if self.count < WORDS:
            self.words[self.count] = word
            self.count += 1
        else:
            self.fits = False

    cdef void add_object(self, object x) noexcept:
        """An object by its address: all are held by the tree that is compiled."""
        self.add(<size_t><PyObject *>x)

    cdef int function(self, object function) except -1:
        """Methods of ufuncs are made anew each time."""
        owner = None if type(function) is UFUNC else getattr(function, "__self__", None)
        if type(owner) is UFUNC:
            self.add_object(owner)
            self.add(hash(function.__name__))
        else:
            self.add_object(function)
        return 0

    cdef int tree(self, object tree) except -1:
        kind = type(tree)
        if kind is Slot:
            self.slot(tree)
        elif kind is float:
            self.add(OF_FLOAT)
            self.number(PyFloat_AS_DOUBLE(tree))
        elif kind is tuple or kind is list:
            self.container(tree, tree)
        elif kind is dict:
            self.container(tree, [*tree, *tree.values()])
        elif kind is slice:
            self.container(tree, (tree.start, tree.stop, tree.step))
        elif isinstance(tree, tuple):
            self.container(tree, tuple(tree))
        else:
            self.add(OF_OBJECT)
            self.add_object(tree)
        return 0

    cdef int container(self, object tree, object parts) except -1:
        self.add_object(type(tree))
        self.add(len(parts))
        for part in parts:
            self.tree(part)
        return 0

    cdef void number(self, double x) noexcept:
        cdef size_t word = 0
        memcpy(&word, &x, min(sizeof(word), sizeof(x)))
        self.add(word)

    cdef int slot(self, object slot) except -1:
        """An array: its form when it comes for the first time, and where in whose memory it lies."""
        cdef int k = self.local(slot), root
        cdef Py_ssize_t offset, number = slot
        cdef object place
        self.add(OF_SLOT)
        self.add(k)
        if not self.fits or self.described[k]:
            return 0
        self.described[k] = True
        self.add_object(self.forms[number])
        place = self.roots[number]
        root, offset = self.local((<tuple>place)[0]), (<tuple>place)[1]
        if not self.has_offset[root]:
            self.offsets[root], self.has_offset[root] = offset, True
        self.add(root)
        self.add(offset - self.offsets[root])
        self.add(self.local((<tuple>place)[2]))
        return 0

    cdef int local(self, object slot) except -1:
        cdef Py_ssize_t number = slot
        cdef int k
        for k in range(self.locals):
            if self.numbers[k] == number:
                return k
        if self.locals == LOCALS:
            self.fits = False
            return 0
        k = self.locals
        self.locals += 1
        self.slots.append(slot)
        self.numbers[k], self.described[k], self.has_offset[k] = number, False, False
        return k


cdef class Preparations:
    """`prepare` for the steps of one tree."""

    cdef dict known  # by description: operations, with the numbers of slots within the step

    def __init__(self):
        self.known = {}

    def __call__(self, step, list forms, list roots):
        """The same as ``prepare(step, forms, roots)``."""
        cdef Description described = Description(step, forms, roots)
        if not described.fits:
            return prepare(step, forms, roots)
        key = described.key()
        operations = self.known.get(key, MISSING)
        if operations is MISSING:
            operations = self.known[key] = within(prepare(step, forms, roots), described)
        return of_slots(operations, described)


cdef object MISSING = object()


cdef object within(object operations, Description step):
    """Operations with slots by their numbers within a step: an int, or with an offset a tuple."""
    if operations is None:
        return None
    return [(prepared, [local_operand(x, step) for x in operands]) for prepared, operands in operations]


cdef object local_operand(object x, Description step):
    if type(x) is Slot:
        return step.local(x)
    if type(x) is Part:
        return step.local(x.slot), x.offset
    return x


cdef object of_slots(list operations, Description step):
    """Operations of a step: memory between them is its own."""
    cdef dict rooms = {}
    if operations is None:
        return None
    return [(prepared, [operand(x, step, rooms) for x in operands]) for prepared, operands in operations]


cdef object operand(object x, Description step, dict rooms):
    if type(x) is int:
        return step.slots[<Py_ssize_t>x]
    if type(x) is tuple:
        return Part(step.slots[<Py_ssize_t>x[0]], x[1])
    if type(x) is Between:
        if x not in rooms:
            rooms[x] = Between(x.size)
        return rooms[x]
    return x
