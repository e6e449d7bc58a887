"""``scipy.linalg`` with derivatives: the same names, signatures and results, on arrays and on Variables.

SciPy's functions do not speak NumPy's protocols, so this import takes the place of SciPy's own:
``from lindiff.scipy import linalg``.  On plain arrays the functions give what SciPy gives, with any leading
batch axes.
"""
