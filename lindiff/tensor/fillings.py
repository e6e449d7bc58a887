"""Tensors for given shapes: the updates that fill each, and those of tensors that are made on the way."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, TypeAlias

import numpy as np

from lindiff.tensor.boxes import in_boxes
from lindiff.tensor.contracting import Contracting
from lindiff.tensor.gemm import Product
from lindiff.tensor.layouts import Layout
from lindiff.tensor.names import Names
from lindiff.tensor.plans import IDENTITY, Loops, Plan, planned
from lindiff.tensor.products import is_product_of_matrices
from lindiff.tensor.updates import Update
from lindiff.tensor.views import Elementwise

__all__ = ["Filling", "fillings_of"]


class Filling:
    """The array of a tensor, and what fills it.

    Parameters
    ----------
    name : str
    shape : tuple of int
    updates : list of Update
    as_written : list of Update, optional
        Those that an expression says; None of a tensor that is made on the way.
    on_the_way : list of str
        Tensors that were made for this one.

    Attributes
    ----------
    layouts : dict of str to Layout
        Of all arrays, once there is a plan.
    passes : list of (Update, Plan)
        The updates that there is something to do for then, and what carries them out.
    """

    def __init__(
        self,
        name: str,
        shape: tuple[int, ...],
        updates: list[Update],
        as_written: list[Update] | None,
        on_the_way: list[str],
    ) -> None:
        self.name, self.shape, self.updates = name, shape, updates
        self._as_written, self._on_the_way = as_written, on_the_way

    def plan(
        self, layouts: Mapping[str, Layout], places: Mapping[str, int], planned: Planned = planned
    ) -> None:
        """Lay out the loops.

        Parameters
        ----------
        layouts : dict of str to Layout
            Of arrays, this one and all that it is made of.
        places : dict of str to int
            Where each array will be in the list that `run` is given.
        planned : callable
            Makes the plan of an update.
        """
        self._plan_of = planned
        self.layouts, self._places = layouts, places
        self._dtype = layouts[self.name].dtype
        kinds = {update.kind for update in self.updates}
        self._identity = IDENTITY[kinds.pop()] if kinds else 0.0
        self.passes = self._planned(self.updates)
        self._exact: list[tuple[Update, Plan]] | None = None
        self._may_be_other = self._as_written is not None and (
            bool(self._on_the_way)
            or any(isinstance(plan, Product) and plan.has_zeros for _, plan in self.passes)
        )
        self._done_with = [places[name] for name in self._on_the_way]

    def _planned(self, updates: list[Update], by_loops: bool = False) -> list[tuple[Update, Plan]]:
        own = self.layouts[self.name]
        plans = [self._plan_of(x, self.layouts, self._places, own, by_loops) for x in updates]
        return [(x, plan) for x, plan in zip(updates, plans, strict=True) if plan is not None]

    def run(self, arrays: list[Any]) -> Any:
        """The array; what was made on the way is given up.

        Where something is not finite, the loops that the expression says decide: a zero that stands for
        nothing may have met an infinity, or a tensor on the way may have overflowed.
        """
        out = self._filled(self.passes, arrays)
        if self._may_be_other and not _is_finite(out):
            if self._exact is None:
                self._exact = self._planned(self._as_written or [], by_loops=True)
            out = self._filled(self._exact, arrays)
        for place in self._done_with:
            arrays[place] = None
        return out

    def _filled(self, passes: list[tuple[Update, Plan]], arrays: list[Any]) -> Any:
        plans = [plan for _, plan in passes]
        first = plans[0] if plans else None
        if isinstance(first, (Elementwise, Loops, Product)) and first.is_whole:
            out = np.empty(self.shape, self._dtype)
            first.put(arrays, out)
            plans = plans[1:]
        elif not arrays or type(arrays[0]) is np.ndarray:
            new = np.zeros if self._identity == 0 else np.empty
            out = new(self.shape, self._dtype)
            if self._identity != 0:
                out.fill(self._identity)
        else:
            out = np.full_like(arrays[0], self._identity, self._dtype, shape=self.shape)
        for plan in plans:
            plan.run(arrays, out)
        return out


# What carries out an update, of a list of arrays; None where there is nothing to do.
Planned: TypeAlias = Callable[..., Any]


def fillings_of(
    name: str,
    shape: tuple[int, ...],
    updates: list[Update],
    shapes: Mapping[str, tuple[int, ...]],
    names: Names,
) -> list[Filling]:
    """A tensor, behind those that are made for it.

    Parameters
    ----------
    name : str
    shape : tuple of int
    updates : list of Update
    shapes : dict of str to tuple of int
        Of what they read.
    names : Names
    """
    contracting = Contracting(dict(shapes), shape, names)
    found: list[Filling] = []
    own: list[Update] = []
    for update in updates:
        *others, last = contracting.cheaper(update.inside(shapes))
        for other in others:
            found.append(Filling(other.of, contracting.shapes[other.of], _parts(other, names), None, []))
        own += _parts(last, names)
    return [*found, Filling(name, shape, own, updates, [filling.name for filling in found])]


def _parts(update: Update, names: Names) -> list[Update]:
    """An update in boxes, where that makes products of matrices of it."""
    if is_product_of_matrices(update):
        return [update]
    parts = in_boxes(update, names)
    return parts if any(map(is_product_of_matrices, parts)) else [update]


def _is_finite(x: Any) -> bool:
    """Whether all numbers are; a NaN is the least and the largest of any."""
    if not x.size:
        return True
    if np.iscomplexobj(x):
        return bool(np.isfinite(x).all())
    return bool(np.isfinite(np.minimum.reduce(x, axis=None)) and np.isfinite(np.maximum.reduce(x, axis=None)))
