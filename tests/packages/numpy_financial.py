"""numpy-financial: present values and payments."""

import numpy as np
import numpy_financial as npf

MODULES = ["numpy_financial"]
START = np.array([0.05, 100.0])


def f(x):
    return (
        npf.pv(x[0], 10, x[1]) + npf.pmt(x[0], 12, x[1] * 10) + npf.npv(x[0], np.array([-100.0, 50.0, 70.0]))
    )
