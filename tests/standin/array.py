"""``cupy.ndarray``: host memory behind CuPy's manners."""

from __future__ import annotations

from weakref import WeakValueDictionary

import numpy as np

from standin import names

__all__ = ["Device", "asarray", "call", "ndarray", "unwrap", "wrap"]

DTYPES = "?bBhHiIlLqQefdFD"
SCALARS = {bool, int, float, complex} | {np.dtype(char).type for char in DTYPES}
EXPECTED = "expected cupy._core.core._ndarray_base"
ATOMIC = "iILQefd"
COMPARISONS = ("equal", "greater", "greater_equal", "less", "less_equal", "not_equal")
TRUTHS = ("allclose", "array_equal", "array_equiv")  # CuPy gives arrays
JOINS = ("column_stack", "concat", "concatenate", "dstack", "hstack", "stack", "vstack")
INDICES = ("take", "take_along_axis")  # may be NumPy's
IN_PLACE = {
    "__iadd__": np.add,
    "__iand__": np.bitwise_and,
    "__ifloordiv__": np.floor_divide,
    "__imod__": np.remainder,
    "__imul__": np.multiply,
    "__ior__": np.bitwise_or,
    "__ipow__": np.power,
    "__isub__": np.subtract,
    "__itruediv__": np.true_divide,
    "__ixor__": np.bitwise_xor,
}
FROM_HOST = ("array", "asanyarray", "asarray", "ascontiguousarray", "asfortranarray")


owners = WeakValueDictionary()  # the array that owns a piece of host memory, which its views refer to


class Memory:
    """``ndarray.data``: where the first element is."""

    def __init__(self, ptr):
        self.ptr = ptr

    def __int__(self):
        return self.ptr


class Device:
    """The one device there is."""

    id = 0
    synchronizations = 0  # how often the host has waited for an array's elements

    def __enter__(self):
        return self

    def __exit__(self, *error):
        pass

    def __repr__(self):
        return "<CUDA Device 0>"

    def __eq__(self, other):
        return getattr(other, "id", other) == self.id

    def __hash__(self):
        return self.id


class Flags:
    """``ndarray.flags``: there is no ``writeable``."""

    def __init__(self, flags):
        self.c_contiguous, self.f_contiguous = flags.c_contiguous, flags.f_contiguous
        self.fnc, self.forc, self.owndata = flags.fnc, flags.forc, flags.owndata

    def __getitem__(self, name):
        return getattr(self, {"C": "c_contiguous", "F": "f_contiguous"}.get(name, name.lower()))


