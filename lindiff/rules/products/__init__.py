"""Products: matmul, dot, einsum and their kin, outer, kron, cross, diagonals, trace."""
