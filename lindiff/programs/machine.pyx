"""Runs the steps of a program: one C call each where an operation is prepared, Python's where it is not.

A :class:`Unit` is a list of steps that follow each other.  A :class:`Memory` holds what one run works on: the
address of every cell, the arena in which results lie, and the objects of the steps that Python does.
"""

cimport cython
cimport numpy as cnp

from cpython.mem cimport PyMem_Calloc, PyMem_Free, PyMem_Malloc
from cpython.object cimport PyObject, PyTypeObject
from cpython.ref cimport Py_INCREF
from libc.string cimport memcmp, memcpy

from lindiff.kernels.loops cimport add_numbers
from lindiff.kernels.memory cimport empty
from lindiff.programs.flags cimport (
    FE_DIVBYZERO, FE_INVALID, FE_NOTED, FE_OVERFLOW, FE_UNDERFLOW, clear_all_flags, clear_flags, fetestexcept,
    noted_flags,
)
from lindiff.programs.operation cimport Operation

from typing import Any, NamedTuple

import numpy as np

from lindiff.programs.operands import leaves_of, same

cnp.import_array()

cdef extern from "time.h":
    cdef struct timespec:
        long long tv_sec
        long tv_nsec
    int timespec_get(timespec *, int) nogil
    int TIME_UTC

cdef extern from "numpy/arrayobject.h":
    object PyArray_NewFromDescr(PyTypeObject *subtype, cnp.dtype descr, int nd, const cnp.npy_intp *dims,
                                const cnp.npy_intp *strides, void *data, int flags, PyObject *obj)
    PyTypeObject PyArray_Type
    object PyArray_Scalar(void *data, cnp.dtype descr, object base)
    void PyArray_ScalarAsCtype(object scalar, void *data)


class Raised(NamedTuple):
    """What has come of an operation, or of a look at a value, that raises: what a function may ask for that
    catches it."""

    kind: type
    text: str


def raised(error):
    """An exception as an outcome."""
    return Raised(type(error), str(error))


# A run that has taken a way that is not known, and one of which NumPy would say that numbers are not finite.
MISSED = object()
WARNED = object()

cdef type BOOL = np.bool_

cdef enum:
    FAILED = -1
    DONE = -2
    LARGE = 1 << 20  # bytes of an arena of which no more than one is kept,
    IDLE = 1 << 24   # and of all arenas of a program that are


cdef int scalar_to(object scalar, char *address) except -1:
    """Write a number of NumPy's to an address."""
    PyArray_ScalarAsCtype(scalar, address)
    return 0


cdef object array_at(char *data, object kind):
    """An array, or a number, of this kind, dtype, shape and strides at an address."""
    cdef tuple form = <tuple>kind  # a named tuple's items are looked up by Python
    cdef cnp.npy_intp dims[AXES]
    cdef cnp.npy_intp steps[AXES]
    cdef int k, axes
    cdef cnp.dtype dtype = form[1]
    if form[3] is None:
        return PyArray_Scalar(data, dtype, None)
    axes = len(form[2])
    for k in range(axes):
        dims[k] = form[2][k]
        steps[k] = form[3][k]
    Py_INCREF(dtype)  # which the new array takes
    return PyArray_NewFromDescr(&PyArray_Type, dtype, axes, dims, steps, data,
                                cnp.NPY_ARRAY_WRITEABLE if form[4] else 0, NULL)


def part_of(form, index):
    """Where ``x[index]`` lies in an array of this form, for a basic index: bytes behind, shape, strides."""
    cdef char *nowhere = <char *>4096  # is not read
    readable = (*form[:4], False)
    whole = array_at(nowhere, readable)
    part = whole[(*index, ...) if isinstance(index, tuple) and Ellipsis not in index
                 else index if isinstance(index, tuple) else (index, ...) if index is not Ellipsis else ...]
    return cnp.PyArray_BYTES(<cnp.ndarray>part) - nowhere, part.shape, part.strides


class Form(NamedTuple):
    """What an array is without its values: numbers have no strides, and those of Python no dtype."""

    kind: type
    dtype: Any
    shape: tuple
    strides: Any
    writeable: bool