class ndarray(np.lib.mixins.NDArrayOperatorsMixin):
    """An array that only the two protocols, its methods and `get` reach."""

    __slots__ = ("__weakref__", "_base", "_host")
    __module__ = "cupy"
    __array_priority__ = 100
    __hash__ = None

    def __init__(self, shape, dtype=float, memptr=None, strides=None, order="C"):
        assert memptr is None
        assert strides is None
        self._host = np.empty(shape, known(np.dtype(dtype)), order=order)
        self._host.fill(7)  # nothing may rest on fresh memory being zero
        self._base = None
        owners[id(self._host)] = self

    @classmethod
    def of(cls, host):
        self = cls.__new__(cls)
        known(host.dtype)
        self._host = host
        whole = host
        while isinstance(whole.base, np.ndarray):
            whole = whole.base
        self._base = None if whole is host else owners.get(id(whole))
        if whole is host:
            owners[id(host)] = self
        return self

    dtype = property(lambda self: self._host.dtype)
    ndim = property(lambda self: self._host.ndim)
    size = property(lambda self: self._host.size)
    nbytes = property(lambda self: self._host.nbytes)
    itemsize = property(lambda self: self._host.itemsize)
    strides = property(lambda self: self._host.strides)
    flags = property(lambda self: Flags(self._host.flags))
    T = property(lambda self: wrap(self._host.T))
    mT = property(lambda self: wrap(np.swapaxes(self._host, -1, -2)))
    data = property(lambda self: Memory(self._host.ctypes.data))
    device = property(lambda self: Device())
    base = property(lambda self: self._base)

    @property
    def __cuda_array_interface__(self):
        return {
            "shape": self.shape,
            "typestr": self.dtype.str,
            "descr": self.dtype.descr,
            "strides": None if self._host.flags.c_contiguous else self.strides,
            "data": (self.data.ptr, False),
            "version": 3,
        }

    @property
    def shape(self):
        return self._host.shape

    @shape.setter
    def shape(self, shape):
        self._host = self._host.reshape(shape)

    @property
    def real(self):
        return wrap(self._host.real)

    @real.setter
    def real(self, value):
        self._host.real = unwrap(value)

    @property
    def imag(self):
        return wrap(self._host.imag)

    @imag.setter
    def imag(self, value):
        self._host.imag = unwrap(value)

    def get(self, stream=None, order="C", out=None, blocking=True):
        """A NumPy array: the only way out."""
        Device.synchronizations += 1
        if out is None:
            return self._host.copy(order)
        out[...] = self._host
        return out

    def set(self, arr, stream=None):
        if not isinstance(arr, np.ndarray):
            raise TypeError("Only numpy.ndarray can be set to cupy.ndarray")
        self._host[...] = arr

    def __array__(self, dtype=None, copy=None):
        raise TypeError(
            "Implicit conversion to a NumPy array is not allowed. "
            "Please use `.get()` to construct a NumPy array explicitly."
        )

    def __array_ufunc__(self, ufunc, method, *inputs, **kwargs):
        entry, out = names.ufunc(ufunc.__name__), kwargs.get("out", ())
        if entry is None and not names.has("cupy", ufunc.__name__):
            return NotImplemented
        for x in (*inputs, *out):
            if not isinstance(x, (ndarray, np.ndarray)) and type(x) not in SCALARS:
                return NotImplemented
        if len(out) > 1:
            raise ValueError("The 'out' parameter must have exactly one array value")
        if ufunc.__name__ in COMPARISONS:
            inputs = tuple(x.item() if isinstance(x, np.ndarray) and x.ndim == 0 else x for x in inputs)
        check_ufunc(ufunc.__name__, entry, method, inputs, kwargs)
        refuse_numpy((inputs, out))
        return wrap(getattr(ufunc, method)(*unwrap(inputs), **unwrap(kwargs)))

    def __array_function__(self, function, types, args, kwargs):
        module, name = "cupy" + function.__module__.removeprefix("numpy"), function.__name__
        if not names.has(module, name) or not all(t in (ndarray, np.ndarray) for t in types):
            return NotImplemented
        return call(module, name, function, args, kwargs)

    def __getitem__(self, index):
        for item in index if isinstance(index, tuple) else (index,):
            if isinstance(item, np.ndarray) and item.dtype.kind not in "iub":
                raise IndexError(f"Unsupported type {type(item)}")
        index = unwrap(index)
        part = self._host[index]
        if isinstance(part, np.generic):  # a view without axes
            part = self._host[(*index, ...) if isinstance(index, tuple) else (index, ...)]
        return wrap(part)

    def __setitem__(self, index, item):
        if isinstance(item, (list, tuple, np.ndarray)) and np.ndim(item) > 0:
            raise ValueError("non-scalar numpy.ndarray cannot be used for fill")
        if not isinstance(item, (ndarray, np.ndarray)) and type(item) not in SCALARS:
            item = float(item)
        self._host[unwrap(index)] = unwrap(item)

    def __len__(self):
        return len(self._host)

    def __iter__(self):
        if self.ndim == 0:
            raise TypeError("iteration over a 0-d array")
        return (self[i] for i in range(len(self)))

    def __bool__(self):
        return bool(self.get())

    def __int__(self):
        return int(self.get())

    def __float__(self):
        return float(self.get())

    def __complex__(self):
        return complex(self.get())

    def __repr__(self):
        return repr(self.get())

    def __format__(self, spec):
        return format(self.get(), spec)

    def __copy__(self):
        return self.copy()

    def __deepcopy__(self, memo):
        return self.copy()

    def __imatmul__(self, other):
        return self @ other

    def item(self):
        return self.get().item()

    def tolist(self):
        return self.get().tolist()

    def ptp(self, **options):
        return np.ptp(self, **options)

    def scatter_add(self, slices, value):
        if self.dtype.char not in ATOMIC:
            raise TypeError(f"no atomicAdd for {self.dtype}")
        refuse_numpy(value)
        np.add.at(self._host, unwrap(slices), unwrap(value))


def _method(name):
    def method(self, *args, **kwargs):
        names.bind(name, args, kwargs)
        refuse_numpy((args, kwargs), indices=name in INDICES)
        if kwargs.get("casting") is not None or kwargs.get("subok") is not None:
            raise TypeError("casting is not supported yet")
        return wrap(getattr(self._host, name)(*unwrap(args), **unwrap(kwargs)))

    method.__name__ = name
    return method


def _in_place(name, ufunc):
    def method(self, other):
        result = self.__array_ufunc__(ufunc, "__call__", self, other, out=(self,))
        if result is NotImplemented:
            raise TypeError(f"Unsupported type {type(other)}")
        return self

    method.__name__ = name
    return method


def refuse_numpy(x, indices=False):
    """CuPy's functions and methods take no NumPy array, but for the ``indices`` of some."""
    if isinstance(x, np.ndarray) and not (indices and x.dtype.kind in "iu"):
        raise TypeError(f"Unsupported type {type(x)}")
    for item in x.values() if isinstance(x, dict) else x if isinstance(x, (tuple, list)) else ():
        refuse_numpy(item, indices)


