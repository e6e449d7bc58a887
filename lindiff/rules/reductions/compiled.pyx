"""What carries out reductions' rules on plain arrays: sums, extremes, moments, norms, products."""

cimport cython
cimport numpy as cnp

import numpy as np

from lindiff.core.chain cimport all_finite
from lindiff.core.linear cimport LinearNode
from lindiff.core.record cimport Node, Pull, Push
from lindiff.core.registry cimport EntryOfOne
from lindiff.core.variable cimport Variable, as_value, record
from lindiff.kernels.elementwise cimport (
    filled, finite, if_finite, is_plain, repeated, shared_equally, sum_all,
)
from lindiff.kernels.frames cimport accumulated, exponentials, normalized, projected, scaled
from lindiff.kernels.loops cimport ADD, DIVIDE, MULTIPLY, SUBTRACT, Loops, place_of_kind, reduce
from lindiff.kernels.matmul cimport sum_of_products

from lindiff.core.registry import add_entry
from lindiff.rules._common import unused_as_zero
from lindiff.rules.elementwise.rules import nonzero
from lindiff.rules.reductions.rules import attaining as attaining_and_number, cumsum_pullback
import lindiff.rules.reductions.norms  # no-cython-lint

cnp.import_array()


cdef Loops MAXIMUM = Loops(np.maximum)
cdef Loops MINIMUM = Loops(np.minimum)


cdef object reduced(Loops by, object x, object axis, bint keepdims):
    """A plain array reduced along an axis, several or all."""
    cdef int place
    if axis is None or type(axis) is int:
        place = place_of_kind(cnp.PyArray_TYPE(<cnp.ndarray>x))
        value = reduce(&by.loops[place], x, axis, keepdims, by is ADD)
        if value is not None:
            return value
    return as_value(by.function.reduce(x, axis, None, None, keepdims))


cdef tuple kept_shape(object x, object axis, object keepdims):
    """The shape of a plain array reduced along an axis, several or all, with these kept.

    None where the array is no plain one or empty, or the options are not such.
    """
    cdef Py_ssize_t axes
    cdef list kept
    cdef unsigned long long seen = 0, bit
    if not is_plain(x) or cnp.PyArray_SIZE(<cnp.ndarray>x) == 0 or type(keepdims) is not bool:
        return None
    axes = cnp.PyArray_NDIM(<cnp.ndarray>x)
    if axis is None:
        return (1,) * axes
    kept = list(x.shape)
    for k in (axis if type(axis) is tuple else (axis,)):
        if type(k) is not int or not -axes <= k < axes:
            return None
        bit = <unsigned long long>1 << <int>(k % axes)
        if seen & bit:
            return None
        seen |= bit
        kept[k] = 1
    return tuple(kept)


cdef Py_ssize_t count_in_one(cnp.ndarray x, tuple kept) except -1:
    """How many elements of an array that is not empty are reduced to one."""
    cdef Py_ssize_t count = cnp.PyArray_SIZE(x)
    for n in kept:
        count //= n
    return count


# -- y = sum of all of x ---------------------------------------------------------------------------------

@cython.no_gc
@cython.final
cdef class SumAll(LinearNode):
    cdef tuple shape

    cdef object image(self, object x):
        return np.sum(x)

    cdef object adjoint(self, object y_bar):
        x_bar = filled(self.shape, y_bar)
        return np.broadcast_to(y_bar, self.shape) if x_bar is None else x_bar

    cdef bint owns(self, Pull walk, object x_bar) except -1:
        return is_new(x_bar)


cdef bint is_new(object x):
    """Whether an array is no view that repeats one of fewer elements: those are read-only."""
    return cnp.PyArray_CheckExact(x) and cnp.PyArray_ISWRITEABLE(<cnp.ndarray>x)


cdef object record_sum(Variable x):
    cdef SumAll node = SumAll.__new__(SumAll)
    value = sum_all(x._value)
    if value is None:
        value = reduced(ADD, x._value, None, False)
    node.a = x.node
    node.shape = x._value.shape
    return record(x.node.trace, node, value)


