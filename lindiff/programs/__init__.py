"""Programs: what a function did, repeated without its Python code."""

from lindiff.programs.program import program

__all__ = ["program"]
