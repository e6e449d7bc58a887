"""A program that compiled code runs again and again: its arguments and results stay where they are."""

cimport cython
cimport numpy as cnp

from cpython.mem cimport PyMem_Calloc, PyMem_Free
from libc.string cimport memcpy

from lindiff.core.observer cimport observing
from lindiff.programs.matching cimport Arguments
from lindiff.programs.machine cimport Contents, Memory, Stretch, told_flags, value_of_leaf

import numpy as np

from lindiff.core import pytree
from lindiff.programs.keys import is_array
from lindiff.programs.machine import Again
from lindiff.programs.tree import Unrepeatable

cnp.import_array()

cdef dict NOTHING = {}

cdef enum:
    CALLS = 3  # after which a program is known, if there is one


def evaluator(program, args, moving):
    """An `Evaluator`; None where there is no program for such arguments, or its results are not in double
    precision.

    Parameters
    ----------
    program : Program
        Returns any nesting of arrays and numbers of NumPy's.
    args : tuple
        Its arguments.  What is in arrays among them must not change.
    moving : dict of int to ndarray
        The leaves of ``args`` in these places are, in each run, what is in these arrays then: of the same
        shape, in double precision, by rows.
    """
    cdef Evaluator made
    if observing():
        return None
    made = Evaluator.__new__(Evaluator)
    leaves, made.restore = pytree.flatten(args)
    made.leaves = [moving.get(i, x) for i, x in enumerate(leaves)]
    made.arrays = [x for x, leaf in zip(made.leaves, leaves) if is_array(leaf)]
    made.moving = [(i, isinstance(leaves[i], np.generic), x) for i, x in moving.items()]
    made.program = program
    made.told = told_flags()
    made.find_machine(args)
    for _ in range(CALLS):
        if made.machine is not None:
            return made if made.allocated() else None
        try:
            program(*made.arguments())
        except Unrepeatable:
            return None
        made.find_machine(args)
    return None


@cython.final
cdef class Evaluator:
    """Runs of a program, as :func:`evaluator` makes it.

    Attributes
    ----------
    results : list of ndarray
        The leaves of what the last run has given.
    """

    def __dealloc__(self):
        PyMem_Free(self.copies)

    cdef int run(self) except -1:
        """Put the results for what is in the arguments now into ``results``."""
        cdef Memory memory = self.memory
        cdef Stretch stretch
        if self.machine is not None:
            self.machine.fill(memory, self.arrays)
            stretch = self.machine.run(memory)
            if stretch is not None and not memory.flags & self.told:
                return self.take_results(stretch, memory)
        self.by_python()
        return 0

    cdef int take_results(self, Stretch stretch, Memory memory) except -1:
        """Copy what a run has given."""
        cdef Py_ssize_t k, count = len(self.results)
        cdef Copy *copy
        if stretch is not self.copied_from and not self.finds_copies(stretch, memory):
            for k in range(count):
                leaf = stretch.given[k]
                put(self.results[leaf] if type(leaf) is Again else value_of_leaf(leaf, None, memory),
                    self.results[k])
            return 0
        for k in range(count):
            copy = self.copies + k
            memcpy(copy.place, memory.cells[copy.cell], copy.size)
        return 0

    cdef bint finds_copies(self, Stretch stretch, Memory memory) except -1:
        """Whether the results of a stretch are where bytes can be copied from."""
        cdef Contents contents
        cdef cnp.ndarray result
        cdef Py_ssize_t k
        stretch.find_leaves(memory.layout)
        self.copied_from = None
        for k in range(len(self.results)):
            result = self.results[k]
            if type(stretch.given[k]) is not Contents:
                return False
            contents = stretch.given[k]
            if contents.flags != 0 or contents.dtype.type_num != cnp.NPY_DOUBLE \
                    or contents.axes != cnp.PyArray_NDIM(result) \
                    or contents.size != cnp.PyArray_NBYTES(result):
                return False
            self.copies[k] = Copy(contents.cell, contents.size, cnp.PyArray_BYTES(result))
        self.copied_from = stretch
        return True

    def at(self, *numbers):
        """The first result for these numbers in the places of those that change, in their order."""
        cdef cnp.ndarray buffer
        cdef Py_ssize_t i
        cdef double x
        for i in range(len(numbers)):
            x, buffer = numbers[i], self.moving[i][2]
            (<double *>cnp.PyArray_BYTES(buffer))[0] = x
        self.run()
        return self.results[0][()] if self.results[0].ndim == 0 else self.results[0].copy()

    def by_python(self):
        """The same by a call of the program, which may go a way that is not known yet, or has to warn."""
        args = self.arguments()
        try:
            found = self.program(*args)
        except Unrepeatable:
            found = self.program.function(*args)
        found = pytree.flatten(found)[0]
        for x, result in zip(found, self.results, strict=True):
            put(x, result)
        self.find_machine()

    cdef bint allocated(self) except -1:
        """Have arrays for the results; whether these are in double precision."""
        cdef list leaves
        cdef Stretch stretch
        self.machine.fill(self.memory, self.arrays)
        stretch = self.machine.run(self.memory)
        if stretch is None:
            found = self.program(*self.arguments())
        else:
            found = stretch.results(self.memory)
        leaves = pytree.flatten(found)[0]
        self.results = [np.empty(np.shape(x)) for x in leaves]
        self.copies = <Copy *>PyMem_Calloc(len(leaves) + 1, sizeof(Copy))
        if self.copies == NULL:
            raise MemoryError()
        return all([isinstance(x, (np.ndarray, np.generic)) and x.dtype == np.float64 for x in leaves])

    def arguments(self):
        """The arguments as they are now, in memory of their own."""
        leaves = list(self.leaves)
        for i, is_number, x in self.moving:
            leaves[i] = x[()] if is_number else x.copy()
        return self.restore(leaves)

    def find_machine(self, args=None):
        """Let the next runs go by the machine that is known now, for arguments of this form."""
        machine, known = None, self.known_for(self.arguments() if args is None else args)
        if known is not None and known.tree is not None and known.tree.confirmed:
            known.machine_of(known.tree, len(self.arrays))
            machine, self.surroundings = known.ready(), known.surroundings
        if machine is not self.machine:
            self.machine = machine
            self.memory = None if machine is None else self.machine.layout.memory()

    def unchanged(self):
        """Whether what the function reads besides its arguments is as it was in the last run."""
        return self.surroundings is None or self.surroundings.unchanged()

    def known(self):
        """What is known of the runs for these arguments, or None."""
        return self.known_for(self.arguments())

    def known_for(self, args):
        """The same for arguments of one form with these."""
        for form, known in self.program.recent:
            if (<Arguments>form).arrays(args, NOTHING) is not None:
                return known
        known = self.program.known_for(args, {})
        if known is not None:
            self.program.remember(args, {}, known)
        return known


cdef int put(object x, cnp.ndarray result) except -1:
    if np.shape(x) != (<object>result).shape:
        raise ValueError(f"a function has returned an array of shape {np.shape(x)} after one of shape "
                         f"{(<object>result).shape}")
    result[...] = x
    return 0