def form_of(x):
    """The form of an array, of a number, or of anything else."""
    if isinstance(x, np.ndarray):
        return Form(type(x), x.dtype, x.shape, x.strides, x.flags.writeable)
    return Form(type(x), x.dtype if isinstance(x, np.generic) else None, (), None, False)


@cython.final
cdef class Lying:
    """The cells that lie in one piece of memory, and how many bytes behind its beginning; and the operands of
    steps that these are."""

    def __cinit__(self, views, Layout layout):
        cdef Py_ssize_t k, i, cells = len(views), operands = 0
        cdef int use
        for cell, _ in views:
            use = layout.first_uses[<Py_ssize_t>cell]
            while use >= 0:
                operands += 1
                use = layout.next_uses[use]
        self.views.places = <Py_ssize_t *>PyMem_Calloc(2 * (cells + operands) + 1, sizeof(Py_ssize_t))
        if self.views.places == NULL:
            raise MemoryError()
        self.views.cells, self.views.all = cells, cells + operands
        self.views.offsets = self.views.places + self.views.all
        i = cells
        for k, (cell, offset) in enumerate(views):
            self.views.places[k], self.views.offsets[k] = cell, offset
            use = layout.first_uses[<Py_ssize_t>cell]
            while use >= 0:
                self.views.places[i], self.views.offsets[i] = use, offset
                use = layout.next_uses[use]
                i += 1

    def __dealloc__(self):
        PyMem_Free(self.views.places)


cdef void follow(const Views *views, Memory memory, char *address) noexcept nogil:
    """Let all of them have the addresses that follow from that of the memory."""
    cdef Py_ssize_t k
    for k in range(views.cells):
        memory.cells[views.places[k]] = address + views.offsets[k]
    for k in range(views.cells, views.all):
        memory.operands[views.places[k]] = address + views.offsets[k]


cdef class Layout:
    """The cells of a program.

    Parameters
    ----------
    forms : list of Form
        Of every cell.
    places : list of int or None
        Where in the arena a cell lies.
    constants : list of (cell, ndarray)
    arena : int
        Bytes.
    units : list of Unit
        All that work on them.
    made : dict of int to list of (cell, offset)
        The cells in which Python puts arrays, and those that lie in them, so many bytes behind.
    block : int
        Bytes of another piece of memory, to which places go on behind the arena: what the first half of a
        program leaves for the second one.
    handed : list of int
        The cells of ``made`` that it leaves as well.
    cells : Cells
    """

    def __init__(self, list forms, list places, list constants, Py_ssize_t arena, list units, dict made,
                 Py_ssize_t block, list handed, cells):
        self.cells = cells
        self.forms = forms
        self.places = places
        self.constants = constants
        self.arena = arena
        self.units = units
        self.find_uses()
        self.made = {cell: Lying([(cell, 0), *views], self) for cell, views in made.items()}
        self.makers = {view: cell for cell, views in made.items() for view, _ in views}
        self.block, self.handed = block, handed
        self.left = Lying([(i, at - arena) for i, at in enumerate(places) if at is not None and at >= arena]
                          if block else [], self)
        self.idle = []

    def __dealloc__(self):
        while self.idle_blocks:
            self.idle_blocks -= 1
            PyMem_Free(self.blocks[self.idle_blocks])
        PyMem_Free(self.first_uses)
        PyMem_Free(self.next_uses)

    cdef int find_uses(self) except -1:
        """Number the operands of all units, and know which of them each cell is."""
        cdef Py_ssize_t i, count = len(self.forms)
        cdef int cell
        cdef Unit unit
        for unit in self.units:
            unit.base = self.operands
            self.operands += unit.room
        self.first_uses = <int *>PyMem_Malloc((count + 1) * sizeof(int))
        self.next_uses = <int *>PyMem_Malloc((self.operands + 1) * sizeof(int))
        if self.first_uses == NULL or self.next_uses == NULL:
            raise MemoryError()
        for i in range(count):
            self.first_uses[i] = -1
        for unit in self.units:
            for i in range(unit.room):
                cell = unit.operands[i]
                self.next_uses[unit.base + i] = self.first_uses[cell]
                self.first_uses[cell] = <int>(unit.base + i)
        return 0

    cdef Memory memory(self):
        return self.idle.pop() if self.idle else Memory(self)

    cdef int keep(self, Memory memory) except -1:
        """Let another run work on memory that nobody needs any more."""
        cdef Py_ssize_t size = self.arena + 8 * (len(self.forms) + self.operands)
        if not self.idle or (self.arena < LARGE and len(self.idle) * size < IDLE):
            self.idle.append(memory)
        return 0

    cdef char *new_block(self) except NULL:
        """Memory for what one run leaves."""
        cdef char *block
        if self.idle_blocks:
            self.idle_blocks -= 1
            return self.blocks[self.idle_blocks]
        block = <char *>PyMem_Malloc(self.block + 1)
        if block == NULL:
            raise MemoryError()
        return block

    cdef void keep_block(self, char *block) noexcept:
        """Let another run leave its own there."""
        if self.idle_blocks < BLOCKS and (
                not self.idle_blocks or (self.block < LARGE and self.idle_blocks * self.block < IDLE)):
            self.blocks[self.idle_blocks] = block
            self.idle_blocks += 1
        else:
            PyMem_Free(block)


