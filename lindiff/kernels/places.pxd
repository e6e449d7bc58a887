"""Adding at places: the adjoint of taking elements by an index."""

cpdef bint add_at_places(object x, object index, object y) except -1
