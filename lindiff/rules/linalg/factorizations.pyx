"""Cholesky, triangular products, triangular and general solves of plain matrices and batches of them.

A Kalman filter factors and solves thousands of 2 x 2 and 4 x 4 matrices: there the price is not the
arithmetic but what surrounds it, so that a single matrix goes to its kernel without the array interface.
Large matrices gain from cotangents being overwritten where only the walk holds them.  Solves and products
with Variables of an enclosing trace, of other dtypes or arguments that broadcast take the readable rules in
``rules.py`` and ``lindiff.linalg``, which they are tested against.

A matrix of order above SINGLE_FACTORS that is a Variable is factored once for all its operations:
``factored(A, LU)`` of ``lindiff.linalg._factored`` is the door to the shared factor.
"""

cimport cython
cimport numpy as cnp

from cpython.object cimport PyObject

import numpy as np

from lindiff.core.record cimport Node, Pull, Push, Trace
from lindiff.core.registry cimport Entry
from lindiff.core.variable cimport Variable, constant_value, innermost, kept_by, node_in, record
from lindiff.kernels.elementwise cimport has_shape_of, is_plain
from lindiff.kernels.products cimport gemm_one
from lindiff.kernels.lu cimport getrf_one, getrs_one
from lindiff.kernels.memory cimport empty
from lindiff.kernels.rowmajor cimport PLAIN, TRANSPOSE, blas_int, floating
from lindiff.kernels.triangles cimport zero_pivot
from lindiff.kernels.triangular cimport (
    adjoint_of, outer_triangle, trmm_one, trmm_pullback_one, trsm_one, trsm_pullback_one,
)
from lindiff.linalg._cholesky cimport described_small
from lindiff.linalg._operation cimport Direct
from lindiff.kernels.sizes cimport SINGLE_FACTORS
from lindiff.linalg._plain cimport are_squares, columns, copied, owned, rows

from numpy.linalg import LinAlgError

from lindiff.core.registry import add_entry
from lindiff.linalg import trmm, trsm
from lindiff.linalg._backend import learn_factor, renamed
from lindiff.linalg._cholesky import cholesky_pullback, cholesky_pushforward, cholesky_value
from lindiff.linalg._factored import LU, factored
from lindiff.linalg._matrices import transposed
from lindiff.linalg._operation import operation
from lindiff.linalg.factors import solve
from lindiff.linalg.products import gemm2
from lindiff.linalg.triangular import trmm_pullback, trsm_pullback
from lindiff.rules.linalg.matrix_arguments import check_square

cnp.import_array()

cdef enum:
    LARGEST = 0x40000000   # what fits any BLAS integer


# -- arrays ----------------------------------------------------------------------------------------------

cdef bint are_beside(object x, cnp.ndarray squares):
    """Whether ``x`` holds plain matrices of the dtype and in the batch of these."""
    cdef int i, ndim = cnp.PyArray_NDIM(squares)
    if not is_plain(x) or cnp.PyArray_NDIM(<cnp.ndarray>x) != ndim \
            or cnp.PyArray_TYPE(<cnp.ndarray>x) != cnp.PyArray_TYPE(squares):
        return False
    for i in range(ndim - 2):
        if cnp.PyArray_DIM(<cnp.ndarray>x, i) != cnp.PyArray_DIM(squares, i):
            return False
    return rows(squares) <= LARGEST and rows(<cnp.ndarray>x) <= LARGEST and columns(<cnp.ndarray>x) <= LARGEST


cdef inline bint is_vector_beside(object x, cnp.ndarray square):
    """Whether ``x`` is a plain vector of the dtype of one matrix."""
    return is_plain(x) and cnp.PyArray_NDIM(<cnp.ndarray>x) == 1 and cnp.PyArray_NDIM(square) == 2 \
        and cnp.PyArray_TYPE(<cnp.ndarray>x) == cnp.PyArray_TYPE(square)


cdef inline object seen_from_outside(object x, Trace trace):
    if type(x) is Variable and (<Variable>x).node.trace is trace:
        return (<Variable>x)._value
    return constant_value(x)


# -- A = L Lᵀ --------------------------------------------------------------------------------------------

