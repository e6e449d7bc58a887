"""Modules that are to be told something once they are imported, which may never be.

A look at the names of all modules is taken where a trace begins, if there are more of them than before.
"""

import sys

cdef dict modules = sys.modules
cdef dict awaited = {}
cdef Py_ssize_t seen = 0


def when_imported(str module, tell):
    """Call ``tell`` before the first trace that begins after the ``module`` was imported."""
    global seen
    awaited[module] = tell
    seen = 0


cdef int tell_modules() except -1:
    global seen
    if len(modules) == seen or not awaited:
        return 0
    seen = len(modules)
    for module in [*awaited]:
        if module in modules:
            tell = awaited.pop(module, None)
            if tell is not None:  # else another thread does it
                tell()
    return 0
