"""Updates as kernels for CuPy's arrays: one thread for each number of the result, with the sums in loops.

Bounds and places are numbers in the text, so that a kernel is of given shapes, strides and integers.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from lindiff.core.backends import device_kernels
from lindiff.tensor.affine import Affine
from lindiff.tensor.bounds import Level, Row, levels_of
from lindiff.tensor.expressions import (
    Access,
    Apply,
    Bracket,
    Condition,
    Coordinate,
    Number,
    Scalar,
    accesses,
    chain,
    evaluated,
)
from lindiff.tensor.layouts import Layout
from lindiff.tensor.products import place_in_bytes
from lindiff.tensor.updates import Interval, Update, intervals, rows_of, sides_of, size_of

__all__ = ["Kernel", "kernel_of"]

_HEADER = """
typedef long long integer;
inline __device__ integer below(integer x, integer d) { return x >= 0 ? x / d : -((d - 1 - x) / d); }
inline __device__ integer least(integer x, integer y) { return x < y ? x : y; }
inline __device__ integer most(integer x, integer y) { return x > y ? x : y; }
inline __device__ integer ring(integer x, integer n) { return (x % n + n) % n; }
"""

# What functions are called in C++, and what they are where it has none; {} are their arguments.
_FUNCTIONS: dict[Any, str] = {
    np.add: "({} + {})",
    np.subtract: "({} - {})",
    np.multiply: "({} * {})",
    np.divide: "({} / {})",
    np.negative: "(-{})",
    np.positive: "({})",
    np.absolute: "fabs({})",
    np.reciprocal: "(1 / {})",
    np.square: "({0} * {0})",
    np.power: "pow({}, {})",
    np.float_power: "pow({}, {})",
    np.sign: "({0} != {0} ? {0} : T({0} > 0) - T({0} < 0))",
    np.maximum: "({0} >= {1} || {0} != {0} ? {0} : {1})",
    np.minimum: "({0} <= {1} || {0} != {0} ? {0} : {1})",
    np.heaviside: "({0} != {0} ? {0} : {0} == 0 ? {1} : T({0} > 0))",
    np.equal: "({} == {})",
    np.not_equal: "({} != {})",
    np.less: "({} < {})",
    np.less_equal: "({} <= {})",
    np.greater: "({} > {})",
    np.greater_equal: "({} >= {})",
    np.logical_and: "({} != 0 && {} != 0)",
    np.logical_or: "({} != 0 || {} != 0)",
    np.logical_not: "({} == 0)",
    np.where: "({} != 0 ? {} : {})",
    np.isnan: "({0} != {0})",
    np.isinf: "({0} == {0} && !({0} - {0} == 0))",
    np.isfinite: "({0} - {0} == 0)",
    np.logaddexp: "({0} == {1} ? {0} + T(0.69314718055994530942) : "
    "({0} > {1} ? {0} : {1}) + log1p(exp(-fabs({0} - {1}))))",
    np.degrees: "({} * T(57.29577951308232087680))",
    np.rad2deg: "({} * T(57.29577951308232087680))",
    np.radians: "({} * T(0.01745329251994329577))",
    np.deg2rad: "({} * T(0.01745329251994329577))",
    np.conjugate: "({})",
    chain: "({0} == 0 || {1} == 0 ? T(0) : {0} * {1})",
}
_SAME = [
    *("sin", "cos", "tan", "sinh", "cosh", "tanh", "exp", "exp2", "expm1", "log", "log2", "log10", "log1p"),
    *("sqrt", "cbrt", "floor", "ceil", "rint", "trunc"),
]
_FUNCTIONS |= {getattr(np, name): f"{name}({{}})" for name in _SAME}
_FUNCTIONS |= {
    getattr(np, f"arc{name}"): f"a{name}({{}})" for name in ("sin", "cos", "tan", "sinh", "cosh", "tanh")
}
_FUNCTIONS |= {
    getattr(np, name): f"{c}({{}}, {{}})"
    for name, c in (("arctan2", "atan2"), ("hypot", "hypot"), ("fmax", "fmax"), ("fmin", "fmin"),
                    ("fmod", "fmod"), ("copysign", "copysign"))
}  # fmt: skip
_BY_NAME = {"erf": "erf({})", "erfc": "erfc({})", "gammaln": "lgamma({})", "gamma": "tgamma({})"}

_INFINITY = "(-log(T(0)))"  # compilers of kernels have no headers, and so no name for it
_COMBINED = {
    "sum": "{0} + {1}",
    "prod": "{0} * {1}",
    "max": "({0} >= {1} || {0} != {0} ? {0} : {1})",
    "min": "({0} <= {1} || {0} != {0} ? {0} : {1})",
}
_BEGIN = {"sum": "T(0)", "prod": "T(1)", "max": f"-{_INFINITY}", "min": _INFINITY}


@dataclass(frozen=True)
class Kernel:
    """A kernel for an update.

    Attributes
    ----------
    text : str
    places : list of int
        Of the arrays that it reads, in the list that `run` is given.
    count : int
        Threads.
    """

    text: str
    places: list[int]
    count: int

    def run(self, arrays: list[Any], out: Any) -> None:
        """Combine with what is in ``out``."""
        from lindiff_cuda.launching import run_text  # with CuPy

        run_text(self.text, "update", self.count, [out, *(arrays[place] for place in self.places)])


def kernel_of(
    update: Update,
    layouts: Mapping[str, Layout],
    places: Mapping[str, int],
    out: Layout,
    by_loops: bool = True,
) -> Kernel | None:
    """The kernel of an update; None where there is nothing in its loops."""
    device_kernels()  # is there
    boxes = intervals(update.conditions, update.free)
    if boxes is None:
        return None
    order = [*update.free, *update.summed]
    levels = levels_of(*rows_of(update.conditions, order), len(order))
    if levels is None:
        return None
    return _Writer(update, layouts, places, out, order, levels, boxes).kernel()


@dataclass
class _Writer:
    update: Update
    layouts: Mapping[str, Layout]
    places: Mapping[str, int]
    out: Layout
    order: list[str]
    levels: list[Level]
    boxes: dict[str, Interval]

    def kernel(self) -> Kernel:
        names = list(dict.fromkeys(access.array for access in accesses(self.update.body)))
        self.arrays = {name: f"a{k}" for k, name in enumerate(names)}
        self.names = {name: f"i{k}" for k, name in enumerate(self.order)}
        real = {"f": "float", "d": "double"}[self.out.dtype.char]
        parameters = "".join(f", const T *{self.arrays[name]}" for name in names)
        lines, count = self.outside()
        body = "\n".join(["        " + line for line in [*lines, *self.inside()]])
        text = (
            f"typedef {real} T;{_HEADER}"
            f'extern "C" __global__ void update(int count, T *out{parameters}) {{\n'
            f"    for (integer n = blockIdx.x * (integer)blockDim.x + threadIdx.x; n < count;\n"
            f"         n += gridDim.x * (integer)blockDim.x) {{\n{body}\n    }}\n}}\n"
        )
        return Kernel(text, [self.places[name] for name in names], count)

    def outside(self) -> tuple[list[str], int]:
        """The indices of the result from the thread's number, and how many there are."""
        free = len(self.update.free)
        lines = ["integer left = n;"] if free else []
        for name in reversed(self.update.free):
            low, size = self.boxes[name][0], size_of(self.boxes, [name])
            lines.append(f"const integer {self.names[name]} = {low}ll + left % {size}ll;")
            lines.append(f"left /= {size}ll;")
        for k, level in enumerate(self.levels[:free]):
            name = self.names[self.order[k]]
            begin, end = self.ends(level)
            lines.append(f"if ({name} < {begin} || {name} > {end}) continue;")
            lines += [f"if ({self.row(c.row)} % {c.modulus}ll != 0) continue;" for c in level.congruences]
        return lines, size_of(self.boxes, self.update.free)

    def inside(self) -> list[str]:
        """The loops of the sums, and what becomes of them."""
        kind, free = self.update.kind, len(self.update.free)
        to = f"out[{self.place(self.update.subscripts, self.out)}]"
        body = self.scalar(self.update.body)
        if not self.update.summed:
            return [f"{to} = {_COMBINED[kind].format(to, body)};"]
        lines = [f"T total = {_BEGIN[kind]};"]
        for k, level in enumerate(self.levels[free:], free):
            name = self.names[self.order[k]]
            begin, end = self.ends(level)
            lines.append(f"for (integer {name} = {begin}; {name} <= {end}; ++{name}) {{")
            lines += [f"if ({self.row(c.row)} % {c.modulus}ll != 0) continue;" for c in level.congruences]
        lines.append(f"const T x = {body};")
        lines.append(f"total = {_COMBINED[kind].format('total', 'x')};")
        lines += ["}"] * len(self.update.summed)
        return [*lines, f"{to} = {_COMBINED[kind].format(to, 'total')};"]

    # -- integers ------------------------------------------------------------------------------------------

    def ends(self, level: Level) -> tuple[str, str]:
        """The bounds of a loop."""
        lower = [f"-below(-{self.row(row)}, {divisor}ll)" for row, divisor in level.lower]
        upper = [f"below({self.row(row)}, {divisor}ll)" for row, divisor in level.upper]
        return _nested("most", lower), _nested("least", upper)

    def row(self, row: Row) -> str:
        terms = [f"{c}ll * {self.names[name]}" for c, name in zip(row, self.order, strict=False) if c]
        return f"({' + '.join([*terms, f'{row[-1]}ll'])})"

    def form(self, x: Affine) -> str:
        """A form that is an integer."""
        divisor = x.denominator()
        whole = x * divisor
        text = self.row((*(int(whole.terms.get((name,), 0)) for name in self.order), int(whole.constant)))
        return text if divisor == 1 else f"({text} / {divisor}ll)"

    def place(self, subscripts: tuple[Affine, ...], layout: Layout) -> str:
        return self.form(place_in_bytes(subscripts, layout.strides) / layout.itemsize)

    # -- numbers -------------------------------------------------------------------------------------------

    def scalar(self, x: Scalar) -> str:
        leaves: dict[Scalar, Any] = {leaf: _Text(self.leaf(leaf)) for leaf in _leaves(x)}
        return _text(evaluated(x, leaves))

    def leaf(self, x: Scalar) -> str:
        if isinstance(x, Access):
            return self.element(x)
        if isinstance(x, Coordinate):
            divisor = x.form.denominator()
            return f"(T({self.form(x.form * divisor)}) / T({divisor}))"
        assert isinstance(x, Bracket)
        return f"T({' && '.join(map(self.condition, x.conditions)) or '1'})"

    def condition(self, c: Condition) -> str:
        if c.kind == "%":
            return f"{self.form(c.form)} % {int(c.modulus.constant)}ll == 0"
        return " && ".join(f"{self.form(side)} >= 0" for side in sides_of(c))

    def element(self, x: Access) -> str:
        layout, array = self.layouts[x.array], self.arrays[x.array]
        if x.outside == "wrap" and layout.ndim:
            rings = [
                f"ring({self.form(s)}, {size}ll) * {step // layout.itemsize}ll"
                for s, size, step in zip(x.subscripts, layout.shape, layout.strides, strict=True)
            ]
            return f"{array}[{' + '.join(rings)}]"
        element = f"{array}[{self.place(x.subscripts, layout)}]"
        if x.outside != "zero" or not layout.ndim:
            return element
        inside = [
            f"{self.form(s)} >= 0 && {self.form(s)} < {size}ll"
            for s, size in zip(x.subscripts, layout.shape, strict=True)
        ]
        return f"({' && '.join(inside)} ? {element} : T(0))"


