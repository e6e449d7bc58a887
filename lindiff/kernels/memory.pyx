"""New arrays. The memory of large ones that have died is kept for the next of about their size.

A gradient makes and drops arrays of the same few sizes again and again. From about 100 kB on, the C library
gives such memory back to the system and asks for it anew, and the system clears it page by page: on a batch
of (1000, 16, 16) that takes longer than the Cholesky factorization and its pullback together. At most
KEPT_BYTES are kept, for the whole process; `release` gives them back.

The arrays are ordinary ones that own their memory: NumPy lets an array name its allocator (NEP 49). NumPy
calls an allocator under the GIL, which therefore guards the blocks here. Between `lend` and `give_back`
NumPy's own arrays are made here as well, of which small ones go on to NumPy's allocator.
"""

cimport numpy as cnp
from cpython.object cimport PyObject
from cpython.pycapsule cimport PyCapsule_GetPointer, PyCapsule_New
from libc.stdint cimport uint8_t, uintptr_t
from libc.stdlib cimport calloc, free, malloc
from libc.string cimport memcpy, memset

from lindiff.kernels.sizes cimport HUGE_PAGES, KEPT_BLOCKS, KEPT_BYTES

cnp.import_array()

cdef extern from "numpy/arrayobject.h":
    ctypedef struct PyDataMemAllocator:
        void *ctx
        void *(*malloc)(void *ctx, size_t size) noexcept nogil
        void *(*calloc)(void *ctx, size_t count, size_t size) noexcept nogil
        void *(*realloc)(void *ctx, void *memory, size_t size) noexcept nogil
        void (*free)(void *ctx, void *memory, size_t size) noexcept nogil
    ctypedef struct PyDataMem_Handler:
        char name[127]
        uint8_t version
        PyDataMemAllocator allocator
    object PyDataMem_SetHandler(object handler)
    PyObject *PyDataMem_DefaultHandler

cdef extern from *:
    """
    #ifdef __linux__
    #include <sys/mman.h>
    /* Whole huge pages in [memory, memory + size): one page fault for 2 MB instead of 512. */
    static void prefer_huge_pages(char *memory, size_t size) {
        size_t huge = (size_t)1 << 21;
        size_t skip = (huge - (size_t)memory % huge) % huge;
        if (size >= skip + huge) madvise(memory + skip, (size - skip) / huge * huge, MADV_HUGEPAGE);
    }
    #else
    static void prefer_huge_pages(char *memory, size_t size) { (void)memory; (void)size; }
    #endif
    """
    void prefer_huge_pages(char *memory, size_t size) noexcept nogil

cdef enum:
    ALIGNMENT = 64           # a cache line; in front of the memory stands its Head


cdef struct Head:
    void *raw                # what malloc gave
    size_t capacity

cdef struct Block:
    void *memory
    size_t capacity

cdef Block blocks[KEPT_BLOCKS]    # oldest first
cdef int kept = 0
cdef size_t kept_bytes = 0


cdef inline Head *head_of(void *memory) noexcept nogil:
    return <Head *> (<char *> memory - sizeof(Head))


cdef void *new_block(size_t size, bint zeros) noexcept nogil:
    cdef char *raw
    cdef char *memory
    if size < KEPT_MEMORY:  # as aligned as NumPy's: a Head is
        raw = <char *> numpys.allocator.malloc(numpys.allocator.ctx, size + sizeof(Head))
    elif zeros:  # pages that are not touched take no memory
        raw = <char *> calloc(size + ALIGNMENT + sizeof(Head), 1)
    else:
        raw = <char *> malloc(size + ALIGNMENT + sizeof(Head))
    if raw == NULL:
        return NULL
    memory = raw + sizeof(Head)
    if size < KEPT_MEMORY:
        if zeros:
            memset(memory, 0, size)
    else:
        memory += (ALIGNMENT - <uintptr_t> memory % ALIGNMENT) % ALIGNMENT
    head_of(memory).raw = raw
    head_of(memory).capacity = size
    if size >= HUGE_PAGES:
        prefer_huge_pages(memory, size)
    return memory


cdef void forget(int i) noexcept nogil:
    """Take block i out of the list."""
    global kept, kept_bytes
    cdef int j
    kept_bytes -= blocks[i].capacity
    kept -= 1
    for j in range(i, kept):
        blocks[j] = blocks[j + 1]


cdef void *kept_block(size_t size) noexcept nogil:
    """The smallest kept block that fits without waste; NULL where there is none."""
    cdef int i, best = -1
    cdef void *memory
    if size < KEPT_MEMORY:
        return NULL
    for i in range(kept):
        if size <= blocks[i].capacity <= size + size // 4 and (
                best < 0 or blocks[i].capacity < blocks[best].capacity):
            best = i
    if best < 0:
        return NULL
    memory = blocks[best].memory
    forget(best)
    return memory


