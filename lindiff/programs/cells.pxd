"""What a program works on, for compiled code."""

cdef enum Role:
    KEPT = 1     # needed to the end: by Python, as a result, to decide on the way
    GIVEN = 2    # to Python
    NEEDED = 4   # outside of one unit, too
    APART = 8    # in memory that one half of a program leaves for the other one

cdef struct Place:
    int root         # the cell in whose memory it lies,
    int first        # of a root, the last one but itself that lies in it, or -1,
    int next         # and the one before
    int owner        # of a root, the cell that all memory belongs to in which it lies
    Py_ssize_t offset    # bytes behind the beginning of the root
    Py_ssize_t size      # in the arena, of those that lie there themselves; else -1
    Py_ssize_t at        # where it lies there; -1 as long as nobody knows
    int roles


cdef class Counts:
    cdef int *numbers
    cdef int *rounds
    cdef int round
    cdef Py_ssize_t room
    cdef int start(self, Py_ssize_t count) except -1
    cdef inline int get(self, int cell) noexcept:
        return self.numbers[cell] if self.rounds[cell] == self.round else 0
    cdef inline void put(self, int cell, int number) noexcept:
        self.numbers[cell], self.rounds[cell] = number, self.round


cdef class Cells:
    cdef readonly list forms
    cdef Place *places
    cdef Py_ssize_t count
    cdef Py_ssize_t space
    cdef list counted
    cpdef int add(self, object form, bint in_arena) except -1
    cpdef int room(self, Py_ssize_t size) except -1
    cpdef int view(self, int root, Py_ssize_t offset, object form) except -1
    cpdef bint has_address(self, int cell) except -1
    cdef int put(self, int cell, int root, Py_ssize_t offset) except -1
    cdef int checked(self, int cell) except -1
    cpdef int lie_in(self, int cell, int to, Py_ssize_t offset=*) except -1
    cdef Counts counts(self, int k)
    cdef inline int owner_of(self, int cell) noexcept:
        """The cell that all memory belongs to in which another one lies."""
        return self.places[self.places[cell].root].owner
    cdef inline bint has_role(self, int cell, int role) noexcept:
        """Whether the memory that a cell lies in has a role."""
        return self.places[self.places[cell].root].roles & role != 0
