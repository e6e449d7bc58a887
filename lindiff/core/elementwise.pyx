"""Elementwise operations: a function, and its partial derivatives as formulas.

``elementwise(np.tanh, lambda y: 1 - y * y)`` is all there is to say of one.  On plain arrays of one type, and
in Python's operators, its :class:`ElementwiseEntry` acts: values come from the inner loops of the ufunc, the
formulas are read once for each type of numbers (see formula.py) and carried out block by block, together with
the product of the chain rule.  A formula that cannot be read is called.  In all other cases (keywords, more
arguments, several types) the rule acts as any other.
"""

import dis
import functools
import inspect

cimport cython
cimport numpy as cnp

import numpy as np

from libc.math cimport isfinite
from libc.string cimport memcpy, memset

from lindiff.core.chain cimport (
    chain_product, conjugate, hush, minus, negated, plus, quotient, unhush,
)
from lindiff.core.differential cimport Differential, Elementwise, elementwise_of
from lindiff.core.operands cimport Binary, by_operator, of_two, trace_of
from lindiff.core.record cimport Pull, Push, Trace
from lindiff.core.registry cimport Entry, Rule, handlers
from lindiff.core.variable cimport Variable, as_value, is_generic, kept_by, record
from lindiff.kernels.elementwise cimport finite, has_shape_of
from lindiff.kernels.loops cimport (
    KIND, KINDS, Loops, Operand, Program, apply, common_frame, common_kind, kind_of, place_of_kind,
    read_operand,
)
from lindiff.kernels.matmul cimport sum_of_products
from lindiff.kernels.memory cimport empty
from lindiff.kernels.sizes cimport FORMULA_LOOKS

from lindiff.core.arrays import placed
from lindiff.core.formula import read as steps_of

cnp.import_array()


# -- the rule ----------------------------------------------------------------------------------------------

cdef class ElementwiseRule(Rule):
    """The rule of an elementwise function that is given by its partial derivatives."""

    def __init__(self, function, tuple partials, value=None):
        self.value = value
        self.function = self.rule = function
        functools.update_wrapper(self, function)
        codes = [p.__code__ for p in partials if p is not None]
        self.of_value = all([takes_value_alone(code) for code in codes])
        self.of_arguments = all([code.co_varnames[0] == "_" for code in codes])
        self.of_integers = any([
            set(types.partition("->")[0]) & set("bBhHiIlLqQ") and types.endswith(tuple("fdgFDG"))
            for types in getattr(function, "types", ())
        ])
        self.readable = partials
        self.partials = partials if self.of_value else tuple([of_all(p) for p in partials])

    def partial(self, int place, y, args):
        """The partial derivative by the argument in a place at ``y = function(*args)``, of what dispatches;
        None where there is none."""
        partial = self.partials[place]
        return None if partial is None else partial(y) if self.of_value else partial(y, *args)

    cdef tuple outcome(self, tuple args, dict kwargs):
        y = self.function(*args, **kwargs) if kwargs else self.function(*args)
        if self.of_value:
            return y, elementwise_of(self.partials, (y,))
        given = [self.as_computed_with(placed(np.asarray(x), *args) if isinstance(x, (list, tuple)) else x, y)
                 for x in args]
        return y, elementwise_of(self.partials, (None if self.of_arguments else y, *given))

    cdef object as_computed_with(self, object x, object y):
        """An argument in the type that the function computes ``y`` with: squares of integers of few bits, or
        differences of unsigned ones, are others, and quotients of numbers of lower precision worse."""
        if type(x) is Variable or not hasattr(x, "astype") or x.dtype is y.dtype or y.dtype.kind not in "fc":
            return x
        if x.dtype.kind in "biu":
            return x.astype(np.int64 if self.of_integers else real_part_of(y.dtype))
        if real_part_of(x.dtype).itemsize >= real_part_of(y.dtype).itemsize:
            return x
        is_real = x.dtype.kind == "f"
        return x.astype(real_part_of(y.dtype) if is_real else np.promote_types(y.dtype, np.complex64))

    cdef int release(self, Differential differential) except -1:
        cdef Elementwise of_partials = <Elementwise>differential
        cdef set needed = set()
        if self.of_value:
            return 0
        if self.uses is None:
            self.uses = [set() if p is None else places_used(p.__code__) for p in self.readable]
        for place in of_partials.places:
            if place[0] < len(self.uses):
                needed |= self.uses[place[0]]
        of_partials.given = tuple([x if i in needed else None for i, x in enumerate(of_partials.given)])
        return 0

    def by_position(self, tuple args, dict kwargs):
        return args, kwargs


