"""``curve_fit`` and ``nnls``: SciPy fits, the equations that hold at the fit are differentiated."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from typing import Any

import numpy as np
import scipy.optimize

from lindiff._docstrings import documented_like
from lindiff.core.arrays import placed
from lindiff.core.variable import value
from lindiff.kernels.matmul import product
from lindiff.rules._common import as_array, depends_on_variables
from lindiff.scipy._drop_in import drop_in
from lindiff.scipy.optimize._losses import cost_of, scaled_for_loss
from lindiff.scipy.optimize._running import Running, running
from lindiff.transforms.implicit import implicit
from lindiff.transforms.jacobian import jacobian
from lindiff.transforms.reverse import grad

__all__ = ["curve_fit", "nnls"]


@documented_like(scipy.optimize.curve_fit)
def curve_fit(
    f: Callable[..., Any],
    xdata: Any,
    ydata: Any,
    p0: Any = None,
    sigma: Any = None,
    absolute_sigma: bool = False,
    check_finite: bool | None = None,
    bounds: Any = (-np.inf, np.inf),
    method: str | None = None,
    jac: Any = None,
    *,
    full_output: bool = False,
    nan_policy: str | None = None,
    program: bool = False,
    **kwargs: Any,
) -> Any:
    """Differentiable in `xdata`, `ydata`, `sigma`, `bounds` and whatever `f` picks up from around it.

    The derivative of the fit with respect to `p0` is 0.  A parameter that is held by a bound moves with it,
    and with nothing else.  Where something is differentiated the search gets the exact Jacobian, unless `jac`
    is given.  ``fvec`` of `full_output` has derivatives, too.

    Parameters
    ----------
    program : bool
        Run `f` and its Jacobian, or the `jac` that is given, without Python from the third time on, as
        :func:`lindiff.program` does: their prints and counters are those of the first times.

    Raises
    ------
    numpy.linalg.LinAlgError
        From the derivative, if the data do not determine the parameters.
    TypeError
        For ``nan_policy="omit"`` where something is differentiated.

    Notes
    -----
    At the fit the gradient of the sum of squares S, or of the cost that `loss` makes of it, is zero:
    dp = -S_pp⁻¹ S_pθ dθ, with the whole second derivative, curvature of `f` included, of any order; as exact
    as the fit is, so where it matters give a small ``xtol`` and ``ftol``.  `pcov` has the derivatives of the
    formula ``s² (JᵀJ)⁻¹``.

    Examples
    --------
    >>> import numpy as np, lindiff as ld
    >>> from lindiff.scipy.optimize import curve_fit
    >>> x, y = np.array([0.0, 1.0, 2.0]), np.array([1.0, 2.0, 4.0])
    >>> ld.jacobian(lambda y: curve_fit(lambda x, a, b: a * x + b, x, y)[0])(y).round(6) + 0.0
    array([[-0.5     ,  0.      ,  0.5     ],
           [ 0.833333,  0.333333, -0.166667]])
    """
    of_data = (xdata, ydata, sigma, p0, _limits(bounds))
    options = {"absolute_sigma": absolute_sigma, "method": method, "full_output": full_output, **kwargs}
    checks = {"check_finite": check_finite, "nan_policy": nan_policy}
    start = value(_start(f, p0, bounds))
    if not depends_on_variables(of_data) and not depends_on_variables(f(_as_floats(xdata), *start)):
        run = running(program)
        jac = run(jac) if callable(jac) else jac
        return scipy.optimize.curve_fit(
            run(f), xdata, ydata, p0, sigma, bounds=bounds, jac=jac, **options, **checks
        )
    if nan_policy == "omit":
        raise TypeError(
            'curve_fit: nan_policy="omit" has no derivative in lindiff: leave out what is NaN before, '
            "curve_fit(f, xdata[..., keep], ydata[keep]) with keep = ~np.isnan(ld.value(ydata))"
        )
    fit = _Fit(f, start, jac, {**options, **checks}, running(program))
    lower, upper = (_as_floats(limit) * np.ones(len(start)) for limit in of_data[-1])
    data = (_as_floats(xdata), _as_floats(ydata), None if sigma is None else _as_floats(sigma))
    p = implicit(fit.search, fit.equations)(*data, lower, upper)
    _, pcov, *rest = fit.found
    if np.all(np.isfinite(pcov)):
        pcov = fit.covariance(p, *data, absolute_sigma)
    if rest:  # another dict: what the record holds of the fit must not hold the record
        rest[0] = {**rest[0], "fvec": fit.residuals(p, *data)}
    return (p, pcov, *rest)


class _Fit:
    """The fit of a function to data: the search, and the equations that hold where it ends."""

    def __init__(
        self, f: Callable[..., Any], start: Any, jac: Any, options: dict[str, Any], run: Running
    ) -> None:
        self.f = f
        self.start = start
        self.jac = jac
        self.options = options
        self.run = run
        self.loss = options.get("loss", "linear"), options.get("f_scale", 1.0)

    def search(self, x: Any, y: Any, sigma: Any, lower: Any, upper: Any) -> Any:
        """The parameters that SciPy's search finds for plain arrays; keeps what else it has found."""
        f, jac = self.run(self.f), self.jac
        if jac is None:

            def jac(x: Any, *p: Any) -> Any:
                return value(jacobian(lambda p: f(x, *p))(np.array(p)))

        elif callable(jac):
            jac = self.of_values(self.run(jac))
        if sigma is not None and np.size(sigma) == 1:
            sigma = np.full(np.size(y), sigma)  # SciPy takes one number, but not beside a Jacobian
        self.found = scipy.optimize.curve_fit(
            self.of_values(f), x, y, self.start, sigma, bounds=(lower, upper), jac=jac, **self.options
        )
        p = self.found[0]
        self.at_lower, self.at_upper = self.held(p, x, y, sigma, lower, upper)
        return p

    @staticmethod
    def of_values(function: Callable[..., Any]) -> Callable[..., Any]:
        """A function of data and parameters for SciPy, which takes no Variables."""
        return lambda x, *p: value(function(x, *p))

    def held(self, p: Any, x: Any, y: Any, sigma: Any, lower: Any, upper: Any) -> tuple[Any, Any]:
        """Which parameters are held by a bound: those that a step of their own would take beyond it."""
        if not np.any(np.isfinite(lower) | np.isfinite(upper)):
            return np.zeros(len(p), bool), np.zeros(len(p), bool)
        slope = value(self.slope(p, x, y, sigma))
        curvature = np.sum(value(self.jacobian(p, x, y, sigma)) ** 2, axis=0)
        return (p - lower) * curvature < slope, (upper - p) * curvature < -slope

    def residuals(self, p: Any, x: Any, y: Any, sigma: Any) -> Any:
        """``f(x, p) - y`` in units of `sigma`, a number, a vector or a covariance matrix."""
        r = self.f(x, *p) - y
        if sigma is None:
            return r
        if np.size(sigma) == 1 or np.ndim(sigma) == 1:
            return r / sigma
        return np.linalg.solve(np.linalg.cholesky(sigma), r)

    def equations(self, p: Any, x: Any, y: Any, sigma: Any, lower: Any, upper: Any) -> Any:
        """The gradient of the cost; for parameters that are held, the bound."""
        slope = self.slope(p, x, y, sigma)
        for held, limit in ((self.at_lower, lower), (self.at_upper, upper)):
            if np.any(held):
                slope = np.where(held, p - np.where(held, limit, 0.0), slope)
        return slope

    def cost(self, p: Any, x: Any, y: Any, sigma: Any) -> Any:
        return cost_of(self.residuals(p, x, y, sigma), *self.loss)

    def slope(self, p: Any, x: Any, y: Any, sigma: Any) -> Any:
        return grad(self.cost)(p, x, y, sigma)

    def jacobian(self, p: Any, x: Any, y: Any, sigma: Any) -> Any:
        """Of the residuals, as the loss weighs them."""
        J = jacobian(self.residuals)(p, x, y, sigma)
        return scaled_for_loss(J, self.residuals(p, x, y, sigma), *self.loss)

    def covariance(self, p: Any, x: Any, y: Any, sigma: Any, absolute: bool) -> Any:
        """``s² (JᵀJ)⁻¹``, s² = 2 cost / (M - N) or 1."""
        J = self.jacobian(p, x, y, sigma)
        root = np.linalg.inv(np.linalg.qr(J)[1])
        covariance = product(root, root.T)
        if absolute:
            return covariance
        return covariance * (2 * self.cost(p, x, y, sigma) / (len(J) - len(p)))