@cython.final
cdef class Memory:
    """What one run works on."""

    def __cinit__(self, Layout layout):
        cdef Py_ssize_t i, count = len(layout.forms)
        cdef Unit unit
        self.layout = layout
        self.cells = <char **>PyMem_Calloc(count + 1, sizeof(char *))
        self.operands = <char **>PyMem_Calloc(layout.operands + 1, sizeof(char *))
        self.arena = <char *>PyMem_Calloc(layout.arena + 64, 1)
        if self.cells == NULL or self.operands == NULL or self.arena == NULL:
            raise MemoryError()
        self.objects = [None] * count
        for i in range(count):
            if layout.places[i] is not None and (layout.block == 0 or layout.places[i] < layout.arena):
                self.cells[i] = self.arena + <Py_ssize_t>layout.places[i]
        for cell, x in layout.constants:
            self.cells[<Py_ssize_t>cell] = cnp.PyArray_BYTES(<cnp.ndarray>x)
        for unit in layout.units:
            for i in range(unit.room):
                self.operands[unit.base + i] = self.cells[unit.operands[i]]

    def __dealloc__(self):
        PyMem_Free(self.cells)
        PyMem_Free(self.operands)
        PyMem_Free(self.arena)

    cdef int attach(self, char *block) except -1:
        """Go on in what a run has left there, or leave it there."""
        self.block = block
        follow(&self.layout.left.views, self, block)
        return 0

    cdef bint holds(self, const char *place):
        """Whether a place lies in the arena, or in the block."""
        return self.arena <= place <= self.arena + self.layout.arena \
            or self.block != NULL and self.block <= place <= self.block + self.layout.block

    cdef object value(self, Py_ssize_t cell):
        """What is in a cell, for Python."""
        x = self.objects[cell]
        if x is not None:
            return x
        x = array_at(self.cells[cell], self.layout.forms[cell])
        maker = self.layout.makers.get(cell)
        if maker is not None and cnp.PyArray_CheckExact(x):
            cnp.set_array_base(<cnp.ndarray>x, self.objects[<Py_ssize_t>maker])
        return x

    cdef bint is_truth(self, Py_ssize_t cell) except -1:
        """Whether it is one of NumPy's truth values that is in a cell."""
        cdef tuple form = <tuple>self.layout.forms[cell]
        return form[0] is BOOL and self.objects[cell] is None

    cdef object own(self, Py_ssize_t cell):
        """The same, in memory that is not the arena's."""
        x = self.value(cell)
        if cnp.PyArray_CheckExact(x) and (
                self.objects[cell] is None or self.holds(cnp.PyArray_BYTES(<cnp.ndarray>x))):
            copied = cnp.PyArray_NewCopy(<cnp.ndarray>x, cnp.NPY_KEEPORDER)
            if not cnp.PyArray_ISWRITEABLE(<cnp.ndarray>x):
                cnp.PyArray_CLEARFLAGS(<cnp.ndarray>copied, cnp.NPY_ARRAY_WRITEABLE)
            return copied
        return x

    cdef int renew(self, Py_ssize_t cell, Lying views) except -1:
        """Let a cell, and those that lie in it, have an array of their own."""
        cdef cnp.npy_intp dims[AXES]
        cdef tuple form = <tuple>self.layout.forms[cell]
        cdef int k, axes = len(form[2])
        for k in range(axes):
            dims[k] = form[2][k]
        self.objects[cell] = empty(axes, dims, (<cnp.dtype>form[1]).type_num)
        follow(&views.views, self, cnp.PyArray_BYTES(<cnp.ndarray>self.objects[cell]))
        return 0

    cdef int before_python(self) except -1:
        """Python's own operations say themselves what is not finite."""
        self.flags |= fetestexcept(FE_NOTED)
        return 0

    cdef bint has(self, Py_ssize_t cell, object x) except -1:
        """Whether this is what is in a cell."""
        cdef tuple form = <tuple>self.layout.forms[cell]
        if form[3] is None:
            return type(x) is form[0]
        return cnp.PyArray_CheckExact(x) and cnp.PyArray_BYTES(<cnp.ndarray>x) == self.cells[cell] \
            and (x.dtype, x.shape, x.strides) == (form[1], form[2], form[3])

    cdef int hold(self, Py_ssize_t cell, cnp.ndarray x) except -1:
        """Let an array of Python's be in a cell, and what lies in it be there."""
        self.objects[cell] = x
        follow(&(<Lying>self.layout.made[cell]).views, self, cnp.PyArray_BYTES(x))
        return 0

    cdef bint take(self, Py_ssize_t cell, object x) except -1:
        """Put what Python has made into a cell; False where it has another form."""
        cdef tuple form = <tuple>self.layout.forms[cell]
        if type(x) is not form[0]:
            return False
        if form[3] is not None:
            if x.dtype != form[1] or x.shape != form[2] or x.strides != form[3]:
                return False
            self.hold(cell, x)
        elif form[1] is not None:
            if self.layout.places[cell] is None or x.dtype != form[1]:
                return False
            PyArray_ScalarAsCtype(x, self.cells[cell])
        else:
            self.objects[cell] = x
        return True