cdef void *take(void *ctx, size_t size) noexcept nogil:
    cdef void *memory = kept_block(size)
    return new_block(size, False) if memory == NULL else memory


cdef void give(void *ctx, void *memory, size_t size) noexcept nogil:
    """Keep the block; the oldest ones make room for it."""
    global kept, kept_bytes
    cdef size_t capacity
    if memory == NULL:
        return
    capacity = head_of(memory).capacity
    if capacity < KEPT_MEMORY:
        numpys.allocator.free(numpys.allocator.ctx, head_of(memory).raw, capacity + sizeof(Head))
        return
    if capacity > KEPT_BYTES // 2:
        free(head_of(memory).raw)
        return
    while kept == KEPT_BLOCKS or kept_bytes + capacity > KEPT_BYTES:
        free(head_of(blocks[0].memory).raw)
        forget(0)
    blocks[kept].memory = memory
    blocks[kept].capacity = capacity
    kept += 1
    kept_bytes += capacity


cdef void *take_zeros(void *ctx, size_t count, size_t size) noexcept nogil:
    cdef void *memory = kept_block(count * size)
    if memory == NULL:
        return new_block(count * size, True)
    return memset(memory, 0, count * size)


cdef void *resize(void *ctx, void *memory, size_t size) noexcept nogil:
    cdef void *other
    if memory == NULL:
        return take(ctx, size)
    other = take(ctx, size)
    if other != NULL:
        memcpy(other, memory, min(size, head_of(memory).capacity))
        give(ctx, memory, size)
    return other


cdef PyDataMem_Handler *numpys = <PyDataMem_Handler *> PyCapsule_GetPointer(
    <object>PyDataMem_DefaultHandler, "mem_handler")
cdef PyDataMem_Handler handler
memset(&handler, 0, sizeof(handler))
memcpy(handler.name, <char *> b"lindiff", 8)
handler.version = 1
handler.allocator.malloc = take
handler.allocator.calloc = take_zeros
handler.allocator.realloc = resize
handler.allocator.free = give
cdef object capsule = PyCapsule_New(&handler, "mem_handler", NULL)


cdef object lend():
    """Let NumPy make its own arrays here, in this thread, until ``give_back`` gets the result."""
    return PyDataMem_SetHandler(capsule)


cdef int give_back(object previous) except -1:
    PyDataMem_SetHandler(previous)
    return 0


cdef cnp.ndarray empty(int ndim, cnp.npy_intp *shape, int dtype):
    """A C-contiguous array, not initialized."""
    cdef size_t size = 8
    cdef int i
    for i in range(ndim):
        size *= shape[i]
    if size < KEPT_MEMORY:
        return cnp.PyArray_EMPTY(ndim, shape, dtype, 0)
    previous = PyDataMem_SetHandler(capsule)
    try:
        return cnp.PyArray_EMPTY(ndim, shape, dtype, 0)
    finally:
        PyDataMem_SetHandler(previous)


cdef cnp.ndarray copy(cnp.ndarray x, bint keep_order=False):
    """A copy of x, C-contiguous or in the order of its axes in memory."""
    cdef cnp.NPY_ORDER order = cnp.NPY_KEEPORDER if keep_order else cnp.NPY_CORDER
    cdef cnp.ndarray out
    if cnp.PyArray_IS_C_CONTIGUOUS(x) and cnp.PyArray_ISNUMBER(x) and cnp.PyArray_ISNOTSWAPPED(x):
        out = empty(cnp.PyArray_NDIM(x), cnp.PyArray_DIMS(x), cnp.PyArray_TYPE(x))
        memcpy(cnp.PyArray_DATA(out), cnp.PyArray_DATA(x), cnp.PyArray_NBYTES(x))
        return out
    if cnp.PyArray_NBYTES(x) < KEPT_MEMORY:
        return cnp.PyArray_NewCopy(x, order)
    previous = PyDataMem_SetHandler(capsule)
    try:
        return cnp.PyArray_NewCopy(x, order)
    finally:
        PyDataMem_SetHandler(previous)


def retained():
    """Bytes of dead arrays that are kept for the next ones.

    Examples
    --------
    >>> retained() <= 64 * 2**20
    True
    """
    return kept_bytes


def release():
    """Give the memory of dead arrays back to the system.

    Examples
    --------
    >>> release()
    >>> retained()
    0
    """
    while kept:
        free(head_of(blocks[0].memory).raw)
        forget(0)
