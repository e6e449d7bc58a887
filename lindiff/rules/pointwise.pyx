"""The compiled way of all elementwise rules of one or two arguments, on plain arrays of a type; where, clip.

Values come from the inner loops of the ufuncs, partial derivatives from the formulas of the readable rules,
which are read once for each type of numbers (see _formula.py).  A formula that cannot be read is called.
"""

cimport cython
cimport numpy as cnp

import numpy as np

from lindiff.core.differential cimport chain_product, hush, unhush
from lindiff.core.record cimport Node, Pull, Push, Trace
from lindiff.core.registry cimport ElementwiseRule, Handler
from lindiff.core.variable cimport Variable, as_value, kept_by, record
from lindiff.kernels.elementwise cimport chosen, clipped
from lindiff.kernels.loops cimport (
    Loop, Operand, Program, apply, common_frame, common_kind, find_loop, kind_of, merge,
    read_operand,
)
from lindiff.rules.arithmetic cimport Binary, of_two, plus, trace_of

from lindiff.core.registry import elementwise_rules, fast_path
from lindiff.rules._formula import read

cnp.import_array()

# The types of numbers, as they are counted here.
cdef enum:
    KINDS = 4
    MANY = 2048       # elements
    NEW = -2          # a loop that has not been looked for
    NONE = -1         # there is none


cdef inline int place_of_kind(int kind) noexcept:
    if kind == cnp.NPY_DOUBLE:
        return 0
    if kind == cnp.NPY_FLOAT:
        return 1
    return 2 if kind == cnp.NPY_CDOUBLE else 3


cdef inline bint has_one_step(object x):
    """Whether a loop can go through all elements by one step."""
    return not cnp.PyArray_CheckExact(x) or cnp.PyArray_NDIM(<cnp.ndarray>x) <= 1 \
        or cnp.PyArray_IS_C_CONTIGUOUS(<cnp.ndarray>x)


@cython.no_gc
@cython.final
cdef class Pointwise(Binary):
    """``z = f(x)`` or ``z = f(x, y)``; holds of ``x``, ``y`` and ``z`` what the formulas need."""

    cdef FastElementwise rule
    cdef object z
    cdef int kind
    cdef object by_x
    cdef object by_y

    cdef object partial(self, Py_ssize_t i):
        """The partial derivative by the i-th argument; None where it is zero."""
        found = self.by_x if i == 0 else self.by_y
        if found is None:
            found = self.rule.partial(i, self)
            if i == 0:
                self.by_x = found
            else:
                self.by_y = found
        return found

    cdef int pull(self, Pull walk, object z_bar) except -1:
        cdef bint overwrite = walk.overwrite
        if self.a is not None:
            partial = self.partial(0)
            if partial is not None:
                self.add_a(walk, chain_product(z_bar, partial, overwrite and self.b is None, True), True)
        if self.b is not None:
            partial = self.partial(1)
            if partial is not None:
                self.add_b(walk, chain_product(z_bar, partial, overwrite, True), True)
        return 0

    cdef object push(self, Push walk):
        x_dot = walk.tangent(self.a)
        y_dot = walk.tangent(self.b)
        z_dot = None
        if x_dot is not None:
            partial = self.partial(0)
            if partial is not None:
                z_dot = chain_product(x_dot, partial, False)
        if y_dot is not None:
            partial = self.partial(1)
            if partial is not None:
                term = chain_product(y_dot, partial, False)
                z_dot = term if z_dot is None else plus(z_dot, term)
        return self.fitted(z_dot)