cdef long long nanoseconds() noexcept nogil:
    cdef timespec now
    timespec_get(&now, TIME_UTC)
    return <long long>now.tv_sec * 1_000_000_000 + now.tv_nsec


cdef long long clock() noexcept nogil:
    """What a look at the clock takes, in nanoseconds."""
    cdef long long start, least = 1_000_000
    cdef int _i
    for _i in range(100):
        start = nanoseconds()
        least = min(least, nanoseconds() - start)
    return max(least, 0)


cdef class ByPython:
    """A step that Python does: ``function(*args, **kwargs)``, with `Cell` for what is in cells.

    ``of`` are the numbers of the instructions that it carries out, ``cells`` what it is given, or gives.
    """

    cdef readonly object function
    cdef readonly object args
    cdef readonly object kwargs
    cdef readonly object result
    cdef readonly tuple of
    cdef readonly list cells
    cdef bint quiet   # NumPy is not to warn

    def __init__(self, function, args, kwargs, result, bint quiet, tuple of=()):
        self.of = of
        self.quiet = quiet
        self.function = function
        self.args = args
        self.kwargs = kwargs
        self.result = result
        self.cells = [x for x in leaves_of((args, kwargs, result)) if type(x) is Cell or type(x) is Back]

    cdef object value(self, Memory memory):
        if not self.quiet:
            return self.called(memory)
        with np.errstate(all="ignore"):
            return self.called(memory)

    cdef object called(self, Memory memory):
        args = filled(self.args, memory)
        return self.function(*args, **filled(self.kwargs, memory)) if self.kwargs else self.function(*args)

    cdef bint run(self, Memory memory) except -1:
        """Do it; False where it fails, or the result has another form."""
        try:
            value = self.value(memory)
        except Exception:
            return False
        return put(self.result, value, memory)


class Cell(int):
    """The number of a cell."""

    __slots__ = ()


class Back(int):
    """The number of a cell that an operation gives back as it is."""

    __slots__ = ()


