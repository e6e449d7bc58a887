cpdef bint hides(object nested) except -1
cpdef bint must_be_stacked(object nested) except -1
