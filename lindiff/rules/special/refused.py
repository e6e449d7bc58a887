"""Functions of ``scipy.special`` that have no rule, and why."""

from __future__ import annotations

from scipy import special

from lindiff.core.registry import refuse
from lindiff.rules.special._common import NO_FORMULA

__all__: list[str] = []

for ufunc in (
    special.mathieu_a, special.mathieu_b, special.obl_cv, special.pro_cv, special.ncfdtr, special.ncfdtri,
    special.ncfdtridfd, special.ncfdtridfn, special.ncfdtrinc, special.nctdtr, special.nctdtridf,
    special.nctdtrinc, special.nctdtrit, special.chndtridf,
):  # fmt: skip
    refuse(ufunc, NO_FORMULA)

refuse(special.smirnov, "its derivative is a sum over the sample; scipy.special.kolmogorov is its limit")
refuse(special.smirnovi, "its derivative is a sum over the sample; scipy.special.kolmogi is its limit")
for name, instead in {"btdtr": "betainc", "btdtri": "betaincinv", "sph_harm": "lpmv and np.exp"}.items():
    if hasattr(special, name):  # until SciPy 1.14, 1.16
        refuse(getattr(special, name), f"it is deprecated; write it with scipy.special.{instead}")