cdef object filled(object tree, Memory memory):
    cdef type kind = type(tree)
    if kind is Cell:
        return memory.value(tree)
    if kind is tuple:
        return tuple([filled(part, memory) for part in <tuple>tree])
    if kind is list:
        return [filled(part, memory) for part in <list>tree]
    if kind is dict:
        return {name: filled(part, memory) for name, part in (<dict>tree).items()}
    if kind is slice:
        return slice(filled(tree.start, memory), filled(tree.stop, memory), filled(tree.step, memory))
    if isinstance(tree, tuple) and hasattr(tree, "_make"):
        return tree._make([filled(part, memory) for part in tree])
    return tree


cdef bint put(object place, object value, Memory memory) except -1:
    cdef Py_ssize_t i
    if type(place) is Cell:
        return memory.take(place, value)
    if type(place) is Back:
        return memory.has(place, value)
    if isinstance(place, (tuple, list)):
        if type(value) is not type(place) or len(value) != len(place):
            return False
        for i in range(len(place)):
            if not put(place[i], value[i], memory):
                return False
        return True
    return place is None and value is None


cdef class Unit:
    """Steps that follow each other.

    Parameters
    ----------
    steps : list of Operation or ByPython
    """

    def __cinit__(self, list steps):
        cdef Py_ssize_t i, n = 0
        cdef int k
        cdef Operation operation
        for step in steps:
            n += (<Operation>step).count if type(step) is Operation else 0
        self.count = len(steps)
        self.steps = <Step *>PyMem_Calloc(self.count + 1, sizeof(Step))
        self.operands = <int *>PyMem_Calloc(n + 1, sizeof(int))
        if self.steps == NULL or self.operands == NULL:
            raise MemoryError()
        self.kept = steps
        self.python = []
        n = 0
        for i in range(self.count):
            step = steps[i]
            if type(step) is Operation:
                operation = step
                self.steps[i].run = operation.prepared.run
                self.steps[i].state = operation.prepared.state
                self.steps[i].first = <int>n
                self.steps[i].quiet = operation.quiet
                self.steps[i].keeps = operation.prepared.keeps
                self.steps[i].goes_on = operation.prepared.keeps and i > 0 and self.steps[i - 1].run != NULL \
                    and self.steps[i - 1].quiet == operation.quiet
                for k in range(operation.count):
                    self.operands[n + k] = operation.at[k]
                n += operation.count
            else:
                self.steps[i].first = <int>len(self.python)
                self.python.append(step)
        self.room = n

    def __dealloc__(self):
        PyMem_Free(self.steps)
        PyMem_Free(self.operands)

    cdef Py_ssize_t prepared_steps(self, Py_ssize_t at, Py_ssize_t end, char **x, int *flags) noexcept nogil:
        """Carry out steps from ``at`` to ``end``; up to where it comes, or fails: then -1 - that.

        ``x`` are the addresses of all operands of the unit, ``flags`` those of the processor outside of quiet
        steps.
        """
        cdef const Step *step = self.steps + at
        cdef const Step *last = self.steps + end
        cdef bint quiet = False, first = True
        while step < last:
            if first or not step.goes_on:
                first = False
                if step.quiet != quiet or not step.keeps:
                    if not quiet:
                        flags[0] |= noted_flags()
                    if step.quiet != quiet:
                        quiet = step.quiet
                        clear_flags()
                if step.run == NULL:
                    return step - self.steps
            if step.run(step.state, x + step.first) != 0:
                return -1 - (step - self.steps)
            step += 1
        if not quiet:
            flags[0] |= noted_flags()
        return end

    cdef int run(self, Memory memory) except -3:
        """DONE, or FAILED."""
        cdef Py_ssize_t at = 0
        while True:
            at = self.prepared_steps(at, self.count, memory.operands + self.base, &memory.flags)
            if at < 0:
                return FAILED
            if at >= self.count:
                if at > 0 and self.steps[at - 1].quiet:
                    clear_all_flags()
                return DONE
            memory.before_python()
            if not (<ByPython>self.python[self.steps[at].first]).run(memory):
                return FAILED
            clear_all_flags()
            at += 1

    cdef list timed(self, Memory memory):
        """The same one by one: the nanoseconds of each step; None where one fails."""
        cdef Py_ssize_t at, end
        cdef long long start, took, look = clock()
        cdef list times = []
        for at in range(self.count):
            start = nanoseconds()
            if self.steps[at].run == NULL:
                end = at + 1 if (<ByPython>self.python[self.steps[at].first]).run(memory) else -1
            else:
                end = self.prepared_steps(at, at + 1, memory.operands + self.base, &memory.flags)
            took = nanoseconds() - start - look
            clear_all_flags()
            if end != at + 1:
                return None
            times.append(max(took, 0))
        return times