@cython.final
cdef class FastElementwise(Handler):
    """The compiled twin of an elementwise rule; of a function that is no ufunc it takes only the formulas."""

    cdef ElementwiseRule readable
    cdef int count
    cdef Loop loops[KINDS]
    cdef list programs     # of each kind of numbers: the programs of the partials, or None

    def __init__(self, ElementwiseRule readable):
        cdef int i
        self.function = readable.function
        self.readable = readable
        self.count = len(readable.partials)
        self.programs = [None] * KINDS
        for i in range(KINDS):
            self.loops[i].kind = NEW

    cdef int prepare(self, int k, int kind) except -1:
        """Look for the loop of these numbers and read the formulas; other threads see all or nothing."""
        cdef Loop loop
        cdef list programs = []
        loop.function = NULL
        loop.kind = kind
        if isinstance(self.function, np.ufunc) and not find_loop(self.function, kind, &loop):
            self.loops[k].kind = NONE
            return 0
        letters = "".join([np.dtype(cnp.PyArray_DescrFromType(of)).char
                           for of in [loop.kind] + [kind] * self.count])
        for formula in self.readable.partials:
            program = None
            if formula is not None:
                assembled = read(formula, letters, 1 if self.readable.of_value else 1 + self.count)
                program = None if assembled is None else Program(*assembled)
            programs.append(program)
        self.programs[k] = programs
        self.loops[k] = loop
        return 0

    cdef object call(self, tuple args, dict kwargs):
        cdef Pointwise node
        cdef Variable v
        cdef Trace trace
        cdef int kind, k
        if kwargs:
            return NotImplemented
        node = Pointwise.__new__(Pointwise)
        y = None
        if self.count == 1:
            if len(args) != 1 or type(args[0]) is not Variable:
                return NotImplemented
            v = args[0]
            x = v._value
            trace = v.node.trace
            node.a = v.node
            kind = kind_of(x)
        else:
            if not of_two(args):
                return NotImplemented
            trace = trace_of(args[0], args[1])
            x = node.left(args[0], trace)
            y = node.right(args[1], trace)
            kind = common_kind(x, y)
        if kind < 0:
            return NotImplemented
        k = place_of_kind(kind)
        if self.loops[k].kind == NEW:
            self.prepare(k, kind)
        if self.loops[k].kind == NONE or (self.count == 2 and not self.fit(kind, x, y)):
            return NotImplemented
        value = None if self.loops[k].function == NULL else apply(&self.loops[k], self.count, x, y)
        if value is None:
            value = as_value(self.function(x) if self.count == 1 else self.function(x, y))
            if kind_of(value) != self.loops[k].kind:
                return NotImplemented
        node.rule = self
        node.kind = kind
        self.keep(node, trace, k, x, y, value)
        return node.finish(trace, x, y, value)

    cdef bint fit(self, int kind, object x, object y):
        """Whether two operands are of one shape, or one of them is a number."""
        cdef Operand operand
        cdef cnp.ndarray frame = common_frame(x, y)
        return read_operand(x, kind, frame, &operand) and read_operand(y, kind, frame, &operand)

    cdef int keep(self, Pointwise node, Trace trace, int k, object x, object y, object value) except -1:
        """Let the node hold what the partials with respect to its active arguments need."""
        cdef int uses = 0
        cdef bint many = cnp.PyArray_SIZE(<cnp.ndarray>value) > MANY
        cdef bint in_order = has_one_step(x) and has_one_step(y) and has_one_step(value)
        if node.a is not None:
            uses |= self.uses(k, 0, many, in_order)
        if node.b is not None:
            uses |= self.uses(k, 1, many, in_order)
        if uses & 1:
            node.z = value
        if uses & 2:
            node.x = x if node.a is not None else kept_by(x, node, trace, self.function)
        if uses & 4:
            node.y = y if node.b is not None else kept_by(y, node, trace, self.function)
        return 0

    cdef int uses(self, int k, Py_ssize_t i, bint many, bint in_order):
        """The bits of what a partial needs, of the value and the arguments: as a program, or to be called."""
        cdef Program program
        if self.readable.partials[i] is None:
            return 0
        program = (<list>self.programs[k])[i]
        if program is not None and in_order and not (many and program.asks):
            return program.uses
        return 1 if self.readable.of_value else 6 if self.readable.of_arguments else 7

    cdef object partial(self, Py_ssize_t i, Pointwise node):
        """The i-th partial derivative at the point of ``node``; None where it is zero."""
        cdef Operand given[3]
        cdef Program program
        cdef object frame
        if self.readable.partials[i] is None:
            return None
        program = (<list>self.programs[place_of_kind(node.kind)])[i]
        if program is None:
            return self.called(self.readable.partials[i], node)
        if program.number is not None:
            return program.number
        if program.count == 0:
            return node.z if program.result == 0 else node.x if program.result == 1 else node.y
        frame = node.z if program.uses & 1 else common_frame(node.x, node.y) if program.uses & 6 == 6 \
            else node.x if program.uses & 2 else node.y
        if not cnp.PyArray_CheckExact(frame) or self.saves_work(program, frame, node) \
                or (program.uses & 1 and not read_operand(node.z, node.kind, frame, &given[0])) \
                or (program.uses & 2 and not read_operand(node.x, node.kind, frame, &given[1])) \
                or (program.uses & 4 and not read_operand(node.y, node.kind, frame, &given[2])):
            return self.called(self.readable.partials[i], node)
        return program.run(given, frame)

    cdef bint saves_work(self, Program program, cnp.ndarray frame, Pointwise node):
        """Whether calling the formula rather than running its program is worth the price: where it looks at
        many numbers first, or at an exponent."""
        return cnp.PyArray_SIZE(frame) > MANY and (
            program.asks or (self.function is np.power and isinstance(node.y, (int, float))))

    cdef object called(self, object formula, Pointwise node):
        """What a formula gives that is called, in the precision of the arguments."""
        token = hush()
        try:
            if self.readable.of_value:
                partial = formula(node.z)
            else:
                partial = formula(node.z, node.x) if self.count == 1 else formula(node.z, node.x, node.y)
        finally:
            unhush(token)
        if isinstance(partial, (float, complex, int)) and not isinstance(partial, np.generic):
            return partial
        partial = as_value(partial)
        if (node.kind == cnp.NPY_FLOAT or node.kind == cnp.NPY_CFLOAT) and cnp.PyArray_CheckExact(partial):
            kind = kind_of(partial)
            if kind == cnp.NPY_DOUBLE:
                return partial.astype(np.float32)
            if kind == cnp.NPY_CDOUBLE:
                return partial.astype(np.complex64)
        return partial


