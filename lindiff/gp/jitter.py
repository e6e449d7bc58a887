"""Cholesky factorizations of covariances that rounding has made indefinite."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Any, TypeVar

import numpy as np

from lindiff.core.variable import value
from lindiff.gp.diagonals import add_to_diagonal
from lindiff.linalg import potrf

__all__ = ["factor", "hearing", "with_jitter"]

T = TypeVar("T")

LARGEST = 1e-4  # of the mean variance


# Where messages go instead of to warnings, of a search that makes many.
_heard: ContextVar[list[str] | None] = ContextVar("_heard", default=None)


@contextmanager
def hearing(messages: list[str]) -> Iterator[None]:
    """Within it what would be warnings of added jitter are appended to a list; of this thread alone."""
    token = _heard.set(messages)
    try:
        yield
    finally:
        _heard.reset(token)


def _tell(message: str) -> None:
    messages = _heard.get()
    if messages is None:
        warnings.warn(message, RuntimeWarning, stacklevel=4)
    else:
        messages.append(message)


def with_jitter(attempt: Callable[[Any], T], variances: Any, name: str) -> T:
    """``attempt(0.0)``, or where that is not positive definite with the smallest jitter that works.

    Parameters
    ----------
    attempt : callable
        Takes what is added to the diagonal of the covariances, and factors them.
    variances : array
        Their diagonal, of which the jitter is a part: ten roundings, and ten times more each time.
    name : str
        Who asks, for the messages.

    Raises
    ------
    numpy.linalg.LinAlgError
        If a ten-thousandth of the mean variance is not enough; and at once if the variances are no numbers.

    Warns
    -----
    RuntimeWarning
        Says what was added.
    """
    try:
        return attempt(0.0)
    except np.linalg.LinAlgError as error:
        reason = error
    mean = float(np.mean(value(variances)))
    if not np.isfinite(mean):
        raise np.linalg.LinAlgError(
            f"{name}: the variances of the points have a mean of {mean}; look for NaN and infinity in the "
            f"points and in the kernel's numbers"
        ) from None
    jitter = 10 * float(np.finfo(np.result_type(value(variances))).eps) * mean
    while 0 < jitter <= LARGEST * mean:
        try:
            found = attempt(jitter)
        except np.linalg.LinAlgError:
            jitter *= 10
            continue
        _tell(
            f"{name}: the covariances are singular to working precision, {jitter:.1e} was added to their "
            f"diagonal; a noise variance, or fewer points at the same place, make that unnecessary"
        )
        return found
    raise np.linalg.LinAlgError(f"{reason}; a jitter of {LARGEST:g} of the mean variance is not enough")


def factor(K: Any, name: str, variances: Any = None) -> Any:
    """The Cholesky factor of covariances, with jitter if need be: of `variances`, or of its diagonal."""
    return with_jitter(
        lambda jitter: potrf(add_to_diagonal(+K, jitter) if jitter else K),
        np.diagonal(value(K)) if variances is None else variances,
        name,
    )
