"""Steps that are alike are prepared once: a loop does the same ones again and again.

They are alike if they call one function with operands of the same forms in the same places, and the same
constants, and if what lies in common memory lies there in the same way.
"""

cimport cython
cimport numpy as cnp

from cpython.bytes cimport PyBytes_FromStringAndSize
from cpython.long cimport PyLong_AsSsize_t
from cpython.mem cimport PyMem_Calloc, PyMem_Free
from cpython.object cimport PyObject
from libc.string cimport memcpy

from lindiff.programs.cells cimport Cells
from lindiff.programs.recording cimport ARGS, FUNCTION, KWARGS, OWNER, RESULT

from types import FunctionType

import numpy as np

from lindiff.programs.machine import Form
from lindiff.programs.operands import Slot
from lindiff.programs.preparing import Between, Part, prepare

cnp.import_array()

cdef enum:
    FEW = 256        # bytes of constant arrays that are compared: equal ones are one
    SMALL = 1 << 30  # numbers that are compared

cdef type UFUNC = np.ufunc
cdef type FLOAT64 = np.float64
cdef type PYTHON = FunctionType
cdef object MISSING = object()

cdef enum Tag:
    OF_SLOT
    OF_INT
    OF_ARRAY
    OF_OBJECT


@cython.final
cdef class Description:
    """What a step is prepared from, in words: its slots are numbered in the order in which they come."""

    cdef bytes of(self, object step, list forms, list roots):
        """The description of a step; None where there is no room for it."""
        self.forms, self.roots, self.fits = forms, roots, True
        self.count = self.locals = 0
        self.function((<tuple>step)[FUNCTION])
        self.tree((<tuple>step)[ARGS])
        self.tree((<tuple>step)[KWARGS])
        self.tree((<tuple>step)[RESULT])
        if not self.fits:
            return None
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
        cdef type kind = type(function)
        owner = None if kind is UFUNC or kind is PYTHON else getattr(function, "__self__", None)
        if type(owner) is UFUNC:
            self.add_object(owner)
            self.add(hash(function.__name__))
        else:
            self.add_object(function)
        return 0

    cdef int tree(self, object tree) except -1:
        kind = type(tree)
        if kind is Slot:
            self.slot(PyLong_AsSsize_t(tree))
        elif kind is float or kind is FLOAT64:
            self.add_object(kind)
            self.number(tree)
        elif kind is int and -SMALL < tree < SMALL:
            self.add(OF_INT)
            self.add(<size_t><Py_ssize_t>tree)
        elif kind is tuple:
            self.container(tree, <tuple>tree)
        elif kind is dict:
            self.container(tree, (*tree, *tree.values()) if tree else ())
        elif kind is list:
            self.container(tree, tuple(tree))
        elif kind is slice:
            self.container(tree, (tree.start, tree.stop, tree.step))
        elif isinstance(tree, tuple):
            self.container(tree, tuple(tree))
        elif cnp.PyArray_Check(tree) and cnp.PyArray_NBYTES(<cnp.ndarray>tree) <= FEW:
            self.content(tree)
        else:
            self.add(OF_OBJECT)
            self.add_object(tree)
        return 0

    cdef int container(self, object tree, tuple parts) except -1:
        self.add_object(type(tree))
        self.add(len(parts))
        for part in parts:
            self.tree(part)
        return 0

    cdef void number(self, double x) noexcept:
        cdef size_t word = 0
        memcpy(&word, &x, min(sizeof(word), sizeof(x)))
        self.add(word)

    cdef int content(self, object x) except -1:
        """A small constant array."""
        cdef bytes numbers = x.tobytes()
        cdef int k, more = (len(numbers) + sizeof(size_t) - 1) // sizeof(size_t)
        self.add(OF_ARRAY)
        self.add_object(x.dtype)
        self.add(cnp.PyArray_NDIM(x))
        for k in range(cnp.PyArray_NDIM(x)):
            self.add(cnp.PyArray_DIM(x, k))
            self.add(cnp.PyArray_STRIDE(x, k))
        if self.count + more > WORDS:
            self.fits = False
        elif more > 0:
            self.words[self.count + more - 1] = 0
            memcpy(&self.words[self.count], <char *>numbers, len(numbers))
            self.count += more
        return 0

    cdef int slot(self, Py_ssize_t slot) except -1:
        """An array: its form when it comes for the first time, and where in whose memory it lies."""
        cdef int k = self.local(slot), root
        cdef Py_ssize_t offset
        cdef tuple place
        self.add(OF_SLOT)
        self.add(k)
        if not self.fits or self.described[k]:
            return 0
        self.described[k] = True
        self.add_object(self.forms[slot])
        place = self.roots[slot]
        root, offset = self.local(PyLong_AsSsize_t(place[0])), place[1]
        if not self.has_offset[root]:
            self.offsets[root], self.has_offset[root] = offset, True
        self.add(root)
        self.add(offset - self.offsets[root])
        self.add(self.local(PyLong_AsSsize_t(place[OWNER])))
        return 0

    cdef int local(self, Py_ssize_t slot) noexcept:
        """The number of a slot within the step."""
        cdef int k
        for k in range(self.locals):
            if self.slots[k] == slot:
                return k
        if self.locals == LOCALS:
            self.fits = False
            return 0
        k = self.locals
        self.locals += 1
        self.slots[k], self.described[k], self.has_offset[k] = slot, False, False
        return k

    cdef int found(self, Py_ssize_t slot) except -1:
        """The same of a slot that is in the step."""
        cdef int k = self.local(slot)
        if not self.fits:
            raise ValueError("an operand that is none of the step's")
        return k


