"""The first hour on a card, ``python -m lindiff_cuda.check``: compares, times, tunes, and writes a report."""
