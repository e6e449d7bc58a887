"""The array interface shared by all kernels; see batch.pxd. Nothing here knows an operator or a formula."""

cimport numpy as cnp
from libc.stdlib cimport free, malloc
from libc.string cimport memcpy

from lindiff.kernels cimport memory
from lindiff.kernels.rowmajor cimport ADJOINT, PLAIN, TRANSPOSE
from lindiff.kernels.sizes cimport SHARED_ORDER, UNDER_GIL
from lindiff.kernels.threads cimport run_tasks, threads_for

import numpy as np

cnp.import_array()


cdef void start(Batch *b) noexcept:
    b.dtype = cnp.NPY_FLOAT
    b.ndim = -1
    b.operands = 0
    b.m = b.n = b.k = 0
    b.work_size = b.iwork_size = 0
    b.work = NULL
    b.info = 0
    b.failed = 0
    b.count = 1
    b.weight = 1


cdef int scalar_type(cnp.ndarray x, str operator, str argument) except -1:
    """The dtype to compute in: x's own; NPY_DOUBLE for integers and booleans; a TypeError for the rest."""
    cdef int dtype = cnp.PyArray_TYPE(x)
    if dtype == cnp.NPY_DOUBLE or dtype == cnp.NPY_FLOAT:
        return dtype
    if dtype == cnp.NPY_CDOUBLE or dtype == cnp.NPY_CFLOAT:
        return dtype
    if cnp.PyArray_ISINTEGER(x) or cnp.PyArray_ISBOOL(x):
        return cnp.NPY_DOUBLE
    raise TypeError(
        f"{operator}: {argument} has dtype {x.dtype}; float32, float64, complex64 and complex128 work, "
        "and integers, which become float64"
    )


cdef int promoted(int x, int y) noexcept:
    """The smallest dtype that holds both, as NumPy promotes them."""
    cdef bint is_complex = x >= cnp.NPY_CFLOAT or y >= cnp.NPY_CFLOAT
    cdef bint is_single = (x == cnp.NPY_FLOAT or x == cnp.NPY_CFLOAT) \
        and (y == cnp.NPY_FLOAT or y == cnp.NPY_CFLOAT)
    if is_complex:
        return cnp.NPY_CFLOAT if is_single else cnp.NPY_CDOUBLE
    return cnp.NPY_FLOAT if is_single else cnp.NPY_DOUBLE


cdef int real_type(int dtype) noexcept:
    """NPY_FLOAT or NPY_DOUBLE of the same precision."""
    return cnp.NPY_FLOAT if dtype == cnp.NPY_FLOAT or dtype == cnp.NPY_CFLOAT else cnp.NPY_DOUBLE


cdef int transposition(object flag, str operator, str argument="transpose") except -1:
    """PLAIN, TRANSPOSE or ADJOINT for False, True or "C"."""
    if flag is False:
        return PLAIN
    if flag is True:
        return TRANSPOSE
    if not isinstance(flag, str):
        return TRANSPOSE if flag else PLAIN
    if flag == "C":
        return ADJOINT
    raise ValueError(f'{operator}: {argument} must be False, True or "C", got {flag!r}')


cdef int widen(Batch *b, cnp.ndarray x, int ndim) except -1:
    """Broadcast the batch shape against the first `ndim` axes of x."""
    cdef int i, new
    cdef Py_ssize_t dim
    if b.ndim < 0:
        b.ndim = ndim
        for i in range(ndim):
            b.shape[i] = x.shape[i]
    else:
        if ndim > b.ndim:
            new = ndim - b.ndim
            for i in range(ndim - 1, -1, -1):
                b.shape[i] = b.shape[i - new] if i >= new else 1
            b.ndim = ndim
        for i in range(1, ndim + 1):
            dim = x.shape[ndim - i]
            if b.shape[b.ndim - i] == 1:
                b.shape[b.ndim - i] = dim
            elif dim != 1 and dim != b.shape[b.ndim - i]:
                return 0
    b.count = 1
    for i in range(b.ndim):
        b.count *= b.shape[i]
    return 1


cdef cnp.ndarray enter(Batch *b, object x, str operator, str argument, int core=2):
    """x as an array of at least `core` axes; the batch takes on its dtype and its leading axes."""
    cdef cnp.ndarray a = x if cnp.PyArray_CheckExact(x) else np.asarray(x)
    cdef int dtype = scalar_type(a, operator, argument), ndim = cnp.PyArray_NDIM(a), i
    if ndim < core:
        raise ValueError(f"{operator}: {argument} must have at least {core} axes, got shape {np.shape(a)}")
    for i in range(ndim - core, ndim):
        if a.shape[i] > MAX_LENGTH:
            raise ValueError(f"{operator}: {argument} of shape {np.shape(a)} is too large for this BLAS")
    if not widen(b, a, ndim - core):
        shape = tuple([b.shape[i] for i in range(b.ndim)])
        raise ValueError(
            f"{operator}: leading axes of {argument}, shape {np.shape(a)}, do not broadcast "
            f"with those of the other arguments, {shape}"
        )
    if dtype != b.dtype:
        b.dtype = promoted(b.dtype, dtype)
    return a


