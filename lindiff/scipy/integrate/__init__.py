"""``scipy.integrate`` with derivatives: differential equations, quadrature, sampled functions.

Solutions of differential equations have derivatives by the adjoint method (reverse mode) and by the
variational equation (forward mode), integrals by the rule of Leibniz.  What SciPy has besides is here, too,
for plain arrays.

Examples
--------
>>> import numpy as np, lindiff as ld
>>> from lindiff.scipy import integrate
>>> def decayed(rate):
...     return integrate.odeint(lambda y, t, k: -k * y, [1.0], np.array([0.0, 1.0]), (rate,))[-1, 0]
>>> print(ld.grad(decayed)(2.0).round(6))
-0.135335
"""

import scipy.integrate

from lindiff.scipy._rest import names_of, rest_of
from lindiff.scipy.integrate.initial_value import odeint, solve_ivp
from lindiff.scipy.integrate.multiple import dblquad, nquad, tplquad
from lindiff.scipy.integrate.quadrature import fixed_quad, quad, quad_vec
from lindiff.scipy.integrate.samples import (
    cumulative_simpson,
    cumulative_trapezoid,
    romb,
    simpson,
    trapezoid,
)

__all__ = [
    "cumulative_simpson",
    "cumulative_trapezoid",
    "dblquad",
    "fixed_quad",
    "nquad",
    "odeint",
    "quad",
    "quad_vec",
    "romb",
    "simpson",
    "solve_ivp",
    "tplquad",
    "trapezoid",
]
if hasattr(scipy.integrate, "cubature"):  # since SciPy 1.15
    from lindiff.scipy.integrate.cubature import cubature

    __all__ += ["cubature"]

__getattr__ = rest_of(
    scipy.integrate,
    {
        "solve_bvp": "differentiate the equations that hold at its solution",
        "ode": "use solve_ivp",
    },
)


__dir__ = names_of(scipy.integrate, __all__)
