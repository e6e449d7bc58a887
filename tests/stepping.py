"""What compiled steps have been taken."""

from lindiff.scipy.integrate import _stepping


def noted(monkeypatch, what):
    """``what(stepped, found)`` of each solution that is asked for, in a list that grows as they are."""
    notes = []
    solved = _stepping.Stepped.solved

    def noting(self, *args):
        found = solved(self, *args)
        notes.append(what(self, found))
        return found

    monkeypatch.setattr(_stepping.Stepped, "solved", noting)
    return notes
