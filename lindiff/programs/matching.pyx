"""Whether arguments, and what a function reads besides them, are as they were: asked before every run."""

cimport cython
cimport numpy as cnp

from cpython.dict cimport PyDict_GetItemWithError, PyDict_Size
from cpython.object cimport PyObject
from libc.string cimport memcmp, memcpy

from lindiff.core.variable cimport Variable

import zlib
from collections import deque
from types import ModuleType

import numpy as np

cnp.import_array()

# What a dict has until it is changed, another one each time; 0 where Python does not say, and nobody knows.
cdef extern from *:
    """
    #if PY_VERSION_HEX < 0x030C0000 && !defined(PYPY_VERSION)
    #define version_of_dict(x) (((PyDictObject *)(x))->ma_version_tag)
    #else
    #define version_of_dict(x) 0
    #endif
    """
    unsigned long long version_of_dict(dict x)

cdef extern from "Python.h":
    ctypedef struct PyTypeObject:
        unsigned long tp_flags
        unsigned int tp_version_tag
    unsigned long Py_TPFLAGS_VALID_VERSION_TAG
    PyObject *PyCell_GET(object cell)
    PyObject *PyFunction_GET_CODE(object function)
    PyObject *PyFunction_GET_DEFAULTS(object function)
    PyObject *PyFunction_GET_KW_DEFAULTS(object function)


# -- arguments ---------------------------------------------------------------------------------------------

cdef class Pattern:
    """The form of one argument, or of a nesting of them."""

    cdef bint fits(self, object x, list arrays) except -1:
        """Whether ``x`` has this form; its arrays are put on the list."""
        raise NotImplementedError


@cython.final
cdef class OfArray(Pattern):
    """``is_array``: it does not stand for a number."""

    cdef bint has_form(self, object x) except -1:
        """Whether this is an array of this form, but for whether it may be written to."""
        cdef cnp.ndarray a
        cdef int k
        if not cnp.PyArray_CheckExact(x):
            return False
        a = x
        if cnp.PyArray_NDIM(a) != self.axes or not cnp.PyArray_ISALIGNED(a):
            return False
        for k in range(self.axes):
            if cnp.PyArray_DIM(a, k) != self.shape[k] or cnp.PyArray_STRIDE(a, k) != self.strides[k]:
                return False
        if <PyObject *>cnp.PyArray_DESCR(a) == <PyObject *>self.dtype:
            return True
        return is_same_dtype(a.dtype, self.dtype)

    cdef bint fits(self, object x, list arrays) except -1:
        cdef Py_ssize_t i, at = len(arrays)
        if not self.has_form(x) or cnp.PyArray_ISWRITEABLE(<cnp.ndarray>x) != self.writeable:
            return False
        for i in range(at):
            if arrays[i] is x:
                break
        else:
            i = at
        if i != self.same_as:
            return False
        arrays.append(x)
        return True


cdef OfArray form_of_array(cnp.ndarray x, bint is_array):
    """The form of an array by itself."""
    cdef OfArray form = OfArray.__new__(OfArray)
    form.dtype = x.dtype
    form.axes = cnp.PyArray_NDIM(x)
    form.writeable = cnp.PyArray_ISWRITEABLE(x)
    form.is_array = is_array
    memcpy(form.shape, cnp.PyArray_DIMS(x), form.axes * sizeof(cnp.npy_intp))
    memcpy(form.strides, cnp.PyArray_STRIDES(x), form.axes * sizeof(cnp.npy_intp))
    return form


cdef bint is_same_dtype(cnp.dtype a, cnp.dtype b) except -1:
    """Whether nothing tells two dtypes apart; ``b`` has no metadata."""
    return a.type_num == b.type_num and a == b and a.metadata is None


@cython.final
cdef class OfNumber(Pattern):
    """One of NumPy's."""

    cdef object kind
    cdef object dtype

    cdef bint fits(self, object x, list arrays) except -1:
        if type(x) is not self.kind or x.dtype != self.dtype:
            return False
        arrays.append(x)
        return True