# -- y = x reduced along axes -----------------------------------------------------------------------------

@cython.no_gc
cdef class Reduction(Node):
    """Along ``axis`` (None: all): shapes of the argument, and of the result with its axes kept."""

    cdef tuple shape
    cdef tuple kept
    cdef object axis
    cdef bint keepdims

    cdef object finish(self, Variable x, tuple kept, object axis, bint keepdims, object value):
        self.a = x.node
        self.shape = x._value.shape
        self.kept = kept
        self.axis = axis
        self.keepdims = keepdims
        return record(x.node.trace, self, value)

    cdef object spread(self, object y_bar):
        """``y_bar`` repeated along the axes that were reduced."""
        x_bar = repeated(y_bar, self.kept, self.shape)
        return np.broadcast_to(np.reshape(y_bar, self.kept), self.shape) if x_bar is None else x_bar


@cython.no_gc
@cython.final
cdef class Total(Reduction):
    """The sum divided by ``count``, which is 1 or, for the mean, how many numbers were added."""

    cdef Py_ssize_t count

    cdef bint linear(self):
        return True

    cdef object divided(self, object y):
        if self.count == 1:
            return y
        quotient = DIVIDE.of_two(y, self.count)
        return y / self.count if quotient is None else quotient

    cdef int pull(self, Pull walk, object y_bar) except -1:
        x_bar = self.spread(self.divided(y_bar))
        return walk.add(self.a, x_bar, is_new(x_bar))

    cdef object push(self, Push walk):
        x_dot = walk.tangent(self.a)
        if x_dot is None:
            return None
        return as_value(self.divided(np.sum(x_dot, axis=self.axis, keepdims=self.keepdims)))


@cython.no_gc
@cython.final
cdef class Extreme(Reduction):
    """The largest or smallest ``y`` of ``x``; those that attain it share its cotangent."""

    cdef object x
    cdef object y

    cdef tuple attaining(self):
        """Which elements attain the extreme, and how many share it."""
        attained, n = attaining_and_number(self.x, self.y, self.kept, self.axis)
        return attained, n.astype(self.x.dtype)

    cdef int pull(self, Pull walk, object y_bar) except -1:
        x_bar = shared_equally(y_bar, self.x, self.y, self.kept) if all_finite(self.y) else None
        if x_bar is None:
            attained, n = self.attaining()
            x_bar = np.where(attained, np.reshape(y_bar, self.kept) / n, 0)
        return walk.add(self.a, x_bar, True)

    cdef object push(self, Push walk):
        x_dot = walk.tangent(self.a)
        if x_dot is None:
            return None
        attained, n = self.attaining()
        return as_value(np.sum(np.where(attained, x_dot / n, 0), axis=self.axis, keepdims=self.keepdims))


cdef class ReductionEntry(EntryOfOne):
    """Sums, means and extremes: along all axes, one, or a tuple of them, kept or not."""

    cdef Loops by
    cdef bint averaging

    def __init__(self, function, Loops by, bint averaging=False):
        EntryOfOne.__init__(self, function, axis=None, keepdims=False)
        self.by = by
        self.averaging = averaging

    cdef object recorded(self, Variable x, tuple options):
        cdef Reduction node
        cdef tuple kept
        if options is self.defaults and self.by is ADD and not self.averaging and is_plain(x._value):
            return record_sum(x)
        axis, keepdims = options
        kept = kept_shape(x._value, axis, keepdims)
        if kept is None:
            return NotImplemented
        value = reduced(self.by, x._value, axis, keepdims)
        if self.by is not ADD:
            node = Extreme.__new__(Extreme)
            (<Extreme>node).x = x._value
            (<Extreme>node).y = value
        else:
            node = Total.__new__(Total)
            (<Total>node).count = 1
            if self.averaging:
                (<Total>node).count = count_in_one(x._value, kept)
                value = (<Total>node).divided(value)
        return node.finish(x, kept, axis, keepdims, value)


# -- y = variance of x, or its root: dy = weight Σ d dx with the deviations d ------------------------------

