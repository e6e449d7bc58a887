"""pyXSteam: steam tables."""

import numpy as np
from pyXSteam.XSteam import XSteam

MODULES = ["pyXSteam"]
START = np.array([5.0, 200.0])
_steam = XSteam(XSteam.UNIT_SYSTEM_MKS)


def f(x):
    return _steam.h_pt(x[0], x[1]) * 1e-3 + _steam.v_pt(x[0], x[1])
