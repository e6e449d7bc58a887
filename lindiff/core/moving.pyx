"""Which numbers of an array move with what it is made of."""

cimport numpy as cnp

from lindiff.core.record cimport Leaf, Node, Record, observed_step
from lindiff.core.tally cimport Tally, set_aside, take_up
from lindiff.core.variable cimport Variable

import numpy as np

cnp.import_array()

# How many roundings two ways to the same number may be apart.
cdef double ONE_MAP = 1e4

# Modules of operations that are differentiated as fast as they run, unlike solutions of equations.
cdef tuple OURS = ("numpy.", "scipy.", "lindiff.rules.", "lindiff.linalg.", "lindiff.core.record.",
                   "lindiff.core.differential.", "lindiff.core.elementwise.", "lindiff.core.linear.")


def moving(Variable x, Py_ssize_t most):
    """Which numbers of an array have a derivative by any of the leaves that it is made of, here.

    They are those with a tangent, for tangents of the leaves that are random; no derivative of first order
    needs the cotangents of others.

    Parameters
    ----------
    x : Variable
        Of real numbers.
    most : int
        Operations on the way from the leaves, above which it is not worth it.

    Returns
    -------
    ndarray of bool, or None
        None where that is not known: of a forward trace, or of the tape of another derivative, where some
        that has made it may take long, or has a pushforward that is not its pullback's, or somebody looks on.
    """
    cdef Tally tally
    plain = x._value
    if observed_step is not None or type(plain) is not np.ndarray or plain.dtype.kind != "f" \
            or x.node.trace.forward or x.node.trace.level == 0 or type(x.node) is Leaf:
        return None
    nodes = nodes_before(x.node, most)
    if nodes is None or not all([is_walked_at_once(node) for node in nodes]):
        return None
    marks = [((<Node>node).position, (<Node>node).visit) for node in nodes]
    tally = set_aside()  # this is no part of what a function computes
    try:
        with np.errstate(all="ignore"):
            x_dot = random_tangent(x.node, plain.shape)
    except Exception:  # which the derivative will say itself, if it comes that way
        return None
    finally:
        take_up(tally)
        for node, mark in zip(nodes, marks):  # which a walk has changed
            (<Node>node).position, (<Node>node).visit = mark
    return None if x_dot is None else x_dot != 0


cdef list nodes_before(Node last, Py_ssize_t most):
    """A node and all before it; None of more than ``most``."""
    cdef dict found = {id(last): last}
    cdef list stack = [last]
    while stack:
        for node in (<Node>stack.pop()).parents():
            if id(node) not in found:
                found[id(node)] = node
                stack.append(node)
        if len(found) > most:
            return None
    return list(found.values())


cdef object random_tangent(Node node, tuple shape):
    """Of a result of this shape; None where the two derivatives on the way to it are not one map.

    The leaves have the shapes of their cotangents.
    """
    cdef Record tape = Record([], [node])
    tape.leaves = tape.inputs()
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
    return y_dot if abs(away) <= ONE_MAP * np.finfo(y_dot.dtype).eps * size else None


cdef str module_of(object operation):
    """Where an operation is written: of a function in Python that is not what it says of itself."""
    scope = getattr(operation, "__globals__", None)
    name = getattr(operation, "__module__", None) if scope is None else scope.get("__name__")
    return name if type(name) is str else ""


cdef bint is_walked_at_once(Node node) except -1:
    return (module_of(node.operation()) + ".").startswith(OURS)