cdef cnp.ndarray square(Batch *b, object x, str operator, str argument):
    """`enter` for square matrices, whose order becomes b.n."""
    cdef cnp.ndarray a = enter(b, x, operator, argument)
    cdef int ndim = cnp.PyArray_NDIM(a)
    if a.shape[ndim - 2] != a.shape[ndim - 1]:
        raise ValueError(
            f"{operator}: {argument} must be square in its last two axes, got shape {np.shape(a)}"
        )
    b.n = <blas_int> a.shape[ndim - 1]
    return a


cdef bint fills_batch(Batch *b, cnp.ndarray x, int core) noexcept:
    """Whether x has the batch's own leading axes."""
    cdef int i
    if cnp.PyArray_NDIM(x) - core != b.ndim:
        return False
    for i in range(b.ndim):
        if x.shape[i] != b.shape[i]:
            return False
    return True


cdef void register(Batch *b, cnp.ndarray x, int core, bint shared) noexcept:
    """The next operand, C-contiguous, of any dtype: one matrix (or vector) for each of the batch, or one
    that all share.
    """
    cdef Py_ssize_t size = cnp.PyArray_ITEMSIZE(x)
    cdef int i, ndim = cnp.PyArray_NDIM(x)
    for i in range(ndim - core, ndim):
        size *= x.shape[i]
    b.item[b.operands] = <char *> cnp.PyArray_DATA(x)
    b.step[b.operands] = 0 if shared else size
    b.extent[b.operands] = size if shared else size * b.count
    b.operands += 1


cdef bint overlaps(Batch *b, cnp.ndarray x) noexcept:
    """Whether x shares memory with an operand that is already there."""
    cdef char *begin = <char *> cnp.PyArray_DATA(x)
    cdef Py_ssize_t size = cnp.PyArray_NBYTES(x)
    cdef int i
    for i in range(b.operands):
        if begin < b.item[i] + b.extent[i] and b.item[i] < begin + size:
            return True
    return False


cdef cnp.ndarray empty_batch(Batch *b, int dtype, int core, Py_ssize_t m, Py_ssize_t n):
    cdef cnp.npy_intp shape[66]
    cdef int i
    for i in range(b.ndim):
        shape[i] = b.shape[i]
    shape[b.ndim] = m
    shape[b.ndim + 1] = n
    return memory.empty(b.ndim + core, shape, dtype)


cdef cnp.ndarray copy_of(Batch *b, cnp.ndarray x, int core):
    """A C-contiguous array of the batch's dtype and leading axes, filled with x."""
    cdef int ndim = cnp.PyArray_NDIM(x)
    cdef Py_ssize_t m = x.shape[ndim - core] if core > 0 else 0, n = x.shape[ndim - 1] if core == 2 else 0
    cdef cnp.ndarray a = empty_batch(b, b.dtype, core, m, n)
    if cnp.PyArray_TYPE(x) == b.dtype and cnp.PyArray_ISCARRAY_RO(x) and fills_batch(b, x, core):
        memcpy(cnp.PyArray_DATA(a), cnp.PyArray_DATA(x), cnp.PyArray_NBYTES(a))
    else:
        cnp.PyArray_CopyInto(a, x)
    return a


cdef cnp.ndarray converted(cnp.ndarray x, int dtype):
    """x itself if it is C-contiguous, aligned and of the dtype, else a copy that is."""
    if cnp.PyArray_TYPE(x) == dtype and cnp.PyArray_ISCARRAY_RO(x):
        return x
    return cnp.PyArray_FROM_OTF(x, dtype, cnp.NPY_ARRAY_C_CONTIGUOUS | cnp.NPY_ARRAY_ALIGNED
                                | cnp.NPY_ARRAY_NOTSWAPPED | cnp.NPY_ARRAY_FORCECAST)


cdef cnp.ndarray read(Batch *b, cnp.ndarray x, int core=2):
    """The next operand, not to be written: x itself where its layout allows it, a copy otherwise."""
    cdef bint full = fills_batch(b, x, core), shared = False
    cdef int i
    if not full:
        shared = True
        for i in range(cnp.PyArray_NDIM(x) - core):
            shared = shared and x.shape[i] == 1
    if not (full or shared):
        x = copy_of(b, x, core)
    else:
        x = converted(x, b.dtype)
    register(b, x, core, shared)
    return x


