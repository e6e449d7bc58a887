"""Variables, records, differentials and the rule registry; nothing here knows a NumPy function by name."""
