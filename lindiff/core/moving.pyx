"""Which numbers of an array move with what it is made of."""

cimport numpy as cnp

from lindiff.core.record cimport Leaf, Node, Record, observed_step
from lindiff.core.variable cimport Variable

import numpy as np

cnp.import_array()

# How far two ways to the same number may be apart, relatively: in single precision, too.
cdef double ONE_MAP = 1e-4

# Modules of operations that are differentiated as fast as they run, unlike solutions of equations.
cdef tuple OURS = ("numpy", "scipy.", "lindiff.rules.", "lindiff.linalg.", "lindiff.core.record",
                   "lindiff.core.differential", "lindiff.core.elementwise", "lindiff.core.linear")


def moving(Variable x):
    """Which numbers of an array have a derivative by any of the leaves that it is made of, here.

    They are those with a tangent, for tangents of the leaves that are random; no derivative of first order
    needs the cotangents of others.

    Parameters
    ----------
    x : Variable
        Of real numbers.

    Returns
    -------
    ndarray of bool, or None
        None where that is not known: of a forward trace, or of the tape of another derivative, where some
        that has made it may take long, or has a pushforward that is not its pullback's, or somebody looks on.
    """
    cdef Record tape
    plain = x._value
    if observed_step is not None or type(plain) is not np.ndarray or plain.dtype.kind != "f" \
            or x.node.trace.forward or x.node.trace.level == 0 or type(x.node) is Leaf:
        return None
    tape = Record([], [x.node])
    if not all_are_ours(tape):
        return None
    tape.leaves = tape.inputs()
    try:
        with np.errstate(all="ignore"):
            x_dot = random_tangent(tape, plain.shape)
    except Exception:  # which the derivative will say itself, if it comes that way
        return None
    return None if x_dot is None else x_dot != 0


cdef object random_tangent(Record tape, tuple shape):
    """Of the result, which has this shape; None where the two derivatives on the way are not one map.

    The leaves have the shapes of their cotangents.
    """
    numbers = np.random.default_rng(0)
    y_bar = numbers.standard_normal(shape)
    x_bars = tape.pull([y_bar], False)
    if not all([x_bar is None or type(x_bar) is np.ndarray for x_bar in x_bars]):
        return None
    x_dots = [None if x_bar is None else numbers.standard_normal(x_bar.shape) for x_bar in x_bars]
    (y_dot,) = tape.push(x_dots)
    if type(y_dot) is not np.ndarray:
        return None
    products = [x_bar * x_dot for x_bar, x_dot in zip(x_bars, x_dots) if x_bar is not None]
    away = np.sum(y_bar * y_dot) - sum([np.sum(product) for product in products])
    size = np.sum(np.abs(y_bar * y_dot)) + sum([np.sum(np.abs(product)) for product in products])
    return y_dot if abs(away) <= ONE_MAP * size else None


cdef bint all_are_ours(Record tape) except -1:
    cdef Py_ssize_t i
    cdef Node node
    for i in range(tape.size):
        node = <Node>tape.order[i]
        module = getattr(node.operation(), "__module__", None) or ""
        if not module.startswith(OURS):
            return False
    return True