# -- z = x where a mask holds, y elsewhere ---------------------------------------------------------------

@cython.no_gc
@cython.final
cdef class Where(Binary):
    """Each branch gets the derivative where it is taken, and exactly 0 elsewhere."""

    cdef object mask

    cdef bint linear(self):
        return True

    cdef object part(self, object t, bint wanted, bint overwrite):
        """``t`` where the mask is as ``wanted``."""
        out = chosen(t, self.mask, wanted, overwrite)
        if out is not None:
            return out
        return np.where(self.mask, t, 0) if wanted else np.where(self.mask, 0, t)

    cdef int pull(self, Pull walk, object z_bar) except -1:
        if self.a is not None:
            self.add_a(walk, self.part(z_bar, True, walk.overwrite and self.b is None), True)
        if self.b is not None:
            self.add_b(walk, self.part(z_bar, False, walk.overwrite), True)
        return 0

    cdef object push(self, Push walk):
        x_dot = walk.tangent(self.a)
        y_dot = walk.tangent(self.b)
        if x_dot is None:
            return None if y_dot is None else self.fitted(self.part(y_dot, False, False))
        if y_dot is None:
            return self.fitted(self.part(x_dot, True, False))
        z_dot = merge(self.mask, x_dot, y_dot)
        return self.fitted(np.where(self.mask, x_dot, y_dot) if z_dot is None else z_dot)


cdef class FastWhere(Handler):
    """For a plain mask, and plain arrays of one type or numbers."""

    cdef object call(self, tuple args, dict kwargs):
        cdef Where node
        cdef Trace trace
        if kwargs or len(args) != 3 or not cnp.PyArray_CheckExact(args[0]) \
                or cnp.PyArray_TYPE(<cnp.ndarray>args[0]) != cnp.NPY_BOOL \
                or (type(args[1]) is not Variable and type(args[2]) is not Variable):
            return NotImplemented
        node = Where.__new__(Where)
        trace = trace_of(args[1], args[2])
        x = node.left(args[1], trace)
        y = node.right(args[2], trace)
        if common_kind(x, y) < 0:
            return NotImplemented
        value = merge(args[0], x, y)
        if value is None:
            value = np.where(args[0], x, y)
        node.mask = kept_by(args[0], node, trace)
        return node.finish(trace, x, y, value)