cdef class Machine:
    """A program that runs.

    Parameters
    ----------
    layout : Layout
    arguments : list of (place among the arguments, cell, views)
        ``views`` are (cell, offset) that lie in it.
    start : Stretch
    """

    def __cinit__(self, Layout layout, list arguments, start):
        cdef Py_ssize_t k
        self.layout = layout
        self.arguments = arguments
        self.count = len(arguments)
        self.places = <Py_ssize_t *>PyMem_Calloc(3 * self.count + 1, sizeof(Py_ssize_t))
        if self.places == NULL:
            raise MemoryError()
        self.cells = self.places + self.count
        self.sizes = self.cells + self.count
        self.views = <Views *>PyMem_Calloc(self.count + 1, sizeof(Views))
        if self.views == NULL:
            raise MemoryError()
        self.lying = []
        for k, (place, cell, views) in enumerate(arguments):
            form = layout.forms[cell]
            self.places[k], self.cells[k] = place, cell
            self.sizes[k] = form.dtype.itemsize if form.strides is None else 0
            self.lying.append(Lying([(cell, 0), *views], layout))
            self.views[k] = (<Lying>self.lying[k]).views
        self.start = start
        self.blocks = {}

    def __dealloc__(self):
        PyMem_Free(self.places)
        PyMem_Free(self.views)

    cdef Memory memory_of(self, list arrays):
        """Memory with the arguments in their cells."""
        cdef Memory memory = self.layout.memory()
        self.fill(memory, arrays)
        return memory

    cdef int fill(self, Memory memory, list arrays) except -1:
        """Let the cells of the arguments hold these, and those that lie in them be there."""
        cdef Py_ssize_t i, cell
        for i in range(self.count):
            x = arrays[self.places[i]]
            cell = self.cells[i]
            if self.sizes[i] == 0:
                memory.objects[cell] = x
                if memory.cells[cell] != cnp.PyArray_BYTES(<cnp.ndarray>x):
                    follow(&self.views[i], memory, cnp.PyArray_BYTES(<cnp.ndarray>x))
            elif cnp.PyArray_CheckExact(x):
                memcpy(memory.cells[cell], cnp.PyArray_BYTES(<cnp.ndarray>x), self.sizes[i])
            else:
                PyArray_ScalarAsCtype(x, memory.cells[cell])
        memory.flags = 0
        clear_all_flags()
        return 0

    def __call__(self, list arrays):
        """The result, MISSED or WARNED."""
        cdef Memory memory = self.memory_of(arrays)
        cdef Stretch stretch = self.run(memory)
        if stretch is None:
            return MISSED
        if memory.flags and memory.flags & told_flags():
            return WARNED
        result = stretch.results(memory)
        self.release(memory, stretch)
        return result

    cdef Stretch run(self, Memory memory):
        """Carry the steps out; the stretch with the result, None where no two runs have gone that way."""
        cdef Stretch stretch = self.start
        while True:
            for result, lying in stretch.fresh:
                memory.renew(result, <Lying>lying)
            if stretch.unit.run(memory) == FAILED:
                return None
            memory.before_python()
            if stretch.fork is None:
                return stretch
            stretch = stretch.following(memory)
            clear_all_flags()
            if stretch is None or not stretch.confirmed:
                return None

    cdef int release(self, Memory memory, Stretch stretch) except -1:
        """Let go of what a run has worked on, which another one may do on it, too."""
        for cell in stretch.objects:
            memory.objects[<Py_ssize_t>cell] = None
        self.let_go(memory)
        self.layout.keep(memory)
        return 0

    cdef int let_go(self, Memory memory) except -1:
        """Let go of the arguments."""
        cdef Py_ssize_t i
        for i in range(self.count):
            memory.objects[self.cells[i]] = None
        return 0

    def timed(self, list arrays):
        """How long the steps take, each by itself, on the way that these arguments take.

        Pairs of a `Stretch` and the nanoseconds of its steps, and of its fork behind them; None where the way
        is not known.  A look at the clock takes as long as a step on few numbers.  What it takes is
        subtracted, and the rest is a guess.
        """
        cdef Memory memory = self.memory_of(arrays)
        cdef Stretch stretch = self.start
        cdef list found = []
        cdef long long start
        while True:
            for result, lying in stretch.fresh:
                memory.renew(result, <Lying>lying)
            times = stretch.unit.timed(memory)
            if times is None:
                return None
            found.append((stretch, times))
            if stretch.fork is None:
                return found
            start = nanoseconds()
            stretch = stretch.following(memory)
            times.append(max(nanoseconds() - start, 0))
            clear_all_flags()
            if stretch is None or not stretch.confirmed:
                return None