cdef object real_part_of(object dtype):
    """The type of the real part of numbers."""
    return np.dtype(dtype.char.lower()) if dtype.kind == "c" else dtype


def places_used(code):
    """Which of its parameters a function reads, by their numbers; all of them where it takes any number."""
    if code.co_flags & inspect.CO_VARARGS:
        return set(range(64))
    found = set(code.co_cellvars)
    for instruction in dis.get_instructions(code):
        names = instruction.argval
        found.update(names if isinstance(names, tuple) else [names] if isinstance(names, str) else [])
    return {i for i, name in enumerate(code.co_varnames[:code.co_argcount]) if name in found}


def takes_value_alone(code):
    return code.co_argcount == 1 and not code.co_flags & inspect.CO_VARARGS


def of_all(partial):
    """A function of the value alone as one of value and arguments."""
    if partial is None or not takes_value_alone(partial.__code__):
        return partial
    return lambda y, *args: partial(y)


def elementwise(function, *partials):
    """Give an elementwise function its partial derivatives.

    Each is a function of the value alone, or of the value and the arguments, or of the arguments: then the
    first parameter, the value, is called ``_``.  What none of them needs is not kept.  Formulas that call
    nothing but ufuncs and np.where are repeated by compiled code.
    """
    cdef ElementwiseRule made = ElementwiseRule(function, partials)
    if len(partials) <= 2 and (
            not isinstance(function, np.ufunc) or function.nout == 1 and function.nin == len(partials)):
        made.entry = ElementwiseEntry(made)
    handlers[function] = made


def elementwise_rule(function, *partials, value=None):
    """A primitive of its own, with the rule that :func:`elementwise` would register.

    ``value`` is a formula that gives what ``function`` does; compiled code takes it then.  Of three arguments
    the last one is a constant there.
    """
    cdef ElementwiseRule made = ElementwiseRule(function, partials, value)
    if value is not None:
        made.entry = ElementwiseEntry(made)
    return made


def elementwise_rules():
    """The rules that :func:`elementwise` has registered, by function."""
    return {function: handler for function, handler in handlers.items() if type(handler) is ElementwiseRule}


def operator_of(function, operator):
    """Let Python's ``operator`` of two operands of any kind be this function, whose rule is elementwise."""
    cdef ElementwiseEntry entry = entry_of(function)
    entry.operator = operator
    entry.of_anything = True


cdef ElementwiseEntry entry_of(object function):
    """The entry of a function that has one."""
    return (<ElementwiseRule?>handlers[function]).entry


# -- the operation -----------------------------------------------------------------------------------------

