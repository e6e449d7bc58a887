"""Programs: what a function did, repeated without its Python code."""

from lindiff.programs.program import Program, program

__all__ = ["Program", "program"]