cdef class Value(Direct):
    """L of a matrix, and what its derivatives need."""

    cdef object called(self, PyObject **args, Py_ssize_t count):
        described = described_small(<object>args[0], True)
        return self(<object>args[0], <object>args[1]) if described is None else described

    def __call__(self, a, A, *, upper=False):
        try:
            check_square(a, "cholesky")
            return cholesky_value(a, A, not upper)
        except LinAlgError as error:
            raise renamed(error, "np.linalg.cholesky") from None


operation(
    np.linalg.cholesky, Value(), cholesky_pushforward, cholesky_pullback, overwrites=True, shares=True,
    learn=learn_factor)


# -- B = α t(L) A, B = α t(L)⁻¹ A, and with L on the right side ------------------------------------------

cdef struct Triangle:
    # What is done with L: a product or, if it `solves`, its inverse; B has the shape (m, n).
    bint single  # one matrix, no batch
    bint solves
    bint rightside
    bint lower
    int transpose
    double alpha
    blas_int m
    blas_int n


cdef inline blas_int order_of(const Triangle *t) noexcept nogil:
    return t.n if t.rightside else t.m


cdef inline void apply_one(const Triangle *t, int transpose, const floating *L, floating *B) noexcept nogil:
    cdef blas_int order = order_of(t)
    if t.solves:
        trsm_one(t.rightside, t.lower, transpose, False, t.m, t.n, t.alpha, L, order, B, t.n)
    else:
        trmm_one(t.rightside, t.lower, transpose, t.m, t.n, t.alpha, L, order, B, t.n)


cdef inline void pull_one(const Triangle *t, const floating *L, const floating *X, floating *B_bar,
                          floating *L_bar, bint pulls_a) noexcept nogil:
    """L_bar, unless it is NULL, and A_bar, which overwrites B_bar, but for a product without `pulls_a`."""
    cdef blas_int order = order_of(t)
    if L_bar == NULL:
        apply_one(t, adjoint_of(t.transpose), L, B_bar)
    elif t.solves:
        trsm_pullback_one(t.rightside, t.lower, t.transpose, t.m, t.n, t.alpha, L, order, X, t.n,
                          B_bar, t.n, L_bar, order)
    elif pulls_a:
        trmm_pullback_one(t.rightside, t.lower, t.transpose, t.m, t.n, t.alpha, L, order, X, t.n,
                          B_bar, t.n, L_bar, order)
    else:
        outer_triangle(t.rightside, t.lower, t.transpose, t.m, t.n, t.alpha, B_bar, t.n, X, t.n, L_bar, order)


cdef inline void apply_of(bint double_precision, const Triangle *t, const void *L, void *B) noexcept nogil:
    if double_precision:
        apply_one[double](t, t.transpose, <const double *>L, <double *>B)
    else:
        apply_one[float](t, t.transpose, <const float *>L, <float *>B)


cdef inline void pull_of(bint double_precision, const Triangle *t, const void *L, const void *X, void *B_bar,
                         void *L_bar, bint pulls_a) noexcept nogil:
    if double_precision:
        pull_one[double](t, <const double *>L, <const double *>X, <double *>B_bar, <double *>L_bar, pulls_a)
    else:
        pull_one[float](t, <const float *>L, <const float *>X, <float *>B_bar, <float *>L_bar, pulls_a)


cdef inline bint is_small(const Triangle *t) noexcept:
    """Whether the GIL is not worth releasing."""
    return t.m <= SINGLE_FACTORS and t.n <= SINGLE_FACTORS


cdef inline cnp.ndarray contiguous(cnp.ndarray x):
    return x if cnp.PyArray_ISCARRAY_RO(x) else copied(x)


