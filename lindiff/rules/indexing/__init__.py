"""Indexing: what is read from an array at an index, and written to it."""