@cython.final
cdef class OfConstant(Pattern):
    cdef object kind
    cdef object value

    cdef bint fits(self, object x, list arrays) except -1:
        if type(x) is not self.kind:
            return False
        return x is self.value or (self.kind is not float and x == self.value) \
            or (self.kind is float and repr(x) == repr(self.value))


@cython.final
cdef class OfNest(Pattern):
    """A tuple, a list or a dict, whose keys stand in this order."""

    cdef object kind
    cdef tuple keys
    cdef tuple parts

    cdef bint fits(self, object x, list arrays) except -1:
        cdef Py_ssize_t i
        if type(x) is not self.kind or len(x) != len(self.parts):
            return False
        if self.kind is dict:
            i = 0
            for key, part in (<dict>x).items():
                if type(key) is not str or key != self.keys[i] \
                        or not (<Pattern>self.parts[i]).fits(part, arrays):
                    return False
                i += 1
            return True
        for i in range(len(self.parts)):
            if not (<Pattern>self.parts[i]).fits(x[i], arrays):
                return False
        return True


@cython.final
cdef class OfVariable(Pattern):
    """One that holds a plain array."""

    cdef Pattern held

    cdef bint fits(self, object x, list arrays) except -1:
        return type(x) is Variable and cnp.PyArray_CheckExact((<Variable>x)._value) \
            and self.held.fits(held_by(x), arrays)


cdef object held_by(Variable x):
    """The array, or the number, that a function would see in its place."""
    return x._value[()] if x._scalar else x._value


cdef Pattern pattern_of(object x, list arrays):
    """The form of an argument; None where it holds what is neither an array nor a plain constant."""
    cdef OfVariable variable
    cdef OfArray array
    cdef OfNumber number
    cdef OfConstant constant
    cdef OfNest nest
    cdef Py_ssize_t i
    cdef cnp.ndarray a
    kind = type(x)
    if cnp.PyArray_CheckExact(x):
        a = x
        if cnp.PyArray_NDIM(a) > AXES or a.dtype.hasobject or not cnp.PyArray_ISALIGNED(a) \
                or a.dtype.metadata is not None:
            return None
        array = form_of_array(a, True)
        array.same_as = len(arrays)
        for i in range(len(arrays)):
            if arrays[i] is x:
                array.same_as = i
                break
        arrays.append(x)
        return array
    if kind is Variable:
        if not cnp.PyArray_CheckExact((<Variable>x)._value):
            return None
        variable = OfVariable.__new__(OfVariable)
        variable.held = pattern_of(held_by(x), arrays)
        return None if variable.held is None else variable
    if issubclass(kind, np.generic):
        if x.dtype.kind not in "biufcmM":
            return None
        number = OfNumber.__new__(OfNumber)
        number.kind = kind
        number.dtype = x.dtype
        arrays.append(x)
        return number
    if kind in (int, float, bool, str, type(None)):
        constant = OfConstant.__new__(OfConstant)
        constant.kind = kind
        constant.value = x
        return constant
    if kind is dict and not all([type(key) is str for key in x]):
        return None
    if kind in (tuple, list, dict):
        parts = [pattern_of(part, arrays) for part in (x.values() if kind is dict else x)]
        if any([part is None for part in parts]):
            return None
        nest = OfNest.__new__(OfNest)
        nest.kind = kind
        nest.keys = tuple(x) if kind is dict else ()
        nest.parts = tuple(parts)
        return nest
    return None


cdef class Arguments:
    """The form of the arguments of a call.

    Parameters
    ----------
    args : tuple
    kwargs : dict

    Attributes
    ----------
    is_known : bool
        Else there is none that can be asked for here.
    variables : tuple of int
        The places of Variables among positional arguments.
    kept : Arguments or None
        The form of what operations on Variables keep of such arguments, where constants among these are
        copied to another layout: the program is for that.
    """

    def __init__(self, tuple args, dict kwargs):
        arrays = []
        self.args = pattern_of(args, arrays)
        self.kwargs = pattern_of(kwargs, arrays)
        self.is_known = self.args is not None and self.kwargs is not None
        self.variables = tuple([i for i, x in enumerate(args) if type(x) is Variable])

    cpdef list arrays(self, tuple args, dict kwargs):
        """The arrays among arguments of this form, those that Variables hold among them; None for others."""
        cdef list found = []
        if not self.args.fits(args, found):
            return None
        if not kwargs and PyDict_Size(kwargs) == len((<OfNest>self.kwargs).parts):
            return found
        return found if self.kwargs.fits(kwargs, found) else None