# -- y = f(x) linear and its own adjoint: the conjugate, degrees ---------------------------------------------

@cython.no_gc
@cython.final
cdef class SelfAdjoint(Node):
    cdef FastSelfAdjoint rule

    cdef bint linear(self):
        return True

    cdef bint together(self):
        return True

    cdef int pull(self, Pull walk, object y_bar) except -1:
        return walk.add(self.a, self.rule.image(y_bar), True)

    cdef object push(self, Push walk):
        x_dot = walk.tangent(self.a)
        return None if x_dot is None else self.rule.image(x_dot)


@cython.final
cdef class FastSelfAdjoint(Handler):
    """For plain arrays."""

    cdef Loop loops[KINDS]

    def __init__(self, function):
        cdef int i
        cdef int *kinds = [cnp.NPY_DOUBLE, cnp.NPY_FLOAT, cnp.NPY_CDOUBLE, cnp.NPY_CFLOAT]
        self.function = function
        for i in range(KINDS):
            if not find_loop(function, kinds[i], &self.loops[i]):
                self.loops[i].kind = NONE

    cdef object image(self, object x):
        cdef int kind = kind_of(x)
        y = None
        if kind >= 0 and self.loops[place_of_kind(kind)].kind == kind:
            y = apply(&self.loops[place_of_kind(kind)], 1, x, None)
        return as_value(self.function(x)) if y is None else y

    cdef object call(self, tuple args, dict kwargs):
        cdef Variable x
        cdef SelfAdjoint node
        if kwargs or len(args) != 1 or type(args[0]) is not Variable:
            return NotImplemented
        x = args[0]
        if kind_of(x._value) < 0:
            return NotImplemented
        value = self.image(x._value)
        if kind_of(value) != cnp.PyArray_TYPE(<cnp.ndarray>x._value):
            return NotImplemented
        node = SelfAdjoint.__new__(SelfAdjoint)
        node.a = x.node
        node.rule = self
        return record(x.node.trace, node, value)


# -- y = x clipped between two numbers -------------------------------------------------------------------

@cython.no_gc
@cython.final
cdef class Clip(Node):
    cdef object partial

    cdef bint together(self):
        return True

    cdef int pull(self, Pull walk, object y_bar) except -1:
        return walk.add(self.a, chain_product(y_bar, self.partial, walk.overwrite), True)

    cdef object push(self, Push walk):
        x_dot = walk.tangent(self.a)
        return None if x_dot is None else chain_product(x_dot, self.partial, False)


cdef class FastClip(Handler):
    """For a plain array and Python numbers."""

    cdef object call(self, tuple args, dict kwargs):
        cdef Variable x
        cdef Clip node
        if kwargs or len(args) != 3 or type(args[0]) is not Variable:
            return NotImplemented
        x = args[0]
        both = clipped(x._value, args[1], args[2])
        if both is None:
            return NotImplemented
        node = Clip.__new__(Clip)
        node.a = x.node
        node.partial = (<tuple>both)[1]
        return record(x.node.trace, node, (<tuple>both)[0])


def use_pointwise_paths():
    """Give the elementwise rules of one or two arguments their compiled twins."""
    cdef ElementwiseRule readable
    for function, readable in elementwise_rules().items():
        if len(readable.partials) <= 2 and (
                not isinstance(function, np.ufunc)
                or function.nout == 1 and function.nin == len(readable.partials)):
            if readable.fast is None:
                readable.fast = FastElementwise(readable)
            elif len(readable.partials) == 1:
                readable.fast.fast = FastElementwise(readable)
    for function in (np.conjugate, np.positive, np.deg2rad, np.radians, np.rad2deg, np.degrees):
        fast_path(function, FastSelfAdjoint(function))
    fast_path(np.where, FastWhere(np.where))
    fast_path(np.clip, FastClip(np.clip))
