"""Reductions: sums, means, extremes, moments, norms, products, and what accumulates."""
