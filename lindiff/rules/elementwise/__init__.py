"""Elementwise functions: value and partial derivatives, one line each."""
