from typing import Any

from lindiff.scipy.integrate._slopes import Slopes

class TooWide(ArithmeticError): ...

class Jacobian:
    n: int

class DenseJacobian(Jacobian):
    def __init__(self, along: Slopes, n: int) -> None: ...

class BandedJacobian(Jacobian):
    def __init__(self, along: Slopes, n: int, t: float, y: Any, widest: int) -> None: ...
