"""The Kalman filter of many series and the gradient of its sums: all steps in one launch each way."""

from __future__ import annotations

from math import prod
from typing import Any, NamedTuple

import cupy
import numpy as np

from lindiff_cuda import tuning
from lindiff_cuda.arrays import Batch
from lindiff_cuda.checks import checking
from lindiff_cuda.launching import ALL_SHARED, NOWHERE, ORDER, kernel, launch, width_of

__all__ = ["Sweeps"]

ARGUMENTS = (
    *("y", "transition", "design", "state_cov", "obs_cov"),
    *("initial_state", "initial_state_cov", "state_intercept"),
)
MOST_STEPS = 1 << 30  # the kernels count them in 32 bits, and one block of steps beyond
TIMED = {"transition", "design", "state_cov", "obs_cov", "state_intercept"}  # may have one for every step


class Sizes(NamedTuple):
    """What a kernel is compiled for: n states, p observations a step, d diffuse states."""

    n: int
    p: int
    d: int
    independent: bool

    @property
    def width(self) -> int:
        """Lanes for one series."""
        return width_of(self.n if self.independent else max(self.n, self.p))

    @property
    def room(self) -> int:
        """Entries of shared memory for one series: what `Room` of kalman.cu holds, and so many more that
        neighbouring tiles begin in different banks.
        """
        n, p, d = self.n, self.p, self.d + 1
        size = 2 * n * (n | 1) + 2 * d * n + n + p * d + p * n + d * d
        if not self.independent:
            size += 2 * p * n + p * d + 2 * p * p
        return size + (self.width - size) % 16

    @property
    def kept(self) -> tuple[int, int]:
        """Numbers that the way back needs of a step: in so many rows of n, and single ones."""
        n, p, d = self.n, self.p, self.d + 1
        return n + d + p, (p if self.independent else p * p) + p * d

    def fit(self, itemsize: int) -> bool:
        """Whether a tile of one warp, with the shared memory of any device, is enough."""
        return 1 <= self.n <= ORDER and 1 <= self.p <= ORDER and self.room * itemsize <= ALL_SHARED

    def constants(self, blockwise: bool, stepwise: bool, smoothing: bool) -> dict[str, int]:
        """The macros of kalman.cu."""
        return {
            "WIDTH": self.width,
            "STATES": self.n,
            "OUTPUTS": self.p,
            "COLUMNS": self.d + 1,
            "INDEPENDENT": int(self.independent),
            "BLOCKWISE": int(blockwise),
            "STEPWISE": int(stepwise),
            "SMOOTHING": int(smoothing),
            "ROOM": self.room,
        }


class Part:
    """The gradient of an array of the model: as the kernel writes it, for each series, and as it is wanted.

    Parameters
    ----------
    x : cupy.ndarray
        The array, (1 or S, ...).
    timed : bool
        Whether its second axis are the steps, unless that has length 1.
    series, steps : int
        S and T.
    """

    def __init__(self, x: Any, timed: bool, series: int, steps: int) -> None:
        self.empty = cupy.empty if steps else cupy.zeros  # the kernel writes with the first step
        self.series, self.shared = series, len(x) != series
        self.by_step = self.shared and timed and x.shape[1] > 1
        self.step = series * x[0, 0].nbytes if self.by_step else 0  # bytes of a step before series are summed
        self.total: Any = self.empty(x.shape, x.dtype)
        self.own: Any = self.total

    def place(self, window: int) -> Any:
        """Where the kernel writes, so many steps in one launch."""
        if self.shared:
            tail = (window, *self.total.shape[2:]) if self.by_step else self.total.shape[1:]
            self.own = self.empty((self.series, *tail), self.total.dtype)
        return self.own

    def add_up(self, start: int, until: int) -> None:
        """Take the sum over series of these steps, which a launch has written."""
        shape = self.series, until - start, *self.total.shape[2:]
        own = self.own.reshape(-1)[: prod(shape)].reshape(shape)
        self.total[:, start:until] = cupy.sum(own, axis=0, keepdims=True)

    def result(self) -> Any:
        """The gradient of the shape of the array."""
        if self.shared and not self.by_step:
            return cupy.sum(self.own, axis=0, keepdims=True)
        return self.total


