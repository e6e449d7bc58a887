"""Shapes: reshape, transpose, moved axes, parts joined and split, repeated, turned."""