def _limits(bounds: Any) -> tuple[Any, Any]:
    if isinstance(bounds, scipy.optimize.Bounds):
        return bounds.lb, bounds.ub
    return bounds[0], bounds[1]


def _start(f: Callable[..., Any], p0: Any, bounds: Any) -> Any:
    """Where SciPy begins: at 1, or between the bounds."""
    if p0 is not None:
        return np.atleast_1d(p0)
    kinds = (inspect.Parameter.POSITIONAL_ONLY, inspect.Parameter.POSITIONAL_OR_KEYWORD)
    n = sum(p.kind in kinds for p in inspect.signature(f).parameters.values()) - 1
    if n < 1:
        raise ValueError("Unable to determine number of fit parameters.")
    lower, upper = (np.broadcast_to(value(limit), (n,)) for limit in _limits(bounds))
    from_below, from_above = np.isfinite(lower), np.isfinite(upper)
    start = np.ones(n)
    start[from_below] = lower[from_below] + 1
    start[from_above] = upper[from_above] - 1
    between = from_below & from_above
    start[between] = 0.5 * (lower[between] + upper[between])
    return start


def _as_floats(x: Any) -> Any:
    """Numbers as an array of float64; anything else that `xdata` may be stays as it is."""
    if isinstance(x, (list, tuple)) or hasattr(x, "shape") or np.isscalar(x):
        x = as_array(x)
        return x.astype(np.float64) if x.dtype.kind in "biuf" else x
    return x


@drop_in(scipy.optimize.nnls)
def nnls(A: Any, b: Any, maxiter: int | None = None, **options: Any) -> Any:
    """Differentiable in `A` and `b`.

    Notes
    -----
    The positive entries are the unrestricted solution of their own columns of A, and so are their
    derivatives; the others stay at 0.

    Examples
    --------
    >>> import numpy as np, lindiff as ld
    >>> from lindiff.scipy.optimize import nnls
    >>> A = np.array([[1.0, 0.0], [1.0, 1.0], [0.0, 1.0]])
    >>> ld.jacobian(lambda b: nnls(A, b)[0])(np.array([2.0, 1.0, -1.0]))
    array([[0.5, 0.5, 0. ],
           [0. , 0. , 0. ]])
    """
    A, b = as_array(A), as_array(b)
    solution, _ = nnls(value(A), value(b), maxiter=maxiter, **options)
    positive = np.flatnonzero(solution)
    x = placed(np.zeros(len(solution)), A, b)
    if len(positive):
        x_positive = np.linalg.lstsq(A[:, positive], b, rcond=None)[0]
        x = product(placed(np.eye(len(solution))[:, positive], A, b), x_positive)
    return x, np.linalg.norm(product(A, x) - b)