@cython.no_gc
@cython.final
cdef class Triangular(Node):
    """``trmm`` or ``trsm``: a is L, b is A."""

    cdef Triangle t
    cdef cnp.ndarray L
    cdef cnp.ndarray X  # A of a product, B of a solve: what L_bar is made of; None where nobody asks for it

    cdef dict options(self):
        cdef dict options = {}
        options["transpose"] = self.t.transpose != 0
        options["rightside"] = self.t.rightside
        options["lower"] = self.t.lower
        return options

    cdef bint linear(self):
        return self.a is None or (self.b is None and not self.t.solves)

    cdef int pull(self, Pull walk, object B_bar) except -1:
        cdef cnp.ndarray A_bar, L_bar
        cdef const Triangle *t = &self.t
        cdef void *l = cnp.PyArray_DATA(self.L)
        cdef void *x = NULL
        cdef void *b_bar
        cdef void *l_bar = NULL
        cdef bint pulls_a = self.b is not None
        cdef bint double_precision = cnp.PyArray_TYPE(self.L) == cnp.NPY_DOUBLE
        if not t.single or not is_plain(B_bar) \
                or cnp.PyArray_TYPE(<cnp.ndarray>B_bar) != cnp.PyArray_TYPE(self.L) \
                or cnp.PyArray_NDIM(<cnp.ndarray>B_bar) != 2 \
                or cnp.PyArray_DIM(<cnp.ndarray>B_bar, 0) != t.m \
                or cnp.PyArray_DIM(<cnp.ndarray>B_bar, 1) != t.n:
            return self.pull_general(walk, B_bar)
        if pulls_a or self.t.solves:
            A_bar = owned(B_bar, walk.overwrite)
        else:
            A_bar = contiguous(B_bar)
        if self.a is not None:
            L_bar = empty(2, cnp.PyArray_DIMS(self.L), cnp.PyArray_TYPE(self.L))
            l_bar = cnp.PyArray_DATA(L_bar)
            x = cnp.PyArray_DATA(self.X)
        b_bar = cnp.PyArray_DATA(A_bar)
        if is_small(t):
            pull_of(double_precision, t, l, x, b_bar, l_bar, pulls_a)
        else:
            with nogil:
                pull_of(double_precision, t, l, x, b_bar, l_bar, pulls_a)
        if self.a is not None:
            walk.add(self.a, L_bar, True)
        if pulls_a:
            walk.add(self.b, A_bar, True)
        return 0

    cdef int pull_general(self, Pull walk, object B_bar) except -1:
        cdef dict options = self.options()
        options["alpha"] = self.t.alpha
        if self.a is not None:
            pullback = trsm_pullback if self.t.solves else trmm_pullback
            L_bar, A_bar = pullback(self.L, self.X, B_bar, **options)
            walk.add(self.a, L_bar, True)
        else:
            options["transpose"] = not options["transpose"]
            A_bar = (trsm if self.t.solves else trmm)(self.L, B_bar, **options)
        if self.b is not None:
            walk.add(self.b, A_bar, True)
        return 0

    cdef object push(self, Push walk):
        """``B_dot = α (t(L_dot) A + t(L) A_dot)``, or ``t(L)⁻¹ (α A_dot - t(L_dot) B)``."""
        cdef dict options = self.options()
        L_dot = walk.tangent(self.a)
        A_dot = walk.tangent(self.b)
        from_L = None if L_dot is None else trmm(L_dot, self.X, **options)
        if self.t.solves:
            right = None if A_dot is None else self.t.alpha * A_dot
            if from_L is not None:
                right = -from_L if right is None else right - from_L
            return None if right is None else trsm(self.L, right, **options)
        B_dot = None if A_dot is None else trmm(self.L, A_dot, **options)
        if from_L is not None:
            B_dot = from_L if B_dot is None else B_dot + from_L
        return B_dot if B_dot is None or self.t.alpha == 1 else self.t.alpha * B_dot


cdef class TriangularEntry(Entry):
    """Twin of ``trmm`` or, if it `solves`, ``trsm``."""

    cdef bint solves

    def __init__(self, function, bint solves):
        self.function = function
        self.solves = solves

    cdef object call(self, tuple args, dict kwargs):
        cdef Trace trace
        cdef Triangular node
        cdef Triangle *t
        cdef cnp.ndarray B
        if len(args) != 2:
            return NotImplemented
        trace = innermost(args[1], innermost(args[0], None))
        L = seen_from_outside(args[0], trace)
        A = seen_from_outside(args[1], trace)
        if not are_squares(L) or not are_beside(A, <cnp.ndarray>L):
            return NotImplemented
        node = Triangular.__new__(Triangular)
        t = &node.t
        t.solves = self.solves
        t.single = cnp.PyArray_NDIM(<cnp.ndarray>L) == 2
        t.m = <blas_int>rows(<cnp.ndarray>A)
        t.n = <blas_int>columns(<cnp.ndarray>A)
        if not read_options(t, kwargs) or order_of(t) != rows(<cnp.ndarray>L):
            return NotImplemented
        node.a = node_in(args[0], trace)
        node.b = node_in(args[1], trace)
        node.L = contiguous(L if node.a is not None else kept_by(L, node, trace))
        if t.single and self.solves and zero_diagonal(node.L):
            return NotImplemented  # the readable rule fails with words
        if t.single:
            B = copied(A)
        else:
            try:
                B = (trsm if self.solves else trmm)(node.L, A, **kwargs)
            except LinAlgError:
                return NotImplemented
        if node.a is not None and self.solves:
            node.X = B
        elif node.a is not None:
            node.X = contiguous(A if node.b is not None else kept_by(A, node, trace))
        if t.single:
            apply_to(t, node.L, B)
        return record(trace, node, B)