@cython.no_gc
@cython.final
cdef class Moment(Reduction):
    cdef object deviations
    cdef object weight  # a number, or of the shape of y
    cdef bint finite

    cdef bint together(self):
        return True

    cdef int pull(self, Pull walk, object y_bar) except -1:
        factors = MULTIPLY.always(y_bar, self.weight)
        x_bar = scaled(self.deviations, factors, self.kept)
        if x_bar is None:
            x_bar = self.deviations * np.reshape(factors, self.kept)
        if not self.finite:
            x_bar = unused_as_zero(x_bar, np.reshape(y_bar, self.kept))
        return walk.add(self.a, x_bar, True)

    cdef object push(self, Push walk):
        x_dot = walk.tangent(self.a)
        if x_dot is None:
            return None
        terms = MULTIPLY.always(x_dot, self.deviations)
        return as_value(self.weight * np.sum(terms, axis=self.axis, keepdims=self.keepdims))


cdef class MomentEntry(EntryOfOne):
    """As NumPy computes it, in the same order."""

    cdef bint root

    def __init__(self, function, bint root):
        EntryOfOne.__init__(self, function, axis=None, keepdims=False, ddof=0)
        self.root = root

    cdef object recorded(self, Variable x, tuple options):
        cdef Moment node
        cdef Py_ssize_t count, divisor
        axis, keepdims, ddof = options
        kept = kept_shape(x._value, axis, keepdims)
        if kept is None or type(ddof) is not int:
            return NotImplemented
        count = count_in_one(x._value, kept)
        divisor = count - ddof
        if divisor <= 0:
            return NotImplemented
        node = Moment.__new__(Moment)
        mean = DIVIDE.always(reduced(ADD, x._value, axis, True), count)
        node.deviations = SUBTRACT.always(x._value, mean)
        squares = MULTIPLY.always(node.deviations, node.deviations)
        value = DIVIDE.always(reduced(ADD, squares, axis, keepdims), divisor)
        if not is_plain(value):
            return NotImplemented
        node.finite = all_finite(value)
        if self.root:
            value = as_value(np.sqrt(value))
            node.weight = DIVIDE.always(as_value(1 / without_zeros(value)), divisor)
        else:
            node.weight = 2.0 / divisor
        return node.finish(x, kept, axis, keepdims, value)


cdef object without_zeros(cnp.ndarray y):
    """``y`` with 1 for 0, to divide by."""
    if cnp.PyArray_NDIM(y) == 0 and cnp.PyArray_TYPE(y) == cnp.NPY_DOUBLE:
        return y if (<double *>cnp.PyArray_DATA(y))[0] != 0 else np.ones_like(y)
    return as_value(nonzero(y))


# -- y = ‖x‖: y dy = ⟨x, dx⟩, and 0 where y is 0 ---------------------------------------------------------

@cython.no_gc
@cython.final
cdef class Norm(Reduction):
    cdef object x
    cdef object divisor

    cdef bint together(self):
        return True

    cdef int pull(self, Pull walk, object y_bar) except -1:
        factors = DIVIDE.always(y_bar, self.divisor)
        x_bar = scaled(self.x, factors, self.kept)
        if x_bar is None:
            x_bar = self.x * np.reshape(factors, self.kept)
        if not all_finite(self.divisor):
            x_bar = unused_as_zero(x_bar, np.reshape(y_bar, self.kept))
        return walk.add(self.a, x_bar, True)

    cdef object push(self, Push walk):
        x_dot = walk.tangent(self.a)
        if x_dot is None:
            return None
        terms = MULTIPLY.always(x_dot, self.x)
        return as_value(np.sum(terms, axis=self.axis, keepdims=self.keepdims) / self.divisor)