@cython.final
cdef class Alike:
    """What steps that are alike are made of.

    Attributes
    ----------
    prepared : list of Prepared
        Operations, each with so many ``counts`` of ``all`` the operands.
    rooms : int
        How much memory lies between them.
    """

    def __cinit__(self, Py_ssize_t operations, Py_ssize_t operands):
        self.prepared = []
        self.counts = <int *>PyMem_Calloc(operations + 1, sizeof(int))
        self.operands = <Operand *>PyMem_Calloc(operands + 1, sizeof(Operand))
        if self.counts == NULL or self.operands == NULL:
            raise MemoryError()

    def __dealloc__(self):
        PyMem_Free(self.counts)
        PyMem_Free(self.operands)


@cython.final
cdef class Preparations:
    """`prepare` for the steps of one tree.

    Parameters
    ----------
    cells : Cells
        Among which constants have theirs.

    Attributes
    ----------
    constants : list of (cell, ndarray)
    """

    def __init__(self, Cells cells):
        self.cells = cells
        self.known, self.known_constants, self.constants = {}, {}, []
        self.described = Description()

    cdef Alike of(self, object step, list forms, list roots):
        """What a step is made of, None where Python has to do it; ``described`` has its slots."""
        cdef bytes key = self.described.of(step, forms, roots)
        if key is None:
            return self.made_of(prepare(step, forms, roots), False)
        found = self.known.get(key, MISSING)
        if found is MISSING:
            found = self.known[key] = self.made_of(prepare(step, forms, roots), True)
        return found

    cdef Alike made_of(self, list operations, bint is_described):
        """The same of prepared operations with their operands."""
        cdef Alike made
        cdef int at = 0
        cdef dict rooms = {}
        if operations is None:
            return None
        made = Alike(len(operations), sum([len(operands) for _, operands in operations]))
        for prepared, operands in operations:
            made.counts[len(made.prepared)] = len(operands)
            made.prepared.append(prepared)
            for x in operands:
                self.operand(&made.operands[at], x, is_described, rooms)
                at += 1
        made.all, made.rooms = at, len(rooms)
        return made

    cdef int operand(self, Operand *operand, object x, bint is_described, dict rooms) except -1:
        if type(x) is Slot or type(x) is Part:
            operand.kind = OF_CELL if type(x) is Slot else OF_PART
            operand.slot = x if type(x) is Slot else x.slot
            operand.offset = 0 if type(x) is Slot else x.offset
            operand.local = self.described.found(operand.slot) if is_described else -1
        elif type(x) is Between:
            operand.kind, operand.offset = OF_ROOM, x.size
            operand.local = rooms.setdefault(x, len(rooms))
        else:
            operand.kind, operand.slot = OF_CONSTANT, self.constant(x)
        return 0

    cdef int constant(self, object x) except -1:
        """The cell of a constant."""
        key = x.dtype.str, x.shape, x.strides, x.tobytes() if x.nbytes <= FEW else id(x)
        if key not in self.known_constants:
            cell = self.cells.add(Form(np.ndarray, x.dtype, x.shape, x.strides, True), False)
            self.constants.append((cell, x))
            self.known_constants[key] = cell
        return self.known_constants[key]
