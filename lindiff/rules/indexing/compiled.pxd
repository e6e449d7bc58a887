"""What operators take from compiled indexing."""

from lindiff.core.variable cimport Variable

cdef object item_at(Variable x, object index)
cdef object written_at(Variable x, object index, object y)
