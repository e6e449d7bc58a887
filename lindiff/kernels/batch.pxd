"""The door between Python arrays and kernels on one matrix: dtype, shape, layout, broadcasting, batch loop.

A Python function opens a `Batch`, lets its arguments `enter`, says for each operand whether it is only
`read`, is to be `own`ed (written in place) or is `fresh`, and then `run`s a kernel over the batch.
Operands are seen by the kernel in the order in which they were read, owned or made.
"""

cimport numpy as cnp

from lindiff.kernels.rowmajor cimport blas_int
from lindiff.kernels.scalar cimport complex64, complex128

cdef enum:
    OPERANDS = 7

cdef struct Batch:
    int dtype                        # NPY_(C)FLOAT or NPY_(C)DOUBLE, the common one of all that entered
    int ndim                         # the broadcast leading axes
    Py_ssize_t shape[64]
    Py_ssize_t count                 # matrices in the batch
    int operands
    char *item[OPERANDS]             # where each operand's current matrix begins
    Py_ssize_t step[OPERANDS]        # bytes to its next matrix; 0 for an operand that all share
    Py_ssize_t extent[OPERANDS]      # bytes that the operand covers
    blas_int m, n, k
    bint lower, rightside
    int transpose, transpose_b       # PLAIN, TRANSPOSE or ADJOINT
    double alpha, beta
    double weight                    # how much longer a matrix takes than its Cholesky factorization
    Py_ssize_t work_size             # workspace: entries of the dtype, then integers
    Py_ssize_t iwork_size
    void *work
    blas_int *iwork
    blas_int info                    # what the kernel returned for matrix `failed`; 0 if all went well
    Py_ssize_t failed

# A kernel gets its first operand's matrix (which also fixes its type) and finds the rest in the batch.
ctypedef blas_int (*Kernel32)(float *, Batch *) noexcept nogil
ctypedef blas_int (*Kernel64)(double *, Batch *) noexcept nogil
ctypedef blas_int (*KernelC64)(complex64 *, Batch *) noexcept nogil
ctypedef blas_int (*KernelC128)(complex128 *, Batch *) noexcept nogil

cdef void start(Batch *b) noexcept
cdef cnp.ndarray enter(Batch *b, object x, str operator, str argument, int core=*)
cdef cnp.ndarray square(Batch *b, object x, str operator, str argument)
cdef cnp.ndarray read(Batch *b, cnp.ndarray x, int core=*)
cdef cnp.ndarray own(Batch *b, cnp.ndarray x, bint overwrite=*, int core=*)
cdef cnp.ndarray fresh(Batch *b, Py_ssize_t m, Py_ssize_t n)
cdef cnp.ndarray fresh_vectors(Batch *b, Py_ssize_t n)
cdef cnp.ndarray fresh_scalars(Batch *b, bint real=*)
cdef cnp.ndarray fresh_integers(Batch *b, Py_ssize_t n)
cdef void register(Batch *b, cnp.ndarray x, int core, bint shared) noexcept
cdef int transposition(object flag, str operator, str argument=*) except -1
cdef int run(Batch *b, Kernel32 s, Kernel64 d, KernelC64 c=*, KernelC128 z=*) except -1
cdef cnp.ndarray read_integers(Batch *b, object x, Py_ssize_t n, str operator, str argument,
                               Py_ssize_t below=*)
cdef str place(Batch *b)
cdef object misfit(str operator, str left, cnp.ndarray x, str right, cnp.ndarray y)
cdef int same_matrix(cnp.ndarray x, cnp.ndarray y, str operator, str left, str right) except -1
