from lindiff.scipy.integrate._slopes import Slopes
from lindiff.scipy.integrate._steps import Steps

class Discontinuities:
    times: list[tuple[float, float]]
    def __init__(self, steps: Steps, slopes: Slopes) -> None: ...
