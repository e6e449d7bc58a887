"""Elementwise rules and what carries them out."""

cimport cython
cimport numpy as cnp

from lindiff.core.operands cimport Binary
from lindiff.core.record cimport Pull, Push, Trace
from lindiff.core.registry cimport Entry, Rule
from lindiff.core.variable cimport Variable
from lindiff.kernels.loops cimport KINDS, Loops

# What a partial derivative is: a number, one of the arguments or the value itself, one over an argument; else
# the formula has to be carried out.
cdef enum What:
    ZERO
    ONE
    MINUS_ONE
    NUMBER
    VALUE
    FIRST
    SECOND
    OVER_SECOND
    FORMULA

# What of an operation a partial derivative needs.
cdef enum Use:
    OF_VALUE = 1
    OF_FIRST = 2
    OF_SECOND = 4
    OF_THIRD = 8

cdef struct Partial:
    What what
    int uses            # where its program is run, or where it has none
    int called_uses     # where the formula is called
    bint asks           # it looks at its numbers, to save work
    bint asks_for_numbers  # it is another formula where an argument is a number


cdef class ElementwiseRule(Rule):
    cdef tuple partials
    cdef tuple readable
    cdef list uses
    cdef bint of_value
    cdef bint of_arguments
    cdef bint of_integers
    cdef object value
    cdef object as_computed_with(self, object x, object y)


@cython.no_gc
@cython.final
cdef class ElementwiseNode(Binary):
    cdef ElementwiseEntry entry
    cdef object z
    cdef object w           # the third operand, which is constant
    cdef int kind           # the type of plain operands; -1 where they are others, or of several types
    cdef int place          # of that type
    cdef list computed      # partial derivatives that have been computed; None where there are none
    cdef bint pull_twice(self, Pull walk, object z_bar) except -1
    cdef int pull_to(self, Pull walk, int i, object z_bar, bint overwrite) except -1
    cdef bint pull_number(self, Pull walk, int i, object z_bar) except -1
    cdef object image(self, Push walk, int i, object x_dot)
    cdef object partial(self, int i)


@cython.final
cdef class ElementwiseEntry(Entry):
    cdef ElementwiseRule rule
    cdef object operator
    cdef bint of_anything
    cdef int count
    cdef Loops loops                    # of the function; None if it is no ufunc
    cdef bint ready[KINDS]
    cdef int results[KINDS]             # the types of the values; -1 where the function takes no such numbers
    cdef Partial partials[KINDS][3]
    cdef int kept[KINDS][4]             # what partials by the first, the second or both arguments need
    cdef list programs                  # of each type: those of the partial derivatives, or None
    cdef list values                    # of each type: that of the value, where it is given as a formula
    cdef list numbers                   # of each type: what they are, where they are numbers
    cdef int prepare(self, int place) except -1
    cdef int read_formula(self, int i, str letters, Partial *partial, list programs, list numbers) except -1
    cdef bint depends(self, int place, int i, int active)
    cdef object of_one(self, Variable v)
    cdef object operate(self, object x, object y)
    cdef object of_three(self, object x, object y, object w)
    cdef object value_by_formula(self, ElementwiseNode node, object x, object y)
    cdef object applied(self, ElementwiseNode node, Trace trace, object x, object y)
    cdef object value_by_function(self, ElementwiseNode node, object x, object y)
    cdef object by_python(self, object x, object y)
    cdef object value_of_others(self, ElementwiseNode node, object x, object y)
    cdef int uses(self, ElementwiseNode node, object x, object y, object value) except -1
    cdef object partial(self, int i, ElementwiseNode node)
    cdef object chained(self, int i, ElementwiseNode node, object z_bar, bint overwrite, bint conjugated)
    cdef bint saves_work(self, const Partial *partial, cnp.ndarray frame, ElementwiseNode node)
    cdef object called(self, int i, ElementwiseNode node)


cdef ElementwiseEntry entry_of(object function)
