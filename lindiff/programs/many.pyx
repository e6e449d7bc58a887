"""A program run for many elements of arrays: a block of them at once where that can be, else one by one."""

cimport cython
cimport numpy as cnp

from cpython.mem cimport PyMem_Calloc, PyMem_Free, PyMem_Malloc
from libc.stdint cimport uintptr_t
from libc.string cimport memcpy

from lindiff.kernels.memory cimport give_back, lend
from lindiff.programs.flags cimport clear_all_flags
from lindiff.programs.machine cimport Layout, Machine, Memory, Stretch, Unit, follow, scalar_to, told_flags

import numpy as np

from lindiff.programs.blocks import block_of, most_of
from lindiff.programs.machine import Cell

cnp.import_array()

cdef enum:
    ALIGNED = 64   # a line of the processor's cache
    FORMS = 64     # of arguments, in memory, of which blocks are kept
    TOGETHER = 16  # elements of a call, from which on it has blocks: fewer run sooner than these are made


def room_for(y, Py_ssize_t count):
    """Memory for so many results like this one, each in the order of axes that it has."""
    cdef bint by_columns = np.ndim(y) > 1 and y.flags.f_contiguous and not y.flags.c_contiguous
    previous = lend()
    try:
        room = np.empty((count, *(y.shape[::-1] if by_columns else y.shape)), y.dtype)
    finally:
        give_back(previous)
    return np.moveaxis(room, range(1, y.ndim + 1), range(y.ndim, 0, -1)) if by_columns else room


def run_many(Machine machine, list arrays, list are_many, list outs, Py_ssize_t start, Py_ssize_t stop,
             has_structure):
    """Run for one element of arrays after the other.

    Parameters
    ----------
    machine : Machine
    arrays : list
        The arguments; of those that are many, an array with all of them along its first axis.
    are_many : list of bool
    outs : list of ndarray
        The leaves of the results go there, one behind the other.
    start, stop : int
        From which element to which.
    has_structure : callable
        Whether results that a function makes of so many leaves have the structure that is expected.

    Returns
    -------
    int
        The first element of which there is no result here: no two runs have gone its way, NumPy would
        warn, or its result has another form.  ``stop`` where there is none.
    """
    cdef Stretch first = machine.start
    if first.fork is None and not first.unit.python:
        return run_without_python(machine, arrays, are_many, outs, start, stop, has_structure)
    return run_with_python(machine, arrays, are_many, outs, start, stop, has_structure)


cdef Py_ssize_t run_without_python(Machine machine, list arrays, list are_many, list outs, Py_ssize_t start,
                                   Py_ssize_t stop, object has_structure) except -1:
    """The same of a program without branches whose operations are all prepared."""
    cdef Stretch stretch = machine.start
    cdef Outputs outputs = outputs_for(stretch, machine.layout, outs, has_structure)
    cdef Memory memory
    cdef Inputs inputs
    cdef Blocks blocks = None
    cdef Py_ssize_t i = start, at, end
    cdef int told = told_flags()
    cdef bint at_once
    if outputs is None:
        return start
    if stop - start >= TOGETHER:
        blocks = blocks_for(machine, arrays, are_many, outs, stop - start)
    memory = machine.layout.memory()
    inputs = Inputs(machine, memory, arrays, are_many)
    with nogil:
        at_once = blocks is not None and blocks.begin(told)
        while i < stop:
            end = stop
            if at_once:
                at = min(i, stop - blocks.count)  # the last one goes back to what is there already
                end = at + blocks.count
                if blocks.run(at, told):
                    i = end
                    continue
            while i < end:
                inputs.give(memory, i)
                if not runs(stretch.unit, memory.operands + stretch.unit.base, told):
                    break
                outputs.take(memory, i)
                i += 1
            if i < end:
                break
    machine.release(memory, stretch)
    return i


