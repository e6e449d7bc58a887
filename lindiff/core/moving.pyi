from typing import Any

from numpy.typing import NDArray

from lindiff.core.variable import Variable

def moving(x: Variable, most: int) -> NDArray[Any] | None: ...