cdef class NormEntry(EntryOfOne):
    """The 2-norm of all of an array, or along one axis."""

    cdef object recorded(self, Variable x, tuple options):
        cdef Norm node
        order, axis, keepdims = options
        kept = kept_shape(x._value, axis, keepdims)
        if kept is None or (axis is not None and type(axis) is not int) or not (
                order is None or (type(order) is int and order == 2
                                  and (axis is not None or cnp.PyArray_NDIM(<cnp.ndarray>x._value) == 1))):
            return NotImplemented
        square = sum_of_products(x._value, x._value) if axis is None and not keepdims else None
        if square is not None:
            square = np.asarray(square, x._value.dtype)
        else:
            square = reduced(ADD, MULTIPLY.always(x._value, x._value), axis, keepdims)
        if not finite(square):
            return NotImplemented  # NumPy says so in its own way
        value = as_value(np.sqrt(square))
        node = Norm.__new__(Norm)
        node.x = x._value
        node.divisor = without_zeros(value)
        return node.finish(x, kept, axis, keepdims, value)


# -- y = product of x, which is not 0: dy = y Σ dx / x ------------------------------------------------------

@cython.no_gc
@cython.final
cdef class ProductOfAll(Reduction):
    cdef object x
    cdef object y

    cdef bint together(self):
        return True

    cdef int pull(self, Pull walk, object y_bar) except -1:
        factors = MULTIPLY.always(y_bar, self.y)
        x_bar = scaled(self.x, factors, self.kept, True)
        if x_bar is None:
            x_bar = np.reshape(factors, self.kept) / self.x
        return walk.add(self.a, x_bar, True)

    cdef object push(self, Push walk):
        x_dot = walk.tangent(self.a)
        if x_dot is None:
            return None
        return as_value(self.y * np.sum(x_dot / self.x, axis=self.axis, keepdims=self.keepdims))


cdef bint has_zeros(cnp.ndarray y):
    cdef Py_ssize_t i
    for i in range(cnp.PyArray_SIZE(y)):
        if cnp.PyArray_TYPE(y) == cnp.NPY_DOUBLE and (<double *>cnp.PyArray_DATA(y))[i] == 0 \
                or cnp.PyArray_TYPE(y) == cnp.NPY_FLOAT and (<float *>cnp.PyArray_DATA(y))[i] == 0:
            return True
    return False


cdef class ProductEntry(EntryOfOne):
    """Of numbers that are neither 0 nor so many that they seem to be."""

    cdef object recorded(self, Variable x, tuple options):
        cdef ProductOfAll node
        axis, keepdims = options
        kept = kept_shape(x._value, axis, keepdims)
        if kept is None:
            return NotImplemented
        value = reduced(MULTIPLY, x._value, axis, keepdims)
        if not cnp.PyArray_IS_C_CONTIGUOUS(<cnp.ndarray>value) or has_zeros(value) or not finite(value):
            return NotImplemented
        node = ProductOfAll.__new__(ProductOfAll)
        node.x = x._value
        node.y = value
        return node.finish(x, kept, axis, keepdims, value)


# -- cumulative sums ---------------------------------------------------------------------------------------

@cython.no_gc
@cython.final
cdef class Accumulation(LinearNode):
    cdef tuple shape
    cdef object axis

    cdef int pull(self, Pull walk, object y_bar) except -1:
        x_bar = accumulated(y_bar, self.axis, True)
        if x_bar is None:
            return walk.add(self.a, cumsum_pullback(y_bar, self.shape, self.axis), False)
        return walk.add(self.a, cnp.PyArray_Reshape(x_bar, self.shape), True)

    cdef object image(self, object x):
        return np.cumsum(x, axis=self.axis)


cdef class CumsumEntry(EntryOfOne):
    cdef object recorded(self, Variable x, tuple options):
        cdef Accumulation node
        axis = options[0]
        if not is_plain(x._value):
            return NotImplemented
        value = if_finite(accumulated(x._value, axis, False))
        if value is None:
            return NotImplemented
        node = Accumulation.__new__(Accumulation)
        node.a = x.node
        node.shape = x._value.shape
        node.axis = axis
        return record(x.node.trace, node, value)


# -- y = log Σ exp x: dy = Σ exp(x - y) dx -----------------------------------------------------------------