cdef Py_ssize_t run_with_python(Machine machine, list arrays, list are_many, list outs, Py_ssize_t start,
                                Py_ssize_t stop, object has_structure) except -1:
    cdef Memory memory = machine.layout.memory()
    cdef Inputs inputs = Inputs(machine, memory, arrays, are_many)
    cdef Stretch stretch = machine.start
    cdef Outputs outputs
    cdef dict known = {}
    cdef Py_ssize_t i = start
    cdef int told = told_flags()
    while i < stop:
        inputs.give(memory, i)
        memory.flags = 0
        clear_all_flags()
        stretch = machine.run(memory)
        if stretch is None or memory.flags & told:
            return i
        if stretch not in known:
            known[stretch] = outputs_for(stretch, machine.layout, outs, has_structure)
        outputs = known[stretch]
        if outputs is None:
            return i
        outputs.take(memory, i)
        for cell in stretch.objects:
            memory.objects[<Py_ssize_t>cell] = None
        i += 1
    if stop > start:
        machine.release(memory, stretch)
    return stop


cdef bint runs(Unit unit, char **operands, int told) noexcept nogil:
    """Whether a unit that has no steps of Python's comes to its end, and notes nothing that is ``told``."""
    cdef int flags = 0
    cdef Py_ssize_t at
    clear_all_flags()
    at = unit.prepared_steps(0, unit.count, operands, &flags)
    return at == unit.count and flags & told == 0


# -- one element at a time ---------------------------------------------------------------------------------

@cython.final
cdef class Inputs:
    """Where the arguments of each of many runs lie."""

    cdef Py_ssize_t *sizes    # of numbers, which are copied; 0 of arrays
    cdef Py_ssize_t *steps
    cdef char **firsts
    cdef Machine machine
    cdef list arrays

    def __cinit__(self, Machine machine, Memory memory, list arrays, list are_many):
        cdef Py_ssize_t k, n = machine.count
        self.arrays, self.machine = arrays, machine
        self.sizes = <Py_ssize_t *>PyMem_Calloc(n + 1, sizeof(Py_ssize_t))
        self.steps = <Py_ssize_t *>PyMem_Calloc(n + 1, sizeof(Py_ssize_t))
        self.firsts = <char **>PyMem_Calloc(n + 1, sizeof(char *))
        if self.sizes == NULL or self.steps == NULL or self.firsts == NULL:
            raise MemoryError()
        for k in range(n):
            x = arrays[machine.places[k]]
            if not cnp.PyArray_CheckExact(x):  # one number for all
                scalar_to(x, memory.cells[machine.cells[k]])
                continue
            self.steps[k] = cnp.PyArray_STRIDE(<cnp.ndarray>x, 0) if are_many[machine.places[k]] else 0
            self.firsts[k] = cnp.PyArray_BYTES(<cnp.ndarray>x)
            self.sizes[k] = machine.sizes[k]

    def __dealloc__(self):
        PyMem_Free(self.sizes)
        PyMem_Free(self.steps)
        PyMem_Free(self.firsts)

    cdef void give(self, Memory memory, Py_ssize_t i) noexcept nogil:
        cdef Py_ssize_t k, cell
        cdef char *place
        for k in range(self.machine.count):
            if self.firsts[k] == NULL:
                continue
            place = self.firsts[k] + i * self.steps[k]
            cell = self.machine.cells[k]
            if self.sizes[k]:
                memcpy(memory.cells[cell], place, self.sizes[k])
            elif memory.cells[cell] != place:
                follow(&self.machine.views[k], memory, place)


@cython.final
cdef class Outputs:
    """Where the results of each of many runs go."""

    cdef Py_ssize_t count
    cdef Py_ssize_t *cells
    cdef Py_ssize_t *sizes
    cdef char **firsts
    cdef list arrays

    def __cinit__(self, list cells, list arrays):
        cdef Py_ssize_t k
        cdef Py_ssize_t n = len(cells)
        self.count = n
        self.arrays = arrays
        self.cells = <Py_ssize_t *>PyMem_Calloc(n + 1, sizeof(Py_ssize_t))
        self.sizes = <Py_ssize_t *>PyMem_Calloc(n + 1, sizeof(Py_ssize_t))
        self.firsts = <char **>PyMem_Calloc(n + 1, sizeof(char *))
        if self.cells == NULL or self.sizes == NULL or self.firsts == NULL:
            raise MemoryError()
        for k in range(n):
            self.cells[k] = cells[k]
            self.sizes[k] = arrays[k][0].nbytes
            self.firsts[k] = cnp.PyArray_BYTES(<cnp.ndarray>arrays[k])

    def __dealloc__(self):
        PyMem_Free(self.cells)
        PyMem_Free(self.sizes)
        PyMem_Free(self.firsts)

    cdef void take(self, Memory memory, Py_ssize_t i) noexcept nogil:
        cdef Py_ssize_t k
        for k in range(self.count):
            memcpy(self.firsts[k] + i * self.sizes[k], memory.cells[self.cells[k]], self.sizes[k])


