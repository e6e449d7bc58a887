"""Arguments that a function must not write into."""

cpdef object sealed(object x, object given=*)
cdef tuple sealed_arguments(tuple values, tuple args, unsigned long long *shut)

cdef void look_at(tuple values, unsigned long long *marks) noexcept
cdef int look_again(object function, tuple values, const unsigned long long *marks) except -1
cdef list contents(tuple values, dict by_name)
cdef int refuse_other_contents(object function, tuple values, dict by_name, list before) except -1
cdef tuple opened(tuple values, tuple seals, unsigned long long shut)
cpdef object unsealed(object result, object seals, object values)
cdef object callers_own(object result, tuple functions, tuple args, Py_ssize_t known=*)
cpdef bint is_refusal(error)
cdef str name_of(object function)
cdef list named_shut(object function, tuple values, unsigned long long shut)
cpdef list named_seals(object function, object seals, object values=*)
cpdef object run_unsealed(object function, tuple args, list seals, error)
