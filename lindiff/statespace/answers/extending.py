"""The same model over more steps: where it varies with time, somebody has to say how it goes on."""

from __future__ import annotations

from typing import Any

import numpy as np

from lindiff.statespace.columns import columns_by_name
from lindiff.statespace.model import Model

__all__ = ["CORES", "ahead", "extended", "from_state", "varying"]

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
    """The fields that have an axis of time with more than one step."""
    return [name for name, core in CORES.items() if _steps(getattr(model, name), core) > 1]


def extended(name: str, model: Model, known: int, steps: int, exog: Any = None) -> Model:
    """A model of `known` steps for `steps` more.

    Parameters
    ----------
    name : str
        The public function, which errors speak of.
    model : Model
        What is constant stays so, what has ``known + steps`` entries is taken as it is.  Of a design with
        fewer, the loadings that vary are those of explanatory variables.
    known, steps : int
    exog : (steps, k) or (steps,) array, data frame, dict of columns, or list of such, optional
        The loadings that vary, by the names of their states or in their order; of one observed series.

    Returns
    -------
    Model

    Raises
    ------
    ValueError
        If something varies with time and nobody says how it goes on, or `exog` has another shape.
    """
    short = [field for field in varying(model) if len(getattr(model, field)) < known + steps]
    others = [field for field in short if field != "design"]
    if others:
        raise ValueError(
            f"{name}: {', '.join(others)} of the model varies with time and has "
            f"{len(getattr(model, others[0]))} steps, {known + steps} are needed: "
            f"give model=, one that is as long"
        )
    if not short:
        if exog is not None:
            raise ValueError(
                f"{name}: exog is given, and the design of the model does not vary or reaches far enough"
            )
        return model
    design = np.asarray(model.design)[:known]
    moving = np.flatnonzero(np.any(design != design[:1], axis=(0, 1)))
    states = [state for component in model.components for state in component.states]
    if exog is None:
        named = ", ".join(states[i] for i in moving)
        raise ValueError(
            f"{name}: the loadings of {named} vary with time: give exog=, an array of shape "
            f"({steps}, {len(moving)}), with their values in the {steps} steps after the data"
        )
    values = _in_order(name, exog, [states[i] for i in moving]).astype(design.dtype)
    if values.shape != (steps, len(moving)) or design.shape[1] != 1:
        raise ValueError(
            f"{name}: exog of shape {values.shape} must be of shape ({steps}, {len(moving)}): a row for "
            f"each step after the data, a column for each loading that varies"
            + ("" if design.shape[1] == 1 else "; for several observed series give model= instead")
        )
    if not np.isfinite(values).all():
        raise ValueError(f"{name}: exog has NaN or infinite numbers; only observations can be missing")
    more = np.repeat(design[-1:], steps, axis=0)
    more[:, 0, moving] = values
    return model._replace(design=np.concatenate([design, more]))


def _in_order(name: str, exog: Any, states: list[str]) -> Any:
    """The columns of these states, as an array (steps, k)."""
    columns = columns_by_name(name, exog)
    if columns is None:
        values = np.asarray(exog)
        return values[:, None] if values.ndim == 1 else values
    if sorted(columns) != sorted(states):
        raise ValueError(
            f"{name}: exog has the columns {', '.join(columns)}, and the loadings that vary are those of "
            f"{', '.join(states)}"
        )
    return np.stack([np.asarray(columns[state]) for state in states], axis=-1)


def ahead(model: Model, first: int) -> Model:
    """The model from a step on."""
    cut = {name: getattr(model, name)[first:] for name in varying(model)}
    return model._replace(**cut)


def from_state(model: Model, mean: Any, cov: Any) -> Model:
    """The model with this distribution of its first state."""
    return model._replace(initial_state=mean, initial_state_cov=cov, diffuse=None)


def _steps(x: Any, core: int) -> int:
    return 1 if x is None or np.ndim(x) <= core else len(x)
