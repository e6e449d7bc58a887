"""Learning rates that change with the number of steps.

Each is a function of how many steps were made before, a number or an array of numbers, in functions that
dispatch: in a program the step is data, and no rate is a reason to record anew.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

__all__ = ["Rate", "cosine", "exponential", "linear", "piecewise", "rate_at", "warmup"]

Rate = float | Callable[[Any], Any]


def rate_at(rate: Rate, step: Any) -> Any:
    """A rate, a number or a function of the step, at a step."""
    return rate(step) if callable(rate) else rate


def _check_steps(steps: int) -> None:
    if steps < 1:
        raise ValueError(f"steps must be 1 or more, got {steps}")


@dataclass(frozen=True)
class linear:
    """A rate that moves from ``start`` to ``end`` by the same amount in each of ``steps`` steps, and stays.

    Parameters
    ----------
    start, end : float
    steps : int

    Examples
    --------
    >>> linear(1.0, 0.0, 4)(np.arange(6))
    array([1.  , 0.75, 0.5 , 0.25, 0.  , 0.  ])
    """

    start: float
    end: float
    steps: int

    def __post_init__(self) -> None:
        _check_steps(self.steps)

    def __call__(self, step: Any) -> Any:
        return self.start + (self.end - self.start) * np.minimum(step / self.steps, 1.0)


@dataclass(frozen=True)
class exponential:
    """A rate that is multiplied by ``factor`` in ``steps`` steps.

    Parameters
    ----------
    rate : float
        At the beginning.
    factor : float
    steps : int, optional
    staircase : bool, optional
        All at once after ``steps`` steps, and not a little in each.

    Examples
    --------
    >>> exponential(1.0, 0.25, 2)(np.arange(5))
    array([1.    , 0.5   , 0.25  , 0.125 , 0.0625])
    >>> exponential(1.0, 0.25, 2, staircase=True)(np.arange(5))
    array([1.    , 1.    , 0.25  , 0.25  , 0.0625])
    """

    rate: float
    factor: float
    steps: int = 1
    staircase: bool = False

    def __post_init__(self) -> None:
        _check_steps(self.steps)
        if not self.factor > 0:
            raise ValueError(f"factor must be positive, got {self.factor}")

    def __call__(self, step: Any) -> Any:
        times = step // self.steps if self.staircase else step / self.steps
        return self.rate * self.factor ** (times + 0.0)


@dataclass(frozen=True)
class cosine:
    """A rate that falls from ``rate`` to ``end`` in ``steps`` steps, as half a wave, and stays.

    ``end + (rate - end) (1 + cos(π t / steps)) / 2``: Loshchilov and Hutter, SGDR, ICLR 2017, equation 5.

    Parameters
    ----------
    rate : float
    steps : int
    end : float, optional

    Examples
    --------
    >>> cosine(1.0, 2)(np.arange(4)).round(2)
    array([1. , 0.5, 0. , 0. ])
    """

    rate: float
    steps: int
    end: float = 0.0

    def __post_init__(self) -> None:
        _check_steps(self.steps)

    def __call__(self, step: Any) -> Any:
        wave = np.cos(math.pi * np.minimum(step / self.steps, 1.0))
        return self.end + 0.5 * (self.rate - self.end) * (1.0 + wave)


@dataclass(frozen=True)
class piecewise:
    """A rate that is another one from each of some steps on.

    Parameters
    ----------
    rates : sequence of float
    boundaries : sequence of int
        The first step of each rate but the first; rising.

    Examples
    --------
    >>> piecewise([1.0, 0.5, 0.1], [2, 3])(np.arange(5))
    array([1. , 1. , 0.5, 0.1, 0.1])
    """

    rates: Sequence[float]
    boundaries: Sequence[int]

    def __post_init__(self) -> None:
        if len(self.rates) != len(self.boundaries) + 1:
            raise ValueError(
                f"there is one more rate than boundaries: got {len(self.rates)} and {len(self.boundaries)}"
            )
        if any(b <= a for a, b in zip(self.boundaries, self.boundaries[1:], strict=False)):
            raise ValueError(f"boundaries must rise, got {[*self.boundaries]}")

    def __call__(self, step: Any) -> Any:
        found = (self.rates[0] + np.zeros(np.shape(step)))[()]
        for rate, boundary in zip(self.rates[1:], self.boundaries, strict=True):
            found = np.where(step >= boundary, rate, found)[()]
        return found


@dataclass(frozen=True)
class warmup:
    """Another rate after ``steps`` steps in which its first value is risen to, by the same amount in each.

    Parameters
    ----------
    rate : float or callable
        Of the steps after the last one of these.
    steps : int

    Examples
    --------
    >>> warmup(linear(1.0, 0.0, 2), 4)(np.arange(7))
    array([0.25, 0.5 , 0.75, 1.  , 1.  , 0.5 , 0.  ])
    """

    rate: Rate
    steps: int

    def __post_init__(self) -> None:
        _check_steps(self.steps)

    def __call__(self, step: Any) -> Any:
        after = rate_at(self.rate, np.maximum(step - self.steps, 0))
        return after * np.minimum((step + 1) / self.steps, 1.0)