cdef bint read_options(Triangle *t, dict options) except -1:
    """False if an option is not what it should be: the readable rule has words for that."""
    t.rightside, t.lower, t.transpose, t.alpha = False, True, PLAIN, 1
    for name, option in options.items():
        if name == "alpha" and isinstance(option, (int, float)):
            t.alpha = option
        elif name == "transpose" and (option is True or option is False or option == "C"):
            t.transpose = TRANSPOSE if option else PLAIN
        elif name == "rightside" and isinstance(option, bool):
            t.rightside = option
        elif name == "lower" and isinstance(option, bool):
            t.lower = option
        else:
            return False
    return True


cdef inline bint zero_diagonal(cnp.ndarray L):
    cdef blas_int n = <blas_int>cnp.PyArray_DIM(L, 0)
    if cnp.PyArray_TYPE(L) == cnp.NPY_DOUBLE:
        return zero_pivot[double](n, <double *>cnp.PyArray_DATA(L), n) != 0
    return zero_pivot[float](n, <float *>cnp.PyArray_DATA(L), n) != 0


cdef void apply_to(const Triangle *t, cnp.ndarray L, cnp.ndarray B):
    """B := what the operator makes of it."""
    cdef bint double_precision = cnp.PyArray_TYPE(L) == cnp.NPY_DOUBLE
    cdef void *l = cnp.PyArray_DATA(L)
    cdef void *b = cnp.PyArray_DATA(B)
    if is_small(t):
        apply_of(double_precision, t, l, b)
    else:
        with nogil:
            apply_of(double_precision, t, l, b)


# -- X = A⁻¹ B -------------------------------------------------------------------------------------------

cdef enum Shape:
    LOWER
    UPPER
    GENERAL


cdef inline Shape shape_of(const floating *A, Py_ssize_t n) noexcept nogil:
    """Which triangle of A is all zero, if any."""
    cdef Py_ssize_t i, j
    cdef bint lower = True, upper = True
    for i in range(n):
        for j in range(i):
            upper &= A[i * n + j] == 0
            lower &= A[j * n + i] == 0
        if not (lower or upper):
            return GENERAL
    return LOWER if lower else UPPER


cdef inline Shape shape_of_array(cnp.ndarray A):
    """The shape of a C-contiguous matrix."""
    cdef Py_ssize_t n = cnp.PyArray_DIM(A, 0)
    if cnp.PyArray_TYPE(A) == cnp.NPY_DOUBLE:
        return shape_of[double](<double *>cnp.PyArray_DATA(A), n)
    return shape_of[float](<float *>cnp.PyArray_DATA(A), n)


cdef inline blas_int factored_one(bint double_precision, Shape shape, blas_int n, void *A,
                                  blas_int *piv) noexcept nogil:
    if shape == GENERAL:
        return getrf_one[double](n, <double *>A, n, piv) if double_precision \
            else getrf_one[float](n, <float *>A, n, piv)
    return zero_pivot_of(double_precision, n, A)


cdef inline blas_int zero_pivot_of(bint double_precision, blas_int n, const void *A) noexcept nogil:
    if double_precision:
        return zero_pivot[double](n, <const double *>A, n)
    return zero_pivot[float](n, <const float *>A, n)


cdef inline void solve_of(bint double_precision, Shape shape, bint transpose, blas_int n, blas_int k,
                          const void *A, const blas_int *piv, void *B) noexcept nogil:
    if double_precision:
        solve_one[double](shape, transpose, n, k, <const double *>A, piv, <double *>B)
    else:
        solve_one[float](shape, transpose, n, k, <const float *>A, piv, <float *>B)


cdef inline void solve_one(Shape shape, bint transpose, blas_int n, blas_int k, const floating *A,
                           const blas_int *piv, floating *B) noexcept nogil:
    if shape == GENERAL:
        getrs_one(transpose, n, k, A, n, piv, B, k)
    else:
        trsm_one(False, shape == LOWER, transpose, False, n, k, <floating>1, A, n, B, k)