@cython.no_gc
@cython.final
cdef class ElementwiseNode(Binary):
    """``z = f(x)`` or ``z = f(x, y)``; holds of ``x``, ``y`` and ``z`` what the partial derivatives need."""

    cdef object operation(self):
        return self.entry.function

    cdef bint linear(self):
        """Whether this is arithmetic whose partial derivatives depend on no active argument.

        Other functions may jump, as remainders do.
        """
        cdef int active = (OF_FIRST if self.a is not None else 0) | (OF_SECOND if self.b is not None else 0)
        return self.entry.of_anything \
            and (self.a is None or not self.entry.depends(self.place, 0, active)) \
            and (self.b is None or not self.entry.depends(self.place, 1, active))

    cdef int pull(self, Pull walk, object z_bar) except -1:
        cdef bint free = walk.overwrite
        if self.a is not None and self.a is self.b and self.fit_result is None \
                and self.pull_twice(walk, z_bar):
            return 0
        if self.b is not None:
            if self.entry.partials[self.place][1].what == ONE:
                self.add_b(walk, z_bar, walk.overwrite)
                free = False
            else:
                self.pull_to(walk, 1, z_bar, free and self.a is None)
        if self.a is not None:
            if self.entry.partials[self.place][0].what == ONE:
                return self.add_a(walk, z_bar, walk.overwrite)
            self.pull_to(walk, 0, z_bar, free)
        return 0

    cdef bint pull_twice(self, Pull walk, object z_bar) except -1:
        """For ``x * x`` and its like twice the same, in the memory of one; False if not the case."""
        cdef What what = self.entry.partials[self.place][0].what
        if what < VALUE or what > SECOND:
            return False
        partial = self.entry.partial(0, self)
        if partial is not self.entry.partial(1, self):
            return False
        x_bar = chain_product(z_bar, partial, walk.overwrite, True)
        walk.add(self.a, chain_product(x_bar, 2.0, True), True)
        return True

    cdef int pull_to(self, Pull walk, int i, object z_bar, bint overwrite) except -1:
        """Add the cotangent of an argument by which the partial derivative is not 1.

        ``overwrite``: it may have the memory of ``z_bar``.
        """
        cdef What what = self.entry.partials[self.place][i].what
        cdef object x_bar = None
        if what == MINUS_ONE:
            x_bar = negated(z_bar)
        elif what == OVER_SECOND:
            x_bar = quotient(z_bar, conjugate(self.y))
        elif what == ZERO:
            return 0
        elif what == FORMULA:
            if walk.consume:
                x_bar = self.entry.chained(i, self, z_bar, overwrite, True)
            if x_bar is None:
                x_bar = chain_product(z_bar, self.partial(i), overwrite, True)
        elif self.fit_result is not None and self.pull_number(walk, i, z_bar):
            return 0
        else:
            x_bar = chain_product(z_bar, self.entry.partial(i, self), overwrite, True)
        return self.add_a(walk, x_bar, True) if i == 0 else self.add_b(walk, x_bar, True)

    cdef bint pull_number(self, Pull walk, int i, object z_bar) except -1:
        """For a number beside an array the sum of products is one dot product; False if not the case."""
        cdef tuple fit = self.fit_x if i == 0 else self.fit_y
        if fit is None or fit[0] != ():
            return False
        total = sum_of_products(z_bar, self.entry.partial(i, self))
        if total is None or not isfinite(total):
            return False
        walk.add(self.a if i == 0 else self.b, np.asarray(total, fit[1]), True)
        return True

    cdef object push(self, Push walk):
        x_dot = walk.tangent(self.a)
        y_dot = walk.tangent(self.b)
        z_dot = None if x_dot is None else self.image(walk, 0, x_dot)
        if y_dot is None:
            return self.fitted(z_dot)
        if z_dot is not None and self.entry.partials[self.place][1].what == MINUS_ONE:
            return self.fitted(minus(z_dot, y_dot))
        term = self.image(walk, 1, y_dot)
        return self.fitted(term if z_dot is None else z_dot if term is None else plus(z_dot, term))

    cdef object image(self, Push walk, int i, object x_dot):
        """The tangent of the result that belongs to that of one argument; None for zero."""
        cdef What what = self.entry.partials[self.place][i].what
        if what == ONE:
            return x_dot
        if what == MINUS_ONE:
            return negated(x_dot)
        if what == OVER_SECOND:
            return quotient(x_dot, self.y)
        if what == ZERO:
            return None
        y_dot = self.entry.chained(i, self, x_dot, False, False) if walk.tangents is None else None
        return chain_product(x_dot, self.partial(i), False) if y_dot is None else y_dot

    cdef object partial(self, int i):
        """The partial derivative by an argument; None where it is zero."""
        if self.computed is None:
            self.computed = [None, None]
        if self.computed[i] is None:
            self.computed[i] = self.entry.partial(i, self)
        return self.computed[i]


