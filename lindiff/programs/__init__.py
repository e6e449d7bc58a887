"""Programs: what a function did, repeated without its Python code.

Under construction, and not among lindiff's public names yet.
"""

from lindiff.programs.program import Program, program

__all__ = ["Program", "program"]
