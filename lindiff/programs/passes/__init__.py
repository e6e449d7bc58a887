"""From program to program: what does the same with less work or memory.

A pass is given the steps of a :class:`~lindiff.programs.machine.Unit` and what is known of the cells that
they work on, and returns other steps.
"""
