"""SciPy's functions with derivatives, under SciPy's names.

``lindiff.scipy.fft``, ``integrate``, ``interpolate``, ``linalg``, ``ndimage``, ``optimize``, ``signal``,
``spatial``, ``special`` and ``stats`` stand in for SciPy's modules.
"""
