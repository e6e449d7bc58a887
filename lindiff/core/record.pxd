"""The record of a computation: its nodes, their order, and the walks over them."""

cimport cython
cimport numpy as cnp
from cpython.object cimport PyObject

from lindiff.core.constants cimport Guard


cdef class Trace:
    cdef readonly unsigned long long began
    cdef readonly unsigned long long level
    cdef readonly bint forward
    cdef Trace outer
    cdef Py_ssize_t running
    cdef Trace tape
    cdef bint large
    cdef object handler


@cython.no_gc
cdef class Node:
    cdef Trace trace
    cdef Node a
    cdef Node b
    cdef Guard guard
    cdef Py_ssize_t position
    cdef Py_ssize_t visit
    cdef tuple more(self)
    cdef int set_more(self, tuple parents) except -1
    cdef object operation(self)
    cdef bint linear(self)
    cdef bint together(self)
    cdef int pull(self, Pull walk, object y_bar) except -1
    cdef object push(self, Push walk)


@cython.no_gc
cdef class NodeOfMany(Node):
    cdef tuple rest
    cdef int take_parents(self, list nodes) except -1
    cdef Node parent(self, Py_ssize_t i)


@cython.no_gc
cdef class Leaf(Node):
    cdef readonly object shape
    cdef readonly object dtype
    cdef public object grad


@cython.no_gc
cdef class Tangent(Node):
    cdef object x_dot


@cython.no_gc
cdef class Component(Node):
    cdef Py_ssize_t index
    cdef Py_ssize_t count


cdef class Pull:
    cdef PyObject **cotangent
    cdef char *own
    cdef PyObject **order
    cdef Py_ssize_t size
    cdef bint consume
    cdef bint overwrite
    cdef Pull each
    cdef Py_ssize_t place(self, Node node) except -1
    cdef int add(self, Node node, object x_bar, bint own) except -1
    cdef bint add_directions(self, Node node, object x_bar) except -1
    cdef int add_component(self, Node node, Py_ssize_t index, Py_ssize_t count, object y_bar) except -1
    cdef object buffer(self, Node node)
    cdef object foreign_buffer(self, Node node)
    cdef cnp.ndarray directions_buffer(self, Node node)
    cdef void put(self, Py_ssize_t i, object total, bint own)
    cdef int replace(self, Node node, object total, bint own) except -1
    cdef object cotangent_to_write(self, Node node)
    cdef object take(self, Node node)
    cdef object taken(self, Node node)


cdef class Push:
    cdef list tangents
    cdef Record record
    cdef Py_ssize_t direction
    cdef Py_ssize_t at
    cdef Py_ssize_t *last
    cdef object tangent(self, Node node)
    cdef bint uses_last(self, Node node) except -1
    cdef int find_last_uses(self) except -1
    cdef int forget(self, Node node) except -1
    cdef Py_ssize_t place(self, Node node) except -1


cdef class Record:
    cdef public list leaves
    cdef list results
    cdef PyObject **order
    cdef Py_ssize_t size
    cdef int sort(self) except -1
    cdef Py_ssize_t grow(self, Py_ssize_t room) except -1
    cpdef list pull(self, list cotangents, bint consume)
    cpdef list push(self, list tangents)


cdef unsigned long long clock
cdef Trace UNTRACED
cdef Leaf CONSTANT
cdef object observed_step

cdef unsigned long long tick() noexcept

cdef bint is_whole(object x)
cdef void know_variable(object variable) noexcept
cdef object push_at_once(Node node)
cdef void doom(PyObject *parent) noexcept
cdef void release_doomed() noexcept
cdef object enter(Trace trace)
cdef object begin(Trace trace)
cdef int leave(object token) except -1
cdef void end(Trace trace) noexcept
cdef void resume(Trace trace) noexcept
cdef int meet_large(Trace trace) except -1
cdef void count_made_by_hand(Py_ssize_t change) noexcept
cpdef bint is_recording()
