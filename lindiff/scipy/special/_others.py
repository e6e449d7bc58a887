"""The other functions of ``scipy.special``: ufuncs, which take Variables, and those for plain arrays."""

from __future__ import annotations

import inspect
from typing import Any

import numpy as np
import scipy.special

from lindiff.core.registry import has_handler
from lindiff.numpy._function import Function
from lindiff.scipy._rest import plain_only
from lindiff.scipy.special.harmonics import sph_harm_y

__all__ = ["PLAIN_ONLY", "other"]

# The functions that take no Variables, by what to do instead.
PLAIN_ONLY = {
    "write it with scipy.special.eval_legendre, lpmv and np.exp": """
        assoc_legendre_p assoc_legendre_p_all clpmn legendre_p legendre_p_all lpmn lpn
        sph_harm_y_all sph_legendre_p sph_legendre_p_all
    """,
    "write it with spherical_jn and spherical_yn": "riccati_jn riccati_yn",
    "write it with the function of one order": "lmbda pbdn_seq pbdv_seq pbvv_seq",
    "it has no expression in functions that SciPy has": """
        ellip_harm ellip_harm_2 ellip_normal lqmn lqn mathieu_even_coef mathieu_odd_coef obl_cv_seq
        pro_cv_seq
    """,
    "it acts on integers": "bernoulli euler factorial2 factorialk stirling2",
    "it makes a polynomial; the functions eval_... of the same names have derivatives": """
        chebyc chebys chebyt chebyu gegenbauer genlaguerre hermite hermitenorm jacobi laguerre legendre
        sh_chebyt sh_chebyu sh_jacobi sh_legendre
    """,
    "it makes tables of zeros, nodes and weights": """
        ai_zeros bei_zeros beip_zeros ber_zeros berp_zeros bi_zeros c_roots cg_roots erf_zeros
        fresnel_zeros fresnelc_zeros fresnels_zeros h_roots he_roots j_roots jn_zeros jnjnp_zeros
        jnp_zeros jnyn_zeros js_roots kei_zeros keip_zeros kelvin_zeros ker_zeros kerp_zeros l_roots
        la_roots p_roots ps_roots roots_chebyc roots_chebys roots_chebyt roots_chebyu
        roots_gegenbauer roots_genlaguerre roots_hermite roots_hermitenorm roots_jacobi
        roots_laguerre roots_legendre roots_sh_chebyt roots_sh_chebyu roots_sh_jacobi
        roots_sh_legendre s_roots t_roots ts_roots u_roots us_roots y0_zeros y1_zeros y1p_zeros
        yn_zeros ynp_zeros
    """,
    "it is about the library itself": "geterr seterr test",
}
_REASONS = {name: reason for reason, names in PLAIN_ONLY.items() for name in names.split()}


def _never() -> bool:
    """Plain arrays give plain arrays, inside of transforms, too."""
    return False


def other(name: str) -> Any:
    """SciPy's object of this name.

    Functions that dispatch take lists of Variables, too.  Others refuse Variables and say why.

    Raises
    ------
    AttributeError
        If SciPy does not have it.
    """
    found = getattr(scipy.special, name)
    if name == "sph_harm_y":  # since SciPy 1.15
        return sph_harm_y
    if isinstance(found, np.ufunc) or (inspect.isroutine(found) and has_handler(found)):
        return Function(found, wanted=_never, module="lindiff.scipy.special")
    if not callable(found) or inspect.isclass(found):
        return found
    return plain_only(f"scipy.special.{name}", found, _REASONS.get(name))