cdef Outputs outputs_for(Stretch stretch, Layout layout, list outs, object has_structure):
    """How the leaves of a result go to ``outs``; None where one is no number or array in the arena, or has
    another form than is expected there."""
    cdef Py_ssize_t k
    cdef list cells = []
    if len(stretch.leaves) != len(outs) or not has_structure(stretch.unflatten, len(outs)):
        return None
    for k in range(len(outs)):
        leaf = stretch.leaves[k]
        if type(leaf) is not Cell or layout.places[leaf] is None:
            return None
        form, out = layout.forms[leaf], outs[k]
        if form[1] != out.dtype or form[2] != out.shape[1:]:
            return None
        if form[3] is not None and form[3] != out.strides[1:]:
            return None
        cells.append(leaf)
    return Outputs(cells, outs)


# -- a block of elements at a time -------------------------------------------------------------------------

@cython.final
cdef class Blocks:
    """The blocks of one call.

    Parameters
    ----------
    plan : Block
    once, each : Unit
        Its steps.
    constants : list of (cell, ndarray)
    arrays : list
        The arguments that ``plan`` numbers.
    steps : list of int
        How many bytes their elements lie apart.
    outs : list of ndarray
    """

    cdef Py_ssize_t count     # elements of one
    cdef Unit once
    cdef Unit each
    cdef char *memory
    cdef char **cells
    cdef char **of_once       # the addresses of the operands of both units,
    cdef char **of_each
    cdef Use *uses            # and those among the latter that are cells which move
    cdef Py_ssize_t used
    cdef Place *moving        # cells that lie in arguments and results,
    cdef Py_ssize_t moves
    cdef Place *copied        # and results that are copied
    cdef Py_ssize_t copies
    cdef list arrays
    cdef list outs

    def __cinit__(self, plan, Unit once, Unit each, Py_ssize_t cells, list constants, list arrays, list steps,
                  list outs):
        cdef char *begin
        cdef Place *place
        self.count, self.once, self.each = plan.elements, once, each
        self.arrays, self.outs = arrays, outs
        self.moves, self.copies = len(plan.given) + len(plan.direct), len(plan.copied)
        self.cells = <char **>PyMem_Calloc(cells + 1, sizeof(char *))
        self.memory = <char *>PyMem_Malloc(plan.size + ALIGNED)
        self.moving = <Place *>PyMem_Calloc(self.moves + 1, sizeof(Place))
        self.copied = <Place *>PyMem_Calloc(self.copies + 1, sizeof(Place))
        self.of_once = <char **>PyMem_Calloc(once.room + 1, sizeof(char *))
        self.of_each = <char **>PyMem_Calloc(each.room + 1, sizeof(char *))
        self.uses = <Use *>PyMem_Calloc(each.room + 1, sizeof(Use))
        if self.cells == NULL or self.memory == NULL or self.moving == NULL or self.copied == NULL \
                or self.of_once == NULL or self.of_each == NULL or self.uses == NULL:
            raise MemoryError()
        begin = self.memory + (ALIGNED - <uintptr_t>self.memory % ALIGNED)
        for cell, x in constants:
            self.cells[<Py_ssize_t>cell] = cnp.PyArray_BYTES(<cnp.ndarray>x)
        for cell, offset in plan.placed:
            self.cells[<Py_ssize_t>cell] = begin + <Py_ssize_t>offset
        place = self.moving
        for cell, k, offset in plan.given:
            place.cell, place.step = cell, steps[k]
            place.first = cnp.PyArray_BYTES(<cnp.ndarray>arrays[k]) + <Py_ssize_t>offset
            place += 1
        for cell, k, offset in plan.direct:
            place.cell, place.step = cell, outs[k][0].nbytes
            place.first = cnp.PyArray_BYTES(<cnp.ndarray>outs[k]) + <Py_ssize_t>offset
            place += 1
        place = self.copied
        for cell, k, size, step in plan.copied:
            place.cell, place.step, place.size = cell, step, size
            place.first = cnp.PyArray_BYTES(<cnp.ndarray>outs[k])
            place += 1
        self.find_uses()

    cdef int find_uses(self) except -1:
        """Which operands of each block are cells that move."""
        cdef set moving = {self.moving[k].cell for k in range(self.moves)}
        cdef Py_ssize_t k
        for k in range(self.each.room):
            if self.each.operands[k] in moving:
                self.uses[self.used].operand, self.uses[self.used].cell = k, self.each.operands[k]
                self.used += 1
        return 0

    def __dealloc__(self):
        PyMem_Free(self.of_once)
        PyMem_Free(self.of_each)
        PyMem_Free(self.uses)
        PyMem_Free(self.cells)
        PyMem_Free(self.memory)
        PyMem_Free(self.moving)
        PyMem_Free(self.copied)

    cdef bint begin(self, int told) noexcept nogil:
        """Compute what is the same for all elements; False where that fails, or NumPy would warn."""
        cdef Py_ssize_t k
        self.move(0)
        for k in range(self.once.room):
            self.of_once[k] = self.cells[self.once.operands[k]]
        for k in range(self.each.room):
            self.of_each[k] = self.cells[self.each.operands[k]]
        return runs(self.once, self.of_once, told)

    cdef bint run(self, Py_ssize_t i, int told) noexcept nogil:
        """The results of elements from the i-th on; False where one of them fails, or NumPy would warn."""
        cdef Place *place
        cdef Py_ssize_t k, other
        self.move(i)
        if not runs(self.each, self.of_each, told):
            return False
        for k in range(self.copies):
            place = &self.copied[k]
            for other in range(self.count):
                memcpy(place.first + (i + other) * place.size, self.cells[place.cell] + other * place.step,
                       place.size)
        return True

    cdef void move(self, Py_ssize_t i) noexcept nogil:
        """Let the cells of arguments and results be those of the i-th element."""
        cdef Py_ssize_t k
        for k in range(self.moves):
            self.cells[self.moving[k].cell] = self.moving[k].first + i * self.moving[k].step
        for k in range(self.used):
            self.of_each[self.uses[k].operand] = self.cells[self.uses[k].cell]


