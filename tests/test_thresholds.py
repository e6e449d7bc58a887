"""On both sides of every size at which compiled code takes another way: the same value, the same derivatives.

Sizes are read from the sources, so that they follow where a threshold is moved.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import scipy.linalg
from scipy import special

import lindiff as ld
from lindiff.core import pytree
from lindiff.scipy import linalg as functions_of_matrices
from lindiff.scipy import special as lsp

ROOT = Path(__file__).parent.parent / "lindiff"
CONSTANT = re.compile(r"^(?:cdef enum:\s*)?\s+([A-Z][A-Z_]+) = ([0-9][0-9_]*(?: << [0-9]+)?)\b", re.MULTILINE)

# What each threshold counts.  Those of memory count bytes.
ELEMENTS = [
    "kernels/sizes.pxd UFUNC_LOOPS", "kernels/sizes.pxd PROGRAM_BLOCK", "kernels/sizes.pxd PROGRAM_UNDER_GIL",
    "kernels/sizes.pxd CHAIN_UNDER_GIL", "kernels/sizes.pxd FORMULA_LOOKS",
]  # fmt: skip
BYTES = [
    "kernels/sizes.pxd KEPT_ITSELF", "kernels/sizes.pxd COPIED_CONSTANT", "kernels/sizes.pxd KEPT_MEMORY",
    "kernels/sizes.pxd HUGE_PAGES",
]  # fmt: skip
MULTIPLICATIONS = [
    "kernels/sizes.pxd MATMUL_LOOPS", "kernels/sizes.pxd GEMM_LOOPS", "kernels/sizes.pxd KALMAN_LOOPS",
]  # fmt: skip
ORDERS = [
    "kernels/sizes.pxd SHARED_ORDER", "kernels/sizes.pxd GELQF_SYMMETRIC", "kernels/sizes.pxd GELQF_BLOCK",
    "kernels/sizes.pxd GELQF_LEAF", "kernels/sizes.pxd GELQF_TRIANGLE_LEAF", "kernels/sizes.pxd GELQF_DOT",
    "kernels/sizes.pxd TRSM_LOOPS", "kernels/sizes.pxd TRSV_LOOPS", "kernels/sizes.pxd POTRF_LEAF_IN_PLACE",
    "kernels/sizes.pxd POTRF_LEAF", "kernels/sizes.pxd GETRF_LOOPS", "kernels/sizes.pxd GEMMT_LEAF",
    "kernels/sizes.pxd GETRI_LEAF", "kernels/sizes.pxd SYEVD_LOOPS", "kernels/sizes.pxd SYEVD_SYMMETRIC",
    "kernels/sizes.pxd SYEVD_COLUMNS", "kernels/sizes.pxd TRANSPOSE_TILE", "kernels/sizes.pxd SINGLE_FACTORS",
    "kernels/sizes.pxd TRSM_ROWS", "kernels/sizes.pxd TRSM_ROWS_ORDER_LEAST",
    "kernels/sizes.pxd TRSM_ROWS_ORDER",
]  # fmt: skip
OTHERS = {
    "kernels/sizes.pxd GELQF_UNBLOCKED": "rows² columns: test_work_of_lq",
    "kernels/sizes.pxd SPARSE_ENTRIES": "entries of a transition: test_statespace_sweep",
    "kernels/sizes.pxd SPARSE_STATES": "states: test_statespace_sweep",
    "kernels/sizes.pxd TRSM_LOOPS_ENTRIES": "entries of the right-hand side: test_entries_beside_a_triangle",
    "kernels/sizes.pxd SUBTRACTED_COLUMNS": "columns: test_squared_distances",
    "kernels/sizes.pxd THIN_COLUMNS": "columns: test_columns_of_thin_matrices",
    "kernels/sizes.pxd UNDER_GIL": "only who holds the GIL: every batch of test_orders",
    "kernels/sizes.pxd KEPT_BLOCKS": "how many blocks are kept: test_memory",
    "kernels/sizes.pxd KEPT_BYTES": "how much memory is kept: test_memory",
    "kernels/memory.pyx ALIGNMENT": "no size of an array",
    "kernels/sizes.pxd MOST_THREADS": "threads: test_threads",
    "kernels/sizes.pxd WORTH_A_THREAD": "threads: test_threads",
    "kernels/sizes.pxd BETWEEN_LOOKS": "when Ctrl-C is looked for",
    "kernels/batch.pxd OPERANDS": "no size of an array",
    "kernels/expm.pyx MAX_SQUARINGS": "never reached by finite numbers",
    "kernels/sizes.pxd OF_THREADS": "multiplications: kernels/test_matmul",
    "kernels/matmul.pyx FEW_ROWS": "rows and columns: test_few_numbers_in_programs",
    "kernels/tridiagonal.pyx MOST_SWEEPS": "no size of an array",
    "kernels/sizes.pxd GUARDED_PLACE": "what is looked at: test_constants",
    "kernels/sizes.pxd GUARDED_APART": "what is looked at: test_constants",
    "kernels/sizes.pxd GUARDED_FEWEST": "what is looked at: test_constants",
    "kernels/sizes.pxd GUARDED_MOST": "what is looked at: test_constants",
    "kernels/sizes.pxd TALLIED_NUMBERS": "what is looked at: test_checkpoint",
    "kernels/sizes.pxd GUARDED_ARGUMENTS": "arguments, not elements",
    "kernels/sizes.pxd COMPARED_NUMBERS": "what is looked at: test_checkpoint",
    "kernels/sizes.pxd COMPARED_SUMS": "what is looked at: test_checkpoint",
    "linalg/_operation.pyx MANY": "arguments, not elements",
    "kernels/loops.pxd KINDS": "no size of an array",
    "kernels/loops.pxd AXES": "no size of an array",
    "tensor/gemm.pyx GUARDS": "no size of an array: test_tensor_products",
    "tensor/gemm.pyx BLOCK": "rows of a block: test_tensor_products",
    "tensor/gemm.pyx INNER": "places in the sum of a block: test_tensor_products",
    "tensor/gemm.pyx COLUMNS": "columns of a block: test_tensor_products",
    "tensor/machine.pyx DEEPEST": "no size of an array: test_tensor",
    "tensor/machine.pyx MOST": "no size of an array: test_tensor",
    "tensor/machine.pyx INNERMOST": "elements of a loop: test_tensor",
    "programs/many.pyx TOGETHER": "elements of a call: test_vmap",
    "programs/calling.pyx CHECKED": "walks: test_programs_among_variables",
    "programs/few.pyx FEW": "elements: test_few_numbers_in_programs",
    "programs/prepared.pyx FEW_IN_ROWS": "elements in rows: test_few_numbers_in_programs",
    "programs/prepared.pyx ADDED": "no size of an array",
    "programs/prepared.pyx SUBTRACTED": "no size of an array",
    "programs/prepared.pyx MULTIPLIED": "no size of an array",
    "programs/prepared.pyx COPIED": "no size of an array",
    "programs/machine.pxd AXES": "no size of an array",
    "programs/machine.pxd BLOCKS": "what is kept between runs: test_programs_among_variables",
    "programs/prepared.pxd OPERANDS": "no size of an array: test_passes_of_programs",
    "programs/prepared.pxd READS": "no size of an array",
    "programs/prepared.pxd WRITES": "no size of an array",
    "programs/cells.pxd KEPT": "no size of an array",
    "programs/cells.pxd GIVEN": "no size of an array",
    "programs/cells.pxd NEEDED": "no size of an array",
    "programs/cells.pxd APART": "no size of an array",
    "programs/cells.pyx DTYPE": "no size of an array",
    "programs/cells.pyx SHAPE": "no size of an array",
    "programs/cells.pyx STRIDES": "no size of an array",
    "programs/memory.pyx ALIGNED": "no size of an array",
    "programs/prepared.pxd EACH": "no size of an array",
    "programs/machine.pyx IDLE": "what is kept between runs: test_programs_among_variables",
    "programs/machine.pyx LARGE": "what is kept between runs: test_recorded_programs",
    "programs/many.pyx ALIGNED": "no size of an array",
    "programs/many.pyx FORMS": "what is kept: test_blocks_of_elements",
    "programs/matching.pxd AXES": "of arguments: test_recorded_programs",
    "programs/recording.pyx AXES": "no size of an array",
    "programs/recording.pxd OWNER": "no size of an array",
    "programs/recording.pyx MOST": "operations: some GB of memory",
    "programs/recording.pyx FORMS": "what is remembered: test_recorded_programs",
    "programs/alike.pxd WORDS": "of a description: test_recorded_programs",
    "programs/alike.pxd LOCALS": "of a description: test_recorded_programs",
    "programs/alike.pyx FEW": "bytes of constants that are told by their values: test_recorded_programs",
    "programs/alike.pyx SMALL": "whole numbers that are told by their values: test_recorded_programs",
    "programs/frames.pyx CODES": "what is remembered: test_recorded_programs",
    "programs/frames.pyx TEXTS": "what is remembered: test_recorded_programs",
    "programs/together.pyx ONE_THREAD": "multiplications: test_blocks_of_elements",
    "core/elementwise.pxd OF_VALUE": "no size of an array",
    "core/elementwise.pxd OF_FIRST": "no size of an array",
    "core/elementwise.pxd OF_SECOND": "no size of an array",
    "core/elementwise.pxd OF_THIRD": "no size of an array",
    "kernels/loops.pyx GIVEN": "no size of an array",
    "kernels/loops.pyx REGISTERS": "of a formula: test_formulas",
    "kernels/loops.pyx DECISIONS": "of a formula: test_formulas",
    "programs/evaluating.pyx CALLS": "no size of an array",
    "scipy/integrate/_bdf.pyx HIGHEST": "as SciPy has it: test_backward_differences",
    "scipy/integrate/_bdf.pyx ITERATIONS": "as SciPy has it: test_backward_differences",
    "scipy/integrate/_discontinuities.pyx MOST": "jumps in one step: test_steps_of_equations",
    "scipy/integrate/_jacobians.pxd STAGES": "no size of an array",
    "scipy/integrate/_radau.pyx ITERATIONS": "as SciPy has it: test_steps_of_equations",
    "scipy/integrate/_radau.pyx ORDER": "as SciPy has it: test_steps_of_equations",
    "scipy/integrate/_runge_kutta.pyx BASES": "no size of an array",
    "scipy/integrate/_runge_kutta.pyx STAGES": "no size of an array",
    "scipy/integrate/_runge_kutta.pyx FEWEST": "steps between states that are kept: test_steps_of_equations",
    "scipy/integrate/_runge_kutta.pyx FIRST": "steps that there is room for: test_steps_of_equations",
    "scipy/integrate/_runge_kutta.pyx STIFF": "steps of a stiff problem: test_steps_of_equations",
    "scipy/integrate/_runge_kutta.pyx NOT_STIFF": "steps of a stiff problem: test_steps_of_equations",
    "scipy/integrate/_steps.pyx FEWEST": "steps that there is room for: test_steps_of_equations",
}
NOT_SIZES = {"kernels/expm.pyx", "numpy/_function.pyx", "kernels/rowmajor.pxd"}  # places and kinds


def constants() -> dict[str, int]:
    found = {}
    for path in sorted([*ROOT.rglob("*.pyx"), *ROOT.rglob("*.pxd")]):
        for name, number in CONSTANT.findall(path.read_text(encoding="utf-8")):
            base, _, shift = number.partition(" << ")
            found[f"{path.relative_to(ROOT).as_posix()} {name}"] = int(base) << int(shift or 0)
    return found


FOUND = constants()


def test_every_threshold_is_tested_here():
    known = {*ELEMENTS, *BYTES, *MULTIPLICATIONS, *ORDERS, *OTHERS}
    unknown = {key for key in FOUND if key not in known and key.split()[0] not in NOT_SIZES}
    assert not unknown, f"say what these count, and test both sides: {sorted(unknown)}"
    assert known <= set(FOUND)


def values(names: list[str]) -> list[int]:
    return sorted({FOUND[name] for name in names})


def numbers(shape: tuple[int, ...], dtype: Any, seed: int) -> Any:
    rng = np.random.default_rng(seed)
    x = rng.standard_normal(shape)
    return (x + 1j * rng.standard_normal(shape) if np.dtype(dtype).kind == "c" else x).astype(dtype)


def inner(a: Any, b: Any) -> Any:
    return sum(np.sum((np.conj(x) * y).real) for x, y in zip(a, b, strict=True))


def agrees(f: Callable[..., Any], *arrays: Any, reference: Callable[..., Any] | None = None) -> None:
    """Value as on plain arrays, pullback adjoint to the pushforward, which is the slope of differences."""
    single = np.dtype(arrays[0].dtype).char in "fF"
    rtol = 2e-3 if single else 1e-9
    expected = pytree.flatten((reference or f)(*arrays))[0]
    y, pullback = ld.vjp(f, *arrays)
    parts, restore = pytree.flatten(y)
    tangents = [numbers(x.shape, x.dtype, 7 + k) for k, x in enumerate(arrays)]
    y_again, y_dot = ld.jvp(f, arrays, tangents)
    for got in (parts, pytree.flatten(y_again)[0]):
        for a, b in zip(got, expected, strict=True):
            assert (a.shape, a.dtype) == (b.shape, b.dtype)
            np.testing.assert_allclose(a, b, rtol=rtol, atol=rtol * max(1, np.max(np.abs(b), initial=0)))
    bars = [numbers(x.shape, x.dtype, 17 + k) for k, x in enumerate(parts)]
    y_dot = pytree.flatten(y_dot)[0]
    size = sum(np.sum(np.abs(a * b)) for a, b in zip(bars, y_dot, strict=True)) + 1e-30
    difference = inner(bars, y_dot) - inner(pullback(restore(bars)), tangents)
    assert abs(difference) <= (1e-3 if single else 1e-10) * size
    if single:
        return
    h = 1e-5
    ahead = pytree.flatten(f(*[x + h * dot for x, dot in zip(arrays, tangents, strict=True)]))[0]
    behind = pytree.flatten(f(*[x - h * dot for x, dot in zip(arrays, tangents, strict=True)]))[0]
    for a, b, dot in zip(ahead, behind, y_dot, strict=True):
        tolerance = 1e-4 * max(1, np.max(np.abs(dot), initial=0))
        np.testing.assert_allclose((a - b) / (2 * h), dot, atol=tolerance, rtol=0)


PLACES = np.random.default_rng(0).integers(0, 400, 300)
OF_VECTORS: dict[str, Callable[..., Any]] = {
    "exp": lambda x, y: np.exp(x) * np.log1p(y * y),
    "sin": lambda x, y: np.sin(x) + np.cos(y) * np.tanh(x),
    "sqrt": lambda x, y: np.sqrt(x * x + 1) / np.reciprocal(2 + y * y),
    "arctan": lambda x, y: np.arctan(x) - np.arctan2(y, x * x + 1),
    "expit": lambda x, y: special.expit(x) * special.erf(y),
    "gammaln": lambda x, y: special.gammaln(2 + x * x) - special.xlogy(y * y, 1 + x * x),
    "hypot": lambda x, y: np.hypot(x, y) + np.logaddexp(x, y),
    "numbers": lambda x, y: 2.0 * x - y / 3.0 + 1.5 - (1 - x),
    "powers": lambda x, y: x**2 + x**3 + (1 + y * y) ** 2.5 + 2.0**x + (2 + y * y) ** np.tanh(x),
    "where": lambda x, y: np.where(np.arange(x.size) % 3 == 0, x * y, y),
    "clip": lambda x, y: np.clip(x, -9.0, 9.0) + np.maximum(y, -9.0) + np.minimum(x, y + 20),
    "masked": lambda x, y: np.sin(x, where=np.arange(x.size) % 3 == 0, out=y * 1),
    "sum": lambda x, y: np.sum(x * y) + np.mean(x) - np.sum(y) / 7,
    "max": lambda x, y: np.max(x) * np.min(y) + np.ptp(x),
    "var": lambda x, y: np.var(x) + np.std(y),
    "norm": lambda x, y: np.linalg.norm(x) + np.sqrt(np.sum(y * y)),
    "cumsum": lambda x, y: np.cumsum(x / 99) * np.cumprod(1 + y / 9999),
    "logsumexp": lambda x, y: lsp.logsumexp(x) + lsp.softmax(y) + lsp.log_softmax(x),
    "dot": lambda x, y: (x @ y, np.inner(x, y), np.vdot(y, x)),
    "einsum": lambda x, y: (np.einsum("i,i", x, y), np.einsum("i,i->i", x, y), np.einsum("i,->i", x, y[0])),
    "outer": lambda x, y: (np.outer(x, y[:2]), x[:2, None] * y),
    "strided": lambda x, y: x[::2] * y[::-2] + x[::-1][::2],
    "taken": lambda x, y: x[PLACES] * np.take(y, PLACES[::-1]),
    "chosen": lambda x, y: x[np.arange(x.size) % 3 == 0] * 2,
    "sorted": lambda x, y: np.sort(np.cos(x) / 9999 + np.arange(x.size)[::-1]) + np.flip(y),
    "joined": lambda x, y: np.concatenate([x, y * 2, x]) * np.concatenate([y, x, y]),
    "stacked": lambda x, y: np.stack([x, y], axis=1) @ np.array([1.0, 2.0], x.dtype),
    "shaped": lambda x, y: np.reshape(x[x.size % 4 :], (4, -1)).T.ravel() + np.repeat(y[x.size % 4 :], 1),
    "rolled": lambda x, y: np.roll(x, 3) * np.diff(y, append=0.0) + np.pad(x, 1)[1:-1],
    "written": lambda x, y: written(x, y),
    "interpolated": lambda x, y: np.interp(np.linspace(0, 1, 50), np.linspace(0, 1, x.size), x) * y[:50],
    "convolved": lambda x, y: np.convolve(x, y[:5], "same"),
    "transformed": lambda x, y: np.real(np.fft.ifft(np.fft.fft(x) * 2)) + y,
}  # fmt: skip
EVEN_COMPLEX = [
    "exp",
    "sin",
    "numbers",
    "where",
    "sum",
    "dot",
    "einsum",
    "outer",
    "strided",
    "taken",
    "joined",
]


def written(x: Any, y: Any) -> Any:
    z = x * 1
    z[1:-1] = y[2:]
    z[::3] += x[::3]
    z *= y
    z[[0, 1, 0]] = y[:3]
    return z


@pytest.mark.parametrize("name", OF_VECTORS)
@pytest.mark.parametrize("threshold", values(ELEMENTS))
def test_elements(threshold: int, name: str) -> None:
    for n in (threshold, threshold + 1):
        for dtype in [np.float64, np.float32] + [np.complex128] * (name in EVEN_COMPLEX):
            agrees(OF_VECTORS[name], numbers((n,), dtype, 1), numbers((n,), dtype, 2))


BY_MEMORY = [
    (threshold, name)
    for threshold in values(BYTES)
    for name in ["exp", "joined", "where", "sum", "dot", "einsum", "strided", "chosen", "numbers", "written"]
    if threshold < 1 << 20 or name in ("exp", "joined")  # of many numbers only an allocator's affair
]


@pytest.mark.parametrize(("threshold", "name"), BY_MEMORY)
def test_bytes(threshold: int, name: str) -> None:
    for dtype in (np.float64, np.float32):
        n = threshold // np.dtype(dtype).itemsize
        for size in (n, n + 1):
            agrees(OF_VECTORS[name], numbers((size,), dtype, 1), numbers((size,), dtype, 2))


OF_ARRAYS: dict[str, Callable[..., Any]] = {
    "broadcast": lambda x, y: x * y[0] + x[:, :1] * y - x / (2 + y[:1] * y[:1]),
    "transposed": lambda x, y: x.T * y.T + np.sin(x.T) / 3.0,
    "axes": lambda x, y: np.sum(x, axis=0) + np.mean(y, axis=0) + np.max(x, axis=0) - np.var(y, axis=0),
    "rows": lambda x, y: np.sum(x, axis=1) + np.std(y, axis=1) + np.min(x, -1) + np.linalg.norm(y, axis=1),
    "kept": lambda x, y: x - np.sum(x, axis=1, keepdims=True) + y / np.sum(2 + y * y, axis=0, keepdims=True),
    "cumulated": lambda x, y: np.cumsum(x, axis=0) + np.cumsum(y, axis=1),
    "softmax": lambda x, y: lsp.softmax(x, axis=1) + lsp.logsumexp(y, axis=0),
    "crossed": lambda x, y: np.cross(x[:, :3], y[:, :3]),
    "gathered": lambda x, y: x[PLACES % len(x)] * y[:, PLACES % y.shape[1]][:1, :1],
    "added up": lambda x, y: np.einsum("ij,ij->i", x, y) + np.einsum("ij->i", x),
    "swapped": lambda x, y: np.reshape(np.swapaxes(np.stack([x, y]), 0, 2), -1),
}  # fmt: skip


@pytest.mark.parametrize("name", OF_ARRAYS)
@pytest.mark.parametrize("threshold", values(ELEMENTS))
def test_elements_of_matrices(threshold: int, name: str) -> None:
    for shape in [(threshold // 8, 8), (threshold // 8 + 1, 8), (4, threshold // 4), (4, threshold // 4 + 1)]:
        for dtype in (np.float64, np.float32):
            agrees(OF_ARRAYS[name], numbers(shape, dtype, 1), numbers(shape, dtype, 2))


@pytest.mark.parametrize("columns", [FOUND["kernels/sizes.pxd THIN_COLUMNS"] + k for k in (-1, 0, 1)])
def test_columns_of_thin_matrices(columns: int) -> None:
    for f in (OF_ARRAYS["axes"], OF_ARRAYS["rows"], OF_ARRAYS["kept"], OF_ARRAYS["broadcast"]):
        agrees(f, numbers((5, columns), np.float64, 1), numbers((5, columns), np.float64, 2))


def lengths(work: int) -> list[tuple[int, int, int]]:
    """Rows, summed and columns whose product is just as much, and just more; also of vectors."""
    edge = round(work ** (1 / 3))
    return [
        (edge, edge, work // edge**2), (edge, edge, work // edge**2 + 1), (2, work // 4, 2),
        (2, work // 4 + 1, 2), (1, work, 1), (1, work + 1, 1), (work // 6, 3, 2), (work // 6 + 1, 3, 2),
    ]  # fmt: skip


@pytest.mark.parametrize("dtype", [np.float64, np.float32, np.complex128])
@pytest.mark.parametrize("threshold", values(MULTIPLICATIONS))
def test_multiplications(threshold: int, dtype: Any) -> None:
    for m, k, n in lengths(threshold):
        A, B = numbers((m, k), dtype, 1), numbers((k, n), dtype, 2)
        agrees(lambda A, B: A @ B, A, B)
        agrees(lambda A, B: A.T @ B.T, A.T.copy(), B.T.copy())
        agrees(lambda A, B: (A @ B[:, 0], A[0] @ B), A, B)
        agrees(lambda A, B: np.matmul(np.stack([A, 2 * A]), np.stack([B, B])), A, B)
        agrees(lambda A, B: (np.dot(A, B), np.tensordot(A, B, 1), np.einsum("ij,jk->ki", A, B)), A, B)
        agrees(lambda A, B: (ld.linalg.gemm2(A, B), ld.linalg.syrk(A)), A, B,
               reference=lambda A, B: (A @ B, A @ A.T))  # fmt: skip


def positive(A: Any) -> Any:
    return A @ np.conj(np.swapaxes(A, -1, -2)) / A.shape[-1] + 2 * np.eye(A.shape[-1], dtype=A.dtype)


def lower(A: Any) -> Any:
    return np.tril(A) / A.shape[-1] + 2 * np.eye(A.shape[-1], dtype=A.dtype)


OF_MATRICES: dict[str, tuple[Callable[..., Any], Callable[..., Any] | None]] = {
    "cholesky": (lambda A: np.linalg.cholesky(positive(A)), None),
    "potrf": (lambda A: ld.linalg.potrf(positive(A)), lambda A: np.linalg.cholesky(positive(A))),
    "potri": (lambda A: ld.linalg.potri(lower(A)),
              lambda A: np.linalg.inv(lower(A) @ np.swapaxes(lower(A), -1, -2).conj())),
    "inv": (lambda A: np.linalg.inv(positive(A)), None),
    "solve": (lambda A: (np.linalg.solve(positive(A), A[..., :2]), np.linalg.solve(positive(A), A)), None),
    "slogdet": (lambda A: np.linalg.slogdet(positive(A))[1], None),
    "det": (lambda A: np.linalg.det(positive(A) / 2), None),
    "eigh": (lambda A: (np.linalg.eigvalsh(positive(A)), np.abs(np.linalg.eigh(positive(A))[1]) ** 2), None),
    "syevd": (lambda A: ld.linalg.syevd(positive(A))[1], lambda A: np.linalg.eigvalsh(positive(A))),
    "svd": (lambda A: np.linalg.svd(A, compute_uv=False), None),
    "polar": (lambda A: (lambda U, s, V: U @ V)(*np.linalg.svd(A + positive(A))), None),
    "qr": (lambda A: (lambda Q, R: np.abs(R) ** 2)(*np.linalg.qr(A)), None),
    "gelqf": (lambda A: ld.linalg.gelqf_l(np.concatenate([A, A[..., ::-1, :] * 2], axis=-1)),
              lambda A: np.linalg.cholesky(gram(np.concatenate([A, A[..., ::-1, :] * 2], axis=-1)))),
    "trsm": (lambda A: ld.linalg.trsm(lower(A), A), lambda A: np.linalg.solve(lower(A), A)),
    "trsm of a vector": (lambda A: ld.linalg.trsm(lower(A), A[..., :1]),
                         lambda A: np.linalg.solve(lower(A), A[..., :1])),
    "trmm": (lambda A: ld.linalg.trmm(lower(A), A), lambda A: lower(A) @ A),
    "syrk": (lambda A: ld.linalg.syrk(A), lambda A: gram(A)),
    "expm": (lambda A: ld.linalg.expm(A / A.shape[-1]), lambda A: scipy.linalg.expm(A / A.shape[-1])),
    "pinv": (lambda A: np.linalg.pinv(positive(A)), None),
    "matrix_power": (lambda A: np.linalg.matrix_power(A / A.shape[-1], 5), None),
    "triangles": (lambda A: np.tril(A) @ np.triu(A, 1) + np.swapaxes(A, -1, -2), None),
}  # fmt: skip
REAL = {"gelqf", "syrk", "expm"}


def gram(A: Any) -> Any:
    return A @ np.swapaxes(A, -1, -2).conj()


@pytest.mark.parametrize("name", OF_MATRICES)
@pytest.mark.parametrize("threshold", values(ORDERS))
def test_orders(threshold: int, name: str) -> None:
    f, reference = OF_MATRICES[name]
    half = threshold // 2  # for complex numbers some are half of it
    for n, dtype in [(threshold, np.float64), (threshold + 1, np.float64), (threshold, np.complex128),
                     (half, np.complex128), (half + 1, np.complex128)]:  # fmt: skip
        if dtype is np.float64 or name not in REAL:
            agrees(f, numbers((n, n), dtype, 1), reference=reference)
    if threshold <= 32:
        agrees(f, numbers((2, threshold, threshold), np.float64, 1), reference=reference)


def test_work_of_lq() -> None:
    work = FOUND["kernels/sizes.pxd GELQF_UNBLOCKED"]
    for m in (9, 20, 31):
        for n in (math.ceil(work / m**2), work // m**2 + 1):
            A = numbers((m, max(n, m)), np.float64, 1)
            agrees(ld.linalg.gelqf_l, A, reference=lambda A: np.linalg.cholesky(gram(A)))
            agrees(lambda A: ld.linalg.gelqf(A)[0] * 1.0, A, reference=lambda A: row_space(A))


def row_space(A: Any) -> Any:
    """Q of ``A = L Q`` with a positive diagonal."""
    return np.linalg.solve(np.linalg.cholesky(gram(A)), A)


def test_entries_beside_a_triangle() -> None:
    entries = FOUND["kernels/sizes.pxd TRSM_LOOPS_ENTRIES"]
    for n in (4, 8):
        L = numbers((n, n), np.float64, 1)
        for k in (entries // n, entries // n + 1):
            B = numbers((n, k), np.float64, 2)
            agrees(lambda L, B: ld.linalg.trsm(lower(L), B), L, B,
                   reference=lambda L, B: np.linalg.solve(lower(L), B))  # fmt: skip
            agrees(lambda L, B: functions_of_matrices.solve_triangular(lower(L), B, lower=True), L, B)
            agrees(lambda L, B: ld.linalg.trmm(lower(L), B.T, rightside=True), L, B,
                   reference=lambda L, B: B.T @ lower(L))  # fmt: skip
