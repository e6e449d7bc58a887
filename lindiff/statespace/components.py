"""Names for what a model is made of: its parts, and their states."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

__all__ = ["Component", "components_of", "joined", "one_component"]


class Component(NamedTuple):
    """A part of a model: states that stand side by side, and together make one contribution to what is seen.

    Parameters
    ----------
    name : str
    states : tuple of str
        A name for each state.
    explanatory : bool
        Whether the states are coefficients, called as the explanatory variables that they belong to.

    Examples
    --------
    >>> from lindiff import statespace
    >>> model = statespace.local_linear_trend(1.0, 0.1) + statespace.seasonal(4, 0.5)
    >>> for component in model.components:
    ...     print(component.name, component.states)
    trend ('level', 'slope')
    seasonal(4) ('seasonal(4)', 'seasonal(4).L1', 'seasonal(4).L2')
    """

    name: str
    states: tuple[str, ...]
    explanatory: bool = False


def components_of(given: Sequence[Component], states: int) -> tuple[Component, ...]:
    """The components of a model with so many states; one of unnamed states, if none are given.

    Raises
    ------
    ValueError
        If they have another number of states, or two have one name.
    """
    if not given:
        return (Component("state", tuple(f"state[{i}]" for i in range(states))),)
    named = sum(len(component.states) for component in given)
    if named != states:
        raise ValueError(f"Model: components name {named} states, and transition has {states}")
    names = [component.name for component in given]
    double = sorted({name for name in names if names.count(name) > 1})
    if double:
        raise ValueError(
            f"Model: more than one component is called {', '.join(double)}; write model.named(…)"
        )
    for component in given:
        if len({*component.states}) < len(component.states):
            raise ValueError(
                f"Model: more than one state of {component.name} has the same name, {component.states}"
            )
    return tuple(given)


def one_component(
    name: str, states: tuple[str, ...], n: int, before: tuple[Component, ...] = ()
) -> Component:
    """Of n states; where they get no names, they are numbered, but coefficients keep those from before."""
    explanatory = bool(before) and all(component.explanatory for component in before)
    if not states and explanatory:
        states = tuple(state for component in before for state in component.states)
    elif not states:
        states = (name,) if n == 1 else tuple(f"{name}[{i}]" for i in range(n))
    return Component(name, states, explanatory)


def joined(a: Sequence[Component], b: Sequence[Component]) -> tuple[Component, ...]:
    """The components of a sum; what is called as one before gets a number: ``trend``, ``trend 2``.

    Coefficients keep the names of their variables; states called like them get the number.
    """
    found = list(a)
    for component in b:
        names = {each.name for each in found}
        number = 1
        while _numbered(component.name, number) in names:
            number += 1
        component = component._replace(name=_numbered(component.name, number))
        if component.explanatory:
            component = _apart(component, [each for each in found if each.explanatory])
            others = [component, *(each for each in found if each.explanatory)]
            found = [each if each.explanatory else _apart(each, others) for each in found]
        else:
            component = _apart(component, found)
        found.append(component)
    return tuple(found)


def _apart(component: Component, others: Sequence[Component]) -> Component:
    """The component with other names of its states than these have."""
    taken, number = {state for each in others for state in each.states}, 1
    if taken.isdisjoint(component.states):
        return component
    while taken & {_numbered(state, number) for state in component.states}:
        number += 1
    return component._replace(states=tuple(_numbered(state, number) for state in component.states))


def _numbered(name: str, number: int) -> str:
    return name if number == 1 else f"{name} {number}"
