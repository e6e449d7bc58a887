"""Programs: what a function did, repeated without its Python code.

Under construction, and not among lindiff's public names yet.
"""

from lindiff.programs.program import program

__all__ = ["program"]
