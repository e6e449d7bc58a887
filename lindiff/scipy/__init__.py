"""SciPy's functions with derivatives, under SciPy's names.

``lindiff.scipy.integrate``, ``linalg``, ``optimize`` and ``signal`` stand in for SciPy's modules.
"""