@cython.no_gc
@cython.final
cdef class LogOfSum(Reduction):
    """Keeps ``e = exp(x - max x)`` and its sums."""

    cdef object e
    cdef object totals

    cdef bint together(self):
        return True

    cdef int pull(self, Pull walk, object y_bar) except -1:
        factors = DIVIDE.always(y_bar, self.totals)
        x_bar = scaled(self.e, factors, self.kept)
        return walk.add(self.a, self.e * factors if x_bar is None else x_bar, True)

    cdef object push(self, Push walk):
        x_dot = walk.tangent(self.a)
        if x_dot is None:
            return None
        terms = MULTIPLY.always(x_dot, self.e)
        return as_value(np.sum(terms, axis=self.axis, keepdims=True) / self.totals)


cdef class LogOfSumEntry(EntryOfOne):
    """Of exponentials without factors; the axes stay."""

    cdef object recorded(self, Variable x, tuple options):
        cdef LogOfSum node
        cdef tuple found
        factors, axis, signed = options
        if factors is not None or signed:
            return NotImplemented
        kept = kept_shape(x._value, axis, True)
        found = None if kept is None else exponentials(x._value, kept)
        if found is None:
            return NotImplemented
        node = LogOfSum.__new__(LogOfSum)
        node.e, node.totals, value = found
        return node.finish(x, kept, axis, True, value)


# -- y = exp x / Σ exp x, and its logarithm ------------------------------------------------------------------

@cython.no_gc
@cython.final
cdef class Softmax(Reduction):
    """dy = y (dx - Σ y dx), of the logarithm dx - Σ y dx."""

    cdef object y
    cdef bint logarithm

    cdef bint together(self):
        return True

    cdef object total(self, object x):
        return np.sum(x, axis=self.axis, keepdims=True)

    cdef int pull(self, Pull walk, object y_bar) except -1:
        if self.logarithm:
            x_bar = y_bar - self.y * self.total(y_bar)
        else:
            x_bar = self.image(y_bar)
        return walk.add(self.a, x_bar, True)

    cdef object image(self, object t):
        """The derivative of softmax is symmetric."""
        result = projected(self.y, t, self.kept)
        if result is not None:
            return result
        product = self.y * t
        return product - self.y * self.total(product)

    cdef object push(self, Push walk):
        x_dot = walk.tangent(self.a)
        if x_dot is None:
            return None
        return x_dot - self.total(self.y * x_dot) if self.logarithm else self.image(x_dot)


cdef class SoftmaxEntry(EntryOfOne):
    cdef bint logarithm

    def __init__(self, function, bint logarithm):
        EntryOfOne.__init__(self, function, axis=None)
        self.logarithm = logarithm

    cdef object recorded(self, Variable x, tuple options):
        cdef Softmax node
        cdef tuple found
        axis = options[0]
        kept = kept_shape(x._value, axis, True)
        found = None if kept is None else exponentials(x._value, kept)
        if found is None:
            return NotImplemented
        node = Softmax.__new__(Softmax)
        node.logarithm = self.logarithm
        node.y = normalized(found[0], found[1], kept)
        value = SUBTRACT.always(x._value, found[2]) if self.logarithm else node.y
        return node.finish(x, kept, axis, True, value)


def use_exponential_paths(log_of_sum, softmax, log_softmax):
    """Let these rules of lindiff.scipy.special be carried out here."""
    log_of_sum.entry = LogOfSumEntry(log_of_sum, 3, factors=None, axis=None, signed=False)
    softmax.entry = SoftmaxEntry(softmax, False)
    log_softmax.entry = SoftmaxEntry(log_softmax, True)


for function, entry in [
    (np.sum, ReductionEntry(np.sum, ADD)), (np.mean, ReductionEntry(np.mean, ADD, averaging=True)),
    (np.max, ReductionEntry(np.max, MAXIMUM)), (np.min, ReductionEntry(np.min, MINIMUM)),
    (np.var, MomentEntry(np.var, False)), (np.std, MomentEntry(np.std, True)),
    (np.linalg.norm, NormEntry(np.linalg.norm, ord=None, axis=None, keepdims=False)),
    (np.cumsum, CumsumEntry(np.cumsum, axis=None)),
    (np.prod, ProductEntry(np.prod, axis=None, keepdims=False)),
]:
    add_entry(function, entry)