@cython.final
cdef class ElementwiseEntry(Entry):
    """What carries out an elementwise rule of one or two arguments on plain arrays of one type.

    ``of_anything``: on operands of any kind; those take Python's ``operator``.
    """

    def __init__(self, ElementwiseRule rule):
        self.function = self.operator = rule.function
        self.rule = rule
        self.count = len(rule.partials)
        self.loops = Loops(rule.function) if isinstance(rule.function, np.ufunc) else None
        self.programs = [None] * KINDS
        self.values = [None] * KINDS
        self.numbers = [None] * KINDS

    cdef int prepare(self, int place) except -1:
        """Read the formulas for a type of numbers; other threads see all or nothing."""
        cdef int i, active, kind = KIND[place], result = kind
        cdef list programs = [None] * 3, numbers = [None] * 3
        cdef Partial partials[3]
        cdef int kept[4]
        cdef Program value = None
        memset(partials, 0, sizeof(partials))
        memset(kept, 0, sizeof(kept))
        if self.loops is not None:
            result = -1 if self.loops.loops[place].function == NULL else self.loops.loops[place].kind
        if result >= 0:
            letters = "".join([np.dtype(cnp.PyArray_DescrFromType(of)).char
                               for of in [result] + [kind] * self.count])
            for i in range(self.count):
                self.read_formula(i, letters, &partials[i], programs, numbers)
            if self.rule.value is not None:
                formula = self.rule.value
                assembled = steps_of(lambda _, *args: formula(*args), letters, 1 + self.count)
                value = None if assembled is None else Program(*assembled)
        for i in range(min(self.count, 2)):
            for active in (1 << i, 3):
                if partials[i].what == FORMULA:
                    kept[active] = -1
                elif kept[active] >= 0:
                    kept[active] |= partials[i].uses
        memcpy(self.partials[place], partials, sizeof(partials))
        memcpy(self.kept[place], kept, sizeof(kept))
        self.programs[place] = programs
        self.numbers[place] = numbers
        self.values[place] = value
        self.results[place] = result
        self.ready[place] = True
        return 0

    cdef int read_formula(self, int i, str letters, Partial *partial, list programs, list numbers) except -1:
        """Read one formula."""
        cdef Program program
        formula = self.rule.partials[i]
        if formula is None:
            partial.what = ZERO
            return 0
        partial.what = FORMULA
        for k in {0} if self.rule.of_value else places_used(self.rule.readable[i].__code__):
            partial.called_uses |= 1 << <int>min(k, 3)
        partial.uses = partial.called_uses
        partial.asks_for_numbers = "isinstance" in self.rule.readable[i].__code__.co_names
        assembled = steps_of(formula, letters, 1 if self.rule.of_value else 1 + self.count)
        if assembled is None:
            return 0
        program = Program(*assembled)
        partial.uses = program.uses
        partial.asks = program.asks
        if program.number is not None:
            numbers[i] = program.number
            partial.what = ONE if program.number == 1 else MINUS_ONE if program.number == -1 else NUMBER
        elif program.count == 0:
            partial.what = <What>(VALUE + program.result)
        elif self.count == 2 and is_one_over_second(assembled):
            partial.what = OVER_SECOND
        else:
            programs[i] = program
        return 0

    cdef bint depends(self, int place, int i, int active):
        """Whether a partial derivative depends on one of the ``active`` arguments."""
        cdef int uses = self.partials[place][i].uses
        return uses & active or uses & OF_VALUE

    # -- values --------------------------------------------------------------------------------------------

    cdef object call(self, tuple args, dict kwargs):
        if kwargs:
            return NotImplemented
        if self.count == 1:
            return self.of_one(args[0]) if len(args) == 1 and type(args[0]) is Variable else NotImplemented
        if self.count == 3:
            if len(args) != 3 or type(args[2]) is Variable or not of_two(args[:2]):
                return NotImplemented
            return self.of_three(args[0], args[1], args[2])
        return self.operate(args[0], args[1]) if of_two(args) else NotImplemented

    cdef object of_one(self, Variable v):
        """``f(v)``; NotImplemented where the rule has to act."""
        cdef ElementwiseNode node = ElementwiseNode.__new__(ElementwiseNode)
        node.a = v.node
        node.kind = kind_of(v._value)
        return self.applied(node, v.node.trace, v._value, None)

    cdef object operate(self, object x, object y):
        """``f(x, y)``, one of which is a Variable; NotImplemented where the rule has to act."""
        cdef ElementwiseNode node = ElementwiseNode.__new__(ElementwiseNode)
        cdef Trace trace = trace_of(x, y)
        x = node.left(x, trace)
        y = node.right(y, trace)
        node.kind = common_kind(x, y)
        return self.applied(node, trace, x, y)

    cdef object of_three(self, object x, object y, object w):
        """The same with a third operand, which is a number or a plain array."""
        cdef ElementwiseNode node = ElementwiseNode.__new__(ElementwiseNode)
        cdef Trace trace = trace_of(x, y)
        x = node.left(x, trace)
        y = node.right(y, trace)
        node.kind = common_kind(x, y)
        if node.kind < 0 or common_kind(common_frame(x, y), w) != node.kind:
            return NotImplemented
        node.w = w
        out = self.applied(node, trace, x, y)
        if out is not NotImplemented:
            node.w = kept_by(w, node, trace, self.function)
        return out

    cdef inline object applied(self, ElementwiseNode node, Trace trace, object x, object y):
        """The result for operands as they are outside ``trace``, recorded with ``node``."""
        cdef object value = None
        cdef int place, uses
        if node.kind >= 0:
            node.place = place = place_of_kind(node.kind)
            if not self.ready[place]:
                self.prepare(place)
            if self.results[place] >= 0:
                if self.loops is not None:
                    value = apply(&self.loops.loops[place], self.count, x, y)
                elif self.values[place] is not None:
                    value = self.value_by_formula(node, x, y)
                if value is None and self.count < 3:
                    value = self.value_by_function(node, x, y)
        if value is None and self.count < 3:
            value = self.value_of_others(node, x, y)
        if value is None:
            return NotImplemented
        node.entry = self
        uses = self.kept[node.place][(node.a is not None) + 2 * (node.b is not None)]
        if uses < 0:
            uses = self.uses(node, x, y, value)
        if uses & OF_VALUE:
            node.z = value
        if uses & OF_FIRST:
            node.x = x if node.a is not None else kept_by(x, node, trace, self.function)
        if uses & OF_SECOND:
            node.y = y if node.b is not None else kept_by(y, node, trace, self.function)
        if node.kind >= 0 and (node.a is None or has_shape_of(x, <cnp.ndarray>value)) \
                and (node.b is None or has_shape_of(y, <cnp.ndarray>value)):
            return record(trace, node, value)  # nothing broadcasts
        return node.finish(trace, x, y, value)

    cdef object value_by_formula(self, ElementwiseNode node, object x, object y):
        """The formula of the value for plain operands of one shape, and numbers; else None.

        Bounds that are no numbers are left to NumPy, whose answer is none either.
        """
        cdef Operand given[4]
        cdef Program program = self.values[node.place]
        cdef cnp.ndarray frame = x if self.count == 1 else common_frame(x, y)
        if not read_operand(x, node.kind, frame, &given[1]):
            return None
        if self.count > 1 and not (is_finite(y) and read_operand(y, node.kind, frame, &given[2])):
            return None
        if self.count > 2 and not (is_finite(node.w) and read_operand(node.w, node.kind, frame, &given[3])):
            return None
        value = program.run(given, frame)
        return value if finite(value) else None

    cdef object value_by_function(self, ElementwiseNode node, object x, object y):
        """``f`` of plain operands that the loops do not take; None where its type is not that of the loop."""
        value = self.by_python(x, y)
        return value if kind_of(value) == self.results[node.place] else None

    cdef object value_of_others(self, ElementwiseNode node, object x, object y):
        """``f`` of operands of several kinds, or of Variables of an outer trace; None where the rule has to
        act."""
        cdef int kind = -1
        if not self.of_anything:
            kind = inner_kind(x, y)
            if kind < 0:
                return None
        node.kind = -1
        node.place = 0 if kind < 0 else place_of_kind(kind)
        if not self.ready[node.place]:
            self.prepare(node.place)
        if self.results[node.place] < 0:  # there are no formulas for what the function takes for others
            return None
        return self.by_python(x, y)

    cdef object by_python(self, object x, object y):
        return as_value(self.operator(x) if self.count == 1 else by_operator(self.operator, x, y))

    cdef int uses(self, ElementwiseNode node, object x, object y, object value) except -1:
        """What the formulas of the partial derivatives by active arguments need."""
        cdef int uses = 0, i
        cdef bint run = node.kind >= 0 and has_one_step(x) and has_one_step(y) and has_one_step(value)
        cdef const Partial *partial
        for i in range(min(self.count, 2)):
            if (node.a if i == 0 else node.b) is not None:
                partial = &self.partials[node.place][i]
                if run and not (partial.asks and cnp.PyArray_SIZE(<cnp.ndarray>value) > FORMULA_LOOKS):
                    uses |= partial.uses
                else:
                    uses |= partial.called_uses
        return uses

    # -- partial derivatives -------------------------------------------------------------------------------

    cdef object partial(self, int i, ElementwiseNode node):
        """A partial derivative at the point of ``node``; None where it is zero."""
        cdef const Partial *partial = &self.partials[node.place][i]
        cdef Operand given[4]
        cdef Program program
        cdef list copies
        if partial.what == VALUE:
            return node.z
        if partial.what == FIRST:
            return node.x
        if partial.what == SECOND:
            return node.y
        if partial.what == ZERO:
            return None
        if partial.what < VALUE:
            return (<list>self.numbers[node.place])[i]
        program = (<list>self.programs[node.place])[i]
        if program is None or node.kind < 0:
            return self.called(i, node)
        copies = []
        frame = frame_of(program, node)
        if frame is None or self.saves_work(partial, frame, node) \
                or not given_of(program, node, frame, given, copies):
            return self.called(i, node)
        return program.run(given, frame)

    cdef object chained(self, int i, ElementwiseNode node, object z_bar, bint overwrite, bint conjugated):
        """``z_bar`` times a partial derivative that has not been computed yet; None where it is not a program
        for arrays of that shape."""
        cdef const Partial *partial = &self.partials[node.place][i]
        cdef Operand given[4]
        cdef Program program
        if partial.what != FORMULA or node.kind < 0 or not cnp.PyArray_CheckExact(z_bar) \
                or (node.computed is not None and node.computed[i] is not None):
            return None
        program = (<list>self.programs[node.place])[i]
        if program is None or self.saves_work(partial, z_bar, node) \
                or not given_of(program, node, z_bar, given, None):
            return None
        return program.chained(given, z_bar, overwrite, conjugated)

    cdef bint saves_work(self, const Partial *partial, cnp.ndarray frame, ElementwiseNode node):
        """Whether calling the formula rather than running its program is worth the price: where it looks at
        many numbers first, or is another one for a number as second argument, an exponent."""
        cdef bint many = cnp.PyArray_SIZE(frame) > FORMULA_LOOKS
        if many and partial.asks:
            return True
        return partial.asks_for_numbers and isinstance(node.y, (int, float)) and (many or node.y == 0)

    cdef object called(self, int i, ElementwiseNode node):
        """What a formula gives that is called, in the precision of the arguments."""
        formula = self.rule.partials[i]
        token = hush()
        try:
            if self.rule.of_value:
                partial = formula(node.z)
            else:
                partial = formula(*[node.z, node.x, node.y, node.w][:1 + self.count])
        finally:
            unhush(token)
        if isinstance(partial, (float, complex, int)) and not is_generic(partial):
            return partial
        partial = as_value(partial)
        if (node.kind == cnp.NPY_FLOAT or node.kind == cnp.NPY_CFLOAT) and cnp.PyArray_CheckExact(partial):
            kind = kind_of(partial)
            if kind == cnp.NPY_DOUBLE:
                return partial.astype(np.float32)
            if kind == cnp.NPY_CDOUBLE:
                return partial.astype(np.complex64)
        return partial


