"""Log likelihoods in functions that dispatch."""

from __future__ import annotations

from typing import Any

import numpy as np

from lindiff.linalg import sumlogdiag
from lindiff.linalg.gaussian import LOG_TWO_PI
from lindiff.statespace.composed.augmented import Information, information, starts
from lindiff.statespace.composed.grouping import Group, of_groups, zeros_for
from lindiff.statespace.composed.recursions import Filtered, filtered
from lindiff.statespace.diffuse import likelihood_terms, partial_likelihood_terms
from lindiff.statespace.model import System

__all__ = ["group_loglikelihood", "loglikelihoods"]


def loglikelihoods(system: System, name: str, method: str | None = None, per_step: bool = False) -> Any:
    """The log likelihoods (S,), or the log densities (S, T) of each step given those before.

    `name` is the public function that errors speak of.
    """

    def of_group(group: Group) -> tuple[Any]:
        run = filtered(group, name, method)
        return (group_loglikelihood(group, run, information(group, run, name), per_step),)

    return of_groups(system, of_group)[0]


def group_loglikelihood(
    group: Group, run: Filtered, known: Information | None, per_step: bool = False
) -> Any:
    """The log likelihoods (k,) of a group, or its log densities (k, T)."""
    shape = (len(group.series),)
    terms: list[Any] = []
    for t, step in enumerate(run.observed):
        if step is None:
            terms.append(None)
            continue
        z = step.z if known is None else known.z[t]
        constant = 0.5 * z.shape[-1] * LOG_TWO_PI
        terms.append(-0.5 * np.sum(z * z, axis=-1) - sumlogdiag(step.L)[..., None] - constant)
    if known is not None:
        terms = _each_with_diffuse(terms, known, starts(group)) if per_step else _with_diffuse(terms, known)
    zero = zeros_for(group, shape)
    if not per_step:
        observed = [term for term in terms if term is not None]
        return np.reshape(sum(observed[1:], observed[0]), shape) if observed else zero
    if not terms:
        return zeros_for(group, (*shape, 0))
    return np.stack([zero if term is None else np.reshape(term, shape) for term in terms], axis=-1)


def _with_diffuse(terms: list[Any], known: Information) -> list[Any]:
    """The terms of a likelihood that has the diffuse states integrated out: see `likelihood_terms`."""
    return [*terms, _integrated(known, len(terms))]


def _each_with_diffuse(terms: list[Any], known: Information, variances: Any) -> list[Any]:
    """The same, such that the sums up to each step are log likelihoods of what these steps determine."""
    result, before = list(terms), 0
    for t, term in enumerate(terms):
        if term is not None:
            now = _integrated(known, t + 1, None if t + 1 >= known.steps else variances)
            result[t], before = term + (now - before), now
    return result


def _integrated(known: Information, t: int, variances: Any = None) -> Any:
    """What the diffuse states add to the log likelihood of the first t steps; if these do not determine all
    of them, with the variances that they start with."""
    s, C = known.s[t], known.C[t]
    if variances is None:
        explained, logdet = likelihood_terms(s, C)
    else:
        explained, logdet = partial_likelihood_terms(s, C, variances)
    return explained - logdet[..., None]
