"""Functions that SciPy writes in Python, in ufuncs that have rules: they act on Variables as they are."""

from __future__ import annotations

from scipy import special

from lindiff.core.registry import composed

__all__: list[str] = []

for name in (
    "assoc_laguerre", "h1vp", "h2vp", "ivp", "jvp", "kvp", "lambertw", "softplus", "yvp", "zeta",
):  # fmt: skip
    if hasattr(special, name):  # softplus: since SciPy 1.15
        composed(getattr(special, name))(getattr(special, name))
