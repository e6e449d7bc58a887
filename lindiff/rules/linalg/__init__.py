"""Linear algebra: factorizations, decompositions, determinants, solves, densities of Gaussians."""
