from typing import Any

import numpy as np

from lindiff.programs.cells import Cells

class Preparations:
    constants: list[tuple[int, np.ndarray[Any, Any]]]
    def __init__(self, cells: Cells) -> None: ...
