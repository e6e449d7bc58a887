"""How sure estimates are: covariances from the curvature of the likelihood, and from the scores of steps."""

from __future__ import annotations

from typing import Any

import numpy as np

from lindiff.kernels.matmul import product
from lindiff.scipy.optimize._flat import Flat, jacobian_matrix, linear_operator
from lindiff.statespace.maximum import FAILURES, Likelihood, in_units, units_of
from lindiff.statespace.problem import Problem, labels_of
from lindiff.transforms.reverse import grad

__all__ = ["COV_TYPES", "check_cov_type", "covariance_of", "covariance_unknown"]

COV_TYPES = ("observed", "opg", "robust")


def check_cov_type(kind: str, problem: Problem) -> None:
    """Raise a ValueError for an unknown kind, and for one that knows nothing of priors, or of clusters."""
    if kind not in COV_TYPES:
        raise ValueError(f"fit: cov_type must be one of {', '.join(COV_TYPES)}, not {kind!r}")
    if kind != "observed" and problem.has_priors:
        raise ValueError(
            f"fit: cov_type {kind!r} is of maximum likelihood, and there are priors: leave out one of them"
        )
    if kind != "observed" and problem.is_partitioned:
        raise ValueError(
            f"fit: cov_type {kind!r} needs the scores of single steps, which stay on the cluster where y is: "
            "leave it at 'observed'"
        )


def covariance_of(
    problem: Problem, likelihood: Likelihood, free: Any, kind: str
) -> tuple[Any, Any, tuple[str, ...]]:
    """Covariance of the estimates, their standard errors, and notes; NaN where nothing is known.

    Parameters
    ----------
    problem : Problem
    likelihood : Likelihood
        Its objective.
    free : dict
        Where it is largest.
    kind : {"observed", "opg", "robust"}
        The inverse of the observed information I; of the outer product G of the scores of steps (Berndt,
        Hall, Hall & Hausman 1974); ``I⁻¹ G I⁻¹`` (White 1982, "Maximum likelihood estimation of misspecified
        models").
    """
    form = Flat(problem.constrain(free))
    x = problem.form.flat(free)
    units = np.where(likelihood.scale.below, likelihood.scale.rows(x), 1.0)
    try:
        if problem.has_units:
            units = units_of(likelihood, x)
        scores = _scores(problem, free) * units if kind != "observed" else np.zeros((0, problem.form.size))
        given = product(scores.T, scores) if kind == "opg" else None
        half, notes = _half_of_inverse(problem, free, likelihood, units, given)
        if kind == "robust":
            half = _sandwiched(problem, free, half, scores / units)
    except FAILURES as error:
        half, notes = covariance_unknown(form), (f"No standard errors: {error}",)
    cov, errors, doubts = _of_half(half)
    return cov, errors, notes + doubts


def covariance_unknown(form: Flat) -> Any:
    """A covariance of which nothing is known."""
    return np.full((form.size, form.size), np.nan)


def _scores(problem: Problem, free: Any) -> Any:
    """The derivatives of the log density of each step by the free parameters, (T, q)."""
    inside = np.isfinite(problem.form.flat(free))
    found = jacobian_matrix(lambda free: problem.of_each_step(problem.constrain(free)), free, problem.form)
    return np.where(inside, found, 0.0)


def _sandwiched(problem: Problem, free: Any, half: Any, scores: Any) -> Any:
    """Half of ``I⁻¹ G I⁻¹``, given that of I⁻¹ and the scores S by the free parameters, ``G = Sᵀ S``.

    The half is ``J W`` with the derivative J of the parameters by the free ones, so ``J W Wᵀ Sᵀ`` is that.
    """
    J = jacobian_matrix(problem.constrain, free, problem.form)
    inside, known = np.isfinite(problem.form.flat(free)), np.isfinite(half).all(axis=1)
    J = J[np.ix_(known, inside)]
    units = np.maximum(np.max(np.abs(J), axis=1, initial=0.0), np.finfo(float).tiny)[:, None]  # of parameters
    W = np.linalg.lstsq(J / units, half[known] / units, rcond=None)[0]
    found = np.full((len(half), len(scores)), np.nan)
    found[known] = product(half[known], product(scores[:, inside], W).T)
    return found