cdef int told_flags() except -1:
    """What of all that the processor notes NumPy says something about."""
    cdef dict told = np.geterr()
    cdef int flags = 0
    for name, flag in (("divide", FE_DIVBYZERO), ("over", FE_OVERFLOW), ("under", FE_UNDERFLOW),
                       ("invalid", FE_INVALID)):
        if told[name] != "ignore":
            flags |= <int>flag
    return flags


cdef class Stretch:
    """A unit, and what comes after it.

    Parameters
    ----------
    fork : None, (function, Cell), or ByPython
        What decides how it goes on: a value that leaves, or whether the step raises.
    outcomes : list of (outcome, Stretch, place)
        And where the result of a fork goes that is a step.
    leaves : list
        Of the result: a `Cell`, or a constant.
    unflatten : callable
    objects : list of int
        The cells that hold objects at the end.
    confirmed : bool
        There is an end behind it that two runs have come to.

    Attributes
    ----------
    unit : Unit
    fresh : list of (cell, Lying)
        Results that have memory of their own from here on, and what lies in it.
    """

    def __init__(self, fork, leaves, unflatten, objects, bint confirmed):
        self.confirmed = confirmed
        self.fork = fork
        self.fresh = []
        self.outcomes = []
        self.leaves = leaves
        self.unflatten = unflatten
        self.objects = objects

    def let_be_fresh(self, int cell, list views, Layout layout):
        """Let a result have memory of its own."""
        self.fresh.append((cell, Lying([(cell, 0), *views], layout)))

    cdef Stretch following(self, Memory memory):
        """How it goes on for what is in memory; None where that is not known."""
        cdef object value = None
        cdef bint truth
        if type(self.fork) is tuple:
            if (<tuple>self.fork)[0] is bool and memory.is_truth(self.fork[1]):
                truth = memory.cells[<Py_ssize_t>self.fork[1]][0] != 0
                for known, stretch, _ in self.outcomes:
                    if known is truth:
                        return stretch
                return None
            try:
                outcome = self.fork[0](memory.value(self.fork[1]))
            except Exception as error:
                outcome = raised(error)
        else:
            try:
                value = (<ByPython>self.fork).value(memory)
                outcome = tuple([form_of(x) for x in leaves_of(value)])
            except Exception as error:
                outcome = raised(error)
        for known, stretch, place in self.outcomes:
            if same(known, outcome):
                return stretch if place is None or put(place, value, memory) else None
        return None

    cdef bint is_fresh(self, object leaf) except -1:
        """Whether a result is a new array in memory of its own."""
        return type(leaf) is Cell and any([cell == leaf for cell, _ in self.fresh])

    cdef int find_leaves(self, Layout layout) except -1:
        """Know how the leaves of the result are found."""
        cdef Py_ssize_t i
        if self.given is None:
            self.given = [given_by(self.leaves, i, layout) for i in range(len(self.leaves))]
            self.nest = nest_of(self.unflatten, len(self.leaves))
            if isinstance(self.nest, (list, tuple)) and list(self.nest) == list(range(len(self.leaves))):
                self.flat = 1 if type(self.nest) is list else 2
        return 0

    cdef object results(self, Memory memory):
        cdef list values = []
        self.find_leaves(memory.layout)
        for leaf in self.given:
            values.append(value_of_leaf(leaf, values, memory))
        if self.flat:
            return values if self.flat == 1 else tuple(values)
        return self.unflatten(values) if self.nest is None else in_nest(self.nest, values)