cdef inline void subtract_product(floating *A_bar, const floating *B_bar, const floating *X,
                                  blas_int n, blas_int k, bint onto) noexcept nogil:
    """A_bar -= B_bar Xᵀ, or A_bar = -B_bar Xᵀ."""
    gemm_one(False, True, n, n, k, <floating>-1, B_bar, k, X, k, <floating>onto, A_bar, n)


cdef inline void subtract_of(bint double_precision, void *A_bar, const void *B_bar, const void *X, blas_int n,
                             blas_int k, bint onto) noexcept nogil:
    if double_precision:
        subtract_product[double](<double *>A_bar, <const double *>B_bar, <const double *>X, n, k, onto)
    else:
        subtract_product[float](<float *>A_bar, <const float *>B_bar, <const float *>X, n, k, onto)


@cython.no_gc
@cython.final
cdef class Solve(Node):
    """``b_bar = A⁻ᵀ x_bar``, ``A_bar = -b_bar xᵀ``, a full matrix even where A is a triangle."""

    cdef cnp.ndarray factors  # LU, or A itself if it is a triangle
    cdef cnp.ndarray X
    cdef object A
    cdef object shared  # the factor that all operations on A use; None for a small matrix
    cdef bint single    # one matrix, no batch
    cdef blas_int small_piv[SINGLE_FACTORS]
    cdef blas_int *piv
    cdef Shape shape

    cdef bint factor(self, object x, cnp.ndarray A) except -1:
        """Keep what solves with A, the value of ``x``, need: a triangle as it is, else its LU; False for a
        singular matrix.
        """
        cdef blas_int n = <blas_int>cnp.PyArray_DIM(A, 0)
        cdef bint double_precision = cnp.PyArray_TYPE(A) == cnp.NPY_DOUBLE
        self.single = cnp.PyArray_NDIM(A) == 2
        if not self.single:
            self.shared = factored(x, LU)
            return True
        if n > SINGLE_FACTORS:
            self.share(x)
            return zero_pivot_of(double_precision, n, cnp.PyArray_DATA(self.factors)) == 0
        self.factors = A if cnp.PyArray_ISCARRAY_RO(A) else copied(A)
        self.shape = shape_of_array(self.factors)
        if self.shape == GENERAL:
            if self.factors is A:
                self.factors = copied(A)
            self.piv = self.small_piv
        return factored_one(double_precision, self.shape, n, cnp.PyArray_DATA(self.factors), self.piv) == 0

    cdef int share(self, object x) except -1:
        """Take the factor that all operations on ``x`` share."""
        cdef cnp.ndarray array
        self.shared = factored(x, LU)
        if self.shared.lower is None:
            self.shape = GENERAL
            self.factors = self.shared.LU
            array = self.shared.piv
            self.piv = <blas_int *>cnp.PyArray_DATA(array)
        else:
            self.shape = LOWER if self.shared.lower else UPPER
            array = self.shared.A
            self.factors = array if cnp.PyArray_ISCARRAY_RO(array) else copied(array)
        return 0

    cdef bint linear(self):
        return self.a is None

    cdef cnp.ndarray solved(self, object B, bint transpose, bint own):
        """``A⁻¹ B`` or ``A⁻ᵀ B``; None where B is no plain array like X."""
        cdef cnp.ndarray out
        cdef blas_int n, k
        cdef bint double_precision
        cdef void *a
        cdef void *b
        if not has_shape_of(B, self.X):
            return None
        if not self.single:
            return self.shared.solve(B, transpose)
        out = owned(B, own)
        n = <blas_int>cnp.PyArray_DIM(out, 0)
        k = <blas_int>(cnp.PyArray_DIM(out, 1) if cnp.PyArray_NDIM(out) == 2 else 1)
        double_precision = cnp.PyArray_TYPE(out) == cnp.NPY_DOUBLE
        a = cnp.PyArray_DATA(self.factors)
        b = cnp.PyArray_DATA(out)
        if n <= SINGLE_FACTORS:
            solve_of(double_precision, self.shape, transpose, n, k, a, self.piv, b)
        else:
            with nogil:
                solve_of(double_precision, self.shape, transpose, n, k, a, self.piv, b)
        return out

    cdef object solved_in_general(self, object B, bint transpose):
        """`solved` where B is a Variable, or of another dtype."""
        factor = factored(self.A, LU) if self.shared is None else self.shared
        if self.X.ndim == 1:
            return solve(self.A, B[:, None], transpose, factor)[:, 0]
        return solve(self.A, B, transpose, factor)

    cdef int pull(self, Pull walk, object x_bar) except -1:
        cdef cnp.ndarray b_bar = self.solved(x_bar, True, walk.overwrite)
        cdef cnp.ndarray A_bar
        cdef blas_int n, k
        cdef bint onto
        if b_bar is None:
            return self.pull_general(walk, x_bar)
        if self.a is not None and not self.single:
            walk.add(self.a, -gemm2(b_bar, self.X, transpose_b=True), True)
        elif self.a is not None:
            n = <blas_int>cnp.PyArray_DIM(b_bar, 0)
            k = <blas_int>(cnp.PyArray_DIM(b_bar, 1) if cnp.PyArray_NDIM(b_bar) == 2 else 1)
            total = walk.buffer(self.a)
            onto = (
                total is not None and has_shape_of(total, self.factors)
                and cnp.PyArray_ISCARRAY(<cnp.ndarray>total)
            )
            A_bar = total if onto else empty(
                2, cnp.PyArray_DIMS(self.factors), cnp.PyArray_TYPE(b_bar))
            subtract_of(cnp.PyArray_TYPE(b_bar) == cnp.NPY_DOUBLE, cnp.PyArray_DATA(A_bar),
                        cnp.PyArray_DATA(b_bar), cnp.PyArray_DATA(self.X), n, k, onto)
            if not onto:
                walk.add(self.a, A_bar, True)
        if self.b is not None:
            walk.add(self.b, b_bar, True)
        return 0

    cdef int pull_general(self, Pull walk, object x_bar) except -1:
        b_bar = self.solved_in_general(x_bar, True)
        if self.a is not None:
            product = np.outer(b_bar, self.X) if self.X.ndim == 1 else b_bar @ transposed(self.X)
            walk.add(self.a, -product, True)
        if self.b is not None:
            walk.add(self.b, b_bar, False)
        return 0

    cdef object push(self, Push walk):
        """``x_dot = A⁻¹ (b_dot - A_dot x)``."""
        A_dot = walk.tangent(self.a)
        right = walk.tangent(self.b)
        if A_dot is not None:
            term = A_dot @ self.X
            right = -term if right is None else right - term
        if right is None:
            return None
        x_dot = self.solved(right, False, False)
        return self.solved_in_general(right, False) if x_dot is None else x_dot


