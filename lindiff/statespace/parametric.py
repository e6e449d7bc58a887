"""Models of one's own: a builder together with what a fit has to know of its parameters."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from lindiff.statespace.fit_result import FitResult
from lindiff.statespace.fitting import fit
from lindiff.statespace.model import Model
from lindiff.statespace.nonlinear import NonlinearModel
from lindiff.statespace.transforms import Transform

__all__ = ["ParametricModel"]


class ParametricModel:
    """A model with parameters, written as a class: to derive from.

    A subclass has a method ``build(self, …)``, whose arguments are the parameters, and which returns a
    `Model` or `NonlinearModel`; its attributes say what :func:`fit` is to know of these.  What else the model
    depends on, explanatory variables for instance, are attributes of its instances.

    Attributes
    ----------
    start, transforms, fixed, tied, priors : dict, optional
    filter : str, optional
        As :func:`fit` takes them; of the class, or of an instance.

    Raises
    ------
    TypeError
        If a subclass has no `build`.

    Examples
    --------
    The level of the Nile, with the dam of 1899 and a level that comes back to its mean:

    >>> import numpy as np
    >>> from lindiff import statespace
    >>> class River(statespace.ParametricModel):
    ...     start = {"persistence": 0.5, "shock_var": None, "obs_var": None}
    ...     transforms = {"persistence": statespace.bounded(0.0, 1.0)}
    ...
    ...     def __init__(self, exog):
    ...         self.exog = exog
    ...
    ...     def build(self, persistence, shock_var, obs_var):
    ...         one = np.ones((1, 1))
    ...         start_var = shock_var / (1 - persistence**2)
    ...         flow = statespace.Model(
    ...             persistence * one, one, shock_var * one, obs_var * one[0], np.zeros(1), start_var * one)
    ...         return flow.named("wet years") + statespace.regression(self.exog)
    >>> rng = np.random.default_rng(0)
    >>> y = 1000 - 250.0 * (np.arange(80) >= 28) + np.convolve(rng.normal(0, 40, 84), np.ones(5), "valid")
    >>> river = River({"mean": np.ones(80)} | statespace.level_shift(80, at=28, name="dam"))
    >>> found = river.fit(y, progress=False)
    >>> list(found.params), list(found.components)
    (['persistence', 'shock_var', 'obs_var'], ['wet years', 'regression'])
    """

    build: Callable[..., Model | NonlinearModel]
    start: Mapping[str, Any] | None = None
    transforms: Mapping[str, Transform | str] | None = None
    fixed: Mapping[str, Any] | None = None
    tied: Mapping[str, str] | None = None
    priors: Mapping[str, Any] | None = None
    filter: Any = None

    def __init_subclass__(cls, **options: Any) -> None:
        super().__init_subclass__(**options)
        if not hasattr(cls, "build"):
            raise TypeError(
                f"{cls.__name__}: a ParametricModel needs a method build(self, …), whose arguments are the "
                f"parameters, and which returns a Model"
            )

    def fit(self, y: Any, **options: Any) -> FitResult:
        """The parameters of maximum likelihood, as :func:`fit` finds them.

        Parameters
        ----------
        y : array, Series, DataFrame or DataArray
        **options
            Those of :func:`fit`.  What they say of a parameter holds instead of what the class says of it.

        Returns
        -------
        FitResult

        Raises
        ------
        TypeError, ValueError, numpy.linalg.LinAlgError
            As :func:`fit` does.
        """
        for name in ("fixed", "tied"):
            options[name] = {**(getattr(self, name) or {}), **(options.get(name) or {})}
        held = {**options["fixed"], **options["tied"]}
        for name in ("start", "transforms", "priors"):
            own, given = getattr(self, name), options.get(name)
            if own is not None:
                own = {parameter: x for parameter, x in own.items() if parameter not in held}
                options[name] = {**own, **(given or {})}
        return fit(self.build, y, **{"filter": self.filter, **options})