def check_ufunc(name, entry, method, inputs, kwargs):
    """Raise what CuPy raises for a method, keyword or dtype that its ufunc has not."""
    if entry is None:  # a generalized one, which is its call alone
        names.bind(name, inputs, kwargs, "cupy")
        if any(isinstance(x, np.ndarray) for x in inputs):
            raise TypeError(f"Argument has incorrect type ({EXPECTED}, got numpy.ndarray)")
    elif method == "__call__":
        unknown = {key: option for key, option in kwargs.items() if key not in ("casting", "dtype", "out")}
        if unknown:
            raise TypeError(f"Wrong arguments {unknown}")
        if not any(map(takes(inputs), entry["types"].split())):
            types = tuple(np.result_type(unwrap(x)).type for x in inputs)
            raise TypeError(f"Wrong type ({types}) of arguments for cupy_{name}")
    elif method not in entry["methods"].split():
        raise NotImplementedError(f"`cupy_{name}.{method}` is not supported yet")
    else:
        names.bind_to(names.UFUNC_METHODS[method], method, inputs, kwargs)


def takes(inputs):
    """Whether a loop such as ``"dd->d"`` can take the inputs; Python's numbers are of the least dtype."""
    least = {bool: "?", int: "b", float: "e", complex: "F"}
    given = [least.get(type(x)) or x.dtype for x in inputs]

    def taken(loop):
        return all(map(np.can_cast, given, loop.partition("->")[0]))

    return taken


def call(module, name, function, args, kwargs):
    """What CuPy's function gives: evaluated by NumPy's or SciPy's, with the arguments that CuPy's takes."""
    names.bind(name, args, kwargs, module)
    if kwargs.get("subok") is not None:
        raise TypeError("subok is not supported yet")
    if (module, name) in LIMITS:
        LIMITS[module, name](*args)
    if name not in FROM_HOST:
        refuse_numpy((args, kwargs), indices=name in INDICES)
    result = function(*unwrap(args), **unwrap(kwargs))
    if args and isinstance(args[0], ndarray) and result is args[0]._host:
        return args[0]
    if name in FROM_HOST:
        return ndarray.of(np.array(result, order="K"))
    return wrap(np.asarray(result) if name in TRUTHS else result)


def joins_arrays(parts, *others):
    for x in parts:
        if not isinstance(x, ndarray):
            raise TypeError(f"Argument 'a' has incorrect type ({EXPECTED}, got {type(x).__name__})")


def chooses_by_arrays(condition, *branches):
    if not hasattr(condition, "astype"):
        raise AttributeError(f"{type(condition).__name__!r} object has no attribute 'astype'")


def convolves_by_a_method(a, b, mode="full", method="auto"):
    if a.ndim > 1 and method == "auto":
        raise NotImplementedError("Only 1d inputs are supported currently")


def interpolates_at_contiguous(x, *others):
    if not x.flags.c_contiguous:
        raise NotImplementedError("Non-C-contiguous x is currently not supported")


def solves_without_broadcasting(a, b):
    if b.ndim > 1 and a.shape[:-1] != b.shape[:-1]:
        raise ValueError("a must have (..., M, M) shape and b must have (..., M, K) for multidimensional b")


# What functions of CuPy ask of their arguments beyond their signature, where NumPy's do not.
LIMITS = {
    **{("cupy", name): joins_arrays for name in JOINS},
    ("cupy", "interp"): interpolates_at_contiguous,
    ("cupy", "where"): chooses_by_arrays,
    ("cupy.linalg", "solve"): solves_without_broadcasting,
    ("cupyx.scipy.signal", "convolve"): convolves_by_a_method,
}


def known(dtype):
    """A dtype that CuPy has."""
    if dtype.char not in DTYPES:
        raise ValueError(f"Unsupported dtype {dtype}")
    return dtype


def unwrap(x):
    if isinstance(x, ndarray):
        return x._host
    if isinstance(x, (tuple, list)):
        return type(x)(map(unwrap, x)) if type(x) in (tuple, list) else type(x)(*map(unwrap, x))
    if isinstance(x, dict):
        return {name: unwrap(item) for name, item in x.items()}
    return x


def wrap(x):
    if isinstance(x, (np.ndarray, np.generic)):
        host = np.asarray(x)
        owner = owners.get(id(host))  # where NumPy gave an argument back as it is
        return ndarray.of(host) if owner is None else owner
    if isinstance(x, (tuple, list)):
        return type(x)(map(wrap, x)) if type(x) in (tuple, list) else type(x)(*map(wrap, x))
    return x


def asarray(x, dtype=None, order=None):
    """A host copy on the device, or the array as it is."""
    if isinstance(x, ndarray):
        return x if dtype is None or x.dtype == dtype else x.astype(dtype)
    return ndarray.of(np.array(x, dtype=dtype, order=order))


for _name in names.TABLE["methods"]:
    if not hasattr(ndarray, _name) and hasattr(np.ndarray, _name):
        setattr(ndarray, _name, _method(_name))
for _name, _ufunc in IN_PLACE.items():
    setattr(ndarray, _name, _in_place(_name, _ufunc))
