"""One call of NumPy, recorded and pulled back: the price of an operation, family by family.

Every library is given the very same call in its own namespace. lindiff gets NumPy's; the time of NumPy alone
(the value) is the measure. Compilers are left out: what they would compile is one call.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from math import isqrt
from typing import Any

import numpy as np

from .harness import Case
from .peers import Calls, NumPy, Peer

TITLE = "one call by NumPy alone, and recorded and pulled back by the others"
PEERS = ("numpy", "lindiff", "autograd", "advect")
QUANTITY = "one call"
SHARE = 0.2  # of the time that other suites give to a measurement: there are many
SIZES = (4, 100, 10_000)

Maker = Callable[[int], Any]


@dataclass(frozen=True)
class Call:
    """A call, what it is differentiated in, and constants that follow; all made for a number of elements."""

    f: Callable[..., Any]
    args: tuple[Maker, ...]
    constants: tuple[Maker, ...] = ()
    sizes: tuple[int, ...] = SIZES
    symmetric: bool = False
    """Whether the call reads a triangle of a symmetric matrix, so that conventions of the gradient differ."""


@dataclass(frozen=True)
class Family:
    """Calls of one kind, by how they are written, and the namespace of the peer that they need."""

    calls: dict[str, Call]
    namespace: str = "xp"


# -- arguments: n elements, the same for all libraries -----------------------------------------------------


def vector(n: int) -> np.ndarray:
    return np.random.default_rng(0).uniform(0.6, 1.4, n)


def other(n: int) -> np.ndarray:
    return np.random.default_rng(1).uniform(0.6, 1.4, n)


def fraction(n: int) -> np.ndarray:
    return np.random.default_rng(2).uniform(0.1, 0.9, n)


def number(n: int) -> np.ndarray:
    return np.array(1.2)


def matrix(n: int) -> np.ndarray:
    return vector(isqrt(n) ** 2).reshape(isqrt(n), -1)


def other_matrix(n: int) -> np.ndarray:
    return other(isqrt(n) ** 2).reshape(isqrt(n), -1)


def row(n: int) -> np.ndarray:
    return other(isqrt(n))


def column(n: int) -> np.ndarray:
    return vector(isqrt(n))


def pairs(n: int) -> np.ndarray:
    return vector(n).reshape(2, -1)


def triples(n: int) -> np.ndarray:
    return vector(3 * max(n // 3, 1)).reshape(-1, 3)


def other_triples(n: int) -> np.ndarray:
    return other(3 * max(n // 3, 1)).reshape(-1, 3)


def small_matrices(n: int) -> np.ndarray:
    return vector(4 * (n // 4)).reshape(-1, 2, 2)


def other_small_matrices(n: int) -> np.ndarray:
    return other(4 * (n // 4)).reshape(-1, 2, 2)


def block(n: int) -> np.ndarray:
    """A matrix for products of Kronecker: its square has n elements."""
    return matrix(isqrt(n))


def regular(n: int) -> np.ndarray:
    """A matrix that is far from singular."""
    return matrix(n) / isqrt(n) + 2 * np.eye(isqrt(n))


def positive_definite(n: int) -> np.ndarray:
    A = matrix(n)
    return A @ A.T / isqrt(n) + np.diag(np.linspace(1, 2, isqrt(n)))


def tall(n: int) -> np.ndarray:
    side = isqrt(n)
    return np.random.default_rng(0).standard_normal((2 * side, side))


def complex_vector(n: int) -> np.ndarray:
    return vector(n) + 1j * other(n)


def other_complex_vector(n: int) -> np.ndarray:
    return other(n) - 0.5j * vector(n)


def complex_matrix(n: int) -> np.ndarray:
    return complex_vector(isqrt(n) ** 2).reshape(isqrt(n), -1)


def half_spectrum(n: int) -> np.ndarray:
    return np.fft.rfft(vector(n))


def places(n: int) -> np.ndarray:
    return np.random.default_rng(3).integers(0, n, n)


def places_in_row(n: int) -> np.ndarray:
    return np.random.default_rng(3).integers(0, isqrt(n), isqrt(n))


def mask(n: int) -> np.ndarray:
    return np.arange(n) % 3 != 0


def order_in_rows(n: int) -> np.ndarray:
    return np.argsort(matrix(n), axis=1)


def grid(n: int) -> np.ndarray:
    return np.linspace(0, 2, n)


def side(n: int) -> int:
    return isqrt(n)


def length(n: int) -> int:
    return n


# -- what is written to; the changed copy is returned --------------------------------------------------------


def set_item(xp: Any, x: Any, y: Any) -> Any:
    x = xp.copy(x)
    x[1] = y
    return x


def set_slice(xp: Any, x: Any, y: Any) -> Any:
    x = xp.copy(x)
    x[1:] = y[1:]
    return x


def set_masked(xp: Any, x: Any, mask: Any) -> Any:
    x = xp.copy(x)
    x[mask] = 0.0
    return x


def add_in_place(xp: Any, x: Any, y: Any) -> Any:
    x = xp.copy(x)
    x += y
    return x


def add_to_slice(xp: Any, x: Any, y: Any) -> Any:
    x = xp.copy(x)
    x[1:] += y[1:]
    return x


# -- the calls ---------------------------------------------------------------------------------------------

V, VV, M, MM = (vector,), (vector, other), (matrix,), (matrix, other_matrix)
Z, ZZ = (complex_vector,), (complex_vector, other_complex_vector)

FAMILIES = {
    "elementwise": Family({
        "x + y": Call(lambda np, x, y: x + y, VV),
        "A + row": Call(lambda np, A, x: A + x, (matrix, row)),
        "2.0 - x": Call(lambda np, x: 2.0 - x, V),
        "x * y": Call(lambda np, x, y: x * y, VV),
        "A * column": Call(lambda np, A, x: A * x[:, None], (matrix, column)),
        "number * x": Call(lambda np, a, x: a * x, (number, vector)),
        "x / y": Call(lambda np, x, y: x / y, VV),
        "-x": Call(lambda np, x: -x, V),
        "x**2": Call(lambda np, x: x**2, V),
        "x**3": Call(lambda np, x: x**3, V),
        "x**y": Call(lambda np, x, y: x**y, VV),
        "np.exp(x)": Call(lambda np, x: np.exp(x), V),
        "np.log(x)": Call(lambda np, x: np.log(x), V),
        "np.log1p(x)": Call(lambda np, x: np.log1p(x), V),
        "np.sqrt(x)": Call(lambda np, x: np.sqrt(x), V),
        "np.sin(x)": Call(lambda np, x: np.sin(x), V),
        "np.tan(x)": Call(lambda np, x: np.tan(x), V),
        "np.arctan(x)": Call(lambda np, x: np.arctan(x), V),
        "np.arctan2(x, y)": Call(lambda np, x, y: np.arctan2(x, y), VV),
        "np.tanh(x)": Call(lambda np, x: np.tanh(x), V),
        "np.cosh(x)": Call(lambda np, x: np.cosh(x), V),
        "np.abs(x)": Call(lambda np, x: np.abs(x - 1.0), V),
        "np.maximum(x, y)": Call(lambda np, x, y: np.maximum(x, y), VV),
        "np.maximum(x, 1.0)": Call(lambda np, x: np.maximum(x, 1.0), V),
        "np.clip(x, 0.8, 1.2)": Call(lambda np, x: np.clip(x, 0.8, 1.2), V),
        "np.logaddexp(x, y)": Call(lambda np, x, y: np.logaddexp(x, y), VV),
        "np.sinc(x)": Call(lambda np, x: np.sinc(x), V),
        "np.cbrt(x)": Call(lambda np, x: np.cbrt(x), V),
        "np.hypot(x, y)": Call(lambda np, x, y: np.hypot(x, y), VV),
    }),
    "complex": Family({
        "z * w": Call(lambda np, z, w: z * w, ZZ),
        "z / w": Call(lambda np, z, w: z / w, ZZ),
        "np.exp(z)": Call(lambda np, z: np.exp(z), Z),
        "np.abs(z)": Call(lambda np, z: np.abs(z), Z),
        "np.angle(z)": Call(lambda np, z: np.angle(z), Z),
        "np.conj(z)": Call(lambda np, z: np.conj(z), Z),
        "np.real(z)": Call(lambda np, z: np.real(z), Z),
        "np.imag(z)": Call(lambda np, z: np.imag(z), Z),
        "np.sum(z)": Call(lambda np, z: np.sum(z), Z),
        "Z @ Z": Call(lambda np, A: A @ A, (complex_matrix,)),
    }),
    "reductions": Family({
        "np.sum(x)": Call(lambda np, x: np.sum(x), V),
        "np.sum(A, axis=0)": Call(lambda np, A: np.sum(A, axis=0), M),
        "np.sum(A, axis=1, keepdims=True)": Call(lambda np, A: np.sum(A, axis=1, keepdims=True), M),
        "np.mean(x)": Call(lambda np, x: np.mean(x), V),
        "np.mean(A, axis=0)": Call(lambda np, A: np.mean(A, axis=0), M),
        "np.var(x)": Call(lambda np, x: np.var(x), V),
        "np.var(A, axis=1)": Call(lambda np, A: np.var(A, axis=1), M),
        "np.std(x)": Call(lambda np, x: np.std(x), V),
        "np.std(A, axis=0)": Call(lambda np, A: np.std(A, axis=0), M),
        "np.max(x)": Call(lambda np, x: np.max(x), V),
        "np.max(A, axis=1)": Call(lambda np, A: np.max(A, axis=1), M),
        "np.min(A, axis=0)": Call(lambda np, A: np.min(A, axis=0), M),
        "np.prod(x)": Call(lambda np, x: np.prod(x), V),
        "np.prod(A, axis=0)": Call(lambda np, A: np.prod(A, axis=0), M),
        "np.cumsum(x)": Call(lambda np, x: np.cumsum(x), V),
        "np.cumsum(A, axis=0)": Call(lambda np, A: np.cumsum(A, axis=0), M),
        "np.cumprod(x)": Call(lambda np, x: np.cumprod(x), (fraction,), sizes=(4, 100)),
        "np.median(x)": Call(lambda np, x: np.median(x), V),
        "np.quantile(x, 0.3)": Call(lambda np, x: np.quantile(x, 0.3), V),
        "np.average(x, weights=y)": Call(lambda np, x, y: np.average(x, weights=y), V, (other,)),
        "np.ptp(x)": Call(lambda np, x: np.ptp(x), V),
        "np.cov(A)": Call(lambda np, A: np.cov(A), M),
    }),
    "products": Family({
        "x @ y": Call(lambda np, x, y: x @ y, VV),
        "A @ x": Call(lambda np, A, x: A @ x, (matrix, row)),
        "A @ B": Call(lambda np, A, B: A @ B, MM),
        "A @ B of (n, 2, 2)": Call(
            lambda np, A, B: A @ B, (small_matrices, other_small_matrices)),
        "np.dot(A, B)": Call(lambda np, A, B: np.dot(A, B), MM),
        "np.outer(x, y)": Call(lambda np, x, y: np.outer(x, y), (column, row)),
        "np.inner(A, B)": Call(lambda np, A, B: np.inner(A, B), MM),
        "np.vdot(x, y)": Call(lambda np, x, y: np.vdot(x, y), VV),
        "np.tensordot(A, B, 1)": Call(lambda np, A, B: np.tensordot(A, B, 1), MM),
        "np.einsum('ij,jk->ik', A, B)": Call(lambda np, A, B: np.einsum("ij,jk->ik", A, B), MM),
        "np.einsum('ij,ij->i', A, B)": Call(lambda np, A, B: np.einsum("ij,ij->i", A, B), MM),
        "np.einsum('ij->j', A)": Call(lambda np, A: np.einsum("ij->j", A), M),
        "np.einsum('ii', A)": Call(lambda np, A: np.einsum("ii", A), M),
        "np.kron(A, B)": Call(lambda np, A, B: np.kron(A, B), (block, block)),
        "np.cross(A, B)": Call(lambda np, A, B: np.cross(A, B), (triples, other_triples)),
        "np.trace(A)": Call(lambda np, A: np.trace(A), M),
        "np.diagonal(A)": Call(lambda np, A: np.diagonal(A), M),
        "np.diag(x)": Call(lambda np, x: np.diag(x), (row,)),
        "np.linalg.matrix_power(A, 3)": Call(lambda np, A: np.linalg.matrix_power(A, 3), (regular,)),
    }),
    "linear algebra": Family({
        "np.linalg.cholesky(A)": Call(
            lambda np, A: np.linalg.cholesky(A), (positive_definite,), symmetric=True),
        "np.linalg.solve(A, B)": Call(lambda np, A, B: np.linalg.solve(A, B), (regular, other_matrix)),
        "np.linalg.solve(A, x)": Call(lambda np, A, x: np.linalg.solve(A, x), (regular, row)),
        "np.linalg.inv(A)": Call(lambda np, A: np.linalg.inv(A), (regular,)),
        "np.linalg.det(A)": Call(lambda np, A: np.linalg.det(A), (regular,), sizes=(4, 100)),
        "np.linalg.slogdet(A)": Call(lambda np, A: np.linalg.slogdet(A)[1], (regular,)),
        "np.linalg.eigh(A)": Call(lambda np, A: np.linalg.eigh(A)[0], (positive_definite,), symmetric=True),
        "np.linalg.svd(A)": Call(lambda np, A: np.linalg.svd(A, full_matrices=False)[1], (regular,)),
        "np.linalg.qr(A)": Call(lambda np, A: np.linalg.qr(A)[1], (tall,)),
        "np.linalg.pinv(A)": Call(lambda np, A: np.linalg.pinv(A), (regular,)),
        "np.linalg.norm(x)": Call(lambda np, x: np.linalg.norm(x), V),
        "np.linalg.norm(A)": Call(lambda np, A: np.linalg.norm(A), M),
        "np.linalg.norm(A, axis=1)": Call(lambda np, A: np.linalg.norm(A, axis=1), M),
        "np.linalg.norm(x, 1)": Call(lambda np, x: np.linalg.norm(x, 1), V),
    }),
    "Fourier": Family({
        "np.fft.fft(z)": Call(lambda np, z: np.fft.fft(z), Z),
        "np.fft.ifft(z)": Call(lambda np, z: np.fft.ifft(z), Z),
        "np.fft.rfft(x)": Call(lambda np, x: np.fft.rfft(x), V),
        "np.fft.irfft(z)": Call(lambda np, z: np.fft.irfft(z), (half_spectrum,)),
        "np.fft.fft2(Z)": Call(lambda np, z: np.fft.fft2(z), (complex_matrix,)),
        "np.fft.rfft2(A)": Call(lambda np, z: np.fft.rfft2(z), M),
        "np.fft.fftshift(x)": Call(lambda np, x: np.fft.fftshift(x), V),
    }),
    "shape": Family({
        "np.reshape(x, (2, -1))": Call(lambda np, x: np.reshape(x, (2, -1)), V),
        "np.ravel(A)": Call(lambda np, A: np.ravel(A), M),
        "A.T": Call(lambda np, A: A.T, M),
        "np.transpose(A, (1, 0))": Call(lambda np, A: np.transpose(A, (1, 0)), M),
        "np.swapaxes(A, 0, 1)": Call(lambda np, A: np.swapaxes(A, 0, 1), M),
        "np.moveaxis(A, 0, 1)": Call(lambda np, A: np.moveaxis(A, 0, 1), M),
        "x[:, None]": Call(lambda np, x: x[:, None], V),
        "np.expand_dims(x, 0)": Call(lambda np, x: np.expand_dims(x, 0), V),
        "np.squeeze(x[None])": Call(lambda np, x: np.squeeze(x[None]), V),
        "np.broadcast_to(x, (2, n))": Call(lambda np, x, n: np.broadcast_to(x, (2, n)), V, (length,)),
        "np.atleast_2d(x)": Call(lambda np, x: np.atleast_2d(x), V),
        "np.flip(x)": Call(lambda np, x: np.flip(x), V),
        "np.roll(x, 1)": Call(lambda np, x: np.roll(x, 1), V),
        "np.rot90(A)": Call(lambda np, A: np.rot90(A), M),
        "np.tril(A)": Call(lambda np, A: np.tril(A), M),
        "np.repeat(x, 2)": Call(lambda np, x: np.repeat(x, 2), V),
        "np.tile(x, 2)": Call(lambda np, x: np.tile(x, 2), V),
        "np.pad(x, 1)": Call(lambda np, x: np.pad(x, 1, mode="constant"), V),
    }),
    "join and split": Family({
        "np.concatenate([x, y])": Call(lambda np, x, y: np.concatenate([x, y]), VV),
        "np.stack([x, y])": Call(lambda np, x, y: np.stack([x, y]), VV),
        "np.vstack([x, y])": Call(lambda np, x, y: np.vstack([x, y]), VV),
        "np.hstack([x, y])": Call(lambda np, x, y: np.hstack([x, y]), VV),
        "np.column_stack([x, y])": Call(lambda np, x, y: np.column_stack([x, y]), VV),
        "np.append(x, y)": Call(lambda np, x, y: np.append(x, y), VV),
        "np.block([[A, B], [B, A]])": Call(lambda np, A, B: np.block([[A, B], [B, A]]), MM),
        "np.split(x, 2)": Call(lambda np, x: np.split(x, 2)[1], V),
        "np.array_split(x, 3)": Call(lambda np, x: np.array_split(x, 3)[1], V),
        "np.meshgrid(x, y)": Call(lambda np, x, y: np.meshgrid(x, y)[0], (column, row)),
    }),
    "select and sort": Family({
        "x[1]": Call(lambda np, x: x[1], V),
        "x[1:-1]": Call(lambda np, x: x[1:-1], V),
        "x[::-1]": Call(lambda np, x: x[::-1], V),
        "A[:, 0]": Call(lambda np, A: A[:, 0], M),
        "x[indices]": Call(lambda np, x, i: x[i], V, (places,)),
        "A[indices]": Call(lambda np, A, i: A[i], M, (places_in_row,)),
        "A[i, j]": Call(lambda np, A, i: A[i, i], M, (places_in_row,)),
        "x[mask]": Call(lambda np, x, m: x[m], V, (mask,)),
        "np.take(x, indices)": Call(lambda np, x, i: np.take(x, i), V, (places,)),
        "np.take(A, indices, axis=1)": Call(lambda np, A, i: np.take(A, i, axis=1), M, (places_in_row,)),
        "np.take_along_axis(A, order, 1)": Call(
            lambda np, A, i: np.take_along_axis(A, i, 1), M, (order_in_rows,)),
        "np.where(mask, x, y)": Call(lambda np, x, y, m: np.where(m, x, y), VV, (mask,)),
        "np.where(mask, x, 0.0)": Call(lambda np, x, m: np.where(m, x, 0.0), V, (mask,)),
        "np.select([mask], [x], 0.0)": Call(lambda np, x, m: np.select([m], [x], 0.0), V, (mask,)),
        "np.compress(mask, x)": Call(lambda np, x, m: np.compress(m, x), V, (mask,)),
        "np.sort(x)": Call(lambda np, x: np.sort(x), V),
        "np.sort(A, axis=0)": Call(lambda np, A: np.sort(A, axis=0), M),
        "np.partition(x, 1)": Call(lambda np, x: np.partition(x, 1), V),
    }),
    "in place": Family({
        "x[1] = number": Call(set_item, (vector, number)),
        "x[1:] = y[1:]": Call(set_slice, VV),
        "x[mask] = 0.0": Call(set_masked, V, (mask,)),
        "x += y": Call(add_in_place, VV),
        "x[1:] += y[1:]": Call(add_to_slice, VV),
    }),
    "signal": Family({
        "np.diff(x)": Call(lambda np, x: np.diff(x), V),
        "np.gradient(x)": Call(lambda np, x: np.gradient(x), V),
        "np.trapezoid(x)": Call(lambda np, x: np.trapezoid(x), V),
        "np.interp(x, grid, y)": Call(lambda np, y, x, g: np.interp(x, g, y), V, (fraction, grid)),
        "np.convolve(x, kernel)": Call(lambda np, x, y: np.convolve(x, y), (vector, row)),
        "np.correlate(x, kernel)": Call(lambda np, x, y: np.correlate(x, y), (vector, row)),
        "np.polyval(p, x)": Call(lambda np, x, p: np.polyval(p, x), V, (lambda n: vector(4),)),
        "np.vander(x, 4)": Call(lambda np, x: np.vander(x, 4), V),
    }),
    "creation": Family({
        "np.linspace(a, b, n)": Call(
            lambda np, a, b, n: np.linspace(a, b, n), (number, lambda n: np.array(2.5)), (length,)),
        "np.copy(x)": Call(lambda np, x: np.copy(x), V),
    }),
    "scipy.special": Family({
        "erf(x)": Call(lambda special, x: special.erf(x), V),
        "expit(x)": Call(lambda special, x: special.expit(x), V),
        "gammaln(x)": Call(lambda special, x: special.gammaln(x), V),
        "digamma(x)": Call(lambda special, x: special.digamma(x), V),
        "gamma(x)": Call(lambda special, x: special.gamma(x), V),
        "ndtr(x)": Call(lambda special, x: special.ndtr(x), V),
        "ndtri(x)": Call(lambda special, x: special.ndtri(x), (fraction,)),
        "logit(x)": Call(lambda special, x: special.logit(x), (fraction,)),
        "j0(x)": Call(lambda special, x: special.j0(x), V),
        "betaln(x, y)": Call(lambda special, x, y: special.betaln(x, y), VV),
        "logsumexp(x)": Call(lambda special, x: special.logsumexp(x), V),
        "logsumexp(A, axis=1)": Call(lambda special, A: special.logsumexp(A, axis=1), M),
        "softmax(A, axis=1)": Call(lambda special, A: special.softmax(A, axis=1), M),
    }, namespace="special"),
}  # fmt: skip


def cotangent(y: Any) -> np.ndarray:
    """Numbers that are not all the same, so that a wrong order in the gradient shows."""
    weights = np.cos(np.arange(np.size(y))).reshape(np.shape(y))
    return weights * (1 - 0.5j) if np.iscomplexobj(y) else weights


def cases() -> list[Case]:
    return [
        Case(name, n, call)
        for name, family in FAMILIES.items()
        for call, example in family.calls.items()
        for n in example.sizes
    ]


def prepare(peer: Peer, case: Case) -> Calls:
    family = FAMILIES[case.family]
    example = family.calls[case.call]
    namespace = getattr(peer, family.namespace)
    args = [peer.asarray(make(case.size)) for make in example.args]
    constants = [make(case.size) for make in example.constants]

    def f(*args: Any) -> Any:
        return example.f(namespace, *args, *constants)

    calls = peer.vjp_calls(f, args, cotangent)
    call = calls.timed["forward" if isinstance(peer, NumPy) else "forward + backward"]
    calls = Calls({QUANTITY: call}, calls.checked)
    return calls.symmetrize(0) if example.symmetric else calls