cdef int inner_kind(object x, object y) except -2:
    """The type of Variables of an outer trace, beside which are others, plain arrays of that type or numbers;
    -1 where there are none, or others."""
    cdef object dtype = None
    for operand in (x, y):
        if type(operand) is Variable or kind_of(operand) >= 0:
            if dtype is None:
                dtype = operand.dtype
            elif operand.dtype != dtype:
                return -1
        elif operand is not None and type(operand) is not float and type(operand) is not int:
            return -1
    if dtype is None or not (type(x) is Variable or type(y) is Variable) or dtype.char not in "fdFD":
        return -1
    return dtype.num


cdef bint is_one_over_second(tuple assembled):
    """Whether a formula is ``1 / y``."""
    constants, steps = assembled[:2]
    if len(steps) != 1 or len(constants) != 1 or constants[0][0] != 1:
        return False
    function, sources = steps[0][:2]
    return function is np.divide and sources == [4, 2]  # the constant and the second argument


cdef bint is_finite(object x):
    """Whether an operand is finite: a number, or an array by rows."""
    if cnp.PyArray_CheckExact(x):
        return cnp.PyArray_IS_C_CONTIGUOUS(<cnp.ndarray>x) and finite(<cnp.ndarray>x)
    return isfinite(<double>x) if isinstance(x, (float, int)) else False