class Sweeps:
    """The filter run over every series, one tile of a warp for each; what its gradient needs is kept.

    Parameters
    ----------
    arrays : tuple of cupy.ndarray
        y (S, T, p), NaN where missing; transition, design, state_cov, obs_cov (1 or S, 1 or T, ...);
        initial_state (1 or S, n), initial_state_cov (1 or S, n, n); state_intercept (1 or S, 1 or T, n) or
        None.  All of one dtype, which may be complex.
    plan : lindiff.statespace.sweep.Plan
        Its groups and tolerance mean nothing here.

    Raises
    ------
    ValueError
        If an array is on another device than the current one, or has more than 2³⁰ steps.
    numpy.linalg.LinAlgError
        If the covariance of the observations is not positive definite; names the series and the step.
    OverflowError
        If predictions overflow; names both.

        Whether any series failed is read back, which waits for the GPU, but not within ``unchecked``: there
        sums and gradients of a series that failed are NaN.

    Notes
    -----
    Every series has covariances of its own, whether or not it shares them, and computes them at every step:
    about 4n³ + 5n²p flops forward and 6n³ + 10n²p backward, with n² + n + np + 2p numbers kept, p² more for
    a full obs_cov (`Plan.block`: of so many steps, for one more filter on the way back).  One series is as
    slow as thousands; from some hundreds on the GPU is busy.

    Sums over series of the gradients of what they share are taken in a fixed order; of what changes from step
    to step, after some of the steps, each time with a launch: `tuning.BYTES_OF_PARTS`.
    """

    def __init__(self, arrays: tuple[Any, ...], plan: Any) -> None:
        y = arrays[0]
        door = Batch(plan.name)
        self.arrays: tuple[Any, ...] = tuple(
            None if x is None else cupy.ascontiguousarray(door.enter(x, argument, x.ndim))
            for x, argument in zip(arrays, ARGUMENTS, strict=True)
        )
        self.plan = plan
        self.series, self.steps, p = y.shape
        if self.steps > MOST_STEPS:
            raise ValueError(f"{plan.name}: {self.steps} steps are more than the {MOST_STEPS} of a series")
        self.sizes = Sizes(arrays[1].shape[-1], p, len(plan.diffuse), plan.independent)
        self.start = self._start()
        block = tuning.STEPS_IN_PASSING if plan.stepwise else plan.block or self.steps
        self.block = max(min(block, self.steps), 1)
        self.kept = self._room_to_keep()
        d = self.sizes.d + 1
        self.gram = cupy.empty((self.series, d, d), y.dtype)
        self.logdet = cupy.empty(self.series, y.dtype)
        self.info = cupy.empty(self.series, np.int32)
        self._terms = cupy.empty((self.steps, self.series) if plan.stepwise else (0,), y.dtype)
        self._launch("kalman_filter", self.gram, self.logdet, self.info, self._terms, stepwise=plan.stepwise)
        if checking():
            self._raise_failure()

    @staticmethod
    def fits(n: int, p: int, diffuse: int, independent: bool, dtype: Any) -> bool:
        """Whether a warp is enough for one series of n states, p observations a step and so many diffuse
        states: with at most 32 of each, and in shared memory.
        """
        return Sizes(n, p, diffuse, independent).fit(np.dtype(dtype).itemsize)

    @staticmethod
    def may_read() -> bool:
        """Whether the host may look at numbers, and wait for them: not within ``unchecked``."""
        return checking()

    def sums(self) -> tuple[Any, Any, Any, Any]:
        """Sums over steps for each series: vᵀ S⁻¹ v (S,), vᵀ S⁻¹ V (S, d), Vᵀ S⁻¹ V (S, d, d), log |S| (S,).

        V are the innovations from zero data and the unit vectors of the d diffuse states.
        """
        return self.gram[:, 0, 0], self.gram[:, 0, 1:], self.gram[:, 1:, 1:], self.logdet

    def terms(self) -> Any:
        """-½ (vᵀ S⁻¹ v + log |S|) of each step, (S, T); of a stepwise plan, which has no sums."""
        if not checking():
            cupy.copyto(self._terms, np.nan, where=self.info != 0)
        return cupy.ascontiguousarray(self._terms.T)

    def pull(self, bars: tuple[Any, ...], wanted: tuple[bool, ...]) -> tuple[Any, ...]:
        """Cotangents of the wanted arrays from those of the sums; None for the others."""
        quad_bar, cross_bar, info_bar, logdet_bar = bars
        mixing = cupy.empty_like(self.gram)  # Ω: the sums are -½ Σ Ω_ij vᵢᵀ S⁻¹ vⱼ
        mixing[:, 0, 0] = -2 * quad_bar
        if self.sizes.d:
            mixing[:, 0, 1:] = mixing[:, 1:, 0] = -cross_bar
            mixing[:, 1:, 1:] = -info_bar - cupy.swapaxes(info_bar, 1, 2)
        logdet_bar = cupy.ascontiguousarray(logdet_bar, self.gram.dtype)
        parts = [
            Part(x, name in TIMED, self.series, self.steps) if want and x is not None else None
            for x, name, want in zip(self.arrays, ARGUMENTS, wanted, strict=True)
        ]
        window = self._window(parts)
        places = [NOWHERE if part is None else part.place(window) for part in parts]
        carried = cupy.empty((self.sizes.n + self.sizes.d + 1, self.series, self.sizes.n), self.gram.dtype)
        for until in range(self.steps, 0, -window) if self.steps else (0,):
            between = max(until - window, 0), until
            results = self.info, mixing, logdet_bar, *places, NOWHERE, NOWHERE, *between, carried
            self._launch("kalman_gradient", *results)
            for part in parts:
                if part is not None and part.by_step:
                    part.add_up(*between)
        return tuple(None if part is None else part.result() for part in parts)

    def _window(self, parts: list[Any]) -> int:
        """Steps of a launch: as many as there is room for what is summed over series after it."""
        step = sum(part.step for part in parts if part is not None)
        return max(min(self.steps, tuning.BYTES_OF_PARTS // step if step else self.steps), 1)

    def filtered(self) -> tuple[Any, Any]:
        """Means (S, T, n) and covariances (S, T, n, n) of the states given the data so far.

        Of plans that keep all steps.  NaN for a series that has failed.
        """
        rows, n = self.kept[1][: self.steps], self.sizes.n
        if not checking():
            cupy.copyto(rows, np.nan, where=(self.info != 0)[:, None])
        return cupy.transpose(rows[:, n], (1, 0, 2)), cupy.transpose(rows[:, :n], (2, 0, 3, 1))

    def smoothed(self) -> tuple[Any, Any]:
        """Means (S, T, 1 + d, n) of the states given all data, of the series and of zero data from the unit
        vectors of the diffuse states, and covariances (S, T, n, n) as if these were known.
        """
        n, d, dtype = self.sizes.n, self.sizes.d + 1, self.gram.dtype
        means = cupy.empty((self.series, self.steps, d, n), dtype)
        covariances = cupy.empty((self.series, self.steps, n, n), dtype)
        mixing = cupy.empty_like(self.gram)
        mixing[...] = cupy.eye(d, dtype=dtype)
        weight = cupy.full(self.series, -0.5, dtype)
        bars = [NOWHERE] * len(self.arrays)
        results = self.info, mixing, weight, *bars, means, covariances, 0, self.steps, NOWHERE
        self._launch("kalman_gradient", *results, smoothing=True)
        return means, covariances

    def _start(self) -> Any:
        """The means of the first states, (1 or S, n): those of diffuse states moved by their shift."""
        m = self.arrays[5]
        if not self.plan.diffuse:
            return m
        moved = cupy.empty((self.series, self.sizes.n), m.dtype)
        moved[...] = m
        moved[:, list(self.plan.diffuse)] += self.plan.shift
        return moved

    def _is_blockwise(self) -> bool:
        return self.block < self.steps and not self.plan.stepwise

    def _room_to_keep(self) -> tuple[Any, Any, Any]:
        """Where blocks start, and rows and numbers of the steps of one."""
        n, dtype, blocks = self.sizes.n, self.arrays[0].dtype, -(-self.steps // self.block)
        blocks = blocks if self._is_blockwise() else 0
        rows, numbers = self.sizes.kept
        return (
            cupy.empty((blocks, n + self.sizes.d + 1, self.series, n), dtype),
            cupy.empty((self.block, rows, self.series, n), dtype),
            cupy.empty((self.block, numbers, self.series), dtype),
        )

    def _launch(self, name: str, *results: Any, stepwise: bool = False, smoothing: bool = False) -> None:
        """Run a kernel over every series; it gets the model, what is kept, and arrays for results."""
        y, A, B, Q, R, _, P, c = self.arrays
        timed = [(x, *x.shape[:2]) for x in (A, B, Q, R)]
        arguments = (
            *(self.series, self.steps, self.block, y),
            *(argument for parameter in timed for argument in parameter),
            *(self.start, self.start.shape[0], P, P.shape[0]),
            *((NOWHERE, 1, 1) if c is None else (c, *c.shape[:2])),
            np.uint32(sum(1 << i for i in self.plan.diffuse)).astype(np.int32),
            *self.kept,
            *results,
        )
        constants = self.sizes.constants(self._is_blockwise(), stepwise, smoothing)
        function = kernel("kalman.cu", name, y.dtype, **constants)
        launch(function, self.series, self.sizes.width, arguments, self.sizes.room * y.dtype.itemsize)

    def _raise_failure(self) -> None:
        """Raise for the first series that failed; reads `info`, which waits for the GPU."""
        info = self.info.get()
        if not info.any():
            return
        series = int(np.argmax(info != 0))
        which, step = f"{self.plan.name} (series {series})", abs(int(info[series])) - 1
        if info[series] > 0:
            raise np.linalg.LinAlgError(
                f"{which}: the covariance of the observations at step {step} is not positive definite: "
                f"obs_cov and the states leave a combination of them without variance"
            )
        raise OverflowError(f"{which}: the state predicted for step {step}, or its covariance, overflows")
