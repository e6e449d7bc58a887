"""Products of two small matrices or vectors, whatever their strides."""

cdef object matmul(object x, object y)
cdef object add_product(object total, object x, object y, bint transpose_x, bint transpose_y)