cdef inline bint has_one_step(object x):
    """Whether a loop can go through all elements by one step."""
    return not cnp.PyArray_CheckExact(x) or cnp.PyArray_NDIM(<cnp.ndarray>x) <= 1 \
        or cnp.PyArray_IS_C_CONTIGUOUS(<cnp.ndarray>x)


cdef object frame_of(Program program, ElementwiseNode node):
    """An array of the shape of a partial derivative, from what it is made of; None where there is none."""
    if program.uses & OF_VALUE:
        frame = node.z
    elif program.uses & OF_FIRST and program.uses & OF_SECOND:
        frame = common_frame(node.x, node.y)
        if frame is node.x and not broadcasts_to(node.y, frame):
            frame = node.y if broadcasts_to(node.x, node.y) else None
        elif frame is node.y and not broadcasts_to(node.x, frame):
            frame = None
    else:
        frame = node.x if program.uses & OF_FIRST else node.y
    return frame if cnp.PyArray_CheckExact(frame) else None


cdef bint broadcasts_to(object x, object frame):
    """Whether an operand broadcasts to the shape of an array."""
    cdef int k, more
    if not cnp.PyArray_CheckExact(x):
        return True
    if not cnp.PyArray_CheckExact(frame):
        return False
    more = cnp.PyArray_NDIM(<cnp.ndarray>frame) - cnp.PyArray_NDIM(<cnp.ndarray>x)
    if more < 0:
        return False
    for k in range(cnp.PyArray_NDIM(<cnp.ndarray>x)):
        if cnp.PyArray_DIM(<cnp.ndarray>x, k) != 1 \
                and cnp.PyArray_DIM(<cnp.ndarray>x, k) != cnp.PyArray_DIM(<cnp.ndarray>frame, more + k):
            return False
    return True