cdef class SolveEntry(Entry):
    cdef object call(self, tuple args, dict kwargs):
        cdef Trace trace
        cdef Solve node
        cdef int i
        if kwargs or len(args) != 2:
            return NotImplemented
        trace = innermost(args[1], innermost(args[0], None))
        A = seen_from_outside(args[0], trace)
        B = seen_from_outside(args[1], trace)
        if not are_squares(A) or not (is_vector_beside(B, A) or are_beside(B, A)):
            return NotImplemented
        i = cnp.PyArray_NDIM(<cnp.ndarray>A) - 2
        if cnp.PyArray_DIM(<cnp.ndarray>B, i) != cnp.PyArray_DIM(<cnp.ndarray>A, i):
            return NotImplemented
        node = Solve.__new__(Solve)
        node.a = node_in(args[0], trace)
        node.b = node_in(args[1], trace)
        if node.a is None and i == 0 and cnp.PyArray_DIM(<cnp.ndarray>A, 0) <= SINGLE_FACTORS:
            # other ones are kept by their factor alone
            A = kept_by(A, node, trace)
        node.A = A
        if not node.factor(args[0] if type(args[0]) is Variable else A, A):
            return NotImplemented  # the readable rule fails with words
        node.X = B  # its shape and dtype are those of the solution
        try:
            node.X = node.solved(B, False, False)
        except LinAlgError:
            return NotImplemented
        return record(trace, node, node.X)


def use_factorization_paths():
    """Register what carries out the rules of these functions."""
    add_entry(np.linalg.solve, SolveEntry(np.linalg.solve))
    trmm.primitive.entry = TriangularEntry(trmm.primitive, False)
    trsm.primitive.entry = TriangularEntry(trsm.primitive, True)
