"""From the instructions of a program to operations on its cells."""

cimport cython

from cpython.long cimport PyLong_AsSsize_t

from lindiff.programs.alike cimport OF_CELL, OF_CONSTANT, OF_PART, Alike, Operand, Preparations
from lindiff.programs.cells cimport Cells, Place
from lindiff.programs.operation cimport Operation, operation
from lindiff.programs.prepared cimport Prepared
from lindiff.programs.recording cimport QUIET, RESULT

from lindiff.programs.operands import Slot, slots_of


@cython.final
cdef class Translation:
    """Operations, and cells for their results, for one instruction after the other.

    Parameters
    ----------
    cells : Cells
    """

    cdef Cells cells
    cdef Preparations preparations

    def __init__(self, Cells cells):
        self.cells, self.preparations = cells, Preparations(cells)

    @property
    def constants(self):
        """Pairs of a cell and the constant array in it."""
        return self.preparations.constants

    def operations(self, list instructions, Py_ssize_t start, list forms, list roots, list cells, list steps):
        """Go on from an instruction to the first one that Python has to do, or the end.

        Parameters
        ----------
        instructions : list of Instruction
        start : int
        forms, roots : list
            Of slots, as a `Recording` has them.
        cells : list of int
            Those of the slots so far, to which those of results are added.
        steps : list
            To which the operations are added.

        Returns
        -------
        int
            The number of the instruction.
        """
        cdef Py_ssize_t i
        cdef Alike alike
        cdef list results
        for i in range(start, len(instructions)):
            step = instructions[i]
            alike = self.preparations.of(step, forms, roots)
            result = (<tuple>step)[RESULT]
            results = [result] if type(result) is Slot else [] if result is None else slots_of(result)
            if alike is None or not self.have_addresses(alike, results, roots, cells):
                return i
            for slot in results:
                self.add_cell(PyLong_AsSsize_t(slot), forms, roots, cells)
            self.add_operations(alike, i, (<tuple>step)[QUIET], cells, steps)
        return len(instructions)

    cdef bint have_addresses(self, Alike alike, list results, list roots, list cells) except -1:
        """Whether the memory of views that a step gives, and of parts that it takes, is known already."""
        cdef Py_ssize_t slot, root
        cdef int k
        for x in results:
            slot = PyLong_AsSsize_t(x)
            root = PyLong_AsSsize_t((<tuple>roots[slot])[0])
            if slot >= len(cells) > root and not self.cells.has_address(cells[root]):
                return False
        for k in range(alike.all):
            if alike.operands[k].kind == OF_PART:
                slot = self.slot(&alike.operands[k])
                if slot < len(cells) and not self.cells.has_address(cells[slot]):
                    return False
        return True

    cdef int add_cell(self, Py_ssize_t slot, list forms, list roots, list cells) except -1:
        """A cell for a result, which may be a view."""
        cdef Py_ssize_t root
        cdef Place *place
        if slot < len(cells):
            return 0
        root = PyLong_AsSsize_t((<tuple>roots[slot])[0])
        if root == slot:
            cells.append(self.cells.add(forms[slot], True))
        else:
            place = &self.cells.places[<int>cells[root]]
            cells.append(self.cells.view(place.root, place.offset + <Py_ssize_t>(<tuple>roots[slot])[1],
                                         forms[slot]))
        return 0

    cdef int add_operations(self, Alike alike, Py_ssize_t number, bint quiet, list cells,
                            list steps) except -1:
        """The operations of an instruction on its cells."""
        cdef Operation made
        cdef Operand *operand = alike.operands
        cdef list rooms = [None] * alike.rooms
        cdef int i, k
        for i in range(len(alike.prepared)):
            prepared = <Prepared>alike.prepared[i]
            made = operation(prepared, alike.counts[i], quiet or prepared.hushed, number)
            for k in range(made.count):
                made.at[k] = self.cell(operand, cells, rooms)
                operand += 1
            steps.append(made)
        return 0

    cdef int cell(self, const Operand *operand, list cells, list rooms) except -1:
        """The cell of an operand; memory between operations is the step's own."""
        cdef Place *place
        cdef int cell
        if operand.kind == OF_CELL:
            return cells[self.slot(operand)]
        if operand.kind == OF_PART:
            cell = cells[self.slot(operand)]
            place = &self.cells.places[cell]
            return self.cells.view(place.root, place.offset + operand.offset, self.cells.forms[cell])
        if operand.kind == OF_CONSTANT:
            return <int>operand.slot
        if rooms[operand.local] is None:
            rooms[operand.local] = self.cells.room(operand.offset)
        return rooms[operand.local]

    cdef Py_ssize_t slot(self, const Operand *operand) noexcept:
        return operand.slot if operand.local < 0 else self.preparations.described.slots[operand.local]
