"""The same model over more steps: where it varies with time, somebody has to say how it goes on."""

from __future__ import annotations

from typing import Any

import numpy as np

from lindiff.statespace.columns import columns_by_name, dates_of, index_of_dates, refuse_other_dates
from lindiff.statespace.model import Model
from lindiff.statespace.semidefinite import semidefinite_part

__all__ = ["CORES", "ahead", "extended", "from_state", "is_explained", "varying"]

# The axes of a field that are not those of time and series.
CORES = {
    "transition": 2,
    "design": 2,
    "state_cov": 2,
    "obs_cov": 2,
    "state_intercept": 1,
    "obs_intercept": 1,
}


def varying(model: Model) -> list[str]:
    """The fields that change from step to step: they have an axis of time, of more than one step where that
    is not of explanatory variables."""
    found = [name for name, core in CORES.items() if _steps(getattr(model, name), core) > 1]
    return ["design"] if not found and is_explained(model) and np.ndim(model.design) > 2 else found


def is_explained(model: Model) -> bool:
    """Whether there are explanatory variables in it."""
    return any(component.explanatory for component in model.components)


def extended(name: str, model: Model, known: int, steps: int, exog: Any = None, rows: Any = None) -> Model:
    """A model of `known` steps for `steps` more.

    Parameters
    ----------
    name : str
        The public function, which errors speak of.
    model : Model
        What is constant stays so, what has ``known + steps`` entries is taken as it is.  Of a design with
        fewer, the loadings that vary are those of explanatory variables.
    known, steps : int
    exog : (steps, k) or (steps,) array, data frame, series, dict of columns, or list of such, optional
        The explanatory variables, all or those that vary in the data, in the order of their states, or by
        their names; of one observed series.
    rows : pandas.Index, optional
        The dates of the steps, which those of `exog` must be.

    Returns
    -------
    Model

    Raises
    ------
    ValueError
        If something varies with time and nobody says how it goes on, or `exog` has another shape, other names
        or dates.
    """
    short = [field for field in varying(model) if len(getattr(model, field)) < known + steps]
    others = [field for field in short if field != "design"]
    if others:
        raise ValueError(
            f"{name}: {', '.join(others)} of the model varies with time and has "
            f"{len(getattr(model, others[0]))} steps, {known + steps} are needed: "
            f"give model=, one that is as long"
        )
    design = np.asarray(model.design)[:known]
    moving: Any = np.flatnonzero(np.any(design != design[:1], axis=(0, 1))) if short else []
    if short and len(design) == 1:  # of one step nobody can say that they are always the same
        moving = _coefficients(model)
    states = [state for component in model.components for state in component.states]
    asked = _asked(model, moving) if short else []
    if exog is not None and not len(asked):
        raise ValueError(
            f"{name}: exog is given, and the design of the model does not vary or reaches far enough"
        )
    if not short:
        return model
    if exog is None and len(moving):
        named = ", ".join(states[i] for i in moving)
        raise ValueError(
            f"{name}: the loadings of {named} vary with time: give exog=, an array of shape "
            f"({steps}, {len(asked)}), with their values in the {steps} steps after the data"
        )
    exog = np.empty((steps, 0)) if exog is None else exog
    columns = columns_by_name(name, exog)
    dates = index_of_dates(exog) if columns is None else dates_of(name, columns)
    refuse_other_dates(f"{name}: exog is", dates, "the steps after the data are", rows)
    if columns is not None:
        asked, exog = _by_names(name, columns, states, moving)
    values = np.asarray(exog, design.dtype)
    values = values[:, None] if values.ndim == 1 else values
    if columns is None and values.shape[-1] == len(moving):
        asked = moving
    if values.shape != (steps, len(asked)) or design.shape[1] != 1:
        raise ValueError(
            f"{name}: exog of shape {np.shape(exog)} must be of shape ({steps}, {len(asked)}): a row for "
            f"each step after the data, a column for each of {', '.join(states[i] for i in asked)}"
            + ("" if design.shape[1] == 1 else "; for several observed series give model= instead")
        )
    if not np.isfinite(values).all():
        raise ValueError(f"{name}: exog has NaN or infinite numbers; only observations can be missing")
    more = np.repeat(design[-1:], steps, axis=0)
    more[:, 0, asked] = values
    return model._replace(design=np.concatenate([design, more])).at_dates(None)


def _asked(model: Model, moving: Any) -> Any:
    """The states of which loadings may be given: the coefficients, if all that vary are of such."""
    coefficients = _coefficients(model)
    return coefficients if set(moving) <= set(coefficients) else moving


def _coefficients(model: Model) -> Any:
    """The states that are coefficients of explanatory variables."""
    places = np.cumsum([0, *(len(component.states) for component in model.components)])
    coefficients = [
        i
        for component, start in zip(model.components, places, strict=False)
        for i in range(start, start + len(component.states))
        if component.explanatory
    ]
    return np.array(coefficients, np.intp)


def _by_names(name: str, columns: dict[str, Any], states: list[str], moving: Any) -> tuple[Any, Any]:
    """Places of the states that the columns are called after, and the columns in this order (steps, k)."""
    missing = [states[i] for i in moving if states[i] not in columns]
    unknown = [column for column in columns if column not in states]
    if missing or unknown:
        wrong = [f"has no column {x}" for x in missing] + [f"has {x}, which is no state" for x in unknown]
        raise ValueError(f"{name}: exog {', '.join(wrong)}")
    return np.array([states.index(x) for x in columns]), np.stack(
        [np.asarray(x) for x in columns.values()], axis=-1
    )


def ahead(model: Model, first: int) -> Model:
    """The model from a step on."""
    cut = {name: getattr(model, name)[first:] for name in varying(model)}
    return model._replace(**cut).at_dates(None)


def from_state(model: Model, mean: Any, cov: Any) -> Model:
    """The model with this distribution of its first state; what is negative in a covariance is rounding."""
    cov = semidefinite_part(cov)
    return model._replace(initial_state=mean, initial_state_cov=cov, diffuse=None)


def _steps(x: Any, core: int) -> int:
    return 1 if x is None or np.ndim(x) <= core else len(x)