def _leaves(x: Scalar) -> set[Scalar]:
    if isinstance(x, Apply):
        return {leaf for part in x.args for leaf in _leaves(part)}
    return set() if isinstance(x, Number) else {x}


def _nested(function: str, parts: list[str]) -> str:
    text = parts[0]
    for part in parts[1:]:
        text = f"{function}({text}, {part})"
    return text


class _Text(np.lib.mixins.NDArrayOperatorsMixin):
    """An expression of C++ that takes NumPy's functions."""

    dtype = np.dtype(np.float64)

    def __init__(self, text: str) -> None:
        self.text = text

    def __array_ufunc__(self, ufunc: np.ufunc, method: str, *inputs: Any, **options: Any) -> _Text:
        return _called(ufunc, *inputs)

    def __array_function__(self, function: Any, _: Any, args: tuple[Any, ...], __: Any) -> _Text:
        return _called(function, *args)


def _called(function: Callable[..., Any], *args: Any) -> _Text:
    name = getattr(function, "__name__", repr(function))
    pattern = _FUNCTIONS.get(function, _BY_NAME.get(name))
    if pattern is None:
        raise TypeError(f"{name} is no function of kernels for CuPy's arrays")
    # what is computed twice has to be the same number: each step is rounded
    return _Text(f"T({pattern.format(*map(_text, args))})")


def _text(x: Any) -> str:
    if isinstance(x, _Text):
        return x.text
    number = float(x)
    if number != number:
        return f"({_INFINITY} - {_INFINITY})"
    if abs(number) == np.inf:
        return _INFINITY if number > 0 else f"(-{_INFINITY})"
    return f"T({number!r})"
