"""What a program works on: cells, each an array or a number, by what they are and where they lie.

A cell lies in the arena, in memory of Python's, or in that of another cell, its root.
"""

cimport cython
cimport numpy as cnp

from cpython.mem cimport PyMem_Calloc, PyMem_Free, PyMem_Realloc

import numpy as np

from lindiff.programs.machine import Form

cnp.import_array()

cdef enum:  # places in a Form
    DTYPE = 1
    SHAPE = 2
    STRIDES = 3


@cython.final
cdef class Counts:
    """A number for each cell, 0 at the start, which takes no longer for many cells."""

    def __dealloc__(self):
        PyMem_Free(self.numbers)
        PyMem_Free(self.rounds)

    cdef int start(self, Py_ssize_t count) except -1:
        """Let all numbers be 0."""
        self.round += 1
        if count > self.room:
            PyMem_Free(self.numbers)
            PyMem_Free(self.rounds)
            self.numbers = <int *>PyMem_Calloc(2 * count, sizeof(int))
            self.rounds = <int *>PyMem_Calloc(2 * count, sizeof(int))
            if self.numbers == NULL or self.rounds == NULL:
                raise MemoryError()
            self.room, self.round = 2 * count, 1
        return 0


@cython.final
cdef class Cells:
    """The cells of a program, by their numbers.

    Attributes
    ----------
    forms : list of Form
    """

    def __cinit__(self):
        self.forms, self.counted = [], []

    def __dealloc__(self):
        PyMem_Free(self.places)

    def __len__(self):
        return self.count

    cpdef int add(self, object form, bint in_arena) except -1:
        """A cell with memory of its own, of the arena or elsewhere; its number."""
        cdef int cell = <int>self.count
        cdef void *places
        if self.space <= self.count:
            places = PyMem_Realloc(self.places, 2 * (self.count + 64) * sizeof(Place))
            if places == NULL:
                raise MemoryError()
            self.places, self.space = <Place *>places, 2 * (self.count + 64)
        self.places[cell] = Place(cell, -1, -1, cell, 0, size_of(form) if in_arena else -1, -1, 0)
        self.forms.append(form)
        self.count += 1
        return cell

    cpdef int room(self, Py_ssize_t size) except -1:
        """A cell of so many bytes of the arena that operations need between them."""
        return self.add(Form(np.ndarray, np.dtype(np.uint8), (size,), (1,), True), True)

    cpdef int view(self, int root, Py_ssize_t offset, object form) except -1:
        """A cell within the memory of a root, whose address is known before a run."""
        cdef int cell = self.add(form, False)
        self.put(cell, root, offset)
        return cell

    cdef int put(self, int cell, int root, Py_ssize_t offset) except -1:
        """Let a cell lie within the memory of a root."""
        cdef Place *place = &self.places[cell]
        place.root, place.offset = root, offset
        place.next, self.places[root].first = self.places[root].first, cell
        return 0

    cpdef int lie_in(self, int cell, int to, Py_ssize_t offset=0) except -1:
        """Let a root, and all that lies in its memory, lie in that of another one, so many bytes behind."""
        cdef int other = self.places[cell].first, following
        while other >= 0:
            following = self.places[other].next
            self.put(other, to, self.places[other].offset + offset)
            other = following
        self.places[cell].first = -1
        self.put(cell, to, offset)
        return 0

    def root(self, int cell):
        """The cell in whose memory another one lies, itself where it has its own."""
        return self.places[self.checked(cell)].root

    def offset(self, int cell):
        """How many bytes behind the beginning of its root a cell lies."""
        return self.places[self.checked(cell)].offset

    def owner(self, int cell):
        """The cell that all memory belongs to in which another one lies."""
        return self.owner_of(self.checked(cell))

    def let_own(self, int cell, int view):
        """Let a cell own a view that Python makes, nobody knows where in its memory."""
        self.places[self.checked(view)].owner = self.owner_of(self.checked(cell))

    def is_owned(self, int cell):
        """Whether a cell lies in such a view."""
        cdef int root = self.places[self.checked(cell)].root
        return self.places[root].owner != root

    def size(self, int cell):
        """Bytes of the arena; -1 of what does not lie there itself."""
        return self.places[self.checked(cell)].size

    def leave_arena(self, int cell):
        """Let a cell have memory elsewhere."""
        self.places[self.checked(cell)].size = -1

    def keep(self, int cell, bint given=False):
        """Let the memory of a cell be needed to the end, ``given`` by Python."""
        cdef int root = self.places[self.checked(cell)].root
        self.places[root].roles |= KEPT | GIVEN if given else KEPT

    def is_given(self, int cell):
        return self.has_role(self.checked(cell), GIVEN)

    def is_needed(self, int cell):
        """Whether the memory of a cell is used outside of the steps at hand, too."""
        return self.has_role(self.checked(cell), NEEDED)

    cpdef bint has_address(self, int cell) except -1:
        """Whether a cell lies in the arena, in an argument, or in an array that Python makes."""
        cdef int root = self.places[cell].root
        return self.places[root].size >= 0 or (<tuple>self.forms[root])[STRIDES] is not None

    def views(self, int root):
        """The cells that lie in the memory of a root, and where."""
        cdef int cell = self.places[self.checked(root)].first
        cdef list views = []
        while cell >= 0:
            views.append((cell, self.places[cell].offset))
            cell = self.places[cell].next
        return views

    cdef Counts counts(self, int k):
        """The k-th of some numbers for each cell, all 0, that a pass may count with."""
        cdef Counts counts
        while len(self.counted) <= k:
            self.counted.append(Counts())
        counts = self.counted[k]
        counts.start(self.count)
        return counts

    cdef int checked(self, int cell) except -1:
        if not 0 <= cell < self.count:
            raise IndexError(cell)
        return cell


cdef Py_ssize_t size_of(object form) except -1:
    """How many bytes an array takes, or a number."""
    cdef object dtype = (<tuple>form)[DTYPE], strides = (<tuple>form)[STRIDES]
    cdef tuple shape = (<tuple>form)[SHAPE]
    cdef Py_ssize_t n, size = 16 if dtype is None else (<cnp.dtype>dtype).itemsize
    cdef int k
    if strides is None:
        return size
    for k in range(len(shape)):
        n = shape[k]
        if n == 0:
            return 0
        size += (n - 1) * abs(<Py_ssize_t>(<tuple>strides)[k])
    return size
