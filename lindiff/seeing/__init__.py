"""Looking at a computation: its operations and their price, its graph, and where a NaN comes from."""

from lindiff.seeing._draw import Drawing, draw
from lindiff.seeing._explain import Explanation, explain
from lindiff.seeing._nan import nan_check

__all__ = ["Drawing", "Explanation", "draw", "explain", "nan_check"]
