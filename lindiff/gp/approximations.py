"""Approximations for observations that are not Gaussian, by name."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

from lindiff.gp.expectation_propagation import condition_ep, ep_log_likelihood
from lindiff.gp.laplace import condition_laplace, laplace_log_likelihood

__all__ = ["Approximation", "approximation_by"]


class Approximation(NamedTuple):
    """What is maximized, and what gives the posterior; both take kernel, X, y, likelihood and mean."""

    log_likelihood: Callable[..., Any]
    condition: Callable[..., Any]


APPROXIMATIONS = {
    "ep": Approximation(ep_log_likelihood, condition_ep),
    "laplace": Approximation(laplace_log_likelihood, condition_laplace),
}


def approximation_by(name: str) -> Approximation:
    """That of this name; raises ValueError where there is none."""
    if name not in APPROXIMATIONS:
        raise ValueError(f"approximation is one of {[*APPROXIMATIONS]}, got {name!r}")
    return APPROXIMATIONS[name]
