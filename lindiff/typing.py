"""Names of types, for the signatures of functions that are differentiated.

Examples
--------
>>> import numpy as np, lindiff as ld
>>> from typing import Any
>>> from lindiff.typing import Array
>>> def energy(x: Array, stiffness: float) -> Any:
...     return 0.5 * stiffness * np.sum(x**2)
>>> ld.grad(energy)(np.array([1.0, 2.0]), stiffness=3.0)
array([3., 6.])
"""

from __future__ import annotations

from typing import Any, TypeAlias

import numpy as np

from lindiff.core.variable import Variable

__all__ = ["Array"]

# What a function is given: the caller's array, or a Variable while its derivative is taken.
Array: TypeAlias = np.ndarray[Any, Any] | Variable
