"""Random programs with names, aliases, views and writes, on arrays and on Variables side by side.

After each step every name holds the same numbers on both sides, and in the end the gradients and forward mode
are those of NumPy's program.  A step may be refused on Variables; then the program ends there.
"""

from __future__ import annotations

import copy
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import lindiff as ld
import lindiff.numpy as lnp

NAMES = 5
BASE = np.linspace(0.3, 1.4, 6).reshape(2, 3)


@dataclass
class State:
    """The names of a program: ``v`` hold arrays and scalars, ``buffers`` constants, ``kept`` is a list."""

    np: Any
    v: list[Any]
    buffers: list[Any] = field(default_factory=lambda: [np.full(3, 0.5), np.ones((2, 3)), np.array(0.7)])
    kept: list[Any] = field(default_factory=list)

    def snapshot(self) -> list[Any]:
        return [np.copy(ld.value(x)) for x in (*self.v, *self.buffers, *self.kept)]


def index_of(x: Any, k: int) -> Any:
    """One of the indices that an array of this shape has."""
    n = len(np.shape(x))
    of_any = [..., (), None, slice(None)] if n else [..., (), None]
    if n and np.shape(x)[0]:
        last = np.shape(x)[0] - 1
        of_any += [0, -1, slice(None, None, -1), slice(0, last + 1, 2), [0, last], [last, last, 0], (0, ...)]
        of_any += [np.arange(last + 1) % 2 == 0, np.array(last), slice(1, None)]
    if n == 2 and min(np.shape(x)):
        of_any += [(0, 1), (slice(None), 0), (slice(None), [0, 1]), (slice(None), None, 1), (1, 1, ...)]
    return of_any[k % len(of_any)]


def other_of(s: State, j: int) -> Any:
    """An operand: a name, a buffer, a number."""
    operands = [*s.v, *s.buffers, 0.8, np.float64(1.1), *s.kept]
    return operands[j % len(operands)]


UNARY = [
    lambda s, x: np.sin(x),
    lambda s, x: -x,
    lambda s, x: +x,
    lambda s, x: x.T,
    lambda s, x: np.ravel(x),
    lambda s, x: x.ravel(order="F"),
    lambda s, x: np.reshape(x, -1),
    lambda s, x: np.reshape(x, (-1, 1)),
    lambda s, x: x.reshape(-1, order="A"),
    lambda s, x: x.flatten(),
    lambda s, x: x.copy(),
    lambda s, x: np.copy(x),
    lambda s, x: copy.copy(x),
    lambda s, x: np.sum(x),
    lambda s, x: np.sum(x, axis=0),
    lambda s, x: np.mean(x, axis=-1, keepdims=True),
    lambda s, x: np.max(x),
    lambda s, x: np.squeeze(x),
    lambda s, x: np.atleast_1d(x),
    lambda s, x: np.atleast_2d(x),
    lambda s, x: np.expand_dims(x, 0),
    lambda s, x: np.flip(x),
    lambda s, x: np.swapaxes(x, 0, -1),
    lambda s, x: np.moveaxis(x, 0, -1),
    lambda s, x: np.transpose(x),
    lambda s, x: np.diagonal(x),
    lambda s, x: np.real(x),
    lambda s, x: x.view(),
    lambda s, x: np.broadcast_to(x, (2, *x.shape)),
    lambda s, x: np.tile(x, 1),
    lambda s, x: np.stack([x, x]),
    lambda s, x: np.concatenate([x, x]),
    lambda s, x: np.where(np.isfinite(x), x, 0.0),
    lambda s, x: np.zeros_like(x),
    lambda s, x: np.ones_like(x),
    lambda s, x: np.full_like(x, 0.3),
    lambda s, x: np.cumsum(x),
    lambda s, x: np.sort(x, axis=-1),
    lambda s, x: np.roll(x, 1),
    lambda s, x: np.repeat(x, 2),
    lambda s, x: np.take(x, 0),
    lambda s, x: np.split(x, 1)[0],
    lambda s, x: np.linalg.norm(x),
    lambda s, x: np.einsum("...->...", x),
    lambda s, x: np.hstack([x, x]),
    lambda s, x: np.abs(x),
    lambda s, x: np.tanh(x),
    lambda s, x: x * x,
]

