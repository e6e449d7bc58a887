"""Products with second derivatives: ``hvp`` and ``ggnvp``."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from lindiff.core.linearization import Linearization
from lindiff.transforms._arguments import as_tuple, with_keywords
from lindiff.transforms.forward import jvp
from lindiff.transforms.reverse import grad

__all__ = ["ggnvp", "hvp"]


def hvp(
    function: Callable[..., Any],
    primals: Sequence[Any],
    tangents: Sequence[Any],
    has_aux: bool = False,
    **kwargs: Any,
) -> Any:
    """The Hessian of a function that returns one real number, times a vector (forward over reverse).

    Parameters
    ----------
    function : callable
    primals, tangents : sequences of trees of arrays
        One tree per positional argument of ``function``.
    has_aux : bool
        The function returns ``(value, aux)``; then this returns ``(product, aux)``.
    **kwargs
        Keyword arguments of the function, constant.

    Returns
    -------
    tree or tuple of trees
        In the form of the primals: a tuple if there are several, else the one tree.  Cost: about three to
        four gradients: of each operation, forward and backward, its value and its derivative.

    Notes
    -----
    For complex arguments it is the derivative of the gradient under ⟨a, b⟩ = Re(aᴴ b) in the direction of the
    tangents: linear over the real numbers.

    Examples
    --------
    >>> import numpy as np, lindiff as ld
    >>> ld.hvp(lambda x: np.sum(x**3), (np.array([1.0, 2.0]),), (np.array([1.0, 1.0]),))
    array([ 6., 12.])
    """
    primals = as_tuple(primals, "primals")
    argnums = 0 if len(primals) == 1 else tuple(range(len(primals)))
    gradient = grad(with_keywords(function, kwargs), argnums, has_aux)
    results = jvp(gradient, primals, tangents, has_aux)
    return results[1:] if has_aux else results[1]


def ggnvp(
    function: Callable[..., Any],
    loss: Callable[[Any], Any],
    primals: Sequence[Any],
    tangents: Sequence[Any],
    has_aux: bool = False,
    **kwargs: Any,
) -> Any:
    """The generalized Gauss–Newton matrix of ``loss(function(*primals))``, times a vector: Jᴴ H J v.

    J is the Jacobian of the function and H the Hessian of the loss at its result.  For a convex loss the
    matrix is positive semidefinite, which the Hessian of the composition need not be; of J it uses no
    derivative.

    Parameters
    ----------
    function : callable
        The model: returns a tree of arrays.
    loss : callable
        Of that tree; returns one real number.
    primals, tangents : sequences of trees of arrays
        One tree per positional argument of ``function``.
    has_aux : bool
        The function returns ``(value, aux)``; then this returns ``(product, aux)``.
    **kwargs
        Keyword arguments of the function, constant.

    Returns
    -------
    tree or tuple of trees
        In the form of the primals: a tuple if there are several, else the one tree.  Cost: the function runs
        once, its record is walked forward and backward; and an ``hvp`` of the loss.

    References
    ----------
    N. N. Schraudolph (2002), Fast curvature matrix-vector products for second-order gradient descent, Neural
    Computation 14, 1723-1738.

    Examples
    --------
    For the squares of residuals it is JᵀJ v:

    >>> import numpy as np, lindiff as ld
    >>> t = np.array([0.0, 1.0, 2.0])
    >>> def model(p):
    ...     return p[0] * np.exp(-p[1] * t)
    >>> y = 3.0 * np.exp(-0.5 * t)
    >>> def half_square(prediction):
    ...     return 0.5 * np.sum((prediction - y) ** 2)
    >>> p = np.array([2.0, 1.0])
    >>> J = ld.jacobian(model)(p)
    >>> v = np.array([1.0, -1.0])
    >>> np.allclose(ld.ggnvp(model, half_square, (p,), (v,)), J.T @ (J @ v))
    True

    A damped step (Levenberg–Marquardt), solved by conjugate gradients without forming the matrix:

    >>> from scipy.sparse.linalg import LinearOperator, cg
    >>> damping = 1e-3
    >>> for _ in range(20):
    ...     curvature = LinearOperator(
    ...         (2, 2), lambda v: ld.ggnvp(model, half_square, (p,), (v,)) + damping * v)
    ...     step, _ = cg(curvature, -ld.grad(lambda p: half_square(model(p)))(p), rtol=1e-10)
    ...     p = p + step
    >>> p.round(4)
    array([3. , 0.5])
    """
    primals = as_tuple(primals, "primals")
    linearization = Linearization(with_keywords(function, kwargs), primals, has_aux, kept=True)
    z_dot = linearization.push(as_tuple(tangents, "tangents"))
    z_bar = hvp(loss, (linearization.value,), (z_dot,))
    product = linearization.pull(z_bar)
    product = product[0] if len(primals) == 1 else product
    return (product, linearization.aux) if has_aux else product
