"""Whose code is running, and at which line of the user's."""

from cpython.object cimport PyObject

cdef extern from "Python.h":
    ctypedef struct PyFrameObject
    PyFrameObject *PyEval_GetFrame()

cdef tuple LINDIFFS = ("lindiff.",)
cdef tuple OURS = ("lindiff.", "numpy.", "contextlib.")
cdef dict lindiffs = {}  # names of modules: whether they are lindiff's
cdef dict ours = {}
cdef dict texts = {}     # (id of code, instruction): (code, where that is)

cdef enum:
    TEXTS = 4096  # that are known at a time


cdef bint is_of(object frame, tuple beginnings, dict known) except -1:
    cdef object name = (<dict>frame.f_globals).get("__name__", "")
    found = known.get(name)
    if found is None:
        found = known[name] = f"{name}.".startswith(beginnings)
    return found


cdef bint is_lindiffs(object frame) except -1:
    """Whether the code of a frame is lindiff's."""
    return is_of(frame, LINDIFFS, lindiffs)


cdef object innermost_frame():
    """The frame of the innermost Python code: what is compiled has none."""
    cdef PyObject *frame = <PyObject *>PyEval_GetFrame()
    return None if frame == NULL else <object>frame


cdef str line_of_user():
    """The file and line of the innermost code that is not lindiff's or NumPy's."""
    frame = innermost_frame()
    while frame is not None:
        if not is_of(frame, OURS, ours):
            return text_of(frame)
        frame = frame.f_back
    return "?"


cdef str text_of(object frame):
    code = frame.f_code
    place = (id(code), frame.f_lasti)
    known = texts.get(place)
    if known is None:
        if len(texts) >= TEXTS:
            texts.clear()
        known = texts[place] = (code, f"{code.co_filename}:{frame.f_lineno}")
    return (<tuple>known)[1]
