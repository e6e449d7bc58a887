"""How a system is swept."""

from __future__ import annotations

from typing import Any, NamedTuple

from lindiff.statespace.sweep.parts import ALL, Parts

__all__ = ["Plan"]


class Plan(NamedTuple):
    """How a system is swept; nothing of it is differentiated.

    Attributes
    ----------
    groups : tuple of (series, observed)
        Places of series that share covariances; where they are observed, (T, p) of bool, None: everywhere.
    independent : bool
        Whether obs_cov is a row of variances.
    tolerance : float
        Covariances that change by less, relative to their scale, are at rest; negative: never.
    block : int
        Of how many steps the way back finds all that it needs; it runs the filter again for the others.  0:
        of all steps.
    name : str
        The public function that errors speak of.
    diffuse : tuple of int
        Places of the d diffuse states.
    shift : (S, d) array, optional
        Where the diffuse states start.
    collapse : (S,) array of int, optional
        After how many steps the filters collapse.  None: never.
    settled : bool
        Whether no digits cancel from that shift.
    stepwise : bool
        Whether `Sweeps.terms` are wanted, instead of sums.
    whole : bool
        Whether a sweep keeps what the way back needs. If not, that runs the filter again.
    begun : tuple of list of Sweep, optional
        The filters of the groups over the steps before they collapse, from no shift, where nothing is kept:
        of the very arrays that are swept.
    parts : Parts
        What of the cotangents of transition and state_cov is needed.
    kind : type, optional
        The class that runs it: `Sweeps`, or that of ``lindiff_cuda``.
    """

    groups: tuple[tuple[Any, Any], ...]
    independent: bool
    tolerance: float
    block: int
    name: str
    diffuse: tuple[int, ...] = ()
    shift: Any = None
    collapse: Any = None
    settled: bool = False
    stepwise: bool = False
    whole: bool = True
    begun: Any = None
    parts: Parts = ALL
    kind: Any = None

    def steps_to_collapse(self, series: Any, T: int) -> int:
        """After how many of T steps the filters of a group's series collapse; T, if they do not."""
        return T if self.collapse is None or len(series) == 0 else int(self.collapse[series[0]])