def _half_of_inverse(
    problem: Problem, free: Any, likelihood: Likelihood, units: Any, given: Any
) -> tuple[Any, tuple[str, ...]]:
    """H of the covariance ``H Hᵀ = J (Jᵀ I J)⁻¹ Jᵀ``, and notes.

    I is the information of the parameters, J their derivative by the free ones; ``Jᵀ I J`` is `given`, or
    the observed one.  Where J is square and regular, the result is I⁻¹.  What is at a boundary is fixed
    there; parameters in directions without information have none.
    """
    form, params = problem.form, problem.constrain(free)
    params_form = Flat(params)
    information = _observed(problem, free, likelihood, units) if given is None else given
    J = jacobian_matrix(problem.constrain, free, form) * units
    inside = np.isfinite(form.flat(free))
    notes = _of_the_boundary(free, params, inside)
    if not np.any(inside):
        return covariance_unknown(params_form), notes
    information, J = information[np.ix_(inside, inside)], J[:, inside]
    # beside that, what rounding leaves of no information is none
    nothing = np.where(likelihood.scale.free, 0, 1e-5 * likelihood.count)[inside]
    scale = np.sqrt(np.maximum(np.abs(np.diag(information)), nothing))
    scale[scale == 0] = 1
    eigenvalues, V = np.linalg.eigh(information / (scale[:, None] * scale))
    labels = np.array(labels_of(free))[inside]
    if eigenvalues[0] < -1e-6:
        label = labels[int(np.argmax(np.abs(V[:, 0])))]
        note = (
            f"No standard errors: the observed information is not positive definite, by {label} most of all: "
            f"this is no maximum, or hardly one; go on from here, or fix what the data do not determine"
        )
        return covariance_unknown(params_form), (*notes, note)
    known = eigenvalues > 1e-10
    loose = np.max(np.abs(V[:, ~known]), axis=1, initial=0) > 1e-2
    faint = np.max(np.abs(V[:, eigenvalues < 1e-6]), axis=1, initial=0) > 0.1
    if np.any(faint):
        notes += (
            f"The data determine {', '.join(labels[faint])} only together, or not at all: restrict the "
            f"model, or fix one of them",
        )
    if not np.any(known):
        return covariance_unknown(params_form), notes
    half = product(J / scale, V[:, known] / np.sqrt(eigenvalues[known]))
    found = np.any(J != 0, axis=1) & ~np.any(J[:, loose] != 0, axis=1)
    return np.where(found[:, None], half, np.nan), notes


def _observed(problem: Problem, free: Any, likelihood: Likelihood, units: Any) -> Any:
    """``Jᵀ I J`` for the observed information I of the parameters, J their derivative by the free ones.

    It is the negative Hessian of ``ℓ(c(x)) - g · c(x)`` with the constant g = ∇ℓ: without the first
    derivatives by the parameters c, those of the second order of c have no part in it.
    """
    form, params = problem.form, problem.constrain(free)
    slopes = Flat(params).flat(grad(problem.objective)(params))

    def without_slope(free: Any) -> Any:
        params = problem.constrain(free)
        parts = [np.ravel(x) for x in params.values()]
        return problem.objective(params) - np.concatenate(parts) @ slopes

    def information_at(free: Any) -> Any:
        information = -in_units(linear_operator(grad(without_slope), free, form)[1], units)
        return np.nan_to_num(information, posinf=0.0, neginf=0.0)  # what overflows is not determined

    information = information_at(free)
    # where a parameter changes nothing, its information is what rounding leaves, and another one next to here
    slight = np.sqrt(np.abs(np.diag(information))) * np.exp(0.5 * likelihood.noise) / units < 1e-3
    if np.any(slight & likelihood.scale.free):
        beside = information_at(form.tree_of(form.flat(free) * (1 + 1e-6)))
        rounding = slight & likelihood.scale.free & _differ(np.diag(information), np.diag(beside))
        information[rounding], information[:, rounding] = 0.0, 0.0
    return information


def _differ(x: Any, y: Any) -> Any:
    """Where numbers that should be nearly the same are not: they are rounding."""
    return np.abs(x - y) > 0.1 * np.maximum(np.abs(x), np.abs(y))


def _of_half(half: Any) -> tuple[Any, Any, tuple[str, ...]]:
    """Covariance, standard errors, which may have no squares, and a note of that."""
    with np.errstate(over="ignore", under="ignore"):
        cov = product(half, half.T)
    size = np.max(np.abs(half), axis=1, keepdims=True, initial=0)
    errors = (size * np.linalg.norm(half / np.where(size == 0, 1, size), axis=1, keepdims=True))[:, 0]
    if not np.any(np.isinf(np.diag(cov)) | ((errors > 0) & (np.diag(cov) == 0))):
        return cov, errors, ()
    note = "The variances of some estimates are out of the range of numbers: use standard_errors, not cov"
    return cov, errors, (note,)


def _of_the_boundary(free: Any, params: Any, inside: Any) -> tuple[str, ...]:
    """A note that names what is at a boundary."""
    if np.all(inside):
        return ()
    said = [
        f"{label} = {params[name][place]:.4g}" if np.shape(params[name]) == np.shape(x) else label
        for name, x in free.items()
        for place, label in zip(np.ndindex(np.shape(x)), labels_of({name: x}), strict=True)
    ]
    ended = [each for each, is_inside in zip(said, inside, strict=True) if not is_inside]
    return (
        f"At the boundary of what is allowed: {', '.join(ended)}.  There are no standard errors there; those "
        f"of the others hold with this fixed",
    )