cdef struct Use:
    Py_ssize_t operand
    Py_ssize_t cell


cdef struct Place:
    Py_ssize_t cell
    char *first
    Py_ssize_t step
    Py_ssize_t size


cdef Blocks blocks_for(Machine machine, list arrays, list are_many, list outs, Py_ssize_t elements):
    """The blocks of a call for so many elements; None where it has none."""
    cdef Layout layout = machine.layout
    cdef Stretch stretch = machine.start
    cdef Blocks made
    cdef list cells = [cell for _, cell, _ in machine.arguments]
    cdef list given = [arrays[place] for place, _, _ in machine.arguments]
    cdef list steps = [
        x.strides[0] if are_many[place] else 0 if cnp.PyArray_CheckExact(x) else None
        for x, (place, _, _) in zip(given, machine.arguments)
    ]
    cdef Py_ssize_t most = most_of(elements)
    cdef tuple key = (most, *steps)
    found = machine.blocks.get(key)
    if found is None:
        results = [(cell, out[0].nbytes) for cell, out in zip(stretch.leaves, outs)]
        plan = block_of(stretch.unit.kept, layout.cells, layout.places, list(zip(cells, steps)), results,
                        most)
        units = None if plan is None else (Unit(plan.once), Unit(plan.each))
        if len(machine.blocks) >= FORMS:
            machine.blocks.clear()
        found = machine.blocks.setdefault(key, (plan, units))
    plan, units = found
    if plan is None:
        return None
    made = Blocks(plan, units[0], units[1], len(layout.forms), layout.constants, given, steps, outs)
    for x, step, cell in zip(given, steps, cells):
        if step is None and made.cells[<Py_ssize_t>cell] != NULL:  # else nobody asks for it
            scalar_to(x, made.cells[<Py_ssize_t>cell])
    return made
