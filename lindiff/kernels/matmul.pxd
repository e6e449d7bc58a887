"""Products of two matrices or vectors, whatever their strides."""

cdef struct Frame:
    # A matrix, or a vector as row (left operand) or column (right operand); strides in elements.
    void *data
    Py_ssize_t rows
    Py_ssize_t columns
    Py_ssize_t row
    Py_ssize_t column

# Of matrices whose layout is known, given their addresses and that of the result, in the way of an operation
# of a program.
ctypedef int (*LyingProduct)(const void *state, char **x) noexcept nogil

cdef LyingProduct lying_product_of(const Frame *z, const Frame *x, const Frame *y) noexcept nogil
cdef void product_of(Frame *z, Frame *x, Frame *y, int kind, bint onto) noexcept nogil
cdef bint large_product(Frame *z, Frame *x, Frame *y, int kind, bint onto) noexcept nogil
cdef object matmul(object x, object y)
cdef object complex_matmul(object x, object y, bint adjoint_x, bint adjoint_y)
cdef object add_product(object total, object x, object y, bint transpose_x, bint transpose_y)
cdef object sum_of_products(object x, object y)
cdef object stacked_matmul(object x, object y, bint transpose_x, bint transpose_y)