cdef cnp.ndarray own(Batch *b, cnp.ndarray x, bint overwrite=False, int core=2):
    """The next operand, to be written: a copy of x;
    x itself if it may be overwritten and its layout allows it.
    """
    if not (overwrite and cnp.PyArray_TYPE(x) == b.dtype and cnp.PyArray_ISCARRAY(x)
            and fills_batch(b, x, core) and not overlaps(b, x)):
        x = copy_of(b, x, core)
    register(b, x, core, False)
    return x


cdef cnp.ndarray fresh(Batch *b, Py_ssize_t m, Py_ssize_t n):
    """The next operand: new (m, n) matrices, not initialized."""
    cdef cnp.ndarray x = empty_batch(b, b.dtype, 2, m, n)
    register(b, x, 2, False)
    return x


cdef cnp.ndarray fresh_vectors(Batch *b, Py_ssize_t n):
    """The next operand: new real vectors of length n, not initialized."""
    cdef cnp.ndarray x = empty_batch(b, real_type(b.dtype), 1, n, 0)
    register(b, x, 1, False)
    return x


cdef cnp.ndarray fresh_scalars(Batch *b, bint real=False):
    """The next operand: a new number for each matrix, not initialized."""
    cdef cnp.ndarray x = empty_batch(b, real_type(b.dtype) if real else b.dtype, 0, 0, 0)
    register(b, x, 0, False)
    return x


cdef cnp.ndarray fresh_integers(Batch *b, Py_ssize_t n):
    """The next operand: new BLAS integers, not initialized."""
    cdef cnp.ndarray x = empty_batch(b, BLAS_INTEGER, 1, n, 0)
    register(b, x, 1, False)
    return x


cdef cnp.ndarray read_integers(Batch *b, object x, Py_ssize_t n, str operator, str argument,
                               Py_ssize_t below=0):
    """The next operand: n indices below n, or `below` if that is more, one vector per matrix of the batch."""
    cdef cnp.ndarray a = np.asarray(x)
    cdef int ndim = cnp.PyArray_NDIM(a)
    cdef bint full = ndim > 0 and fills_batch(b, a, 1)
    cdef blas_int *p
    cdef Py_ssize_t i, bound = max(n, below)
    if not cnp.PyArray_ISINTEGER(a):
        raise TypeError(f"{operator}: {argument} has dtype {a.dtype}; integers are needed")
    if ndim == 0 or a.shape[ndim - 1] != n or not (full or ndim == 1):
        raise ValueError(
            f"{operator}: {argument} of shape {np.shape(a)} does not hold {n} indices for each matrix"
        )
    a = converted(a, BLAS_INTEGER)
    p = <blas_int *> cnp.PyArray_DATA(a)
    for i in range(cnp.PyArray_SIZE(a)):
        if p[i] < 0 or p[i] >= bound:
            raise ValueError(f"{operator}: {argument} holds the index {p[i]}, out of range for order {n}")
    register(b, a, 1, not full)
    return a


cdef void loop(Batch *b, Kernel32 s, Kernel64 d, KernelC64 c, KernelC128 z) noexcept nogil:
    """Run the kernel on one matrix after the other; stop at the first that fails."""
    cdef Py_ssize_t index
    cdef int i
    for index in range(b.count):
        if b.dtype == cnp.NPY_DOUBLE:
            b.info = d(<double *> b.item[0], b)
        elif b.dtype == cnp.NPY_FLOAT:
            b.info = s(<float *> b.item[0], b)
        elif b.dtype == cnp.NPY_CDOUBLE:
            b.info = z(<complex128 *> b.item[0], b)
        else:
            b.info = c(<complex64 *> b.item[0], b)
        if b.info != 0:
            b.failed = index
            return
        for i in range(b.operands):
            b.item[i] += b.step[i]


cdef size_t itemsize(int dtype) noexcept:
    if dtype == cnp.NPY_CDOUBLE:
        return sizeof(complex128)
    return sizeof(float) if dtype == cnp.NPY_FLOAT else sizeof(double)


cdef struct Part:
    Batch batch
    Kernel32 s
    Kernel64 d
    KernelC64 c
    KernelC128 z


cdef void run_part(void *task) noexcept nogil:
    cdef Part *part = <Part *> task
    loop(&part.batch, part.s, part.d, part.c, part.z)


