"""Rows and columns of one matrix that cross each other: the right copy, by Variables and by programs."""

import itertools

import numpy as np
import pytest

import lindiff as ld


@pytest.mark.parametrize("order", ["C", "F"])
def test_a_column_in_the_place_of_a_row(order):
    x = np.asarray(np.arange(16.0).reshape(4, 4), order=order)
    for i, j in itertools.product(range(4), repeat=2):

        def crossed(m, i=i, j=j):
            m = m * 1
            m[i] = m[:, j]
            return m

        right = x.copy()
        right[i] = x[:, j].copy()
        by_program = ld.program(crossed)
        for _ in range(3):
            np.testing.assert_array_equal(by_program(x), right)
        np.testing.assert_array_equal(ld.jvp(crossed, (x,), (x,))[1], right)
        found = [ld.grad(lambda m, f=f: np.sum(f(m) * x))(x) for f in (crossed, by_program) for _ in range(3)]
        for gradient in found:
            np.testing.assert_array_equal(gradient, found[0])
