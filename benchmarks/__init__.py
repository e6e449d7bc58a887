"""Speed and memory of lindiff beside its peers: run ``python -m benchmarks``.

Nothing here is imported by the library or by its tests.
"""