cdef double nanoseconds(Batch *b) noexcept nogil:
    """What the whole batch takes at least, about: weight * n³/3 flops a matrix, and what comes with them."""
    cdef double n = max(b.m, b.n, b.k)
    return b.count * b.weight * (30 + n * n * n / 6)


cdef int run_parts(Batch *b, int count, Py_ssize_t work_bytes, Kernel32 s, Kernel64 d, KernelC64 c,
                   KernelC128 z) except -1:
    """Share the batch among `count` threads, each with its own workspace (they follow one another)."""
    cdef Part *parts = <Part *> malloc(count * sizeof(Part))
    cdef Py_ssize_t begin
    cdef int i, j
    if parts == NULL:
        raise MemoryError()
    for i in range(count):
        begin = b.count * i // count
        parts[i].batch = b[0]
        parts[i].batch.count = b.count * (i + 1) // count - begin
        for j in range(b.operands):
            parts[i].batch.item[j] += begin * b.step[j]
        parts[i].batch.work = <char *> b.work + i * work_bytes
        parts[i].batch.iwork = <blas_int *> (<char *> b.iwork + i * work_bytes)
        parts[i].s, parts[i].d, parts[i].c, parts[i].z = s, d, c, z
    with nogil:
        run_tasks(run_part, <char *> parts, sizeof(Part), count)
    for i in range(count):
        if parts[i].batch.info != 0:
            begin = b.count * i // count
            b[0] = parts[i].batch
            b.failed += begin
            break
    free(parts)
    return 0


cdef int run(Batch *b, Kernel32 s, Kernel64 d, KernelC64 c=NULL, KernelC128 z=NULL) except -1:
    """Run the kernel of the dtype over the batch; 1 if a matrix failed (b.info, b.failed), else 0.

    Small matrices are shared among threads; for others, BLAS has its own.
    """
    cdef Py_ssize_t reals = (b.work_size * itemsize(b.dtype) + 63) // 64 * 64
    cdef Py_ssize_t bytes = reals + (b.iwork_size * <Py_ssize_t> sizeof(blas_int) + 63) // 64 * 64
    cdef int threads = 1
    cdef void *work = NULL
    if b.dtype >= cnp.NPY_CFLOAT and c == NULL:
        raise TypeError("of this operator only float32 and float64 work")
    if b.count > 1 and max(b.m, b.n, b.k) <= SHARED_ORDER:
        threads = threads_for(nanoseconds(b))
    if bytes > 0:
        work = malloc(threads * bytes)
        if work == NULL:
            raise MemoryError()
        b.work = work
        b.iwork = <blas_int *> (<char *> work + reals)
    if threads > 1:
        run_parts(b, threads, bytes, s, d, c, z)
    elif b.count * (b.m + b.n + b.k) < UNDER_GIL:
        loop(b, s, d, c, z)
    else:
        with nogil:
            loop(b, s, d, c, z)
    free(work)
    return b.info != 0


cdef str place(Batch *b):
    """' (batch index (1, 0))' for the matrix that failed; nothing if there was only one."""
    cdef Py_ssize_t rest = b.failed
    cdef int i
    if b.ndim == 0:
        return ""
    index = []
    for i in range(b.ndim - 1, -1, -1):
        index.append(rest % b.shape[i])
        rest //= b.shape[i]
    return f" (batch index {tuple(index[::-1])})"


cdef Py_ssize_t lapack_workspace(str operator, Py_ssize_t order, Py_ssize_t entries) except -1:
    """The size of a workspace, if LAPACK can count that far."""
    if entries > MAX_LENGTH:
        raise ValueError(
            f"{operator}: for order {order} LAPACK's workspace has {entries} entries, more than the integers "
            f"of this BLAS count ({MAX_LENGTH}); a SciPy whose BLAS has 64-bit integers takes it"
        )
    return entries


cdef object misfit(str operator, str left, cnp.ndarray x, str right, cnp.ndarray y):
    return ValueError(
        f"{operator}: {left} of shape {np.shape(x)} and {right} of shape {np.shape(y)} do not fit together"
    )


cdef int same_matrix(cnp.ndarray x, cnp.ndarray y, str operator, str left, str right) except -1:
    """Raise unless the last two axes agree."""
    cdef int p = cnp.PyArray_NDIM(x), q = cnp.PyArray_NDIM(y)
    if x.shape[p - 2] != y.shape[q - 2] or x.shape[p - 1] != y.shape[q - 1]:
        raise misfit(operator, left, x, right, y)
    return 0


cdef Py_ssize_t MAX_LENGTH = (<size_t> 1 << (8 * sizeof(blas_int) - 1)) - 1
cdef int BLAS_INTEGER = cnp.NPY_INT32 if sizeof(blas_int) == 4 else cnp.NPY_INT64