# -- surroundings ------------------------------------------------------------------------------------------

@cython.final
cdef class Names:
    """Names in a dict, and what each of them has stood for; ``whole``: there are no others.

    A dict of the same version as in the last look has the same contents.
    """

    cdef bint unchanged(self) except -1:
        cdef PyObject *found
        cdef unsigned long long version = version_of_dict(self.names)
        if version != 0 and version == self.version:
            return True
        if self.whole and not has_items(self.names, self.known):
            return False
        if not self.whole:
            for name, value in self.known:
                found = PyDict_GetItemWithError(self.names, name)
                if (<PyObject *>value if value is not MISSING else NULL) != found:
                    return False
        self.version = version
        return True


cdef Names names_in(dict names, list known, bint whole):
    cdef Names made = Names.__new__(Names)
    made.names, made.known, made.whole = names, known, whole
    return made


cdef class Watch:
    """Places that are looked at: whether each holds the object, or the content, that it held."""

    def __init__(self):
        self.names, self.cells, self.functions, self.classes = {}, [], [], []
        self.nests, self.arrays, self.partials, self.others = [], [], [], []

    def __len__(self):
        known = [(<Names>names).known for names in self.names.values()]
        return sum(map(len, (*known, self.cells, self.functions, self.classes, self.nests, self.arrays,
                             self.partials, self.others)))

    def add_name(self, dict names, str name):
        cdef Names found = self.names.get(id(names))
        if found is None:
            found = self.names[id(names)] = names_in(names, [], False)
        found.known.append((name, names.get(name, MISSING)))

    def add_cell(self, cell):
        self.cells.append((cell, cell.cell_contents))

    def add_function(self, function):
        self.functions.append((function, function.__code__, function.__defaults__, function.__kwdefaults__))

    def add_class(self, kind):
        self.classes.append([kind, version_of(kind), list(kind.__dict__.items()), kind.__mro__])

    def add_nest(self, nest):
        items = list(nest.items()) if hasattr(nest, "items") else list(nest)
        if type(nest) is dict:
            self.nests.append(names_in(nest, items, True))
        elif type(nest) is not tuple:
            self.nests.append((nest, items))

    def add_array(self, x, Py_ssize_t compared):
        """Up to so many bytes it is compared; of larger ones a checksum is."""
        self.arrays.append((x, x.shape, x.strides, x.dtype, content_of(x, compared), compared))

    def add_partial(self, x):
        self.partials.append((x, x.func, x.args, x.keywords))

    def add_other(self, function):
        self.others.append(function)

    cpdef bint unchanged(self) except -1:
        """Whether all is as it was."""
        cdef tuple place
        for names in self.names.values():
            if not (<Names>names).unchanged():
                return False
        for place in self.cells:
            if PyCell_GET(place[0]) != <PyObject *>place[1]:
                return False
        for place in self.functions:
            if PyFunction_GET_CODE(place[0]) != <PyObject *>place[1] \
                    or not is_there(PyFunction_GET_DEFAULTS(place[0]), place[2]) \
                    or not is_there(PyFunction_GET_KW_DEFAULTS(place[0]), place[3]):
                return False
        for known in self.classes:
            version = version_of(known[0])
            if version == 0 or version != known[1]:
                if not has_items(known[0].__dict__, <list>known[2]) or known[0].__mro__ != known[3]:
                    return False
                known[1] = version_of(known[0])
        for nest in self.nests:
            if type(nest) is Names:
                if not (<Names>nest).unchanged():
                    return False
            elif not has_items((<tuple>nest)[0], <list>(<tuple>nest)[1]):
                return False
        for x, shape, strides, dtype, content, compared in self.arrays:
            if x.shape != shape or x.strides != strides or x.dtype != dtype \
                    or not has_content(x, content, compared):
                return False
        for x, function, args, kwargs in self.partials:
            if x.func is not function or x.args is not args or x.keywords is not kwargs:
                return False
        for other in self.others:
            if not other():
                return False
        return True

    def restore(self):
        """Put back what names, cells, lists and dicts have held, and the numbers in arrays, of which there
        are copies."""
        for names in self.names.values():
            put_back((<Names>names).names, (<Names>names).known, False)
        for cell, content in self.cells:
            if PyCell_GET(cell) != <PyObject *>content:
                cell.cell_contents = content
        for nest in self.nests:
            if type(nest) is Names:
                put_back((<Names>nest).names, (<Names>nest).known, True)
            elif not has_items((<tuple>nest)[0], <list>(<tuple>nest)[1]):
                put_items_back((<tuple>nest)[0], <list>(<tuple>nest)[1])
        for x, shape, strides, dtype, content, compared in self.arrays:
            if type(content) is bytes and x.flags.writeable and x.shape == shape and x.strides == strides \
                    and x.dtype == dtype and not has_content(x, content, compared):
                x[...] = np.frombuffer(content, dtype).reshape(shape)


