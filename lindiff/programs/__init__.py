"""Programs: what a function did, repeated without its Python code."""