cdef object value_of_leaf(object leaf, list values, Memory memory):
    """A leaf of a result; ``values`` are those before it."""
    cdef Contents contents
    if type(leaf) is Contents:
        contents = leaf
        if contents.is_number:
            return PyArray_Scalar(memory.cells[contents.cell], contents.dtype, None)
        return contents.copied(memory)
    if type(leaf) is Again:
        return values[leaf]
    if type(leaf) is Cell:
        return memory.own(leaf)
    return leaf.copy(order="K") if cnp.PyArray_CheckExact(leaf) else leaf


class Again(int):
    """The place of an earlier result that is this one."""

    __slots__ = ()


@cython.final
cdef class Contents:
    """A result without gaps, that may be written to, whose address is known."""

    cdef cnp.ndarray copied(self, Memory memory):
        """An array of its own; of a number, one without axes."""
        cdef cnp.ndarray x
        Py_INCREF(self.dtype)  # which the new array takes
        x = PyArray_NewFromDescr(&PyArray_Type, self.dtype, self.axes, self.shape, NULL, NULL, self.flags,
                                 NULL)
        memcpy(cnp.PyArray_BYTES(x), memory.cells[self.cell], self.size)
        return x

    cdef bint add_to(self, object total, Memory memory) except -1:
        """``total += x``; False where it is no array of this type and layout that may be written to."""
        cdef cnp.ndarray t
        if not cnp.PyArray_CheckExact(total):
            return False
        t = total
        if cnp.PyArray_NDIM(t) != self.axes or cnp.PyArray_TYPE(t) != self.dtype.type_num \
                or memcmp(cnp.PyArray_DIMS(t), self.shape, self.axes * sizeof(cnp.npy_intp)) != 0:
            return False
        if not (cnp.PyArray_IS_F_CONTIGUOUS(t) if self.flags else cnp.PyArray_IS_C_CONTIGUOUS(t)):
            return False
        return add_numbers(t, memory.cells[self.cell])


cdef object given_by(list leaves, Py_ssize_t i, Layout layout):
    """How the i-th leaf of a result is found: as `Contents`, `Cell`, the same as another, or a constant."""
    cdef Contents contents
    cdef Py_ssize_t k
    leaf = leaves[i]
    for k in range(i):
        if leaves[k] is leaf if type(leaf) is not Cell else type(leaves[k]) is Cell and leaves[k] == leaf:
            return Again(k)
    if type(leaf) is not Cell:
        return leaf
    form = layout.forms[leaf]
    is_shown = form[3] is not None and not form[4]  # may not be written to
    if form[1] is None or is_shown or (layout.places[leaf] is None and leaf not in layout.makers):
        return leaf
    like = np.empty(form[2], form[1])
    by_columns = form[3] is not None and like.strides != form[3]
    if by_columns:
        like = np.empty(form[2], form[1], order="F")
        if like.strides != form[3]:
            return leaf
    contents = Contents.__new__(Contents)
    contents.cell = leaf
    contents.size = like.nbytes
    contents.dtype = form[1]
    contents.is_number = form[3] is None
    contents.axes = len(form[2])
    contents.flags = cnp.NPY_ARRAY_F_CONTIGUOUS if by_columns else 0
    for k in range(contents.axes):
        contents.shape[k] = form[2][k]
    return contents


cdef object nest_of(object unflatten, Py_ssize_t count):
    """A result as tuples and lists with places at their leaves; None where it is made in another way."""
    places = [Again(i) for i in range(count)]
    nest = unflatten(places)
    return nest if is_nest(nest, places) else None


cdef bint is_nest(object nest, list places) except -1:
    if type(nest) is tuple or type(nest) is list:
        for part in nest:
            if not is_nest(part, places):
                return False
        return True
    return type(nest) is Again and places[nest] is nest


cdef object in_nest(object nest, list values):
    if type(nest) is tuple:
        return tuple([in_nest(part, values) for part in <tuple>nest])
    if type(nest) is list:
        return [in_nest(part, values) for part in <list>nest]
    return values[nest]