cdef int put_back(object names, list known, bint whole) except -1:
    """Let names stand for what they stood for; imports stay."""
    for name, value in known:
        if value is not MISSING and names.get(name, MISSING) is not value:
            names[name] = value
    others = names.keys() - {name for name, _ in known} if whole \
        else [name for name, value in known if value is MISSING and name in names]
    for name in others:
        if type(names[name]) is not ModuleType:
            del names[name]
    return 0


cdef int put_items_back(object nest, list items) except -1:
    """The same for lists, sets and the like."""
    if type(nest) is list:
        nest[:] = items
    elif isinstance(nest, dict):
        put_back(nest, items, True)
    elif type(nest) is set:
        nest.clear()
        nest.update(items)
    elif type(nest) is deque:
        nest.clear()
        nest.extend(items)
    return 0


cdef object MISSING = object()
NOT_THERE = MISSING  # a name in `Watch.names` that is not there


cdef inline bint is_there(PyObject *found, object before):
    return found == <PyObject *>before if found != NULL else before is None


cdef unsigned int version_of(object kind):
    """A number that a class has until something is assigned to it; 0 where it has none."""
    cdef PyTypeObject *t = <PyTypeObject *>kind
    return t.tp_version_tag if t.tp_flags & Py_TPFLAGS_VALID_VERSION_TAG else 0


cdef bint has_items(object nest, list items) except -1:
    cdef Py_ssize_t i = 0
    if len(nest) != len(items):
        return False
    if not items:
        return True
    if type(nest) is list:
        for i in range(len(items)):
            if (<list>nest)[i] is not items[i]:
                return False
        return True
    if hasattr(nest, "items"):
        for key, value in nest.items():
            if (<tuple>items[i])[0] is not key or (<tuple>items[i])[1] is not value:
                return False
            i += 1
        return True
    for x in nest:
        if x is not items[i]:
            return False
        i += 1
    return True


cdef object content_of(object x, Py_ssize_t compared):
    if x.dtype.hasobject:
        return x.ravel().tolist()
    if cnp.PyArray_NBYTES(<cnp.ndarray>x) <= compared:
        return x.tobytes()
    return zlib.crc32(np.ascontiguousarray(x).reshape(-1).view(np.uint8).data)


cdef bint has_content(object x, object content, Py_ssize_t compared) except -1:
    if type(content) is bytes and cnp.PyArray_IS_C_CONTIGUOUS(<cnp.ndarray>x):
        return memcmp(cnp.PyArray_DATA(<cnp.ndarray>x), <char *>(<bytes>content), len(<bytes>content)) == 0
    if x.dtype.hasobject:
        return has_items(content_of(x, compared), <list>content)
    return content_of(x, compared) == content
