"""Products of two matrices or vectors, whatever their strides."""

cdef object matmul(object x, object y)
cdef object complex_matmul(object x, object y, bint adjoint_x, bint adjoint_y)
cdef object add_product(object total, object x, object y, bint transpose_x, bint transpose_y)
cdef object sum_of_products(object x, object y)
cdef object stacked_matmul(object x, object y, bint transpose_x, bint transpose_y)
