"""SciPy's functions with derivatives, under SciPy's names: ``lindiff.scipy.linalg``, ``.special``."""
