"""Small dense elementwise loops on plain NumPy arrays, for callers that would otherwise pay ufunc overhead.

Every function returns ``None`` where the operands are not its case (other dtype, array subclass, more than
two axes, large); the caller then takes NumPy's own way.
"""

cdef enum BinaryOp:
    ADD
    SUBTRACT
    MULTIPLY
    DIVIDE

cdef enum UnaryOp:
    NEGATIVE
    SQUARE
    SQRT
    RECIPROCAL
    EXP
    LOG
    LOG1P
    EXPM1
    SIN
    COS
    TANH

cdef bint is_plain(object x)
cdef object binary(BinaryOp op, object x, object y)
cdef object unary(UnaryOp op, object x, bint partial_too)
cdef object chain(object y_bar, object partial, bint overwrite_y_bar)
cdef bint add_into(object total, object x)
cdef object filled(tuple shape, object scalar)
cdef object sum_all(object x)
