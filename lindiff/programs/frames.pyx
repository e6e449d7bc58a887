"""Whose code is running, and at which line of the user's."""

from cpython.object cimport PyObject
from cpython.ref cimport Py_XDECREF, Py_XINCREF

from opcode import opname

cdef extern from "Python.h":
    ctypedef struct PyFrameObject
    PyFrameObject *PyEval_GetFrame()
    PyFrameObject *PyFrame_GetBack(PyFrameObject *frame)
    PyObject *PyFrame_GetCode(PyFrameObject *frame)

cdef enum:
    CODES = 256   # that are known at a time, each at the place that its address says
    TEXTS = 4096

cdef tuple OURS = ("lindiff.", "numpy.", "contextlib.")
cdef PyObject *codes[CODES]  # held, so that no other one gets the address
cdef bint are_ours[CODES]
cdef dict texts = {}         # (id of code, instruction): (code, where that is)
cdef object last_code = None
cdef Py_ssize_t last_place
cdef str last_text


cdef object innermost_frame():
    """The frame of the innermost Python code: what is compiled has none."""
    cdef PyObject *frame = <PyObject *>PyEval_GetFrame()
    return None if frame == NULL else <object>frame


cdef bint is_operator(object frame) except -1:
    """Whether a frame is at an operator: ``x * y``, ``x *= y``."""
    name = opname[frame.f_code.co_code[frame.f_lasti]]
    return name.startswith(("BINARY_", "INPLACE_")) and name != "BINARY_SUBSCR"


cdef bint is_lindiffs(object frame) except -1:
    """Whether the code of a frame is lindiff's."""
    return is_of(frame, ("lindiff.",))


cdef bint is_of(object frame, tuple beginnings) except -1:
    return f"{frame.f_globals.get('__name__', '')}.".startswith(beginnings)


cdef str line_of_user():
    """The file and line of the innermost code that is not lindiff's or NumPy's."""
    cdef PyFrameObject *frame = PyEval_GetFrame()
    cdef PyFrameObject *back
    Py_XINCREF(<PyObject *>frame)
    while frame != NULL:
        if not is_ours(frame):
            text = text_of(frame)
            Py_XDECREF(<PyObject *>frame)
            return text
        back = PyFrame_GetBack(frame)
        Py_XDECREF(<PyObject *>frame)
        frame = back
    return "?"


cdef bint is_ours(PyFrameObject *frame) except -1:
    """Whether the code of a frame is lindiff's or NumPy's."""
    cdef PyObject *code = PyFrame_GetCode(frame)
    cdef size_t place = (<size_t>code >> 4) % CODES
    if codes[place] == code:
        Py_XDECREF(code)
        return are_ours[place]
    Py_XDECREF(codes[place])
    codes[place] = code
    are_ours[place] = is_of(<object>frame, OURS)
    return are_ours[place]


cdef str text_of(PyFrameObject *frame):
    """Where a frame is; mostly it is where it was last."""
    global last_code, last_place, last_text
    cdef Py_ssize_t place = (<object>frame).f_lasti
    cdef PyObject *held = PyFrame_GetCode(frame)
    code = <object>held
    Py_XDECREF(held)
    if code is last_code and place == last_place:
        return last_text
    known = texts.get((id(code), place))
    if known is None:
        if len(texts) >= TEXTS:
            texts.clear()
        known = texts[id(code), place] = (code, f"{code.co_filename}:{(<object>frame).f_lineno}")
    last_code, last_place, last_text = code, place, (<tuple>known)[1]
    return last_text
