"""What each component of a model has in what is seen, and its states."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, NamedTuple

import numpy as np

from lindiff.statespace.answers.bands import Band
from lindiff.statespace.answers.labels import Labels
from lindiff.statespace.components import Component
from lindiff.statespace.model import Model

__all__ = ["ComponentBands", "Moments", "contribution", "of_states", "places"]


class Moments(NamedTuple):
    """Means (T, n) and covariances (T, n, n) of states."""

    means: Any
    covs: Any


def places(components: tuple[Component, ...]) -> Iterator[tuple[Component, slice]]:
    """Each component, and where its states are."""
    start = 0
    for component in components:
        stop = start + len(component.states)
        yield component, slice(start, stop)
        start = stop


def contribution(model: Model, place: slice, moments: Moments) -> tuple[Any, Any]:
    """Means and variances (T, p) of ``B x`` of some states."""
    B = model.design[..., :, place]
    variance = np.einsum("...ij,...jk,...ik->...i", B, moments.covs[:, place, place], B)
    return (B @ moments.means[:, place, None])[..., 0], variance


def of_states(
    component: Component, place: slice, moments: Moments, labels: Labels, rows: Any = None
) -> dict[str, Band]:
    """The states of a component by name."""
    numbers = range(place.start, place.stop)
    return {
        state: Band(moments.means[:, i], moments.covs[:, i, i], labels, rows, columns=(state,))
        for state, i in zip(component.states, numbers, strict=True)
    }


class ComponentBands(NamedTuple):
    """A component over time, with intervals.

    Attributes
    ----------
    predicted, filtered, smoothed : Band
        What it contributes to what is seen, given the data before each step, up to it, and all.
    states : dict of str to Band
        Its states given all the data.
    filtered_states : dict of str to Band
    """

    predicted: Band
    filtered: Band
    smoothed: Band
    states: dict[str, Band]
    filtered_states: dict[str, Band]