BINARY = [
    lambda a, b: a + b,
    lambda a, b: a - b,
    lambda a, b: a * b,
    lambda a, b: a / (1.5 + b * b),
    lambda a, b: np.maximum(a, b),
    lambda a, b: np.hypot(a, b),
    lambda a, b: np.outer(a, b),
    lambda a, b: np.dot(a, b),
    lambda a, b: a @ b,
]


def scaled_in_place(a: Any, b: Any) -> None:
    """A function that writes to what it is given."""
    a *= b
    a[...] = a + 0.25


def step(s: State, kind: str, i: int, j: int, k: int) -> None:
    """One statement of the program."""
    at, of = i % NAMES, j % NAMES
    if kind == "unary":
        s.v[at] = UNARY[k % len(UNARY)](s, s.v[of])
    elif kind == "binary":
        s.v[at] = BINARY[k % len(BINARY)](s.v[of], other_of(s, i + k))
    elif kind == "index":
        s.v[at] = s.v[of][index_of(s.v[of], k)]
    elif kind == "alias":
        s.v[at] = s.v[of]
    elif kind == "swap":
        s.v[at], s.v[of] = s.v[of], s.v[at]
    elif kind == "keep":
        s.kept.append(s.v[at])
        del s.kept[:-3]
    elif kind == "take back":
        s.v[at] = s.kept[j % len(s.kept)]
    elif kind == "make":
        s.v[at] = [s.np.zeros(3), s.np.ones((2, 3)), s.np.array(0.4), s.np.full((2, 1), 0.6)][k % 4]
    elif kind == "op":
        in_place(s.v, at, other_of(s, j), k)
    elif kind == "op of an item":
        item = index_of(s.v[at], k)
        in_place(s.v[at], item, other_of(s, j), k // 7)
    elif kind == "op of a kept":
        in_place(s.kept, j % len(s.kept), other_of(s, i), k)
    elif kind == "write":
        s.v[at][index_of(s.v[at], k)] = other_of(s, j)
    elif kind == "out":
        [np.add, np.multiply, np.subtract][k % 3](s.v[of], other_of(s, i + k), out=s.v[at])
    elif kind == "out of one":
        [np.sin, np.tanh, np.negative][k % 3](s.v[of], out=s.v[at])
    elif kind == "call":
        scaled_in_place(s.v[at], other_of(s, j))
    elif kind == "fill":
        [s.v[at].fill, lambda c: np.copyto(s.v[at], c), lambda c: s.v[at].__setitem__(..., c)][k % 3](0.9)
    elif kind == "flat":
        s.v[at].flat[k % max(np.size(s.v[at]), 1)] = other_of(s, j)
    elif kind == "refill":
        buffer = s.buffers[i % 3]
        buffer[...] = 0.1 * (k % 9) + np.arange(buffer.size).reshape(buffer.shape)
    else:
        s.v[at] = s.buffers[j % 3]


def in_place(holder: Any, key: Any, other: Any, k: int) -> None:
    """``holder[key] op= other``."""
    if k % 4 == 0:
        holder[key] += other
    elif k % 4 == 1:
        holder[key] -= other
    elif k % 4 == 2:
        holder[key] *= other
    else:
        holder[key] /= 2.0


KINDS = [
    "unary", "binary", "index", "alias", "swap", "keep", "take back", "make", "op", "op of an item",
    "op of a kept", "write", "out", "out of one", "call", "fill", "flat", "refill", "name a buffer",
]  # fmt: skip

STEPS = st.tuples(
    st.sampled_from(KINDS),
    st.integers(0, 4),
    st.integers(0, 30),
    st.integers(0, 100),
)
FAILURES = (TypeError, ValueError, IndexError, ZeroDivisionError, AttributeError)
# what NumPy makes of our error in one of its functions
NUMPYS_WORDS = ("Error setting single item of array.", "setting an array element with a sequence.")
WEIGHTS = np.cos(np.arange(64.0))


def too_large(s: State) -> bool:
    return any(np.size(x) > 64 or not np.all(np.abs(ld.value(x)) < 1e3) for x in (*s.v, *s.kept))


def loss(s: State) -> Any:
    """A number that depends on every element of every name."""
    total = 0.0
    for m, x in enumerate((*s.v, *s.kept)):
        total = total + (m + 1.0) * np.sum(np.sin(np.ravel(x)) * WEIGHTS[: np.size(x)])
    return total


class Refused(Exception):
    """A step that arrays take, and Variables do not."""


def start(x: Any, namespace: Any) -> State:
    return State(namespace, [x * 1.0, x[0] * 1.0, x[0, 0], np.sum(x), (x.T * 1.0)])


@dataclass
class Reference:
    """What a program does on arrays: the snapshots after its steps, those that NumPy refuses, its length."""

    snapshots: list[Any]
    refused: set[int]
    length: int


def on_arrays(program: list[Any], x: Any) -> Reference:
    s = start(x, np)
    found = Reference([], set(), 0)
    for number, instruction in enumerate(program):
        try:
            step(s, *instruction)
        except FAILURES:
            found.refused.add(number)
        if too_large(s):
            break
        found.snapshots.append(s.snapshot())
        found.length += 1
    return found


def run(program: list[Any], reference: Reference, x: Any, namespace: Any, observed: bool = False) -> Any:
    """The loss of the program; where it is observed, every name after every step is NumPy's."""
    s = start(x, namespace)
    for number, instruction in enumerate(program[: reference.length]):
        if number in reference.refused:
            with pytest.raises(FAILURES):
                step(s, *instruction)
        elif observed:
            try:
                step(s, *instruction)
            except (TypeError, ValueError) as error:
                if isinstance(error, ValueError) and str(error) not in NUMPYS_WORDS:
                    raise
                raise Refused(f"{instruction}: {error}") from None
        else:
            step(s, *instruction)
        if observed:
            for name, pair in enumerate(zip(s.snapshot(), reference.snapshots[number], strict=True)):
                done = f"name {name} after {program[: number + 1]}"
                np.testing.assert_allclose(*pair, 1e-9, 1e-12, err_msg=done)
    return loss(s)


def compare(program: list[Any], namespace: Any) -> str:
    """Check a program; the answer is "all", or the step that was refused."""
    reference = on_arrays(program, BASE)
    try:
        value, pullback = ld.vjp(lambda x: run(program, reference, x, namespace, True), BASE)
    except Refused as refusal:
        return str(refusal)
    (gradient,) = pullback(1.0)
    direction = np.cos(np.arange(6.0)).reshape(2, 3)
    forward = ld.jvp(lambda x: run(program, reference, x, namespace), (BASE,), (direction,))[1]
    np.testing.assert_allclose(forward, np.sum(gradient * direction), 1e-9, 1e-9, err_msg=f"{program}")
    h = 1e-6
    up, down = (run(program, reference, BASE + sign * h * direction, np) for sign in (1, -1))
    middle = run(program, reference, BASE, np)
    np.testing.assert_allclose(value, middle, 1e-9, 1e-12, err_msg=f"{program}")
    if abs(up - 2 * middle + down) < 1e-8 * (1 + abs(middle)):  # no kink of maximum, abs, sort
        np.testing.assert_allclose(forward, (up - down) / (2 * h), 1e-4, 1e-4, err_msg=f"{program}")
    return "all"


@pytest.mark.parametrize("namespace", [np, lnp], ids=["numpy", "lindiff.numpy"])
@settings(max_examples=150, deadline=None, derandomize=True, suppress_health_check=list(HealthCheck))
@given(program=st.lists(STEPS, min_size=3, max_size=14))
def test_programs_side_by_side(namespace, program):
    compare(program, namespace)