cdef bint given_of(Program program, ElementwiseNode node, cnp.ndarray frame, Operand *given,
                   list copies) except -1:
    """What a program is given, in the shape of ``frame``; False where that is not the case.

    What broadcasts goes there as a copy, which is put on the list ``copies``; without a list it does not go.
    """
    return (not program.uses & OF_VALUE or give(node.z, node.kind, frame, &given[0], copies)) \
        and (not program.uses & OF_FIRST or give(node.x, node.kind, frame, &given[1], copies)) \
        and (not program.uses & OF_SECOND or give(node.y, node.kind, frame, &given[2], copies)) \
        and (not program.uses & OF_THIRD or give(node.w, node.kind, frame, &given[3], copies))


cdef inline bint give(object x, int kind, cnp.ndarray frame, Operand *operand, list copies) except -1:
    cdef cnp.ndarray copy
    if read_operand(x, kind, frame, operand):
        return True
    if copies is None or not cnp.PyArray_CheckExact(x) or not broadcasts_to(x, frame):
        return False
    copy = empty(cnp.PyArray_NDIM(frame), cnp.PyArray_DIMS(frame), cnp.PyArray_TYPE(<cnp.ndarray>x))
    cnp.PyArray_CopyInto(copy, <cnp.ndarray>x)
    copies.append(copy)
    return read_operand(copy, kind, frame, operand)
